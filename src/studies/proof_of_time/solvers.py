"""Solvers of Proof of Time, run on a sample of instances and recorded like a study (4.2, 4.3,
Figures 2 to 4).

Zero-shot sees the question alone; an agent is one ReAct loop with tools (bash, Python and an editor
in the sandbox) on an instance's evidence, the same with a structured prompt. Tool results are
recorded beside the model's replies, so a run replays without model and sandbox. At temperature 0 a
model does not know its limit: a run at the highest limit holds those at lower ones as its
beginning, and only the highest is asked. What is not recorded is "missing", never wrong.
"""

import json
import time
from contextlib import ExitStack
from functools import cache, partial
from typing import NamedTuple

from daybefore.agents.prompted_agents import ask_directly, constrain_json, forecast, keep_turn
from daybefore.agents.sandbox import open_sandbox
from daybefore.agents.sandbox_parts import Limits
from daybefore.agents.sandbox_tools import MAX_SHOWN, SCHEMAS, call_tool
from daybefore.agents.search_agents import ask_final_line
from daybefore.models.client import recall
from daybefore.models.failures import LlmError
from daybefore.models.grammars import make_schema
from daybefore.prompts import fill_prompt, read_prompt
from helpers.files import parse_object
from helpers.papers import get_constant

METHODS = {"zero_shot": None, "agentic": "desk_agent", "structured": "desk_local"}
METHODS |= {"led": "desk_agent", "led_structured": "desk_structured"}
"""Method -> the prompt that comes before an instance's.

`agentic` and `structured` are the paper's loop: nothing but the model ends a run before its limit.
`structured` has the rules of the prompt that the paper prints (Figure 14) in our words: offline
only, which tool first, how to finish. A local model that is `led` must look at the evidence first,
and is asked for its answer once it makes a call again; `led_structured` has a prompt of our own,
with steps from plan to check.
"""

ACTIONS = {"bash": "script", "python": "program"}
"""What a local model may call, one action a turn, and the argument its input becomes."""

TEXT = {"type": "string"}
TURN_SCHEMA = make_schema(thought=TEXT, action=TEXT | {"enum": [*ACTIONS, "answer"]}, input=TEXT)
_TURN = r"""root ::= "{\"thought\": \"" text{1,300} "\", \"action\": " turn "}"
turn ::= work"""
_PARTS = r"""
work ::= ("\"bash\"" | "\"python\"") ", \"input\": \"" text{1,1500} "\""
text ::= [^"\\\n] | "\\" ["\\n]"""
TURN_GRAMMAR = _TURN + r''' | "\"answer\", \"input\": \"\""''' + _PARTS
LOOK_GRAMMAR = _TURN + _PARTS
"""A turn of a local model, and one that must be a look at the evidence."""
CONTEXT_LIMIT = "context_limit"
"""How a trial ended whose conversation no longer fits the model."""
MAX_TURN, MAX_LOCAL = 700, 1_500
"""Longest turn of a local model, in tokens; longest result that it is shown, in characters."""


class Evidence(NamedTuple):
    """What an instance is worked on with: its manifest, the folder of the evidence, the limits of a
    tool call."""

    manifest: list
    folder: str
    limits: Limits = Limits()


def set_door(method):
    """Return the settings of a method's door: seconds a question, and requests that may go out for
    one reply (B).

    >>> set_door("agentic"), set_door("zero_shot")
    ({'deadline_s': 600, 'n_requests': 4}, {'deadline_s': 180, 'n_requests': 4})
    """
    minutes = get_constant("proof_of_time", "agent_timeout_minutes")
    if method == "zero_shot":
        minutes = get_constant("proof_of_time", "zero_shot_timeout_minutes")
    return {
        "deadline_s": 60 * minutes,
        "n_requests": 1 + get_constant("proof_of_time", "max_retries"),
    }


def solve(client, event, evidence, *, method="structured", limit=None):
    """Return the outcome of an instance, as `agents.run_loop` stores it; `limit` by default the paper's
    primary one (C.6).

    At the limit the status is message_limit. Raises SandboxError for an agent where no sandbox can
    be had.
    """
    if method == "zero_shot":
        return forecast(ask_directly, client, event, evidence)
    limit = limit or get_constant("proof_of_time", "primary_limit")
    ask = partial(
        ask_with_tools, prompt=METHODS[method], limit=limit, is_led=method.startswith("led")
    )
    return forecast(ask, client, event, evidence)


def ask_with_tools(transcript, event, evidence, *, prompt, limit, is_led=False):
    """Let the model work with the tools until it answers (ReAct); raises LlmError when a limit ends
    it."""
    prompts = (
        [prompt, "desk_turn"] if transcript.client.is_local else [prompt]
    )  # it calls no tool natively
    messages = [
        {"role": "system", "content": "\n\n".join(map(read_prompt, prompts))},
        {"role": "user", "content": fill_prompt(event)},
    ]
    transcript.add("prompt", content="\n\n".join(message["content"] for message in messages))
    status = "ok"
    replayed = []
    with ExitStack() as stack:
        box = cache(lambda: stack.enter_context(open_sandbox(*evidence)))
        try:
            while True:
                check_limit(messages, limit)
                set_clock(transcript)
                reply, calls = take_turn(transcript, event, messages, is_led)
                if not calls:
                    return reply
                check_limit(messages, limit, n_more=len(calls))
                for n, call in enumerate(calls):
                    messages.append(use_tool(transcript, box, reply, n, call, replayed))
        except LlmError as error:
            status = CONTEXT_LIMIT if "ContextWindow" in error.reason else error.status
            raise
        finally:
            told = {
                "limit": limit,
                "count": "messages",
                "status": status,
                "n_messages": len(messages),
            }
            n_turns = sum(message["role"] == "assistant" for message in messages)
            transcript.add("count", content=json.dumps(told | {"n_turns": n_turns}))


def check_limit(messages, limit, n_more=0):
    """Raise LlmError when a limit leaves no room: for the model's next message, or for `n_more`
    results of tools.

    All messages count, and a run ends before a reply for which there is no room, as in the authors'
    harness.

    >>> check_limit([{"role": "user"}] * 30, 30)
    Traceback (most recent call last):
        ...
    daybefore.models.failures.LlmError: the limit of 30 messages was reached without an answer
    """
    if len(messages) + max(n_more, 1) > limit:
        raise LlmError(
            "message_limit", f"the limit of {limit} messages was reached without an answer"
        )


def take_turn(transcript, event, messages, is_led):
    """Ask for the model's next message and add it; returns its recording and the calls in it as
    (id, name, arguments).

    A provider's model calls tools in its own way; a local one writes one action a turn, held to a
    grammar. One that `is_led` looks first, and makes no call twice: at temperature 0 a small model
    would go on to the limit.
    """
    is_continued = len(messages) > 2
    kept = {"event": event, "reduce": keep_turn}
    if not transcript.client.is_local:
        reply = transcript.ask(messages, tools=SCHEMAS, **kept)
        named = [(call["id"], call["function"]) for call in reply["tool_calls"] or []]
        calls = [(key, one["name"], parse_object(one["arguments"])) for key, one in named]
        said = {"tool_calls": reply["tool_calls"]} if calls else {}
        messages.append({"role": "assistant", "content": reply["content"]} | said)
        return reply, calls
    grammar = LOOK_GRAMMAR if is_led and not is_continued else TURN_GRAMMAR
    form = constrain_json(transcript.client, "turn", TURN_SCHEMA, grammar, MAX_TURN)
    reply = transcript.ask(messages, **form, **kept)
    messages.append({"role": "assistant", "content": reply["content"] or ""})
    turn = parse_object(reply["content"])
    if (action := turn.get("action")) in ACTIONS:
        call = action, {ACTIONS[action]: turn.get("input")}
        if not is_led or call not in [
            (step.get("tool"), step.get("arguments")) for step in transcript.steps
        ]:
            return reply, [(None, *call)]
    final = ask_final_line(transcript, event, messages, keep_turn)
    messages.append({"role": "assistant", "content": final["content"] or ""})
    return final, []


def set_clock(transcript):
    """Set a question's deadline by the seconds its steps took, recorded ones too, so that a run may
    go on another day.

    Raises LlmError when the time is up.
    """
    left = transcript.client.door.deadline_s - sum(
        step.get("duration_s") or 0 for step in transcript.steps
    )
    if left <= 0:
        raise LlmError("timeout", f"no answer within {transcript.client.door.deadline_s:g} seconds")
    transcript.deadline_at = time.monotonic() + left


def use_tool(transcript, box, reply, number, call, replayed):
    """Return the message with a call's result: recorded, or else made in the sandbox, opened when
    first needed.

    `replayed` lists calls whose results were recorded: a sandbox that is opened after them does
    them first.
    """
    (call_id, name, arguments), stays = call, {"stays": True} if reply.get("stays") else {}
    set_clock(transcript)
    replayed.append((name, arguments))

    def run(door, request, limit, row):
        for earlier in replayed[:-1]:
            call_tool(box(), *earlier)
        replayed.clear()
        n_shown = MAX_LOCAL if transcript.client.is_local else MAX_SHOWN
        made = call_tool(box(), name, arguments, timeout=limit - time.monotonic(), n_shown=n_shown)
        return {"step": made, "cost_usd": 0.0, "n_input_tokens": None, "n_output_tokens": None}

    options = {"after": reply["key"], "number": number, "tool": name, "arguments": arguments}
    request = {"model": "sandbox", "messages": [], "options": options, "sample": transcript.sample}
    given = {"answer": run, "bound": lambda *_: 0.0, "reduce": lambda row: row | stays}
    recorded = recall(transcript.client.door, request, transcript.deadline_at, **given)
    step = recorded["step"] | {"duration_s": recorded["duration_s"]}
    transcript.steps.append(step)
    if call_id is None:
        return {"role": "user", "content": step["content"]}
    return {"role": "tool", "tool_call_id": call_id, "content": step["content"]}
