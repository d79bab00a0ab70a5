"""`daybefore score folder` (make figures RUN=folder): score and draw predictions of your own, from three csv files.

events.csv, answers.csv and predictions.csv are checked first; what is wrong is said with file, row and column, and
nothing is written. Everything is written under the folder: figures/ and tables/.
"""

import math
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from helpers.cli.gallery import list_figures, write_gallery
from helpers.cli.main import show
from helpers.cli.report import BRIER, describe_intervals, tabulate_scores, write_count, write_interval
from helpers.faults import Problems, describe_problem, escape_cells
from helpers.figures import STATUSES, save_figure, use_style, write_index
from helpers.formats.drawings import (
    MOST_DRAWN,
    draw_chances,
    draw_effects,
    draw_panels,
    shorten_names,
)
from helpers.formats.folder import read_folder
from helpers.scoring.scores import HEADLINE, build_matrix, select_headline
from helpers.stats.calibration import bin_chances, list_chances
from helpers.stats.means import CLUSTER_COLUMNS, MIN_CLUSTERS, find_clusters, tabulate_groups
from helpers.stats.paired import compare_pairs, score
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
    names: list  # the agents drawn, the best first
    about: dict  # what each figure says of its source
    widths: str  # what thick and thin lines are, and whether all means are over the same events


def draw_folder(folder, status=None):
    """Check, score and draw a folder; return the sentences to print: what was written, what was left out and why.

    `status` is what the figures are stamped with (`describe_folder`). Writes folder/figures and folder/tables, nothing
    else. Raises Problems before anything is written.
    """
    events, answers, predictions = read_folder(folder)
    predictions = fill_unanswered(events, predictions)
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
    table = tabulate_scores(scores, known)
    with write_under(folder):
        use_style()
        (clusters, by), rows = find_clusters(known), select_headline(scores, known)
        rows["domain"] = rows["event_id"].map(known.set_index("event_id")["domain"])
        few, uneven = f"hollow: fewer than {MIN_CLUSTERS} {by}s, inconclusive", describe_uneven(rows)
        widths = f"95%, thick by {by}, thin by event; {few}" if by != "event" else f"95%, by event; {few}"
        widths += "; not all over the same events" * bool(uneven)
        names = list(rank_agents(table)["agent_id"])[:MOST_DRAWN]
        told = Scored(scores, known, rows, clusters, names, describe_folder(folder, events, status), widths)
        column = {name: column for column, name in CLUSTER_COLUMNS.items()}.get(by)
        which = "events.csv has no source_id or cluster_id, so each event is its own"
        which = f"the column {column} of events.csv says which" if column else which
        notes = [uneven, f"{describe_intervals(events)}; {which}"]
        notes += write_tables(told, table)
        left = scores[~scores["is_scored"].astype(bool)].drop_duplicates("event_id")
        for reason, part in left.groupby("reason", sort=False):
            n = write_count(len(part), "event is", "events are")
            notes.append(f"{n} not scored, {part['event_id'].iloc[0]} the first: {reason}")
        if n_blank:
            blank = write_count(n_blank, "event has", "events have")
            notes.append(f"levels are left out: {blank} none; fill in level, or volatility_class low or high")
        by = "kind" if (told.rows["level"] == 0).any() else "level"
        notes.append(draw_means(told, "scores", [by], f"Mean scores, all and by {by}"))
        notes += [draw_domains(told), draw_probabilities(told, answers, predictions, table), draw_factors(told)]
        write_index()
    notes, drawn = [*filter(None, notes)], list_figures(Path(folder) / "figures")
    files = {"tables/agents.csv": "every mean with its interval", "tables/scores.csv": "every score"}
    tables = {"Agents": tabulate_summary(table)}
    told = [note.replace(f"{Path(folder).resolve()}/", "").replace(f"{folder}/", "") for note in notes]
    write_gallery(Path(folder), Path(folder).resolve().name, drawn, tables, told, files=files)
    return [write_summary(table), "", *notes, f"open in a browser: {(Path(folder) / 'index.html').resolve().as_uri()}"]


def fill_unanswered(events, predictions):
    """Return predictions with a missing one for each event that an agent has no row for: all are held to all events."""
    runs = predictions.drop_duplicates("agent_id")[["agent_id", "run_id"]]
    every = runs.merge(events[["event_id"]], how="cross")
    pairs = ["agent_id", "event_id"]
    absent = ~pd.MultiIndex.from_frame(every[pairs]).isin(pd.MultiIndex.from_frame(predictions[pairs]))
    filled = every[absent].assign(sample=0, value=None, reason=NO_ROW).to_dict("records")
    columns = dict.fromkeys([*predictions, *(["reason"] if filled else [])])
    return pd.DataFrame([*predictions.to_dict("records"), *filled], columns=list(columns))


def rank_agents(table):
    """Return the agents' rows over all events, the best mean first; of equal means the name decides."""
    whole = table[(table["metric"] == "score") & (table["group"] == "all")]
    return whole.sort_values(["mean", "agent_id"], ascending=[False, True], ignore_index=True)


def describe_folder(folder, events, status=None):
    """Return what the figures say about their source: the folder's name, dates where there are any, and a status.

    The status is the one asked for; else synthetic, where is_synthetic says so of every event; else as given.
    """
    days = events.get("as_of", pd.Series(dtype=object)).dropna().astype(str).str[:10]
    made_up = events.get("is_synthetic", pd.Series(dtype=object)).dropna().astype(str).str.casefold()
    said = made_up.iloc[0] if len(made_up) == len(events) and made_up.nunique() == 1 else ""
    status = status or ("synthetic" if said == "true" else "as given")
    dates = (days.min(), days.max()) if len(days) else ""
    return {"source": f"{Path(folder).resolve().name}/*.csv", "window": "", "dates": dates, "status": status}


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


def tabulate_summary(table):
    """Return the agents' results as texts, the best first."""
    ranked = rank_agents(table)
    others = {
        name: table[table["metric"].eq(metric) & table["group"].eq(group)].set_index("agent_id")["mean"]
        for name, metric, group in (("overall", "score", "overall"), ("Brier", "brier", "all"))
    }
    shown = pd.DataFrame({"agent": shorten_names(ranked["agent_id"])})
    shown["score"] = [write_interval(*row) for row in ranked[["mean", "low", "high"]].to_numpy()]
    cells = ranked[["coverage", "n", "n_asked"]].to_numpy()
    shown["coverage"] = [f"{share:.0%} ({n:.0f} of {n_asked:.0f})" for share, n, n_asked in cells]
    for name, means in others.items():
        shown[name] = [write_interval(means.get(agent, math.nan), math.nan, math.nan) for agent in ranked["agent_id"]]
    return shown


def write_summary(table):
    """Return the best agents' results as text, a line each."""
    shown = tabulate_summary(table)
    rest = f"\n... and {len(shown) - MOST_LISTED} more in tables/agents.csv" * (len(shown) > MOST_LISTED)
    rest += f"\n{BRIER}" * bool((table["metric"] == "brier").any())
    return shown.head(MOST_LISTED).to_string(index=False) + rest


def write_tables(told, table):
    """Write tables/scores.csv, agents.csv (every mean with its interval) and pairs.csv; return sentences."""
    agents = told.rows["agent_id"].nunique()
    files = [write_csv(told.scores, "scores"), write_csv(table.drop(columns="note"), "agents")]
    on = write_count(len(told.events), "event", "events")
    notes = [f"{write_count(agents, 'agent', 'agents')} on {on}: "]
    if agents > 1:
        ranked = list(rank_agents(table)["agent_id"])
        pairs = None if agents <= MOST_PAIRED else [(ranked[0], ranked[1:])]
        found = compare_pairs(build_matrix(told.rows, ranked), told.clusters, pairs)
        files.append(write_csv(found, "pairs"))
        what = "every two agents" if pairs is None else f"the best agent and each other (of {agents} not every two)"
        notes.append(f"pairs.csv: differences between {what}, one family of {len(found)} (p_holm)")
    if agents > MOST_DRAWN:
        notes.append(f"the figures show the {MOST_DRAWN} best of {agents} agents; all are in the tables")
    return [notes[0] + ", ".join(files), *notes[1:]]


def write_csv(table, name):
    """Write a table to tables/<name>.csv, its texts safe for a spreadsheet; return the path."""
    path = locate_output(f"tables/{name}.csv")
    escape_cells(table.round(6)).to_csv(path, index=False, lineterminator="\n")
    return str(path)


def save(fig, name, shown, *, title, n, about):
    """Save a figure with the numbers it shows, safe for a spreadsheet; return its path."""
    save_figure(fig, name, escape_cells(shown), title=title, n=n, **about)
    return str(locate_output(f"figures/{name}.png"))


def tabulate_panels(told, groups):
    """Return the means to draw by group (`means.tabulate_groups`), the groups' names as panel, with n_events."""
    table = tabulate_groups(told.rows, told.clusters, groups)
    named = table["name"].replace("", "all events")
    table["panel"] = named.where(table["group"] != "level", "level " + named)
    sizes = {("all", ""): told.rows["event_id"].nunique()}
    for group in groups:
        counts = told.rows.groupby(group)["event_id"].nunique()
        sizes |= {(group, str(name)): n for name, n in counts.items()}
    return table.assign(n_events=[sizes[pair] for pair in zip(table["group"], table["name"], strict=True)])


def draw_means(told, name, groups, title):
    """Draw each agent's means by group (with level or kind over all events too) and save them; return their path."""
    table = tabulate_panels(told, groups)
    table = table if name == "scores" else table[table["group"] == groups[0]]
    fig = draw_panels(table, told.names, title=f"{title} ({told.widths})")
    n = told.rows["event_id"].nunique()
    return f"{name}: " + save(fig, name, table, title=title, n=n, about=told.about)


def draw_domains(told):
    """Draw each agent's mean by domain."""
    if n_blank := int(told.events["domain"].isna().sum()):
        return f"no domain figure: {write_count(n_blank, 'event has', 'events have')} no domain in events.csv"
    return draw_means(told, "domains", ["domain"], "Mean scores by domain")


def draw_probabilities(told, answers, predictions, table):
    """Draw Brier errors of one-choice events, and how often what was given a probability came true."""
    brier = table[table["metric"].eq("brier") & table["group"].eq("all")].sort_values(
        ["mean", "agent_id"], ignore_index=True
    )
    if brier.empty:
        return "no figure of probabilities: no prediction of one choice has one (columns probability, or distribution)"
    bins = bin_chances(list_chances(told.events, answers, predictions), told.clusters)
    title = "Brier errors, and how often what was given a probability came true"
    fig = draw_chances(brier, bins, title=f"{title} ({told.widths})")
    shown = pd.concat([brier.assign(part="brier"), bins.assign(part="reliability")])
    columns = "part agent_id mean bin said share low high low_by_event high_by_event n n_clusters".split()
    path = save(fig, "probabilities", shown[columns], title=title, n=brier["n"].max(), about=told.about)
    return f"probabilities: {path}"


def draw_factors(told):
    """Draw the effects of agent, domain and level on the score, with intervals by cluster (Figure 11)."""
    rows = select_rows(told.scores, told.events)
    rows = rows[rows["agent_id"].isin(told.names)].assign(cluster=rows["event_id"].map(told.clusters))
    factors = [name for name in FACTORS if rows[name].notna().all() and rows[name].nunique() > 1]
    left = [name for name in FACTORS if name not in factors]
    why = f"; without {', '.join(left)} (blank, or all the same)" if left else ""
    if not factors:
        return f"no factor figure{why}"
    if rows["cluster"].nunique() < MIN_CLUSTERS:
        return f"no factor figure: {rows['cluster'].nunique()} sources cannot tell, it needs {MIN_CLUSTERS}"
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
    path = save(fig, "factors", table, title="Effects of agent, domain and level", n=fit.n, about=told.about)
    return f"factors: {path}; R2 {fit.r2:.3f} from {fit.n} scores{why}"


def main(folder, status=None):
    """Check, score and draw a folder, print what came of it and return the means.

    Raises ValueError in sentences with file, row and column where its files are wrong.
    """
    folder = Path(folder)
    if status and status not in STATUSES:
        raise ValueError(f"--status must be one of {', '.join(STATUSES)}, not {status!r}")
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder; name one with events, answers and predictions (.csv)")
    try:
        notes = draw_folder(folder, status)
    except Problems as problems:
        raise SystemExit(f"{problems}\nNothing was written; mend the files and run it again.") from None
    show("\n".join(notes))
    means = pd.read_csv(folder / "tables/agents.csv").to_dict("records")
    return {"folder": str(folder), "notes": [note for note in notes[1:] if note], "scores": means}
