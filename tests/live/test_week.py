"""`daybefore week` on the simulated internet: two weeks from fetch to score, and what is refused."""

import json
import re
from contextlib import contextmanager
from pathlib import Path

import httpx
import huggingface_hub
import pandas as pd
import pytest
from builders import scan, write_lines
from internet import open_internet
from sites import Hub, write_parquet
from weeks import KINDS, make_model, make_week, write_agents

from daybefore.commands.main import main
from daybefore.live.week_questions import ANSWERS, DATASET, fetch_rows
from daybefore.scoring.run_scores import load_scores

ROOT = Path(__file__).parents[2]
NOW = "2026-03-04T10:00:00+08:00"


def read_submission(folder):
    [path] = folder.glob("org-daybefore-agent-*-model-*.json")
    rows = json.loads(path.read_text("utf-8"))
    lines = path.with_suffix(".jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == rows
    assert all(list(row) == ["id", "prediction"] for row in rows)
    return {row["id"]: row["prediction"] for row in rows}


@pytest.fixture
def call(model, tmp_path, monkeypatch, capsys):
    """A function that calls `daybefore week` in a folder with the agent `my_model`; returns what it
    printed."""

    def run(*arguments):
        try:
            main(["week", *arguments])
        finally:
            run.told = "".join(capsys.readouterr())
        return run.told

    run.model, run.folder, run.weeks = model, tmp_path, tmp_path / "out/data/weeks"
    return run


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A function that opens an internet with a hub alone; its client is a new one."""

    @contextmanager
    def open_hub(site):
        huggingface_hub.close_session()
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        with open_internet(tmp_path, {"huggingface.co": site}, patch=monkeypatch) as web:
            yield web
        huggingface_hub.close_session()

    return open_hub


def test_a_week_from_fetch_to_score(call, hub, monkeypatch):
    rows, said, expected = make_week("a", n=len(KINDS))
    call.model.answer = make_model(said)
    truths = [{"id": key, "ground_truth": one[1], "prompt": ""} for key, one in expected.items()]
    site, place = Hub(), "data/train-00000-of-00001.parquet"
    message = "Events for 2026-03-04-To-2026-03-08 are ready"
    site.publish(DATASET, {place: write_parquet(rows)}, "2026-03-03T02:00Z", message)
    site.publish(ANSWERS, {place: write_parquet(truths)}, "2026-03-10T02:00Z")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-mine")
    with hub(site) as web:
        web.now = pd.Timestamp("2026-03-04T02:00Z")
        with pytest.raises(SystemExit) as ending:
            call("--agent", "my_model", "--now", NOW, "--ceiling", "0.002")
        assert ending.value.code == 3 and 0 < len(call.model.asked) < len(rows)
        told = call("--agent", "my_model", "--now", "2026-03-04T12:00:00+08:00", "--ceiling", "5")
        assert len(call.model.asked) == len(rows), "nothing is asked, or paid, twice"
        [folder] = call.weeks.iterdir()
        commit = site.commits[DATASET][0][0]
        assert folder.name == commit[:12] and f"commit {commit}" in told
        assert read_submission(folder) == {key: one[0] for key, one in expected.items()}
        assert "subject: FutureX Challenge Submission — [my_model][2026-03-04]" in told
        assert "wanted by 2026-03-05 00:00 UTC+8" in told and "nothing was sent" in told
        silent = [key for key, one in expected.items() if not one[0]]
        assert f"no answer: {len(silent)}: {silent[0]} (" in told
        (turn,) = json.loads((folder / "week.json").read_text("utf-8"))["rounds"]
        assert turn == {"as_of": NOW, "is_complete": True}
        web.now += pd.Timedelta(days=8)
        told = call("--settle", "past")
        scores = pd.read_csv(folder / "scores.csv").set_index("event_id")["score_imputed"]
        assert scores.to_dict() == pytest.approx({key: one[2] for key, one in expected.items()})
        assert "rules: futurex_code\n" in told and "not settled yet: none" in told
        assert web.refused == {}
    assert not scan(call.folder / "out", "sk-secret-of-mine")


def test_each_agent_of_a_week_is_settled_beside_the_weeks_board(call):
    write_agents(call.folder, call.model.address, "my_model", "other")
    rows, said, expected = make_week("a", n=18)
    write_lines(call.folder / "week.jsonl", *rows)
    call.model.answer = make_model(said)
    agents = ("--agent", "my_model", "--agent", "other")
    call(*agents, "--questions", "week.jsonl", "--now", NOW)
    truths = [{"id": key, "answer": one[1]} for key, one in expected.items()]
    pd.DataFrame(truths).to_csv(call.folder / "answers.csv", index=False)
    weeks = {"2026-03-W1": 99.5, "2026-02-W4": 12, "2026-04-W1": 34}
    board = {week: [{"modelName": week, "overallScore": best}] for week, best in weeks.items()}
    (call.folder / "board.json").write_text(json.dumps({"weekly": board}))
    told = call("--settle", "answers.csv", "--board", "board.json")
    assert re.findall(r"^(my_model|other)$", told, re.MULTILINE) == ["my_model", "other"]
    assert told.count("of 2; best: 2026-03-W1 0.995") == 2
    assert len(list(call.weeks.glob("*/*/scores.csv"))) == 2
    [folder] = call.weeks.glob("*/other")
    assert "my_model\n" not in call("--settle", "answers.csv", "--out", str(folder))


# --- in this process, on files of one's own ---------------------------------------------------------


@pytest.fixture
def ask(call):
    """A function that asks the mock model a file of questions by `daybefore week`."""

    def run(*arguments, now=None):
        more = ["--agent", "my_model", "--questions", "week.jsonl", "--now", now] if now else []
        return call(*more, *arguments)

    run.model, run.folder = call.model, call.folder
    return run


def test_a_later_day_asks_again_and_revises_only_on_a_material_change(ask):
    rows, said, _ = make_week("a", n=18)
    write_lines(ask.folder / "week.jsonl", *rows)
    ask.model.answer = make_model(said)
    ask("--out", "week", now="2026-03-03T20:00:00+08:00")
    before = read_submission(ask.folder / "week")
    ask("--out", "week", now="2026-03-03T23:00:00+08:00")
    assert len(ask.model.asked) == 18  # the same day
    said |= {"a003": "\\boxed{D}", "a017": "\\boxed{Ada Berg}"}
    told = ask("--out", "week", now="2026-03-04T20:00:00+08:00")
    after, ids = read_submission(ask.folder / "week"), list(before)
    assert len(ask.model.asked) == 36
    assert {key: after[key] for key in ids if after[key] != before[key]} == {ids[17]: "Ada Berg"}
    assert f"{ids[17]} (none): revised: it had no answer" in told
    assert f"{ids[3]} (A, C): kept: D is of unknown confidence and rests on no new page" in told


def test_votes_of_five_samples_and_a_file_of_ones_own(ask):
    bridge = {"id": "-q1", "prompt": "Will the bridge open?", "options": ["Yes", "No"]}
    queue = {"id": "q2", "prompt": "Length of the queue", "kind": "number", "unit": "m"}
    write_lines(ask.folder / "week.jsonl", bridge, queue | {"end_time": "2026-03-01"})
    boxes = iter(["A", "B", "A", "A", "B"])
    ask.model.answer = lambda asked: {
        "content": f"\\boxed{{{next(boxes) if 'bridge' in str(asked) else 12.5}}}"
    }
    told = ask("--samples", "5", "--out", "own", "--at-once", "1", now=NOW)
    assert read_submission(ask.folder / "own") == {"-q1": "A", "q2": "12.5 m"}
    assert "late, their window had ended: 1: q2" in told and "subject" not in told
    standing = json.loads((ask.folder / "own/week.json").read_text())["standing"]
    assert standing["-q1"]["probability"] == 0.6


@pytest.mark.parametrize(
    ("answers", "rule", "scores", "told"),
    [
        ("q1,Yes,\nq2,12,2", "paper", [1, 1 - 0.25**2], "numbers scored: 1 of 1"),
        ("q1,Yes,\nq2,12,2", "code", [1, 1 - (0.5 / 0.6) ** 2], "numbers scored: 1 of 1"),
        ("q1,Yes,\nq2,12,", "paper", [1], "futurex_paper needs a number's spread"),
    ],
)
def test_ones_own_questions_are_settled_by_either_rule(ask, answers, rule, scores, told):
    bridge = {"id": "q1", "prompt": "Will the bridge open?", "options": ["Yes", "No"]}
    queue = {"id": "q2", "prompt": "Length of the queue", "kind": "number", "unit": "m"}
    write_lines(ask.folder / "week.jsonl", bridge, queue)
    ask.model.answer = lambda asked: {
        "content": f"\\boxed{{{'A' if 'bridge' in str(asked) else 12.5}}}"
    }
    ask("--out", "own", now=NOW)
    (ask.folder / "answers.csv").write_text(f"id,answer,spread\n{answers}\n")
    rules = ("--rule", "futurex_code") if rule == "code" else ()
    said = ask("--settle", "answers.csv", "--out", "own", *rules)
    assert f"rules: futurex_{rule}\n" in said and told in said
    found = pd.read_csv(ask.folder / "own/scores.csv")["score_imputed"]
    assert found.tolist() == pytest.approx(scores)


def test_questions_of_ones_own_are_asked_as_the_page_says(ask):
    page = (ROOT / "docs/live.md").read_text("utf-8")
    (ask.folder / "week.jsonl").write_text(
        re.search(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1]
    )
    ask.model.answer = lambda asked: {
        "content": "\\boxed{Yes}" if "ferry" in str(asked) else "\\boxed{40}"
    }
    ask("--out", "mine", now="2030-03-01T10:00:00+08:00")
    assert read_submission(ask.folder / "mine") == {"ferry": "A", "queue": "40 people"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--agent", "nobody"], "no agent is called 'nobody'"),
        (["--agent", "arima"], "arima reads a source's page, and these questions have none"),
        ([], "a week is asked of an agent: AGENT=name"),
        (["--agent", "my_model", "--questions", "none.csv"], "there is no file none.csv"),
        (["--settle", "answers.csv"], "holds no week that was asked"),
        (["--agent", "my_model", "--from", "kalshi", "--limit", "501"], "at most 500 questions"),
        (["--agent", "my_model", "--from", "kalshi", "--questions", "a.csv"], "give one of them"),
    ],
)
def test_a_wrong_setting_is_told_and_nothing_is_asked(ask, arguments, said):
    write_lines(ask.folder / "week.jsonl", *make_week("a", n=3)[0])
    more = (
        []
        if {"--questions", "--settle", "--from"} & set(arguments)
        else ["--questions", "week.jsonl"]
    )
    with pytest.raises(SystemExit) as ending:
        ask(*arguments, *more)
    assert said in str(ending.value) and not ask.model.asked


def test_many_paid_questions_want_a_yes_a_ceiling_or_a_limit(ask, monkeypatch):
    monkeypatch.setattr("daybefore.commands.preflight.MANY_PAID", 2)
    ask.model.answer = lambda asked: {"content": "\\boxed{A}"}
    for n, asking in enumerate((["--yes"], ["--ceiling", "1"])):
        write_lines(ask.folder / "week.jsonl", *make_week("ab"[n], n=3)[0])
        with pytest.raises(SystemExit, match="say how many .*; nothing was asked"):
            ask("--out", str(n), now=NOW)
        assert len(ask.model.asked) == 3 * n
        ask("--out", str(n), *asking, now=NOW)
    with pytest.raises(SystemExit, match="say how many .*; nothing was asked"):
        main(["run", "--agent", "my_model", "--ceiling", "9"])
    main(["run", "--agent", "my_model", "--limit", "3"])
    assert len(ask.model.asked) == 9


def test_a_judge_looks_at_texts_that_were_not_matched(ask):
    rows = [
        {"id": name, "prompt": f"Who will win {name}?", "kind": "text", "level": 3}
        for name in ("q1", "q2", "q3")
    ]
    write_lines(ask.folder / "week.jsonl", *rows)
    ask.model.answer = lambda asked: {"content": "\\boxed{The Fed}"}
    ask("--out", "own", now="2026-03-04T10:00:00+08:00")
    (ask.folder / "answers.csv").write_text(
        "id,answer\nq1,Federal Reserve\nq2,The Fed\nq3,Bank of Japan\n"
    )
    ask.model.answer = lambda asked: {
        "content": json.dumps({"same": "Federal Reserve" in str(asked["messages"])})
    }
    told = ask("--settle", "answers.csv", "--out", "own", "--judge", "my_model")
    scores = pd.read_csv(ask.folder / "own/scores.csv").set_index("event_id")
    assert scores["score_imputed"].to_dict() == {"q1": 0.0, "q2": 1.0, "q3": 0.0}
    assert scores["judged"].to_dict() == {"q1": 1.0, "q2": 1.0, "q3": 0.0}
    assert "judged" in told and len(ask.model.asked) == 3 + 2  # what matched is not judged


def test_a_function_and_an_agent_that_searches_articles_are_asked(ask, monkeypatch):
    (ask.folder / "mine_week.py").write_text(
        "def say(event, world):\n    return 'B' if event['options'] else None\n"
    )
    more = 'method = "search_prompt"\n\n[half]\nagent = "mine_week:say"\n'
    write_agents(ask.folder, ask.model.address, more=more)
    write_lines(ask.folder / "week.jsonl", *make_week("a", n=3)[0])
    monkeypatch.syspath_prepend(str(ask.folder))
    now = "2026-03-04T10:00:00+08:00"
    (ask.folder / "press").mkdir()
    article = {
        "id": "1",
        "title": "Harbour",
        "text": "Ice grows in the harbour.",
        "published": "2026-03-03T08:00:00Z",
    }
    later = article | {"id": "2", "title": "Later harbour", "published": "2026-03-05T08:00:00Z"}
    write_lines(ask.folder / "press/a.jsonl", article, later)
    told = ask("--out", "both", "--agent", "half", "--articles", "press", now=now)
    assert "2 dated articles" in told
    assert list(read_submission(ask.folder / "both/half").values()) == ["No", "Drifters", "B"]
    shown = json.dumps([asked["messages"] for asked in ask.model.asked])
    assert "Ice grows" in shown and "Later harbour" not in shown


def test_another_agents_folder_and_a_mistyped_file_are_told(ask):
    write_lines(ask.folder / "week.jsonl", *make_week("a", n=3)[0])
    write_agents(ask.folder, ask.model.address, "my_model", "other")
    ask("--out", "week", now=NOW)
    other = ("--questions", "week.jsonl", "--agent", "other", "--now", NOW)
    with pytest.raises(SystemExit, match="holds my_model's answers .*; name another folder"):
        ask("--out", "week", *other)
    (ask.folder / "answers.csv").touch()
    for given, near in {"answer.csv": "answers.csv", "passt": "past"}.items():
        with pytest.raises(SystemExit, match=f"no file {given}; did you mean {near}"):
            ask("--settle", given, "--out", "week")


def test_a_hub_that_has_no_week_or_cannot_be_reached_is_told(ask, hub, monkeypatch):
    with hub(Hub()) as web:
        with pytest.raises(
            SystemExit, match="the hub did not give futurex-ai/Futurex-Online .*QUESTIONS=file"
        ):
            ask("--agent", "my_model")
        with pytest.raises(
            ValueError, match="the hub did not give futurex-ai/Futurex-Past .*SETTLE=file"
        ):
            fetch_rows(ANSWERS)
    assert web.count("huggingface.co")

    def refuse(*_, **__):
        raise httpx.ConnectError("[Errno -2] Name or service not known")

    monkeypatch.setattr("huggingface_hub.list_repo_commits", refuse)
    with pytest.raises(
        SystemExit, match=r"the hub did not give \S+ \(ConnectError: .*fetch the file by hand"
    ):
        ask("--agent", "my_model")
    assert not ask.model.asked


def test_a_week_is_a_question_set_like_any_other(ask, capsys):
    rows, said, truths = make_week("a", n=18)
    write_lines(ask.folder / "week.jsonl", *rows)
    ask.model.answer = make_model(said)
    name = re.search(r"make view SET=(ask\w+)", ask("--out", "week", now=NOW))[1]
    main(["view", "--set", name])
    assert "18 questions on 18 events" in "".join(capsys.readouterr())
    with pytest.raises(SystemExit, match="no scored event is left: no answer is known yet"):
        main(["report", "my_model", "--set", name])
    answers = [{"id": row["id"], "answer": truths[row["id"]][1]} for row in rows]
    write_lines(ask.folder / "answers.jsonl", *answers)
    ask("--out", "week", "--settle", "answers.jsonl")
    scored = load_scores(name)
    assert scored.scores["score"].notna().sum() > 10
    assert set(scored.runs["agent_id"]) == {"my_model"}
    main(["report", "my_model", "--set", name])
