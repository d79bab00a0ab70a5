"""`daybefore run` as a user has it: scores on the screen, a model's accidents, ceilings, samples,
articles."""

import fcntl
import json
import os
import re
import subprocess
import sys
import time

import pandas as pd
import pytest
from builders import make_entry, make_past_row

from daybefore.agents.recorded_runs import SEED
from daybefore.agents.run_loop import sample_events
from daybefore.commands.main import carry_out
from daybefore.commands.run import main as ask
from daybefore.formats.futurex_questions import build_events, screen_rows
from daybefore.models.recordings import Recordings
from daybefore.store import read_runs
from daybefore.web.news_articles import describe_articles
from helpers.files import STORE, parse_json, read_table


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["--set", "Z"], "there is no question set 'Z'; there are october-2016"),
    (["--agent", "mean_of7"], r"no agent is called 'mean_of7'; did you mean mean_of_7\? .* write \[mean_of7\]"),
    (["--horizon", "Near"], "no question of october-2016 says when Near is"),
])  # fmt: skip
def test_a_wrong_setting_ends_in_one_sentence(arguments, sentence, out):
    with pytest.raises(SystemExit, match=f"^daybefore run: {sentence}"):
        carry_out(["run", *arguments])
    assert not (out / STORE).exists()


def find_harbour(event, world):
    return "A" if world.search("harbour", n=1) else "B"


def test_a_function_of_ones_own_runs_on_public_questions(out, monkeypatch, capsys):
    rows = [make_past_row(n, end_time=f"2026-01-{20 + n % 9}") for n in range(30)]
    tables = *build_events(screen_rows(pd.DataFrame(rows))[0]), None
    monkeypatch.setattr("daybefore.formats.public_sets.build_past", lambda: tables)
    text = {"id": "1", "published": "2026-01-05", "title": "Harbour 3", "text": "It opens."}
    (out / "mine.jsonl").write_text(json.dumps(text))
    monkeypatch.setattr("daybefore.commands.run_service.list_articles", lambda window: [out])
    found = ask([find_harbour], "P", 12)["agents"]
    shown = capsys.readouterr().out
    assert "12 events of futurex-past" in shown and " arima " not in shown
    assert found.keys() == {"find_harbour", "base_rate", "option_words", "random", "first_option"}
    assert found["find_harbour"]["condition"].startswith("with articles ")
    assert found["random"]["condition"] is None
    traces = read_runs(out / STORE, "traces", [found["find_harbour"]["run_id"]])
    assert traces["page_ids"].str.contains('"n').any(), "the articles are searched"
    with pytest.raises(SystemExit, match="arima reads a source's page, .* futurex-past have none"):
        carry_out(["run", "--set", "P", "--agent", "arima"])
    carry_out(["view", "--set", "P", "--agent", "find_harbour"])
    rows = (out / "data/runs/view/index.html").read_text()
    assert rows.count("invented harbour") == 12, "each question of the run is shown"


def test_a_sample_is_shown_as_before_though_its_run_has_grown(out, capsys):
    five = ["run", "--agent", "mean_of_7", "--limit", "5"]
    carry_out(five)
    shown = capsys.readouterr().out
    assert "5 events of october-2016" in shown
    assert all(f"{name} " in shown for name in ("mean_of_7", "last_value", "arima", "random"))
    before = read_runs(out / STORE, "replies", timings=True)
    assert len(before) == 5 * 7 and set(before.status) == {"ok"}
    carry_out(["run", "--agent", "mean_of_7", "--limit", "6"])
    assert len(read_runs(out / STORE, "replies", timings=True).merge(before)) == len(before)
    found = carry_out(five)
    assert capsys.readouterr().out.endswith(shown)
    assert found["agents"].keys() >= {"mean_of_7", "last_value"} and found["stopped"] == []
    assert found["agents"]["mean_of_7"]["run_id"].startswith("mean_of_7-A-")
    carry_out(["run", "--limit", "5"])
    told = "no agent named: baselines only, on october-2016; choose by AGENT=name, LIMIT=20"
    assert capsys.readouterr().err.startswith(told)


# --- a model's accidents, ceilings, samples ---------------------------------------------------------


@pytest.fixture
def mine(provider, monkeypatch, out):
    """A function that runs an agent of the mock provider, beside no baseline; its settings may
    change."""
    prices = {"input": 10, "output": 100}

    def run_mine(*arguments, limit=4, **changes):
        own = {"usd_per_million": prices, "options": {"max_tokens": 20}} | changes
        entry = make_entry(provider, **own)
        entry = {name: value for name, value in entry.items() if value is not None}
        monkeypatch.setattr(
            "daybefore.commands.run_service.load_entries", lambda **_: {"mine": entry}
        )
        monkeypatch.setattr("daybefore.commands.run_service.load_agents", lambda wanted: {})
        carry_out(["run", "--agent", "mine", "--limit", str(limit), *arguments])

    return run_mine


AWAY = {"api_base": "http://127.0.0.1:9/v1", "api_key_env": "MINE_KEY"}


@pytest.mark.parametrize(("arguments", "changes", "sentence"), [
    ([], {"model": "openai/gpt-99", "api_base": None}, "no key for openai: set OPENAI_API_KEY .*; nothing was asked"),
    (["--deadline", "5"], AWAY, "its model did not answer the first question: "),
    ([], {"model": "local/qwen", "api_base": None}, r"no model file qwen2.5-coder-1.5b-instruct-q4_k_m.gguf; `make"),
    (["--ceiling=0.01"], {"options": {}}, r".* no room for a request: 0 of 0.01 USD are spent, and one can cost 3\.\d+ "
     r"USD, by up to 32,768 tokens of reply; CEILING=3\.\d+ has room for one at a time, CEILING=13\.\d+ for the 4 "),
    (["--ceiling=1"], {"usd_per_million": None}, "no price is known for openai/mock-1"),
])  # fmt: skip
def test_what_cannot_be_asked_or_paid_for_is_one_sentence_and_nothing_is_lost(
    mine, provider, tmp_path, monkeypatch, arguments, changes, sentence
):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("MINE_KEY", "sk-canary-123456")
    monkeypatch.setattr("daybefore.models.local_server.FOLDER", tmp_path / "models")
    monkeypatch.setattr("daybefore.models.local_server.has_server", lambda: True)
    with pytest.raises(SystemExit, match=f"^daybefore run: mine: {sentence}"):
        mine(*arguments, **changes)
    stored = (tmp_path / STORE).exists() and len(read_runs(tmp_path / STORE, "replies"))
    assert not stored and not provider.asked, (
        "no question counts as missing because of a wrong setting"
    )
    assert not any(b"canary" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_an_estimate_counts_the_prompts_of_this_set_and_says_what_they_cost_at_most(
    mine, out, monkeypatch, capsys
):
    monkeypatch.setattr(
        "daybefore.agents.prompted_agents.fill_prompt",
        lambda event: event["event_id"].ljust(17_000, "x"),
    )
    mine("--ceiling=10")
    told = capsys.readouterr().out
    n_in, n_out, usd, most = re.search(
        r"about ([\d,]+) tokens in, .* and ([\d,]+) out, ([\d.]+) USD .* costs ([\d.]+) at most",
        told,
    ).groups()
    assert int(n_in.replace(",", "")) == pytest.approx(4 * 17_000 / 4, rel=0.01)
    assert float(usd) == pytest.approx(
        (17_000 * 10 + int(n_out.replace(",", "")) * 100) / 1e6, rel=0.01
    )
    assert float(most) == pytest.approx(4 * (17_000 * 10 + 20 * 100) / 1e6, rel=0.01)
    monkeypatch.setattr("daybefore.commands.preflight.N_READ", 3)
    mine(limit=11)
    assert "by 3 of its questions" in capsys.readouterr().out


def test_samples_are_asked_once_each_and_their_majority_is_an_agent_of_its_own(
    mine, provider, tmp_path, capsys
):
    texts = iter([r"\boxed{A}", r"\boxed{B}", r"\boxed{A}"] * 9)
    provider.answer = lambda asked: {"content": next(texts)}
    mine("--samples", "3")
    said = capsys.readouterr().out
    assert "mine: 12 questions to ask" in said and "mine-majority " in said
    rows = read_runs(tmp_path / STORE, "predictions")
    is_voted = rows["agent_id"] == "mine-majority"
    asked = rows[~is_voted].groupby("event_id")
    assert list(asked["sample"].apply(list)) == [[0, 1, 2]] * 4 and is_voted.sum() == 4
    voted = rows[is_voted & rows["distribution"].notna()].to_dict("records")
    assert voted
    for row in voted:
        values = asked.get_group(row["event_id"])["value"].dropna().map(parse_json)
        assert parse_json(row["distribution"]) == (values.value_counts() / len(values)).to_dict()
        assert row["probability"] == (values == parse_json(row["value"])).mean() >= 0.5
    mine("--samples", "3", **AWAY)
    assert len(provider.asked) == 12, "and without a question no key and no server are wanted"
    assert "nothing is left to ask" in capsys.readouterr().err


def test_after_two_kills_under_a_ceiling_the_sentence_that_refuses_says_what_goes_on(
    mine, provider, tmp_path
):
    journal = Recordings("mine-A")
    for key in "abcdefgh":
        journal.start(key, 3.3)
    with pytest.raises(
        SystemExit, match=r"26.4 of 1 USD .* 26.4 at most, .* CEILING=26\.\d+ has room"
    ) as stopped:
        mine("--ceiling=1", options={"max_tokens": 20})
    assert not provider.asked
    mine(re.findall(r"CEILING=([\d.]+) for the", str(stopped.value))[0].join(["--ceiling=", ""]))
    assert len(provider.asked) == 4
    (path,) = tmp_path.glob("data/runs/mine-A-*/results.json")
    found, replies = (
        json.loads(path.read_text()),
        read_runs(tmp_path / STORE, "replies", [path.parent.name]),
    )
    billed = 26.4 + replies["cost_usd"].sum()
    assert found["cost_unanswered_usd"] == pytest.approx(26.4) and found[
        "cost_usd"
    ] == pytest.approx(billed)


def test_replies_above_their_bound_that_were_under_way_stand_in_the_final_sum(
    mine, provider, capsys
):
    def bill(asked):
        dear = len(provider.asked) > 1  # the first goes alone
        time.sleep(dear)
        usage = {"prompt_tokens": 50, "completion_tokens": 400_000 if dear else 8}
        return {"usage": usage}

    provider.answer = bill
    with pytest.raises(SystemExit, match="3"):
        mine("--ceiling=0.5", "--at-once=4", limit=12, usd_per_million={"input": 1, "output": 1})
    told = capsys.readouterr().err
    assert len(provider.asked) == 5  # then one at a time, for which no room is left
    cost = float(re.search(r"its replies cost ([\d.]+) USD in all", told)[1])
    assert cost == pytest.approx(4 * 0.40005, rel=0.01)


def test_at_its_ceiling_a_run_says_which_one_goes_on(mine, provider, capsys):
    with pytest.raises(SystemExit, match="3"):
        mine("--ceiling=0.015", limit=12)
    told = capsys.readouterr()
    assert "mine has reached its ceiling" in told.err and "CEILING=0.03, which counts" in told.err
    assert "next: a larger LIMIT" not in told.out and 0 < len(provider.asked) < 12
    mine("--ceiling=1", limit=12)
    assert len(provider.asked) == 12 and "next: a larger LIMIT" in capsys.readouterr().out
    mine(limit=1, options={"max_tokens": 30})
    told = capsys.readouterr().out
    assert (
        "its options have changed since 12 replies were recorded: all is asked, and paid, anew"
        in told
    )


def test_a_page_in_place_of_a_reply_locks_nothing_and_is_asked_again_by_retry(
    mine, provider, monkeypatch, capsys
):
    hint = "RETRY=1 asks again, and may pay again, the 1 that timed out or whose reply could not be read"
    plain, provider.answer = provider.answer, lambda asked: "html"
    with pytest.raises(
        SystemExit, match=f"did not answer the first question: the reply is.*; {hint}"
    ):
        mine()
    monkeypatch.setattr("daybefore.commands.run_service.MAX_ACCIDENTS", 2)
    answers = iter([{"content": r"\boxed{A}"}, "401", "401"])
    provider.answer = lambda asked: next(answers)
    with pytest.raises(SystemExit, match="3"):
        mine()
    also = "next: the same command asks again the 2 that met an accident; "
    assert also + hint in capsys.readouterr().out, "also of a run that is stopped part-way"
    provider.answer, n_asked = plain, len(provider.asked)
    mine()
    told = capsys.readouterr().out
    assert (
        len(provider.asked) == n_asked + 2 and "2 of 4 questions are done with; 2 are left" in told
    )
    assert f"next: {hint}" in told
    mine("--retry")
    assert len(provider.asked) == n_asked + 3 and "next: RETRY" not in capsys.readouterr().out


def test_a_spent_quota_is_asked_once_and_stops_the_agent_with_that_reason(mine, provider, capsys):
    said = "the provider's quota or credit is spent: You exceeded your quota"
    provider.answer = lambda asked: "no credit"
    with pytest.raises(
        SystemExit, match=f"mine: its model did not answer the first question: {said}"
    ):
        mine()
    assert len(provider.asked) == 1, "waiting does not mend it"
    answers = iter([{"content": r"\boxed{A}"}, "no credit"])
    provider.answer = lambda asked: next(answers)
    with pytest.raises(SystemExit, match="3"):
        mine("--at-once", "1")
    told = capsys.readouterr()
    assert (
        f"mine was stopped: {said}" in told.err
        and "with new credit the same command goes on" in told.err
    )
    assert "3 not asked" in told.out and "over_budget" not in told.out and len(provider.asked) == 3
    provider.answer = None
    mine()
    assert (
        len(provider.asked) == 6
        and "1 of 4 questions are done with; 3 are left" in capsys.readouterr().out
    )


def test_two_processes_do_not_ask_and_pay_for_one_run_at_once(mine, provider, out):
    folder = out / "data/runs/mine-A"
    folder.mkdir(parents=True)
    other = os.open(folder, os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    with pytest.raises(SystemExit, match="another process is asking .*mine-A; both would pay"):
        mine()
    assert not provider.asked
    os.close(other)
    mine()
    assert len(provider.asked) == 4


def test_where_nothing_can_be_written_nothing_is_asked(mine, provider, tmp_path, monkeypatch):
    place = tmp_path / "data/runs/mine-A"
    place.parent.mkdir(parents=True)
    place.write_text("a file")
    with pytest.raises(
        SystemExit, match="no replies can be kept in .*mine-A .*DAYBEFORE_OUT names a folder"
    ):
        mine()
    monkeypatch.setenv("DAYBEFORE_OUT", str(place))
    with pytest.raises(
        SystemExit, match=f"{place}.* cannot be read or written .* set DAYBEFORE_OUT"
    ):
        mine()
    assert not provider.asked


def test_an_interrupted_command_is_gone_at_once():
    code = (
        "import atexit, sys, time, types, daybefore\natexit.register(time.sleep, 60)\n"
        "def main():\n    print('stored')\n    raise SystemExit(130)\n"
        "sys.modules['daybefore.commands.main'] = types.SimpleNamespace(main=main)\ndaybefore.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout) == (130, "stored\n")


def test_an_agent_that_searches_the_web_of_today_is_stamped_in_its_table(mine, tmp_path, capsys):
    mine(options={"max_tokens": 20, "extra_body": {"web_search_options": {}}}, limit=1)
    assert "mine searches the web as it is today, no forecast" in capsys.readouterr().out
    assert read_runs(tmp_path / STORE, "runs")["condition"].tolist() == ["sees the web of today"]


def test_a_run_searches_articles_of_ones_own_under_a_condition_of_its_own(mine, provider, out):
    provider.answer = lambda asked: {"content": r"\boxed{A}"}
    press = out / "press"
    press.mkdir()
    text = sample_events(read_table("events", "A"), 1, SEED)["prompt"].iloc[0]
    row = {"id": "a", "title": "Zloty", "text": text, "published": "2016-10-07"}
    (press / "all.jsonl").write_text(json.dumps(row), encoding="utf-8")
    mine("--articles", str(press), method="search_prompt", limit=1)
    assert len(provider.asked) == 1 and "http://press.replay/" in str(provider.asked)
    assert read_runs(out / STORE, "runs")["condition"].tolist() == [describe_articles([press])]
