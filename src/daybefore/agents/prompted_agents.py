"""What agents that ask a language model share: the client, the transcript of one question, and the
plainest of them.

A forecast here is `(client, event, world) -> outcome` in the form `run_loop.run_agents` stores.
Whatever goes wrong with a request ends as a missing prediction with its reason (FutureX 3.4.2,
4.1), never as a guess.
"""

import math
import time
from functools import partial
from typing import NamedTuple

from daybefore.agents.baselines import read_history
from daybefore.models.client import Door, ask, is_final
from daybefore.models.costs import USAGE
from daybefore.models.failures import LlmError, fail
from daybefore.models.grammars import build_grammar, demand_json
from daybefore.models.judges import build_consult
from daybefore.models.local_server import SEED
from daybefore.prompts import count_places, fill_prompt, find_stated
from daybefore.replies import PARSER_VERSION
from daybefore.replies.parse_reply import parse_prediction
from daybefore.replies.read_probabilities import read_stated, weigh_reply
from daybefore.web.extract_values import ExtractionError
from daybefore.web.fetched_pages import GatewayError
from helpers.files import dump_json, parse_json, parse_object
from helpers.set_names import PUBLIC_WINDOWS

N_TOP, MAX_ANSWER = 8, 200
"""Of a local model's final answer: alternatives kept a token, and tokens at most (twice with
probabilities)."""

CUT = ("length", "max_tokens")
"""How servers say that a reply ended at its limit of tokens."""

LIMITS = ("max_lookups", "max_steps", "max_seconds", "max_tokens")
"""What an agent's entry may bound: look-ups and steps of its method, seconds a question, tokens a
reply."""


class Client(NamedTuple):
    """A model as an agent uses it: the door to it and its name there.

    With `is_local` answers are held to a grammar and the prompt cache is switched request by
    request. `limits` are the entry's own of `LIMITS`; a method has a default for those that it
    counts. `probabilities`: asked for in words.
    """

    door: Door
    model: str
    is_local: bool = False
    options: dict = {}
    limits: dict = {}
    probabilities: bool = False


class Transcript:
    """The steps of one agent on one event, in the columns of the traces table, and what they cost.

    Each `sample`, a repeat of an event, has requests of its own.
    """

    def __init__(self, client, sample=0):
        self.client = client
        self.sample = sample
        self.steps = []
        self.finish_reason = None
        seconds = min(client.door.deadline_s, client.limits.get("max_seconds", math.inf))
        self.deadline_at = time.monotonic() + seconds
        self.usage = dict.fromkeys(USAGE)

    def add(self, step_type, **columns):
        """Add a step."""
        self.steps.append({"step_type": step_type} | columns)

    def open(self, prompt):
        """Add the first prompt as a step; returns the conversation that it begins."""
        self.add("prompt", content=prompt)
        return [{"role": "user", "content": prompt}]

    def ask(self, messages, *, actor=None, grammar=None, event=None, reduce=None, **options):
        """Return the recording of a request, added as a step; see `daybefore.models.client.ask` for
        what it raises.

        `event` is given where the reply is to be its answer: of one to a public question, or whose
        event says so (`keeps`), only values are kept, by `reduce` (default `keep_values`). A
        `grammar` counts for local models only. Repeats of these differ by chance alone: above
        temperature 0, which is the default and draws nothing, each sample has a seed. The prompt
        cache may serve the turns before, where there are any.
        """
        own = self.client.options
        if self.client.is_local:
            body = {"cache_prompt": any(message["role"] == "assistant" for message in messages)}
            body |= {"grammar": grammar} if grammar else {}
            heat = own.get("temperature", 0)
            seed = {"seed": own.get("seed", SEED) + self.sample} if heat else {}
            options = {"temperature": heat} | seed | {"extra_body": body} | options
        given = limit_reply(own | options, self.client.limits)
        if event and (event.get("window") in PUBLIC_WINDOWS or event.get("keeps") == "values"):
            given["reduce"] = partial(reduce or keep_values, event)
        about = {"sample": self.sample, "deadline_at": self.deadline_at}
        return self.keep(
            ask(self.client.door, self.client.model, messages, **about, **given), actor
        )

    def keep(self, reply, actor=None):
        """Add a request's recording as a step and count what it cost; returns it.

        Before it stand the searches that the provider made by itself, a step each though its words
        be untold, and a step that names the pages it cites, a line each: address and title.
        """
        self.count(reply)
        queries = [{"query": query} for query in reply.get("queries") or []]
        for arguments in queries + [None] * ((reply.get("n_searches") or 0) - len(queries)):
            self.add("tool", actor="provider", tool="search", arguments=arguments)
        if reply.get("citations"):
            self.add("tool", actor="provider", tool="cite", content="\n".join(reply["citations"]))
        told = ("n_input_tokens", "n_output_tokens", "n_think_tokens", "cost_usd", "duration_s")
        used = {name: reply.get(name) for name in told}
        used["n_context_tokens"] = (used["n_input_tokens"] or 0) + (used["n_output_tokens"] or 0)
        calls = [call["function"] for call in reply.get("tool_calls") or []]
        said = (
            reply["content"]
            or "; ".join(f"{call['name']}({call['arguments']})" for call in calls)
            or None
        )
        self.add("model", actor=actor, content=said, **used)
        return reply

    def count(self, recording):
        """Count what a request cost, its reply used or not."""
        for name in USAGE:
            if recording.get(name) is not None:
                self.usage[name] = (self.usage[name] or 0) + recording[name]
        self.finish_reason = recording.get("finish_reason")


def limit_reply(options, limits):
    """Return a request's options with `max_tokens` no larger than an agent's own (of its LIMITS or
    whole entry)."""
    most = limits.get("max_tokens")
    return options | {"max_tokens": min(most, options.get("max_tokens", most))} if most else options


def make_consult(client: Client):
    """Return an agent's model as a judge (`models.judges.build_consult`), by its options and its
    longest reply."""
    options = limit_reply(client.options, client.limits)
    return build_consult(client.door, client.model, client.is_local, options)


def forecast(answer, client, event, world):
    """Return the outcome of an event: what `answer(transcript, event, world)` makes of it, or why
    it is missing.

    `answer` returns the recording whose text holds the answer. The sources are pages seen, by
    page_id, and those that a provider cites, by address.
    """
    transcript = Transcript(client, event.get("sample", 0))
    event = event | {"probabilities": True} if client.probabilities else event
    if not client.is_local:  # the recorded local models were asked without
        event = event | {"listed": list_entities(event, world)}
    try:
        reply = answer(transcript, event, world)
    except LlmError as error:
        transcript.count(error.recording or {})
        transcript.add("end", error=error.reason)
        outcome = fail(error.status, error.reason)
    else:
        prediction = reply.get("read") or read_reply(event, reply)
        problem = prediction.get("reason") or reply.get("warning")
        transcript.add("answer", content=reply["content"], error=problem)
        seen = {page for step in transcript.steps for page in step.get("page_ids") or []}
        cited = [
            step["content"].splitlines() for step in transcript.steps if step.get("tool") == "cite"
        ]
        named = {line.partition(" ")[0] for lines in cited for line in lines}
        sources = sorted(seen) + sorted(named)
        outcome = {"prediction": prediction | {"source_ids": sources}, "reply": reply["content"]}
    return (
        outcome
        | {"trace": transcript.steps, "finish_reason": transcript.finish_reason}
        | transcript.usage
    )


def list_entities(event, world):
    """Return the names that compete in an open ranking "of the listed" ones, as its source's page
    has them at as_of.

    None for other questions, and where the page cannot be read as of then.
    """
    if (
        "listed" not in event["prompt"]
        or not isinstance(event.get("variables"), str)
        or not hasattr(world, "select")
    ):
        return None
    variables = parse_object(event["variables"])
    if variables.get("ask") not in ("top", "rank"):
        return None
    try:
        history, _ = read_history(world, event["source_id"], event["as_of"], variables)
    except (GatewayError, ExtractionError):
        return None
    return sorted(map(str, history.columns))


def read_reply(event, reply):
    """Return the prediction that a reply holds; one that cannot be read is missing, with status
    'unparsable'.

    Probabilities stand beside a value where the reply or its log probabilities give them
    (`weigh_reply`); where they were asked for in words, as the reply states them (`read_stated`).
    """
    kind = event["kind"]
    options = parse_json(event["options"]) or {}
    unit = event.get("unit")
    is_cut = reply.get("finish_reason") in CUT and not reply.get(
        "reasoning"
    )  # thoughts apart are no part of it
    text = reply["content"] or ""
    value, reason = parse_prediction(text, kind, options, unit, explain=True, is_cut=is_cut)
    read = {"parser_version": str(PARSER_VERSION), "value": value}
    if value is None:
        return read | {
            "status": "refusal" if reason == "refusal" else "unparsable",
            "reason": reason or "no answer",
        }
    if find_stated(event):
        return read | read_stated(reply["content"], kind, options, value, unit)
    return read | weigh_reply(reply, kind, options, value)


def keep_values(event, row):
    """Return a recording of an event's answer as it is kept where words may not be: no prompt, no
    reply's prose.

    Digest (`key`), model, seconds, tokens and cost stay; in place of the reply stands, as `read`,
    what was read of it.
    """
    given = row["request"]
    options = {
        name: value
        for name, value in given["options"].items()
        if isinstance(value, bool | int | float)
    }
    kept = {name: value for name, value in row.items() if name not in ("queries", "citations")}
    kept |= {
        "request": {"model": given["model"], "sample": given["sample"], "options": options},
        "keeps": "values",
    }
    if not is_final(row):
        return kept
    kept |= {
        "reason": row.get("reason") and "its words are not kept",
        "reasoning": None,
        "tool_calls": [],
    }
    kept |= {"content": None, "logprobs": None}
    if row["status"] != "ok":
        return kept
    read = read_reply(event, row)
    read |= {"reason": read["reason"].partition(":")[0]} if "reason" in read else {}
    return kept | {"content": dump_json(read["value"]) or "", "read": read}


def keep_turn(event, row):
    """Return a recording of an agent's turn as it is kept where words may not be: no prompt, but
    the call.

    A call, and a local model's thought with it, may quote the evidence: the recording `stays` in
    the store, unpacked.
    """
    kept = keep_values(event, row) | {"stays": True}
    if row.get("tool_calls"):
        return kept | {"content": None, "tool_calls": row["tool_calls"], "read": None}
    is_turn = "action" in parse_object(row.get("content"))
    return kept | ({"content": row["content"], "read": None} if is_turn else {})


def constrain_json(client, name, schema, grammar, max_tokens):
    """Return the options of a request whose reply is to be JSON: by grammar for a local model, else
    by schema."""
    return (
        {"grammar": grammar, "max_tokens": max_tokens}
        if client.is_local
        else demand_json(name, schema)
    )


def constrain_answer(client, event):
    """Return the options of a request whose reply is to be an event's final answer, for a local
    model; {} for others.

    Its grammar is built from the event: the letters there are (or the options' words, where its
    question asks for these), or so many names, or a number.
    """
    if not client.is_local:
        return {}
    options = parse_json(event["options"]) or {}
    states = bool(find_stated(event))
    writes = (parse_json(event.get("metadata")) or {}).get("writes")
    names = list(options.values()) if writes == "text" and not states else sorted(options)
    grammar = build_grammar(event["kind"], names, count_places(event) or 1, states=states)
    return {
        "grammar": grammar,
        "max_tokens": MAX_ANSWER * (1 + states),
        "logprobs": True,
        "top_logprobs": N_TOP,
    }


def ask_directly(transcript, event, world, before=""):
    """Ask for the answer with the question alone: a base model (3.2.3); or with a text before
    it."""
    messages = transcript.open(before + fill_prompt(event))
    return transcript.ask(messages, event=event, **constrain_answer(transcript.client, event))
