"""Studies of language models: planted leads and gains are found; absent ones are not."""

import numpy as np
import pandas as pd
import pytest

from helpers.estimates.intervals import compare_paired
from helpers.futurex.gains import compare_leads, compare_memory, measure_gain, rate_effort, score_shared


def make_scores(events, means, rng, missing=()):
    """Synthetic accuracies: every agent's chance of being right is given, in {agent: chance by event}."""
    rows = []
    for agent, chance in means.items():
        hits = (rng.random(len(events)) < chance).astype(float)
        for event_id, hit in zip(events["event_id"], hits, strict=True):
            gone = (agent, event_id) in missing
            score = {"score": np.nan if gone else hit, "score_imputed": 0.0 if gone else hit, "is_missing": gone}
            rows.append({"agent_id": agent, "event_id": event_id, "metric": "accuracy", "is_scored": True} | score)
    return pd.DataFrame(rows)


@pytest.fixture
def events():
    n = 800
    table = pd.DataFrame({"event_id": [f"e{i:03}" for i in range(n)], "kind": "single", "level": np.arange(n) % 4 + 1})
    table["window"] = np.where(np.arange(n) < n // 2, "A", "C1")
    table["contamination_group"] = np.where(np.arange(n) % 8 < 4, "obscure", "widely_known")
    return table


def test_a_planted_gain_is_found_in_its_levels_only(events):
    rng = np.random.default_rng(1)
    better = np.where(events["level"] >= 3, 0.8, 0.4)
    gain = measure_gain(make_scores(events, {"base": 0.4, "search": better}, rng), events, "base", "search", rng)
    verdicts = gain.set_index("level")["verdict"]
    assert verdicts[[3, 4]].eq("holds").all() and verdicts["all"] == "holds"
    assert not verdicts[[1, 2]].eq("holds").any()
    assert gain["n"].tolist() == [200, 200, 200, 200, 800]
    assert ((gain["low"] <= gain["difference"]) & (gain["difference"] <= gain["high"])).all()


def test_an_interval_of_no_difference_covers_zero_at_the_nominal_rate():
    rng, covered = np.random.default_rng(2), 0
    for _ in range(200):
        pair = compare_paired(*(pd.Series(rng.random(60)) for _ in range(2)), rng, n_boot=300)
        covered += pair["low"] <= 0 <= pair["high"]
    assert 180 <= covered <= 199


def test_a_lead_is_on_an_agents_own_events_and_what_is_missing_counts_as_nothing(events):
    rng, easy = np.random.default_rng(5), events["level"] <= 2
    ours = make_scores(events[easy], {"ours": 1.0}, rng, missing={("ours", "e000")})
    scores = pd.concat([make_scores(events, {"plain": 0.0}, rng), ours])
    leads = compare_leads(scores, events, "plain", ["ours"], rng).set_index("levels")
    assert leads.loc["1-2", ["n", "verdict"]].tolist() == [400, "holds"]
    assert leads.loc["1-2", "difference"] == pytest.approx(399 / 400)
    assert leads.loc["3-4", ["n", "verdict"]].tolist() == [0, "cannot tell"]


def test_memory_shows_as_a_lead_that_is_gone_in_the_later_window(events):
    rng = np.random.default_rng(3)
    known = (events["window"] == "A") & (events["contamination_group"] == "widely_known")
    means = {"model": np.where(known, 0.9, 0.5), "plain": 0.5}
    table = compare_memory(make_scores(events, means, rng), events, "model", "plain", ["single"], rng)
    gaps = table[table["window"] == "A minus C1"].set_index("group")
    assert gaps.loc["widely_known", "verdict"] == "holds" and gaps.loc["widely_known", "difference"] > 0.25
    assert gaps.loc["obscure", "verdict"] == "cannot tell"
    with pytest.raises(ValueError, match="no event was put to all of model, oracle"):
        compare_memory(make_scores(events, means, rng), events, "model", "oracle", ["single"], rng)


def test_only_events_put_to_all_agents_are_shared_and_missing_ones_are_blank(events):
    rng = np.random.default_rng(4)
    few = events.head(10)
    scores = pd.concat([make_scores(events, {"a": 0.5}, rng), make_scores(few, {"b": 0.5}, rng, {("b", "e003")})])
    matrix = score_shared(scores, events, ["a", "b"])
    assert matrix.shape == (10, 2) and matrix["b"].isna().sum() == 1 and matrix["a"].notna().all()


def test_scores_are_divided_by_minutes_and_queries():
    effort = pd.DataFrame({"queries": [0.5], "seconds": [45]}, ["a"])
    events = pd.DataFrame({"event_id": ["e1", "e2"], "kind": "single", "level": 1})
    rng = np.random.default_rng(0)
    scores = make_scores(events, {"a": 1.0}, rng, {("a", "e2")})
    rated = rate_effort(scores, events, effort, rng).iloc[0]
    assert (rated["score"], rated["per_minute"], rated["per_query"]) == (0.5, pytest.approx(0.5 / 0.75), 1.0)
