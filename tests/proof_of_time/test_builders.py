"""Builders: what is asked and what is right, on tables small enough to check by eye; ties are
rejected."""

import numpy as np
import pandas as pd
import pytest

from studies.proof_of_time import builders
from studies.proof_of_time.builders import Pool, build_articles, build_sets
from studies.proof_of_time.instances import NONE, find_misfits

WORDS = {
    "name": "Papers",
    "one": "paper",
    "measure": "number of citations",
    "span": "by 2025-11-01",
}
POOL = Pool("acl", "2025-01-01", [], WORDS | {"criteria": "what a search shows"})


def make_items(values, **columns):
    names = [f"p{at}" for at in range(len(values))]
    return pd.DataFrame(
        {"item": names, "text": [f"paper {name}" for name in names], "value": values}
    ).assign(**{"group": "acl"} | columns)


def check(instances):
    assert not [fault for instance in instances for fault in find_misfits(instance._asdict())]
    assert len({instance.id for instance in instances}) == len(instances)
    return instances


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_most_and_order_take_candidates_of_one_group_and_letters_do_not_tell(rng):
    items = make_items(list(range(16)), group=["a"] * 8 + ["b"] * 8)
    most = build_sets(POOL, items, rng, 40, "most_of_four")
    assert len(check(most)) == 40 and {one.target for one in most} == set("ABCD")
    for one in most:
        at = [int(name[1:]) for name in one.metadata["items"].values()]
        assert len({number < 8 for number in at}) == 1
        assert (one.metadata["items"][one.target], one.choices[one.target]) == (
            f"p{max(at)}",
            f"paper p{max(at)}",
        )
    for one in check(build_sets(POOL, items, rng, 10, "full_order")):
        at = [int(one.metadata["items"][letter][1:]) for letter in one.target]
        assert at == sorted(at, reverse=True) and len(at) == 4


def test_ranges_are_half_open_and_spread_over_the_classes(rng):
    made = check(
        builders.build_buckets(POOL, make_items([0, 9, 10, 49, 50, 199, 200, 5000]), rng, 8)
    )
    right = {instance.metadata["items"][""]: instance.target for instance in made}
    assert right == dict(zip([f"p{at}" for at in range(8)], "AABBCCDD", strict=True))
    few = builders.build_buckets(POOL, make_items([1] * 20 + [300]), rng, 4)
    assert sorted(instance.target for instance in few) == ["A", "A", "A", "D"]
    scores = builders.build_buckets(
        POOL, make_items([0, 20, 79.9, 80, 100]), rng, 9, task="frontier_bucket"
    )
    assert sorted(instance.target for instance in check(scores)) == ["A", "B", "D", "E", "E"]
    with pytest.raises(ValueError, match="101 lies in no bucket"):
        builders.build_buckets(POOL, make_items([101]), rng, 1, task="frontier_bucket")


def make_records(owners, **columns):
    names = [f"r{at}" for at in range(len(owners))]
    table = pd.DataFrame(
        {"record": names, "text": [f"record {name}" for name in names], "owners": owners}
    )
    return table.assign(**{"group": "g"} | columns)


def test_an_article_is_the_persons_or_none_is(rng):
    records = make_records([{"p0"}] + [{f"x{at}"} for at in range(9)], group=["g"] * 7 + ["h"] * 3)
    seen = set()
    for _ in range(60):
        made = build_articles(POOL, make_items([0, 0]), records, rng, 2)
        (instance,) = check(made)  # p1 has no record
        items = instance.metadata["items"]
        assert not {"r7", "r8", "r9"} & set(items.values()), "candidates are of one group"
        assert list(instance.choices) == list("ABCDE") and instance.choices["E"] == NONE
        assert ("r0" in items.values()) == (instance.target != "E")
        assert instance.target == "E" or items[instance.target] == "r0"
        seen.add(instance.target)
    assert seen == set("ABCDE")
