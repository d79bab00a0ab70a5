"""The one form in which a fault of a person's files is told; their csv and JSON files, bounded
before they are read.

A fault is a sentence: file, row or field, what was found, what is wanted, the nearest name there
is. Rows of a csv are counted as a spreadsheet does: the header is row 1.
"""

import csv
import gzip
import json
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pandas as pd
from pydantic import TypeAdapter, ValidationError

N_SHOWN, N_NAMED = 20, 12
"""Faults that an error shows, and names that a sentence lists."""

MAX_BYTES = 256 << 20
"""Most bytes of a file of JSON, unpacked."""

NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")
"""What an agent, a run, a source may be called: their names become names of files."""

FORMS = {
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "too_short": "a list of one or more",
}
"""A pydantic error -> what is wanted, in words."""


class Problems(ValueError):
    """What is wrong with a person's files: sentences, each with its place; at most `N_SHOWN` are
    shown."""

    def __init__(self, found: Iterable[str]) -> None:
        self.found = list(found)
        n_more = len(self.found) - N_SHOWN
        super().__init__("\n".join(self.found[:N_SHOWN] + [f"and {n_more} more"] * (n_more > 0)))


def raise_all(problems: Iterable[str]) -> None:
    """Raise Problems with some sentences, if there are any."""
    if problems := list(problems):
        raise Problems(problems)


def suggest(word: object, known: Iterable) -> str:
    """Return "; did you mean ...?" with the known word that is nearest, "" when none is near.

    >>> suggest("domian", ["domain", "form"]), suggest(5, ["domain"])
    ('; did you mean domain?', '')
    """
    near = get_close_matches(str(word), [str(name) for name in known], 1)
    return f"; did you mean {near[0]}?" if near else ""


def list_nearest(word: object, known: Iterable, place: str) -> str:
    """Return the known word that is nearest, then the first dozen there are; `place` says where the
    others stand.

    >>> list_nearest("b1", ["b"], "x.toml"), list_nearest("?", map(str, range(15)), "x.toml")
    ('; did you mean b? There are b', '; there are 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ... (3 more: x.toml)')
    """
    names = [str(name) for name in known]
    near = suggest(word, names)
    n_more = len(names) - N_NAMED
    rest = f", ... ({n_more} more: {place})" if n_more > 0 else ""
    return (
        f"{f'{near} There' if near else '; there'} are {', '.join(names[:N_NAMED]) or 'none'}{rest}"
    )


def write_count(n: int, noun: str) -> str:
    """Return a number with its noun.

    >>> write_count(1, "figure"), write_count(1200, "source")
    ('1 figure', '1,200 sources')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def check_name(what: str, name: object) -> str:
    """Return a name that may become a file's. Raises ValueError, saying what it names, for any
    other.

    >>> check_name("agent", "../evil")
    Traceback (most recent call last):
        ...
    ValueError: agent '../evil': a name is 1 to 64 letters (a to z), digits, _, - or ., and does not begin with .
    """
    if isinstance(name, str) and NAME.fullmatch(name):
        return name
    rule = "a name is 1 to 64 letters (a to z), digits, _, - or ., and does not begin with ."
    raise ValueError(f"{what} {show(name)}: {rule}")


def show(value: object) -> str:
    """Return a value as a sentence shows it, cut where it is long."""
    shown = repr(value)
    return shown if len(shown) <= 100 else f"{shown[:80]}..."


@cache
def open_type(kind: Any) -> TypeAdapter:
    """Return the validator of a type or model."""
    return TypeAdapter(kind)


def find_faults(value: object, kind: Any) -> list[tuple[tuple, str]]:
    """Return what is wrong with a value by a type or model: [(place as a tuple of names and
    numbers, words)].

    >>> from helpers.tables import Price
    >>> find_faults({"input": "1", "outptu": 2}, Price)[1:]
    [((), 'output is missing'), ((), 'outptu is unknown; did you mean output?')]
    """
    try:
        open_type(kind).validate_python(value)
    except ValidationError as faults:
        return [describe_fault(fault, kind) for fault in faults.errors(include_url=False)]
    return []


def describe_fault(fault: Mapping, kind: Any) -> tuple[tuple, str]:
    """Return (place, words) of one of pydantic's errors."""
    place = tuple(part for part in fault["loc"] if part != "[key]")
    found = fault["input"]
    said = fault.get("ctx", {})
    if fault["type"] == "missing":
        return place[:-1], f"{place[-1]} is missing"
    if fault["type"] == "extra_forbidden":
        known = list_fields(kind, place[:-1])
        return place[
            :-1
        ], f"{place[-1]} is unknown{suggest(place[-1], known) or '; there are ' + ', '.join(known)}"
    if said.get("known"):
        known = said["known"]
        return (
            place,
            f"{show(found)} is none of {', '.join(map(str, known))}{suggest(found, known)}",
        )
    return (
        place,
        f"{show(found)} is not {said.get('wanted') or FORMS.get(fault['type'], fault['msg'])}",
    )


def list_fields(kind: Any, place: tuple) -> list[str]:
    """Return the names of the fields that the model at a place of another one has."""
    for name in place:
        kind = (
            kind.model_fields[name].annotation
            if name in getattr(kind, "model_fields", ())
            else kind
        )
        while inner := [
            part for part in get_args(kind) if isinstance(part, type) or get_args(part)
        ]:
            kind = inner[-1]
    return [field.alias or name for name, field in getattr(kind, "model_fields", {}).items()]


def name_field(place: tuple) -> str:
    """Return a place in an object as a person writes it, lists from 1.

    >>> name_field(("templates", 0, "text"))
    'templates[1].text'
    """
    return "".join(
        f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in place
    ).lstrip(".")


def check_object(where: str, value: Any, kind: Any) -> Any:
    """Return a value that is of a model's form. Raises Problems with all that is wrong, each with
    `where` and field.

    >>> from helpers.tables import Price
    >>> check_object("agents.toml, mine", {"input": 1}, Price)
    Traceback (most recent call last):
        ...
    helpers.input_faults.Problems: agents.toml, mine: output is missing
    """
    faults = [(name_field(place), words) for place, words in find_faults(value, kind)]
    raise_all(f"{where}{', ' * bool(field)}{field}: {words}" for field, words in faults)
    return value


# --- a person's JSON --------------------------------------------------------------------------------


def read_text(path: str | Path) -> str:
    """Return the text of a file (.gz too). Raises ValueError that names it, for one too large,
    broken or not UTF-8."""
    path = Path(path)
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ValueError(f"{path.name} is larger than {MAX_BYTES >> 20} MB, unpacked; split it")
        return data.decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} cannot be read ({error})") from None


def parse_text(text: str, place: str) -> Any:
    """Return what a text of JSON holds, whole numbers of more than 300 digits as infinite.

    Raises ValueError that names the place for what is no JSON, is nested too deep, or holds half a
    character (a lone surrogate, which no file can hold).
    """
    try:
        value = json.loads(
            text, parse_int=lambda digits: int(digits) if len(digits) <= 300 else math.inf
        )
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError(f"{place} is nested too deep") from None
    except UnicodeEncodeError:
        raise ValueError(
            f"{place} holds half a character (a lone surrogate); write it whole"
        ) from None
    except ValueError as error:
        raise ValueError(f"{place}: no JSON ({error})") from None
    return value


def read_lines(
    path: str | Path, find_faults: Callable = lambda record: ()
) -> Iterator[tuple[str, Any]]:
    """Yield (place, object) of a JSON-lines file (.gz too); a place is "file, line n". Empty lines
    are passed over.

    `find_faults(object)` returns what is wrong with one. Raises ValueError with place and the first
    of these, and what `read_text` and `parse_text` do.
    """
    path = Path(path)
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            place = f"{path.name}, line {number}"
            record = parse_text(line, place)
            if said := find_faults(record):
                raise ValueError(f"{place}: {said[0]}")
            yield place, record


# --- a person's csv ---------------------------------------------------------------------------------


def describe_problem(file: str, row: int | None, column: str, text: str) -> str:
    """Return one sentence on a wrong cell; `row` counts data rows from 0, None is the header.

    >>> describe_problem("answers.csv", 0, "spread", "-1 is below 0")
    'answers.csv, row 2, column spread: -1 is below 0'
    """
    return f"{file}, row {1 if row is None else row + 2}, column {column}: {text}"


def read_sheet(
    path: Path, needs: Sequence[str], *, comments: bool = False, **checks: Any
) -> pd.DataFrame:
    """Return a csv as text cells, blank where empty, held to `checks` (see `check_sheet`); rows
    count from 0.

    With `comments`, lines that start with # say nothing. Raises Problems, also for a file that is
    absent (`needs` are its columns), not UTF-8 or no csv, a column that stands twice, and a row
    with more or fewer cells than the header.
    """
    rows = {}
    problem = "the file is no csv: it is empty"
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            for row, cells in enumerate(csv.reader(file, skipinitialspace=True, strict=True), -1):
                if any(cells) and not (comments and cells[0].startswith("#")):
                    rows[row] = [cell.strip() for cell in cells]
    except FileNotFoundError:
        problem = f"the file is not in {path.parent.name}; it needs the columns {', '.join(needs)}"
    except UnicodeDecodeError as error:
        rows = {}
        problem = f"the file is not UTF-8 ({error.reason}); save it so"
    except csv.Error as error:
        rows = {}
        problem = f"the file is no csv: {error}"
    if not rows:
        raise Problems([describe_problem(path.name, None, (*needs, "id")[0], problem)])
    head = rows.pop(next(iter(rows)))
    twice = [name for name in dict.fromkeys(head) if head.count(name) > 1]
    raise_all(
        describe_problem(path.name, None, name, "it stands twice in the header") for name in twice
    )
    uneven = [(row, len(cells)) for row, cells in rows.items() if len(cells) != len(head)]
    told = f"cells, the header has {len(head)}"
    raise_all(describe_problem(path.name, row, head[-1], f"{n} {told}") for row, n in uneven)
    table = pd.DataFrame.from_dict(rows, orient="index", columns=head, dtype=object)
    raise_all(check_sheet(path.name, table, needs, **checks))
    return table


def check_sheet(
    file: str,
    table: pd.DataFrame,
    needs: Sequence[str],
    *,
    filled: Sequence[str] = (),
    key: Sequence[str] = (),
    words: Mapping | None = None,
) -> Iterator[str]:
    """Yield what is wrong with a table of text cells, a sentence each.

    `needs` are columns it cannot do without, `filled` columns without a blank, `key` columns that
    no two rows share, `words` maps a column to what may stand in it, a blank among these where it
    may be left out.
    """
    absent = [column for column in needs if column not in table.columns]
    for column in absent:
        yield describe_problem(
            file, None, column, f"the column is missing; there are {', '.join(table.columns)}"
        )
    if absent:
        return
    if table.empty:
        yield describe_problem(file, None, (*needs, "id")[0], "the file has no rows")
    for column in filled:
        for row in table.index[table[column] == ""]:
            yield describe_problem(file, row, column, "the cell is blank")
    first: dict[tuple, int] = {}
    place = next((name for name in reversed(key) if name in needs), "")
    for row, cells in zip(
        table.index, table[list(key)].to_numpy().tolist() if key else (), strict=False
    ):
        if (at := first.setdefault(tuple(cells), row)) != row:
            yield describe_problem(
                file, row, place, f"{', '.join(cells)} stands in row {at + 2} already; keep one"
            )
    for column, known in (words or {}).items():
        listed = ", ".join(word for word in known if word) + " or blank" * ("" in known)
        for row in table.index[~table[column].isin(known)] if column in table else ():
            found = table[column][row]
            yield describe_problem(
                file, row, column, f"{show(found)} is none of {listed}{suggest(found, known)}"
            )


def unescape_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table that `escape_cells` wrote, as it was."""
    texts = [name for name in table if table[name].map(type).eq(str).any()]
    return table.assign(
        **{name: table[name].str.replace(r"^'(?=[=+@\t\r-])", "", regex=True) for name in texts}
    )


def escape_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose texts no spreadsheet takes for a formula: one that begins like it gets a
    ' before it.

    Numbers stay as they are, also as text.

    >>> escape_cells(pd.DataFrame({"agent_id": ["=1+1", "-0.5", "@x", "a"], "n": [-1, 2, 3, 4]})).values.tolist()
    [["'=1+1", -1], ['-0.5', 2], ["'@x", 3], ['a', 4]]
    """

    def escape(cell: object) -> object:
        is_formula = isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r"))
        return f"'{cell}" if is_formula and pd.isna(pd.to_numeric(cell, errors="coerce")) else cell

    return table.apply(
        lambda column: column if pd.api.types.is_numeric_dtype(column) else column.map(escape)
    )
