"""A reader's own function as an agent: what it may return, what it sees, how it fails, what its
runs are named by."""

import asyncio
import linecache
import os
import sys
from functools import partial

import pandas as pd
import pytest
from builders import AS_OF, make_event, open_sites

from daybefore.agents.python_functions import (
    View,
    ask_function,
    hash_own,
    load_function,
    make_agent,
    read_returned,
)
from daybefore.agents.registry import load_agents, load_entries
from daybefore.agents.run_loop import run_agents
from daybefore.questions.series_pages import open_series
from daybefore.store import read_runs
from daybefore.web.fetched_pages import GatewayError
from daybefore.web.source_registry import load_sources
from helpers.files import dump_json, parse_json, read_table

OIL = "oil_brent"
NUMBER = make_event("number", source_id=OIL, event_id="T-1", level=3)
TERMS = {"ask": "value", "variable": "price", "entity": "Brent", "hour": None, "date": "2016-10-14"}
NUMBER["variables"] = dump_json(TERMS)
LATER = "2016-10-17T00:00:00+08:00"


@pytest.fixture(scope="module")
def crawler():
    """A crawler over one real source."""
    with open_sites({OIL: load_sources()[OIL]}) as crawler:
        yield crawler


@pytest.mark.parametrize(
    ("kind", "given", "wanted"),
    [
        ("number", 12, {"value": 12.0}),
        ("number", r"So \boxed{12.5}.", {"value": 12.5}),
        (
            "number",
            {0.05: 1, 0.5: 2, 0.95: 4},
            {"value": 2.0, "interval_low": 1.0, "interval_high": 4.0},
        ),
        ("single", "B", {"value": "B"}),
        ("single", {"A": 0.3, "B": 0.7}, {"value": "B", "probability": 0.7}),
        ("multi", ["B", "A"], {"value": ["A", "B"]}),
        ("ranking", {"Rome": 0.2, "Oslo": 0.9, "Lima": 0.5}, {"value": ["Oslo", "Lima"]}),
    ],
)
def test_what_a_function_returns_is_read_as_its_kind(kind, given, wanted):
    found = read_returned(given, make_event(kind, k=2))
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("kind", "given", "reason"),
    [
        ("number", float("nan"), "nan is no finite number"),
        ("single", {"A": 0.6, "B": 0.6}, "add up to 1.2, not to 1"),
        ("multi", ["C"], "'C' is none of A, B"),
        ("single", None, "the function gave None"),
    ],
)
def test_a_wrong_return_is_a_missing_prediction_with_its_reason(kind, given, reason):
    made = ask_function(lambda event, world: given, make_event(kind, k=2), None)
    prediction = made["prediction"]
    status = "refusal" if given is None else "unparsable"
    assert (prediction["value"], prediction["status"]) == (None, status)
    assert reason in prediction["reason"] == made["trace"][-1]["error"]


@pytest.mark.parametrize("kind", ["single", "multi", "ranking", "number"])
def test_expected_values_answer_an_event_of_any_kind_as_the_baseline_does(kind):
    events = read_table("events", "A").query("site_type != 'prediction_market'")
    event = events[events["kind"] == kind].iloc[0].to_dict()

    def repeat(event, world):
        return world.read_history().ffill().iloc[-1]

    with open_sites({event["source_id"]: load_sources()[event["source_id"]]}) as crawler:
        made = ask_function(repeat, event, crawler)["prediction"]["value"]
        last = load_agents()["last_value"]["forecast"](event, crawler)["prediction"]["value"]
    assert made == (pytest.approx(last) if kind == "number" else last)


def test_a_function_sees_the_page_of_its_day_every_look_is_a_step_and_none_goes_ahead_or_outside(
    crawler,
):
    def look(event, world):
        event["as_of"] = LATER  # its own copy
        for address in ("", f"?at={LATER.replace('+', '%2B')}"):
            page = world.fetch(crawler.sources[OIL].address + address)
            assert pd.Timestamp(page.published_at) < pd.Timestamp(AS_OF)
            assert world.search("Brent crude price")
        with pytest.raises(GatewayError) as refusal:
            world.fetch("http://example.org/")
        assert refusal.value.status == "outside"
        return world.read_history()["Brent"].iloc[-1]

    made = ask_function(look, event := dict(NUMBER), crawler)
    assert made["prediction"]["value"] == 50.14 and event == NUMBER
    assert len(made["prediction"]["source_ids"]) == 2
    steps = [step.get("tool") for step in made["trace"]]
    assert steps == ["open", "search", "open", "search", "observe", None]


@pytest.mark.parametrize("look", [View.observe, View.read_history])
def test_a_function_that_reads_a_series_of_a_public_question_is_told_what_it_can_do(look):
    with pytest.raises(ValueError, match="no series to read; search.. and fetch.. look at pages"):
        look(View(None, NUMBER | {"variables": None}))


def fail(event, world):
    raise RuntimeError("no idea")


def test_a_function_runs_as_an_agent_and_what_it_raises_is_its_failure(tmp_path):
    events = pd.DataFrame([NUMBER | {"variables": None}])
    agents = {"five": lambda event, world: 5, "fails": fail}
    path = tmp_path / "l.sqlite"
    run_agents(agents, events, lambda: None, path, window="T", progress=False)
    table = read_runs(path, "predictions").set_index("agent_id")[["value", "status", "reason"]]
    place = f"test_functions.py, line {fail.__code__.co_firstlineno + 1}"
    assert table.loc["five"].tolist()[:2] == ["5.0", "ok"]
    assert table.loc["fails"].tolist()[1:] == ["error", f"RuntimeError: no idea ({place})"]
    assert set(read_runs(path, "runs")["framework"]) == {"Python function"}


MODULE = """from my_parts import weight

PLACES = 2


def forecast(event, world):
    return round(weight(), PLACES)
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A folder with a reader's module and one that it imports, worked in."""
    (tmp_path / "my_module.py").write_text(MODULE)
    (tmp_path / "my_parts.py").write_text("def weight():\n    return 0.25\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("my_module", "my_parts"):
        sys.modules.pop(name, None)


def test_a_registered_function_is_found_in_the_working_folder_and_run_by_its_name(mine):
    path = mine / "agents.toml"
    path.write_text('[mine]\nagent = "my_module:forecast"\n[other]\nagent = "nowhere:f"\n')
    assert load_entries(path)["mine"]["category"] == "scripted" and load_agents(path) == {}
    agents = load_agents(path, wanted=["mine"])
    assert agents["mine"]["forecast"](NUMBER, None)["prediction"]["value"] == 0.25
    told = rf"toml, other: nowhere:f cannot be used \(ModuleNotFoundError: .*looked for in {mine}, "
    with pytest.raises(ValueError, match=told):
        load_agents(path, wanted=["other"])


def test_a_run_is_named_after_the_functions_file(mine):
    def identify():
        return hash_own(load_function("my_module:forecast"))

    first = identify()
    (mine / "unrelated.py").write_text("X = 1\n")
    assert identify() == first
    (mine / "my_module.py").write_text(MODULE.replace("PLACES = 2", "PLACES = 3"))
    os.utime(mine / "my_module.py", (0, 0))  # a change within a second is one, too
    assert identify() != first


CELL = "def guess(event, world):\n    return shift(WEIGHT)\n"
OTHER = "def shift(x):\n    return x + 1\n"


def identify(cell=CELL, other=OTHER, weight=0.5):
    """Return the digest of a function as a notebook holds it: two cells and a value of a third."""
    space = {"__name__": "__main__", "WEIGHT": weight}
    for name, text in (("cell 1", cell), ("cell 2", other)):
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
        exec(compile(text, name, "exec"), space)
    return hash_own(space["guess"])


def test_in_a_notebook_the_cells_and_values_that_a_function_uses_count():
    changes = [
        {},
        {"cell": CELL.replace("WEIGHT)", "WEIGHT) * 2")},
        {"other": OTHER.replace("1", "2")},
        {"weight": 0.6},
    ]
    assert identify() == identify()
    assert len({identify(**change) for change in changes}) == len(changes)


def test_what_a_function_was_made_with_counts():
    def make(weight):
        return lambda event, world, places=2: round(weight, places)

    assert hash_own(make(1)) == hash_own(make(1)) != hash_own(make(2))
    first, second = (
        make_agent(partial(lambda when, event, world: 5, when)) for when in (AS_OF, LATER)
    )
    assert first["params"] != second["params"]


def test_a_month_of_the_highest_value_follows_from_a_series_by_date():
    event = read_table("events", "L").query("family == 'peak'").iloc[0].to_dict()
    terms = parse_json(event["variables"])

    def follow(event, world):
        known = world.read_history()[terms["entity"]]
        return pd.concat([known, pd.Series({terms["date"]: known.max() + 1})])

    made = ask_function(follow, event, open_series())["prediction"]
    assert made["value"] == f"{terms['date'][:7]}-01"
    blank = pd.Series({pd.Timestamp(terms["date"]): float("nan")})
    made = ask_function(lambda event, world: blank, event, open_series())["prediction"]
    assert made["value"] is None and "a Series by date" in made["reason"]


def test_an_async_function_answers_also_where_a_loop_runs():
    async def slow(event, world):
        await asyncio.sleep(0)
        return "A"

    async def as_in_a_notebook():
        return ask_function(slow, make_event(), None)

    assert asyncio.run(as_in_a_notebook())["prediction"]["value"] == "A"
