"""Window L: questions with real horizons, 30 to 180 days ahead, over weekly and monthly series.

A template of data/horizons.toml is asked once a quarter, 2023 to 2026, from what its series had
published by then; the same rule that answers it from the published value answers a baseline's drawn
future (`agents.baselines_of_series`). Kinds are binary, multiple choice, quantity and timeframe: the last asks
for the month of a window in which a series is highest.
"""

import tomllib
from functools import lru_cache

import numpy as np
import pandas as pd

from daybefore.questions.fill_templates import (
    ADDERS,
    Deck,
    Unanswerable,
    list_due,
    seed_by_name,
    tell_origin,
    word_event,
)
from daybefore.questions.levels import VOLATILITY_CUT, assign_level, measure_number_volatility
from daybefore.questions.question_types import resolve_event
from daybefore.web.render_pages import format_period
from daybefore.web.source_registry import Source, compute_published_at, name_source, read_rows
from helpers.clock import ZONE, stamp_moment
from helpers.files import ROOT, dump_json, parse_json
from helpers.papers import get_constant
from helpers.set_names import WINDOWS
from helpers.tables import check_table

FILE = ROOT / "data/horizons.toml"
MIN_DAYS = get_constant("worldreasoner", "long_horizon_min_days")
MAX_DAYS = get_constant("worldreasoner", "long_horizon_max_days")
"""Days from a question's opening to its resolution, at least and at most."""
MIN_PEAK_DAYS, MIN_MONTHS = 90, 3
"""A timeframe question needs some months to choose from."""
N_HISTORY = 26
"""Published values that a series must have before it is asked about."""
N_SPREAD = 7
"""Values before a number's own whose standard deviation is its spread, as for the other windows'
weekly sources."""
SEED = 20230104


@lru_cache(maxsize=1)
def load_series():
    """Read the sources of window L: {source_id: Source}, sorted by id.

    >>> load_series()["cpi_months"].update_frequency
    'monthly'
    """
    entries = tomllib.loads(FILE.read_text(encoding="utf-8"))
    sources = {}
    for name, entry in sorted(entries.items()):
        given = (
            name_source(name) | {"form": "table", "windows": ["L"], "rows": f"long/{name}"} | entry
        )
        sources[name] = Source.model_construct(**given)
    return sources


@lru_cache(maxsize=64)
def read_series(source_id, variable):
    """Return (values by date and entity, moment of publication of each date) of a variable. Shared:
    take copies."""
    source = load_series()[source_id]
    values = (
        read_rows(source).pivot(index="occurred_at", columns="entity", values=variable).sort_index()
    )
    moments = compute_published_at(source.publication, values.index.to_series())
    return values, pd.DatetimeIndex(moments)


def cut_series(source_id, variable, as_of):
    """Return a series' values that were public before a moment, strictly (definitions.md 2.1).

    >>> cut_series("ecb_weeks", "rate", "2024-01-07T17:00:00+00:00").index[-1]  # the week's is out at 18:00 in Berlin
    '2023-12-31'
    """
    values, moments = read_series(source_id, variable)
    return values.iloc[: moments.searchsorted(pd.Timestamp(as_of))]


def list_starts():
    """Return the days on which window L's questions open: one a quarter, in its first week.

    >>> list_starts()[:2], len(list_starts())
    (['2023-01-04', '2023-04-04'], 14)
    """
    first, last = WINDOWS["L"]
    return pd.date_range(first, last, freq=pd.DateOffset(months=3)).strftime("%Y-%m-%d").tolist()


def pose_questions(sources=None, starts=None, seed=SEED):
    """Return (events, dropped): every template asked at every start, and those that could not be,
    with the reason.

    `events` have no `as_of` yet: it depends on the condition (`questions.life_moments.place_moments`).
    `dropped` has event_id and reason. The same seed gives the same questions.
    """
    events = []
    dropped = []
    for source in (sources or load_series()).values():
        for template in source.templates:
            deck = Deck(seed_by_name(seed, template["id"]))
            for start in starts or list_starts():
                event_id = f"L-{start.replace('-', '')}-{template['id']}"
                rng = seed_by_name(seed, event_id)
                try:
                    events.append(
                        {"event_id": event_id} | pose_question(source, template, start, deck, rng)
                    )
                except Unanswerable as error:
                    dropped.append({"event_id": event_id, "reason": str(error)})
    table = pd.DataFrame(events).sort_values(["opens_at", "event_id"], ignore_index=True)
    return check_table("events", table), pd.DataFrame(dropped, columns=["event_id", "reason"])


def pose_question(source, template, start, deck, rng):
    """Return one question of a template that opens on a day: a dict of the events table's columns.

    Raises Unanswerable with its reason.
    """
    opens_at = pd.Timestamp(start, tz=ZONE)
    series = cut_series(source.id, template["variable"], opens_at)
    if len(series) < N_HISTORY // (2 if source.update_frequency == "monthly" else 1):
        raise Unanswerable("the series has too little history by then")
    least = MIN_PEAK_DAYS if template["ask"] == "peak" else MIN_DAYS
    end = opens_at + pd.Timedelta(days=int(rng.integers(least, MAX_DAYS + 1)))
    if end > read_series(source.id, template["variable"])[1][-1]:
        raise Unanswerable("the series ends before it would be resolved")
    due = list_due(source, series.index[-1], None, end)
    ahead = [(date, moment) for date, moment in due if date >= start and moment <= end]
    if not ahead or ahead[-1][1] < opens_at + pd.Timedelta(days=MIN_DAYS):
        raise Unanswerable("no value is due 30 to 180 days ahead")
    variables = {
        "ask": template["ask"],
        "variable": template["variable"],
        "hour": None,
        "date": ahead[-1][0],
    }
    wanted = source.entities.get("only")
    alive = series.columns[series.iloc[-N_HISTORY:].notna().all()]
    alive = [name for name in alive if name in (wanted or series)]
    worded = word_question(template, source, variables, series, alive, ahead, deck)
    entity = worded["entity_id"]
    options = worded["options"] or {}
    volatility = None if entity is None else measure_number_volatility(series[entity].dropna())
    label = "" if options else "high" if volatility > VOLATILITY_CUT else "low"
    level = assign_level(worded["kind"], len(options), label)
    is_yes_no = set(options.values()) == {"Yes", "No"}
    days = round((worded["resolves_at"] - opens_at) / pd.Timedelta(days=1))
    return tell_origin(worded, source, source) | {
        "paper": "worldreasoner",
        "window": "L",
        "opens_at": stamp_moment(opens_at),
        "variables": dump_json(worded["variables"]),
        "options": dump_json(options),
        "provenance": f"rows of data/replay/long/{source.id}.csv",
        "metadata": dump_json({"question_type": "yes_no" if is_yes_no else "", "days": days}),
        "volatility": volatility and round(volatility, 6),
        "volatility_class": label,
        "level": level,
    }


def word_question(template, source, variables, series, entities, ahead, deck):
    """Return a question's words, kind and options, its entity and reference drawn from what is
    known at its opening."""
    if template["ask"] != "peak":
        options = ADDERS[template["ask"]](
            template | {"by": "value"}, source, series, entities, variables, deck
        )
        variables |= {"by": "gain"} if template.get("by") == "gain" else {}
        deck.mark(variables)
        return word_event(template, source, variables, options, ahead[-1][1])
    if len({date[:7] for date, _ in ahead}) < MIN_MONTHS:
        raise Unanswerable("too few months to choose from")
    variables["entity"] = deck.draw(variables, sorted(entities))
    variables["from_date"] = ahead[0][0]
    deck.mark(variables)
    text = template["text"].replace("{start}", format_period(ahead[0][0]))
    worded = word_event(
        template | {"ask": "value", "text": text}, source, variables, {}, ahead[-1][1]
    )
    return worded | {"kind": "date", "unit": ""}


def resolve_question(variables, path):
    """Return the answer that a series gives, None when it cannot: `path` has dates as index and
    entities as columns.

    The month of the highest value between `from_date` and `date` for a timeframe (the earliest of
    several), else what the values of `date` say (`targets.resolve_event`).

    >>> terms = {"ask": "peak", "entity": "x", "from_date": "2024-01-07", "date": "2024-02-04"}
    >>> dates = ["2023-12-31", "2024-01-28", "2024-02-04"]
    >>> resolve_question(terms, pd.DataFrame({"x": [9.0, 1.0, 2.0]}, index=dates))
    '2024-02-01'
    """
    if variables["date"] not in path.index:
        return None
    if variables["ask"] != "peak":
        return resolve_event(variables, path.loc[variables["date"]].dropna())
    window = path.loc[variables["from_date"] : variables["date"], variables["entity"]]
    return (
        None if window.isna().any() else f"{window.index[int(np.argmax(window.to_numpy()))][:7]}-01"
    )


def answer_questions(events):
    """Return the answers table of questions: what their series shows, `not_published` where it has
    gaps."""
    rows = []
    for event in events.to_dict("records"):
        variables = parse_json(event["variables"])
        path = read_series(event["source_id"], variables["variable"])[0]
        value = resolve_question(variables, path)
        status = "not_published" if value is None else "ok"
        row = {"event_id": event["event_id"], "value": dump_json(value), "status": status}
        if event["kind"] == "number":
            known = path.loc[: variables["date"], variables["entity"]].dropna()
            before = known.iloc[-N_SPREAD - 1 : -1]
            spread = round(float(before.std()), 9)
            row |= {"spread": spread, "n_spread": len(before), "spread_rule": "before_resolution"}
        rows.append(row)
    return check_table("answers", pd.DataFrame(rows).assign(method="series"))
