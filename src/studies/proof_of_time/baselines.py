"""How answers to instances are scored, and what they are held against: class shares, majority and chance (4.2, 4.4)."""

import math

import pandas as pd

from helpers.means import measure_share, summarize_clustered
from helpers.paired import compute_mde, judge_family

DESCRIBED = ["id", "family", "task", "source", "cutoff", "target", "n_choices"]


def describe_instances(instances):
    """Return instances as a table of DESCRIBED; the task of a variant is the variant."""
    rows = []
    for instance in instances:
        kind = instance.variant if instance.variant in ("pairwise", "next_year") else instance.task
        target = "".join(instance.target) if instance.target is not None else None
        rows.append((instance.id, instance.family, kind, instance.metadata["source"], instance.cutoff, target))
        rows[-1] += (len(instance.choices),)
    return pd.DataFrame(rows, columns=DESCRIBED)


def pick_majority(described):
    """Return for each instance its task's most frequent target, counted among the instances themselves: it knows the
    answers' shares, as no forecast does."""
    most = described.groupby("task")["target"].agg(lambda targets: targets.value_counts(sort=True).index[0])
    return described["task"].map(most)


def score_answers(described, answers):
    """Return described instances with solver, answer and is_right (exact match, 4.4); no answer is wrong."""
    table = answers.merge(described, on="id", validate="many_to_one")
    said = ["".join(answer) if isinstance(answer, list) else answer for answer in table["answer"]]
    is_right = [answer is not None and answer == target for answer, target in zip(said, table["target"], strict=True)]
    return table.assign(answer=said, is_right=is_right)


def list_chances(described):
    """Return for each instance the chance that a blind answer is right: 1 of its options, of an order 1 of all orders.

    >>> list_chances(pd.DataFrame({"target": ["A", "DABC"], "n_choices": [5, 4]})).round(3).tolist()
    [0.2, 0.042]
    """
    orders = described["n_choices"].map(math.factorial)
    return 1 / described["n_choices"].where(described["target"].str.len() == 1, orders)


def tabulate_chance(described, by=()):
    """Return what a blind answer is expected to earn: the columns of `by`, solver ("chance"), mean, n, n_clusters."""
    asked = described.drop_duplicates("id")
    asked = asked.assign(chance=list_chances(asked), solver="chance")
    parts = asked.groupby([*by, "solver"], sort=False)
    return parts.agg(mean=("chance", "mean"), n=("id", "size"), n_clusters=("source", "nunique")).reset_index()


def tabulate_accuracy(scored, by=("task", "solver")):
    """Return accuracy by some columns: mean, low, high clustered by source (blank below ten sources), n, n_clusters;
    low_by_event, high_by_event (Wilson)."""
    rows = []
    for names, part in scored.groupby(list(by), sort=False):
        part = part.reset_index(drop=True)
        row = summarize_clustered(part[["is_right"]].astype(float), part["source"], ends=(0, 1)).iloc[0]
        ends = {f"{end}_by_event": measure_share(part["is_right"])[end] for end in ("low", "high")}
        rows.append(dict(zip(by, names, strict=True)) | row.to_dict() | ends)
    columns = [*by, "mean", "low", "high", "n", "n_clusters", "low_by_event", "high_by_event"]
    return pd.DataFrame(rows, columns=columns).astype({"n": int, "n_clusters": int})


def tabulate_parts(scored: pd.DataFrame, tasks: dict) -> pd.DataFrame:
    """Return accuracy over all, by family and by task: a row a family ("all"), task ("all") and solver (4.4, Figure 7).

    `scored` is as of `score_answers`; `tasks` maps a task to (family, its name in Table 6). Columns family, task,
    solver, those of `tabulate_accuracy`, chance (of a blind answer to the same instances) and above_chance: the
    difference to it as text, with its 95% interval by source from ten sources on.

    >>> rows = pd.DataFrame({"id": ["a", "b"], "family": "impact", "task": "most_of_four", "source": ["s", "t"]})
    >>> rows = rows.assign(solver="me", is_right=[True, False], target="A", n_choices=4)
    >>> tabulate_parts(rows, {"most_of_four": ("impact", "Citation MCQ")})["above_chance"].tolist()
    ['+0.250', '+0.250', '+0.250']
    """
    own = scored.assign(chance=list_chances(scored))
    own["above"] = own["is_right"].astype(float) - own["chance"]
    kinds = {"all": own}
    kinds |= {family: part for family, part in own.groupby("family", sort=False)}
    parts = {(family, "all"): part for family, part in kinds.items()}
    for kind, part in own.groupby("task", sort=False):
        parts[part["family"].iloc[0], tasks.get(kind, (None, kind))[1]] = part
    order = ["all", *dict.fromkeys(family for family, _ in tasks.values())]
    rows = []
    for family, task in sorted(parts, key=lambda key: (order.index(key[0]), key[1] != "all")):
        part = parts[family, task]
        table = tabulate_accuracy(part, by=("solver",))
        for row in table.to_dict("records"):
            mine = part[part["solver"] == row["solver"]].reset_index(drop=True)
            above = summarize_clustered(mine[["above"]], mine["source"]).iloc[0]
            told = f"{above['mean']:+.3f}"
            if math.isfinite(above["low"]):
                told += f" ({above['low']:.3f} to {above['high']:.3f})"
            about = {"family": family, "task": task, "chance": mine["chance"].mean(), "above_chance": told}
            rows.append(row | about)
    columns = ["family", "task", *table.columns, "chance", "above_chance"]
    return pd.DataFrame(rows)[columns]


def compare_with_floor(scored):
    """Return by task how far each solver lies above majority on the same instances, clustered by source.

    Columns task, solver, difference, low, high, n, n_clusters, mde, p (Holm over the table), verdict ("holds": above;
    below ten sources nothing is said).
    """
    wide = scored.pivot(index="id", columns="solver", values="is_right").astype(float)
    about = scored.drop_duplicates("id").set_index("id").reindex(wide.index)
    rows = []
    for task, ids in about.groupby("task", sort=False).groups.items():
        part = wide.loc[ids].drop(columns="majority").dropna(axis=1, how="all")
        above = summarize_clustered(part.sub(wide.loc[ids, "majority"], axis=0), about.loc[ids, "source"])
        rows.append(above.rename_axis("solver").reset_index().assign(task=task))
    table = pd.concat(rows, ignore_index=True).rename(columns={"mean": "difference"})
    table = judge_family(table.assign(mde=compute_mde(table["se"], table["n_clusters"])))
    return table.assign(p=table["p_holm"])["task solver difference low high n n_clusters mde p verdict".split()]
