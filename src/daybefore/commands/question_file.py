"""A file of your own questions as a question set (`SET=my_questions.csv`), with or without answers.

Its columns are known by the names people give them, as those of answers are
(`formats.column_names`); the kind of each question is read as a week's is (`live.week_questions`).
What was taken for what is printed. A question is asked as of its `as_of`, else as of the moment at
which the file was first seen. The set lies below .cache/sets; a later call with answers filled in
adds these.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from daybefore.commands.add import name_set
from daybefore.commands.terminal import show
from daybefore.formats.answer_rows import OPEN
from daybefore.formats.column_names import NAMES, NO, YES, describe_columns, match_columns
from daybefore.live.settle_week import read_answers
from daybefore.live.week_questions import (
    READERS,
    Batch,
    build_events,
    check_rows,
    clean_row,
    read_rows,
)
from helpers.clock import ZONE, stamp_moment
from helpers.files import hash_text, locate_output
from helpers.folders import SETS, add_room, list_folders
from helpers.input_faults import Problems, raise_all
from helpers.public_files import hash_file
from helpers.set_names import QuestionSet, find_set
from helpers.sets import keep_questions, load_set
from helpers.tables import KINDS

FIELDS = {
    "end_time": "end_time close_time scheduled_close_time close_date closes_at resolves_at resolution_date deadline",
    "criteria": "criteria resolution_criteria rules",
    "kind": "kind question_type type",
    "as_of": "as_of asked_at freeze_datetime",
    "unit": "unit",
    "spread": "spread",
    "options": "options choices",
}
"""What a column of a file of questions is -> the names it may have, beside those of
`column_names.NAMES`."""
TAKEN = ("id", "prompt", "level", "domain", "cluster", "price", *FIELDS)
"""What is taken of a question; its outcome is its answer."""
PROMPTS = ("title", "question_title", "question_text")
"""Names of the question's words that go before `question`, which may be a number."""


def open_set(name: str) -> QuestionSet:
    """Return the set of a name, of a folder's path, or of a file of questions, which becomes one.

    Raises ValueError with the nearest name, and Problems with file, row and field.
    """
    path = Path(name)
    if path.suffix in READERS and name not in list_folders():
        if not path.is_file():
            raise ValueError(f"there is no file {name}")
        name = keep_file(path)
    one = find_set(name)
    if one.folder:
        add_room(one.folder.parent)
    return one


def keep_file(path: Path) -> str:
    """Keep a file's questions, and the answers that it has, as a set; returns its name."""
    name = name_set(path)
    there = list_folders().get(name)
    if there and there.parent != locate_output(f"{SETS[1]}/x").parent:
        raise ValueError(f"there is a set {name} already; give {path.name} another name")
    rows, known = read_questions(path)
    asked = [{key: row[key] for key in row if key not in ("answer", "as_of")} for row in rows]
    batch = Batch(check_rows(asked, path.name), path.name, hash_file(path))
    events = build_events(batch, stamp_moment(pd.Timestamp.now(ZONE))).assign(window=name)
    if there:
        kept = load_set(name)
        if "agent_id" in kept.runs and len(kept.runs):
            raise ValueError(
                f"the set {name} holds agents' answers (make add); give {path.name} another name"
            )
        before = kept.events.set_index(["event_id", "prompt"])["as_of"]
        asked_at = before.reindex(pd.MultiIndex.from_frame(events[["event_id", "prompt"]]))
        events["as_of"] = asked_at.fillna(events["as_of"].iloc[0]).to_numpy()
    moments = pd.Series(read_moments(path.name, rows), dtype=object)
    events["as_of"] = moments.where(moments.notna(), events["as_of"])
    told = [
        {"id": row["id"], "answer": row["answer"], "spread": row.get("spread")}
        for row in rows
        if "answer" in row
    ]
    answers = read_answers(path.name, events, told) if told else None
    keep_questions(name, path.name, events, answers)
    first, last = events["as_of"].min()[:16], events["as_of"].max()[:16]
    kinds = ", ".join(f"{n} {kind}" for kind, n in events["kind"].value_counts().items())
    show(
        f"{path.name}: {len(events)} questions ({kinds}), {len(told)} with an answer; {describe_columns(known)}"
    )
    until = f" to {last}" if last != first else ""
    show(f"asked as of {first}{until} UTC+8; the set is called {name}")
    return name


def read_questions(path: Path) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return (rows under the names of `TAKEN`, with `answer` where there is one, {what a column is:
    its name}).

    Raises Problems where no column holds the questions' words, and where the file holds agents'
    answers.
    """
    rows = read_rows(path, path.name)
    if not rows:
        raise ValueError(f"{path.name} holds no question")
    columns = list(dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row))
    known = match_columns(columns, {"prompt": " ".join(PROMPTS)}) | match_columns(columns, FIELDS)
    known = {
        what: column for what, column in match_columns(columns, NAMES).items() if what not in known
    } | known
    if "prompt" not in known:
        listed = ", ".join(columns)
        said = f"no column holds the questions' words; there are {listed}; name it question"
        raise Problems([f"{path.name}, row 1: {said}"])
    if "agent" in known or "probability" in known:
        column = known.get("agent") or known["probability"]
        raise Problems(
            [
                f"{path.name}, column {column}: it holds agents' answers: make add FILE={path} takes these"
            ]
        )
    if "outcome" not in known and "answer" in known:
        known["outcome"] = known.pop("answer")
    known = {what: column for what, column in known.items() if what in (*TAKEN, "outcome")}
    made = [take_cells(row, known) for row in rows]
    ends = [tell_yes(row["answer"]) for row in made if "answer" in row]
    is_yes_no = bool(ends) and None not in ends
    for row in made:
        row.setdefault("id", f"q{hash_text(str(row.get('prompt')), 8)}")
        kind = str(row.get("kind", "")).casefold()
        if kind == "binary" or (is_yes_no and "options" not in row and not kind):
            row |= {"kind": "single", "options": '["Yes","No"]'}
            if "answer" in row:
                row["answer"] = tell_yes(row["answer"]) or row["answer"]
        elif kind not in KINDS:
            row.pop("kind", None)
    return made, known


def tell_yes(answer: Any) -> str | None:
    """Return "Yes" or "No" for an answer that says so in any of the words for it, None for another.

    >>> tell_yes(" TRUE "), tell_yes("0"), tell_yes("maybe")
    ('Yes', 'No', None)
    """
    word = str(answer).strip().casefold()
    if word in YES:
        return "Yes"
    return "No" if word in NO else None


def take_cells(row: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
    """Return a row's cells under other names; what says that a question is open is no answer."""
    found = clean_row({what: row.get(column) for what, column in known.items()})
    if "outcome" in found:
        answer = found.pop("outcome")
        if str(answer).strip().casefold() not in OPEN:
            found["answer"] = (
                answer.split("|") if isinstance(answer, str) and "|" in answer else answer
            )
    return found


def read_moments(name: str, rows: list[dict[str, Any]]) -> list[str | None]:
    """Return the moment that each row is asked as of, UTC+8, None where it says none. Raises
    Problems."""
    made, problems = [], []
    for n, row in enumerate(rows, 1):
        stamp = None
        if "as_of" in row:
            try:
                at = pd.Timestamp(str(row["as_of"]))
                at = at.tz_localize(ZONE) if at.tzinfo is None else at.tz_convert(ZONE)
                stamp = stamp_moment(at)
            except ValueError:
                problems.append(
                    f"{name}, row {n}, as_of: {row['as_of']!r} is no moment such as 2026-03-01 12:00"
                )
        made.append(stamp)
    raise_all(problems)
    return made
