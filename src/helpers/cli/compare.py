"""`daybefore compare`: runs on the events that all of them were asked: paired differences, and a leaderboard.

A missing prediction counts 0 on the leaderboard, so that all stand on the same events; a difference is over the events
that both predicted. Intervals and tests are clustered by source.
"""

import os
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from helpers.cli.gallery import list_figures, write_gallery, write_markdown
from helpers.cli.main import show
from helpers.cli.report import BRIER, describe_intervals, tabulate_scores, write_count, write_interval, write_signed
from helpers.cli.select_runs import (
    add_baselines,
    describe_conditions,
    label_runs,
    select_runs,
)
from helpers.faults import escape_cells
from helpers.figures import save_figure, use_style
from helpers.formats.drawings import MOST_DRAWN, draw_dots, shorten_names
from helpers.futurex.past import read_window
from helpers.question_sets import find_set
from helpers.scoring.runs import list_runs, read_predictions
from helpers.scoring.scores import build_matrix, score_predictions, select_headline
from helpers.stats.means import find_clusters, summarize_clustered
from helpers.stats.paired import ALPHA, compare_pairs, judge_pair, list_pairs
from helpers.store import locate_output, write_under

FOLDER = "results/compare"
MANY = 12
"""Above so many agents each is compared with the best one only: so many pairs tell nothing apart after Holm."""
LONGEST = 44
"""Characters of a run's label that the figure shows."""
RANDOM = "random"
"""The agent that guesses: how far another is above it is skill, whatever the events."""


def find_shared(predictions, runs):
    """Return (the events that all runs were asked, a sentence on the run that limits them most, "" where none does).

    Raises ValueError when no event was asked of all.
    """
    asked = {run.label: set(predictions.loc[predictions["agent_id"] == run.label, "event_id"]) for run in runs}
    shared = set.intersection(*asked.values())
    if not shared:
        told = ", ".join(f"{run.label} ({len(asked[run.label])} of {find_set(run.window).name})" for run in runs)
        raise ValueError(f"no event was asked of all: {told}; run them on the same set and LIMIT, or compare fewer")
    rest = {name: [events for other, events in asked.items() if other != name] for name in asked if len(asked) > 2}
    without = {name: len(set.intersection(*others)) for name, others in rest.items()}
    name = max(without, key=without.get, default=None)
    if name is None or without[name] <= len(shared):
        return shared, ""
    return shared, f"{name} was asked only {len(asked[name])}; without it the others share {without[name]} events"


def compare_runs(scores, events, runs):
    """Return the paired differences between runs, every two of them (of many: each with the best one).

    As `paired.compare_pairs`, with condition_a and _b, coverage_a and _b (the share of the scored events predicted) and
    verdict (by p_holm).
    """
    names, conditions = [run.label for run in runs], {run.label: run.condition for run in runs}
    matrix = build_matrix(select_headline(scores, events), names)
    best = matrix.fillna(0).mean().idxmax()
    pairs = list_pairs(names) if len(names) <= MANY else [(best, [name for name in names if name != best])]
    table = compare_pairs(matrix, find_clusters(events)[0], pairs)
    for name, told in (("condition", conditions), ("coverage", matrix.notna().mean())):
        table = table.assign(**{f"{name}_{side}": table[f"agent_{side}"].map(told) for side in "ab"})
    return table.assign(verdict=[judge_answered(row) for row in table.to_dict("records")])


def judge_answered(row):
    """Return the verdict on a pair (`paired.judge_pair`, by p_holm), or why there is no event to judge it by.

    >>> judge_answered({"agent_a": "x", "agent_b": "y", "coverage_a": 0.5, "coverage_b": 0.0, "n": 0})
    'y answered none of them'
    """
    silent = [row[f"agent_{side}"] for side in "ab" if not row[f"coverage_{side}"]]
    if silent:
        return f"{' and '.join(silent)} answered none of them"
    return judge_pair(row, "p_holm") if row["n"] else "no event that both answered"


def rank_agents(scores, events, runs, shown=None):
    """Return the leaderboard, best first: a row a run, over the same events for all, a missing prediction counting 0.

    `shown` are the labels of the runs that stand on it, by default all; the others serve the measure above random.
    Columns: rank, agent, run_id, category, model, condition, score with its interval by source and by event,
    above_random (paired; blank without that agent), score_answered and coverage, overall and brier, n, n_sources. A run
    without one answer comes last and has neither rank nor score.
    """
    rows, clusters = select_headline(scores, events), find_clusters(events)[0]
    imputed = build_matrix(rows, [run.label for run in runs], "score_imputed")
    board, plain = summarize_clustered(imputed, clusters), summarize_clustered(imputed)
    board = board.rename(columns={"mean": "score", "n_clusters": "n_sources"})
    board = board.assign(low_by_event=plain["low"], high_by_event=plain["high"])
    ends = ["low", "high", "low_by_event", "high_by_event"]
    board[ends] = board[ends].clip(0, 1)
    board = board[["score", *ends, "n", "n_sources"]]
    if guess := next((run.label for run in runs if run.agent_id == RANDOM), None):
        above = summarize_clustered(imputed.sub(imputed[guess], axis=0).drop(columns=guess), clusters)
        board[["above_random", "above_random_low", "above_random_high"]] = above[["mean", "low", "high"]]
    means = tabulate_scores(scores, events).pivot_table(
        index="agent_id", columns=["metric", "group"], values="mean", aggfunc="first", dropna=False
    )
    columns = {"score_answered": ("score", "all"), "overall": ("score", "overall"), "brier": ("brier", "all")}
    board = board.assign(**{name: means.get(key, np.nan) for name, key in columns.items()})
    board["coverage"] = build_matrix(rows, list(board.index)).notna().mean()
    blank = [name for name in board if name.startswith(("score", "low", "high", "above", "over"))]
    board.loc[board["coverage"] == 0, blank] = np.nan
    told = pd.DataFrame(runs).set_index("label")[["run_id", "category", "model", "condition"]]
    board = told.join(board).rename_axis("agent").loc[shown or list(told.index)].reset_index()
    board = board.sort_values(["score", "agent"], ascending=[False, True], ignore_index=True)
    ranks = board["score"].rank(ascending=False, method="min")
    board.insert(0, "rank", pd.Series([None if pd.isna(rank) else int(rank) for rank in ranks], dtype=object))
    return board


def tabulate_board(board):
    """Return the leaderboard as texts."""
    rows = []
    for row in board.to_dict("records"):
        above = [row.get(f"above_random{end}", np.nan) for end in ("", "_low", "_high")]
        score = write_interval(row["score"], row["low"], row["high"]) if row["coverage"] else "no answers"
        rows.append([row["rank"] or "-", row["agent"], score, write_interval(*above)])
        rows[-1] += [write_interval(row["score_answered"], np.nan, np.nan), f"{row['coverage']:.0%}"]
        rows[-1] += [write_interval(row[name], np.nan, np.nan) for name in ("overall", "brier")]
    columns = ["", "agent", "score", "above random", "where answered", "coverage", "overall", "Brier"]
    return pd.DataFrame(rows, columns=columns)


def write_board(board, about):
    """Return the leaderboard as markdown, with what it rests on."""
    return f"{write_markdown(tabulate_board(board))}\n\n{about}\n"


def tabulate_pairs(pairs):
    """Return the differences as texts, a row a pair."""

    def write(low, high):
        return f"{write_signed(low)} to {write_signed(high)}" if np.isfinite(low) else "inconclusive"

    shown = pairs[["agent_a", "agent_b"]].set_axis(["a", "b"], axis=1)
    shown["a - b"] = pairs["difference"].map(write_signed)
    shown["95% by source"] = [write(*ends) for ends in pairs[["low", "high"]].to_numpy()]
    shown["by event"] = [write(*ends) for ends in pairs[["low_by_event", "high_by_event"]].to_numpy()]
    for name, column in (("p (Holm)", "p_holm"), ("MDE", "seen")):
        shown[name] = pairs[column].map("{:.3f}".format).where(pairs[column].notna(), "-")
    shown["n (sources)"] = [f"{n} ({n_clusters})" for n, n_clusters in pairs[["n", "n_clusters"]].to_numpy()]
    shown["coverage"] = [f"{a:.0%}, {b:.0%}" for a, b in pairs[["coverage_a", "coverage_b"]].to_numpy()]
    shown.loc[pairs["n"] == 0, ["a - b", "95% by source", "by event"]] = "-"
    return shown.assign(verdict=pairs["verdict"])


def draw_comparison(board, pairs, about):
    """Draw the leaderboard and the differences as points with their intervals by source, thin ones by event."""
    use_style()
    board, pairs = board[board["coverage"] > 0].head(MOST_DRAWN), pairs[pairs["n"] > 0].head(MOST_DRAWN)
    height = 1.3 + max(0.27 * len(board), 0.4 * len(pairs), 0.8)
    fig, axes = plt.subplots(1, 2, figsize=(12, height), width_ratios=[1, 1.15])
    draw_dots(board.assign(label=shorten_names(board["agent"], LONGEST)), axes[0], label="label", value="score")
    axes[0].set(xlabel="mean score, missing = 0", title="The same events for all", xlim=(0, None))
    names = [shorten_names(pairs[column], LONGEST) for column in ("agent_a", "agent_b")]
    labels = [f"{a}{' ' if len(a + b) < LONGEST else chr(10)}− {b}" for a, b in zip(*names, strict=True)]
    if labels:
        draw_dots(pairs.assign(label=labels), axes[1], label="label", value="difference")
    else:
        axes[1].text(0.5, 0.5, "no event that both answered", ha="center", va="center", transform=axes[1].transAxes)
        axes[1].set(xticks=[], yticks=[])
    axes[1].axvline(0, color="0.4", lw=1)
    axes[1].set(xlabel="difference on events both predicted", title="Pairs (thick: by source, thin: by event)")
    shown = [
        board.rename(columns={"score": "value", "n_sources": "n_clusters"}),
        pairs.rename(columns={"difference": "value"}),
    ]
    shown = pd.concat([part.assign(part=name) for part, name in zip(shown, ("score", "difference"), strict=True)])
    columns = "part agent condition agent_a condition_a agent_b condition_b value low high low_by_event high_by_event"
    shown = escape_cells(shown.reindex(columns=[*columns.split(), "p", "p_holm", "seen", "n", "n_clusters"]))
    save_figure(fig, "compare", shown, title="Runs on the same events", **about)


def name_folder(names, runs):
    """Return the folder of a comparison, by what was compared: the names given, else the set."""
    told = "+".join(re.sub(r"[^\w.-]", "_", name) for name in names) or find_set(runs[0].window).name
    return locate_output(f"{FOLDER}/{told[:60]}/index.html").parent


def write_files(out, events, answers, predictions):
    """Write the compared events, answers and predictions as the three files that `make figures RUN=` reads."""
    columns = "event_id kind options level domain source_id cluster_id as_of volatility_class is_synthetic".split()
    parts = {"events": events.reindex(columns=columns)}
    parts["answers"] = answers[answers["event_id"].isin(events["event_id"])][["event_id", "value", "spread"]]
    columns = "run_id event_id sample agent_id as_of status reason value probability distribution".split()
    parts["predictions"] = predictions[columns].assign(run_id=predictions["agent_id"])
    for name, table in parts.items():
        table.to_csv(Path(out) / f"{name}.csv", index=False, lineterminator="\n")


def main(names=(), window="A", out=None):
    """Compare runs, write what was found under a folder of its own with an index page, print it and return it.

    The baselines that were asked these events too serve the measure above random. Raises ValueError for a name that is
    none, with the nearest.
    """
    every = list_runs()
    runs, notes, condition = select_runs(every, names, window)
    if len(runs) < 2:
        raise ValueError(f"a comparison needs two runs; {runs[0].agent_id} is one, name another")
    labelled = label_runs(runs + add_baselines(every, runs, condition))
    runs, baselines, window = labelled[: len(runs)], labelled[len(runs) :], labelled[0].window
    predictions = read_predictions(runs)
    shared, limits = find_shared(predictions, runs)
    others = [(run, read_predictions([run])) for run in baselines]
    others = [(run, rows) for run, rows in others if shared <= set(rows["event_id"])]
    predictions = pd.concat([predictions, *(rows for _, rows in others)], ignore_index=True)
    predictions, events = (rows[rows["event_id"].isin(shared)] for rows in (predictions, read_window("events", window)))
    told, differing = describe_conditions(runs, predictions)
    answers = read_window("answers", window)
    scores = score_predictions(predictions, answers, events)
    pairs = compare_runs(scores, events, runs)
    board = rank_agents(
        scores, events, runs + [run for run, _ in others], [run.label for run in runs] if names else None
    )
    n = select_headline(scores, events)["event_id"].nunique()
    notes = [*filter(None, [differing, *notes, limits])]
    notes += [f"{agent} answered none of them: no answers, no rank" for agent in board[board["coverage"] == 0]["agent"]]
    asked = ", ".join(filter(None, [f"{len(events)} events of {find_set(window).name} asked of all", told]))
    about = f"{asked}, {n} with a score; {describe_intervals(events)}"
    out = Path(out) if out else name_folder(names, runs)
    out.mkdir(parents=True, exist_ok=True)
    with write_under(out):
        write_files(out, events, answers, predictions)
        for name, table in (("pairs", pairs), ("leaderboard", board.astype({"rank": "Int64"}))):
            escape_cells(table.round(6)).to_csv(out / f"{name}.csv", index=False, lineterminator="\n")
        (out / "leaderboard.md").write_text(write_board(board, f"{about}; {BRIER}"), encoding="utf-8")
        days = predictions["as_of"].fillna(events["as_of"].iloc[0]).str[:10]
        facts = {"source": "runs, answers", "n": n, "window": window, "dates": (days.min(), days.max())}
        draw_comparison(board, pairs, facts | {"status": "as given"})
    files = {"leaderboard.csv": "means with intervals", "pairs.csv": "differences", "leaderboard.md": "as text"}
    files |= {f"{name}.csv": "make figures RUN= reads it" for name in ("events", "answers", "predictions")}
    tables = {"Leaderboard": tabulate_board(board), "Pairs": tabulate_pairs(pairs)}
    title = " and ".join(run.label for run in runs) if len(runs) < 4 else f"{len(runs)} runs"
    title, drawn = f"{title} on {find_set(window).name}", list_figures(out / "figures")
    write_gallery(out, title, drawn, tables, [about, *notes], files=files)
    names, files = list(files), [str(out / name) for name in ("index.html", *files, "figures/compare.png")]
    found = {"window": window, "n_events": len(events), "n_scored": n, "notes": [about, *notes], "files": files}
    found |= {"pairs": pairs.to_dict("records"), "leaderboard": board.to_dict("records")}
    family = f"Holm over {write_count(int(pairs['p'].notna().sum()), 'pair', 'pairs')}; significant below {ALPHA}"
    mde = "MDE: the smallest difference found with 80% power at this sd and n"
    text = ["", tabulate_pairs(pairs).to_string(index=False), "", f"{about}; {family}", mde, *notes, ""]
    text += [write_board(board, BRIER), f"open in a browser: {(out / 'index.html').resolve().as_uri()}"]
    show("\n".join([*text, f"beside it: {', '.join(names)}; make figures RUN={os.path.relpath(out)} draws more"]))
    return found
