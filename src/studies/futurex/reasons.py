"""Why a forecast is right or wrong, after FutureX's appendix A: what an agent's text and the pages
it saw bear out.

A claim (number, date, name, address) is made up when nothing that the agent had been shown by then
holds it. The rule finds three of four reasons from the steps; whether an assumption is reasonable
needs a reader. Neither is told the outcome. A number computed from shown ones counts as made up, as
does what a model rightly knew.
"""

import json
import re
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from daybefore.models.grammars import make_schema
from daybefore.prompts import read_prompt, split_question
from daybefore.replies.read_numbers import WORDS
from helpers.clock import blank_dates, find_dates
from helpers.files import parse_json
from helpers.means import summarize_clustered
from helpers.paired import compute_mde

SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9}
DIGITS = r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
ADDRESS = re.compile(r"https?://[^\s\"'<>]+|\b[\w-]+(?:\.[a-z][\w-]*)+/[^\s\"'<>]*", re.IGNORECASE)
SCALED = DIGITS + rf"(?:\s+({'|'.join(SCALES)})\b)?"
NUMBER = re.compile(r"(?<![\w.,-])-?" + SCALED, re.IGNORECASE)
SHOWN_NUMBER = re.compile(SCALED)
STEP_INPUTS = {"search": "query", "open": "address"}
BOX = re.compile(r"(?:Final answer:)?\s*\\boxed\{[^}]*\}?")


class Shown(NamedTuple):
    """What an agent had been shown: its text without case, its words, numbers and dates (year,
    month, day)."""

    text: str
    words: set
    numbers: np.ndarray
    digits: set
    dates: set


def read_shown(text):
    """Return what a text shows. Numbers come plain and, before million and the like, scaled; words
    up to twelve count.

    >>> shown = read_shown("On 12 October 2016 it had 13.13 million viewers within seven days")
    >>> shown.dates, [float(x) for x in shown.numbers]
    ({(2016, 10, 12)}, [7.0, 12.0, 13.13, 2016.0, 13130000.0])
    """
    plain = text.casefold()
    words = set(re.findall(r"[^\W\d_]+", plain))
    numbers = {float(at) for at, word in enumerate(WORDS) if at and word in words}
    digits = set()
    for written, scale in SHOWN_NUMBER.findall(plain):
        value = written.replace(",", "")
        digits.add(value)
        numbers |= {float(value), float(value) * SCALES.get(scale, 1)}
    dates = {date[:3] for date in find_dates(text)}
    return Shown(plain, words, np.array(sorted(numbers)), digits, dates)


def list_writings(trace):
    """Return what an agent wrote before its final answer, as dicts of part, text and `seen`.

    `trace` is the steps of one run on one event in order, as dicts. `part` is the key of the
    reply's JSON (thought, query, plan ...), "reply" for plain text; `seen` the text shown by then.
    What a failed look-up says and a search agent reports shows nothing.
    """
    rows = []
    seen = []
    for step in trace:
        content = step["content"] if isinstance(step["content"], str) else ""
        if step["step_type"] == "model":
            parts = split_reply(content)
            rows += [{"part": key, "text": text, "seen": "\n".join(seen)} for key, text in parts]
        elif step["step_type"] == "prompt" or shows_page(step):
            seen.append(content)
    return rows


def shows_page(step):
    """Say whether a step shows what a search or a page holds: one that failed does not."""
    is_look = step["tool"] in ("search", "open") and pd.isna(step["error"])
    return is_look and isinstance(step["content"], str)


def split_reply(content):
    """Return (part, text) of what a reply says beside its final answer."""
    try:
        value = json.loads(content)
    except ValueError:
        value = BOX.sub("", content).strip()
    value = value.get("arguments", value) if isinstance(value, dict) else value
    value = value if isinstance(value, dict) else {"reply": value}
    # a step-by-step agent's one input is named as its tool names it
    names = {"input": STEP_INPUTS.get(value.get("action"), "input")}
    parts = [
        (names.get(key, key), str(text))
        for key, given in value.items()
        for text in (given if isinstance(given, list) else [given])
    ]
    return [(key, text) for key, text in parts if key not in ("name", "action") and text.strip()]


def find_unsupported(text, shown, known=()):
    """Return (kind, text) of the dates, numbers and names in a text that nothing shown holds;
    addresses are left out.

    A number is held when a shown one rounds to it; a date when its parts agree with a shown one; a
    name (two or more words with capitals, or one of `known`) when all its words were shown. The
    last item of a text may be cut off.

    >>> shown = read_shown("On 12 October 2016 Ann Lee counted 1,234.50 votes")
    >>> find_unsupported("On 2016-10-12, Ann Lee: 1234.5 votes, about 1235", shown)
    []
    >>> find_unsupported("It was Ann Poe who counted 1,300 on 13 October 2016.", shown)
    [('date', '13 October 2016'), ('number', '1,300'), ('name', 'Ann Poe')]
    """
    rest = ADDRESS.sub(" ", text)
    unheld = [
        ("date", rest[date.start : date.end])
        for date in find_dates(rest)
        if not is_supported_date(date, shown, date.end == len(rest))
    ]
    rest = re.sub(r"(?m)^\s*\d+[.)]\s", lambda mark: " " * len(mark[0]), blank_dates(rest))
    unheld += [
        ("number", rest[found.start() : found.end(1)])
        for found in NUMBER.finditer(rest)
        if not is_supported_number(found, shown, found.end(1) == len(rest))
    ]
    names = [*find_names(rest), *sorted(set(re.findall(r"\w+", rest)) & set(known))]
    for name in dict.fromkeys(names):
        words = re.findall(r"[^\W\d_]+", re.sub(r"['’]s\b", "", name.casefold()))
        lost = [word for word in words if not {word, word.removesuffix("s")} & shown.words]
        if rest.rstrip().endswith(name):
            lost = [word for word in lost if not begins_any(word, shown.words)]
        unheld += [("name", name)] if lost else []
    return unheld


def begins_any(start, texts):
    """Say whether one of some texts begins like a text that may be cut off."""
    return any(text.startswith(start) for text in texts)


def is_supported_date(date, shown, is_last):
    """Say whether a date (`clock.find_dates`) agrees with a shown one."""
    for one in shown.dates:
        parts = [a is None or b is None or a == b for a, b in zip(date[:3], one, strict=True)]
        is_cut = is_last and str(one[2]).startswith(str(date[2]))
        if all(parts[:2]) and (parts[2] or is_cut):
            return True
    return False


def is_supported_number(found, shown, is_last):
    """Say whether a number (a match of `NUMBER`) was shown, as written or scaled."""
    plain = found[1].replace(",", "")
    reach = 0.5 * 10.0 ** -len(plain.partition(".")[2])
    for factor in {1.0, SCALES[(found[2] or "").casefold()] if found[2] else 1.0}:
        if (np.abs(shown.numbers - float(plain) * factor) <= reach * factor + 1e-9).any():
            return True
    return is_last and begins_any(plain, shown.digits)


def find_names(text):
    """Return the runs of two or more words that begin with capitals; a sentence's first word is
    left out of its run."""
    names = []
    run = []
    is_start = True
    for token in [*text.split(), "."]:
        word = token.strip("()[]{}\"',.;:!?*")
        is_name = bool(re.match(r"[A-Z][^\W\d_]*['’&.-]?\w*$", word))
        if is_name:
            run.append((word, is_start))
        if not is_name or token[-1] in ".,;:!?)":
            if len(run) > 1:
                names.append(" ".join(part for part, is_first in run if not is_first))
            run = []
        is_start = token[-1] in ".:!?"
    return names


def list_unheld(trace, known=()):
    """Return (kind, text) of what one trace says and nothing shown holds.

    An address counts where the agent tried to open it; one that it only writes down is no claim.
    """
    unheld = []
    read = cache(read_shown)
    for wrote in list_writings(trace):
        shown = read(wrote["seen"])
        text = wrote["text"].strip()
        if wrote["part"] != "address":
            unheld += find_unsupported(wrote["text"], shown, known)
        elif re.sub("^https?://", "", text.casefold()) not in shown.text:
            unheld.append(("address", text))
    return unheld


REASONS = ("hallucination", "insufficient data", "unreasonable assumption", "exhaustive evidence")
"""The labels, closed; the rule knows all but the third."""

MAX_SHOWN, MAX_WRITTEN = 240, 220
"""Most characters of what pages showed, and of what the agent wrote, in a judge's prompt."""

SCHEMA = make_schema(
    reason={"type": "string", "maxLength": 70}, label={"type": "string", "enum": list(REASONS)}
)
"""A judge's reply."""

DEMANDS = ("query", "address", "input", "task", "plan", "facts_to_look_up")
"""Parts of an agent's replies that ask for something; a judge reads the others."""

HIT = re.compile(r"^(.*) \((https?://\S+)\), published \d{4}-\d{2}-\d{2}:\n", re.MULTILINE)
DATED_VALUE = re.compile(
    r"(?:\d{4}-\d{2}-\d{2}(?: \d{2}:\d{2})?|\d{1,2} [A-Z][a-z]+ \d{4})(?:: | had |, [^.;]*?)[^.;]*?(?<![\d:-])-?\d"
)


def show_evidence(trace, event):
    """Return what an agent was shown of the page that settles an event: "values", "page only" or
    "nothing".

    Values are dated ones in that page's passages which name what is asked about (its entity, or
    half of the options).
    """
    passages = [passage for is_own, passage in list_passages(trace, event) if is_own]
    if not passages:
        return "nothing"
    valued = "\n".join(passage for passage in passages if DATED_VALUE.search(passage)).casefold()
    given = parse_json(event["variables"])
    entities = [given["entity"]] if given.get("entity") else [*(given.get("reference") or {})]
    named = [name.casefold() in valued for name in entities if name != "None of these"]
    return "values" if valued and 2 * sum(named) >= len(named) else "page only"


def list_passages(trace, event):
    """Return (whether it is of the page that settles the event, text) of each passage that an agent
    was shown."""
    address = re.search(r"\((https?://\S+)\)", event["resolution_criteria"])[1]
    passages = []
    for content in dict.fromkeys(step["content"] for step in trace if shows_page(step)):
        _, *parts = HIT.split(content)
        passages += [
            (url == address, text.strip())
            for url, text in zip(parts[1::3], parts[2::3], strict=False)
        ]
    return passages


def list_traces(traces):
    """Return the steps of each run on each event, in order, as {(run_id, event_id): list of
    dicts}."""
    steps = {}
    for step in traces.sort_values(["run_id", "event_id", "step"]).to_dict("records"):
        steps.setdefault((step["run_id"], step["event_id"]), []).append(step)
    return steps


def apply_rule(traces, events, agent_ids):
    """Return a row a trace: event_id, agent_id, has_text, evidence, rule (the rule's reason).

    `agent_ids` maps run_id to agent_id. `has_text`: the agent wrote something beside its final
    answer. A trace without one, or of another event than the `events`, is left out. Invention goes
    first, then whether the asked quantity was shown. Entities of one word that the events ask about
    or offer (tickers, currencies, places) are names, too.
    """
    options = [text for cell in events["options"].dropna() for text in parse_json(cell).values()]
    names = {*map(str, options), *events["entity_id"].dropna()} - {"Yes", "No", "None"}
    known = {name for name in names if re.fullmatch(r"[A-Z][^\W\d_]{2,}", name)}
    rows = []
    facts = events.set_index("event_id").to_dict("index")
    for (run_id, event_id), trace in list_traces(traces).items():
        if event_id not in facts or not any(step["step_type"] == "answer" for step in trace):
            continue
        evidence = show_evidence(trace, facts[event_id])
        rule = "exhaustive evidence" if evidence == "values" else "insufficient data"
        if list_unheld(trace, known):
            rule = "hallucination"
        has_text = bool(list_writings(trace))
        rows.append((event_id, agent_ids[run_id], has_text, evidence, rule))
    table = pd.DataFrame(rows, columns=["event_id", "agent_id", "has_text", "evidence", "rule"])
    return table.sort_values(["agent_id", "event_id"], ignore_index=True)


def write_case(trace, event):
    """Return a judge's prompt on one trace: the question, what pages showed, what the agent wrote
    and answered.

    The settling page's passages come first, of the agent's words what it last wrote; both are cut.
    The outcome is not said.
    """
    hits = sorted(list_passages(trace, event), key=lambda hit: not hit[0])
    passages = dict.fromkeys(text for _, text in hits)
    words = dict.fromkeys(
        wrote["text"] for wrote in list_writings(trace) if wrote["part"] not in DEMANDS
    )
    answer = [step["content"] for step in trace if step["step_type"] == "answer"][-1]
    options = parse_json(event["options"])
    if box := BOX.search(answer):
        answer = re.search(r"\{([^}]*)", box[0])[1]
    if options:
        answer = ", ".join(options.get(part.strip(), part.strip()) for part in answer.split(","))
    return read_prompt("judge_reason").format(
        question=split_question(event),
        shown=" ".join(passages)[:MAX_SHOWN] or "nothing",
        written=" ".join(words)[-MAX_WRITTEN:] or "nothing",
        answer=answer,
    )


def ask_reasons(consult, cases):
    """Return the judge's reason of each case: event_id, agent_id, status, judge (the label).

    `cases` maps (event_id, agent_id) to prompts; what is not recorded has status "missing".
    """
    rows = []
    for key, prompt in cases.items():
        verdict = consult(prompt, SCHEMA)
        rows.append((*key, verdict.status, (verdict.value or {}).get("label")))
    return pd.DataFrame(rows, columns=["event_id", "agent_id", "status", "judge"])


def measure_shares(table, by, clusters):
    """Return the share of each reason by the columns `by`: n, n_clusters, share, low, high (95%,
    clustered)."""
    parts = {}
    for keys, rules in table.set_index("event_id").groupby(by)["rule"]:
        marks = pd.DataFrame({reason: rules == reason for reason in REASONS})
        parts[keys] = summarize_clustered(marks, clusters, ends=(0, 1))
    made = pd.concat(parts, names=[*by, "reason"]).reset_index().rename(columns={"mean": "share"})
    return made[[*by, "reason", "n", "n_clusters", "share", "low", "high"]]


def measure_evidence(table, control, clusters):
    """Return what having been shown values goes with: by agent, and for a control that saw no page,
    on the same events.

    `table`: event_id, agent_id, evidence, is_right; `control`: is_right by event_id. A row an agent
    and `of`: "agent", "control" (the share right with values less that without) and "agent minus
    control". Columns: agent_id, of, n_with, n_without, n_clusters, gap, low, high, p, mde.
    """
    rows = []
    for agent_id, part in table.groupby("agent_id"):
        known = part.set_index("event_id").assign(control=control).dropna(subset="control")
        right = known[["is_right", "control"]].astype(float).set_axis(["agent", "control"], axis=1)
        right["agent minus control"] = right["agent"] - right["control"]
        has = known["evidence"].eq("values")
        sides = [(1, right.index[has]), (-1, right.index[~has])]
        found = summarize_clustered(right, clusters, sides).rename_axis("of").reset_index()
        found["mde"] = compute_mde(found["se"], found["n_clusters"])
        rows.append(found.assign(agent_id=agent_id, n_with=has.sum(), n_without=(~has).sum()))
    table = pd.concat(rows, ignore_index=True).rename(columns={"mean": "gap"})
    return table["agent_id of n_with n_without n_clusters gap low high p mde".split()]
