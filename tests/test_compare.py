"""The comparison of figures' numbers and tables with those of a commit, in a repository of its own."""

import gzip
import importlib.util
import os
import subprocess
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("compare", Path(__file__).parents[1] / ".ci/compare.py")
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)

SCORES = "data/tables/A/scores.csv.gz"
FIGURE = "figures/one.csv"
HEAD = "run_id,event_id,sample,metric,score,reason\n"


def put(folder, path, text):
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(text.encode(), mtime=0) if path.endswith(".gz") else text.encode())


def run_git(*command):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *command], check=True)


@pytest.fixture
def compare(tmp_path, monkeypatch, capsys):
    """A repository with one table and two figures; returns what compares it with its commit: (status, lines)."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    put(tmp_path, SCORES, HEAD + "a-A-00000001,e1,0,f1,0.5,\na-A-00000001,e2,0,f1,0.25,\n")
    put(tmp_path, FIGURE, "label,score,note\nx,0.5,\ny,0.75,\n")
    put(tmp_path, "figures/index.csv", "figure,n\none,2\n")
    run_git("init", "-q")
    run_git("add", "-A")
    run_git("commit", "-qm", "one")

    def call():
        return script.main("HEAD"), capsys.readouterr().out.splitlines()

    return call


def test_renamed_runs_other_order_and_added_columns_are_no_difference(compare, tmp_path):
    assert compare() == (0, ["3 files equal, 0 equal but for what was added, 0 differ"])
    put(tmp_path, SCORES, HEAD + "a-A,e2,0,f1,.250,\na-A,e1,0,f1,0.5,\n")
    put(tmp_path, FIGURE, "label,score,note,more\ny,0.75,n,1\nx,0.5,,2\n")
    put(tmp_path, "figures/two.csv", "a\n1\n")
    assert compare() == (
        0,
        [
            f"added   {FIGURE}: columns added: more, note",
            "added   figures/two.csv: only now",
            "2 files equal, 2 equal but for what was added, 0 differ",
        ],
    )


def test_values_rows_and_columns_that_differ_are_told_and_fail(compare, tmp_path):
    put(tmp_path, SCORES, HEAD + "a-A-00000002,e1,0,f1,0.5,why\na-A-00000002,e3,0,f1,0.25,\n")
    put(tmp_path, FIGURE, "label,score\ny,0.5\nx,0.375\n")
    status, lines = compare()
    assert status == 1
    assert lines == [
        f"DIFFERS {SCORES}: 1 rows only before, the first run_id=a-A event_id=e2 sample=0 metric=f1",
        f"DIFFERS {SCORES}: 1 rows only now, the first run_id=a-A event_id=e3 sample=0 metric=f1",
        f"added   {SCORES}: columns added: reason",
        f"DIFFERS {FIGURE}: columns gone: note",
        f"DIFFERS {FIGURE}: score: 2 values differ (up to 0.25), first label=x: '0.5' -> '0.375'",
        "1 files equal, 0 equal but for what was added, 2 differ",
    ]
    put(tmp_path, FIGURE, "label,score,note\nx,half,\ny,0.75,\n")
    assert f"DIFFERS {FIGURE}: score: 1 values differ (not all numbers), first label=x: '0.5' -> 'half'" in compare()[1]
