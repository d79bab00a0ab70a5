"""Accuracy of answers by task against the most frequent answer."""

import pandas as pd
import pytest

from helpers.proof_of_time import baselines


def test_a_solver_is_compared_with_the_floor_in_pairs_by_source():
    ids = [f"{source}{at}" for source in "abcdefghijkl" for at in range(4)]
    table = pd.DataFrame({"id": ids, "task": "bucket", "source": [name[0] for name in ids], "target": "A"})
    said = {"majority": "AABB" * 12, "better": "AAAB" * 6 + "AAAA" * 6, "alike": "BAAB" * 10}
    told = [(name, solver, answer) for solver, own in said.items() for name, answer in zip(ids, own, strict=False)]
    scored = baselines.score_answers(table, pd.DataFrame(told, columns=["id", "solver", "answer"]))
    rows = baselines.compare_with_floor(scored).set_index("solver")
    assert rows.loc["better", ["difference", "verdict"]].tolist() == [pytest.approx(0.375), "holds"]
    assert rows.loc["alike", ["difference", "verdict", "n"]].tolist() == [0, "inconclusive", 40]
    few = baselines.compare_with_floor(scored[scored["source"] < "j"])
    assert set(few["verdict"]) == {"inconclusive"} and few["low"].isna().all()
