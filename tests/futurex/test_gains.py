"""Studies of language models: planted leads and gains are found; absent ones are not."""

import numpy as np
import pandas as pd
import pytest

from helpers.futurex.gains import (
    compare_levels,
    compare_memory,
    compare_moments,
    describe_differences,
    score_shared,
)
from helpers.stats.paired import judge_test


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
    gain = compare_levels(make_scores(events, {"base": 0.4, "search": better}, rng), events, [("search", "base")])
    assert gain.set_index("levels")["verdict"].to_dict() == {"1-2": "cannot tell", "3-4": "holds"}
    assert gain["n"].tolist() == [400, 400] and ((gain["low"] <= gain["difference"]) & (gain["seen"] > 0)).all()


def test_below_ten_sources_only_the_exact_test_is_left(events):
    few = events.head(20).assign(source_id=[f"s{at % 5}" for at in range(20)])
    scores = make_scores(few, {"base": 0.0, "search": 1.0}, np.random.default_rng(0))
    row = compare_levels(scores, few, [("search", "base")], {"all": (1, 2, 3, 4)}).iloc[0]
    assert (row["p"], row["n"], row["n_clusters"], row["verdict"]) == (2 / 32, 20, 5, "cannot tell")
    assert row[["low", "high", "seen"]].isna().all()


@pytest.mark.parametrize(("gain", "truth"), [(0.3, "holds"), (-0.3, "fails"), (0.0, "cannot tell")])
def test_paired_verdicts_are_reached_though_luck_is_shared_by_source(gain, truth):
    rng, said = np.random.default_rng(6), []
    source = pd.Series(np.repeat(np.arange(25), 4))
    for _ in range(200):
        found = describe_differences(gain + rng.normal(0, 0.2, 25)[source] + pd.Series(rng.normal(0, 0.3, 100)), source)
        said.append(judge_test(found["difference"], found["p"]))
    assert said.count(truth) >= 183


def test_two_agents_are_compared_on_what_both_predicted(events):
    rng, easy = np.random.default_rng(5), events["level"] <= 2
    ours = make_scores(events[easy], {"ours": 1.0}, rng, missing={("ours", "e000")})
    scores = pd.concat([make_scores(events, {"plain": 0.0}, rng), ours])
    leads = compare_levels(scores, events, [("ours", "plain")]).set_index("levels")
    assert leads.loc["1-2", ["n", "difference", "verdict"]].tolist() == [399, 1.0, "holds"]
    assert leads.loc["3-4", ["n", "verdict"]].tolist() == [0, "cannot tell"]


def test_memory_shows_as_a_lead_that_is_gone_in_the_later_window(events):
    rng = np.random.default_rng(3)
    known = (events["window"] == "A") & (events["contamination_group"] == "widely_known")
    means = {"model": np.where(known, 0.9, 0.5), "plain": 0.5}
    table = compare_memory(make_scores(events, means, rng), events, "model", "plain", ["single"])
    gaps = table[table["window"] == "A minus C1"].set_index("group")
    assert gaps.loc["widely_known", "verdict"] == "holds" and gaps.loc["widely_known", "difference"] > 0.25
    assert gaps.loc["obscure", "verdict"] == "cannot tell"
    with pytest.raises(ValueError, match="no event was put to all of model, oracle"):
        compare_memory(make_scores(events, means, rng), events, "model", "oracle", ["single"])


def test_only_events_put_to_all_agents_are_shared_and_missing_ones_are_blank(events):
    rng = np.random.default_rng(4)
    few = events.head(10)
    scores = pd.concat([make_scores(events, {"a": 0.5}, rng), make_scores(few, {"b": 0.5}, rng, {("b", "e003")})])
    matrix = score_shared(scores, events, ["a", "b"])
    assert matrix.shape == (10, 2) and matrix["b"].isna().sum() == 1 and matrix["a"].notna().all()


def test_each_verdict_on_two_moments_is_reached_where_it_is_true(events):
    rng, few = np.random.default_rng(6), events.head(240).assign(source_id=[f"s{at % 24}" for at in range(240)])
    before = make_scores(few, {"better": 0.4, "worse": 0.6, "same": 0.5}, rng)
    after = make_scores(few, {"better": 0.8, "worse": 0.2, "same": 0.5}, rng)
    table = compare_moments(before, after, few).set_index("agent_id")
    assert table["verdict"].to_dict() == {"better": "holds", "worse": "fails", "same": "cannot tell"}
    assert table["n_clusters"].eq(24).all() and (table["p_holm"] >= table["p"]).all()
    assert table.loc["same", "seen"] > 0.1 and table.loc["better", "low_second"] > 0.6
