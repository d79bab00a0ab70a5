"""Solvers of Proof of Time, put to a sample of instances and recorded like a study (4.2, 4.3, Figures 2 to 4).

Zero-shot sees the question alone; an agent is one ReAct loop at a desk (`agents.desk`: bash, Python and an editor in
the sandbox) on an instance's evidence, the same with a structured prompt. Tool results are recorded beside the model's
replies, so that a run replays without a model and without a sandbox. A run ends with an answer, at its message limit,
or at its time; each trace tells both counts, and the limit that ended it.

A limit is not part of a prompt and temperature is 0: a run at the highest limit holds those at lower ones as its
beginning, and only the highest is asked of the model. What is not recorded is "missing": it is in no table, and never
counts as wrong.
"""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from tqdm import tqdm

from helpers.agents.desk import MAX_SHOWN, SCHEMAS, call_tool
from helpers.agents.prompted import Client, Transcript, ask_directly, constrain_json, forecast
from helpers.agents.prompts import fill_prompt
from helpers.agents.sandbox import Limits, open_sandbox
from helpers.agents.searching import ask_final_line
from helpers.agents.tools import read_arguments
from helpers.models.failures import LlmError
from helpers.models.grammars import make_schema
from helpers.models.judges import open_study
from helpers.models.llm import recall
from helpers.papers import get_constant
from helpers.prompts import read_prompt
from helpers.proof_of_time.instances import UNSCORED, to_event
from helpers.proof_of_time.taxonomies import label_run
from helpers.store import hash_text, parse_object

METHODS = {"zero_shot": None, "agentic": "desk_agent", "structured": "desk_structured"}
"""Method -> the prompt that comes before an instance's."""

COUNTS = ("messages", "turns")
"""What a limit counts: all messages, as the authors' harness does, or the model's turns (4.3 read literally)."""

ACTIONS = {"bash": "script", "python": "program"}
"""What a local model may call, one action a turn, and the argument its input becomes."""

TURN_SCHEMA = make_schema(
    thought={"type": "string"},
    action={"type": "string", "enum": [*ACTIONS, "answer"]},
    input={"type": "string"},
)
_TURN = r"""root ::= "{\"thought\": \"" text{1,300} "\", \"action\": " turn "}"
turn ::= work"""
_PARTS = r"""
work ::= ("\"bash\"" | "\"python\"") ", \"input\": \"" text{1,1500} "\""
text ::= [^"\\\n] | "\\" ["\\n]"""
TURN_GRAMMAR = _TURN + r''' | "\"answer\", \"input\": \"\""''' + _PARTS
LOOK_GRAMMAR = _TURN + _PARTS
"""A local model's first turn is a look at the evidence: left free, a small one answers at once, and is no agent."""
CONTEXT_LIMIT = "context_limit"
"""How a trial ended whose conversation no longer fits the model."""
MAX_TURN = 700
"""Longest turn of a local model, in tokens."""


MAX_LOCAL = 1_500
"""Longest result that is shown to a local model, in characters: a few thousand tokens are all that it can read."""


class Desk(NamedTuple):
    """What an instance is worked on with: its manifest, the folder of the evidence, the limits of a tool call."""

    manifest: list
    folder: str
    limits: Limits = Limits()


def set_door(method):
    """Return the settings of a method's door: seconds a question, and requests that may go out for one reply (B).

    >>> set_door("agentic"), set_door("zero_shot")
    ({'deadline_s': 600, 'n_requests': 4}, {'deadline_s': 180, 'n_requests': 4})
    """
    minutes = get_constant("proof_of_time", "agent_timeout_minutes")
    if method == "zero_shot":
        minutes = get_constant("proof_of_time", "zero_shot_timeout_minutes")
    return {"deadline_s": 60 * minutes, "n_requests": 1 + get_constant("proof_of_time", "max_retries")}


def solve(client, event, desk, *, method="structured", limit=None, count="messages"):
    """Return the outcome of an instance, as `agents.runs` stores it; `limit` by default the paper's primary one (C.6).

    At the limit the status is message_limit. Raises ValueError for an unknown method or count, SandboxError when an
    agent needs a sandbox and none can be had.
    """
    if method not in METHODS or count not in COUNTS:
        raise ValueError(f"the methods are {', '.join(METHODS)}; a limit counts {' or '.join(COUNTS)}")
    if method == "zero_shot":
        return forecast(ask_directly, client, event, desk)
    limit = limit or get_constant("proof_of_time", "primary_limit")
    return forecast(partial(ask_at_desk, prompt=METHODS[method], limit=limit, count=count), client, event, desk)


def ask_at_desk(transcript, event, desk, *, prompt, limit, count):
    """Let the model work at the desk until it answers (ReAct); raises LlmError when a limit ends it."""
    messages = [
        {"role": "system", "content": read_system(transcript.client, prompt)},
        {"role": "user", "content": fill_prompt(event)},
    ]
    transcript.add("prompt", content="\n\n".join(message["content"] for message in messages))
    status, replayed = "ok", []
    with ExitStack() as stack:
        box = cache(lambda: stack.enter_context(open_sandbox(*desk)))
        try:
            while True:
                check_limit(messages, limit, count)
                set_clock(transcript)
                reply, calls = take_turn(transcript, event, messages)
                if not calls:
                    return reply
                check_limit(messages, limit, count, n_more=len(calls))
                for n, call in enumerate(calls):
                    messages.append(use_tool(transcript, box, reply, n, call, replayed))
        except LlmError as error:
            status = CONTEXT_LIMIT if "ContextWindow" in error.reason else error.status
            raise
        finally:
            told = {"limit": limit, "count": count, "status": status, "n_messages": len(messages)}
            transcript.add("count", content=json.dumps(told | {"n_turns": count_turns(messages)}))


def read_system(client, prompt):
    """Return the system's message; a local model, which calls no tool natively, is also told how a turn is written."""
    return "\n\n".join(map(read_prompt, [prompt, "desk_turn"] if client.is_local else [prompt]))


def count_turns(messages):
    """Return how many messages of a conversation are the model's."""
    return sum(message["role"] == "assistant" for message in messages)


def check_limit(messages, limit, count, n_more=0):
    """Raise LlmError when a limit leaves no room: for the model's next message, or for `n_more` results of tools.

    The authors' harness ends a run before a reply for which there is no room, and at results that pass the limit.

    >>> talk = [{"role": role} for role in ["system", "user"] + 14 * ["assistant", "tool"]]
    >>> check_limit(talk, 30, "turns")
    >>> check_limit(talk, 30, "messages")
    Traceback (most recent call last):
        ...
    helpers.models.failures.LlmError: the limit of 30 messages was reached without an answer
    """
    n = len(messages) + max(n_more, 1) if count == "messages" else count_turns(messages) + (n_more == 0)
    if n > limit:
        raise LlmError("message_limit", f"the limit of {limit} {count} was reached without an answer")


def take_turn(transcript, event, messages):
    """Ask for the model's next message and add it; returns its recording and the calls in it as (id, name, arguments).

    A provider's model calls tools in its own way; a local one writes one action a turn, held to a grammar, the first
    time to one of a tool. Where it makes a call a second time it is asked for its answer: at temperature 0 a small
    model would go on making it to the limit.
    """
    is_continued = len(messages) > 2
    if not transcript.client.is_local:
        reply = transcript.ask(messages, is_continued=is_continued, event=event, tools=SCHEMAS)
        calls = [(call["id"], call["function"]["name"], read_arguments(call)) for call in reply["tool_calls"] or []]
        messages.append({"role": "assistant", "content": reply["content"]})
        if calls:
            messages[-1]["tool_calls"] = reply["tool_calls"]
        return reply, calls
    grammar = TURN_GRAMMAR if is_continued else LOOK_GRAMMAR
    form = constrain_json(transcript.client, "turn", TURN_SCHEMA, grammar, MAX_TURN)
    reply = transcript.ask(messages, is_continued=is_continued, **form)
    messages.append({"role": "assistant", "content": reply["content"] or ""})
    call = read_call(parse_object(reply["content"]))
    if call and call[1:] not in [(step.get("tool"), step.get("arguments")) for step in transcript.steps]:
        return reply, [call]
    final = ask_final_line(transcript, event, messages)
    messages.append({"role": "assistant", "content": final["content"] or ""})
    return final, []


def read_call(turn):
    """Return the call of a local model's turn as (id, name, arguments), None where it wants to answer.

    >>> read_call({"action": "bash", "input": "ls"}), read_call({"action": "answer", "input": ""})
    ((None, 'bash', {'script': 'ls'}), None)
    """
    action = turn.get("action")
    return (None, action, {ACTIONS[action]: turn.get("input")}) if action in ACTIONS else None


def set_clock(transcript):
    """Set a question's deadline by the seconds its steps took, recorded ones too, so that a run may go on another day.

    Raises LlmError when the time is up.
    """
    left = transcript.client.door.deadline_s - sum(step.get("duration_s") or 0 for step in transcript.steps)
    if left <= 0:
        raise LlmError("timeout", f"no answer within {transcript.client.door.deadline_s:g} seconds")
    transcript.deadline_at = time.monotonic() + left


def use_tool(transcript, box, reply, number, call, replayed):
    """Return the message with a call's result: recorded, or else made in the sandbox, opened when first needed.

    `replayed` lists calls whose results were recorded: a sandbox that is opened after them does them first.
    """
    call_id, name, arguments = call
    set_clock(transcript)
    replayed.append((name, arguments))

    def run(door, request, limit, row):
        for earlier in replayed[:-1]:
            call_tool(Transcript(transcript.client), box(), *earlier)
        replayed.clear()
        made, left = Transcript(transcript.client), limit - time.monotonic()
        n_shown = MAX_LOCAL if transcript.client.is_local else MAX_SHOWN
        call_tool(made, box(), name, arguments, timeout=left, n_shown=n_shown)
        return {"step": made.steps[0], "cost_usd": 0.0, "n_input_tokens": None, "n_output_tokens": None}

    options = {"after": reply["key"], "number": number, "tool": name, "arguments": arguments}
    request = {"model": "sandbox", "messages": [], "options": options, "sample": transcript.sample}
    recorded = recall(transcript.client.door, request, transcript.deadline_at, answer=run, bound=lambda *_: 0.0)
    step = recorded["step"] | {"duration_s": recorded["duration_s"]}
    transcript.steps.append(step)
    if call_id is None:
        return {"role": "user", "content": step["content"]}
    return {"role": "tool", "tool_call_id": call_id, "content": step["content"]}


# --- trials of a sample -----------------------------------------------------------------------------------------------

RUN_ID = "41_solvers"
PUBLIC_WINDOW = "P"
"""What an event carries of whose reply values alone are kept (`prompted.keep_values`): its texts are not ours."""

COLUMNS = ["id", "solver", "method", "limit", "status", "answer", "n_messages", "n_turns", "seconds", "n_input_tokens"]
COLUMNS += ["n_output_tokens", "n_calls"]


class Cell(NamedTuple):
    """A method under a limit; zero-shot has none."""

    method: str
    limit: int | None = None

    @property
    def name(self):
        """What tables call it.

        >>> Cell("agentic", 15).name, Cell("zero_shot").name
        ('agentic, 15', 'zero-shot')
        """
        return self.method.replace("_", "-") + (f", {self.limit}" if self.limit else "")


def list_cells(methods):
    """Return the cells of some methods; an agent's highest limit comes first, since the others are its beginnings.

    Raises ValueError for a method that is not known.

    >>> [cell.name for cell in list_cells(["zero_shot", "agentic"])]
    ['zero-shot', 'agentic, 50', 'agentic, 30', 'agentic, 15']
    """
    if strange := [name for name in methods if name not in METHODS]:
        raise ValueError(f"there is no method {strange[0]!r}; there are {', '.join(METHODS)}")
    limits = sorted(get_constant("proof_of_time", "message_limits"), reverse=True)
    return [Cell(m, limit) for m in methods for limit in ([None] if m == "zero_shot" else limits)]


def sample_instances(instances, n, seed=0):
    """Return `n` scored instances, by turns from each task and in a task from each source; samples of one seed nest."""
    table = pd.DataFrame(
        [
            (at, one.task, one.metadata["source"], hash_text(f"{seed}:{one.id}", 16))
            for at, one in enumerate(instances)
            if one.variant not in UNSCORED
        ],
        columns=["at", "task", "source", "draw"],
    ).sort_values("draw")
    table["turn"] = table.groupby(["task", "source"]).cumcount()
    table = table.sort_values(["turn", "draw"])
    table["turn"] = table.groupby("task").cumcount()
    return [instances[at] for at in table.sort_values(["turn", "task"])["at"].head(n)]


def describe_evidence(instance, folder):
    """Return what an agent is told of the files at its desk: a line each, with columns and number of rows."""
    lines = []
    for entry in instance.manifest:
        header, *rows = (Path(folder) / entry["path"]).read_text(encoding="utf-8").splitlines()
        lines.append(f"/evidence/{entry['path']}: {len(rows)} lines; columns {header}")
    return "\n".join(["Evidence files:", *lines])


@contextmanager
def open_trials(model="local/qwen", *, run_id=RUN_ID, live=False, minutes=None):
    """Yield the client of a model on a study's recordings (data/runs/<run_id>); as `judges.open_judge`."""
    with open_study(run_id, model, live=live, minutes=minutes, about="solves Proof of Time instances") as study:
        yield Client(*study)


def run_trial(client, instance, folder, cell, *, is_public=False, traces=None):
    """Return a trial as a row of COLUMNS; the status "missing" says that a reply is not recorded.

    `folder` holds the evidence files; `traces` (a dict) takes the steps, by (id, solver). Of an instance that
    `is_public` the recording holds values and no text; raises ValueError for an agent, whose steps would.
    """
    if is_public and cell.method != "zero_shot":
        raise ValueError(
            "public instances are put to the question alone: an agent's steps hold texts that are not ours"
        )
    event = to_event(instance) | ({"window": PUBLIC_WINDOW} if is_public else {})
    client = client._replace(door=replace(client.door, **set_door(cell.method)))
    desk = None
    if cell.method != "zero_shot":
        event["prompt"] += "\n\n" + describe_evidence(instance, folder)
        files = [{name: entry[name] for name in ("path", "sha256")} for entry in instance.manifest]
        desk = Desk(files, str(folder))
    row = {"id": instance.id, "solver": cell.name, "method": cell.method, "limit": cell.limit}
    try:
        outcome = solve(client, event, desk, method=cell.method, limit=cell.limit)
    except LookupError as error:
        if type(error) is not LookupError:  # a KeyError is a fault, not a recording that is absent
            raise
        return row | {"status": "missing"}
    if traces is not None:
        traces[instance.id, cell.name] = outcome["trace"]
    told = [json.loads(step["content"]) for step in outcome["trace"] if step["step_type"] == "count"]
    counts = told[0] if told else {"n_messages": 2, "n_turns": 1}
    status = outcome.get("status") or outcome["prediction"].get("status") or "ok"
    status = CONTEXT_LIMIT if counts.get("status") == CONTEXT_LIMIT else status
    seconds = sum(step.get("duration_s") or 0 for step in outcome["trace"])
    used = {name: outcome[name] for name in ("n_input_tokens", "n_output_tokens")}
    used |= {name: counts[name] for name in ("n_messages", "n_turns")}
    used["n_calls"] = sum(step["step_type"] == "tool" for step in outcome["trace"])
    return row | {"status": status, "answer": outcome["prediction"]["value"], "seconds": seconds} | used


def run_trials(client, instances, folder, cells, counts, *, is_public=False, traces=None):
    """Return the trials of some cells as a table; `counts`: method -> how many of the instances it is put to.

    `traces` (a dict) takes each trial's steps.
    Cells go in their order, a cell over its instances before the next; a local model answers one at a time, others as
    many as the paper lets (B).
    """
    workers = 1 if client.is_local or not client.door.live else get_constant("proof_of_time", "max_connections")
    rows = []
    with ThreadPoolExecutor(workers) as pool:
        for cell in cells:
            ask = partial(run_trial, client, folder=folder, cell=cell, is_public=is_public, traces=traces)
            chosen = instances[: counts[cell.method]]
            rows += tqdm(pool.map(ask, chosen), desc=cell.name, total=len(chosen), unit="instance", delay=1)
    return pd.DataFrame(rows, columns=COLUMNS)


def list_answers(trials, cells):
    """Return the answers of some cells on the instances that all of them have recorded: id, solver, answer.

    Of a run that an accident or a limit ended the answer is blank, and counts as wrong (definitions.md 4.4).
    """
    kept = trials[trials["solver"].isin([cell.name for cell in cells]) & (trials["status"] != "missing")]
    n = kept.groupby("id")["solver"].nunique()
    return kept[kept["id"].isin(n.index[n == len(cells)])][["id", "solver", "answer"]].reset_index(drop=True)


def label_trials(scored, traces, instances):
    """Return scored trials of agents with the stratum, label and bottleneck that the rules give their steps (6).

    `scored` has id, solver, status and is_right, `traces` the steps by (id, solver). Columns id, solver, stratum,
    label, bottleneck; the last two blank for a run that was right. Where an order is asked for, the rules are told of
    no options: each answer names several, and that is no wrong form.
    """
    known, rows = {instance.id: instance for instance in instances}, []
    for row in scored[scored["method"] != "zero_shot"].to_dict("records"):
        instance = known[row["id"]]
        is_one = isinstance(instance.target, str)
        options = [*instance.choices, *instance.choices.values()] if is_one else ()
        told = (row["status"], row["is_right"], options, instance.target if is_one else None)
        made = label_run(traces[row["id"], row["solver"]], *told)
        rows.append({"id": row["id"], "solver": row["solver"]} | made)
    return pd.DataFrame(rows, columns=["id", "solver", "stratum", "label", "bottleneck"])
