"""From users' questions to tasks: planted faults are found, wrong files told, answers locked, the funnel counts."""

import json

import numpy as np
import pandas as pd
import pytest

from helpers.judges import Verdict
from helpers.questions.spdg import (
    Step,
    draw_splits,
    is_answer,
    load_cases,
    load_questions,
    lock_answer,
    rate_level,
)
from helpers.questions.taskset import build_taskset, read_shown
from helpers.questions.taskset_files import build_files, open_portal
from helpers.studies import spdg as study
from helpers.world.gateway import Gateway


@pytest.fixture(scope="module")
def questions():
    return load_questions()


@pytest.fixture(scope="module")
def made(sources, questions):
    tasks, answers = build_taskset(sources, read_shown(sources), np.random.default_rng(31))
    return tasks, load_cases(questions, tasks, answers.set_index("event_id")["value"])


def write_lines(path, *rows):
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (["{"], "q.jsonl, line 1: no JSON"),
        ([{"question_id": "a"}], "q.jsonl, line 1: text is missing"),
        ([["a"]], "q.jsonl, line 1: question_id is missing"),
        ([{"question_id": "a", "text": "x"}] * 2, "q.jsonl, line 2: question_id 'a' is there already"),
        ([{"question_id": "a", "text": "x", "abilities": ["fly"]}], "q.jsonl, a: abilities knows no 'fly'"),
        ([{"question_id": "a", "text": "x", "kind": "odd"}], "q.jsonl, a: kind knows no 'odd'"),
        ([""], "q.jsonl holds no question"),
    ],
)
def test_a_wrong_file_of_questions_is_told_by_line(tmp_path, rows, reason):
    with pytest.raises(ValueError, match=reason):
        load_questions(write_lines(tmp_path / "q.jsonl", *rows))


def test_questions_without_labels_are_read_and_screened_as_unknown(tmp_path):
    bare = load_questions(write_lines(tmp_path / "q.jsonl", {"question_id": "a", "text": "How warm will it be?"}))
    assert bare.loc[0, ["kind", "answer", "attachments"]].isna().all()
    consult = build_reader(needs_tool="yes")
    views = study.screen_questions(bare, {}, consult, lambda *given: [], "2016-10-24T00:00:00+08:00")
    labels = views[views["judge"] == "labels"].set_index("stage")["is_kept"]
    assert labels["attachment"] and labels[["tool dependent", "not retrievable"]].isna().all()
    assert views.set_index(["judge", "stage"]).loc[("model", "not retrievable"), "status"] == "no answer"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"event_id": "nowhere"}, "no such question, or no task 'nowhere'"),
        ({"question_id": "u99"}, "u99: no such question"),
        ({"steps": [{"do": "fly", "ability": "fly", "environment": "none"}]}, "step 'fly' has an unknown label"),
    ],
)
def test_a_wrong_case_is_told(tmp_path, questions, made, change, reason):
    row = {"question_id": "u13", "event_id": "pets_2", "steps": [{"do": "a", "ability": "read", "environment": "none"}]}
    with pytest.raises(ValueError, match=reason):
        load_cases(questions, made[0], {"pets_2": "1"}, write_lines(tmp_path / "c.jsonl", row | change))


def test_locked_answers_check_and_do_not_tell():
    locked = lock_answer("Domestic Shorthair", "salt1")
    assert "Domestic" not in locked and locked != lock_answer("Domestic Shorthair", "salt2")
    assert is_answer(" domestic shorthair ", locked) and not is_answer("Domestic Longhair", locked)
    assert is_answer("Lincoln", "lincoln")


def test_splits_are_drawn_in_proportion_whatever_the_order():
    names = [f"u{n}" for n in range(30)]
    drawn = draw_splits(names, np.random.default_rng(1))
    assert drawn == draw_splits(names[::-1], np.random.default_rng(1)) != draw_splits(names, np.random.default_rng(2))
    assert sum(split == "validation" for split in drawn.values()) == 10


def test_levels_follow_steps_and_tools():
    one = [Step("open", "read", "document")]
    other = [Step("open", "read", "picture")]
    assert [rate_level(steps) for steps in (one * 5, one * 6, one + other, one * 10, one * 11)] == [1, 2, 2, 2, 3]


def build_reader(needs_tool="yes", steps=None, answer="no idea"):
    """Return a consult that replies alike whatever the question: `answer` may be a function of prompt and repeat."""

    def consult(prompt, schema, repeat=0):
        if schema is study.NEED:
            return Verdict("ok", {"needs_tool": needs_tool, "tool": "none"})
        if schema is study.STEPS:
            return Verdict("ok", {"steps": steps or [{"ability": "read", "environment": "document"}] * 2})
        return Verdict("ok", {"answer": answer(prompt, repeat) if callable(answer) else answer})

    return consult


@pytest.fixture(scope="module")
def control(sources, questions, made, tmp_path_factory):
    """Return a function that runs the controls on all cases with a consult."""
    tasks, cases = made
    events = tasks[tasks["event_id"].isin([case["event"]["event_id"] for case in cases.values()])]
    places = build_files(events, sources, read_shown(sources), tmp_path_factory.mktemp("spdg"))
    with open_portal(sources) as up, open_portal(sources, is_down=True) as down:
        ways = dict.fromkeys(("plain", "deep"), Gateway(up).fetch) | {"site_down": Gateway(down).fetch}
        yield lambda consult: study.control_cases(questions, cases, consult, lambda *given: [], places, ways)


def test_each_control_drops_the_case_planted_for_it_and_no_other(control, made):
    cases = made[1]
    truths = {case["event"]["prompt"]: case["answer"] for case in cases.values() if case["planted"] != "uniqueness"}
    truths |= {case["event"]["prompt"]: "8.34" for case in cases.values() if case["planted"] == "uniqueness"}
    views = control(
        build_reader(answer=lambda prompt, repeat: next(a for question, a in truths.items() if question in prompt))
    )
    caught = study.catch_planted(views, cases).set_index(["stage", "judge"])
    labels = caught.xs("labels", level="judge")
    assert labels["planted"].tolist() == ["dropped"] * 4
    assert labels["n_fine"].tolist() == [20] * 4 and labels["n_false"].tolist() == [0] * 4
    assert caught.loc[("complexity", "model"), "planted"] == "kept", "this reader lists two steps whatever is asked"
    notes = views[(views["question_id"] == "u32") & (views["stage"] == "uniqueness")]["note"]
    assert notes.str.contains("three answers|against the annotator").all()


def test_without_recordings_every_view_of_the_model_is_unknown(control):
    views = control(lambda prompt, schema, repeat=0: Verdict("missing"))
    asked = views[views["stage"].isin(["relevance", "complexity"]) & (views["judge"] == "model")]
    assert asked["is_kept"].isna().all() and asked["status"].eq("missing").all()
    assert views.loc[views["stage"] == "uniqueness", "is_kept"].isna().all()


def test_the_third_reader_is_asked_only_where_two_differ():
    def fail():
        raise AssertionError("asked")

    assert study.settle("12", "12", fail) == ("12", "agreed")
    assert study.settle("12", None, lambda: "12") == ("12", "settled by a third")
    assert study.settle(None, None, lambda: None) == (None, "not recorded")


def test_the_funnel_counts_each_question_once():
    stages = ("attachment", "tool dependent")
    rows = [
        study.view("a", "attachment", "model", True),
        study.view("b", "attachment", "model", False, "gone"),
        study.view("c", "attachment", "model", True),
        study.view("a", "tool dependent", "model", True),
        study.view("b", "tool dependent", "model", True),
        study.view("c", "tool dependent", "model", None),
    ]
    funnel = study.run_funnel(pd.DataFrame(rows), stages)
    assert funnel[["n_in", "n_out", "n_unknown"]].to_numpy().tolist() == [[3, 2, 0], [2, 1, 1]]
    assert funnel["reasons"].tolist() == ["gone (1)", ""]
    assert study.list_kept(pd.DataFrame(rows), "model", stages) == ["a"]
