"""What an agent's effort has to do with its skill: within agents, across their runs and across
their questions.

An agent that works more may be better for other reasons, so nothing here is an effect of effort:
runs are compared with other runs of one model, and questions with the same questions in other runs.
"""

import numpy as np
import pandas as pd
from scipy import stats

from helpers.agreement import correlate
from helpers.files import parse_json
from helpers.means import summarize_clustered

EFFORTS = (
    "searches_a_day",
    "tool_calls_a_day",
    "plans_a_day",
    "revisions_a_question",
    "n_notes",
    "coverage",
)
"""Columns of `describe_runs` that are held against skill."""
N_PERMUTED = 10_000
SEED = 20261128


def describe_runs(rows: pd.DataFrame, days: pd.DataFrame) -> pd.DataFrame:
    """Return what each run did and earned, a row a run.

    `rows` are a set's rows with `skill_source` (1 is perfect, 0 is no better than saying nothing)
    and `n_revisions`, `days` a row a run and day. Columns: run_id, agent_id, model, repeat,
    n_forecasts, coverage, searches_a_day, tool_calls_a_day, plans_a_day, n_notes,
    revisions_a_question (of those forecast), skill (mean over forecasts), skill_all (0 where there
    is none), correct (share of forecasts whose likeliest answer is the truth's text). Skill is
    blank where the source states none.
    """
    by_day = days.groupby("run_id")[["n_searches", "n_tool_calls", "n_plans"]].mean()
    by_day.columns = ["searches_a_day", "tool_calls_a_day", "plans_a_day"]
    first = rows.groupby("run_id")[["agent_id", "model", "repeat", "n_notes"]].first()
    there = rows[rows["is_forecast"]].groupby("run_id")
    means = there[["n_revisions", "skill_source", "correct"]].mean()
    means.columns = ["revisions_a_question", "skill", "correct"]
    runs = first.join([by_day, means])
    runs["n_forecasts"] = there.size()
    runs["coverage"] = runs["n_forecasts"] / rows.groupby("run_id").size()
    runs["skill_all"] = (
        runs["skill"] * there["skill_source"].count() / rows.groupby("run_id").size()
    )
    columns = "agent_id model repeat n_forecasts coverage searches_a_day tool_calls_a_day plans_a_day n_notes"
    return runs[
        [*columns.split(), "revisions_a_question", "skill", "skill_all", "correct"]
    ].reset_index()


def relate_runs(runs: pd.DataFrame, value: str, efforts: tuple[str, ...] = EFFORTS) -> pd.DataFrame:
    """Return how efforts go with skill within models: a row an effort.

    Columns: effort, within (correlation of what is left of both once each model's mean is taken
    off), p (of orders drawn anew within each model, two-sided), between (correlation of the models'
    means), n_runs, n_models. Models with one run say nothing within, and are left out there.
    """
    known = runs.dropna(subset=[value, *efforts])
    several = known[known.groupby("model")["run_id"].transform("size") > 1]
    several = several.sort_values(["model", "run_id"])
    codes = pd.factorize(several["model"])[0]
    orders = shuffle_within(codes, N_PERMUTED, np.random.default_rng(SEED))
    target = demean(several[value].to_numpy(float), codes)
    made = []
    for effort in efforts:
        own = demean(several[effort].to_numpy(float), codes)
        seen = correlate(own, target)
        drawn = correlate(own[orders], target)
        means = known.groupby("model")[[effort, value]].mean().to_numpy()
        p = (1 + (np.abs(drawn) >= abs(seen) - 1e-12).sum()) / (1 + N_PERMUTED)
        row = {
            "effort": effort,
            "within": seen,
            "p": p,
            "between": correlate(means[:, 0], means[:, 1]),
        }
        made.append(row | {"n_runs": len(several), "n_models": several["model"].nunique()})
    return pd.DataFrame(made)


def demean(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return values less the mean of their group."""
    means = np.bincount(codes, values) / np.bincount(codes)
    return values - means[codes]


def shuffle_within(codes: np.ndarray, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """Return orders (n_draws x n) of rows that lie group by group, drawn anew within each group."""
    return np.argsort(codes + rng.random((n_draws, len(codes))), axis=-1)


def relate_questions(rows: pd.DataFrame) -> dict[str, float | int]:
    """Return how skill changes with a doubling of revisions of a question, run and question held
    constant.

    Least squares on log2 of 1 + n_revisions with a constant a run and a question; errors by
    question (CR1). Returns slope, low, high, p, n, n_clusters, n_runs.
    """
    known = rows.dropna(subset=["n_revisions", "skill_source"])
    runs, questions = (pd.factorize(known[name])[0] for name in ("run_id", "event_id"))
    x = sweep(np.log2(1 + known["n_revisions"].to_numpy(float)), runs, questions)
    y = sweep(known["skill_source"].to_numpy(float), runs, questions)
    slope = (x @ y) / (x @ x)
    sums = np.bincount(questions, x * (y - slope * x))
    n_clusters = len(sums)
    error = np.sqrt(n_clusters / (n_clusters - 1) * (sums**2).sum()) / (x @ x)
    half = stats.t.ppf(0.975, n_clusters - 1) * error
    p = 2 * stats.t.sf(abs(slope) / error, n_clusters - 1)
    found = {"slope": slope, "low": slope - half, "high": slope + half, "p": p}
    return found | {"n": len(known), "n_clusters": n_clusters, "n_runs": known["run_id"].nunique()}


def sweep(values: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return values less the means of two crossed groupings, taken off in turn until nothing is
    left."""
    for _ in range(200):
        before = values
        values = demean(demean(values, first), second)
        if np.abs(values - before).max() < 1e-12:
            break
    return values


def measure_revisions(revisions: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return how much probability the right answer had first and last, a row a model and "all".

    `revisions` are every distribution that a run submitted (revision 0 the first), those of the
    rows' questions until the run saw the answer (`last_at`). An answer is right where its text is
    the truth's, case and blanks aside: stricter than a judge, alike for first and last. Of
    questions that a run revised. Columns: model, first, last, gain, low, high, p (by question), n,
    n_clusters.
    """
    key = ["run_id", "event_id"]
    known = revisions.merge(rows[[*key, "model", "answer", "last_at", "is_forecast"]], on=key)
    known = known[known["is_forecast"] & (known["at"] <= known["last_at"])].sort_values(
        [*key, "revision"]
    )
    known["right"] = [
        find_chance(told, truth)
        for told, truth in zip(known["distribution"], known["answer"], strict=True)
    ]
    ends = known.groupby(key).agg(
        model=("model", "first"),
        first=("right", "first"),
        last=("right", "last"),
        n=("right", "size"),
    )
    ends = ends[ends["n"] > 1].reset_index()
    ends["gain"] = ends["last"] - ends["first"]
    made = []
    for model, part in [("all", ends), *ends.groupby("model")]:
        found = summarize_clustered(part[["gain"]], part["event_id"]).rename(
            columns={"mean": "gain"}
        )
        made.append(
            found.drop(columns="se").assign(
                model=model, first=part["first"].mean(), last=part["last"].mean()
            )
        )
    table = pd.concat(made, ignore_index=True)
    return table["model first last gain low high p n n_clusters".split()]


def find_chance(distribution: str, truth: str) -> float:
    """Return the probability that a distribution (JSON) gives the truth's text (JSON), 0 where it
    does not name it."""
    told = parse_json(distribution)
    right = " ".join(str(parse_json(truth)).casefold().split())
    return float(
        sum(chance for name, chance in told.items() if " ".join(name.casefold().split()) == right)
    )
