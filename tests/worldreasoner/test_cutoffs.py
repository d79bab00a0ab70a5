"""Cutoffs: edges on the day, and the paper's 525 pairs; the authors' results at an earlier
state."""

import pandas as pd
import pytest

from helpers import papers
from studies.audit.states import count_results, split_changed
from studies.worldreasoner.own_runs import count_kept, date_cutoff, keep_questions


@pytest.mark.parametrize(
    ("cutoff", "day", "kept"),
    [
        ("2025-05", "first", [False, True, True, True]),
        ("2025-05", "last", [False, False, False, True]),
        ("2025-05-30", "first", [False, False, True, True]),  # a given day stays
        ("2025-05-30", "last", [False, False, True, True]),
        (None, "first", [True] * 4),
    ],
)
def test_a_question_that_opens_before_the_cutoff_is_left_out_and_one_of_the_day_stays(
    cutoff, day, kept
):
    opens = ["2025-04-30", "2025-05-01", "2025-05-30", "2025-05-31"]
    questions = pd.DataFrame({"event_id": range(4), "opens_at": opens})
    first = date_cutoff(cutoff, day)
    found, about = keep_questions(questions, first)
    assert questions["event_id"].isin(found).tolist() == kept
    assert about == {"date": first, "is_filtered": cutoff is not None, "n": 4, "n_kept": sum(kept)}


def test_the_papers_counts_come_out_of_questions_that_open_as_it_says():
    """120 synthetic starts: 2 before October 2023, 12 before January 2025, 52 before May 2025, 65
    before 31 August."""
    printed = papers.load_published("worldreasoner", "table7_caption_cutoffs")
    opens = (
        ["2023-09-30"] * 2
        + ["2024-12-31"] * 10
        + ["2025-04-30"] * 40
        + ["2025-08-30"] * 13
        + ["2025-12-01"] * 55
    )
    days = printed["cutoff_year_month"].replace("2025-08", "2025-08-31")  # the day its maker names
    models = pd.DataFrame({"model": printed["model"], "cutoff": days})
    found = count_kept(pd.DataFrame({"event_id": range(120), "opens_at": opens}), models)
    assert found["n_kept"].tolist() == printed["kept_pairs_of_120"].tolist()
    assert found["n_excluded"].tolist() == printed["excluded_pairs"].tolist()
    assert found["n_kept"].sum() == 108 + 108 + 68 + 68 + 118 + 55 == 525


def test_right_answers_at_an_earlier_state_are_counted_and_those_to_left_out_pairs_come_back():
    right, kept = (
        [72, 64, 67],
        {"Gemini 3 Pro": 108, "DeepSeek V4 Flash": 68, "DeepSeek V4 Pro": 68},
    )
    names = ["ALL", "Gemini Pro", "DeepSeek Flash", "DeepSeek Pro"]
    rows = [("Vanilla LLM", name, n, round(100 * k / n, 1)) for name, n, k in
            zip(names, [324, 108, 108, 108], [sum(right), *right], strict=True)]  # fmt: skip
    results = pd.DataFrame(rows, columns=["condition", "model", "n", "accuracy"])
    counts = count_results(results)
    assert counts["right"].tolist() == right and set(counts["condition"]) == {"Vanilla"}
    assert counts["model"].tolist() == list(kept)
    for percent in (67.6, 67.0):  # 73 of 108, and of no whole count
        results.loc[1, "accuracy"] = percent
        with pytest.raises(ValueError):
            count_results(results)
    printed = pd.Series({"Vanilla": round(100 * (72 + 36 + 37) / 244, 1)})
    columns = ["n_left_out", "right_left_out", "n_kept", "right_kept"]
    assert split_changed(counts, printed, pd.Series(kept))[columns].iloc[0].tolist() == [
        80,
        58,
        136,
        73,
    ]
