"""Agents that submit a small causal graph beside their answer, after a search or none
(WorldReasoner 3.1, 5.1).

A submission is one JSON object: events with their impact on the outcome, edges between them, a
rationale, sources, the answer and its probability. Here its form is checked; what of a graph may
stand is for its scores to say (`studies.worldreasoner.submissions`).
"""

import re

from jsonschema import Draft202012Validator

from daybefore.agents.prompted_agents import constrain_json, forecast, keep_values
from daybefore.agents.search_agents import (
    LOOKS,
    MAX_STEP,
    ask_last,
    call_tool,
    count_pages,
    prepend_results,
    take_turns,
)
from daybefore.models.grammars import (
    build_grammar,
    demand_json,
    make_schema,
    quote_literal,
    write_stated,
)
from daybefore.prompts import count_places, find_stated, list_blanks, read_prompt
from daybefore.replies.read_probabilities import settle_stated
from helpers.clock import MONTHS
from helpers.files import clean_value, dump_json, hash_text, parse_json, parse_object
from helpers.papers import get_constant

DIRECTIONS = ("Positive", "Negative", "Neutral", "Mixed")
RELATIONS = ("Causes", "Enables", "Prevents", "Inhibits", "Amplifies", "Triggers", "Correlates")
"""The paper's words for an impact and an edge (B.1)."""

N_EVENTS, N_LOCAL = 10, 3
"""Events asked for, at most, and of a local model, since it writes a few tokens a second."""
N_TURNS, MAX_SUBMISSION = 25, 400
"""Turns where an entry has no `max_steps`; tokens of a local model's submission, which its grammar
ends before."""

TOWARDS = {"number": "a larger number", "percent": "a larger number", "date": "a later day"}
"""What a Positive event makes more likely, by kind; of yes or no it is Yes, of other options the
answer given."""

PLAIN = {*get_constant("worldreasoner", "stop_words"), *MONTHS, "yes"}
"""Words that stand as they are where texts are kept as digests (`hash_words`)."""

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer", "minimum": 0}
_SHARE, _SIGNED = ({"type": "number", "minimum": least, "maximum": 1} for least in (0, -1))
EVENT = make_schema(
    title=_TEXT,
    date=_TEXT,
    direction={"enum": list(DIRECTIONS)},
    magnitude=_SHARE,
    confidence=_SHARE,
)
_EDGE = {
    "cause": _NUMBER,
    "effect": _NUMBER,
    "relation": {"enum": list(RELATIONS)},
    "strength": _SIGNED,
}
SCHEMA = make_schema(
    events={"type": "array", "items": EVENT},
    edges={"type": "array", "items": make_schema(**_EDGE, confidence=_SHARE)},
    rationale=_TEXT,
    sources={"type": "array", "items": _NUMBER},
    answer=_TEXT,
    probability=_SHARE,
)
"""The form of a submission. Edges name events by number from 1, 0 is the outcome; sources number
what was shown."""

DISTRIBUTION = {
    "distribution": {
        "type": "array",
        "items": make_schema(**{"of": _TEXT, "is": {"type": "number"}}),
    }
}
"""Probabilities of the options, or quantiles of a number, of an agent that is asked for them in
words."""

READ = SCHEMA | {"properties": SCHEMA["properties"] | DISTRIBUTION}
"""What is read: `distribution` may stand in a submission."""

ROOTS = {
    True: r'root ::= "{\"events\":[" event "," event ("," event)? "],\"edges\":[" edge ("," edge)? "]" rest',
    False: r'root ::= "{\"edges\":[" edge ("," edge)? "]" rest',
}
REST = r'rest ::= ",\"rationale\":\"" text "\",\"sources\":[" sources "],\"answer\":\"" answer "\",\"probability\":" '
RULES = r"""event ::= "{\"title\":\"" title "\",\"date\":\"" date "\",\"direction\":\"" direction "\"" weight sure
edge ::= "{\"cause\":" [1-3] ",\"effect\":" [0-3] ",\"relation\":\"" relation "\",\"strength\":" strength sure
weight ::= ",\"magnitude\":" share
sure ::= ",\"confidence\":" share "}"
share ::= "0." [0-9] | "1.0"
strength ::= "-"? share
date ::= "20" [0-9] [0-9] "-" [0-1] [0-9] "-" [0-3] [0-9]
title ::= [ !#-\[\]-~\u00a1-\u024f]{3,48}
text ::= [ !#-\[\]-~\u00a1-\u024f]{3,90}"""
RULES += "\ndirection ::= " + " | ".join(map(quote_literal, DIRECTIONS))
RULES += "\nrelation ::= " + " | ".join(map(quote_literal, RELATIONS))
"""The same for a local model, without spaces: two or three events, or none, one or two edges, short
texts."""

TURN = r"""root ::= "{\"thought\":\"" text "\",\"action\":" turn "}"
look ::= ("\"search\"" | "\"open\"") ",\"input\":\"" text "\",\"events\":[]"
add ::= "\"add_event\",\"input\":\"\",\"events\":[" event "]"
stop ::= "\"answer\",\"input\":\"\",\"events\":[]"
turn ::= """
"""One turn of a local model, but for the kinds of turns that it has."""

INPUTS = {
    True: "for search a few key words; for open the address of a page that you saw; else nothing",
    False: "nothing",
}
"""What a turn's input is, as the prompt says it, with a search and without."""


def constrain_turn(client, searches):
    """Return the options of a request whose reply is to be one turn: by grammar for a local model,
    else by schema."""
    actions = [*(LOOKS if searches else ()), "add_event", "answer"]
    schema = make_schema(
        thought=_TEXT,
        action={"enum": actions},
        input=_TEXT,
        events={"type": "array", "items": EVENT},
    )
    grammar = f"{TURN}{'look | ' * searches}add | stop\n{RULES}"
    return constrain_json(client, "turn", schema, grammar, MAX_STEP)


def hold_submission(client, event, n_found, *, has_events=True):
    """Return the options of a request whose reply is to be a submission: by grammar for a local
    model, else by schema.

    The answer's rule is that of the event's kind (`grammars.build_grammar`), sources are the
    `n_found` passages. Events that were added turn by turn are not asked for again
    (`has_events=False`).
    """
    states = find_stated(event)
    letters = sorted(parse_json(event["options"]) or {})
    if not client.is_local:
        asked = {
            name: form
            for name, form in SCHEMA["properties"].items()
            if has_events or name != "events"
        }
        return demand_json("submission", make_schema(**asked, **(DISTRIBUTION if states else {})))
    passages = " | ".join(quote_literal(str(n)) for n in range(1, n_found + 1))
    sources = (
        f'sources ::= (passage ("," passage)?)?\npassage ::= {passages}'
        if n_found
        else 'sources ::= ""'
    )
    rules = [RULES, sources]
    end = 'share "}"'
    most = MAX_SUBMISSION
    if states:
        end = r'share ",\"distribution\":[" stated "]}"'
        most = MAX_SUBMISSION + 20 * len(letters)
        pairs = write_stated(event["kind"], letters, '{"of":"%s","is":', "}", ",")
        rules += [rule.replace("share", "chance") for rule in pairs]
    rules += build_grammar(event["kind"], letters, count_places(event) or 1).split("\n")[1:]
    return {"grammar": "\n".join([ROOTS[has_events], REST + end, *rules]), "max_tokens": most}


def forecast_with_graph(ask, client, event, world):
    """Return the outcome of an event (`prompted_agents.forecast`) with what its submission says
    beside the answer.

    The prediction gains probability, rationale and graph_id, the digest of its events and edges;
    the reply is the submission with its sources as page_ids. Where the reply holds none, both are
    as they would be without.
    """
    outcome = forecast(ask, client, event, world)
    prediction = outcome["prediction"]
    trace = outcome["trace"]
    said = [step["content"] for step in trace if step["step_type"] == "model"]
    submission, problem = read_submission(said[-1], trace) if said else (None, None)
    if submission is None:
        if prediction.get("status") == "unparsable":
            prediction["reason"] = problem
        return outcome
    pages = [page for step in trace for page in step.get("page_ids") or []]
    named = dict.fromkeys(
        pages[int(number) - 1] for number in submission["sources"] if 0 < number <= len(pages)
    )
    outcome["reply"] = dump_json(submission | {"sources": list(named)})
    graph_id = hash_text(dump_json([submission["events"], submission["edges"]]), 16)
    prediction |= {"rationale": submission["rationale"], "graph_id": graph_id}
    if (value := prediction["value"]) is not None:
        prediction["probability"] = submission["probability"]
        if given := {pair["of"]: str(pair["is"]) for pair in submission.get("distribution", ())}:
            options = parse_json(event["options"]) or {}
            prediction |= settle_stated(given, event["kind"], options, value, event.get("unit"))
    return outcome


def ask_for_graph(transcript, event, world, found=""):
    """Ask for a submission with the question alone (Causal Simulation), or after what was `found`.

    Returns its recording, with the answer boxed.
    """
    messages = transcript.open(found + fill_submission(transcript.client, event, "submission"))
    options = hold_submission(transcript.client, event, count_pages(transcript.steps))
    return box_answer(transcript.ask(messages, event=event, reduce=keep_facts, **options))


def ask_for_graph_with_pages(transcript, event, world):
    """Search once, with the question as query, and ask for a submission (Search-Enabled); passages
    are numbered."""
    return ask_for_graph(
        transcript, event, world, prepend_results(transcript, event, world, is_numbered=True)
    )


def ask_by_turns(transcript, event, world, *, searches=True):
    """Let the model search, open pages and add events, a turn each, then ask for the rest of its
    submission (5.1).

    Turns are `max_steps` of the agent's entry at most. Each event is a step of the tool add_event.
    Returns the recording of the last reply, with the answer boxed.
    """
    client = transcript.client
    n_turns = client.limits.get("max_steps") or N_TURNS
    actions = [*(LOOKS if searches else ()), "add_event"]
    about = {
        "n_turns": n_turns,
        "actions": f"{', '.join(actions)} or answer",
        "input": INPUTS[searches],
    }
    messages = transcript.open(fill_submission(client, event, "submission_turns", **about))

    def act(turn):
        return take_turn(transcript, event, world, turn) if turn.get("action") in actions else None

    take_turns(transcript, messages, n_turns, constrain_turn(client, searches), act)
    added = [
        f"{n}. {one['date']}: {one['title']}"
        for n, one in enumerate(list_added(transcript.steps), 1)
    ]
    prompt = fill_submission(client, event, "submission_rest", events="\n".join(added) or "none")
    options = hold_submission(client, event, count_pages(transcript.steps), has_events=False)
    return box_answer(ask_last(transcript, messages, prompt, **options), transcript.steps)


def take_turn(transcript, event, world, turn):
    """Return what a model sees of its turn, as text; adds the step, or a step an event."""
    given = str(turn.get("input") or "").strip()
    if turn["action"] != "add_event" and given:
        arguments = {LOOKS[turn["action"]]: given}
        return call_tool(transcript, world, event, turn["action"], arguments, is_numbered=True)
    told = []
    items = turn.get("events")
    for item in items if turn["action"] == "add_event" and isinstance(items, list) else ():
        problem = next(
            (error.message for error in Draft202012Validator(EVENT).iter_errors(item)), None
        )
        transcript.add("tool", tool="add_event", arguments=item, error=problem)
        told.append(
            f"Not added: {problem}"
            if problem
            else f"Event {len(list_added(transcript.steps))} is added."
        )
    return (
        "\n".join(told)
        or "Nothing was done: write what to look for into input, or an event into events."
    )


def list_added(steps):
    """Return the events that an agent added turn by turn, in their order."""
    return [
        step["arguments"] for step in steps if step.get("tool") == "add_event" and not step["error"]
    ]


def fill_submission(client, event, prompt, **more):
    """Return a prompt that asks for a submission on an event, with probabilities where its agent
    states them."""
    blanks = list_blanks(event) | more
    n_events = N_LOCAL if client.is_local else N_EVENTS
    if blanks["options"]:
        blanks["options"] = f"\nOptions:\n{blanks['options']}\n"
    is_yes_no = set((parse_json(event["options"]) or {}).values()) == {"Yes", "No"}
    towards = "Yes" if is_yes_no else TOWARDS.get(event["kind"], "your answer")
    towards = f"Positive if it speaks for {towards}, Negative if against, else Neutral or Mixed"
    asked = read_prompt(prompt).format(n_events=n_events, towards=towards, **blanks)
    stated = prompt != "submission_turns" and find_stated(
        event
    )  # of turns the last request asks for them
    return asked + read_prompt(f"submission_{stated.partition('_')[0]}") if stated else asked


def box_answer(reply, steps=()):
    """Return a recording with its submission's answer, boxed, in place of the submission, where it
    holds one."""
    submission, _ = read_submission(reply["content"], steps)
    return reply | {"content": rf"\boxed{{{submission['answer']}}}"} if submission else reply


def read_submission(content, steps=()):
    """Return (submission, "") of a reply, (None, why not) where its form is another.

    Events that were added turn by turn stand in an agent's `steps`, where the reply holds the rest
    alone.
    """
    submission = clean_value(parse_object(content))
    if steps and "edges" in submission and "events" not in submission:
        submission = {"events": list_added(steps)} | submission
    problems = Draft202012Validator(READ).iter_errors(submission)
    if problem := min(problems, key=lambda error: error.json_path, default=None):
        place = problem.json_path[2:]
        return None, f"{place}: {problem.message}" if place else problem.message
    return submission, ""


def keep_facts(event, row):
    """Return a recording as it is kept of a public question: values and facts of the graph, texts
    as digests.

    A title is kept as the digests of its words (`hash_words`), which can be held against reference
    events.
    """
    kept = keep_values(event, row)
    submission = read_submission(row.get("content"))[0] if row["status"] == "ok" else None
    if submission is None:
        return kept
    options = parse_json(event["options"]) or {}
    kept_pairs = [pair for pair in submission.get("distribution", ()) if pair["of"] in options]
    facts = {"distribution": kept_pairs} if kept_pairs else {}
    facts |= {"events": [one | {"title": hash_words(one["title"])} for one in submission["events"]]}
    facts |= {"rationale": hash_text(submission["rationale"], 12)}
    return kept | {"content": dump_json(submission | facts), "read": None}


def hash_words(text):
    """Return a text in lower case with a digest for each word of three letters; months, stop words
    and digests stay.

    >>> hash_words("The Fed cuts, 18 June"), hash_words(hash_words("Fed")) == hash_words("fed")
    ('the zq20e796c1 zq577aeee7, 18 june', True)
    >>> hash_words("Россия, 25")
    'zqd393d418, 25'
    """

    def hide(found):
        return found[0] if found[0] in PLAIN else f"zq{hash_text(found[0], 8)}"

    return re.sub(r"(?<![^\W_])(?!zq)[^\W\d_]{3,}", hide, text.lower())
