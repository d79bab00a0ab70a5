import pandas as pd
import pytest

from helpers.futurex import collection
from helpers.web.sources import load_sources


def make_events(**columns):
    n = len(next(iter(columns.values())))
    base = {
        "event_id": [f"A-1010-e{i}" for i in range(n)],
        "kind": ["number"] * n,
        "volatility_class": ["low"] * n,
        "level": [3] * n,
        "domain": ["Space"] * n,
        "subdomain": ["Space weather"] * n,
        "template_id": [f"t{i}" for i in range(n)],
        "resolves_at": ["2016-10-11T09:00:00+08:00"] * n,
    }
    return pd.DataFrame({**base, **columns})


def test_curation_counts_what_each_step_leaves_by_branch():
    rows = [
        ("A-1010-x", "frozen", True),
        ("A-1010-y", "binary", True),
        ("A-1010-z", "none", False),
        ("A-1010-market-q1", "harmful", True),
        ("A-1010-market-q2", "none", False),
    ]
    table = collection.count_curation(pd.DataFrame(rows, columns=["event_id", "filter", "is_dropped"]))
    left = table.pivot(index="step", columns="branch", values="n_left")
    assert left["template"].to_dict() == {
        "collected": 3,
        "cannot be asked": 2,
        "harmful or subjective": 2,
        "yes/no, downsampled": 1,
    }
    assert left.loc["harmful or subjective", "market"] == 1
    assert table["left_share"].tolist()[-1] == pytest.approx(1 / 3)


def test_sites_cover_the_window_and_the_papers_types():
    sites = collection.list_sites(load_sources(), "A")
    assert sites["source_id"].is_unique and sites["site_type"].nunique() == 5
    with pytest.raises(ValueError, match="no source covers window Z"):
        collection.list_sites(load_sources(), "Z")


def test_examples_do_not_come_from_one_template_twice():
    events = make_events(level=[3, 4, 4], prompt=["a?", "b?", "longer?"], template_id=["t", "t", "u"])
    assert collection.choose_examples(events, "level")["prompt"].tolist() == ["a?", "longer?"]
    assert collection.choose_examples(events.iloc[:2], "level")["prompt"].tolist() == ["a?", "b?"]


SCREENED = pd.DataFrame(
    [("A-1010-e0", "none", False), ("A-1010-e1", "binary", True), ("A-1010-market-q1", "harmful", True)],
    columns=["event_id", "filter", "is_dropped"],
)
SITES = pd.DataFrame({"n_daily": [2, 1], "n_weekly": [0, 1]})
