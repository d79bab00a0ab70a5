"""How a run was asked stands in columns; what was stored before has it in words, and means the
same."""

import itertools

import pytest

from daybefore.agents.when_asked import describe_condition, fill_asked, tell_asked
from studies.worldreasoner.conditions import NAMES, plan_run

ARMS = [
    {},
    {"horizon": "Early"},
    {"horizon": "Near"},
    {"days_after": 7},
    {"query_of": "another", "horizon": "Late"},
]


@pytest.mark.parametrize("arm", ARMS)
def test_columns_and_words_say_the_same(arm):
    words = {"condition": describe_condition(arm)}
    columns = tell_asked(arm)
    assert fill_asked(words) == fill_asked(columns) == fill_asked(words | columns)


def test_each_condition_of_the_paper_says_its_moment_in_words_too():
    for name, horizon in itertools.product(NAMES, (None, "Early", "Late", "Near")):
        try:
            plan = plan_run(name, horizon, "L")
        except ValueError:
            continue  # that condition is asked at another moment
        assert (
            fill_asked({"condition": plan.label}).moment == fill_asked(tell_asked(plan.arm)).moment
        ), (name, horizon)
