"""The Makefile: a notebook runs when what it read has changed, and only then; a failing one changes
nothing."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from builders import read_cases

ROOT = Path(__file__).parents[1]


def start_make(folder, *arguments):
    """Start make in a folder without this test run's settings, in a session of its own, as a
    terminal would."""
    foreign = ("MAKE", "DAYBEFORE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.Popen(command, cwd=folder, env=kept, start_new_session=True, **pipes)


def run_make(folder, *arguments):
    """Run make; returns (exit status, what it printed, what it told of errors)."""
    made = start_make(folder, *arguments)
    printed, told = made.communicate(timeout=300)
    return made.returncode, printed, told


@pytest.fixture
def parts(monkeypatch, tmp_path):
    """.ci on the path, and an empty folder to work in."""
    monkeypatch.syspath_prepend(ROOT / ".ci")
    monkeypatch.chdir(tmp_path)


HERE = f"VENV={sys.prefix}"


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["runn", "AGENT=naive"], "there is no target runn; there are: help figures add "),
        (["11_fake_website"], "and .make/NAME for a notebook of "),
        (["run", "limit=3"], "there is no setting limit; there are: AGENT AGENTS "),
        (["sites", HERE], "make sites wants SITES=, such as SITES=new.csv"),
        (["study", "NOTEBOOK=11_fake", HERE], "there is no notebook 11_fake; there are: "),
    ],
)
def test_a_name_mistyped_is_answered_with_the_names_there_are_and_nothing_runs(typed, told):
    status, printed, said = run_make(ROOT, *typed)
    assert (status, printed) == (2, "") and told in said


MODULES = {
    "__init__": "",
    "figures": "",
    "store": "from pathlib import Path\n\nROOT = Path(__file__).parents[2]",
    "prompts": "from helpers.store import ROOT\n\nPROMPT = (ROOT / 'data/prompts/ask.md').read_text()",
    "agents/tools": "from helpers.store import ROOT\n\nALL = [p.read_text() for p in ROOT.glob('data/sources/*.toml')]",
    "futurex/study": "",
    "futurex/other": "",
}
WRITE = """import os, pathlib

out = pathlib.Path(os.environ["DAYBEFORE_OUT"], "data/tables")
out.mkdir(parents=True)
(out / "n.txt").write_text("1")"""
READ = """from helpers.futurex import study

open("../data/tables/n.txt").read()"""
ASK = "from helpers.prompts import PROMPT"
WORK = """from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

with ProcessPoolExecutor(1, get_context("spawn")) as workers:
    workers.submit(exec, "import helpers.agents.tools").result()
print("one", flush=True)
print("two", flush=True)"""
KIT = {"40_first": WRITE, "41_second": READ, "42_prompt": ASK, "43_work": WORK}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A small kit, once drawn by the real Makefile."""
    if not has_environment():
        pytest.skip("needs the environment that make sets up; run it by `make test`")
    folder = make_kit(tmp_path_factory.mktemp("drawn") / "a kit")  # a checkout path with a space
    assert make_figures(folder)[:2] == (0, sorted(KIT))
    return folder


def has_environment():
    """Say whether this environment is the lock's; else make would set it up anew."""
    ready = Path(sys.prefix, ".ready")
    return ready.exists() and ready.read_bytes() == (ROOT / "requirements.lock").read_bytes()


def make_kit(folder):
    """Make a small kit of four notebooks, the second reading the first's table; returns its
    folder."""
    shutil.copytree(ROOT / ".ci", folder / ".ci", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(ROOT / "requirements.lock", folder)
    warm = (ROOT / ".ci/warm.py").read_text(encoding="utf-8")
    texts = {f"src/helpers/{name}.py": f"{code}\n" for name, code in MODULES.items()} | {
        "data/sources/a.toml": "",
        "data/sources/b.toml": "",
        "data/prompts/ask.md": "",
        "Makefile": f"{(ROOT / 'Makefile').read_text()}\n.make/41_second: | .make/40_first\n",
        ".ci/warm.py": re.sub("pandas seaborn .*", "pandas", warm),  # all that these need
    }
    for file, text in texts.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
    (folder / "notebooks").mkdir()
    for name, code in KIT.items():
        make_notebook(folder, name, code)
    return folder


@pytest.fixture
def kit(drawn, tmp_path):
    """The drawn kit, to change at will."""
    return shutil.copytree(drawn, tmp_path / "kit")


def make_notebook(folder, name, code):
    """Write notebooks/<name>.ipynb of one cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code, id="only")])
    nbformat.write(notebook, folder / f"notebooks/{name}.ipynb")


def make_figures(kit, *options):
    """Run `make figures`; returns its exit status, the notebooks that ran, and all it said."""
    status, printed, told = run_make(kit, *options, "figures", HERE)
    ran = re.findall(r"^\[[ \d]+/\d+\] (\d\d_\w+) [\d.]+ s", printed, re.M)
    return status, sorted(ran), printed + told


def list_stale(kit):
    """Return the notebooks that `make -n figures` would run."""
    status, printed, told = run_make(kit, "-n", "figures", HERE)
    assert status == 0, told
    return sorted(re.findall(r"notebook\.py (\d\d_\w+)", printed))


def read_results(kit):
    """Return the bytes of all that a run may change."""
    rooms = [kit / room for room in ("notebooks", "data", "figures")]
    return {path: path.read_bytes() for room in rooms for path in sorted(room.rglob("*.*"))}


@pytest.mark.parametrize("case", read_cases(__file__, "stale"), ids=lambda case: case["touched"])
def test_what_a_changed_file_makes_out_of_date(drawn, case):
    """A study, a prompt, what a worker reads or imports; of a notebook's readers none, until its
    table changes."""
    path = drawn / case["touched"]
    before = path.stat()
    os.utime(path)
    assert list_stale(drawn) == case["stale"]
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_figures_runs_what_is_out_of_date_and_leaves_all_as_it_was_when_a_cell_fails(kit):
    first = read_results(kit)
    second = kit / "notebooks/41_second.ipynb"
    (cell,) = json.loads(first[second])["cells"]
    assert cell["outputs"][0]["data"]["text/plain"] == ["'1'"], "it reads what the first wrote"
    assert "papermill" not in str(first[second])

    status, ran, said = make_figures(kit)
    assert (status, ran) == (0, []), "nothing changed, nothing runs"
    assert said.splitlines()[-1].startswith("up to date: open figures/index.html")
    os.utime(kit / "notebooks/40_first.ipynb")
    status, ran, said = make_figures(kit)
    assert (status, ran) == (0, ["40_first"]), "an unchanged table leaves its reader alone"
    assert re.search(r"^\[ 1/1\] 40_first [\d.]+ s, about 0 s to go$", said, re.M)
    assert read_results(kit) == first, "the same bytes on every run"

    (kit / "data/tables/n.txt").write_text("9")
    assert "40_first" in make_figures(kit)[1], "what another hand changed is made again"
    assert read_results(kit) == first

    make_notebook(kit, "40_first", WRITE.replace('"1"', '"2"'))
    assert make_figures(kit)[:2] == (0, ["40_first", "41_second"]), "a changed table is read again"
    assert "'2'" in second.read_text(encoding="utf-8")

    make_notebook(kit, "40_first", WRITE.replace('"1")', '"3") / 0'))
    make_notebook(kit, "42_prompt", 'open("../data/tables/n.txt").read()')
    before = read_results(kit)
    status, ran, said = make_figures(kit, "-k")
    assert (status != 0, ran) == (True, [])
    assert "40_first.ipynb: cell [1] failed with ZeroDivisionError: division by zero" in said
    assert "42_prompt.ipynb, which reads data/tables/n.txt, must follow 40_first" in said
    assert read_results(kit) == before
    assert "ZeroDivisionError" in (kit / ".make/40_first.partial.ipynb").read_text(encoding="utf-8")
    assert list_stale(kit) == ["40_first", "42_prompt"], "they are still to be done"


@pytest.mark.parametrize(
    "path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem
)
def test_every_notebook_is_kept_in_the_one_form(path, parts):
    from form import put_in_form

    notebook = nbformat.read(path, as_version=4)
    put_in_form(notebook)
    assert nbformat.writes(notebook) + "\n" == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["", "<<<<<<< HEAD", '{"nbformat": 4, "cells": 3}'])
def test_a_damaged_notebook_is_told_in_a_sentence_and_nothing_is_made_of_it(tmp_path, parts, text):
    from notebook import run_notebook

    path = tmp_path / "notebooks/40_first.ipynb"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(SystemExit, match=r"^notebooks/40_first.ipynb cannot be read as a notebook"):
        run_notebook(path.stem)
    assert (path.read_text(), os.listdir(tmp_path)) == (text, ["notebooks"])


def test_an_old_or_absent_python_is_said_in_a_sentence(tmp_path):
    old = tmp_path / "python-old"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.8.1 && exit 0\nexit 1\n')
    old.chmod(0o755)
    for python, offer in ((str(old), "Python 3.8.1"), ("python-absent", "no python-absent")):
        status, printed, told = run_make(
            ROOT, "lint", f"VENV={tmp_path / 'none'}", f"PYTHON={python}"
        )
        assert status and "Traceback" not in told + printed
        assert f"Python 3.11 or newer is needed and this machine offers {offer}." in told


def test_an_unpacked_zip_has_no_run_bits_and_a_home_may_be_read_only(tmp_path, monkeypatch):
    for name in ("Makefile", "requirements.lock"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci", copy_function=shutil.copyfile)
    python = tmp_path / "new/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(
        '#!/bin/sh\ncase $1 in -c) exit 0;; esac\necho "$XDG_CACHE_HOME" >&2\nexit 1\n'
    )
    python.chmod(0o755)
    monkeypatch.setenv("HOME", "/dev/null")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    _, _, told = run_make(tmp_path, "lint", "VENV=new")
    assert "/dev/null/.cache cannot be written; caches go to new/cache" in told
    assert str(tmp_path / "new/cache") in (tmp_path / "new/setup.log").read_text()


def start_warm(folder, script, **pipes):
    """Start a shell's script below the server of warm Pythons, as make is started."""
    command = [sys.executable, "-S", ROOT / ".ci/warm.py", "with", "sh", "-c", script]
    return subprocess.Popen(command, cwd=folder, text=True, **pipes)


def test_of_two_makes_in_one_folder_the_second_says_so_and_waits(tmp_path):
    wait = "touch begun; while [ ! -e go ]; do sleep 0.05; done; echo first >>order"
    with start_warm(tmp_path, wait) as first:
        while not (tmp_path / "begun").exists():
            assert first.poll() is None
            time.sleep(0.05)
        with start_warm(tmp_path, "echo second >>order", stderr=subprocess.PIPE) as second:
            told = second.stderr.readline()
            (tmp_path / "go").touch()
    assert told.startswith("another make is at work in this folder; this one waits")
    assert (first.returncode, second.returncode) == (0, 0)
    assert (tmp_path / "order").read_text().split() == ["first", "second"]


def test_what_outlives_the_command_ends_with_it(drawn, tmp_path):
    """As a kernel does, in a session of its own, when Ctrl-C has ended make and the notebook that
    started it."""
    (tmp_path / "nap.py").write_text("import time\n\nopen('begun', 'w').close()\ntime.sleep(600)")
    shutil.copy(drawn / ".ci/warm.py", tmp_path)
    line = f"setsid '{sys.executable}' -S warm.py nap.py & while [ ! -e begun ]; do sleep 0.1; done"
    command = [sys.executable, "warm.py", "with", "sh", "-c", line]
    assert subprocess.run(command, cwd=tmp_path, timeout=150, check=False).returncode == 0
