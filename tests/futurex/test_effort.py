"""What runs took: a page of later is named, effort is a mean a question."""

import pandas as pd
import pytest

from studies.futurex.effort import check_pages_read, measure_usage

STEPS = [
    ("e1", "tool", "search", '["p1","p2"]', None, None),
    ("e1", "model", None, None, 100, 30.0),
    ("e2", "tool", "open", '["p2"]', None, None),
    ("e2", "model", None, None, 300, 60.0),
]
NAMES = ["event_id", "step_type", "tool", "page_ids", "n_input_tokens", "duration_s"]
TRACES = pd.DataFrame(STEPS, columns=NAMES).assign(run_id="r1", n_output_tokens=5)
PREDICTIONS = pd.DataFrame({"event_id": ["e1", "e2"], "run_id": "r1", "agent_id": "a"})
PREDICTIONS["as_of"] = "2016-10-10T00:00:00+08:00"
PAGES = pd.DataFrame(
    {
        "page_id": ["p1", "p2"],
        "published_at": ["2016-10-09T23:59:59+08:00", "2016-10-01T00:00:00+08:00"],
    }
)


@pytest.mark.parametrize("moment", ["2016-10-10T00:00:00+08:00", "2016-10-09T16:00:01Z", None])
def test_a_page_that_is_not_earlier_than_its_question_is_named(moment):
    assert check_pages_read(TRACES, PREDICTIONS, PAGES) == (2, 2)
    later = PAGES.assign(published_at=[moment, PAGES["published_at"][1]])
    with pytest.raises(ValueError, match="e1 was asked as of 2016-10-10T00:00:00.*page p1"):
        check_pages_read(TRACES, PREDICTIONS, later)
    with pytest.raises(ValueError, match="e1 was asked .*page p2"):
        check_pages_read(TRACES, PREDICTIONS, PAGES.iloc[:1])


def test_effort_is_a_mean_over_questions():
    effort = measure_usage(TRACES, PREDICTIONS, {"r1": "a"}).loc["a"]
    assert effort.to_dict() == dict(zip(effort.index, [2, 0.5, 0.5, 1, 200, 10, 45], strict=True))
    assert (
        effort.index.tolist()
        == "n queries opened requests tokens_read tokens_written seconds".split()
    )
