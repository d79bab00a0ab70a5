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

from daybefore.web.extract_values import COLUMNS, extract_page
from daybefore.web.replay import Replay
from daybefore.web.source_registry import load_sources

ROOT = Path(__file__).parents[2]
REGISTRY = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "data/sources").glob("*.toml"))
}
SOURCES = load_sources()
SPANS = {"A": ("2016-10-10", 29), "C1": ("2026-05-26", 3), "C2": ("2026-10-05", 3)}
"""Window -> its first day (UTC+8), and how many days are looked at."""
PRINTED = re.compile(
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d)?|\b\d{1,2} [A-Z][a-z]+ \d{4}(?:, \d\d:\d\d)?"
)
COMING = re.compile(r"<tr>(?:(?!</tr>).)*to be played.*?</tr>")
SHOWN = timedelta(days=500)
"""Seasons years apart never stand on one page."""


# --- What the files say -----------------------------------------------------------------------------


def read_facts(source_id):
    """Return a source's rows from its csv with `moment`, when each becomes public (UTC), as the
    toml's rule says."""
    entry = REGISTRY[source_id]
    path = ROOT / f"data/replay/{entry.get('rows', source_id)}.csv"
    rows = pd.read_csv(path, dtype={"occurred_at": str, "entity": str})
    known = rows["known_at"] if "known_at" in rows else [None] * len(rows)
    rows["moment"] = [
        datetime.fromisoformat(stated).astimezone(UTC)
        if isinstance(stated, str)
        else tell_moment(entry["publication"], occurred)
        for occurred, stated in zip(rows["occurred_at"], known, strict=True)
    ]
    rows["occurred_at"] = rows["occurred_at"].str.replace(" ", "T")
    return rows.sort_values("moment", kind="stable")


def tell_moment(rule, occurred_at):
    """Return when a value becomes public; where a clock runs through an hour twice, the second
    time."""
    zone, local = ZoneInfo(rule["timezone"]), datetime.fromisoformat(occurred_at)
    if "lag_minutes" in rule:
        lag = timedelta(minutes=rule["lag_minutes"])
        return local.replace(tzinfo=zone, fold=1).astimezone(UTC) + lag
    hour, minute = map(int, rule["hour"].split(":"))
    day = local + timedelta(days=rule["lag_days"])
    return day.replace(hour=hour, minute=minute, tzinfo=zone, fold=1).astimezone(UTC)


def find_end(entry, occurred_at):
    """Return when what a value is for has ended: its day (or the time it is settled at), its hour,
    its month."""
    rule, local = entry["publication"], datetime.fromisoformat(occurred_at)
    local = local.replace(tzinfo=ZoneInfo(rule["timezone"]))
    if "lag_minutes" in rule:
        return local.astimezone(UTC) + timedelta(minutes=rule.get("period_minutes", 60))
    if entry["update_frequency"] == "monthly":
        local = (local.replace(day=1) + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    hour, minute = map(int, rule.get("settled_at", "23:59").split(":"))
    return local.replace(hour=hour, minute=minute).astimezone(UTC)


def list_clocks(entry, facts):
    """Return the moments at which to look: every full hour, and the last second before anything is
    published."""
    clocks = set()
    for window, (day, n_days) in SPANS.items():
        if window in entry["windows"] or window[0] in entry["windows"]:
            first = datetime.fromisoformat(f"{day}T00:00:00+08:00").astimezone(UTC)
            hours = [first + timedelta(hours=n) for n in range(24 * n_days + 1)]
            moments = {moment for moment in facts["moment"] if first < moment < hours[-1]}
            clocks |= {*hours, *(moment - timedelta(seconds=1) for moment in moments)}
    return sorted(clocks)


# --- The check --------------------------------------------------------------------------------------


def find_latest_date(text):
    """Return the latest date or time that stands anywhere in a page's source, as the csv writes
    it."""
    latest = ""
    for printed in PRINTED.findall(text):
        is_timed = ":" in printed
        if printed[4] == "-":
            moment = datetime.fromisoformat(printed)
        else:
            moment = datetime.strptime(printed, "%d %B %Y, %H:%M" if is_timed else "%d %B %Y")  # noqa: DTZ007
        latest = max(latest, moment.isoformat()[: 16 if is_timed else 10])
    return latest


def find_leaks(source, facts, clocks):
    """Yield what is wrong with a source's pages over all clocks, by its committed facts."""
    replay, rows, pages = Replay({source.id: source}), facts.to_dict("records"), []
    moments = [row["moment"] for row in rows]
    check = check_events if source.form == "market" else RowCheck(SOURCES[source.id], rows)
    for clock in clocks:
        answer = replay.answer(source.address, int(clock.timestamp()))
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
            first = bisect.bisect_left(moments, clock - SHOWN)
            yield from check(rows[first:n_published], answer.body)
    if len(pages) < 2:
        yield "the page never changes"


class RowCheck:
    """Checks pages of dated rows: what the source's rule reads of them is what was published by
    then."""

    def __init__(self, source, rows):
        self.source, self.dates = source, {}
        for row in rows:
            shown = [
                (name, float(f"{row[name]:.{about['decimals']}f}"))
                for name, about in source.variables.items()
            ]
            own = (row["occurred_at"], row["entity"])
            row["cells"] = {(*own, *cell) for cell in shown if cell[1] == cell[1]}

    def __call__(self, rows, text):
        periods = sorted({row["occurred_at"] for row in rows})[-self.source.history :]
        wanted = set().union(*(row["cells"] for row in rows if row["occurred_at"] >= periods[0]))
        found = extract_page(self.source, text)[COLUMNS].dropna().to_numpy(dtype=object)
        found = set(map(tuple, found.tolist()))
        yield from (f"early, or no committed row: {cell}" for cell in sorted(found - wanted))
        yield from (f"published and not shown: {cell}" for cell in sorted(wanted - found))
        lines = COMING.sub("", text).split("\n")  # of a match to be played the day may stand there
        self.dates |= {line: find_latest_date(line) for line in lines if line not in self.dates}
        last_date = max(map(self.dates.get, lines))
        if last_date != periods[-1]:
            yield f"the latest date on the page is {last_date}, the newest published {periods[-1]}"


def check_events(rows, text):
    """Yield what is wrong with an event page: a question before it opens, a resolution before its
    row's moment."""
    asked = {row["entity"] for row in rows if isinstance(row["question"], str)}
    known = {row["entity"]: row["resolution"] for row in rows if isinstance(row["resolution"], str)}
    shown = extract_page(SOURCES["market"], text).set_index("market_id")["resolution"]
    known = {name: known[name] for name in asked & set(known)}
    if shown.dropna().to_dict() != known or set(shown.index) != asked:
        yield "the questions and resolutions shown are not those known by then"


@pytest.mark.parametrize("source_id", REGISTRY)
def test_nothing_is_early_in_any_hour(source_id):
    facts = read_facts(source_id)
    clocks = list_clocks(REGISTRY[source_id], facts)
    assert len(clocks) >= 29 * 24 + 1
    assert not list(islice(find_leaks(SOURCES[source_id], facts, clocks), 5))


TOTALS = ("i94_traffic", "sf_freeway")
"""Sources whose values are of a whole hour: their templates ask for "the hour from {hour}"."""


@pytest.mark.parametrize("source_id", REGISTRY)
def test_no_value_is_published_before_what_it_is_for_has_ended(source_id):
    entry = REGISTRY[source_id]
    for row in read_facts(source_id).itertuples():
        assert row.moment >= find_end(entry, row.occurred_at), row.occurred_at
    texts = [template["text"] for template in entry.get("templates", ())]
    assert any("in the hour from" in text for text in texts) == (source_id in TOTALS)
    assert (entry["publication"].get("period_minutes") == 60) == (source_id in TOTALS)


def test_every_resolution_waits_for_the_value_it_names():
    facts = read_facts("market")
    terms = facts.dropna(subset="terms").set_index("entity")["terms"].map(json.loads)
    about = {source_id: read_facts(source_id) for source_id in {t["about"] for t in terms}}
    settled = facts[facts["resolution"].notna()]
    assert len(settled) > 300
    for row in settled.itertuples():
        asked = terms[row.entity]
        rows = about[asked["about"]]
        when = f"{asked['date']}T{asked['hour']}" if asked["hour"] else asked["date"]
        names = {asked["entity"]} if "entity" in asked else set(asked["reference"])
        rows = rows[(rows["occurred_at"] == when) & rows["entity"].isin(names)]
        assert set(rows["entity"]) == names and row.moment >= rows["moment"].max(), row.entity


# --- The check can fail -----------------------------------------------------------------------------


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
def test_a_shorter_lag_is_found(source_id, rule):
    facts, source = read_facts(source_id), SOURCES[source_id]
    wrong = source.model_copy(update={"publication": source.publication | rule})
    found = find_leaks(wrong, facts, list_clocks(REGISTRY[source_id], facts))
    assert any("early" in fault for fault in found)


def test_one_early_row_is_found(monkeypatch, tmp_path):
    facts = read_facts("oil_brent")
    rows = pd.read_csv(ROOT / "data/replay/oil_brent.csv", dtype=str)
    rows.loc[rows["occurred_at"] == "2016-10-20", "known_at"] = "2016-10-20T10:00:00-04:00"
    (tmp_path / "data/replay").mkdir(parents=True)
    rows.to_csv(tmp_path / "data/replay/oil_brent.csv", index=False)
    monkeypatch.setattr(
        "daybefore.web.source_registry.ROOT", tmp_path
    )  # the server reads this copy
    clocks = list_clocks(REGISTRY["oil_brent"], facts)
    found = "\n".join(find_leaks(SOURCES["oil_brent"], facts, clocks))
    assert "early, or no committed row: ('2016-10-20', 'Brent'" in found
    assert "the page is dated 2016-10-20 14:00:00+00:00" in found
