"""Do benchmarks agree on who is better? Models that stand in two sets or more, ranked by each."""

import numpy as np
import pandas as pd

from helpers import files
from helpers.means import summarize_clustered
from helpers.public_files import locate_public, read_public
from helpers.sets import load_set
from public.agent_sets import select_asked_once
from public.sets import build as sets
from public.sets.rows import MODELS
from public.sets.timeseek import read_summaries
from studies.futurex.benchmark_agreement import (
    SEED,
    Standing,
    compare_all,
    join_names,
    pool_agreement,
    stand_by_board,
    stand_by_questions,
)
from studies.futurex.public_leaderboard_findings import tidy_board

BOARD, FORECASTBENCH = "futurex/leaderboard.json", "forecastbench/leaderboard_baseline.csv"
SETS = [
    f"set:{name}"
    for name in ("blf", "timeseek", "kalshibench", "futuresim", "delib", "aib", "worldcup")
]
SOURCES = dict.fromkeys(("benchmarks_agree", "benchmarks_pooled"), [*SETS, BOARD, FORECASTBENCH])
PRINTED = 2 * 1.96
"""Width of a printed 95% interval in standard errors."""
FRAMEWORKS = {
    "LLM": ("FutureX's board, no search", "none"),
    "Search": ("FutureX's board, search", "search"),
}
"""Of FutureX's board the agents of one call without search and with it -> name and search of their
ranking."""


def build() -> dict[str, pd.DataFrame]:
    """Return the tables of `SOURCES`: agreement by two benchmarks, and pooled."""
    for name in ("timeseek", "kalshibench", "futuresim", "aib"):
        sets.build_sets(name)
    known = pd.read_csv(files.locate_input(MODELS))
    families = known.drop_duplicates("model").set_index("model")["family"].to_dict()
    standings = list_all(known)
    tables, pools = [], []
    for joined_by in ("version", "family"):
        given = [
            one for one in standings if joined_by == "family" or one.name != "World Cup, search"
        ]
        given = [join_names(one, families) for one in given] if joined_by == "family" else given
        table, drawn = compare_all(given)
        tables.append(table.assign(joined_by=joined_by))
        pools.append(pool_agreement(table, drawn).assign(joined_by=joined_by))
    return {
        "benchmarks_agree": pd.concat(tables, ignore_index=True),
        "benchmarks_pooled": pd.concat(pools, ignore_index=True),
    }


def list_all(known: pd.DataFrame) -> list[Standing]:
    """Return the Standing of every benchmark and arm, each with draws of its own."""
    made = [*list_questions(), *list_timeseek(), *list_boards(known)]
    return [one for one in made if len(one.means) > 1]


def list_questions() -> list[Standing]:
    """Return the Standings of sets with a score a question."""
    blf = load_set("blf").rows()
    blf = blf[
        blf["variant"].isna()
        & ~blf["sees_price"]
        & blf["keeps_beliefs"]
        & (blf["effort"] == "high")
    ]
    parts = [
        (
            "BLF, no search",
            "none",
            blf[(blf["search"] == "none") & ~blf["uses_tools"]],
            "brier_filled",
        ),
        (
            "BLF, search",
            "search",
            blf[(blf["search"] == "dated") & blf["uses_tools"]],
            "brier_filled",
        ),
    ]
    kalshi = select_asked_once(load_set("kalshibench").rows())
    kalshi = kalshi.assign(brier_repaired=(kalshi["p_repaired"] - kalshi["outcome"]) ** 2)
    parts.append(("KalshiBench (repaired), no search", "none", kalshi, "brier_repaired"))
    delib = load_set("delib").rows()
    for information, name in (
        ("none", "Deliberation, no search"),
        ("all", "Deliberation, information given"),
    ):
        own = delib[(delib["information"] == information) & (delib["stage"] == "before")]
        parts.append((name, "none" if information == "none" else "search", own, "brier"))
    aib = load_set("aib").rows()
    aib = aib[(aib["variant"] == "direct") & (aib["round"] == "aibq3")]
    parts.append(("Metaculus AIB 2024, news given", "search", aib, "brier"))
    futuresim = load_set("futuresim").rows()
    parts.append(
        (
            "FutureSim, search",
            "search",
            futuresim.assign(right=futuresim["correct"].fillna(0.0)),
            "right",
        )
    )
    parts.append(("World Cup, search", "search", load_set("worldcup").rows(), "correct"))
    made = []
    for at, (name, search, rows, column) in enumerate(parts):
        matrix = rows.pivot_table(index="event_id", columns="model", values=column)
        matrix = matrix if column in ("right", "correct") else -matrix
        clusters = rows.drop_duplicates("event_id").set_index("event_id")["cluster_id"]
        made.append(stand_by_questions(name, search, matrix, clusters, SEED + at))
    return made


def list_timeseek() -> list[Standing]:
    """Return TimeSeek's Standings without and with tools, of its summaries.

    Their error is that of the four models whose rows are published: of differences by series, over
    the root of 2.
    """
    rows = load_set("timeseek").rows()
    matrix = rows.pivot_table(index="event_id", columns="model", values="brier")
    series = rows.drop_duplicates("event_id").set_index("event_id")["source_id"]
    first, *others = matrix.columns
    error = summarize_clustered(matrix[others].rsub(matrix[first], axis=0), series)[
        "se"
    ].mean() / np.sqrt(2)
    summaries = read_summaries().dropna(subset="checkpoint")
    made = []
    for at, (has_tools, name) in enumerate(
        ((False, "TimeSeek, no tools"), (True, "TimeSeek, tools"))
    ):
        means = -summaries[summaries["has_tools"] == has_tools].groupby("model")["brier"].mean()
        search = "search" if has_tools else "none"
        made.append(
            stand_by_board(name, search, means, pd.Series(error, means.index), SEED + 50 + at)
        )
    return made


def list_boards(known: pd.DataFrame) -> list[Standing]:
    """Return the Standings of FutureX's board, without search and with it, and of ForecastBench's
    baseline board."""
    names = known.set_index("spelling")["model"]
    board = read_public("futurex_board")
    made = []
    for at, (framework, (name, search)) in enumerate(FRAMEWORKS.items()):
        own = board[board["framework"] == framework]
        own = own.assign(model=names.reindex("futurex:" + own["model"]).to_numpy()).dropna(
            subset="model"
        )
        own = own.set_index("model")
        made.append(stand_by_board(name, search, own["overall"], own["deviation"], SEED + 60 + at))
    baseline = tidy_board(pd.read_csv(locate_public(FORECASTBENCH)))
    baseline["model"] = names.reindex(
        "forecastbench:" + baseline["model"].str.removesuffix("-scratchpad")
    ).to_numpy()
    baseline = baseline.dropna(subset="model")
    baseline["error"] = (baseline["high"] - baseline["low"]) / PRINTED
    by = baseline.groupby("model").agg(overall=("overall", "mean"), error=("error", "mean"))
    made.append(
        stand_by_board("ForecastBench, no search", "none", by["overall"], by["error"], SEED + 70)
    )
    return made
