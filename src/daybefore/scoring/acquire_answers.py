"""Acquire the true answers: crawl each source on and after an event's resolution day until its
value is there.

Four crawls a day at 14:00, 16:00, 18:00 and 20:00 UTC+8; an unresolved event is carried for seven
days (FutureX 3.2.4; definitions.md 1.3). A site that cannot be crawled and a page that cannot be
read are told apart.
"""

from itertools import groupby, product
from operator import itemgetter

import numpy as np
import pandas as pd

from daybefore.questions.collect_events import CARRY_DAYS, CRAWL_HOURS
from daybefore.questions.fill_templates import pool_matches
from daybefore.questions.question_types import resolve_event
from daybefore.web.extract_values import METHODS, ExtractionError
from daybefore.web.fetched_pages import GatewayError
from helpers.clock import ZONE, stamp_moment
from helpers.files import dump_json, parse_json
from helpers.papers import get_constant
from helpers.tables import ANSWER_STATUSES, check_table

SPREAD_DAYS = get_constant("futurex", "spread_days")
"""Days before the outcome's date whose values make its spread; as many values where a source is
slower."""
MIN_SPREAD_VALUES = get_constant("futurex", "spread_min_values")
SPREAD_DDOF = get_constant("futurex", "spread_ddof")


def acquire_answers(events, crawler):
    """Return (answers, acquisitions): one row an event, and one an attempt.

    An answer's status is `ok`, or why the last attempt failed: `crawl_error` (the site did not
    answer), `extraction_error` (its page could not be read), `not_published` (it held no such
    value). Number events carry `spread`, the values' standard deviation (ddof=1), with its n and
    rule.
    """
    open_events = sorted(events.to_dict("records"), key=itemgetter("source_id"))
    for event in open_events:
        event["terms"] = parse_json(event["variables"])
        event["first_day"] = pd.Timestamp(event["resolves_at"]).tz_convert(ZONE).normalize()
        event["last_at"] = pd.Timestamp(event["answer_due_at"]).tz_convert(ZONE)
    first, last = (
        choose(event[name] for event in open_events)
        for choose, name in ((min, "first_day"), (max, "last_at"))
    )
    answers = {}
    attempts = []
    for day, hour in product(pd.date_range(first, last.normalize()), CRAWL_HOURS):
        moment = day + pd.Timedelta(hours=hour)
        at = stamp_moment(moment)
        due = [
            event
            for event in open_events
            if event["event_id"] not in answers and event["first_day"] <= moment <= event["last_at"]
        ]
        for source_id, group in groupby(due, itemgetter("source_id")):
            for event_id, attempt, answer in attempt_group(crawler, source_id, list(group), at):
                attempts.append({"event_id": event_id, "attempted_at": at} | attempt)
                if answer:
                    answers[event_id] = answer | {"acquired_at": at}
    last = {attempt["event_id"]: attempt for attempt in attempts}
    rows = [
        {"event_id": event_id}
        | answers.get(event_id, {"status": last[event_id]["status"], "value": None})
        for event_id in events["event_id"]
    ]
    return check_table("answers", pd.DataFrame(rows)), check_table(
        "acquisitions", pd.DataFrame(attempts)
    )


def attempt_group(crawler, source_id, events, at):
    """Yield (event_id, attempt, answer or None) for all events of one source at one crawl; the page
    is read once."""
    try:
        observed, page_id = crawler.observe(source_id, at)
    except (GatewayError, ExtractionError) as error:
        status = "crawl_error" if isinstance(error, GatewayError) else "extraction_error"
        for event in events:
            yield event["event_id"], {"status": status, "page_id": None, "reason": str(error)}, None
        return
    source = crawler.sources[source_id]
    found = {"status": "ok", "page_id": page_id, "method": METHODS.get(source.form, source.form)}
    for event in events:
        terms = event["terms"]
        if source.form == "market":
            answer = find_resolution(event, observed)
        else:
            series, _ = crawler.select(source_id, at, terms["variable"], terms["hour"])
            answer = find_answer(event, series, source)
        attempt = {"status": "ok", "page_id": page_id, "reason": ""}
        if answer is None:
            reason = f"the page holds no value for {terms['date']} yet"
            attempt |= {"status": "not_published", "reason": reason}
        yield event["event_id"], attempt, answer and answer | found


def find_resolution(event, pages):
    """Return the value of a market's event from its pages; None while it is open, or absent."""
    named = pages.loc[pages["market_id"] == event["terms"]["market_id"], "resolution"]
    letters = {text: letter for letter, text in parse_json(event["options"]).items()}
    known = [letters[text] for text in named if text in letters]
    return {"value": dump_json(known[0])} if known else None


def find_answer(event, series, source):
    """Return an event's value (and spread, for numbers) from a page's series; None when it is not
    there."""
    terms = event["terms"]
    if terms["date"] not in series.index:
        return None
    value = resolve_event(terms, series.loc[terms["date"]])
    if value is None:
        return None
    spread = measure_spread(event, series, source) if event["kind"] == "number" else {}
    return {"value": dump_json(value)} | spread


def measure_spread(event, series, source):
    """Return spread, n_spread and spread_rule of a number event (definitions.md 1.5).

    The sample standard deviation of the values on the seven days before the event's date, never the
    outcome itself; of the last seven published values where the source updates less often than
    daily. With fewer than three values the spread is missing and the event cannot be scored.
    """
    terms = event["terms"]
    before = series[series.index < terms["date"]]
    if source.page.get("fixtures_days"):
        values = pool_matches(before)[-SPREAD_DAYS:]
    elif source.update_frequency in ("weekly", "monthly"):
        values = before[terms["entity"]].dropna().iloc[-SPREAD_DAYS:]
    else:
        first = str((pd.Timestamp(terms["date"]) - pd.Timedelta(days=SPREAD_DAYS)).date())
        values = before.loc[before.index >= first, terms["entity"]].dropna()
    spread = (
        round(float(np.std(values, ddof=SPREAD_DDOF)), 9)
        if len(values) >= MIN_SPREAD_VALUES
        else None
    )
    return {"spread": spread, "n_spread": len(values), "spread_rule": "before_resolution"}


def summarize_acquisition(answers):
    """Return one row a status: n_events and share of all events."""
    return count_shares(answers["status"], ANSWER_STATUSES, "status", "n_events")


def count_shares(cells, names, what, n):
    """Return how often each of some names stands among cells: a row a name, columns `what`, `n` and
    share."""
    counts = cells.value_counts().reindex(names, fill_value=0)
    return pd.DataFrame(
        {what: names, n: counts.to_numpy(), "share": counts.to_numpy() / len(cells)}
    )


def follow_acquisition(events, answers):
    """Return how answers come in, crawl by crawl from the resolution day on (FutureX 3.2.4).

    Columns crawl (1 is 14:00 on the resolution day), day, hour (UTC+8), n_found, found_share
    (cumulative, of all events), up to the last day an event is carried.
    """
    table = events[["event_id", "resolves_at"]].merge(
        answers[["event_id", "status", "acquired_at"]], on="event_id"
    )
    found = table[table["status"] == "ok"]
    first, moment = (
        pd.to_datetime(found[column], utc=True).dt.tz_convert(ZONE)
        for column in ("resolves_at", "acquired_at")
    )
    day = (moment.dt.normalize() - first.dt.normalize()).dt.days
    crawls = pd.MultiIndex.from_product([range(CARRY_DAYS + 1), CRAWL_HOURS], names=["day", "hour"])
    n_found = found.groupby([day, moment.dt.hour]).size().reindex(crawls, fill_value=0)
    steps = n_found.rename("n_found").reset_index()
    steps.insert(0, "crawl", range(1, len(steps) + 1))
    steps["hour"] = steps["hour"].map("{}:00".format)
    return steps.assign(found_share=steps["n_found"].cumsum() / len(table))


def compare_answers(plain, faulty):
    """Return how answers acquired under faults differ from the plain ones, over the events of
    `faulty`.

    A row an outcome, with n and share; `lost` was found only without faults.
    """
    both = plain[["event_id", "value"]].merge(
        faulty[["event_id", "value"]], on="event_id", suffixes=("", "_faulty")
    )
    here = both["value"].notna()
    there = both["value_faulty"].notna()
    names = ["same value", "another value", "lost", "found only with faults", "found in neither"]
    told = np.select(
        [both["value"] == both["value_faulty"], here & there, here, there], names[:4], names[4]
    )
    return count_shares(pd.Series(told), names, "outcome", "n")
