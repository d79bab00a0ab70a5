"""No check that cannot fail: each claim is tried with every value it refers to changed by a half,
one at a time.

A claim that holds and that no such change moves is seen at a glance (2,008 sites are more than
195): it stands in data/papers/read.csv with its reason and counts as read, not as recomputed. A
claim that does not hold must be one that could: it does when its value is set to what was
recomputed, or an operand to what it is held against.
"""

import pandas as pd
import pytest
from builders import read_cases

from helpers import papers
from helpers.input_faults import read_sheet
from studies.audit.ledger import DATE, build_ledger, judge_claim, load_claims, resolve_claim


def change(value):
    """The changed values of one: a number by a half, a date by 400 days, a text by a name in it."""
    if not isinstance(value, str):
        return [1.5 * value, 0.5 * value] if value else [0.5, -0.5]
    if DATE.fullmatch(value):
        return [str((pd.Timestamp(value) + pd.Timedelta(days=days)).date()) for days in (400, -400)]
    return [value.rpartition("|")[0] or "another", f"{value}|another"]


def judge(claim, value, groups):
    """The verdict, "broken" where a check cannot be made of changed values."""
    try:
        return judge_claim(claim, value, groups)[1]
    except (ValueError, TypeError, AttributeError, ArithmeticError):
        return "broken"


def count_moving(claim, paper):
    """(verdict, references of a claim, how many of them, changed, change it)."""
    value, groups = resolve_claim(claim, paper)
    recomputed, verdict = judge_claim(claim, value, groups)
    if verdict == "not recomputable":
        return verdict, 0, 0
    operands = [
        [list(values) for values in zip(*map(change, group), strict=True)] for group in groups
    ]
    values = [] if value is None else change(value)
    if verdict != "consistent":  # what should mend it
        values += [] if value is None else [recomputed]
        for group, changed in zip(groups, operands, strict=True):
            changed.append(group[:1] if value is None else [value])
    moving = [any(judge(claim, changed, groups) != verdict for changed in values)]
    for at, tried in enumerate(operands):
        others = [[*groups[:at], changed, *groups[at + 1 :]] for changed in tried]
        moving.append(any(judge(claim, value, changed) != verdict for changed in others))
    return verdict, len(groups) + (value is not None), sum(moving)


@pytest.mark.parametrize("case", read_cases(__file__, "moving"))
def test_a_claim_that_no_change_moves_is_told_from_one_that_moves(case):
    claim = {"id": "x", "tolerance": ""} | case
    assert list(count_moving(claim, "futurex")[1:]) == case["counts"]


def test_a_verdict_that_nothing_moves_is_marked_as_read_and_every_claim_that_does_not_hold_could():
    claims = [
        (claim, paper)
        for paper in papers.list_papers()
        for claim in load_claims(paper).to_dict("records")
    ]
    table = pd.DataFrame(
        [count_moving(*one) for one in claims], [claim["id"] for claim, _ in claims]
    )
    verdict, n_moving = table[0], table[2]
    marked = read_sheet(papers.FOLDER / "read.csv", ("id", "why"), key=["id"], filled=("why",))[
        "id"
    ]
    assert set(table.index[(n_moving == 0) & (verdict != "not recomputable")]) == set(marked)
    assert (verdict[marked] == "consistent").all()
    bases = build_ledger().set_index("id").loc[marked, "basis"]
    assert (bases == "read in words").mean() > 0.9 and "recomputed" not in set(bases)
    wrong = verdict.isin(["inconsistent", "two readings"])
    assert wrong.sum() >= 60 and (n_moving[wrong] > 0).all()
