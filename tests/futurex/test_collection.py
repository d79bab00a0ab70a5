import pandas as pd
import pytest

from helpers.futurex import collection


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
