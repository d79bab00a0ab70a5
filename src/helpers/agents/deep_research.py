"""Closed deep research: a provider's own agent plans, searches and writes; the question goes in, a report comes out.

The last of FutureX's categories (3.2.3). The job runs at the provider for minutes (models.polling) and searches the
web as it is today, not as of the event's start day: only for events that are still open is its forecast one.
"""

from helpers.agents.prompts import fill_prompt
from helpers.models.failures import LlmError
from helpers.models.polling import ask_in_background

TOOLS = [{"type": "web_search_preview"}]
"""What a deep-research model is given, unless an agent's options name other tools."""

PROVIDER = "provider"
"""Who acts in the steps that are the provider's own."""


def ask_deep_research(transcript, event, world):
    """Ask a deep-research model for the answer; its searches, as far as it tells them, are steps of the transcript.

    The world is not used: what is read is the provider's affair. Raises LlmError as `ask_in_background` does, and for a
    model on this machine.
    """
    client = transcript.client
    if client.is_local:
        raise LlmError("unsupported", f"{client.model} is served here and runs no jobs in the background")
    prompt = fill_prompt(event)
    transcript.add("prompt", content=prompt)
    options = {"tools": TOOLS} | client.options
    given = {"sample": transcript.sample, "deadline_at": transcript.deadline_at}
    reply = ask_in_background(client.door, client.model, prompt, **given, **options)
    for query in reply["queries"]:
        transcript.add("tool", actor=PROVIDER, tool="search", arguments={"query": query})
    return transcript.keep(reply, PROVIDER)
