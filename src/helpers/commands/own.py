"""`daybefore own folder` (make figures RUN=folder): score and draw predictions of your own, from three csv files.

events.csv (event_id, kind), answers.csv (event_id, value; spread for numbers) and predictions.csv (event_id, agent_id,
value) are checked first; whatever is wrong is said with file, row and column, and nothing is written. Everything is
written under the folder: figures/ and tables/.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from helpers.commands.main import build_parser
from helpers.estimates.groups import summarize_groups
from helpers.estimates.intervals import summarize_means
from helpers.estimates.missing import N_TRIALS, PERCENTS, simulate_std
from helpers.estimates.pairs import score
from helpers.estimates.regression import FACTORS, compare_agents, fit_factors, select_rows, tabulate_effects
from helpers.estimates.spread import MIN_EVENTS
from helpers.figures import save_figure, use_style, write_index
from helpers.formats.folder import read_folder
from helpers.formats.sheets import Problems, describe_problem
from helpers.futurex.domains import draw_means, select_domains, summarize_domains
from helpers.outcomes.scores import build_matrix, select_headline
from helpers.plots import draw_grouped, draw_intervals, draw_points
from helpers.store import locate_output, write_under

MANY = 20
"""So many agents or more: no legend can tell their colours apart."""


def draw_folder(folder, seed=0, n_trials=N_TRIALS):
    """Check, score and draw a folder; return the sentences to print: what was written, what was left out and why.

    Writes folder/figures and folder/tables, nothing else. Raises Problems before anything is written.
    """
    events, answers, predictions = read_folder(folder)
    scores = score(events, answers, predictions)
    if not scores["is_scored"].any():
        raise Problems(
            [describe_problem("answers.csv", None, "value", f"no event can be scored: {scores['reason'].iloc[0]}")]
        )
    n_blank = int(events["level"].isna().sum())
    known = events.assign(level=0 if n_blank else events["level"].astype(int), domain=events.get("domain"))
    about = describe_folder(folder, events)
    with write_under(folder):
        use_style()
        notes = [write_tables(scores, known)]
        if n_blank:
            notes.append(
                f"levels are left out: {n_blank} events have none; fill in level, or volatility_class low or high"
            )
        for draw in (draw_scores, draw_missing, draw_domains, draw_factors):
            notes.append(draw(scores, known, np.random.default_rng(seed), about, n_trials))
        write_index()
    return notes


def describe_folder(folder, events):
    """Return what the figures say about their source: the folder's name, dates where there are any, and a status."""
    days = events.get("as_of", pd.Series(dtype=object)).dropna().astype(str).str[:10]
    made_up = events.get("is_synthetic", pd.Series(dtype=object)).dropna().astype(str).str.casefold().eq("true")
    status = "synthetic" if len(made_up) == len(events) and made_up.all() else "real"
    dates = (days.min(), days.max()) if len(days) else ""
    return {"source": f"{Path(folder).resolve().name}/*.csv", "window": "", "dates": dates, "status": status}


def pick_colours(agents):
    """Return a colour for each agent, the same in every figure of a folder.

    >>> list(pick_colours(["ann", "bob"]))
    ['ann', 'bob']
    """
    return dict(zip(agents, plt.get_cmap("viridis")(np.linspace(0, 0.95, len(agents))), strict=True))


def write_tables(scores, events):
    """Write tables/scores.csv, and tables/pairs.csv with every two agents' difference; return a sentence."""
    agents = scores["agent_id"].nunique()
    write_csv(scores, "scores")
    if agents > 1:
        write_csv(compare_agents(select_headline(scores, events)), "pairs")
    return f"{agents} agents on {len(events)} events: tables/scores.csv" + ", tables/pairs.csv" * (agents > 1)


def write_csv(table, name):
    """Write a table to tables/<name>.csv."""
    table.round(6).to_csv(locate_output(f"tables/{name}.csv"), index=False, lineterminator="\n")


def draw_scores(scores, events, rng, about, n_trials):
    """Draw each agent's mean score with its interval, and the means by level (by kind, without levels)."""
    rows = select_headline(scores, events)
    matrix = build_matrix(rows, sorted(rows["agent_id"].unique()))
    table = summarize_means(matrix, rng).reset_index().rename(columns={"mean": "score"})
    table = table.assign(coverage=table["n"] / len(matrix)).sort_values(["score", "agent_id"], ascending=[False, True])
    by = "kind" if (rows["level"] == 0).any() else "level"
    groups = summarize_groups(scores, events, rng, by)
    sizes = groups.groupby(by)["n_events"].max()
    groups["label"] = [f"{by if by == 'level' else ''} {name}\nn = {sizes[name]}".strip() for name in groups[by]]
    height = max(4.0, 1.2 + 0.3 * len(table))
    fig, axes = plt.subplots(1, 2, figsize=(12, height), width_ratios=[1, 1.4])
    draw_intervals(table, axes[0], label="agent_id", value="score", low="low", high="high")
    axes[0].set(xlabel="mean score", title="Agents", xlim=(0, 1.15))
    colours = [pick_colours(matrix.columns)[agent] for agent in table["agent_id"]]
    groups["place"] = groups["agent_id"].map({agent: at for at, agent in enumerate(table["agent_id"])})
    groups = groups.sort_values([by, "place"])
    draw_grouped(
        groups, axes[1], group="label", series="agent_id", value="mean", low="low", high="high", colours=colours
    )
    axes[1].set(ylabel="mean score", ylim=(0, 1.05), title=f"By {by}")
    if len(table) < MANY:
        axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    shown = pd.concat([table.assign(part="all"), groups.rename(columns={"mean": "score"}).assign(part=by)])
    shown = shown[["part", "agent_id", *[by], "score", "low", "high", "n", "coverage"]]
    save_figure(fig, "scores", shown, title=f"Scores by agent and {by}", n=len(matrix), **about)
    unscored = scores.loc[~scores["is_scored"].astype(bool) & ~scores["event_id"].isin(rows["event_id"])]
    left = unscored.drop_duplicates("event_id")
    why = f"; {len(left)} events are not scored ({left['reason'].iloc[0]})" if len(left) else ""
    return f"scores: figures/scores.png{why}"


def draw_missing(scores, events, rng, about, n_trials):
    """Draw the standard deviation of each agent's mean against the share of missing predictions (Figures 7 and 16).

    Draws of as many events as the folder has scored, with replacement; a line is the simulation, a dot the exact value.
    """
    rows = select_headline(scores, events)
    matrix = build_matrix(rows, sorted(rows["agent_id"].unique())).dropna(axis=1, how="all")
    table = simulate_std(matrix, rng, PERCENTS, n_drawn=len(matrix), n_trials=n_trials, replace=True)
    fig, axes = plt.subplots(1, 2, figsize=(12, 4.2))
    colours = pick_colours(matrix.columns)
    for agent, part in table.groupby("agent_id"):
        for ax, column in zip(axes, ("std", "growth"), strict=True):
            ax.plot(part["percent"], part[column], color=colours[agent], lw=1.2, label=agent)
            dots = part[part["percent"] % 5 == 0]
            ax.plot(dots["percent"], dots[f"{column}_analytic"], "o", ms=3, color=colours[agent])
    axes[0].set(xlabel="percent missing", ylabel="SD of the mean score", title=f"Draws of {len(matrix)} events")
    axes[1].set(xlabel="percent missing", ylabel="relative increase", title="Relative to none missing")
    if matrix.shape[1] < MANY:
        axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    save_figure(fig, "missing", table, title="SD of the mean score by share missing", n=len(matrix), **about)
    coverage = matrix.notna().mean()
    return f"missing: figures/missing.png; coverage {coverage.min():.0%} to {coverage.max():.0%} of the scored events"


def draw_domains(scores, events, rng, about, n_trials):
    """Draw each agent's mean by domain as points with intervals, for levels 1-2 and 3-4 (or all, without levels)."""
    if events["domain"].isna().any():
        return f"no domain figure: {int(events['domain'].isna().sum())} events have no domain in events.csv"
    table = summarize_domains(select_domains(scores, events), rng)
    parts, agents = [part for _, part in table.groupby("levels")], sorted(table["agent_id"].unique())
    height = min(40, 1.5 + table["domain"].nunique() * max(0.45, 0.11 * len(agents)))
    fig, axes = plt.subplots(1, len(parts), figsize=(6 * len(parts), height), squeeze=False)
    for ax, part in zip(axes[0], parts, strict=True):
        draw_means(part, ax, "domain", colours=list(pick_colours(agents).values()))
        ax.set(title=f"Levels {part['levels'].iloc[0]}".replace("Levels all", "All events"), xlim=(0, 1.02))
    if len(agents) < MANY:
        axes[0][-1].legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8)
    n = table.drop_duplicates(["levels", "domain"])["n_events"].sum()
    save_figure(fig, "domains", table, title="Mean score by domain", n=n, **about)
    n_thin = table.loc[table["is_thin"]].drop_duplicates(["levels", "domain"]).shape[0]
    return f"domains: figures/domains.png; {n_thin} domains are hollow (fewer than {MIN_EVENTS} events)"


def draw_factors(scores, events, rng, about, n_trials):
    """Draw the coefficients of agent, domain and level on the score, with intervals clustered by event (Figure 11)."""
    rows = select_rows(scores, events)
    factors = [name for name in FACTORS if rows[name].notna().all() and rows[name].nunique() > 1]
    left = [name for name in FACTORS if name not in factors]
    why = f"; without {', '.join(left)} (blank, or all the same)" if left else ""
    if not factors:
        return f"no factor figure{why}"
    try:
        fit = fit_factors(rows, factors, coding="sum")
    except ValueError as problem:
        return f"no factor figure: {problem}"
    table = tabulate_effects(fit).query("factor != 'intercept'").reset_index(drop=True)
    names = table["category"].astype(str)
    table["label"] = names.where(table["factor"] != "level", "level " + names)
    fig, ax = plt.subplots(figsize=(7.5, 1.4 + 0.28 * len(table)))
    draw_points(table, ax, label="label", value="effect", low="clustered_low", high="clustered_high")
    ax.set(xlabel="effect on the score (sum coding)", title=f"Factors, R² = {fit.r2:.3f}, intervals clustered by event")
    save_figure(fig, "factors", table, title="Effects of agent, domain and level", n=fit.n, **about)
    return f"factors: figures/factors.png; R2 {fit.r2:.3f} from {fit.n} scores of {fit.n_clusters} events{why}"


def main(arguments=None):
    """Read the command line and draw; returns the mean scores. Wrong files are told with row and column."""
    parser = build_parser("own", __doc__.split("\n\n")[0])
    parser.add_argument("folder", help="a folder with events.csv, answers.csv and predictions.csv")
    folder = Path(parser.parse_args(arguments).folder)
    if not folder.is_dir():
        raise SystemExit(
            f"daybefore own: {folder} is not a folder; name one with events, answers and predictions (.csv)"
        )
    try:
        notes = draw_folder(folder)
    except Problems as problems:
        raise SystemExit(f"{problems}\nNothing was written; mend the files and run it again.") from None
    print("\n".join(notes))
    means = pd.read_csv(folder / "figures/scores.csv").to_dict("records")
    return {"folder": str(folder), "notes": notes, "scores": means}


if __name__ == "__main__":
    main()
