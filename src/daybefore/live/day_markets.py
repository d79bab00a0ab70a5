"""Prediction markets as a source of a day's questions (FutureX 3.2.1): several options,
distractors, fewer yes/no.

Asked are a venue's open questions that close within the week. Yes/no questions are drawn at the
paper's rate (36 of 193, Figure 3) and get no further options. Markets of one event of Polymarket,
each on one name, are one question with these names as options; to questions of several options, or
of two names, a model adds unrelated wrong ones.
"""

from contextlib import suppress
from typing import Any

import pandas as pd

from daybefore.formats.futurex_questions import name_letters, word_prompt
from daybefore.formats.market_questions import list_markets
from daybefore.live.market_venues import fetch_one, read_pages
from daybefore.live.week_questions import build_posed
from daybefore.models.grammars import make_schema
from daybefore.prompts import read_prompt, split_question
from daybefore.questions.collect_events import N_DISTRACTORS, make_screening
from daybefore.questions.drop_events import draw_kept
from daybefore.questions.fill_templates import HORIZON_DAYS, seed_by_name
from daybefore.replies.read_options import make_key
from daybefore.web.guest import Guest
from helpers.clock import stamp_moment
from helpers.files import dump_json, parse_json
from helpers.papers import get_constant

N_PAGES = 3
"""Pages of a venue's list that are read, of a hundred questions each."""
MAX_OPTIONS = 20
EXTRA = make_schema(
    options={
        "type": "array",
        "items": {"type": "string", "maxLength": 120},
        "maxItems": N_DISTRACTORS,
    }
)


def pose_markets(
    venue: str, now: pd.Timestamp, window: str, distract: Any = None
) -> tuple[pd.DataFrame, list]:
    """Return (events, screenings of what is left out) of a venue's questions that close within the
    week, asked as of `now`.

    `distract` is a judge (`models.judges`) that invents further options; without it none are added.
    Raises ValueError that names the venue where it does not answer, or its form has changed.
    """
    pages = read_pages(venue, Guest(now), N_PAGES)
    listed = [row for page in pages for row in page if isinstance(row, dict)]
    last = now + pd.Timedelta(days=HORIZON_DAYS)
    asked = [*gather_groups(listed), *gather_single(listed, venue)]
    asked = sorted((one for one in asked if now < one["end"] <= last), key=lambda one: one["key"])
    binary = [one for one in asked if is_yes_no(one)]
    rng = seed_by_name(now.toordinal(), venue)
    kept = draw_kept(len(binary), get_constant("futurex", "keep_binary"), rng)
    dropped = [one["key"] for one, is_kept in zip(binary, kept, strict=True) if not is_kept]
    prefix = f"{window}-{now:%m%d}-market-{venue}-"
    rows, markets = [], []
    for one in asked:
        if one["key"] not in dropped:
            rows.append(write_row(one, prefix + one["key"], venue, now, distract))
            markets.append({"venue": venue, "ids": one["ids"], "names": one["names"]})
    events = build_posed(rows, venue, now, window).assign(site_type="prediction_market")
    about = [
        dump_json(parse_json(cell) | told)
        for cell, told in zip(events["metadata"], markets, strict=True)
    ]
    told = [make_screening(prefix + key, "binary", "yes/no, downsampled") for key in dropped]
    return events.assign(metadata=about), told


def gather_groups(rows: list) -> list[dict]:
    """Return the questions of several options that Polymarket's list holds as a market a name, of
    one event."""
    groups = {}
    for row in rows:
        about = row.get("events")
        if is_of_group(row) and about and about[0].get("title"):
            groups.setdefault(str(about[0].get("id")), []).append(row)
    found = []
    for key, members in groups.items():
        names = [" ".join(str(row["groupItemTitle"]).split()) for row in members]
        if 3 <= len({make_key(name) for name in names}) == len(names) <= MAX_OPTIONS:
            end = str(members[0].get("endDate"))
            found.append(
                {
                    "key": f"event-{key}",
                    "question": " ".join(str(members[0]["events"][0]["title"]).split()),
                    "names": names,
                    "ids": [str(row["conditionId"]) for row in members],
                    "rules": str(members[0].get("description") or ""),
                    "end": pd.to_datetime(end, utc=True, errors="coerce"),
                    "cluster": f"polymarket-event-{key}",
                }
            )
    return found


def is_of_group(row: dict) -> bool:
    """Say whether a market is on one name of several."""
    return bool(row.get("negRisk") and row.get("groupItemTitle"))


def gather_single(rows: list, venue: str) -> list[dict]:
    """Return the open questions that are a market each; those of a group (`gather_groups`) are left
    to it."""
    found = []
    for market in list_markets([row for row in rows if not is_of_group(row)], venue)[0]:
        if market.answer is None:
            event = market.event
            key = event["event_id"].removeprefix(f"{venue}-")
            found.append(
                {
                    "key": key,
                    "question": split_question(event),
                    "names": list(parse_json(event["options"]).values()),
                    "ids": [key],
                    "rules": event["resolution_criteria"] or "",
                    "end": pd.Timestamp(event["resolves_at"]),
                    "cluster": event["cluster_id"],
                }
            )
    return found


def is_yes_no(one: dict) -> bool:
    """Say whether a question's options are yes and no."""
    return {name.casefold() for name in one["names"]} == {"yes", "no"}


def write_row(one: dict, key: str, venue: str, now: pd.Timestamp, distract: Any) -> dict:
    """Return a question as a row of a file of questions (`live.week_questions`), with options that a
    model adds."""
    names = list(one["names"])
    if distract and not is_yes_no(one):
        names += invent_options(distract, one)
        order = seed_by_name(now.toordinal(), key).permutation(len(names))
        names = [names[at] for at in order]
    options = dict(zip(name_letters(len(names)), names, strict=True))
    row = {
        "id": key,
        "prompt": word_prompt(one["question"], options),
        "kind": "single",
        "options": options,
        "venue": venue,
        "cluster": one["cluster"],
        "end_time": stamp_moment(one["end"]),
    }
    return row | ({"criteria": one["rules"]} if one["rules"] else {})


def invent_options(distract: Any, one: dict) -> list[str]:
    """Return unrelated wrong options that a model invents, without those that read like one there
    is."""
    lines = "\n".join(f"- {name}" for name in one["names"])
    blanks = {"question": one["question"], "options": lines, "n": N_DISTRACTORS}
    verdict = distract(read_prompt("market_distractors").format(**blanks), EXTRA)
    known, made = {make_key(name) for name in one["names"]}, []
    for text in verdict.value["options"] if verdict.value else ():
        text = " ".join(text.split())
        if text and make_key(text) not in known:
            known.add(make_key(text))
            made.append(text)
    return made


def settle_markets(events: pd.DataFrame, now: pd.Timestamp) -> dict[str, tuple]:
    """Return {event_id: (answer, venue)} of a day's market questions that are settled.

    A question of a group is settled by the market that ended with yes, once there is one.
    """
    guest, found = Guest(now), {}
    for event in events.to_dict("records"):
        about = parse_json(event["metadata"])
        letters = {text: letter for letter, text in parse_json(event["options"]).items()}
        right = None
        with suppress(ValueError):  # the venue does not answer now; a later call asks again
            for key, name in zip(about["ids"], about["names"], strict=False):
                market = fetch_one(about["venue"], key, guest)
                if market.answer is None:
                    continue
                won = parse_json(market.event["options"])[parse_json(market.answer["value"])]
                if len(about["ids"]) == 1:
                    right = letters.get(won)
                elif won.casefold() == "yes":
                    right = letters.get(name)
        if right is not None:
            found[event["event_id"]] = (right, about["venue"])
    return found
