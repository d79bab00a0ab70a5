"""What a language model proposes in curation: templates, wrong options, answers, held against pages (FutureX 3.2).

Each function that asks a model takes `consult` (`models.judges.open_judge` yields one) and leaves checking to plain
code beside it: a proposal counts for nothing until the registry's own extraction has confirmed it.
"""

import re

import pandas as pd

from helpers.futurex.curation.pages import NUMBER
from helpers.models.grammars import make_schema
from helpers.prompts import read_prompt
from helpers.store import parse_json
from helpers.web.extract import read_number

STAGES = ("proposed", "form", "scrape", "answer", "person")
"""A template's way: the model's reply, its form, the test scrape, the answer check, a person's yes."""
MAX_CHARS = 500
"""Characters of a page that a model is shown: a small one reads slowly."""


def name_text(length):
    """Return the schema of a short text."""
    return {"type": "string", "maxLength": length}


# --- templates -------------------------------------------------------------------------------------------------------


def propose_template(consult, source, text):
    """Ask for a template on a page's text; returns the verdict (quantity, entity, question, date, value)."""
    schema = make_schema(
        quantity=name_text(60),
        entity=name_text(60),
        question=name_text(200),
        date=name_text(10),
        value=name_text(20),
    )
    return consult(read_prompt("curate_template").format(name=source.name, text=text[:MAX_CHARS]), schema)


def check_template(proposal, source, observations):
    """Return the checks that a proposal passes: form, scrape, answer (True or False), and a note on the first failure.

    form: one sentence with the blank {date} once; scrape: the registry's extraction (`observations`) has a value of
    that quantity and entity on the proposal's date; answer: the model's value for that date is the extracted one.
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
    """Return the name that a text means: the only one, the same one, or the one that shares most words; else None.

    >>> match_name("the maximum temperature in °F", ["Maximum temperature", "Minimum temperature"])
    'Maximum temperature'
    >>> match_name("snow", ["Maximum temperature", "Minimum temperature"]) is None
    True
    """
    names = sorted(names)
    if len(names) == 1:
        return names[0]
    words = set(re.findall(r"\w+", said.casefold()))
    shares = [len(words & (own := set(re.findall(r"\w+", name.casefold())))) / max(len(own), 1) for name in names]
    best = max(shares, default=0)
    return names[shares.index(best)] if best >= 0.5 and shares.count(best) == 1 else None


def apply_reviews(proposals, decisions):
    """Return proposals with a person's decision: column `person` is True, False, or None where nobody has decided.

    `decisions`: source_id -> yes or no. Raises ValueError for another word, and for a decision on a proposal that is
    not there or has not passed the answer check: a person sees only those.
    """
    open_ids = set(proposals.loc[proposals["answer"].astype(bool), "source_id"])
    for source_id, word in decisions.items():
        if word not in ("yes", "no"):
            raise ValueError(f"{source_id}: a review is yes or no, not {word!r}")
        if source_id not in open_ids:
            raise ValueError(f"{source_id}: no proposal that has passed the checks; nothing to review")
    said = [{"yes": True, "no": False}.get(decisions.get(source_id)) for source_id in proposals["source_id"]]
    return proposals.assign(person=said)


def build_form(proposals, decisions):
    """Return a form for a notebook: a yes and a no button a proposal that passed; clicks write into `decisions`."""
    import ipywidgets  # only a person at a notebook needs it

    lines = []
    for row in proposals[proposals["answer"].astype(bool)].itertuples():
        choice = ipywidgets.ToggleButtons(options=["open", "yes", "no"], value="open")

        def note(change, source_id=row.source_id):
            decisions.pop(source_id, None)
            decisions.update({source_id: change["new"]} if change["new"] != "open" else {})

        choice.observe(note, names="value")
        lines.append(ipywidgets.HBox([ipywidgets.Label(row.question), choice]))
    return ipywidgets.VBox(lines)


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


def count_stages(proposals):
    """Return how many proposals reach each stage (`STAGES`): stage, n. A stage needs all before it.

    A row whose `status` says that the model did not reply was not proposed.
    """
    passed = proposals.assign(proposed=proposals["status"].eq("ok"))[list(STAGES)].eq(True)
    return passed.cummin(axis=1).sum().rename_axis("stage").reset_index(name="n")


# --- distractors -----------------------------------------------------------------------------------------------------


def propose_distractors(consult, event):
    """Ask for two wrong options for an event that has options; returns the verdict (first, second)."""
    options = parse_json(event["options"])
    shown = "; ".join(options.values())
    return consult(
        read_prompt("curate_distractors").format(question=event["prompt"].splitlines()[0], options=shown),
        make_schema(first=name_text(40), second=name_text(40)),
    )


def check_distractor(text, event, known):
    """Return "ok", or why an option must not be added: empty, repeats an option, could be right, another form.

    `known` are the names on the source's page; one of them could turn out right. The right answer is among the options,
    so an option that repeats none of them is not the answer.
    """
    options = list(parse_json(event["options"]).values())
    if not text.strip():
        return "empty"
    if text.strip().casefold() in {option.casefold() for option in options}:
        return "repeats an option"
    if text.strip().casefold() in {name.casefold() for name in known}:
        return "could be right"
    return "ok" if describe_form(text) in {describe_form(option) for option in options} else "another form"


def describe_form(text):
    """Return the form of an option: number, time, code (capitals and digits) or words.

    >>> [describe_form(text) for text in ("4,709", "07:00", "BHMEURBRD01", "Broad Street")]
    ['number', 'time', 'code', 'words']
    """
    text = text.strip()
    for form, pattern in (("number", r"-?[\d,.]+ ?%?"), ("time", r"\d{1,2}:\d{2}"), ("code", r"[A-Z0-9]{2,}")):
        if re.fullmatch(pattern, text):
            return form
    return "words"


def rate_distractors(consult, events, crawler):
    """Return a row an option that the model proposed: event_id, text, check (`check_distractor`).

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


# --- answers ---------------------------------------------------------------------------------------------------------


def extract_answer(consult, event, text):
    """Ask for an event's answer on its resolution page's text; returns the verdict (found, value)."""
    date = parse_json(event["variables"])["date"]
    blanks = {"question": event["prompt"].splitlines()[0], "date": date, "text": text[:MAX_CHARS]}
    return consult(
        read_prompt("curate_answer").format(**blanks), make_schema(found={"enum": ["yes", "no"]}, value=name_text(20))
    )


def compare_answer(said, answer):
    """Tell whether an extracted value ({"found", "value"}) is the rule's number.

    >>> compare_answer({"found": "yes", "value": "1,250 views"}, 1250.0)
    True
    """
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
        verdict = extract_answer(consult, event, text)
        is_shown = value in [read_number(number) for number in re.findall(NUMBER, text)]
        said, is_equal = (verdict.value["value"], compare_answer(verdict.value, value)) if verdict.value else ("", None)
        rows.append((event["event_id"], verdict.status, is_shown, value, said, is_equal))
    return pd.DataFrame(rows, columns=["event_id", "status", "is_shown", "answer", "said", "is_equal"])
