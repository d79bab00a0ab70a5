"""Accuracy of answers by task against the most frequent answer; errors of the published tables."""

import numpy as np
import pandas as pd
import pytest

from helpers.proof_of_time import baselines, published


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


def test_the_bound_is_the_largest_error_that_two_shares_allow():
    n, before, after = 40, 12, 20
    errors = []
    for both in range(max(0, before + after - n), min(before, after) + 1):
        changes = [1] * (after - both) + [-1] * (before - both) + [0] * (n - before - after + 2 * both)
        errors.append(np.std(changes) / np.sqrt(n))
    assert published.bound_change(before / n, after / n, n) == pytest.approx(max(errors))
