"""Where files live, and the tables that stages share: their names, columns and keys.

Reads look first under `DAYBEFORE_OUT` (when set) and then in the repository; writes go to `DAYBEFORE_OUT`
when set, so that tests and checks re-run every stage without touching a committed file.
"""

import contextlib
import gzip
import hashlib
import json
import os
import zlib
from pathlib import Path

import pandas as pd

from helpers.columns import DIGEST, HELD, check_cells

ROOMS = ("data/papers", "data/sources", "src/helpers")
"""Folders by which a checkout of Daybefore is known."""


def find_root(code):
    """Return the checkout whose data are read: DAYBEFORE_ROOT, that of `code` (a file), or that above one's folder.

    A package that was installed, and not in place, is in none. Raises FileNotFoundError that says how to get one, and
    how to name it.
    """
    named = os.environ.get("DAYBEFORE_ROOT")
    above = [code.resolve().parents[2], Path.cwd(), *Path.cwd().parents]
    for folder in [Path(named).expanduser().resolve()] if named else above:
        if all((folder / room).is_dir() for room in ROOMS):
            return folder
    raise FileNotFoundError(
        (f"DAYBEFORE_ROOT={named} is no checkout of Daybefore" if named else "no checkout of Daybefore was found here")
        + ", whose data everything needs: `git clone` its repository, and work below that folder or set DAYBEFORE_ROOT "
        "to it"
    )


ROOT = find_root(Path(__file__))
"""The top level of the checkout that is used."""

TABLES = {
    "events": (
        ["event_id"],
        "paper family task cluster_id variant window source_id template_id variables entity_id domain subdomain "
        "site_type prompt kind options k unit opens_at as_of resolves_at answer_due_at cutoff_at volatility "
        "volatility_class level contamination_group n_steps capabilities pair_id manifest_id split "
        "resolution_criteria provenance is_synthetic metadata scenario scenario_group environments attachments",
    ),
    "runs": (
        ["run_id"],
        "agent_id category framework model model_family model_digest knowledge_cutoff_date condition message_limit "
        "time_limit_s params prompt_sha256 seed code_version packages status n_tokens cost_usd",
    ),
    "replies": (
        ["run_id", "event_id", "sample"],
        "status reply reason started_at duration_s model_s n_input_tokens n_output_tokens n_cached_tokens cost_usd "
        "finish_reason",
    ),
    "predictions": (
        ["run_id", "event_id", "sample"],
        "agent_id as_of status reason value probability distribution interval_low interval_high rationale source_ids "
        "graph_id reply_sha256 parser_version",
    ),
    "screenings": (["event_id", "filter"], "judge is_dropped reason rule"),
    "answers": (["event_id"], "value status acquired_at page_id method spread n_spread spread_rule"),
    "acquisitions": (["event_id", "attempted_at"], "status page_id reason"),
    "scores": (
        ["run_id", "event_id", "sample", "metric"],
        "agent_id score score_imputed is_missing is_scored reason scorer_version",
    ),
    "pages": (
        ["page_id"],
        "source_id url published_at occurred_at retrieved_at origin title content_type content_sha256 text_path "
        "cluster_id",
    ),
    "evidence": (["owner_type", "owner_id", "page_id"], "role is_accessed is_cited"),
    "traces": (
        ["run_id", "event_id", "sample", "step"],
        "actor step_type tool arguments content page_ids n_input_tokens n_output_tokens n_think_tokens "
        "n_context_tokens duration_s cost_usd sandbox_backend error",
    ),
    "judgements": (["target_type", "target_id", "judge", "rubric", "repeat"], "label score reason"),
}
"""Table name -> (key columns, the other columns in order). Add columns, never rename (the contract between stages)."""


def list_columns(name):
    """Return a table's columns, key first.

    >>> list_columns("acquisitions")
    ['event_id', 'attempted_at', 'status', 'page_id', 'reason']
    """
    key, rest = TABLES[name]
    return key + rest.split()


def check_table(name, table):
    """Return `table` with the contract's columns in order; extra columns follow, absent ones are blank.

    Raises ValueError when a key column is absent, blank or repeated, or a cell holds what its column may not
    (`helpers.columns`), naming the first such row.

    >>> check_table("acquisitions", pd.DataFrame({"event_id": ["e1"]}))
    Traceback (most recent call last):
        ...
    ValueError: acquisitions: column 'attempted_at' is missing; the key is event_id, attempted_at
    """
    key, _ = TABLES[name]
    for column in key:
        if column not in table.columns:
            raise ValueError(f"{name}: column {column!r} is missing; the key is {', '.join(key)}")
        if table[column].isna().any():
            raise ValueError(f"{name}: row {int(table[column].isna().to_numpy().argmax()) + 1} has no {column}")
    repeated = table.duplicated(key)
    if repeated.any():
        first = table.loc[repeated, key].iloc[0].to_dict()
        raise ValueError(f"{name}: {int(repeated.sum())} rows repeat a key, the first is {first}")
    columns = list_columns(name)
    check_cells(name, table, [column for column in columns if column in table.columns])
    return table.reindex(columns=columns + [c for c in table.columns if c not in columns])


def locate_output(relative):
    """Return where a file is to be written: under `DAYBEFORE_OUT` if set, else in the repository; makes its folder."""
    path = Path(os.environ.get("DAYBEFORE_OUT") or ROOT) / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


@contextlib.contextmanager
def write_under(folder):
    """Send every write of the kit to a folder while the block runs."""
    before = os.environ.get("DAYBEFORE_OUT")
    os.environ["DAYBEFORE_OUT"] = str(Path(folder).resolve())
    try:
        yield
    finally:
        del os.environ["DAYBEFORE_OUT"]
        if before is not None:
            os.environ["DAYBEFORE_OUT"] = before


def locate_input(relative):
    """Return a file to read, from `DAYBEFORE_OUT` when it holds one, else from the repository.

    Raises FileNotFoundError that says which target makes it.
    """
    for base in (os.environ.get("DAYBEFORE_OUT"), ROOT):
        if base and (Path(base) / relative).exists():
            return Path(base) / relative
    raise FileNotFoundError(f"{relative} is not there; `make figures` builds it")


def write_table(name, table, window, room="tables"):
    """Check a table and write it to data/<room>/<window>/<name>.csv.gz; same rows, same bytes. Returns the path.

    Raises what `check_table` and `check_held` do.
    """
    path = locate_output(f"data/{room}/{window}/{name}.csv.gz")
    check_held(name, table)
    text = check_table(name, table).to_csv(index=False, lineterminator="\n")
    with open(path, "wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as out:
        out.write(text.encode())
    return path


def check_held(name, table):
    """Raise ValueError for a pages or traces table that holds text of a page whose text is not ours to store.

    >>> check_held("pages", pd.DataFrame({"page_id": ["n1"], "title": ["sha256:4e07408562be"]}))
    >>> check_held("traces", pd.DataFrame({"page_ids": ['["n1"]'], "content": ["A page says ..."]}))
    Traceback (most recent call last):
        ...
    ValueError: traces, row 1: content holds text of news; agents.exports puts digests in its place
    """
    ids, column = {"pages": ("page_id", "title"), "traces": ("page_ids", "content")}.get(name, (None, None))
    if ids not in table or column not in table:
        return
    is_held = table[ids].astype("string").str.contains(f'^{HELD}|"{HELD}', na=False)
    is_text = ~table[column].astype("string").str.startswith(DIGEST).fillna(True).astype(bool)
    for row in (is_held & is_text).to_numpy().nonzero()[0][:1]:
        raise ValueError(
            f"{name}, row {row + 1}: {column} holds text of news; agents.exports puts digests in its place"
        )


def read_table(name, window, room="tables"):
    """Read a stage's table as written by `write_table`; JSON columns stay text (`parse_json` opens them).

    Raises FileNotFoundError when it is not there, ValueError naming the file when it is damaged.
    """
    path = f"data/{room}/{window}/{name}.csv.gz"
    try:
        table = pd.read_csv(locate_input(path), keep_default_na=True, low_memory=False)
    except (EOFError, gzip.BadGzipFile, zlib.error, ValueError) as error:
        said = str(error).strip()
        raise ValueError(f"{path} cannot be read ({said}); restore it, or delete it and `make figures` again") from None
    return check_table(name, table)


def parse_json(cell):
    """Open a JSON cell; a blank cell is None.

    >>> parse_json('["A"]'), parse_json(float("nan")), parse_json("")
    (['A'], None, None)
    """
    if cell is None or cell == "" or cell != cell:
        return None
    return json.loads(cell)


def parse_object(text):
    """Return the JSON object that a text holds, {} when it holds none.

    >>> parse_object('{"a": 1}'), parse_object("[1]"), parse_object("I think"), parse_object(None)
    ({'a': 1}, {}, {}, {})
    """
    try:
        value = json.loads(text or "")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def dump_json(value):
    """Write a value as compact JSON with sorted keys, so equal values are equal text; None is a blank cell.

    >>> dump_json({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    return None if value is None else json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def hash_text(text, length=64):
    """Return the first `length` hex digits of a text's sha256.

    >>> hash_text("a", 8)
    'ca978112'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:length]
