"""How answers come in, crawl by crawl, and what faults of sites change of them (FutureX 3.2.4)."""

import pandas as pd

from helpers.calendar import ZONE
from helpers.events.collect import CARRY_DAYS, CRAWL_HOURS


def follow_acquisition(events, answers):
    """Return how answers come in, crawl by crawl from the resolution day on (FutureX 3.2.4).

    Columns crawl (1 is 14:00 on the resolution day), day, hour (UTC+8), n_found, found_share (cumulative, of all
    events), up to the last day an event is carried. Raises ValueError when no answer was found.
    """
    table = events[["event_id", "resolves_at"]].merge(answers[["event_id", "status", "acquired_at"]], on="event_id")
    found = table[table["status"] == "ok"]
    if found.empty:
        raise ValueError("no answer was found; acquire answers first")
    first, moment = (
        pd.to_datetime(found[column], utc=True).dt.tz_convert(ZONE) for column in ("resolves_at", "acquired_at")
    )
    day = (moment.dt.normalize() - first.dt.normalize()).dt.days
    crawl = day * len(CRAWL_HOURS) + moment.dt.hour.map({hour: at for at, hour in enumerate(CRAWL_HOURS)}) + 1
    n_crawls = (CARRY_DAYS + 1) * len(CRAWL_HOURS)
    n_found = crawl.value_counts().reindex(range(1, n_crawls + 1), fill_value=0)
    steps = pd.DataFrame({"crawl": n_found.index, "n_found": n_found.to_numpy()})
    steps["day"] = (steps["crawl"] - 1) // len(CRAWL_HOURS)
    steps["hour"] = [f"{CRAWL_HOURS[(crawl - 1) % len(CRAWL_HOURS)]}:00" for crawl in steps["crawl"]]
    steps["found_share"] = steps["n_found"].cumsum() / len(table)
    return steps[["crawl", "day", "hour", "n_found", "found_share"]]


def compare_answers(plain, faulty):
    """Return how answers acquired under faults differ from the plain ones, over the events of `faulty`.

    A row an outcome, with n and share; `lost` was found only without faults.
    """
    both = plain[["event_id", "value"]].merge(faulty[["event_id", "value"]], on="event_id", suffixes=("", "_faulty"))
    here, there = both["value"].notna(), both["value_faulty"].notna()
    same = (both["value"] == both["value_faulty"]) & here
    counts = {
        "same value": same.sum(),
        "another value": (here & there & ~same).sum(),
        "lost": (here & ~there).sum(),
        "found only with faults": (~here & there).sum(),
        "found in neither": (~here & ~there).sum(),
    }
    return pd.DataFrame({"outcome": list(counts), "n": list(counts.values())}).assign(
        share=lambda table: table["n"] / len(both)
    )
