"""A reader's own tasks: what is wrong is said with its line, files are copies, live pages are
recorded."""

import json
from types import SimpleNamespace

import pytest

from daybefore.models.judges import Verdict
from helpers.files import parse_json
from studies.liveagentbench import own_tasks, scores
from studies.liveagentbench.runs import run_model

SHEET = {
    "question": "Which costs most?",
    "answer": "A",
    "attachments": ["a.csv"],
    "scenario": "Shopping",
}
PAGE = {
    "question": "What is its heading?",
    "answer": 12.5,
    "attachments": ["https://a.test/x"],
    "source": "a",
}


@pytest.fixture
def write(tmp_path):
    (tmp_path / "a.csv").write_text("item,price\nA,3\n")

    def write_tasks(*rows):
        path = tmp_path / "tasks.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write_tasks


def test_a_task_file_is_read(write):
    events, answers = own_tasks.read_tasks(
        write(SHEET, PAGE | {"task_id": "mine"}, {"question": "Q?", "answer": "Z"})
    )
    assert events["event_id"].tolist() == ["task_1", "mine", "task_3"]
    assert [parse_json(cell) for cell in events["capabilities"]] == [["text_file"], ["browser"], []]
    assert events["scenario_group"].tolist() == ["Shopping", "no scenario", "no scenario"]
    assert events["cluster_id"].tolist() == ["task_1", "a", "task_3"]
    assert answers["value"].tolist() == ['"A"', "12.5", '"Z"']


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"attachments": ["b.csv"]},
            "line 1: attachments: there is no file b.csv beside tasks.jsonl",
        ),
        (
            {"attachments": ["a.csv", "./a.csv"]},
            "line 1: attachments: two files have the same name",
        ),
        ({"answer": "?"}, "line 1: answer: '\\?' holds nothing to match"),
        ({"question": ""}, "line 1.*question"),
        ({"answer": ["A"]}, "line 1.*answer"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_its_line(write, change, said):
    with pytest.raises(ValueError, match=said):
        own_tasks.read_tasks(write(SHEET | change))
    with pytest.raises(ValueError, match="line 2: task_id 'x' is there already"):
        own_tasks.read_tasks(write(SHEET | {"task_id": "x"}, SHEET | {"task_id": "x"}))


def test_a_model_works_on_own_tasks_by_file_and_live_page(write):
    path = write(SHEET, PAGE, {"question": "Q?", "answer": "Z"})
    events, answers = own_tasks.read_tasks(path)
    attachments = dict(zip(events["event_id"], events["attachments"].map(parse_json), strict=True))
    fetched = []

    def consult(prompt, schema, repeat=0, attachments=()):
        if "You work in turns" not in prompt:
            return Verdict("ok", {"answer": "A"}, None)
        turn = {"action": "answer", "input": "A"}
        if "a.csv" in prompt and "A,3" not in prompt:
            turn = {"action": "file", "input": "a.csv"}
        if "https://a.test/x" in prompt and "twelve" not in prompt:
            turn = {"action": "page", "input": "https://a.test/x"}
        elif "twelve" in prompt:
            turn = {"action": "answer", "input": "12.50"}
        return Verdict("ok", turn, None)

    def fetch(url, as_of):
        fetched.append(url)
        return SimpleNamespace(
            url=url,
            content_type="text/html",
            text="<html><body><p>twelve and a half</p></body></html>",
        )

    with own_tasks.open_places(path, attachments) as places:
        copied = places["task_1"][0]
        assert copied.read_text() == "item,price\nA,3\n" and copied.parent != path.parent
        made = run_model(consult, events, places, fetch, {})
    assert fetched == ["https://a.test/x"]
    scored = scores.score_runs(made, answers)
    table = scores.tabulate_scores(scored, events).set_index(["agent", "column"])
    assert list(table.loc["model, with tools"].index) == [
        "overall",
        "Shopping",
        "no scenario",
        "text_file",
        "browser",
    ]
    assert table["right"].to_dict()["model, with tools", "overall"] == 2
    assert made.query("event_id == 'task_2'")["status"].tolist() == ["lacking", "ok"], (
        "no text of a live page"
    )


def test_a_live_page_is_read_once_and_recorded(monkeypatch):
    rows = {}

    def recall(door, request, deadline_at, answer=None, bound=None, reduce=None):
        key = request["messages"][0]["content"]
        if key not in rows:
            rows[key] = answer(door, request, 1.0, {"n_requests": 0})
        return rows[key]

    monkeypatch.setattr("daybefore.web.open_web.recall", recall)
    monkeypatch.setattr("studies.liveagentbench.own_tasks.check_outside", lambda url: None)
    pages, asked = own_tasks.LivePages(SimpleNamespace()), []

    def get(url):
        asked.append(url)
        return (
            200,
            {"content-type": "text/html"},
            b"<html><title>T</title><p>Twelve and a half degrees.</p></html>",
        )

    monkeypatch.setattr(pages.guest, "get", get)
    for _ in range(2):
        assert "Twelve" in pages.fetch("https://a.test/x", own_tasks.AS_OF).text
    assert asked == ["https://a.test/x"]
