"""From users' questions to tasks: planted faults are found, wrong files told, answers locked, the
funnel counts."""

import json
from contextlib import nullcontext

import pandas as pd
import pytest
from builders import needs_sandbox, write_lines
from public import spdg_questions

from daybefore.models.judges import Verdict
from daybefore.web.session import Web
from studies.liveagentbench import workflow as study
from studies.liveagentbench.asks import list_truths
from studies.liveagentbench.cases import STAGES, load_cases, load_questions
from studies.liveagentbench.funnel import catch_planted, list_kept, rate_model, run_funnel
from studies.liveagentbench.runs import TURN
from studies.liveagentbench.tasks import Portal, load_taskset, open_files


@pytest.fixture(scope="module")
def questions():
    return load_questions()


@pytest.fixture(scope="module")
def made(questions):
    tasks, answers = load_taskset()
    truths = list_truths(answers)
    return tasks, load_cases(questions, tasks, answers), truths


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (["{"], "q.jsonl, line 1: no JSON"),
        (
            [{"question_id": "a", "text": "x"}] * 2,
            "q.jsonl, line 2: question_id 'a' is there already",
        ),
        ([""], "q.jsonl holds no question"),
    ],
)
def test_a_wrong_file_of_questions_is_told_by_line(tmp_path, rows, reason):
    with pytest.raises(ValueError, match=reason):
        load_questions(write_lines(tmp_path / "q.jsonl", *rows))


NOW = "2016-10-24T00:00:00+08:00"


def build_reader(needs_tool="yes", steps=None, answer="no idea"):
    """Return a consult that replies alike whatever the question: `answer` may be a function of
    prompt and repeat."""

    def consult(prompt, schema, repeat=0):
        if schema is study.NEED:
            return Verdict("ok", {"needs_tool": needs_tool, "tool": "none"})
        if schema is study.STEPS:
            return Verdict(
                "ok", {"steps": steps or [{"ability": "read", "environment": "document"}] * 2}
            )
        return Verdict("ok", {"answer": answer(prompt, repeat) if callable(answer) else answer})

    return consult


@pytest.fixture(scope="module")
def control(sources, questions, made):
    """Yield a function that runs the controls on all cases with a consult."""
    cases, fetch = made[1], Web(Portal(sources)).fetch
    events = pd.DataFrame([case["event"] | {"event_id": name} for name, case in cases.items()])
    with open_files(events) as places:
        yield lambda consult: study.control_cases(
            questions, cases, consult, lambda *given: [], places, fetch, {}
        )


def test_each_control_drops_the_case_planted_for_it_and_no_other(control, made):
    cases = made[1]
    truths = {case["event"]["prompt"]: case["answer"] for case in cases.values()}
    truths[cases["u32"]["event"]["prompt"]] = made[2]["national_polls_1"]
    views = control(
        build_reader(
            answer=lambda prompt, repeat: next(
                a for question, a in truths.items() if question in prompt
            )
        )
    )
    caught = catch_planted(views, cases).set_index(["stage", "judge"])
    labels = caught.xs("labels", level="judge")
    assert labels["planted"].tolist() == ["dropped"] * 4
    assert labels["n_fine"].tolist() == [20] * 4 and labels["n_false"].tolist() == [0] * 4
    assert caught.loc[("complexity", "model"), "planted"] == "kept", (
        "this reader lists two steps whatever is asked"
    )
    notes = views[(views["question_id"] == "u32") & (views["stage"] == "uniqueness")]["note"]
    assert notes.str.contains("against the annotator").all()


def test_without_recordings_every_view_of_the_model_is_unknown(control):
    views = control(lambda prompt, schema, repeat=0: Verdict("missing"))
    asked = views[views["stage"].isin(["relevance", "complexity"]) & (views["judge"] == "model")]
    assert asked["is_kept"].isna().all() and asked["status"].eq("missing").all()
    assert views.loc[views["stage"] == "uniqueness", "is_kept"].isna().all()


def test_a_case_brings_a_task_an_answer_and_files_of_its_own(tmp_path, made):
    steps = [
        {"ability": "read", "environment": "spreadsheet"},
        {"ability": "calculate", "environment": "spreadsheet"},
    ]
    own = {
        "question_id": "q",
        "task": "By how much did it fall?",
        "answer": "0.25",
        "tool": "spreadsheet",
    }
    own |= {"files": ["q.csv"], "steps": steps, "as_of": NOW}
    asked = load_questions(
        write_lines(tmp_path / "questions.jsonl", {"question_id": "q", "text": "Will it fall?"})
    )
    path = write_lines(tmp_path / "cases.jsonl", own)
    other = write_lines(tmp_path / "other.jsonl", own | {"question_id": "z"})
    with pytest.raises(ValueError, match="other.jsonl, z: no such question"):
        load_cases(asked, made[0], pd.DataFrame({"event_id": [], "value": []}), other)
    with pytest.raises(ValueError, match="q: no file q.csv"):
        load_cases(asked, made[0], pd.DataFrame({"event_id": [], "value": []}), path)
    (tmp_path / "q.csv").write_text("date,price\n2016-10-01,0.75\n2016-10-02,0.5\n")
    cases = load_cases(asked, made[0], pd.DataFrame({"event_id": [], "value": []}), path)
    assert cases["q"]["event"]["capabilities"] == '["text_file"]'
    seen, places = [], {"q": cases["q"]["places"]}

    def consult(prompt, schema, repeat=0):
        seen.append(prompt)
        if schema is TURN:
            action = ("answer", "0.25") if "2016-10-02" in prompt else ("file", "q.csv")
            return Verdict("ok", dict(zip(("action", "input"), action, strict=True)))
        return build_reader(answer="0.25")(prompt, schema, repeat)

    views = study.control_cases(asked, cases, consult, lambda *given: [], places, None, {})
    kept = views[views["judge"] == "model"].set_index("stage")["is_kept"]
    assert list(kept) == [True] * 4 and len(views) == 8
    assert sum("2016-10-02,0.5" in prompt for prompt in seen) == 2, (
        "the agent and the blind reader saw the file"
    )
    lost = study.control_cases(
        asked, cases, lambda *given: Verdict("missing"), lambda *given: [], places, None, {}
    )
    assert lost.loc[lost["stage"] == "executability", "is_kept"].isna().all()


def test_what_an_own_cases_scripts_printed_replays_without_a_sandbox(out, monkeypatch, made):
    needs_sandbox()
    own = {"question_id": "q", "task": "How many?", "answer": "7", "tool": "none", "as_of": NOW}
    own |= {"steps": [{"ability": "count", "environment": "none"}]}
    asked = load_questions(
        write_lines(out / "questions.jsonl", {"question_id": "q", "text": "How many?"})
    )
    tasks, answers = made[0], pd.DataFrame({"event_id": [], "value": []})
    cases = load_cases(asked, tasks, answers, write_lines(out / "cases.jsonl", own))

    def consult(prompt, schema, repeat=0):
        if schema is TURN:
            return Verdict(
                "ok", {"action": "answer" if "\n7" in prompt else "shell", "input": "expr 3 + 4"}
            )
        return build_reader(answer="7")(prompt, schema, repeat)

    monkeypatch.setattr(study, "open_consult", lambda *given, **settings: nullcontext(consult))
    first = study.run_workflow(asked, cases, answers, "mock", "30_own", live=True)
    assert (out / "data/runs/30_own/shells.csv").read_text().splitlines()[1].endswith(",7")
    monkeypatch.setattr("studies.liveagentbench.runs.open_sandbox", None)
    pd.testing.assert_frame_equal(
        study.run_workflow(asked, cases, answers, "mock", "30_own"), first
    )


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

    assert study.try_retrieval("How many?", "12", consult, lambda *given: [], NOW) == view


@pytest.mark.parametrize(
    ("answers", "view"),
    [
        (["{truth}"], (True, "agreed")),
        (["2016-10-01", "{truth}"], (True, "settled by a third")),
        (["2016-10-01", "2016-10-02"], (False, "no two agree")),
        (["2016-10-01", "2016-10-01"], (False, "settled by a third, against the annotator")),
    ],
)
def test_the_third_reader_is_asked_only_where_two_differ(made, answers, view):
    case, asked = made[1]["u13"], []

    def consult(prompt, schema, repeat=0):
        asked.append(repeat)
        return Verdict("ok", {"answer": answers[repeat].format(truth=case["answer"])})

    assert (
        study.read_blind(case, f"Answer: {case['answer']}", consult, [], lambda *given: []) == view
    )
    assert asked == list(range(len(answers)))


def test_the_funnel_counts_each_question_once():
    stages = ("attachment", "tool dependent")
    says = [("a", stages[0], True), ("b", stages[0], False), ("c", stages[0], True)]
    says += [("a", stages[1], True), ("b", stages[1], True), ("c", stages[1], None)]
    rows = [
        row
        for name, stage, is_kept in says
        for row in study.list_views(name, stage, (is_kept, "gone"))
    ]
    views = pd.DataFrame(rows).query("judge == 'model'")
    funnel = run_funnel(views, stages)
    assert funnel[["n_in", "n_out", "n_unknown"]].to_numpy().tolist() == [[3, 2, 0], [2, 1, 1]]
    assert funnel["reasons"].tolist() == ["gone (1)", ""]
    assert list_kept(views, "model", stages) == ["a"]


def test_questions_that_nobody_labelled_have_no_agreement():
    rows = [
        study.list_views(name, stage, (True, ""), (None, "")) for name in "ab" for stage in STAGES
    ]
    views = pd.DataFrame(sum(rows, [])).astype({"is_kept": object})
    agreement = rate_model(views, 0, 10)
    assert agreement.empty and len(run_funnel(views)) == 2 * len(STAGES)


def test_real_questions_that_ended_become_cases_of_their_prices(tmp_path, monkeypatch, made):
    days = [f"2026-01-{day:02d}" for day in range(1, 8)]
    prices = [("a", day, 0.1 * at, 0) for at, day in enumerate(days)] + [
        ("a", "2026-01-09", 1.0, 1)
    ]
    prices += [("b", day, 0.5, 0) for day in days] + [
        ("b", "2026-01-09", 0.0, 1)
    ]  # a price that never moved
    prices += [("c", day, 0.1 * at, 0) for at, day in enumerate(days)]  # not ended
    table = pd.DataFrame(prices, columns=["id", "snapshot_date", "value", "resolved"])
    sets = {
        "questions": [
            {"source": "infer", "id": name, "question": f"Will {name}?"} for name in "abc"
        ]
    }
    files = {
        spdg_questions.PRICES: table.to_csv(index=False),
        spdg_questions.EXAMPLES: '[{"question": "Who?"}]',
    }
    for at, name in enumerate([*spdg_questions.FILES, *files]):
        (tmp_path / str(at)).write_text(files.get(name) or json.dumps(sets))
        files[name] = tmp_path / str(at)
    monkeypatch.setattr(spdg_questions, "locate_public", files.get)
    spdg_questions.main(tmp_path / "out")
    asked = load_questions(tmp_path / "out/questions.jsonl")
    assert asked["text"].tolist() == ["Will a?", "Who?"] and asked["answer"].tolist() == [
        "Yes",
        None,
    ]
    cases = load_cases(
        asked, made[0], pd.DataFrame({"event_id": [], "value": []}), tmp_path / "out/cases.jsonl"
    )
    assert list(cases) == ["m01"] and cases["m01"]["answer"] == "0.6000"
    assert "Will a?" in cases["m01"]["event"]["prompt"] and cases["m01"]["event"][
        "as_of"
    ].startswith("2026-01-07")
