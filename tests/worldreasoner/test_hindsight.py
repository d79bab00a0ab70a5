"""Hindsight graphs of the replay: only what is one daily number has one, and only named series may be causes."""

import pytest

from helpers import store
from helpers.worldreasoner.graphs import check_form
from helpers.worldreasoner.hindsight import build_hindsight, list_neighbours, read_series


@pytest.fixture(scope="module")
def events():
    return store.read_table("events", "A").set_index("event_id", drop=False)


def test_a_question_about_a_number_has_a_graph_of_its_domain(events):
    graph, tests = build_hindsight(events.loc["A-1010-national_clinton_change"].to_dict(), "Yes")
    assert check_form(graph)["outcome_id"].endswith("_outcome")
    assert set(tests["effect"]) == {"us_polls_national clinton"} and "tweet_counts tweets" in set(tests["cause"])
    named = {"us_polls_national clinton", *tests["cause"]}
    assert {node["title"].rsplit(" ", 2)[0] for node in graph["nodes"] if node["type"] == "Indicator"} <= named
    assert max(node["occurred_at"] for node in graph["nodes"]) == "2016-10-11"


def test_a_ranking_has_none_and_neither_has_a_short_series(events):
    assert build_hindsight(events.loc["A-1010-avocado_risers"].to_dict(), "x") is None
    assert read_series("weather_bwi", "no such") is None and read_series("ecb_fixings", "rate") is None
    assert "clemson tmax" in list_neighbours("weather_bwi", "Weather")
    assert "weather_bwi tmax" not in list_neighbours("weather_bwi", "Weather")
