"""The caching proxy and the staleness it causes, on a synthetic source whose truth is known to the
minute."""

import numpy as np
import pandas as pd
import pytest
from builders import open_sites

from daybefore.web import replay
from daybefore.web import sources as registry
from daybefore.web.cache import Cache
from studies.futurex import real_time
from studies.futurex.real_time import (
    answer_page,
    connect_near,
    follow_clock,
    list_queries,
    repeat_small,
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


def make_scored():
    """Synthetic: on five pages of eight queries one agent is always right, one on the first half of
    each, one mute."""
    queries = pd.DataFrame(
        {
            "query_id": [f"q{at}" for at in range(40)],
            "source_id": [f"s{at % 5}" for at in range(40)],
        }
    )
    queries = queries.assign(occurred_at="2016-10-12T05:00", value=7.0)
    good = queries[["query_id"]].assign(agent="good", told_at="2016-10-12T05:00", told=7.0)
    hours = ["2016-10-12T05:00"] * 20 + ["2016-10-12T02:00"] * 20
    poor = good.assign(agent="poor", told=[7.0] * 20 + [6.0] * 20, told_at=hours)
    mute = good.assign(agent="mute", told_at=None, told=np.nan)
    return score_answers(queries, pd.concat([poor, mute, good])).assign(access="direct")


def test_summary_ranks_and_small_samples_tell_little():
    scored = make_scored()
    table = summarize_agents(scored).set_index("agent")
    assert table["exact"].to_dict() == {"poor": 0.5, "mute": 0.0, "good": 1.0}
    assert table.loc["poor", "staleness"] == 1.5 and np.isnan(table.loc["mute", "staleness"])
    assert table.loc["poor", ["n", "n_pages"]].tolist() == [40, 5]
    assert table.loc["mute", "answered"] == 0
    small = repeat_small(scored, 1, np.random.default_rng(0), n_boot=8000)
    # with five queries the good one shares the first place where the poor one is right on all five:
    # 1 in 32
    assert small["n"] == 5 and small["best_shared"] == pytest.approx(1 / 32, abs=0.01)
    assert small["full_order"] == pytest.approx(1 - 2 / 32, abs=0.015)
