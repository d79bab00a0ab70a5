"""`daybefore week` by subprocess on the simulated internet: two weeks from fetch to score, and what
is refused."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pandas as pd
import pytest
from builders import make_checkout, write_lines
from internet import open_internet
from mock_provider import Server
from serving import run_server
from sites import Hub, write_parquet
from weeks import AGENT, make_model, make_week, write_agents

from daybefore.commands.main import main
from daybefore.live.challenge import ANSWERS, DATASET, fetch_rows
from daybefore.scoring.runs import load_scores
from daybefore.store import read_runs
from helpers.files import STORE, locate_output
from helpers.question_sets import find_set

ROOT = Path(__file__).parents[2]
WEEKS = [("a", "2026-03-04", "2026-03-08"), ("b", "2026-03-11", "2026-03-15")]
"""A week's name, its Wednesday, the day on which its questions end."""


@pytest.fixture
def week(tmp_path):
    """A hub with two weeks and their answers, a model, and a function that runs `daybefore week` as
    a user would."""
    hub, said, expected = Hub(), {}, {}
    for name, wednesday, end in WEEKS:
        rows, replies, own = make_week(name, end=end)
        said, expected = said | replies, expected | {name: own}
        first = pd.Timestamp(wednesday) - pd.Timedelta(days=1)
        message = f"Events for {wednesday}-To-{end} are ready"
        hub.publish(
            DATASET,
            {"data/train-00000-of-00001.parquet": write_parquet(rows)},
            f"{first:%F}T02:00Z",
            message,
        )
        truths = [
            {"id": key, "ground_truth": answer, "prompt": "", "level": 1}
            for key, (_, answer, _) in own.items()
        ]
        past = {"data/train-00000-of-00001.parquet": write_parquet(truths)}
        hub.publish(ANSWERS, past, f"{pd.Timestamp(end) + pd.Timedelta(days=2):%F}T02:00Z")
    with run_server(model := Server(answer=make_model(said))):
        settings = make_checkout(tmp_path)
        (tmp_path / "data/agents.local.toml").write_text(
            AGENT.format(name="my_model", address=model.address)
        )
        with open_internet(tmp_path, {"huggingface.co": hub}) as web:

            def call(*arguments, now, code=0):
                web.now = pd.Timestamp(now).tz_convert("UTC")
                env = web.environment(
                    **settings, HF_HOME=str(tmp_path / "hub"), OPENAI_API_KEY="sk-secret-of-mine"
                )
                env |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1"}
                more = [] if "--settle" in arguments else ["--agent", "my_model", "--now", now]
                command = [sys.executable, "-m", "daybefore", "week", *more, *arguments]
                done = subprocess.run(
                    command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600
                )
                assert done.returncode == code, done.stdout + done.stderr
                return done.stdout + done.stderr

            call.web, call.model, call.expected, call.hub, call.folder = (
                web,
                model,
                expected,
                hub,
                tmp_path,
            )
            yield call


def read_submission(folder):
    [path] = folder.glob("org-daybefore-agent-*-model-*.json")
    rows = json.loads(path.read_text("utf-8"))
    assert [
        json.loads(line) for line in path.with_suffix(".jsonl").read_text("utf-8").splitlines()
    ] == rows
    assert all(
        set(row) == {"id", "prediction"} and isinstance(row["prediction"], str) for row in rows
    )
    return {row["id"]: row["prediction"] for row in rows}


def test_two_weeks_from_fetch_to_score(week):
    for n, (name, wednesday, _) in enumerate(WEEKS):
        if n == 0:  # stopped by its ceiling, and gone on with
            assert "ceiling" in week(
                "--ceiling", "0.002", now=f"{wednesday}T08:00:00+08:00", code=3
            )
            assert 0 < len(week.model.asked) < 61
        told = week("--ceiling", "5", now=f"{wednesday}T10:00:00+08:00")
        commit = week.hub.commits[DATASET][n][0]
        folder = week.folder / "data/weeks" / commit[:12]
        expected = week.expected[name]
        assert read_submission(folder) == {
            key: prediction for key, (prediction, _, _) in expected.items()
        }
        assert f"subject: FutureX Challenge Submission — [my_model][{wednesday}]" in told
        assert f"commit {commit}" in told and "nothing was sent" in told
        assert f"wanted by {pd.Timestamp(wednesday) + pd.Timedelta(days=1):%F} 00:00 UTC+8" in told
        silent = [key for key, (prediction, _, _) in expected.items() if not prediction]
        assert f"no answer: {len(silent)}: {silent[0]} (" in told
        assert "doubtful, the prompt's words do not decide their kind: " in told
        assert len(week.model.asked) == 61 * (n + 1)  # nothing is asked, or paid, twice
        (turn,) = json.loads((folder / "week.json").read_text("utf-8"))["rounds"]
        assert turn == {
            "as_of": f"{wednesday}T{'10' if n else '08'}:00:00+08:00",
            "is_complete": True,
        }
    name, _, end = WEEKS[-1]
    moment = f"{pd.Timestamp(end) + pd.Timedelta(days=3):%F}T12:00Z"
    told = week("--settle", "past", "--out", str(folder), now=moment)
    rows = pd.read_csv(folder / "scores.csv").set_index("event_id")["score_imputed"]
    for key, (_, _, score) in week.expected[name].items():
        assert rows[key] == pytest.approx(score), (key, week.expected[name][key])
    assert "rules: futurex_code\nnumbers scored: " in told and "not settled yet: none" in told
    assert week.web.refused == {}
    kept = [
        path
        for path in (week.folder / "data").rglob("*")
        if path.is_file() and not path.is_symlink()
    ]
    assert all(b"sk-secret" not in path.read_bytes() for path in kept)


# --- in this process, on files of one's own ---------------------------------------------------------


@pytest.fixture
def ask(model, tmp_path, capsys):
    """A function that asks the mock model a file of questions by `daybefore week`."""

    def call(*arguments, now=None):
        more = ["--agent", "my_model", "--questions", "week.jsonl", "--now", now] if now else []
        main(["week", *more, *arguments])
        return "".join(capsys.readouterr())

    call.model, call.folder = model, tmp_path
    return call


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
    rows = [
        {"id": "-q1", "prompt": "Will the bridge open?", "options": ["Yes", "No"]},
        {
            "id": "q2",
            "prompt": "Length of the queue",
            "kind": "number",
            "unit": "m",
            "end_time": "2026-03-01",
        },
    ]
    write_lines(ask.folder / "week.jsonl", *rows)
    boxes = iter(["A", "B", "A", "A", "B"])
    ask.model.answer = lambda asked: {
        "content": f"\\boxed{{{next(boxes) if 'bridge' in str(asked) else 12.5}}}"
    }
    told = ask("--samples", "5", "--out", "own", "--at-once", "1", now="2026-03-04T10:00:00+08:00")
    assert read_submission(ask.folder / "own") == {"-q1": "A", "q2": "12.5 m"}
    assert "late, their window had ended: 1: q2" in told and "subject" not in told
    assert (
        json.loads((ask.folder / "own/week.json").read_text())["standing"]["-q1"]["probability"]
        == 0.6
    )
    (ask.folder / "answers.csv").write_text("id,answer,spread\n-q1,Yes,\nq2,12,2\n")
    board = {
        "weekly": {"2026-02-W4": [], "2026-03-W1": [{"modelName": "rival", "overallScore": 99.5}]}
    }
    (ask.folder / "board.json").write_text(json.dumps(board))
    told = ask("--settle", "answers.csv", "--out", "own", "--board", "board.json")
    assert (
        "public board, 2026-03-W1: 0.9" in told
        and "would be place 2 of 2; best: rival 0.995" in told
    )
    scores = pd.read_csv(ask.folder / "own/scores.csv").set_index("event_id")
    assert scores["score_imputed"].to_dict() == {"'-q1": 1.0, "q2": pytest.approx(1 - 0.25**2)}
    for given, near in {
        "answer.csv": "; did you mean answers.csv",
        "passt": "; did you mean past",
    }.items():
        with pytest.raises(SystemExit, match=f"there is no file {given}{near}"):
            ask("--settle", given, "--out", "own")
    assert "rules: futurex_paper\nnumbers scored: 1 of 1" in told
    told = ask("--settle", "answers.csv", "--out", "own", "--rule", "futurex_code")
    scores = pd.read_csv(ask.folder / "own/scores.csv").set_index("event_id")
    assert (
        scores["score_imputed"]["q2"] == pytest.approx(1 - (0.5 / 0.6) ** 2)
        and "rules: futurex_code" in told
    )
    (ask.folder / "answers.csv").write_text("id,answer\n-q1,Yes\nq2,12\n")
    told = ask("--settle", "answers.csv", "--out", "own")
    assert "numbers scored: 0 of 1\nfuturex_paper needs a number's spread" in told
    assert "q2" not in set(pd.read_csv(ask.folder / "own/scores.csv")["event_id"]), (
        "unscored, as in a run"
    )


def test_a_week_is_asked_again_a_week_after_its_end(ask):
    rows = [
        {
            "id": "q1",
            "prompt": "Will the bridge open?",
            "options": ["Yes", "No"],
            "end_time": "2026-03-05",
        },
        {
            "id": "q2",
            "prompt": "Will the ferry sail?",
            "options": ["Yes", "No"],
            "end_time": "2026-03-09",
        },
    ]
    write_lines(ask.folder / "week.jsonl", *rows)
    ask.model.answer = lambda asked: {"content": "\\boxed{A}"}
    ask("--out", "own", now="2026-03-04T10:00:00+08:00")
    with pytest.raises(
        SystemExit, match="ended 7 days ago or earlier; the first is due at 2026-03-13 00:00 UTC"
    ):
        ask("--out", "own", "--days-after", "7", now="2026-03-10T10:00:00+08:00")
    told = ask("--out", "own", "--days-after", "7", now="2026-03-13T10:00:00+08:00")
    assert (
        read_submission(ask.folder / "own-7-days-after") == {"q1": "A"}
        and "1 of 1 questions answered" in told
    )
    assert set(read_submission(ask.folder / "own")) == {"q1", "q2"}
    conditions = read_runs(locate_output(STORE), "runs")["condition"].tolist()
    assert sorted(map(str, conditions)) == ["asked 7 days after the resolution", "nan"]


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


def test_another_agents_folder_is_left_alone(ask):
    write_lines(ask.folder / "week.jsonl", *make_week("a", n=3)[0])
    write_agents(ask.folder, ask.model.address, "my_model", "other")
    now = "2026-03-04T10:00:00+08:00"
    ask("--out", "week", now=now)
    with pytest.raises(SystemExit, match="holds my_model's answers .*; name another folder"):
        ask("--out", "week", "--questions", "week.jsonl", "--agent", "other", "--now", now)
    ask("--out", "both", "--agent", "other", now=now)
    assert (
        len(read_submission(ask.folder / "both/my_model"))
        == len(read_submission(ask.folder / "both/other"))
        == 3
    )


def test_a_hub_that_has_no_week_or_cannot_be_reached_is_told(ask, tmp_path, monkeypatch):
    with open_internet(tmp_path, {"huggingface.co": Hub()}, patch=monkeypatch) as web:
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


def test_a_week_is_a_question_set_like_any_other(ask, tmp_path, capsys):
    rows, said, truths = make_week("a", n=18)
    write_lines(ask.folder / "week.jsonl", *rows)
    ask.model.answer = make_model(said)
    told = ask("--out", "week", now="2026-03-03T20:00:00+08:00")
    name = re.search(r"make view SET=(ask\w+)", told)[1]
    main(["view"])
    assert f"left out: 18 questions of {name}" in "".join(capsys.readouterr())
    main(["view", "--set", name])
    assert "18 questions on 18 events" in "".join(capsys.readouterr())
    with pytest.raises(
        SystemExit, match="daybefore report: no scored event is left: no answer is known yet"
    ):
        main(["report", "my_model", "--set", name])
    assert load_scores(name).scores["score"].isna().all(), "nothing is settled yet"
    write_lines(
        ask.folder / "answers.jsonl",
        *[{"id": row["id"], "answer": truths[row["id"]][1]} for row in rows],
    )
    main(["week", "--out", "week", "--settle", "answers.jsonl"])
    scored = load_scores(name)
    assert scored.scores["score"].notna().sum() > 10 and set(scored.runs["agent_id"]) == {
        "my_model"
    }
    main(["report", "my_model", "--set", name])
    shutil.rmtree(find_set(name).folder)
    main(["view"])
    assert f"left out: 18 questions of {name}, a set that is not here" in "".join(
        capsys.readouterr()
    )
