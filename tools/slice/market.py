"""The replay world's prediction market: event pages with options and rules, without prices.

No package carries a market's prices, so these pages ask about series of the other sources, and say
so; each question is posed from what had been published when it opens, and its resolution appears
after the source's own value. `make slice` writes them to data/replay/market.csv (`python -m
slice.market`).
"""

import json
import zlib

import numpy as np
import pandas as pd

from daybefore.questions.fill_templates import (
    HORIZON_DAYS,
    Deck,
    Unanswerable,
    pose_event,
    seed_by_name,
)
from daybefore.questions.question_types import resolve_event
from daybefore.web.extract_values import select_series
from daybefore.web.source_registry import load_sources, locate_rows, read_rows
from helpers.clock import ZONE
from helpers.files import dump_json
from helpers.set_names import WINDOWS

LEADS = {"A": 5, "C1": 1, "C2": 1}
"""Questions open on the days of each window, and on so many days before its first."""
SETTLE = pd.Timedelta(minutes=30)
"""How long after the source's value the market settles."""
SEED = 20161010


def observe_rows(source, rows, variable, moment):
    """Return one variable's observations of the last 90 days before `moment`, with coming fixtures,
    as a page would."""
    first = rows["published_at"].searchsorted(moment - pd.Timedelta(days=90), side="right")
    end = rows["published_at"].searchsorted(
        moment + pd.Timedelta(days=source.page.get("fixtures_days", 0))
    )
    shown = melt_rows(rows.iloc[first:end], variable)
    is_known = rows["published_at"].iloc[first:end] < moment
    return shown.assign(value=shown["value"].where(is_known).astype(float))


def melt_rows(rows, variable):
    """Return one variable's rows as observations: occurred_at, entity, variable, value."""
    return rows[["occurred_at", "entity"]].assign(variable=variable, value=rows[variable])


def pose_market(market, sources):
    """Return the market's facts in order of publication: questions as they open, resolutions as
    they come."""
    facts = []
    for spec in market.page["questions"]:
        source = sources[spec["source"]]
        rows = read_rows(source)
        deck = Deck(seed_by_name(SEED, spec["id"]))
        for window, lead in LEADS.items():
            first, last = pd.to_datetime(WINDOWS[window])
            for day in pd.date_range(first - pd.Timedelta(days=lead), last, tz=ZONE):
                facts += pose_day(spec, source, rows, day + pd.Timedelta(hours=12), deck)
    return pd.DataFrame(facts).sort_values(
        ["occurred_at", "entity"], kind="stable", ignore_index=True
    )


def pose_day(spec, source, rows, opens_at, deck):
    """Return the facts of the questions that one specification opens on one day."""
    seen, facts = set(), []
    observed = observe_rows(source, rows, spec["variable"], opens_at)
    if observed["value"].notna().sum() == 0:
        return facts
    for _ in range(spec["per_day"]):
        horizon = int(deck.rng.integers(3, HORIZON_DAYS + 1))
        try:
            event = pose_event(spec, source, observed, opens_at, deck, horizon_days=horizon)
        except Unanswerable:
            continue
        terms = event["variables"] | {"about": source.id}
        if (event["entity_id"], terms["date"]) in seen:
            continue
        seen.add((event["entity_id"], terms["date"]))
        facts += write_facts(spec, source, rows, opens_at, event, terms)
    return facts


def write_facts(spec, source, rows, opens_at, event, terms):
    """Return a question's opening row and, when the source's value exists, its resolution row."""
    letters = terms.pop("letters")
    market_id = f"{spec['id']}-{opens_at:%m%d}-{zlib.crc32(dump_json(terms).encode()):08x}"
    options = [event["options"][letter] for letter in letters.values()]
    opening = {
        "occurred_at": f"{opens_at:%Y-%m-%dT%H:%M}",
        "entity": market_id,
        "question": event["prompt"].split("\n")[0],
        "options": json.dumps(options, ensure_ascii=False),
        "closes_at": (event["resolves_at"].tz_convert(ZONE)).isoformat(),
        "rules": "Settles by: " + event["resolution_criteria"],
        "terms": dump_json(terms | {"keys": list(letters)}),
    }
    value = rows[
        rows["occurred_at"].str.startswith(
            f"{terms['date']}T{terms['hour']}" if terms["hour"] else terms["date"]
        )
    ]
    target = select_series(melt_rows(value, terms["variable"]), terms["variable"], terms["hour"])
    if terms["date"] not in target.index:
        return [opening]
    answer = resolve_event(terms | {"letters": letters}, target.loc[terms["date"]])
    if answer is None:
        return [opening]
    settled = (max(event["resolves_at"], value["published_at"].max()) + SETTLE).tz_convert(ZONE)
    resolution = "; ".join(event["options"][letter] for letter in np.atleast_1d(answer))
    return [
        opening,
        {"occurred_at": f"{settled:%Y-%m-%dT%H:%M}", "entity": market_id, "resolution": resolution},
    ]


def main():
    """Write data/replay/market.csv from the other sources' rows."""
    sources = load_sources()
    facts = pose_market(sources["market"], sources)
    facts.to_csv(locate_rows(sources["market"]), index=False, lineterminator="\n")
    print(
        f"market: {facts['question'].notna().sum()} questions, {facts['resolution'].notna().sum()} resolutions"
    )


if __name__ == "__main__":
    main()
