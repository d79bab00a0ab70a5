"""Look at live sources, and keep what they say as rows with the moment at which it became known.

The rows have the form of data/replay, so that the replay web shows them as of any moment (`known_at`): a finished day
is a question set like any other.
"""

from contextlib import closing

import pandas as pd

from helpers.calendar import stamp_moment
from helpers.live.captures import fetch_page, open_captures
from helpers.live.records import keep_settled, list_addresses, read_records
from helpers.store import locate_output, write_whole
from helpers.web.guest import FetchError, Guest
from helpers.web.sources import locate_rows

CAPTURES = "data/days/captures.sqlite"
EVERY_H = 3
"""Hours before a source that was read is looked at again."""


def look(sources, now, *, pace_s=1.0, deadline_s=30.0, tell=print):
    """Look at each source that is due; returns this run's looks as rows (`captures.KINDS`). Nothing stops the others.

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
    found = (
        {"kind": "layout", "reason": f"its rule does not fit, has the form changed? {problems[0]}"} if problems else {}
    )
    if not tables:
        return found
    rows = pd.concat(tables, ignore_index=True)
    n_new, n_revised = add_rows(source, keep_settled(source, rows, guest.now))
    return found | {"n_rows": len(rows), "n_new": n_new, "n_revised": n_revised}


def add_rows(source, rows):
    """Write the rows that a source's file has not; return (how many are new, how many say another value now)."""
    path, key, names = locate_rows(source), ["occurred_at", "entity"], list(source.variables)
    if not path.exists():
        write_rows(path, rows[[*key, *names, "known_at"]])
        return len(rows), 0
    kept = pd.read_csv(
        path, dtype={"occurred_at": str, "entity": str, "known_at": str}, keep_default_na=False, na_values=[""]
    )
    both = rows.merge(kept, on=key, how="left", suffixes=("", "_kept"), indicator=True)
    is_new = (both["_merge"] == "left_only").to_numpy()
    old, now = (both.loc[~is_new, [f"{name}{end}" for name in names]].to_numpy(float) for end in ("_kept", ""))
    n_revised = int((abs(old - now) > 1e-9).any(axis=1).sum())
    if is_new.any():
        write_rows(path, pd.concat([kept, rows[is_new]], ignore_index=True)[[*key, *names, "known_at"]])
    return int(is_new.sum()), n_revised


def write_rows(path, rows):
    """Write a source's rows, whole or not at all."""
    rows = rows.sort_values(["known_at", "occurred_at", "entity"])
    write_whole(path, rows.to_csv(index=False, lineterminator="\n"))
