"""The Makefile: what it says of dependencies is what the code imports, and a failing notebook changes nothing."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]


def run_make(folder, *arguments):
    """Run make in a folder without this test run's own settings; returns the finished process."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "DAYBEFORE"))}
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def test_help_names_every_target_a_person_may_call():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    explained = set(re.findall(r"^([a-z]+):.*## ", text, re.MULTILINE))
    shown = {line.split()[0] for line in run_make(ROOT).stdout.splitlines()[1:]}
    assert shown == explained
    assert shown >= {"figures", "test", "run", "lab", "lint", "slice", "lock", "offline", "clean"}


@pytest.fixture
def kit(tmp_path):
    """A small kit of two chained notebooks, run by the real Makefile in this environment."""
    ready = Path(sys.prefix, ".ready")
    if not ready.exists() or ready.read_bytes() != (ROOT / "requirements.lock").read_bytes():
        pytest.skip("needs the environment that make sets up; run it by `make test`")
    for folder in ("src/helpers", ".ci"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("Makefile", "requirements.lock"):
        shutil.copy2(ROOT / file, tmp_path)
    with open(tmp_path / "Makefile", "a", encoding="utf-8") as makefile:
        makefile.write("\n.make/41_second: .make/40_first\n.make/42_alone: $(call files,$(store))\n")
    (tmp_path / "notebooks").mkdir()
    write = "import os, pathlib\n\nout = pathlib.Path(os.environ['DAYBEFORE_OUT'], 'data')\nout.mkdir()\n"
    make_notebook(tmp_path, "40_first", write + "(out / 'n.txt').write_text('1')")
    make_notebook(tmp_path, "41_second", "open('../data/n.txt').read()")
    make_notebook(tmp_path, "42_alone", "1 + 1")
    return tmp_path


def make_notebook(folder, name, code):
    """Write notebooks/<name>.ipynb of one cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code, id="only")])
    nbformat.write(notebook, folder / f"notebooks/{name}.ipynb")


def make_figures(kit):
    """Run `make figures`; returns its exit status, the notebooks that ran, and all it said."""
    done = run_make(kit, "figures", f"VENV={sys.prefix}")
    return done.returncode, sorted(re.findall(r"^(\d\d_\w+)  [\d.]+ s$", done.stdout, re.M)), done.stdout + done.stderr


def read_results(kit):
    """Return the bytes of all that a run may change."""
    return {
        path: path.read_bytes()
        for room in ("notebooks", "data", "figures")
        for path in sorted((kit / room).rglob("*.*"))
    }


def test_figures_runs_what_is_out_of_date_and_leaves_all_as_it_was_when_a_cell_fails(kit):
    assert make_figures(kit)[:2] == (0, ["40_first", "41_second", "42_alone"])
    first = read_results(kit)
    cells = json.loads(first[kit / "notebooks/41_second.ipynb"])["cells"]
    assert cells[0]["outputs"][0]["data"]["text/plain"] == ["'1'"], "the second reads what the first wrote"
    assert "papermill" not in str(first[kit / "notebooks/41_second.ipynb"])

    assert make_figures(kit)[:2] == (0, []), "nothing changed, nothing runs"
    os.utime(kit / "src/helpers/store.py")
    assert make_figures(kit)[:2] == (0, ["42_alone"]), "one helper, one notebook"
    os.utime(kit / "notebooks/40_first.ipynb")
    assert make_figures(kit)[:2] == (0, ["40_first", "41_second"]), "what reads a notebook's outputs runs after it"
    assert read_results(kit) == first, "the same bytes on every run"

    broken = first[kit / "notebooks/40_first.ipynb"].replace(b"write_text('1')", b"write_text('2') / 0")
    (kit / "notebooks/40_first.ipynb").write_bytes(broken)
    for _ in range(2):
        status, ran, said = make_figures(kit)
        assert (status != 0, ran) == (True, [])
        assert "notebooks/40_first.ipynb: cell [1] failed with ZeroDivisionError: division by zero" in said
        assert read_results(kit) == {**first, kit / "notebooks/40_first.ipynb": broken}


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import warnings\n\nwarnings.warn('old', stacklevel=1)", "writes to stderr"),
        ("object()", "shows an object's address"),
        ("import os\n\nos.getcwd()", "shows a path of this machine"),
        (
            "import os, pathlib\n\npathlib.Path(os.environ['DAYBEFORE_OUT'], 'x.txt').write_text('1')",
            "holds x.txt; a notebook writes under",
        ),
    ],
)
def test_a_notebook_that_would_differ_elsewhere_is_refused(kit, code, message):
    make_notebook(kit, "40_first", code)
    before = read_results(kit)
    done = run_make(kit, ".make/40_first", f"VENV={sys.prefix}")
    assert done.returncode != 0
    assert message in done.stderr + done.stdout
    assert read_results(kit) == before


def test_an_old_or_absent_python_is_said_in_a_sentence(tmp_path):
    old = tmp_path / "python-old"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.8.1 && exit 0\nexit 1\n')
    old.chmod(0o755)
    for python, offer in ((str(old), "Python 3.8.1"), ("python-absent", "no python-absent")):
        done = run_make(ROOT, "lint", f"VENV={tmp_path / 'none'}", f"PYTHON={python}")
        assert done.returncode != 0
        assert f"Python 3.11 or newer is needed and this machine offers {offer}." in done.stderr
        assert "Traceback" not in done.stderr + done.stdout


def test_a_registry_that_does_not_answer_is_said_in_a_sentence(tmp_path):
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""}
    done = subprocess.run(
        [ROOT / ".ci/setup", tmp_path / "venv", "requirements.lock"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "UV_CACHE_DIR": str(tmp_path), **nowhere},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode != 0
    assert "no package registry answered" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "venv/.ready").exists(), "an unfinished environment is not taken for a finished one"
