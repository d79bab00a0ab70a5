"""The weekly challenge's questions, or a file of one's own: fetched at a commit, checked row by
row, made events.

FutureX publishes each week's questions as the data set `futurex-ai/Futurex-Online` of the Hugging
Face hub (columns id, prompt, end_time, level; parquet). A file of one's own has `id` and `prompt`,
and may have `end_time`, `level`, `options`, `kind`, `unit`, as csv, json, jsonl or parquet. What a
row does not say is read from its prompt (`prompt_kinds`).
"""

import re
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pandas as pd
import pyarrow.parquet as pq
from pydantic import StringConstraints

from daybefore.formats.forecastbench_questions import list_resolutions, list_rows
from daybefore.formats.futurex_questions import name_labels, name_letters
from daybefore.formats.market_questions import YEARS
from daybefore.live.prompt_kinds import NOISE, Shape, read_shape, read_two
from daybefore.questions.collect_events import CARRY_DAYS
from daybefore.questions.levels import assign_level
from helpers.clock import ZONE, stamp_moment
from helpers.files import dump_json, hash_text
from helpers.input_faults import (
    find_faults,
    name_field,
    parse_text,
    raise_all,
    read_lines,
    read_text,
)
from helpers.means import GATHERED
from helpers.public_files import hash_file
from helpers.tables import (
    KINDS,
    LEVELS,
    Amount,
    Moment,
    Share,
    Text,
    allow,
    check_table,
    form,
    one_of,
)

DATASET, ANSWERS = "futurex-ai/Futurex-Online", "futurex-ai/Futurex-Past"
"""The hub's data sets of this week's questions, and of those that have an answer."""

MAX_PROMPT = 30_000
"""Characters of a prompt."""

N_COMMIT = 12
"""Digits of a commit by which a week's folder and runs are called."""

DIGITS = re.compile(r"\s*\d+(?:\.\d+)?\s*")
READERS = (".parquet", ".csv", ".json", ".jsonl")
LISTED, ORDERED = ("single", "multi"), ("ranking", "list")
LABELS = name_labels()
AMOUNTS = {"level", "spread", "price"}
IDS = ("id", "session_id", "sample_id", "session")
"""Names under which FutureX's scorer takes a row's id, the first that is there."""


def read_options(given):
    """Return {letter: text} of options: an object by letter, a list, JSON of either, or A|B. Raises
    ValueError.

    >>> read_options('["Yes", "No"]'), read_options("Yes|No")
    ({'A': 'Yes', 'B': 'No'}, {'A': 'Yes', 'B': 'No'})
    """
    if isinstance(given, str):
        is_json = given.lstrip()[:1] in ("[", "{")
        given = parse_text(given, "options") if is_json else given.split("|")
    if isinstance(given, list) and len(given) <= len(LABELS):
        given = dict(zip(LABELS, given, strict=False))
    if not isinstance(given, dict) or not all(isinstance(text, str) for text in given.values()):
        raise ValueError
    found = {letter: strip_label(letter, " ".join(text.split())) for letter, text in given.items()}
    n_different = len({text.casefold() for text in found.values()} - {""})
    orders = (LABELS[: len(found)], name_letters(len(found)))  # after Z: [ and on, or AA
    if len(found) < 2 or n_different < len(found) or list(found) not in orders:
        raise ValueError
    return found


def strip_label(letter, text):
    """Return an option's own words, where its text repeats its label as FutureX's options do.

    >>> strip_label("A", "A. the outcome be Tie"), strip_label("A", "A. Ruiz wins")
    ('Tie', 'A. Ruiz wins')
    """
    bare = text.removeprefix(f"{letter}.").strip()
    return NOISE.sub("", bare) if NOISE.match(bare) else text


def read_end(text):
    """Return the moment at which a question's window ends: a day ends with itself, UTC+8. Raises
    ValueError.

    >>> read_end("2026-03-10").isoformat(), read_end("2026-03-10 12:00:00").isoformat()
    ('2026-03-11T00:00:00+08:00', '2026-03-10T12:00:00+08:00')
    """
    if not re.match(r"\d{4}-\d\d-\d\d", text := text.strip()):
        raise ValueError(text)
    moment = pd.Timestamp(text)
    if not YEARS[0] <= moment.year <= YEARS[1]:
        raise ValueError(text)
    if re.fullmatch(r"\d{4}-\d\d-\d\d(?:[T ]00:00(?::00)?)?", text):
        moment += pd.Timedelta(days=1)
    return moment.tz_localize(ZONE) if moment.tzinfo is None else moment.tz_convert(ZONE)


MAX_OPEN, N_BATCH = 200_000_000, 256
"""Bytes that a parquet file may open to, and rows of it that are read at a time."""

ID = Annotated[str, StringConstraints(pattern=r"^[\w.:-]{1,100}$")]
TEXT = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True, min_length=1, max_length=MAX_PROMPT, pattern=r"^[^\x00]*$"
    ),
]
Name = allow(ID, "an id of up to 100 letters, digits and . : _ -")
Prompt = allow(TEXT, f"a text of up to {MAX_PROMPT:,} characters")
End = allow(str, "a day or moment such as 2026-03-11", test=read_end)
Options = allow(
    Any,
    "2 to 58 different texts by letter from A (Yes|No, a list, an object, JSON)",
    test=read_options,
)
FIELDS = dict(
    id=Name,
    prompt=Prompt,
    end_time=End,
    level=one_of(*LEVELS),
    options=Options,
    kind=one_of(*KINDS),
)
FIELDS |= dict(unit=Text, domain=Text, spread=Amount)
FIELDS |= dict(venue=Name, cluster=Text, criteria=Text, price=Share, fetched_at=Moment)
Row = form("id", "prompt", url=Text, question_set=Text, **FIELDS)
"""What a row of questions may hold; other columns are left alone. From `venue` on: what a market or
ForecastBench says of a question (`live.market_venues`): how it is settled, the price of its first option,
and when that was fetched."""

TOLD = ("price", "fetched_at", "url", "question_set")
"""Of these what an event keeps in its metadata, which no prompt shows."""


class Batch(NamedTuple):
    """Questions as they were found: rows (dicts), where they are from, the commit or digest, what
    its message says."""

    rows: list
    source: str
    commit: str
    message: str = ""
    is_challenge: bool = False


# --- from the hub, or a file ------------------------------------------------------------------------


def fetch_batch(place=None, commit=None):
    """Return the Batch of a file of questions, or without one of the hub's newest commit (or that
    of `commit`).

    Raises ValueError with what is wrong: no such file, no answer of the hub, a malformed row
    (`check_rows`).
    """
    if place is not None:
        path = Path(place)
        if not path.is_file():
            raise ValueError(f"there is no file {path}")
        return Batch(check_rows(read_rows(path, path.name), path.name), path.name, hash_file(path))
    rows, commit, message = fetch_rows(DATASET, commit)
    return Batch(check_rows(rows, DATASET), DATASET, commit, message, is_challenge=True)


def fetch_rows(name, revision=None):
    """Return (rows, commit, the commit's message) of a data set of the hub, all its parquet files
    of `data/`.

    Raises ValueError where the hub does not answer, or has no such data set or file.
    """
    import httpx
    from huggingface_hub import list_repo_commits, snapshot_download  # here: a second to import
    from huggingface_hub.errors import HfHubHTTPError

    try:
        first = list_repo_commits(name, repo_type="dataset", revision=revision)[0]
        given = {
            "repo_type": "dataset",
            "revision": first.commit_id,
            "allow_patterns": "data/train-*.parquet",
        }
        paths = sorted(Path(snapshot_download(name, **given)).glob("data/train-*.parquet"))
    except (
        HfHubHTTPError,
        httpx.HTTPError,
        OSError,
    ) as error:  # without a network the last but one
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        setting = "SETTLE" if name == ANSWERS else "QUESTIONS"
        advice = f"try again, or fetch the file by hand and give it ({setting}=file)"
        raise ValueError(f"the hub did not give {name} ({said}); {advice}") from None
    if not paths:
        told = f"{name} at {first.commit_id[:N_COMMIT]} has no file data/train-*.parquet"
        raise ValueError(f"{told}; look at it on the hub")
    return [row for path in paths for row in read_rows(path, name)], first.commit_id, first.title


def read_rows(path, name):
    """Return a file's rows as dicts, blank cells left out. Raises ValueError with the file's name,
    of json its row."""
    if path.suffix not in (*READERS, ""):
        raise ValueError(
            f"{name}: a file of questions ends in {', '.join(READERS)}, not {path.suffix}"
        )
    if path.stat().st_size == 0:
        raise ValueError(f"{name} is empty; a question a row, under a header with id and prompt")
    try:
        if path.suffix == ".csv":
            rows = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
        elif path.suffix == ".json":
            rows = parse_text(read_text(path), name)
        elif path.suffix == ".jsonl":
            rows = [row for _, row in read_lines(path)]
        else:  # the hub's copies have no suffix
            rows = read_parquet(path)
    except (ValueError, OSError) as error:  # pandas' and pyarrow's own are ValueErrors
        raise ValueError(
            f"{name} cannot be read as {path.suffix or '.parquet'} ({str(error)[:120]})"
        ) from None
    if isinstance(rows, dict) and "forecast_due_date" in rows:
        rows = list_resolutions(rows, name) if "resolutions" in rows else list_rows(rows, name)
    if not isinstance(rows, list):
        raise ValueError(f"{name} holds a {type(rows).__name__}; wanted is a list of questions")
    return [clean_row(row) if isinstance(row, dict) else row for row in rows]


def read_parquet(path):
    """Return a parquet file's rows as dicts. Raises ValueError for one that opens to over
    `MAX_OPEN` bytes.

    It is read a batch at a time, since a small file can hold one text a million times.
    """
    rows, size = [], 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=N_BATCH):
            size += batch.nbytes
            if size > MAX_OPEN:
                raise ValueError(f"it opens to over {MAX_OPEN // 1_000_000} MB")
            rows += batch.to_pylist()
    return rows


def clean_row(row):
    """Return a row without blank cells: moments and ids as text, numbers also where a csv holds
    them as text."""
    cells = {}
    for name, cell in row.items():
        if cell is not None and cell != "" and cell == cell:
            cells[str(name)] = cell.isoformat() if hasattr(cell, "isoformat") else cell
    key = next((cells[name] for name in IDS if name in cells), None)
    if isinstance(key, int | float) and not isinstance(key, bool) and key % 1 == 0:
        key = str(int(key))
    if key is not None:
        cells["id"] = key
    for name in AMOUNTS & set(cells):
        if isinstance(cells[name], str) and DIGITS.fullmatch(cells[name]):
            cells[name] = float(cells[name])
    if isinstance(cells.get("level"), float) and cells["level"].is_integer():
        cells["level"] = int(cells["level"])
    return cells


# --- rows that can be asked -------------------------------------------------------------------------


def check_rows(rows, name):
    """Return rows that are whole, options as {letter: text}. Raises Problems with row and field of
    each fault."""
    if not rows:
        raise ValueError(f"{name} holds no question")
    problems, seen, made = [], {}, []
    for n, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            kind = type(row).__name__
            problems.append(f"{name}, row {n}: wanted is an object with id and prompt, not {kind}")
            continue
        known = {field: row[field] for field in Row.model_fields if field in row}
        faults = [(name_field(at), words) for at, words in find_faults(known, Row)]
        faults = faults or check_kind(known)
        if not faults and (first := seen.setdefault(row["id"], n)) != n:
            faults = [("id", f"{row['id']!r} stands in row {first} already")]
        for field, words in faults:
            problems.append(f"{name}, row {n}{', ' * bool(field)}{field}: {words}")
        if not faults and "options" in known:
            known["options"] = read_options(known["options"])
        made.append(known)
    raise_all(problems)
    return made


def check_kind(row):
    """Return what is wrong with a row's kind beside its options: [(field, words)]."""
    kind, options = row.get("kind"), row.get("options")
    if kind in LISTED and not options and not read_shape(row["prompt"]).options:
        return [
            ("kind", f"{kind} needs options, in their column or as lettered lines of the prompt")
        ]
    if options and kind not in (None, *LISTED, *ORDERED):
        return [("options", f"a question of kind {kind} has none")]
    return []


def find_shape(row):
    """Return the Shape of a checked row: what it says itself, and of what it does not what its
    prompt does."""
    shape, kind = read_shape(row["prompt"]), row.get("kind")
    if options := row.get("options"):
        writes = "text" if read_two(row["prompt"]) == options else "letter"
        kind = kind or (shape.kind if shape.options else "single")
        shape = Shape(kind, options, writes=writes)
    elif kind == shape.kind or (kind in (*LISTED, *ORDERED) and shape.options):
        shape = shape._replace(kind=kind, is_known=True)
    elif kind:
        shape = Shape(kind, k=shape.k, unit=shape.unit)
    return shape._replace(unit=row["unit"]) if row.get("unit") else shape


def build_events(batch, as_of):
    """Return the events table of a batch, asked as of a moment; `metadata` says how each is written
    and if it is known.

    The prompt is the question, whole. Its window (`name_window`) is the batch's own.
    """
    made = []
    for row in batch.rows:
        shape = find_shape(row)
        end = stamp_moment(read_end(row["end_time"])) if "end_time" in row else None
        told = f"The question closes at {end}; it" if end else "It"
        told += " is settled by what is published by then."
        if "criteria" in row:
            told = row["criteria"] + (f" The question closes at {end}." if end else "")
        about = {"writes": shape.writes, "is_known": shape.is_known}
        about |= {name: row[name] for name in TOLD if name in row}
        level = row.get("level") or assign_level(shape.kind, len(shape.options or ()), "low")
        made.append(
            {
                "event_id": row["id"],
                "paper": "futurex",
                "window": name_window(batch),
                "as_of": as_of,
                "cluster_id": row.get("cluster"),
                "source_id": row.get("venue") or GATHERED,
                "resolves_at": end,
                "domain": row.get("domain"),
                "prompt": row["prompt"].strip(),
                "options": dump_json(shape.options),
                "kind": shape.kind,
                "k": shape.k,
                "unit": shape.unit,
                "is_synthetic": False,
                "level": level,
                "resolution_criteria": told,
                "provenance": f"{batch.source}@{batch.commit[:N_COMMIT]}",
                "metadata": dump_json(about),
            }
        )
    return check_table("events", pd.DataFrame(made))


def build_posed(rows, name, now, window):
    """Return rows of a day's own questions (markets', news) as its events, asked as of `now`; their
    answers are looked for until `CARRY_DAYS` after their end. Raises Problems as `check_rows`."""
    if not rows:
        return check_table("events", pd.DataFrame(columns=["event_id"]))
    batch = Batch(check_rows(rows, name), name, hash_text(dump_json(rows), 40))
    events = build_events(batch, stamp_moment(now))
    due = pd.to_datetime(events["resolves_at"]) + pd.Timedelta(days=CARRY_DAYS)
    about = {"window": window, "variables": "{}", "opens_at": events["as_of"]}
    return events.assign(**about, answer_due_at=due.map(stamp_moment))


def name_window(batch):
    """Return the word that the runs on a batch carry: "week" or "ask", and digits of its commit."""
    return ("week" if batch.is_challenge else "ask") + hash_text(batch.commit, 8)
