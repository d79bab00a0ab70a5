"""Facts of committed tables and sets (facts.jsonl), and of sets built again from public files where
these are.

What a fact `is` was counted by another path: in the files of other projects, by plain pandas, by
statsmodels.
"""

import os
from functools import cache

import pandas as pd
import pytest
from builders import read_cases

from helpers.files import ROOT
from helpers.public_files import MIRROR
from helpers.sets import load_set


@cache
def read_rows(place):
    """Return the rows of a committed file or set."""
    return pd.read_csv(ROOT / place) if "/" in place else load_set(place).rows()


@pytest.fixture(scope="module")
def build_rows(tmp_path_factory):
    """Return a function: a builder's sets made in an empty folder, the rows of one."""
    if not os.environ.get(MIRROR):
        pytest.skip("needs the projects' files")
    from public.sets import build

    @cache
    def make(builder, name):
        build.build_sets(builder)
        return load_set(name).rows()

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAYBEFORE_OUT", str(tmp_path_factory.mktemp("built")))
        yield make


def count(rows, fact):
    """Return a number, a list, {group: number}, or of a pair of runs [the mean change, its
    rows]."""
    rows = rows.query(fact["where"], engine="python") if "where" in fact else rows
    rows = rows.drop_duplicates(fact["once"]) if "once" in fact else rows
    if "pair" in fact:
        off, on = fact["pair"]
        wide = rows.pivot(index="event_id", columns="run_id", values=fact["column"])
        change = (wide[on] - wide[off]).dropna()
        return [change.mean(), len(change)]
    values = rows.eval(fact["column"], engine="python")
    groups = values.groupby(rows[fact["by"]]) if "by" in fact else values
    found = getattr(groups, fact["how"])()
    return {str(name): value for name, value in found.items()} if "by" in fact else found


@pytest.mark.parametrize(
    "fact", read_cases(__file__, "facts"), ids=lambda fact: f"{fact['of']}: {fact['why']}"
)
def test_a_fact_is_what_its_rows_say(fact, request):
    builder = fact.get("builder")
    rows = (
        request.getfixturevalue("build_rows")(builder, fact["of"])
        if builder
        else read_rows(fact["of"])
    )
    found = count(rows, fact)
    if isinstance(fact["is"], dict):
        found = {name: found.get(name) for name in fact["is"]}
    assert found == (
        pytest.approx(fact["is"], abs=fact["within"], rel=0) if "within" in fact else fact["is"]
    )
