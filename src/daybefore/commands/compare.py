"""`daybefore compare`: runs on the events that all of them were asked: paired differences, and a
leaderboard.

A run is named by its run_id, or by its agent's name: of a local run, else of a recorded one
(data/tables). A difference is over the events that both predicted. Intervals and tests are
clustered by source.
"""

import shlex

from daybefore.agents.when_asked import fill_asked
from daybefore.commands import leaderboard, print_tables
from daybefore.commands.terminal import show
from daybefore.commands.worldreasoner_scores import compare_graphs
from daybefore.questions.open_sets import read_window
from daybefore.scoring.run_scores import find_run, list_runs, name_window, read_predictions
from daybefore.scoring.two_way_effects import compare_adjusted, fit_two_way, tabulate_adjusted
from helpers.means import find_clusters
from helpers.paired import ALPHA, compare_pairs, judge_pair
from helpers.scores import build_matrix, score_predictions, select_headline
from helpers.set_names import DEFAULT, find_set

FOLDER = "results/compare"
ADJUSTED = (
    "adjusted: each score is split into an effect of the question and one of the agent (least squares, a missing "
    "prediction counting 0). It takes a lead to be the same on every question: an adjustment, not a test in pairs"
)
MIN_SHARED = 25
"""Below so many shared events the run that was asked the fewest is named."""
FAMILY = "Holm over {} pairs; significant below {}; MDE: the smallest difference found with 80% power at this sd and n"


# --- which runs -------------------------------------------------------------------------------------


def suits(run, condition):
    """Say whether a run was made under a condition; a baseline, which reads no articles, when its
    moment is that."""
    if run.category == "baseline":
        return run.asked.moment == fill_asked({"condition": condition}).moment
    return run.condition == condition


def select_runs(every, names, window):
    """Return (runs, notes, condition) for names of runs or agents; for none, a local run of every
    agent in a window.

    Of an agent's several runs the newest is taken that was made under the condition of the one with
    the fewest runs. Raises ValueError for an unknown name, with the nearest or all, and for fewer
    than two runs.
    """
    local = {
        run.agent_id for run in every if not isinstance(run.place, str) and run.window == window
    }
    found = {name: find_run(every, name, window) for name in dict.fromkeys(names or sorted(local))}
    if len(found) < 2:
        told, name = "; ".join(found) or "none", find_set(window).name
        some = f"`make run SET={name} LIMIT=20` makes some"
        raise ValueError(
            f"a comparison needs two runs on {name}, and there is {told}: name another, or {some}"
        )
    fewest = min(found.values(), key=lambda own: (own[0].category == "baseline", len(own)))
    condition = fewest[0].condition
    runs, notes = [], []
    for name, own in found.items():
        chosen = next((run for run in own if suits(run, condition)), own[0])
        runs.append(chosen)
        others = [f"{run.run_id} ({run.condition or 'as usual'})" for run in own if run != chosen]
        if names and others:
            told = f"the others by their run_id: {', '.join(others)}"
            notes.append(f"{name}: {chosen.run_id} of its runs; {told}")
    if len({run.window for run in runs}) > 1:
        told = ", ".join(f"{run.run_id} on {name_window(run.window)}" for run in runs)
        raise ValueError(f"these runs are of different question sets: {told}; name runs of one")
    return runs, notes, condition


def add_baselines(every, runs, condition):
    """Return baselines' runs that stand beside some, at a condition's moment; local first."""
    taken, found = {run.agent_id for run in runs}, {}
    for run in every:
        if run.category == "baseline" and run.window == runs[0].window and suits(run, condition):
            found.setdefault(run.agent_id, run)
    return [found[name] for name in sorted(found) if name not in taken]


def describe_conditions(runs):
    """Return (the condition that all runs share, or "", a sentence on how they differ, or "")."""
    told = {run.condition for run in runs if run.category != "baseline"} or {
        run.condition for run in runs
    }
    if len(told) == 1 and all(suits(run, min(told)) for run in runs):
        return min(told), ""
    listed = "; ".join(
        f"{run.agent_id} ({run.run_id}) {run.condition or 'as usual'}" for run in runs
    )
    return "", f"conditions differ, and a difference between runs may be theirs: {listed}"


# --- how they differ --------------------------------------------------------------------------------


def compare_runs(scores, events, runs):
    """Return the paired differences between runs, every two of them (of many: each with the best
    one).

    As `paired.compare_pairs`, with condition_a and _b, coverage_a and _b (the share of the scored
    events predicted) and verdict (by p_holm).
    """
    matrix = build_matrix(select_headline(scores, events), [run.label for run in runs])
    best = list(matrix.fillna(0).mean().sort_values(ascending=False, kind="stable").index)
    names = best if len(best) > leaderboard.MANY else list(matrix)
    table = compare_pairs(matrix, find_clusters(events)[0], leaderboard.choose_pairs(names))
    conditions = {run.label: run.condition for run in runs}
    for name, told in (("condition", conditions), ("coverage", matrix.notna().mean())):
        table = table.assign(
            **{f"{name}_{side}": table[f"agent_{side}"].map(told) for side in "ab"}
        )
    return judge_pairs(table)


def fit_adjusted(scores, events, agents):
    """Return (the two-way fit of some agents' scores, their adjusted mean, low and high by agent,
    the best first)."""
    matrix = build_matrix(select_headline(scores, events), agents, "score_imputed").dropna(
        axis=1, how="all"
    )
    fit = fit_two_way(matrix, find_clusters(events)[0])
    return fit, tabulate_adjusted(fit).sort_values("mean", ascending=False)[["mean", "low", "high"]]


def adjust_board(scores, events, labels, cells):
    """Return (the differences of adjusted means, `cells` with these means), the best first.

    All `labels` join the questions; those of `cells` (a row an agent) are shown.
    """
    fit, adjusted = fit_adjusted(scores, events, labels)
    shown = [name for name in adjusted.index if name in set(cells["agent"])]
    pairs = judge_pairs(compare_adjusted(fit, leaderboard.choose_pairs(shown)))
    told = adjusted.apply(lambda row: print_tables.write_interval(*row, digits=3), axis=1)
    return pairs, told.rename("adjusted").rename_axis("agent").reset_index().merge(cells)


def judge_pairs(pairs):
    """Return differences with what each says: verdict, by p_holm."""
    said = [
        judge_pair(row, "p_holm") if row["n"] else "no event that both answered"
        for row in pairs.to_dict("records")
    ]
    return pairs.assign(verdict=said)


def tabulate_pairs(pairs):
    """Return the differences as texts, a row a pair; those of adjusted means have no `by event` and
    no coverage."""
    shown = pairs[["agent_a", "agent_b"]].set_axis(["a", "b"], axis=1)
    shown["a - b (95% by source)"] = [
        print_tables.write_difference(row, 3) for row in pairs.to_dict("records")
    ]
    if "low_by_event" in pairs:
        by_event = pairs.assign(low=pairs["low_by_event"], high=pairs["high_by_event"])
        shown["by event"] = [
            print_tables.write_difference(row, 3) for row in by_event.to_dict("records")
        ]
        shown["coverage"] = [
            f"{a:.0%}, {b:.0%}" for a, b in pairs[["coverage_a", "coverage_b"]].to_numpy()
        ]
    shown["p (Holm)"] = pairs["p_holm"].map(print_tables.write_p)
    shown["MDE"] = pairs["mde"].map("{:.3f}".format).where(pairs["mde"].notna(), "-")
    shown["n (sources)"] = [
        f"{n} ({n_clusters})" for n, n_clusters in pairs[["n", "n_clusters"]].to_numpy()
    ]
    return shown.assign(verdict=pairs["verdict"])


def label_runs(runs):
    """Return runs labelled by their agents, by their run_ids where an agent stands twice."""
    is_twice = len({run.agent_id for run in runs}) < len(runs)
    return [run._replace(label=run.run_id if is_twice else run.agent_id) for run in runs]


def share_events(runs, beside, predictions, adjust):
    """Return (the events to compare on, the baselines of `beside` that were asked them all, a note
    or "").

    The events are those that all `runs` were asked, with `adjust` all. The note names the run that
    keeps them few. Raises ValueError where there is none.
    """
    if adjust:
        return set(predictions["event_id"]), beside, ""
    asked = predictions.groupby("agent_id")["event_id"].agg(set)
    shared = set.intersection(*asked[[run.label for run in runs]])
    if not shared:
        told = ", ".join(
            f"{run.label} ({len(asked[run.label])} of {find_set(run.window).name})" for run in runs
        )
        do = "run them on the same set and LIMIT, compare fewer, or add --adjust"
        raise ValueError(f"no event was asked of all: {told}; {do}")
    least, note = min(runs, key=lambda run: len(asked[run.label])), ""
    if len(shared) < min(MIN_SHARED, asked[[run.label for run in runs]].map(len).max()):
        note = (
            f"{least.label} ({least.run_id}) was asked {len(asked[least.label])} events and keeps the comparison to "
            f"{len(shared)}: name the others by RUNS=, or remove it by `daybefore rm {least.run_id}`"
        )
    return shared, [run for run in beside if shared <= asked.get(run.label, set())], note


def main(names=(), window="A", out=None, adjust=False, explain=False):
    """Compare runs, write what was found under a folder of its own with an index page, print it and
    return it.

    The baselines that were asked these events too serve the lead over the best of them. With
    `adjust` runs that were asked different events are compared, too, by two-way fixed effects
    (`two_way`): all join the questions. Raises ValueError for a name that is none, with the
    nearest, and where nothing joins the runs.
    """
    every = list_runs()
    runs, notes, condition = select_runs(every, names, window)
    kept = label_runs(runs + add_baselines(every, runs, condition))
    runs, beside = kept[: len(runs)], kept[len(runs) :]
    predictions = read_predictions(kept)
    shared, beside, short = share_events(runs, beside, predictions, adjust)
    labels = {run.label: run for run in runs + beside}
    predictions = predictions[
        predictions["event_id"].isin(shared) & predictions["agent_id"].isin(labels)
    ]
    question_set = find_set(runs[0].window)
    answers, events = (read_window(name, question_set.window) for name in ("answers", "events"))
    events = events[events["event_id"].isin(shared)]
    scores = score_predictions(predictions, answers, events)
    place = [*(names or [question_set.name]), *["adjusted"] * adjust]
    folder = print_tables.open_folder(out, FOLDER, place)
    baselines = [name for name, run in labels.items() if run.category == "baseline"]
    means, cells = leaderboard.write_board(folder, scores, events, baselines)
    if names:
        cells = cells[cells["agent"].isin([run.label for run in runs])]
    board = leaderboard.take_whole(means).loc[cells["agent"]].reset_index()
    if adjust:
        pairs, cells = adjust_board(scores, events, list(labels), cells)
        told, differing = "not all asked of all", ADJUSTED
    else:
        pairs = compare_runs(scores, events, runs)
        told, differing = describe_conditions(runs)
        told = ", ".join(filter(None, ["asked of all", told]))
    n_scored = select_headline(scores, events)["event_id"].nunique()
    told = f"{len(events)} events of {question_set.name} {told}, {n_scored} with a score"
    silent = board.loc[board["n"] == 0, "agent_id"]
    notes = [f"{told}; {print_tables.describe_intervals(events)}", *notes, "" if names else short]
    notes += [differing, *(f"{name} answered none of them" for name in silent)]
    print_tables.write_csv(pairs.round(6), folder / "pairs.csv")
    family = FAMILY.format(int(pairs["p"].notna().sum()), ALPHA)
    sections = {
        "Leaderboard": (list(filter(None, notes)), cells),
        "Pairs": ([family, leaderboard.LEGEND], tabulate_pairs(pairs)),
        **compare_graphs(runs, events, answers),
    }
    files = write_files(folder, runs, question_set, sections, explain)
    board = board.assign(run_id=[labels[name].run_id for name in board["agent_id"]])
    found = {"window": question_set.window, "n_events": len(events), "n_scored": n_scored}
    found |= {"notes": sections["Leaderboard"][0], "files": files}
    return found | {"pairs": pairs.to_dict("records"), "leaderboard": board.to_dict("records")}


def write_files(folder, runs, question_set, sections, explain):
    """Write a comparison's page, print it, and return its files' paths.

    The first two of `sections` are the leaderboard and the pairs, each (sentences, table).
    """
    files = ["leaderboard.md", "leaderboard.csv", "leaderboard.tex", "pairs.csv"]
    title = " and ".join(run.label for run in runs) if len(runs) < 4 else f"{len(runs)} runs"
    written = {"files": files, "markdown": "leaderboard.md"}
    page = print_tables.write_page(folder, f"{title} on {question_set.name}", sections, **written)[
        1
    ]
    for _, table in sections.values():
        show(print_tables.write_table(table.set_index(table.columns[0]), explain) + "\n")
    (notes, _), (legend, _), *_ = sections.values()
    short = [legend[0].split("; MDE")[0], print_tables.EXPLAIN]
    words = [*notes, *(legend if explain else short), f"open in a browser: {page}"]
    own = dict.fromkeys(run.agent_id for run in runs if run.category != "baseline")
    if own:
        set_named = "" if question_set.name == DEFAULT else f" SET={question_set.name}"
        drawn = f'make figures AGENTS="{shlex.join(own)}"{set_named}'
        words.append(f"the papers' figures with these: {drawn}")
    show("\n".join(words))
    return [str(folder / name) for name in ("index.html", *files)]
