"""Tests of batches, by the real command against a provider on loopback that has the interface."""

import os
import signal
import subprocess
import sys

import pytest
from faults.accidents import Stage
from mock_batches import BatchServer
from serving import run_server

from daybefore.agents.registry import load_entries
from daybefore.commands.main import carry_out
from daybefore.models.recordings import read_batches
from daybefore.store import read_runs

N = 12


class Batches(Stage):
    """A checkout of links whose command asks the provider of batches."""

    def begin(self, *arguments):
        """Start the command and return its process."""
        own = {
            "DAYBEFORE_ROOT": str(self.folder),
            "DAYBEFORE_OUT": str(self.folder / "out"),
            "TQDM_DISABLE": "1",
        }
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "DAYBEFORE", "OPENAI"))
        } | own
        command = [
            sys.executable,
            "-m",
            "daybefore",
            "run",
            "--agent=mine",
            f"--limit={N}",
            *arguments,
        ]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(command, env=kept, cwd=self.folder, **pipes)

    def ask(self, *arguments, batch=True):
        """Run the command to its end, in this process; returns (exit code, what it said)."""
        code = 0
        try:
            carry_out(["run", "--agent=mine", f"--limit={N}", *["--batch"] * batch, *arguments])
        except SystemExit as stopped:
            code = stopped.code if isinstance(stopped.code, int) else 1
            print(stopped)
        return code, "".join(self.capture.readouterr())

    def load_entries(self):
        """Return the registry's agents, for what is run in this process."""
        return load_entries(self.folder / "data/agents.toml")

    @property
    def path(self):
        return self.folder / "out/data/runs/store.sqlite"

    def read(self):
        """Return the model's replies that are stored."""
        replies = read_runs(self.path, "replies")
        return replies[replies["run_id"].str.startswith("mine-")]


@pytest.fixture
def stage(warm, tmp_path, monkeypatch, capsys):
    with run_server(server := BatchServer()):
        stage = Batches(tmp_path, server)
        stage.capture = capsys
        monkeypatch.setattr(
            "daybefore.commands.service.load_entries", lambda **_: stage.load_entries()
        )
        monkeypatch.setattr("daybefore.commands.service.load_agents", lambda wanted: {})
        monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "out"))
        yield stage


def test_a_batch_is_asked_once_at_half_the_price_and_replayed(stage):
    code, said = stage.ask("--ceiling=1")
    assert code == 0 and "12 of 12 answered, 0 failed, completed" in said, said
    replies = stage.read()
    assert set(replies["status"]) == {"ok"} and set(stage.server.billed.values()) == {1}
    assert replies["cost_usd"].tolist() == pytest.approx([0.5 * (50 * 10 + 8 * 100) / 1e6] * N)
    assert stage.server.asked[0]["max_tokens"] == 20 and read_batches(stage.path, "mine-A") == []
    assert stage.ask("--ceiling=1")[0] == 0 and len(stage.server.asked) == N


def kill_at(stage, moment):
    """Run the command and kill it when its provider has come to a moment, before the reply goes
    out."""

    def kill(now):
        if now == moment:
            process.send_signal(signal.SIGKILL)
            process.wait()

    stage.server.at = kill
    process = stage.begin("--batch")
    process.communicate(timeout=200)
    assert process.returncode == -signal.SIGKILL
    stage.server.at = lambda now: None


@pytest.mark.parametrize("moment", ["uploaded", "created", "looked", "read"])
def test_a_killed_run_finds_its_batch_and_pays_nothing_twice(stage, moment):
    kill_at(stage, moment)
    if moment != "uploaded":
        code, said = stage.ask(batch=False)
        assert (
            code == 1
            and "a batch of 12 questions is under way; --batch takes its replies; nothing" in said
        )
    code, said = stage.ask()
    assert code == 0, said
    assert (
        stage.server.billed.total() == N
        and set(stage.read()["status"]) == {"ok"}
        and len(stage.read()) == N
    )


def test_what_a_batch_does_not_answer_is_asked_by_the_next_and_what_was_paid_is_kept(stage):
    prompts = {}
    fates = ["expired", "lost", 500, 400, "broken", "ok"]
    stage.server.fate = lambda prompt: prompts.setdefault(prompt, fates[len(prompts) % 6])
    stage.server.ends = "expired"
    code, said = stage.ask()
    assert code == 0 and "expired" in said, said
    counts = stage.read()["status"].value_counts().to_dict()
    assert counts == {"error": 8, "ok": 2, "unreadable": 2}
    stage.server.fate, before = (lambda prompt: "ok"), len(stage.server.asked)
    assert stage.ask()[0] == 0 and len(stage.server.asked) == before + 8
    assert stage.read()["status"].value_counts().to_dict() == {"ok": 10, "unreadable": 2}
    assert stage.ask("--retry")[0] == 0 and set(stage.read()["status"]) == {"ok"}


def test_a_smaller_limit_keeps_what_a_batch_answered_to_the_others(stage):
    kill_at(stage, "created")
    assert stage.ask("--limit=4")[0] == 0 and len(stage.read()) == 4
    assert (
        stage.ask()[0] == 0
        and stage.server.billed.total() == N
        and set(stage.read()["status"]) == {"ok"}
    )


def test_a_ceiling_holds_for_a_batch_and_the_rest_goes_out_as_replies_leave_room(stage):
    code, said = stage.ask("--ceiling=0.012")
    assert (
        0 < stage.server.billed.total() < N and code == 3 and "has reached its ceiling" in said
    ), said
    assert stage.server.billed.total() * 0.5 * (50 * 10 + 8 * 100) / 1e6 <= 0.012
    assert len([name for name in stage.server.kept if name.startswith("batch")]) > 1
    assert stage.ask("--ceiling=1")[0] == 0 and stage.server.billed.total() == N


@pytest.mark.parametrize(("refusal", "n_kept"), [(400, 0), (500, 1)])
def test_a_batch_that_is_refused_ends_in_a_sentence(stage, refusal, n_kept):
    stage.server.at = lambda now: refusal if now == "created" else None
    code, said = stage.ask()
    assert (
        code == 1 and f"{refusal}" in said and len(read_batches(stage.path, "mine-A")) == n_kept
    ), said
    stage.server.at = lambda now: None
    assert stage.ask()[0] == 0
    n_twice = stage.server.billed.total() - N
    assert n_twice == (N if refusal == 400 else 0), "the mock made the batch that it refused"


def test_an_interrupted_run_leaves_its_batch_to_the_provider(stage):
    stage.server.at = lambda now: process.send_signal(signal.SIGINT) if now == "looked" else None
    process = stage.begin("--batch")
    said = process.communicate(timeout=200)[0]
    assert (
        process.returncode == 130
        and "goes on at the provider: the same command takes its replies" in said
    ), said
    stage.server.at = lambda now: None
    assert stage.ask()[0] == 0 and stage.server.billed.total() == N


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
