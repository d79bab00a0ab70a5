"""People: the form's rules, the share of questions a person, and a folder that the kit's figures accept."""

import multiprocessing
import os
import resource
import signal
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from helpers.cli.own import draw_folder
from helpers.formats.folder import read_folder
from helpers.futurex.people import (
    Incomplete,
    find_missing,
    has_answers,
    note_step,
    open_form,
    open_notes,
    prepare_folder,
    read_answer,
    share_questions,
    start_sheet,
    submit_answer,
)

START = datetime(2026, 6, 1, 9, tzinfo=UTC)
NOTES = {
    "keywords": "rain",
    "page": "http://rain.example/today",
    "observation": "it rained",
    "reasoning": "it may again",
}


def build_event(event_id="e1", kind="single", options='{"A":"Yes","B":"No"}', level=1):
    return {"event_id": event_id, "kind": kind, "options": options, "level": level, "prompt": "Will it rain?"}


def fill_sheet(n_steps=3, page=NOTES["page"], **event):
    sheet = start_sheet(build_event(**event), 7, START)
    for _ in range(n_steps):
        sheet = note_step(sheet, **NOTES | {"page": page})
    return sheet


def wait(minutes):
    return lambda: START + timedelta(minutes=minutes)


@pytest.fixture
def pool():
    return pd.DataFrame([build_event(f"e{at:03}", level=1 + at % 4) for at in range(500)])


def test_a_sheet_that_keeps_the_rules_is_taken_with_its_trace(tmp_path):
    made = submit_answer(fill_sheet(), "b", wait(5), tmp_path)
    assert (made["run_id"], made["agent_id"], made["value"]) == ("people-7", "people", '"B"')
    runs, traces = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("runs", "traces"))
    assert runs["category"].tolist() == ["human"]
    assert traces["step_type"].tolist() == ["prompt", "tool", "tool", "tool", "answer"]
    assert traces["content"].iloc[1] == "it rained\nit may again" and traces["duration_s"].iloc[-1] == 300


@pytest.mark.parametrize(
    ("sheet", "answer", "minutes", "said"),
    [
        (fill_sheet(), "B", 4.9, "Time: 4.9 of at least 5 minutes."),
        (fill_sheet(n_steps=2), "B", 9, "Steps: 2 of at least 3."),
        (fill_sheet(page=""), "B", 9, "Pages: 0 of at least 1; note the address of what you read."),
        (fill_sheet(), "", 9, "Answer: it is blank."),
        (fill_sheet(), "C", 9, "Answer: 'C' is not an option; there are A, B."),
    ],
)
def test_what_is_missing_is_said_and_nothing_is_lost(tmp_path, sheet, answer, minutes, said):
    with pytest.raises(Incomplete) as refused:
        submit_answer(sheet, answer, wait(minutes), tmp_path)
    assert refused.value.missing == [said]
    assert not list(tmp_path.iterdir()), "nothing is written"
    late = sheet
    for _ in range(3):
        late = note_step(late, **NOTES)
    assert submit_answer(late, "B", wait(9), tmp_path)["value"] == '"B"', "the same sheet goes on"
    assert pd.read_csv(tmp_path / "traces.csv")["step_type"].isin(["tool", "thought"]).sum() == len(late["steps"])


def test_all_that_is_missing_is_said_at_once():
    assert len(find_missing(start_sheet(build_event(), 1, START), "", START)) == 4


def test_a_step_without_reasoning_is_no_step():
    with pytest.raises(ValueError, match="conclude"):
        note_step(fill_sheet(), **NOTES | {"reasoning": "  "})


def test_a_second_answer_to_a_question_is_refused_and_the_first_stands(tmp_path):
    submit_answer(fill_sheet(), "A", wait(6), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.csv")}
    with pytest.raises(ValueError, match="already"):
        submit_answer(fill_sheet(n_steps=4), "B", wait(8), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.csv")} == before
    submit_answer(fill_sheet(event_id="e2"), "B", wait(6), tmp_path)
    assert len(pd.read_csv(tmp_path / "predictions.csv")) == 2 and len(pd.read_csv(tmp_path / "runs.csv")) == 1


@pytest.mark.parametrize(
    ("kind", "options", "text", "value"),
    [
        ("number", None, "1,234.5", 1234.5),
        ("multi", '{"A":"x","B":"y","C":"z"}', "a, c", ["A", "C"]),
        ("ranking", None, "Poodle, Miniature; Terrier", ["Poodle, Miniature", "Terrier"]),
        ("single", '{"A":"Yes","B":"No"}', "no", "B"),
    ],
)
def test_answers_are_read_by_their_kind(kind, options, text, value):
    assert read_answer(text, build_event(kind=kind, options=options)) == value


def test_every_question_goes_to_one_person_in_equal_shares(pool):
    shares = share_questions(pool, seed=1)
    assert len(shares) == 300 and shares["event_id"].is_unique and shares["person"].nunique() == 40
    assert set(shares.groupby("person").size()) == {7, 8} and shares.groupby("person").size().mean() == 7.5
    by_level = shares.groupby(["person", "level"]).size().unstack(fill_value=0)
    assert by_level.to_numpy().min() >= 1 and by_level.to_numpy().max() <= 2
    assert (by_level.sum() == 75).all()
    assert shares.equals(share_questions(pool, seed=1)) and not shares.equals(share_questions(pool, seed=2))
    first = shares[shares["person"] == 1]
    assert first["level"].is_monotonic_increasing


@pytest.mark.parametrize(("n_people", "n_questions"), [(40, 501), (40, 39)])
def test_shares_that_cannot_be_are_refused(pool, n_people, n_questions):
    with pytest.raises(ValueError, match="go without"):
        share_questions(pool, 1, n_people, n_questions)


def test_the_folder_is_one_that_the_figures_accept(tmp_path):
    events = pd.DataFrame([build_event(f"e{at}", level=1 + at % 2) for at in range(4)])
    answers = pd.DataFrame({"event_id": events["event_id"], "value": ['"A"', '"A"', '"B"', '"A"'], "spread": None})
    prepare_folder(tmp_path, events, answers)
    for at, event_id in enumerate(events["event_id"]):
        submit_answer(fill_sheet(event_id=event_id), "AABB"[at], wait(6), tmp_path)
    read = read_folder(tmp_path)
    assert read[2]["value"].tolist() == ['"A"', '"A"', '"B"', '"B"'] and set(read[2]["agent_id"]) == {"people"}
    draw_folder(tmp_path, n_trials=50)
    scores = pd.read_csv(tmp_path / "tables/scores.csv")
    assert scores.loc[scores["metric"] == "accuracy", "score"].mean() == 0.75


def test_the_form_keeps_what_was_typed_until_it_is_taken(tmp_path):
    now = [START]
    tasks = [build_event("e1"), build_event("e2")]
    form = open_form(tasks, 3, tmp_path, lambda: now[0])
    choice, _, keywords, page, observation, reasoning, add, answer, send, said = form.children
    answer.value = "A"
    send.click()
    assert "Time: 0.0" in said.value and "Steps: 0" in said.value and answer.value == "A"
    for _ in range(3):
        page.value, observation.value, reasoning.value = NOTES["page"], "it rained", "it may again"
        add.click()
    assert observation.value == "" and said.value == "3 steps noted"
    now[0] = START + timedelta(minutes=6)
    choice.value = 1
    assert said.value == "0 steps noted", "the second question starts its own sheet"
    choice.value = 0
    send.click()
    assert said.value == "The answer is taken." and len(pd.read_csv(tmp_path / "predictions.csv")) == 1
    choice.value, answer.value = 1, "B"
    send.click()
    assert "Time: 0.0" in said.value, "its time ran from when it was first shown"


def submit_many(folder, person, n):
    """Submit answers one after the other; each that was taken is noted in a file of the person's own."""
    with open(folder / f"taken_{person}", "a", buffering=1, encoding="utf-8") as taken:
        for at in range(n):
            sheet = start_sheet(build_event(f"e{at:02}"), person, START)
            for _ in range(3):
                sheet = note_step(sheet, **NOTES)
            made = submit_answer(sheet, "A", wait(6), folder)
            taken.write(f"{made['run_id']} {made['event_id']}\n")


def start_people(folder, n_people, n):
    prepare_folder(folder, pd.DataFrame([build_event(f"e{at:02}") for at in range(n)]))
    fork = multiprocessing.get_context("fork")
    people = [fork.Process(target=submit_many, args=(folder, person, n)) for person in range(n_people)]
    for process in people:
        process.start()
    return people


def list_taken(folder):
    lines = [line for path in folder.glob("taken_*") for line in path.read_text(encoding="utf-8").splitlines()]
    return {tuple(line.split()) for line in lines}


def list_stored(folder):
    """Return the keys in predictions.csv, and those that have their whole trace: prompt, three steps, answer."""
    made, traces = (pd.read_csv(folder / f"{name}.csv") for name in ("predictions", "traces"))
    assert not made.duplicated(["run_id", "event_id"]).any()
    steps = traces.groupby(["run_id", "event_id"]).size()
    return set(zip(made["run_id"], made["event_id"], strict=True)), set(steps.index[steps == 5])


def test_eight_people_on_one_folder_lose_nothing(tmp_path):
    people = start_people(tmp_path, 8, 20)
    for process in people:
        process.join(60)
    assert [process.exitcode for process in people] == [0] * 8
    stored, traced = list_stored(tmp_path)
    assert len(stored) == 160 and stored == traced == list_taken(tmp_path)
    assert len(pd.read_csv(tmp_path / "runs.csv")) == 8


def test_people_killed_in_the_middle_lose_no_taken_answer(tmp_path):
    people, deadline = start_people(tmp_path, 4, 400), time.monotonic() + 30
    while len(list_taken(tmp_path)) < 30 and time.monotonic() < deadline:
        time.sleep(0.01)
    for process in people:
        os.kill(process.pid, signal.SIGKILL)
        process.join(10)
    taken = list_taken(tmp_path)
    assert 30 <= len(taken) < 1600 and [process.exitcode for process in people] == [-signal.SIGKILL] * 4
    open_form([build_event()], 9, tmp_path, wait(0))
    stored, traced = list_stored(tmp_path)
    assert taken <= stored == traced and len(stored) <= len(taken) + 4


def find_fields(form):
    named = {child.description: child for child in form.children if getattr(child, "description", "")}
    return named, form.children[0], form.children[-1]


def test_a_form_goes_on_where_a_crash_left_it(tmp_path):
    fields, _, _ = find_fields(open_form([build_event()], 3, tmp_path, wait(0)))
    for _ in range(3):
        for name, text in NOTES.items():
            fields[name].value = text
        fields["note this step"].click()
    fields["observation"].value, fields["answer"].value = "half a sen", "b"
    fields, _, said = find_fields(open_form([build_event()], 3, tmp_path, wait(6)))
    assert said.value == "3 steps noted" and fields["observation"].value == "half a sen"
    fields["submit the answer"].click()
    assert said.value == "The answer is taken.", "time runs from when the question was first shown"
    assert list_stored(tmp_path) == ({("people-3", "e1")},) * 2
    fields, _, said = find_fields(open_form([build_event()], 3, tmp_path, wait(9)))
    assert said.value == "answered" and fields["answer"].value == ""


def test_a_full_disk_is_one_sentence_and_what_was_typed_stays(tmp_path):
    fields, _, said = find_fields(open_form([build_event()], 3, tmp_path, wait(0)))
    for name, text in NOTES.items():
        fields[name].value = text
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "people.sqlite-wal").stat().st_size, before[1]))
    try:
        fields["note this step"].click()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert said.value.startswith("Not saved (") and said.value.count(".") == 1
    assert fields["observation"].value == NOTES["observation"]
    fields["note this step"].click()
    assert said.value == "1 steps noted"


def test_answers_of_a_folder_without_people_sqlite_are_taken_in(tmp_path):
    submit_answer(fill_sheet(), "A", wait(6), tmp_path)
    for path in tmp_path.glob("people.sqlite*"):
        path.unlink()
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.csv")}
    with pytest.raises(ValueError, match="already"):
        submit_answer(fill_sheet(), "B", wait(6), tmp_path)
    open_form([build_event()], 7, tmp_path, wait(0))
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.csv")} == before
    with closing(open_notes(tmp_path)) as connection:
        assert has_answers(connection)
