"""Scores by group: an agent's means by level, kind or domain, with interval, n and coverage."""

import pandas as pd

from helpers.scoring.scores import build_matrix, convert_brier
from helpers.stats.intervals import find_clusters, summarize_clustered
from helpers.store import parse_json


def tabulate_groups(rows, clusters, groups=("level", "kind", "domain"), most=1.0, least=0.0):
    """Return each agent's mean over all events and by group, its interval by cluster, and beside it by event.

    `rows` are scored rows (`scores.select_headline`), with the columns named in `groups`; `clusters` maps events to
    what they share their luck with (`intervals.find_clusters`); a score lies between `least` and `most`. Columns: group
    ("all", then those named), name, agent_id, mean, low, high, low_by_event, high_by_event, n (predicted), n_asked,
    n_clusters, coverage, mean_imputed (missing predictions count 0). A blank interval: too few clusters to tell. An
    agent's row is the same in any company.
    """
    agents = sorted(rows["agent_id"].unique())
    parts = [("all", "", rows)]
    parts += [(group, str(name), part) for group in groups for name, part in rows.groupby(group, sort=True)]
    tables = []
    for group, name, part in parts:
        matrix, imputed = (build_matrix(part, agents, column) for column in ("score", "score_imputed"))
        table = summarize_clustered(matrix, clusters).rename_axis("agent_id").reset_index()
        plain = summarize_clustered(matrix).reset_index(drop=True).rename(columns="{}_by_event".format)
        asked = imputed.notna().sum().to_numpy()
        table = table.join(plain[["low_by_event", "high_by_event"]]).assign(group=group, name=name, n_asked=asked)
        tables.append(table.assign(mean_imputed=imputed.mean().to_numpy()))
    table = pd.concat(tables, ignore_index=True)
    table["coverage"] = table["n"] / table["n_asked"].where(table["n_asked"] > 0)
    ends = ["low", "high", "low_by_event", "high_by_event"]
    table[ends] = table[ends].clip(least, most)
    return table[["group", "name", "agent_id", "mean", *ends, *"n n_asked n_clusters coverage mean_imputed".split()]]


def measure_index(scores, events):
    """Return agents' Brier index 100 (1 - sqrt(Brier)) on yes/no events, best first, with n, n_clusters and intervals.

    The Brier score of two options is half of the kit's `brier`, which sums over both. Agents without a probability are
    left out. Columns: agent_id, index, low, high (95%, by the events' cluster; blank below ten clusters), low_by_event,
    high_by_event, n, n_clusters. Raises ValueError when no agent has a probability.
    """
    options = events["options"].map(parse_json)
    yes_no = events.loc[[bool(given) and set(given.values()) == {"Yes", "No"} for given in options], "event_id"]
    rows = scores[(scores["metric"] == "brier") & scores["event_id"].isin(yes_no) & scores["score"].notna()]
    if rows.empty:
        raise ValueError("no agent gave a probability on a yes/no event")
    brier = rows.pivot_table(index="event_id", columns="agent_id", values="score", aggfunc="mean") / 2
    found, plain = (summarize_clustered(brier, by) for by in (find_clusters(events)[0], None))
    table = pd.DataFrame({"index": convert_brier(found["mean"])}, found.index)
    for name, part in (("", found), ("_by_event", plain)):
        ends = part[["high", "low"]].clip(0, 1)  # a small Brier score is a large index
        table[[f"low{name}", f"high{name}"]] = convert_brier(ends)
    table = table.assign(n=found["n"], n_clusters=found["n_clusters"]).reset_index()
    return table.sort_values("index", ascending=False, ignore_index=True)
