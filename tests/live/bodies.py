"""What the live sources would answer: synthetic values in each site's documented form, for the
tests' own internet.

`answer(url, now)` returns (content type, text) as of a moment. Values are a seeded walk by name and
day, so that the same day always says the same; a number of today is there too where a site shows
unfinished days.

A site's form is its body as the site writes it, what repeats between << and >>: a row a moment and
name. A row may hold %(day)s, year, month, mday, hour, stamp (epoch seconds), name, n (from 1), at,
value, count (whole), the query's names, and a walk (`Row`).
"""

import hashlib
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


class Row(dict):
    """What a row of a form may hold; "key|low|high" is the walk of a key on the row's day, between
    its ends."""

    def __missing__(self, words):
        key, low, high = words.split("|")
        return walk(key.format_map(self), self["day"], float(low), float(high))


def fill(body, when="today", key="%(name)s", low=10.0, high=100.0, names=("",), by="", times=""):
    """Return the site of a form: of each row the value is the walk of `key`, which may hold what
    the row may.

    The names stand in the order of the walk `by` of today, largest first; `times` is the walk of
    how often a row stands.
    """
    parts = re.split("<<(.*?)>>", body, flags=re.DOTALL)
    joint = "\n" if "\n<<" in body else "" if parts[1].startswith("<") else ", "

    def answer(a):
        words = a.path.split("/")
        told = a.query | {"path": a.path} | {f"p{n}": word for n, word in enumerate(words)}
        told |= {f"m{n}": word for n, word in enumerate(reversed(words), 1)}
        ordered = names
        if by:
            sizes = {name: walk(by % (told | {"name": name}), a.now.date()) for name in names}
            ordered = sorted(names, key=sizes.get, reverse=True)
        shown = [(*moment, name) for moment in a.list_moments(when) for name in ordered]
        rows = []
        for n, (day, hour, name) in enumerate(shown, 1):
            row = Row(told, day=day, year=day.year, month=day.month, mday=day.day, hour=hour)
            row |= {"stamp": stamp(day, hour), "name": name, "n": n}
            value = walk(key % row, day, low, high)
            row |= {"value": value, "count": int(value)}
            rows += [Row(row, at=at) for at in range(int(row[times]) if times else 1)]
        texts = [joint.join(part % row for row in rows) for part in parts[1::2]]
        return "".join(
            part % told + text for part, text in zip(parts[::2], [*texts, ""], strict=True)
        )

    return answer


def stamp(day, hour):
    """Return epoch seconds of an hour of a day (UTC)."""
    return int(datetime(day.year, day.month, day.day, hour, tzinfo=UTC).timestamp())


FORMS = tomllib.loads(Path(__file__).with_name("bodies.toml").read_text(encoding="utf-8"))
SITES = {words: fill(**form) for words, form in FORMS.items()}
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
