"""From users' questions to tasks: planted faults are found, wrong files told, answers locked, the
funnel counts."""

from contextlib import nullcontext

import pandas as pd
import pytest
from builders import needs_sandbox, write_lines

from daybefore.models.judges import Verdict
from daybefore.web.session import Web
from studies.liveagentbench import task_workflow as study
from studies.liveagentbench.task_runs import TURN
from studies.liveagentbench.tasks import AS_OF, Portal, load_taskset, open_files
from studies.liveagentbench.user_questions import STAGES, load_cases, load_questions

NO_ANSWERS = pd.DataFrame({"event_id": [], "value": []})


@pytest.fixture(scope="module")
def questions():
    return load_questions()


@pytest.fixture(scope="module")
def cases(questions):
    return load_cases(questions, *load_taskset())


def find_nothing(*given):
    return []


@pytest.mark.parametrize(
    ("text", "reason"),
    [("{", "q.jsonl, line 1: no JSON"), ("", "q.jsonl holds no question")],
)
def test_a_wrong_file_of_questions_is_told_by_line(tmp_path, text, reason):
    with pytest.raises(ValueError, match=reason):
        load_questions(write_lines(tmp_path / "q.jsonl", text))


def build_reader(answer, turn=None):
    """Return a consult that replies alike whatever the question, with `answer`, a function of
    prompt and repeat."""

    def consult(prompt, schema, repeat=0, attachments=()):
        step = {"ability": "read", "environment": "document"}
        if schema is study.NEED:
            return Verdict("ok", {"needs_tool": "yes", "tool": "none"})
        if schema is study.STEPS:
            return Verdict("ok", {"steps": [step] * 2})
        if schema is TURN:
            return Verdict("ok", dict(zip(("action", "input"), turn(prompt), strict=True)))
        return Verdict("ok", {"answer": answer(prompt, repeat)})

    return consult


@pytest.fixture(scope="module")
def control(sources, questions, cases):
    """Yield a function that runs the controls on all cases with a consult."""
    fetch = Web(Portal(sources)).fetch
    events = pd.DataFrame([case["event"] | {"event_id": name} for name, case in cases.items()])
    with open_files(events) as places:
        yield lambda consult: study.control_cases(
            questions, cases, consult, find_nothing, places, fetch, {}
        )


def test_without_recordings_every_view_of_the_model_is_unknown(control):
    views = control(lambda *given, **settings: Verdict("missing"))
    asked = views[views["stage"].isin(["relevance", "complexity"]) & (views["judge"] == "model")]
    assert asked["is_kept"].isna().all() and asked["status"].eq("missing").all()
    assert views.loc[views["stage"] == "uniqueness", "is_kept"].isna().all()


STEPS = [{"ability": "read", "environment": "spreadsheet"}]
STEPS += [{"ability": "calculate", "environment": "spreadsheet"}]
OWN = {"question_id": "q", "task": "By how much did it fall?", "answer": "0.25", "steps": STEPS}
OWN |= {"tool": "spreadsheet", "files": ["q.csv"]}


def load_own(folder, **changes):
    """Return (questions, cases) of a file with one question, and one case, OWN with changes."""
    row = {"question_id": "q", "text": "Will it fall?"}
    asked = load_questions(write_lines(folder / "questions.jsonl", row))
    path = write_lines(folder / "cases.jsonl", OWN | changes)
    return asked, load_cases(asked, load_taskset()[0], NO_ANSWERS, path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"question_id": "z"}, "cases.jsonl, z: no such question"),
        ({}, "q: no file q.csv"),
        ({"files": [], "answer": None}, "q: no answer"),
    ],
)
def test_a_case_without_what_it_needs_is_told(tmp_path, changes, said):
    with pytest.raises(ValueError, match=said):
        load_own(tmp_path, **changes)


def test_a_case_brings_a_task_an_answer_and_files_of_its_own(tmp_path):
    (tmp_path / "q.csv").write_text("date,price\n2016-10-01,0.75\n2016-10-02,0.5\n")
    asked, cases = load_own(tmp_path)
    assert cases["q"]["event"]["capabilities"] == '["text_file"]'
    seen, places = [], {"q": cases["q"]["places"]}

    def turn(prompt):
        return ("answer", "0.25") if "2016-10-02" in prompt else ("file", "q.csv")

    def look(prompt, *given, **settings):
        seen.append(prompt)
        return build_reader(lambda *_: "0.25", turn)(prompt, *given, **settings)

    views = study.control_cases(asked, cases, look, find_nothing, places, None, {})
    kept = views[views["judge"] == "model"].set_index("stage")["is_kept"]
    assert list(kept) == [True] * 4 and len(views) == 8
    saw = sum("2016-10-02,0.5" in prompt for prompt in seen)
    assert saw == 2, "the agent and the blind reader saw the file"


def test_what_an_own_cases_scripts_printed_replays_without_a_sandbox(out, monkeypatch):
    needs_sandbox()
    asked, cases = load_own(out, answer="7", files=[], tool="none")

    def turn(prompt):
        return "answer" if "\n7" in prompt else "shell", "expr 3 + 4"

    consult = build_reader(lambda *_: "7", turn)
    monkeypatch.setattr(study, "open_consult", lambda *given, **settings: nullcontext(consult))
    first = study.run_workflow(asked, cases, NO_ANSWERS, "mock", "30_own", live=True)
    assert (out / "data/runs/30_own/shells.csv").read_text().splitlines()[1].endswith(",7")
    monkeypatch.setattr("studies.liveagentbench.task_runs.open_sandbox", None)
    again = study.run_workflow(asked, cases, NO_ANSWERS, "mock", "30_own")
    pd.testing.assert_frame_equal(again, first)


@pytest.mark.parametrize(
    ("answer", "found", "status", "view"),
    [
        ("12.0", "no", "ok", (False, "known by heart")),
        ("7", "12", "ok", (False, "found by one search")),
        ("7", "8", "ok", (True, "")),
        ("7, 12 or 15", "no", "ok", (True, "")),  # many answers are none
        ("", "no", "timeout", (None, "no reply", "timeout")),
        ("", "no", "unparsable", (True, "")),
    ],
)
def test_what_is_known_or_found_by_one_search_is_dropped(answer, found, status, view):
    def consult(prompt, schema, repeat=0):
        value = {"answer": found if "A search found" in prompt else answer}
        return Verdict(status, value if status == "ok" else None)

    assert study.try_retrieval("How many?", "12", consult, find_nothing, AS_OF) == view


@pytest.mark.parametrize(
    ("answers", "view"),
    [
        (["{truth}"], (True, "agreed")),
        (["2016-10-01", "{truth}"], (True, "settled by a third")),
        (["2016-10-01", "2016-10-02"], (False, "no two agree")),
        (["2016-10-01", "2016-10-01"], (False, "settled by a third, against the annotator")),
    ],
)
def test_the_third_reader_is_asked_only_where_two_differ(cases, answers, view):
    case, asked = cases["u13"], []

    def consult(prompt, schema, repeat=0):
        asked.append(repeat)
        return Verdict("ok", {"answer": answers[repeat].format(truth=case["answer"])})

    assert study.read_blind(case, f"Answer: {case['answer']}", consult, [], find_nothing) == view
    assert asked == list(range(len(answers)))


def test_questions_that_nobody_labelled_have_no_agreement():
    rows = []
    for stage in STAGES:
        rows += study.list_views("a", stage, (True, ""), (None, ""))
    views = pd.DataFrame(rows).astype({"is_kept": object})
    assert study.rate_model(views, 0, 10).empty
