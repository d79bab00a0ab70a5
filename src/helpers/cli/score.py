"""`daybefore score folder` (make figures RUN=folder): score and draw predictions of your own, from three csv files.

events.csv, answers.csv and predictions.csv are checked first; what is wrong is said with file, row and column, and
nothing is written. Everything is written under the folder: figures/, tables/ and index.html.
"""

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from helpers.cli.main import show
from helpers.cli.report import (
    BRIER,
    describe_intervals,
    pair_agents,
    rank_agents,
    summarize_agents,
    tabulate_scores,
    take_whole,
    write_csv,
    write_page,
    write_table,
)
from helpers.faults import Problems, describe_problem, escape_cells
from helpers.figures import STATUSES, save_figure, use_style, write_index
from helpers.formats.drawings import MOST_DRAWN, draw_chances, draw_effects, draw_panels, shorten_names
from helpers.formats.folder import read_folder
from helpers.scoring.scores import HEADLINE, build_matrix, select_headline
from helpers.stats.calibration import bin_chances, list_chances
from helpers.stats.means import CLUSTER_COLUMNS, MIN_CLUSTERS, find_clusters, tabulate_groups
from helpers.stats.paired import score
from helpers.stats.regression import FACTORS, fit_factors, select_rows, tabulate_sources
from helpers.store import locate_output, write_under

MOST_PAIRED, MOST_LISTED = 200, 15
"""Above so many agents each is compared with the best one only; agents in the table that is printed."""
NO_SPREAD = "spread is blank: a number is scored by its distance in spreads, the outcome's recent standard deviation"
NO_ROW = "no row in predictions.csv"


class Scored(NamedTuple):
    """A folder's scores, and what all its figures need."""

    scores: pd.DataFrame
    events: pd.DataFrame  # with level 0 where some event has none, and domain
    rows: pd.DataFrame  # the headline scores, with level, kind and domain
    clusters: pd.Series
    means: pd.DataFrame  # as of `report.tabulate_scores`
    names: list  # the agents, the best first
    about: dict  # what each figure says of its source
    widths: str  # what the intervals are, and whether all means are over the same events


def score_folder(folder, events, answers, predictions, status):
    """Return the `Scored` of a folder's tables and sentences on it. Raises Problems where no event can be scored."""
    scores = score(events, answers, predictions)
    is_blank = scores["reason"].str.contains("give no spread", na=False)
    scores = scores.assign(reason=scores["reason"].mask(is_blank, NO_SPREAD))
    headline = scores[scores["metric"].isin(HEADLINE.values())]
    if not headline["is_scored"].any():
        why = headline["reason"].iloc[0]
        column = "spread" if why == NO_SPREAD else "value"
        raise Problems([describe_problem("answers.csv", 0, column, f"no event can be scored: {why}")])
    n_blank = int(events["level"].isna().sum())
    known = events.assign(level=0 if n_blank else events["level"].astype(int), domain=events.get("domain"))
    means, rows, (clusters, by) = tabulate_scores(scores, known), select_headline(scores, known), find_clusters(known)
    rows["domain"] = rows["event_id"].map(known.set_index("event_id")["domain"])
    uneven, few = describe_uneven(rows), f"hollow: fewer than {MIN_CLUSTERS} {by}s, inconclusive"
    widths = f"95% by {by}; {few}" + "; not all over the same events" * bool(uneven)
    column = {name: column for column, name in CLUSTER_COLUMNS.items()}.get(by)
    which = f"the column {column} of events.csv says which" if column else "events.csv has no source_id or cluster_id"
    notes = [uneven, f"{describe_intervals(events)}; {which}"]
    left = scores[~scores["is_scored"].astype(bool)].drop_duplicates("event_id")
    for reason, part in left.groupby("reason", sort=False):
        notes.append(f"events not scored: {len(part)}, {part['event_id'].iloc[0]} the first: {reason}")
    if n_blank:
        notes.append(f"levels are left out: {n_blank} events have none; fill in level, or volatility_class low or high")
    about = describe_folder(folder, events, status)
    return Scored(scores, known, rows, clusters, means, rank_agents(means), about, widths), notes


def draw_folder(folder, status=None):
    """Check, score and draw a folder; return (the agents' results as texts, sentences, the page's address).

    `status` is what the figures are stamped with (`describe_folder`). Writes folder/figures, folder/tables and
    folder/index.html. Raises Problems before anything is written.
    """
    folder = Path(folder)
    events, answers, predictions = read_folder(folder)
    predictions = fill_unanswered(events, predictions)
    told, notes = score_folder(folder, events, answers, predictions, status)
    with write_under(folder):
        use_style()
        notes += write_tables(told)
        by = "kind" if (told.rows["level"] == 0).any() else "level"
        draw_means(told, "scores", by, f"Mean scores, all and by {by}")
        if n_blank := int(told.events["domain"].isna().sum()):
            notes.append(f"no domain figure: {n_blank} events have no domain in events.csv")
        else:
            draw_means(told, "domains", "domain", "Mean scores by domain")
        chances = list_chances(told.events, answers, predictions)
        notes += [draw_probabilities(told.means, chances, told.clusters, told.about, told.widths), draw_factors(told)]
        write_index()
    notes, shown = [*filter(None, notes)], summarize_agents(told.means)
    table = shown.reset_index().assign(agent=shorten_names(shown.index))
    files = ("tables/agents.csv", "tables/scores.csv")
    page = write_page(folder, folder.resolve().name, {"Agents": ([*notes, BRIER], table)}, files=files)[1]
    return table.set_index("agent"), notes, page


def fill_unanswered(events, predictions):
    """Return predictions with a missing one for each event that an agent has no row for: all are held to all events."""
    runs = predictions.drop_duplicates("agent_id")[["agent_id", "run_id"]]
    every, pairs = runs.merge(events[["event_id"]], how="cross"), ["agent_id", "event_id"]
    absent = ~pd.MultiIndex.from_frame(every[pairs]).isin(pd.MultiIndex.from_frame(predictions[pairs]))
    filled = every[absent].assign(sample=0, value=None, reason=NO_ROW).to_dict("records")
    columns = dict.fromkeys([*predictions, *(["reason"] if filled else [])])
    return pd.DataFrame([*predictions.to_dict("records"), *filled], columns=list(columns))


def describe_folder(folder, events, status=None):
    """Return what the figures say about their source: the folder's name, dates where there are any, and a status.

    The status is the one asked for; else synthetic, where is_synthetic says so of every event; else as given.
    """
    days = events.get("as_of", pd.Series(dtype=object)).dropna().astype(str).str[:10]
    said = events.get("is_synthetic", pd.Series(None, events.index)).astype(str).str.casefold()
    status = status or ("synthetic" if said.eq("true").all() else "as given")
    dates = (days.min(), days.max()) if len(days) else ""
    return {"source": f"{folder.resolve().name}/*.csv", "window": "", "dates": dates, "status": status}


def describe_uneven(rows):
    """Return a sentence where agents answered different scored events, so that their means do not compare; else ""."""
    there = build_matrix(rows, sorted(rows["agent_id"].unique())).notna()
    same, n = int(there.all(axis=1).sum()), there.sum()
    if (n == same).all():
        return ""
    told = f"the agents answered different events ({n.min()} to {n.max()} of {len(there)}, {same} by all)"
    return (
        f"{told}: their means do not rank them; tables/pairs.csv has the differences on the events that both answered"
    )


def write_tables(told):
    """Write tables/scores.csv, agents.csv (every mean with its interval) and pairs.csv; return sentences."""
    n, tables = len(told.names), {"scores": told.scores, "agents": told.means.drop(columns="note")}
    if n > 1:
        tables["pairs"] = pair_agents(build_matrix(told.rows, told.names), told.clusters, MOST_PAIRED)
    for name, table in tables.items():
        write_csv(table.round(6), locate_output(f"tables/{name}.csv"))
    files = ", ".join(f"tables/{name}.csv" for name in tables)
    notes = [f"{n} agents on {len(told.events)} events: {files}"]
    if n > 1:
        what = "every two agents" if n <= MOST_PAIRED else f"the best agent and each other (of {n} not every two)"
        notes.append(f"pairs.csv: differences between {what}, one family of {len(tables['pairs'])} (p_holm)")
    if n > MOST_DRAWN:
        notes.append(f"the figures show the {MOST_DRAWN} best of {n} agents; all are in the tables")
    return notes


def save(fig, name, shown, *, title, n, about):
    """Save a figure with the numbers it shows, safe for a spreadsheet."""
    save_figure(fig, name, escape_cells(shown), title=title, n=n, unit="events", **about)


def draw_means(told, name, by, title):
    """Draw each agent's means by a group (by level or kind over all events too)."""
    table = tabulate_groups(told.rows, told.clusters, [by])
    named = table["name"].replace("", "all events")
    table["panel"] = named.where(table["group"] != "level", "level " + named)
    sizes = told.rows.groupby(told.rows[by].astype(str))["event_id"].nunique()
    table["n_events"] = table["name"].map(sizes).fillna(told.rows["event_id"].nunique()).astype(int)
    table = table if by != "domain" else table[table["group"] == by]
    fig = draw_panels(table, told.names[:MOST_DRAWN], title=f"{title} ({told.widths})")
    save(fig, name, table, title=title, n=told.rows["event_id"].nunique(), about=told.about)


def draw_probabilities(means, chances, clusters, about, widths):
    """Draw Brier errors of one-choice events (of `means`), and how often what was given a probability came true.

    `chances` as of `list_chances`. Returns a sentence where there is no such event, else "".
    """
    brier = take_whole(means, "brier").reset_index().sort_values(["mean", "agent_id"], ignore_index=True)
    if brier.empty:
        return "no figure of probabilities: no prediction of one choice has one (columns probability, or distribution)"
    bins, (best, *_, worst) = bin_chances(chances, clusters), brier["agent_id"].iloc[[0, -1]]
    ends = f"{brier['mean'].min():.3f} ({best})", f"{brier['mean'].max():.3f} ({worst})"
    title = f"Brier errors run from {ends[0]} to {ends[1]}; on a diagonal what is said comes true"
    fig = draw_chances(brier, bins, title=f"{title} ({widths})")
    shown = pd.concat([brier.assign(part="brier"), bins.assign(part="reliability")])
    columns = "part agent_id mean bin said share low high low_by_event high_by_event n n_clusters".split()
    save(fig, "probabilities", shown[columns], title=title, n=brier["n"].max(), about=about)
    return ""


def draw_factors(told):
    """Draw the effects of agent, domain and level on the score, with intervals by cluster (Figure 11)."""
    rows = select_rows(told.scores, told.events)
    rows = rows[rows["agent_id"].isin(told.names[:MOST_DRAWN])].assign(cluster=rows["event_id"].map(told.clusters))
    factors = [name for name in FACTORS if rows[name].notna().all() and rows[name].nunique() > 1]
    left = [name for name in FACTORS if name not in factors]
    why = f"; without {', '.join(left)} (blank, or all the same)" if left else ""
    if not factors:
        return f"no factor figure{why}"
    if rows["cluster"].nunique() < MIN_CLUSTERS:
        return f"no factor figure: {rows['cluster'].nunique()} sources are too few, it needs {MIN_CLUSTERS}"
    try:
        fit = fit_factors(rows, factors, coding="sum", cluster="cluster")
    except ValueError as problem:
        return f"no factor figure: {problem}"
    table = tabulate_sources(rows, factors, coding="sum").query("factor != 'intercept'").reset_index(drop=True)
    names = table["category"].astype(str)
    table["label"] = names.where(table["factor"] != "level", "level " + names)
    table = table[["factor", "category", "label", "effect", *table.filter(like="clustered_"), "n_sources"]]
    table = table.rename(columns=lambda name: name.removeprefix("clustered_").replace("n_sources", "n_clusters"))
    by = f"{(by := find_clusters(told.events)[1])}; hollow: fewer than {MIN_CLUSTERS} {by}s, inconclusive"
    fig = draw_effects(table, title=f"Factors of the score, R² = {fit.r2:.3f} (95%, by {by})")
    save(fig, "factors", table, title="Effects of agent, domain and level", n=fit.n, about=told.about)
    return f"factors: R2 {fit.r2:.3f} from {fit.n} scores{why}"


def main(folder, status=None):
    """Check, score and draw a folder, print what came of it and return the means.

    Raises ValueError in sentences with file, row and column where its files are wrong.
    """
    if status and status not in STATUSES:
        raise ValueError(f"--status must be one of {', '.join(STATUSES)}, not {status!r}")
    if not Path(folder).is_dir():
        raise ValueError(f"{folder} is not a folder; name one with events, answers and predictions (.csv)")
    try:
        shown, notes, page = draw_folder(folder, status)
    except Problems as problems:
        raise SystemExit(f"{problems}\nNothing was written; mend the files and run it again.") from None
    more = f"... and {len(shown) - MOST_LISTED} more in tables/agents.csv" * (len(shown) > MOST_LISTED)
    show("\n".join(filter(None, [write_table(shown.head(MOST_LISTED)), more, BRIER, *notes])))
    show(f"open in a browser: {page}")
    means = pd.read_csv(Path(folder) / "tables/agents.csv").to_dict("records")
    return {"folder": str(folder), "notes": notes, "scores": means}
