"""Deliberation among forecasters: three models on 202 questions, alone and after reading two
others' forecasts.

A run is a model with none, one or all of three pieces of information, alone or after deliberation
in a group of three models or of one. `sample` 0 is the forecast that goes into the group of three
models, 1 to 3 those of the group of one model: a forecast after deliberation has the `sample` of
the one before it.
"""

from typing import Any

import pandas as pd

from public.sets.rows import (
    YES_NO,
    answer_yes_no,
    describe_run,
    locate_folder,
    name_model,
    read_bytes,
    read_json,
)

FOLDER = "agents/delib_ai_wisdom"
ADVICE = (
    "its files are data/analysis and data/processed of github.com/priorb-source/delib-ai-wisdom"
)
GROUPS = {"diverse": "three models", "homo": "one model"}
INFORMATION = {"none": "none", "full": "all", "info1": "one", "info2": "one", "info3": "one"}


def build() -> dict[str, dict[str, pd.DataFrame]]:
    """Return the tables of the set delib."""
    folder = locate_folder(FOLDER, ADVICE)
    given = pd.read_csv(
        pd.io.common.BytesIO(read_bytes(folder / "forecasts.csv")), dtype=str, keep_default_na=False
    )
    days = {str(row["id"]): row["date"] for row in read_json(folder / "questions_processed.json")}
    questions = given.drop_duplicates("question_id").sort_values("question_id")
    answers = answer_yes_no(questions.set_index("question_id")["resolution"].astype(int).to_dict())
    events = answers[["event_id"]].assign(
        cluster_id=answers["event_id"],
        source_id="metaculus",
        family="market",
        as_of=answers["event_id"].map(days) + "T00:00:00+00:00",
        **YES_NO,
    )
    rows = [describe_row(row) for row in given.to_dict("records")]
    predictions = (
        pd.DataFrame(rows).drop(columns=["run"]).sort_values(["run_id", "event_id", "sample"])
    )
    runs = pd.DataFrame({row["run_id"]: row["run"] for row in rows}.values()).sort_values("run_id")
    tables = {"events": events, "answers": answers, "runs": runs, "predictions": predictions}
    return {"delib": {name: table.reset_index(drop=True) for name, table in tables.items()}}


def describe_row(row: dict[str, str]) -> dict[str, Any]:
    """Return a prediction, with its run as `run`."""
    spelling = f"delib:{row['model']}"
    information, group = INFORMATION[row["info_label"]], row["condition"].split("_")[0]
    stage = f"after deliberation, group of {GROUPS[group]}" if group else "alone"
    label = f"{name_model(spelling)['model']}, {information} of the information, {stage}"
    run_id = f"delib-{row['model']}-{information}-{group or 'alone'}"
    if group == "homo":
        sample = int(row["position"])
    elif group == "diverse":
        sample = 0
    else:
        last = row["forecast_id"].rsplit("-", 1)[1]
        sample = int(last) if last.isdigit() else 0
    run = describe_run(
        run_id,
        spelling,
        "delib-ai-wisdom",
        "none",
        agent_id=label,
        category="base_model",
        sees_price=False,
        information=information,
        stage="after" if group else "before",
        group=GROUPS.get(group),
    )
    return {
        "run_id": run_id,
        "event_id": row["question_id"],
        "sample": sample,
        "status": "ok",
        "p_yes": round(float(row["probability"]) / 100, 4),
        "piece": row["info_label"].removeprefix("info") if information == "one" else None,
        "run": run,
    }
