"""What an agent may call: search the web and open a page, both as of the event's start day and through the gateway."""

from helpers.store import parse_object
from helpers.web.pages import GatewayError

N_HITS = 2
"""Passages that a search shows an agent that can search again."""


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


def search_web(transcript, world, query, as_of, *, actor=None, n=N_HITS):
    """Return what a search shows an agent, as text; adds the step with the pages seen.

    A query that was searched before is only said to be so.
    """
    again = any(step.get("arguments") == {"query": query} for step in transcript.steps)
    hits = [] if again else world.search(query, as_of, n)
    text = "\n\n".join(describe_hit(hit) for hit in hits) or "Nothing was found."
    text = "This was searched before; choose other words." if again else text
    pages = sorted({hit.page_id for hit in hits})
    transcript.add("tool", actor=actor, tool="search", arguments={"query": query}, content=text, page_ids=pages)
    return text


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
    return f"{hit.title} ({hit.url}), published {hit.published_at[:10]}:\n{hit.text}"


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
