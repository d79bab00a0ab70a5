"""The authors' released database of forecasts and hindsight graphs: read, filtered by cutoff,
scored by condition.

The file is worldreasoner_public.db of release v1.0.0 of github realbits-lab/worldreasoner; its
tables and columns are those of the export script there (`TABLES`). It holds no texts of articles,
no reasoning and no list of the articles that a forecast saw, so source precision cannot be computed
from it. This reader has run on invented rows only.
"""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.means import summarize_clustered
from helpers.paired import compare_pairs, correct_holm
from helpers.papers import load_published
from studies.worldreasoner.hindsight.matching import match_events, pick_key_events, score_recall

TABLES = {
    "questions": "id estimated_start_time",
    "events": "id title description occurred_date is_outcome",
    "event_outcome_impacts": "event_id question_id impact_magnitude confidence",
    "forecasts": "id question_id model_name is_correct brier_score log_score evaluation_metadata "
    "created_at",
    "forecast_events": "id forecast_id title description occurred_date",
}
"""Table -> the columns that are read; the file may have others, and more tables."""
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
"""How a model's id begins, after its provider and before its date -> the paper's name."""
SLOTS = {"early": "Early", "mid": "Mid", "late": "Late"}
OUTCOMES = {"right": "Acc", "brier": "Brier", "log": "Log", "recall": "KER"}


def read_release(path: Path) -> dict[str, pd.DataFrame]:
    """Return the tables of a released database with the columns of `TABLES`.

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
            query = f"SELECT {', '.join(columns.split())} FROM {name}"
            try:
                found[name] = pd.read_sql(query, database)
            except pd.errors.DatabaseError as problem:
                why = str(problem.__cause__ or problem)
                raise ValueError(
                    f"{path.name}, table {name}: {why}; wanted is the authors' public export"
                ) from None
    return found


def name_model(text: str | None) -> str | None:
    """Return the paper's name of a model's id, the id itself of one that the paper has not.

    >>> name_model("openai/gpt-4o-2024-11-20"), name_model("openai/gpt-4o-mini"), name_model("xai/grok-4")
    ('GPT-4o', 'openai/gpt-4o-mini', 'xai/grok-4')
    """
    plain = re.sub(r"-(preview|\d{4}.*)$", "", (text or "").rsplit("/", 1)[-1])
    return MODELS.get(plain, text)


def list_forecasts(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a row a forecast that was evaluated, the last of each question, model, condition and
    slot.

    Columns: forecast_id, question_id, model, condition, slot, right, brier, log, starts_at (of the
    question).
    """
    rows = tables["forecasts"]
    about = [json.loads(cell) if cell else {} for cell in rows["evaluation_metadata"]]
    about = pd.DataFrame(about, rows.index).reindex(
        columns=["benchmark_condition", "benchmark_model", "slot"]
    )
    rows = rows.assign(
        condition=about["benchmark_condition"].map(CONDITIONS),
        slot=about["slot"].fillna("mid").map(SLOTS),
        model=about["benchmark_model"].fillna(rows["model_name"]).map(name_model),
        right=rows["is_correct"].astype(float),
    )
    key = ["question_id", "model", "condition", "slot"]
    rows = rows.dropna(subset=[*key, "right"]).sort_values(["created_at", "id"], kind="stable")
    names = {"id": "forecast_id", "brier_score": "brier", "log_score": "log"}
    rows = rows.drop_duplicates(key, keep="last").rename(columns=names)
    starts = tables["questions"].set_index("id")["estimated_start_time"]
    starts = pd.to_datetime(starts, utc=True, format="ISO8601").rename("starts_at")
    rows = rows.join(starts, on="question_id", how="inner").sort_values(key, ignore_index=True)
    return rows[["forecast_id", *key, "right", "brier", "log", "starts_at"]]


def mark_kept(rows: pd.DataFrame) -> pd.Series:
    """Return whether the cutoff filter keeps each row: its question starts on or after the cutoff's
    first day (5.1).

    A model without a printed cutoff is not filtered, nor a question without a start.
    """
    printed = load_published("worldreasoner", "table7_caption_cutoffs").set_index("model")
    months = rows["model"].map(printed["cutoff_year_month"])
    return ~(rows["starts_at"] < pd.to_datetime(months + "-01", utc=True))


def add_recall(rows: pd.DataFrame, tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return rows with `recall`: the share of a question's key events that a forecast's events
    match (F.3), one to one.

    Blank for a condition without a graph, a forecast without events, and a question without key
    events.
    """
    impacts = tables["event_outcome_impacts"].rename(columns={"event_id": "node_id"})
    impacts["impact"] = impacts["impact_magnitude"] * impacts["confidence"]
    largest = impacts.groupby(["question_id", "node_id"])["impact"].max().reset_index()
    hindsight = largest.merge(describe_events(tables["events"]), on="node_id")
    hindsight["is_outcome"] = hindsight["is_outcome"].fillna(0).astype(bool)
    own = rows.loc[rows["condition"].isin(GRAPHS), ["forecast_id", "question_id"]]
    own = own.rename(columns={"forecast_id": "run_id"})
    given = describe_events(tables["forecast_events"]).rename(columns={"forecast_id": "run_id"})
    given = given.merge(own).sort_values("run_id", ignore_index=True)
    own["has_graph"] = own["run_id"].isin(given["run_id"])
    pairs = match_events(hindsight, given)
    recall = score_recall(pick_key_events(hindsight), pairs, own).set_index("run_id")["recall"]
    return rows.assign(recall=rows["forecast_id"].map(recall))


def describe_events(events: pd.DataFrame) -> pd.DataFrame:
    """Return events with node_id, `text` (title and description) and `day` (a number of days; NaN
    where undated)."""
    text = events["title"].fillna("") + " " + events["description"].fillna("")
    at = pd.to_datetime(events["occurred_date"], utc=True, format="ISO8601")
    day = (at - pd.Timestamp("2000-01-01", tz="UTC")) / pd.Timedelta(days=1)
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
    right = mid["right"].map({1.0: "correct", 0.0: "incorrect"})
    split = mid.assign(subset=right).dropna(subset="recall")
    whole = mid.assign(model="all")
    graphs = kept[kept["condition"] == "Search-Enabled Graph"]
    return {
        "conditions": tabulate_means(pd.concat([whole, mid]), ["condition", "model"]),
        "split": tabulate_means(split, ["condition", "subset"]).query("metric == 'KER'"),
        "pairs": tabulate_pairs(mid),
        "cutoffs": tabulate_cutoffs(rows[rows["slot"] == "Mid"]),
        "horizons": tabulate_means(
            pd.concat([graphs.assign(model="all"), graphs]), ["slot", "model"]
        ),
    }


def tabulate_means(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return means of `OUTCOMES` by some columns: these, metric, mean, low, high (by question), n,
    n_questions; metrics that nobody has are left out."""
    parts = []
    for key, part in rows.groupby(by, sort=False):
        own = part.set_index("question_id")[list(OUTCOMES)].rename(columns=OUTCOMES)
        found = summarize_clustered(own, own.index.to_series()).rename_axis("metric").reset_index()
        parts.append(found.assign(**dict(zip(by, key, strict=True))))
    if not parts:
        return pd.DataFrame(columns=[*by, "metric"])
    table = pd.concat(parts, ignore_index=True).rename(columns={"n_clusters": "n_questions"})
    return table[[*by, *"metric mean low high n n_questions".split()]].query("n > 0")


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
    (by question; blank below ten on either side), p_holm.
    """
    vanilla = rows[rows["condition"] == "Vanilla"].set_index("question_id")
    made = []
    for model, part in vanilla.groupby("model"):
        is_kept = mark_kept(part)
        sides = {
            "all": part["right"],
            "kept": part["right"][is_kept],
            "left_out": part["right"][~is_kept],
        }
        row = {"model": model, "n": len(part), "n_kept": int(is_kept.sum())}
        row |= {name: side.mean() for name, side in sides.items()}
        strata = [(1, sides["left_out"].index), (-1, sides["kept"].index)]
        found = summarize_clustered(part[["right"]], strata=strata).iloc[0]
        made.append(row | found[["mean", "low", "high", "p"]].to_dict())
    table = pd.DataFrame(made).rename(columns={"mean": "difference"})
    return table.assign(p_holm=correct_holm(table["p"])) if len(table) else table
