"""The authors' released database of forecasts and hindsight graphs: read, filtered by cutoff,
scored by condition.

The file is worldreasoner_public.db of release v1.0.0 of github realbits-lab/worldreasoner; its
tables and columns are those of the export script there (`TABLES`). It holds no texts of articles,
no reasoning and no list of the articles that a forecast saw, so source precision cannot be computed
from it. This reader has run on invented rows only.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
from statsmodels.stats.weightstats import CompareMeans

from helpers.means import summarize_clustered
from helpers.paired import compare_pairs, correct_holm
from helpers.papers import load_published
from studies.worldreasoner.hindsight.matching import match_events, pick_key_events, score_recall

TABLES = {
    "questions": "id question_text question_type domain source resolution_date estimated_start_time ground_truth "
    "options",
    "events": "id title description occurred_date extracted_for_question_id is_outcome",
    "event_outcome_impacts": "event_id outcome_event_id question_id impact_direction impact_magnitude confidence",
    "forecasts": "id question_id model_name simulated_date prediction confidence is_correct brier_score log_score "
    "evaluation_metadata created_at",
    "forecast_events": "id forecast_id title description occurred_date",
}
"""Table -> the columns that are read; the file may have others, and more tables."""
DATES = {"resolution_date", "estimated_start_time", "occurred_date"}
CONDITIONS = {
    "vanilla_llm": "Vanilla",
    "structured_scenario": "Causal Simulation",
    "search_enabled": "Search-Enabled",
    "worldreasoner": "Search-Enabled Graph",
    "oracle": "Near-Resolution",
    "real_time": "Real-Time",
}
"""The authors' names of conditions -> the paper's."""
GRAPHS = ("Causal Simulation", "Search-Enabled Graph", "Near-Resolution", "Real-Time")
"""Conditions that submit events, and so have a recall of key events."""
MODELS = {
    "gemini-3-flash": "Gemini 3 Flash",
    "gemini-3-pro": "Gemini 3 Pro",
    "deepseek-v4-flash": "DeepSeek V4 Flash",
    "deepseek-v4-pro": "DeepSeek V4 Pro",
    "gpt-4o": "GPT-4o",
    "gpt-5.4": "GPT-5.4",
}
"""How a model's id begins, after its provider -> the paper's name."""
SLOTS = {"early": "Early", "mid": "Mid", "late": "Late"}
LEAST = 10
"""Questions that a group needs for an interval."""
OUTCOMES = {"right": "Acc", "brier": "Brier", "log": "Log", "recall": "KER"}


def read_release(path: Path) -> dict[str, pd.DataFrame]:
    """Return the tables of a released database with the columns of `TABLES`, times as UTC.

    Raises FileNotFoundError for no file, ValueError for one that is no database, or lacks a table
    or column.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no file {path.name}; download it from the authors' release v1.0.0"
        )
    found = {}
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        for name, columns in TABLES.items():
            try:
                found[name] = pd.read_sql(
                    f"SELECT {', '.join(columns.split())} FROM {name}", database
                )
            except pd.errors.DatabaseError as problem:
                why = str(problem.__cause__ or problem)
                raise ValueError(
                    f"{path.name}, table {name}: {why}; wanted is the authors' public export"
                ) from None
    for table in found.values():
        for column in DATES.intersection(table):
            table[column] = pd.to_datetime(table[column], utc=True, format="ISO8601")
    return found


def name_model(text: str | None) -> str | None:
    """Return the paper's name of a model's id, the id itself of one that the paper has not.

    >>> name_model("openai/gpt-4o-2024-11-20"), name_model("openai/gpt-4o-mini"), name_model("xai/grok-4")
    ('GPT-4o', 'openai/gpt-4o-mini', 'xai/grok-4')
    """
    if not isinstance(text, str):
        return None
    plain = text.rsplit("/", 1)[-1]
    for start, name in MODELS.items():
        rest = plain.removeprefix(start)
        if rest != plain and (not rest or rest in ("-preview",) or rest[1:5].isdigit()):
            return name
    return text


def list_forecasts(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a row a forecast that was evaluated, the last of each question, model, condition and
    slot.

    Columns: forecast_id, question_id, model, condition, slot, right, brier, log, type, source,
    starts_at, resolves_at.
    """
    rows = tables["forecasts"].copy()
    about = [
        json.loads(cell) if isinstance(cell, str) else {} for cell in rows["evaluation_metadata"]
    ]
    rows["condition"] = [CONDITIONS.get(given.get("benchmark_condition")) for given in about]
    rows["slot"] = [SLOTS.get(given.get("slot", "mid")) for given in about]
    named = [given.get("benchmark_model") for given in about]
    rows["model"] = [
        name_model(own or told) for own, told in zip(named, rows["model_name"], strict=True)
    ]
    rows = rows.dropna(subset=["condition", "slot", "model", "is_correct"])
    key = ["question_id", "model", "condition", "slot"]
    rows = rows.sort_values(["created_at", "id"], kind="stable").drop_duplicates(key, keep="last")
    questions = tables["questions"].rename(columns={"id": "question_id", "question_type": "type"})
    questions = questions.rename(
        columns={"estimated_start_time": "starts_at", "resolution_date": "resolves_at"}
    )
    rows = rows.merge(
        questions[["question_id", "type", "source", "starts_at", "resolves_at"]], on="question_id"
    )
    rows = rows.rename(columns={"id": "forecast_id", "brier_score": "brier", "log_score": "log"})
    rows["right"] = rows["is_correct"].astype(float)
    named = "forecast_id question_id model condition slot right brier log type source starts_at resolves_at"
    return rows[named.split()].sort_values(key, ignore_index=True)


def mark_kept(rows: pd.DataFrame) -> pd.Series:
    """Return whether the cutoff filter keeps each row: its question starts on or after the cutoff's
    first day (5.1).

    A model without a printed cutoff is not filtered, nor a question without a start.
    """
    printed = load_published("worldreasoner", "table7_caption_cutoffs").set_index("model")[
        "cutoff_year_month"
    ]
    first = pd.to_datetime(rows["model"].map(printed) + "-01", utc=True)
    return ~(rows["starts_at"] < first)


def add_recall(rows: pd.DataFrame, tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return rows with `recall`: the share of a question's key events that a forecast's events
    match (F.3), one to one.

    Blank for a condition without a graph, a forecast without events, and a question without key
    events.
    """
    impacts = tables["event_outcome_impacts"]
    impacts = impacts.assign(impact=impacts["impact_magnitude"] * impacts["confidence"])
    largest = (
        impacts.groupby(["question_id", "event_id"])["impact"]
        .max()
        .rename_axis(["question_id", "node_id"])
    )
    told = describe_events(tables["events"])
    hindsight = largest.reset_index().merge(told, on="node_id")
    hindsight["is_outcome"] = hindsight["is_outcome"].fillna(0).astype(bool)
    graphs = rows[rows["condition"].isin(GRAPHS)]
    own = graphs[["forecast_id", "question_id"]].rename(columns={"forecast_id": "run_id"})
    given = (
        describe_events(tables["forecast_events"])
        .rename(columns={"forecast_id": "run_id"})
        .merge(own)
    )
    given = given[given["question_id"].isin(hindsight["question_id"])]
    own = own.assign(has_graph=own["run_id"].isin(given["run_id"]))
    if given.empty:
        return rows.assign(recall=np.nan)
    pairs = match_events(hindsight, given.sort_values("run_id", ignore_index=True))
    recall = score_recall(pick_key_events(hindsight), pairs, own).set_index("run_id")["recall"]
    return rows.assign(recall=rows["forecast_id"].map(recall))


def describe_events(events: pd.DataFrame) -> pd.DataFrame:
    """Return events with node_id, `text` (title and description) and `day` (a number of days; NaN
    where undated)."""
    text = events["title"].fillna("") + " " + events["description"].fillna("")
    day = (events["occurred_date"] - pd.Timestamp("2000-01-01", tz="UTC")) / pd.Timedelta(days=1)
    return events.rename(columns={"id": "node_id"}).assign(text=text, day=np.floor(day))


def tabulate_release(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the paper's tables of a release's forecasts (`add_recall`), each mean with a 95%
    interval by question.

    conditions: by condition and model, "all" the pairs of all models (Table 4's means, 8 to 11);
    split: recall of right and of wrong forecasts (Table 4); pairs: conditions in pairs on the same
    pairs of model and question (Table 3); cutoffs: by model what the filter leaves out (Table 7);
    horizons: by slot (5.3). All but cutoffs are of what the filter keeps.
    """
    kept = rows[mark_kept(rows)]
    mid = kept[kept["slot"] == "Mid"]
    return {
        "conditions": tabulate_means(mid),
        "split": tabulate_split(mid),
        "pairs": tabulate_pairs(mid),
        "cutoffs": tabulate_cutoffs(rows[rows["slot"] == "Mid"]),
        "horizons": tabulate_means(kept[kept["condition"] == "Search-Enabled Graph"], "slot"),
    }


def average(rows: pd.DataFrame, column: str) -> dict[str, float]:
    """Return mean, low, high (by question), n and n_questions of a column."""
    found = summarize_clustered(rows[[column]], rows["question_id"]).iloc[0]
    counts = {"n": len(rows), "n_questions": int(found["n_clusters"])}
    return found[["mean", "low", "high"]].to_dict() | counts


def tabulate_means(rows: pd.DataFrame, by: str = "condition") -> pd.DataFrame:
    """Return means by a column and model: that column, model, metric, and those of `average`."""
    made = []
    for group, part in rows.groupby(by, sort=False):
        for model, own in [("all", part), *part.groupby("model")]:
            for column, metric in OUTCOMES.items():
                known = own.dropna(subset=[column])
                if len(known):
                    made.append(
                        {by: group, "model": model, "metric": metric} | average(known, column)
                    )
    return pd.DataFrame(made)


def tabulate_split(rows: pd.DataFrame) -> pd.DataFrame:
    """Return recall of right and of wrong forecasts by condition: condition, subset, and the
    columns of `average`."""
    made = []
    for (condition, right), part in rows.dropna(subset="recall").groupby(["condition", "right"]):
        made.append(
            {"condition": condition, "subset": "correct" if right else "incorrect"}
            | average(part, "recall")
        )
    return pd.DataFrame(made)


def tabulate_pairs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy of conditions in pairs of model and question, clustered by question
    (`compare_pairs`)."""
    wide = rows.pivot(index=["model", "question_id"], columns="condition", values="right")
    wide = wide[[name for name in CONDITIONS.values() if name in wide]]
    if wide.shape[1] < 2:
        return pd.DataFrame()
    questions = pd.Series(wide.index.get_level_values("question_id"), wide.index)
    return compare_pairs(wide, questions)


def tabulate_cutoffs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return Vanilla's accuracy by model, of all its questions, of those kept, of those left out,
    and the difference.

    Columns: model, n, n_kept, all, kept, left_out, difference (left out minus kept), low, high, p
    (questions drawn as independent, Welch), p_holm.
    """
    vanilla = rows[rows["condition"] == "Vanilla"]
    vanilla = vanilla.assign(kept=mark_kept(vanilla))
    made = []
    for model, part in vanilla.groupby("model"):
        kept = part.loc[part["kept"], "right"]
        out = part.loc[~part["kept"], "right"]
        row = {"model": model, "n": len(part), "n_kept": len(kept), "all": part["right"].mean()}
        row |= {"kept": kept.mean(), "left_out": out.mean(), "difference": out.mean() - kept.mean()}
        made.append(row | compare_groups(out, kept))
    table = pd.DataFrame(made)
    return table.assign(p_holm=correct_holm(table["p"])) if len(table) else table


def compare_groups(first: pd.Series, second: pd.Series) -> dict[str, float]:
    """Return low, high and p of the difference of two groups' means (Welch's t); blank below ten in
    either."""
    if min(len(first), len(second)) < LEAST or first.var() + second.var() == 0:
        return {"low": np.nan, "high": np.nan, "p": np.nan}
    both = CompareMeans.from_data(first, second)
    low, high = both.tconfint_diff(usevar="unequal")
    return {"low": low, "high": high, "p": both.ttest_ind(usevar="unequal")[1]}
