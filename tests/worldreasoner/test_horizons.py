"""Horizons: a planted rise and a lead that changes its sign; which runs are loaded from where."""

import numpy as np
import pandas as pd
import pytest

from daybefore.agents import recorded_runs
from daybefore.commands.main import carry_out
from helpers.files import STORE, dump_json, read_table
from studies.worldreasoner import conditions
from studies.worldreasoner.horizons import (
    HORIZONS,
    ask_horizons,
    compare_runs,
    measure_lead,
    score_horizons,
)

MOMENTS = {name: f"2024-0{n}-20T00:00:00+08:00" for n, name in enumerate(HORIZONS, 1)}
EVENTS = pd.DataFrame({"event_id": range(48), "source_id": "x", "kind": "single"})
EVENTS = EVENTS.assign(options='{"A":"Yes","B":"No"}', metadata=dump_json({"moments": MOMENTS}))
EVENTS["cluster_id"] = [f"s{n % 12}" for n in range(48)]
ANSWERS = EVENTS[["event_id"]].assign(value=[f'"{"AB"[n % 2]}"' for n in range(48)])


def say(value, p):
    told = {value: p, "BA"["AB".index(value)]: 1 - p}
    return {"prediction": {"value": value, "distribution": told, "probability": p}}


def learn(event, world):
    """Know the answer of more questions the later it is asked: a quarter of them in January, all in
    April."""
    n, month = event["event_id"], int(event["as_of"][6])
    return say("AB"[n % 2] if n % 4 < month else "BA"[n % 2], 0.8)


@pytest.fixture(scope="module")
def scores():
    agents = {"learns": learn, "stays": lambda event, world: say("A", 0.5)}
    agents = {name: {"forecast": forecast} for name, forecast in agents.items()}
    return score_horizons(ask_horizons(EVENTS, agents), ANSWERS, EVENTS)


def test_a_planted_rise_is_found_and_what_stays_is_not(scores):
    pairs = [((name, "Near"), (name, "Early")) for name in ("learns", "stays", "none")]
    found = compare_runs(scores, pairs).set_index("run_a")
    assert list(found.index) == ["learns at Near", "stays at Near"]
    rise = found.loc["learns at Near"]
    assert rise[["difference", "n", "n_clusters"]].tolist() == [0.75, 48, 12]
    assert rise["low"] > 0.4 and rise["p_holm"] == pytest.approx(3 * 2 / 2**9), "the larger p"
    assert found.loc["stays at Near", "difference"] == 0
    assert not found.loc["stays at Near", "p"] < 0.05


def test_a_lead_over_the_reference_changes_sign_with_what_is_known(scores):
    lead = measure_lead(scores, "stays").set_index("horizon")
    assert np.allclose(lead["reference"], 0.25)
    share = pd.Series([0.25, 0.5, 0.75, 1.0], HORIZONS)
    brier = share * 0.2**2 + (1 - share) * 0.8**2
    assert np.allclose(lead["difference"], 0.25 - brier)
    assert np.allclose(lead["skill"], 1 - brier / 0.25)
    assert lead.loc["Early", "high"] < 0 < lead.loc["Near", "difference"]
    with pytest.raises(LookupError, match="market"):
        measure_lead(scores, "market")


def test_an_own_run_is_read_from_its_store_and_the_recorded_ones_from_where_they_are_replayed(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "own"))
    carry_out(["run", "--set", "long", "--agent", "walk", "--limit", "2"])
    monkeypatch.setenv("DAYBEFORE_STORE", str(tmp_path / "own" / STORE))
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "figures"))
    arms = {"qwen_graph-L": recorded_runs.load_recorded_runs()["qwen_graph-L"] | {"n": 4}}
    for place in (conditions, recorded_runs):
        monkeypatch.setattr(place, "load_recorded_runs", lambda: arms)
    events = read_table("events", "L")
    asked = conditions.load_asked(events, "walk")
    owners = asked.runs.set_index("agent_id")["is_own"].to_dict()
    assert owners == {"qwen_graph": False, "walk": True}
    assert asked.predictions["agent_id"].value_counts().to_dict() == {"qwen_graph": 4, "walk": 2}
    with pytest.raises(ValueError, match="'wolk'"):
        conditions.load_asked(events, "wolk")
