"""Recorded requests to models: what was asked and what came back, kept so that a run replays without a model.

A request (model, messages, options, sample) is known by a hash of it. Under data/runs/<run_id>/ a recording is one line
of JSON: first in `requests.jsonl`, a journal that survives a kill at any moment (ignored by git), then, packed, in
`requests.jsonl.gz`, sorted by hash: the same recordings give the same bytes. Seconds and moments of a recording are
facts of the one time it was asked; replaying repeats them and never measures anew. Nothing is written before the keys
that are configured are hidden in it.
"""

import base64
import gzip
import json
import os
import re
import threading
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, quote_plus

from helpers.store import ROOT, dump_json, hash_text, locate_output

PACKED, JOURNAL = "requests.jsonl.gz", "requests.jsonl"
"""A run's files: what is committed, and what has been recorded since it was packed."""

SECRET_NAMES = re.compile(r"(^|_)(KEYS?|TOKENS?|SECRETS?|PASSWORDS?|CREDENTIALS?)$", re.IGNORECASE)
"""How an environment variable that holds a secret ends."""

MIN_SECRET = 8
"""Shorter values are not taken for secrets, nor looked for in base64: hiding "1" everywhere would spoil every text."""


# --- secrets ---------------------------------------------------------------------------------------------------------


def list_secrets(environment):
    """Return the values of all environment variables whose name says that they hold a key, token or password.

    >>> list_secrets({"OPENAI_API_KEY": "sk-123456789", "HOME": "/home/me", "N_TOKENS": "4"})
    ('sk-123456789',)
    """
    return tuple(sorted({v for k, v in environment.items() if SECRET_NAMES.search(k) and len(v) >= MIN_SECRET}))


def encode_secret(secret):
    """Return the forms in which a text may hold a secret: as it is, in JSON, URL-encoded, in hex, in base64.

    Base64 of a longer text that holds the secret depends on where it starts (3 cases); the part that only the secret
    decides is looked for, in the usual and in the URL alphabet.

    >>> base64.b64encode(b"user:sk-123456789").decode()[8:] in encode_secret("sk-123456789")
    False
    >>> any(form in base64.b64encode(b"user:sk-123456789").decode() for form in encode_secret("sk-123456789"))
    True
    """
    data = secret.encode()
    forms = {secret, json.dumps(secret)[1:-1], quote(secret, safe=""), quote(secret), quote_plus(secret)}
    if len(data) >= MIN_SECRET:
        forms |= {data.hex(), data.hex().upper()}
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            forms.add(encode(data).decode().rstrip("="))
            for shift in range(3):
                text = encode(b"\0" * shift + data).decode()
                forms.add(text[-(-8 * shift // 6) : 8 * (shift + len(data)) // 6])
    return forms


@lru_cache(maxsize=64)
def compile_secrets(secrets):
    """Return a pattern that finds every form of some secrets (a tuple), the longest first; None without secrets."""
    forms = {form for secret in filter(None, secrets) for form in encode_secret(secret)}
    ordered = map(re.escape, sorted(forms, key=lambda form: (-len(form), form)))
    return re.compile("|".join(re.sub("%[0-9A-F]{2}", r"(?i:\g<0>)", form) for form in ordered)) if forms else None


def hide_secrets(value, secrets):
    """Return a value (text, or lists and dicts of them) with "<secret>" for every form of the secrets.

    >>> hide_secrets({"error": ["bad key sk%2F1", 401]}, ["sk/1"])
    {'error': ['bad key <secret>', 401]}
    """
    pattern = compile_secrets(tuple(secrets))
    if pattern is None:
        return value
    if isinstance(value, str):
        return pattern.sub("<secret>", value)
    if isinstance(value, dict):
        return {hide_secrets(key, secrets): hide_secrets(part, secrets) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [hide_secrets(part, secrets) for part in value]
    return value


def redact(text, secrets=()):
    """Return a text on one line without secrets, this machine's paths and memory addresses, at most 500 characters.

    >>> redact("no /home/me/data.csv for key sk-12 at 0x7f3a2b1c at http://a.replay/b/c", secrets=["sk-12"])
    'no <path> for key <secret> at <address> at http://a.replay/b/c'
    """
    text = hide_secrets(text, secrets)
    text = re.sub(r"(?<![\w:/.])(?:/[\w.@+-]+){2,}/?", "<path>", text)
    text = re.sub(r"\b0x[0-9a-f]{6,}\b", "<address>", text)
    return " ".join(text.split())[:500]


# --- recordings ------------------------------------------------------------------------------------------------------


def hash_request(request):
    """Return 16 hex digits that change with anything in a request. Raises TypeError when it is not plain JSON.

    >>> hash_request({"model": "m", "sample": 0}) == hash_request({"sample": 0, "model": "m"})
    True
    >>> hash_request({"model": "m", "sample": 0}) == hash_request({"model": "m", "sample": 1})
    False
    """
    return hash_text(dump_json(request), 16)


class Recordings:
    """The recordings of one run, read from the repository and from `DAYBEFORE_OUT`; new ones go where writes go.

    Threads and processes may add at once: a line is one appended write, on disk before `add` returns. The last
    recording of a request holds.
    """

    def __init__(self, run_id, secrets=()):
        self.folder, self.secrets = f"data/runs/{run_id}", tuple(secrets)
        self.lock, self.journal = threading.Lock(), None
        self.rows = {}
        for base in dict.fromkeys([ROOT, Path(os.environ.get("DAYBEFORE_OUT") or ROOT)]):
            self.rows |= read_rows(base / self.folder)

    def find(self, key):
        """Return the recording of a request by its hash, None when there is none."""
        return self.rows.get(key)

    def add(self, row):
        """Store a recording (a dict with `key`) durably; returns it as stored, its secrets hidden."""
        row = hide_secrets(row, self.secrets)
        line = dump_json(row).encode() + b"\n"
        with self.lock:
            if self.journal is None:
                self.journal = open_journal(locate_output(f"{self.folder}/{JOURNAL}"))
            os.write(self.journal, line)
            self.rows[row["key"]] = row
        os.fsync(self.journal)
        return row

    def close(self):
        """Close the journal."""
        if self.journal is not None:
            os.close(self.journal)
            self.journal = None


def open_journal(path):
    """Open a journal for appending; a line that a kill cut short is ended, so that the next one stands alone."""
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    size = os.fstat(handle).st_size
    if size and os.pread(handle, 1, size - 1) != b"\n":
        os.write(handle, b"\n")
    return handle


def read_rows(folder):
    """Return a folder's recordings by hash, packed ones first; a journal's line that a kill cut short is left out.

    Raises ValueError when a line of the packed file is no recording.
    """
    rows, packed, journal = {}, Path(folder) / PACKED, Path(folder) / JOURNAL
    if packed.exists():
        for number, line in enumerate(gzip.decompress(packed.read_bytes()).splitlines(), 1):
            row = read_line(line)
            if row is None:
                raise ValueError(f"{Path(folder).name}/{PACKED}: line {number} is no recording; restore the file")
            rows[row["key"]] = row
    if journal.exists():
        found = [read_line(line) for line in journal.read_bytes().splitlines()]
        rows |= {row["key"]: row for row in found if row is not None}
    return rows


def read_line(line):
    """Return the recording that a line of JSON holds, None when it is cut short."""
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and "key" in row else None


def pack_recordings(run_id, facts=None, secrets=()):
    """Write a run's recordings as requests.jsonl.gz, sorted by hash, and run.json; removes the journal.

    To be called when nobody is adding. `facts` (a dict) say what was run: agent, event file and its hash, versions;
    totals are added (`summarize_rows`). Returns what run.json holds. Raises LookupError for an empty run.
    """
    rows = Recordings(run_id, secrets).rows
    if not rows:
        raise LookupError(f"nothing is recorded under data/runs/{run_id}; ask with live=True first")
    text = "".join(dump_json(hide_secrets(rows[key], secrets)) + "\n" for key in sorted(rows))
    summary = hide_secrets((facts or {}) | {"run_id": run_id} | summarize_rows(rows.values()), secrets)
    replace_file(locate_output(f"data/runs/{run_id}/{PACKED}"), gzip.compress(text.encode(), 9, mtime=0))
    written = json.dumps(summary, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    replace_file(locate_output(f"data/runs/{run_id}/run.json"), written.encode())
    locate_output(f"data/runs/{run_id}/{JOURNAL}").unlink(missing_ok=True)
    return summary


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
