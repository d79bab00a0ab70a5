"""A source tried by itself: a mistake ends in a sentence with file, line or row, and field, before
any server."""

import contextlib
import re

import pandas as pd
import pytest
import try_source as command
from try_source import try_source

TOML = """name = "Boston harbour ferries"
site_type = "real_time"
domain = "Transport"
subdomain = "Ferries"
update_frequency = "daily"
form = "json"
publication = { lag_days = 1, hour = "09:00", timezone = "America/New_York" }
entities = { label = "harbour" }
variables = { trips = { label = "Trips", unit = "trips", decimals = 0 } }

[[templates]]
id = "ferry_trips"
period = "daily"
ask = "value"
variable = "trips"
text = "How many ferries will sail in {entity} on {date}?"
"""
DAYS = pd.date_range("2016-09-20", "2016-11-05")
CSV = "occurred_at,entity,trips\n" + "".join(
    f"{day:%Y-%m-%d},Boston,{50 + day.day % 9}\n" for day in DAYS
)


@pytest.fixture
def plant(tmp_path, monkeypatch):
    """A function that puts a synthetic source into a registry of its own and returns what
    `choose_source` says."""
    (tmp_path / "data/sources").mkdir(parents=True)
    (tmp_path / "data/replay").mkdir()
    monkeypatch.setattr("daybefore.web.source_registry.ROOT", tmp_path)
    load = command.load_sources
    monkeypatch.setattr(
        command, "load_sources", lambda **options: load(tmp_path / "data/sources", **options)
    )
    monkeypatch.setattr(
        command, "open_world", lambda **options: pytest.fail("a server was started")
    )

    def ask(toml=TOML, csv=CSV, window="A", name="ferries"):
        (tmp_path / "data/sources/ferries.toml").write_text(toml, encoding="utf-8")
        if csv:
            (tmp_path / "data/replay/ferries.csv").write_text(csv)
        with pytest.raises(ValueError) as caught:
            try_source(name, window)
        return str(caught.value)

    return ask


@pytest.mark.parametrize(("csv", "said"), [
    (None, "ferries.csv, row 1, column occurred_at: the file is not in replay; it needs the columns"),
    (CSV.replace("trips", "trip", 1), "row 1, column trips: the column is missing; there are occurred_at"),
    (CSV.replace("2016-09-22", "22.09.2016"), "row 4, column occurred_at: '22.09.2016' is not a date such as"),
    (CSV.replace("2016-09-22", "2016-09-21"), "row 4, column entity: 2016-09-21, Boston stands in row 3 already"),
    (CSV.replace("Boston,54", "Boston,many", 1), "row 4, column trips: 'many' is not a number"),
    (CSV.replace("2016-", "2017-"), "none in the 500 days before october-2016 begins on 2016-10-10"),
])  # fmt: skip
def test_a_mistake_in_the_rows_is_told_with_row_and_column(plant, csv, said):
    told = plant(csv=csv)
    assert said in told and told.startswith("ferries.csv, row")


def test_a_name_that_is_none_is_answered_with_the_nearest(plant):
    told = (
        "no source is called 'ferrys'; did you mean ferries? There are ferries; to add it, write "
    )
    assert plant(name="ferrys") == f"{told}data/sources/ferrys.toml"
    assert plant(TOML.replace("[[templates]]", "[[templates]", 1)).startswith(
        "ferries.toml: not valid toml: "
    )
    assert plant(window="M") == "markets has no sources of its own; try another SET"
    assert plant(window="C1") == "ferries.toml has rows for october-2016, not for june-2026"


def test_a_source_is_tried_to_its_end(monkeypatch, world, capsys):
    monkeypatch.setattr(command, "open_world", lambda **options: contextlib.nullcontext(world))
    try_source("gbbo", "A")
    said = capsys.readouterr().out
    assert (
        "189 values, the newest are" in said and len(set(re.findall(r"^A-10\S+", said, re.M))) == 6
    )
    assert "15 start days, 4 different pages read" in said
    assert (
        "6 events kept, 0 dropped\n5 of them answered, 1 not:\n  1 x the page holds no value for 2016-10-26 yet"
        in said
    )
    assert "Series(" not in said
