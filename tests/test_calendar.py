"""The dates that English texts name: one reader for replies, claims, pages and questions."""

import pytest

from helpers.calendar import find_dates, open_moment

FORMS = {
    "12 October 2016": (2016, 10, 12),
    "the 1st of Sept., 2016": (2016, 9, 1),
    "12-Oct-2016": (2016, 10, 12),
    "Oct. 3rd 2016": (2016, 10, 3),
    "MAY 5, 2016": (2016, 5, 5),
    "October 2016": (2016, 10, None),
    "3 March": (None, 3, 3),
    "2016-10-12T14:00:00+08:00": (2016, 10, 12),
}


@pytest.mark.parametrize("text", FORMS)
def test_a_date_is_read_in_each_of_its_forms_and_where_it_stands(text):
    (date,) = find_dates(f"By {text}: rain")
    assert date[:3] == FORMS[text]
    assert f"By {text}: rain"[date.start : date.end].strip("the ") in text


@pytest.mark.parametrize("text", ["now", "today", "12:30", None])
def test_a_text_that_would_read_the_clock_is_no_moment(text):
    with pytest.raises(ValueError, match="names no year"):
        open_moment(text)


@pytest.mark.parametrize("text", ["marching 12 men", "12 Octobers", "May", "112016-10-12", "2016-10-121", "12:30"])
def test_what_is_no_date_is_not_read(text):
    assert not find_dates(text)
