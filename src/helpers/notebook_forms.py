"""Forms in a notebook: a person goes through items, and what is filled in is kept in one SQLite
file as it is given.

Nothing is overwritten: a second thought stands beside the first, and counts. Several people on one
machine may write at once; the file is for a local disk (its write-ahead log needs shared memory).
"""

import html
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.files import dump_json

COLUMNS = ("person", "item", "at")


@contextmanager
def open_answers(path: str | Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection to a file of answers, made where there is none, to one writer; all rows go
    in or none."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE IF NOT EXISTS answers (person, item, at, content)")
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            yield connection


def keep_answer(
    path: str | Path, person: str, item: str, content: dict, at: str | None = None
) -> None:
    """Store a dict of what a person filled in for an item, `at` a moment (text). Raises ValueError
    without a person."""
    if not str(person or "").strip():
        raise ValueError("Say who fills this in.")
    with open_answers(path) as connection:
        row = [str(person), item, at, dump_json(content)]
        connection.execute("INSERT INTO answers VALUES (?, ?, ?, ?)", row)


def read_answers(path: str | Path, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Return all that is kept in a file, in the order in which it was given: person, item, at, and
    the `columns`."""
    with open_answers(path) as connection:
        rows = connection.execute("SELECT * FROM answers ORDER BY rowid").fetchall()
    made = [dict(zip(COLUMNS, row, strict=False)) | json.loads(row[-1]) for row in rows]
    return pd.DataFrame(made, columns=[*COLUMNS, *columns])


def open_form(
    items: Mapping, fields: Mapping, show: Callable, actions: Mapping[str, Callable]
) -> Any:
    """Return a form as a widget: items to choose from, the text of one, its fields and buttons.

    items: {id: title}. fields: {name: its choices, or None for free text}. show(id): (HTML, {field:
    value}) of an item. actions: {button: function of (id, {field: value})}, which stores what is
    filled in and returns (what is said, whether to go on with the next item). What cannot be stored
    is said, and what is typed stays.
    """
    import ipywidgets as widgets  # only a person at a notebook needs it

    wide = {"layout": widgets.Layout(width="95%")}
    choice = widgets.Dropdown(options=[(title, name) for name, title in items.items()], **wide)
    typed = {
        name: widgets.Dropdown(options=choices, description=name)
        if choices
        else widgets.Textarea(description=name, **wide)
        for name, choices in fields.items()
    }
    shown = widgets.HTML()
    said = widgets.HTML()
    buttons = [widgets.Button(description=name) for name in actions]

    def fill(change: object = None) -> None:
        shown.value, values = show(choice.value)
        for name, field in typed.items():
            field.value = values.get(name, fields[name][0] if fields[name] else "")

    def press(button: Any) -> None:
        try:
            said.value, goes_on = actions[button.description](
                choice.value, {n: f.value for n, f in typed.items()}
            )
        except (ValueError, sqlite3.Error, OSError) as error:
            said.value = html.escape(f"Not stored: {error}")
            return
        names = list(items)
        at = min(names.index(choice.value) + goes_on, len(names) - 1)
        if names[at] == choice.value:
            fill()
        choice.value = names[at]

    choice.observe(fill, "value")
    for button in buttons:
        button.on_click(press)
    fill()
    return widgets.VBox([choice, shown, *typed.values(), *buttons, said])
