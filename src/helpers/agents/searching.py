"""Agents that think and search: what a search finds put before the question, look-ups step by step, native tool calls.

The second of FutureX's categories (3.2.3). Every look-up is as of the event's start day, but for closed deep research:
a provider's own agent searches the web as it is today, so only for events that are still open is its forecast one.
"""

from helpers.agents.prompted import ask_directly, constrain_answer, constrain_json
from helpers.agents.prompts import fill_final_line, fill_prompt
from helpers.models.failures import LlmError
from helpers.models.grammars import STEP_GRAMMAR, make_schema
from helpers.models.polling import ask_in_background, is_chat
from helpers.prompts import read_prompt
from helpers.store import parse_object
from helpers.web.pages import GatewayError

N_CALLS = 3
"""Look-ups a question, at most, where the agent's entry says nothing else."""
N_FOUND = 3
"""Passages put before a question that is asked once."""
MAX_STEP = 200
"""Longest step of a local model, in tokens."""

STEP_SCHEMA = make_schema(
    thought={"type": "string"},
    action={"type": "string", "enum": ["search", "open", "answer"]},
    input={"type": "string"},
)
"""One turn of a step-by-step agent."""

PROVIDERS_TOOLS = [{"type": "web_search_preview"}]
"""What a deep-research model is given, unless an agent's options name other tools."""
OWN_TOOLS = ("gemini/", "perplexity/")
"""How those begin that bring their tools."""

# --- tools -----------------------------------------------------------------------------------------------------------

N_HITS = 2
"""Passages that a search shows an agent that can search again."""
AGAIN = "This was searched before; choose other words."


def write_schema(name, description, properties):
    """Return a tool in the form of native tool calls; the first of its arguments (`properties`) is required."""
    parameters = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


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

    A query that was searched before is only said to be so. With `is_numbered` passages are numbered after those shown
    before. Of a search of the open web the step has the cost, and how many results were left out and why.
    """
    again = any(step.get("arguments") == {"query": query} for step in transcript.steps)
    hits, first = [] if again else world.search(query, as_of, n), 1 + count_pages(transcript.steps)
    shown = [f"[{at}] " * is_numbered + describe_hit(hit) for at, hit in enumerate(hits, first)]
    text = AGAIN if again else "\n\n".join(shown) or "Nothing was found."
    pages = [hit.page_id for hit in hits]  # as numbered, a page twice where two of its passages are
    step = {"content": text, "page_ids": pages if is_numbered else sorted(set(pages))}
    if (cost := getattr(hits, "cost_usd", None)) is not None:
        transcript.usage["cost_usd"] = (transcript.usage["cost_usd"] or 0) + cost
        step["cost_usd"] = cost
    if left_out := getattr(hits, "left_out", None):
        step["error"] = "left out: " + ", ".join(f"{n} {why}" for why, n in sorted(left_out.items()))
    transcript.add("tool", actor=actor, tool="search", arguments={"query": query}, **step)
    return text


def count_pages(steps):
    """Return how many passages the steps of a transcript showed."""
    return sum(len(step.get("page_ids") or ()) for step in steps)


def open_page(transcript, world, address, as_of, *, about="", actor=None):
    """Return what an agent sees of a page, as text; adds the step. A page that cannot be had is said to be so."""
    found = {"error": None, "page_ids": None}
    try:
        hit = world.open(address.strip(), as_of, about)
        text, found["page_ids"] = describe_hit(hit), [hit.page_id]
    except GatewayError as error:
        text, found["error"] = f"The page cannot be opened: {error}", error.status
    arguments = {"address": address, "about": about}
    transcript.add("tool", actor=actor, tool="open", arguments=arguments, content=text, **found)
    return text


def describe_hit(hit):
    """Return a passage with its page's title, address and publication date."""
    return f"{hit.title} ({hit.url}), published {hit.published_at[:10] or 'on an unknown day'}:\n{hit.text}"


def call_tool(transcript, world, event, name, arguments, *, actor=None):
    """Return what a tool that was called by name shows; an unknown name or a missing argument is said to be so."""
    if name == "search" and arguments.get("query"):
        return search_web(transcript, world, str(arguments["query"]), event["as_of"], actor=actor)
    if name == "open" and arguments.get("address"):
        about = str(arguments.get("about") or event["prompt"])
        return open_page(transcript, world, str(arguments["address"]), event["as_of"], about=about, actor=actor)
    text = "There are two tools: search, with a query, and open, with an address."
    transcript.add("tool", actor=actor, tool=name, arguments=arguments, content=text, error="not a tool")
    return text


def read_arguments(call):
    """Return a tool call's arguments as a dict, {} when they are no JSON object."""
    return parse_object(call["function"]["arguments"])


# --- methods ---------------------------------------------------------------------------------------------------------


def ask_with_pages(transcript, event, world):
    """Search once, with the question as query (or the event's `query`), and ask with what was found before it."""
    found = search_web(transcript, world, event.get("query") or event["prompt"], event["as_of"], n=N_FOUND)
    before = read_prompt("found_pages").format(as_of=event["as_of"], found=found)
    return ask_directly(transcript, event, world, before)


def ask_step_by_step(transcript, event, world):
    """Let the model choose, a turn at a time, to search, to open a page or to answer (ReAct).

    Each turn is held to a schema: for a local model by a grammar, for others by the provider's structured output.
    """
    n_calls = count_look_ups(transcript.client)
    messages = transcript.open(fill_prompt(event) + read_prompt("look_up").format(n_calls=n_calls))
    form = constrain_json(transcript.client, "step", STEP_SCHEMA, STEP_GRAMMAR, MAX_STEP)
    for n_before in range(n_calls):
        reply = transcript.ask(messages, is_continued=n_before > 0, **form)
        messages.append({"role": "assistant", "content": reply["content"] or ""})
        step = parse_object(reply["content"])  # what is no step counts as the wish to answer
        if step.get("action") not in ("search", "open") or not isinstance(step.get("input"), str):
            break
        name = "address" if step["action"] == "open" else "query"
        seen = call_tool(transcript, world, event, step["action"], {name: step["input"]})
        messages.append({"role": "user", "content": seen})
    return ask_final_line(transcript, event, messages)


def count_look_ups(client):
    """Return how many look-ups an agent has a question, each a step: `max_lookups` or `max_steps`, else N_CALLS."""
    return client.limits.get("max_lookups") or client.limits.get("max_steps") or N_CALLS


def ask_final_line(transcript, event, messages, reduce=None):
    """Return the recording of the final answer that ends a conversation; `reduce` as in `Transcript.ask`."""
    options = constrain_answer(transcript.client, event) | ({"event": event, "reduce": reduce} if reduce else {})
    return ask_last(transcript, messages, fill_final_line(event), **options)


def ask_last(transcript, messages, prompt, **options):
    """Return the recording of the last reply of a conversation; what was shown last stands before the prompt."""
    if messages[-1]["role"] == "user":
        prompt = messages.pop()["content"] + "\n\n" + prompt
    messages.append({"role": "user", "content": prompt})
    return transcript.ask(messages, is_continued=True, **options)


def ask_with_tools(transcript, event, world):
    """Let the model call the tools in its provider's own way, until it answers without a call."""
    messages, n_calls = transcript.open(fill_prompt(event)), count_look_ups(transcript.client)
    for n_before in range(n_calls + 1):
        options = {"tools": SCHEMAS} if n_before < n_calls else {"tools": SCHEMAS, "tool_choice": "none"}
        reply = transcript.ask(messages, is_continued=n_before > 0, **options)
        if not reply["tool_calls"] or n_before == n_calls:
            return reply
        messages.append({"role": "assistant", "content": reply["content"], "tool_calls": reply["tool_calls"]})
        for call in reply["tool_calls"]:
            seen = call_tool(transcript, world, event, call["function"]["name"], read_arguments(call))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": seen})


def ask_deep_research(transcript, event, world):
    """Ask a deep-research model for the answer; its searches, as far as it tells them, are steps of the transcript.

    Perplexity's Sonar answers as a chat completion, all others as a job. The world is not used: what is read is the
    provider's affair. Raises LlmError as `ask_in_background` does, and for a model on this machine.
    """
    client = transcript.client
    if is_chat(client.model):
        return ask_directly(transcript, event, world)
    if client.is_local:
        raise LlmError("unsupported", f"{client.model} is served here and runs no jobs in the background")
    prompt = fill_prompt(event)
    transcript.add("prompt", content=prompt)
    options = ({} if client.model.startswith(OWN_TOOLS) else {"tools": PROVIDERS_TOOLS}) | client.options
    given = {"sample": transcript.sample, "deadline_at": transcript.deadline_at}
    return transcript.keep(ask_in_background(client.door, client.model, prompt, **given, **options), "provider")
