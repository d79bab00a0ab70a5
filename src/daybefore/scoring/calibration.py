"""Whether probabilities hold: how often what was said came true."""

import numpy as np
import pandas as pd

from helpers.files import parse_json
from helpers.means import summarize_clustered

COLUMNS = ["agent_id", "bin", "said", "share", "low", "high", "n", "n_clusters"]
N_BINS = 10
"""Bins of a reliability diagram."""


def list_chances(events, answers, predictions):
    """Return every probability that was given to an option, a row each: agent_id, event_id, option,
    said, hit (0 or 1).

    Of two options that exclude each other the first counts: the other says the same again. Where
    the probability of the answer alone was given, it counts for that answer. Of samples said is the
    mean.
    """
    truth = answers.set_index("event_id")["value"].rename("truth")
    known = events.set_index("event_id")[["kind", "options"]].join(truth)
    rows = []
    for row in predictions.join(known, on="event_id").to_dict("records"):
        told = parse_json(row["distribution"]) or {}
        counted = sorted(parse_json(row["options"]) or told)
        if row["kind"] == "single" and not told:
            if pd.notna(row.get("probability")) and pd.notna(row["value"]):
                told = {parse_json(row["value"]): row["probability"]}
            counted = list(told)
        elif row["kind"] == "single" and len(counted) == 2:
            counted = counted[:1]
        if row["kind"] not in ("single", "multi") or not told or pd.isna(row["truth"]):
            continue
        right = parse_json(row["truth"])
        hits = right if isinstance(right, list) else [right]
        about = {"agent_id": row["agent_id"], "event_id": row["event_id"]}
        rows += [
            about | {"option": key, "said": told.get(key, 0.0), "hit": float(key in hits)}
            for key in counted
        ]
    table = pd.DataFrame(rows, columns=["agent_id", "event_id", "option", "said", "hit"])
    return table.groupby(["agent_id", "event_id", "option"], sort=False, as_index=False).mean()


def bin_chances(chances, clusters):
    """Return how often what was given a probability came true, by agent and bin: a row each.

    Columns: agent_id, bin (its lower end), said (the mean probability in it), share, low, high (95%
    by cluster; blank below ten clusters), n, n_clusters. `chances` as of `list_chances`.
    """
    if chances.empty:
        return pd.DataFrame(columns=COLUMNS)
    tables, bins = (
        [],
        (np.asarray(chances["said"]) * N_BINS + 1e-9).astype(int).clip(0, N_BINS - 1),
    )  # an edge is above
    for at, part in chances.groupby(bins):
        wide = part.pivot(index=["event_id", "option"], columns="agent_id", values="hit")
        own = pd.Series(clusters.reindex(wide.index.get_level_values(0)).to_numpy(), wide.index)
        table = summarize_clustered(wide, own, ends=(0, 1)).rename_axis("agent_id").reset_index()
        said = part.groupby("agent_id")["said"].mean()
        tables.append(table.assign(bin=at / N_BINS, said=table["agent_id"].map(said)))
    table = pd.concat(tables, ignore_index=True).sort_values(["agent_id", "bin"], ignore_index=True)
    return table.rename(columns={"mean": "share"})[COLUMNS]
