"""Markets: pressure and moves by hand, the authors' questions with known answers, change points."""

import numpy as np
import pandas as pd
import pytest
from public.price_moves import measure_moves, score_alignment

from helpers.worldreasoner.hindsight.matching import match_events
from helpers.worldreasoner.prices import find_turning_points


def make_nodes(*rows):
    """(day, sign, impact) of events n0, n1, ..."""
    table = pd.DataFrame(rows, columns=["day", "sign", "impact"]).astype(float)
    return table.assign(question_id="q", node_id=[f"n{at}" for at in range(len(rows))])


def make_prices(*rows, question="q"):
    return pd.DataFrame(rows, columns=["day", "price"]).astype(float).assign(question_id=question)


@pytest.mark.parametrize(
    ("prices", "move", "usable"),
    [
        ([(9, 0.5), (11, 0.53)], 0.03, True),  # at the least move
        ([(9, 0.5), (11, 0.529)], 0.029, False),
        ([(7, 0.5), (13, 0.6)], 0.1, True),  # three days are near
        ([(6.9, 0.5), (13, 0.6)], None, False),
        ([(7, 0.5), (13.1, 0.6)], None, False),
        ([(8, 0.2), (9, 0.5), (11, 0.6), (12, 0.9)], 0.1, True),  # the nearest ones
        ([(9, 0.5), (10, 0.7), (11, 0.9)], 0.0, False),  # a price of that very moment is both
        ([(9, 0.5)], None, False),
    ],
)
def test_the_local_move_is_between_the_nearest_prices(prices, move, usable):
    (row,) = measure_moves(make_nodes((10, 1, 0.5)), make_prices(*prices)).to_dict("records")
    assert row["move"] == pytest.approx(move if move is not None else np.nan, nan_ok=True)
    assert row["is_usable"] == usable


def test_a_move_agrees_with_its_sign_and_what_has_none_is_left_out():
    prices = make_prices((1, 0.5), (3, 0.4), (5, 0.6))
    table = measure_moves(make_nodes((2, 1, 0.5), (4, 1, 0.5), (2, -1, 0.5), (4, 0, 0.5), (4, 1, 0.0)), prices)
    assert dict(zip(table["node_id"], table["agrees"], strict=True)) == {"n0": False, "n1": True, "n2": True}
    assert measure_moves(make_nodes((2, 1, 0.5)), prices.assign(question_id="p"))["before"].isna().all()


# --- turning points, alignment ---------------------------------------------------------------------------------------


def test_planted_change_points_are_found_and_noise_is_not():
    pytest.importorskip("ruptures", reason="no release of ruptures for this Python")
    rng = np.random.default_rng(0)
    levels = np.repeat([0.3, 0.6, 0.45], [30, 25, 40])
    found = find_turning_points(np.arange(95.0), levels + rng.normal(0, 0.01, 95))
    assert found == [30.0, 55.0]
    still = [len(find_turning_points(np.arange(60.0), rng.normal(0.5, 0.02, 60))) for _ in range(20)]
    assert np.mean(still) < 2
    assert find_turning_points(np.arange(60.0), np.full(60, 0.5)) == []
    assert find_turning_points(np.arange(9.0), np.arange(9.0)) == [], "too few for two segments"


def make_submissions():
    """Question q: n0 and n1 aligned, n2 against its move, n3 undated; run r says five events, run s none, t on p one.

    r0 matches n0 and r1 n2 (not aligned); r2 is undated and r3 shares no word with any, r4 tells
    of n0 too, on a day further off. t0 has no aligned event to hit.
    """
    nodes = make_nodes((5, 1, 0.5), (15, 1, 0.5), (25, 1, 0.5), (np.nan, 1, 0.5))
    nodes = nodes.assign(text=["alpha rises", "beta rises", "gamma rises", "delta rises"], is_outcome=False)
    prices = make_prices((4, 0.1), (6, 0.3), (14, 0.3), (16, 0.5), (24, 0.5), (26, 0.2))
    said = pd.DataFrame(
        [("r", "q", "alpha", 6.0), ("r", "q", "gamma", 25.0), ("r", "q", "delta", np.nan), ("r", "q", "zeta", 15.0)]
        + [("r", "q", "alpha", 8.0)]
        + [("t", "p", "alpha", 5.0)],
        columns=["run_id", "question_id", "text", "day"],
    ).assign(node_id=["r0", "r1", "r2", "r3", "r4", "t0"])
    submissions = pd.DataFrame({"run_id": ["r", "s", "t"], "question_id": ["q", "q", "p"]})
    return measure_moves(nodes, prices), match_events(nodes, said), said, submissions


def test_market_recall_and_precision_by_hand():
    moves, pairs, said, submissions = make_submissions()
    table = score_alignment(moves, pairs, said, submissions)
    assert table[["n_aligned", "n_said", "n_matched"]].to_numpy().tolist() == [[2, 5, 1], [2, 0, 0], [0, 1, 0]]
    assert table["recall"].tolist() == pytest.approx([1 / 2, 0, np.nan], nan_ok=True)
    assert table["precision"].tolist() == pytest.approx([1 / 5, np.nan, 0], nan_ok=True)
