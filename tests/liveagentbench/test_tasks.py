"""The task set: answers by a second path, files that come out the same, the program, scores."""

import json
import tomllib

import numpy as np
import pandas as pd
import pytest
from taskset import (
    SEED,
    build_files,
    build_taskset,
    collect_rows,
    compute_answer,
    list_parts,
    read_shown,
)

from daybefore.web.fetched_pages import GatewayError, Page
from daybefore.web.session import Web
from helpers.figures import use_style
from helpers.files import ROOT
from studies.liveagentbench import task_scores as study
from studies.liveagentbench.program_baseline import recite, solve_task
from studies.liveagentbench.read_files import Unread, extract_text, read_table
from studies.liveagentbench.task_answers import list_truths
from studies.liveagentbench.tasks import AS_OF, PORTAL, Portal, load_taskset, open_files


@pytest.fixture(scope="module")
def shown(sources):
    return read_shown(sources)


@pytest.fixture(scope="module")
def made():
    return load_taskset()


@pytest.fixture(scope="module")
def tasks():
    own = pd.read_csv(ROOT / "data/taskset/scenarios.csv").set_index("scenario")["source_id"]
    rows = pd.read_csv(ROOT / "data/taskset/tasks.csv", dtype=str, keep_default_na=False)
    rows["source"] = rows["scenario"].map(own)
    return {f"{row['scenario']}_{n % 4 + 1}": row for n, row in enumerate(rows.to_dict("records"))}


# --- the second path --------------------------------------------------------------------------------


def answer_again(task):
    """The answer once more, of the files in data, sharing no code with the set."""
    names = {part.rpartition("/")[0] or task["source"] for part in task["parts"].split("+")}
    entries = {}
    rows = []
    for name in sorted(names):
        entries[name] = tomllib.loads((ROOT / f"data/sources/{name}.toml").read_text())
        rows.append(pd.read_csv(ROOT / f"data/replay/{entries[name].get('rows') or name}.csv"))
    table = pd.concat(rows).set_index(["occurred_at", "entity"]).sort_index()
    variable = task["variables"].split()[0]
    first, _, last = task["at"].partition("..")
    values = table.loc[first : last or first, variable].dropna()
    wanted = task["of"].split(";")
    if len(names) == 1 or task["of"]:
        shown = task["of"] or task["shown"]
        values = values[values.index.isin(shown.split(";"), level=1)] if shown else values
    wide = values.unstack()
    ask = task["ask"]
    text = {
        "highest": lambda: values.idxmax()[1],
        "lowest": lambda: values.idxmin()[1],
        "rank": lambda: values.nlargest(int(task["arg"])).index[-1][1],
        "peak": lambda: values.idxmax()[0].replace("T", " "),
        "trough": lambda: values.idxmin()[0].replace("T", " "),
        "mover": lambda: (wide.iloc[-1] - wide.iloc[0]).idxmax(),
        "above": lambda: str((values > float(task["arg"])).sum()),
        "rises": lambda: str((wide.diff() > 0).to_numpy().sum()),
    }
    number = {
        "value": lambda: values.item(),
        "range": lambda: values.max() - values.min(),
        "total": values.sum,
        "change": lambda: values.iloc[-1] - values.iloc[0],
        "gap": lambda: wide[wanted[0]].item() - wide[wanted[1]].item(),
    }
    if ask in text:
        return text[ask]()
    places = (
        int(task["arg"])
        if ask == "mean"
        else entries[min(names)]["variables"][variable]["decimals"]
    )
    return f"{number.get(ask, getattr(values, ask, None))():.{places}f}"


def test_every_answer_is_what_a_second_path_finds(made, tasks):
    truth = list_truths(made[1])
    assert set(tasks) == set(made[0]["event_id"])
    assert truth.to_dict() == {name: answer_again(task) for name, task in tasks.items()}


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


@pytest.mark.parametrize(
    "ask, values, message", [("highest", [2, 2], "tied"), ("mean", [1, 2], "middle")]
)
def test_an_answer_that_is_tied_or_lies_between_two_roundings_is_refused(ask, values, message):
    rows = pd.DataFrame({"occurred_at": "2016-10-05", "entity": ["a", "b"], "value": values})
    with pytest.raises(ValueError, match=message):
        compute_answer({"task_id": "t", "ask": ask, "arg": "0", "of": ""}, rows, 0)


# --- files and pages --------------------------------------------------------------------------------


def test_the_committed_set_is_what_its_rows_and_tasks_make_whatever_style_is_set(
    made, sources, shown, tmp_path
):
    use_style()
    events, answers = build_taskset(sources, shown, np.random.default_rng(SEED))
    assert answers.equals(made[1])
    names = ["event_id", "prompt", "split", "attachments", "n_steps", "capabilities"]
    pd.testing.assert_frame_equal(events[names], made[0][names])
    build_files(events[2::8], sources, shown, tmp_path)  # some of each form
    files = sorted(tmp_path.iterdir())
    assert {path.suffix for path in files} == {".csv", ".html", ".pdf", ".png", ".gif"}
    with open_files(made[0]) as places:
        kept = {place.name: place for own in places.values() for place in own if place != PORTAL}
        for path in files:
            old = kept[path.name]
            if path.suffix in (".png", ".gif"):
                assert old.read_bytes() == path.read_bytes(), path.name
            else:
                assert extract_text([old]) == extract_text([path]), path.name


# --- the program ------------------------------------------------------------------------------------


def test_a_page_behind_menus_is_read_as_of_its_moment_and_a_site_that_is_down_fails_the_task(
    made, sources
):
    small = {name: sources[name] for name in ("oil_wti", "seattle_pets_species", "geomagnetic")}
    event = made[0].set_index("event_id").loc["crude_2"].to_dict()
    truth = list_truths(made[1])["crude_2"]
    fetch = Web(Portal(small)).fetch
    assert solve_task(event, [PORTAL], fetch) == ("ok", f"Answer: {truth}", None)
    assert solve_task(event, [PORTAL], fetch, recite)[1].startswith("WTI; 46.28; ")
    with pytest.raises(GatewayError):
        fetch(small["oil_wti"].address, "2016-09-01T00:00:00+08:00")

    def lose(address, as_of):
        if "directory" in address:
            return fetch(address, as_of)
        raise GatewayError(503, f"{address}: the site answered 503")

    status, reply, reason = solve_task(event, [PORTAL], lose)
    assert (status, reply) == ("failed", None) and "503" in reason


@pytest.mark.parametrize("form", ["csv", "html", "pdf"])
def test_an_unreadable_file_is_a_task_that_did_not_execute(tmp_path, form):
    path = tmp_path / f"a.{form}"
    path.write_bytes(b"\x00\xffUNREADABLE\xff\x00" * 40)
    event = {"capabilities": '["text_file"]', "prompt": "What?", "as_of": AS_OF}
    status, _, reason = solve_task(event, [path], None)
    assert status == "failed" and f"the {form} cannot be read" in reason
    with pytest.raises(Unread):
        extract_text([path])


@pytest.mark.parametrize("text", ["<table class='menu'><tr><td>" * 90, ""])
def test_a_page_beyond_the_limits_is_a_task_that_did_not_execute(text):
    event = {"capabilities": '["browser"]', "prompt": "What?", "as_of": AS_OF}
    page = Page("p1", PORTAL, AS_OF, "text/html", text)
    status, _, reason = solve_task(event, [PORTAL], lambda address, as_of: page)
    assert status == "failed" and "the menu cannot be read" in reason
    with pytest.raises(Unread, match="the html cannot be read"):
        read_table(text.encode(), "html")


TABLE = """Date,State,Lead,Share
2016-10-05,Ohio,1.5,40
2016-10-06,Ohio,-2.5,41
2016-10-05,Iowa,3.0,1042
2016-10-06,Iowa,0.5,1043"""


# --- scores -----------------------------------------------------------------------------------------


def test_lacking_counts_as_wrong_even_where_the_guess_is_right_and_denominators_stay():
    takes = [["text_file"], ["image"], ["text_file", "image"]]
    events = pd.DataFrame({"event_id": list("abc"), "capabilities": map(json.dumps, takes)})
    events["scenario_group"] = ["work_study", "work_study", "daily_life"]
    answers = pd.DataFrame({"event_id": list("abc"), "value": ["5", "6", "7"]})
    runs = pd.DataFrame({"agent": "s", "event_id": list("abc"), "reply": ["5 points", "6", None]})
    runs["status"] = ["ok", "lacking", "failed"]
    scored = study.score_runs(runs, answers)
    assert scored["score"].tolist() == [1, 0, 0] and scored["strict"].tolist() == [0, 0, 0]
    assert scored["is_match"].tolist() == [True, True, False]
    table = study.tabulate_scores(scored, events).set_index("column")
    assert table.loc["overall", ["n", "right"]].tolist() == [3, 1]
    assert table.loc["text_file", ["size", "n", "right"]].tolist() == [2, 2, 1]
    assert table.loc["image", "share"] == 0
    assert table[["low", "high"]].isna().all(axis=None), "too few sources"
    failed = study.tabulate_scores(scored, events, "failed").set_index("column")
    assert failed.loc["overall", ["right", "n"]].tolist() == [1, 3]
