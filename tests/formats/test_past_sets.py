"""Past FutureX questions: a row that cannot be asked is dropped with its reason, and answers keep
the right options."""

import json

import pandas as pd
import pytest
from builders import make_past_row

from daybefore.formats import futurex_questions
from daybefore.formats.public_sets import FILE
from daybefore.replies.parse_reply import parse_prediction
from helpers.files import parse_json
from helpers.public_files import locate_public


def build(*rows):
    """Return (events, answers, dropped rows)."""
    kept, dropped = futurex_questions.screen_rows(pd.DataFrame(rows))
    return *futurex_questions.build_events(kept), dropped.to_dict("records")


def test_the_answer_stays_with_its_options_in_whatever_order_they_are_asked():
    names = [f"harbour {n}" for n in range(31)]
    rows = [
        make_past_row(n, options=names, answer="B, [, _", choice_type="multi") for n in range(5)
    ]
    events, answers, _ = build(*rows)
    for cell, answer in zip(events["options"], answers["value"].map(json.loads), strict=True):
        options = parse_json(cell)
        assert {options[letter] for letter in answer} == {"harbour 1", "harbour 26", "harbour 30"}
        assert list(options)[-1] == "AE" and set(options.values()) == set(names)
        assert parse_prediction(rf"\boxed{{{', '.join(answer)}}}", "multi", options) == answer
    assert events["metadata"].nunique() == 5, "each event has an order of its own"
    assert build(*rows)[0].equals(events), "and the same again"


def test_levels_starts_kinds_and_what_is_dropped():
    made_at = f"{int(pd.Timestamp('2026-01-15T05:00Z').timestamp()):08x}"
    events, _, dropped = build(
        make_past_row(0),
        make_past_row(1, options=list("wxyz")),
        make_past_row(2, options=list("xyz"), choice_type="multi", answer="A, C"),
        make_past_row(3, id=made_at + "0" * 16),
        make_past_row(4, id="same", options=["Red", "blue", "red "]),
    )
    assert events["level"].tolist() == [1, 2, 2, 1]
    assert events["kind"].tolist() == ["single", "single", "multi", "single"]
    assert events["as_of"].str[8:10].tolist() == ["13"] * 3 + ["16"], "not before it was made"
    assert dropped == [{"id": "same", "reason": "two of its options read the same"}]


def test_the_public_set_reads_as_it_was_found():
    try:
        rows = futurex_questions.read_past(locate_public(FILE))
    except FileNotFoundError as problem:
        pytest.skip(str(problem))
    events, answers, dropped = build(*rows.to_dict("records"))
    assert (len(rows), len(events), len(dropped)) == (322, 320, 2)
    assert events["level"].value_counts().to_dict() == {2: 162, 1: 158}
    assert 180 < events["cluster_id"].nunique() < 240
    assert (answers["status"] == "ok").all() and (events["as_of"] < events["resolves_at"]).all()
