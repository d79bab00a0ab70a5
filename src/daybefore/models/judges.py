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
from typing import NamedTuple

import jsonschema

from daybefore.models.attachments import find_kind, refer
from daybefore.models.failures import LlmError
from daybefore.models.grammars import demand_json
from daybefore.models.llm import ask

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

    def ask_without(messages, options, repeat):
        """Ask, again without each option that is refused."""
        while True:
            given = {name: value for name, value in options.items() if name not in dropped}
            if "max_tokens" in dropped and "max_tokens" in options:
                given["max_completion_tokens"] = options["max_tokens"]
            try:
                return ask(door, model, messages, sample=repeat, reduce=reduce, **given)
            except LlmError as error:
                name = find_refused(error, given)
                if name is None:
                    raise
                dropped.add(name)
                print(
                    f"{model} refuses {name}; it is asked without: {error.reason}", file=sys.stderr
                )

    def consult(
        prompt, schema, repeat=0, is_continued=False, attachments=(), max_tokens=MAX_TOKENS
    ):
        if lacks := sorted({find_kind(path) for path in attachments} - set(door.takes)):
            return Verdict("lacking", reason=f"the model takes no {' and no '.join(lacks)}")
        try:
            content = (
                [{"type": "text", "text": prompt}, *refer(door, attachments)]
                if attachments
                else prompt
            )
        except OSError:
            return Verdict(
                "lacking",
                reason=f"cannot be read: one of {', '.join(path.name for path in attachments)}",
            )
        messages = [{"role": "user", "content": content}]
        options = demand_json("verdict", schema) | {"max_tokens": max_tokens}
        options |= {"temperature": WARMTH, "seed": repeat} if repeat else {"temperature": 0}
        options |= {"extra_body": {"cache_prompt": is_continued}} if is_local else {}
        options |= own or {}
        try:
            row = ask_without(messages, options, repeat)
        except LookupError as error:
            return Verdict("missing", reason=str(error))
        except LlmError as error:
            return Verdict(
                error.status,
                reason=error.reason,
                seconds=(error.recording or {}).get("duration_s") or 0.0,
            )
        seconds = row.get("duration_s") or 0.0
        text = row["content"] or ""
        fenced = FENCED.findall(text)
        try:
            value = json.loads(fenced[-1] if fenced else text)
            if error := jsonschema.exceptions.best_match(
                jsonschema.Draft202012Validator(schema).iter_errors(value)
            ):
                raise error  # `jsonschema.validate` would check the schema each time, too
        except (ValueError, jsonschema.ValidationError) as error:
            reason = str(error).splitlines()[0][:200]
            return Verdict("unparsable", reason=reason, seconds=seconds, text=text)
        return Verdict("ok", value, seconds=seconds)

    return consult


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
