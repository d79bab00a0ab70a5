"""Accuracy of answers by task against the most frequent answer."""

import pandas as pd
import pytest

from studies.proof_of_time import baselines
from studies.proof_of_time.instances import TASKS


def test_a_solver_is_compared_with_the_floor_in_pairs_by_source():
    ids = [f"{source}{at}" for source in "abcdefghijkl" for at in range(4)]
    table = pd.DataFrame(
        {"id": ids, "task": "bucket", "source": [name[0] for name in ids], "target": "A"}
    )
    said = {"majority": "AABB" * 12, "better": "AAAB" * 6 + "AAAA" * 6, "alike": "BAAB" * 10}
    told = [
        (name, solver, answer)
        for solver, own in said.items()
        for name, answer in zip(ids, own, strict=False)
    ]
    scored = baselines.score_answers(table, pd.DataFrame(told, columns=["id", "solver", "answer"]))
    rows = baselines.compare_with_floor(scored).set_index("solver")
    assert rows.loc["better", ["difference", "verdict"]].tolist() == [pytest.approx(0.375), "holds"]
    assert rows.loc["alike", ["difference", "verdict", "n"]].tolist() == [0, "inconclusive", 40]
    few = baselines.compare_with_floor(scored[scored["source"] < "j"])
    assert set(few["verdict"]) == {"inconclusive"} and few["low"].isna().all()


def test_accuracy_stands_by_family_and_task_beside_the_chance_of_the_same_instances():
    rows = [("impact", "most_of_four", 4), ("impact", "full_order", 4), ("value", "tier_pre", 4)]
    scored = pd.DataFrame(rows * 12, columns=["family", "task", "n_choices"])
    scored = scored.assign(solver="me", source=[f"s{at}" for at in range(36)], id=range(36))
    scored["target"] = scored["task"].map(
        {"most_of_four": "A", "full_order": "ABCD", "tier_pre": "B"}
    )
    scored["is_right"] = [at % 2 == 0 for at in range(36)]
    table = baselines.tabulate_parts(scored, TASKS).set_index(["family", "task"])
    assert table["n"].to_dict() == {
        ("all", "all"): 36,
        ("impact", "all"): 24,
        ("impact", "Citation MCQ"): 12,
        ("impact", "Citation Rank"): 12,
        ("value", "all"): 12,
        ("value", "Award (Pre-cutoff)"): 12,
    }
    assert table["chance"].round(4).tolist() == pytest.approx(
        [0.1806, 0.1458, 0.25, 0.0417, 0.25, 0.25], abs=1e-4
    )
    assert table.loc[("value", "all"), "above_chance"].startswith("+0.250 (")
