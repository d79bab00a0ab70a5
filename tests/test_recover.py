"""A store is broken, and got back: by its copy, and by what can still be read."""

import json
from contextlib import closing

import pytest

from daybefore.store import CHECKED, COPY, keep_copy, open_store, read_runs, recover_store

N = 400
TEXT = "x" * 900


def save(store, numbers):
    recording = json.dumps({"content": TEXT})
    store.execute("BEGIN")
    for n in numbers:
        reply = ("r", f"e{n}", 0, "ok", TEXT)
        store.execute(
            "INSERT INTO replies (run_id, event_id, sample, status, reply) VALUES (?, ?, ?, ?, ?)",
            reply,
        )
        store.execute(
            "INSERT INTO requests (run, key, recording) VALUES ('r', ?, ?)", (f"k{n}", recording)
        )
    store.execute("COMMIT")


@pytest.fixture
def path(tmp_path):
    """A store of N replies, the first half of which a copy holds."""
    path = tmp_path / "store.sqlite"
    with closing(open_store(path)) as store:
        store.execute("INSERT INTO runs (run_id) VALUES ('r')")
        save(store, range(N // 2))
        keep_copy(path)
        save(store, range(N // 2, N))
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def damage(path, start, n_bytes):
    body = bytearray(path.read_bytes())
    body[start : start + n_bytes] = b"\xff" * n_bytes
    path.write_bytes(body)
    CHECKED.clear()  # as in a process of its own


def test_a_bad_page_costs_nothing_that_stands_elsewhere(path):
    damage(path, 20 * 4096, 4096)
    with pytest.raises(ValueError, match="cannot be read .*`daybefore recover"):
        open_store(path)
    found = recover_store(path)
    assert found["replies"] >= N - 5 and found["requests"] >= N - 5
    assert len(read_runs(path, "replies")) == found["replies"]
    assert (path.parent / found["damaged"]).exists()


@pytest.mark.parametrize("keeps_copy", [True, False])
def test_a_bad_page_after_the_copy_loses_only_its_own_rows(path, keeps_copy):
    if not keeps_copy:
        path.with_name(path.name + COPY).unlink()
    size = path.stat().st_size
    damage(path, size // 2 // 4096 * 4096, 4096)
    found = recover_store(path)
    assert found["replies"] >= N - 4 and found["requests"] >= N - 4


def test_a_store_without_a_readable_head_is_its_copy(path):
    damage(path, 0, 8192)
    found = recover_store(path)
    assert (found["runs"], found["replies"], found["requests"]) == (1, N // 2, N // 2)


def test_recovering_a_whole_store_loses_nothing(path):
    before = read_runs(path, "replies")
    assert recover_store(path)["replies"] == N
    assert read_runs(path, "replies").equals(before)
    assert recover_store(path)["damaged"].endswith("damaged-2")


def test_without_a_store_there_is_nothing_to_recover(tmp_path):
    with pytest.raises(FileNotFoundError, match="to recover"):
        recover_store(tmp_path / "store.sqlite")


def test_a_file_that_may_not_be_written_is_no_damage(path, monkeypatch):
    monkeypatch.setattr("daybefore.store.os.access", lambda *about: False)
    path.write_bytes(b"no store")
    CHECKED.clear()
    with pytest.raises(ValueError, match="may not be read or written here .*DAYBEFORE_OUT"):
        open_store(path)
