"""GPT-5's 92 answers by FutureX's two scorers: the committed table, and again from the raw files by plain pandas."""

import ast
import gzip
import json

import pandas as pd
import pytest
from builders import AGENTS, make_event, needs_public

from helpers.files import dump_json
from helpers.public_files import read_public
from helpers.tables import check_table
from studies.futurex.scorers import compare_scorers, rank_scorers


def test_agents_are_ranked_on_what_both_scorers_score():
    events = pd.DataFrame([make_event(event_id=f"e{n}", kind="ranking", level=3, options=None) for n in range(3)])
    rows = [{"event_id": f"e{n}", "value": dump_json(["a", "b"]), "status": "ok"} for n in range(3)]
    answers = check_table("answers", pd.DataFrame(rows))
    said = [("near", f"e{n}", ["b", "a"]) for n in range(3)]  # 0.8 three times by the paper
    said += [("sharp", "e0", ["a", "b"]), ("sharp", "e1", ["x", "y"]), ("sharp", "e2", ["x", "y"])]
    predictions = pd.DataFrame(
        [
            {"run_id": agent, "agent_id": agent, "event_id": event, "sample": 0, "value": dump_json(value)}
            for agent, event, value in said
        ]
    ).assign(status="ok")
    table = rank_scorers(compare_scorers(predictions, answers, events)).set_index("agent_id")
    assert (table.loc["near", "rank_paper"], table.loc["near", "rank_code"]) == (1, 2)
    assert table.loc["near", "paper"] == pytest.approx(0.8) and table.loc["sharp", "code"] == pytest.approx(1 / 3)


@needs_public
def test_both_scores_again_from_the_raw_files():
    given = json.loads(gzip.decompress((AGENTS / "futurex_lanian/futurex_predictions.json.gz").read_bytes()))
    replies = pd.read_csv(
        AGENTS / "futurex_past_gpt5_miroflow/futurex_past_fast_eval_.csv.gz", header=None, dtype={3: str}
    ).set_index(0)[3]
    score = {}
    for row in given:
        truth, reply = ast.literal_eval(row["answer"]), str(replies[row["question_id"]])
        said = [part.strip() for part in reply.replace("，", ",").split(",")]
        if row["level"] <= 2:
            shared = len(set(truth) & set(said))
            f1 = 2 * shared / (len(truth) + len(said))
            exact = float(truth == said)
            paper = exact if row["level"] == 1 else f1
            code = exact if len(truth) == 1 else f1
        elif isinstance(truth[0], float):
            digits = reply.replace(",", "").replace("\\", "").rstrip("%").removesuffix("亿元")
            value = float(digits) if digits.replace(".", "").isdigit() else None
            spread = 0.05 * truth[0]
            paper, code = None, 0.0 if value is None else max(0.0, 1 - ((value - truth[0]) / spread) ** 2)
        else:
            low = [[name.casefold() for name in names] for names in (truth, said[: max(len(truth), 1)])]
            paper = 1.0 if low[0] == low[1] else 0.8 * len(set(low[0]) & set(low[1])) / len(truth)
            paper = float(truth == [reply]) if len(truth) == 1 else paper
            code = float(truth == said)
        score[row["question_id"]] = (row["level"], paper, code)
    plain = pd.DataFrame(score.values(), columns=["level", "paper", "code"]).astype(float)
    table = read_public("futurex_scorers").query("kind == 'all'").set_index("level")
    for level, part in plain.groupby("level"):
        assert table.loc[level, "code_all"] == pytest.approx(part["code"].mean(), abs=1e-6)
        assert table.loc[level, "paper"] == pytest.approx(part["paper"].mean(), abs=1e-6)
        assert table.loc[level, "n_both"] == part["paper"].notna().sum()
