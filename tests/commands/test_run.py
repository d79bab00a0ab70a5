import json

import pandas as pd
import pytest

from helpers.agents.ledger import LEDGER, read_runs
from helpers.agents.registry import load_entries
from helpers.commands.main import main as run_command
from helpers.commands.run import choose_agents, main
from helpers.outcomes.answers import acquire_answers
from helpers.questions.events import collect_events
from helpers.store import write_table
from helpers.world.crawl import open_world
from helpers.world.sources import load_sources


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--agent", "oracle"], r"no agent is called 'oracle'; there are last_value, .*; to add it, write \[oracle\]"),
        (["--window", "Z"], "window 'Z' is unknown; there are A"),
        (["--limit", "0"], "LIMIT must be a positive whole number such as 20, not '0'"),
        (["--limit", "many"], "LIMIT must be a positive whole number such as 20, not 'many'"),
        (["--window", "C1", "--limit", "2"], "data/tables/C1/events.csv.gz is not there; `make figures` builds it"),
    ],
)
def test_a_wrong_setting_ends_in_one_sentence(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    monkeypatch.setattr("helpers.store.ROOT", tmp_path)
    with pytest.raises(SystemExit, match=f"^daybefore run: {sentence}"):
        main(arguments)
    assert not (tmp_path / LEDGER).exists()


def test_the_baselines_run_beside_the_agents_asked_for():
    registry = {"a": {"category": "baseline"}, "b": {"category": "base_model"}, "c": {"category": "base_model"}}
    assert list(choose_agents(registry, ["c"])) == ["a", "c"]


def test_one_source_from_its_pages_to_the_scores_on_the_screen(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    with open_world() as opener:
        crawler = opener()
        sources = {"clemson": load_sources()["clemson"]}
        events, _ = collect_events(sources, crawler, "A", seed=1, keep_binary=0.2)
        answers, _ = acquire_answers(events, crawler)
    write_table("events", events, "A")
    write_table("answers", answers, "A")
    main(["--agent", "mean_of_7", "--limit", "5", "--workers", "1"])
    shown = capsys.readouterr().out
    assert "5 events of window A" in shown
    assert all(f" {name} " in shown for name in ("mean_of_7", "last_value", "arima", "random"))
    before = read_runs(tmp_path / LEDGER, "replies", timings=True)
    assert len(before) == 5 * 7
    assert set(before.status) == {"ok"}
    main(["--agent", "mean_of_7", "--limit", "5", "--workers", "1"])
    assert capsys.readouterr().out == shown
    pd.testing.assert_frame_equal(read_runs(tmp_path / LEDGER, "replies", timings=True), before)
    main(["--agent", "mean_of_7", "--limit", "6", "--workers", "1"])
    assert len(read_runs(tmp_path / LEDGER, "replies", timings=True).merge(before)) == len(before)
    main(["--agent", "mean_of_7", "--limit", "5", "--workers", "1"])
    assert capsys.readouterr().out.endswith(shown), "the sample of 5 is shown as before, though the run has grown"
    assert run_command(["run", "--agent", "mean_of_7", "--limit", "5", "--workers", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["agents"]) >= {"mean_of_7", "last_value"} and found["stopped"] == []
    assert found["agents"]["mean_of_7"]["run_id"].startswith("mean_of_7-A-")


UNREACHABLE = [
    ({"model": "gpt-99"}, r"mine: no provider is known for the model 'gpt-99'; write it as provider/name"),
    ({"model": "openai/gpt-99"}, "mine: no key for openai: set OPENAI_API_KEY in the environment; nothing was asked"),
    (
        {"model": "openai/gpt-99", "api_base": "http://127.0.0.1:9/v1", "api_key_env": "MINE_KEY"},
        "mine: its model did not answer the first question: .*",
    ),
    ({"model": "local/qwen"}, "no model file qwen2.5-coder-1.5b-instruct-q4_k_m.gguf; `make model` fetches it"),
]


@pytest.mark.parametrize(("entry", "sentence"), UNREACHABLE)
def test_a_model_out_of_reach_is_one_sentence_and_nothing_is_lost(entry, sentence, tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("MINE_KEY", "sk-canary-123456")
    mine = {"category": "base_model", "framework": "prompt", "method": "zero_shot"} | entry
    monkeypatch.setattr("helpers.commands.run.load_entries", lambda wanted: load_entries() | {"mine": mine})
    monkeypatch.setattr("helpers.models.local.FOLDER", tmp_path / "models")
    monkeypatch.setattr("helpers.models.local.has_server", lambda: True)
    with pytest.raises(SystemExit, match=f"^daybefore run: {sentence}"):
        main(["--agent", "mine", "--limit", "2", "--deadline", "5"])
    stored = (tmp_path / LEDGER).exists() and len(read_runs(tmp_path / LEDGER, "replies"))
    assert not stored, "no question counts as missing because of a wrong setting"
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"canary" in data for data in kept)


def test_a_recorded_agent_needs_no_model(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    monkeypatch.setattr("helpers.models.local.FOLDER", tmp_path / "models")
    main(["--agent", "qwen_zero_shot", "--limit", "8"])
    shown = capsys.readouterr().out
    assert all(f"{name} " in shown for name in ("qwen_zero_shot", "last_value")) and "100% (8 of 8)" in shown
    before = read_runs(tmp_path / LEDGER, "replies")
    assert before.loc[before["run_id"].str.startswith("qwen"), "status"].eq("ok").all()
