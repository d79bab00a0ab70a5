"""The viewer: all that is known of a question from real tables, text that stays text, no key."""

import json
import re

import pandas as pd
import pytest
from builders import KEY as SECRET
from builders import store_run
from markupsafe import escape

from daybefore.commands import view as viewer
from daybefore.commands.main import main as run_command
from daybefore.commands.view import list_questions, read_known, read_pages, tell_events
from daybefore.web.fetched_pages import keep_page
from helpers.files import STORE, locate_output, read_table, write_table
from studies.worldreasoner.question_pages import tell_hindsight

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=2'>&lt;b&gt; Wörter \x1b[2J"
HOSTILE += "x" * 300
EVENTS = {"A-1010-brent_band": '"B"', "A-1010-brent_price": "1e999", "A-1010-wti_price": None}
"""Real events, and what the synthetic agent said: a wrong letter, a number beyond all bounds,
nothing."""


@pytest.fixture
def live(monkeypatch, out):
    """A live ledger of one synthetic run whose every word is hostile."""
    monkeypatch.setenv("MY_SERVER_KEY", SECRET)
    said = {"A-0101-long_gone": {"value": '"A"', "status": "ok"}}
    for event_id, value in EVENTS.items():
        lost = {"status": "unparsable", "reason": f"{SECRET} {HOSTILE}"}
        said[event_id] = {"value": value, "status": "ok"} if value else lost
    said = {name: row | {"as_of": "2016-10-10T00:00:00+08:00"} for name, row in said.items()}
    reply = {"status": "ok", "reply": f"{HOSTILE} {SECRET} \\boxed{{?}}", "duration_s": 1.5}
    step = {"step_type": "tool", "arguments": json.dumps({"query": HOSTILE})}
    step |= dict.fromkeys(("tool", "content", "error"), HOSTILE) | {"page_ids": '["../../p1"]'}
    about = {"category": "base_model", "model": HOSTILE, "condition": "very " * 30}
    store_run(locate_output(STORE), "strange-A-0123abcd", said, reply, [step], **about)


def read_pages_of(folder, name):
    return [path.read_text() for path in (folder / name).glob("*.html")]


def test_a_recorded_question_is_told_from_its_prompt_to_its_score(out):
    known = read_known(["A"], ["qwen_react"])
    rows = list_questions(known).query("event_id == 'A-1010-wti_price'")
    [told] = tell_events(known, rows)
    [question] = told["questions"]
    assert told["event"]["prompt"].startswith("What will the spot price of WTI")
    assert told["answer"]["value"] == 50.14 and question["prediction"]["value"] == 50.44
    assert [step["step_type"] for step in question["steps"]][:3] == ["prompt", "model", "tool"]
    assert question["reply"]["reply"].endswith("\\boxed{50.44}")
    assert {score["metric"] for score in question["scores"]} >= {"number", "abs_error"}
    assert question["outcome"] == "partly right" and 0.5 < question["score"] < 0.6
    viewer.write_pages(out / "page", known, rows)
    [page] = read_pages_of(out / "page", "questions")
    assert all(part in page for part in ("50.44", "WTI crude oil 12 October 2016 EIA", "50.14"))
    sources = read_pages_of(out / "page", "pages")
    assert any("not kept" in text and "<th>url</th><td>http" in text for text in sources)


def test_a_run_in_the_store_and_in_the_tables_is_one(live):
    recorded = read_known(["C1"], ["last_value"])
    question = recorded.predictions.iloc[0]
    said = {question["event_id"]: question[["as_of", "value"]].to_dict()}
    run_id, used = recorded.runs.iloc[0]["run_id"], {"duration_s": 2.25}
    store_run(locate_output(STORE), run_id, said, used, category="baseline")
    both = read_known(["C1"], ["last_value"])
    assert both.runs["origin"].tolist() == ["recorded"]
    assert len(both.predictions) == len(recorded.predictions)
    seconds = list_questions(both).set_index("event_id")["duration_s"]
    assert seconds[question["event_id"]] == 2.25


def test_a_set_beside_the_store_is_shown_and_one_that_is_gone_told_by_its_name(live, capsys):
    for name in ("events", "answers"):
        table = read_table(name, "C1").head(3)
        write_table(name, table.assign(event_id="own-" + table["event_id"]), "C2")
    said, about = {"as_of": "2016-10-10T00:00:00+08:00"}, {"category": "base_model"}
    event_id = "own-" + read_table("events", "C1")["event_id"][0]
    store_run(locate_output(STORE), "mine-C2-0123abcd", {event_id: said}, **about)
    about["agent_id"] = "mine"
    store_run(locate_output(STORE), "mine-a-set-of-before-0123abcd", {"q1": said}, **about)
    assert set(read_known(agents=["mine"]).runs["run_id"]) == {"mine-C2-0123abcd"}
    assert "left out: 1 question of a-set-of-before, a set that is not" in capsys.readouterr().err


def test_no_word_of_a_model_becomes_markup_no_key_is_written_and_no_escape_printed(live, capsys):
    run_command(["view", "--agent", "strange", "--json"])
    out = capsys.readouterr()
    assert SECRET not in out.out and "left out: 1 question of october-2016" in out.err
    [run] = json.loads(out.out)["runs"]
    assert {name: n for name, n in run["counts"].items() if n} == {"wrong": 2, "missing": 1}
    folder = locate_output("data/runs/view/index.html").parent
    told, index = read_pages_of(folder, "questions"), (folder / "index.html").read_text()
    assert len(told) == len(EVENTS)
    assert all(f"{escape(HOSTILE)} &lt;secret&gt;" in text for text in told)
    assert not any(SECRET in path.read_text() for path in folder.rglob("*.*"))
    for text in (*told, *read_pages_of(folder, "pages"), index):
        scripts = re.findall(r"<script[^>]*>", text)
        own = ['<script src="table.js">', '<script src="list.js">']
        assert scripts == (own if text is index else [])
        assert "<img" not in text and "default-src 'none'" in text
    assert not re.search(r"(src|href)=.?https?://", index)
    said = "daybefore view: no run of agent 'nobody'; `make run AGENT=nobody`"
    with pytest.raises(SystemExit, match=said):
        run_command(["view", "--agent", "strange", "--agent", "nobody"])


def test_a_long_question_has_its_hindsight_and_a_market_its_price(out):
    known = read_known(["L"], ["qwen_search_graph"])
    viewer.write_pages(out, known, list_questions(known)[:3])
    pages = read_pages_of(out, "questions")
    assert len(pages) == 3
    assert any('<circle class="even"' in page and "(outcome)" in page for page in pages)
    prices = pd.DataFrame({"question_id": "q", "day": [20000.0, 20010.0], "price": [0.5, 1.0]})
    told = tell_hindsight({"event_id": "q", "window": "M"}, None, [], prices)
    assert told["path"] == "M 20.0 125.0 L 880.0 10.0"
    assert (told["first"], told["last"]) == (20000, 20010)


def test_a_page_is_shown_as_the_run_kept_it_else_by_its_address(live, tmp_path):
    known = read_known(["A"], ["qwen_react"]).pages
    row = {"page_id": "pkept", "content_sha256": "0" * 64, "url": "http://a.replay/"}
    keep_page(row, "as it stood")
    pages = read_pages(["p4e0e198c7673", "pkept", "pgone"], known)
    assert pages["pkept"]["text"] == "as it stood" and pages["pgone"].keys() == {"how"}
    away = pages["p4e0e198c7673"]
    assert away["url"].startswith("http://") and "text" not in away
    none = read_known(["A"], [])
    viewer.write_pages(tmp_path / "empty", none, list_questions(none))
    assert "No runs yet" in (tmp_path / "empty/index.html").read_text()
