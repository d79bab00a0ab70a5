"""The published tables: names that meet, sizes that fit, widest intervals, verdicts that can go each way."""

import numpy as np
import pytest

from helpers.proof_of_time import published


def test_the_bound_is_the_largest_error_that_two_shares_allow():
    n, before, after = 40, 12, 20
    errors = []
    for both in range(max(0, before + after - n), min(before, after) + 1):
        changes = [1] * (after - both) + [-1] * (before - both) + [0] * (n - before - after + 2 * both)
        errors.append(np.std(changes) / np.sqrt(n))
    assert published.bound_change(before / n, after / n, n) == pytest.approx(max(errors))
