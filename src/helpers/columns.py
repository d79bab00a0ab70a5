"""What the columns of the tables may hold: the words, the ranges, which are moments and which JSON.

Each word of the contract has its one home here; `store.check_table` holds every table to it. A blank cell is missing,
which is always allowed here: what must not be blank is the key.
"""

import json
import re

import numpy as np
import pandas as pd

KINDS = ("single", "multi", "ranking", "list", "number", "percent", "interval", "date", "text")
"""What an event asks for; yes/no is single."""

LEVELS = (1, 2, 3, 4)

CATEGORIES = (
    "baseline",
    "base_model",
    "think_search",
    "open_deep_research",
    "closed_deep_research",
    "human",
    "scripted",
)
"""What an agent is: FutureX's four (3.2.3) and the kit's own."""

SEARCH_CATEGORIES = ("think_search", "open_deep_research", "closed_deep_research")
"""Those that look things up."""

REPLY_STATUSES = ("ok", "timeout", "refusal", "error", "over_budget", "message_limit", "unsupported", "unreadable")
"""How a reply can end; unreadable: what came is no reply of a model, though one may have answered."""

PREDICTION_STATUSES = (*REPLY_STATUSES, "unparsable", "missing")
"""How a prediction can: a reply that came may hold no valid answer; of one from elsewhere no reason may be known."""

ANSWER_STATUSES = ("ok", "crawl_error", "extraction_error", "not_published")
"""How the search for an answer, and each attempt at it, can end (FutureX 3.2.4)."""

RUN_STATUSES = ("partial", "complete")

SITE_TYPES = ("prediction_market", "news", "ranking", "government", "real_time")
"""FutureX's five types (3.2.1); `ranking` is its entertainment ranking."""

SPREAD_RULES = ("before_resolution", "before_start")
"""Window of the outcome's spread: the seven days before its date (the default), or before the start day."""

ROLES = ("opened", "found", "observed", "named")
"""How a page came to an agent, the closest first: opened by its address, a passage of it found by a search, read whole
as a source's page; or only named in what it wrote."""

HELD = "n"
"""What the page_id of a page begins with whose text is not ours to store: news that is fetched, a reader's articles."""

DIGEST = "sha256:"
"""How a cell begins that holds a text's digest in the text's place."""

NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")
"""What an agent, an arm, a source may be called: their names become names of files."""

DECODER = json.JSONDecoder()
MOMENT_FORM = r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[+-]\d\d:\d\d|Z)"


def check_name(what, name):
    """Return a name that may become a file's. Raises ValueError, saying what it names, for any other.

    >>> check_name("agent", "gpt-4.1_mini")
    'gpt-4.1_mini'
    >>> check_name("agent", "../evil")
    Traceback (most recent call last):
        ...
    ValueError: agent '../evil': a name is 1 to 64 letters (a to z), digits, _, - or ., and does not begin with .
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        shown = repr(name) if len(repr(name)) < 100 else f"{str(name)[:80]!r}..."
        raise ValueError(
            f"{what} {shown}: a name is 1 to 64 letters (a to z), digits, _, - or ., and does not begin with ."
        )
    return name


def check_shares(what, numbers):
    """Return numbers as an array of floats. Raises ValueError for one that is blank or no probability, and names it.

    >>> check_shares("p", [0.2, 1]).tolist()
    [0.2, 1.0]
    >>> check_shares("p", 1.5)
    Traceback (most recent call last):
        ...
    ValueError: p: 1.5 is no probability; it must lie between 0 and 1
    """
    found = np.asarray(numbers, dtype=float)
    wrong = ~((found >= 0) & (found <= 1))
    if wrong.any():
        raise ValueError(f"{what}: {found[wrong].flat[0]:g} is no probability; it must lie between 0 and 1")
    return found


def read_flags(what, cells):
    """Return flags as an array of bool. Raises ValueError for a blank one, and says which row's.

    >>> read_flags("is_outcome", [1, 0]).tolist()
    [True, False]
    >>> read_flags("is_outcome", [True, None])
    Traceback (most recent call last):
        ...
    ValueError: is_outcome is blank in row 2; say True or False
    """
    blank = np.asarray(pd.isna(cells))
    if blank.any():
        raise ValueError(f"{what} is blank in row {int(blank.argmax()) + 1}; say True or False")
    return np.asarray(cells).astype(bool)


def list_words(*words):
    """Return the rule that a cell is one of some words or numbers: (test, what is allowed), as the other rules do."""
    return lambda cells: cells.isin(words), "one of " + ", ".join(map(str, words))


def bound_numbers(low=-np.inf, high=np.inf, whole=False):
    """Return the rule that a cell is a finite number from `low` to `high`, a whole one if so said."""

    def test(cells):
        numbers = pd.to_numeric(cells, errors="coerce")
        return np.isfinite(numbers) & numbers.between(low, high) & (~np.bool_(whole) | (numbers % 1 == 0))

    bounds = f" from {low} to {high}" if high < np.inf else f" of {low} or more" if low > -np.inf else ""
    return test, ("a whole number" if whole else "a number") + bounds


def read_moments(pattern, allowed):
    """Return the rule that a cell is a date or moment that exists, written by a pattern."""

    def test(cells):
        texts = cells.astype(str)
        return texts.str.fullmatch(pattern) & pd.to_datetime(texts, errors="coerce", utc=True, format="ISO8601").notna()

    return lambda cells: spread_test(cells, test), allowed


def open_json(kind=object):
    """Return the rule that a cell is JSON text, of one Python type if any is given.

    A number counts as its own JSON: so a csv reader opens a column of them.
    """

    def is_json(cell):
        try:
            value, end = DECODER.raw_decode(cell) if isinstance(cell, str) else (float(cell), None)
        except (ValueError, TypeError):
            return False
        return isinstance(value, kind) and (end is None or end == len(cell))

    def test(cells):
        return np.fromiter(map(is_json, cells), bool, len(cells))

    form = {list: "JSON text of a list", dict: "JSON text of an object"}.get(kind, "JSON text")
    return lambda cells: spread_test(cells, test), form


def spread_test(cells, test):
    """Return what a test says of each cell, asked once a value (once a cell where cells are lists)."""
    try:
        codes, values = pd.factorize(cells)
    except TypeError:
        return test(cells)
    return np.asarray(test(pd.Series(values)), dtype=bool)[codes]


COUNT, AMOUNT, SHARE = bound_numbers(0, whole=True), bound_numbers(0), bound_numbers(0, 1)
FLAG, LIST, OBJECT = list_words(True, False), open_json(list), open_json(dict)
MOMENT = read_moments(MOMENT_FORM, "a moment with its zone, such as 2016-10-10T00:00:00+08:00")
DATE = read_moments(r"\d{4}-\d\d-\d\d", "a date such as 2016-10-10")

RULES = {
    "kind": list_words(*KINDS),
    "level": list_words(*LEVELS),
    "category": list_words(*CATEGORIES),
    "site_type": list_words(*SITE_TYPES),
    "spread_rule": list_words(*SPREAD_RULES),
    "volatility_class": list_words("low", "high"),
    "contamination_group": list_words("widely_known", "obscure"),
    "split": list_words("validation", "test"),
    "origin": list_words("replay", "news", "live"),
    "role": list_words(*ROLES),
    "runs.status": list_words(*RUN_STATUSES),
    "replies.status": list_words(*REPLY_STATUSES),
    "predictions.status": list_words(*PREDICTION_STATUSES),
    "answers.status": list_words(*ANSWER_STATUSES, "none"),  # none: from elsewhere, no reason known
    "acquisitions.status": list_words(*ANSWER_STATUSES),
    "as_of": MOMENT,
    "sample": COUNT,
    "step": COUNT,
    "repeat": COUNT,
    "k": bound_numbers(1, whole=True),
    "message_limit": bound_numbers(1, whole=True),
    "seed": bound_numbers(whole=True),
    "spread": AMOUNT,
    "volatility": AMOUNT,
    "probability": SHARE,
    "score_imputed": SHARE,
    "score": bound_numbers(),
    "interval_low": bound_numbers(),
    "interval_high": bound_numbers(),
    "value": open_json(),
    "variables": OBJECT,
    "options": OBJECT,
    "metadata": OBJECT,
    "params": OBJECT,
    "distribution": OBJECT,
    "arguments": OBJECT,
    "capabilities": LIST,
    "environments": LIST,
    "attachments": LIST,
    "packages": LIST,
    "source_ids": LIST,
    "page_ids": LIST,
}
"""Column, or table.column -> (test of its cells, what is allowed in words)."""

NAMES = {"_at": MOMENT, "_date": DATE, "_s": AMOUNT, "_usd": AMOUNT, "n_": COUNT, "is_": FLAG}
"""Rules of the columns that a name's end or start tells: moments, dates, seconds, dollars, counts, flags."""


def find_rule(name, column):
    """Return the rule of a table's column, None for a free one.

    >>> find_rule("events", "kind")[1], find_rule("events", "prompt")
    ('one of single, multi, ranking, list, number, percent, interval, date, text', None)
    """
    own = RULES.get(f"{name}.{column}") or RULES.get(column)
    marked = (rule for part, rule in NAMES.items() if column.endswith(part) or column.startswith(part))
    return own or next(marked, None)


def check_cells(name, table, columns):
    """Raise ValueError for the first cell of some columns that its rule does not allow, by table, row and column.

    >>> check_cells("predictions", pd.DataFrame({"status": ["ok", "banana"]}), ["status"])
    Traceback (most recent call last):
        ...
    ValueError: predictions, row 2, column status: 'banana' is not one of ok, timeout, refusal, error, over_budget, \
message_limit, unsupported, unreadable, unparsable, missing
    """
    for column in columns:
        for row, problem in find_wrong(name, column, table[column]):
            raise ValueError(f"{name}, row {row + 1}, column {column}: {problem}")


def find_wrong(name, column, cells):
    """Yield (row from 0, what is wrong) for the cells of a table's column that its rule does not allow."""
    test, allowed = find_rule(name, column) or (None, "")
    is_given = (cells.notna() & cells.ne("")).to_numpy()
    if test is None or not is_given.any():
        return
    rows = np.flatnonzero(is_given)
    for row in rows[~np.asarray(test(cells[is_given]), dtype=bool)]:
        yield int(row), f"{cells.iloc[row]!r} is not {allowed}"
