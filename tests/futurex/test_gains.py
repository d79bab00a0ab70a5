"""Studies of language models: planted leads and gains are found; absent ones are not."""

import builders
import numpy as np
import pandas as pd
import pytest

from helpers.futurex.gains import compare_domains, compare_levels, compare_memory


def make_scores(events, means, rng):
    """Synthetic accuracies: every agent's chance of being right is given, in {agent: chance by event}."""
    hits = {agent: (rng.random(len(events)) < chance).astype(float) for agent, chance in means.items()}
    rows = (
        pd.DataFrame(hits, events["event_id"]).reset_index().melt("event_id", var_name="agent_id", value_name="score")
    )
    return rows.assign(metric="accuracy", is_scored=True)


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
    assert gain.set_index("levels")["verdict"].to_dict() == {"1-2": "inconclusive", "3-4": "holds"}
    assert gain["n"].tolist() == [400, 400] and ((gain["low"] <= gain["difference"]) & (gain["mde"] > 0)).all()


def test_memory_shows_as_a_lead_that_is_gone_in_the_later_window(events):
    rng = np.random.default_rng(3)
    known = (events["window"] == "A") & (events["contamination_group"] == "widely_known")
    means = {"model": np.where(known, 0.9, 0.5), "plain": 0.5}
    table = compare_memory(make_scores(events, means, rng), events, "model", "plain", ["single"])
    gaps = table[table["window"] == "A minus C1"].set_index("group")
    assert gaps.loc["widely_known", "verdict"] == "holds" and gaps.loc["widely_known", "difference"] > 0.25
    assert gaps.loc["obscure", "verdict"] == "inconclusive"
    with pytest.raises(ValueError, match="no event was predicted by both model and oracle"):
        compare_memory(make_scores(events, means, rng), events, "model", "oracle", ["single"])


def test_differences_from_a_baseline_by_hand():
    scores, events = builders.make_scores({"a": {1: [1, 0, 1, 1], 4: [0.5]}, "random": {1: [0, 0, 1, 0], 4: [0.1]}})
    table = compare_domains(scores, events.assign(domain="Crypto"), "random").set_index(["levels", "agent_id"])
    assert table.index.tolist() == [("1-2", "a"), ("3-4", "a")], "the baseline itself has no row"
    row = table.loc[("1-2", "a")]
    assert (row["difference"], row["n"], row["n_clusters"], row["label"]) == (0.5, 4, 4, "Crypto\n4 events, 4 sources")
    assert np.isnan(row["low"]) and table.loc[("3-4", "a"), "label"].endswith("1 events, 1 source")
