"""Open deep research: a manager that surveys facts and plans, and a search agent it sends out (FutureX 3.2.3, 4.5.2).

Both are tool-calling agents of smolagents, which runs their turns and keeps their memories; every request goes through
the transcript, every look-up is as of the event's start day. smolagents is imported where it is used (about a second).
"""

from contextlib import suppress
from functools import partial

import pandas as pd

from helpers.agents.prompted import constrain_answer, constrain_json
from helpers.agents.prompts import fill_final_line, fill_prompt
from helpers.agents.tools import call_tool, read_arguments, write_schema
from helpers.models.grammars import join_alternatives, make_schema, quote_literal
from helpers.prompts import read_prompt
from helpers.store import dump_json, parse_object

N_CALLS = 3
"""Calls of the manager a question, at most; an agent's `max_steps`."""
N_LOOK_UPS = 2
"""Searches and opened pages a call of the search agent, at most; then it reports. An agent's `max_lookups`."""
MAX_REPLY = 600
"""Longest reply of a local model before its answer, in tokens; its grammar ends it long before."""

TOOLS = {
    "search": ("query", "Search the pages published so far; returns the passages that fit best, with addresses."),
    "open": ("address", "Open a page by an address that a search showed."),
}
"""What the search agent may call: a tool's one argument and what the tool does."""

SEARCH_AGENT = "Searches the web and reports what it finds."
"""What the manager is told of the search agent."""

LENGTHS = {"query": 60, "address": 120, "task": 100, "answer": 160}
"""Longest argument of a local model's call, in characters."""

PLAN_SCHEMA = make_schema(
    facts_given={"type": "string"},
    facts_to_look_up={"type": "string"},
    facts_to_derive={"type": "string"},
    plan={"type": "array", "items": {"type": "string"}},
)
"""The manager's survey of facts and its plan."""

PLAN_GRAMMAR = r"""root ::= "{\"facts_given\": " fact ", \"facts_to_look_up\": " fact derived plan "}"
derived ::= ", \"facts_to_derive\": " fact
plan ::= ", \"plan\": [" step (", " step){1,4} "]"
fact ::= "\"" fact-text "\""
step ::= "\"" step-text "\""
fact-text ::= [ !#-[\]-~\u00a1-\u024f]{1,100}
step-text ::= [ !#-[\]-~\u00a1-\u024f]{1,60}"""
"""The same for a local model: facts of at most 100 characters, two to five steps of at most 60."""


def ask_with_research(transcript, event, world):
    """Let a manager survey the facts and plan, send its search agent out, and answer; returns the answer's recording.

    The survey with the plan is a step of its own, `plan`; what the manager asks of the search agent is a `tool` step.
    Raises what a request or a look-up raises, LlmError above all: smolagents turns whatever goes wrong under it into
    words for the model, so what is no fault of the model's is put into `failures` first, and ends the question here.
    """
    from smolagents import AgentGenerationError
    from smolagents.memory import PlanningStep, TaskStep
    from smolagents.monitoring import Timing

    failures, client = [], transcript.client
    n_calls = client.limits.get("max_steps", N_CALLS)
    manager = build_manager(transcript, event, world, failures, n_calls)
    prompt = fill_prompt(event) + read_prompt("research_survey")
    transcript.add("prompt", content=prompt)
    manager.memory.steps.append(TaskStep(task=prompt))
    form = constrain_json(client, "plan", PLAN_SCHEMA, PLAN_GRAMMAR, MAX_REPLY)
    messages = write_messages(manager.write_memory_to_messages())
    content = transcript.ask(messages, actor="manager", **form)["content"] or ""
    plan = read_plan(content)
    error = None if plan else "not a survey of facts with a plan"
    transcript.add("plan", actor="manager", content=content, error=error)
    step = PlanningStep([], model_output_message=None, plan=content, timing=Timing(start_time=0))
    manager.memory.steps.append(step)
    wanted = plan["facts_to_look_up"] if plan else "what your survey says"
    start = read_prompt("research_start").format(n_calls=n_calls, wanted=wanted)
    with suppress(AgentGenerationError):
        for made in manager.run(start, stream=True, reset=False):
            if hasattr(made, "step_number") and (failures or made.step_number == n_calls):
                break  # only where a turn ends: elsewhere smolagents' generator cannot be closed
    if failures:
        raise failures[0]
    final = {"type": "text", "text": fill_final_line(event)}
    messages = write_messages([*manager.write_memory_to_messages(), {"role": "user", "content": [final]}])
    return transcript.ask(messages, actor="manager", is_continued=True, **constrain_answer(client, event))


def read_plan(content):
    """Return a survey with its plan as a dict of PLAN_SCHEMA's form, None when the text is none.

    >>> read_plan('{"facts_given": "a", "facts_to_look_up": "b", "facts_to_derive": "c", "plan": ["d"]}')["plan"]
    ['d']
    >>> read_plan("First I search.") is None
    True
    """
    from jsonschema import Draft202012Validator

    plan = parse_object(content)
    return plan if Draft202012Validator(PLAN_SCHEMA).is_valid(plan) else None


def build_manager(transcript, event, world, failures, n_calls):
    """Return smolagents' agent that leads the research, with a search agent under it."""
    n_look_ups = transcript.client.limits.get("max_lookups", N_LOOK_UPS)
    blanks = {"as_of": event["as_of"], "n_look_ups": n_look_ups}
    look_ups = [build_tool(transcript, event, world, failures, name) for name in TOOLS]
    about = {"name": "search_agent", "description": SEARCH_AGENT}
    prompt = read_prompt("research_search").format(**blanks)
    search_agent = build_agent(transcript, "search", prompt, failures, n_look_ups + 1, tools=look_ups, **about)
    prompt = read_prompt("research_manager").format(**blanks)
    return build_agent(transcript, "manager", prompt, failures, n_calls, tools=[], managed_agents=[search_agent])


def build_agent(transcript, actor, prompt, failures, n_turns, **settings):
    """Return a tool-calling agent of smolagents with our prompts, which prints nothing.

    The search agent's last turn is its report: no tool is offered then. What a request raises is put into `failures`.
    """
    from smolagents import LogLevel, Model, ToolCallingAgent
    from smolagents.agents import EMPTY_PROMPT_TEMPLATES

    n_open = n_turns - 1 if actor == "search" else None

    class DoorModel(Model):
        def generate(self, messages, stop_sequences=None, response_format=None, tools_to_call_from=None, **options):
            try:
                if failures:
                    raise failures[0]
                return take_turn(transcript, actor, n_open, write_messages(messages), tools_to_call_from or [])
            except Exception as error:  # smolagents would tell the manager of it as of a tool's fault
                failures.append(error)
                raise

    templates = EMPTY_PROMPT_TEMPLATES | {"system_prompt": prompt}
    templates["managed_agent"] = {"task": "{{task}}", "report": "{{final_answer}}"}
    return ToolCallingAgent(
        model=DoorModel(),
        prompt_templates=templates,
        max_steps=n_turns,
        step_callbacks=[partial(note_calls, transcript, actor, failures)],
        verbosity_level=LogLevel.OFF,
        **settings,
    )


def build_tool(transcript, event, world, failures, name):
    """Return a tool of smolagents that looks something up; what that raises is put into `failures`."""
    from smolagents import Tool

    class LookUp(Tool):
        output_type, skip_forward_signature_validation = "string", True

        def __init__(self):
            argument, self.description = TOOLS[name]
            self.name, self.inputs = name, {argument: {"type": "string", "description": argument}}
            super().__init__()

        def forward(self, **arguments):
            try:
                return call_tool(transcript, world, event, name, arguments, actor="search")
            except Exception as error:  # the web's failure, not the model's
                failures.append(error)
                raise

    return LookUp()


def note_calls(transcript, actor, failures, step):
    """Add the `tool` steps of a turn that no tool adds itself: calls of the search agent, and calls that went wrong."""
    calls = getattr(step.model_output_message, "tool_calls", None) or []
    names = [call.function.name for call in calls]
    if failures or not (step.error or "search_agent" in names):
        return
    content, error = (str(step.error), type(step.error).__name__) if step.error else (step.observations, None)
    call = {"tool": names[0], "arguments": calls[0].function.arguments} if calls else {}
    transcript.add("tool", actor=actor, content=content, error=error, **call)


def take_turn(transcript, actor, n_open, messages, tools):
    """Return an agent's next message in smolagents' form, with at most one call; after `n_open` turns it is a report.

    A local model is held to a grammar of the calls there are; others are offered the tools in their provider's way.
    """
    from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction

    n_before = sum(message["role"] == "assistant" for message in messages)
    is_last = n_before == n_open
    options = constrain_call(transcript.client, tools, is_last)
    reply = transcript.ask(messages, actor=actor, is_continued=n_before > 0, **options)
    call = read_call(reply)
    if is_last:
        report = call["arguments"].get("answer") if call else reply["content"]
        call = {"name": "final_answer", "arguments": {"answer": str(report or "Nothing to report.")}}
    content = "\n".join(filter(None, [reply["content"], dump_json(call) if reply["tool_calls"] else None]))
    calls = [ChatMessageToolCall(ChatMessageToolCallFunction(**call), "call", "function")] if call else None
    return ChatMessage("assistant", content=content, tool_calls=calls)


def read_call(reply):
    """Return the call that a reply makes as {name, arguments}, the first of several; words without one are the answer.

    None for a text that sets out as a call and is none: smolagents tells the model so.

    >>> read_call({"tool_calls": [], "content": '{"name": "search", "arguments": {"query": "rain"}}'})
    {'name': 'search', 'arguments': {'query': 'rain'}}
    >>> read_call({"tool_calls": [], "content": "Rain is likely."})
    {'name': 'final_answer', 'arguments': {'answer': 'Rain is likely.'}}
    >>> read_call({"tool_calls": [], "content": '{"name": "search"'}) is None
    True
    """
    if reply["tool_calls"]:
        first = reply["tool_calls"][0]
        return {"name": first["function"]["name"], "arguments": read_arguments(first)}
    content = reply["content"] or "Nothing to report."
    if not content.lstrip().startswith("{"):
        return {"name": "final_answer", "arguments": {"answer": content}}
    call = parse_object(content)
    if isinstance(call.get("name"), str) and isinstance(call.get("arguments"), dict):
        return {"name": call["name"], "arguments": call["arguments"]}
    return None


def constrain_call(client, tools, is_last):
    """Return the options of a request whose reply is to be a call of one of some tools, with `is_last` a report."""
    if client.is_local:
        arguments = {tool.name: next(iter(tool.inputs)) for tool in tools if not is_last or tool.name == "final_answer"}
        return {"grammar": build_call_grammar(arguments), "max_tokens": MAX_REPLY}
    if is_last:
        return {}
    texts = {"type": "string"}
    return {"tools": [write_schema(tool.name, tool.description, {next(iter(tool.inputs)): texts}) for tool in tools]}


def build_call_grammar(arguments):
    r"""Return a grammar (GBNF) whose only texts are calls in JSON; `arguments` maps tools to their one argument.

    >>> print(build_call_grammar({"search": "query"}))
    root ::= "{\"name\": \"search\", \"arguments\": {\"query\": \"" query "\"}}"
    query ::= [^"\\\x00-\x1f]{1,60}
    """
    calls = [
        quote_literal(f'{{"name": "{tool}", "arguments": {{"{argument}": "') + f" {argument} " + quote_literal('"}}')
        for tool, argument in arguments.items()
    ]
    names = dict.fromkeys(arguments.values())
    texts = [rf'{name} ::= [^"\\\x00-\x1f]{{1,{LENGTHS[name]}}}' for name in names]
    return "\n".join(["root ::= " + join_alternatives(calls), *texts])


def write_messages(messages):
    """Return smolagents' messages as providers take them: three roles, texts only, turns of one role joined.

    Its own record of a call is left out: the call stands in the turn before it, without an id.
    """
    from smolagents.models import MessageRole, get_clean_message_list, tool_role_conversions

    kept = [message for message in messages if isinstance(message, dict) or message.role != MessageRole.TOOL_CALL]
    joined = get_clean_message_list(kept, tool_role_conversions, flatten_messages_as_text=True)
    return [{"role": MessageRole(message["role"]).value, "content": message["content"]} for message in joined]


def summarize_research(steps):
    """Return what the planning study asks of a trace (4.5.2), as a dict.

    `steps`: a question's steps, as dicts or as rows of the traces table. n_tool_calls: look-ups, calls of the search
    agent and calls that went wrong; n_queries: searches; manager_think_length, search_think_length: tokens written,
    None where a provider did not count them; manager_context_length, search_context_length: the longest request with
    its reply, in tokens (0 for a search agent that was never called). Raises ValueError for a trace without a manager.

    >>> wrote = {"step_type": "model", "actor": "manager", "n_output_tokens": 5, "n_context_tokens": 9}
    >>> summarize_research([wrote, wrote, {"step_type": "tool", "tool": "search"}])["manager_think_length"]
    10
    """
    columns = ["step_type", "actor", "tool", "n_output_tokens", "n_context_tokens"]
    steps = pd.DataFrame(steps).reindex(columns=columns)
    tools, turns = steps[steps["step_type"] == "tool"], steps[steps["step_type"] == "model"]
    if "manager" not in set(turns["actor"]):
        raise ValueError("the trace holds no request of a manager; its method is not research")
    lengths = {}
    for actor in ("manager", "search"):
        own = turns[turns["actor"] == actor]
        written, context = (pd.to_numeric(own[name]) for name in ("n_output_tokens", "n_context_tokens"))
        lengths[f"{actor}_think_length"] = int(written.sum()) if written.notna().all() else None
        lengths[f"{actor}_context_length"] = int(context.max()) if len(own) else 0
    return {"n_tool_calls": len(tools), "n_queries": int((tools["tool"] == "search").sum())} | lengths
