"""What runs took and lack: a page of later is named, effort is a mean a question, missing predictions are counted."""

import pandas as pd
import pytest

from helpers.stats.usage import check_pages_read, measure_usage


def make_traces():
    return pd.DataFrame(
        [
            {"run_id": "r1", "event_id": "e1", "step_type": "tool", "tool": "search", "page_ids": '["p1","p2"]'},
            {"run_id": "r1", "event_id": "e1", "step_type": "model", "n_input_tokens": 100, "duration_s": 30.0},
            {"run_id": "r1", "event_id": "e2", "step_type": "tool", "tool": "open", "page_ids": '["p2"]'},
            {"run_id": "r1", "event_id": "e2", "step_type": "model", "n_input_tokens": 300, "duration_s": 60.0},
        ]
    ).assign(n_output_tokens=5)


PREDICTIONS = pd.DataFrame(
    {
        "run_id": "r1",
        "agent_id": "a",
        "event_id": ["e1", "e2"],
        "as_of": "2016-10-10T00:00:00+08:00",
        "status": ["ok", "refusal"],
    }
)
PAGES = pd.DataFrame(
    {"page_id": ["p1", "p2"], "published_at": ["2016-10-09T23:59:59+08:00", "2016-10-01T00:00:00+08:00"]}
)


@pytest.mark.parametrize("moment", ["2016-10-10T00:00:00+08:00", "2016-10-09T16:00:01Z", None])
def test_a_page_that_is_not_earlier_than_its_question_is_named(moment):
    assert check_pages_read(make_traces(), PREDICTIONS, PAGES) == (2, 2)
    later = PAGES.assign(published_at=[moment, "2016-10-01T00:00:00+08:00"])
    with pytest.raises(ValueError, match="e1 was asked as of 2016-10-10T00:00:00.*page p1"):
        check_pages_read(make_traces(), PREDICTIONS, later)
    with pytest.raises(ValueError, match="e1 was asked .*page p2"):
        check_pages_read(make_traces(), PREDICTIONS, PAGES.iloc[:1])


def test_effort_is_a_mean_over_questions():
    effort = measure_usage(make_traces(), PREDICTIONS, {"r1": "a"})
    assert effort.loc["a"].to_dict() == {
        "n": 2, "queries": 0.5, "opened": 0.5, "requests": 1, "tokens_read": 200, "tokens_written": 10, "seconds": 45
    }  # fmt: skip
