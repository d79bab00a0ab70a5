"""Judges: a language model that replies with one JSON object of a known form, each reply recorded
like an agent's.

Judges of plans and reasons, screens of sources and questions, writers of pages all are one: a
function `consult(prompt, schema, repeat=0)` that studies take as an argument
(`agents.registry.open_consult`).
"""

import json
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jsonschema

from daybefore.models.attachments import find_kind, refer
from daybefore.models.client import ask
from daybefore.models.failures import LlmError
from daybefore.models.grammars import demand_json

MAX_TOKENS, LONG, WARMTH = 400, 1500, 0.7
"""Longest reply, in tokens, and that of one who writes; the temperature of repeated judgements
(repeat > 0); the first is drawn at 0."""

FENCED = re.compile(r"```(?:json)?\s*(\{.*?\})\s*```", re.DOTALL)
"""How a server that holds no reply to a form lets a model write an object."""


class Verdict(NamedTuple):
    """A judge's reply: `value` is its JSON object, None unless `status` is "ok"; `reason` says why
    there is none.

    Other states: missing (not recorded), lacking (the model takes no such file), unparsable, and
    those of a failed request (error, timeout, refusal, ...). `seconds` are those of the one time
    that it was asked. `text` are the words of an unparsable reply.
    """

    status: str
    value: dict | None = None
    reason: str | None = None
    seconds: float = 0.0
    text: str | None = None


def build_consult(door, model, is_local, own=None, reduce=None) -> Callable[..., Verdict]:
    """Return a judge on a door: `consult(prompt, schema, repeat=0, is_continued=False,
    attachments=(), max_tokens)`.

    `own`: an agent's options, which go before the judge's (temperature 0, MAX_TOKENS). An option
    that the model refuses is left out from then on, which is printed once. `is_continued`: a local
    model's prompt cache may serve what it shares with the one before; `attachments`: paths of
    pictures and sound that go with it; `reduce` as in `ask`.
    """

    dropped = set()

    def consult(
        prompt, schema, repeat=0, is_continued=False, attachments=(), max_tokens=MAX_TOKENS
    ):
        if lacks := sorted({find_kind(path) for path in attachments} - set(door.takes)):
            return Verdict("lacking", reason=f"the model takes no {' and no '.join(lacks)}")
        try:
            parts = refer(door, attachments)
        except OSError:
            names = ", ".join(path.name for path in attachments)
            return Verdict("lacking", reason=f"cannot be read: one of {names}")
        content = [{"type": "text", "text": prompt}, *parts] if parts else prompt
        messages = [{"role": "user", "content": content}]
        options = demand_json("verdict", schema) | {"max_tokens": max_tokens}
        options |= {"temperature": WARMTH, "seed": repeat} if repeat else {"temperature": 0}
        options |= {"extra_body": {"cache_prompt": is_continued}} if is_local else {}
        options |= own or {}
        send = partial(ask, door, model, messages, sample=repeat, reduce=reduce)
        try:
            return read_verdict(ask_without(dropped, model, send, options), schema)
        except LookupError as error:
            return Verdict("missing", reason=str(error))
        except LlmError as error:
            seconds = (error.recording or {}).get("duration_s") or 0.0
            return Verdict(error.status, reason=error.reason, seconds=seconds)

    return consult


def ask_without(dropped, model, send, options):
    """Return what `send(**options)` gives, asked again without each option that is refused, which
    `dropped` gains."""
    while True:
        given = {name: value for name, value in options.items() if name not in dropped}
        if "max_tokens" in dropped and "max_tokens" in options:
            given["max_completion_tokens"] = options["max_tokens"]
        try:
            return send(**given)
        except LlmError as error:
            name = find_refused(error, given)
            if name is None:
                raise
            dropped.add(name)
            told = f"{model} refuses {name}; it is asked without: {error.reason}"
            print(told, file=sys.stderr)


def read_verdict(row, schema):
    """Return the Verdict that a recording holds: its JSON object, or why that does not fit a
    schema."""
    seconds = row.get("duration_s") or 0.0
    text = row["content"] or ""
    problem = None
    value = None
    try:
        value = parse_reply(text)
        errors = jsonschema.Draft202012Validator(schema).iter_errors(value)
        problem = jsonschema.exceptions.best_match(errors)
    except ValueError as error:
        problem = error
    if problem:
        reason = str(problem).splitlines()[0][:200]
        return Verdict("unparsable", reason=reason, seconds=seconds, text=text)
    return Verdict("ok", value, seconds=seconds)


def parse_reply(text):
    """Return the JSON that a reply is, else that of its last code fence. Raises ValueError for
    none."""
    try:
        return json.loads(text)
    except ValueError:
        fenced = FENCED.findall(text)
        if not fenced:
            raise
        return json.loads(fenced[-1])


REFUSABLE = ("temperature", "seed", "response_format", "max_tokens", "top_p")
"""Options of a judge that a model may refuse, and without which it can still judge."""


def find_refused(error: LlmError, options: dict) -> str | None:
    """Return the option that a failed request was refused for, None where it failed otherwise."""
    is_refusal = error.status == "unsupported" or re.search(r"\b(400|422)\b", error.reason)
    if error.status not in ("error", "unsupported") or not is_refusal:
        return None
    named = [
        name for name in REFUSABLE if name in options and re.search(rf"\b{name}\b", error.reason)
    ]
    return named[0] if named else None


def anonymise(text, names):
    """Return a text with planners' names replaced by model-i, `i` the position in `names` (a list
    of lists of names).

    Longer names go first, whatever their case; a name inside a longer word stays (FutureX 4.5.2).

    >>> anonymise("Qwen2.5 asks GPT-4.1, not gpt-4.1-mini", [["GPT-4.1-mini"], ["gpt-4.1"], ["Qwen2.5", "qwen"]])
    'model-3 asks model-2, not model-1'
    """
    label = {
        name.lower(): f"model-{at}" for at, group in enumerate(names, 1) for name in group if name
    }
    if not label:
        return text
    longest = sorted(label, key=lambda name: (-len(name), name))
    pattern = r"(?<![\w-])(?:" + "|".join(map(re.escape, longest)) + r")(?![\w-])"
    return re.sub(pattern, lambda found: label[found.group().lower()], text, flags=re.IGNORECASE)
