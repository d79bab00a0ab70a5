"""Why a forecast is right or wrong, after FutureX's appendix A: what an agent's text and the pages it saw bear out.

Four reasons, one a trace: hallucination, insufficient data, unreasonable assumption, exhaustive evidence. The rule here
finds three of them from the steps alone; whether an assumption is reasonable needs a reader. Neither the rule nor the
judge is told how the event ended.

Hallucination is a claim that nothing the agent had been shown holds (`futurex.claims`).
"""

import re

import pandas as pd

from helpers.agents.prompts import split_question
from helpers.futurex.claims import BOX, list_known, list_unheld, list_writings
from helpers.models.grammars import make_schema
from helpers.prompts import read_prompt
from helpers.stats.means import summarize_clustered
from helpers.store import parse_json
from helpers.web.render import format_period

REASONS = ("hallucination", "insufficient data", "unreasonable assumption", "exhaustive evidence")
"""The labels, closed; the rule knows all but the third."""

SCHEMA = make_schema(reason={"type": "string", "maxLength": 70}, label={"type": "string", "enum": list(REASONS)})
"""A judge's reply."""

DEMANDS = ("query", "address", "input", "task", "plan", "facts_to_look_up")
"""Parts of an agent's replies that ask for something; a judge reads the others."""

HIT = re.compile(r"^(.*) \((https?://\S+)\), published \d{4}-\d{2}-\d{2}:\n", re.MULTILINE)
DATED_VALUE = re.compile(
    r"(?:\d{4}-\d{2}-\d{2}(?: \d{2}:\d{2})?|\d{1,2} [A-Z][a-z]+ \d{4})(?:: | had |, [^.;]*?)[^.;]*?(?<![\d:-])-?\d"
)


# --- the reason, by rule and by a judge ------------------------------------------------------------------------------


def show_evidence(trace, event):
    """Return what an agent was shown of the page that settles an event: "values", "page only" or "nothing".

    Values are dated ones in the passages shown of that page, which name what is asked about (its entity, or at least
    half of the options); the page is the address in the event's resolution criteria.
    """
    passages = [passage for is_own, passage in list_passages(trace, event) if is_own]
    if not passages:
        return "nothing"
    valued = "\n".join(passage for passage in passages if DATED_VALUE.search(passage))
    entities = list_entities(event)
    n_named = sum(name.casefold() in valued.casefold() for name in entities)
    return "values" if valued and 2 * n_named >= len(entities) else "page only"


def list_passages(trace, event):
    """Return (whether it is of the page that settles the event, text) of each passage that an agent was shown."""
    address = re.search(r"\((https?://\S+)\)", event["resolution_criteria"])[1]
    steps = trace[trace["tool"].isin(["search", "open"]) & trace["error"].isna()]
    parts = [HIT.split(content) for content in dict.fromkeys(steps["content"].dropna())]
    return [(part[i + 1] == address, part[i + 2].strip()) for part in parts for i in range(1, len(part), 3)]


def list_entities(event):
    """Return what an event is about: its entity, else those among its options, else nothing."""
    given = parse_json(event["variables"])
    if given.get("entity"):
        return [given["entity"]]
    return sorted(set(given.get("reference") or {}) - {"None of these"})


def give_reason(n_unheld, evidence):
    """Return the rule's reason: invention first, then whether the asked quantity was shown.

    >>> give_reason(1, "values"), give_reason(0, "page only"), give_reason(0, "values")
    ('hallucination', 'insufficient data', 'exhaustive evidence')
    """
    if n_unheld:
        return "hallucination"
    return "exhaustive evidence" if evidence == "values" else "insufficient data"


def apply_rule(traces, events, agent_ids):
    """Return a row a trace: event_id, agent_id, has_text, n_unheld, unheld, evidence, rule (the rule's reason).

    `agent_ids` maps run_id to agent_id. `has_text`: the agent wrote something beside its final answer. Questions that
    ended without a final answer are left out.
    """
    known, facts = list_known(events), events.set_index("event_id").to_dict("index")
    rows = []
    for (run_id, event_id), trace in traces.groupby(["run_id", "event_id"]):
        if not trace["step_type"].eq("answer").any():
            continue
        unheld = list_unheld(trace, known)
        evidence = show_evidence(trace, facts[event_id])
        row = {"event_id": event_id, "agent_id": agent_ids[run_id], "has_text": bool(list_writings(trace))}
        row |= {"n_unheld": len(unheld), "unheld": "; ".join(dict.fromkeys(unheld["text"])), "evidence": evidence}
        rows.append(row | {"rule": give_reason(len(unheld), evidence)})
    return pd.DataFrame(rows).sort_values(["agent_id", "event_id"], ignore_index=True)


def write_case(trace, event, n_shown=240, n_written=220):
    """Return a judge's prompt on one trace: the question, what pages showed, what the agent wrote and answered.

    The two middle parts are cut to so many characters: of pages, the passages of the one that settles the event come
    first; of the agent's words, what it last wrote, demands left out. How the event ended is not said.
    """
    hits = sorted(list_passages(trace, event), key=lambda hit: not hit[0])
    passages = list(dict.fromkeys(text for _, text in hits))
    words = [wrote["text"] for wrote in list_writings(trace) if wrote["part"] not in DEMANDS]
    answer = trace.loc[trace["step_type"] == "answer", "content"].iloc[-1]
    letter = BOX.search(answer)
    return read_prompt("judge_reason").format(
        question=split_question(event),
        shown=" ".join(passages)[:n_shown] or "nothing",
        written=" ".join(dict.fromkeys(words))[-n_written:] or "nothing",
        answer=spell_answer(re.search(r"\{([^}]*)", letter[0])[1] if letter else answer, parse_json(event["options"])),
    )


def spell_answer(answer, options):
    """Return an answer with its options' texts in place of letters.

    >>> spell_answer("A, C", {"A": "Spain", "B": "Italy", "C": "France"}), spell_answer("50.4", None)
    ('Spain, France', '50.4')
    """
    parts = [part.strip() for part in answer.split(",")]
    return ", ".join(options.get(part, part) for part in parts) if options else answer


def ask_reasons(consult, cases):
    """Return the judge's reason of each case: event_id, agent_id, status, judge (the label), why, seconds.

    `cases` maps (event_id, agent_id) to prompts, asked in that order; what is not recorded has status "missing".
    """
    rows = []
    for (event_id, agent_id), prompt in cases.items():
        verdict = consult(prompt, SCHEMA)
        given = verdict.value or {}
        row = {"event_id": event_id, "agent_id": agent_id, "status": verdict.status, "judge": given.get("label")}
        rows.append(row | {"why": given.get("reason"), "seconds": verdict.seconds})
    return pd.DataFrame(rows)


# --- shares and agreement --------------------------------------------------------------------------------------------


def measure_shares(table, by, clusters):
    """Return the share of each reason by the columns `by`: n, n_clusters, share, low, high (95%, by cluster).

    `table` has a row a trace; `clusters` maps its events to what they share their luck with. Without an interval below
    ten clusters. Raises ValueError for an empty table.
    """
    if table.empty:
        raise ValueError("no trace has a reason; record an agent first")
    parts = []
    for keys, part in table.groupby(by):
        marks = pd.DataFrame({reason: part["rule"] == reason for reason in REASONS}).set_index(part["event_id"])
        found = summarize_clustered(marks, clusters).rename_axis("reason").reset_index()
        parts.append(found.assign(**dict(zip(by, keys, strict=True))))
    table = pd.concat(parts, ignore_index=True).rename(columns={"mean": "share"})
    table[["low", "high"]] = table[["low", "high"]].clip(0, 1)
    return table[[*by, "reason", "n", "n_clusters", "share", "low", "high"]]


def measure_evidence(table, control, clusters):
    """Return what having been shown values goes with: by agent, and for a control that saw no page, on the same events.

    `table` has a row a trace: event_id, agent_id, evidence, is_right; `control` is is_right by event_id of an agent
    that cannot have been helped; `clusters` maps events to theirs. A row an agent and `of`: "agent" and "control" (the
    share of right forecasts where the agent was shown values, less that where not) and "agent minus control". Columns:
    agent_id, of, n_with, n_without, n_clusters, gap, low, high, p, low_by_event, high_by_event; blank where one of the
    two groups is empty, intervals also below ten clusters.
    """
    rows = []
    for agent_id, part in table.groupby("agent_id"):
        known = part.set_index("event_id").assign(control=control).dropna(subset="control")
        right = known[["is_right", "control"]].astype(float).set_axis(["agent", "control"], axis=1)
        right["agent minus control"] = right["agent"] - right["control"]
        has = known["evidence"].eq("values")
        strata = [(1, right.index[has]), (-1, right.index[~has])]
        found, plain = (summarize_clustered(right, by, strata) for by in (clusters, None))
        found = found.rename(columns={"mean": "gap"}).drop(columns=["se", "n"])
        found = found.join(plain[["low", "high"]].add_suffix("_by_event")).rename_axis("of").reset_index()
        rows.append(found.assign(agent_id=agent_id, n_with=has.sum(), n_without=(~has).sum()))
    columns = "agent_id of n_with n_without n_clusters gap low high p low_by_event high_by_event"
    return pd.concat(rows, ignore_index=True)[columns.split()]


def mark_shown(traces, events):
    """Return, by event, whether what its agent was shown holds the date the event is about: event_id, is_shown.

    A date counts where a value follows it, in ISO form or in words; or the question's own event page says how it ended.
    """
    looked = traces[traces["tool"].isin(["search", "open"]) & traces["event_id"].isin(events["event_id"])]
    seen = looked.groupby("event_id")["content"].agg("\n".join)
    rows = []
    for event in events[events["event_id"].isin(seen.index)].to_dict("records"):
        text, question = seen[event["event_id"]], event["prompt"].split("\n")[0]
        date = parse_json(event["variables"])["date"]
        words = format_period(date)
        has_value = any(form in text for form in (f"{date}: ", f"On {words},", f"{words}: "))
        is_resolved = "Resolved: " in text.partition(question)[2][:400]  # the market's own page of this question
        rows.append({"event_id": event["event_id"], "is_shown": has_value or is_resolved})
    return pd.DataFrame(rows)
