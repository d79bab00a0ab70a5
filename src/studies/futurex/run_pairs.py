"""Pairs of runs on the same questions: what one setting of an agent changes, and what a later moment
adds (FutureX 4.5).

A set of real agents (`helpers.sets`) has runs of one model under several settings (its arms): with
and without search, price shown or hidden, belief state kept or not.
"""

import pandas as pd

from helpers.means import find_clusters, summarize_clustered
from helpers.paired import compare_pairs, correct_holm, judge_family
from helpers.scores import build_matrix, select_headline
from studies.futurex.difficulty import describe_differences

SETTINGS = (
    "model",
    "harness",
    "search",
    "sees_price",
    "keeps_beliefs",
    "effort",
    "uses_tools",
    "sees_base_rate",
)
"""Columns of the table runs that say what a run was; `variant` is left out, as each is a case of
its own."""
COLUMNS = "model settings run_off run_on mean_off mean_on difference low high p p_holm mde n n_clusters".split()


def pair_runs(
    runs: pd.DataFrame, setting: str, off: object, on: object, free: tuple[str, ...] = ()
) -> pd.DataFrame:
    """Return the pairs of runs that differ in one setting: run_off, run_on, model and the others'
    `settings`.

    `free` are settings that may differ too. Runs with a `variant` are left out.
    """
    fixed = [name for name in SETTINGS if name in runs and name not in (setting, *free)]
    plain = runs[runs["variant"].isna()] if "variant" in runs else runs
    parts = [plain.loc[plain[setting].eq(value), ["run_id", *fixed]] for value in (off, on)]
    pairs = parts[0].merge(parts[1], on=fixed, suffixes=("_off", "_on"))
    names = [name for name in fixed if name not in ("model", "harness")]
    pairs["settings"] = [name_settings(row, names) for _, row in pairs.iterrows()]
    pairs = pairs.rename(columns={"run_id_off": "run_off", "run_id_on": "run_on"})
    return pairs[["model", "settings", "run_off", "run_on"]]


def name_settings(row: pd.Series, names: list[str]) -> str:
    """Return settings in words: what is there, separated by commas.

    >>> name_settings(pd.Series({"search": "dated", "sees_price": True}), ["search", "sees_price"])
    'dated search, sees price'
    """
    words = []
    for name in names:
        if name == "search":
            words.append("no search" if row[name] == "none" else f"{row[name]} search")
        elif isinstance(row[name], str):
            words.append(f"{row[name]} {name}")
        elif bool(row[name]):
            words.append(name.replace("_", " "))
    return ", ".join(words)


def compare_runs(rows: pd.DataFrame, pairs: pd.DataFrame, score: str = "brier") -> pd.DataFrame:
    """Return what a setting changes in each pair of runs: on minus off, on the questions that both
    forecast.

    `rows` are those of `QuestionTables.rows`, `pairs` of `pair_runs`. Columns: those of `pairs`,
    the means of `score` on the shared questions, difference with its 95% interval by `cluster_id`,
    p, p_holm over the pairs, mde (minimum detectable effect), n and n_clusters.
    """
    wide = rows.pivot_table(index="event_id", columns="run_id", values=score, aggfunc="mean")
    clusters = rows.drop_duplicates("event_id").set_index("event_id")["cluster_id"]
    made = []
    for row in pairs.to_dict("records"):
        both = wide[[row["run_on"], row["run_off"]]].dropna()
        means = {"mean_off": both[row["run_off"]].mean(), "mean_on": both[row["run_on"]].mean()}
        made.append(row | means | compare_pairs(both, clusters).iloc[0].to_dict())
    table = pd.DataFrame(made)
    table["p_holm"] = correct_holm(table["p"])
    return table.astype({"n": int, "n_clusters": int})[COLUMNS]


def compare_moments(first, second, events):
    """Return, by agent, what asking at a second moment changes (FutureX 4.5.1, Figure 12).

    `first` and `second` are scores of the same events; a missing prediction counts as 0. Columns
    agent_id, `describe_differences` (second minus first), p_holm, verdict, and each moment's mean
    with its interval by source.
    """
    clusters = find_clusters(events)[0]
    agents = sorted(set(first["agent_id"]) & set(second["agent_id"]))
    moments = [
        build_matrix(select_headline(table, events), agents, "score_imputed")
        for table in (first, second)
    ]
    rows = []
    for agent in agents:
        both = pd.DataFrame({"first": moments[0][agent], "second": moments[1][agent]}).dropna()
        row = {"agent_id": agent}
        row |= describe_differences(both["second"] - both["first"], clusters)
        for name, found in summarize_clustered(both, clusters, ends=(0, 1)).iterrows():
            row |= found[["mean", "low", "high"]].add_suffix(f"_{name}").to_dict()
        rows.append(row)
    return judge_family(pd.DataFrame(rows))
