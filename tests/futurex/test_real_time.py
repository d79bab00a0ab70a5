"""The caching proxy and the staleness it causes, on a synthetic source whose truth is known to the
minute."""

import numpy as np
import pandas as pd
import pytest
from builders import open_sites

from daybefore.web import replay
from daybefore.web import source_registry as registry
from daybefore.web.cache import Cache
from studies.futurex import real_time
from studies.futurex.real_time import (
    answer_page,
    connect_near,
    follow_clock,
    list_queries,
    score_answers,
    summarize_agents,
)

TOPIC = ("keywest_water", "Key West", "temperature", "water temperature")
DAY = "2016-10-12"


@pytest.fixture
def synthetic(sources, monkeypatch):
    """A synthetic hourly source: the value of an hour is its number since the start, published on
    the hour (UTC)."""
    hours = pd.date_range("2016-10-11T00:00", "2016-10-14T00:00", freq="h")
    rows = pd.DataFrame({"occurred_at": hours.strftime("%Y-%m-%dT%H:%M"), "entity": "Key West"})
    rows["temperature"] = np.arange(len(rows), dtype=float)
    source = sources["keywest_water"].model_copy(
        update={"publication": {"lag_minutes": 0, "timezone": "UTC"}}
    )
    rows["published_at"] = registry.compute_published_at(source.publication, rows["occurred_at"])
    for module in (replay, real_time):
        monkeypatch.setattr(module, "read_rows", lambda _: rows.copy())
    return {source.id: source}


def make_queries(sources, n=24):
    return list_queries(sources, DAY, DAY, n, 10, np.random.default_rng(0), topics=[TOPIC])


def ask(crawler, queries, visits=None):
    answers = follow_clock(crawler, queries, {"reads": answer_page}, visits)
    return score_answers(queries, answers).sort_values("as_of", ignore_index=True)


@pytest.mark.parametrize(
    ("ttl", "cycle"), [(0, [0]), (1, [0]), (6, [0, 1, 2, 3, 4, 5]), (2.5, [0, 1, 2])]
)
def test_a_cache_makes_answers_as_stale_as_its_time_to_live(synthetic, ttl, cycle):
    queries = make_queries(synthetic)
    with open_sites(synthetic) as direct:
        cache = Cache(direct.adapter, ttl)
        scored = ask(connect_near(cache, synthetic, [TOPIC]), queries)
    # the first query fetches; each hour the copy is an hour older, until it has reached its time to
    # live
    assert scored["staleness"].tolist() == (cycle * 24)[:24]
    assert (scored["value"] - scored["told"]).tolist() == scored["staleness"].tolist()
    assert cache.n_requests == 24
    assert cache.n_kept == (scored["staleness"] > 0).sum()


def test_a_cache_never_serves_what_is_later_than_the_request(synthetic):
    address = synthetic["keywest_water"].address
    with open_sites(synthetic) as direct:
        cache = Cache(direct.adapter, 24)
        gateway = connect_near(cache, synthetic, [TOPIC])
        late, early = (gateway.fetch(address, f"{DAY}T{hour}:10:00+08:00") for hour in (12, 9))
        again = gateway.fetch(address, f"{DAY}T13:10:00+08:00")
    assert early.published_at < late.published_at
    assert again.published_at == late.published_at  # the newest copy stayed
    assert cache.n_kept == 1


def test_a_summary_tells_exact_and_stale_answers():
    queries = pd.DataFrame({"query_id": ["q0", "q1"], "source_id": ["a", "b"]})
    queries = queries.assign(occurred_at="2016-10-12T05:00", value=7.0)
    told = [("q0", "poor", "2016-10-12T05:00", 7.0), ("q1", "poor", "2016-10-12T02:00", 6.0)]
    told += [("q0", "mute", None, None), ("q1", "mute", None, None)]
    answers = pd.DataFrame(told, columns=["query_id", "agent", "told_at", "told"])
    scored = score_answers(queries, answers).assign(access="direct")
    poor, mute = summarize_agents(scored).drop(columns=["access", "agent"]).values.tolist()
    assert poor == [2, 2, 1.0, 0.5, 1.5]
    assert mute[:4] == [2, 2, 0, 0] and np.isnan(mute[4])
