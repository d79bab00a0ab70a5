"""Can a check fail? Every value that a claim refers to is changed by a half, one at a time, and the verdict read again.

A claim that holds and that no such change moves is seen at a glance (2,008 sites are more than 195): it stands in
data/papers/read.csv with its reason and counts as read, not as recomputed. A claim that does not hold must be one that
could: it does when its value is set to what was recomputed, or an operand to what it is held against.
"""

import pandas as pd

from helpers import papers
from helpers.audit.ledger import DATE, judge_claim, load_claims, resolve_claim

FACTORS, HALF, N_DAYS = (1.5, 0.5), 0.5, 400
"""Numbers are multiplied by these; a nought is moved by a half either way; a date by so many days."""


def change_value(value):
    """Return the changed values of one printed value: a number by a half, a date by N_DAYS, a text by a name in it.

    >>> change_value(8.0), change_value(0), change_value("2025-01-01"), change_value("a|b")
    ([12.0, 4.0], [0.5, -0.5], ['2026-02-05', '2023-11-28'], ['a', 'a|b|another'])
    """
    if not isinstance(value, str):
        return [value * factor for factor in FACTORS] if value else [HALF, -HALF]
    if DATE.fullmatch(value):
        days = pd.Timedelta(days=N_DAYS)
        return [str((pd.Timestamp(value) + sign * days).date()) for sign in (1, -1)]
    return [value.rpartition("|")[0] or "another", f"{value}|another"]


def judge_changed(claim, value, groups):
    """Return the verdict, "broken" where a check cannot be made of changed values."""
    try:
        return judge_claim(claim, value, groups)[1]
    except (ValueError, TypeError, AttributeError, ArithmeticError):
        return "broken"


def list_changes(value, groups):
    """Yield (place, value, groups) with one reference changed; place 0 is the published value, the groups follow."""
    if value is not None:
        for changed in change_value(value):
            yield 0, changed, groups
    for at, group in enumerate(groups):
        for values in zip(*map(change_value, group), strict=True):
            yield at + 1, value, [*groups[:at], list(values), *groups[at + 1 :]]


def list_mends(claim, value, groups):
    """Yield (place, value, groups) that should make a claim hold, where its changes by a half do not."""
    if value is not None:
        yield 0, judge_claim(claim, value, groups)[0], groups
    for at, group in enumerate(groups):
        yield at + 1, value, [*groups[:at], [value] if value is not None else group[:1], *groups[at + 1 :]]


def measure_claim(claim, value, groups):
    """Return how many references a claim has and how many of them, changed, change its verdict."""
    verdict = judge_claim(claim, value, groups)[1]
    changes = [*list_changes(value, groups), *(() if verdict == "consistent" else list_mends(claim, value, groups))]
    moving = {place for place, new, others in changes if judge_changed(claim, new, others) != verdict}
    return len(groups) + (value is not None), len(moving)


def measure_changes():
    """Return a row a claim that has a verdict on two sides: id, paper, kind, verdict, n_references, n_moving."""
    rows = []
    for paper in papers.list_papers():
        for claim in load_claims(paper).to_dict("records"):
            value, groups = resolve_claim(claim, paper)
            verdict = judge_claim(claim, value, groups)[1]
            if verdict != "not recomputable":
                rows.append((claim["id"], paper, claim["kind"], verdict, *measure_claim(claim, value, groups)))
    return pd.DataFrame(rows, columns=["id", "paper", "kind", "verdict", "n_references", "n_moving"])
