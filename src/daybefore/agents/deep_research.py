"""Open deep research: a manager that plans and sends out a search agent, or a team of three
(FutureX 3.2.3, 4.5.2).

All make one call a turn, in conversations of their own: the turns of smolagents' tool-calling
agents, in its words, since recorded replies answer these. Every look-up is as of the event's start
day.
"""

from jsonschema import Draft202012Validator

from daybefore.agents.prompted_agents import constrain_answer, constrain_json
from daybefore.agents.search_agents import call_tool, write_schema
from daybefore.models.grammars import make_schema, quote_literal
from daybefore.prompts import fill_final_line, fill_prompt, read_prompt
from helpers.files import dump_json, parse_object

N_CALLS, N_TEAM_CALLS = 3, 6
"""Calls of the manager a question, and of the team's, at most (an agent's `max_steps`)."""

N_LOOK_UPS, N_TEAM_LOOK_UPS = 2, 3
"""Searches and opened pages a call of the search agent, and of the researcher, at most
(`max_lookups`)."""

MAX_REPLY = 600
"""Longest reply of a local model before its answer, in tokens; its grammar ends it long before."""

FINAL = {"final_answer": ("answer", "Provides a final answer to the given problem.")}
TOOLS = {
    "search": (
        "query",
        "Search the pages published so far; returns the passages that fit best, with addresses.",
    ),
    "open": ("address", "Open a page by an address that a search showed."),
} | FINAL
"""What the search agent may call: a tool's one argument and what the tool does."""

HELPERS = FINAL | {"search_agent": ("task", "Searches the web and reports what it finds.")}
TEAM = FINAL | {
    "planner": ("task", "Breaks the question into steps, or mends the plan after what was found."),
    "researcher": ("task", "Searches the web and reports what it finds; it knows only its task."),
    "analyst": ("task", "Weighs or computes from what was found; looks nothing up."),
}
"""What the manager may call, and the team's."""

TASK = "New task:\n{}"
SEEN = "Observation:\n{}"
NOTHING = "Nothing to report."
WRONG = (
    "Error:\n{}\nNow let's retry: take care not to repeat previous errors! If you have retried several times, try a "
    "completely different approach.\n"
)
"""What is said to an agent: its task, what a call brought, and what is wrong with one."""

LENGTHS = {"query": 60, "address": 120, "task": 100, "answer": 160}
"""Longest argument of a local model's call, in characters."""

PLAN_SCHEMA = make_schema(
    facts_given={"type": "string"},
    facts_to_look_up={"type": "string"},
    facts_to_derive={"type": "string"},
    plan={"type": "array", "items": {"type": "string"}},
)
PLAN_GRAMMAR = r"""root ::= "{\"facts_given\": " fact ", \"facts_to_look_up\": " fact derived plan "}"
derived ::= ", \"facts_to_derive\": " fact
plan ::= ", \"plan\": [" step (", " step){1,4} "]"
fact ::= "\"" fact-text "\""
step ::= "\"" step-text "\""
fact-text ::= [ !#-[\]-~\u00a1-\u024f]{1,100}
step-text ::= [ !#-[\]-~\u00a1-\u024f]{1,60}"""
"""The manager's survey of facts and its plan; of a local model facts of at most 100 characters, two
to five steps."""


def ask_with_research(transcript, event, world):
    """Let a manager survey the facts and plan, send its search agent out, and answer; returns the
    answer's recording.

    The survey with the plan is a step of its own, `plan`; what the manager asks of the search agent
    is a `tool` step. Raises what a request or a look-up raises, LlmError above all.
    """
    client = transcript.client
    n_calls = client.limits.get("max_steps", N_CALLS)
    n_look_ups = client.limits.get("max_lookups", N_LOOK_UPS)
    blanks = {"as_of": event["as_of"], "n_look_ups": n_look_ups}
    transcript.open(prompt := fill_prompt(event) + read_prompt("research_survey"))
    talk = open_talk("research_manager", blanks, prompt)
    form = constrain_json(client, "plan", PLAN_SCHEMA, PLAN_GRAMMAR, MAX_REPLY)
    content = transcript.ask(talk, actor="manager", **form)["content"] or ""
    plan = parse_object(content)
    wanted = plan.get("facts_to_look_up")
    error = None
    if not Draft202012Validator(PLAN_SCHEMA).is_valid(plan):
        wanted = "what your survey says"
        error = "not a survey of facts with a plan"
    transcript.add("plan", actor="manager", content=content, error=error)
    proceed = "Now proceed and carry out this plan."
    start = read_prompt("research_start").format(n_calls=n_calls, wanted=wanted)
    talk += [write("assistant", content.strip()), write("user", f"{proceed}\n{TASK.format(start)}")]

    def send_out(name, task):
        asked = open_talk("research_search", blanks, task)
        return look_things_up(transcript, event, world, "search", asked, n_look_ups)

    return lead(transcript, event, talk, HELPERS, n_calls, send_out)


def ask_with_orchestra(transcript, event, world):
    """Let a manager send out a planner, a researcher and an analyst, in AgentOrchestra's shape, and
    answer.

    The planner and the analyst know the question and all reports so far and look nothing up; the
    researcher knows its task alone. Returns and raises as `ask_with_research`; the `tool` step of a
    call stands after the agent's own.
    """
    client = transcript.client
    notes = []
    n_calls = client.limits.get("max_steps", N_TEAM_CALLS)
    n_look_ups = client.limits.get("max_lookups", N_TEAM_LOOK_UPS)
    blanks = {"as_of": event["as_of"], "n_calls": n_calls, "n_look_ups": n_look_ups}
    (question,) = transcript.open(fill_prompt(event))

    def send_out(name, task):
        if name == "researcher":
            talk = open_talk("orchestra_researcher", blanks, task)
            report = look_things_up(transcript, event, world, name, talk, n_look_ups)
        else:
            known = "\n\n".join([question["content"], *notes, f"Your task: {task}"])
            short = {"max_tokens": MAX_REPLY} if client.is_local else {}
            talk = open_talk(f"orchestra_{name}", blanks, known)
            report = transcript.ask(talk, actor=name, **short)["content"] or NOTHING
        notes.append(f"The {name} was asked: {task}\nIt reported: {report}")
        return report

    talk = open_talk("orchestra_manager", blanks, question["content"])
    return lead(transcript, event, talk, TEAM, n_calls, send_out)


def lead(transcript, event, talk, tools, n_calls, send_out):
    """Let a manager send out its agents, by `send_out(name, task)`; returns its answer's
    recording."""
    take_turns(transcript, "manager", talk, tools, n_calls, send_out)
    talk[-1] = write("user", f"{talk[-1]['content']}\n{fill_final_line(event)}")
    return transcript.ask(talk, actor="manager", **constrain_answer(transcript.client, event))


def look_things_up(transcript, event, world, actor, talk, n_look_ups):
    """Let an agent search and open pages so many times, and return its report."""

    def look_up(name, argument):
        return call_tool(transcript, world, event, name, {TOOLS[name][0]: argument}, actor=actor)

    return take_turns(transcript, actor, talk, TOOLS, n_look_ups + 1, look_up)


def write(role, content):
    """Return a message."""
    return {"role": role, "content": content}


def open_talk(name, blanks, task):
    """Return the beginning of an agent's conversation: its prompt, and its task."""
    prompt = read_prompt(name).format(**blanks).removesuffix("\n")
    return [write("system", prompt), write("user", TASK.format(task))]


def take_turns(transcript, actor, talk, tools, n_turns, run):
    """Let an agent make a call a turn, by `run(name, argument)`, until its final answer, and return
    that.

    A local model is held to a grammar of the calls there are; others are offered the tools in their
    provider's way. Of all but the manager the last turn is a report. What is said is added to
    `talk`; of the calls those that went wrong, and the manager's of its agents, are `tool` steps.
    """
    is_manager = actor == "manager"
    is_local = transcript.client.is_local
    offered = [
        write_schema(name, does, {argument: {"type": "string"}})
        for name, (argument, does) in tools.items()
    ]
    for n_left in reversed(range(n_turns)):
        is_last = not (is_manager or n_left)
        form = {} if is_last else {"tools": offered}
        if is_local:
            form = {
                "grammar": build_call_grammar(FINAL if is_last else tools),
                "max_tokens": MAX_REPLY,
            }
        reply = transcript.ask(talk, actor=actor, **form)
        call = read_call(reply)
        if is_last:
            report = call["arguments"].get("answer") if call else reply["content"]
            call = {"name": "final_answer", "arguments": {"answer": str(report or NOTHING)}}
        said = [reply["content"], dump_json(call) if reply["tool_calls"] else None]
        talk.append(write("assistant", "\n".join(filter(None, said)).strip()))
        fault = find_fault(call, tools)
        name = call and call["name"]
        is_final = name == "final_answer" and not fault
        argument = None if fault else str(call["arguments"][tools[name][0]])
        seen = fault or (argument if is_final else run(name, argument)).strip()
        if fault or (is_manager and not is_final):
            step = {"tool": name, "arguments": call["arguments"]} if call else {}
            transcript.add("tool", actor=actor, content=seen, error=fault and "not a call", **step)
        talk.append(write("user", (WRONG if fault else SEEN).format(seen)))
        if is_final:
            return argument
    return ""


def find_fault(call, tools):
    """Return what is wrong with a call, None where it can be made."""
    if call is None:
        return (
            "Error while parsing tool call from model output: it is no JSON object with one call."
        )
    if call["name"] not in tools:
        return f"Unknown tool {call['name']}, should be one of: {', '.join(tools)}."
    wanted = tools[call["name"]][0]
    if wrong := sorted(set(call["arguments"]) - {wanted}):
        return f"Argument {wrong[0]} is not in the tool's input schema"
    return None if wanted in call["arguments"] else f"Argument {wanted} is required"


def read_call(reply):
    """Return the call that a reply makes as {name, arguments}, the first of several; words without
    one are the answer.

    None for a text that sets out as a call and is none: the model is told so.

    >>> read_call({"tool_calls": [], "content": '{"name": "search", "arguments": {"query": "rain"}}'})
    {'name': 'search', 'arguments': {'query': 'rain'}}
    >>> read_call({"tool_calls": [], "content": "Rain is likely."})
    {'name': 'final_answer', 'arguments': {'answer': 'Rain is likely.'}}
    >>> read_call({"tool_calls": [], "content": '{"name": "search"'}) is None
    True
    """
    if reply["tool_calls"]:
        first = reply["tool_calls"][0]["function"]
        return {"name": first["name"], "arguments": parse_object(first["arguments"])}
    content = reply["content"] or NOTHING
    if not content.lstrip().startswith("{"):
        return {"name": "final_answer", "arguments": {"answer": content}}
    call = parse_object(content)
    is_call = isinstance(call.get("name"), str) and isinstance(call.get("arguments"), dict)
    return {"name": call["name"], "arguments": call["arguments"]} if is_call else None


def build_call_grammar(tools):
    r"""Return a grammar (GBNF) whose only texts are calls in JSON; `tools` maps names to (argument,
    what it does).

    >>> print(build_call_grammar({"search": ("query", "Search.")}))
    root ::= "{\"name\": \"search\", \"arguments\": {\"query\": \"" query "\"}}"
    query ::= [^"\\\x00-\x1f]{1,60}
    """
    calls = [
        quote_literal(f'{{"name": "{tool}", "arguments": {{"{argument}": "')
        + f" {argument} "
        + quote_literal('"}}')
        for tool, (argument, _) in tools.items()
    ]
    names = dict.fromkeys(argument for argument, _ in tools.values())
    texts = [rf'{name} ::= [^"\\\x00-\x1f]{{1,{LENGTHS[name]}}}' for name in names]
    return "\n".join(["root ::= " + " | ".join(calls), *texts])
