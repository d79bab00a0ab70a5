"""Scores by domain above a baseline (FutureX 4.3); synthetic scores."""

import numpy as np
import pandas as pd

from helpers.futurex import domains


def make_tables(by_cell):
    """Scores and events from {(domain, level): {agent: [score, ...]}}; each event is of a source of its own."""
    scores, events = [], []
    for (domain, level), agents in by_cell.items():
        for agent, values in agents.items():
            for at, value in enumerate(values):
                event = {"event_id": f"{domain}{level}-{at:03d}", "kind": "single", "level": level, "domain": domain}
                events += [event] if event not in events else []
                row = {"run_id": agent, "agent_id": agent, "sample": 0, "metric": "accuracy", "is_scored": True}
                scores.append(row | {"event_id": event["event_id"], "score": value, "score_imputed": value})
    return pd.DataFrame(scores), pd.DataFrame(events)


def test_differences_from_a_baseline_by_hand():
    cells = {("Crypto", 1): {"a": [1, 0, 1, 1], "random": [0, 0, 1, 0]}, ("Crypto", 4): {"a": [0.5], "random": [0.1]}}
    table = domains.compare_domains(*make_tables(cells), "random").set_index(["levels", "agent_id"])
    assert table.index.tolist() == [("1-2", "a"), ("3-4", "a")], "the baseline itself has no row"
    row = table.loc[("1-2", "a")]
    assert (row["difference"], row["n"], row["n_clusters"], row["label"]) == (0.5, 4, 4, "Crypto\n4 events, 4 sources")
    assert np.isnan(row["low"]) and table.loc[("3-4", "a"), "label"].endswith("1 events, 1 source")
