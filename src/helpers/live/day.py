"""A benchmark of one's own, a day at a time: look at the sources, pose questions, settle those that are due.

`settle` and `pose` can be called again at any time: what was done stays as it is, what is due is done. A day is a
question set, `day-2026-11-25`, whose questions start at 00:00 UTC+8 and whose web is what was known by then.
"""

import pandas as pd

from helpers.calendar import ZONE, stamp_moment
from helpers.events.collect import collect_events, make_screening
from helpers.live.captures import CAPTURES, read_looks
from helpers.live.judging import READ, drop_events, read_missing, screen_by_panel
from helpers.papers import get_constant
from helpers.question_sets import find_set, name_day
from helpers.scoring.answers import acquire_answers
from helpers.store import locate_output, read_table, write_table
from helpers.tables import check_table
from helpers.web.replay import open_day

N_IN_A_ROW = 3
"""Failures in a row after which a report asks for a person."""
NO_ANSWER = ("crawl_error", "extraction_error", "not_published")


def list_days_posed():
    """Return the names of the question sets that were posed so far, oldest first."""
    folders = locate_output("data/tables/x").parent.glob("D??????")
    return [find_set(folder.name).name for folder in sorted(folders) if (folder / "events.csv.gz").exists()]


def pose(now, panel=None):
    """Return (name of today's question set, events, screenings); posed once, at the first call of a day in UTC+8.

    What the last seven days' sets asked in the same words is not asked again (FutureX 3.2.2). Judges of a `panel`
    (`judging.screen_by_panel`) screen beside the rules. Raises ValueError where no source has values enough yet.
    """
    day = pd.Timestamp(now).tz_convert(ZONE).normalize().tz_localize(None)
    one = find_set(name_day(day))
    if one.name in (posed := list_days_posed()):
        return one.name, *(read_table(name, one.window) for name in ("events", "screenings"))
    with open_day(one.window) as opener:
        crawler = opener()
        options = {"seed": day.toordinal(), "keep_binary": get_constant("futurex", "keep_binary"), "days": [day]}
        events, screenings = collect_events(crawler.sources, crawler, one.window, **options)
    last = [name for name in posed if name >= name_day(day - pd.Timedelta(days=7))]
    before = {prompt for name in last for prompt in read_table("events", find_set(name).window)["prompt"]}
    is_again = events["prompt"].isin(before)
    rows = [
        make_screening(event_id, "asked before", "in the last seven days") for event_id in events["event_id"][is_again]
    ]
    events, screenings = drop_events(events, screenings, rows)
    if events.empty:
        raise ValueError(f"{one.name}: every question was asked in the last seven days")
    if panel:
        events, screenings = screen_by_panel(events, screenings, panel)
    write_table("screenings", screenings, one.window)
    write_table("events", events, one.window)
    return one.name, events, screenings


def settle(name, now, reader=None):
    """Look for the answers of a day's questions that are due; returns (answers, number that are still open).

    An event is looked for at four crawls a day, carried for a week, then given up (3.2.4). What no rule finds a
    `reader` (`judging.read_missing`) may find on a captured page; what it found stays. Answers and acquisitions are
    written to the set's tables.
    """
    window, now = find_set(name).window, pd.Timestamp(now)
    events, before = read_table("events", window), read_answers(window)
    if len(before) == len(events):  # each has its answer, or was given up
        return before, 0
    due = events[pd.to_datetime(events["resolves_at"], utc=True) <= now]
    if due.empty:
        return before, len(events)
    with open_day(window) as opener:
        crawler = opener()
        answers, acquisitions = acquire_answers(due, crawler)
    answers = add_readings(answers, due, before, crawler.sources, now, reader)
    ends = due.set_index("event_id")["answer_due_at"].map(pd.Timestamp)
    is_open = (answers["status"] != "ok") & (answers["event_id"].map(ends) > now).to_numpy()
    answers = answers[~is_open].reset_index(drop=True)
    kept = acquisitions[pd.to_datetime(acquisitions["attempted_at"], utc=True) <= now]
    write_table("acquisitions", kept.reset_index(drop=True), window)
    if len(answers):
        write_table("answers", answers, window)
    return answers, len(events) - len(answers)


def read_answers(window):
    """Return the answers of a day's set that were found or given up so far, an empty table before the first."""
    try:
        return read_table("answers", window)
    except FileNotFoundError:
        return check_table("answers", pd.DataFrame(columns=["event_id"]))


def add_readings(answers, due, before, sources, now, reader):
    """Return answers with those that a model read, now or at an earlier call (`before`), where no rule found one."""
    by_rule, read = answers[answers["status"] == "ok"], [before[before["method"] == READ]]
    known = {*by_rule["event_id"], *read[0]["event_id"]}
    if reader and len(left := due[~due["event_id"].isin(known)]):
        read.append(read_missing(reader, sources, left, locate_output(CAPTURES), now))
    rows = pd.concat([by_rule, *read, answers[answers["status"] != "ok"]])
    order = due["event_id"].tolist()
    rows = rows.drop_duplicates("event_id").set_index("event_id").reindex(order).reset_index()
    return check_table("answers", rows.astype({"value": object}))


def list_trouble(looks):
    """Return sentences on sources that need a person: the last `N_IN_A_ROW` looks failed, or the page's form changed.

    >>> looks = pd.DataFrame({"source_id": "a", "kind": ["ok", "down", "down", "down"], "reason": "no answer"})
    >>> list_trouble(looks)
    ['a: 3 looks in a row failed, the last: down (no answer)']
    """
    told = []
    for source_id, rows in looks.groupby("source_id", sort=True):
        kinds, last = rows["kind"].tolist(), rows.iloc[-1]
        n = next((at for at, kind in enumerate(reversed(kinds)) if kind == "ok"), len(kinds))
        if n >= N_IN_A_ROW:
            told.append(f"{source_id}: {n} looks in a row failed, the last: {last['kind']} ({last['reason']})")
        elif last["kind"] == "layout":
            told.append(f"{source_id}: {last['reason']}")
    return told


def list_missed(names, now):
    """Return the days between the first set and today that have none.

    >>> list_missed(["day-2026-11-23", "day-2026-11-25"], "2026-11-26T01:00Z")
    ['2026-11-24', '2026-11-26']
    """
    if not names:
        return []
    today = pd.Timestamp(now).tz_convert(ZONE).date()
    days = pd.date_range(names[0].removeprefix("day-"), today).strftime("%Y-%m-%d")
    return [day for day in days if f"day-{day}" not in names]


def write_report(now, looks, sets, told=()):
    """Write the day's report (markdown) and return its path.

    `looks` are all looks so far (`read_looks`), `sets` rows of (name, questions, answered, given up, open), `told`
    sentences on what agents were asked.
    """
    now, day = pd.Timestamp(now), pd.Timestamp(now).tz_convert(ZONE).strftime("%Y-%m-%d")
    today = looks[pd.to_datetime(looks["looked_at"], utc=True) > now - pd.Timedelta(hours=24)]
    counts = today["kind"].value_counts()
    trouble, missed = list_trouble(looks), list_missed([one[0] for one in sets], now)
    lines = [f"# {day}", "", f"Written at {stamp_moment(now)}.", "", "## Sources (last 24 hours)", ""]
    lines += ["| look | n |", "|---|---|", *(f"| {kind} | {n} |" for kind, n in counts.items()), ""]
    lines += [f"{today['n_new'].sum()} new values, {today['n_revised'].sum()} revised later (the first stands).", ""]
    lines += ["## Needs a person", "", *([f"- {line}" for line in trouble] or ["Nothing."]), ""]
    lines += [f"Days without questions: {', '.join(missed)}.", ""] if missed else []
    lines += ["## Question sets", "", "| set | questions | answered | given up | open |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(map(str, one))} |" for one in sets]
    lines += ["", "## Agents", "", *([f"- {line}" for line in told] or ["None asked."]), ""]
    path = locate_output(f"data/days/{day}.md")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def close_day(now, told=(), reader=None):
    """Settle all sets, and write the report; returns (its path, rows of its table of sets)."""
    sets = []
    for name in list_days_posed():
        answers, n_open = settle(name, now, reader)
        n_lost = int(answers["status"].isin(NO_ANSWER).sum())
        sets.append((name, len(answers) + n_open, len(answers) - n_lost, n_lost, n_open))
    return write_report(now, read_looks(locate_output(CAPTURES)), sets, told), sets
