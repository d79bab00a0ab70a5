"""Thirty questions that people asked, and tasks made of those that ended, for LiveAgentBench's
workflow (notebook 30).

`python -m public.spdg_questions FOLDER` writes questions.jsonl, cases.jsonl and a sheet of prices a
case. Twenty are of ForecastBench's markets, five a market, with the outcome as answer; the task is
of the prices that the market had. Ten are of FutureX's examples, whose outcomes are not public: no
task can be made of them. The questions' words are not ours to pass on, so they stay in FOLDER.
`FOLDER JUDGE MINUTES` puts them through the workflow too: recordings lie in data/runs/30_spdg_own
(git ignores it), and ids and verdicts are kept (`VIEWS`).
"""

import json
import sys
from pathlib import Path

import pandas as pd

from helpers.files import dump_json, hash_text, locate_output
from helpers.public_files import locate_public
from public.market_questions import FILES, MARKETS, list_questions
from studies.liveagentbench import cases as inputs
from studies.liveagentbench.tasks import load_taskset
from studies.liveagentbench.workflow import run_workflow

PRICES, EXAMPLES = "forecastbench/market_price_history.csv", "futurex/questionData.json"
VIEWS = "data/spdg/asked_views.csv"
N_MARKET, N_EXAMPLES, N_DAYS = 5, 10, 6
"""Questions a market, examples, and the least days on which a market's price is known."""
TASK = """{question}

The file {file} has a line a day: the price of Yes at the market, 0 to 1. By how much did it change from {first} to {last}? Give the later price minus the earlier one, to 4 decimals."""  # noqa: E501
STEPS = [
    {"ability": "read", "environment": "spreadsheet"},
    {"ability": "calculate", "environment": "spreadsheet"},
]


def pick_markets(questions, prices):
    """Return the market questions: rows of question_id, prompt, answer ("Yes" or "No"), days (date,
    price).

    Questions ended with 0 or 1, after N_DAYS days or more of prices that changed; those first by
    digest are taken.
    """
    rows = []
    prices["value"] = prices["value"].astype(float)
    open_days, ends = prices[prices["resolved"] == 0], prices[prices["resolved"] == 1]
    ends = ends[ends["value"].isin([0, 1])].drop_duplicates("id").set_index("id")["value"]
    days = {
        key: part.sort_values("snapshot_date").drop_duplicates("snapshot_date")
        for key, part in open_days.groupby("id")
    }
    for row in sorted(questions.to_dict("records"), key=lambda row: hash_text(row["question_id"])):
        part = days.get(row["question_id"].rpartition(":")[2])
        n_taken = sum(each["market"] == row["market"] for each in rows)
        if (
            part is None
            or part["id"].iloc[0] not in ends
            or n_taken == N_MARKET
            or len(part) < N_DAYS
        ):
            continue
        if part["value"].iloc[0] != part["value"].iloc[-1]:
            answer = "Yes" if ends[part["id"].iloc[0]] else "No"
            rows.append(
                row
                | {
                    "answer": answer,
                    "days": part[["snapshot_date", "value"]].set_axis(["date", "price"], axis=1),
                }
            )
    return rows


def judge_questions(folder, judge, minutes):
    """Put a folder's questions through the workflow with a judge, live, and keep its views."""
    tasks, answers = load_taskset()
    asked = inputs.load_questions(Path(folder, "questions.jsonl"))
    made = inputs.load_cases(asked, tasks, answers, Path(folder, "cases.jsonl"))
    keep_views(
        run_workflow(asked, made, answers, judge, "30_spdg_own", live=True, minutes=minutes), judge
    )


def keep_views(views, judge):
    """Write the model's views (question_id, stage, is_kept, note, status) and whose they are as
    VIEWS; no words."""
    kept = views[views["judge"] == "model"].assign(judge=judge)
    kept.to_csv(locate_output(VIEWS), index=False, lineterminator="\n")


def main(folder, judge=None, minutes=10):
    """Write the questions, the cases and their sheets into a folder; a `judge` puts them through
    the workflow."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    sets = [json.loads(locate_public(name).read_text(encoding="utf-8")) for name in FILES]
    asked, cases, questions = [], [], list_questions(sets)
    prices = pd.read_csv(locate_public(PRICES), dtype={"id": str})
    for n, row in enumerate(pick_markets(questions[questions["market"].isin(MARKETS)], prices), 1):
        name, days = f"m{n:02}", row["days"]
        days.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
        asked.append({"question_id": name, "text": row["prompt"], "answer": row["answer"]})
        about = {"question": row["prompt"], "file": f"{name}.csv"}
        about |= {"first": days["date"].iloc[0], "last": days["date"].iloc[-1]}
        answer = f"{round(days['price'].iloc[-1] - days['price'].iloc[0], 4) + 0.0:.4f}"
        case = {
            "question_id": name,
            "task": TASK.format(**about),
            "answer": answer,
            "tool": "spreadsheet",
        }
        cases.append(
            case
            | {"files": [about["file"]], "as_of": f"{about['last']}T23:59:59+08:00", "steps": STEPS}
        )
    for n, row in enumerate(
        json.loads(locate_public(EXAMPLES).read_text(encoding="utf-8"))[::2][:N_EXAMPLES]
    ):
        asked.append({"question_id": f"x{n + 1:02}", "text": row["question"]})
    for name, rows in (("questions", asked), ("cases", cases)):
        lines = "".join(dump_json(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    print(f"{len(asked)} questions, {len(cases)} cases: {folder}")
    if judge:
        judge_questions(folder, judge, float(minutes))


if __name__ == "__main__":
    main(*sys.argv[1:])
