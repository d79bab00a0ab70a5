"""Look at live sources: keep what was fetched, and what it says as rows with the moment at which it became known.

A capture is address, moment, status, headers, digest and body (`web.guest`); a page that has not changed is not sent
again (ETag, Last-Modified). The rows have the form of data/replay, so that the replay web shows them as of any moment
(`known_at`): a finished day is a question set like any other.
"""

import gzip
import hashlib
import json
import sqlite3
from contextlib import closing

import pandas as pd

from helpers.calendar import stamp_moment
from helpers.live.records import keep_settled, list_addresses, read_records
from helpers.store import locate_output, write_whole
from helpers.web.guest import FetchError, Guest
from helpers.web.pages import decode_body
from helpers.web.sources import locate_rows

CAPTURES = "data/days/captures.sqlite"
TABLES = """
create table if not exists bodies (sha256 text primary key, body blob not null);
create table if not exists captures (url text, source_id text, fetched_at text, status integer, headers text,
    sha256 text, primary key (url, fetched_at));
create table if not exists looks (source_id text, looked_at text, kind text, reason text, n_rows integer,
    n_new integer, n_revised integer, until text, primary key (source_id, looked_at));
"""
EVERY_H = 3
"""Hours before a source that was read is looked at again."""


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


def look(sources, now, *, pace_s=1.0, deadline_s=30.0, tell=print):
    """Look at each source that is due; returns this run's looks as rows. Nothing stops the others.

    Its kind is ok, layout (the page shows what the source's rule does not read), or one of `guest.FetchError`.

    A source that was read less than `EVERY_H` hours ago is not asked. Rows that are new go to its file; a value that
    was revised later is counted, and the first stands, as whoever forecast it saw it.
    """
    found = []
    with closing(open_captures(locate_output(CAPTURES))) as store:
        guest = Guest(now, pace_s, deadline_s)
        for source_id, source in sources.items():
            if is_fresh(store, source_id, guest.now):
                continue
            row = {"source_id": source_id, "looked_at": stamp_moment(guest.now), "kind": "ok", "reason": ""}
            row |= {"n_rows": 0, "n_new": 0, "n_revised": 0, "until": ""}
            try:
                row |= read_source(store, guest, source)
            except FetchError as error:
                row |= {"kind": error.kind, "reason": str(error), "until": error.until}
            with store:
                store.execute("insert or replace into looks values (?, ?, ?, ?, ?, ?, ?, ?)", tuple(row.values()))
            found.append(row)
            tell(f"{source_id}: " + (f"{row['n_new']} new values" if row["kind"] == "ok" else row["reason"]))
    return found


def is_fresh(store, source_id, now):
    """Tell whether a source was read within `EVERY_H` hours, or its host still wants no request."""
    query = "select 1 from looks where source_id = ? and ((kind = 'ok' and looked_at > ?) or until > ?) limit 1"
    moments = stamp_moment(now - pd.Timedelta(hours=EVERY_H)), stamp_moment(now)  # all stamps are of UTC+8
    return store.execute(query, (source_id, *moments)).fetchone() is not None


def read_source(store, guest, source):
    """Return what one look says of a source (columns of the looks table), its new rows written. Raises FetchError.

    Of a source with several pages those that can be read are; the others make its look one of kind "layout".
    """
    tables, problems = [], []
    for entity, url in list_addresses(source, guest.now.tz_convert("UTC").date()):
        text = fetch_page(store, guest, url, source.id)
        try:
            tables.append(read_records(source, text, guest.now, entity))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:  # a page is a stranger's
            problems.append(f"{entity or 'the page'}: {' '.join(str(error).split())[:200]}")
    found = {}
    if problems:
        found = {"kind": "layout", "reason": f"its rule does not fit, has the form changed? {problems[0]}"}
    if not tables:
        return found
    rows = pd.concat(tables, ignore_index=True)
    n_new, n_revised = add_rows(source, keep_settled(source, rows, guest.now))
    return found | {"n_rows": len(rows), "n_new": n_new, "n_revised": n_revised}


def add_rows(source, rows):
    """Write the rows that a source's file has not; return (how many are new, how many say another value now)."""
    path, key, names = locate_rows(source), ["occurred_at", "entity"], list(source.variables)
    kept, texts = rows.iloc[:0], dict.fromkeys([*key, "known_at"], str)
    if path.exists():
        kept = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])
    both = rows.merge(kept, on=key, how="left", suffixes=("", "_kept"), indicator=True)
    is_new = (both["_merge"] == "left_only").to_numpy()
    old, now = (both.loc[~is_new, [f"{name}{end}" for name in names]].to_numpy(float) for end in ("_kept", ""))
    n_revised = int((abs(old - now) > 1e-9).any(axis=1).sum())
    if is_new.any():
        whole = pd.concat([kept, rows[is_new]], ignore_index=True)[[*key, *names, "known_at"]]
        whole = whole.sort_values(["known_at", *key])
        write_whole(path, whole.to_csv(index=False, lineterminator="\n"))
    return int(is_new.sum()), n_revised
