"""Builders, baselines and the printed tables, on tables small enough to check by eye."""

import numpy as np
import pandas as pd
import pytest

from studies.proof_of_time import printed_tables
from studies.proof_of_time.build_instances import Pool, build_articles, build_buckets, build_sets
from studies.proof_of_time.instances import NONE, find_misfits

WORDS = {"name": "Papers", "one": "paper", "measure": "number of citations"}
WORDS |= {"span": "by 2025-11-01", "criteria": "what a search shows"}
POOL = Pool("acl", "2025-01-01", [], WORDS)


def make_items(values, group="acl"):
    table = pd.DataFrame({"item": [f"p{at}" for at in range(len(values))], "value": values})
    return table.assign(text="paper " + table["item"], group=group)


def check(instances):
    assert not [fault for instance in instances for fault in find_misfits(instance._asdict())]
    assert len({instance.id for instance in instances}) == len(instances)
    return instances


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_most_and_order_take_candidates_of_one_group_and_letters_do_not_tell(rng):
    items = make_items(list(range(16)), group=["a"] * 8 + ["b"] * 8)
    most = check(build_sets(POOL, items, rng, 40, "most_of_four"))
    assert len(most) == 40 and {one.target for one in most} == set("ABCD")
    for one in most:
        at = [int(name[1:]) for name in one.metadata["items"].values()]
        assert len({number < 8 for number in at}) == 1
        assert one.metadata["items"][one.target] == f"p{max(at)}"
        assert one.choices[one.target] == f"paper p{max(at)}"
    for one in check(build_sets(POOL, items, rng, 10, "full_order")):
        at = [int(one.metadata["items"][letter][1:]) for letter in one.target]
        assert at == sorted(at, reverse=True) and len(at) == 4


@pytest.mark.parametrize(
    ("values", "task", "n", "targets"),
    [
        ([0, 9, 10, 49, 50, 199, 200, 5000], "bucket", 8, "AABBCCDD"),
        ([1] * 20 + [300], "bucket", 4, "AAAD"),  # spread over the classes
        ([0, 20, 79.9, 80, 100], "frontier_bucket", 9, "ABDEE"),
    ],
)
def test_ranges_are_half_open_and_spread_over_the_classes(rng, values, task, n, targets):
    made = check(build_buckets(POOL, make_items(values), rng, n, task))
    order = sorted(made, key=lambda one: int(one.metadata["items"][""][1:]))
    assert [one.target for one in order] == list(targets)


def test_an_article_is_the_persons_or_none_is(rng):
    records = pd.DataFrame({"record": [f"r{at}" for at in range(10)]})
    records["owners"] = [{"p0"}] + [{f"x{at}"} for at in range(9)]
    records = records.assign(text="record " + records["record"], group=["g"] * 7 + ["h"] * 3)
    seen = set()
    for _ in range(60):
        (one,) = check(build_articles(POOL, make_items([0, 0]), records, rng, 2))  # p1 has none
        items = one.metadata["items"]
        assert not {"r7", "r8", "r9"} & set(items.values()), "candidates are of one group"
        assert list(one.choices) == list("ABCDE") and one.choices["E"] == NONE
        right = [letter for letter, record in items.items() if record == "r0"]
        assert [one.target] == (right or ["E"])
        seen.add(one.target)
    assert seen == set("ABCDE")


# --- what answers are held against ------------------------------------------------------------------


def test_the_bound_is_the_largest_error_that_two_shares_allow():
    n, before, after = 40, 12, 20
    errors = []
    for both in range(before + 1):
        lost, gained = before - both, after - both
        changes = [1] * gained + [-1] * lost + [0] * (n - gained - lost)
        errors.append(np.std(changes) / np.sqrt(n))
    assert printed_tables.bound_change(before / n, after / n, n) == pytest.approx(max(errors))


def test_what_costs_no_less_and_gains_no_more_is_not_on_the_frontier(monkeypatch):
    rows = pd.DataFrame({"provider": "p", "model": list("abcde"), "limit": 15})
    shares = rows.assign(share=[5, 5, 7, 4.5, 7], low=[4, 4, 5.5, 3, 6], high=[6, 5.6, 8, 5.4, 8])
    monkeypatch.setattr(printed_tables, "list_limits", lambda: shares)
    monkeypatch.setattr(
        printed_tables, "list_tokens", lambda: rows.assign(per_question=[1, 2, 2, 3, 4])
    )
    table = printed_tables.list_configurations()
    assert table["is_frontier"].tolist() == [True, False, True, False, False]
    may_be = [True, True, True, False, True]
    assert table["may_be"].tolist() == may_be, "by an interval wholly above"
