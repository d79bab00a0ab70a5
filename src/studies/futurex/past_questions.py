"""FutureX's past questions as facts without words: form, guessing, do the right options stand first
in the file; scores above guessing by form.

Tables are those of data/public: futurex_past_events (a row a question) and futurex_past_scores (a
row an agent and question), built by tools/public/futurex_past.py.
"""

from math import comb

import numpy as np
import pandas as pd
from scipy.stats import binom

from daybefore.agents.baselines_of_answers import read_form
from helpers.files import dump_json, parse_json
from helpers.means import summarize_clustered
from helpers.scores import build_matrix

FORMS = {
    ("single", "yes_no"): "yes or no",
    ("single", "binary_named"): "one of two names",
    ("single", "multiple_choice"): "one of several",
    ("multi", "multiple_choice"): "several right",
}
"""Kind and the set's own question type -> what a form is called here."""
KEPT = ("event_id", "cluster_id", "level", "as_of", "resolves_at")
YES = "A"
"""The letter of Yes, which the set has first."""
ALL_OPTIONS, FIRST = "all options", "first in the file"
"""Two probes that know nothing of a question: every option, and the one that stands first in the
file."""


def label_forms(events):
    """Return the form of each event by event_id; a type that the set did not have before keeps its
    own name."""
    labels = [
        FORMS.get((row["kind"], read_form(row)), f"{row['kind']} {read_form(row)}")
        for row in events.to_dict("records")
    ]
    return pd.Series(labels, index=events["event_id"])


def expect_guess(kind, n_options, n_right):
    """Return what the agent `random` earns on average: one option, or each by a coin and one where
    none came up (F1).

    >>> expect_guess("single", 4, 1), round(expect_guess("multi", 2, 1), 4)
    (0.25, 0.5417)
    """
    if kind == "single":
        return 1 / n_options
    n_wrong = n_options - n_right
    hits, misses = np.ogrid[: n_right + 1, : n_wrong + 1]
    chances = binom.pmf(hits, n_right, 0.5) * binom.pmf(misses, n_wrong, 0.5)
    total = (chances * 2 * hits / (hits + misses + n_right)).sum()
    return float(total + n_right / n_options * 2 / (1 + n_right) / 2**n_options)


def list_facts(events, answers):
    """Return a row an event: ids, form, level, dates, n_options, n_right, guess, is_first,
    first_chance, is_yes.

    `guess` is the mean of guessing (`expect_guess`); is_first says whether the right options, and
    no other, stand first in the file, first_chance how likely a drawn order does that (both where
    one of several or several are right); is_yes whether Yes is right, of yes and no.
    """
    forms = label_forms(events)
    values = answers.set_index("event_id")["value"]
    rows = []
    for event in events.to_dict("records"):
        right = parse_json(values[event["event_id"]])
        right = {right} if isinstance(right, str) else set(right)
        letters = list(parse_json(event["options"]))
        form = forms[event["event_id"]]
        row = {name: event[name] for name in KEPT}
        row |= {"form": form, "n_options": len(letters), "n_right": len(right)}
        row["guess"] = expect_guess(event["kind"], len(letters), len(right))
        if form in ("one of several", "several right"):
            order = parse_json(event["metadata"])["order"]
            places = {order[letters.index(letter)] for letter in right}
            row["is_first"] = int(places == set(range(len(places))))
            row["first_chance"] = 1 / comb(len(letters), len(places))
        rows.append(row | {"is_yes": int(YES in right) if form == "yes or no" else None})
    columns = "event_id cluster_id form level as_of resolves_at n_options n_right guess is_first first_chance is_yes"
    return pd.DataFrame(rows)[columns.split()]


def list_probes(events):
    """Return the probes' predictions (event_id, agent_id, value): ALL_OPTIONS and FIRST, on the
    forms they fit."""
    rows = []
    forms = label_forms(events)
    for event in events.to_dict("records"):
        letters = list(parse_json(event["options"]))
        if event["kind"] == "multi":
            rows.append((event["event_id"], ALL_OPTIONS, dump_json(letters)))
        elif forms[event["event_id"]] == "one of several":
            first = letters[parse_json(event["metadata"])["order"].index(0)]
            rows.append((event["event_id"], FIRST, dump_json(first)))
    return pd.DataFrame(rows, columns=["event_id", "agent_id", "value"])


def tabulate_forms(scores, events):
    """Return each agent's mean score by form, and above the exact mean of guessing: a row an agent
    and form.

    Under "all", the first, stands who predicted more forms than one. Columns: form, agent_id, mean,
    chance, above, low, high (95% by cluster), n, n_clusters.
    """
    matrix = build_matrix(scores, sorted(scores["agent_id"].unique()))
    facts = events.set_index("event_id").reindex(matrix.index)
    own = facts["form"]
    several = matrix.notna().groupby(own).any().sum() > 1
    groups = {"all": matrix.loc[:, several]}
    groups |= {form: matrix[own == form] for form in FORMS.values() if (own == form).any()}
    parts = []
    for form, part in groups.items():
        above = part.sub(facts["guess"].reindex(part.index), axis=0)
        found = summarize_clustered(above, facts["cluster_id"]).rename(columns={"mean": "above"})
        found = found.assign(mean=part.mean(), chance=part.mean() - found["above"], form=form)
        parts.append(found.rename_axis("agent_id").reset_index())
    table = pd.concat(parts, ignore_index=True).query("n > 0")
    columns = "form agent_id mean chance above low high n n_clusters".split()
    return table[columns].reset_index(drop=True)


def measure_order(events):
    """Return how often the right options stand first in the file, a row a form: n, n_clusters,
    seen, expected, gain, low, high, p; expected is that of a drawn order.
    """
    parts = []
    for form, part in events.dropna(subset="is_first").groupby("form"):
        gain = (part["is_first"] - part["first_chance"]).rename("gain")
        found = summarize_clustered(gain, part["cluster_id"]).rename(columns={"mean": "gain"})
        counts = {"form": form, "seen": part["is_first"].sum()}
        counts |= {"expected": part["first_chance"].sum()}
        parts.append(counts | found.drop(columns="se").iloc[0].to_dict())
    return pd.DataFrame(parts)
