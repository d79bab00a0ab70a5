"""What a plan causes: the same events put to the same short agent under plans that are chosen for
it (FutureX 4.5.2).

Only the plan differs: none, the agent's own, one written by rule from the event's source, one that
could stand over any question, and one that states an answer.
"""

import itertools
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import NamedTuple

import pandas as pd

from daybefore.agents.prompted_agents import (
    Transcript,
    constrain_answer,
    constrain_json,
    forecast,
    make_consult,
)
from daybefore.agents.recorded_runs import select_events
from daybefore.agents.registry import check_entry, find_agent, open_agent
from daybefore.agents.search_agents import search_web
from daybefore.models.grammars import make_schema
from daybefore.prompts import fill_final_line, list_options, read_prompt, split_question
from helpers import papers
from helpers.agreement import READINGS
from helpers.files import dump_json, hash_text, parse_json, parse_object
from helpers.paired import score
from helpers.scores import build_matrix, select_headline
from studies.futurex.plan_scores import judge_plans, list_plans

RUN_ID = "08_planning"
ABOUT = "a short agent under chosen plans"
ARMS = ("none", "own", "good", "vague", "answer")
"""The plans: none, the model's own, by rule from the source, words that fit any question, one that
states an answer."""
LEVELS = papers.get_constant("futurex", "planning_levels")
"""The events that the paper's planning study takes."""
MAX_PLAN, MAX_QUERY, N_FOUND = 700, 60, 2
"""Longest plan (which no grammar bounds) and query, in tokens; passages that the one search
shows."""

QUERY_SCHEMA = make_schema(query={"type": "string"})
QUERY_GRAMMAR = r"""root ::= "{\"query\": \"" text "\"}"
text ::= [^"\\\n] [^"\\\n]{0,99}"""
"""The request for a search's words; of a local model at most 100 characters."""


class Planner(NamedTuple):
    """Who writes a plan: an agent's model, which None leaves to the one that works by it, and the
    prompt for it."""

    agent: str | None = None
    prompt: str = "plan_write"


PLANNERS = {
    "own": Planner(),
    "sourced": Planner(prompt="plan_sources"),
    "small": Planner("smollm2_zero_shot"),
}
"""Free planners: the agent's own plan, the same told to name its sources, and one by a model of a
tenth of its size."""


@contextmanager
def open_bench(
    agent="qwen_zero_shot", *, others=(), run_id=RUN_ID, about=ABOUT, live=False, minutes=None
):
    """Yield a study's clients by agent, `agent` and the `others`, each once; as
    `registry.open_agent`.

    One of the others whose model cannot be asked answers from recordings alone.
    """
    with ExitStack() as stack:
        clients = {}
        for name in dict.fromkeys([agent, *others]):
            is_open = live and (name == agent or check_entry(find_agent(name)) is None)
            opened = open_agent(name, run_id, live=is_open, minutes=minutes, about=about)
            clients[name] = stack.enter_context(opened)
        yield clients


def choose_events(events, n):
    """Return the first `n` events of levels 1 and 2 (None: all) in the order in which all recorded
    arms take them."""
    return select_events({"levels": LEVELS} | ({"n": n} if n else {}), events)


def choose_answer(event):
    """Return the answer that the answer-giving plan states, a letter: drawn by the event's name,
    not by its outcome."""
    letters = sorted(parse_json(event["options"]))
    return letters[int(hash_text(event["event_id"], 8), 16) % len(letters)]


def write_plan_for(arm, event, source):
    """Return the plan that an arm gives an event, None for the arms without a given one. `source`:
    of the registry."""
    if arm not in ("good", "vague", "answer"):
        return None
    variables = parse_json(event["variables"])
    letter = choose_answer(event)
    about = source.variables.get(variables["variable"], {"label": variables["variable"]})
    plan = read_prompt(f"plan_{arm}").format(
        page=f"{source.name} ({source.address})",
        subject=" ".join(filter(None, [variables.get("entity"), about["label"]])),
        variable=f"{about['label']} ({about.get('unit') or 'a number'})",
        date=variables["date"],
        as_of=event["as_of"],
        answer=f"{letter} ({parse_json(event['options'])[letter]})",
    )
    return plan.strip()


def ask_by_plan(plan, writer, transcript, event, world):
    """Take a plan, ask for a query, search once and ask for the answer; returns the answer's
    recording.

    The plan is a step of its own; a `writer` (client, prompt) is first asked to write one (actor
    `planner`). All requests show the question with its options and how it is decided.
    """
    decided = f"How it is decided: {event['resolution_criteria']}"
    question = "\n".join([split_question(event), *list_options(event), decided])
    blanks = {"as_of": event["as_of"], "question": question}
    if writer:
        client, prompt = writer
        asked = [{"role": "user", "content": read_prompt(prompt).format(**blanks)}]
        reply = Transcript(client, transcript.sample).ask(asked, max_tokens=MAX_PLAN)
        transcript.keep(reply, "planner")
        plan = reply["content"]
    if plan:
        transcript.add("plan", content=plan)
    given = read_prompt("plan_given").format(plan=plan) if plan else ""
    messages = [{"role": "user", "content": read_prompt("plan_query").format(plan=given, **blanks)}]
    form = constrain_json(transcript.client, "query", QUERY_SCHEMA, QUERY_GRAMMAR, MAX_QUERY)
    query = transcript.ask(messages, actor="search", **form)["content"] or ""
    words = str(parse_object(query).get("query") or event["prompt"])
    found = search_web(transcript, world, words, event["as_of"], n=N_FOUND)
    request = read_prompt("plan_found").format(found=found, final_line=fill_final_line(event))
    messages += [{"role": "assistant", "content": query}, {"role": "user", "content": request}]
    return transcript.ask(messages, **constrain_answer(transcript.client, event))


def ask_recorded(ask, *arguments):
    """Return an agent's outcome; one of status "missing" where its replies are not recorded."""
    try:
        return ask(*arguments)
    except LookupError as error:
        if type(error) is not LookupError:  # a KeyError is a fault, not a recording that is absent
            raise
        return {"prediction": {"value": None}, "status": "missing", "trace": []}


def run_trials(client, events, sources, world, arms=ARMS, writers=None):
    """Return a row a trial, every arm on every event: event_id, arm, status, value, and what the
    trial was made of.

    `writers`: who writes the plan of an arm that has none given, (client, prompt) by arm; by
    default the agent its own. stated (the letter of the answer-giving plan), plan, and `WORK` of
    `plan_scores`. A trial whose replies are not recorded has the status "missing".
    """
    writers = writers or {"own": (client, "plan_write")}
    rows = []
    for event, arm in itertools.product(events.to_dict("records"), arms):
        plan = write_plan_for(arm, event, sources[event["source_id"]])
        answer = partial(ask_by_plan, plan, writers.get(arm))
        outcome = ask_recorded(forecast, answer, client, event, world)
        prediction = outcome["prediction"]
        trace = outcome["trace"]
        steps = {(step["step_type"], step.get("actor")): step for step in reversed(trace)}
        planned, searched = (
            steps.get(("model", actor), {}).get("n_output_tokens")
            for actor in ("planner", "search")
        )
        rows.append(
            {
                "event_id": event["event_id"],
                "arm": arm,
                "stated": choose_answer(event),
                "status": outcome.get("status") or prediction.get("status", "ok"),
                "value": prediction["value"],
                "plan": steps.get(("plan", None), {}).get("content"),
                "manager_think_length": planned,
                "search_think_length": searched,
                "n_tool_calls": sum(step["step_type"] == "tool" for step in trace),
            }
        )
    return pd.DataFrame(rows)


def run_planners(
    clients, agent, judge, events, sources, world, planners=PLANNERS, n_judged=None, n_again=10
):
    """Put free planners to events and a judge to their plans, event by event; returns (trials,
    plans, judgements).

    `agent` works by every plan; `judge` is an agent's name, too. The plans of the first `n_judged`
    events (None: all) are judged, those of the first `n_again` in all of `agreement.READINGS`.
    Raises LookupError when no event has all its trials.
    """
    consult = make_consult(clients[judge])
    known_as = find_agent(judge)["model"]
    writers = {name: (clients[who.agent or agent], who.prompt) for name, who in planners.items()}
    names = [find_agent(who.agent or agent)["model"] for who in planners.values()]
    trials = []
    judgements = []
    for at in range(len(events)):
        event = events.iloc[[at]]
        done = run_trials(clients[agent], event, sources, world, tuple(planners), writers)
        trials.append(done)
        is_judged = (n_judged is None or at < n_judged) and not done["status"].eq("missing").any()
        plans = list_plans(done if is_judged else done[:0], event, names)
        readings = READINGS if at < n_again else READINGS[:1]
        judgements.append(judge_plans(plans, consult, known_as, readings))
    trials = keep_complete(pd.concat(trials, ignore_index=True))
    return trials, list_plans(trials, events, names), pd.concat(judgements, ignore_index=True)


def keep_complete(trials):
    """Return the trials of the events that have all their replies. Raises LookupError, with the
    command, for none."""
    missing = trials.loc[trials["status"] == "missing", "event_id"]
    kept = trials[~trials["event_id"].isin(missing)].reset_index(drop=True)
    if kept.empty:
        raise LookupError(
            f"no event has all its replies; `make study NOTEBOOK={RUN_ID} MINUTES=60` records some"
        )
    return kept


def score_trials(trials, events, answers):
    """Return the scores of trials (FutureX 3.4.3), a missing forecast as 0: a row an event, a
    column an arm."""
    known = events[events["event_id"].isin(trials["event_id"])]
    values = trials["value"].map(dump_json, na_action="ignore")
    given = trials[["event_id", "status"]].assign(agent_id=trials["arm"], value=values)
    scored = select_headline(score(known, answers, given), known)
    matrix = build_matrix(scored, sorted(trials["arm"].unique()), "score_imputed")
    return matrix.rename_axis(columns=None)
