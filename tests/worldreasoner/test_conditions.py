"""Conditions, points of a window, and the cutoff filter: edges on the day, and the paper's 525 pairs."""

import pandas as pd
from public.worldreasoner import count_kept, filter_pairs

from helpers import papers


def make_pairs(opens, cutoff, day="first"):
    questions = pd.DataFrame({"question_id": range(len(opens)), "opens_at": opens})
    return filter_pairs(questions, pd.DataFrame({"model": ["m"], "cutoff": [cutoff]}), day)


def test_a_question_that_opens_before_the_cutoff_is_left_out_and_one_of_the_day_stays():
    opens = ["2025-04-30", "2025-05-01", "2025-05-30", "2025-05-31"]
    assert make_pairs(opens, "2025-05")["is_kept"].tolist() == [False, True, True, True]
    assert make_pairs(opens, "2025-05", "last")["is_kept"].tolist() == [False, False, False, True]
    assert make_pairs(opens, "2025-05-30")["is_kept"].tolist() == [False, False, True, True], "a given day stays"
    assert make_pairs(opens, "2025-05-30", "last")["is_kept"].tolist() == [False, False, True, True]


def test_the_papers_counts_come_out_of_questions_that_open_as_it_says():
    """120 synthetic starts: 2 before October 2023, 12 before January 2025, 52 before May 2025, 65 before 31 August."""
    printed = papers.load_published("worldreasoner", "table7_caption_cutoffs")
    opens = ["2023-09-30"] * 2 + ["2024-12-31"] * 10 + ["2025-04-30"] * 40 + ["2025-08-30"] * 13 + ["2025-12-01"] * 55
    questions = pd.DataFrame({"question_id": range(120), "opens_at": opens})
    days = printed["cutoff_year_month"].replace("2025-08", "2025-08-31")  # the day its maker names
    models = pd.DataFrame({"model": printed["model"], "cutoff": days})
    found = count_kept(filter_pairs(questions, models))
    assert found["n_kept"].tolist() == printed["kept_pairs_of_120"].tolist()
    assert found["n_excluded"].tolist() == printed["excluded_pairs"].tolist()
    assert found["n_kept"].sum() == 108 + 108 + 68 + 68 + 118 + 55 == 525
