"""Questions of three markets, in the form of their APIs and written for these tests; what is wrong
is named."""

import pytest
from builders import read_cases

from daybefore.formats.markets import list_markets
from helpers.faults import open_type

MARKETS = {row["venue"]: row for row in read_cases(__file__, "market_rows")}
REFUSED = read_cases(__file__, "market_refusals")


def make_row(case):
    return MARKETS[case["venue"]]["row"] | case["changes"]


def read_event(case):
    (found,), out = list_markets([make_row(case)], case["venue"])
    assert not out
    return found


@pytest.mark.parametrize(
    "case", read_cases(__file__, "market_events"), ids=lambda case: case["venue"]
)
def test_a_question_of_each_market_becomes_an_event_with_its_answer(case):
    event, found, *_ = read_event(case)
    assert {name: event[name] for name in case["event"]} == case["event"]
    assert (found and found["value"]) == case["answer"]


@pytest.mark.parametrize(
    "case", read_cases(__file__, "market_prices"), ids=lambda case: case["venue"]
)
def test_the_price_is_of_the_first_option_and_none_where_the_market_shows_none(case):
    assert read_event(case).price == (case["price"] and pytest.approx(case["price"]))


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["said"])
def test_one_row_that_cannot_be_read_leaves_the_others(case):
    found, ((_, said),) = list_markets(
        [MARKETS[case["venue"]]["row"], make_row(case)], case["venue"]
    )
    assert len(found) == 1 and said.startswith(case["said"])


def test_of_thousands_of_questions_each_types_validator_is_built_once():
    row = MARKETS["polymarket"]["row"]
    list_markets([row], "polymarket")
    n_built = open_type.cache_info().misses
    found, _ = list_markets([row | {"conditionId": f"0x{n}"} for n in range(50)], "polymarket")
    assert len(found) == 50 and open_type.cache_info().misses == n_built, (
        "else 4,000 questions take minutes"
    )
