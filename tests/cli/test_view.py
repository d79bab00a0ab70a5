"""The viewer: one question's whole life from real tables, text that stays text, no key, and the page in a browser."""

import base64
import gzip
import json
import re
from contextlib import closing

import pandas as pd
import pytest
from browser import CHROMIUM, open_browser
from builders import KEY as SECRET

from helpers.cli import view as viewer
from helpers.cli.lives import fetch_again, list_questions, open_row, open_rows, read_lives, read_pages
from helpers.cli.main import main as run_command
from helpers.store import STORE, locate_output, open_store, save_questions, save_run
from helpers.web.pages import keep_page

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=2'>&lt;b&gt; Wörter " + "x" * 300
EVENTS = {"A-1010-brent_band": '"B"', "A-1010-brent_price": "1e999", "A-1010-wti_price": None}
"""Real events, and what the synthetic agent said: a wrong letter, a number beyond all bounds, nothing."""


@pytest.fixture
def live(tmp_path, monkeypatch):
    """A live ledger of one synthetic run whose every word is hostile; returns its run_id."""
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    monkeypatch.setenv("MY_SERVER_KEY", SECRET)
    run_id = "strange-A-0123abcd"
    batch = []
    for event_id, value in [*EVENTS.items(), ("A-0101-long_gone", '"A"')]:
        key = {"run_id": run_id, "event_id": event_id, "sample": 0}
        reply = key | {"status": "ok", "reply": f"{HOSTILE} {SECRET} \\boxed{{?}}", "duration_s": 1.5}
        said = {
            "value": value,
            "status": "ok" if value else "unparsable",
            "reason": None if value else f"{SECRET} {HOSTILE}",
        }
        prediction = key | {"agent_id": "strange", "as_of": "2016-10-10T00:00:00+08:00"} | said
        step = key | {"step": 0, "step_type": "tool", "tool": HOSTILE, "arguments": json.dumps({"query": HOSTILE})}
        batch.append((reply, prediction, [step | {"content": HOSTILE, "page_ids": '["../../p1"]', "error": HOSTILE}]))
    with closing(open_store(locate_output(STORE))) as ledger:
        about = {"agent_id": "strange", "category": "base_model", "model": HOSTILE, "condition": "very " * 30}
        save_run(ledger, {"run_id": run_id} | about)
        save_questions(ledger, batch)
    return run_id


def unpack(path):
    """Return what a script of the page hands over."""
    name, data = re.fullmatch(r'receive\("(.*)", "(.*)"\);\n', path.read_text()).groups()
    assert path.as_posix().endswith(f"{name}.js")
    return json.loads(gzip.decompress(base64.b64decode(data)))


def write(folder, agents):
    lives = read_lives(["A"], agents)
    size = viewer.write_page(folder, lives, list_questions(lives), viewer.list_keys())
    return size


def test_a_recorded_question_is_told_from_its_prompt_to_its_score(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    monkeypatch.setattr("helpers.web.pages.FOLDER", ".cache/none")  # a run on this machine may have kept the page
    run_command(["view", "--event", "A-1010-wti_price", "--agent", "qwen_react", "--json"])
    life = json.loads(capsys.readouterr().out)
    [question] = life["questions"]
    assert life["event"]["prompt"].startswith("What will the spot price of WTI") and life["answer"]["value"] == 50.14
    assert [step["step_type"] for step in question["steps"]][:3] == ["prompt", "model", "tool"]
    assert question["reply"]["reply"].endswith("\\boxed{50.44}") and question["prediction"]["value"] == 50.44
    assert {score["metric"] for score in question["scores"]} >= {"number", "abs_error"}
    assert question["outcome"] == "partly right" and "the answer is 50.14: number 0.5" in question["why"]
    page = life["pages"]["p4e0e198c7673"]
    assert "shown once more by the replay as of" in page["how"] and "Energy Information" in page["text"]
    assert page["published_at"] < question["prediction"]["as_of"], "the page is that of the start day"
    run_command(["view", "--event", "A-1010-wti_price", "--agent", "qwen_react"])
    text = capsys.readouterr().out
    assert all(
        part in text for part in ("50.44", "WTI crude oil 12 October 2016 EIA", "answer: 50.14", "-- number: 0.5")
    )


def test_a_run_in_the_ledger_and_in_the_tables_is_one(live, tmp_path):
    recorded = read_lives(["C1"], ["last_value"])
    run = recorded.runs.iloc[0].to_dict()
    question = recorded.predictions.iloc[0]
    key = {"run_id": run["run_id"], "event_id": question["event_id"], "sample": 0}
    with closing(open_store(locate_output(STORE))) as ledger:
        save_run(ledger, {"run_id": run["run_id"], "agent_id": "last_value", "category": "baseline"})
        columns = {"agent_id": "last_value", "as_of": question["as_of"], "status": "ok", "value": question["value"]}
        save_questions(ledger, [(key | {"status": "ok", "duration_s": 2.25}, key | columns, [])])
    both = read_lives(["C1"], ["last_value"])
    assert both.runs["origin"].tolist() == ["live and recorded"]
    assert len(both.predictions) == len(recorded.predictions)
    assert list_questions(both).set_index("event_id")["duration_s"].get(question["event_id"]) == 2.25


def test_no_word_of_a_model_becomes_markup_and_no_key_is_written(live, tmp_path, capsys):
    size = write(tmp_path / "page", ["strange"])
    paths = [path for path in (tmp_path / "page").rglob("*") if path.is_file()]
    assert size == sum(path.stat().st_size for path in paths)
    told = [unpack(path) for path in paths if path.parent.name == "questions"]
    assert {life["event"]["event_id"] for life in told} == set(EVENTS)
    assert all(HOSTILE in life["questions"][0]["reply"]["reply"] for life in told)
    written = json.dumps(told) + "".join(path.read_text() for path in paths)
    assert "<secret>" in written and SECRET not in written
    assert HOSTILE not in (tmp_path / "page/index.html").read_text()
    assert not re.search(r"https?://", (tmp_path / "page/index.html").read_text())
    run_command(["view", "--event", "A-1010-brent_band", "--agent", "strange"])
    assert SECRET not in capsys.readouterr().out


def test_strange_numbers_and_lost_events_are_told(live, capsys):
    run_command(["view", "--json", "--agent", "strange"])
    out = capsys.readouterr()
    told = {row["event_id"]: row for row in json.loads(out.out)["questions"]}
    assert {name: row["outcome"] for name, row in told.items()} == {
        "A-1010-brent_band": "wrong",
        "A-1010-brent_price": "wrong",
        "A-1010-wti_price": "unparsable",
    }
    assert told["A-1010-brent_price"]["value"] == "1e999"
    assert "left out: 1 question of window A, events that are no longer in data/tables/A/events.csv.gz" in out.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--agent", "nobody"], "no run of agent 'nobody'; `make run AGENT=nobody` makes one"),
        (["--status", "great"], "no question has the outcome 'great'; there are unparsable, wrong"),
        (["--event", "A-9"], "no run holds a question on 'A-9'"),
        (
            ["--event", "A-1010-brent_band", "--level", "4"],
            "no question on 'A-1010-brent_band' meets the other filters",
        ),
    ],
)
def test_a_filter_that_nothing_meets_is_told(live, arguments, said):
    with pytest.raises(SystemExit, match=re.escape(f"daybefore view: {said}")):
        run_command(["view", "--agent", "strange", *arguments])


def test_filters_choose(live, capsys):
    for arguments, ids in [
        (["--level", "1"], ["A-1010-brent_band"]),
        (["--text", "CUSHING"], ["A-1010-wti_price"]),
        (["--text", "No Such Words"], []),
        (["--status", "unparsable"], ["A-1010-wti_price"]),
    ]:
        run_command(["view", "--agent", "strange", "--json", *arguments])
        assert [row["event_id"] for row in json.loads(capsys.readouterr().out)["questions"]] == ids


def test_text_is_sought_in_steps_and_whole_replies_too(live, capsys):
    for text, n in [("\\boxed{?}", 3), ('"query": "</script>', 3), ("boxed{50.44}", 0)]:
        run_command(["view", "--agent", "strange", "--json", "--text", text])
        assert len(json.loads(capsys.readouterr().out)["questions"]) == n
    run_command(["view", "--agent", "qwen_react", "--json", "--text", "BOXED{50.44}"])
    assert [row["event_id"] for row in json.loads(capsys.readouterr().out)["questions"]] == ["A-1010-wti_price"]


def test_rows_are_opened_by_columns_as_one_by_one():
    cells = ['["A", 1e999]', "null", '"B"', "12", None, "[]"]
    numbers = [2.0, float("nan"), float("inf"), -0.5, 1e300, 0.0]
    table = pd.DataFrame(
        {"value": cells, "score": numbers, "k": [1, 2, 3, 4, 5, 6], "reason": list("abc") + [None] * 3}
    )
    table["is_scored"] = [True, False, None, True, True, None]
    for columns in (None, ["value", "score", "absent"], ["absent"]):
        assert open_rows(table, columns) == [open_row(row, columns or row) for row in table.to_dict("records")]


def test_a_page_comes_from_where_it_was_kept_or_from_the_replay_or_not_at_all(live, world):
    known = read_lives(["A"], ["qwen_react"]).pages
    row = known[known["page_id"] == "p4e0e198c7673"].iloc[0].to_dict()
    keep_page({"page_id": "pkept", "content_sha256": "0" * 64, "url": "http://a.replay/"}, "as it stood")
    pages = read_pages(["p4e0e198c7673", "pkept", "pgone"], known)
    assert pages["pkept"]["text"] == "as it stood" and pages["pkept"]["how"] == "as it was kept by the run"
    assert pages["pgone"] == {"how": "not kept"} and "text" in pages["p4e0e198c7673"]
    gateway = world()
    assert "now shows another page" in fetch_again(gateway, "p000", row)["how"]
    away = fetch_again(gateway, "p000", row | {"url": "http://oil-wti.replay/elsewhere"})
    assert "text" not in away and "no page by" in away["how"]


def test_another_bundle_of_the_library_is_told(monkeypatch):
    assert "export{" not in viewer.read_library()
    monkeypatch.setattr(viewer, "read_bundle", lambda name: "var a = 1; export { a as b };")
    with pytest.raises(ValueError, match="requirements.lock"):
        viewer.read_library()


# --- in a browser

browsed = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here (apt-get install chromium)")
READY = "document.documentElement.dataset.ready"
COUNT = "document.querySelector('#count').textContent"
FITS = "document.documentElement.scrollWidth <= 390"


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with open_browser(tmp_path_factory.mktemp("chromium")) as tab:
        yield tab


def choose(tab, **fields):
    """Set filters as a person does; return what the page counts."""
    for name, value in fields.items():
        field = f"document.querySelector('#filters').elements.{name}"
        tab.run(f"{field}.value = {json.dumps(value)}; {field}.dispatchEvent(new Event('input', {{bubbles: true}}))")
    return tab.run(COUNT)


@browsed
def test_in_a_browser_from_disk_hostile_words_are_shown_and_do_nothing(live, tmp_path, tab):
    write(tmp_path / "page", ["strange", "qwen_react"])
    url = (tmp_path / "page/index.html").as_uri()
    tab.open(url)
    tab.wait(READY)
    assert tab.run(COUNT) == "23 of 23 questions"
    assert choose(tab, agent="strange") == "3 of 23 questions"
    assert choose(tab, agent="", text="CUSHING") == "2 of 23 questions"
    choose(tab, text="window.hacked")
    tab.wait(f"{COUNT} === '3 of 23 questions'")
    assert choose(tab, text="Boxed{50.44}") == "1 of 23 questions", "a reply is searched, as text"
    assert "first 2,000 characters" in tab.run("document.querySelector('#searched').textContent")
    assert choose(tab, text="\\boxed{?}") == "3 of 23 questions", "a reply's words"
    assert choose(tab, text="", level="1") == "6 of 23 questions"
    assert choose(tab, level="", status="missing") == "2 of 23 questions"
    assert choose(tab, status="", text="no such words") == "0 of 23 questions"
    assert "No question meets the filters" in tab.run("document.querySelector('#questions').textContent")
    # three clicks: the run's missing, the question, its page
    choose(tab, text="")
    tab.run("document.querySelector('button[aria-label^=\"list 1 missing of strange\"]').click()")
    assert tab.run(COUNT) == "1 of 23 questions"
    tab.run("document.querySelector('#questions td a').click()")
    tab.wait("document.querySelector('#life .why')")
    assert HOSTILE in tab.run("document.querySelector('#life .why').textContent")
    assert HOSTILE in tab.run("document.querySelector('#life pre').textContent")
    assert tab.run("window.hacked") is None and not tab.run("document.querySelectorAll('main img, main script').length")
    assert tab.run("document.querySelector('#life details details').textContent").endswith("not kept")
    tab.run("document.body.insertAdjacentHTML('beforeend', `<img src=data:, onerror='window.hacked=3'>`)")
    tab.run("new Promise(done => setTimeout(done, 100))")
    assert tab.run("window.hacked") is None, "the page's policy lets no markup run either"


@browsed
def test_a_question_is_reached_by_keyboard_and_its_page_read_on_a_phone(live, tmp_path, tab):
    write(tmp_path / "page", ["strange", "qwen_react"])
    tab.open((tmp_path / "page/index.html").as_uri(), width=390, scheme="dark")
    tab.wait(READY)
    assert tab.run(FITS) and tab.run("document.documentElement.className") == "dark"
    choose(tab, status="unparsable")
    tab.run("document.querySelector('#questions td a').focus()")
    tab.press("Enter", 13, "\r")
    tab.wait("document.querySelector('#life h1') === document.activeElement")
    tab.run("for (const part of document.querySelectorAll('#life details')) part.open = true")
    assert tab.run(FITS), "with words too long for a line"
    tab.run("history.back()")
    tab.wait("!document.querySelector('#list').hidden")
    assert tab.run(COUNT) == "1 of 23 questions"
    choose(tab, status="", agent="qwen_react")
    tab.run("document.querySelector('#questions td a').click()")
    tab.wait("document.querySelectorAll('#life details').length > 5")
    tab.run("for (const part of document.querySelectorAll('#life details')) part.open = true")
    tab.wait("[...document.querySelectorAll('#life details details pre')].some(pre => pre.textContent.includes(' | '))")
    assert tab.run(FITS), "with every page open"
    unnamed = "[...document.querySelectorAll('input, select')].filter(field => !field.labels.length).length"
    assert tab.run(unnamed) == 0


@browsed
@pytest.mark.parametrize("width", [390, 1280])
def test_the_list_of_runs_breaks_no_number_and_names_only_at_their_joints(live, tmp_path, tab, width):
    run_id = "f_nonsense_whose_replies_are_missing-A-00000001"
    with closing(open_store(locate_output(STORE))) as ledger:
        save_run(ledger, {"run_id": run_id, "agent_id": run_id.split("-")[0], "category": "base_model"})
        key = {"run_id": run_id, "event_id": "A-1010-brent_band", "sample": 0, "status": "timeout"}
        agent = {"agent_id": run_id.split("-")[0], "value": None}
        save_questions(ledger, [(key | {"cost_usd": 0.0300}, key | agent, [])])
    write(tmp_path / "page", ["strange", "qwen_react", agent["agent_id"]])
    tab.open((tmp_path / "page/index.html").as_uri(), width=width)
    tab.wait(READY)
    lines = "Math.round(cell.getBoundingClientRect().height / parseFloat(getComputedStyle(cell).lineHeight))"
    tall = f"[...document.querySelectorAll('#runs td.dt-right :is(span, button)')].filter(cell => {lines} > 1).length"
    assert tab.run(tall) == 0, "a number stands on one line"
    name = "[...document.querySelectorAll('#runs td:first-child')].find(cell => cell.textContent.startsWith('f_non'))"
    assert tab.run(f"{name}.clientWidth") >= 110 and tab.run(f"{name}.querySelectorAll('wbr').length") >= 4
    lost = "[...document.querySelectorAll('#runs tr.lost')].map(row => row.cells[0].textContent)"
    assert [text.split(",")[0] for text in tab.run(lost)] == ["f_nonsense_whose_replies_are_missing"]
    assert "no answer: all missing" in tab.run(lost)[0]
    last = "document.querySelector('#runs th:last-child').getBoundingClientRect().right"
    right = last.replace("th:last-child", "th:nth-last-child(5)") if width == 390 else last
    assert tab.run(right) <= width, "no column of the screen's lies beyond its edge"
    narrow = "getComputedStyle(document.querySelector('.narrow')).display !== 'none'"
    assert tab.run(narrow) == (width == 390), "a phone is told which columns it lacks"
    hidden = "document.querySelector('#sideways').hidden"
    assert tab.run(hidden), "nothing lies beyond"
    tab.run("document.querySelector('#runs').style.minWidth = '2000px'; window.dispatchEvent(new Event('resize'))")
    assert not tab.run(hidden), "a table that scrolls sideways says so"


@browsed
def test_the_page_without_a_run_says_what_to_do(live, tmp_path, tab):
    write(tmp_path / "page", ["nobody"])
    tab.open((tmp_path / "page/index.html").as_uri())
    tab.wait(READY)
    assert tab.run("document.querySelector('#list').innerText").strip().startswith("No runs yet. make run AGENT=")


@browsed
def test_12312_questions_are_usable_within_two_seconds(live, tmp_path, tab):
    write(tmp_path / "page", ["qwen_react"])
    path = tmp_path / "page/rows.js"
    listed = json.loads(path.read_text().removeprefix("var daybefore = ").removesuffix(";\n"))
    listed["rows"] = (listed["rows"] * 616)[: 1026 * 12]
    path.write_text(f"var daybefore = {json.dumps(listed)};\n")
    said = [f"{n} answer {'word ' * 400}" for n in range(len(listed["rows"]))]
    path.with_name("replies.js").write_text(viewer.pack("replies", said))
    times = []
    while (
        len(times) < 5 and min(times, default=9999) >= 2000
    ):  # a busy machine, or a browser's first start, may be slow
        tab.open(path.with_name("index.html").as_uri())
        tab.wait(READY)
        times.append(int(tab.run(READY)))
    assert tab.run(COUNT) == "12,312 of 12,312 questions"
    assert min(times) < 2000, times
    assert choose(tab, level="4").endswith("of 12,312 questions")
    choose(tab, level="", text="answer")
    tab.wait("document.querySelector('#searched').textContent.startsWith('Of each reply')")
    seconds = tab.run(
        "(() => { const started = performance.now(); table.draw(); return performance.now() - started })()"
    )
    assert seconds < 1000


def test_an_unknown_window_is_named():
    with pytest.raises(SystemExit, match="there is no window 'Z'; there are A, C1, C2, L"):
        run_command(["view", "--window", "Z"])


def test_questions_of_other_windows_are_no_loss(live, capsys):
    run_command(["view", "--window", "C1", "--json"])
    assert "left out" not in capsys.readouterr().err, "of window A nothing was asked for"
    with closing(open_store(locate_output(STORE))) as ledger:
        save_run(ledger, {"run_id": "strange-P-0123abcd", "agent_id": "strange", "category": "base_model"})
        key = {"run_id": "strange-P-0123abcd", "event_id": "P-1", "sample": 0}
        save_questions(ledger, [(key | {"status": "ok"}, key | {"agent_id": "strange", "status": "ok"}, [])])
    run_command(["view", "--json"])
    assert "left out: 1 question of window P, which WINDOW=P shows" in capsys.readouterr().err


def test_each_run_tells_its_moment_and_condition(live, capsys):
    run_command(["view", "--event", "A-1010-brent_band", "--agent", "strange"])
    told = capsys.readouterr().out
    assert f"== strange ({live}, sample 0, as of 2016-10-10T00:00:00+08:00, very very" in told


def test_where_nothing_is_found_the_page_stays(live, tmp_path):
    run_command(["view", "--agent", "strange", "--folder", str(tmp_path / "page")])
    before = (tmp_path / "page/rows.js").read_bytes()
    with pytest.raises(SystemExit, match="^daybefore view: no question meets these filters; the page is left as it wa"):
        run_command(["view", "--agent", "strange", "--text", "zzzz", "--folder", str(tmp_path / "page")])
    assert (tmp_path / "page/rows.js").read_bytes() == before
