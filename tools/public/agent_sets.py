"""Statistics of question sets whose rows may not be passed on: effort, moments, a repair, prompts,
repeats."""

import pandas as pd

from helpers.paired import correct_holm
from helpers.sets import load_set
from public.sets import build as sets
from public.sets.timeseek import read_summaries
from studies.futurex.effort import describe_runs, measure_revisions, relate_runs
from studies.worldreasoner.other_projects import (
    compare_prompts,
    compare_tools,
    measure_moments,
    measure_repeats,
    rank_repaired,
)

FUTURESIM, TIMESEEK, KALSHIBENCH, AIB = (
    [f"set:{name}"] for name in ("futuresim", "timeseek", "kalshibench", "aib")
)
SOURCES = {
    "futuresim_runs": FUTURESIM,
    "futuresim_effort": FUTURESIM,
    "futuresim_revisions": FUTURESIM,
    "timeseek_moments": TIMESEEK,
    "timeseek_tools": TIMESEEK,
    "kalshibench_ranks": KALSHIBENCH,
    "aib_prompts": AIB,
    "aib_repeats": AIB,
}
VALUES = ("skill", "skill_all", "correct")
"""What a run's effort is held against: skill of what it forecast, of all it was asked, right
answers."""


def build() -> dict[str, pd.DataFrame]:
    """Return the tables of `SOURCES`, from sets that are built anew below .cache/sets."""
    for (name,) in (FUTURESIM, TIMESEEK, KALSHIBENCH, AIB):
        sets.build_sets(name.removeprefix("set:"))
    return build_futuresim() | build_markets() | build_prompts()


def build_futuresim() -> dict[str, pd.DataFrame]:
    """Return what FutureSim's agents did and earned, by run, and how effort goes with skill within
    agents."""
    loaded = load_set("futuresim")
    rows = loaded.rows()
    runs = describe_runs(rows, loaded.days)
    parts = {value: relate_runs(runs, value) for value in VALUES}
    effort = pd.concat(parts, names=["value"]).reset_index("value").reset_index(drop=True)
    effort["p_holm"] = correct_holm(effort["p"])
    revisions = measure_revisions(loaded.revisions, rows)
    return {"futuresim_runs": runs, "futuresim_effort": effort, "futuresim_revisions": revisions}


def build_markets() -> dict[str, pd.DataFrame]:
    """Return TimeSeek's skill against the price by moment, and KalshiBench's ranking before and
    after the repair."""
    rows = load_set("timeseek").rows()
    prices = rows.drop_duplicates("event_id").assign(
        brier=lambda t: (t["price"] - t["outcome"]) ** 2
    )
    price = prices.groupby("horizon")["brier"].mean()
    return {
        "timeseek_moments": measure_moments(rows),
        "timeseek_tools": compare_tools(read_summaries(), price),
        "kalshibench_ranks": rank_repaired(select_asked_once(load_set("kalshibench").rows())),
    }


def select_asked_once(rows: pd.DataFrame, n_least: int = 200) -> pd.DataFrame:
    """Return rows of settled questions that each run of `n_least` such forecast, and was asked
    once."""
    once = rows[(rows["n_asked"] == 1) & rows["outcome"].notna()]
    once = once[once.groupby("run_id")["event_id"].transform("nunique") >= n_least]
    there = once[once["is_forecast"]].groupby("event_id")["run_id"].nunique()
    return once[once["event_id"].isin(there.index[there == once["run_id"].nunique()])]


def build_prompts() -> dict[str, pd.DataFrame]:
    """Return what prompts and repeats change on Metaculus' AI benchmark of 2024."""
    rows = load_set("aib").rows()
    return {"aib_prompts": compare_prompts(rows), "aib_repeats": measure_repeats(rows)}
