"""Questions of three markets, in the form of their APIs and written for these tests; what is wrong
is named."""

import pytest
from builders import read_cases

from daybefore.formats.market_questions import list_markets
from helpers.input_faults import open_type

MARKETS = {row["venue"]: row for row in read_cases(__file__, "market_rows")}


@pytest.mark.parametrize("case", read_cases(__file__, "market_events"))
def test_a_question_becomes_an_event_with_its_answer_and_the_price_of_its_first_option(case):
    row = MARKETS[case["venue"]]["row"] | case["changes"]
    ((event, found, price, _),), out = list_markets([row], case["venue"])
    assert {name: event[name] for name in case["event"]} == case["event"] and not out
    assert (found and found["value"]) == case["answer"]
    assert price == pytest.approx(case.get("price", price))


def test_of_thousands_of_questions_each_types_validator_is_built_once():
    row = MARKETS["polymarket"]["row"]
    list_markets([row], "polymarket")
    n_built = open_type.cache_info().misses  # else 4,000 questions take minutes
    found, _ = list_markets([row | {"conditionId": f"0x{n}"} for n in range(50)], "polymarket")
    assert len(found) == 50 and open_type.cache_info().misses == n_built


@pytest.mark.parametrize(
    "case", read_cases(__file__, "market_refusals"), ids=lambda case: case["said"]
)
def test_one_row_that_cannot_be_read_leaves_the_others(case):
    row = MARKETS[case["venue"]]["row"]
    found, ((_, said),) = list_markets([row, row | case["changes"]], case["venue"])
    assert len(found) == 1 and said.startswith(case["said"])
