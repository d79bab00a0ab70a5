import numpy as np
import pandas as pd
import pytest

from daybefore.agents.recorded_runs import load_recorded_runs
from daybefore.commands.main import carry_out
from helpers.files import STORE, dump_json, read_table
from studies.worldreasoner import conditions, horizons

MOMENTS = {name: f"2024-0{n}-20T00:00:00+08:00" for n, name in enumerate(horizons.HORIZONS, 1)}
EVENTS = pd.DataFrame(
    {"event_id": [f"q{n:02}" for n in range(48)], "cluster_id": [f"s{n % 12}" for n in range(48)]}
)
EVENTS = EVENTS.assign(source_id="x", kind="single", options='{"A":"Yes","B":"No"}')
EVENTS = EVENTS.assign(
    opens_at="2024-01-01T00:00:00+08:00", resolves_at="2024-04-10T00:00:00+08:00"
)
EVENTS = EVENTS.assign(metadata=dump_json({"moments": MOMENTS}))
ANSWERS = EVENTS[["event_id"]].assign(value=[f'"{"AB"[n % 2]}"' for n in range(48)])


def say(value, p):
    told = {value: p, "BA"["AB".index(value)]: 1 - p}
    return {"prediction": {"value": value, "distribution": told, "probability": p}}


def learn(event, world):
    """Know the answer of more questions the later it is asked: a quarter of them in January, all in
    April."""
    n, month = int(event["event_id"][1:]), int(event["as_of"][6])
    return say("AB"[n % 2] if n % 4 < month else "BA"[n % 2], 0.8)


@pytest.fixture(scope="module")
def scores():
    agents = {
        "learns": {"forecast": learn},
        "stays": {"forecast": lambda event, world: say("A", 0.5)},
    }
    return horizons.score_horizons(horizons.ask_horizons(EVENTS, agents), ANSWERS, EVENTS)


def test_a_planted_rise_is_found_and_what_stays_is_not(scores):
    means = scores.pivot_table("accuracy", "horizon", "agent_id")
    assert means["learns"].sort_values().tolist() == [0.25, 0.5, 0.75, 1.0] and set(
        means["stays"]
    ) == {0.5}
    pairs = [((name, "Near"), (name, "Early")) for name in ("learns", "stays")]
    found = (
        horizons.compare_runs(scores, pairs)
        .assign(agent_id=["learns", "stays"])
        .set_index("agent_id")
    )
    assert found.loc["learns", ["difference", "n", "n_clusters"]].tolist() == [0.75, 48, 12]
    assert found.loc["learns", "low"] > 0.4 and found.loc["learns", "p_holm"] < 0.01
    assert found.loc["stays", "difference"] == 0 and not found.loc["stays", "p"] < 0.05


def test_a_lead_over_the_reference_changes_sign_with_what_is_known(scores):
    lead = horizons.measure_lead(scores, "stays").set_index("horizon")
    assert np.allclose(lead["reference"], 0.25)
    brier = pd.Series({"Early": 0.25, "Mid": 0.5, "Late": 0.75, "Near": 1.0}).map(
        lambda p: p * 0.04 + (1 - p) * 0.64
    )
    assert np.allclose(lead["difference"], 0.25 - brier) and np.allclose(
        lead["skill"], 1 - brier / 0.25
    )
    assert lead.loc["Early", "high"] < 0 < lead.loc["Near", "difference"]
    with pytest.raises(LookupError, match="market"):
        horizons.measure_lead(scores, "market")


def test_an_own_run_is_read_from_its_store_and_the_recorded_ones_from_where_they_are_replayed(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "own"))
    carry_out(["run", "--set", "long", "--agent", "walk", "--limit", "8"])
    monkeypatch.setenv("DAYBEFORE_STORE", str(tmp_path / "own" / STORE))
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "figures"))
    monkeypatch.setattr(
        conditions,
        "load_recorded_runs",
        lambda: {"qwen_graph-L": load_recorded_runs()["qwen_graph-L"]},
    )
    asked = conditions.load_asked(read_table("events", "L"), "walk")
    assert asked.runs.set_index("agent_id")["is_own"].to_dict() == {
        "qwen_graph": False,
        "walk": True,
    }
    assert asked.predictions.groupby("agent_id").size().to_dict() == {"qwen_graph": 60, "walk": 8}
    with pytest.raises(ValueError, match="'wolk'"):
        conditions.load_asked(read_table("events", "L"), "wolk")
