"""What instances earn without a model: majority, chance, and three statistical solvers that read the same evidence.

The solvers continue a series from its evidence file: by its last values, by a line through them (trend), or by what
followed the most similar stretch of any series in the file (nearest history). They have no model and learn nothing.
"""

from functools import cache

import numpy as np
import pandas as pd

from helpers.estimates.intervals import correct_holm, judge_test, measure_share, summarize_clustered
from helpers.papers import get_constant
from helpers.proof_of_time.builders import find_bucket, place_on_scale
from helpers.proof_of_time.evidence import read_evidence
from helpers.proof_of_time.instances import NONE

SOLVERS = ("last value", "trend", "nearest history")
N_FIT = 14
"""Rows a line is drawn through."""
N_LIKE = 7
"""Rows of a stretch that is looked for."""
MAX_ERROR = 2.0
"""A record farther from the forecast than so many times the forecast's own past error is "none of these"."""


def read_panel(folder, path):
    """Return an evidence file's values by days x entities, gaps filled with the value before."""
    table = read_evidence(folder, path)
    wide = table.assign(value=table["value"].astype(float)).pivot(index="occurred_at", columns="entity", values="value")
    return wide.sort_index().ffill().bfill()


def continue_series(values, panel, n, method, *, is_level=False):
    """Return the next `n` values of a series (1-D) by a method; `panel` (days x series) is where likes are looked for.

    The last value of a level stays; of daily values the last week comes again.

    >>> continue_series(np.array([1.0, 2, 3]), None, 2, "trend").tolist()
    [4.0, 5.0]
    """
    if method == "last value":
        return np.repeat(values[-1], n) if is_level else np.resize(values[-min(N_LIKE, len(values)) :], n)
    if method == "trend":
        tail = values[-N_FIT:]
        slope, start = np.polyfit(np.arange(len(tail)), tail, 1)
        path = np.round(start + slope * np.arange(len(tail), len(tail) + n), 9)
        return np.clip(path, 0, None) if (values >= 0).all() else path
    size = min(N_LIKE, len(values) // 3)
    ahead = min(n, len(values) - 2 * size)
    windows = np.lib.stride_tricks.sliding_window_view(panel, size + ahead, axis=0).reshape(-1, size + ahead)
    scale = np.abs(windows[:, :size]).mean(axis=1, keepdims=True)
    windows, own = windows[scale[:, 0] > 0] / scale[scale[:, 0] > 0], np.abs(values[-size:]).mean()
    if not len(windows) or own == 0:
        return np.repeat(values[-1], n)
    like = windows[np.abs(windows[:, :size] - values[-size:] / own).mean(axis=1).argmin(), size:] * own
    return np.concatenate([like, np.repeat(like[-1], n - ahead)])


def forecast_figure(values, panel, metadata, method):
    """Return the figure that an instance asks for, of one entity: a sum, a level, or the top on its history's scale."""
    figure = metadata["figure"]
    path = continue_series(values, panel, metadata["n_rows"], method, is_level=figure == "level")
    if figure == "top":
        return place_on_scale(path.max(), values)
    return path.sum() if figure == "sum" else path[-1]


def answer_instance(instance, panel, method):
    """Return a statistical solver's answer to an embedded instance, in the form of its target."""
    items, metadata = instance.metadata["items"], instance.metadata
    matrix = panel.to_numpy()
    series = {letter: panel[name].to_numpy() for letter, name in items.items() if name in panel}
    if instance.task == "person_article":
        return pick_record(instance, series[""], matrix, method)
    figures = {letter: forecast_figure(values, matrix, metadata, method) for letter, values in series.items()}
    return answer_figures(instance, figures)


def answer_figures(instance, figures):
    """Return the answer to an instance's question that forecasts of its items (letter -> value) lead to."""
    if instance.task == "full_order":
        return sorted(figures, key=figures.get, reverse=True)
    if "" not in figures:
        return max(figures, key=figures.get)
    is_closed = instance.task == "frontier_bucket"
    edges = get_constant("proof_of_time", "citation_buckets")
    if is_closed:
        edges = get_constant("proof_of_time", "sota_buckets")
    value = np.clip(figures[""], edges[0], edges[-1] if is_closed else None)
    return chr(65 + find_bucket(value, edges, is_closed=is_closed))


def pick_record(instance, values, panel, method):
    """Return the letter of the record nearest to a series' continuation, or of none when that is too far off."""
    gap, n = instance.metadata["gap"], instance.metadata["n_rows"]
    is_level = gap > 0
    path = continue_series(values, panel, gap + n, method, is_level=is_level)[gap:]
    errors = {}
    for letter, text in instance.choices.items():
        if text != NONE:
            errors[letter] = np.abs(np.array([float(part) for part in text.split(";")]) - path).mean()
    n_back = min(gap + n, len(values) // 3)
    back = continue_series(values[:-n_back], panel[:-n_back], n_back, method, is_level=is_level)
    usual = max(np.abs(back - values[-n_back:]).mean(), 0.05 * np.abs(values).mean())
    best = min(errors, key=errors.get)
    return best if errors[best] <= MAX_ERROR * usual else max(instance.choices)


def run_solvers(instances, folder):
    """Return the answers of the statistical solvers as a table: id, solver, answer; next year's have none to score."""
    panel = cache(lambda path: read_panel(folder, path))
    rows = [
        (instance.id, method, answer_instance(instance, panel(instance.manifest[0]["path"]), method))
        for instance in instances
        if instance.target is not None
        for method in SOLVERS
    ]
    return pd.DataFrame(rows, columns=["id", "solver", "answer"])


# --- classes, chance, accuracy ---------------------------------------------------------------------------------------


def describe_instances(instances):
    """Return instances as a table: id, family, task (or variant), source, cutoff, target, n_choices."""
    rows = []
    for instance in instances:
        kind = instance.variant if instance.variant in ("pairwise", "next_year") else instance.task
        target = "".join(instance.target) if instance.target is not None else None
        rows.append((instance.id, instance.family, kind, instance.metadata["source"], instance.cutoff, target))
    table = pd.DataFrame(rows, columns=["id", "family", "task", "source", "cutoff", "target"])
    return table.assign(n_choices=[len(instance.choices) for instance in instances])


def tabulate_classes(described):
    """Return class shares by task: task, target, n, share; a task without targets is left out.

    >>> table = pd.DataFrame({"task": ["bucket"] * 3, "target": ["A", "A", "B"]})
    >>> tabulate_classes(table)["share"].round(2).tolist()
    [0.67, 0.33]
    """
    counts = described.groupby("task", sort=False)["target"].value_counts().rename("n").reset_index()
    return counts.assign(share=counts["n"] / counts.groupby("task")["n"].transform("sum"))


def add_floors(described, rng):
    """Return answers of "majority" (each task's most frequent target) and "random" (drawn): id, solver, answer."""
    scored = described[described["target"].notna()]
    most = scored.groupby("task")["target"].agg(lambda targets: targets.value_counts(sort=True).index[0])
    drawn = []
    for row in scored.itertuples():
        letters = [chr(65 + at) for at in range(row.n_choices)]
        is_order = len(row.target) > 1
        drawn.append("".join(rng.permutation(letters)) if is_order else str(rng.choice(letters)))
    floors = {"majority": scored["task"].map(most), "random": drawn}
    parts = [pd.DataFrame({"id": scored["id"], "solver": name, "answer": answer}) for name, answer in floors.items()]
    return pd.concat(parts, ignore_index=True)


def score_answers(described, answers):
    """Return described instances with solver, answer and is_right (exact match, 4.4); no answer is wrong."""
    table = answers.merge(described, on="id", validate="many_to_one")
    said = ["".join(answer) if isinstance(answer, list) else answer for answer in table["answer"]]
    is_right = [answer is not None and answer == target for answer, target in zip(said, table["target"], strict=True)]
    return table.assign(answer=said, is_right=is_right)


def tabulate_accuracy(scored, by=("task", "solver")):
    """Return accuracy by some columns: mean, low, high by source, n, n_clusters; low_by_event, high_by_event (Wilson).

    Intervals by source are blank below ten of them (definitions.md 0).
    """
    rows = []
    for names, part in scored.groupby(list(by), sort=False):
        flags = part["is_right"].astype(float).reset_index(drop=True)
        row = summarize_clustered(flags.to_frame("right"), part["source"].reset_index(drop=True)).loc["right"]
        plain = measure_share(part["is_right"])
        ends = {"low_by_event": plain["low"], "high_by_event": plain["high"]}
        rows.append(
            dict(zip(by, names, strict=True)) | row[["mean", "low", "high", "n", "n_clusters"]].to_dict() | ends
        )
    table = pd.DataFrame(rows, columns=[*by, "mean", "low", "high", "n", "n_clusters", "low_by_event", "high_by_event"])
    return table.assign(low=table["low"].clip(0, 1), high=table["high"].clip(0, 1)).astype(
        {"n": int, "n_clusters": int}
    )


def compare_with_floor(scored, floor="majority"):
    """Return by task and solver how far it lies above a floor on the same instances, in pairs, by source.

    Columns task, solver, difference, low, high, n, n_clusters, p (Holm over the table), verdict ("holds": above). Blank
    and "cannot tell" below ten sources.
    """
    wide = scored.pivot(index="id", columns="solver", values="is_right").astype(float)
    about = scored.drop_duplicates("id").set_index("id").reindex(wide.index)
    rows = []
    for task, ids in about.groupby("task", sort=False).groups.items():
        part = wide.loc[ids].drop(columns=["random", floor], errors="ignore").dropna(axis=1, how="all")
        above = summarize_clustered(part.sub(wide.loc[ids, floor], axis=0), about.loc[ids, "source"])
        rows.append(above.rename_axis("solver").reset_index().assign(task=task))
    table = pd.concat(rows, ignore_index=True).rename(columns={"mean": "difference"})
    table = table.assign(p=correct_holm(table["p"]))
    verdicts = [judge_test(*pair) for pair in zip(table["difference"], table["p"], strict=True)]
    columns = ["task", "solver", "difference", "low", "high", "n", "n_clusters", "p"]
    return table[columns].assign(verdict=verdicts)
