"""`daybefore compare`: runs on the events that all of them were asked: paired differences, and a leaderboard.

A missing prediction counts 0 on the leaderboard, so that all stand on the same events; a difference is over the events
that both predicted. Intervals and tests are clustered by source.
"""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from helpers.cli.main import show
from helpers.cli.report import (
    BRIER,
    describe_intervals,
    pair_agents,
    summarize_agents,
    tabulate_scores,
    take_whole,
    write_csv,
    write_difference,
    write_interval,
    write_page,
    write_table,
)
from helpers.cli.select_runs import add_baselines, describe_conditions, label_runs, select_runs
from helpers.faults import escape_cells
from helpers.figures import save_figure, use_style
from helpers.formats.drawings import MOST_DRAWN, draw_dots, shorten_names
from helpers.futurex.past import read_window
from helpers.question_sets import find_set
from helpers.scoring.runs import list_runs, read_predictions
from helpers.scoring.scores import build_matrix, score_predictions, select_headline
from helpers.stats.means import find_clusters
from helpers.stats.paired import ALPHA, compare_pairs, judge_pair
from helpers.stats.two_way import compare_adjusted, fit_two_way, tabulate_adjusted
from helpers.store import locate_output, write_under

FOLDER = "results/compare"
MANY = 12
"""Above so many agents each is compared with the best one only: so many pairs tell nothing apart after Holm."""
LONGEST = 44
"""Characters of a run's label that the figure shows."""
RANDOM = "random"
"""The agent that guesses: how far another is above it is skill, whatever the events."""
ADJUSTED = (
    "adjusted: each score is split into an effect of the question and one of the agent (least squares, a missing "
    "prediction counting 0). It takes a lead to be the same on every question: an adjustment, not a test in pairs"
)


def find_shared(predictions, runs):
    """Return the events that all runs were asked. Raises ValueError, with how many each was, where there is none."""
    asked = {run.label: set(predictions.loc[predictions["agent_id"] == run.label, "event_id"]) for run in runs}
    if shared := set.intersection(*asked.values()):
        return shared
    told = ", ".join(f"{run.label} ({len(asked[run.label])} of {find_set(run.window).name})" for run in runs)
    do = "run them on the same set and LIMIT, compare fewer, or add --adjust"
    raise ValueError(f"no event was asked of all: {told}; {do}")


def compare_runs(scores, events, runs):
    """Return the paired differences between runs, every two of them (of many: each with the best one).

    As `paired.compare_pairs`, with condition_a and _b, coverage_a and _b (the share of the scored events predicted) and
    verdict (by p_holm).
    """
    names, conditions = [run.label for run in runs], {run.label: run.condition for run in runs}
    matrix = build_matrix(select_headline(scores, events), names)
    if len(names) > MANY:
        matrix = matrix[matrix.fillna(0).mean().sort_values(ascending=False, kind="stable").index]
    table = pair_agents(matrix, find_clusters(events)[0], MANY)
    for name, told in (("condition", conditions), ("coverage", matrix.notna().mean())):
        table = table.assign(**{f"{name}_{side}": table[f"agent_{side}"].map(told) for side in "ab"})
    rows, blank = table.to_dict("records"), "no event that both answered"
    return table.assign(verdict=[judge_pair(row, "p_holm") if row["n"] else blank for row in rows])


def rank_runs(scores, events, runs, shown):
    """Return (the leaderboard, the same as texts), best first: a row a run, a missing prediction counting 0.

    `shown` are the labels of the runs that stand on it; the others serve the measure above random. Columns: rank,
    agent, run_id, category, model, condition, score with its interval by source and by event, above_random (paired;
    blank without that agent), score_answered and coverage, overall and brier, n, n_sources. A run without one answer
    comes last and has neither rank nor score.
    """
    imputed, answered = scores.assign(score=scores["score_imputed"]), tabulate_scores(scores, events)
    whole = take_whole(tabulate_scores(imputed, events)).rename(columns={"mean": "score", "n_clusters": "n_sources"})
    board = whole[["score", "low", "high", "low_by_event", "high_by_event", "n", "n_sources"]].copy()
    if guess := next((run.label for run in runs if run.agent_id == RANDOM), None):
        matrix = build_matrix(select_headline(imputed, events), list(board.index))
        pairs = [(name, [guess]) for name in matrix if name != guess]
        above = compare_pairs(matrix, find_clusters(events)[0], pairs).set_index("agent_a")
        for name, end in (("above_random", "difference"), ("above_random_low", "low"), ("above_random_high", "high")):
            board[name] = above[end]
    columns = {"score_answered": ("score", "all"), "overall": ("score", "overall"), "brier": ("brier", "all")}
    board = board.assign(**{name: take_whole(answered, *key)["mean"] for name, key in columns.items()})
    board["coverage"] = take_whole(answered)["coverage"]
    blank = [name for name in board if name.startswith(("score", "low", "high", "above", "over"))]
    board.loc[board["coverage"] == 0, blank] = np.nan
    told = pd.DataFrame(runs).set_index("label")[["run_id", "category", "model", "condition"]]
    board = told.join(board).rename_axis("agent").loc[shown].reset_index()
    board = board.sort_values(["score", "agent"], ascending=[False, True], ignore_index=True)
    board.insert(0, "rank", board["score"].rank(ascending=False, method="min").astype("Int64"))
    texts = pd.DataFrame({"": board["rank"].astype(object).fillna("-"), "agent": board["agent"]})
    texts["score"] = [write_interval(*row) for row in board[["score", "low", "high"]].to_numpy()]
    if guess:
        ends = ["above_random", "above_random_low", "above_random_high"]
        texts["above random"] = [write_interval(*row) for row in board[ends].to_numpy()]
    return board, texts.join(summarize_agents(answered), on="agent")


def tabulate_pairs(pairs):
    """Return the differences as texts, a row a pair."""
    shown = pairs[["agent_a", "agent_b"]].set_axis(["a", "b"], axis=1)
    by_event = pairs.assign(low=pairs["low_by_event"], high=pairs["high_by_event"])
    for name, table in (("a - b (95% by source)", pairs), ("by event", by_event)):
        shown[name] = [write_difference(row, 3) for row in table.to_dict("records")]
    for name, column in (("p (Holm)", "p_holm"), ("MDE", "seen")):
        shown[name] = pairs[column].map("{:.3f}".format).where(pairs[column].notna(), "-")
    shown["n (sources)"] = [f"{n} ({n_clusters})" for n, n_clusters in pairs[["n", "n_clusters"]].to_numpy()]
    shown["coverage"] = [f"{a:.0%}, {b:.0%}" for a, b in pairs[["coverage_a", "coverage_b"]].to_numpy()]
    return shown.assign(verdict=pairs["verdict"])


def draw_comparison(board, pairs, about):
    """Draw the leaderboard and the differences as points with their intervals by source, thin ones by event."""
    use_style()
    board, pairs = board[board["coverage"] > 0].head(MOST_DRAWN), pairs[pairs["n"] > 0].head(MOST_DRAWN)
    height = 1.3 + max(0.27 * len(board), 0.4 * len(pairs), 0.8)
    fig, axes = plt.subplots(1, 2, figsize=(12, height), width_ratios=[1, 1.15])
    draw_dots(board.assign(label=shorten_names(board["agent"], LONGEST)), axes[0], label="label", value="score")
    axes[0].set(xlabel="mean score, missing = 0", title="The same events for all", xlim=(0, None))
    if len(pairs):
        names = [shorten_names(pairs[column], LONGEST) for column in ("agent_a", "agent_b")]
        labels = [f"{a}{' ' if len(a + b) < LONGEST else chr(10)}− {b}" for a, b in zip(*names, strict=True)]
        draw_dots(pairs.assign(label=labels), axes[1], label="label", value="difference")
    axes[1].axvline(0, color="0.4", lw=1)
    axes[1].set(xlabel="difference on events both predicted", title="Pairs (thick: by source, thin: by event)")
    shown = [
        board.assign(part="score", value=board["score"], n_clusters=board["n_sources"]),
        pairs.assign(part="difference", value=pairs["difference"]),
    ]
    columns = "part agent condition agent_a condition_a agent_b condition_b value low high low_by_event high_by_event"
    shown = pd.concat(shown).reindex(columns=[*columns.split(), "p", "p_holm", "seen", "n", "n_clusters"])
    save_figure(fig, "compare", escape_cells(shown), title="Runs on the same events", **about)


def write_comparison(out, events, answers, predictions, board, pairs, about):
    """Write what was compared as the three files that `make figures RUN=` reads, both tables, and the figure."""
    columns = "event_id kind options level domain source_id cluster_id as_of volatility_class is_synthetic".split()
    tables = {"leaderboard": board, "pairs": pairs, "events": events.reindex(columns=columns)}
    tables["answers"] = answers[answers["event_id"].isin(events["event_id"])][["event_id", "value", "spread"]]
    columns = "run_id event_id sample agent_id as_of status reason value probability distribution".split()
    tables["predictions"] = predictions[columns].assign(run_id=predictions["agent_id"])
    out.mkdir(parents=True, exist_ok=True)
    with write_under(out):
        for name, table in tables.items():
            write_csv(table.round(6), out / f"{name}.csv")
        draw_comparison(board, pairs, about)
    return [f"{name}.csv" for name in tables]


def name_folder(names, question_set):
    """Return the folder of a comparison, by what was compared: the names given, else the set."""
    told = "+".join(re.sub(r"[^\w.-]", "_", name) for name in names)[:60] or question_set.name
    return locate_output(f"{FOLDER}/{told}/index.html").parent


def adjust_runs(runs, notes, out):
    """Compare runs that were asked different events of a set, by two-way fixed effects; write, print and return it.

    Raises ValueError as `two_way.fit_two_way`.
    """
    predictions, events = read_predictions(runs), read_window("events", runs[0].window)
    rows = select_headline(score_predictions(predictions, read_window("answers", runs[0].window), events), events)
    matrix = build_matrix(rows, [run.label for run in runs], "score_imputed")
    fit = fit_two_way(matrix, find_clusters(events)[0])
    board = tabulate_adjusted(fit).drop(columns="p").assign(plain=matrix.mean()).sort_values("mean", ascending=False)
    board = board.rename(columns={"mean": "adjusted"}).rename_axis("agent").reset_index()
    named = list(board["agent"])
    pairs = compare_adjusted(fit, None if len(named) <= MANY else [(named[0], named[1:])])
    verdicts = [judge_pair(row, "p_holm") for row in pairs.to_dict("records")]
    pairs["verdict"] = ["inconclusive" if verdict == "cannot tell" else verdict for verdict in verdicts]
    about = f"{matrix.notna().any(axis=1).sum()} events of {find_set(runs[0].window).name}, not all asked of all"
    about = [f"{about}; {describe_intervals(events)}", ADJUSTED, *notes]
    out.mkdir(parents=True, exist_ok=True)
    tables = {"adjusted": board, "adjusted_pairs": pairs.rename(columns={"seen": "mde"})}
    for name, table in tables.items():
        write_csv(table.round(6), out / f"{name}.csv")
    files = [str(out / f"{name}.csv") for name in tables]
    printed = [write_table(table.set_index(table.columns[0])) for table in tables.values()]
    show("\n\n".join([*printed, "\n".join([*about, f"written: {', '.join(files)}"])]))
    return {"leaderboard": board.to_dict("records"), "pairs": pairs.to_dict("records"), "notes": about, "files": files}


def main(names=(), window="A", out=None, adjust=False):
    """Compare runs, write what was found under a folder of its own with an index page, print it and return it.

    The baselines that were asked these events too serve the measure above random. With `adjust` runs that were asked
    different events are compared, too (`adjust_runs`). Raises ValueError for a name that is none, with the nearest.
    """
    every = list_runs()
    runs, notes, condition = select_runs(every, names, window)
    if len(runs) < 2:
        raise ValueError(f"a comparison needs two runs; {runs[0].agent_id} is one, name another")
    labelled = label_runs(runs + add_baselines(every, runs, condition))
    question_set = find_set(labelled[0].window)
    if adjust:
        return adjust_runs(labelled, notes, Path(out) if out else name_folder(names, question_set))
    runs, baselines = labelled[: len(runs)], labelled[len(runs) :]
    shared = find_shared(read_predictions(runs), runs)
    others = [run for run in baselines if shared <= set(read_predictions([run])["event_id"])]
    predictions = read_predictions(runs + others).query("event_id in @shared")
    answers, events = (read_window(name, question_set.window) for name in ("answers", "events"))
    events = events[events["event_id"].isin(shared)]
    scores = score_predictions(predictions, answers, events)
    pairs = compare_runs(scores, events, runs)
    shown = [run.label for run in (runs if names else runs + others)]
    board, texts = rank_runs(scores, events, runs + others, shown)
    told, differing = describe_conditions(runs)
    n = select_headline(scores, events)["event_id"].nunique()
    asked = ", ".join(filter(None, [f"{len(events)} events of {question_set.name} asked of all", told]))
    notes = [f"{asked}, {n} with a score; {describe_intervals(events)}", *filter(None, [differing, *notes])]
    notes += [
        f"{agent} answered none of them: no answers, no rank" for agent in board.loc[board["coverage"] == 0, "agent"]
    ]
    out = Path(out) if out else name_folder(names, question_set)
    days = predictions["as_of"].fillna(events["as_of"].iloc[0]).str[:10]
    about = {"source": "runs, answers", "n": n, "window": question_set.window, "status": "as given"}
    about["dates"] = (days.min(), days.max())
    files = write_comparison(out, events, answers, predictions, board, pairs, about)
    title = " and ".join(run.label for run in runs) if len(runs) < 4 else f"{len(runs)} runs"
    tables = {"Leaderboard": texts, "Pairs": tabulate_pairs(pairs)}
    page = write_page(out, f"{title} on {question_set.name}", tables=tables, notes=[*notes, BRIER], files=files)[1]
    family = f"Holm over {int(pairs['p'].notna().sum())} pairs; significant below {ALPHA}"
    mde = "MDE: the smallest difference found with 80% power at this sd and n"
    printed = [write_table(table.set_index(table.columns[0])) for table in tables.values()]
    show("\n\n".join([*printed, "\n".join([*notes, f"{family}; {mde}", BRIER, f"open in a browser: {page}"])]))
    files = [str(out / name) for name in ("index.html", *files, "figures/compare.png")]
    found = {"window": question_set.window, "n_events": len(events), "n_scored": n, "notes": notes, "files": files}
    board = board.astype({"rank": object}).where(board.notna(), None)
    return found | {"pairs": pairs.to_dict("records"), "leaderboard": board.to_dict("records")}
