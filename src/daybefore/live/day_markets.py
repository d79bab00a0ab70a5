"""Prediction markets as a source of a day's questions (FutureX 3.2.1): several options,
distractors, fewer yes/no.

Asked are a venue's open questions that close within the week. Yes/no questions are drawn at the
paper's rate (36 of 193, Figure 3) and get no further options. Markets of one event of Polymarket,
each on one name, are one question with these names as options; to questions of several options, or
of two names, a model adds unrelated wrong ones.
"""

from typing import Any

import pandas as pd

from daybefore.agents.prompts import split_question
from daybefore.formats.futurex import name_letters, word_prompt
from daybefore.formats.markets import list_markets
from daybefore.live.venues import fetch_one, fetch_page, first_place
from daybefore.models.grammars import make_schema
from daybefore.prompts import read_prompt
from daybefore.questions.collect import CARRY_DAYS, N_DISTRACTORS, make_screening
from daybefore.questions.filters import draw_kept
from daybefore.questions.levels import assign_level
from daybefore.questions.pose import HORIZON_DAYS, seed_by_name
from daybefore.replies.options import make_key
from daybefore.web.guest import Guest
from helpers.calendar import stamp_moment
from helpers.files import dump_json, parse_json
from helpers.papers import get_constant
from helpers.tables import check_table

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
    """Return (events, screenings) of a venue's questions that close within the week, asked as of
    `now`.

    `distract` is a judge (`models.judges`) that invents further options; without it none are added.
    Raises ValueError that names the venue where it does not answer, or its form has changed.
    """
    guest, rows, at = Guest(now), [], first_place(venue)
    for _ in range(N_PAGES):
        page, at = fetch_page(venue, at, guest)
        rows += page if isinstance(page, list) else []
        if at is None or not at:
            break
    asked = [
        one
        for one in [*gather_groups(rows), *gather_single(rows, venue)]
        if is_due(one["end"], now)
    ]
    binary = sorted((one for one in asked if is_yes_no(one)), key=lambda one: one["key"])
    rng = seed_by_name(now.toordinal(), venue)
    kept = draw_kept(len(binary), get_constant("futurex", "keep_binary"), rng)
    screenings, chosen = [], [one for one in asked if not is_yes_no(one)]
    for one, is_kept in zip(binary, kept, strict=True):
        if is_kept:
            chosen.append(one)
        else:
            screenings.append(
                make_screening(
                    name_question(window, now, venue, one), "binary", "yes/no, downsampled"
                )
            )
    events = [
        write_event(window, now, venue, one, distract)
        for one in sorted(chosen, key=lambda one: one["key"])
    ]
    screenings += [
        make_screening(event["event_id"], "none", "", is_dropped=False) for event in events
    ]
    return check_table(
        "events", pd.DataFrame(events, columns=None if events else ["event_id"])
    ), screenings


def gather_groups(rows: list) -> list[dict]:
    """Return the questions of several options that Polymarket's list holds as a market a name, of
    one event."""
    groups = {}
    for row in rows:
        about = row.get("events") if isinstance(row, dict) else None
        if row.get("negRisk") and row.get("groupItemTitle") and about and about[0].get("title"):
            groups.setdefault(str(about[0].get("id")), []).append(row)
    found = []
    for key, members in groups.items():
        names = [" ".join(str(row["groupItemTitle"]).split()) for row in members]
        if not 3 <= len({make_key(name) for name in names}) == len(names) <= MAX_OPTIONS:
            continue
        title = " ".join(str(members[0]["events"][0]["title"]).split())
        ids = [str(row["conditionId"]) for row in members]
        rules = str(members[0].get("description") or "")
        facts = {
            "key": f"event-{key}",
            "question": title,
            "names": names,
            "ids": ids,
            "rules": rules,
        }
        found.append(
            facts | {"end": members[0].get("endDate"), "cluster": f"polymarket-event-{key}"}
        )
    return found


def gather_single(rows: list, venue: str) -> list[dict]:
    """Return the questions that are a market each; those of a group (`gather_groups`) are left to
    it."""
    alone = [
        row
        for row in rows
        if not (isinstance(row, dict) and row.get("negRisk") and row.get("groupItemTitle"))
    ]
    found = []
    for one in list_markets(alone, venue)[0]:
        if one.answer is None:
            event = one.event
            key = event["event_id"].removeprefix(f"{venue}-")
            facts = {
                "key": key,
                "question": split_question(event),
                "names": list(parse_json(event["options"]).values()),
            }
            facts |= {
                "ids": [key],
                "rules": event["resolution_criteria"] or "",
                "end": event["resolves_at"],
            }
            found.append(facts | {"cluster": event["cluster_id"]})
    return found


def is_yes_no(one: dict) -> bool:
    """Say whether a question's options are yes and no."""
    return {name.casefold() for name in one["names"]} == {"yes", "no"}


def is_due(end: Any, now: pd.Timestamp) -> bool:
    """Say whether a question closes within the week from `now`."""
    try:
        end = pd.Timestamp(end)
        end = end.tz_localize("UTC") if end.tzinfo is None else end
        return now < end <= now + pd.Timedelta(days=HORIZON_DAYS)
    except (ValueError, TypeError):
        return False


def name_question(window: str, now: pd.Timestamp, venue: str, one: dict) -> str:
    """Return a question's event_id."""
    return f"{window}-{now:%m%d}-market-{venue}-{one['key']}"


def write_event(window: str, now: pd.Timestamp, venue: str, one: dict, distract: Any) -> dict:
    """Return a question as a row of the events table; its metadata has the venue's ids and their
    names."""
    names, event_id = list(one["names"]), name_question(window, now, venue, one)
    if distract and not is_yes_no(one):
        names += invent_options(distract, one)
        names = [
            names[at] for at in seed_by_name(now.toordinal(), event_id).permutation(len(names))
        ]
    options = dict(zip(name_letters(len(names)), names, strict=True))
    end = pd.Timestamp(one["end"])
    end = end.tz_localize("UTC") if end.tzinfo is None else end
    about = {"venue": venue, "ids": one["ids"], "names": one["names"]}
    return {
        "event_id": event_id,
        "paper": "futurex",
        "window": window,
        "cluster_id": one["cluster"],
        "source_id": venue,
        "site_type": "prediction_market",
        "prompt": word_prompt(one["question"], options),
        "kind": "single",
        "options": dump_json(options),
        "variables": "{}",
        "as_of": stamp_moment(now),
        "resolves_at": stamp_moment(end),
        "answer_due_at": stamp_moment(end + pd.Timedelta(days=CARRY_DAYS)),
        "level": assign_level("single", len(options), ""),
        "resolution_criteria": one["rules"],
        "provenance": venue,
        "is_synthetic": False,
        "metadata": dump_json(about),
    }


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


def settle_markets(events: pd.DataFrame, now: pd.Timestamp) -> pd.DataFrame:
    """Return the answers (rows of the answers table) of a day's market questions, those still open
    as not published.

    A question of a group is settled by the market that ended with yes, once there is one.
    """
    guest, rows, stamp = Guest(now), [], stamp_moment(now)
    for event in events.to_dict("records"):
        about, right = parse_json(event["metadata"]), None
        letters = {text: letter for letter, text in parse_json(event["options"]).items()}
        try:
            for key, name in zip(about["ids"], about["names"], strict=False):
                market = fetch_one(about["venue"], key, guest)[1]
                if market.answer is None:
                    continue
                said = parse_json(market.event["options"])[parse_json(market.answer["value"])]
                if len(about["ids"]) == 1:
                    right = letters.get(said)
                elif said.casefold() == "yes":
                    right = letters.get(name)
        except ValueError:  # the venue does not answer now; a later call asks again
            right = None
        status = "not_published" if right is None else "ok"
        value = None if right is None else dump_json(right)
        rows.append((event["event_id"], value, status, stamp, about["venue"]))
    return pd.DataFrame(rows, columns=["event_id", "value", "status", "acquired_at", "method"])
