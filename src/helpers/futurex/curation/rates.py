"""How good curation's judges are: precision, recall and agreement against what is known or was labelled (FutureX 3.2).

Intervals: Wilson's for shares (few cases, shares near 0 and 1), a bootstrap over cases for kappa; both 95%.
"""

import re

import pandas as pd

from helpers.formats.sheets import read_sheet
from helpers.futurex.curation.model import (
    MAX_CHARS,
    STAGES,
    check_distractor,
    check_template,
    compare_answer,
    extract_answer,
    propose_distractors,
    propose_template,
)
from helpers.futurex.curation.pages import NUMBER, visit_page
from helpers.questions.filters import RULES
from helpers.store import ROOT
from helpers.world.extract import read_number

LABELS = ("question_id", "source", "is_harmful", "is_subjective", "note", "labeller", "labelled_date")
"""Columns of data/labels/questions.csv; the questions' text is not among them."""
MARKETS = ("infer", "manifold", "metaculus", "polymarket")
"""ForecastBench's sources of questions that people wrote."""
CHARGED = re.compile(
    r"\b(kill\w*|die[sd]?|dead|death\w*|shot|bomb\w*|attack\w*|strike|wars?|invade[sd]?|nuclear|jail|gay|race|sexes"
    r"|best|worst|good|great|believe|considered|popular|my|we|us|our|you|serious|significant\w*|major)\b"
)
"""Words that bring a question into the charged half of a sample of public ones; by chance alone few would be in it."""


# --- pages -----------------------------------------------------------------------------------------------------------


def visit_candidates(good, decoys, world, decoy_gateway, moments):
    """Return candidates for `screening.screen_pages`: (id, address, truth, visits), the good pages first."""
    rows = [(source, "fine", world) for source in good] + [(decoy, decoy.kind, decoy_gateway) for decoy in decoys]
    return [(page.id, page.address, truth, visit_page(gate, page.address, moments)) for page, truth, gate in rows]


# --- judges against the truth ----------------------------------------------------------------------------------------


def list_shares(rated, column="judge"):
    """Return precision and recall of `compare_judges`' rows as rows of their own: label, share, low, high."""
    rows = [
        (f"{row[column]}: {name}", row[name], row[f"{name}_low"], row[f"{name}_high"])
        for row in rated.to_dict("records")
        for name in ("precision", "recall")
    ]
    return pd.DataFrame(rows, columns=["label", "share", "low", "high"])


def combine_views(views, rules):
    """Return views (a row a case, a column a judge; True, False or None) with a column for each combination.

    `rules` maps a name to (judges, rule), rule one of any, majority, all. A case that one of the judges lacks has None.
    """
    combined = views.copy()
    for name, (judges, rule) in rules.items():
        rows = views[list(judges)].to_numpy().tolist()
        combined[name] = pd.Series(
            [None if None in flags else bool(RULES[rule](flags)) for flags in rows], index=views.index, dtype=object
        )
    return combined


def pivot_views(screened):
    """Return the judges' views of candidate pages (`screening.screen_pages`): index candidate_id, a column a judge."""
    views = screened.pivot(index="candidate_id", columns="judge", values="is_accepted").astype(object)
    return views.where(views.notna(), None).reindex(screened["candidate_id"].drop_duplicates())


def count_stages(proposals):
    """Return how many proposals reach each stage (`curation.STAGES`): stage, n. A stage needs all before it.

    A row whose `status` says that the model did not reply was not proposed.
    """
    passed = proposals.assign(proposed=proposals["status"].eq("ok"))[list(STAGES)].eq(True)
    return passed.cummin(axis=1).sum().rename_axis("stage").reset_index(name="n")


# --- questions -------------------------------------------------------------------------------------------------------


def draw_events(events, rng, n, unit):
    """Return `n` events, no two of the same `unit` (a column such as "source_id"), sorted by event_id.

    Raises ValueError when there are fewer.
    """
    first = events.sort_values("event_id").drop_duplicates(unit).reset_index(drop=True)
    if len(first) < n:
        raise ValueError(f"only {len(first)} events differ in {unit}; {n} are wanted")
    return first.iloc[sorted(rng.permutation(len(first))[:n])].reset_index(drop=True)


def list_public(sets):
    """Return the market questions of ForecastBench's question sets, each once: question_id, market, prompt.

    `sets` are the files' JSON. Questions made from data series are left out.
    """
    rows = [question for one in sets for question in one["questions"] if question["source"] in MARKETS]
    table = pd.DataFrame([(f"{row['source']}:{row['id']}", row["source"], row["question"]) for row in rows])
    return table.set_axis(["question_id", "market", "prompt"], axis=1).drop_duplicates("question_id", ignore_index=True)


def draw_public(questions, rng, n_random, n_charged):
    """Return public questions (columns question_id, prompt): a random part and a part with charged words (`CHARGED`).

    The random part is of all; column `stratum` says which. Sorted by stratum and question_id.
    """
    pool = questions.sort_values("question_id").drop_duplicates("question_id").reset_index(drop=True)
    order = rng.permutation(len(pool))
    charged = [i for i in order[n_random:] if CHARGED.search(pool["prompt"][i])][:n_charged]
    parts = [("random", order[:n_random]), ("charged", charged)]
    return pd.concat([pool.iloc[sorted(part)].assign(stratum=name) for name, part in parts], ignore_index=True)


def read_labels(path=ROOT / "data/labels/questions.csv"):
    """Return the labels by reading, columns `LABELS`. Raises Problems for an absent column, a question twice."""
    flags = dict.fromkeys(("is_harmful", "is_subjective"), ("True", "False"))
    labels = read_sheet(path, LABELS, key=["question_id"], words=flags)[list(LABELS)]
    return labels.assign(**{flag: labels[flag] == "True" for flag in flags})


def view_questions(questions, judges):
    """Return the judges' views of questions (dictionaries with question_id, prompt, options): a column a judge."""
    rows = [{name: judge(question)[0] for name, judge in judges.items()} for question in questions]
    ids = [question["question_id"] for question in questions]
    return pd.DataFrame(rows, index=pd.Index(ids, name="question_id"), dtype=object)


# --- templates, distractors, answers ---------------------------------------------------------------------------------


def collect_proposals(consult, sources, crawler, moment):
    """Return a row a source: source_id, status, question, form, scrape, answer, note, person (None: nobody has looked).

    `status` is that of the model's reply; without one the row has passed nothing.
    """
    rows = []
    for source in sources:
        verdict = propose_template(consult, source, crawler.open(source.address, moment).text)
        row = {"source_id": source.id, "status": verdict.status, "question": "", "note": "no reply", "person": None}
        row |= {"form": False, "scrape": False, "answer": False}
        if verdict.value:
            row |= {"question": verdict.value["question"]}
            row |= check_template(verdict.value, source, crawler.observe(source.id, moment)[0])
        rows.append(row)
    return pd.DataFrame(rows)


def rate_distractors(consult, events, crawler):
    """Return a row an option that the model proposed: event_id, text, check (`curation.check_distractor`).

    An event without a reply has one row, its check the reply's status.
    """
    rows = []
    for event in events.to_dict("records"):
        verdict = propose_distractors(consult, event)
        known = set(crawler.observe(event["source_id"], event["as_of"])[0]["entity"])
        said = list((verdict.value or {}).values())
        rows += [(event["event_id"], text, check_distractor(text, event, known)) for text in said]
        rows += [] if said else [(event["event_id"], "", verdict.status)]
    return pd.DataFrame(rows, columns=["event_id", "text", "check"])


def rate_answers(consult, events, answers, crawler):
    """Return a row a number event: event_id, status, is_shown (the text holds the value), answer, said, is_equal.

    `answers` are the rule's; the page is read as of the moment at which the rule had its value.
    """
    rows = []
    known = answers.set_index("event_id")
    for event in events.to_dict("records"):
        value, moment = float(known.loc[event["event_id"], "value"]), known.loc[event["event_id"], "acquired_at"]
        text = crawler.open(crawler.sources[event["source_id"]].address, moment, event["prompt"]).text[:MAX_CHARS]
        verdict = extract_answer(consult, event, text)
        is_shown = value in [read_number(number) for number in re.findall(NUMBER, text)]
        said, is_equal = (verdict.value["value"], compare_answer(verdict.value, value)) if verdict.value else ("", None)
        rows.append((event["event_id"], verdict.status, is_shown, value, said, is_equal))
    return pd.DataFrame(rows, columns=["event_id", "status", "is_shown", "answer", "said", "is_equal"])
