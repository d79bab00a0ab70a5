"""Scores as a leaderboard, the same for run, compare, report and figures: means by agent, leads over
the best baseline.

Intervals are 95% and clustered by source; by event they stand beside it in the files. They need no
draw, so that an agent's numbers are the same in any company.
"""

import math

import pandas as pd

from daybefore.commands.print_tables import write_csv, write_difference, write_interval
from helpers.means import find_clusters, tabulate_groups
from helpers.paired import compare_pairs, list_pairs
from helpers.scores import build_matrix, select_headline
from studies.futurex.difficulty import bound_overall

MANY = 12
"""Above so many agents each is compared with the best one only: so many pairs tell nothing apart
after Holm."""

SCORE_COLUMNS = (
    "metric group name mean low high low_by_event high_by_event n n_asked n_clusters coverage mean_imputed"
).split()
"""Columns of every table of means, after agent_id."""

BRIER = (
    "Brier: sum over options, 0 (best) to 2 for one choice, half of it is the usual one of yes/no"
)
"""Which Brier error is meant (`scores.score_brier`); the mean is over questions of one choice."""
LEGEND = f"levels: mean (answered/asked); lead: on events both answered; {BRIER}"
"""What stands in a table of scores' legend."""


def tabulate_scores(scores, events):
    """Return every mean of some scores by agent: FutureX's overall score, all events, each level,
    kind and domain.

    Columns: agent_id, `SCORE_COLUMNS`, note (why no overall is due); metric is "score" (higher is
    better) or "brier" (an error, `BRIER`: lower is better). Questions with several right answers,
    each option of which adds up to 1, have a Brier row of their own (group kind, name multi).
    Raises ValueError when no event can be scored.
    """
    clusters = find_clusters(events)[0]
    rows, overall = select_headline(scores, events), bound_overall(scores, events, clusters)
    rows["domain"] = rows["event_id"].map(events.set_index("event_id").get("domain", {}))
    tables = [part.assign(metric="score") for part in (overall, tabulate_groups(rows, clusters))]
    brier = scores[
        (scores["metric"] == "brier") & scores["is_scored"].astype(bool) & scores["score"].notna()
    ]
    kinds = brier["event_id"].map(events.set_index("event_id")["kind"])
    for kind, group, name in (("single", "all", ""), ("multi", "kind", "multi")):
        if (part := brier[kinds == kind]).empty:
            continue
        asked = rows[rows["kind"] == kind].groupby("agent_id")["event_id"].nunique()
        table = tabulate_groups(part, clusters, groups=(), most=None).assign(
            metric="brier", mean_imputed=math.nan
        )
        table = table.assign(group=group, name=name, n_asked=table["agent_id"].map(asked))
        tables.append(table.assign(coverage=table["n"] / table["n_asked"]))
    table = pd.concat(tables, ignore_index=True).fillna({"note": ""})
    return table[["agent_id", *SCORE_COLUMNS, "note"]]


def tabulate_leads(scores, events, baselines):
    """Return each agent's lead over the best of the other `baselines`: a row an agent, of
    `paired.compare_pairs` with the column baseline.

    The best is the one with the best mean on the events that the agent predicted; the lead is the
    paired difference on the events that both predicted. Agents without such a baseline are left
    out.
    """
    rows = select_headline(scores, events)
    matrix, clusters = (
        build_matrix(rows, sorted(rows["agent_id"].unique())),
        find_clusters(events)[0],
    )
    pairs = []
    for agent in matrix:
        others = [name for name in baselines if name in matrix and name != agent]
        means = matrix.loc[matrix[agent].notna(), others].mean().dropna()
        pairs += [(agent, [means.idxmax()])] if len(means) else []
    table = (
        compare_pairs(matrix, clusters, pairs)
        if pairs
        else pd.DataFrame(columns=["agent_a", "agent_b"])
    )
    return table.set_index("agent_a").rename(columns={"agent_b": "baseline"})


def write_board(folder, scores, events, baselines):
    """Write a leaderboard's numbers as leaderboard.csv, a row an agent as leaderboard.tex; return
    both tables."""
    means = tabulate_scores(scores, events)
    write_csv(means.drop(columns="note").round(6), folder / "leaderboard.csv")
    board = summarize_agents(means, tabulate_leads(scores, events, baselines)).reset_index()
    text = board.to_latex(index=False, escape=True, column_format="l" * len(board.columns))
    (folder / "leaderboard.tex").write_text(text, encoding="utf-8")
    return means, board


def choose_pairs(names):
    """Return which agents to compare, [(name, [others])]: every two; of more than `MANY` the first
    with each other."""
    return list_pairs(names) if len(names) <= MANY else [(names[0], names[1:])]


def take_whole(table, metric="score", group="all"):
    """Return the rows of `tabulate_scores` of one metric and group, by agent_id."""
    return table[
        table["metric"].eq(metric) & table["group"].eq(group) & table["name"].eq("")
    ].set_index("agent_id")


def rank_agents(table):
    """Return the agents of `tabulate_scores`, the best overall first, else by the mean of answered,
    else by name."""
    means = pd.DataFrame(
        {group: take_whole(table, group=group)["mean"] for group in ("overall", "all")}
    )
    return list(
        means.sort_index().sort_values(["overall", "all"], ascending=False, kind="stable").index
    )


def summarize_agents(table, leads=None):
    """Return a row an agent, best first, as text: its mean, overall, Brier, lead over the best
    baseline, levels.

    From the tables of `tabulate_scores` and `tabulate_leads`; a level's cell counts the answered of
    the asked.
    """
    whole, ends = take_whole(table), ["mean", "low", "high"]
    means = whole[[*ends, "n", "n_asked"]]
    cells = {
        "mean of answered": {agent: write_interval(*row) for agent, *row in means.itertuples()}
    }
    if len(short := whole.loc[whole["n"] < whole["n_asked"], "mean_imputed"]):
        cells["missing = 0"] = short.map("{:.2f}".format)
    overall = take_whole(table, group="overall")[ends]
    cells["overall"] = {agent: write_interval(*row) for agent, *row in overall.itertuples()}
    cells["Brier"] = take_whole(table, "brier")["mean"].map("{:.3f}".format)
    if leads is not None:
        cells["lead"] = {
            agent: write_difference(row) for agent, row in leads.to_dict("index").items()
        }
        cells["best baseline"] = leads["baseline"]
    for level, part in table.query(
        "metric == 'score' and group == 'level' and name != '0'"
    ).groupby("name"):
        rows = part.set_index("agent_id")[["mean", "n", "n_asked"]].itertuples()
        cells[f"level {level}"] = {
            agent: f"{write_interval(mean)} ({n}/{asked})" for agent, mean, n, asked in rows
        }
    return (
        pd.DataFrame(cells, index=pd.Index(rank_agents(table), name="agent"))
        .astype(object)
        .fillna("-")
    )
