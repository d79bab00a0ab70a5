"""Scores as tables, text and a page, the same for run, compare, score and figures.

Intervals are 95% and clustered by source; by event they stand beside it in the files. They need no
draw, so that an agent's numbers are the same in any company.
"""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
from jinja2 import ChainableUndefined, Environment, PackageLoader, select_autoescape
from PIL import Image

from helpers.faults import escape_cells
from helpers.files import locate_output
from helpers.means import MIN_CLUSTERS, find_clusters, tabulate_groups
from helpers.paired import compare_pairs, list_pairs
from helpers.scores import build_matrix, select_headline
from studies.futurex.levels import bound_overall

WIDTH, WIDEST = 80, 60
"""Columns of a terminal that a printed table takes, and of one cell in it."""
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
EXPLAIN = "what the columns mean, and more of them: --explain (of make: ARGS=--explain)"
"""What stands in a table of scores' legend, and what is printed in its place."""
DETAILS = ("level ", "best baseline", "s each", "model s", "by event", "coverage")
"""How columns begin that are printed with the legend alone."""


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


# --- text -------------------------------------------------------------------------------------------


def write_interval(value, low=math.nan, high=math.nan, n=None, n_asked=None, digits=2):
    """Return a value with its interval, and the number of events where it is given, as text, "-"
    for none.

    Where more events were asked than the value is over, their number stands beside.

    >>> write_interval(0.314, 0.25, 0.38), write_interval(0.314), write_interval(math.nan, 0, 0)
    ('0.31 (0.25 to 0.38)', '0.31', '-')
    >>> write_interval(0.314, 0.25, 0.38, 60), write_interval(0.314, n=6, n_asked=20)
    ('0.31 (0.25 to 0.38, n = 60)', '0.31 (n = 6 of 20)')
    """
    of = f" of {n_asked:.0f}" if n is not None and n_asked is not None and n_asked > n else ""
    told = [f"{low:z.{digits}f} to {high:z.{digits}f}"] if np.isfinite(low) else []
    told += [] if n is None else [f"n = {n:.0f}{of}"]
    return (
        f"{value:z.{digits}f}" + f" ({', '.join(told)})" * bool(told) if np.isfinite(value) else "-"
    )


def write_difference(pair, digits=2):
    """Return a row of `paired.compare_pairs` as text.

    >>> write_difference({"difference": 0.1, "low": -0.02, "high": 0.22, "n": 40})
    '+0.10 (-0.02 to +0.22)'
    >>> write_difference({"difference": -0.1, "low": math.nan, "high": math.nan, "n": 20}, 3)
    '-0.100 (inconclusive)'
    """
    if not pair["n"]:
        return "-"
    value, low, high = (f"{pair[name]:+z.{digits}f}" for name in ("difference", "low", "high"))
    return f"{value} ({f'{low} to {high}' if np.isfinite(pair['low']) else 'inconclusive'})"


def write_p(value: float) -> str:
    """Return a p-value as text, "-" for none; one that would round to zero as below a thousandth.

    >>> write_p(0.0421), write_p(0.0002), write_p(math.nan)
    ('0.042', '<0.001', '-')
    """
    if not np.isfinite(value):
        return "-"
    return f"{value:.3f}" if value >= 0.001 else "<0.001"


def write_table(table, explain=True):
    """Return a table whose index is printed as text, in parts of no more than `WIDTH` columns.

    Without `explain` the columns of `DETAILS` are left out, and those that hold nothing.
    """
    if not explain:
        table = table[
            [name for name in table if not name.startswith(DETAILS) and table[name].ne("-").any()]
        ]
    formats = {name: "{:.3f}".format for name in table.select_dtypes("float")}
    options = {
        "line_width": WIDTH,
        "max_colwidth": WIDEST,
        "na_rep": "-",
        "formatters": formats,
        "index_names": False,
    }
    return re.sub(
        r"(?m) +\\?$", "", table.rename_axis(columns=table.index.name).to_string(**options)
    )


def describe_intervals(events):
    """Return a sentence on what the intervals of some events rest on.

    >>> describe_intervals(pd.DataFrame({"event_id": ["a", "b"], "source_id": ["s", "s"]}))
    'intervals: none, the 2 events are of 1 source(s), fewer than 10'
    """
    clusters, by = find_clusters(events)
    n = clusters.nunique()
    if n == len(events):
        by = "event"
    if n < MIN_CLUSTERS:
        return f"intervals: none, the {len(events)} events are of {n} {by}(s), fewer than {MIN_CLUSTERS}"
    alike = "as if no two were correlated" if by == "event" else "as events of one are correlated"
    return f"intervals: 95%, by {by} ({n}), {alike}; none from fewer than {MIN_CLUSTERS}"


# --- files ------------------------------------------------------------------------------------------


def write_csv(table, path):
    """Write a table as csv, its texts safe for a spreadsheet."""
    escape_cells(table).to_csv(path, index=False, lineterminator="\n")


def write_markdown(table):
    """Return a table of texts as markdown.

    >>> print(write_markdown(pd.DataFrame({"agent": ["a|b"], "score": ["0.5"]})))
    | agent | score |
    |---|---|
    | a\\|b | 0.5 |
    """
    rows = [table.columns, *table.astype(str).to_numpy()]
    lines = [
        "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in row) + " |"
        for row in rows
    ]
    return "\n".join([lines[0], "|" + "---|" * len(table.columns), *lines[1:]])


def open_folder(out, place, names):
    """Return the folder `out`, or one below `place` that is named after some names; it is made."""
    told = "+".join(re.sub(r"[^\w.-]", "_", name) for name in names)[:60]
    folder = Path(out) if out else locate_output(f"{place}/{told}/index.html").parent
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def open_templates():
    """Return the templates of this room; on a page of HTML what a model or a page said is
    escaped."""
    loader, is_html = PackageLoader(__package__, "pages"), select_autoescape(["html"])
    return Environment(
        autoescape=is_html, undefined=ChainableUndefined, loader=loader, trim_blocks=True
    )


def write_page(folder, title, sections, *, about=(), files=(), markdown=""):
    """Write folder/index.html, which opens from disk: sentences, sections, links to `files`,
    folder/figures.

    `sections` maps headings to (sentences, a table of texts or None). The same without figures is
    written as the file `markdown`, where it is named. Returns (the figures' names, the page's
    address, the text in markdown).
    """
    figures = {}
    for path in sorted((folder / "figures").glob("*.png")):
        with Image.open(path) as picture:
            figures[path.stem] = picture.text.get("Title", path.stem)
    facts = {
        "title": title,
        "about": about,
        "sections": sections,
        "figures": figures,
        "files": files,
    }
    (folder / "index.html").write_text(
        open_templates().get_template("gallery.html").render(**facts), encoding="utf-8"
    )
    parts = [f"# {title}", *about]
    for name, (notes, table) in sections.items():
        parts += [f"## {name}", *([] if table is None else [write_markdown(table)])]
        parts += ["\n".join(f"- {note}" for note in notes if note)]
    text = "\n\n".join(filter(None, parts)) + "\n"
    if markdown:
        (folder / markdown).write_text(text, encoding="utf-8")
    return list(figures), (folder / "index.html").resolve().as_uri(), text
