"""Look at live sources: keep what was fetched, and what it says as rows with the moment at which it
became known.

A capture is address, moment, status, headers, digest and body (`web.guest`); a page that has not
changed is not sent again (ETag, Last-Modified). The rows have the form of data/replay, so that the
replay web shows them as of any moment (`known_at`): a finished day is a question set like any
other.

What a body says is read by the `live` table of the source's file, as JSON, CSV or a table of a page
(FutureX 3.2.1): rows of a date, an entity, a value for each variable. What a day's values are is
decided by the source's publication rule (`keep_settled`).
"""

import gzip
import hashlib
import io
import json
import sqlite3
from contextlib import closing
from datetime import timedelta

import jmespath
import numpy as np
import pandas as pd

from daybefore.web.fetched_pages import GatewayError, decode_body
from daybefore.web.guest import Guest
from daybefore.web.parse_markup import check_size, parse_json, read_number
from daybefore.web.source_registry import compute_published_at, locate_rows
from helpers.clock import stamp_moment
from helpers.files import locate_output, write_whole

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
KEY = ["occurred_at", "entity"]


def open_captures(path):
    """Return the connection to a captures file (SQLite), made when absent; close it after use."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(TABLES)
    return connection


def read_looks(path):
    """Return the table of looks, oldest first: source_id, looked_at, kind, reason, n_rows, n_new,
    n_revised, until."""
    with closing(open_captures(path)) as store:
        return pd.read_sql("select * from looks order by looked_at, source_id", store)


def look(sources, now, *, pace_s=1.0, deadline_s=30.0, tell=print):
    """Look at each source that is due; returns this run's looks as rows. Nothing stops the others.

    Its kind is ok, layout (the page shows what the source's rule does not read), or one of
    `fetched_pages.GatewayError`.

    A source that was read less than `EVERY_H` hours ago is not asked. Rows that are new go to its
    file; a value that was revised later is counted, and the first stands, as whoever forecast it
    saw it.
    """
    guest, found = Guest(now, pace_s, deadline_s), []
    at = stamp_moment(guest.now)  # all of UTC+8
    since = stamp_moment(guest.now - pd.Timedelta(hours=EVERY_H))
    query = "select 1 from looks where source_id = ? and ((kind = 'ok' and looked_at > ?) or until > ?) limit 1"
    with closing(open_captures(locate_output(CAPTURES))) as store:
        for source_id, source in sources.items():
            if store.execute(query, (source_id, since, at)).fetchone():
                continue  # it was read, or its host still wants no request
            row = {"source_id": source_id, "looked_at": at, "kind": "ok", "reason": ""}
            row |= {"n_rows": 0, "n_new": 0, "n_revised": 0, "until": ""}
            try:
                row |= read_source(store, guest, source)
            except GatewayError as error:
                row |= {"kind": error.status, "reason": str(error), "until": error.until}
            with store:
                marks = ", ".join("?" * len(row))
                store.execute(f"insert or replace into looks values ({marks})", [*row.values()])
            found.append(row)
            said = f"{row['n_new']} new values" if row["kind"] == "ok" else row["reason"]
            tell(f"{source_id}: {said}")
    return found


def read_source(store, guest, source):
    """Return what one look says of a source (columns of the looks table), its new rows written.
    Raises GatewayError.

    Of a source with several pages those that can be read are; the others make its look one of kind
    "layout".
    """
    tables, found = [], {}
    for entity, url in list_addresses(source, guest.now.tz_convert("UTC").date()):
        text = fetch_page(store, guest, url, source.id)
        try:
            tables.append(read_records(source, text, guest.now, entity))
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            RecursionError,
        ) as error:  # a page is a stranger's
            said = f"{entity or 'the page'}: {' '.join(str(error).split())[:200]}"
            found = found or {
                "kind": "layout",
                "reason": f"its rule does not fit, has the form changed? {said}",
            }
    if tables:
        rows = keep_settled(source, pd.concat(tables, ignore_index=True), guest.now)
        found |= {"n_rows": sum(map(len, tables))} | add_rows(source, rows)
    return found


def fetch_page(store, guest, url, source_id):
    """Return the text of a page, which is stored as a capture. Raises GatewayError."""
    query = "select headers, sha256 from captures where url = ? order by fetched_at desc limit 1"
    last, digest = store.execute(query, (url,)).fetchone() or ("{}", None)
    last, names = json.loads(last), {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
    asked = {names[name]: last[name] for name in names if last.get(name)}
    status, kept, body = guest.get(url, asked)
    if status == 304 and digest:
        (body,) = store.execute("select body from bodies where sha256 = ?", (digest,)).fetchone()
        body, kept = gzip.decompress(body), last | kept
    elif status == 200:
        digest = hashlib.sha256(body).hexdigest()
    else:
        raise GatewayError("down", f"{url}: the site answered {status}")
    packed, headers = gzip.compress(body, mtime=0), json.dumps(kept, sort_keys=True)
    row = (url, source_id, stamp_moment(guest.now), status, headers, digest)
    with store:
        store.execute("insert or ignore into bodies values (?, ?)", (digest, packed))
        store.execute("insert or replace into captures values (?, ?, ?, ?, ?, ?)", row)
    return decode_body(body, kept.get("content-type", ""))


def add_rows(source, rows):
    """Write the rows that a source's file has not; return n_new, and n_revised (rows that say
    another value now).

    Of rows of one day and entity, as pages that overlap have them, the first stands.
    """
    path, names = locate_rows(source), list(source.variables)
    rows = rows.drop_duplicates(KEY).set_index(KEY)
    kept = rows.iloc[:0]
    if path.exists():
        texts = dict.fromkeys([*KEY, "known_at"], str)
        kept = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])
        kept = kept.drop_duplicates(KEY).set_index(KEY)
    is_new = ~rows.index.isin(kept.index)
    if is_new.any():
        whole = pd.concat([kept, rows[is_new]]).reset_index()[[*KEY, *names, "known_at"]]
        whole = whole.sort_values(["known_at", *KEY])
        write_whole(path, whole.to_csv(index=False, lineterminator="\n"))
    again = rows.loc[~is_new, names]
    change = (kept.reindex(again.index)[names].astype(float) - again).abs()
    return {"n_new": int(is_new.sum()), "n_revised": int((change > 1e-9).any(axis=1).sum())}


# --- what a body says -------------------------------------------------------------------------------

LOOK_BACK_DAYS = 30
"""How far back an address with a first day asks."""
EPOCHS = {"seconds": "s", "milliseconds": "ms"}
MAX_ROWS = 50_000


def list_addresses(source, day):
    """Return [(entity or "", address)] of a source's pages as of a day (a `datetime.date`).

    An address may hold {code} (one page an entity, by `live.codes`), and days: {today}, {yesterday}
    and {first} (`LOOK_BACK_DAYS` before), each with a strftime form, such as {today:%Y%m%d}.

    >>> from types import SimpleNamespace
    >>> from datetime import date
    >>> rule = {"address": "https://a.example/{code}?from={first:%Y-%m-%d}", "codes": {"Oslo": "osl"}}
    >>> list_addresses(SimpleNamespace(live=rule), date(2026, 11, 25))
    [('Oslo', 'https://a.example/osl?from=2026-10-26')]
    """
    address, days = source.live["address"], {"today": 0, "yesterday": 1, "first": LOOK_BACK_DAYS}
    dates = {name: day - timedelta(days=back) for name, back in days.items()}
    codes = source.live["codes"] if "{code}" in address else {"": ""}
    return [(entity, address.format(code=code, **dates)) for entity, code in codes.items()]


def read_records(source, body, fetched_at, entity=""):
    """Return the rows of one body: columns occurred_at, entity, and one of numbers a variable.

    `body` is text, `fetched_at` an aware datetime, `entity` whose page it is where an address names
    one. A body without dates is of the day it was fetched on, in the source's time zone, or (`day`)
    of the day before. Raises ValueError for a body that the rule does not fit, with what was looked
    for.
    """
    rule, zone = source.live, source.publication["timezone"]
    table = (read_json_body if rule["body"] == "json" else read_text_body)(rule, body)
    if not 0 < len(table) <= MAX_ROWS:
        raise ValueError(f"it holds {len(table)} rows; wanted are 1 to {MAX_ROWS}")
    codes = {str(code): name for name, code in rule.get("codes", {}).items()}
    keys, only = rule.get("values", {}), source.entities.get("only")
    if rule.get("wide"):  # a column an entity: one below the other
        wide = [name for name in table.columns if name in codes]
        table = table.melt(rule["date"], wide, "@entity", "@value")
        rule, keys = rule | {"entity": "@entity"}, dict.fromkeys(source.variables, "@value")
    if "date" in rule:
        dates = read_dates(rule, table, zone)
    else:
        late = pd.Timedelta(days=1 if rule.get("day") == "yesterday" else 0)
        dates = f"{pd.Timestamp(fetched_at).tz_convert(zone) - late:%Y-%m-%d}"
    rows = pd.DataFrame({"occurred_at": dates, "entity": entity or (only or [""])[0]}, table.index)
    if "entity" in rule:
        names = need(table, rule["entity"]).astype(str)
        rows["entity"] = names.map(codes) if codes else names
    for variable, key in keys.items():  # "#" is the place in the list
        rows[variable] = np.arange(1.0, len(table) + 1) if key == "#" else read_cells(table, key)
    is_asked = rows["entity"].isin(only) if only else rows["entity"] != ""
    rows = summarize_days(rule, rows[is_asked], table[is_asked])
    rows = rows[rows[list(source.variables)].notna().any(axis=1)]
    if rows.empty:
        raise ValueError("it holds no value of a known entity")
    return rows.drop_duplicates(KEY, keep="last").sort_values(KEY, ignore_index=True)


def read_json_body(rule, body):
    """Return the table of a JSON body: `rows` is a jmespath; `zipped` lists side by side, `keyed`
    an object by key."""
    found = jmespath.search(rule["rows"], parse_json(body))
    if isinstance(found, dict) and "keyed" in rule:
        found = [{rule["keyed"]: key} | value for key, value in found.items()]
    if not isinstance(found, dict if rule.get("zipped") else list) or not found:
        raise ValueError(f"{rule['rows']!r} finds no rows in it")
    table = pd.DataFrame(found)  # ValueError where zipped lists are of several lengths
    return table.iloc[rule.get("skip", 0) :].rename(columns=str).reset_index(drop=True)


def read_text_body(rule, body):
    """Return the table of a CSV body: `sep` (a blank: any), `comment`, `skip` lines after the
    header, or `header`.

    Of a page it is the first table that has the column `date`.
    """
    check_size(body)
    if rule["body"] == "page":
        return pd.read_html(io.StringIO(body), match=rule["date"], flavor="lxml")[0].astype(str)
    form = {
        "sep": r"\s+" if rule.get("sep") == " " else rule.get("sep", ","),
        "comment": rule.get("comment"),
    }
    form |= {"names": rule["header"], "header": None} if "header" in rule else {}
    table = pd.read_csv(
        io.StringIO(body), dtype=str, keep_default_na=False, skipinitialspace=True, **form
    )
    return table.rename(columns=str.strip).iloc[rule.get("skip", 0) :].reset_index(drop=True)


def need(table, column):
    """Return a column of a body's table. Raises ValueError, with those there are, where it has none
    of the name."""
    if str(column) not in table.columns:
        raise ValueError(f"it has no {column!r}; it has {', '.join(map(str, table.columns[:8]))}")
    return table[str(column)]


def read_cells(table, column):
    """Return the cells of a column as an array of numbers, nan for what is none. Raises what `need`
    does."""
    return np.array(
        [read_number(str(cell).strip().rstrip("%")) for cell in need(table, column)], dtype=float
    )


def read_dates(rule, table, zone):
    """Return the ISO dates of a body's rows, in the source's time zone."""
    form, parts = rule.get("date_form", "ISO8601"), rule["date"]
    parts = parts if isinstance(parts, list) else [parts]  # or year, month and day apart
    texts = need(table, parts[0]).astype(str).str.strip()
    for part in parts[1:]:
        texts = texts + "-" + need(table, part).astype(str).str.strip().str.zfill(2)
    if form in EPOCHS:
        moments = pd.to_datetime(pd.to_numeric(texts), unit=EPOCHS[form], utc=True)
    else:
        moments = pd.to_datetime(texts, format=form)
    if getattr(moments.dt, "tz", None) is not None:
        moments = moments.dt.tz_convert(zone)
    return moments.dt.strftime("%Y-%m-%d").to_numpy()


def summarize_days(rule, rows, table):
    """Return one row a day and entity where the rule says how a day's many become one
    (`per_day`)."""
    if "per_day" not in rule:
        return rows
    found = {}
    for variable, words in rule["per_day"].items():
        how, _, column = words.partition(" ")
        cells = rows[KEY].assign(cell=read_cells(table, column) if column else 1.0)
        found[variable] = cells.groupby(KEY)["cell"].agg(how)
    return pd.DataFrame(found).astype(float).reset_index()


def keep_settled(source, rows, fetched_at):
    """Return the rows whose value stood when they were fetched, by the source's publication rule.

    Today's highest temperature, read at noon, is none yet. `known_at` (UTC, ISO) is the moment of
    the fetch: nothing is shown to an agent from before it.
    """
    fetched = pd.Timestamp(fetched_at).tz_convert("UTC")
    rows = rows[
        (compute_published_at(source.publication, rows["occurred_at"]) <= fetched).to_numpy()
    ]
    return rows.assign(known_at=fetched.strftime("%Y-%m-%dT%H:%M:%SZ"))
