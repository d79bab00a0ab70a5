"""Facts of a set of earnings questions, by hand."""

import pandas as pd
import pytest

from studies.futurex.experts import describe_questions


def test_facts_of_earnings_worked_by_hand():
    beside = pd.DataFrame(
        {"event_id": ["a", "b"], "item": ["A", "B"], "metric": ["revenue", "eps"]}
    )
    beside["consensus"], beside["actual"] = [90.0, 150.0], [100.0, 100.0]
    answers = pd.DataFrame({"event_id": ["a", "b"], "spread": [20.0, 10.0]})
    facts = describe_questions(answers, beside).set_index("fact")["value"]
    assert facts["asks for revenue"] == 0.5
    assert facts["score of the consensus"] == pytest.approx(0.75 / 2)
    assert facts["capped error of the consensus"] == pytest.approx((0.1 + 0.3) / 2)
    assert facts["actual above the consensus"] == 0.5
