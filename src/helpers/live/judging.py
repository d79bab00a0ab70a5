"""What models judge of a day's benchmark: a panel screens its questions, and a reader finds answers that no rule read.

Both take judges as `models.judges.build_consult` makes them. A page is data: what it says reaches the reader inside a
prompt, and of the reader's reply only what stands on the page counts.
"""

import gzip
import json
import re
from contextlib import closing

import pandas as pd

from helpers.calendar import stamp_moment
from helpers.events.filters import screen_event
from helpers.futurex.curation import build_judge
from helpers.live.captures import open_captures
from helpers.live.records import list_addresses
from helpers.models.grammars import make_schema
from helpers.papers import get_constant
from helpers.prompts import read_prompt
from helpers.replies.parse import parse_prediction
from helpers.store import dump_json, parse_json
from helpers.web.markup import read_number
from helpers.web.pages import decode_body

READ = "read by a model"
"""The method of an answer that a model read."""
MAX_SHOWN, MARGIN = 12_000, 400
"""Characters of a page that a reader sees; those kept on each side of where the question's words stand."""
RULES = {"harmful": get_constant("futurex", "harmful_rule"), "subjective": get_constant("futurex", "subjective_rule")}
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
READING = make_schema(answer={"type": "string"}, quote={"type": "string"})
FORMS = {"single": "the letter of the right option", "multi": "the letters of all right options, with commas",
         "number": "a number in the question's unit", "ranking": "the names in order, with commas"}  # fmt: skip


def screen_by_panel(events, screenings, panel):
    """Return (events, screenings) without the questions that a panel flags as harmful or subjective (FutureX 3.2.2).

    `panel` maps judges' names to `consult`; the papers' rules combine them. A judge without a verdict flags nothing.
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
    """Return (events, screenings) without some events, whose screening `rows` stand in the place of their others."""
    gone = {row["event_id"] for row in rows}
    kept = screenings[~screenings["event_id"].isin(gone)]
    screenings = pd.concat([kept, pd.DataFrame(rows)], ignore_index=True)
    return events[~events["event_id"].isin(gone)].reset_index(drop=True), screenings


def read_missing(consult, sources, events, path, now):
    """Return answers (rows of the answers table) that a model finds on captured pages, where two reads agree.

    `events` are due and have no answer; `sources` are theirs, `path` is the file of captures. The page is the newest
    that the source has of the event's entity, fetched after the question ended. What was quoted must stand on it.
    """
    rows = []
    with closing(open_captures(path)) as store:
        for event in events.to_dict("records"):
            found = find_page(store, sources[event["source_id"]], event, now)
            if found is None:
                continue
            reads = [read_answer(consult, event, *found, repeat=repeat) for repeat in (0, 1)]
            if reads[0] is not None and reads[0] == reads[1]:
                value = {"event_id": event["event_id"], "value": dump_json(reads[0]), "status": "ok"}
                rows.append(value | {"acquired_at": stamp_moment(pd.Timestamp(now)), "method": READ})
    return pd.DataFrame(rows, columns=["event_id", "value", "status", "acquired_at", "method"])


def find_page(store, source, event, now):
    """Return (text, moment) of the newest page of an event's source that was fetched since it ended, or None.

    Of a source with a page an entity it is that of the event's entity; for several entities there is none.
    """
    query = """select url, fetched_at, headers, body from captures join bodies using (sha256)
        where source_id = ? and fetched_at >= ? and fetched_at <= ? order by fetched_at desc"""  # all stamps of UTC+8
    entity, given = (
        parse_json(event["variables"]).get("entity"),
        (event["resolves_at"], stamp_moment(pd.Timestamp(now))),
    )
    for url, at, headers, body in store.execute(query, (source.id, *given)):
        whose = {address: one for one, address in list_addresses(source, pd.Timestamp(at).tz_convert("UTC").date())}
        if whose.get(url) in ("", entity):
            return decode_body(gzip.decompress(body), json.loads(headers).get("content-type", "")), at
    return None


def read_answer(consult, event, text, fetched_at, repeat=0):
    """Return the value that one reading gives, as `parse_prediction` has it; None for none, and one not on the page."""
    terms, options = parse_json(event["variables"]), parse_json(event["options"]) or None
    words = [str(word) for word in (terms.get("entity"), terms.get("date"), *(terms.get("reference") or {})) if word]
    asked = {"question": event["prompt"], "form": FORMS[event["kind"]], "fetched_at": fetched_at}
    verdict = consult(read_prompt("read_answer").format(page=cut_page(text, words), **asked), READING, repeat)
    if verdict.value is None or not verdict.value["quote"].strip():
        return None
    if " ".join(verdict.value["quote"].split()) not in " ".join(text.split()):
        return None
    value = parse_prediction(f"\\boxed{{{verdict.value['answer']}}}", event["kind"], options, event["unit"])
    if event["kind"] == "number" and value not in map(read_number, NUMBER.findall(verdict.value["quote"])):
        return None
    return value


def cut_page(text, words, most=MAX_SHOWN, margin=MARGIN):
    """Return a page, of a long one the pieces around some words, else its beginning.

    >>> cut_page("a" * 50 + "Oslo" + "b" * 50, ["Oslo"], most=40, margin=5)
    'aaaaaOslobbbbb'
    """
    if len(text) <= most:
        return text
    ends, pieces = 0, []
    for match in re.finditer("|".join(map(re.escape, words)) or r"(?!)", text):
        start, stop = max(match.start() - margin, ends), min(match.end() + margin, len(text))
        if stop > start and sum(map(len, pieces)) < most:
            pieces.append(text[start:stop])
            ends = stop
    return "\n...\n".join(pieces)[:most] or text[:most]
