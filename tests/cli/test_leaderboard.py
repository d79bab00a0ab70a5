"""What a run shows: no score that is not due, what is missing where it stands, leads on the same
events."""

import json
import platform

import numpy as np
import pandas as pd
import pytest
from builders import store_run

from daybefore.agents.recorded_runs import SEED
from daybefore.commands.leaderboard import summarize_agents, tabulate_leads, tabulate_scores
from daybefore.commands.results import find_commit, keep_results
from daybefore.commands.service import Asked
from daybefore.commands.worldreasoner import Beside
from helpers.files import STORE, read_table, write_table


def make_scores(n_a_level, n_sources=12, **marks):
    """Scores of single events on levels 1 and 2; `marks` holds each agent's score by event, None
    for missing."""
    ids = [f"e{at:03}" for at in range(2 * n_a_level)]
    events = pd.DataFrame(
        {"event_id": ids, "kind": "single", "level": [1, 2] * n_a_level, "domain": "Space"}
    )
    events["source_id"] = [f"s{at // 2 % n_sources}" for at in range(len(ids))]
    rows = [
        {
            "agent_id": agent,
            "event_id": event,
            "metric": "accuracy",
            "score": score,
            "is_scored": True,
        }
        for agent, by_event in marks.items()
        for event, score in zip(ids, by_event, strict=True)
    ]
    scores = pd.DataFrame(rows).astype({"score": float})
    return scores.assign(score_imputed=scores["score"].fillna(0)), events


def summarize(scores, events, baselines):
    return summarize_agents(
        tabulate_scores(scores, events), tabulate_leads(scores, events, baselines)
    )


def test_an_overall_is_shown_only_where_it_is_due_and_a_mean_is_of_what_was_answered():
    few = summarize(*make_scores(3, good=[1] * 6, rule=[0] * 6), ["rule"])
    assert few["overall"].tolist() == ["-", "-"]
    assert few.loc["good", ["level 1", "mean of answered"]].tolist() == [
        "1.00 (3/3)",
        "1.00 (n = 6)",
    ]
    assert few.index.tolist() == ["good", "rule"], (
        "the best mean of answered comes first where no overall is due"
    )
    many = summarize(*make_scores(25, good=[1] * 49 + [0], rule=[0] * 50), ["rule"])
    assert many["overall"].tolist() == [
        "0.97 (0.91 to 1.00)",
        "0.00",
    ]  # level 2 of 24 in 25 weighs two thirds
    table = summarize(
        *make_scores(3, mine=[1, 1, None, None, None, None], rule=[1, 0] * 3), ["rule"]
    )
    told = table.loc["mine", ["mean of answered", "missing = 0", "level 1", "level 2"]]
    assert told.tolist() == ["1.00 (n = 2 of 6)", "0.33", "1.00 (1/3)", "1.00 (1/3)"]


def test_the_lead_is_over_the_best_baseline_on_the_same_events():
    marks = {"mine": [1, 1, 0, None] * 6, "one": [1, 0, 0, 0] * 6, "other": [0, 0, 0, 1] * 6}
    scores, events = make_scores(12, **marks)
    table = summarize(scores, events, ["one", "other"])
    assert table.loc["mine", "best baseline"] == "one" and table.loc["mine", "lead"].startswith(
        "+0.33 ("
    )
    assert tabulate_leads(scores, events, ["one", "other"]).loc["mine", "n"] == 18
    assert table.loc["one", "best baseline"] == "other", "a baseline is not set beside itself"
    few = summarize(*make_scores(12, n_sources=4, **marks), ["one", "other"])
    assert few.loc["mine", "lead"] == "+0.33 (inconclusive)"


def test_an_agents_numbers_are_the_same_in_any_company():
    rng = np.random.default_rng(5)
    scores, events = make_scores(
        30, **{name: rng.integers(0, 2, 60) for name in ("mine", "random", "other")}
    )
    tables = [
        tabulate_scores(part, events) for part in (scores[scores["agent_id"] != "other"], scores)
    ]
    left, right = (table[table["agent_id"] == "random"].reset_index(drop=True) for table in tables)
    assert len(left) == 6, "overall, all, two levels, a kind, a domain"
    pd.testing.assert_frame_equal(left, right)
    assert left["low"].notna().all() and (left["low"] != left["low_by_event"]).any()


def test_the_brier_mean_is_of_one_choice_and_its_sum_is_named():
    scores, events = make_scores(12, mine=[1] * 24)
    events.loc[::2, "kind"] = "multi"
    is_multi = scores["event_id"].isin(events.loc[::2, "event_id"])
    scores.loc[is_multi, "metric"] = "f1"
    brier = scores.assign(
        metric="brier", score=np.where(is_multi, 20.0, 0.08), score_imputed=np.nan
    )
    table = (
        tabulate_scores(pd.concat([scores, brier]), events)
        .query("metric == 'brier'")
        .set_index(["group", "name"])
    )
    assert table["mean"].round(6).to_dict() == {("all", ""): 0.08, ("kind", "multi"): 20.0}
    assert table["n"].tolist() == table["n_asked"].tolist() == [12, 12] and set(
        table["coverage"]
    ) == {1}


@pytest.fixture
def kept(out):
    """A function that keeps the results of two synthetic runs, one of a model that refuses one
    question in six."""
    _, events = make_scores(12, mine=[1] * 24)
    events = events.assign(as_of="2016-10-10T00:00:00+08:00", options='{"A":"Yes","B":"No"}')
    write_table("answers", events[["event_id"]].assign(value='"A"', status="ok"), "A")
    reply = {"cost_usd": 0.25, "duration_s": 2.0, "n_input_tokens": 10, "n_output_tokens": 2}
    for agent, model_s in (
        ("mine", 0.5),
        ("last_value", None),
    ):  # a step has its tools' seconds too
        said = {}
        for at, event_id in enumerate(events["event_id"]):
            stated = {"value": '"B"' if at % 5 else '"A"', "distribution": '{"A":0.25,"B":0.75}'}
            lost = agent == "mine" and at % 6 == 0
            said[event_id] = {"parser_version": "p1"} | (
                {"reason": "will not bet"} if lost else stated
            )
        about = {"code_version": "c0de", "packages": '["numpy==1"]'}
        steps = [{"step_type": "model", "duration_s": 1.5}]
        store_run(out / STORE, f"{agent}-A-01", said, reply | {"model_s": model_s}, steps, **about)

    def keep(explain=True):
        asked, runs = Asked("A", events, events, None, out / STORE), {"mine": "mine-A-01"}
        runs["last_value"] = "last_value-A-01"
        return keep_results(
            asked, runs, ["last_value"], Beside(pd.DataFrame(), {}, "", ""), {"mine": 0.5}, explain
        )[1]

    return keep


def test_a_run_leaves_its_results_behind(kept, tmp_path):
    text, folder = kept(), tmp_path / "data/runs/mine-A-01"
    assert (
        "Brier: sum over options, 0 (best) to 2 for one choice, half of it is the usual one of yes/no"
        in text
    )
    assert (
        "intervals: 95%, by source (12)" in text and "mine, 4 refusal: will not bet; e000" in text
    )
    assert "4 refusal" in text and "6.500" in text
    found = json.loads((folder / "results.json").read_text())
    counts = {
        "seed": SEED,
        "n_events": 24,
        "n_asked": 24,
        "n_answered": 20,
        "n_scored": 20,
        "window": "A",
    }
    counts |= {
        "cost_usd": 6.5,
        "n_input_tokens": 240,
        "duration_s": 48.0,
        "model_s": 12.0,
        "agent_id": "mine",
    }
    counts["n_window"] = len(read_table("events", "A"))
    assert {name: found[name] for name in counts} == counts
    assert (
        found["status"] == f"a sample: 24 of the {counts['n_window']} events of the set were asked"
    )
    assert found["versions"]["python_version"] == platform.python_version()
    assert found["versions"]["commit"] == find_commit()
    assert (
        found["versions"]["code_version"] == "c0de" and found["versions"]["parser_version"] == "p1"
    )
    (bin_,) = found["calibration"]
    assert (bin_["said"], bin_["share"], bin_["n"]) == (0.25, 1.0, 20)
    reasons = [(row["status"], row["reason"], row["n"]) for row in found["missing"]]
    assert reasons == [("refusal", "will not bet", 4)]
    assert found["lead_over_best_baseline"]["baseline"] == "last_value"
    table = pd.read_csv(folder / "results.csv").set_index(["metric", "group", "name"]).sort_index()
    assert {group for _, group, _ in table.index} == {"overall", "all", "level", "kind", "domain"}
    whole = table.xs(("score", "all")).iloc[0]
    assert (whole["n"], whole["n_asked"], whole["n_clusters"]) == (20, 24, 12) and whole[
        "coverage"
    ] == 20 / 24
    assert (
        whole["mean"] == 0.2
        and whole["mean_imputed"] == 4 / 24
        and whole["low"] < 0.2 < whole["high"]
    )
    assert table.xs(("brier", "all")).iloc[0]["mean"] == 2 * 0.75**2
    rows = pd.read_csv(folder / "predictions.csv").set_index("event_id")
    assert len(rows) == 24 and rows["status"].value_counts().to_dict() == {"ok": 20, "refusal": 4}
    assert rows.loc[rows["status"] == "ok", "score"].mean() == 0.2 and set(rows["answer"]) == {
        '"A"'
    }
    short = kept(explain=False)
    assert (
        "--explain" in short
        and "Brier: sum" not in short
        and "level 1" not in short
        and "level 1" in text
    )
    again = {path: path.read_bytes() for path in tmp_path.rglob("results.*")}
    assert len(again) == 4 and kept() == text
    assert again == {path: path.read_bytes() for path in tmp_path.rglob("results.*")}
