"""Baselines that know only how earlier questions ended: for public questions, which have no series
to look at.

As of an event's start the answers of those questions are known whose last day had ended by then.
`random` guesses, `first_option` takes what is asked first; `base_rate` knows how often yes was
right, and how many of several options; `option_words` is a logistic regression on the words of
earlier questions' options.
"""

import re
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from daybefore.agents.baselines import lack, list_baselines, seed_draws
from daybefore.replies.read_options import make_key
from helpers.files import dump_json, hash_text, parse_json

MIN_KNOWN = 10
"""Earlier questions from which something is learnt; with fewer, options are taken to be equally
likely."""

METHODS = ("random", "first_option", "base_rate", "option_words")


class Past(NamedTuple):
    """A question and its end: since when that was known (UTC), its form, its options, the letters
    that were right."""

    known_at: str
    kind: str
    form: str
    options: tuple
    right: tuple


def load_past_agents(events, answers):
    """Return the baselines of public questions by name, as `run_loop.run_agents` takes them; they
    learn from answers.

    What they learn from are the answered questions of options (`Past`), in the order in which they
    became known.
    """
    is_chosen = events["options"].notna() & events["kind"].isin(["single", "multi"])
    events = events[is_chosen & events["resolves_at"].notna()]
    rows = []
    values = answers.set_index("event_id")["value"].dropna()
    for event in events[events["event_id"].isin(values.index)].to_dict("records"):
        value = parse_json(values[event["event_id"]])
        options = tuple(parse_json(event["options"]).items())
        known_at = (
            (pd.Timestamp(event["resolves_at"]) + pd.Timedelta(days=1))
            .tz_convert("UTC")
            .isoformat()
        )
        right = (value,) if isinstance(value, str) else tuple(value)
        rows.append(Past(known_at, event["kind"], read_form(event), options, right))
    past = tuple(sorted(rows))
    digest = hash_text(dump_json([list(row) for row in past]), 12)
    return list_baselines(partial(forecast_from_past, past), METHODS, past=digest)


def load_consensus_agent(consensus):
    """Return the baseline that answers with the analysts' consensus, as `run_loop.run_agents` takes
    it (FutureX 5.1).

    `consensus` has event_id and consensus, blank where none is known.
    """
    known = consensus.dropna(subset="consensus").set_index("event_id")["consensus"].to_dict()
    digest = hash_text(dump_json(sorted(known.items())), 12)
    return list_baselines(partial(forecast_consensus, known), ("consensus",), past=digest)


def forecast_consensus(known, method, event, world):
    """Answer one event with the consensus; a missing prediction where none is known. The world is
    not looked at."""
    value = known.get(event["event_id"])
    if value is None:
        return lack("no consensus is known")
    trace = [{"step_type": "answer", "content": f"{method}: what analysts expect"}]
    return {"prediction": {"value": value, "source_ids": []}, "trace": trace}


def read_form(event):
    """Return the set's own type of a question, "" where it tells none.

    >>> read_form({"metadata": '{"question_type": "yes_no"}'})
    'yes_no'
    """
    return (parse_json(event["metadata"]) or {}).get("question_type", "")


def forecast_from_past(past, method, event, world):
    """Answer one event by a method: returns the outcome that `run_loop.run_agents` stores. The
    world is not looked at."""
    if event["kind"] not in ("single", "multi"):
        return lack(
            f"{method} knows how options ended, and this question asks for a {event['kind']}"
        )
    moment = pd.Timestamp(event["as_of"]).tz_convert("UTC").isoformat()
    known = tuple(row for row in past if row.known_at <= moment)
    kind = event["kind"]
    letters = list(parse_json(event["options"]))
    rng = seed_draws(method, event)
    if method == "first_option":
        prediction = {"value": letters[0] if kind == "single" else letters[:1]}
    elif method == "random" and kind == "multi":  # each by a coin, one at least
        named = [letter for letter in letters if rng.random() < 0.5] or [
            letters[int(rng.integers(len(letters)))]
        ]
        prediction = {"value": sorted(named), "distribution": dict.fromkeys(letters, 0.5)}
    else:
        prediction = name_likely(weigh_options(method, event, known), kind, rng)
    trace = [{"step_type": "answer", "content": f"{method}: {len(known)} questions had ended"}]
    return {"prediction": prediction | {"source_ids": []}, "trace": trace}


def weigh_options(method, event, known):
    """Return {letter: chance} of an event's options by what is known; of a single choice they need
    not add up to 1."""
    options = parse_json(event["options"])
    form = read_form(event)
    alike = [row for row in known if (row.kind, row.form) == (event["kind"], form)]
    if method == "option_words" and len(known) >= MIN_KNOWN:
        chances = fit_words(known).predict_proba(extract_features(event["kind"], options.values()))[
            :, 1
        ]
        return dict(zip(options, chances.tolist(), strict=True))
    if method != "random" and len(alike) >= MIN_KNOWN and event["kind"] == "multi":
        n_right, n_options = (
            sum(len(getattr(row, part)) for row in alike) for part in ("right", "options")
        )
        return dict.fromkeys(options, n_right / n_options)
    if method != "random" and len(alike) >= MIN_KNOWN and form == "yes_no":
        return {
            letter: 1 + sum(letter in row.right for row in alike) for letter in options
        }  # Laplace's rule
    return dict.fromkeys(options, 0.5)


@lru_cache(maxsize=128)
def fit_words(known):
    """Return a regression fitted on the words of some questions' options, each right or not."""
    from sklearn.feature_extraction import DictVectorizer  # here: it takes a second to import
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    marks = [
        mark
        for row in known
        for mark in extract_features(row.kind, [text for _, text in row.options])
    ]
    is_right = [letter in row.right for row in known for letter, _ in row.options]
    return make_pipeline(DictVectorizer(), LogisticRegression(max_iter=1000)).fit(marks, is_right)


def extract_features(kind, texts):
    """Return what is known of each option of a question: its words, how many options there are, and
    the kind.

    >>> extract_features("single", ["Yes", "No"])[1]
    {'one in': 0.5, 'single': 1, 'no': 1}
    """
    words = [re.findall(r"\w+", make_key(text)) for text in texts]
    return [{"one in": 1 / len(words), kind: 1} | dict.fromkeys(own, 1) for own in words]


def name_likely(shares, kind, rng):
    """Return a prediction by the chance of each option: the likeliest, or of several those with the
    best expected F1.

    That F1 is 2 x the sum of the named options' chances over (number named + sum of all chances).
    Ties are drawn.

    >>> name_likely({"A": 0.6, "B": 0.4, "C": 0.1}, "multi", np.random.default_rng(0))["value"]
    ['A', 'B']
    """
    order = sorted(shares, key=lambda letter: (-shares[letter], rng.random()))
    total = sum(shares.values())
    if kind == "single":
        distribution = {letter: round(share / total, 6) for letter, share in shares.items()}
        return {
            "value": order[0],
            "probability": distribution[order[0]],
            "distribution": distribution,
        }
    hits = np.cumsum([shares[letter] for letter in order])
    n_named = int(np.argmax(2 * hits / (np.arange(len(order)) + 1 + total))) + 1
    rounded = {letter: round(share, 6) for letter, share in shares.items()}
    return {"value": sorted(order[:n_named]), "distribution": rounded}
