"""Nothing is early: every page of every source, hour by hour, against a reading of the files that is this test's own.

The checker takes the committed rows and registry files (csv, toml), works out by itself when each row becomes public,
and asks the adapter that answers for all pages. It imports nothing of the package but that.
"""

import bisect
import itertools
import json
import re
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from lxml import html

from daybefore.web.replay import Replay
from daybefore.web.session import Web

ROOT = Path(__file__).parents[2]
REGISTRY = {
    path.stem: entry
    for path in sorted((ROOT / "data/sources").glob("*.toml"))
    if (entry := tomllib.loads(path.read_text(encoding="utf-8")))["licence"] == "commit"
}
BEIJING = ZoneInfo("Asia/Shanghai")
SPANS = {
    "A": (datetime(2016, 10, 10, tzinfo=BEIJING), datetime(2016, 11, 8, tzinfo=BEIJING)),
    "C1": (datetime(2026, 5, 26, tzinfo=BEIJING), datetime(2026, 5, 29, tzinfo=BEIJING)),
    "C2": (datetime(2026, 10, 5, tzinfo=BEIJING), datetime(2026, 10, 8, tzinfo=BEIJING)),
}
MONTHS = "January February March April May June July August September October November December".split()
WRITTEN = re.compile(rf"\b(\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{4}})(?:, (\d\d:\d\d))?")
ISO = re.compile(r"\b(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d))?")
COMING = re.compile(r"<tr>(?:(?!</tr>).)*to be played.*?</tr>")


# --- What the files say -----------------------------------------------------------------------------------------------


def read_facts(source_id):
    """Return a source's rows from its csv with `moment`, when each becomes public (UTC), as the toml's rule says."""
    entry = REGISTRY[source_id]
    rows = pd.read_csv(
        ROOT / f"data/replay/{entry.get('rows', source_id)}.csv", dtype={"occurred_at": str, "entity": str}
    )
    known = rows["known_at"] if "known_at" in rows else [None] * len(rows)
    rows["moment"] = [
        datetime.fromisoformat(stated).astimezone(UTC) if isinstance(stated, str) else tell_moment(entry, occurred)
        for occurred, stated in zip(rows["occurred_at"], known, strict=True)
    ]
    rows["occurred_at"] = rows["occurred_at"].str.replace(" ", "T")
    return rows


def tell_moment(entry, occurred_at):
    """Return when a value becomes public; where a clock runs through an hour twice, the second time."""
    rule = entry["publication"]
    zone, local = ZoneInfo(rule["timezone"]), datetime.fromisoformat(occurred_at)
    if "lag_minutes" in rule:
        return local.replace(tzinfo=zone, fold=1).astimezone(UTC) + timedelta(minutes=rule["lag_minutes"])
    hour, minute = map(int, rule["hour"].split(":"))
    day = local + timedelta(days=rule["lag_days"])
    return day.replace(hour=hour, minute=minute, tzinfo=zone, fold=1).astimezone(UTC)


def list_clocks(entry, facts):
    """Return the moments at which to look: every full hour, and the last second before anything is published."""
    clocks = set()
    for window, (first, last) in SPANS.items():
        if window in entry["windows"] or window[0] in entry["windows"]:
            n_hours = int((last - first).total_seconds() // 3600)
            clocks |= {(first + timedelta(hours=n)).astimezone(UTC) for n in range(n_hours + 1)}
            clocks |= {m - timedelta(seconds=1) for m in set(facts["moment"]) if first < m < last}
    return sorted(clocks)


# --- What a page says -------------------------------------------------------------------------------------------------


def read_date(text):
    """Return a printed date or time as the csv writes it."""
    if found := WRITTEN.fullmatch(text.strip()):
        day, month, year, time = found.groups()
        date = f"{year}-{MONTHS.index(month) + 1:02}-{int(day):02}"
        return f"{date}T{time}" if time else date
    return text.strip().replace(" ", "T")


def read_cells(entry, text):
    """Yield (occurred_at, entity, variable, printed value) for all that a page shows, by the toml's extraction rule."""
    rule = entry["extract"]
    if rule["kind"] == "json":
        for row in json.loads(text)[rule["rows"]]:
            for variable, key in rule["values"].items():
                yield read_date(row[rule["date"]]), row[rule["entity"]], variable, row[key]
        return
    tree = html.fromstring(text)
    if rule["kind"] == "css":
        for issue in tree.cssselect(rule["issue"]):
            date = read_date(issue.cssselect(rule["date"])[0].text_content())
            for item in issue.cssselect(rule["item"]):
                name, value = (item.cssselect(rule[part])[0].text_content() for part in ("name", "value"))
                yield date, name, rule["variable"], value
    elif rule["kind"] == "regex":
        only = entry["entities"].get("only", [None])[0]
        for found in re.finditer(rule["pattern"], "\n".join(p.text_content() for p in tree.iter("p"))):
            groups = found.groupdict()
            date, entity = read_date(groups.pop("date")), groups.pop("entity", None) or only
            yield from ((date, entity, variable, value) for variable, value in groups.items())
    else:
        (table,) = tree.cssselect(rule["selector"])
        head, *lines = ([cell.text_content() for cell in row] for row in table.iter("tr"))
        for first, *cells in lines:
            line = dict(zip(head[1:], cells, strict=True))
            if rule["layout"] == "wide":
                yield from ((read_date(first), name, rule["variable"], cell) for name, cell in line.items())
            else:
                for variable, title in rule["columns"].items():
                    yield read_date(first), line[rule["entity"]], variable, line[title]


def find_latest_date(text):
    """Return the latest date or time that stands anywhere in a page's source, as the csv writes it."""
    written = {read_date(found.group(0)) for found in WRITTEN.finditer(text)}
    return max(written | {f"{date}T{time}" if time else date for date, time in ISO.findall(text)}, default="")


def is_same(printed, value, decimals):
    """Tell whether a printed value is the csv's, at the decimals of the page; a missing one is n/a or null."""
    if printed in ("n/a", None):
        return value != value
    return float(str(printed).replace(",", "")) == float(f"{value:.{decimals}f}")


# --- The check --------------------------------------------------------------------------------------------------------


def find_leaks(source_id, facts, web, clocks):
    """Return (what is wrong, number of different pages read) of a source over all clocks, by its committed facts."""
    entry, found, n_pages, seen = REGISTRY[source_id], [], 0, None
    moments = sorted(facts["moment"])
    check = MarketCheck(facts) if entry["form"] == "market" else RowCheck(entry, facts)
    for clock in clocks:
        answer = web.adapter.answer(entry["address"], int(clock.timestamp()))
        n_published = bisect.bisect_right(moments, clock)
        newest = moments[n_published - 1] if n_published else None
        if answer.status != 200:
            found += [f"{clock}: status {answer.status}, though rows are published"] if newest else []
            continue
        moment = datetime.fromtimestamp(answer.published, UTC)
        if moment > clock or moment != newest:
            found.append(f"{clock}: the page is dated {moment}, the newest row published by then {newest}")
        if answer.body != seen:
            seen, n_pages = answer.body, n_pages + 1
            found += [f"{clock}: {fault}" for fault in check(answer.body, clock)]
    return found + list(check.finish(clocks)), n_pages


class RowCheck:
    """Checks pages of dated rows; a line of a page that was found published once is not read again."""

    def __init__(self, entry, facts):
        self.entry, self.dates, self.frames, self.shown = entry, {}, set(), set()
        published = sorted(zip(facts["moment"], facts["occurred_at"], strict=True))
        self.moments = [moment for moment, _ in published]
        self.latest = list(itertools.accumulate((occurred for _, occurred in published), max))
        self.rows = {(row["occurred_at"], row["entity"]): row for row in facts.to_dict("records")}

    def __call__(self, text, clock):
        if self.entry.get("page", {}).get("fixtures_days"):  # matches to be played
            for line in COMING.findall(text):
                _, name, *cells = (cell.text_content() for cell in html.fromstring(f"<table>{line}</table>").iter("td"))
                if set(cells) != {"to be played"} or len(cells) != len(self.entry["variables"]):
                    yield f"the coming match {name} shows {cells}"
            text = COMING.sub("", text)
        lines = text.split("\n")
        unread = {line for line in lines if line not in self.dates}
        self.frames |= {line for line in unread if re.search("<table|<th>|</table>", line)}
        frame = [line for line in lines if line in unread or line in self.frames]
        is_json = self.entry["extract"]["kind"] == "json"
        cells = set(read_cells(self.entry, text if is_json else "\n".join(frame)))
        yield from filter(None, (self.check_cell(cell, clock) for cell in sorted(cells - self.shown, key=str)))
        self.shown |= cells
        self.dates |= {line: find_latest_date(line) for line in unread}
        last_date = max(map(self.dates.get, lines))
        latest = self.latest[bisect.bisect_right(self.moments, clock) - 1]
        if last_date != latest:
            yield f"the latest date on the page is {last_date}, the newest published occurrence {latest}"

    def finish(self, clocks):
        """Yield each row published while the walk looked that was on no page."""
        seen = {cell[:2] for cell in self.shown}
        inside = [span for span in SPANS.values() if span[0] in clocks]
        for key, row in self.rows.items():
            is_blank = all(row[variable] != row[variable] for variable in self.entry["variables"])
            if key not in seen and not is_blank and any(a <= row["moment"] <= b for a, b in inside):
                yield f"{key} was published at {row['moment']} and never shown"

    def check_cell(self, cell, clock):
        occurred, entity, variable, printed = cell
        row = self.rows.get((occurred, entity))
        if row is None:
            is_gap = printed == "n/a" and self.entry["page"].get("layout") == "wide"
            return None if is_gap else f"{occurred} {entity} is in no committed row"
        if row["moment"] > clock:
            return f"{occurred} {entity} is early: it is published at {row['moment']}"
        if not is_same(printed, row[variable], self.entry["variables"][variable]["decimals"]):
            return f"{occurred} {entity}: {variable} is {printed!r}, the committed value {row[variable]}"
        return None


class MarketCheck:
    """Checks event pages: a question not before it opens, its resolution not before its row's moment."""

    def __init__(self, facts):
        opened, settled = (facts[facts[column].notna()] for column in ("question", "resolution"))
        self.opened = dict(zip(opened["entity"], opened["moment"], strict=True))
        self.settled = {row["entity"]: (row["moment"], row["resolution"]) for row in settled.to_dict("records")}
        self.read = {}

    def __call__(self, text, clock):
        lines = re.findall("<article.*?</article>", text, re.S)
        for line in set(lines) - set(self.read):
            article = html.fromstring(line)
            self.read[line] = article.get("id"), [part.text_content() for part in article.cssselect("p.resolution")]
        shown = dict(map(self.read.get, lines))
        first = clock - timedelta(days=500)  # seasons years apart never stand on one page
        if set(shown) != {key for key, moment in self.opened.items() if first <= moment <= clock}:
            yield "the questions shown are not those opened by then"
        for key, said in shown.items():
            moment, words = self.settled.get(key, (None, None))
            if said != ([words] if moment and moment <= clock else []):
                yield f"{key} shows {said}, but settles as {words!r} at {moment}"

    def finish(self, clocks):
        return []


@pytest.mark.parametrize("source_id", REGISTRY)
def test_nothing_is_early_in_any_hour(source_id, world):
    facts = read_facts(source_id)
    clocks = list_clocks(REGISTRY[source_id], facts)
    assert len(clocks) >= 29 * 24 + 1
    found, n_pages = find_leaks(source_id, facts, world(), clocks)
    assert not found, "\n".join(found[:5])
    assert n_pages > 1


def test_every_resolution_waits_for_the_value_it_names():
    facts = read_facts("market")
    terms = {row["entity"]: json.loads(row["terms"]) for row in facts[facts["terms"].notna()].to_dict("records")}
    settled = facts[facts["resolution"].notna()]
    assert len(settled) > 300
    about = {source_id: read_facts(source_id) for source_id in {t["about"] for t in terms.values()}}
    for row in settled.to_dict("records"):
        asked = terms[row["entity"]]
        rows = about[asked["about"]]
        when = f"{asked['date']}T{asked['hour']}" if asked["hour"] else asked["date"]
        rows = rows[rows["occurred_at"] == when]
        names = [asked["entity"]] if "entity" in asked else list(asked["reference"])
        rows = rows[rows["entity"].isin(names)]
        assert set(rows["entity"]) == set(names), row["entity"]
        assert row["moment"] >= max(rows["moment"]), row["entity"]


def find_end(entry, occurred_at):
    """Return when what a value is for has ended: its day (or the time it is settled at), its hour, its month."""
    rule, local = entry["publication"], datetime.fromisoformat(occurred_at)
    if "lag_minutes" in rule:
        end = local.replace(tzinfo=ZoneInfo(rule["timezone"])).astimezone(UTC)
        return end + timedelta(minutes=rule.get("period_minutes", 60))
    if entry["update_frequency"] == "monthly":
        local = (local.replace(day=1) + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    hour, minute = map(int, rule.get("settled_at", "23:59").split(":"))
    return local.replace(hour=hour, minute=minute, tzinfo=ZoneInfo(rule["timezone"])).astimezone(UTC)


TOTALS = ("i94_traffic", "sf_freeway")
"""Sources whose values are of a whole hour: their templates ask for "the hour from {hour}"."""


@pytest.mark.parametrize("source_id", REGISTRY)
def test_no_value_is_published_before_what_it_is_for_has_ended(source_id):
    entry = REGISTRY[source_id]
    for row in read_facts(source_id).to_dict("records"):
        assert row["moment"] >= find_end(entry, row["occurred_at"]), row["occurred_at"]
    asks_totals = any("in the hour from" in template["text"] for template in entry.get("templates", ()))
    assert asks_totals == (source_id in TOTALS) == (entry["publication"].get("period_minutes") == 60)


# --- The check can fail -----------------------------------------------------------------------------------------------


def check_planted(source):
    """Return what the checker finds when the server has this version of a source (and of its rows)."""
    facts = read_facts(source.id)
    return find_leaks(source.id, facts, Web(Replay({source.id: source})), list_clocks(REGISTRY[source.id], facts))[0]


@pytest.mark.parametrize(
    ("source_id", "rule"),
    [
        ("clemson", {"lag_days": 0}),
        ("weather_bwi", {"hour": "07:59"}),
        ("i94_traffic", {"lag_minutes": 89}),
        ("taiwan_dengue", {"timezone": "Asia/Tokyo"}),
        ("football_austria_matches", {"lag_days": 1}),
    ],
)
def test_a_shorter_lag_is_found(sources, source_id, rule):
    source = sources[source_id]
    found = check_planted(source.model_copy(update={"publication": source.publication | rule}))
    assert any("is early" in fault for fault in found)


def test_one_early_row_is_found(sources, monkeypatch, tmp_path):
    rows = pd.read_csv(ROOT / "data/replay/oil_brent.csv", dtype=str)
    rows.loc[rows["occurred_at"] == "2016-10-20", "known_at"] = "2016-10-20T10:00:00-04:00"
    (tmp_path / "data/replay").mkdir(parents=True)
    rows.to_csv(tmp_path / "data/replay/oil_brent.csv", index=False)
    monkeypatch.setattr("daybefore.web.sources.ROOT", tmp_path)  # the server reads this copy
    found = check_planted(sources["oil_brent"])
    assert any("2016-10-20 Brent is early" in fault for fault in found)
    assert any("the page is dated 2016-10-20 14:00:00+00:00" in fault for fault in found)
