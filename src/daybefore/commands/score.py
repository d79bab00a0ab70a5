"""`daybefore score folder` (make figures RUN=folder): score and draw predictions of your own, from three csv files.

events.csv, answers.csv and predictions.csv are checked first; what is wrong is said with file, row and column, and
nothing is written. Everything is written under the folder: figures/, tables/ and index.html.
"""

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from daybefore.commands import report
from daybefore.commands.main import show
from daybefore.formats.folder import read_folder
from helpers.calibration import bin_chances, list_chances
from helpers.faults import Problems, describe_problem, escape_cells
from helpers.figures import save_figure, use_style, write_index
from helpers.files import locate_output, write_under
from helpers.means import CLUSTER_COLUMNS, MIN_CLUSTERS, find_clusters, tabulate_groups
from helpers.paired import compare_pairs, score
from helpers.plots import COLOURS, draw_points, measure_reach
from helpers.scores import HEADLINE, build_matrix, select_headline

MOST_DRAWN, N_RELIABLE, N_COLUMNS = 60, 8, 6
"""Agents that a figure shows, agents whose reliability is drawn, and panels a row."""
NO_SPREAD = "spread is blank: a number is scored by its distance in spreads, the outcome's recent standard deviation"


def main(folder, status=None):
    """Check, score and draw a folder, print what came of it and return the means.

    `status` says whose data they are (`figures.STATUSES`). Raises ValueError in sentences with file, row and column
    where its files are wrong.
    """
    try:
        shown, notes, page = draw_folder(folder, status)
    except Problems as problems:
        raise ValueError(f"{problems}\nNothing was written; mend the files and run it again.") from None
    show("\n".join([report.write_table(shown), report.BRIER, *notes, f"open in a browser: {page}"]))
    means = pd.read_csv(Path(folder) / "tables/agents.csv").to_dict("records")
    return {"folder": str(folder), "notes": notes, "scores": means}


def draw_folder(folder, status=None):
    """Check, score and draw a folder; return (the agents' results as texts, sentences, the page's address).

    Raises Problems before anything is written.
    """
    folder = Path(folder)
    events, answers, predictions = read_folder(folder)
    predictions = fill_unanswered(events, predictions)
    scores = score_events(events, answers, predictions)
    by = "level" if events["level"].notna().all() else "kind"
    known = events.assign(level=events["level"].astype(int) if by == "level" else 0, domain=events.get("domain"))
    rows, (clusters, cluster) = select_headline(scores, known), find_clusters(known)
    rows = rows.merge(known[["event_id", "domain"]], on="event_id")
    means = report.tabulate_scores(scores, known)
    matrix = build_matrix(rows, report.rank_agents(means))
    names, notes = list(matrix), describe_events(events, scores, matrix, cluster)
    tables = {"scores": scores, "agents": means.drop(columns="note")}
    if len(names) > 1:
        tables["pairs"] = compare_pairs(matrix, clusters, report.choose_pairs(names))
        what = "every two agents" if len(names) <= report.MANY else "the best agent and each other"
        told = f"tables/pairs.csv: differences between {what}"
        notes.append(f"{told}, one family of {len(tables['pairs'])} pairs (p_holm)")
    widths = f"95% by {cluster}; hollow: fewer than {MIN_CLUSTERS} {cluster}s, inconclusive"
    if matrix.isna().nunique(axis=1).gt(1).any():
        widths += "; not all over the same events"
    about = describe_source(folder, events, status) | {"widths": widths}
    with tempfile.TemporaryDirectory(dir=folder, prefix=".partial") as stage, write_under(stage):
        for name, table in tables.items():
            report.write_csv(table.round(6), locate_output(f"tables/{name}.csv"))
        use_style()
        draw_means(rows, clusters, names, "scores", by, f"Mean scores, all and by {by}", about)
        if known["domain"].notna().all():
            draw_means(rows, clusters, names, "domains", "domain", "Mean scores by domain", about)
        if note := draw_probabilities(means, list_chances(known, answers, predictions), clusters, about):
            notes.append(note)
        write_index()
        for room in sorted(Path(stage).iterdir()):
            shutil.copytree(room, folder / room.name, dirs_exist_ok=True)
    shown = report.summarize_agents(means).reset_index()
    shown["agent"] = shorten_names(shown["agent"])
    files = ("tables/agents.csv", "tables/scores.csv")
    page = report.write_page(folder, folder.resolve().name, {"Agents": ([*notes, report.BRIER], shown)}, files=files)[1]
    return shown.set_index("agent"), notes, page


def fill_unanswered(events, predictions):
    """Return predictions with a missing one for each event that an agent has no row for: all are held to all events."""
    runs, pairs = predictions.drop_duplicates("agent_id")[["agent_id", "run_id"]], ["agent_id", "event_id"]
    every = runs.merge(events[["event_id"]], how="cross")
    absent = ~pd.MultiIndex.from_frame(every[pairs]).isin(pd.MultiIndex.from_frame(predictions[pairs]))
    filled = every[absent].assign(sample=0, value=None, reason="no row in predictions.csv")
    return pd.DataFrame(predictions.to_dict("records") + filled.to_dict("records")) if len(filled) else predictions


def score_events(events, answers, predictions):
    """Return the scores of a folder's tables. Raises Problems where no event can be scored."""
    scores = score(events, answers, predictions)
    is_blank = scores["reason"].str.contains("give no spread", na=False)
    scores["reason"] = scores["reason"].mask(is_blank, NO_SPREAD)
    headline = scores[scores["metric"].isin(HEADLINE.values())]
    if not headline["is_scored"].any():
        why = headline["reason"].iloc[0]
        column = "spread" if why == NO_SPREAD else "value"
        raise Problems([describe_problem("answers.csv", 0, column, f"no event can be scored: {why}")])
    return scores


# --- words -----------------------------------------------------------------------------------------------------------


def describe_events(events, scores, matrix, by):
    """Return sentences on what was scored, what the intervals rest on, and what the figures leave out."""
    there, n = len(matrix), matrix.count()
    same = len(matrix.dropna())
    notes = [f"{len(n)} agents on {there} scored events: tables/scores.csv, tables/agents.csv"]
    if (n != same).any():
        told = f"the agents answered different events ({n.min()} to {n.max()} of {there}, {same} by all)"
        notes.append(f"{told}: means do not rank them; tables/pairs.csv has the differences on what both answered")
    column = {name: column for column, name in CLUSTER_COLUMNS.items()}.get(by)
    which = f"the column {column} of events.csv says which" if column else "events.csv has no source_id or cluster_id"
    notes.append(f"{report.describe_intervals(events)}; {which}")
    left = scores[~scores["is_scored"].astype(bool)].drop_duplicates("event_id")
    for reason, part in left.groupby("reason", sort=False):
        notes.append(f"events not scored: {len(part)}, {part['event_id'].iloc[0]} the first: {reason}")
    for column in ("level", "domain"):
        if n_blank := int(events.reindex(columns=[column])[column].isna().sum()):
            notes.append(f"no figure by {column}: {n_blank} events have none in events.csv")
    return notes + [f"the figures show the {MOST_DRAWN} best of {len(n)} agents"] * (len(n) > MOST_DRAWN)


def describe_source(folder, events, status=None):
    """Return what the figures say about their source: the folder's name, dates where there are any, and a status.

    The status is the one asked for; else synthetic, where is_synthetic says so of every event; else as given.
    """
    days = events.get("as_of", pd.Series(dtype=object)).dropna().astype(str).str[:10]
    said = events.get("is_synthetic", pd.Series(None, events.index)).astype(str).str.casefold()
    status = status or ("synthetic" if said.eq("true").all() else "as given")
    dates = (days.min(), days.max()) if len(days) else ""
    return {"source": f"{folder.resolve().name}/*.csv", "window": "", "dates": dates, "status": status}


def shorten_names(names, most=32):
    """Return names to draw: on one line, cut to some characters; those that look alike then are numbered.

    >>> shorten_names(["a  b", "x" * 40, "x" * 50], most=6)
    ['a b', 'xxxxx…', 'xxxxx… (2)']
    """
    seen, made = Counter(), []
    for name in (" ".join(str(name).split()) for name in names):
        short = name if len(name) <= most else name[: most - 1] + "…"
        seen[short] += 1
        made.append(short if seen[short] == 1 else f"{short} ({seen[short]})")
    return made


# --- figures ---------------------------------------------------------------------------------------------------------


def draw_means(rows, clusters, names, name, by, title, about):
    """Draw each agent's means by a group (by level or kind over all events too), a panel a group, and save them."""
    table = tabulate_groups(rows, clusters, [by])
    table = table[table["group"] == by] if by == "domain" else table
    whole = table["name"].mask(table["group"] == "level", "level " + table["name"]).replace("", "all events")
    panels, names = list(table.groupby(whole, sort=False)), names[:MOST_DRAWN]
    fig, axes = open_panels(len(panels), 0.9 + 0.19 * len(names))
    for ax, (group, part) in zip(axes, panels, strict=False):
        draw_agents(part.set_index("agent_id").reindex(names).reset_index(), ax)
        ax.set(xlim=(-0.03, 1.03), xticks=[0, 0.5, 1])
        ax.set_title(f"{shorten_names([group], 20)[0]}\nn = {part['n_asked'].max()}", fontsize=9)
    fig.supxlabel("mean score", fontsize=9)
    save(fig, name, table, title=title, n=rows["event_id"].nunique(), **about)


def draw_probabilities(means, chances, clusters, about):
    """Draw Brier errors of one-choice events (of `means`), and how often what was given a probability came true.

    `chances` as of `list_chances`, `about` what `save` wants. On a diagonal what is said holds; a point's size and the
    number at it are how often that was said. Returns a sentence where there is no such event, else "".
    """
    brier = report.take_whole(means, "brier").reset_index().sort_values(["mean", "agent_id"], ignore_index=True)
    if brier.empty:
        return "no figure of probabilities: no prediction of one choice has one (columns probability, or distribution)"
    bins, drawn = bin_chances(chances, clusters), brier.head(MOST_DRAWN)
    chosen = [name for name in drawn["agent_id"] if name in set(bins["agent_id"])][:N_RELIABLE]
    fig, (left, *axes) = open_panels(1 + len(chosen), max(2.3, 0.9 + 0.19 * len(drawn)), 3, is_shared=False)
    draw_agents(drawn, left)
    left.set(xlabel="Brier error, sum over options: 0 is best", xlim=(0, None))
    for ax, agent in zip(axes, chosen, strict=False):
        told = bins[bins["agent_id"] == agent]
        ax.plot([0, 1], [0, 1], color="0.6", lw=1)
        ax.errorbar(told["said"], told["share"], measure_reach(told, "share", "low", "high"), fmt="none", ecolor="0.6")
        ax.scatter(told["said"], told["share"], s=8 + 60 * told["n"] / told["n"].max(), color=COLOURS[0], zorder=3)
        for row in told.to_dict("records"):
            ax.annotate(row["n"], (row["said"], row["share"]), (0, 7), textcoords="offset points", fontsize=7)
        ax.set(xlim=(-0.06, 1.06), ylim=(-0.06, 1.14), xlabel="probability given", ylabel="came true")
        ax.set_title(shorten_names([agent], 26)[0], fontsize=9)
    ends = [f"{brier['mean'].iloc[at]:.3f} ({shorten_names(brier['agent_id'])[at]})" for at in (0, -1)]
    title = f"Brier errors run from {ends[0]} to {ends[1]}; on a diagonal what is said comes true"
    shown = pd.concat([brier.assign(part="brier"), bins.assign(part="reliability")])
    columns = "part agent_id mean bin said share low high low_by_event high_by_event n n_clusters".split()
    save(fig, "probabilities", shown[columns], title=title, n=brier["n"].max(), **about)
    return ""


def open_panels(n, height, width=1.9, *, is_shared=True):
    """Return (a figure, the Axes of n panels in rows of up to `N_COLUMNS`), each panel of this height and width."""
    n_rows = -(-n // N_COLUMNS)
    n_columns = -(-n // n_rows)
    size = 2.4 + width * n_columns, n_rows * height + 0.6
    fig, axes = plt.subplots(n_rows, n_columns, figsize=size, squeeze=False, sharex=is_shared, sharey=is_shared)
    for ax in axes.flat[n:]:
        ax.set_visible(False)
    return fig, axes.flat


def draw_agents(table, ax):
    """Draw a point an agent at its `mean`, with its interval; hollow where there is none."""
    told = table.assign(label=shorten_names(table["agent_id"]), is_thin=table["low"].isna())
    draw_points(told, ax, label="label", value="mean", low="low", high="high", is_thin="is_thin")
    ax.tick_params(labelsize=8)


def save(fig, name, shown, *, title, n, widths, **about):
    """Save a figure with the numbers it shows, safe for a spreadsheet; nothing in a name is taken for a formula."""
    fig.suptitle(f"{title} ({widths})", fontsize=11, x=0.01, ha="left")
    for text in fig.findobj(plt.Text):
        text.set_parse_math(False)
    save_figure(fig, name, escape_cells(shown), title=title, n=n, unit="events", **about)
