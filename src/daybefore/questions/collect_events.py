"""Collect a window's events day by day: templates and market pages in, a screened and levelled
event set out.

Every event is posed from pages crawled as of its start day, 00:00 UTC+8 (FutureX 3.2.2, Figure 3).
"""

import json
import zlib
from collections import Counter
from functools import lru_cache, partial

import numpy as np
import pandas as pd

from daybefore.questions.drop_events import JUDGES, draw_kept, screen_event
from daybefore.questions.fill_templates import (
    HORIZON_DAYS,
    Deck,
    Unanswerable,
    letter_options,
    pose_event,
    seed_by_name,
    tell_origin,
)
from daybefore.questions.levels import assign_level, classify_volatility
from daybefore.web.extract_values import ExtractionError
from daybefore.web.fetched_pages import GatewayError
from helpers.clock import ZONE, stamp_moment
from helpers.files import dump_json
from helpers.papers import get_constant
from helpers.set_names import list_days
from helpers.tables import check_table

CARRY_DAYS = get_constant("futurex", "carry_days")
"""Days an unresolved event is carried before it counts as an acquisition failure (the paper gives
none)."""
CRAWL_HOURS = get_constant("futurex", "crawl_hours")
"""Hours of the day, UTC+8, at which answers are looked for (FutureX 3.2.4)."""
MIN_OPTIONS = get_constant("futurex", "min_options")
N_DISTRACTORS = 2
"""Unrelated wrong options added to a market's option event, at least so many that it has
`MIN_OPTIONS`."""


def covers_window(source, window):
    """Tell whether a source has rows for a window; "C" stands for both of C1 and C2."""
    return window in source.windows or window[0] in source.windows


def collect_events(
    sources, crawler, window, *, seed, keep_binary, horizon_days=HORIZON_DAYS, days=None
):
    """Return (events, screenings) of a window, or of some of its start `days`.

    events: the tables' columns, kept events only; screenings: one row for each dropped candidate,
    with filter and reason, and one for each candidate that passed (filter "none"). The same seed
    gives the same events. Raises ValueError when nothing is left to ask.
    """
    sites = [source for source in sources.values() if covers_window(source, window)]
    decks = {}
    candidates = []
    screenings = []
    for day in pd.to_datetime(list_days(window) if days is None else days):
        for source in sites:
            posed, dropped = collect_day(source, crawler, window, day, decks, seed, horizon_days)
            candidates += posed
            screenings += dropped
    kept, more = screen_candidates(candidates, seed, keep_binary)
    if not kept:
        reasons = Counter(row["reason"] for row in screenings + more)
        why = [f", most often ({n}) because: {reason}" for reason, n in reasons.most_common(1)]
        raise ValueError(
            f"no event of window {window} is left; {reasons.total()} candidates were dropped{''.join(why)}"
        )
    return finish_events(kept, window), check_table("screenings", pd.DataFrame(screenings + more))


def collect_day(source, crawler, window, day, decks, seed, horizon_days):
    """Return (candidates, screenings) of one source on one start day; a screening says why none can
    be asked.

    Daily templates are asked each day (weekdays where the source rests at weekends), weekly ones on
    a weekday of their own, spread by their name.
    """
    as_of = stamp_moment(day.tz_localize(ZONE))
    if source.form == "market":
        try:
            return pose_market_events(source, crawler, window, as_of, seed, horizon_days), []
        except (GatewayError, ExtractionError) as error:
            name = name_event(window, as_of, source.id)
            return [], [make_screening(name, "unreachable", str(error))]

    def select(variable, hour):
        return crawler.select(source.id, as_of, variable, hour)[0]

    candidates = []
    screenings = []
    n_days = 5 if source.update_frequency == "weekdays" else 7
    for template in source.templates:
        is_daily = template["period"] == "daily"
        weekday = zlib.crc32(template["id"].encode()) % n_days
        if day.day_of_week >= n_days if is_daily else day.day_of_week != weekday:
            continue
        deck = decks.setdefault(template["id"], Deck(seed_by_name(seed, template["id"])))
        event_id = name_event(window, as_of, template["id"])
        about = (template["period"], source, source, as_of)
        try:
            observations, page_id = crawler.observe(source.id, as_of)
            posed = pose_within(template, source, observations, as_of, deck, horizon_days, select)
            candidates.append(describe_event(event_id, posed, *about, page_id))
        except (Unanswerable, GatewayError, ExtractionError) as error:
            name = "unanswerable" if isinstance(error, Unanswerable) else "unreachable"
            if str(error).startswith("frozen"):
                name = "frozen"
            screenings.append(make_screening(event_id, name, str(error)))
    return candidates, screenings


def name_event(window, as_of, name):
    """Return an event's id: its window, its start day, and what asks it.

    >>> name_event("A", "2016-10-12T00:00:00+08:00", "oil_top")
    'A-1012-oil_top'
    """
    return f"{window}-{as_of[5:7]}{as_of[8:10]}-{name}"


def pose_within(template, source, observations, as_of, deck, horizon_days, select):
    """Pose an event with a horizon of its own: daily templates draw 1 to 7 days, weekly ones take
    all of the week.

    Where the drawn horizon reaches no value that is still to happen and was not asked for, another
    is drawn; at last the whole week is taken, and a long-lagged source may then ask for a value of
    before the start day that is published after it (a nowcast, marked so).
    """
    drawn = []
    pose = partial(pose_event, template, source, observations, as_of, deck, select=select)
    if template["period"] == "daily" and source.update_frequency in ("daily", "weekdays", "hourly"):
        drawn = [int(days) + 1 for days in deck.rng.permutation(horizon_days)]
    for days in drawn:
        try:
            return pose(horizon_days=days, not_before=as_of[:10])
        except Unanswerable as error:
            if "horizon" not in str(error):
                raise
    return pose(horizon_days=horizon_days)


def make_screening(event_id, name, reason, is_dropped=True):
    """Return a screening row of the pipeline itself (no judge)."""
    row = {"event_id": event_id, "filter": name, "judge": "rule", "is_dropped": is_dropped}
    return row | {"reason": reason, "rule": ""}


def describe_event(event_id, posed, period, source, about, as_of, page_id):
    """Return an event's row (JSON columns still open) from what was posed and where it comes
    from."""
    due = posed["resolves_at"].tz_convert(ZONE).normalize() + pd.Timedelta(
        days=CARRY_DAYS, hours=max(CRAWL_HOURS)
    )
    return tell_origin(posed, source, about) | {
        "event_id": event_id,
        "paper": "futurex",
        "variant": period,
        "opens_at": as_of,
        "as_of": as_of,
        "answer_due_at": stamp_moment(due),
        "provenance": f"replay of real rows; posed from page {page_id}",
        "metadata": {"is_nowcast": posed["variables"]["date"] < as_of[:10]},
    }


def pose_market_events(source, crawler, window, as_of, seed, horizon_days):
    """Return candidates from the market's pages that opened in the last day, options added to
    option events."""
    pages, page_id = crawler.observe(source.id, as_of)
    start = pd.Timestamp(as_of)
    events = []
    opened = start - pd.Timedelta(days=1)
    end = start + pd.Timedelta(days=horizon_days)
    for row in pages.sort_values("market_id").to_dict("records"):
        terms = json.loads(row["terms"])
        opens, closes = read_moment(row["opens_at"]), read_moment(row["closes_at"])
        is_new = opened <= opens < start < closes <= end
        if not is_new or terms["date"] < as_of[:10]:  # its value is of before the start day
            continue
        event_id = name_event(window, as_of, f"market-{row['market_id']}")
        about = crawler.sources[terms["about"]]
        related = set(crawler.observe(about.id, as_of)[0]["entity"])
        posed = read_market_page(row, pages, related, seed_by_name(seed, event_id))
        events.append(describe_event(event_id, posed, "market", source, about, as_of, page_id))
    return events


read_moment = lru_cache(maxsize=10_000)(pd.Timestamp)
"""A market's pages are read anew each day, with the same moments."""


def read_market_page(row, pages, related, rng):
    """Return what a market's page poses; an option event with three or more gets unrelated wrong
    ones, all shuffled.

    These are of other pages; `related` are the names that the question's own source knows, which
    could be right and are left out.
    """
    terms = json.loads(row["terms"])
    options = dict(zip(terms.pop("keys"), json.loads(row["options"]), strict=True))
    if len(options) > 2:
        others = {text for cell in pages["options"] for text in json.loads(cell)}
        pool = sorted(others - set(options.values()) - related - {"Yes", "No"})
        n_added = max(N_DISTRACTORS, MIN_OPTIONS - len(options))
        chosen = [pool[i] for i in rng.permutation(len(pool))[:n_added]]
        options |= {f"distractor: {text}": text for text in chosen}
        keys = list(options)
        options = {keys[i]: options[keys[i]] for i in rng.permutation(len(keys))}
    letters, wording = letter_options(row["question"], options)
    return wording | {
        "kind": "single",
        "k": None,
        "unit": "",
        "entity_id": terms.get("entity"),
        "variables": terms | {"letters": letters, "market_id": row["market_id"]},
        "resolves_at": pd.Timestamp(row["closes_at"]) + pd.Timedelta(minutes=30),
        "resolution_criteria": row["rules"],
        "volatility": None,
        "template_id": f"market_{row['market_id'].split('-')[0]}",
    }


def screen_candidates(candidates, seed, keep_binary):
    """Return (kept, screenings) after the filters for content and the downsampling of yes/no
    events."""
    kept = []
    screenings = []
    for event in candidates:
        rows = (screen_event(event, name, views, rule) for name, (views, rule) in JUDGES.items())
        dropped = next((row for row in rows if row["is_dropped"]), None)
        if dropped:
            screenings.append(dropped)
        else:
            kept.append(event)
    binary = np.array([event["event_id"] for event in kept if len(event["options"]) == 2])
    gone = set(
        binary[~draw_kept(len(binary), keep_binary, np.random.default_rng([seed, 2]))].tolist()
    )
    reason = f"yes/no event, kept at a share of {keep_binary:.4f}"
    screenings += [make_screening(event_id, "binary", reason) for event_id in sorted(gone)]
    kept = [event for event in kept if event["event_id"] not in gone]
    screenings += [make_screening(event["event_id"], "none", "kept", False) for event in kept]
    return kept, screenings


def finish_events(kept, window):
    """Return the events table: volatility classes, levels, JSON columns, sorted by start and id."""
    events = pd.DataFrame(kept).sort_values(["as_of", "event_id"], ignore_index=True)
    events["window"] = window
    events["volatility_class"], cut = classify_volatility(events)
    events["level"] = [
        assign_level(kind, len(options), label)
        for kind, options, label in events[["kind", "options", "volatility_class"]].to_numpy()
    ]
    cut = {"ranking_volatility_cut": round(cut, 6)}
    events["metadata"] = [note | cut for note in events["metadata"]]
    events["volatility"] = events["volatility"].astype(float).round(6)
    closed = {name: events[name].map(dump_json) for name in ("variables", "options", "metadata")}
    return check_table("events", events.assign(**closed))
