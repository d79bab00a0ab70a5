"""Trials of one agent: hand-worked agreement, votes and pools; planted gains; recordings of any length replayed."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers.agents import arms
from helpers.agents.arms import select_events
from helpers.agents.registry import connect_agent
from helpers.events.shelf import Shelf
from helpers.models.llm import open_door
from helpers.models.recordings import pack_recordings
from helpers.store import dump_json, parse_json, read_table
from helpers.worldreasoner import trials
from helpers.worldreasoner.trials import (
    agree_by_type,
    compare_trials,
    count_majorities,
    draw_trials,
    fill_distributions,
    gather_trials,
    replay_trials,
    score_accuracy,
    score_chances,
    summarize_trials,
    take_trials,
    vote_trials,
)

YES_NO, THREE = '{"A":"Yes","B":"No"}', '{"A":"x","B":"y","C":"z"}'
EVENTS = pd.DataFrame(
    {
        "event_id": ["yes", "three", "day", "number"],
        "kind": ["single", "single", "date", "number"],
        "options": [YES_NO, THREE, "{}", "{}"],
        "cluster_id": ["s", "t", "t", "u"],
        "source_id": ["s1", "s2", "s3", "s4"],
    }
)
ANSWERS = pd.DataFrame({"event_id": EVENTS["event_id"], "value": ['"A"', '"C"', '"2024-05-01"', "10.0"]})
SAID = {
    "yes": [("A", 0.8), ("A", 0.5), ("B", 0.8), ("B", 0.9)],
    "three": [("C", 0.4), ("A", 0.6), ("B", 0.8), ("C", 1.0)],
    "day": [("2024-05-01", 0.9), ("2024-06-01", 0.9), ("2024-06-01", 0.6), ("2024-05-01", 0.9)],
    "number": [(10.0, 0.9), (10.2, 0.9), (50.0, 0.9), (90.0, 0.9)],
}


def make_said(said=SAID):
    """Predictions of three trials and the run beside them, from {event_id: four pairs of value and probability}."""
    names = ["trial 1", "trial 2", "trial 3", "temperature 0"]
    columns = ["run_id", "agent_id", "event_id", "sample", "value", "probability", "distribution"]
    rows = [
        (name, name, event, at % 3, None if value is None else dump_json(value), probability, None)
        for event, pairs in said.items()
        for at, (name, (value, probability)) in enumerate(zip(names, pairs, strict=True))
    ]
    return pd.DataFrame(rows, columns=columns)


# --- worked by hand ---------------------------------------------------------------------------------------------------


def test_agreement_is_by_type_and_of_trials_alone():
    table = agree_by_type(make_said(), EVENTS).set_index("type")
    own = {"binary": 1 / 3, "multiple choice": 0, "quantity": 0, "timeframe": 1 / 3}
    assert table["agreement"].to_dict() == pytest.approx(own | {"all": 2 / 3 / 4, "with options": 1 / 3 / 2})
    drawn = {"binary": 1 / 2, "multiple choice": 1 / 3, "with options": 5 / 6 / 2}
    assert table["drawn"].dropna().to_dict() == pytest.approx(drawn)
    assert list(table.index[:2]) == ["all", "with options"] and table["n"].tolist() == [4, 2, 1, 1, 1, 1]
    assert table.loc["binary", "spread"] == pytest.approx(np.std([0.8, 0.5, 0.8]))
    assert table.loc["quantity", "spread"] == pytest.approx(0)
    assert table.loc["all", "n_clusters"] == 3 and np.isnan(table.loc["all", "low"])


def test_by_the_scoring_rule_numbers_agree_that_lie_within_a_tenth():
    table = agree_by_type(make_said(), EVENTS).set_index("type")
    own = {"binary": 1 / 3, "multiple choice": 0, "quantity": 1 / 3, "timeframe": 1 / 3}  # 10 and 10.2
    assert table["close"].to_dict() == pytest.approx(own | {"all": 1 / 4, "with options": 1 / 6})
    one_way = make_said({"number": [(10.0, 0.9), (11.05, 0.9), (50.0, 0.9), (90.0, 0.9)]})
    close = agree_by_type(one_way, EVENTS).set_index("type")["close"]
    assert close["quantity"] == pytest.approx(1 / 6), "1.05 is within a tenth of 11.05, and not of 10"


def test_what_a_majority_rests_on_is_counted():
    said = make_said(SAID | {"number": [(10.0, 0.9), (10.0, 0.9), (50.0, 0.9), (90.0, 0.9)]})
    table = count_majorities(said, EVENTS).set_index("type")
    assert table.loc["all"].tolist() == [4, 3, 0, 1] and table.loc["multiple choice"].tolist() == [1, 0, 0, 1]
    assert count_majorities(make_said(), EVENTS).set_index("type").loc["quantity"].tolist() == [1, 0, 1, 0]


def test_the_majority_is_the_most_frequent_the_first_of_equals_and_of_numbers_the_median():
    found = vote_trials(make_said(), EVENTS).set_index("event_id")["value"].map(parse_json).to_dict()
    assert found == {"yes": "A", "three": "C", "day": "2024-06-01", "number": 10.2}
    none = make_said({"yes": [(None, None)] * 3 + [("A", 1.0)]})
    assert vote_trials(none, EVENTS)["value"].tolist() == [None]


def test_accuracy_of_a_trial_on_average_and_of_the_majority():
    wide = score_accuracy(make_said(), EVENTS, ANSWERS)
    assert wide["one trial"].to_dict() == pytest.approx({"yes": 2 / 3, "three": 1 / 3, "day": 1 / 3, "number": 2 / 3})
    assert wide["majority"].to_dict() == {"yes": 1, "three": 1, "day": 0, "number": 1}
    assert wide["temperature 0"].to_dict() == {"yes": 0, "three": 1, "day": 1, "number": 0}
    lacking = SAID | {"yes": [("A", 0.8), (None, None), (None, None), ("A", 0.9)]}
    wide = score_accuracy(make_said(lacking), EVENTS, ANSWERS)
    assert wide.loc["yes", ["one trial", "majority"]].tolist() == pytest.approx([1 / 3, 1]), "no answer is wrong"


def test_brier_scores_are_of_every_option_and_the_rest_is_shared():
    said = make_said()
    filled = fill_distributions(said, EVENTS).set_index(["event_id", "agent_id"])["distribution"].map(parse_json)
    assert filled["three", "trial 1"] == {"A": 0.3, "B": 0.3, "C": 0.4} and set(filled.index.levels[0]) == {
        "yes",
        "three",
    }
    brier, chances = score_chances(said, EVENTS, ANSWERS)
    each = [0.2**2, 0.5**2, 0.8**2]  # P(Yes) 0.8, 0.5, 0.2; it was Yes
    assert brier.loc["yes", ["trial 1", "trial 2", "trial 3"]].tolist() == pytest.approx(each)
    assert brier.loc["yes", "one trial"] == pytest.approx(np.mean(each))
    assert brier.loc["yes", "pool"] == pytest.approx(0.25), "log-odds 1.386, 0, -1.386"
    assert brier.loc["yes", "temperature 0"] == pytest.approx(0.9**2)
    assert brier.loc["three", "trial 1"] == pytest.approx((0.3**2 + 0.3**2 + 0.6**2) / 3)
    assert brier["even"].to_dict() == pytest.approx({"yes": 0.25, "three": (1 / 9 + 1 / 9 + 4 / 9) / 3})
    odds = np.log([0.3 / 0.7, 0.6 / 0.4, 0.1 / 0.9]).mean()  # of option A
    pooled = chances[(chances["agent_id"] == "pool") & (chances["event_id"] == "three")]["said"]
    assert pooled.iloc[0] == pytest.approx(1 / (1 + np.exp(-odds)))


def test_a_distribution_that_is_given_stands_and_a_trial_without_an_answer_leaves_its_question_out():
    said = make_said()
    given = said.assign(distribution=np.where(said["event_id"] == "yes", '{"A":0.5,"B":0.5}', None))
    assert score_chances(given, EVENTS, ANSWERS)[0].loc["yes", "one trial"] == pytest.approx(0.25)
    lacking = make_said(SAID | {"yes": [("A", 0.8), (None, None), ("A", 0.8), ("A", 0.9)]})
    assert score_chances(lacking, EVENTS, ANSWERS)[0].index.tolist() == ["three"]


# --- what the pairs tell ----------------------------------------------------------------------------------------------


def make_scores(gain, n=48, n_sources=12):
    """(accuracy, brier, clusters) of a majority and a pool that are better than one trial by `gain`."""
    ids = [f"q{at}" for at in range(n)]
    one, noise = np.linspace(0.3, 0.6, n), 0.02 * np.cos(np.arange(n))
    accuracy = pd.DataFrame({"one trial": one, "majority": one + gain + noise, "temperature 0": one - noise}, ids)
    brier = pd.DataFrame({"one trial": one, "pool": one - gain + noise, "mended": one + noise}, ids)
    brier["even"] = one - 0.3
    clusters = pd.Series([f"s{at % n_sources}" for at in range(n)], ids)
    return accuracy, brier.assign(**{"temperature 0": one - noise}), clusters


def test_a_planted_gain_is_told_by_source_and_none_where_there_is_none():
    found = compare_trials(*make_scores(0.1)).set_index(["metric", "a", "b"])
    assert found.loc[("accuracy", "majority", "one trial"), "verdict"] == "a is better"
    assert found.loc[("brier", "pool", "one trial"), "verdict"] == "a is better", "less is better"
    assert found.loc[("brier", "mended", "pool"), "verdict"] == "b is better"
    assert found.loc[("brier", "mended", "even"), "verdict"] == "b is better"
    assert found.loc[("accuracy", "temperature 0", "one trial"), "verdict"] == "cannot tell"
    row = found.loc[("brier", "pool", "one trial")]
    assert row["low"] < row["difference"] < row["high"] < 0 and (row["n"], row["n_clusters"]) == (48, 12)
    assert set(compare_trials(*make_scores(0.0)).query("b != 'even'")["verdict"]) == {"cannot tell"}


def test_few_sources_have_no_interval_and_all_comparisons_are_corrected():
    found = compare_trials(*make_scores(0.1, n_sources=7))
    assert found[["low", "high", "seen"]].isna().all(axis=None)
    row = found.set_index(["metric", "a", "b"]).loc[("brier", "pool", "one trial")]
    assert row["p"] == pytest.approx(2 / 2**7) and row["p_holm"] > 0.05 and row["verdict"] == "cannot tell"
    assert list(found)[-2:] == ["seen", "verdict"] and len(found) == 8


def test_the_figures_table_holds_means_and_pairs_and_no_single_trial():
    said = make_said()
    accuracy, (brier, _) = score_accuracy(said, EVENTS, ANSWERS), score_chances(said, EVENTS, ANSWERS)
    means, found = summarize_trials(accuracy, brier, None), compare_trials(accuracy, brier, None)
    table = gather_trials(agree_by_type(said, EVENTS), means, found)
    drawn = table[table["a"].isna()]
    assert drawn["metric"].value_counts().to_dict() == {"agreement": 6, "close": 6, "accuracy": 3, "brier": 5}
    assert drawn.loc[drawn["metric"] == "brier", "name"].tolist() == "one trial,pool,mended,temperature 0,even".split(
        ","
    )
    assert len(table) == len(drawn) + len(found) and table["name"].isna().sum() == len(found)
    for metric, part in drawn.groupby(drawn["metric"].replace("close", "agreement")):
        ax = draw_trials(part, plt.figure().gca(), metric)
        shown = np.concatenate([line.get_xdata() for line in ax.lines])
        assert set(part["value"]) <= set(shown) and len(ax.get_yticklabels()) == part["name"].nunique()
        plt.close("all")


# --- recordings -------------------------------------------------------------------------------------------------------

ENTRY = {"category": "base_model", "framework": "x", "method": "graph", "model": "openai/mock-1"}
WARM, COLD = ({"agent": name, "window": "L", "n": n} for name, n in (("warm", 8), ("cold", 10)))
REPLY = {"events": [], "edges": [], "rationale": "so", "sources": [], "answer": "A", "probability": 0.7}


@pytest.fixture
def record(provider, reach, monkeypatch):
    """A function that records so many events of the arm of three trials, and all of the run beside it."""
    reach()
    whole, known = read_table("events", "L"), {"warm-L": WARM | {"trials": 3}, "cold-L": COLD}
    for module in (arms, trials):
        monkeypatch.setattr(module, "load_arms", lambda: known)
    monkeypatch.setattr(arms, "load_entries", lambda wanted=(): {"warm": ENTRY, "cold": ENTRY})
    n_asked = [0]

    def answer(asked):
        n_asked[0] += 1
        is_dated = "YYYY-MM-DD" in asked["messages"][0]["content"]
        return {"content": dump_json(REPLY | {"answer": "2024-05-01" if is_dated else "AB"[n_asked[0] % 2]})}

    provider.answer = answer

    def record_events(n):
        for name, n_events, n_trials in (("warm-L", n, 3), ("cold-L", 10, 1)):
            door = open_door(name, live=True, connection={"api_base": provider.address}, environment={})
            agent, chosen = connect_agent(ENTRY, door), select_events(known[name], whole).head(n_events)
            for event in chosen.to_dict("records"):
                for sample in range(n_trials):
                    agent["forecast"](event | {"sample": sample}, Shelf())
            door.recordings.close()
            pack_recordings(name, {"seconds": dict.fromkeys(chosen["event_id"], 1.0), "trials": n_trials})
        return whole

    return record_events


@pytest.mark.parametrize("n", [1, 3, 8])
def test_a_recording_of_any_length_is_read_scored_and_compared(record, provider, n):
    events, answers = record(n), read_table("answers", "L")
    n_asked = len(provider.asked)
    said = replay_trials(events, "warm-L", "cold-L")
    assert len(provider.asked) == n_asked and said["event_id"].nunique() == n
    assert said["agent_id"].value_counts().to_dict() == {
        **{f"trial {at}": n for at in (1, 2, 3)},
        "temperature 0": n,
    }, "the run beside them on the same questions only"
    assert len(take_trials(said)) == 3 * n
    accuracy, (brier, _) = score_accuracy(said, events, answers), score_chances(said, events, answers)
    clusters = events.set_index("event_id")["cluster_id"]
    assert len(accuracy) == n and len(brier) <= n
    means, compared = summarize_trials(accuracy, brier, clusters), compare_trials(accuracy, brier, clusters)
    assert (means["n"] <= n).all() and len(compared) == 8 and set(compared["verdict"]) == {"cannot tell"}
    assert compared.loc[compared["metric"] == "accuracy", "n"].tolist() == [n] * 3
    assert (agree_by_type(said, events)["n"] <= n).all()


def test_without_a_recording_the_tables_are_empty(monkeypatch, tmp_path):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    monkeypatch.setattr(arms, "list_recorded", lambda *_: {})
    events, answers = EVENTS, ANSWERS
    said = replay_trials(read_table("events", "L"), "qwen_graph_warm-L", "qwen_graph-L")
    accuracy, (brier, chances) = score_accuracy(said, events, answers), score_chances(said, events, answers)
    assert accuracy.empty and brier.empty and chances.empty and summarize_trials(accuracy, brier, None).empty
    compared = compare_trials(accuracy, brier, None)
    assert (compared["n"] == 0).all() and set(compared["verdict"]) == {"cannot tell"}
    assert agree_by_type(said, events).empty and count_majorities(said, events)["n"].tolist() == [0]
