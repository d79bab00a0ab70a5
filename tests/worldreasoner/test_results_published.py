"""The authors' results at an earlier state beside the printed ones: planted counts come back, changed ones are seen."""

import pandas as pd
import pytest
from public.worldreasoner_states import count_results, split_changed

KEPT = pd.Series({"Gemini 3 Pro": 108, "DeepSeek V4 Flash": 68, "DeepSeek V4 Pro": 68})


def make_results(right, n=108, condition="Vanilla LLM"):
    """Synthetic: a condition's rows of the file, with the whole, from right answers by model."""
    names = ["Gemini Pro", "DeepSeek Flash", "DeepSeek Pro"]
    rows = [(condition, name, n, round(100 * k / n, 1)) for name, k in zip(names, right, strict=True)]
    rows.insert(0, (condition, "ALL", 3 * n, round(100 * sum(right) / (3 * n), 1)))
    return pd.DataFrame(rows, columns=["condition", "model", "n", "accuracy"])


def test_right_answers_are_counted_in_the_papers_names_and_must_add_up():
    counts = count_results(make_results([72, 64, 67]))
    assert counts["right"].tolist() == [72, 64, 67] and set(counts["condition"]) == {"Vanilla"}
    assert counts["model"].tolist() == list(KEPT.index)
    off = make_results([72, 64, 67])
    for percent in (67.6, 67.0):  # 73 of 108, and of no whole count
        off.loc[1, "accuracy"] = percent
        with pytest.raises(ValueError):
            count_results(off)


def test_planted_answers_to_left_out_pairs_come_back():
    counts = count_results(make_results([72, 64, 67]))
    printed = pd.Series({"Vanilla": round(100 * (72 + 36 + 37) / KEPT.sum(), 1)})
    sides = split_changed(counts, printed, KEPT)
    assert sides.iloc[0].to_dict() == {
        "condition": "Vanilla", "n_left_out": 80, "right_left_out": 58, "n_kept": 136, "right_kept": 73,
    }  # fmt: skip
