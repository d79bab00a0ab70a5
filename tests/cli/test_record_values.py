"""Of a public question's replies values alone are stored: no word of question, options or prose;
replay is the same."""

import gzip
import re

import pandas as pd
import pytest
from builders import ENTRY, make_past_row

from daybefore.agents.prompted import Client, ask_directly, forecast, keep_values, read_reply
from daybefore.agents.recorded_runs import load_recorded_runs, replay_recorded
from daybefore.commands import record
from daybefore.commands.main import carry_out
from daybefore.formats.futurex import build_events, screen_rows
from daybefore.models.llm import open_door
from daybefore.models.recordings import PACKED, Recordings, has_news, pack_recordings
from daybefore.store import read_runs
from helpers.files import ROOT, dump_json, parse_json
from helpers.question_sets import PUBLIC_WINDOWS

ARM = {"agent": "mock", "window": "P", "n": 4, "about": "to try it"}
OPTIONS = ["Quillon Marsh", "Bessamy Torv", "Aldous Wrenfield"]


@pytest.fixture
def recorder(provider, monkeypatch, out):
    """The mock provider as the model of an arm on four invented questions."""
    rows = [
        make_past_row(n, event=f"Who wins the invented regatta {n}?", options=OPTIONS, answer="B")
        for n in range(3)
    ]
    rows.append(
        make_past_row(
            3, event="Which harbours close?", options=OPTIONS, answer="A, B", choice_type="multi"
        )
    )
    tables = *build_events(screen_rows(pd.DataFrame(rows))[0]), None
    monkeypatch.setattr("daybefore.formats.public_sets.build_past", lambda: tables)
    entry = ENTRY | {"api_base": provider.address}
    monkeypatch.setattr(record, "load_entries", lambda wanted=(): {"mock": entry})
    monkeypatch.setattr(record, "load_recorded_runs", lambda: {"mock-P": ARM})
    monkeypatch.setattr(
        "daybefore.agents.recorded_runs.load_recorded_runs", lambda: {"mock-P": ARM}
    )
    monkeypatch.setattr(
        "daybefore.agents.recorded_runs.load_entries", lambda wanted=(): {"mock": entry}
    )
    provider.events = tables[0]
    provider.answer = lambda asked: {
        "content": "Torv, I gather, sails best, so \\boxed{Bessamy Torv}"
    }
    return provider


def read_stored(folder):
    """Return all that is stored under a folder, unpacked, as text."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return "\n".join(
        (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()
        for path in files
    )


def test_no_word_of_a_question_or_its_reply_is_stored(recorder, tmp_path, monkeypatch):
    monkeypatch.setattr(record, "pack_recordings", lambda *given: None)
    carry_out(["record", "--arm", "mock-P"])
    assert has_news("mock-P")
    monkeypatch.setattr(record, "pack_recordings", pack_recordings)
    store = dump_json([*Recordings("mock-P").rows.values()])
    carry_out(["record", "--arm", "mock-P"])
    assert len(recorder.asked) == 4, "what the store has is not asked again"
    assert (tmp_path / "data/runs/mock-P" / PACKED).exists()
    words = set(
        re.findall(
            r"\w{4,}", " ".join([*recorder.events["prompt"], "gather, sails best Final answer"])
        )
    )
    for stored in (store, read_stored(tmp_path / "data/runs/mock-P")):
        assert not [word for word in words if re.search(rf"\b{word}\b", stored)]
        assert stored.count("parser_version") == 4 and "messages" not in stored
    facts = record.list_recorded("mock-P"), Recordings("mock-P").rows
    assert len(facts[0]) == len(facts[1]) == 4
    assert all(row["n_input_tokens"] == 50 and row["duration_s"] >= 0 for row in facts[1].values())
    said = (tmp_path / "data/runs/mock-P/run.json").read_text()
    assert '"keeps": "values"' in said and "replies are reduced" in said


def test_replay_gives_the_same_predictions_as_whole_replies(recorder, tmp_path):
    events, whole = recorder.events, {}
    doors = [
        open_door(name, live=True, connection={"api_base": recorder.address})
        for name in ("full", "own")
    ]
    full, own = (Client(door, ENTRY["model"]) for door in doors)
    for event in events.assign(window="A").to_dict(
        "records"
    ):  # a window of our own keeps whole replies
        whole[event["event_id"]] = forecast(ask_directly, full, event, None)["prediction"]
        assert (
            forecast(ask_directly, own, event | {"keeps": "values"}, None)["prediction"]
            == whole[event["event_id"]]
        )
    assert "gather" in dump_json([*Recordings("full").rows.values()])
    assert not re.search("gather|Torv|regatta", dump_json([*Recordings("own").rows.values()]))
    carry_out(["record", "--arm", "mock-P"])
    n_asked = len(recorder.asked)
    run_ids = replay_recorded(["mock-P"], dict, tmp_path / "ledger.sqlite", events={"P": events})
    replayed = read_runs(
        tmp_path / "ledger.sqlite", "predictions", list(run_ids.values())
    ).set_index("event_id")
    assert (
        len(recorder.asked) == n_asked and len(replayed) == 4 and set(replayed["status"]) == {"ok"}
    )
    for event_id, prediction in whole.items():
        assert parse_json(replayed["value"][event_id]) == prediction["value"]


REPLIES = {
    "refusal": {"content": "I cannot predict the regatta; \\boxed{I cannot predict this}"},
    "unparsable": {"content": "Quillon Marsh or Bessamy Torv, who knows"},
    "ok": {"content": "So \\boxed{A}", "reasoning": "Quillon Marsh rowed before"},
}


@pytest.mark.parametrize(("status", "reply"), REPLIES.items())
def test_what_a_reply_was_is_kept_and_not_how_it_was_said(recorder, status, reply):
    event = recorder.events.iloc[0].to_dict()
    request = {
        "model": "m",
        "messages": [{"role": "user", "content": event["prompt"]}],
        "sample": 0,
        "options": {},
    }
    row = {"key": "1f", "status": "ok", "reason": None, "request": request} | reply
    kept = keep_values(event, row)
    read = read_reply(event, row)
    assert (kept["read"]["value"], kept["read"].get("status", "ok")) == (read["value"], status)
    assert not re.search("Quillon|Torv|regatta|rowed", str(kept))
    refused = keep_values(event, row | {"status": "refusal", "reason": "No regatta with me"})
    assert refused["status"] == "refusal" and "regatta" not in str(refused)


def test_probabilities_are_those_of_the_whole_reply(recorder):
    event = recorder.events.query("kind == 'multi'").iloc[0].to_dict()
    tokens = [
        ("Torv", -0.5),
        (" {", -0.1),
        ("A", -0.3),
        (",", -0.2),
        (" B", -0.4),
        (" Torvish", -0.3),
        ("}.", -1.0),
    ]
    tops = {
        "A": [["A", -0.3], ["C", -1.6], ["Torv", -3.0]],
        " B": [[" B", -0.4], [" C", -1.2]],
        ",": [["}", -1.8]],
    }
    parts = [
        {"token": token, "logprob": p, "top": tops.get(token, [[token, p]])} for token, p in tokens
    ]
    options = {"temperature": 0, "extra_body": {"grammar": "Torv"}}
    row = {"key": "1f", "status": "ok", "content": "Torv {A, B}. \\boxed{A, B}", "logprobs": parts}
    row["request"] = {"model": "m", "messages": [], "sample": 0, "options": options}
    kept = keep_values(event, row)
    assert kept["read"] == read_reply(event, row) and 0 < kept["read"]["probability"] < 1
    assert "Torv" not in str(kept) and kept["request"]["options"] == {"temperature": 0}


def test_whole_replies_are_never_packed_among_values(recorder, tmp_path):
    door = open_door("mock-P", live=True, connection={"api_base": recorder.address})
    event = recorder.events.iloc[0].to_dict()
    forecast(ask_directly, Client(door, ENTRY["model"]), event | {"window": "A"}, None)
    door.recordings.close()
    with pytest.raises(SystemExit, match="holds whole replies, and values alone may be kept"):
        carry_out(["record", "--arm", "mock-P"])
    assert not (tmp_path / "data/runs/mock-P" / PACKED).exists()


def test_what_is_committed_of_public_windows_holds_no_words():
    for run_id in [
        arm_id for arm_id, arm in load_recorded_runs().items() if arm["window"] in PUBLIC_WINDOWS
    ] + ["41_public"]:
        if (ROOT / "data/runs" / run_id / PACKED).exists():
            rows = Recordings(run_id).rows.values()
            assert not [row["key"] for row in rows if "messages" in row["request"]]
            contents = {
                row["content"] for row in rows if row["status"] == "ok" and "read" not in row
            }
            said = r"(Final answer: \\boxed\{([A-Z]{1,2}(, [A-Z]{1,2})*|-?[\d.]+|n/a)\})?"
            assert [text for text in contents if not re.fullmatch(said, text)] == []
