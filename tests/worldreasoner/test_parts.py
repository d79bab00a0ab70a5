"""What questions are made of: parts that add up, and the edges of the bands."""

import pandas as pd
import pytest

from helpers.worldreasoner.quality import SPANS, bound_days, count_parts, describe_events


def make_questions():
    opens = ["2026-01-01", "2026-01-01", "2026-01-01", None]
    ends = ["2026-01-31", "2026-02-01", "2026-04-02", "2026-04-02"]
    table = pd.DataFrame({"opens_at": opens, "resolves_at": ends, "type": ["binary", "binary", "quantity", None]})
    return table.assign(question_id=range(4), origin="series", domain=["a", "b", "b", "b"])


def test_parts_add_up_and_leave_blanks_out():
    parts = count_parts(make_questions())
    assert parts[parts["part"] == "horizon"]["hits"].tolist() == [1, 1, 1], "30 days, 31, 91"
    assert parts.groupby("part")["n"].first().to_dict() == {"type": 3, "origin": 4, "domain": 4, "horizon": 3}
    assert parts[parts["part"] == "domain"][["name", "hits"]].values.tolist() == [["b", 3], ["a", 1]]
    assert parts.groupby("part")["share"].sum().round(12).eq(1).all()
    with pytest.raises(ValueError, match="no question"):
        count_parts(make_questions().head(0))


def test_events_become_questions_of_the_papers_types():
    row = {"event_id": "e", "kind": "single", "options": '{"A":"Yes","B":"No"}', "source_id": "market", "domain": "x"}
    several = row | {"kind": "multi", "source_id": "manifold"}
    month = row | {"kind": "date", "options": None, "source_id": "brent"}
    table = describe_events(pd.DataFrame([row, several, month]).assign(opens_at="2026-01-01", resolves_at="2026-01-02"))
    assert table["type"].tolist() == ["binary", "none of the four", "timeframe"]
    assert table["origin"].tolist() == ["market", "market", "series"] and len(SPANS) == 3


def test_the_mean_of_the_last_band_is_bounded_by_what_the_others_can_take():
    low, high = bound_days((1, 1, 2), 100)
    assert (low, high) == ((400 - 30 - 90) / 2, (400 - 1 - 31) / 2)
