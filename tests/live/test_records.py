"""Live sources: each file is whole, and reads what its site documents; what is unfinished or broken
is left out."""

from datetime import UTC, datetime

import pandas as pd
import pytest
from live.bodies import answer, walk

from daybefore.live.keep_pages import add_rows, keep_settled, list_addresses, read_records
from daybefore.web.source_registry import load_sources, locate_rows
from helpers.files import ROOT

SOURCES = load_sources(ROOT / "data/live/sources")
NOW = datetime(2026, 11, 25, 13, 30, tzinfo=UTC)


def read_source(source, now=NOW):
    """Return all rows that a source's pages hold as of now."""
    pages = list_addresses(source, now.date())
    return pd.concat(
        [read_records(source, answer(url, now)[1], now, entity) for entity, url in pages]
    )


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_source_reads_the_documented_form(name):
    source = SOURCES[name]
    rows = read_source(source)
    assert list(rows) == ["occurred_at", "entity", *source.variables]
    assert not rows.duplicated(["occurred_at", "entity"]).any()
    settled = keep_settled(source, rows, NOW)
    assert len(settled) and settled["occurred_at"].max() <= "2026-11-25"
    if only := source.entities.get("only"):
        assert set(rows["entity"]) == set(only)


def test_values_are_those_of_the_page():
    rows = read_source(SOURCES["ecb_rates"]).set_index(["occurred_at", "entity"])["rate"]
    day = datetime(2026, 11, 24, tzinfo=UTC).date()
    assert rows["2026-11-24", "USD"] == walk("USD", day, 1, 2)
    prices = read_source(SOURCES["dk_prices"]).set_index(["occurred_at", "entity"])["price"]
    assert prices["2026-11-24", "DK1"] == pytest.approx(
        sum(walk(f"DK1 {hour}", day) for hour in range(24)) / 24
    )
    assert "SE4" not in prices.index.get_level_values(
        "entity"
    )  # a zone that nothing is asked about


def test_of_pages_that_overlap_and_values_that_are_revised_the_first_stands(out):
    source = SOURCES["ecb_rates"]
    rows = keep_settled(source, read_source(source), NOW)
    twice = pd.concat([rows, rows.head(3).assign(rate=0.5)])
    assert add_rows(source, twice) == {"n_new": len(rows), "n_revised": 0}
    first = locate_rows(source).read_bytes()
    assert add_rows(source, twice.iloc[::-1]) == {"n_new": 0, "n_revised": 3}
    assert locate_rows(source).read_bytes() == first
    with locate_rows(source).open("ab") as file:  # as an earlier version may have left it
        file.write(first.splitlines(keepends=True)[1])
    assert add_rows(source, rows) == {"n_new": 0, "n_revised": 0}


def test_a_day_that_has_not_ended_is_left_out_until_it_has():
    source = SOURCES["weather"]
    rows = read_source(source)
    assert rows["occurred_at"].max() == "2026-11-25"
    assert keep_settled(source, rows, NOW)["occurred_at"].max() == "2026-11-24"
    assert set(keep_settled(source, rows, NOW)["known_at"]) == {"2026-11-25T13:30:00Z"}


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("ecb_rates", "<html>\ndown for maintenance</html>", "no 'TIME_PERIOD'"),
        ("sofr", '{"refRates": []}', "finds no rows"),
        ("power_prices", '{"unix_seconds": [1, 2], "price": [1]}', "same length"),
        ("boc_rates", "[" * 100_000, "recursion"),
        ("tube", '[{"name": null, "lineStatuses": [{"statusSeverity": "good"}]}]', "no value"),
    ],
)
def test_a_changed_layout_is_refused_with_what_was_looked_for(name, body, said):
    with pytest.raises((ValueError, RecursionError), match=said):
        read_records(SOURCES[name], body, NOW, "Germany")
