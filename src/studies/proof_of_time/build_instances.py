"""Builders of the nine tasks and a variant of Proof of Time from any table of items (3.3, A, Table
6).

An item is a row: `item` (its name in the evidence), `text` (what the question says of it), `group`
(candidates come from one group), and `value` at t1, `tier` or `field`; a converted `value` has its
`raw` one beside it. A `Pool` says where a table is from, its cutoff, and the evidence. Letters are
drawn, and whatever is tied is rejected.
"""

from typing import NamedTuple

import numpy as np

from helpers.files import dump_json, hash_text
from helpers.papers import get_constant
from studies.proof_of_time.evidence import tells
from studies.proof_of_time.instances import NONE, TASKS, Instance, letter_choices, list_usual

QUESTIONS = {
    "most_of_four": "{name}: which {one} will have the highest {measure} {span}?",
    "full_order": "{name}: put each {one} in its place by its {measure} {span}, the highest first.",
    "bucket": "{name}: into which range will the {measure} fall {span}, for this {one}?\n\n{text}",
    "frontier_bucket": "{name}: into which range will the {measure} fall {span}, for this {one}?\n\n{text}",
    "tier_pre": "{name}: which tier was this {one} given?\n\n{text}",
    "tier_post": "{name}: which tier will this {one} be given?\n\n{text}",
    "person_field": "{name}: in which field will most of the work of this {one} lie {span}?\n\n{text}",
    "person_article": "{name}: which of these, from {span} and without names, is of this {one}: {text}? It may be "
    "none of them.",
    "field_focus": "{name}: to which field do most of these belong, which are from {span}?\n\n{text}",
    "pairwise": "{name}: which {one} of the two will have the higher {measure} {span}?",
}
"""What is asked, by task or variant; a pool's `words` fill name, one (what an item is), measure and
span."""

MAX_PASSES = 20
"""How often a table is gone through for sets that were not drawn before."""


class Pool(NamedTuple):
    """Where instances come from: `source`, their cluster; `words` are name, one, measure, span,
    criteria."""

    source: str
    cutoff: str
    manifest: list
    words: dict
    variant: str = "plain"


def make_instance(pool, kind, choices, target, *, text="", **metadata):
    """Return an instance of a pool, its id made of all that is asked; `kind` is its task, or
    "pairwise"."""
    task = "frontier_bucket" if kind == "pairwise" else kind
    variant = "pairwise" if kind == "pairwise" else pool.variant
    prompt = QUESTIONS[kind].format(**pool.words, text=text)
    digest = hash_text(dump_json([prompt, choices, pool.cutoff]), 8)
    name = f"{pool.source}-{kind}-{digest}"
    metadata = {"source": pool.source, "criteria": pool.words["criteria"]} | metadata
    return Instance(
        name,
        TASKS[task][0],
        task,
        variant,
        prompt,
        choices,
        target,
        pool.cutoff,
        pool.manifest,
        metadata,
    )


def drop_tellers(items):
    """Return the items whose own text does not happen to hold the value that will be asked for."""
    return items[
        [
            not any(tells(row["text"], value) for _, value in list_asked(row))
            for _, row in items.iterrows()
        ]
    ]


def list_asked(row):
    """Return [item, value] of an item, and again for its `raw` value.

    >>> list_asked({"item": "Oil", "value": 40.0, "raw": 51.2})
    [['Oil', 40.0], ['Oil', 51.2]]
    """
    values = [row["value"], row["raw"]] if "raw" in row else [row["value"]]
    return [[row["item"], value] for value in dict.fromkeys(map(float, values))]


def has_top(values):
    """Say whether one value is the highest alone.

    >>> bool(has_top([3, 1, 1])), bool(has_top([3, 3, 1]))
    (True, False)
    """
    return (np.asarray(values) == max(values)).sum() == 1


def draw_sets(items, rng, n, size, is_order):
    """Return up to `n` sets of `size` items of one group whose values can be told apart; no set is
    drawn twice.

    A tied top is rejected, and where `is_order` any tie.
    """
    seen = set()
    sets = []
    groups = [part for _, part in items.groupby("group", sort=True) if len(part) >= size]
    for _ in range(MAX_PASSES if groups else 0):
        cuts = [
            np.split(rng.permutation(len(part)), range(size, len(part), size)) for part in groups
        ]
        drawn = [
            part.iloc[at]
            for part, cut in zip(groups, cuts, strict=True)
            for at in cut
            if len(at) == size
        ]
        for turn in rng.permutation(len(drawn)):
            values = drawn[turn]["value"]
            key = frozenset(drawn[turn]["item"])
            is_apart = values.is_unique if is_order else has_top(values)
            if key not in seen and is_apart:
                sets.append(drawn[turn])
            seen.add(key)
        if len(sets) >= n:
            break
    return sets[:n]


def build_sets(pool, items, rng, n, kind):
    """Return instances that compare `n` sets of items (`draw_sets`); `kind` says what is asked.

    most_of_four: which has the most; pairwise: which of two; full_order: their order.
    """
    size = 2 if kind == "pairwise" else get_constant("proof_of_time", "n_candidates")
    out = []
    for chosen in draw_sets(items, rng, n, size, kind == "full_order"):
        choices, values, names = (
            letter_choices(chosen[name]) for name in ("text", "value", "item")
        )
        ranked = sorted(values, key=values.get, reverse=True)
        target = ranked if kind == "full_order" else ranked[0]
        asked = [pair for _, row in chosen.iterrows() for pair in list_asked(row)]
        out.append(make_instance(pool, kind, choices, target, items=names, asked=asked))
    return out


def find_range(value, task):
    """Return the position of the paper's range that a value lies in, of scores to 100
    (frontier_bucket) or citations.

    Ranges are half-open; the last of the scores holds 100, the last of the citations has no end.

    >>> find_range(100, "frontier_bucket"), find_range(12, "bucket")
    (4, 1)
    """
    edges = get_constant("proof_of_time", "citation_buckets")
    last = np.inf
    if task == "frontier_bucket":
        edges = get_constant("proof_of_time", "sota_buckets")
        last = edges[-1]
    if not edges[0] <= value <= last:
        raise ValueError(f"{value} lies in no bucket of {list(edges)}")
    at = int(np.searchsorted(edges, value, side="right")) - 1
    return min(at, len(list_usual(task)) - 1)


def draw_classes(labels, rng, n):
    """Return the positions of up to `n` rows, by turns from each class, drawn within it.

    >>> sorted(draw_classes(["a", "a", "a", "b"], np.random.default_rng(0), 2))[-1]
    3
    """
    labels = np.asarray(labels)
    order = [rng.permutation(np.flatnonzero(labels == name)) for name in sorted(set(labels))]
    turns = sorted((turn, at) for at, part in enumerate(order) for turn in range(len(part)))
    return [int(order[at][turn]) for turn, at in turns[:n]]


def build_buckets(pool, items, rng, n, task="bucket"):
    """Return instances of "into which range" (`find_range`), spread over the ranges as far as each
    has items."""
    at = [find_range(value, task) for value in items["value"]]
    choices = letter_choices(list_usual(task))
    out = []
    for place in draw_classes(at, rng, n):
        row = items.iloc[place]
        metadata = {"items": {"": row["item"]}, "asked": list_asked(row)}
        out.append(
            make_instance(pool, task, choices, chr(65 + at[place]), text=row["text"], **metadata)
        )
    return out


def build_tiers(pool, items, rng, n_each, task):
    """Return instances of a paper's tier, up to `n_each` a tier."""
    choices = letter_choices(get_constant("proof_of_time", "award_tiers"))
    out = []
    for letter, tier in choices.items():
        part = items[items["tier"] == tier]
        for row in part.iloc[rng.permutation(len(part))[:n_each]].itertuples():
            metadata = {"items": {"": row.item}, "asked": [[row.item, tier]]}
            out.append(make_instance(pool, task, choices, letter, text=row.text, **metadata))
    return out


def build_fields(pool, items, taxonomy, rng, n, task="person_field"):
    """Return instances of "in which field", for persons or (field_focus) sets of records; `field`
    None is a tie.

    `asked`, where items have it, lists the records that tell the field and may stand nowhere.
    """
    choices = letter_choices(taxonomy)
    letters = {name: letter for letter, name in choices.items()}
    known = items[items["field"].notna()]
    out = []
    for at in rng.permutation(len(known))[:n]:
        row = known.iloc[at]
        metadata = {
            "items": {"": row["item"]},
            "asked": [[row["item"], record] for record in row.get("asked", [])],
        }
        out.append(
            make_instance(pool, task, choices, letters[row["field"]], text=row["text"], **metadata)
        )
    return out


def find_field(fields):
    """Return the field that most of some records have, None for a tie or none.

    >>> find_field(["syntax", "speech", "syntax"]), find_field(["syntax", "speech"]), find_field([])
    ('syntax', None, None)
    """
    names, counts = np.unique(
        [field for field in fields if isinstance(field, str)], return_counts=True
    )
    if not len(names) or not has_top(counts):
        return None
    return str(names[counts.argmax()])


def build_articles(pool, persons, records, rng, n):
    """Return instances of "which of four records, or none, is this person's".

    `persons` are items; `records` have `record` (its name), `owners` (a set of items), `text` and
    `group`. Drawn are a record of the person's, but for one time in five, and others of its group.
    Two candidates of one text are a tie.
    """
    size = get_constant("proof_of_time", "n_candidates")
    out = []
    for at in rng.permutation(len(persons)):
        if len(out) == n:
            break
        person = persons.iloc[at]
        is_own = np.array([person["item"] in owners for owners in records["owners"]])
        if not is_own.any():
            continue
        own = records[is_own].iloc[rng.integers(is_own.sum())]
        others = records[~is_own & (records["group"] == own["group"]).to_numpy()]
        is_none = rng.random() < 1 / (size + 1)
        n_others = size if is_none else size - 1
        if len(others) < n_others:
            continue
        drawn = others.iloc[rng.permutation(len(others))[:n_others]]
        if drawn["text"].duplicated().any() or own["text"] in set(drawn["text"]):
            continue
        shown = [*zip(drawn["record"], drawn["text"], strict=True), (own["record"], own["text"])][
            :size
        ]
        order = rng.permutation(size)
        choices = letter_choices([*(shown[at][1] for at in order), NONE])
        items = letter_choices([shown[at][0] for at in order])
        target = chr(65 + size) if is_none else chr(65 + int(np.flatnonzero(order == size - 1)[0]))
        asked = [[person["item"], record] for record in records.loc[is_own, "record"]]
        metadata = {"items": {"": person["item"]} | items, "asked": asked}
        out.append(
            make_instance(pool, "person_article", choices, target, text=person["text"], **metadata)
        )
    return out
