"""Open deep research in AgentOrchestra's shape: a manager with a planner, a researcher and an analyst (FutureX 3.2.3).

The manager calls one of them a turn and reads its report, by the turns of `research`. The planner and the analyst know
the question and all reports so far and look nothing up; the researcher knows its task alone, and searches and opens
pages as of the event's start day.
"""

from helpers.agents.prompts import fill_prompt
from helpers.agents.research import FINAL, MAX_REPLY, conclude, look_things_up, open_talk, take_turns

N_CALLS = 6
"""Calls of the manager a question, at most; an agent's `max_steps`."""
N_LOOK_UPS = 3
"""Searches and opened pages a call of the researcher, at most; then it reports. An agent's `max_lookups`."""

TEAM = FINAL | {
    "planner": ("task", "Breaks the question into steps, or mends the plan after what was found."),
    "researcher": ("task", "Searches the web and reports what it finds; it knows only its task."),
    "analyst": ("task", "Weighs or computes from what was found; looks nothing up."),
}
"""What the manager may call."""


def ask_with_orchestra(transcript, event, world):
    """Let a manager send its three agents out, and answer; returns the answer's recording.

    What the manager asks of an agent is a `tool` step of its own, after the agent's steps. Raises what a request or a
    look-up raises, LlmError above all.
    """
    client, notes = transcript.client, []
    n_calls = client.limits.get("max_steps", N_CALLS)
    n_look_ups = client.limits.get("max_lookups", N_LOOK_UPS)
    blanks = {"as_of": event["as_of"], "n_calls": n_calls, "n_look_ups": n_look_ups}
    prompt = fill_prompt(event)
    transcript.add("prompt", content=prompt)

    def send_out(name, task):
        known = task if name == "researcher" else "\n\n".join([prompt, *notes, f"Your task: {task}"])
        talk = open_talk(f"orchestra_{name}", blanks, known)
        if name == "researcher":
            report = look_things_up(transcript, event, world, name, talk, n_look_ups)
        else:
            short = {"max_tokens": MAX_REPLY} if client.is_local else {}
            report = transcript.ask(talk, actor=name, **short)["content"] or "Nothing to report."
        notes.append(f"The {name} was asked: {task}\nIt reported: {report}")
        return report

    talk = open_talk("orchestra_manager", blanks, prompt)
    take_turns(transcript, "manager", talk, TEAM, n_calls, send_out)
    return conclude(transcript, event, talk)
