"""Accuracy of answers by task, against the most frequent answer."""

import pandas as pd
import pytest

from helpers.proof_of_time import baselines


def test_a_solver_is_compared_with_the_floor_in_pairs_by_source():
    ids = [f"{source}{at}" for source in "abcdefghijkl" for at in range(4)]
    table = pd.DataFrame({"id": ids, "task": "bucket", "source": [name[0] for name in ids], "target": "A"})
    answers = [
        pd.DataFrame({"id": ids, "solver": "majority", "answer": ["A", "A", "B", "B"] * 12}),
        pd.DataFrame({"id": ids, "solver": "better", "answer": (["A", "A", "A", "B"] * 6 + ["A"] * 4 * 6)}),
        pd.DataFrame({"id": ids[:40], "solver": "alike", "answer": ["B", "A", "A", "B"] * 10}),
    ]
    scored = baselines.score_answers(table, pd.concat(answers))
    rows = baselines.compare_with_floor(scored).set_index("solver")
    assert rows.at["better", "difference"] == pytest.approx(0.375) and rows.at["better", "verdict"] == "holds"
    assert rows.at["alike", "difference"] == 0 and rows.at["alike", "verdict"] == "cannot tell"
    assert rows.at["alike", "n"] == 40
    few = baselines.compare_with_floor(scored[scored["source"] < "j"])
    assert set(few["verdict"]) == {"cannot tell"} and few["low"].isna().all()
