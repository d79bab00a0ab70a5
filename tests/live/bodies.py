"""What the live sources would answer: synthetic values in each site's documented form, for the
tests' own internet.

`answer(url, now)` returns (content type, text) as of a moment. Values are a seeded walk by name and
day, so that the same day always says the same; a number of today is there too where a site shows
unfinished days.

A site's form is its body as the site writes it, what repeats between << and >>: a row a moment and
name. A row may hold %(day)s, year, month, mday, hour, stamp (epoch seconds), name, n (from 1),
value, count (whole), and the query's names.
"""

import hashlib
import json
import math
import random
import re
import tomllib
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit


@lru_cache(maxsize=100_000)
def walk(name, day, low=10.0, high=100.0):
    """Return a synthetic value of a name on a day: a slow wave and noise, seeded by both."""
    noise = random.Random(f"{name}|{day}").random()
    wave = 0.5 + 0.5 * math.sin(day.toordinal() / 9 + len(name))
    return round(low + (high - low) * (0.7 * wave + 0.3 * noise), 3)


class Ask(NamedTuple):
    """A request as of a moment."""

    now: datetime
    path: str
    query: dict

    def list_moments(self, when="today"):
        """Return (day, hour) of what a site shows: today, yesterday, days, past, work, hours, four
        or eight a day."""
        name, _, n = when.partition(" ")
        days = [self.now.date() - timedelta(days=back) for back in range(int(n or 30) - 1, -1, -1)]
        days = {"today": days[-1:], "yesterday": days[-2:-1], "past": days[:-1]}.get(name, days)
        days = [day for day in days[:-1] if day.weekday() < 5] if name == "work" else days
        weekday = {"mondays": 0, "tuesdays": 1, "saturdays": 5}.get(name)
        days = (
            [day for day in days[:-4] if day.weekday() == weekday] if weekday is not None else days
        )
        return [
            (day, hour)
            for day in days
            for hour in range(0, 24, {"hours": 1, "eight": 3, "four": 6}.get(name, 24))
        ]


def zip_lists(body, when, moment, lists):
    """Return the site of lists side by side: of moments, and of a series' values for each (key,
    low, high)."""

    def answer(a):
        shown = a.list_moments(when)
        moments = [
            stamp(*at) if moment == "stamp" else moment % {"day": at[0], "hour": at[1]}
            for at in shown
        ]
        series = [
            [walk(key % ({"hour": hour} | a.query), day, low, high) for day, hour in shown]
            for key, low, high in lists
        ]
        return body % tuple(map(json.dumps, [moments, *series]))

    return answer


def fill(body, when="today", key="%(name)s", low=10.0, high=100.0, names=("",), by=""):
    """Return the site of a form: of each row the value is the walk of `key`, which may hold what
    the row may.

    The names stand in the order of the walk `by` of today, largest first.
    """
    before, row, after = re.fullmatch(r"(.*)<<(.*)>>(.*)", body, re.DOTALL).groups()
    joint = "\n" if "\n<<" in body else "" if row.startswith("<") else ", "

    def answer(a):
        parts = a.path.split("/")
        told = a.query | {"path": a.path} | {f"p{n}": part for n, part in enumerate(parts)}
        told |= {f"m{n}": part for n, part in enumerate(reversed(parts), 1)}
        ordered = (
            sorted(names, key=lambda name: -walk(by % (told | {"name": name}), a.now.date()))
            if by
            else names
        )
        shown = [(*moment, name) for moment in a.list_moments(when) for name in ordered]
        rows = []
        for n, (day, hour, name) in enumerate(shown, 1):
            about = {
                "day": day,
                "year": day.year,
                "month": day.month,
                "mday": day.day,
                "hour": hour,
            }
            about |= {"stamp": stamp(day, hour), "name": name, "n": n} | told
            value = walk(key % about, day, low, high)
            rows.append(row % (about | {"value": value, "count": int(value)}))
        return before % told + joint.join(rows) + after

    return answer


def stamp(day, hour):
    """Return epoch seconds of an hour of a day (UTC)."""
    return int(datetime(day.year, day.month, day.day, hour, tzinfo=UTC).timestamp())


def treasury(a):
    names = ["1 Mo", "3 Mo", "1 Yr", "2 Yr", "5 Yr", "10 Yr", "30 Yr"]
    rows = [",".join([f"{day:%m/%d/%Y}", *(str(walk(name, day, 3, 5)) for name in names)])
            for day, _ in reversed(a.list_moments("work"))]  # fmt: skip
    return "\n".join(["Date," + ",".join(f'"{name}"' for name in names), *rows]) + "\n"


def boc(a):
    names = "USD EUR GBP CHF AUD CNY".split()
    rows = [{"d": str(day)} | {f"FX{name}CAD": {"v": str(walk(name, day, 1, 2))} for name in names}
            for day, _ in a.list_moments("work")]  # fmt: skip
    return json.dumps({"observations": rows})


def earthquakes(a):
    found = [
        (day, at)
        for day, _ in a.list_moments("days")
        for at in range(int(walk("quakes", day, 3, 20)))
    ]
    rows = [
        f"{day}T{at:02}:11:12.345Z,1.5,2.5,10,{4.5 + walk(f'q {at}', day, 0, 2):.1f},mb"
        for day, at in found
    ]
    return "\n".join(["time,latitude,longitude,depth,mag,magType", *rows]) + "\n"


def fires(a):
    kinds, (day, _) = (
        ("Wildfires", "Severe Storms", "Volcanoes", "Sea and Lake Ice"),
        a.list_moments()[0],
    )
    found = [(kind, n) for kind in kinds for n in range(int(walk(kind, day, 2, 30)))]
    events = [
        {"id": f"{kind} {n}", "categories": [{"id": "x", "title": kind}]} for kind, n in found
    ]
    return json.dumps({"events": events})


SITES = {"home.treasury.gov": treasury, "www.bankofcanada.ca": boc}
SITES |= {"earthquake.usgs.gov": earthquakes, "eonet.gsfc.nasa.gov": fires}
for words, form in tomllib.loads(
    Path(__file__).with_name("bodies.toml").read_text(encoding="utf-8")
).items():
    SITES[words] = zip_lists(**form) if "lists" in form else fill(**form)
HOSTS = {words.split()[0] for words in SITES}


def answer(url, now):
    """Return (content type, text) of an address at a moment (aware, UTC). Raises IndexError for a
    host that is none."""
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    told = [words.partition(" ") for words in SITES]
    site = ["".join(words) for words in told if words[0] == parts.hostname and words[2] in url][0]
    body = SITES[site](Ask(now, unquote(parts.path), query))
    return {"{": "application/json", "[": "application/json", "<": "text/html"}.get(
        body[0], "text/plain"
    ), body


def show(asked):
    """Answer as the site would, with a digest by which an unchanged page is not sent again."""
    if asked.path == "/robots.txt":
        return 200, {"content-type": "text/plain"}, "User-agent: *\nDisallow: /private\n"
    query = "&".join(f"{name}={value}" for name, value in asked.query.items())
    kind, text = answer(f"https://{asked.host}{asked.path}?{query}", asked.now.to_pydatetime())
    tag = f'"{hashlib.sha256(text.encode()).hexdigest()[:12]}"'
    if asked.headers.get("if-none-match") == tag:
        return 304, {"etag": tag}, ""
    return 200, {"content-type": f"{kind}; charset=utf-8", "etag": tag}, text
