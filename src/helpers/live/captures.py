"""Keep what a guest of the open web fetched: address, moment, status, headers, digest, body (`web.guest`).

A page that has not changed is not sent again (ETag, Last-Modified).
"""

import gzip
import hashlib
import json
import sqlite3
from contextlib import closing

import pandas as pd

from helpers.calendar import stamp_moment
from helpers.web.guest import FetchError
from helpers.web.pages import decode_body

TABLES = """
create table if not exists bodies (sha256 text primary key, body blob not null);
create table if not exists captures (url text, source_id text, fetched_at text, status integer, headers text,
    sha256 text, primary key (url, fetched_at));
create table if not exists looks (source_id text, looked_at text, kind text, reason text, n_rows integer,
    n_new integer, n_revised integer, until text, primary key (source_id, looked_at));
"""
KINDS = ("ok", "robots", "busy", "down", "too_slow", "too_large", "redirect", "inside", "layout")
"""How a look at a source ends: read; or its robots.txt says no, its host asks for patience, does not answer or not in
time, sends too much, leads elsewhere, is inside this network, or shows what the source's rule does not read."""


def open_captures(path):
    """Return the connection to a captures file (SQLite), made when absent; close it after use."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(TABLES)
    return connection


def read_looks(path):
    """Return the table of looks, oldest first: source_id, looked_at, kind, reason, n_rows, n_new, n_revised, until."""
    with closing(open_captures(path)) as store:
        return pd.read_sql("select * from looks order by looked_at, source_id", store)


def fetch_page(store, guest, url, source_id):
    """Return the text of a page, which is stored as a capture. Raises FetchError."""
    query = "select headers, sha256 from captures where url = ? order by fetched_at desc limit 1"
    told, digest = store.execute(query, (url,)).fetchone() or ("{}", None)
    told, names = json.loads(told), {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
    status, kept, body = guest.get(url, {names[name]: told[name] for name in names if told.get(name)})
    if status == 304 and digest:
        (body,) = store.execute("select body from bodies where sha256 = ?", (digest,)).fetchone()
        body, kept = gzip.decompress(body), told | kept
    elif status == 200:
        digest = hashlib.sha256(body).hexdigest()
    else:
        raise FetchError("down", f"{url}: the site answered {status}")
    with store:
        store.execute("insert or ignore into bodies values (?, ?)", (digest, gzip.compress(body, mtime=0)))
        row = (url, source_id, stamp_moment(guest.now), status, json.dumps(kept, sort_keys=True), digest)
        store.execute("insert or replace into captures values (?, ?, ?, ?, ?, ?)", row)
    return decode_body(body, kept.get("content-type", ""))
