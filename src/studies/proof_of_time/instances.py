"""Instances of Proof of Time: a question, its label, and what may be known before the cutoff, as
JSON lines (A.6, A.8).

A line holds id, family, task, variant, prompt, choices (letter -> text), target, cutoff, the
manifest of read-only evidence files, and metadata: `source` (its cluster), `criteria` (how it is
decided), `items` (letter -> what it stands for), and for the checks of `evidence` `asked`: [item,
value] pairs that nothing may show. `keeps` "values" says that of replies no words are stored.
"""

import re
from datetime import datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple

import pandas as pd
from pydantic import BaseModel, StringConstraints

from helpers.files import dump_json
from helpers.input_faults import find_faults, name_field, read_lines, show
from helpers.papers import get_constant
from helpers.tables import Setting, Text, allow, one_of, time_of

TASKS = {
    "most_of_four": ("impact", "Citation MCQ"),
    "full_order": ("impact", "Citation Rank"),
    "bucket": ("impact", "Citation Bucket"),
    "tier_pre": ("value", "Award (Pre-cutoff)"),
    "tier_post": ("value", "Award (Post-cutoff)"),
    "person_field": ("evolution", "Prof. Field"),
    "person_article": ("evolution", "Prof. Article"),
    "field_focus": ("evolution", "Field Focus"),
    "frontier_bucket": ("frontier", "SOTA Bucket"),
}
"""Task -> its family (3.3) and its name in Table 6."""

VARIANTS = ("plain", "counts_as_of_t1", "as_published", "pairwise")
"""Splits of their own: `counts_as_of_t1`, evidence with counts of the one later snapshot there is
(3.3 against A.2); `as_published`, the authors' evidence as it is, which may know what came after
the cutoff."""

NONE = "None of these"

Moment = time_of(
    r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d([+-]\d\d:\d\d|Z))?",
    datetime.fromisoformat,
    "a day or a moment",
)
Letter = allow(Annotated[str, StringConstraints(pattern="^[A-Z]$")], "a capital letter")
Digest = allow(Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")], "64 hexadecimal digits")
Name = allow(
    Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")],
    "a name of letters, digits, _ . -",
)


class File(Setting):
    """A file of a manifest: `as_of`, the last moment it knows; `dates`, the column with each row's,
    None where its own day alone is known; `late`, columns that were counted later, and when."""

    path: Text
    sha256: Digest
    as_of: Moment
    dates: str | None
    late: dict[str, Moment]


class Metadata(BaseModel):
    """What an instance's metadata hold at least."""

    source: Text
    criteria: Text
    items: allow(dict[str, str], "names by letter") = {}
    asked: allow(list[tuple[str, Any]], "a list of [item, value]") = []


class Record(Setting):
    """A line of the kit's own layout."""

    id: Name
    family: one_of(*sorted({family for family, _ in TASKS.values()}))
    task: one_of(*TASKS)
    variant: one_of(*VARIANTS)
    prompt: Text
    choices: dict[Letter, Text]
    target: allow(str | list[str], "a letter or a list of letters")
    cutoff: Moment
    manifest: list[File]
    metadata: Metadata


class PublicRecord(BaseModel):
    """A line of the paper's public layout."""

    question: Text
    answer: allow(str | list[str], "a text or a list of texts")
    choices: allow(list[str] | dict[str, str], "a list of texts, or letter -> text") = {}
    context: allow(str | None, "a text") = None
    prompt: allow(str | None, "a text") = None
    metadata: dict = {}


class Instance(NamedTuple):
    """One instance; `target` is a letter, for an order a list of letters."""

    id: str
    family: str
    task: str
    variant: str
    prompt: str
    choices: dict
    target: str | list
    cutoff: str
    manifest: list
    metadata: dict


def find_misfits(record, kind=Record):
    """Return what is wrong with a line, as "field: what" sentences: its fields, else that they do
    not fit together.

    >>> find_misfits({"question": "Which tier?", "answer": "Main", "context": 3}, PublicRecord)
    ['context: 3 is not a text']
    """
    said = [
        f"{name_field(place) or 'record'}: {words}" for place, words in find_faults(record, kind)
    ]
    if said or kind is not Record:
        return said
    letters = list(record["choices"])
    target = record["target"]
    task = record["task"]
    if record["family"] != TASKS[task][0]:
        said.append(f"family: {task} belongs to {TASKS[task][0]}, not to {record['family']}")
    if task == "full_order" and record["variant"] != "pairwise":
        if not isinstance(target, list) or sorted(target) != sorted(letters):
            said.append("target: an order names the letter of each choice once")
    elif not isinstance(target, str) or target not in letters:
        said.append(
            f"target: {target!r} is not the letter of a choice; there are {', '.join(letters) or 'none'}"
        )
    paths = [PurePosixPath(entry["path"]) for entry in record["manifest"]]
    outside = [path for path in paths if path.is_absolute() or ".." in path.parts]
    return said + [f"manifest: {path} lies outside the evidence's folder" for path in outside]


def read_instances(path):
    """Return the instances of a file. Raises ValueError, naming file, line and field, for what is
    no instance."""
    rows = ((place, Instance(**record)) for place, record in read_lines(path, find_misfits))
    return list_unique(rows, path)


def list_unique(rows, path):
    """Return the instances of (place, instance). Raises ValueError for an id that stands twice, and
    for none."""
    found = {}
    for place, instance in rows:
        if instance.id in found:
            raise ValueError(f"{place}: id: {instance.id} is taken by an earlier line")
        found[instance.id] = instance
    if not found:
        raise ValueError(f"{Path(path).name} holds no instance")
    return list(found.values())


def read_public(path, *, task, cutoff, manifest=(), ranges=()):
    """Return the instances of a file in the paper's public layout: question, choices, answer,
    context or prompt.

    Context and question stand before a prompt that does not hold them. A line's metadata may name
    task, cutoff and id. Choices are a list or letter -> text ("a: 0-20" is 0-20 where all begin
    so), by default the paper's of a tier or bucket. Choices that are bare letters get their texts
    as `name_choices` has it. The answer is a choice, its letter, or for an order a list of either,
    or one text of letters such as "B, A, D, C". With a `manifest`, the authors' evidence files,
    they are `as_published`. Raises ValueError with file, line and field.
    """
    rows = read_lines(path, partial(find_misfits, kind=PublicRecord))
    given = {"task": task, "cutoff": cutoff, "manifest": list(manifest), "ranges": ranges}
    made = ((place, make_public(place, record, **given)) for place, record in rows)
    return list_unique(made, path)


def make_public(place, record, *, task, cutoff, manifest, ranges):
    """Return the instance of a line of the public layout (`read_public`)."""
    file, _, number = place.rpartition(", line ")
    metadata = {"source": file, "criteria": "as the file's answer says"}
    metadata |= record.get("metadata") or {}
    task = metadata.get("task", task)
    if task not in list(TASKS):
        raise ValueError(
            f"{place}: metadata.task: no task {show(task)}; there are {', '.join(TASKS)}"
        )
    told = record.get("prompt") or ""
    parts = [part for part in (record.get("context"), record["question"]) if part]
    prompt = "\n\n".join([*(part for part in parts if part not in told), told]).strip("\n")
    usual = list_usual(task)
    given = letter_choices(record.get("choices") or usual)
    try:
        choices = name_choices(drop_letters(given), prompt, ranges or usual)
    except ValueError as error:
        raise ValueError(f"{place}: choices: {error}") from None
    answers = split_order(record, task)
    target = [find_letter(part, choices) or find_letter(part, given) for part in answers]
    if None in target or not target:
        raise ValueError(f"{place}: answer: {record['answer']!r} is none of the choices")
    stem = re.sub(r"[^A-Za-z0-9]+", "_", file.split(".")[0]).strip("_") or "set"
    fields = {
        "id": metadata.get("id", f"{stem}-{number}"),
        "family": TASKS[task][0],
        "task": task,
        "variant": "as_published" if manifest else "plain",
        "prompt": prompt,
        "choices": choices,
        "target": target if task == "full_order" else target[0],
        "cutoff": metadata.get("cutoff", cutoff),
        "manifest": manifest,
        "metadata": metadata,
    }
    if said := find_misfits(fields):
        raise ValueError(f"{place}: {said[0]}")
    return Instance(**fields)


def drop_letters(choices):
    """Return choices without the letter before a text, where each has its own.

    >>> drop_letters({"A": "a: 0-20", "B": "b: 20-40"}), drop_letters({"A": "A. Smith", "B": "Jones"})
    ({'A': '0-20', 'B': '20-40'}, {'A': 'A. Smith', 'B': 'Jones'})
    """
    own = {
        letter: re.match(rf"{re.escape(letter)}[:.)] *(?=\S)", text, re.IGNORECASE)
        for letter, text in choices.items()
    }
    if not all(own.values()):
        return choices
    return {letter: text[own[letter].end() :] for letter, text in choices.items()}


def letter_choices(choices):
    """Return choices as letter -> text.

    >>> letter_choices(["Findings", "Main"])
    {'A': 'Findings', 'B': 'Main'}
    """
    return (
        dict(choices)
        if isinstance(choices, dict)
        else {chr(65 + at): text for at, text in enumerate(choices)}
    )


def name_choices(choices: dict, words: str, ranges: list | tuple = ()) -> dict:
    """Return choices (letter -> text) with a text for each that is only its own letter, others as
    they are.

    The texts are those that the line's own words give by letter ("A: 0-10"), else the `ranges`, in
    their order. Raises ValueError where neither has one for each.

    >>> name_choices({"A": "A", "B": "B"}, "How many citations?", ["0-10", "10 or more"])
    {'A': '0-10', 'B': '10 or more'}
    >>> name_choices({"A": "a", "B": "b"}, "Options: A: low\\nB) high")
    {'A': 'low', 'B': 'high'}
    """
    if not choices or any(
        text.strip(" .:()").upper() != letter for letter, text in choices.items()
    ):
        return choices
    letters = "".join(choices)
    found = re.findall(
        rf"(?<![A-Za-z])([{letters}])[:)=] *(.+?)(?=[\s,;|(]+[{letters}][:)=]|\n|$)", words
    )
    named = {letter: text.strip(" ,;") for letter, text in found}
    if list(named) == list(choices) == [letter for letter, _ in found]:
        return named
    if len(ranges) == len(choices):
        return dict(zip(choices, ranges, strict=True))
    raise ValueError(
        f"{', '.join(choices)} are letters without a text, and the line does not say what each stands for; "
        "give choices as letter and text"
    )


def split_order(record: dict, task: str) -> list:
    """Return the parts of a line's answer: of an order one text of letters is split.

    >>> split_order({"answer": "B, A, D, C"}, "full_order"), split_order({"answer": "Rome, Italy"}, "person_field")
    (['B', 'A', 'D', 'C'], ['Rome, Italy'])
    >>> split_order({"answer": "B > A > C"}, "full_order"), split_order({"answer": "BAC"}, "full_order")
    (['B', 'A', 'C'], ['B', 'A', 'C'])
    """
    answer = record["answer"]
    if not isinstance(answer, str):
        return answer
    letters = re.findall(r"[A-Za-z]", answer)
    is_letters = re.fullmatch(
        r"[A-Za-z]([\s,;>]*[A-Za-z])*", re.sub(r"[\[\]()'\"]", "", answer).strip()
    )
    if (
        task == "full_order"
        and is_letters
        and len({letter.upper() for letter in letters}) == len(letters)
    ):
        return letters
    return [answer]


def list_usual(task):
    """Return the paper's own choices of a task, [] where each instance has its own."""
    usual = {
        "tier_pre": get_constant("proof_of_time", "award_tiers"),
        "bucket": name_buckets(get_constant("proof_of_time", "citation_buckets")),
        "frontier_bucket": name_buckets(
            get_constant("proof_of_time", "sota_buckets"), is_closed=True
        ),
    }
    return list(usual.get("tier_pre" if task == "tier_post" else task, []))


def name_buckets(edges, *, is_closed=False):
    """Return the names of half-open buckets; the last is open above, or closed at the last edge.

    >>> name_buckets([0, 10, 50]), name_buckets([0, 50, 100], is_closed=True)
    (['0 or more, below 10', '10 or more, below 50', '50 or more'], ['0 or more, below 50', '50 to 100'])
    """
    names = [f"{low} or more, below {high}" for low, high in zip(edges, edges[1:], strict=False)]
    return (
        [*names[:-1], f"{edges[-2]} to {edges[-1]}"]
        if is_closed
        else [*names, f"{edges[-1]} or more"]
    )


def find_letter(answer, choices):
    """Return the letter that an answer names by itself or by its choice's text, None for no choice.

    >>> find_letter("main", {"A": "Findings", "B": "Main"}), find_letter("a", {"A": "Findings"}), find_letter("C", {})
    ('B', 'A', None)
    """
    texts = {text.casefold(): letter for letter, text in choices.items()}
    name = answer.strip()
    return name.upper() if name.upper() in choices else texts.get(name.casefold())


def to_event(instance):
    """Return an instance as what solvers read of a row of the events table (a dict): the label is
    left out."""
    kind = "ranking" if isinstance(instance.target, list) else "single"
    moment = pd.Timestamp(instance.cutoff)
    moment = moment.tz_localize("UTC") if moment.tzinfo is None else moment
    return {
        "event_id": instance.id,
        "prompt": instance.prompt,
        "kind": kind,
        "options": dump_json(instance.choices),
        "k": len(instance.choices) if kind == "ranking" else None,
        "as_of": moment.isoformat(),
        "resolution_criteria": instance.metadata["criteria"],
        "keeps": instance.metadata.get("keeps"),
    }
