"""Baselines that know only how earlier questions ended: for public questions, which have no series to look at.

As of an event's start the answers of those questions are known whose last day had ended by then.
"""

import re
import zlib
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers.replies.options import make_key
from helpers.store import dump_json, hash_text, parse_json

MIN_KNOWN = 10
"""Earlier questions from which something is learnt; with fewer, options are taken to be equally likely."""


class Past(NamedTuple):
    """A question and its end: since when that was known (UTC), its form, its options, the letters that were right."""

    known_at: str
    kind: str
    form: str
    options: tuple
    right: tuple


def load_past_agents(events, answers):
    """Return the baselines of public questions by name, as `runs.run_agents` takes them; they learn from answers."""
    past = list_past(events, answers)
    about = {"category": "baseline", "framework": "statistics"}
    digest = hash_text(dump_json([list(row) for row in past]), 12)
    return {
        name: about | {"forecast": partial(forecast_from_past, name, past), "params": {"method": name, "past": digest}}
        for name in METHODS
    }


def list_past(events, answers):
    """Return the questions that have an answer as a tuple of Past, in the order in which they became known."""
    rows, values = [], answers.set_index("event_id")["value"].dropna()
    for event in events[events["event_id"].isin(values.index)].to_dict("records"):
        value, options = parse_json(values[event["event_id"]]), tuple(parse_json(event["options"]).items())
        known_at = (pd.Timestamp(event["resolves_at"]) + pd.Timedelta(days=1)).tz_convert("UTC").isoformat()
        right = (value,) if isinstance(value, str) else tuple(value)
        rows.append(Past(known_at, event["kind"], read_form(event), options, right))
    return tuple(sorted(rows))


def read_form(event):
    """Return the set's own type of a question, "" where it tells none.

    >>> read_form({"metadata": '{"question_type": "yes_no"}'})
    'yes_no'
    """
    return (parse_json(event["metadata"]) or {}).get("question_type", "")


def list_known(past, as_of):
    """Return the part of a past that was known as of a moment."""
    moment = pd.Timestamp(as_of).tz_convert("UTC").isoformat()
    return tuple(row for row in past if row.known_at <= moment)


def forecast_from_past(method, past, event, world):
    """Answer one event by a method: returns the outcome that `runs.run_agents` stores. The world is not looked at."""
    known, options = list_known(past, event["as_of"]), parse_json(event["options"])
    rng = np.random.default_rng(zlib.crc32(f"{method}:{event['event_id']}".encode()))
    prediction = METHODS[method](event, options, known, rng)
    note = f"{method}: {len(known)} questions had ended"
    return {"prediction": prediction | {"source_ids": []}, "trace": [{"step_type": "answer", "content": note}]}


def guess(event, options, known, rng):
    """Return a uniform guess: one option, or each of several by a coin, one at least."""
    if event["kind"] == "single":
        return name_likely(dict.fromkeys(options, 1.0), "single", rng)
    letters = list(options)
    named = [letter for letter in letters if rng.random() < 0.5] or [letters[int(rng.integers(len(letters)))]]
    return {"value": sorted(named), "distribution": dict.fromkeys(letters, 0.5)}


def take_first(event, options, known, rng):
    """Return the first option in the order in which the event is asked; nothing is said of its probability."""
    letter = next(iter(options))
    return {"value": letter if event["kind"] == "single" else [letter]}


def take_rates(event, options, known, rng):
    """Return what base rates say: of yes and no, and of how many options of several are right, in earlier questions.

    Other options stand in a drawn order: each is as likely as the next.
    """
    form = read_form(event)
    alike = [row for row in known if (row.kind, row.form) == (event["kind"], form)]
    shares = dict.fromkeys(options, 0.5)
    if len(alike) >= MIN_KNOWN and event["kind"] == "multi":
        right, all_options = (
            sum(map(len, parts)) for parts in zip(*((row.right, row.options) for row in alike), strict=True)
        )
        shares = dict.fromkeys(options, right / all_options)
    elif len(alike) >= MIN_KNOWN and form == "yes_no":
        shares = {letter: 1 + sum(letter in row.right for row in alike) for letter in options}  # Laplace's rule
    return name_likely(shares, event["kind"], rng)


def take_words(event, options, known, rng):
    """Return what the options' own words say: a logistic regression on earlier questions' options and their ends."""
    if len(known) < MIN_KNOWN:
        return take_rates(event, options, known, rng)
    words, model = fit_words(known)
    shares = model.predict_proba(words.transform(list_marks(event["kind"], options.values())))[:, 1]
    return name_likely(dict(zip(options, shares.tolist(), strict=True)), event["kind"], rng)


@lru_cache(maxsize=128)
def fit_words(known):
    """Return (counter of words, regression) fitted on the options of some questions, each right or not."""
    from sklearn.feature_extraction import DictVectorizer  # here: it takes a second to import
    from sklearn.linear_model import LogisticRegression

    marks = [mark for row in known for mark in list_marks(row.kind, [text for _, text in row.options])]
    is_right = [letter in row.right for row in known for letter, _ in row.options]
    words = DictVectorizer().fit(marks)
    return words, LogisticRegression(max_iter=1000).fit(words.transform(marks), is_right)


def list_marks(kind, texts):
    """Return what is known of each option of a question: its words, how many options there are, and the kind.

    >>> list_marks("single", ["Yes", "No"])[1]
    {'one in': 0.5, 'single': 1, 'no': 1}
    """
    texts = list(texts)
    return [
        {"one in": 1 / len(texts), kind: 1} | dict.fromkeys(re.findall(r"\w+", make_key(text)), 1) for text in texts
    ]


def name_likely(shares, kind, rng):
    """Return a prediction by the chance of each option: the likeliest, or of several those with the best expected F1.

    That F1 is 2 x the sum of the named options' chances over (number named + sum of all chances). Ties are drawn.

    >>> name_likely({"A": 0.9, "B": 0.6, "C": 0.1}, "multi", np.random.default_rng(0))["value"]
    ['A', 'B']
    """
    order = sorted(shares, key=lambda letter: (-shares[letter], rng.random()))
    total = sum(shares.values())
    if kind == "single":
        distribution = {letter: round(share / total, 6) for letter, share in shares.items()}
        return {"value": order[0], "probability": distribution[order[0]], "distribution": distribution}
    hits = np.cumsum([shares[letter] for letter in order])
    n_named = int(np.argmax(2 * hits / (np.arange(len(order)) + 1 + total))) + 1
    rounded = {letter: round(share, 6) for letter, share in shares.items()}
    return {"value": sorted(order[:n_named]), "distribution": rounded}


METHODS = {"random": guess, "first_option": take_first, "base_rate": take_rates, "option_words": take_words}
