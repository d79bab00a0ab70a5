"""TimeSeek: 150 Kalshi markets at five moments of their life, forecast with the price beside.

Rows of four models without tools; the files of the other runs hold summaries alone, which
`read_summaries` returns. An event is a market at a moment, `horizon` the moment.
"""

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd

from public.sets.rows import (
    YES_NO,
    answer_yes_no,
    describe_run,
    locate_folder,
    name_model,
    read_json,
)

FOLDER = "agents/timeseek_kalshi"
ADVICE = "its files are results and dataset of github.com/Hamza-Mos/hadc-bench"
MOMENTS = ("open_plus_1", "pct_25", "pct_50", "pct_75", "close_minus_1")


def build() -> dict[str, dict[str, pd.DataFrame]]:
    """Return the tables of the set timeseek."""
    folder = locate_folder(FOLDER, ADVICE)
    samples = read_json(folder / "dataset/benchmark_dataset_v2.json")["samples"]
    series = {row["ticker"]: (row["series_ticker"], row["category"]) for row in samples}
    events, outcomes, prices, predictions, runs = {}, {}, {}, [], []
    for path in sorted((folder / "results").glob("*/traces.json*")):
        run_id = f"timeseek-{path.parent.name.split('_', 4)[4]}"
        rows = read_json(path)
        runs.append(read_run(rows[0], run_id))
        for row in rows:
            event_id = f"{row['market_ticker']}@{row['temporal_days']}"
            events[event_id] = describe_event(row, event_id, *series[row["market_ticker"]])
            outcomes[event_id] = int(row["actual_outcome"])
            prices[event_id] = {
                "event_id": event_id,
                "at": events[event_id]["as_of"],
                "price": row["market_price"],
            }
            predictions.append(describe_forecast(row, run_id, event_id))
    tables = {
        "events": events.values(),
        "prices": prices.values(),
        "predictions": predictions,
        "runs": runs,
    }
    made = {name: pd.DataFrame(list(rows)) for name, rows in tables.items()}
    return {"timeseek": made | {"answers": answer_yes_no(outcomes)}}


def read_run(row: dict[str, Any], run_id: str) -> dict[str, Any]:
    """Return a run's row. The runs whose rows are published have no tools."""
    spelling = f"timeseek:{row['model_id']}"
    about = {
        "agent_id": f"{name_model(spelling)['model']}, no tools",
        "category": "base_model",
        "sees_price": True,
    }
    return describe_run(run_id, spelling, "TimeSeek", "none", **about)


def describe_event(
    row: dict[str, Any], event_id: str, series: str, category: str
) -> dict[str, Any]:
    """Return a market at a moment."""
    return {
        "event_id": event_id,
        "cluster_id": row["market_ticker"],
        "source_id": series,
        "family": "market",
        "domain": category,
        "prompt": row["question"],
        "horizon": row["temporal_days"],
        "as_of": f"{row['sample_date'][:19]}+00:00",
        "resolves_at": f"{row['close_date'][:19]}+00:00",
        **YES_NO,
    }


def describe_forecast(row: dict[str, Any], run_id: str, event_id: str) -> dict[str, Any]:
    """Return a forecast: the stated probability of yes, which `model_confidence` holds."""
    key = {"run_id": run_id, "event_id": event_id, "sample": 0}
    if not row["parse_success"]:
        return key | {"status": "unparsable", "p_filled": row["model_confidence"]}
    return key | {"status": "ok", "p_yes": row["model_confidence"]}


def read_summaries(folder: Path | None = None) -> pd.DataFrame:
    """Return the Brier scores of all runs by moment, as their summaries state them.

    model, has_tools, run, checkpoint (blank: all), n, brier, skill.
    """
    folder = folder or locate_folder(FOLDER, ADVICE)
    rows = []
    for path in sorted((folder / "results").glob("*/summary.json")):
        given = json.load(io.BytesIO(path.read_bytes()))
        for row in given["metrics"]:
            rows.append(
                {
                    "model": name_model(f"timeseek:{row['model_id']}")["model"],
                    "has_tools": given["config"]["tools_enabled"],
                    "run": path.parent.name,
                    "checkpoint": row["checkpoint"],
                    "n": row["n_samples"],
                    "brier": row["brier_score"],
                    "skill": row["brier_skill_score"],
                }
            )
    return pd.DataFrame(rows)
