"""Check the rows of a source (data/replay/*.csv) before a page is made of them: file, row and column of a fault."""

import csv
from datetime import datetime

import pandas as pd

from helpers.calendar import ZONE
from helpers.faults import Problems, check_sheet, describe_problem, find_faults, open_sheet, raise_all
from helpers.question_sets import WINDOWS
from helpers.tables import Date, Moment, Number, time_of
from helpers.web.replay import SHOWN_DAYS
from helpers.web.sources import compute_published_at, locate_rows

Time = time_of(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", datetime.fromisoformat, "a time such as 2016-10-09T17:00")


def check_rows(source, window):
    """Raise Problems with what is wrong with a source's rows, or when they say nothing in a window.

    A market's rows are written by the kit (tools/slice) and have columns of their own: only dates are checked.
    """
    path, names = locate_rows(source), [] if source.form == "market" else list(source.variables)
    needs = ["occurred_at", "entity", *names]
    table = open_sheet(path, needs)
    if len(table.columns) == 1:
        raise_all(describe_separator(path.name, table.columns[0]))
    key = [] if source.form == "market" else needs[:2]
    found = list(check_sheet(path.name, table, needs, filled=needs[:2], key=key))
    if not set(needs) <= set(table.columns):
        raise Problems(found)
    kinds = {"occurred_at": Time if source.is_hourly else Date, "known_at": Moment} | dict.fromkeys(names, Number)
    for column in [column for column in kinds if column in table]:
        cells = table.loc[table[column] != "", column]
        wrong = find_faults(cells.tolist(), list[kinds[column]])
        found += [describe_problem(path.name, cells.index[at], column, words) for (at,), words in wrong]
    raise_all(found)
    raise_all(check_span(source, path.name, table["occurred_at"], window))


def describe_separator(file, head):
    """Yield a sentence when a header of one cell is split by something else than a comma."""
    known = {";": "a semicolon", "\t": "a tab", "|": "a bar"}
    try:
        sign = csv.Sniffer().sniff(head, "".join(known)).delimiter
    except csv.Error:
        return
    yield describe_problem(file, None, head.split(sign)[0], f"columns are separated by {known[sign]}; write commas")


def check_span(source, file, occurred_at, window):
    """Yield a sentence when a page would show nothing on a window's first day: rows too late, or too old."""
    first = pd.Timestamp(WINDOWS[window][0], tz=ZONE)
    published = compute_published_at(source.publication, occurred_at)
    span = f"rows are published from {published.min():%Y-%m-%d} to {published.max():%Y-%m-%d}"
    if published.min() >= first:
        yield describe_problem(
            file, None, "occurred_at", f"{span}: none before window {window} begins on {first.date()}"
        )
    elif published.max() < first - pd.Timedelta(days=SHOWN_DAYS):
        said = f"{span}: none in the {SHOWN_DAYS} days before window {window} begins on {first.date()}"
        yield describe_problem(file, None, "occurred_at", said)
