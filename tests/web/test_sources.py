"""The registry is checked when it is read, and moments of publication are right to the minute."""

import pandas as pd
import pytest
from builders import read_cases

from daybefore.web.source_registry import compute_published_at, load_sources
from helpers.clock import stamp_moment
from helpers.files import ROOT

CLEMSON = (ROOT / "data/sources/clemson.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "case", read_cases(__file__, "wrong_sources"), ids=lambda case: case["new"]
)
def test_a_wrong_entry_is_named(tmp_path, case):
    assert case["old"] in CLEMSON
    (tmp_path / "clemson.toml").write_text(
        CLEMSON.replace(case["old"], case["new"], 1), encoding="utf-8"
    )
    with pytest.raises(ValueError, match=case["words"]) as caught:
        load_sources(tmp_path)
    assert str(caught.value).startswith("clemson.toml")


@pytest.mark.parametrize(
    "case", read_cases(__file__, "moments"), ids=lambda case: case["published_at"]
)
def test_publication_by_hand(case):
    (moment,) = compute_published_at(case["rule"], pd.Series([case["occurred_at"]]))
    assert stamp_moment(moment) == case["published_at"]
