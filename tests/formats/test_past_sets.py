"""Past FutureX questions: every odd cell is dropped with its reason, events and submissions keep
the right options."""

import json

import pandas as pd
import pytest
from builders import make_past_row

from daybefore.formats import futurex
from daybefore.formats.public_sets import FILE
from daybefore.replies.parse import parse_prediction
from helpers.files import parse_json
from helpers.public_files import locate_public


def test_a_row_whose_options_read_the_same_is_dropped_with_its_reason():
    rows = pd.DataFrame([make_past_row(0), make_past_row(1, options=["Red", "blue", "red "])])
    kept, dropped = futurex.screen_rows(rows)
    assert kept["id"].tolist() == [rows["id"][0]]
    assert dropped.to_dict("records") == [
        {"id": rows["id"][1], "reason": "two of its options read the same"}
    ]


def build(*rows):
    kept, dropped = futurex.screen_rows(pd.DataFrame(rows))
    assert dropped.empty
    return futurex.build_events(kept)


def read_right_texts(event, answer):
    """Return the texts of the options that an answer names."""
    value, options = json.loads(answer["value"]), json.loads(event["options"])
    return {options[letter] for letter in ([value] if isinstance(value, str) else value)}


def test_the_answer_stays_with_its_options_in_whatever_order_they_are_asked():
    names = [f"harbour {n}" for n in range(31)]
    rows = [
        make_past_row(n, options=names, answer="B, [, _", choice_type="multi") for n in range(5)
    ]
    events, answers = build(*rows)
    orders = set()
    for event, answer in zip(events.to_dict("records"), answers.to_dict("records"), strict=True):
        assert read_right_texts(event, answer) == {"harbour 1", "harbour 26", "harbour 30"}
        options = parse_json(event["options"])
        assert list(options)[-1] == "AE" and set(options.values()) == set(names)
        orders.add(event["metadata"])
        boxed = r"\boxed{" + ", ".join(json.loads(answer["value"])) + "}"
        assert parse_prediction(boxed, "multi", options) == json.loads(answer["value"])
    assert len(orders) == 5, "each event has an order of its own"
    assert build(*rows)[0].equals(events), "and the same again"


def test_levels_starts_and_kinds():
    many = make_past_row(1, options=list("wxyz"))
    several = make_past_row(2, options=list("xyz"), choice_type="multi", answer="A, C")
    late = make_past_row(
        3,
        end_time="2026-01-20",
        id=f"{int(pd.Timestamp('2026-01-15T05:00Z').timestamp()):08x}" + "0" * 16,
    )
    events, _ = build(make_past_row(0), many, several, late)
    assert events["level"].tolist() == [1, 2, 2, 1]
    assert events["kind"].tolist() == ["single", "single", "multi", "single"]
    assert events["as_of"].str[:10].tolist() == ["2026-01-13"] * 3 + ["2026-01-16"], (
        "not before it was made"
    )


def test_the_public_set_reads_as_it_was_found():
    try:
        path = locate_public(FILE)
    except FileNotFoundError as problem:
        pytest.skip(str(problem))
    rows = futurex.read_past(path)
    kept, dropped = futurex.screen_rows(rows)
    events, answers = futurex.build_events(kept)
    assert (len(rows), len(kept), dropped["reason"].unique().tolist()) == (
        322,
        320,
        ["two of its options read the same"],
    )
    assert events["level"].value_counts().to_dict() == {2: 162, 1: 158}
    assert 180 < events["cluster_id"].nunique() < 240
    assert (answers["status"] == "ok").all() and (events["as_of"] < events["resolves_at"]).all()
