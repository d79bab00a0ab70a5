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
from public.market_questions import FILES, list_questions
from studies.liveagentbench import user_questions as inputs
from studies.liveagentbench.task_workflow import run_workflow
from studies.liveagentbench.tasks import load_taskset

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
    """Return (the market questions, the prices of their open days): question_id, market, prompt,
    key, answer ("Yes" or "No"); id, date, price.

    Questions ended with 0 or 1, after N_DAYS days or more of prices that changed; those first by
    digest are taken.
    """
    prices = prices.rename(columns={"snapshot_date": "date", "value": "price"})
    prices = prices.astype({"price": float})
    ends = prices[(prices["resolved"] == 1) & prices["price"].isin([0, 1])]
    ends = ends.drop_duplicates("id").set_index("id")["price"].map({1: "Yes", 0: "No"})
    days = prices[prices["resolved"] == 0].sort_values("date").drop_duplicates(["id", "date"])
    paths = days.groupby("id")["price"].agg(["size", "first", "last"])
    moved = paths.index[(paths["size"] >= N_DAYS) & (paths["first"] != paths["last"])]
    key = questions["question_id"].str.rpartition(":")[2]
    ended = questions.assign(
        key=key, answer=key.map(ends), at=questions["question_id"].map(hash_text)
    )
    ended = ended[key.isin(moved)].dropna(subset="answer").sort_values("at")
    return ended.groupby("market").head(N_MARKET), days


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
    given = [json.loads(locate_public(name).read_text(encoding="utf-8")) for name in FILES]
    prices = pd.read_csv(locate_public(PRICES), dtype={"id": str})
    questions, days = pick_markets(list_questions(given), prices)
    asked = []
    cases = []
    for n, row in enumerate(questions.to_dict("records"), 1):
        name = f"m{n:02}"
        sheet = days.loc[days["id"] == row["key"], ["date", "price"]]
        sheet.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
        asked.append({"question_id": name, "text": row["prompt"], "answer": row["answer"]})
        first, last = sheet["date"].iloc[[0, -1]]
        about = {"question": row["prompt"], "file": f"{name}.csv", "first": first, "last": last}
        answer = f"{round(sheet['price'].iloc[-1] - sheet['price'].iloc[0], 4) + 0.0:.4f}"
        case = {"question_id": name, "task": TASK.format(**about), "answer": answer}
        case |= {"tool": "spreadsheet", "files": [about["file"]]}
        cases.append(case | {"as_of": f"{last}T23:59:59+08:00", "steps": STEPS})
    examples = json.loads(locate_public(EXAMPLES).read_text(encoding="utf-8"))[::2]
    for n, row in enumerate(examples[:N_EXAMPLES], 1):
        asked.append({"question_id": f"x{n:02}", "text": row["question"]})
    for name, rows in (("questions", asked), ("cases", cases)):
        lines = "".join(dump_json(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    print(f"{len(asked)} questions, {len(cases)} cases: {folder}")
    if judge:
        judge_questions(folder, judge, float(minutes))


if __name__ == "__main__":
    main(*sys.argv[1:])
