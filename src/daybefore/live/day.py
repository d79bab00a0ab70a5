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

from daybefore.live.captures import CAPTURES, list_addresses, open_captures, read_looks
from daybefore.live.day_markets import pose_markets, settle_markets
from daybefore.live.day_news import NEWS, pose_news, settle_news
from daybefore.live.readings import READ, read_twice
from daybefore.live.venues import VENUES
from daybefore.questions.collect import collect_events, make_screening
from daybefore.questions.filters import screen_event
from daybefore.scoring.answers import acquire_answers
from daybefore.web.pages import decode_body
from daybefore.web.replay import open_world
from helpers.calendar import ZONE, stamp_moment
from helpers.files import dump_json, locate_output, parse_json, read_table, write_table
from helpers.papers import get_constant
from helpers.question_sets import find_set, name_day
from helpers.tables import check_table
from studies.futurex.collection import build_judge

KEYS = {"events": ["event_id"], "screenings": ["event_id", "filter"]}
LASTING = re.compile(r"-(?:market|news)-(.+)")
"""What an event_id says of a question that is the same on later days: a market's, or one of the
news."""
N_IN_A_ROW = 3
"""Failures in a row after which a report asks for a person."""


FOUND = {"answers": ["event_id"], "acquisitions": ["event_id", "attempted_at"]}


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
    day = pd.Timestamp(now).tz_convert(ZONE).normalize().tz_localize(None)
    one = find_set(name_day(day))
    if one.name in (posed := list_days_posed()):
        return one.name, *(read_table(name, one.window) for name in ("events", "screenings"))
    news = pose_news(pd.Timestamp(now).tz_convert(ZONE), one.window)
    drawn = {
        "seed": day.toordinal(),
        "keep_binary": get_constant("futurex", "keep_binary"),
        "days": [day],
    }
    try:
        with open_world(day=one.window) as opener:
            crawler = opener()
            if not crawler.sources:
                raise ValueError("no live source could be read yet")
            events, screenings = collect_events(crawler.sources, crawler, one.window, **drawn)
    except ValueError as problem:
        if not venues and news.empty:
            raise
        tell(f"the sources: {problem}")
        events, screenings = (check_table(name, pd.DataFrame(columns=KEYS[name])) for name in KEYS)
    for venue in venues:
        try:
            more, told = pose_markets(
                venue, pd.Timestamp(now).tz_convert(ZONE), one.window, distract
            )
        except ValueError as problem:
            tell(f"{venue}: no questions today: {problem}")
            continue
        events = check_table("events", pd.concat([events, more], ignore_index=True))
        screenings = pd.concat([screenings, pd.DataFrame(told)], ignore_index=True)
    if len(news):
        events = check_table("events", pd.concat([events, news], ignore_index=True))
        passed = [
            make_screening(event_id, "none", "", is_dropped=False) for event_id in news["event_id"]
        ]
        screenings = pd.concat([screenings, pd.DataFrame(passed)], ignore_index=True)
    last = [find_set(name).window for name in posed if name >= name_day(day - pd.Timedelta(days=7))]
    asked = [read_table("events", window) for window in last]
    before = {prompt for table in asked for prompt in table["prompt"]}
    lasting = {name_lasting(event_id) for table in asked for event_id in table["event_id"]} - {""}
    is_again = events["prompt"].isin(before) | events["event_id"].map(name_lasting).isin(lasting)
    again = events.loc[is_again, "event_id"]
    rows = [
        make_screening(event_id, "asked before", "in the last seven days") for event_id in again
    ]
    events, screenings = drop_events(events, screenings, rows)
    if events.empty:
        raise ValueError(
            f"{one.name}: every question was asked in the last seven days, or there is none"
        )
    if panel:
        events, screenings = screen_by_panel(events, screenings, panel)
    write_table("screenings", screenings, one.window)
    write_table("events", events, one.window)
    return one.name, events, screenings


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

    An event is looked for at four crawls a day, carried for a week, then given up (3.2.4). What no
    rule finds a `reader` (`read_missing`) may find on a captured page; what it found stays. Venues
    settle markets, a person or the reader the news. Answers and acquisitions are written to the
    set's tables.
    """
    window, now = find_set(name).window, pd.Timestamp(now)
    events, before = (
        read_table("events", window),
        check_table("answers", pd.DataFrame(columns=["event_id"])),
    )
    with suppress(FileNotFoundError):  # before the first is found or given up
        before = read_table("answers", window)
    due = events[pd.to_datetime(events["resolves_at"], utc=True) <= now]
    if due.empty or len(before) == len(
        events
    ):  # none is due; or each has its answer, or was given up
        return before, len(events) - len(before)
    is_market, is_news = due["source_id"].isin(VENUES), due["source_id"] == NEWS
    own, markets, news = due[~is_market & ~is_news], due[is_market], due[is_news]
    answers, acquisitions = (
        check_table(name, pd.DataFrame(columns=key)) for name, key in FOUND.items()
    )
    if len(own):
        with open_world(day=window) as opener:
            crawler = opener()
            answers, acquisitions = acquire_answers(own, crawler)
        answers = add_readings(answers, own, before, crawler.sources, now, reader)
    if len(markets):
        known = before[before["event_id"].isin(markets["event_id"]) & (before["status"] == "ok")]
        found = settle_markets(markets[~markets["event_id"].isin(known["event_id"])], now)
        answers = join_answers(answers, known, found)
    if len(news):
        answers = join_answers(answers, settle_news(news, before, now, reader))
    ends = due.set_index("event_id")["answer_due_at"].map(pd.Timestamp)
    is_open = (answers["status"] != "ok") & (answers["event_id"].map(ends) > now).to_numpy()
    answers = answers[~is_open].reset_index(drop=True)
    kept = acquisitions[pd.to_datetime(acquisitions["attempted_at"], utc=True) <= now]
    write_table("acquisitions", kept.reset_index(drop=True), window)
    if len(answers):
        write_table("answers", answers, window)
    return answers, len(events) - len(answers)


def join_answers(*parts):
    """Return several answers tables as one."""
    rows = [part for part in parts if len(part)]
    return check_table("answers", pd.concat(rows, ignore_index=True))


def add_readings(answers, due, before, sources, now, reader):
    """Return answers with those that a model read, now or at an earlier call (`before`), where no
    rule found one."""
    by_rule, read = answers[answers["status"] == "ok"], [before[before["method"] == READ]]
    known = {*by_rule["event_id"], *read[0]["event_id"]}
    if reader and len(left := due[~due["event_id"].isin(known)]):
        read.append(read_missing(reader, sources, left, locate_output(CAPTURES), now))
    rows = pd.concat([by_rule, *read, answers[answers["status"] != "ok"]])
    order = due["event_id"].tolist()
    rows = rows.drop_duplicates("event_id").set_index("event_id").reindex(order).reset_index()
    return check_table("answers", rows.astype({"value": object}))


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
    days = pd.date_range(sets[0][0].removeprefix("day-"), day).strftime("%Y-%m-%d") if sets else ()
    missed = [one for one in days if f"day-{one}" not in [name for name, *_ in sets]]
    lines = [
        f"# {day}",
        "",
        f"Written at {stamp_moment(now)}.",
        "",
        "## Sources (last 24 hours)",
        "",
    ]
    lines += [
        "| look | n |",
        "|---|---|",
        *(f"| {kind} | {n} |" for kind, n in today["kind"].value_counts().items()),
    ]
    lines += [
        "",
        f"{today['n_new'].sum()} new values, {today['n_revised'].sum()} revised later (the first stands).",
    ]
    lines += [
        "",
        "## Needs a person",
        "",
        *(f"- {line}" for line in list_trouble(looks) or ["Nothing."]),
        "",
    ]
    lines += [f"Days without questions: {', '.join(missed)}.", ""] if missed else []
    lines += [
        "## Question sets",
        "",
        "| set | questions | answered | given up | open |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {' | '.join(map(str, one))} |" for one in sets]
    lines += ["", "## Agents", "", *(f"- {line}" for line in told or ["None asked."]), ""]
    path = locate_output(f"data/days/{day}.md")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path, sets


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
    """Return answers (rows of the answers table) that a model finds on captured pages, where two
    reads agree.

    `events` are due and have no answer; `sources` are theirs, `path` is the file of captures. The
    page is the newest that the source has of the event's entity, fetched after the question ended.
    What was quoted must stand on it.
    """
    rows, now = [], stamp_moment(pd.Timestamp(now))
    with closing(open_captures(path)) as store:
        for event in events.to_dict("records"):
            if found := find_page(store, sources[event["source_id"]], event, now):
                value = read_twice(consult, event, *found)
                if value is not None:
                    rows.append((event["event_id"], dump_json(value), "ok", now, READ))
    return pd.DataFrame(rows, columns=["event_id", "value", "status", "acquired_at", "method"])


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
