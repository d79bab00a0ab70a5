"""Cutoffs: edges on the day, and the paper's 525 pairs."""

import pandas as pd
import pytest

from helpers import papers
from studies.worldreasoner.own_runs import count_kept, date_cutoff, keep_questions


@pytest.mark.parametrize(
    ("cutoff", "day", "kept"),
    [
        ("2025-05", "first", ["05-01", "05-30", "05-31"]),
        ("2025-05", "last", ["05-31"]),
        ("2025-05-30", "first", ["05-30", "05-31"]),  # a given day stays
        ("2025-05-30", "last", ["05-30", "05-31"]),
        (None, "first", ["04-30", "05-01", "05-30", "05-31"]),
    ],
)
def test_a_question_that_opens_before_the_cutoff_is_left_out_and_one_of_the_day_stays(
    cutoff, day, kept
):
    days = ["04-30", "05-01", "05-30", "05-31"]
    questions = pd.DataFrame({"event_id": days, "opens_at": [f"2025-{day}" for day in days]})
    first = date_cutoff(cutoff, day)
    about = {"date": first, "is_filtered": cutoff is not None, "n": 4, "n_kept": len(kept)}
    assert keep_questions(questions, first) == (set(kept), about)


def test_the_papers_counts_come_out_of_questions_that_open_as_it_says():
    """120 synthetic starts: 2 before October 2023, 12 before January 2025, 52 before May 2025, 65
    before 31 August."""
    printed = papers.load_published("worldreasoner", "table7_caption_cutoffs")
    starts = {"2023-09-30": 2, "2024-12-31": 10, "2025-04-30": 40, "2025-08-30": 13}
    starts = pd.Series(starts | {"2025-12-01": 55})
    questions = pd.DataFrame({"opens_at": starts.index.repeat(starts)}).rename_axis("event_id")
    days = printed["cutoff_year_month"].replace("2025-08", "2025-08-31")  # the day its maker names
    found = count_kept(questions.reset_index(), printed[["model"]].assign(cutoff=days))
    assert found["n_kept"].tolist() == printed["kept_pairs_of_120"].tolist()
    assert found["n_excluded"].tolist() == printed["excluded_pairs"].tolist()
    assert found["n_kept"].sum() == 108 + 108 + 68 + 68 + 118 + 55 == 525
