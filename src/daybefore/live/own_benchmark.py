"""A benchmark of one's own, a day at a time: look at the sources, pose questions, settle those that
are due.

`settle` and `pose` can be called again at any time: what was done stays as it is, what is due is
done. A day is a question set, `day-2026-11-25`, whose questions start at 00:00 UTC+8 and whose web
is what was known by then.

A panel of models screens the questions, and a reader finds answers that no rule read; both are
judges as `models.judges.build_consult` makes them.
"""

import gzip
import json
import re
from contextlib import closing, suppress

import pandas as pd

from daybefore.live.day_markets import pose_markets, settle_markets
from daybefore.live.day_news import NEWS, find_written, pose_news, read_news
from daybefore.live.keep_pages import CAPTURES, list_addresses, open_captures, read_looks
from daybefore.live.market_venues import VENUES
from daybefore.live.read_by_model import READ, read_twice
from daybefore.questions.collect_events import collect_events, make_screening
from daybefore.questions.drop_events import screen_event
from daybefore.scoring.acquire_answers import acquire_answers
from daybefore.web.fetched_pages import decode_body
from daybefore.web.replay import open_world
from helpers.clock import ZONE, stamp_moment
from helpers.files import dump_json, locate_output, parse_json, read_table, write_table
from helpers.papers import get_constant
from helpers.set_names import find_set, name_day
from helpers.tables import check_table
from studies.futurex.building_questions import build_judge

LASTING = re.compile(r"-(?:market|news)-(.+)")
"""What an event_id says of a question that is the same on later days: a market's, or one of the
news."""
N_IN_A_ROW = 3
"""Failures in a row after which a report asks for a person."""
WEEK = pd.Timedelta(days=7)


def list_days_posed():
    """Return the names of the question sets that were posed so far, oldest first."""
    folders = locate_output("data/tables/x").parent.glob("D??????")
    return [
        find_set(folder.name).name
        for folder in sorted(folders)
        if (folder / "events.csv.gz").exists()
    ]


def pose(now, panel=None, venues=(), distract=None, tell=print):
    """Return (name of today's question set, events, screenings); posed once, at the first call of a
    day in UTC+8.

    What the last seven days' sets asked in the same words is not asked again (FutureX 3.2.2).
    Judges of a `panel` (`screen_by_panel`) screen beside the rules. Open questions of `venues`
    stand beside the sources', with options that a judge adds (`day_markets`); a venue that does not
    answer is told, and left out. So do questions on news that a person confirmed (`day_news`).
    Raises ValueError where no source has values enough yet.
    """
    now = pd.Timestamp(now).tz_convert(ZONE)
    day = now.normalize().tz_localize(None)
    one = find_set(name_day(day))
    posed = list_days_posed()
    if one.name in posed:
        return one.name, *(read_table(name, one.window) for name in ("events", "screenings"))
    tables, told = [pose_news(now, one.window)], []
    try:
        events, screenings = pose_sources(day, one.window)
    except ValueError as problem:
        if not venues and tables[0].empty:
            raise
        tell(f"the sources: {problem}")
        events = screenings = pd.DataFrame(columns=["event_id", "filter"])
    for venue in venues:
        try:
            markets, dropped = pose_markets(venue, now, one.window, distract)
        except ValueError as problem:
            tell(f"{venue}: no questions today: {problem}")
            continue
        tables.append(markets)
        told += dropped
    for table in tables:
        told += [make_screening(key, "none", "", is_dropped=False) for key in table["event_id"]]
    tables = [table for table in (events, *tables) if len(table)] or tables
    events = check_table("events", pd.concat(tables, ignore_index=True))
    screenings = pd.concat([screenings, pd.DataFrame(told)], ignore_index=True)
    asked_before = list_asked([name for name in posed if name >= name_day(day - WEEK)], events)
    events, screenings = drop_events(events, screenings, asked_before)
    if events.empty:
        raise ValueError(
            f"{one.name}: every question was asked in the last seven days, or there is none"
        )
    if panel:
        events, screenings = screen_by_panel(events, screenings, panel)
    write_table("screenings", screenings, one.window)
    write_table("events", events, one.window)
    return one.name, events, screenings


def pose_sources(day, window):
    """Return (events, screenings) of the live sources on a day. Raises ValueError where there are
    none."""
    with open_world(day=window) as opener:
        crawler = opener()
        if not crawler.sources:
            raise ValueError("no live source could be read yet")
        keep_binary = get_constant("futurex", "keep_binary")
        drawn = {"seed": day.toordinal(), "keep_binary": keep_binary, "days": [day]}
        return collect_events(crawler.sources, crawler, window, **drawn)


def list_asked(names, events):
    """Return screenings of the events that the sets of some names have asked already."""
    tables = [read_table("events", find_set(name).window) for name in names]
    prompts = {prompt for table in tables for prompt in table["prompt"]}
    lasting = {name_lasting(key) for table in tables for key in table["event_id"]} - {""}
    is_again = events["prompt"].isin(prompts) | events["event_id"].map(name_lasting).isin(lasting)
    reason = "in the last seven days"
    return [make_screening(key, "asked before", reason) for key in events.loc[is_again, "event_id"]]


def name_lasting(event_id):
    """Return the venue and question of a market's event_id, the question of a news one's, "" of
    another's.

    >>> name_lasting("D260328-0328-market-polymarket-0x001e"), name_lasting("D260328-0328-oil_top")
    ('polymarket-0x001e', '')
    """
    found = LASTING.search(event_id)
    return found[1] if found else ""


def settle(name, now, reader=None):
    """Look for the answers of a day's questions that are due; returns (answers, number that are
    still open).

    An event is looked for at four crawls a day, carried for a week, then given up (3.2.4). Venues
    settle markets; a person, else the `reader`, settles the news. What no rule finds on a source
    the reader may find on a captured page (`read_missing`). What was found stays, but for a person's
    word. Answers and acquisitions are written to the set's tables.
    """
    window, now = find_set(name).window, pd.Timestamp(now)
    events = read_table("events", window)
    before = check_table("answers", pd.DataFrame(columns=["event_id"]))
    with suppress(FileNotFoundError):  # before the first is found or given up
        before = read_table("answers", window)
    due = events[pd.to_datetime(events["resolves_at"], utc=True) <= now]
    if due.empty or len(before) == len(events):  # each has its answer, or was given up
        return before, len(events) - len(before)
    source = due["source_id"].where(due["source_id"].isin([*VENUES, NEWS]), "source")
    crawled, sources = crawl(due[source == "source"], window, now)
    is_found = crawled["status"] == "ok"
    written = list_found(find_written(due[source == NEWS]), now)
    tables = [crawled[is_found], written, before[before["status"] == "ok"]]
    is_left = ~due["event_id"].isin(pd.concat(tables)["event_id"])
    found = settle_markets(due[is_left & source.isin(VENUES)], now)
    if reader:
        found |= read_news(reader, due[is_left & (source == NEWS)], now)
        missing = due[is_left & (source == "source")]
        found |= read_missing(reader, sources, missing, locate_output(CAPTURES), now)
    is_open = due[["event_id"]].assign(status="not_published")
    tables += [list_found(found, now), crawled[~is_found], is_open]
    answers = pd.concat([table for table in tables if len(table)]).drop_duplicates("event_id")
    due_at = answers["event_id"].map(due.set_index("event_id")["answer_due_at"]).map(pd.Timestamp)
    answers = answers[(answers["status"] == "ok") | (due_at <= now)].reset_index(drop=True)
    if len(answers):
        write_table("answers", answers, window)
    return answers, len(events) - len(answers)


def crawl(events, window, now):
    """Return (answers, {source_id: source}) of a day's questions on sources, by their rules; what
    was tried is written."""
    if events.empty:
        return check_table("answers", pd.DataFrame(columns=["event_id"])), {}
    with open_world(day=window) as opener:
        crawler = opener()
        answers, acquisitions = acquire_answers(events, crawler)
    kept = acquisitions[pd.to_datetime(acquisitions["attempted_at"], utc=True) <= now]
    write_table("acquisitions", kept.reset_index(drop=True), window)
    return answers, crawler.sources


def list_found(found, now):
    """Return answers, {event_id: (value, how it was found)}, as rows of their table."""
    about = {"status": "ok", "acquired_at": stamp_moment(now)}
    rows = [
        {"event_id": key, "value": dump_json(value), "method": method} | about
        for key, (value, method) in found.items()
    ]
    return pd.DataFrame(rows, columns=["event_id", "value", "status", "acquired_at", "method"])


def list_trouble(looks):
    """Return sentences on sources that need a person: the last `N_IN_A_ROW` looks failed, or the
    page's form changed.

    >>> looks = pd.DataFrame({"source_id": "a", "kind": ["ok", "down", "down", "down"], "reason": "no answer"})
    >>> list_trouble(looks)
    ['a: 3 looks in a row failed, the last: down (no answer)']
    """
    told, newest = [], looks.drop_duplicates("source_id", keep="last")
    if len(newest) > 1 and (newest["kind"] != "ok").all():
        told.append(
            f"none of the {len(newest)} sources could be read: is this machine's network up?"
        )
    for source_id, rows in looks.groupby("source_id", sort=True):
        kinds, last = rows["kind"].tolist(), rows.iloc[-1]
        n = next((at for at, kind in enumerate(reversed(kinds)) if kind == "ok"), len(kinds))
        if n >= N_IN_A_ROW:
            told.append(
                f"{source_id}: {n} looks in a row failed, the last: {last['kind']} ({last['reason']})"
            )
        elif last["kind"] == "layout":
            told.append(f"{source_id}: {last['reason']}")
    return told


def close_day(now, told=(), reader=None):
    """Settle all sets and write the day's report (markdown); `told` are sentences on what agents
    were asked.

    Returns (its path, rows of its table of sets: name, questions, answered, given up, open).
    """
    sets = []
    for name in list_days_posed():
        answers, n_open = settle(name, now, reader)
        n_lost = int((answers["status"] != "ok").sum())
        sets.append((name, len(answers) + n_open, len(answers) - n_lost, n_lost, n_open))
    now, looks = pd.Timestamp(now), read_looks(locate_output(CAPTURES))
    day = now.tz_convert(ZONE).strftime("%Y-%m-%d")
    today = looks[pd.to_datetime(looks["looked_at"], utc=True) > now - pd.Timedelta(hours=24)]
    posed = [one[0].removeprefix("day-") for one in sets]
    days = pd.date_range(posed[0], day).strftime("%Y-%m-%d") if posed else ()
    missed = [one for one in days if one not in posed]
    parts = [
        f"# {day}",
        f"Written at {stamp_moment(now)}.",
        "## Sources (last 24 hours)",
        write_rows(("look", "n"), today["kind"].value_counts().items()),
        f"{today['n_new'].sum()} new values, {today['n_revised'].sum()} revised later (the first "
        "stands).",
        "## Needs a person",
        write_items(list_trouble(looks) or ["Nothing."]),
        f"Days without questions: {', '.join(missed)}." if missed else "",
        "## Question sets",
        write_rows(("set", "questions", "answered", "given up", "open"), sets),
        "## Agents",
        write_items(told or ["None asked."]),
    ]
    path = locate_output(f"data/days/{day}.md")
    path.write_text("\n\n".join(filter(None, parts)) + "\n", encoding="utf-8")
    return path, sets


def write_items(items):
    """Return a list in markdown."""
    return "\n".join(f"- {item}" for item in items)


def write_rows(head, rows):
    """Return a table in markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in lines)


# --- what models judge ------------------------------------------------------------------------------

RULES = {
    "harmful": get_constant("futurex", "harmful_rule"),
    "subjective": get_constant("futurex", "subjective_rule"),
}


def screen_by_panel(events, screenings, panel):
    """Return (events, screenings) without the questions that a panel flags as harmful or subjective
    (FutureX 3.2.2).

    `panel` maps judges' names to `consult`; the papers' rules combine them. A judge without a
    verdict flags nothing.
    """
    rows = []
    for event in events.to_dict("records"):
        given = event | {"options": parse_json(event["options"]) or {}}
        for name in RULES:
            judges = {who: build_judge(consult, "question", name) for who, consult in panel.items()}
            row = screen_event(given, name, judges, RULES[name])
            if row["is_dropped"]:
                rows.append(row)
                break
    return drop_events(events, screenings, rows)


def drop_events(events, screenings, rows):
    """Return (events, screenings) without some events, whose screening `rows` stand in the place of
    their others."""
    gone = {row["event_id"] for row in rows}
    kept = screenings[~screenings["event_id"].isin(gone)]
    screenings = pd.concat([kept, pd.DataFrame(rows)], ignore_index=True)
    return events[~events["event_id"].isin(gone)].reset_index(drop=True), screenings


def read_missing(consult, sources, events, path, now):
    """Return {event_id: (value, `READ`)} of what a model finds on captured pages, where two reads
    agree.

    `events` are due and have no answer; `sources` are theirs, `path` is the file of captures. The
    page is the newest that the source has of the event's entity, fetched after the question ended.
    What was quoted must stand on it.
    """
    found = {}
    with closing(open_captures(path)) as store:
        for event in events.to_dict("records"):
            page = find_page(store, sources[event["source_id"]], event, stamp_moment(now))
            if page and (value := read_twice(consult, event, *page)) is not None:
                found[event["event_id"]] = (value, READ)
    return found


def find_page(store, source, event, now):
    """Return (text, moment) of the newest page of an event's source that was fetched since it
    ended, or None.

    Of a source with a page an entity it is that of the event's entity; for several entities there
    is none.
    """
    query = """select url, fetched_at, headers, body from captures join bodies using (sha256)
        where source_id = ? and fetched_at >= ? and fetched_at <= ? order by fetched_at desc"""  # all stamps of UTC+8
    entity = parse_json(event["variables"]).get("entity")
    for url, at, headers, body in store.execute(query, (source.id, event["resolves_at"], now)):
        whose = {
            address: one
            for one, address in list_addresses(source, pd.Timestamp(at).tz_convert("UTC").date())
        }
        if whose.get(url) in ("", entity):
            return decode_body(
                gzip.decompress(body), json.loads(headers).get("content-type", "")
            ), at
    return None
