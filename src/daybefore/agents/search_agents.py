"""Agents that think and search: what a search finds put before the question, look-ups step by step,
native tool calls.

The second of FutureX's categories (3.2.3). Every look-up is as of the event's start day, but for
closed deep research, which sees the web of today: only of events that are still open is it a
forecast.
"""

import pandas as pd

from daybefore.agents.prompted_agents import ask_directly, constrain_answer, constrain_json
from daybefore.models.failures import LlmError
from daybefore.models.grammars import STEP_GRAMMAR, make_schema
from daybefore.models.long_jobs import ask_in_background, is_chat
from daybefore.prompts import fill_final_line, fill_prompt, read_prompt
from daybefore.web.fetched_pages import GatewayError
from helpers.files import parse_object

N_CALLS, MAX_STEP = 3, 200
"""Look-ups a question where the agent's entry says nothing else, and tokens of a local model's
step: at most."""
N_FOUND, N_HITS = 3, 2
"""Passages put before a question that is asked once, and shown to an agent that can search
again."""

LOOKS = {"search": "query", "open": "address"}
"""A look-up, and its one argument."""

STEP_SCHEMA = make_schema(
    thought={"type": "string"},
    action={"type": "string", "enum": [*LOOKS, "answer"]},
    input={"type": "string"},
)
"""One turn of a step-by-step agent."""


def write_schema(name, description, properties):
    """Return a tool in the form of native tool calls; the first of its arguments (`properties`) is
    required."""
    parameters = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


SCHEMAS = [
    write_schema(
        "search",
        "Search the pages published so far; returns the passages that fit best, with addresses.",
        {"query": {"type": "string", "description": "a few key words"}},
    ),
    write_schema(
        "open",
        "Open a page by its address; returns what on it fits best to what is looked for.",
        {
            "address": {"type": "string", "description": "an address that a search showed"},
            "about": {"type": "string", "description": "what is looked for on the page"},
        },
    ),
]
"""The tools as providers of native tool calls want them."""


def search_web(transcript, world, query, as_of, *, actor=None, n=N_HITS, is_numbered=False):
    """Return what a search shows an agent, as text; adds the step with the pages seen.

    A query that was searched before is only said to be so. With `is_numbered` passages are numbered
    after those shown before. Of a search of the open web the step has the cost, and how many
    results were left out and why.
    """
    again = any(step.get("arguments") == {"query": query} for step in transcript.steps)
    hits = [] if again else world.search(query, as_of, n)
    first = 1 + count_pages(transcript.steps)
    shown = [
        f"[{at}] " * is_numbered + describe_hit(hit, as_of) for at, hit in enumerate(hits, first)
    ]
    nothing = "This was searched before; choose other words." if again else "Nothing was found."
    text = "\n\n".join(shown) or nothing
    pages = [hit.page_id for hit in hits]
    step = {"content": text, "page_ids": pages if is_numbered else sorted(set(pages))}
    if (cost := getattr(hits, "cost_usd", None)) is not None:
        transcript.usage["cost_usd"] = (transcript.usage["cost_usd"] or 0) + cost
        step["cost_usd"] = cost
    if left_out := getattr(hits, "left_out", None):
        step["error"] = "left out: " + ", ".join(
            f"{n} {why}" for why, n in sorted(left_out.items())
        )
    transcript.add("tool", actor=actor, tool="search", arguments={"query": query}, **step)
    return text


def count_pages(steps):
    """Return how many passages the steps of a transcript showed."""
    return sum(len(step.get("page_ids") or ()) for step in steps)


def open_page(transcript, world, address, as_of, *, about="", actor=None, is_numbered=False):
    """Return what an agent sees of a page, as text; adds the step. A page that cannot be had is
    said to be so."""
    number = 1 + count_pages(transcript.steps)
    step = {"error": None, "page_ids": None}
    try:
        hit = world.open(address.strip(), as_of, about)
        text = describe_hit(hit, as_of)
        step["page_ids"] = [hit.page_id]
    except GatewayError as error:
        text = f"The page cannot be opened: {error}"
        step["error"] = error.status
    arguments = {"address": address, "about": about}
    transcript.add("tool", actor=actor, tool="open", arguments=arguments, content=text, **step)
    return f"[{number}] {text}" if is_numbered and step["page_ids"] else text


def describe_hit(hit, as_of):
    """Return a passage with its page's title, address and publication date.

    Of a page that was read after `as_of`, whose date may be any until then, it is the moment at
    which it was read.
    """
    day = hit.published_at[:10] or "on an unknown day"
    if pd.Timestamp(hit.published_at) >= pd.Timestamp(as_of):
        day = f"by {hit.published_at}, when it was read"
    return f"{hit.title} ({hit.url}), published {day}:\n{hit.text}"


def call_tool(transcript, world, event, name, arguments, *, actor=None, is_numbered=False):
    """Return what a tool that was called by name shows; an unknown name or a missing argument is
    said to be so."""
    how = {"actor": actor, "is_numbered": is_numbered}
    if name == "search" and arguments.get("query"):
        return search_web(transcript, world, str(arguments["query"]), event["as_of"], **how)
    if name == "open" and arguments.get("address"):
        about = str(arguments.get("about") or event["prompt"])
        return open_page(
            transcript, world, str(arguments["address"]), event["as_of"], about=about, **how
        )
    text = "There are two tools: search, with a query, and open, with an address."
    transcript.add(
        "tool", actor=actor, tool=name, arguments=arguments, content=text, error="not a tool"
    )
    return text


def prepend_results(transcript, event, world, *, is_numbered=False):
    """Return what one search finds, by the question (or the event's `query`), as the text that
    stands before it."""
    query = event.get("query") or event["prompt"]
    found = search_web(transcript, world, query, event["as_of"], n=N_FOUND, is_numbered=is_numbered)
    return read_prompt("found_pages").format(as_of=event["as_of"], found=found)


def ask_with_pages(transcript, event, world):
    """Search once, with the question as query, and ask with what was found before it."""
    return ask_directly(transcript, event, world, prepend_results(transcript, event, world))


def count_look_ups(client):
    """Return how many look-ups an agent has a question, each a step: `max_lookups` or `max_steps`,
    else N_CALLS."""
    return client.limits.get("max_lookups") or client.limits.get("max_steps") or N_CALLS


def ask_step_by_step(transcript, event, world):
    """Let the model choose, a turn at a time, to search, to open a page or to answer (ReAct).

    Each turn is held to a schema: for a local model by a grammar, for others by the provider's
    structured output.
    """
    n_calls = count_look_ups(transcript.client)
    messages = transcript.open(fill_prompt(event) + read_prompt("look_up").format(n_calls=n_calls))
    form = constrain_json(transcript.client, "step", STEP_SCHEMA, STEP_GRAMMAR, MAX_STEP)

    def look_up(step):
        if step.get("action") in tuple(LOOKS) and isinstance(step.get("input"), str):
            return call_tool(
                transcript, world, event, step["action"], {LOOKS[step["action"]]: step["input"]}
            )

    take_turns(transcript, messages, n_calls, form, look_up)
    return ask_final_line(transcript, event, messages)


def take_turns(transcript, messages, n_turns, form, act):
    """Let a model take so many turns, each a JSON object; `act(turn)` returns what it sees, None to
    end them.

    What is no object counts as {}. `messages` gains what is said.
    """
    for _ in range(n_turns):
        reply = transcript.ask(messages, **form)
        messages.append({"role": "assistant", "content": reply["content"] or ""})
        if (seen := act(parse_object(reply["content"]))) is None:
            return
        messages.append({"role": "user", "content": seen})


def ask_final_line(transcript, event, messages, reduce=None):
    """Return the recording of the final answer that ends a conversation; `reduce` as in
    `Transcript.ask`."""
    options = constrain_answer(transcript.client, event) | (
        {"event": event, "reduce": reduce} if reduce else {}
    )
    return ask_last(transcript, messages, fill_final_line(event), **options)


def ask_last(transcript, messages, prompt, **options):
    """Return the recording of the last reply of a conversation; what was shown last stands before
    the prompt."""
    if messages[-1]["role"] == "user":
        prompt = messages.pop()["content"] + "\n\n" + prompt
    messages.append({"role": "user", "content": prompt})
    return transcript.ask(messages, **options)


def ask_with_tools(transcript, event, world):
    """Let the model call the tools in its provider's own way, until it answers without a call."""
    messages = transcript.open(fill_prompt(event))
    n_calls = count_look_ups(transcript.client)
    for n_before in range(n_calls + 1):
        last = {"tool_choice": "none"} if n_before == n_calls else {}
        reply = transcript.ask(messages, tools=SCHEMAS, **last)
        if last or not reply["tool_calls"]:
            return reply
        messages.append(
            {"role": "assistant", "content": reply["content"], "tool_calls": reply["tool_calls"]}
        )
        for call in reply["tool_calls"]:
            arguments = parse_object(call["function"]["arguments"])
            seen = call_tool(transcript, world, event, call["function"]["name"], arguments)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": seen})


def ask_deep_research(transcript, event, world):
    """Ask a deep-research model for the answer; its searches, as far as it tells them, are steps of
    the transcript.

    Perplexity's Sonar answers as a chat completion, all others as a job; OpenAI's is given its
    search, if its options name no other tools. The world is not used: what is read is the
    provider's affair. Raises LlmError as `ask_in_background` does, and for a model on this machine.
    """
    client = transcript.client
    if is_chat(client.model):
        return ask_directly(transcript, event, world)
    if client.is_local:
        raise LlmError(
            "unsupported", f"{client.model} is served here and runs no jobs in the background"
        )
    brings_tools = client.model.startswith(("gemini/", "perplexity/"))
    options = ({} if brings_tools else {"tools": [{"type": "web_search_preview"}]}) | client.options
    transcript.open(prompt := fill_prompt(event))
    given = {"sample": transcript.sample, "deadline_at": transcript.deadline_at}
    reply = ask_in_background(client.door, client.model, prompt, **given, **options)
    return transcript.keep(reply, "provider")
