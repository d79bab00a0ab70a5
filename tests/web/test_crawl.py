"""What a crawl reads is what was published: extraction inverts rendering for every committed source."""

import pandas as pd
import pytest

from daybefore.web.sources import load_sources
from helpers.files import ROOT

SOURCES = load_sources()
MOMENTS = {
    "A": ("2016-10-10T00:00:00+08:00", "2016-11-08T00:00:00+08:00"),
    "C1": ("2026-05-26T00:00:00+08:00", "2026-06-09T00:00:00+08:00"),
    "C2": ("2026-10-05T00:00:00+08:00", "2026-10-19T00:00:00+08:00"),
}
CASES = [(n, m) for n, s in SOURCES.items() if s.form != "market" for w in s.windows for m in MOMENTS[w]]


@pytest.mark.parametrize(("name", "moment"), CASES)
def test_extraction_inverts_rendering(name, moment, world):
    source = SOURCES[name]
    observed = world().observe(name, moment)[0].dropna(subset="value")
    rows = pd.read_csv(ROOT / f"data/replay/{source.rows or name}.csv", dtype={"occurred_at": str, "entity": str})
    shown = rows[rows["occurred_at"].between(min(observed["occurred_at"]), max(observed["occurred_at"]))]
    wanted = shown.melt(["occurred_at", "entity"], list(source.variables), "variable", "value").dropna(subset="value")
    wanted["value"] = [
        float(f"{value:.{source.variables[name]['decimals']}f}")
        for name, value in zip(wanted["variable"], wanted["value"], strict=True)
    ]
    order = ["occurred_at", "entity", "variable"]
    left, right = (t.sort_values(order, ignore_index=True)[[*order, "value"]] for t in (observed, wanted))
    pd.testing.assert_frame_equal(left, right, check_dtype=False, check_exact=True)
    n_periods = observed["occurred_at"].nunique()
    earlier = rows[rows["occurred_at"] < min(observed["occurred_at"])]
    assert n_periods == source.history or earlier.empty or earlier["occurred_at"].max() < "2020" < moment
