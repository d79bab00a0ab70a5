"""Read and check a user's own folder: events.csv, answers.csv and predictions.csv, into the kit's
tables.

Whatever is wrong is said with file, row and column (`faults`). Cells hold JSON as in the kit's
tables, or plain text: a letter, an option's text, A|C for several, a number.
"""

import math
from pathlib import Path

import pandas as pd

from helpers.boxed_answers import Unreadable
from helpers.files import dump_json
from helpers.input_faults import (
    Problems,
    check_sheet,
    describe_problem,
    parse_text,
    raise_all,
    read_sheet,
    unescape_cells,
)
from helpers.read_dates import read_date
from helpers.scores import HEADLINE
from helpers.tables import LEVELS, find_wrong, list_columns

FILES = {
    "events": ("event_id", "kind"),
    "answers": ("event_id", "value"),
    "predictions": ("event_id", "agent_id", "value"),
}
"""The files, each with the columns it cannot do without."""
KEYS = {
    "events": ["event_id"],
    "answers": ["event_id"],
    "predictions": ["run_id", "event_id", "sample"],
}
WORDS = {"events": {"kind": tuple(HEADLINE), "level": (*map(str, LEVELS), "")}}
"""What no two rows share, and the words of columns (`check_sheet`)."""
YES_NO = ("Yes", "No")
SUM_TOLERANCE = 0.05
"""How far rounded probabilities may add up to something else than 1."""
REWRITTEN = ("kind", "level", "options", "value", "distribution")
"""Columns that may be written more freely here than in the kit's tables, or are checked by hand."""
NUMBERS = ["spread", "probability", "sample"]


def read_folder(folder):
    """Return (events, answers, predictions) of a folder, checked, in the form of the kit's tables.

    Raises Problems with all that is wrong, each with file, row and column; where a file cannot be
    opened, or lacks a column it needs, with that alone, of all three.
    """
    raw, unread = {}, []
    for name in FILES:
        try:
            raw[name] = read_file(Path(folder), name)
        except Problems as problems:
            unread += problems.found
    raise_all(unread)
    wrong, asked, rows = (
        {name: list(check_file(name, table)) for name, table in raw.items()},
        {},
        {},
    )
    given = pd.concat([raw["answers"], raw["predictions"]]).groupby("event_id")["value"].agg(set)
    for at, event in raw["events"].iterrows():
        try:
            options = list_choices(event, given.get(event["event_id"], set()))
            asked.setdefault(
                event["event_id"], (event["kind"], options) if event["kind"] in HEADLINE else None
            )
        except ValueError as error:
            asked[event["event_id"]] = None
            wrong["events"].append(describe_problem("events.csv", at, "options", str(error)))
    for name in ("answers", "predictions"):
        rows[name], bad = read_rows(name, raw[name], asked)
        wrong[name] += bad
    raise_all(text for found in wrong.values() for text in found)
    for row in rows["predictions"]:
        share, (kind, options) = row.get("probability"), asked[row["event_id"]]
        row.setdefault("distribution", None)
        if (
            share
            and row["value"]
            and not row["distribution"]
            and kind == "single"
            and len(options) == 2
        ):
            shares = {
                name: float(share) if dump_json(name) == row["value"] else 1 - float(share)
                for name in options
            }
            row["distribution"] = dump_json(
                {name: round(share, 12) for name, share in shares.items()}
            )
    answers, predictions = map(pd.DataFrame, rows.values())
    for table in (answers, predictions):
        numbers = table.columns.intersection(NUMBERS)
        table[numbers] = table[numbers].apply(pd.to_numeric)
    events = (
        raw["events"]
        .mask(raw["events"] == "")
        .reindex(columns=list(dict.fromkeys([*raw["events"], "level"])))
    )
    choices = [dump_json(asked[event_id][1] or None) for event_id in events["event_id"]]
    return (
        events.assign(options=choices, level=pd.to_numeric(events["level"]).astype("Int64")),
        answers,
        predictions,
    )


def read_file(folder, name):
    """Return a file as text cells, the defaults of run_id and sample filled in. Raises Problems.

    A plain date, as 2016-10-10, stands for the day's first moment on the benchmark's clock.
    """
    table = unescape_cells(read_sheet(folder / f"{name}.csv", FILES[name]))
    for column in table:
        if column == "as_of" or column.endswith("_at"):
            table[column] = table[column].str.replace(
                r"^\d{4}-\d\d-\d\d$", r"\g<0>T00:00:00+08:00", regex=True
            )
        elif column.startswith("is_"):
            flags = table[column].str.casefold().map({"true": True, "false": False})
            table[column] = flags.where(flags.notna(), table[column])
    if name == "predictions":
        defaults = {"run_id": table["agent_id"], "sample": "0"}
        for column, default in defaults.items():
            cells = table.get(column, pd.Series("", table.index))
            table[column] = cells.mask(cells == "", default)
    return table


def check_file(name, table):
    """Yield the problems of a file's columns, keys and words, and of columns that stand in the
    kit's tables as here."""
    filled = [column for column in FILES[name] if column != "value"]
    checks = {"filled": filled, "key": KEYS[name], "words": WORDS.get(name)}
    yield from check_sheet(f"{name}.csv", table, FILES[name], **checks)
    for column in [c for c in list_columns(name) if c in table.columns and c not in REWRITTEN]:
        hint = "; write a day as 2016-10-09" * (
            column == "as_of" or column.endswith(("_at", "_date"))
        )
        for at, text in find_wrong(name, column, table[column]):
            yield describe_problem(f"{name}.csv", table.index[at], column, text + hint)


def list_choices(event, values):
    """Return an event's options as {letter: text}; {} where it has none and none can be told.
    Raises ValueError.

    Without options they are Yes and No, when every one of its `values` in the other files is one of
    these.
    """
    options = parse_cell(event.get("options", ""))
    if isinstance(options, str):
        options = [part.strip() for part in options.split("|")]
    if not (options is None or isinstance(options, (dict, list))):
        raise ValueError('write {"A": "text", "B": "text"} or A|B')
    if options:
        pairs = options.items() if isinstance(options, dict) else zip(options, options, strict=True)
        return {str(key): str(text) for key, text in pairs}
    values = {value.strip('"') for value in values} - {""}
    is_yes_no = event["kind"] == "single" and values and values <= set(YES_NO)
    return {word: word for word in YES_NO} if is_yes_no else {}


def read_rows(name, table, asked):
    """Return (rows, problems) of answers or predictions, their values and distributions as JSON.

    `asked` has each event's (kind, options); a row of one whose own row is wrong (None) is passed
    over.
    """
    rows, problems = [], []
    for at, cells in zip(table.index, table.to_dict("records"), strict=True):
        row, key = {column: text or None for column, text in cells.items()}, cells["event_id"]
        rows.append(row)
        if key and key not in asked:
            problems.append(
                describe_problem(f"{name}.csv", at, "event_id", f"{key!r} is not in events.csv")
            )
        if not asked.get(key):
            continue
        kind, options = asked[key]
        if name == "answers" and kind == "interval":
            kind = "number"  # the number that an interval is to hold
        for column, read in (("value", read_value), ("distribution", read_distribution)):
            try:
                row |= (
                    {column: dump_json(read(cells[column], kind, options))}
                    if column in cells
                    else {}
                )
            except ValueError as error:
                problems.append(describe_problem(f"{name}.csv", at, column, str(error)))
    return rows, problems


# --- cells ------------------------------------------------------------------------------------------


def parse_cell(text):
    """Return what a cell holds: JSON where it starts like it, else a number or the text itself;
    blank is None.

    Raises what `parse_text` does.

    >>> parse_cell("12.5"), parse_cell('["A"]'), parse_cell("A"), parse_cell("")
    (12.5, ['A'], 'A', None)
    """
    if text in ("", "null"):
        return None
    if text[0] in '[{"':
        return parse_text(text, repr(text[:40]))
    try:
        return float(text)
    except ValueError:
        return text


def read_number(text):
    """Return a number. Raises ValueError when it is none, or infinite."""
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is no number") from None
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is no finite number; leave the cell blank where it is missing")
    return number


def read_value(text, kind, choices):
    """Return a prediction's or an answer's value by its event's kind; None for a blank cell. Raises
    ValueError.

    >>> read_value("A", "single", {"A": "Yes", "B": "No"}), read_value("no", "single", {"A": "Yes", "B": "No"})
    ('A', 'B')
    >>> read_value("A|C", "multi", {}), read_value("12.5", "number", {})
    (['A', 'C'], 12.5)
    >>> read_value("10|20", "interval", {}), read_value("2016-10-13", "date", {}), read_value("42", "text", {})
    ([10.0, 20.0], '2016-10-13', '42')
    """
    value = parse_cell(text)
    if value is None:
        return None
    word = value if isinstance(value, str) else text
    if kind in ("number", "percent"):
        return read_number(word)
    if kind == "date":
        return check_date(word)
    if kind == "text":
        return word
    if kind == "single":
        return choose_option(word, choices)
    parts = value if isinstance(value, list) else [part.strip() for part in text.split("|")]
    if any(isinstance(part, (list, dict)) or part is None for part in parts):
        raise ValueError(f'{text[:40]!r} is no plain list; write A|C, or ["A", "C"]')
    if kind == "interval":
        if len(parts) != 2:
            raise ValueError(f"{text!r} is no interval; write its two ends, such as 10|20")
        return [read_number(str(part)) for part in parts]
    return [choose_option(part, choices) if kind == "multi" else str(part) for part in parts]


def check_date(text):
    """Return a date's text as it is. Raises ValueError for one that may be of two days.

    >>> check_date("2016-10-09"), check_date("October 2016")
    ('2016-10-09', 'October 2016')
    """
    try:
        read_date(text)
    except Unreadable as problem:
        if problem.args[0] == "ambiguous":
            raise ValueError(
                f"{text!r} may have its day or its month first; write it as 2016-10-09"
            ) from None
    return text


def choose_option(value, choices):
    """Return the letter of an option that is named by its letter or its text. Raises ValueError for
    another."""
    if not choices or value in choices:
        return str(value)
    by_text = {text.casefold(): letter for letter, text in choices.items()}
    if str(value).casefold() not in by_text:
        raise ValueError(f"{value!r} is not an option; there are {', '.join(choices)}")
    return by_text[str(value).casefold()]


def read_distribution(text, kind, choices):
    """Return probabilities by option (of a number its quantiles); None for a blank cell. Raises
    ValueError."""
    given = parse_cell(text)
    if given is None:
        return None
    if not isinstance(given, dict):
        raise ValueError(f'{text[:40]!r} must be JSON such as {{"A": 0.7, "B": 0.3}}')
    numbers = {key: read_number(str(value)) for key, value in given.items()}
    if kind in ("number", "percent"):
        return numbers
    told = {choose_option(key, choices): share for key, share in numbers.items()}
    if len(told) < len(given) or not all(0 <= share <= 1 for share in told.values()):
        raise ValueError(
            f"{text[:40]!r} must have one number for each option, which lies between 0 and 1"
        )
    if kind == "single" and abs(sum(told.values()) - 1) > SUM_TOLERANCE:
        total = f"{text[:40]!r} adds up to {sum(told.values()):g}"
        raise ValueError(f"{total}; the probabilities of a single choice add up to 1")
    return told
