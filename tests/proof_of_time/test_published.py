"""What is made of the printed tables: the widest interval of a change, and what no other
configuration beats."""

import numpy as np
import pandas as pd
import pytest

from studies.proof_of_time import published


def test_the_bound_is_the_largest_error_that_two_shares_allow():
    n, before, after = 40, 12, 20
    errors = []
    for both in range(max(0, before + after - n), min(before, after) + 1):
        changes = (
            [1] * (after - both) + [-1] * (before - both) + [0] * (n - before - after + 2 * both)
        )
        errors.append(np.std(changes) / np.sqrt(n))
    assert published.bound_change(before / n, after / n, n) == pytest.approx(max(errors))


def test_what_costs_no_less_and_gains_no_more_is_not_on_the_frontier(monkeypatch):
    rows = pd.DataFrame({"provider": "p", "model": list("abcde"), "limit": 15})
    shares = rows.assign(share=[5, 5, 7, 6, 7], low=[4, 4, 5.5, 3, 6], high=[6, 5.4, 8, 9, 8])
    monkeypatch.setattr(published, "list_limits", lambda: shares)
    monkeypatch.setattr(published, "list_tokens", lambda: rows.assign(per_question=[1, 2, 2, 3, 4]))
    table = published.list_configurations()
    assert table["is_frontier"].tolist() == [True, False, True, False, False]
    assert table["may_be"].tolist() == [True, False, True, True, True], (
        "by an interval wholly above"
    )
