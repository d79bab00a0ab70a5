"""Of a public question's replies values alone are stored: no word of question, options or prose;
replay is the same."""

import gzip
import re

import pandas as pd
import pytest
from builders import ENTRY, make_past_row

from daybefore.agents import recorded_runs
from daybefore.agents.prompted_agents import Client, ask_directly, forecast, keep_values, read_reply
from daybefore.commands import record
from daybefore.commands.main import carry_out
from daybefore.formats.futurex_questions import build_events, screen_rows
from daybefore.models.client import open_door
from daybefore.models.recordings import PACKED, Recordings, has_news, pack_recordings
from daybefore.store import read_runs
from helpers.files import ROOT, dump_json, parse_json
from helpers.set_names import PUBLIC_WINDOWS

ARM = {"agent": "mock", "window": "P", "n": 4, "about": "to try it"}
OPTIONS = ["Quillon Marsh", "Bessamy Torv", "Aldous Wrenfield"]


@pytest.fixture
def recorder(provider, monkeypatch, out):
    """The mock provider as the model of an arm on four invented questions."""
    asked = {"event": "Who wins the invented regatta?", "options": OPTIONS, "answer": "B"}
    rows = [make_past_row(n, **asked) for n in range(3)]
    rows.append(make_past_row(3, **asked | {"answer": "A, B", "choice_type": "multi"}))
    tables = *build_events(screen_rows(pd.DataFrame(rows))[0]), None
    monkeypatch.setattr("daybefore.formats.public_sets.build_past", lambda: tables)
    entry = ENTRY | {"api_base": provider.address}
    for room in (record, recorded_runs):
        monkeypatch.setattr(room, "load_entries", lambda wanted=(): {"mock": entry})
        monkeypatch.setattr(room, "load_recorded_runs", lambda: {"mock-P": ARM})
    provider.events = tables[0]
    said = "Torv, I gather, sails best, so \\boxed{Bessamy Torv}"
    provider.answer = lambda asked: {"content": said}
    return provider


def test_no_word_of_a_question_or_its_reply_is_stored(recorder, tmp_path, monkeypatch):
    monkeypatch.setattr(record, "pack_recordings", lambda *given: None)
    carry_out(["record", "--arm", "mock-P"])
    assert has_news("mock-P")
    monkeypatch.setattr(record, "pack_recordings", pack_recordings)
    store = dump_json([*Recordings("mock-P").rows.values()])
    carry_out(["record", "--arm", "mock-P"])
    assert len(recorder.asked) == 4, "what the store has is not asked again"
    folder = tmp_path / "data/runs/mock-P"
    packed, facts = gzip.decompress((folder / PACKED).read_bytes()).decode(), folder / "run.json"
    prompts = " ".join(recorder.events["prompt"])
    words = set(re.findall(r"\w{4,}", f"{prompts} gather, sails best Final answer"))
    for stored in (store, packed):
        assert not [word for word in words if re.search(rf"\b{word}\b", stored)]
        assert stored.count("parser_version") == 4 and "messages" not in stored
    rows = Recordings("mock-P").rows.values()
    assert len(rows) == len(record.list_recorded("mock-P")) == 4
    assert all(row["n_input_tokens"] == 50 and row["duration_s"] >= 0 for row in rows)
    assert '"keeps": "values"' in facts.read_text() and "replies are reduced" in facts.read_text()


def test_replay_gives_the_same_predictions_as_whole_replies(recorder, tmp_path):
    door = open_door("full", live=True, connection={"api_base": recorder.address})
    whole = {}
    for event in recorder.events.assign(window="A").to_dict("records"):  # which keeps whole replies
        found = forecast(ask_directly, Client(door, ENTRY["model"]), event, None)
        whole[event["event_id"]] = found["prediction"]["value"]
    assert "gather" in dump_json([*Recordings("full").rows.values()])
    carry_out(["record", "--arm", "mock-P"])
    n_asked, store = len(recorder.asked), tmp_path / "ledger.sqlite"
    run_ids = recorded_runs.replay_recorded(["mock-P"], dict, store, events={"P": recorder.events})
    replayed = read_runs(store, "predictions", list(run_ids.values())).set_index("event_id")
    assert len(recorder.asked) == n_asked and set(replayed["status"]) == {"ok"}
    assert replayed["value"].map(parse_json).to_dict() == whole


def weigh(token, *tops):
    return {"token": token, "logprob": -0.3, "top": [[token, -0.3], *tops]}


WEIGHED = [weigh("Torv"), weigh(" \\boxed{"), weigh("A", ["C", -1.6], ["Torv", -3.0]), weigh("}")]
REPLIES = {
    "refusal": {"content": "I cannot predict the regatta; \\boxed{I cannot predict this}"},
    "unparsable": {"content": "Quillon Marsh or Bessamy Torv, who knows"},
    "ok": {"content": "So \\boxed{A}", "reasoning": "Quillon Marsh rowed before"},
    "weighed": {"content": "Torv \\boxed{A}", "logprobs": WEIGHED},
}


@pytest.mark.parametrize(("name", "reply"), REPLIES.items())
def test_what_a_reply_was_is_kept_and_not_how_it_was_said(recorder, name, reply):
    event = recorder.events.iloc[0].to_dict()
    options = {"temperature": 0, "extra_body": {"grammar": "Torv"}}
    request = {"model": "m", "sample": 0, "options": options}
    request["messages"] = [{"role": "user", "content": event["prompt"]}]
    row = {"key": "1f", "status": "ok", "reason": None, "request": request} | reply
    kept, read = keep_values(event, row), read_reply(event, row)
    assert kept["read"].get("status", "ok") == name.replace("weighed", "ok")
    stated = ("value", "probability", "distribution")
    assert [kept["read"].get(key) for key in stated] == [read.get(key) for key in stated]
    assert (name == "weighed") == (0 < (read.get("probability") or 0) < 1)
    assert not re.search("Quillon|Torv|regatta|rowed", str(kept))
    assert kept["request"]["options"] == {"temperature": 0}
    refused = keep_values(event, row | {"status": "refusal", "reason": "No regatta with me"})
    assert refused["status"] == "refusal" and "regatta" not in str(refused)


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
        arm_id
        for arm_id, arm in recorded_runs.load_recorded_runs().items()
        if arm["window"] in PUBLIC_WINDOWS
    ] + ["41_public"]:
        if (ROOT / "data/runs" / run_id / PACKED).exists():
            rows = Recordings(run_id).rows.values()
            assert not [row["key"] for row in rows if "messages" in row["request"]]
            contents = {
                row["content"] for row in rows if row["status"] == "ok" and "read" not in row
            }
            said = r"(Final answer: \\boxed\{([A-Z]{1,2}(, [A-Z]{1,2})*|-?[\d.]+|n/a)\})?"
            assert [text for text in contents if not re.fullmatch(said, text)] == []
