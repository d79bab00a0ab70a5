"""A model on tasks: with the text of their files, and turn by turn with its tools; a reader's own
tasks."""

import base64
import json
from types import SimpleNamespace

import pandas as pd
import pytest
from builders import needs_sandbox

from daybefore.models.judges import Verdict, build_consult
from daybefore.web.session import Web
from helpers.files import parse_json
from helpers.match_answers import match_answer
from studies.liveagentbench import task_runs, task_scores, task_workflow, tasks
from studies.liveagentbench.tasks import PORTAL, Portal, load_taskset, open_files, read_tasks

EVENT = {"event_id": "t", "prompt": "How many?", "capabilities": '["text_file"]'}
EVENT["as_of"] = tasks.AS_OF


@pytest.fixture
def sheet(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("Date,State,Lead\n2016-10-05,Ohio,5\n")
    return path


def play(turns, prompts):
    """Return a consult that takes some turns, and then answers 42."""

    def consult(prompt, schema, repeat=0, attachments=()):
        prompts.append(prompt)
        action, given = turns[len(prompts) - 1] if len(prompts) <= len(turns) else ("answer", "42")
        return Verdict("ok", {"action": action, "input": given})

    return consult


@pytest.mark.parametrize(
    "content",
    [
        '{"answer": "5"}',
        "5",
        "It rose to\n\nAnswer: 5 points",
        'So:\n```json\n{"answer": "5"}\n```',
    ],
)
def test_a_right_answer_counts_whatever_form_a_server_leaves_it_in(knock, provider, sheet, content):
    provider.answer = lambda asked: {"content": content}
    consult = build_consult(knock(), "openai/mock-1", False)
    status, reply, _ = task_runs.ask_with_text(consult, EVENT, [sheet])
    assert status == "ok" and match_answer(reply, "5")["is_match"]
    assert "2016-10-05,Ohio,5" in provider.asked[0]["messages"][0]["content"]
    status, reply = task_workflow.ask_answer(consult, "spdg_alone", question="How many?")
    assert match_answer(reply, "5")["is_match"] and status in task_workflow.ANSWERED


def test_a_task_without_files_speaks_of_no_file():
    asked = []

    def consult(prompt, schema):
        asked.append(prompt)
        return Verdict("ok", {"answer": "5"})

    assert task_runs.ask_with_text(consult, EVENT | {"capabilities": "[]"}, [])[:2] == ("ok", "5")
    assert "How many?" in asked[0] and "file" not in asked[0].lower()


def test_a_model_works_on_each_task_again_and_what_is_not_recorded_is_missing(sheet):
    def consult(prompt, schema, repeat=0, attachments=()):
        if schema is task_runs.FORM:
            return Verdict("ok", {"answer": "5"})
        if repeat == 2:
            return Verdict("missing")
        return Verdict("ok", {"action": "answer", "input": "57"[repeat]})

    events = pd.DataFrame([EVENT, EVENT | {"event_id": "b", "capabilities": '["image"]'}])
    made = task_runs.run_model(consult, events, {"t": [sheet], "b": []}, None, {}, 2)
    made = made.set_index(["agent", "event_id", "repeat"]).sort_index()
    assert made.loc[(task_runs.WITH_TEXT, "t", 0), "reply"] == "5"
    assert made.loc[(task_runs.WITH_TEXT, "b", 0), "status"] == "lacking"
    again = made.loc[(task_runs.WITH_TOOLS, "t")]
    assert again["status"].tolist() == ["ok", "ok", "missing"]
    assert again["reply"].fillna("").tolist() == ["5", "7", ""]


def test_a_model_with_tools_sees_pages_and_files_and_what_it_cannot_do(sources, sheet):
    prompts = []
    small = {"oil_wti": sources["oil_wti"]}
    fetch = Web(Portal(small)).fetch
    turns = [
        ("page", PORTAL),
        ("page", small["oil_wti"].address),
        ("file", "a.csv"),
        ("file", "b.csv"),
        ("page", "http://nowhere.replay/"),
    ]
    consult = play(turns, prompts)
    came = task_runs.work_by_turns(consult, EVENT, [sheet, PORTAL], fetch, {})
    assert came == ("ok", "42", None)
    assert "12 are left" in prompts[0] and "7 are left" in prompts[5] and "a.csv" in prompts[0]
    assert "Business: http://directory.replay/business" in prompts[1]
    assert "2016-10-03,WTI,48.80" in prompts[2] and "2016-10-05,Ohio,5" in prompts[3]
    assert "It was not done: KeyError" in prompts[4] and "no page" in prompts[5]
    endless = task_runs.work_by_turns(play([("file", "a.csv")] * 99, []), EVENT, [sheet], fetch, {})
    assert endless == ("ok", None, "no answer in 12 turns")


@pytest.mark.parametrize("takes, status", [(("image",), "ok"), (("audio",), "lacking")])
def test_a_task_with_a_chart_is_put_to_a_model_that_takes_pictures(knock, provider, takes, status):
    provider.answer = lambda asked: {"content": '{"action": "answer", "input": "2016-10-03"}'}
    consult = build_consult(knock(takes=takes), "openai/mock-1", False)
    with open_files(load_taskset()[0]) as places:
        came = task_runs.work_by_turns(consult, EVENT, places["crude_4"], None, {})
        chart = places["crude_4"][0].read_bytes()
    told = {"ok": ("2016-10-03", None), "lacking": (None, "the model takes no image")}
    assert came == (status, *told[status]) and len(provider.asked) == (status == "ok")
    for asked in provider.asked:
        words, picture = asked["messages"][0]["content"]
        assert "Files: crude_4_1.png (attached)" in words["text"]
        sent = picture["image_url"]["url"].removeprefix("data:image/png;base64,")
        assert base64.b64decode(sent) == chart


def test_scripts_run_in_the_sandbox_on_the_files_alone_each_once(sheet):
    needs_sandbox()
    prompts, shells = [], {}
    again = [("shell", "echo on >> log; wc -l < log")] * 2
    turns = [("shell", "cd /evidence; ls; wc -l < a.csv; touch b"), *again]
    assert task_runs.work_by_turns(play(turns, prompts), EVENT, [sheet], None, shells)[1] == "42"
    assert "a.csv\n2\n" in prompts[1] and "Read-only file system" in prompts[1]
    assert list(shells.values())[1:] == ["1", "2"]
    shells.popitem()  # broken off before the third: a new sandbox does the first two before it
    task_runs.work_by_turns(play(turns, []), EVENT, [sheet], None, shells)
    assert list(shells.values())[1:] == ["1", "2"]


# --- a reader's own tasks ---------------------------------------------------------------------------

SHEET = {"question": "Which costs most?", "answer": "A", "attachments": ["a.csv"]}
SHEET["scenario"] = "Shopping"
PAGE = {"question": "What is its heading?", "answer": 12.5, "source": "a"}
PAGE["attachments"] = ["https://a.test/x"]
PLAIN = {"question": "Q?", "answer": "Z"}


@pytest.fixture
def write(sheet):
    def write_tasks(*rows):
        path = sheet.with_name("tasks.jsonl")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write_tasks


def test_a_task_file_is_read(write):
    events, answers = read_tasks(write(SHEET, PAGE | {"task_id": "mine"}, PLAIN))
    assert events["event_id"].tolist() == ["task_1", "mine", "task_3"]
    assert [parse_json(cell) for cell in events["capabilities"]] == [["text_file"], ["browser"], []]
    assert events["scenario_group"].tolist() == ["Shopping", "no scenario", "no scenario"]
    assert events["cluster_id"].tolist() == ["task_1", "a", "task_3"]
    assert answers["value"].tolist() == ['"A"', "12.5", '"Z"']


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"attachments": ["b.csv"]}, "1: attachments: there is no file b.csv beside tasks.jsonl"),
        ({"attachments": ["a.csv", "./a.csv"]}, "1: attachments: two files have the same name"),
        ({"answer": "?"}, "1: answer: '\\?' holds nothing to match"),
        ({"question": ""}, "1.*question"),
        ({"answer": ["A"]}, "1.*answer"),
        ({"task_id": "x"}, "2: task_id 'x' is there already"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_its_line(write, change, said):
    with pytest.raises(ValueError, match=f"line {said}"):
        read_tasks(write(SHEET | change, SHEET | change))


def test_a_model_works_on_own_tasks_by_copied_file_and_live_page(write, sheet):
    path = write(SHEET, PAGE, PLAIN)
    events, answers = read_tasks(path)

    def consult(prompt, schema, repeat=0, attachments=()):
        if schema is task_runs.FORM:
            return Verdict("ok", {"answer": "A"})
        turn = {"action": "answer", "input": "A"}
        if "a.csv" in prompt and "Ohio,5" not in prompt:
            turn = {"action": "file", "input": "a.csv"}
        if "https://a.test/x" in prompt and "twelve" not in prompt:
            turn = {"action": "page", "input": "https://a.test/x"}
        elif "twelve" in prompt:
            turn = {"action": "answer", "input": "12.50"}
        return Verdict("ok", turn)

    def fetch(url, as_of):
        text = "<html><body><p>twelve and a half</p></body></html>"
        return SimpleNamespace(url=url, content_type="text/html", text=text)

    with open_files(events, path) as places:
        copied = places["task_1"][0]
        assert copied.read_text() == sheet.read_text() and copied.parent != path.parent
        made = task_runs.run_model(consult, events, places, fetch, {})
    table = task_scores.tabulate_scores(task_scores.score_runs(made, answers), events)
    right = table.set_index(["agent", "column"])["right"][task_runs.WITH_TOOLS]
    assert list(right.index) == ["overall", "Shopping", "no scenario", "text_file", "browser"]
    assert right["overall"] == 2
    by_page = made.query("event_id == 'task_2'")["status"].tolist()
    assert by_page == ["lacking", "ok"], "no text of a live page"


def test_a_live_page_is_read_once_and_recorded(monkeypatch):
    rows = {}
    asked = []

    def recall(door, request, deadline_at, answer=None, bound=None, reduce=None):
        key = request["messages"][0]["content"]
        if key not in rows:
            rows[key] = answer(door, request, 1.0, {"n_requests": 0})
        return rows[key]

    def get(url):
        asked.append(url)
        page = b"<html><title>T</title><p>Twelve and a half degrees.</p></html>"
        return 200, {"content-type": "text/html"}, page

    monkeypatch.setattr("daybefore.web.open_web.recall", recall)
    monkeypatch.setattr(tasks, "check_outside", lambda url: None)
    pages = tasks.LivePages(SimpleNamespace())
    monkeypatch.setattr(pages.guest, "get", get)
    for _ in range(2):
        assert "Twelve" in pages.fetch("https://a.test/x", tasks.AS_OF).text
    assert asked == ["https://a.test/x"]
