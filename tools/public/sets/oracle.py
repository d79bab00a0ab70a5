"""AI Market Oracle: dated calls of six web-searching assistants, whether a price rises, with their confidence.

An event is a ticker on a day for a span; `p_yes` is the probability of a rise: the confidence of a
call up, one less that of a call down. Whether a call was right is the project's (`score_source`),
and its answers rest on stale prices: `price_called` and `close` are kept beside.
"""

from typing import Any

import pandas as pd

from helpers.files import dump_json
from public.sets.rows import YES_NO, locate_folder, name_model, read_json

FOLDER = "agents/ai_market_oracle"
ADVICE = "its files are data/predictions and data/scores of github.com/aamilonas/ai-market-oracle"


def build() -> dict[str, dict[str, pd.DataFrame]]:
    """Return the tables of the set oracle: the calls that the project scored."""
    folder = locate_folder(FOLDER, ADVICE)
    marks = {row["prediction_id"]: row for row in read_json(folder / "scores.json")}
    given = [row for row in read_json(folder / "predictions.json") if row["id"] in marks]
    events, answers, predictions, runs = {}, {}, [], {}
    for row in sorted(given, key=lambda row: row["id"]):
        mark = marks[row["id"]]
        event_id = f"{row['date']}-{row['ticker']}-{row['timeframe']}-{row['id']}"
        events[event_id] = describe_event(row, event_id)
        outcome = int(mark["actual_direction"] == "up")
        value = dump_json("A" if outcome else "B")
        answers[event_id] = {"event_id": event_id, "value": value, "outcome": outcome, "status": "ok"}
        answers[event_id] |= {"close": mark["actual_close"]}
        run = describe_run(row["model"])
        runs[run["run_id"]] = run
        predictions.append(describe_call(row, mark, run["run_id"], event_id))
    tables = {"events": events.values(), "answers": answers.values(), "runs": runs.values()}
    made = {name: pd.DataFrame(list(rows)) for name, rows in tables.items()}
    return {"oracle": made | {"predictions": pd.DataFrame(predictions)}}


def describe_run(model: str) -> dict[str, Any]:
    """Return a model's row of the table runs."""
    about = name_model(f"oracle:{model}")
    return {
        "run_id": f"oracle-{model}",
        "agent_id": about["model"],
        "category": "think_search",
        **about,
        "harness": "AI Market Oracle",
        "search": "provider",
        "sees_price": True,
        "origin": "imported",
        "status": "complete",
    }


def describe_event(row: dict[str, Any], event_id: str) -> dict[str, Any]:
    """Return a call's question; calls of one day on one ticker depend on each other."""
    return {
        "event_id": event_id,
        "cluster_id": row["date"],
        "source_id": row["ticker"],
        "family": "market",
        "domain": "Finance",
        "kind": "single",
        "options": YES_NO,
        "horizon": row["timeframe"],
        "as_of": f"{row['date']}T00:00:00+00:00",
        "guess": 0.5,
    }


def describe_call(row: dict[str, Any], mark: dict[str, Any], run_id: str, event_id: str) -> dict[str, Any]:
    """Return a call as a forecast of a rise."""
    confidence = row["confidence"]
    made = {"run_id": run_id, "event_id": event_id, "sample": 0, "score_source": float(mark["direction_correct"])}
    made |= {"direction": row["direction"], "confidence": confidence}
    made |= {"price_called": row["current_price_at_prediction"]}
    if row["direction"] not in ("up", "down") or confidence is None:
        return made | {"status": "unparsable"}
    p_yes = confidence if row["direction"] == "up" else 1 - confidence
    return made | {"status": "ok", "p_yes": round(p_yes, 6)}
