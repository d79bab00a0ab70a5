"""What a language model proposes and judges in curation: templates, wrong options, answers, questions (FutureX 3.2).

A proposal counts for nothing until the registry's own extraction has confirmed it (`consult` is of `models.judges`). A
question's text is not among the labels of harmful or subjective ones; those of public questions are kept by ids.
"""

import re

import pandas as pd

from helpers.faults import read_sheet
from helpers.futurex.curation import NUMBER
from helpers.models.grammars import make_schema
from helpers.prompts import read_prompt
from helpers.store import ROOT, parse_json
from helpers.web.extract import read_number

TEMPLATE = {name: {"type": "string", "maxLength": 60} for name in ("quantity", "entity", "question", "date", "value")}
TEMPLATE["question"]["maxLength"], TEMPLATE["date"]["maxLength"], TEMPLATE["value"]["maxLength"] = 200, 10, 20
TEXT = {"type": "string", "maxLength": 40}
FORMS = {"number": r"-?[\d,.]+ ?%?", "time": r"\d{1,2}:\d{2}", "code": r"[A-Z0-9]{2,}", "words": ".*"}
"""The forms of an option, the first that fits."""
MAX_CHARS = 500
"""Characters of a page that a model is shown: a small one reads slowly."""


def check_template(proposal, source, observations):
    """Return the checks that a proposal passes: form, scrape, answer (True or False), and a note on the first failure.

    form: one sentence with the blank {date} once; scrape: the registry's extraction (`observations`) has a value of
    that quantity and entity on the date; answer: the model's value is the extracted one.
    """
    passed = {"form": False, "scrape": False, "answer": False, "note": ""}
    question = proposal["question"].strip()
    if question.count("{date}") != 1 or not question.endswith("?"):
        return passed | {"note": "the question needs the blank {date} once, and a question mark"}
    passed["form"] = True
    labels = {variable["label"]: name for name, variable in source.variables.items()}
    variable = labels.get(match_name(proposal["quantity"], labels))
    entity = match_name(proposal["entity"], set(observations["entity"]))
    rows = observations[(observations["variable"] == variable) & (observations["entity"] == entity)]
    rows = rows[rows["occurred_at"].str[:10] == proposal["date"]].dropna(subset="value")
    if rows.empty:
        return passed | {"note": f"no extracted value of {variable} for {entity} on {proposal['date']}"}
    passed["scrape"] = True
    passed["answer"] = read_number(proposal["value"]) in rows["value"].tolist()
    return passed | {
        "note": "" if passed["answer"] else f"said {proposal['value']}, extracted {rows['value'].iloc[-1]:g}"
    }


def match_name(said, names):
    """Return the name that a text means: the only one, or the one that shares most words; else None.

    >>> match_name("the maximum temperature in °F", ["Maximum temperature", "Minimum temperature"])
    'Maximum temperature'
    """
    names = sorted(names)
    if len(names) == 1:
        return names[0]
    words = set(re.findall(r"\w+", said.casefold()))
    shares = [len(words & (own := set(re.findall(r"\w+", name.casefold())))) / max(len(own), 1) for name in names]
    best = max(shares, default=0)
    return names[shares.index(best)] if best >= 0.5 and shares.count(best) == 1 else None


def collect_proposals(consult, sources, crawler, moment):
    """Return a row a source: source_id, status (of the reply), question, form, scrape, answer, note."""
    rows = []
    for source in sources:
        text = crawler.open(source.address, moment).text[:MAX_CHARS]
        prompt = read_prompt("curate_template").format(name=source.name, text=text)
        verdict = consult(prompt, make_schema(**TEMPLATE))
        row = {"source_id": source.id, "status": verdict.status, "question": "", "note": "no reply"}
        row |= {"form": False, "scrape": False, "answer": False}
        if verdict.value:
            row |= {"question": verdict.value["question"]}
            row |= check_template(verdict.value, source, crawler.observe(source.id, moment)[0])
        rows.append(row)
    return pd.DataFrame(rows)


def check_distractor(text, event, known):
    """Return "ok", or why an option must not be added: empty, repeats an option, could be right, another form.

    `known` are the names on the source's page; one of them could turn out right.
    """
    options = list(parse_json(event["options"]).values())
    if not text.strip():
        return "empty"
    if text.strip().casefold() in {option.casefold() for option in options}:
        return "repeats an option"
    if text.strip().casefold() in {name.casefold() for name in known}:
        return "could be right"
    form, *others = (
        next(name for name, pattern in FORMS.items() if re.fullmatch(pattern, each.strip(), re.DOTALL))
        for each in (text, *options)
    )
    return "ok" if form in others else "another form"


def rate_distractors(consult, events, crawler):
    """Return a row an option that the model proposed: event_id, text, check (`check_distractor`; no reply: its
    status).
    """
    rows = []
    for event in events.to_dict("records"):
        shown = "; ".join(parse_json(event["options"]).values())
        prompt = read_prompt("curate_distractors").format(question=event["prompt"].splitlines()[0], options=shown)
        verdict = consult(prompt, make_schema(first=TEXT, second=TEXT))
        known = set(crawler.observe(event["source_id"], event["as_of"])[0]["entity"])
        said = list((verdict.value or {}).values())
        rows += [(event["event_id"], text, check_distractor(text, event, known)) for text in said]
        rows += [] if said else [(event["event_id"], "", verdict.status)]
    return pd.DataFrame(rows, columns=["event_id", "text", "check"])


def compare_answer(said, answer):
    """Tell whether an extracted value ({"found", "value"}) is the rule's number."""
    number = re.search(r"-?\d[\d,]*(?:\.\d+)?", said["value"])
    return said["found"] == "yes" and number is not None and read_number(number.group(0)) == answer


def rate_answers(consult, events, answers, crawler):
    """Return a row a number event: event_id, status, is_shown (the text holds the value), answer, said, is_equal.

    `answers` are the rule's; the page is read as of the moment at which the rule had its value.
    """
    rows = []
    known = answers.set_index("event_id")
    for event in events.to_dict("records"):
        value, moment = float(known.loc[event["event_id"], "value"]), known.loc[event["event_id"], "acquired_at"]
        text = crawler.open(crawler.sources[event["source_id"]].address, moment, event["prompt"]).text[:MAX_CHARS]
        date = parse_json(event["variables"])["date"]
        prompt = read_prompt("curate_answer").format(question=event["prompt"].splitlines()[0], date=date, text=text)
        schema = make_schema(found={"enum": ["yes", "no"]}, value={"type": "string", "maxLength": 20})
        verdict = consult(prompt, schema)
        is_shown = value in [read_number(number) for number in re.findall(NUMBER, text)]
        said, is_equal = (verdict.value["value"], compare_answer(verdict.value, value)) if verdict.value else ("", None)
        rows.append((event["event_id"], verdict.status, is_shown, value, said, is_equal))
    return pd.DataFrame(rows, columns=["event_id", "status", "is_shown", "answer", "said", "is_equal"])


LABELS = ("question_id", "source", "is_harmful", "is_subjective", "note", "label_by", "labelled_date")
"""Columns of data/labels/questions.csv; the questions' text is not among them."""
MARKETS = ("infer", "manifold", "metaculus", "polymarket")
"""ForecastBench's sources of questions that people wrote."""
CHARGED = re.compile(
    r"\b(kill\w*|die[sd]?|dead|death\w*|shot|bomb\w*|attack\w*|strike|wars?|invade[sd]?|nuclear|jail|gay|race|sexes"
    r"|best|worst|good|great|believe|considered|popular|my|we|us|our|you|serious|significant\w*|major)\b"
)
"""Words that bring a question into the charged half of a sample of public ones; by chance alone few would be in it."""


def draw_events(events, rng, n, unit):
    """Return `n` events, no two of the same `unit` (such as "source_id"), by event_id. Raises ValueError for fewer."""
    first = events.sort_values("event_id").drop_duplicates(unit).reset_index(drop=True)
    if len(first) < n:
        raise ValueError(f"only {len(first)} events differ in {unit}; {n} are wanted")
    return first.iloc[sorted(rng.permutation(len(first))[:n])].reset_index(drop=True)


def list_public(sets):
    """Return the market questions of ForecastBench's question sets (their JSON), each once: question_id, market,
    prompt.
    """
    rows = [question for one in sets for question in one["questions"] if question["source"] in MARKETS]
    table = pd.DataFrame([(f"{row['source']}:{row['id']}", row["source"], row["question"]) for row in rows])
    return table.set_axis(["question_id", "market", "prompt"], axis=1).drop_duplicates("question_id", ignore_index=True)


def draw_public(questions, rng, n_random, n_charged):
    """Return public questions (question_id, prompt): a random part of all, and a part with charged words (`CHARGED`).

    Column `stratum` says which. Sorted by stratum and question_id.
    """
    pool = questions.sort_values("question_id").drop_duplicates("question_id").reset_index(drop=True)
    order = rng.permutation(len(pool))
    charged = [i for i in order[n_random:] if CHARGED.search(pool["prompt"][i])][:n_charged]
    parts = [("random", order[:n_random]), ("charged", charged)]
    return pd.concat([pool.iloc[sorted(part)].assign(stratum=name) for name, part in parts], ignore_index=True)


def read_labels(path=ROOT / "data/labels/questions.csv"):
    """Return a reader's labels (`LABELS`). Raises Problems for an absent column, a question twice."""
    flags = dict.fromkeys(("is_harmful", "is_subjective"), ("True", "False"))
    labels = read_sheet(path, LABELS, key=["question_id"], words=flags)[list(LABELS)]
    return labels.assign(**{flag: labels[flag] == "True" for flag in flags})


def view_questions(questions, judges):
    """Return the judges' views of questions (dictionaries with question_id, prompt, options): a column a judge."""
    rows = [{name: judge(question)[0] for name, judge in judges.items()} for question in questions]
    ids = [question["question_id"] for question in questions]
    return pd.DataFrame(rows, index=pd.Index(ids, name="question_id"), dtype=object)


def build_judge(consult, prompt, name):
    """Return a judge of questions for `events.filters`: event -> (is_flagged, reason).

    `prompt` names the wording ("question", "question_again"), `name` what is judged ("harmful", "subjective"). Without
    a valid reply the flag is None, and the reason says why.
    """
    schema = make_schema(**dict.fromkeys(("harmful", "subjective"), {"enum": ["yes", "no"]}))

    def judge(event):
        verdict = consult(read_prompt(f"curate_{prompt}").format(question=event["prompt"].splitlines()[0]), schema)
        if verdict.value is None:
            return None, f"no verdict: {verdict.status}"
        is_flagged = verdict.value[name] == "yes"
        return is_flagged, f"the model says {name}" if is_flagged else ""

    return judge
