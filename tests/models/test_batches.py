"""Tests of batches, by the real command against a provider on loopback that has the interface."""

import os
import signal
import sys
import time
from functools import partial

import pytest
from builders import fork
from faults.accidents import Stage
from mock_batches import BatchServer
from serving import run_server

from daybefore.agents.registry import load_entries
from daybefore.commands.main import carry_out
from daybefore.models.recordings import read_batches
from daybefore.store import read_runs

N = 6
COST = 0.5 * (50 * 10 + 8 * 100) / 1e6
"""US dollars a question: half the price of its tokens."""


class Batches(Stage):
    """A checkout of links whose command asks the provider of batches."""

    def ask(self, *arguments, batch=True):
        """Run the command to its end, in this process; returns (exit code, what it said)."""
        code = 0
        try:
            carry_out(["run", "--agent=mine", f"--limit={N}", *["--batch"] * batch, *arguments])
        except SystemExit as stopped:
            code = stopped.code if isinstance(stopped.code, int) else 1
            print(stopped)
        return code, "".join(self.capture.readouterr())

    def end_at(self, moment, number):
        """Run the command in a process of its own, and send it a signal when its provider has come
        to a moment, before the reply goes out; returns how it ended."""
        self.server.at = lambda now: os.kill(child.pid, number) if now == moment else None
        child = fork(self.tell)
        child.join(60)
        self.server.at = lambda now: None
        return child.exitcode

    def tell(self):
        with open(self.folder / "said.txt", "w") as sys.stdout:
            code, said = self.ask()
            print(said, flush=True)
        os._exit(code)

    @property
    def path(self):
        return self.folder / "out/data/runs/store.sqlite"

    def read(self):
        """Return how often each status is stored of the model's replies."""
        replies = read_runs(self.path, "replies")
        mine = replies[replies["run_id"].str.startswith("mine-")]
        return mine["status"].value_counts().to_dict()


@pytest.fixture
def stage(warm, tmp_path, monkeypatch, capsys):
    with run_server(server := BatchServer()):
        stage = Batches(tmp_path, server)
        stage.capture = capsys
        agents = partial(load_entries, tmp_path / "data/agents.toml")
        monkeypatch.setattr("daybefore.commands.run_service.load_entries", lambda **_: agents())
        monkeypatch.setattr("daybefore.commands.run_service.load_agents", lambda wanted: {})
        monkeypatch.setattr("daybefore.models.batches.time.sleep", partial(nap, time.sleep))
        monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "out"))
        yield stage


def nap(sleep, seconds):
    sleep(seconds / 50)


def test_a_batch_is_asked_once_at_half_the_price_and_replayed(stage):
    code, said = stage.ask("--ceiling=1")
    assert code == 0 and f"{N} of {N} answered, 0 failed, completed" in said, said
    assert stage.read() == {"ok": N} and set(stage.server.billed.values()) == {1}
    costs = read_runs(stage.path, "replies")["cost_usd"].dropna()
    assert costs.tolist() == pytest.approx([COST] * N)
    assert stage.server.asked[0]["max_tokens"] == 20 and read_batches(stage.path, "mine-A") == []
    assert stage.ask("--ceiling=1")[0] == 0 and len(stage.server.asked) == N


@pytest.mark.parametrize("moment", ["uploaded", "created", "looked", "read"])
def test_a_killed_run_finds_its_batch_and_pays_nothing_twice(stage, moment):
    assert stage.end_at(moment, signal.SIGKILL) == -signal.SIGKILL
    if moment != "uploaded":
        code, said = stage.ask(batch=False)
        wanted = f"a batch of {N} questions is under way; --batch takes its replies; nothing"
        assert code == 1 and wanted in said
    if moment == "created":  # what was answered to the others is kept
        assert stage.ask("--limit=2")[0] == 0 and stage.read() == {"ok": 2}
    code, said = stage.ask()
    assert code == 0, said
    assert stage.server.billed.total() == N and stage.read() == {"ok": N}


def test_an_interrupted_run_leaves_its_batch_to_the_provider(stage):
    assert stage.end_at("looked", signal.SIGINT) == 130
    said = (stage.folder / "said.txt").read_text()
    assert "goes on at the provider: the same command takes its replies" in said
    assert stage.ask()[0] == 0 and stage.server.billed.total() == N


def test_what_a_batch_does_not_answer_is_asked_by_the_next_and_what_was_paid_is_kept(stage):
    prompts = {}
    fates = ["expired", "lost", 500, 400, "broken", "ok"]
    stage.server.fate = lambda prompt: prompts.setdefault(prompt, fates[len(prompts) % N])
    stage.server.ends = "expired"
    code, said = stage.ask()
    assert code == 0 and "expired" in said, said
    assert stage.read() == {"error": 4, "ok": 1, "unreadable": 1}
    stage.server.fate = lambda prompt: "ok"
    assert stage.ask()[0] == 0 and len(stage.server.asked) == N + 4
    assert stage.read() == {"ok": 5, "unreadable": 1}
    assert stage.ask("--retry")[0] == 0 and stage.read() == {"ok": N}


def test_a_ceiling_holds_for_a_batch_and_the_rest_goes_out_as_replies_leave_room(stage):
    code, said = stage.ask("--ceiling=0.0095")
    assert code == 3 and "has reached its ceiling" in said, said
    assert 0 < stage.server.billed.total() < N and stage.server.billed.total() * COST <= 0.0095
    assert len([name for name in stage.server.kept if name.startswith("batch")]) > 1
    assert stage.ask("--ceiling=1")[0] == 0 and stage.server.billed.total() == N


@pytest.mark.parametrize(("refusal", "n_kept"), [(400, 0), (500, 1)])
def test_a_batch_that_is_refused_ends_in_a_sentence(stage, refusal, n_kept):
    stage.server.at = lambda now: refusal if now == "created" else None
    code, said = stage.ask()
    kept = read_batches(stage.path, "mine-A")
    assert code == 1 and f"{refusal}" in said and len(kept) == n_kept, said
    stage.server.at = lambda now: None
    assert stage.ask()[0] == 0
    n_twice = stage.server.billed.total() - N
    assert n_twice == (N if refusal == 400 else 0), "the mock made the batch that it refused"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"method": "react"}, "--batch is for methods of one"),
        ({"model": "anthropic/claude-x"}, "--batch is for models"),
    ],
)
def test_what_takes_no_batch_says_so(stage, changes, sentence):
    stage.write(**changes)
    code, said = stage.ask()
    assert code == 1 and sentence in said and not stage.server.asked, said
