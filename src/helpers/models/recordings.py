"""Recorded requests to models: what was asked and what came back, kept so that a run replays without a model.

A request (model, messages, options, sample) is known by a hash of it. Under data/runs/<run_id>/ a recording is one line
of JSON: first in `requests.jsonl`, a journal that survives a kill at any moment (ignored by git), then, packed, in
`requests.jsonl.gz`, sorted by hash: the same recordings give the same bytes. In the journal a line stands before each
request, too: one that no recording follows was under way when its process was killed, and may have been paid.

Seconds and moments of a recording are facts of the one time it was asked; replaying repeats them and never measures
anew. Nothing is written before the keys that are configured are hidden in it.
"""

import errno
import fcntl
import gzip
import json
import os
import sys
import threading
import zlib
from pathlib import Path

from helpers.models.secrets import hide_secrets
from helpers.store import ROOT, dump_json, hash_text, locate_output, parse_object

PACKED, JOURNAL = "requests.jsonl.gz", "requests.jsonl"
"""A run's files: what is committed, and what has been recorded since it was packed."""


def hash_request(request):
    """Return 16 hex digits that change with anything in a request. Raises TypeError when it is not plain JSON.

    >>> hash_request({"model": "m", "sample": 0}) == hash_request({"sample": 0, "model": "m"})
    True
    >>> hash_request({"model": "m", "sample": 0}) == hash_request({"model": "m", "sample": 1})
    False
    """
    return hash_text(dump_json(request), 16)


def clean_value(value):
    """Return a value (text, numbers, lists and dicts of them) as it can be stored: valid Unicode, finite numbers.

    Half a surrogate pair becomes "?", a whole number that no 64 bits hold a float, one that is not finite None.

    >>> clean_value({"said": "a\\ud800b", "n": [2**70, float("nan"), 3]})
    {'said': 'a?b', 'n': [1.1805916207174113e+21, None, 3]}
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {clean_value(key): clean_value(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [clean_value(part) for part in value]
    if isinstance(value, int | float) and not abs(value) < 2**63:
        return float(value) if abs(value) < sys.float_info.max else None
    return value


class Recordings:
    """The recordings of one run, read from the repository and from `DAYBEFORE_OUT`; new ones go where writes go.

    Threads and processes may add at once: a line is one appended write, on disk before `add` returns; those that wait
    for the disk meanwhile share one wait. The last recording of a request holds. `under_way` maps the hash of a request
    that a kill cut short, and that was not recorded since, to the most that it can have cost (US dollars, or None);
    `cut_usd` is that of all that were ever cut short.
    """

    def __init__(self, run_id, secrets=(), *, is_alone=False):
        """Read a run's recordings; `is_alone` first claims them for this process (`claim_folder`)."""
        self.folder, self.secrets = f"data/runs/{run_id}", tuple(secrets)
        self.claim = claim_folder(locate_output(self.folder)) if is_alone else None
        self.lock, self.syncing, self.journal = threading.Lock(), threading.Lock(), None
        self.n_written, self.n_synced, self.problem = 0, 0, None
        self.rows, self.under_way, self.cut_usd = {}, {}, 0.0
        for base in dict.fromkeys([ROOT, Path(os.environ.get("DAYBEFORE_OUT") or ROOT)]):
            rows, under_way, cut_usd = read_folder(base / self.folder)
            self.rows |= rows
            self.under_way = {key: most for key, most in self.under_way.items() if key not in rows} | under_way
            self.cut_usd += cut_usd
        answered = {key for key, row in self.rows.items() if row["status"] in ("ok", "refusal")}
        self.under_way = {key: most for key, most in self.under_way.items() if key not in answered}

    def find(self, key):
        """Return the recording of a request by its hash, None when there is none."""
        return self.rows.get(key)

    def start(self, key, bound_usd=None):
        """Note that a request is about to go out, and the most that it can cost; raises OSError as `add` does.

        The line outlives a kill at once; it does not wait for the disk, so a loss of power may take it.
        """
        self.check_room()
        try:
            with self.lock:
                self.append({"asked": key, "cost_bound_usd": bound_usd})
        except OSError as error:
            self.refuse(error)

    def append(self, row):
        """Append a line to the journal; to be called by one thread at a time."""
        if self.journal is None:
            self.journal = open_journal(locate_output(f"{self.folder}/{JOURNAL}"))
        line = dump_json(row).encode() + b"\n"
        if os.write(self.journal, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def refuse(self, error):
        """Raise OSError, now and from now on: the disk has refused a line."""
        self.problem = f"data/runs takes no more recordings ({error.strerror}); make room and run again"
        self.check_room()

    def add(self, row):
        """Store a recording (a dict with `key`) durably; returns it as stored, its secrets hidden.

        Raises OSError in one sentence where the disk does not take it, and then for every further one
        (`check_room`); what stood there before stands, and the next to open the journal ends the line cut short.
        """
        self.check_room()
        row = hide_secrets(row, self.secrets)
        try:
            with self.lock:
                self.append(row)
                self.rows[row["key"]] = row
                self.n_written += 1
                place = self.n_written
            with self.syncing:
                if self.n_synced < place:  # else another's wait has covered this line
                    n = self.n_written
                    os.fsync(self.journal)
                    self.n_synced = n
        except OSError as error:
            self.refuse(error)
        return row

    def check_room(self):
        """Raise OSError when the disk has refused a recording: nothing more is asked, and paid, that would be lost."""
        if self.problem:
            raise OSError(self.problem)

    def close(self):
        """Close the journal."""
        if self.journal is not None:
            os.close(self.journal)
            self.journal = None
        if self.claim is not None:
            leave_folder(self.claim)
            self.claim = None


CLAIMED = {}
"""Folder -> [its open descriptor, how often this process has claimed it]."""


def claim_folder(path):
    """Claim a run's folder for this process, which may do so again; returns what `leave_folder` takes.

    Two processes that ask what is not recorded would ask, and pay, everything twice. The claim ends with the process,
    however that ends. Raises RuntimeError, in one sentence, when another process has it or no folder can be made there.
    """
    name = str(path.resolve())
    if name not in CLAIMED:
        try:
            path.mkdir(parents=True, exist_ok=True)
            handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise RuntimeError(
                f"another process is asking for data/runs/{path.name}; both would pay for the same replies: wait until "
                "it ends, then the same command goes on from there; nothing was asked"
            ) from None
        except OSError as error:
            raise RuntimeError(
                f"no replies can be kept in {name} ({error.strerror}); set DAYBEFORE_OUT to a folder that can be "
                "written, or move away what stands there; nothing was asked"
            ) from None
        CLAIMED[name] = [handle, 0]
    CLAIMED[name][1] += 1
    return name


def leave_folder(name):
    """Give a claim back; the last one lets other processes in."""
    CLAIMED[name][1] -= 1
    if not CLAIMED[name][1]:
        os.close(CLAIMED.pop(name)[0])


def open_journal(path):
    """Open a journal for appending; a line that a kill cut short is ended, so that the next one stands alone."""
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    size = os.fstat(handle).st_size
    if size and os.pread(handle, 1, size - 1) != b"\n":
        os.write(handle, b"\n")
    return handle


def read_rows(folder):
    """Return a folder's recordings by hash, packed ones first; raises as `read_folder` does."""
    return read_folder(folder)[0]


def read_folder(folder):
    """Return (a folder's recordings by hash, `under_way`, `cut_usd`), the latter two as `Recordings` has them.

    A journal's line that a kill cut short is left out. Raises ValueError, naming the file, when the packed one cannot
    be read, or a line of it is no recording.
    """
    rows, packed, journal = {}, Path(folder) / PACKED, Path(folder) / JOURNAL
    if packed.exists():
        for number, line in enumerate(unpack(packed).splitlines(), 1):
            row = parse_object(line)
            if "key" not in row:
                raise ValueError(f"{Path(folder).name}/{PACKED}: line {number} is no recording; restore the file")
            rows[row["key"]] = row
    under_way, cut_usd = {}, 0.0
    for row in map(parse_object, journal.read_bytes().splitlines() if journal.exists() else ()):
        if "asked" in row:
            cut_usd += under_way.get(row["asked"]) or 0.0
            under_way[row["asked"]] = row.get("cost_bound_usd")
        elif "key" in row:
            rows[row["key"]] = row
            under_way.pop(row["key"], None)
        cut_usd += row.get("cut_usd") or 0.0
    return rows, under_way, cut_usd + sum(filter(None, under_way.values()))


def unpack(path):
    """Return the text of a packed file as bytes. Raises ValueError that names it when it is damaged, or empty."""
    try:
        text = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path.parent.name}/{PACKED} cannot be read ({error}); restore the file") from None
    if not text:
        raise ValueError(f"{path.parent.name}/{PACKED} is empty; restore the file")
    return text


def pack_recordings(run_id, facts=None, secrets=()):
    """Write a run's recordings as requests.jsonl.gz, sorted by hash, and run.json; empties the journal.

    To be called when nobody is adding. What was refused before anything went out (`went_out`) is left out. `facts` (a
    dict) say what was run: agent, event file and its hash, versions; totals are added (`summarize_rows`). Facts that
    say `keeps = "values"` are of a run whose words may not be passed on: nothing is written where a recording holds its
    messages. Returns what run.json holds. Raises LookupError for an empty run, ValueError for one that holds more than
    it may.
    """
    rows = {key: row for key, row in Recordings(run_id, secrets).rows.items() if went_out(row)}
    if not rows:
        raise LookupError(f"nothing is recorded under data/runs/{run_id}; ask with live=True first")
    if (facts or {}).get("keeps") == "values" and any("messages" in row["request"] for row in rows.values()):
        raise ValueError(f"data/runs/{run_id} holds whole replies, and values alone may be kept; move its files away")
    text = "".join(dump_json(hide_secrets(rows[key], secrets)) + "\n" for key in sorted(rows))
    summary = hide_secrets((facts or {}) | {"run_id": run_id} | summarize_rows(rows.values()), secrets)
    replace_file(locate_output(f"data/runs/{run_id}/{PACKED}"), gzip.compress(text.encode(), 9, mtime=0))
    written = json.dumps(summary, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    replace_file(locate_output(f"data/runs/{run_id}/run.json"), written.encode())
    forget_packed(locate_output(f"data/runs/{run_id}"))
    return summary


def has_news(run_id):
    """Say whether a run's journal holds recordings that are to be packed."""
    journal = locate_output(f"data/runs/{run_id}/{JOURNAL}")
    rows = map(parse_object, journal.read_bytes().splitlines() if journal.exists() else ())
    return any("key" in row and went_out(row) for row in rows)


def went_out(row):
    """Say whether a recording tells of a request that was made, be it without a reply.

    >>> went_out({"status": "unsupported", "n_requests": 0}), went_out({"status": "ok"})
    (False, True)
    """
    return row["status"] != "unsupported" or row.get("n_requests") != 0


def forget_packed(folder):
    """Leave of a folder's journal what requests that a kill cut short may have cost; nothing where none did."""
    if cut_usd := read_folder(folder)[2]:
        replace_file(folder / JOURNAL, dump_json({"cut_usd": cut_usd}).encode() + b"\n")
    else:
        (folder / JOURNAL).unlink(missing_ok=True)


def replace_file(path, data):
    """Write a file whole or not at all: to a file beside it, to disk, then in its place."""
    beside = path.with_name(path.name + ".partial")
    with open(beside, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def summarize_rows(rows):
    """Return the totals of some recordings: requests by status, tokens, US dollars, seconds, first and last moment.

    `cost_usd` is None when no recording has a price; `n_unpriced` counts replies whose price is not known.

    >>> summarize_rows([{"status": "ok", "n_output_tokens": 3, "recorded_at": "2026-06-01T00:00:00+00:00"}])["n_ok"]
    1
    """
    rows = list(rows)
    statuses = sorted({row["status"] for row in rows})
    costs = [row["cost_usd"] for row in rows if row.get("cost_usd") is not None]
    moments = sorted(row["recorded_at"] for row in rows)
    totals = {
        name: sum(row.get(name) or 0 for row in rows)
        for name in ("n_input_tokens", "n_output_tokens", "n_cached_tokens", "n_think_tokens", "n_requests")
    }
    return totals | {
        "n_recordings": len(rows),
        **{f"n_{status}": sum(row["status"] == status for row in rows) for status in statuses},
        "cost_usd": round(sum(costs), 9) if costs else None,
        "n_unpriced": sum(row["status"] == "ok" and row.get("cost_usd") is None for row in rows),
        "duration_s": round(sum(row.get("duration_s") or 0 for row in rows), 3),
        "first_recorded_at": moments[0],
        "last_recorded_at": moments[-1],
    }
