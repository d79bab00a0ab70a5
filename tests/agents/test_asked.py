"""How a run was asked stands in columns; what was stored before has it in words, and means the
same."""

import itertools
from contextlib import closing

import pandas as pd
import pytest
from builders import make_event

from daybefore.agents.asked import Asked, describe_condition, fill_asked, tell_asked
from daybefore.agents.runs import describe_run, run_agents
from daybefore.scoring.runs import list_local, read_rows
from daybefore.store import insert_row, open_store
from studies.worldreasoner.asking import plan_run
from studies.worldreasoner.conditions import NAMES

ARMS = [
    {},
    {"horizon": "Early"},
    {"horizon": "Near"},
    {"days_after": 7},
    {"query_of": "another", "horizon": "Late"},
]


@pytest.mark.parametrize("arm", ARMS)
def test_columns_and_words_say_the_same(arm):
    words, columns = {"condition": describe_condition(arm)}, tell_asked(arm)
    assert fill_asked(words) == fill_asked(columns) == fill_asked(words | columns)


def test_each_condition_of_the_paper_says_its_moment_in_words_too():
    for name, horizon in itertools.product(NAMES, (None, "Early", "Late", "Near")):
        try:
            plan = plan_run(name, horizon, "L")
        except ValueError:
            continue  # that condition is asked at another moment
        assert (
            fill_asked({"condition": plan.label}).moment == fill_asked(tell_asked(plan.arm)).moment
        ), (name, horizon)


def test_a_baseline_beside_a_condition_has_the_moment_though_no_words_say_it(tmp_path):
    """Near-Resolution names no moment that a baseline's condition could repeat."""

    def forecast(event, world):
        return {"prediction": {"value": 1.0}}

    agent = {"forecast": forecast, "category": "baseline", "framework": "none"}
    events, path = pd.DataFrame([make_event()]), tmp_path / "store.sqlite"
    plain = describe_run("walk", agent, events, window="L", deadline_s=1)
    near = agent | {"asked": tell_asked({"horizon": "Near"})}
    assert (
        describe_run("walk", near, events, window="L", deadline_s=1)["run_id"] == plain["run_id"]
    ), "no run is renamed"
    with closing(open_store(path)) as store:  # as an earlier version stored it
        insert_row(
            store,
            "runs",
            {name: plain[name] for name in ("run_id", "agent_id", "category", "status")},
        )
    run_agents({"walk": near}, events, dict, path, window="L", progress=False)
    (run,) = list_local(path)
    assert (run.condition, run.asked) == ("", Asked("Near"))
    assert read_rows("runs", run)["horizon"].tolist() == ["Near"]
