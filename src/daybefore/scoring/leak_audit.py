"""Which rows of a run may rest on what was not known when it was asked: a leak audit, and a gate by
a model's release.

A sign is no proof, and a row without one is not proved clean: scores are given with and without the
flagged rows.
"""

import math
import re

import pandas as pd

from helpers.clock import ZONE, find_dates, stamp_moment
from helpers.files import parse_json

GATE_DAYS = 10
"""A question that is resolved less than so many days after a model's release may stand in what it
was trained on."""

N_DIGITS = 4
"""An outcome of so many significant digits is no chance hit."""

OPEN_SEARCH = re.compile("searches with|sees the web of today")
"""How the condition of a run reads that searched the open web, by itself or by its provider."""

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
DATED = re.compile(
    r"\), published (?:by )?(\d{4}-\d\d-\d\d(?:T[\d:+]+)?)(?:, when it was read)?:$", re.MULTILINE
)
"""How a search shows an agent a page's date, or when it was read
(`agents.search_agents.describe_hit`)."""

OWN_PAGE = ".replay/"
"""What the address of a page of the kit's own web holds: that it was published in time is checked
elsewhere."""

KEY = ["event_id", "sample"]


def flag_rows(events, answers, predictions, replies, traces):
    """Return the flagged rows of one run: event_id, sample, sign (page, value or date), found (what
    was seen).

    page: a page that was shown is dated after `as_of`, or was read at it or later. value: the
    outcome, a number of `N_DIGITS` significant digits that the question does not hold, stands in
    what a tool showed. date: a day after `as_of` that the question does not name stands in what a
    tool showed, the reply or its rationale; an answer that is a date is itself none.
    """
    asked = events.set_index("event_id")
    truth = answers.set_index("event_id")["value"]
    shown = (
        traces[traces["step_type"] == "tool"]
        .dropna(subset="content")
        .groupby(KEY)["content"]
        .agg("\n\n".join)
    )
    said = replies.set_index(KEY)["reply"]
    rows = []
    for row in predictions.to_dict("records"):
        key = (row["event_id"], row["sample"])
        event = asked.loc[row["event_id"]]
        seen = "\n\n".join(
            text for text in shown.get(key, "").split("\n\n") if OWN_PAGE not in text
        )
        own = [said.get(key), row.get("rationale")] if event["kind"] != "date" else []
        texts = [seen, *(text for text in own if isinstance(text, str))]
        last = stamp_moment(row["as_of"])  # which follows its day, and stands before the next
        question = f"{event['prompt']}\n{event['options']}"
        named = list_days(question)
        signs = {
            "page": [day for day in DATED.findall(seen) if day >= last],
            "value": find_value(truth.get(row["event_id"]), seen, question),
            "date": sorted(
                {day for text in texts for day in list_days(text) if day > last} - named
            ),
        }
        rows += [
            dict(zip(KEY, key, strict=True)) | {"sign": sign, "found": str(found[0])}
            for sign, found in signs.items()
            if found
        ]
    return pd.DataFrame(rows, columns=[*KEY, "sign", "found"])


def list_days(text):
    """Return the days that a text names with their year, as YYYY-MM-DD.

    >>> sorted(list_days("On 9 October 2016, later than on 3 May or in 2015"))
    ['2016-10-09']
    """
    return {
        f"{one.year}-{one.month:02}-{one.day:02}"
        for one in find_dates(text)
        if one.year and one.day
    }


def find_value(cell, seen, question):
    """Return [the outcome] where it is a number of `N_DIGITS` digits and stands in what was seen,
    else [].

    >>> find_value("1523.4", "closed at 1,523.40 points", "Where will it close?"), find_value("12", "12", "")
    ([1523.4], [])
    """
    value = parse_json(cell) if isinstance(cell, str) else cell
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return []
    if len(f"{abs(value):.12g}".replace(".", "").strip("0")) < N_DIGITS:
        return []
    seen, given = (
        {float(one.replace(",", "")) for one in NUMBER.findall(text)} for text in (seen, question)
    )
    return [value] if abs(value) in seen - given else []


def list_released(events, date):
    """Return the ids of events that are resolved `GATE_DAYS` or more after a model's release (a
    date), as a set.

    >>> ends = ["2026-03-10T00:00:00+08:00", "2026-03-12T00:00:00+08:00"]
    >>> list_released(pd.DataFrame({"event_id": ["a", "b"], "resolves_at": ends}), "2026-03-01")
    {'b'}
    """
    first = pd.Timestamp(date, tz=ZONE) + pd.Timedelta(days=GATE_DAYS)
    return set(events.loc[pd.to_datetime(events["resolves_at"], utc=True) >= first, "event_id"])
