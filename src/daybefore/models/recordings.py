"""Recorded requests to models: what was asked and what came back, kept so that a run replays
without a model.

A request (model, messages, options, sample) is known by a hash of it. New ones are rows of the
store, there before the request goes out; a row without a recording was cut short by a kill, and may
have been paid. A finished run is packed to data/runs/<run_id>/requests.jsonl.gz, sorted by hash.
Both are read alike, the store's rows over the packed ones, those of `DAYBEFORE_OUT` over the
repository's. Keys are hidden before anything is written.
"""

import fcntl
import gzip
import json
import os
import re
import sqlite3
import threading
import zlib
from collections import Counter, deque
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from daybefore.models.model_files import MODELS, name_model
from daybefore.models.secrets import hide_secrets
from daybefore.store import name_problem, open_store
from helpers.files import (
    ROOT,
    STORE,
    dump_json,
    hash_text,
    locate_output,
    parse_object,
    write_whole,
)

PACKED = "requests.jsonl.gz"
"""A run's packed recordings, in its folder."""

BEGUN = "(SELECT max(id) FROM requests WHERE run = ? AND key = ? AND recording IS NULL)"
TO_PACK = "run = ? AND recording IS NOT NULL AND recording ->> 'stays' IS NULL"
"""In the store: the newest request of a hash that is under way, and a run's recordings that are to
be packed."""


def hash_request(request):
    """Return 16 hex digits that change with anything in a request. Raises TypeError when it is not
    plain JSON.

    >>> hash_request({"model": "m", "sample": 0}), hash_request({"sample": 1, "model": "m"})
    ('a653dc399a877f6f', 'ffcd9720348a38ad')
    """
    return hash_text(dump_json(request), 16)


class Recordings:
    """The recordings of one run, by hash in `rows`; threads and processes may add at once, the last
    of a hash holds.

    `under_way` maps the hash of a request that a kill cut short, and that was not recorded since,
    to the most that it can have cost (US dollars, or None); `cut_usd` is that of all that were ever
    cut short, or could not be read and were asked again.
    """

    def __init__(self, run_id, secrets=(), *, is_alone=False, store=None):
        """Read a run's recordings; `is_alone` first claims them for this process (`claim_folder`).

        `store` is the path of another store, which is read last, and written in place of the usual
        one.
        """
        self.run_id, self.folder, self.secrets = run_id, f"data/runs/{run_id}", tuple(secrets)
        self.store, self.lock, self.connection, self.problem = store, threading.Lock(), None, None
        self.wishes = deque()
        self.claim = (
            claim_folder(Path(store).parent if store else locate_output(self.folder))
            if is_alone
            else None
        )
        self.read()

    def read(self):
        """Read what is recorded by now."""
        self.rows, self.under_way, self.cut_usd = {}, {}, 0.0
        self.batches = (
            read_batches(self.store or locate_output(STORE), self.run_id) if self.claim else []
        )
        for key, bound_usd, row in read_requests(self.run_id, self.store):
            if row is None:
                self.under_way[key] = bound_usd
                self.cut_usd += bound_usd or 0.0
            else:
                if (
                    earlier := self.rows.get(key)
                ) and earlier != row:  # which may have been paid, too
                    self.cut_usd += earlier.get("cost_bound_usd") or 0.0
                self.rows[key] = row
                self.under_way.pop(key, None)
        answered = {key for key, row in self.rows.items() if row["status"] in ("ok", "refusal")}
        self.under_way = {
            key: bound_usd for key, bound_usd in self.under_way.items() if key not in answered
        }

    def start(self, key, bound_usd=None):
        """Store that a request is about to go out, and the most that it can cost; raises OSError as
        `add` does."""
        self.write(
            "INSERT INTO requests (run, key, bound_usd) VALUES (?, ?, ?)",
            self.run_id,
            key,
            bound_usd,
        )

    def open_batch(self, tag, n, bound_usd):
        """Store that a batch of `n` requests is about to be submitted, and the most that it can
        cost."""
        self.write(
            "INSERT INTO batches (tag, run, n, bound_usd) VALUES (?, ?, ?, ?)",
            tag,
            self.run_id,
            n,
            bound_usd,
        )
        self.batches.append(Batch(tag, None, n, bound_usd))

    def name_batch(self, tag, batch_id):
        """Store the provider's id of a batch."""
        self.write("UPDATE batches SET batch_id = ? WHERE tag = ?", batch_id, tag)
        self.batches = [
            one._replace(batch_id=batch_id) if one.tag == tag else one for one in self.batches
        ]

    def close_batch(self, tag):
        """Take a batch out of the store whose replies are recorded, or that was never submitted."""
        self.write("DELETE FROM batches WHERE tag = ?", tag)
        self.batches = [one for one in self.batches if one.tag != tag]

    def add(self, row):
        """Store a recording (a dict with `key`) durably; returns it as stored, its secrets hidden.

        Raises OSError in one sentence where the disk does not take it, and then for every further
        one (`check_room`).
        """
        row = hide_secrets(row, self.secrets)
        text, key = dump_json(row), row["key"]
        if not self.write(
            f"UPDATE requests SET recording = ? WHERE id = {BEGUN}", text, self.run_id, key
        ):
            self.write(
                "INSERT INTO requests (run, key, recording) VALUES (?, ?, ?)",
                self.run_id,
                key,
                text,
            )
        self.rows[key] = row
        return row

    def write(self, sql, *values):
        """Write to the store durably, in one transaction with what other threads have to write;
        returns rows changed.

        One thread writes for all that came while it waited for its turn, as the disk takes
        milliseconds a transaction.
        """
        self.check_room()
        wish = {"sql": sql, "values": values}
        self.wishes.append(wish)
        with self.lock:
            if "n_rows" not in wish and not self.problem:
                self.write_wishes()
        self.check_room()
        return wish["n_rows"]

    def write_wishes(self):
        """Write what threads wait for in one transaction; where that fails `problem` says why to
        each of them."""
        written = []
        try:
            self.connection = self.connection or open_store(self.store or locate_output(STORE))
            with self.connection:
                self.connection.execute("BEGIN IMMEDIATE")
                while self.wishes:
                    wish = self.wishes.popleft()
                    written.append(
                        (wish, self.connection.execute(wish["sql"], wish["values"]).rowcount)
                    )
        except (ValueError, sqlite3.Error) as error:
            self.problem = f"data/runs takes no more recordings ({error}); make room and run again"
        else:
            for wish, n_rows in written:
                wish["n_rows"] = n_rows

    def check_room(self):
        """Raise OSError when the disk has refused a recording: nothing more is asked, and paid,
        that would be lost."""
        if self.problem:
            raise OSError(self.problem)

    def close(self):
        """Close the store, and let other processes ask."""
        with self.lock:  # a question past its deadline may be writing
            if self.connection is not None:
                self.connection.close()
                self.connection = None
        if self.claim is not None:
            leave_folder(self.claim)
            self.claim = None


CLAIMED = {}
"""Folder -> [its open descriptor, how often this process has claimed it]."""


def claim_folder(path):
    """Claim a run's folder for this process, which may do so again; returns what `leave_folder`
    takes.

    Two processes that ask what is not recorded would ask, and pay, everything twice. The claim ends
    with the process, however that ends. Raises RuntimeError, in one sentence, when another process
    has it or no folder can be made there.
    """
    name = str(path.resolve())
    if name not in CLAIMED:
        try:
            path.mkdir(parents=True, exist_ok=True)
            handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            told = f"another process is asking for data/runs/{path.name}; both would pay for the same replies"
            raise RuntimeError(
                f"{told}: wait until it ends, then the same command goes on from there; nothing was asked"
            ) from None
        except OSError as error:
            told = f"no replies can be kept in {name} ({error.strerror}); DAYBEFORE_OUT names a folder to be written"
            raise RuntimeError(f"{told}; nothing was asked") from None
        CLAIMED[name] = [handle, 0]
    CLAIMED[name][1] += 1
    return name


def leave_folder(name):
    """Give a claim back; the last one lets other processes in."""
    CLAIMED[name][1] -= 1
    if not CLAIMED[name][1]:
        os.close(CLAIMED.pop(name)[0])


def read_requests(run_id, store=None):
    """Yield (hash, bound in US dollars, recording or None) of a run's requests, those that hold
    last.

    Of the repository, then of `DAYBEFORE_OUT`: the packed ones, the store's; then of another
    `store`. Raises ValueError, naming the file, when one cannot be read, or a packed line is no
    recording.
    """
    for base in dict.fromkeys([ROOT, Path(os.environ.get("DAYBEFORE_OUT") or ROOT)]):
        yield from read_packed(base / "data/runs" / run_id / PACKED)
        yield from read_store(base / STORE, run_id)
    if store:
        yield from read_store(store, run_id)


def read_packed(path):
    """Yield what `read_requests` does of a file of packed recordings, nothing where there is
    none."""
    if not path.exists():
        return
    name = f"{path.parent.name}/{PACKED}"
    try:
        lines = gzip.decompress(path.read_bytes()).splitlines()
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{name} cannot be read ({error}); restore the file") from None
    for number, line in enumerate(lines or [b""], 1):
        row = parse_object(line.decode(errors="replace"))
        if "key" not in row:
            raise ValueError(f"{name}: line {number} is no recording; restore the file")
        yield row["key"], None, row


def read_store(path, run_id):
    """Yield what `read_requests` does of a store, nothing where there is none."""
    if Path(path).exists():
        sql = "SELECT key, bound_usd, recording FROM requests WHERE run = ? ORDER BY id"
        with name_problem(path), closing(open_store(path)) as store:
            for key, bound_usd, text in store.execute(sql, [run_id]).fetchall():
                yield key, bound_usd, None if text is None else json.loads(text)


class Batch(NamedTuple):
    """A batch of a run that is under way: the tag by which its provider finds it, its id there once
    that is known."""

    tag: str
    batch_id: str | None
    n: int
    bound_usd: float


def read_batches(path, run_id):
    """Return a run's batches (`Batch`) that a store holds as under way."""
    if not Path(path).exists():
        return []
    sql = "SELECT tag, batch_id, n, bound_usd FROM batches WHERE run = ? ORDER BY rowid"
    with name_problem(path), closing(open_store(path)) as store:
        return [Batch(*row) for row in store.execute(sql, [run_id])]


def pack_recordings(run_id, facts=None):
    """Write a run's recordings as requests.jsonl.gz, sorted by hash, and run.json; takes them out
    of the store.

    To be called when nobody is adding; keys were hidden as each was stored. Left out is what
    `stays` in the store, which git ignores. `facts` (a dict) say what was run, models and totals
    are those of the recordings. Facts that say `keeps = "values"` are of a run whose words may not
    be passed on. Returns what run.json holds. Raises LookupError for an empty run, ValueError for
    one that holds more than it may.
    """
    recordings, facts = Recordings(run_id), facts or {}
    rows = [row for _, row in sorted(recordings.rows.items()) if not row.get("stays")]
    if not rows:
        raise LookupError(f"nothing is recorded under data/runs/{run_id}; ask with live=True first")
    if facts.get("keeps") == "values" and any("messages" in row["request"] for row in rows):
        raise ValueError(
            f"data/runs/{run_id} holds whole replies, and values alone may be kept; move its files away"
        )
    about = locate_output(f"data/runs/{run_id}/run.json")
    earlier = json.loads(about.read_text(encoding="utf-8")) if about.exists() else {}
    summary = (
        facts | {"run_id": run_id} | describe_models(rows, facts, earlier) | summarize_rows(rows)
    )
    summary |= {"cost_unanswered_usd": round(recordings.cut_usd, 9)} if recordings.cut_usd else {}
    text = "".join(dump_json(thin_alternatives(row)) + "\n" for row in rows)
    write_whole(
        locate_output(f"data/runs/{run_id}/{PACKED}"), gzip.compress(text.encode(), 9, mtime=0)
    )
    write_whole(about, json.dumps(summary, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    if (path := locate_output(STORE)).exists():
        with closing(open_store(path)) as store:
            store.execute(f"DELETE FROM requests WHERE {TO_PACK}", [run_id])
    return summary


def has_news(run_id):
    """Say whether the store holds recordings of a run that are to be packed."""
    if not (path := locate_output(STORE)).exists():
        return False
    with closing(open_store(path)) as store:
        return bool(
            store.execute(f"SELECT 1 FROM requests WHERE {TO_PACK} LIMIT 1", [run_id]).fetchone()
        )


def thin_alternatives(row):
    """Return a recording with alternatives at option letters and the token after them: only there
    are they read.

    >>> tokens = [{"token": name, "logprob": -1.0, "top": [["x", -2.0]]} for name in ("The", " B", ".", "\\n")]
    >>> [len(part["top"]) for part in thin_alternatives({"logprobs": tokens})["logprobs"]]
    [0, 1, 1, 0]
    """
    parts = row.get("logprobs") or []
    is_letter = [bool(re.fullmatch(r"\s*[A-Z]\s*", part["token"])) for part in parts]
    thin = [
        part if here or before else part | {"top": []}
        for part, here, before in zip(parts, is_letter, [False, *is_letter], strict=False)
    ]
    return row | {"logprobs": thin} if thin else row


def describe_models(rows, *told):
    """Return `model`, `model_sha256` and `server` of the model asked first, and where there are
    several `models`.

    What served a model is in no recording: the first of `told` (facts, an earlier run.json) that is
    of it says so.
    """
    counts = Counter(row["request"].get("model") for row in rows)
    first = min(rows, key=lambda row: row["recorded_at"])["request"].get("model")
    first = next((f"local/{name}" for name in MODELS if name_model(name) == first), first)
    about = next((about for about in told if about.get("model") == first), {})
    found = {"model": first} | {name: about.get(name) for name in ("model_sha256", "server")}
    return found | ({"models": dict(sorted(counts.items()))} if len(counts) > 1 else {})


def summarize_rows(rows):
    """Return the totals of some recordings: requests by status, tokens, US dollars, seconds, first
    and last moment.

    `cost_usd` is None when no recording has a price; `n_unpriced` counts replies whose price is not
    known.
    """
    costs = [row["cost_usd"] for row in rows if row.get("cost_usd") is not None]
    moments = [row["recorded_at"] for row in rows]
    counts = (
        "n_input_tokens",
        "n_output_tokens",
        "n_cached_tokens",
        "n_think_tokens",
        "n_requests",
    )
    return {
        **{name: sum(row.get(name) or 0 for row in rows) for name in counts},
        "n_recordings": len(rows),
        **{f"n_{status}": n for status, n in Counter(row["status"] for row in rows).items()},
        "cost_usd": round(sum(costs), 9) if costs else None,
        "n_unpriced": sum(row["status"] == "ok" and row.get("cost_usd") is None for row in rows),
        "duration_s": round(sum(row.get("duration_s") or 0 for row in rows), 3),
        "first_recorded_at": min(moments),
        "last_recorded_at": max(moments),
    }
