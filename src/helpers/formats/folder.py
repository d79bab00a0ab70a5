"""Read and check a user's own folder: events.csv, answers.csv and predictions.csv, into the kit's tables.

Whatever is wrong is said with file, row and column (`faults`). Cells hold JSON as in the kit's tables, or plain text: a
letter, an option's text, A|C for several, a number.
"""

import math
import re
from pathlib import Path

import pandas as pd

from helpers.faults import Problems, check_sheet, describe_problem, parse_text, raise_all, read_sheet
from helpers.replies.boxes import Unreadable
from helpers.replies.dates import read_date
from helpers.scoring.scores import HEADLINE
from helpers.store import dump_json
from helpers.tables import LEVELS, find_wrong, list_columns

FILES = {
    "events": ("event_id", "kind"),
    "answers": ("event_id", "value"),
    "predictions": ("event_id", "agent_id", "value"),
}
"""The files, each with the columns it cannot do without."""
KEYS = {"events": ["event_id"], "answers": ["event_id"], "predictions": ["run_id", "event_id", "sample"]}
WORDS = {"events": {"kind": tuple(HEADLINE), "level": (*map(str, LEVELS), "")}}
"""What no two rows share, and the words of columns (`check_sheet`)."""
DATE = re.compile(r"^\d{4}-\d\d-\d\d$")
YES_NO = ("Yes", "No")
SUM_TOLERANCE = 0.05
"""How far rounded probabilities may add up to something else than 1."""
FLAGS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
REWRITTEN = ("kind", "level", "options", "value", "distribution")
"""Columns that may be written more freely here than in the kit's tables, or are checked by hand."""
NUMBERS = ("spread", "probability", "sample")


def read_folder(folder):
    """Return (events, answers, predictions) of a folder, checked, in the form of the kit's tables.

    Raises Problems with all that is wrong, each with file, row and column; where a file cannot be opened, or lacks a
    column it needs, with that alone, of all three.
    """
    raw, unread = {}, []
    for name in FILES:
        try:
            raw[name] = read_file(Path(folder), name)
        except Problems as problems:
            unread += problems.found
    raise_all(unread)
    wrong = [text for name, table in raw.items() for text in check_file(name, table)]
    events, given = raw["events"], pd.concat([raw["answers"], raw["predictions"]])
    given, asked, tables = given.groupby("event_id")["value"].agg(set), {}, []
    for row, event in zip(events.index, events.to_dict("records"), strict=True):
        key, kind, options = event["event_id"], event["kind"], None
        try:
            options = list_choices(event, given.get(key, set()))
        except ValueError as error:
            wrong.append(describe_problem("events.csv", row, "options", str(error)))
        asked.setdefault(key, (kind, options) if kind in HEADLINE and options is not None else None)
    for name in ("answers", "predictions"):
        rows, bad = read_rows(name, raw[name], asked)
        tables.append(pd.DataFrame(rows))
        wrong += bad
    raise_all(sorted(wrong, key=lambda text: list(FILES).index(text.partition(".")[0])))
    answers, predictions = tables
    for table in tables:
        for column in set(NUMBERS) & set(table):
            table[column] = pd.to_numeric(table[column])
    shares = [row.get("distribution") for row in predictions.to_dict("records")]
    for at, row in enumerate(predictions.to_dict("records")):
        told, (kind, options) = row.get("probability"), asked[row["event_id"]]
        if not shares[at] and kind == "single" and len(options) == 2 and row["value"] and not pd.isna(told):
            stated = {name: told if dump_json(name) == row["value"] else round(1 - told, 12) for name in options}
            shares[at] = dump_json(stated)  # of two options the other's probability is known too
    levels = events.get("level", pd.Series("", events.index))
    choices = [dump_json(asked[event_id][1] or None) for event_id in events["event_id"]]
    events = events.mask(events == "").assign(options=choices, level=pd.to_numeric(levels).astype("Int64"))
    return events, answers, predictions.assign(distribution=shares)


def read_file(folder, name):
    """Return a file as text cells, the defaults of run_id and sample filled in. Raises Problems.

    A plain date, as 2016-10-10, stands for the day's first moment on the benchmark's clock.
    """
    table = read_sheet(folder / f"{name}.csv", FILES[name])
    for column in [c for c in table.columns if c == "as_of" or c.endswith("_at")]:
        table[column] = table[column].str.replace(DATE, r"\g<0>T00:00:00+08:00", regex=True)
    flags = [column for column in table.columns if column.startswith("is_")]
    table[flags] = table[flags].replace(FLAGS)
    if name == "predictions" and "agent_id" in table:
        blank = table.get("run_id", pd.Series("", table.index)) == ""
        table["run_id"] = table["agent_id"].where(blank, table.get("run_id"))
        table["sample"] = table.get("sample", pd.Series("0", table.index)).replace("", "0")
    return table


def check_file(name, table):
    """Yield the problems of a file's columns, keys and words, and of columns that stand in the kit's tables as here."""
    filled = [column for column in FILES[name] if column != "value"]
    checks = {"filled": filled, "key": KEYS[name], "words": WORDS.get(name)}
    yield from check_sheet(f"{name}.csv", table, FILES[name], **checks)
    for column in [c for c in list_columns(name) if c in table.columns and c not in REWRITTEN]:
        hint = "; write a day as 2016-10-09" * (column == "as_of" or column.endswith(("_at", "_date")))
        for row, text in find_wrong(name, column, table[column]):
            yield describe_problem(f"{name}.csv", row, column, text + hint)


def parse_cell(text):
    """Return what a cell holds: JSON where it starts like it, else a number or the text itself; blank is None.

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


def list_choices(event, values):
    """Return an event's options as {letter: text}; {} where it has none and none can be told. Raises ValueError.

    Without options they are Yes and No, when every one of its `values` in the other files is one of these.
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

    `asked` has each event's (kind, options); a row of one whose own row is wrong (None) is passed over.
    """
    rows, problems = [], []
    for at, cells in enumerate(table.to_dict("records")):
        row, key = {column: text or None for column, text in cells.items()}, cells["event_id"]
        rows.append(row)
        if key and key not in asked:
            problems.append(describe_problem(f"{name}.csv", at, "event_id", f"{key!r} is not in events.csv"))
        if (known := asked.get(key)) is None:
            continue
        kind, options = known
        if name == "answers" and kind == "interval":
            kind = "number"  # the number that an interval is to hold
        for column in [column for column in READERS if column in cells]:
            try:
                row[column] = READERS[column](cells[column], kind, options)
            except ValueError as error:
                problems.append(describe_problem(f"{name}.csv", at, column, str(error)))
        row |= {column: dump_json(row[column]) for column in READERS if column in row}
    return rows, problems


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
    """Return a prediction's or an answer's value by its event's kind; None for a blank cell. Raises ValueError.

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
    if kind in ("number", "percent"):
        return read_number(str(value) if not isinstance(value, str) else value)
    if kind == "date":
        return check_date(value if isinstance(value, str) else text)
    if kind == "text":
        return value if isinstance(value, str) else text
    if kind == "single":
        return choose_option(value if isinstance(value, str) else text, choices)
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
            raise ValueError(f"{text!r} may have its day or its month first; write it as 2016-10-09") from None
    return text


def choose_option(value, choices):
    """Return the letter of an option that is named by its letter or its text. Raises ValueError for another."""
    if not choices or value in choices:
        return str(value)
    by_text = {text.casefold(): letter for letter, text in choices.items()}
    if str(value).casefold() not in by_text:
        raise ValueError(f"{value!r} is not an option; there are {', '.join(choices)}")
    return by_text[str(value).casefold()]


def read_distribution(text, kind, choices):
    """Return probabilities by option (of a number its quantiles); None for a blank cell. Raises ValueError."""
    given = parse_cell(text)
    if given is None:
        return None
    if not isinstance(given, dict):
        raise ValueError(f'{text[:40]!r} must be JSON such as {{"A": 0.7, "B": 0.3}}')
    if kind in ("number", "percent"):
        return {key: read_number(str(value)) for key, value in given.items()}
    names = [choose_option(key, choices) for key in given]
    told = {name: read_number(str(value)) for name, value in zip(names, given.values(), strict=True)}
    if len(told) < len(given) or not all(0 <= share <= 1 for share in told.values()):
        raise ValueError(f"{text[:40]!r} must have one number for each option, which lies between 0 and 1")
    total = sum(told.values())
    if kind == "single" and abs(total - 1) > SUM_TOLERANCE:
        raise ValueError(f"{text[:40]!r} adds up to {total:g}; the probabilities of a single choice add up to 1")
    return told


READERS = {"value": read_value, "distribution": read_distribution}
"""Column -> what reads its cells, from the text, the event's kind and its options."""
