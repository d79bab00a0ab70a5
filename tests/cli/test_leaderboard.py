"""What a run shows: no score that is not due, what is missing where it stands, leads on the same
events."""

import json
import platform
from functools import partial

import numpy as np
import pandas as pd
import pytest
from builders import store_run

from daybefore.agents.recorded_runs import SEED
from daybefore.commands.leaderboard import summarize_agents, tabulate_leads, tabulate_scores
from daybefore.commands.result_files import find_commit, keep_results
from daybefore.commands.run_service import Asked
from daybefore.commands.worldreasoner_scores import Beside
from helpers.files import STORE, read_table, write_table


def make_scores(n_a_level, n_sources=12, **marks):
    """Scores of single events on levels 1 and 2; `marks` holds each agent's score by event, None
    for missing."""
    n = 2 * n_a_level
    events = pd.DataFrame(
        {"event_id": [f"e{at:03}" for at in range(n)], "level": [1, 2] * n_a_level}
    )
    events["source_id"] = [f"s{at // 2 % n_sources}" for at in range(n)]
    events = events.assign(kind="single", domain="Space")
    scores = pd.DataFrame(marks, index=events["event_id"], dtype=float).melt(
        var_name="agent_id", value_name="score", ignore_index=False
    )
    scores = scores.reset_index().assign(metric="accuracy", is_scored=True)
    return scores.assign(score_imputed=scores["score"].fillna(0)), events


def summarize(scores, events, baselines):
    return summarize_agents(
        tabulate_scores(scores, events), tabulate_leads(scores, events, baselines)
    )


def test_an_overall_is_shown_only_where_it_is_due_and_a_mean_is_of_what_was_answered():
    few = summarize(*make_scores(3, good=[1] * 6, rule=[0] * 6), ["rule"])
    assert few["overall"].to_dict() == {"good": "-", "rule": "-"} and few.index[0] == "good"
    many = summarize(*make_scores(25, good=[1] * 49 + [0], rule=[0] * 50), ["rule"])
    told = ["0.97 (0.91 to 1.00)", "0.00"]  # level 2 of 24 in 25 weighs two thirds
    assert many["overall"].tolist() == told
    part = make_scores(3, mine=[1, 1, *[None] * 4], rule=[1, 0] * 3)
    row = summarize(*part, ["rule"]).loc["mine"]
    told = row[["mean of answered", "missing = 0", "level 1", "level 2"]].tolist()
    assert told == ["1.00 (n = 2 of 6)", "0.33", "1.00 (1/3)", "1.00 (1/3)"]


def test_the_lead_is_over_the_best_baseline_on_the_same_events():
    marks = {"mine": [1, 1, 0, None] * 6, "one": [1, 0, 0, 0] * 6, "other": [0, 0, 0, 1] * 6}
    table = summarize(*make_scores(12, **marks), ["one", "other"])
    assert table.loc["mine", "best baseline"] == "one"
    assert table.loc["mine", "lead"].startswith("+0.33 (")
    assert table.loc["one", "best baseline"] == "other", "a baseline is not set beside itself"
    few = summarize(*make_scores(12, n_sources=4, **marks), ["one", "other"])
    assert few.loc["mine", "lead"] == "+0.33 (inconclusive)"


def test_an_agents_numbers_are_the_same_in_any_company():
    draws = np.random.default_rng(5).integers(0, 2, (3, 60))
    scores, events = make_scores(30, **dict(zip(("mine", "random", "other"), draws, strict=True)))
    left, right = (
        tabulate_scores(part, events).query("agent_id == 'random'").reset_index(drop=True)
        for part in (scores[scores["agent_id"] != "other"], scores)
    )
    assert len(left) == 6, "overall, all, two levels, a kind, a domain"
    pd.testing.assert_frame_equal(left, right)
    assert left["low"].notna().all() and (left["low"] != left["low_by_event"]).any()


def test_the_brier_mean_is_of_one_choice_and_its_sum_is_named():
    scores, events = make_scores(12, mine=[1] * 24)
    events.loc[::2, "kind"] = "multi"
    is_multi = scores["event_id"].isin(events.loc[::2, "event_id"])
    brier = scores.assign(metric="brier", score=np.where(is_multi, 20.0, 0.08))
    scores.loc[is_multi, "metric"] = "f1"
    table = tabulate_scores(pd.concat([scores, brier]), events).query("metric == 'brier'")
    rows = table[["group", "name", "n", "n_asked", "coverage", "mean"]].round(6).to_numpy()
    assert rows.tolist() == [["all", "", 12, 12, 1, 0.08], ["kind", "multi", 12, 12, 1, 20.0]]


@pytest.fixture
def kept(out):
    """A function that keeps the results of two synthetic runs, one of a model that refuses one
    question in six."""
    _, events = make_scores(12, mine=[1] * 24)
    events = events.assign(as_of="2016-10-10T00:00:00+08:00", options='{"A":"Yes","B":"No"}')
    write_table("answers", events[["event_id"]].assign(value='"A"', status="ok"), "A")
    reply = {"cost_usd": 0.25, "duration_s": 2.0, "n_input_tokens": 10, "n_output_tokens": 2}
    about = {"code_version": "c0de", "packages": '["numpy==1"]'}
    steps = [{"step_type": "model", "duration_s": 1.5}]  # a step has its tools' seconds too
    run_ids = {name: f"{name}-A-01" for name in ("mine", "last_value")}
    for agent, model_s in (("mine", 0.5), ("last_value", None)):
        said = {}
        for at, event_id in enumerate(events["event_id"]):
            stated = {"value": '"B"' if at % 5 else '"A"', "distribution": '{"A":0.25,"B":0.75}'}
            if agent == "mine" and at % 6 == 0:
                stated = {"reason": "will not bet"}
            said[event_id] = {"parser_version": "p1"} | stated
        store_run(out / STORE, run_ids[agent], said, reply | {"model_s": model_s}, steps, **about)
    asked, beside = (
        Asked("A", events, events, None, out / STORE),
        Beside(pd.DataFrame(), {}, "", ""),
    )
    return partial(keep_results, asked, run_ids, ["last_value"], beside, {"mine": 0.5})


def test_a_run_leaves_its_results_behind(kept, tmp_path):
    found, text = kept(explain=True)
    folder = tmp_path / "data/runs/mine-A-01"
    for words in ("Brier: sum over options, 0 (best)", "intervals: 95%, by source (12)", "6.500"):
        assert words in text
    assert "mine, 4 refusal: will not bet; e000" in text and "4 refusal" in text
    written = json.loads((folder / "results.json").read_text())
    assert written == found["mine"]
    n_window = len(read_table("events", "A"))
    expected = {"seed": SEED, "n_events": 24, "n_asked": 24, "n_answered": 20, "n_scored": 20}
    expected |= {"window": "A", "cost_usd": 6.5, "n_input_tokens": 240, "agent_id": "mine"}
    expected |= {"duration_s": 48.0, "model_s": 12.0, "n_window": n_window}
    expected["status"] = f"a sample: 24 of the {n_window} events of the set were asked"
    assert {name: written[name] for name in expected} == expected
    versions = {"python_version": platform.python_version(), "commit": find_commit()}
    assert written["versions"].items() >= (versions | {"parser_version": "p1"}).items()
    assert written["versions"]["code_version"] == "c0de"
    (bin_,) = written["calibration"]
    assert (bin_["said"], bin_["share"], bin_["n"]) == (0.25, 1.0, 20)
    (missing,) = written["missing"]
    assert [missing[name] for name in ("status", "reason", "n")] == ["refusal", "will not bet", 4]
    assert written["lead_over_best_baseline"]["baseline"] == "last_value"
    table = pd.read_csv(folder / "results.csv")
    assert set(table["group"]) == {"overall", "all", "level", "kind", "domain"}
    whole, brier = table[table["group"] == "all"].sort_values("metric", ascending=False).iloc
    assert (whole["n"], whole["n_asked"], whole["n_clusters"]) == (20, 24, 12)
    assert (whole["mean"], whole["mean_imputed"], whole["coverage"]) == (0.2, 4 / 24, 20 / 24)
    assert whole["low"] < 0.2 < whole["high"] and brier["mean"] == 2 * 0.75**2
    rows = pd.read_csv(folder / "predictions.csv")
    assert rows["status"].value_counts().to_dict() == {"ok": 20, "refusal": 4}
    assert rows["score"].mean() == 0.2 and set(rows["answer"]) == {'"A"'}
    _, short = kept()
    assert "--explain" in short and "Brier: sum" not in short and "level 1" not in short
    again = {path: path.read_bytes() for path in tmp_path.rglob("results.*")}
    assert len(again) == 4 and kept(explain=True)[1] == text and "level 1" in text
    assert again == {path: path.read_bytes() for path in tmp_path.rglob("results.*")}
