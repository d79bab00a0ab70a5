"""What a model reads off a page: an answer counts only if its quote stands there, and holds the
number.

A page is data: what it says reaches the reader inside a prompt, and of the reader's reply only what
stands on the page counts.
"""

import re

from daybefore.models.grammars import make_schema
from daybefore.prompts import read_prompt
from daybefore.replies.parse_reply import parse_prediction
from daybefore.web.fetched_pages import GatewayError, decode_body
from daybefore.web.parse_markup import read_number
from helpers.files import parse_json

READ = "read by a model"
"""The method of an answer that a model read."""
MAX_SHOWN, MARGIN = 12_000, 400
"""Characters of a page that a reader sees; those kept on each side of where the question's words
stand."""
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
READING = make_schema(answer={"type": "string"}, quote={"type": "string"})
FORMS = {
    "single": "the letter of the right option",
    "multi": "the letters of all right options, with commas",
    "number": "a number in the question's unit",
    "ranking": "the names in order, with commas",
    "text": "the name or words asked for",
}


def fetch_text(guest, url):
    """Return a page's text. Raises GatewayError."""
    status, headers, body = guest.get(url)
    if status != 200:
        raise GatewayError("down", f"{url}: the site answered {status}")
    return decode_body(body, headers.get("content-type", ""))


def read_answer(consult, event, text, fetched_at, repeat=0):
    """Return the value that one reading gives, as `parse_prediction` has it; None for none, and one
    not on the page."""
    terms, options = parse_json(event["variables"]), parse_json(event["options"]) or None
    words = [
        str(word)
        for word in (terms.get("entity"), terms.get("date"), *(terms.get("reference") or {}))
        if word
    ]
    asked = {"question": event["prompt"], "form": FORMS[event["kind"]], "fetched_at": fetched_at}
    verdict = consult(
        read_prompt("read_answer").format(page=cut_page(text, words), **asked), READING, repeat
    )
    if verdict.value is None or not verdict.value["quote"].strip():
        return None
    if " ".join(verdict.value["quote"].split()) not in " ".join(text.split()):
        return None
    value = parse_prediction(
        f"\\boxed{{{verdict.value['answer']}}}", event["kind"], options, event["unit"]
    )
    if event["kind"] == "number" and value not in map(
        read_number, NUMBER.findall(verdict.value["quote"])
    ):
        return None
    return value


def read_twice(consult, event, text, fetched_at):
    """Return the value on which two readings (`read_answer`) agree, else None."""
    first, second = (
        read_answer(consult, event, text, fetched_at, repeat=repeat) for repeat in (0, 1)
    )
    return first if first == second else None


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
