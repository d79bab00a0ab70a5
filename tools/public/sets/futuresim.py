"""FutureSim: 330 questions with free answers under a simulated clock of 95 days, 24 runs with all
revisions.

A prediction is the last distribution that a run submitted by the day on which it saw the answer;
`value` is its likeliest answer, `correct` asks for equal texts. `skill_source`
is the Brier skill that the site's own judge gave; the runs of GPT 5.5 have none. A
question that a run never forecast is `missing`. `days` counts each run's tool calls.
"""

import io
import json
from typing import Any

import pandas as pd

from helpers.files import dump_json
from public.sets.rows import describe_run, locate_folder, name_model, read_bytes, read_json

FOLDER = "agents/futuresim"
ADVICE = "its tables are extracted from futuresim/traces/data of github.com/OpenForecaster/openforecaster.github.io"
TEXTS = {"question_id": str, "run_id": str}


def build() -> dict[str, dict[str, pd.DataFrame]]:
    """Return the tables of the set futuresim."""
    folder = locate_folder(FOLDER, ADVICE)
    given = {
        name: pd.read_csv(io.BytesIO(read_bytes(folder / f"{name}.csv")), dtype=TEXTS)
        for name in ("questions", "submissions", "resolutions_seen", "days", "searches")
    }
    questions = given["questions"].rename(columns={"question_id": "event_id"})
    runs = pd.DataFrame([read_run(row) for row in read_json(folder / "manifest.json")["runs"]])
    revisions = list_revisions(given["submissions"], questions)
    predictions = list_predictions(revisions, questions, runs, given["resolutions_seen"])
    tables = {
        "events": describe_events(questions),
        "answers": pd.DataFrame(
            {
                "event_id": questions["event_id"],
                "value": questions["truth"].map(dump_json),
                "status": "ok",
            }
        ),
        "runs": runs.sort_values("run_id", ignore_index=True),
        "predictions": predictions,
        "revisions": revisions.drop(columns=["resolved_seen_after"]),
        "days": count_days(given["days"], given["searches"]),
    }
    return {"futuresim": tables}


def name_runs(table: pd.DataFrame) -> pd.Series:
    """Return the run_id of each row of an extraction."""
    return "futuresim-" + table["agent"] + "-" + table["run_id"]


def read_run(row: dict[str, Any]) -> dict[str, Any]:
    """Return a run's row, from the site's manifest; its seed distinguishes runs of one agent."""
    spelling, seed = f"futuresim:{row['model']}", row["seed_label"][1:]
    return describe_run(
        f"futuresim-{row['agent_slug']}-{row['run_id']}",
        spelling,
        row["harness_name"],
        "dated",
        agent_id=f"{name_model(spelling)['model']}, run {seed}",
        category="open_deep_research",
        sees_price=False,
        repeat=int(seed),
        n_notes=row["workspace"]["memory_file_count"],
    )


def describe_events(questions: pd.DataFrame) -> pd.DataFrame:
    """Return the questions."""
    return pd.DataFrame(
        {
            "event_id": questions["event_id"],
            "cluster_id": questions["event_id"],
            "source_id": "news",
            "family": questions["answer_type"].str.extract(r"\((.+)\)")[0],
            "prompt": questions["title"],
            "kind": "text",
            "opens_at": "2025-12-24T00:00:00+00:00",
            "resolves_at": questions["resolved_seen_after"] + "T00:00:00+00:00",
        }
    )


def list_revisions(submissions: pd.DataFrame, questions: pd.DataFrame) -> pd.DataFrame:
    """Return a row a submitted distribution of a question of the set, in order."""
    kept = submissions.merge(
        questions[["event_id", "resolved_seen_after"]], left_on="question_id", right_on="event_id"
    )
    kept = kept.sort_values(
        ["agent", "run_id", "sim_date", "event_idx"], kind="stable", ignore_index=True
    )
    outcomes = kept["outcomes"].map(json.loads)
    best = outcomes.map(lambda shares: max(shares, key=shares.get))
    made = pd.DataFrame(
        {
            "run_id": name_runs(kept),
            "event_id": kept["event_id"],
            "at": kept["sim_date"] + "T00:00:00+00:00",
            "value": best.map(dump_json),
            "distribution": outcomes.map(dump_json),
            "resolved_seen_after": kept["resolved_seen_after"],
        }
    )
    made.insert(2, "revision", made.groupby(["run_id", "event_id"]).cumcount())
    return made


def list_predictions(
    revisions: pd.DataFrame, questions: pd.DataFrame, runs: pd.DataFrame, seen: pd.DataFrame
) -> pd.DataFrame:
    """Return each run's last distribution of each question by the day it saw the answer; missing
    where none."""
    seen = seen.assign(run_id=name_runs(seen))
    seen = seen.drop_duplicates(["run_id", "title"], keep="last").merge(
        questions[["event_id", "title"]], on="title"
    )
    days = revisions.merge(
        seen[["run_id", "event_id", "sim_date"]], on=["run_id", "event_id"], how="left"
    )
    last_day = days["sim_date"].fillna(days["resolved_seen_after"])
    in_time = revisions[(days["at"].str[:10] <= last_day).to_numpy()]
    last = in_time.groupby(["run_id", "event_id"], as_index=False).last()
    counts = in_time.groupby(["run_id", "event_id"]).size().rename("n_revisions").reset_index()
    every = runs[["run_id"]].merge(questions[["event_id"]], how="cross")
    skill = seen[["run_id", "event_id", "brier_skill"]]
    for part in (last, counts, skill):
        every = every.merge(part, on=["run_id", "event_id"], how="left")
    made = every.rename(columns={"brier_skill": "skill_source", "at": "last_at"}).assign(sample=0)
    is_forecast = made["value"].notna()
    made["status"] = is_forecast.map({True: "ok", False: "missing"})
    made["skill_source"] = made["skill_source"].where(is_forecast)
    kept = ["run_id", "event_id", "sample", "status", "value", "distribution"]
    return made[[*kept, "n_revisions", "last_at", "skill_source"]].sort_values(
        ["run_id", "event_id"], ignore_index=True
    )


def count_days(days: pd.DataFrame, searches: pd.DataFrame) -> pd.DataFrame:
    """Return what each run did on each simulated day."""
    key = ["agent", "run_id", "sim_date"]
    n_searches = searches.groupby(key).size().rename("n_searches").reset_index()
    made = days.merge(n_searches, on=key, how="left").fillna({"n_searches": 0})
    tools = made["tools"].map(json.loads)
    return pd.DataFrame(
        {
            "run_id": name_runs(made),
            "day": made["sim_date"],
            "n_tool_calls": made["tool_calls"],
            "n_searches": made["n_searches"].astype(int),
            "n_forecasts": made["forecasts"],
            "n_plans": [counts.get("TodoWrite", 0) for counts in tools],
        }
    )
