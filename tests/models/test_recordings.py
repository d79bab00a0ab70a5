"""Recordings in the store: what a kill leaves of requests under way, and how a run is packed and
read again."""

import gzip
import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from builders import fork, say

from daybefore.models.client import LlmError, ask, open_door
from daybefore.models.costs import describe_cut
from daybefore.models.model_files import MODELS, name_model
from daybefore.models.recordings import PACKED, Recordings, has_news, pack_recordings
from helpers.files import STORE

MODEL, PRICES, FIRST = "openai/mock-1", (1e-5, 1e-4), "2026-06-01T00:00:00+00:00"


@pytest.fixture(autouse=True)
def out(tmp_path, monkeypatch):
    """The folder where everything is written."""
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    return tmp_path


@pytest.fixture
def reach(provider):
    """A function that opens a live door to the mock provider."""
    return lambda **settings: open_door(
        "mock", live=True, connection={"api_base": provider.address}, deadline_s=60, **settings
    )


def make(key, **columns):
    return {"key": key, "status": "ok", "request": {"model": MODEL}, "recorded_at": FIRST} | columns


def read_requests(folder):
    with closing(sqlite3.connect(folder / STORE)) as store:
        return store.execute(
            "SELECT key, bound_usd, recording IS NOT NULL FROM requests ORDER BY id"
        ).fetchall()


def test_requests_that_a_kill_cut_short_are_known_until_they_are_recorded_and_counted_for_ever():
    first = Recordings("mock")
    for key in "abc":
        first.start(key, 0.5)
    first.add(make("a"))
    second = Recordings("mock")
    assert (second.under_way, second.cut_usd, list(second.rows)) == (
        {"b": 0.5, "c": 0.5},
        1.0,
        ["a"],
    )
    second.start("b", 0.25)
    second.add(make("b"))
    third = Recordings("mock")
    assert (third.under_way, third.cut_usd, sorted(third.rows)) == ({"c": 0.5}, 1.0, ["a", "b"])
    for _ in range(2):
        assert pack_recordings("mock")["cost_unanswered_usd"] == 1.0, (
            "what may have been paid is told beside the cost"
        )
        assert (Recordings("mock").cut_usd, Recordings("mock").under_way, has_news("mock")) == (
            1.0,
            {"c": 0.5},
            False,
        )


def test_no_request_goes_out_before_its_row_stands_in_the_store(reach, provider, out):
    seen = []
    provider.answer = lambda asked: seen.append(read_requests(out)[-1][1:]) or {"content": "B"}
    door = reach(prices=PRICES)
    for text in ("one", "two"):
        ask(door, MODEL, say(text), max_tokens=20)
    assert [is_recorded for _, is_recorded in seen] == [0, 0] and all(
        bound_usd > 0.002 for bound_usd, _ in seen
    )
    assert describe_cut(reach(prices=PRICES)) == ""
    ask(reach(prices=PRICES, n_requests=3, wait_s=0.01), MODEL, say("recover"))
    assert len(read_requests(out)) == 3, "what is sent again is one request"


def test_what_may_have_been_paid_counts_under_the_ceiling(reach, provider):
    Recordings("mock").start("cut", 0.9)
    door = reach(prices=PRICES, ceiling_usd=0.9001)
    assert "1 requests were under way" in describe_cut(
        door
    ) and "paid, 0.9 USD at most" in describe_cut(door)
    with pytest.raises(LlmError, match=r"0.9 of 0.9001 USD are spent, of which 0.9 at most"):
        ask(door, MODEL, say("one"), max_tokens=20)
    assert not provider.asked


def test_a_damaged_line_of_a_packed_run_is_told(out):
    folder = out / "data/runs/mock"
    folder.mkdir(parents=True)
    joined = b'{"key": "a", "status": "ok"}{"key": "b", "status": "ok"}'
    (folder / PACKED).write_bytes(gzip.compress(b'{"key": "z", "status": "ok"}\n' + joined))
    with pytest.raises(
        ValueError, match=r"mock/requests.jsonl.gz: line 2 is no recording; restore the file"
    ):
        Recordings("mock")


def test_what_was_asked_is_told_by_the_recordings_and_not_by_who_packs_them(out):
    Recordings("mock").add(make("a"))
    asked = {
        "model": "local/qwen",
        "model_sha256": MODELS["qwen"]["sha256"],
        "server": "xllamacpp==1",
    }
    told = pack_recordings("mock", asked)
    assert (told["model"], told["model_sha256"], told["server"]) == (MODEL, None, None)
    local = make(
        "b", request={"model": name_model("qwen")}, recorded_at="2026-05-01T00:00:00+00:00"
    )
    Recordings("mock").add(local)
    told = pack_recordings("mock", asked)
    assert asked.items() <= told.items() and told["models"] == {MODEL: 1, name_model("qwen"): 1}
    assert asked.items() <= pack_recordings("mock", {"model": MODEL, "server": None}).items()


def test_threads_that_write_at_once_share_transactions_and_lose_nothing(out):
    recordings = Recordings("many")
    write = recordings.write_wishes
    n_calls = []

    def write_slowly():
        n_calls.append(1)
        time.sleep(0.02)
        write()

    recordings.write_wishes = write_slowly
    with ThreadPoolExecutor(30) as pool:
        list(pool.map(recordings.start, [f"k{at}" for at in range(90)]))
    assert set(Recordings("many").under_way) == {f"k{at}" for at in range(90)} and len(n_calls) < 45


def test_the_store_may_be_closed_while_a_question_past_its_deadline_writes():
    def write_and_close():
        recordings = Recordings("mock")
        with ThreadPoolExecutor(4) as pool:
            added = [pool.submit(recordings.add, make(f"{n}")) for n in range(200)]
            while not all(future.done() for future in added):
                recordings.close()
        recordings.close()

    child = fork(write_and_close)  # as an error of SQLite's would end the process
    child.join(120)
    assert child.exitcode == 0 and len(Recordings("mock").rows) == 200


def test_a_store_that_takes_no_more_ends_in_one_sentence_and_loses_nothing(reach, provider):
    texts = [f"{i} " + "x" * 4000 for i in range(40)]
    door = reach()
    said = set()
    ask(door, MODEL, say("first"))
    n_pages = door.recordings.connection.execute("PRAGMA page_count").fetchone()[0]
    door.recordings.connection.execute(f"PRAGMA max_page_count = {n_pages + 20}")
    for text in texts:
        try:
            ask(door, MODEL, say(text))
        except OSError as error:
            said.add(str(error))
    (told,) = said
    assert "takes no more recordings (database or disk is full); make room and run again" in told
    n_kept = len(Recordings("mock").rows)
    assert 5 < n_kept < 40 and len(provider.asked) <= n_kept + 1, "what is not kept is not asked"
    door.recordings.close()
    again = reach()
    for text in texts:
        ask(again, MODEL, say(text))
    assert len(Recordings("mock").rows) == 41


def test_packing_sorts_gives_the_same_bytes_whatever_the_order_and_leaves_what_stays(out):
    rows = [make(key, n_output_tokens=8) for key in "abcde"]
    written = []
    for run_id, order in (("one", rows), ("two", rows[::-1])):
        folder = out / "data/runs" / run_id
        recordings = Recordings(run_id)
        for row in [*order, make("s", stays=True)]:
            recordings.add(row)
        recordings.close()
        assert has_news(run_id)
        for _ in range(2):
            facts = pack_recordings(run_id, {"agent": "mock"})
        assert {path.name for path in folder.iterdir()} == {PACKED, "run.json"}
        assert json.loads((folder / "run.json").read_text()) == facts
        written.append((folder / PACKED).read_bytes())
        assert not has_news(run_id) and sorted(Recordings(run_id).rows) == list("abcdes")
    assert written[0] == written[1] and [key for key, *_ in read_requests(out)] == ["s", "s"]
    found = [facts[name] for name in ("agent", "n_recordings", "n_ok", "n_output_tokens")]
    assert found == ["mock", 5, 5, 40]
    Recordings("two").add(make("c", content="new"))
    assert Recordings("two").rows["c"]["content"] == "new", "the store's hold over packed ones"
