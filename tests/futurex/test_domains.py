"""Scores by domain above a baseline (FutureX 4.3); synthetic scores."""

import numpy as np
from builders import make_scores

from helpers.futurex import domains


def test_differences_from_a_baseline_by_hand():
    scores, events = make_scores({"a": {1: [1, 0, 1, 1], 4: [0.5]}, "random": {1: [0, 0, 1, 0], 4: [0.1]}})
    table = domains.compare_domains(scores, events.assign(domain="Crypto"), "random").set_index(["levels", "agent_id"])
    assert table.index.tolist() == [("1-2", "a"), ("3-4", "a")], "the baseline itself has no row"
    row = table.loc[("1-2", "a")]
    assert (row["difference"], row["n"], row["n_clusters"], row["label"]) == (0.5, 4, 4, "Crypto\n4 events, 4 sources")
    assert np.isnan(row["low"]) and table.loc[("3-4", "a"), "label"].endswith("1 events, 1 source")
