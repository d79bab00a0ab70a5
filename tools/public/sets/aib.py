"""LLM forecasting benchmark: Metaculus' AI benchmark of 2024's third and fourth quarter, prompts
and five repeats.

A run is a model under a prompt (`variant`); its repeats are `sample` 0 to 4. A value above 100 is
no probability (`unparsable`), a blank one is missing.
"""

import io
import re
from pathlib import Path

import pandas as pd

from public.sets.rows import (
    YES_NO,
    answer_yes_no,
    describe_run,
    locate_folder,
    name_model,
    read_bytes,
)

FOLDER = "agents/llm_forecasting_benchmark_aib"
ADVICE = "its files are those of github.com/jannalulu/llm-forecasting-benchmark"
FILES = {
    "aibq3_outcomes": ("first prompt", {"gpt": "gpt", "claude": "claude-old"}),
    "aibq3_outcomes_past_4osonnet": ("direct", {"gpt": "gpt", "claude": "claude-old"}),
    "aibq3_outcomes_past_claude_sonnet": ("direct", {"claude": "claude-new"}),
    "aibq3_outcomes_past_claude_haiku": ("direct", {"claude": "haiku"}),
    "aibq3_outcomes_past_deepseekv3": ("direct", {"deepseekv3": "deepseekv3"}),
    "aibq3_outcomes_conf_4o": ("with confidence", {"gpt": "gpt"}),
    "aibq3_outcomes_narrative_4o": ("narrative", {"gpt": "gpt"}),
    "aibq3_outcomes_narrative_claude_sonnet": ("narrative", {"claude": "claude-old"}),
    "aibq3_outcomes_narrative1_4o": ("second narrative", {"gpt": "gpt"}),
    "aibq3_outcomes_narrative1_claude_sonnet": ("second narrative", {"claude": "claude-old"}),
    "aibq4_outcomes_past_gemini_flash2": ("direct", {"geminiflash2": "geminiflash2"}),
}
"""File -> its prompt, and the models that its columns name."""


def build() -> dict[str, dict[str, pd.DataFrame]]:
    """Return the tables of the set aib."""
    folder = locate_folder(FOLDER, ADVICE)
    outcomes = pd.concat(
        [read_outcomes(folder, quarter) for quarter in ("aibq3", "aibq4")], ignore_index=True
    )
    outcomes = outcomes.sort_values("event_id", ignore_index=True)
    events = outcomes[["event_id", "round"]].assign(
        cluster_id=outcomes["event_id"], source_id="metaculus", family="market", **YES_NO
    )
    answers = answer_yes_no(outcomes.set_index("event_id")["resolution"].to_dict())
    parts = [read_runs(folder, name) for name in FILES]
    runs = pd.concat([part[0] for part in parts], ignore_index=True)
    predictions = pd.concat([part[1] for part in parts], ignore_index=True)
    predictions = predictions[predictions["event_id"].isin(events["event_id"])].reset_index(
        drop=True
    )
    return {"aib": {"events": events, "answers": answers, "runs": runs, "predictions": predictions}}


def read_outcomes(folder: Path, quarter: str) -> pd.DataFrame:
    """Return a quarter's resolved questions: event_id, resolution, round."""
    given = pd.read_csv(folder / f"{quarter}_resolutions.csv", dtype={"question_id": str})
    given = given.drop_duplicates("question_id").rename(columns={"question_id": "event_id"})
    return given[["event_id", "resolution"]].assign(round=quarter)


def read_runs(folder: Path, name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return (runs, predictions) of a file of outcomes."""
    prompt, models = FILES[name]
    text = read_bytes(folder / f"{name}.csv")
    table = pd.read_csv(io.BytesIO(text), dtype=str, engine="python", on_bad_lines="skip")
    runs, predictions = [], []
    for column in table.columns:
        found = re.fullmatch(r"([a-z0-9]*?)(\d)_(?:final|prob)", column)
        if not found:
            continue
        spelling = f"aib:{models[found[1]]}"
        run_id = f"{name.split('_')[0]}-{models[found[1]]}-{prompt.replace(' ', '-')}"
        agent_id = f"{name_model(spelling)['model']}, {prompt}, {name.split('_')[0][-2:].upper()}"
        about = {"agent_id": agent_id, "variant": prompt}
        runs.append(describe_run(run_id, spelling, "llm-forecasting-benchmark", "dated", **about))
        p_yes = (pd.to_numeric(table[column], errors="coerce") / 100).round(6)
        is_valid = p_yes.between(0, 1)
        predictions.append(
            pd.DataFrame(
                {
                    "run_id": run_id,
                    "event_id": table["question_id"],
                    "sample": int(found[2]),
                    "status": is_valid.map({True: "ok", False: "unparsable"}).mask(
                        p_yes.isna(), "missing"
                    ),
                    "p_yes": p_yes.where(is_valid),
                }
            )
        )
    return pd.DataFrame(runs).drop_duplicates("run_id"), pd.concat(predictions, ignore_index=True)
