"""The task set: answers by a second path (the csv module and plain Python), files that come out the
same, scores."""

import base64
import csv
import json
import tomllib
from collections import defaultdict
from functools import cache

import numpy as np
import pandas as pd
import pytest
from builders import needs_sandbox
from lxml import html
from taskset import (
    SEED,
    build_files,
    build_taskset,
    collect_rows,
    compute_answer,
    list_parts,
    read_shown,
)

from daybefore.models.judges import Verdict, build_consult
from daybefore.web.pages import GatewayError, Page
from daybefore.web.session import Web
from helpers.figures import use_style
from helpers.files import ROOT
from helpers.matching import match_answer
from studies.liveagentbench import runs as running
from studies.liveagentbench import scores as study
from studies.liveagentbench import workflow
from studies.liveagentbench.asks import list_truths
from studies.liveagentbench.program import answer_question, recite, solve_task
from studies.liveagentbench.readers import Unread, extract_text, melt_grid, read_table
from studies.liveagentbench.tasks import AS_OF, PORTAL, Portal, load_taskset, open_files


@pytest.fixture(scope="module")
def shown(sources):
    return read_shown(sources)


@pytest.fixture(scope="module")
def made():
    return load_taskset()


@pytest.fixture(scope="module")
def tasks():
    with open(ROOT / "data/taskset/scenarios.csv", encoding="utf-8") as file:
        own = {row["scenario"]: row["source_id"] for row in csv.DictReader(file)}
    with open(ROOT / "data/taskset/tasks.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        f"{row['scenario']}_{n % 4 + 1}": row | {"source": own[row["scenario"]]}
        for n, row in enumerate(rows)
    }


# --- the second path --------------------------------------------------------------------------------


@cache
def read_plainly(source_id):
    entry = tomllib.loads((ROOT / f"data/sources/{source_id}.toml").read_text())
    with open(ROOT / f"data/replay/{entry.get('rows') or source_id}.csv", encoding="utf-8") as file:
        return entry, list(csv.DictReader(file))


def answer_plainly(task):
    """The answer once more, from data/replay by the csv module and plain Python, sharing no code
    with the set."""
    names = [
        part.split("/")[0] if "/" in part else task["source"] for part in task["parts"].split("+")
    ]
    variable, wanted = (
        task["variables"].split()[0],
        [name for name in task["of"].split(";") if name],
    )
    first, _, last = task["at"].partition("..")
    limits = [name for name in task["shown"].split(";") if name] if len(set(names)) == 1 else []
    values = defaultdict(dict)
    for name in sorted(set(names)):
        for row in read_plainly(name)[1]:
            is_in = first <= row["occurred_at"] <= (last or first)
            is_in = (
                is_in
                and (not wanted or row["entity"] in wanted)
                and (not limits or row["entity"] in limits)
            )
            if is_in:
                values[row["entity"]][row["occurred_at"]] = float(row[variable])
    spec = read_plainly(names[0])[0]["variables"][variable]
    flat = [
        (value, entity, date) for entity, series in values.items() for date, value in series.items()
    ]
    ask, numbers = task["ask"], [value for value, _, _ in flat]
    series = [value for _, value in sorted(next(iter(values.values())).items())]
    if ask in ("highest", "lowest", "rank"):
        ordered = sorted(flat, reverse=ask != "lowest")
        return ordered[int(task["arg"] or 1) - 1][1]
    if ask in ("peak", "trough"):
        return (max if ask == "peak" else min)(flat)[2].replace("T", " ")
    if ask == "mover":
        return max(values, key=lambda entity: values[entity][last] - values[entity][first])
    if ask in ("above", "rises"):
        pairs = zip(series, series[1:], strict=False)
        return str(
            sum(n > float(task["arg"]) for n in numbers)
            if ask == "above"
            else sum(b > a for a, b in pairs)
        )
    number = {
        "value": lambda: numbers[0],
        "max": lambda: max(numbers),
        "min": lambda: min(numbers),
        "range": lambda: max(numbers) - min(numbers),
        "total": lambda: sum(numbers),
        "mean": lambda: sum(numbers) / len(numbers),
        "change": lambda: series[-1] - series[0],
        "gap": lambda: values[wanted[0]][first] - values[wanted[1]][first],
    }[ask]()
    return f"{number:.{int(task['arg']) if ask == 'mean' else spec['decimals']}f}"


def test_every_answer_is_what_a_second_path_finds(made, tasks):
    events, answers = made
    truth = list_truths(answers)
    assert set(tasks) == set(events["event_id"])
    assert {name: truth[name] for name in tasks} == {
        name: answer_plainly(task) for name, task in tasks.items()
    }


@pytest.mark.parametrize(
    "change, message",
    [
        ({"at": "2016-10-26"}, "no row"),  # published after the moment of the task
        ({"ask": "highest", "of": "", "at": "2016-10-03..2016-10-04"}, "one moment"),
        ({"parts": "papyrus"}, "no form"),
    ],
)
def test_a_wrong_task_is_refused(shown, tasks, change, message):
    task = tasks["expense_claim_1"] | {"task_id": "t"} | change
    with pytest.raises(ValueError, match=message):
        compute_answer(task, collect_rows(task, list_parts(task, task["source"]), shown), 5)


def test_answers_that_are_tied_or_lie_between_two_roundings_are_refused():
    rows = pd.DataFrame({"occurred_at": "2016-10-05", "entity": ["a", "b"], "value": [2.0, 2.0]})
    task = {"task_id": "t", "ask": "highest", "arg": "", "of": ""}
    with pytest.raises(ValueError, match="tied"):
        compute_answer(task, rows, 0)
    with pytest.raises(ValueError, match="middle"):
        compute_answer(task | {"ask": "mean", "arg": "0"}, rows.assign(value=[1.0, 2.0]), 0)


# --- files and pages --------------------------------------------------------------------------------


def test_the_committed_set_is_what_its_rows_and_tasks_make_whatever_style_is_set(
    made, sources, shown, tmp_path
):
    use_style()
    events, answers = build_taskset(sources, shown, np.random.default_rng(SEED))
    assert answers.equals(made[1]) and events["event_id"].tolist() == made[0]["event_id"].tolist()
    for name in ("prompt", "split", "attachments", "n_steps", "capabilities"):
        assert events[name].tolist() == made[0][name].tolist()
    build_files(events, sources, shown, tmp_path)
    with open_files(made[0]) as kept:
        for old in [
            place for places in kept.values() for place in places if not isinstance(place, str)
        ]:
            own = tmp_path / old.name
            if old.suffix in (".png", ".gif"):
                assert old.read_bytes() == own.read_bytes(), old.name
            elif old.suffix == ".mp3":  # what espeak-ng said; it is no part of this environment
                assert old.read_bytes()[0] == 0xFF, old.name
            else:
                assert extract_text([old]) == extract_text([own]), old.name


def test_every_source_is_two_menus_away(sources):
    menus = Portal(sources).menus
    links = {link for page in menus for link in html.fromstring(menus[page]).xpath("//a/@href")}
    assert links == (set(menus) - {PORTAL}) | {source.address for source in sources.values()}


# --- the program ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(sources):
    return {name: sources[name] for name in ("oil_wti", "seattle_pets_species", "geomagnetic")}


def test_a_page_behind_menus_is_found_and_read_and_a_site_that_is_down_fails_the_task(made, small):
    event, truth = (
        made[0].set_index("event_id").loc["crude_2"].to_dict(),
        list_truths(made[1])["crude_2"],
    )
    fetch = Web(Portal(small)).fetch
    assert solve_task(event, [PORTAL], fetch) == ("ok", f"Answer: {truth}", None)
    assert solve_task(event, [PORTAL], fetch, recite)[1].startswith("WTI; 46.28; ")

    def lose(address, as_of):
        if "directory" in address:
            return fetch(address, as_of)
        raise GatewayError(503, f"{address}: the site answered 503")

    status, reply, reason = solve_task(event, [PORTAL], lose)
    assert (status, reply) == ("failed", None) and "503" in reason


def test_nothing_later_than_the_moment_is_read(small):
    with pytest.raises(GatewayError):
        Web(Portal(small)).fetch(small["oil_wti"].address, "2016-09-01T00:00:00+08:00")


@pytest.mark.parametrize("form", ["csv", "html", "pdf"])
def test_an_unreadable_file_is_a_task_that_did_not_execute(tmp_path, form):
    path = tmp_path / f"a.{form}"
    path.write_bytes(b"\x00\xffUNREADABLE\xff\x00" * 40)
    event = {"capabilities": '["text_file"]', "prompt": "What?", "as_of": AS_OF}
    status, _, reason = solve_task(event, [path], None)
    assert status == "failed" and f"the {form} cannot be read" in reason
    with pytest.raises(Unread):
        extract_text([path])
    with pytest.raises(Unread, match="the csv cannot be read"):
        read_table(b"Name\nOhio\nIowa\n", "csv")  # a sheet of one column holds no values


@pytest.mark.parametrize("text", ["<table class='menu'><tr><td>" * 90, ""])
def test_a_page_beyond_the_limits_is_a_task_that_did_not_execute(text):
    event = {"capabilities": '["browser"]', "prompt": "What?", "as_of": AS_OF}
    page = Page("p1", PORTAL, AS_OF, "text/html", text)
    status, _, reason = solve_task(event, [PORTAL], lambda address, as_of: page)
    assert status == "failed" and "the menu cannot be read" in reason
    with pytest.raises(Unread, match="the html cannot be read"):
        read_table(text.encode(), "html")


TABLE = [
    ["Date", "State", "Lead", "Share"],
    ["2016-10-05", "Ohio", "1.5", "40"],
    ["2016-10-06", "Ohio", "-2.5", "41"],
]
TABLE += [["2016-10-05", "Iowa", "3.0", "1,042"], ["2016-10-06", "Iowa", "0.5", "1,043"]]


@pytest.mark.parametrize(
    "question, answer",
    [
        ("What was the lead in Iowa on 2016-10-06?", "0.5"),
        ("What was the share in Iowa on 6 October 2016?", "1043"),
        ("Which state had the highest lead on 2016-10-05?", "Iowa"),
        ("By how much did the lead in Ohio change?", "-4.0"),
        ("On which day was the lead in Ohio lowest?", "2016-10-06"),
        ("How many more points of lead than Ohio did Iowa have on 2016-10-05?", "1.5"),
        ("What was the mean lead in Ohio, to 2 decimals?", "-0.50"),
        ("On how many days was the lead in Iowa above 1?", "1"),
        ("What was the lead on Mars on 2016-11-01?", None),
    ],
)
def test_a_question_is_read_by_keywords(question, answer):
    assert answer_question(question, melt_grid(TABLE)) == (answer and f"Answer: {answer}")


# --- scores -----------------------------------------------------------------------------------------


def make_events():
    rows = [
        ("a", "work_study", ["text_file"]),
        ("b", "work_study", ["image"]),
        ("c", "daily_life", ["text_file", "image"]),
    ]
    about = ("event_id", "scenario_group", "capabilities", "prompt")
    return pd.DataFrame([(n, g, json.dumps(c), n) for n, g, c in rows], columns=about)


def make_runs(rows):
    return pd.DataFrame(rows, columns=["agent", "event_id", "status", "reply"]).assign(reason=None)


ANSWERS = pd.DataFrame({"event_id": ["a", "b", "c"], "value": ["5", "6", "7"]})


def test_lacking_counts_as_wrong_even_where_the_guess_is_right_and_denominators_stay():
    runs = make_runs(
        [("s", "a", "ok", "5 points"), ("s", "b", "lacking", "6"), ("s", "c", "failed", None)]
    )
    scored = study.score_runs(runs, ANSWERS)
    assert scored["score"].tolist() == [1, 0, 0] and scored["is_match"].tolist() == [
        True,
        True,
        False,
    ]
    assert scored["strict"].tolist() == [0, 0, 0]
    table = study.tabulate_scores(scored, make_events()).set_index("column")
    assert table.loc["overall", ["n", "right"]].tolist() == [3, 1]
    assert table.loc["text_file", ["size", "n", "right"]].tolist() == [2, 2, 1]
    assert table.loc["image", "share"] == 0 and table[["low", "high"]].isna().all(
        axis=None
    )  # too few sources
    failed = study.tabulate_scores(scored, make_events(), "failed").set_index("column")
    assert failed.loc["overall", ["right", "n"]].tolist() == [1, 3]


def test_a_model_is_given_the_whole_text_and_works_on_each_task_again_with_its_tools(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("Date,State,Lead\n" + 200 * "2016-10-05,Ohio,5\n" + "2016-10-05,Iowa,7\n")
    asked = []

    def consult(prompt, schema, repeat=0):
        if schema is running.TURN:
            return (
                Verdict("ok", {"action": "answer", "input": "57"[repeat]})
                if repeat < 2
                else Verdict("missing")
            )
        asked.append(prompt)
        return Verdict("ok", {"answer": "5"})

    lost = [tmp_path / "b.png"]
    given = make_events().assign(as_of=AS_OF), {"a": [path], "b": lost, "c": lost}, None, {}
    scored = study.score_runs(running.run_model(consult, *given, 2), ANSWERS).set_index(
        ["agent", "event_id", "repeat"]
    )
    assert len(asked) == 1 and "Iowa,7" in asked[0]
    assert scored.loc[(running.WITH_TEXT, "a", 0), "score"] == 1
    assert scored.loc[(running.WITH_TEXT, "b", 0), "status"] == "lacking"
    repeats = scored.sort_index().loc[(running.WITH_TOOLS, "a")]
    assert repeats["status"].tolist() == ["ok", "ok", "missing"] and repeats["score"].tolist()[
        :2
    ] == [1, 0]


@pytest.mark.parametrize(
    "content",
    [
        '{"answer": "5"}',
        "5",
        "It rose to\n\nAnswer: 5 points",
        'So:\n```json\n{"answer": "5"}\n```',
    ],
)
def test_a_right_answer_counts_whatever_form_a_server_leaves_it_in(
    knock, provider, tmp_path, content
):
    (tmp_path / "a.csv").write_text("Date,State,Lead\n2016-10-05,Ohio,5\n")
    provider.answer = lambda asked: {"content": content}
    consult = build_consult(knock(), "openai/mock-1", False)
    event = make_events().iloc[0].to_dict()
    made = running.ask_with_text(consult, event, [tmp_path / "a.csv"])
    runs = make_runs([("model", "a", *made[:2])])
    assert study.score_runs(runs, ANSWERS)["score"].tolist() == [1]
    status, reply = workflow.ask_answer(consult, "spdg_alone", question="How many?")
    assert match_answer(reply, "5")["is_match"] and status in workflow.ANSWERED


def test_a_task_without_files_speaks_of_no_file():
    asked = []

    def consult(prompt, schema):
        asked.append(prompt)
        return Verdict("ok", {"answer": "5"})

    event = {"prompt": "How many?", "capabilities": "[]"}
    assert running.ask_with_text(consult, event, [])[:2] == ("ok", "5")
    assert "How many?" in asked[0] and "file" not in asked[0].lower()


def play(turns, prompts):
    """Return a consult that takes some turns, and then answers 42."""

    def consult(prompt, schema, repeat=0):
        prompts.append(prompt)
        action, given = turns[len(prompts) - 1] if len(prompts) <= len(turns) else ("answer", "42")
        return Verdict("ok", {"action": action, "input": given})

    return consult


def test_a_model_with_tools_sees_pages_and_files_and_what_it_cannot_do(small, made, tmp_path):
    path, prompts = tmp_path / "a.csv", []
    path.write_text("Date,State,Lead\n2016-10-05,Ohio,5\n")
    event, fetch = (
        made[0].set_index("event_id", drop=False).loc["crude_2"],
        Web(Portal(small)).fetch,
    )
    turns = [
        ("page", PORTAL),
        ("page", small["oil_wti"].address),
        ("file", "a.csv"),
        ("file", "b.csv"),
    ]
    turns += [("page", "http://nowhere.replay/")]
    assert running.work_by_turns(play(turns, prompts), event, [path, PORTAL], fetch, {}) == (
        "ok",
        "42",
        None,
    )
    assert "12 are left" in prompts[0] and "7 are left" in prompts[5] and "a.csv" in prompts[0]
    assert (
        "Business: http://directory.replay/business" in prompts[1]
        and "2016-10-03,WTI,48.80" in prompts[2]
    )
    assert "2016-10-05,Ohio,5" in prompts[3] and "It was not done: KeyError" in prompts[4]
    assert "no page" in prompts[5] and prompts[5].count("It was not done") == 2
    endless = running.work_by_turns(play([("file", "a.csv")] * 99, []), event, [path], fetch, {})
    assert endless == ("ok", None, "no answer in 12 turns")
    assert running.work_by_turns(None, event, [tmp_path / "b.png"], fetch, {})[0] == "lacking"


@pytest.mark.parametrize("takes, status", [(("image",), "ok"), (("audio",), "lacking")])
def test_a_task_with_a_chart_is_put_to_a_model_that_takes_pictures(
    made, knock, provider, takes, status
):
    provider.answer = lambda asked: {"content": '{"action": "answer", "input": "2016-10-03"}'}
    event = made[0].set_index("event_id", drop=False).loc["crude_4"]
    consult = build_consult(knock(takes=takes), "openai/mock-1", False)
    with open_files(made[0]) as places:
        came = running.work_by_turns(consult, event, places["crude_4"], None, {})
        chart = places["crude_4"][0].read_bytes()
    assert came == (
        status,
        *{"ok": ("2016-10-03", None), "lacking": (None, "the model takes no image")}[status],
    )
    for asked in provider.asked:
        words, picture = asked["messages"][0]["content"]
        assert "Files: crude_4_1.png (attached)" in words["text"]
        assert (
            base64.b64decode(picture["image_url"]["url"].removeprefix("data:image/png;base64,"))
            == chart
        )
    assert len(provider.asked) == (status == "ok")


def test_scripts_run_in_the_sandbox_on_the_files_alone(made, tmp_path):
    needs_sandbox()
    path, prompts = tmp_path / "a.csv", []
    path.write_text("Date,State,Lead\n2016-10-05,Ohio,5\n")
    turns = [
        ("shell", "cd /evidence; ls; wc -l < a.csv; touch b; echo x > /workdir/note"),
        ("shell", "cat note"),
    ]
    event, shells = made[0].set_index("event_id", drop=False).loc["crude_2"], {}
    assert running.work_by_turns(play(turns, prompts), event, [path], None, shells)[1] == "42"
    assert (
        "a.csv\n2\n" in prompts[1]
        and "Read-only file system" in prompts[1]
        and prompts[2].endswith("cat note\nx\n")
    )


def test_a_script_that_is_run_again_is_run_again(made, tmp_path):
    needs_sandbox()
    turns, prompts, shells = [("shell", "echo on >> log; wc -l < log")] * 3, [], {}
    event = made[0].set_index("event_id", drop=False).loc["crude_2"]
    running.work_by_turns(play(turns, prompts), event, [], None, shells)
    assert [shown for shown in shells.values()] == ["1", "2", "3"]
    shells.popitem()  # broken off before the third: a new sandbox does the first two before it
    running.work_by_turns(play(turns, []), event, [], None, shells)
    assert list(shells.values()) == ["1", "2", "3"]
