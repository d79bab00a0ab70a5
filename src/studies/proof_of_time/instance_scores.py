"""How answers to instances are scored, and what they are held against: class shares, majority and
chance (4.2, 4.4)."""

import math

import pandas as pd

from helpers.means import measure_share, summarize_clustered
from helpers.paired import compare_pairs, judge_family

DESCRIBED = ["id", "family", "task", "source", "cutoff", "target", "n_choices"]


def describe_instances(instances):
    """Return instances as a table of DESCRIBED; the task of a variant is the variant."""
    rows = []
    for one in instances:
        kind = "pairwise" if one.variant == "pairwise" else one.task
        about = (one.id, one.family, kind, one.metadata["source"], one.cutoff)
        rows.append((*about, "".join(one.target), len(one.choices)))
    return pd.DataFrame(rows, columns=DESCRIBED)


def pick_majority(described):
    """Return for each instance its task's most frequent target, counted among the instances
    themselves: it knows the answers' shares, as no forecast does."""
    most = described.groupby("task")["target"].agg(
        lambda targets: targets.value_counts(sort=True).index[0]
    )
    return described["task"].map(most)


def score_answers(described, answers):
    """Return described instances with solver, answer and is_right (exact match, 4.4); no answer is
    wrong."""
    table = answers.merge(described, on="id", validate="many_to_one")
    said = ["".join(answer) if isinstance(answer, list) else answer for answer in table["answer"]]
    is_right = [
        answer is not None and answer == target
        for answer, target in zip(said, table["target"], strict=True)
    ]
    return table.assign(answer=said, is_right=is_right)


def list_chances(described):
    """Return for each instance the chance that a blind answer is right: 1 of its options, of an
    order 1 of all orders.

    >>> list_chances(pd.DataFrame({"target": ["A", "DABC"], "n_choices": [5, 4]})).round(3).tolist()
    [0.2, 0.042]
    """
    orders = described["n_choices"].map(math.factorial)
    return 1 / described["n_choices"].where(described["target"].str.len() == 1, orders)


def tabulate_chance(described, by=()):
    """Return what a blind answer is expected to earn: the columns of `by`, solver ("chance"), mean,
    n, n_clusters."""
    asked = described.drop_duplicates("id").assign(solver="chance")
    groups = asked.assign(chance=list_chances(asked)).groupby([*by, "solver"], sort=False)
    made = {"mean": ("chance", "mean"), "n": ("id", "size"), "n_clusters": ("source", "nunique")}
    return groups.agg(**made).reset_index()


def measure_accuracy(part):
    """Return a solver's accuracy on some instances: mean, low, high clustered by source (blank
    below ten sources), n, n_clusters; low_by_event, high_by_event (Wilson)."""
    part = part.reset_index(drop=True)
    row = summarize_clustered(part[["is_right"]], part["source"], ends=(0, 1)).iloc[0]
    plain = measure_share(part["is_right"])
    row = row[["mean", "low", "high", "n", "n_clusters"]].to_dict()
    return row | {"low_by_event": plain["low"], "high_by_event": plain["high"]}


def tabulate_accuracy(scored, by=("task", "solver")):
    """Return `measure_accuracy` by some columns, a row a group in the order in which they come."""
    groups = scored.groupby(list(by), sort=False)
    rows = [dict(zip(by, names, strict=True)) | measure_accuracy(part) for names, part in groups]
    return pd.DataFrame(rows).astype({"n": int, "n_clusters": int})


def tabulate_parts(scored: pd.DataFrame, tasks: dict) -> pd.DataFrame:
    """Return accuracy over all, by family and by task: a row a family ("all"), task ("all") and
    solver (4.4, Figure 7).

    `scored` is as of `score_answers`; `tasks` maps a task to (family, its name in Table 6). Columns
    family, task, solver, those of `tabulate_accuracy`, chance (of a blind answer to the same
    instances) and above_chance: the difference to it as text, with its 95% interval by source from
    ten sources on.

    >>> rows = pd.DataFrame({"id": ["a", "b"], "family": "impact", "task": "most_of_four", "source": ["s", "t"]})
    >>> rows = rows.assign(solver="me", is_right=[True, False], target="A", n_choices=4)
    >>> tabulate_parts(rows, {"most_of_four": ("impact", "Citation MCQ")})["above_chance"].tolist()
    ['+0.250', '+0.250', '+0.250']
    """
    names = {kind: name for kind, (_, name) in tasks.items()}
    own = scored.assign(chance=list_chances(scored))
    own["above"] = own["is_right"] - own["chance"]
    named = own.assign(task=own["task"].map(lambda kind: names.get(kind, kind)))
    parts = pd.concat([own.assign(family="all", task="all"), own.assign(task="all"), named])
    by = ["family", "task", "solver"]
    groups = parts.groupby(by, sort=False)
    table = tabulate_accuracy(parts, by).assign(
        chance=groups["chance"].mean().to_numpy(),
        above_chance=[tell_difference(part) for _, part in groups],
    )
    families = ["all", *dict.fromkeys(family for family, _ in tasks.values())]
    order = {name: at for at, name in enumerate(dict.fromkeys([*families, *parts["task"]]))}
    return table.sort_values(
        ["family", "task"], key=lambda names: names.map(order), kind="stable", ignore_index=True
    )


def tell_difference(part):
    """Return the mean of `above` as text, with its 95% interval by source where there is one."""
    part = part.reset_index(drop=True)
    above = summarize_clustered(part[["above"]], part["source"]).iloc[0]
    told = f"{above['mean']:+.3f}"
    if math.isfinite(above["low"]):
        told += f" ({above['low']:.3f} to {above['high']:.3f})"
    return told


def compare_with_floor(scored):
    """Return by task how far each solver lies above majority on the same instances, clustered by
    source.

    Columns task, solver, difference, low, high, n, n_clusters, mde, p (Holm over the table),
    verdict ("holds": above; below ten sources nothing is said).
    """
    wide = scored.pivot(index="id", columns="solver", values="is_right").astype(float)
    about = scored.drop_duplicates("id").set_index("id").reindex(wide.index)
    rows = []
    for task, ids in about.groupby("task", sort=False).groups.items():
        part = wide.loc[ids].dropna(axis=1, how="all")
        pairs = [(solver, ["majority"]) for solver in part.columns.drop("majority")]
        if pairs:
            rows.append(compare_pairs(part, about["source"], pairs).assign(task=task))
    table = judge_family(pd.concat(rows, ignore_index=True).rename(columns={"agent_a": "solver"}))
    return table.assign(p=table["p_holm"])[
        "task solver difference low high n n_clusters mde p verdict".split()
    ]
