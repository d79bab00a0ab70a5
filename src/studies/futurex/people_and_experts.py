"""People as forecasters (FutureX 4.2, appendix C), and agents beside analysts' consensus (5.1).

A person notes steps (key words, page, observation, reasoning), then the answer; it is taken when so
much time has passed, so many steps are noted and a page is among them. All is kept as it is given
(`forms`), in people.sqlite of the folder; taken answers are exported in the form that `make add
FILE=folder` reads. A form cannot see whether somebody asked a language model: that rests on the
person's word. Questions must still be open.
"""

import html
import re
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from daybefore.agents.run_loop import sample_events
from daybefore.formats.folder_of_csv import read_value
from helpers.files import dump_json, parse_json, write_whole
from helpers.input_faults import escape_cells
from helpers.means import summarize_clustered
from helpers.notebook_forms import keep_answer, open_form, read_answers
from helpers.paired import correct_holm
from helpers.papers import get_constant

AGENT = "people"
"""The agent that all persons are; each person is a run of it."""
N_PEOPLE = get_constant("futurex", "human_experts")
N_QUESTIONS = get_constant("futurex", "human_questions")
RULES = {
    "minutes": get_constant("futurex", "human_minutes"),
    "steps": get_constant("futurex", "human_steps"),
    "pages": get_constant("futurex", "human_pages"),
}
"""The least that a person's answer takes (appendix C)."""
STEP = ("keywords", "page", "observation", "reasoning")
"""What a step says: what was searched for, the page's address, what it says, what follows from
it."""
BETWEEN = {"multi": r"[|;,]", "ranking": r"[|;]", "list": r"[|;]"}
"""What stands between several options, or names, as typed."""
ASKED = "event_id kind options level domain as_of prompt unit k resolves_at".split()
"""Columns of an exported events.csv."""


def share_questions(events, seed, n_people=N_PEOPLE, n_questions=N_QUESTIONS):
    """Return who answers what: person (from 1), event_id, level; each question goes to one person
    (FutureX 4.2).

    A seeded sample, shared equally by the levels as far as each has enough, dealt level by level:
    two persons differ by one question at most, in all and within a level. Raises ValueError where
    somebody would go without.
    """
    if not n_people <= n_questions <= len(events):
        raise ValueError(
            f"{n_questions} questions of {len(events)} for {n_people} people: no one may go without"
        )
    rng = np.random.default_rng(seed)
    chosen = sample_events(events, n_questions, seed).sort_values(["level", "event_id"])
    shuffled = chosen.iloc[rng.permutation(len(chosen))].sort_values("level", kind="stable")
    people = rng.permutation(n_people) + 1
    dealt = shuffled.assign(person=np.resize(people, len(shuffled)))
    columns = ["person", "level", "event_id"]
    return dealt.sort_values(columns, ignore_index=True)[["person", "event_id", "level"]]


def find_missing(event, kept, answer, now):
    """Return a sentence for each rule that an answer does not keep yet, [] when it can be taken.

    `kept` are the rows of `notebook_forms.read_answers` of one person and event, whose time runs
    from the first; `now` a moment.
    """
    steps = kept.dropna(subset="observation")
    minutes = (now - pd.Timestamp(kept["at"].iloc[0])) / pd.Timedelta(minutes=1)
    n_pages = steps["page"].replace("", None).nunique()
    missing = []
    if minutes < RULES["minutes"]:
        passed = np.floor(10 * minutes) / 10
        missing.append(f"Time: {passed:.1f} of at least {RULES['minutes']} minutes.")
    if len(steps) < RULES["steps"]:
        missing.append(f"Steps: {len(steps)} of at least {RULES['steps']}.")
    if n_pages < RULES["pages"]:
        missing.append(
            f"Pages: {n_pages} of at least {RULES['pages']}; note the address of what you read."
        )
    try:
        if read_typed(answer, event) is None:
            missing.append("Answer: it is blank.")
    except ValueError as error:
        missing.append(f"Answer: {error}.")
    return missing


def read_typed(answer, event):
    """Return an answer as typed in the event's form; None for a blank. Raises ValueError for what
    does not fit.

    Several options or names stand with commas (options), semicolons or bars between them.

    >>> read_typed("a, C", {"kind": "multi", "options": '{"A": "x", "B": "y", "C": "z"}'})
    ['A', 'C']
    """
    kind = event["kind"]
    options = parse_json(event.get("options")) or {}
    text = str(answer).replace(",", "") if kind == "number" else str(answer)
    parts = re.split(BETWEEN[kind], text) if kind in BETWEEN else [text]
    parts = [part.strip() for part in parts if part.strip()]
    text = "|".join(part.upper() if part.upper() in options else part for part in parts)
    return read_value(text, kind, options)


def export_answers(folder, events, answers=None):
    """Write a folder's events.csv, answers.csv once there are `answers`, and predictions.csv, a run
    a person.

    A person's first taken answer to a question stands.
    """
    tables = {"events": events.reindex(columns=ASKED)}
    if answers is not None:
        known = answers[answers["event_id"].isin(events["event_id"])]
        tables["answers"] = known[["event_id", "value", "spread"]].dropna(subset="value")
    kept = read_answers(Path(folder) / "people.sqlite", (*STEP, "answer"))
    by_id = events.set_index("event_id")
    taken = kept.dropna(subset="answer").drop_duplicates(["person", "item"])
    rows = []
    for row in taken[taken["item"].isin(by_id.index)].itertuples():
        is_own = (kept["person"] == row.person) & (kept["item"] == row.item)
        steps = kept[is_own].dropna(subset="observation")
        value = read_typed(row.answer, by_id.loc[row.item])
        rows.append(
            {
                "run_id": f"{AGENT}-{row.person}",
                "event_id": row.item,
                "sample": 0,
                "agent_id": AGENT,
                "as_of": row.at,
                "status": "ok",
                "value": dump_json(value),
                "rationale": steps["reasoning"].iloc[-1],
                "source_ids": dump_json(sorted(set(steps["page"]) - {""})),
            }
        )
    tables["predictions"] = pd.DataFrame(rows)
    for name, table in tables.items():
        text = escape_cells(table).to_csv(index=False, lineterminator="\n")
        write_whole(Path(folder) / f"{name}.csv", text)


def open_sheets(tasks, person, folder, clock, answers=None):
    """Return the form of a person as a widget: a question after the other, its steps, its answer,
    what is missing.

    `tasks` are events; a question's time runs from the first moment at which it is shown. `clock`
    returns an aware datetime. An answer that keeps the rules is exported (`export_answers`); one
    already taken stands.
    """
    path = Path(folder) / "people.sqlite"
    asked = {row["event_id"]: row for row in tasks.to_dict("records")}

    def recall(event_id):
        kept = read_answers(path, (*STEP, "answer"))
        return kept[(kept["person"] == str(person)) & (kept["item"] == event_id)]

    def keep(event_id, content):
        keep_answer(path, person, event_id, content, clock().isoformat(timespec="seconds"))

    def show(event_id):
        if recall(event_id).empty:
            keep(event_id, {})
        return f"<pre>{html.escape(asked[event_id]['prompt'])}</pre>", {}

    def note(event_id, values):
        step = {name: values[name].strip() for name in STEP}
        if not (step["observation"] and step["reasoning"]):
            raise ValueError(
                "A step says what you observed and what you conclude from it; fill in both."
            )
        keep(event_id, step)
        return f"{recall(event_id)['observation'].notna().sum()} steps noted", False

    def submit(event_id, values):
        kept = recall(event_id)
        if kept["answer"].notna().any():
            raise ValueError("This question is answered already; that answer stands.")
        if missing := find_missing(asked[event_id], kept, values["answer"], clock()):
            raise ValueError(" ".join(missing))
        keep(event_id, {"answer": values["answer"]})
        export_answers(folder, tasks, answers)
        return "The answer is taken.", True

    titles = {name: f"{n}. {asked[name]['prompt'][:90]}" for n, name in enumerate(asked, 1)}
    fields = dict.fromkeys([*STEP, "answer"])
    return open_form(titles, fields, show, {"note this step": note, "submit the answer": submit})


TIES = {
    "eps": get_constant("futurex", "tie_eps_share"),
    "revenue": get_constant("futurex", "tie_revenue_share"),
}
"""Difference of forecast and consensus, relative to the consensus, up to which they tie."""
CAP = get_constant("futurex", "mape_cap")
"""Largest error that counts, as a share of the actual (FutureX Figure 15)."""


def cap_errors(forecast, actual):
    """Return absolute errors as shares of the actual, at most `CAP`, which an actual of 0 has
    unless exactly right."""
    errors = (forecast - actual).abs()
    return (errors / actual.abs()).clip(upper=CAP).where(errors != 0, 0.0)


def judge_forecasts(rows):
    """Return forecasts (metric, consensus, actual, forecast) with result (win, tie, loss),
    share_error and share_error_consensus (capped).

    A win is an error smaller than the consensus's, and no tie (`TIES`).
    """
    forecast, consensus, actual = rows["forecast"], rows["consensus"], rows["actual"]
    reach = rows["metric"].map(TIES) * consensus.abs()
    is_tie = (forecast - consensus).abs() <= reach * (1 + 1e-9)
    is_win = (forecast - actual).abs() < (consensus - actual).abs()
    return rows.assign(
        result=np.select([is_tie, is_win], ["tie", "win"], "loss"),
        share_error=cap_errors(forecast, actual),
        share_error_consensus=cap_errors(consensus, actual),
    )


def compare_consensus(consensus, predictions):
    """Return what agents' forecasts of companies' figures are beside the consensus, a row a metric
    and agent.

    `consensus` is of `formats.earnings_questions.build_events`; questions without consensus or
    actual are left out, as are agents without any forecast of a metric. An empty table where
    nothing is left. Columns: metric, agent, n, n_asked, n_ties, win_rate (ties in the denominator),
    win_rate_untied, mape, mape_consensus, mape_gap (paired), with *_low and *_high (95%, blank
    below ten items), p (exact binomial, win rate of one half), p_holm. Items count as independent:
    where one event moves them all, it is one case.
    """
    given = predictions.assign(
        agent=predictions["agent_id"],
        forecast=predictions["value"].map(parse_json).astype(float),
    )
    known = consensus.dropna(subset=["consensus", "actual"]).query("consensus != 0")
    asked = known.merge(given[["agent", "event_id", "forecast"]], on="event_id")
    n_asked = asked.groupby(["metric", "agent"]).size()
    kept = asked.dropna(subset="forecast")
    if kept.empty:
        return pd.DataFrame()
    table = []
    for key, part in judge_forecasts(kept).groupby(["metric", "agent"], sort=False):
        won = (part["result"] == "win").astype(float)
        is_tie = part["result"] == "tie"
        rates = {"win_rate": won, "win_rate_untied": won.mask(is_tie), "mape": part["share_error"]}
        gap = (part["share_error"] - part["share_error_consensus"]).rename("mape_gap")
        found = pd.concat(
            [summarize_clustered(pd.DataFrame(rates), ends=(0, 1)), summarize_clustered(gap)]
        )
        row = {"metric": key[0], "agent": key[1], "n": len(part), "n_asked": n_asked[key]}
        row |= {"n_ties": int(is_tie.sum())}
        row |= {"p": stats.binomtest(int(won.sum()), len(won)).pvalue}
        for end, suffix in {"mean": "", "low": "_low", "high": "_high"}.items():
            row |= found[end].add_suffix(suffix).to_dict()
        table.append(row | {"mape_consensus": part["share_error_consensus"].mean()})
    made = pd.DataFrame(table)
    return made.assign(p_holm=correct_holm(made["p"]))


def describe_questions(answers: pd.DataFrame, beside: pd.DataFrame) -> pd.DataFrame:
    """Return what the questions ask, and how near the consensus lies to the outcome: fact, value,
    low, high, n.

    `score` is FutureX's for numbers, max(0, 1 - (error / Std) squared); `error` the share of the
    outcome, capped as in the paper's Figure 15.
    """
    table = beside.merge(answers[["event_id", "spread"]], on="event_id")
    error = table["consensus"] - table["actual"]
    facts = {
        "score of the consensus": (1 - (error / table["spread"]) ** 2).clip(lower=0),
        "capped error of the consensus": cap_errors(table["consensus"], table["actual"]),
        "actual above the consensus": error < 0,
    }
    found = summarize_clustered(pd.DataFrame(facts), table["item"], ends=(0, 1))
    found = found.rename(columns={"mean": "value"}).rename_axis("fact").reset_index()
    asked = {"fact": "asks for revenue", "value": (beside["metric"] == "revenue").mean()}
    first = pd.DataFrame([asked | {"n": len(beside)}])
    return pd.concat([first, found], ignore_index=True)[["fact", "value", "n", "low", "high"]]
