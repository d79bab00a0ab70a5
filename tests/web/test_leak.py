"""Nothing is early: every page of every source, hour by hour, against a reading of the files that
is this test's own.

The checker takes the committed rows and registry files (csv, toml), works out by itself when each
row becomes public, and asks the adapter that answers for all pages. What a source's rule reads of a
page must be the rows published by then, no more and no less; no later date may stand anywhere in
its text.
"""

import bisect
import json
import re
import tomllib
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

from daybefore.web.extract import COLUMNS, extract_page
from daybefore.web.replay import Replay
from daybefore.web.session import Web
from daybefore.web.sources import load_sources

ROOT = Path(__file__).parents[2]
REGISTRY = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "data/sources").glob("*.toml"))
}
BEIJING = ZoneInfo("Asia/Shanghai")
SOURCES = load_sources()
SPANS = {
    "A": (datetime(2016, 10, 10, tzinfo=BEIJING), datetime(2016, 11, 8, tzinfo=BEIJING)),
    "C1": (datetime(2026, 5, 26, tzinfo=BEIJING), datetime(2026, 5, 29, tzinfo=BEIJING)),
    "C2": (datetime(2026, 10, 5, tzinfo=BEIJING), datetime(2026, 10, 8, tzinfo=BEIJING)),
}
MONTHS = (
    "January February March April May June July August September October November December".split()
)
WRITTEN = re.compile(rf"\b(\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{4}})(?:, (\d\d:\d\d))?")
ISO = re.compile(r"\b(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d))?")
COMING = re.compile(r"<tr>(?:(?!</tr>).)*to be played.*?</tr>")


# --- What the files say -----------------------------------------------------------------------------


def read_facts(source_id):
    """Return a source's rows from its csv with `moment`, when each becomes public (UTC), as the
    toml's rule says."""
    entry = REGISTRY[source_id]
    rows = pd.read_csv(
        ROOT / f"data/replay/{entry.get('rows', source_id)}.csv",
        dtype={"occurred_at": str, "entity": str},
    )
    known = rows["known_at"] if "known_at" in rows else [None] * len(rows)
    rows["moment"] = [
        datetime.fromisoformat(stated).astimezone(UTC)
        if isinstance(stated, str)
        else tell_moment(entry, occurred)
        for occurred, stated in zip(rows["occurred_at"], known, strict=True)
    ]
    rows["occurred_at"] = rows["occurred_at"].str.replace(" ", "T")
    return rows


def tell_moment(entry, occurred_at):
    """Return when a value becomes public; where a clock runs through an hour twice, the second
    time."""
    rule = entry["publication"]
    zone, local = ZoneInfo(rule["timezone"]), datetime.fromisoformat(occurred_at)
    if "lag_minutes" in rule:
        return local.replace(tzinfo=zone, fold=1).astimezone(UTC) + timedelta(
            minutes=rule["lag_minutes"]
        )
    hour, minute = map(int, rule["hour"].split(":"))
    day = local + timedelta(days=rule["lag_days"])
    return day.replace(hour=hour, minute=minute, tzinfo=zone, fold=1).astimezone(UTC)


def list_clocks(entry, facts):
    """Return the moments at which to look: every full hour, and the last second before anything is
    published."""
    clocks = set()
    for window, (first, last) in SPANS.items():
        if window in entry["windows"] or window[0] in entry["windows"]:
            n_hours = int((last - first).total_seconds() // 3600)
            clocks |= {(first + timedelta(hours=n)).astimezone(UTC) for n in range(n_hours + 1)}
            clocks |= {m - timedelta(seconds=1) for m in set(facts["moment"]) if first < m < last}
    return sorted(clocks)


# --- What a page says -------------------------------------------------------------------------------


def read_date(text):
    """Return a printed date or time as the csv writes it."""
    if found := WRITTEN.fullmatch(text.strip()):
        day, month, year, time = found.groups()
        date = f"{year}-{MONTHS.index(month) + 1:02}-{int(day):02}"
        return f"{date}T{time}" if time else date
    return text.strip().replace(" ", "T")


def find_latest_date(text):
    """Return the latest date or time that stands anywhere in a page's source, as the csv writes
    it."""
    written = {read_date(found.group(0)) for found in WRITTEN.finditer(text)}
    return max(
        written | {f"{date}T{time}" if time else date for date, time in ISO.findall(text)},
        default="",
    )


# --- The check --------------------------------------------------------------------------------------


def find_leaks(source_id, facts, web, clocks):
    """Yield what is wrong with a source's pages over all clocks, by its committed facts."""
    entry, pages = REGISTRY[source_id], []
    moments = sorted(facts["moment"])
    check = MarketCheck(facts) if entry["form"] == "market" else RowCheck(source_id, facts)
    for clock in clocks:
        answer = web.adapter.answer(entry["address"], int(clock.timestamp()))
        n_published = bisect.bisect_right(moments, clock)
        newest = moments[n_published - 1] if n_published else None
        if answer.status != 200:
            if newest:
                yield f"{clock}: status {answer.status}, though rows are published"
            continue
        moment = datetime.fromtimestamp(answer.published, UTC)
        if moment > clock or moment != newest:
            yield f"{clock}: the page is dated {moment}, the newest row published by then {newest}"
        if answer.body not in pages[-1:]:
            pages.append(answer.body)
            yield from (f"{clock}: {fault}" for fault in check(answer.body, clock))
    if len(pages) < 2:
        yield "the page never changes"


class RowCheck:
    """Checks pages of dated rows: what the source's rule reads of them is what was published by
    then."""

    def __init__(self, source_id, facts):
        self.source, self.dates = SOURCES[source_id], {}
        self.rows = facts.sort_values("moment", kind="stable").to_dict("records")
        self.moments = [row["moment"] for row in self.rows]
        for row in self.rows:
            shown = {
                name: float(f"{row[name]:.{about['decimals']}f}")
                for name, about in self.source.variables.items()
            }
            row["cells"] = {
                (row["occurred_at"], row["entity"], *cell)
                for cell in shown.items()
                if cell[1] == cell[1]
            }

    def __call__(self, text, clock):
        first = bisect.bisect_left(
            self.moments, clock - timedelta(days=500)
        )  # seasons years apart: never on one page
        rows = self.rows[first : bisect.bisect_right(self.moments, clock)]
        periods = sorted({row["occurred_at"] for row in rows})[-self.source.history :]
        wanted = set().union(*(row["cells"] for row in rows if row["occurred_at"] >= periods[0]))
        cells = extract_page(self.source, text)[COLUMNS].dropna().to_numpy(dtype=object)
        found = set(map(tuple, cells.tolist()))
        yield from (
            f"{cell[0]} {cell[1]} is early, or no committed row: {cell}"
            for cell in sorted(found - wanted)
        )
        yield from (
            f"{cell[0]} {cell[1]} is published and not shown: {cell}"
            for cell in sorted(wanted - found)
        )
        lines = COMING.sub("", text).split("\n")  # of a match to be played the day may stand there
        self.dates |= {line: find_latest_date(line) for line in lines if line not in self.dates}
        last_date = max(map(self.dates.get, lines))
        if last_date != periods[-1]:
            yield f"the latest date on the page is {last_date}, the newest published occurrence {periods[-1]}"


class MarketCheck:
    """Checks event pages: a question not before it opens, its resolution not before its row's
    moment."""

    def __init__(self, facts):
        opened, settled = (facts[facts[column].notna()] for column in ("question", "resolution"))
        self.opened = opened.set_index("entity")["moment"]
        self.settled = settled.set_index("entity")[["moment", "resolution"]]

    def __call__(self, text, clock):
        first = clock - timedelta(days=500)  # seasons years apart never stand on one page
        known = self.settled.loc[self.settled["moment"] <= clock, "resolution"]
        asked = self.opened.index[(self.opened >= first) & (self.opened <= clock)]
        shown = extract_page(SOURCES["market"], text).set_index("market_id")["resolution"]
        if shown.dropna().to_dict() != known[known.index.isin(asked)].to_dict() or set(
            shown.index
        ) != set(asked):
            yield "the questions and resolutions shown are not those known by then"


@pytest.mark.parametrize("source_id", REGISTRY)
def test_nothing_is_early_in_any_hour(source_id, world):
    facts = read_facts(source_id)
    clocks = list_clocks(REGISTRY[source_id], facts)
    assert len(clocks) >= 29 * 24 + 1
    assert not list(islice(find_leaks(source_id, facts, world(), clocks), 5))


def test_every_resolution_waits_for_the_value_it_names():
    facts = read_facts("market")
    terms = {
        row["entity"]: json.loads(row["terms"])
        for row in facts[facts["terms"].notna()].to_dict("records")
    }
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
    """Return when what a value is for has ended: its day (or the time it is settled at), its hour,
    its month."""
    rule, local = entry["publication"], datetime.fromisoformat(occurred_at)
    if "lag_minutes" in rule:
        end = local.replace(tzinfo=ZoneInfo(rule["timezone"])).astimezone(UTC)
        return end + timedelta(minutes=rule.get("period_minutes", 60))
    if entry["update_frequency"] == "monthly":
        local = (local.replace(day=1) + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    hour, minute = map(int, rule.get("settled_at", "23:59").split(":"))
    return local.replace(hour=hour, minute=minute, tzinfo=ZoneInfo(rule["timezone"])).astimezone(
        UTC
    )


TOTALS = ("i94_traffic", "sf_freeway")
"""Sources whose values are of a whole hour: their templates ask for "the hour from {hour}"."""


@pytest.mark.parametrize("source_id", REGISTRY)
def test_no_value_is_published_before_what_it_is_for_has_ended(source_id):
    entry = REGISTRY[source_id]
    for row in read_facts(source_id).to_dict("records"):
        assert row["moment"] >= find_end(entry, row["occurred_at"]), row["occurred_at"]
    asks_totals = any(
        "in the hour from" in template["text"] for template in entry.get("templates", ())
    )
    assert (
        asks_totals == (source_id in TOTALS) == (entry["publication"].get("period_minutes") == 60)
    )


# --- The check can fail -----------------------------------------------------------------------------


def check_planted(source):
    """Yield what the checker finds when the server has this version of a source (and of its
    rows)."""
    facts = read_facts(source.id)
    return find_leaks(
        source.id, facts, Web(Replay({source.id: source})), list_clocks(REGISTRY[source.id], facts)
    )


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
    found = list(check_planted(sources["oil_brent"]))
    assert any("2016-10-20 Brent is early" in fault for fault in found)
    assert any("the page is dated 2016-10-20 14:00:00+00:00" in fault for fault in found)
