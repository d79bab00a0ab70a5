"""Scores of the task set: by group and capability, what did not execute (LiveAgentBench 5).

A task that a system lacks a capability for counts as wrong, overall and in its columns; so does one
that did not execute, which is counted apart too. Denominators are fixed: every task of a column,
less only a model's replies that are not recorded.
"""

import numpy as np
import pandas as pd
import seaborn as sns

from helpers.files import parse_json
from helpers.match_answers import match_answer
from helpers.means import find_clusters, summarize_clustered
from studies.liveagentbench.task_answers import list_truths
from studies.liveagentbench.tasks import CAPABILITIES, GROUPS


def score_runs(runs, answers):
    """Return runs with extracted, is_match, is_equal, is_strict, and score, strict, failed (0 or 1,
    blank if missing).

    `is_match` says of any reply whether it fits; only a task that was attempted can score.
    """
    truth = list_truths(answers)
    fits = []
    for name, reply in zip(runs["event_id"], runs["reply"], strict=True):
        said = reply if isinstance(reply, str) else None  # a table's blank is a NaN
        fits.append(match_answer(said, truth[name]))
    table = pd.concat([runs.reset_index(drop=True), pd.DataFrame(fits)], axis=1)
    is_run = table["status"].eq("ok")
    is_missing = table["status"].eq("missing")
    for name, rule in (("score", "is_match"), ("strict", "is_strict")):
        table[name] = (table[rule] & is_run).astype(float).mask(is_missing)
    return table.assign(failed=table["status"].eq("failed").astype(float).mask(is_missing))


def tabulate_scores(scored, events, value="score"):
    """Return the share right by agent and column: agent, kind, column, size, n, n_clusters, right,
    share, low, high.

    Columns are all tasks, scenario groups (the paper's five, or a task file's own) and capabilities
    that a task takes; a task that takes two stands in both. `value` names what counts: score,
    strict, or failed. `size` is the column's number of tasks, `n` those of them that count: less
    only where replies are not recorded. low and high are 95%, by source
    (`means.summarize_clustered`).
    """
    takes = events["capabilities"].map(parse_json)
    named = events["scenario_group"]
    groups = GROUPS if set(named) <= set(GROUPS) else named.unique()
    columns = {("overall", "overall"): named.notna()}
    columns |= {("scenario", group): named == group for group in groups}
    columns |= {("capability", key): [key in part for part in takes] for key in CAPABILITIES}
    every = scored.pivot(index="event_id", columns="agent", values=value)[scored["agent"].unique()]
    clusters = find_clusters(events)[0]
    tables = []
    for (kind, name), is_member in columns.items():
        members = events.loc[is_member, "event_id"]
        if len(members):
            known = every.reindex(members)
            found = summarize_clustered(known, clusters, ends=(0, 1))
            about = {"kind": kind, "column": name, "size": len(members), "right": known.sum()}
            tables.append(found.assign(**about))
    table = pd.concat(tables).rename(columns={"mean": "share"}).rename_axis("agent")
    table = table.astype({"right": int}).reset_index()
    return table["agent kind column size n n_clusters right share low high".split()]


def draw_shares(wide, sizes, ax, digits):
    """Draw percentages as a heat map, systems by columns (`sizes`: column -> number of tasks).

    Lines part the columns: all tasks, groups of scenarios, capabilities; zeros are grey, blanks
    white.
    """
    look = {
        "vmin": 0.01,
        "vmax": 190,
        "annot": True,
        "fmt": f".{digits}f",
        "linewidths": 0.5,
        "annot_kws": {"size": 9},
    }
    greens = sns.light_palette("seagreen", as_cmap=True).with_extremes(under="0.85")
    sns.heatmap(wide, ax=ax, cmap=greens, cbar=False, **look)
    names = [GROUPS.get(name, name.replace("_", "\n")).capitalize() for name in wide]
    labels = [f"{name}\nn = {sizes[column]}" for column, name in zip(wide, names, strict=True)]
    ax.set_xticks(np.arange(len(labels)) + 0.5, labels, rotation=0, fontsize=8.5)
    ax.set_yticks(np.arange(len(wide)) + 0.5, wide.index, rotation=0)
    n_groups = len([name for name in wide if name != "overall" and name not in CAPABILITIES])
    ax.vlines([1, 1 + n_groups], 0, len(wide), color="white", lw=6, zorder=2)
    ax.set(xlabel="", ylabel="")
