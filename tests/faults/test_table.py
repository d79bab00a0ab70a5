"""A short run of the faults; `make faults` plays them all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from faults import breaking
from faults.table import play_fault

TRIED = [
    "two replies to one request",
    "content a list",
    "usage in words",
    "usage NaN",
    "log probabilities of null",
    "model a number",
    "code 206",
]
"""Lies that were believed, asked three times or let an exception out, before they were mended."""


def test_lies_that_once_were_believed_are_not():
    command = [sys.executable, "-m", "faults.table", *TRIED]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, timeout=200)
    assert f"{len(TRIED)} of {len(TRIED)} held" in done.stdout, done.stderr
    assert done.returncode == 0 and "Warning" not in done.stderr


def test_what_does_not_hold_raises_or_dies_is_seen():
    assert play_fault(lambda folder: (3, False, "all lost"))[:3] == (3, False, "all lost")
    n, held, seen, measured = play_fault(lambda folder: {}["absent"])
    assert (n, held) == (1, False) and "KeyError: 'absent'" in seen and measured["peak_mb"] > 10
    assert play_fault(lambda folder: os._exit(9))[1:3] == (False, "the process that played it died")


DAMAGE = (breaking.damage_ledger, breaking.damage_recording)


@pytest.mark.parametrize("play", DAMAGE, ids=lambda play: play.__name__)
def test_a_damaged_file_is_named_and_left_as_it_is(play, tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    n, held, seen = play(tmp_path, n=12)
    assert held, seen
