"""No check that cannot fail: each claim is tried with every value it refers to changed by a half."""

import pytest
from audit.changing import measure_changes, measure_claim

from helpers.audit.ledger import build_ledger, resolve_claim
from helpers.faults import read_sheet
from helpers.papers import FOLDER


@pytest.fixture(scope="module")
def changes():
    return measure_changes()


def measure(kind, published, operands, tolerance=""):
    claim = {"id": "x", "kind": kind, "published": published, "operands": operands, "tolerance": tolerance}
    return measure_claim(claim, *resolve_claim(claim, "futurex"))


def test_a_claim_that_no_change_moves_is_told_from_one_that_moves():
    assert measure("sum", "25", "8; 7; 8; 2") == (5, 5)
    assert measure("order", "", "2008; 195") == (2, 0)
    assert measure("order", "", "200; 195") == (2, 2)
    assert measure("within", "5", "0; 12") == (3, 0)  # 2.5 and 7.5 are within too, as is 5 within 0.5 and 6
    assert measure("within", "5", "0; 7") == (3, 2)
    assert measure("same", "195", "195; 195") == (3, 3)
    assert measure("sum", "24", "8; 7; 8; 3") == (5, 1)  # it holds when 26 is printed, and by no change of a half


def test_a_verdict_that_nothing_moves_is_marked_as_read_and_no_other(changes):
    marked = read_sheet(FOLDER / "read.csv", ("id", "why"), key=["id"], filled=("why",))
    assert set(changes.loc[changes["n_moving"] == 0, "id"]) == set(marked["id"])
    assert (changes.set_index("id").loc[marked["id"], "verdict"] == "consistent").all()
    bases = build_ledger().set_index("id").loc[marked["id"], "basis"]
    assert (bases == "read in words").mean() > 0.9 and "recomputed" not in set(bases)


def test_every_claim_that_does_not_hold_could(changes):
    wrong = changes[changes["verdict"].isin(["inconsistent", "two readings"])]
    assert len(wrong) >= 60 and (wrong["n_moving"] > 0).all()
