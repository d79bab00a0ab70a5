"""The dates that English texts name: one reader for replies, claims, pages and questions."""

import pytest
from builders import read_cases

from helpers.clock import find_dates, open_moment


@pytest.mark.parametrize("case", read_cases(__file__, "dates"), ids=lambda case: case["text"])
def test_a_date_is_read_in_each_of_its_forms_and_where_it_stands_and_nothing_else_is(case):
    line = f"By {case['text']}: rain"
    found = find_dates(line)
    assert [list(date[:3]) for date in found] == ([case["date"]] if case["date"] else [])
    assert all(line[date.start : date.end].strip("the ") in case["text"] for date in found)


@pytest.mark.parametrize("text", ["now", "today", "12:30", None])
def test_a_text_that_would_read_the_clock_is_no_moment(text):
    with pytest.raises(ValueError, match="names no year"):
        open_moment(text)
