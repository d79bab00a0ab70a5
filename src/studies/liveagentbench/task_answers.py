"""What can be asked of rows (occurred_at, entity, value): the largest, a mean, a change; and the
answer as text."""

import re

import numpy as np

from helpers.files import dump_json, parse_json


def take_extreme(table, sign, k=1):
    """Return place k of a table (label, value) by value, from the top (sign 1) or the bottom (-1).

    Raises ValueError for a tie.

    >>> import pandas as pd
    >>> take_extreme(pd.Series({"a": 3.0, "b": 5.0, "c": 1.0}), 1, 2)
    'a'
    """
    ordered = (sign * table).sort_values(ascending=False, kind="stable")
    value = ordered.iloc[k - 1]
    if (np.isclose(ordered, value)).sum() > 1:
        raise ValueError(f"place {k} is tied at {sign * value}, so the answer is not unique")
    return ordered.index[k - 1]


def index_values(rows, by):
    """Return the values by entity (of one moment), or by occurred_at (of one entity) in order.

    Raises ValueError for rows of several moments, or entities.
    """
    if by == "entity" and rows["occurred_at"].nunique() != 1:
        raise ValueError("entities can be compared at one moment only")
    if by == "occurred_at" and rows["entity"].nunique() != 1:
        raise ValueError("a series is of one entity")
    values = rows.set_index(by)["value"]
    return values.sort_index() if by == "occurred_at" else values


def find_mover(rows, arg):
    """Return the entity whose value rose most between the first and the last date."""
    wide = rows.pivot(index="occurred_at", columns="entity", values="value").sort_index()
    return take_extreme(wide.iloc[-1] - wide.iloc[0], 1)


def find_gap(rows, arg):
    """Return the first entity's value less the second's, in the order in which `arg` (or the rows)
    names them."""
    values = index_values(rows, "entity")
    first, second = arg or list(values.index)
    return values[first] - values[second]


ASKS = {
    "value": lambda rows, arg: rows["value"].item(),  # ValueError for several rows
    "highest": lambda rows, arg: take_extreme(index_values(rows, "entity"), 1),
    "lowest": lambda rows, arg: take_extreme(index_values(rows, "entity"), -1),
    "rank": lambda rows, arg: take_extreme(index_values(rows, "entity"), 1, int(arg)),
    "peak": lambda rows, arg: take_extreme(index_values(rows, "occurred_at"), 1),
    "trough": lambda rows, arg: take_extreme(index_values(rows, "occurred_at"), -1),
    "mover": find_mover,
    "max": lambda rows, arg: rows["value"].max(),
    "min": lambda rows, arg: rows["value"].min(),
    "range": lambda rows, arg: rows["value"].max() - rows["value"].min(),
    "total": lambda rows, arg: rows["value"].sum(),
    "mean": lambda rows, arg: rows["value"].mean(),
    "change": lambda rows, arg: (
        index_values(rows, "occurred_at").iloc[-1] - index_values(rows, "occurred_at").iloc[0]
    ),
    "above": lambda rows, arg: int((rows["value"] > float(arg)).sum()),
    "rises": lambda rows, arg: int((index_values(rows, "occurred_at").diff() > 1e-9).sum()),
    "gap": find_gap,
}
"""What can be asked: function of rows and an argument (a place, a bound, two entities)."""
COUNTS = ("above", "rises")
"""Asks whose answer is a count."""


def format_answer(value, decimals):
    """Return an answer as text.

    >>> format_answer("2016-10-05T14:00", 0), format_answer(-0.0001, 2), format_answer(1234.5, 2)
    ('2016-10-05 14:00', '0.00', '1234.50')
    """
    if isinstance(value, str):
        return re.sub(r"^([-\d]{10})T", r"\1 ", value)
    return f"{round(float(value), decimals) + 0.0:.{decimals}f}"


def write_truth(text):
    """Return a true answer as the answers table holds it: JSON, a number with its decimals as they
    are.

    >>> print(write_truth("12.50"), write_truth("Oslo"), write_truth("2016-10-05"))
    12.50 "Oslo" "2016-10-05"
    """
    return text if re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", text) else dump_json(text)


def list_truths(answers):
    """Return the true answers of an answers table as written: a Series by event_id.

    >>> import pandas as pd
    >>> list(list_truths(pd.DataFrame({"event_id": ["a", "b"], "value": ["12.50", '"Oslo"']})))
    ['12.50', 'Oslo']
    """
    return answers.set_index("event_id")["value"].map(
        lambda cell: parse_json(cell) if cell[0] == '"' else cell
    )
