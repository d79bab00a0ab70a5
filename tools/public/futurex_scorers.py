"""GPT-5's answers to 92 of FutureX's questions with truth, by the paper's formulas and by the
public scorer."""

import ast
import gzip
import json
import re

import pandas as pd

from daybefore.live.prompt_kinds import read_shape
from daybefore.replies.parse_reply import parse_prediction
from helpers.files import dump_json
from helpers.public_files import locate_public
from helpers.tables import check_table
from studies.futurex.scorers import compare_scorers, tabulate_scorers

TRUTHS = "agents/futurex_lanian/futurex_predictions.json.gz"
REPLIES = "agents/futurex_past_gpt5_miroflow/futurex_past_fast_eval_.csv.gz"
SOURCES = {"futurex_scorers": [TRUTHS, REPLIES]}
COLUMNS = ["event_id", "level", "harness", "reply"]
ASKED = re.compile(r"The event to be predicted: [\"“](.*?)[\"”]\s*IMPORTANT", re.DOTALL)
"""The question's own words within a prompt of levels 3 and 4."""


def build() -> dict[str, pd.DataFrame]:
    """Return both scores by level and kind, beside the harness's own, of the questions that both
    files have."""
    events, answers, predictions = build_tables(read_rows())
    rows = compare_scorers(predictions, answers, events)
    table = tabulate_scorers(rows, events)
    marks = rows.merge(events[["event_id", "harness"]], on="event_id")
    level, kind = (marks.groupby(by)["harness"].mean() for by in ("level", ["level", "kind"]))
    table["harness"] = [
        level[row["level"]] if row["kind"] == "all" else kind[row["level"], row["kind"]]
        for row in table.to_dict("records")
    ]
    return {"futurex_scorers": table}


def read_rows() -> pd.DataFrame:
    """Return a row a question: event_id, level, harness (score by its own rule), reply, question,
    truth (a list)."""
    replies = pd.read_csv(locate_public(REPLIES), header=None, names=COLUMNS, dtype={"reply": str})
    given = json.loads(gzip.decompress(locate_public(TRUTHS).read_bytes()))
    truths = pd.DataFrame(given)[["question_id", "question", "answer"]].rename(
        columns={"question_id": "event_id"}
    )
    rows = truths.merge(replies, on="event_id", validate="1:1")
    return rows.assign(truth=rows["answer"].map(ast.literal_eval))


def find_kind(level: int, truth: list) -> str:
    """Return the kind of a question: by its level and what its truth is."""
    if level <= 2:
        return "single" if level == 1 else "multi"
    if len(truth) > 1:
        return "ranking"
    return "number" if isinstance(truth[0], float) else "text"


def read_reply(row: dict, kind: str):
    """Return a reply's value as its kind has it, None where it holds none. Labels are left as they
    were written."""
    parts = [part.strip() for part in re.split(r"[,，]", str(row["reply"])) if part.strip()]
    if kind == "single":
        return parts[0] if len(parts) == 1 else ", ".join(parts)
    if kind in ("multi", "ranking"):
        return parts
    if kind == "text":
        return str(row["reply"]).strip()
    asked = ASKED.search(row["question"])
    unit = read_shape(asked[1] if asked else row["question"]).unit
    plain = (
        str(row["reply"]).replace("\\%", "%").rstrip("% ")
    )  # the questions ask for percent as a plain number
    return parse_prediction(f"\\boxed{{{plain}}}", "number", None, unit)


def build_tables(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return (events, answers, predictions) of `read_rows`. No spread is known: the files hold no
    earlier values."""
    events, answers, predictions = [], [], []
    for row in rows.to_dict("records"):
        kind = find_kind(row["level"], row["truth"])
        value = read_reply(row, kind)
        truth = row["truth"] if kind in ("multi", "ranking") else row["truth"][0]
        key = {"event_id": row["event_id"]}
        events.append(key | {"kind": kind, "level": row["level"], "harness": row["harness"]})
        answers.append(key | {"value": dump_json(truth), "status": "ok"})
        said = {
            "run_id": "gpt-5",
            "agent_id": "GPT-5",
            "sample": 0,
            "value": None if value is None else dump_json(value),
        }
        predictions.append(key | said | {"status": "missing" if value is None else "ok"})
    tables = (
        pd.DataFrame(events),
        check_table("answers", pd.DataFrame(answers)),
        pd.DataFrame(predictions),
    )
    return tables
