"""The command `daybefore`: what it hands on, what it ends with, what stands on standard output."""

import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from daybefore.commands import main as cli
from daybefore.commands.main import CODES, SETTINGS, daybefore, main
from daybefore.commands.terminal import PartWay, show, tell
from daybefore.formats.write_exports import WRITERS
from daybefore.live.market_venues import VENUES
from helpers.tables import HORIZONS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def plant(monkeypatch):
    """A function that lets `daybefore export` call another, in an environment that is put back."""
    for name in SETTINGS:
        monkeypatch.setenv(name, os.environ.get(name, ""))
    return lambda work: monkeypatch.setitem(
        sys.modules, "daybefore.commands.export", types.SimpleNamespace(main=work)
    )


def test_settings_and_words_are_those_of_the_makefile_and_the_rooms():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    made = dict(re.findall(r"^export (\w+) := ([\w.]+)$", text, re.MULTILINE))
    assert SETTINGS == {name: value for name, value in made.items() if name != "TQDM_DISABLE"}
    assert cli.HORIZONS == HORIZONS
    assert cli.FORMS == tuple(WRITERS) and cli.VENUES == (*VENUES,)


def test_help_imports_no_library_and_every_option_is_explained():
    code = (
        "import contextlib, sys\nfrom daybefore.commands.main import main\nmain(['--help'])\n"
        "print(sorted({'numpy', 'pandas', 'litellm', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.endswith("\n[]\n") and "130 interrupted" in done.stdout
    for name, one in daybefore.commands.items():
        assert f"\n  {name} " in done.stdout and f"daybefore {name}" in one.epilog
        assert all(option.help for option in one.params if option.param_type_name == "option")


def fail(problem):
    def work(**given):
        raise problem

    return work


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (KeyboardInterrupt(), 130),
        (FileNotFoundError("no checkout was found here"), "daybefore export: no checkout was found here"),
        (NotADirectoryError(20, "Not a directory", "/a/b"), "daybefore export: /a/b cannot be read or written (not a "
         "directory); make room, or set DAYBEFORE_OUT to a folder that can be written; the same command goes on"),
        (ValueError("a reply: \x1b[2J\x9b31m"), r"daybefore export: a reply: \x1b[2J\x9b31m"),
        (SystemExit(3), 3),
    ],
)  # fmt: skip
def test_a_command_ends_as_a_shell_wants_it_and_json_says_why(problem, code, plant, capfd):
    plant(fail(problem))
    with pytest.raises(SystemExit) as ending:
        main(["export", "mine", "--to", "inspect"])
    assert ending.value.code == code
    with pytest.raises(SystemExit):
        main(["export", "mine", "--to", "inspect", "--json"])
    said = (
        {"error": code, "exit": 1}
        if isinstance(code, str)
        else {"error": CODES[code], "exit": code}
    )
    out, told = capfd.readouterr()
    assert json.loads(out) == said and "daybefore export: \n" not in told


def test_what_is_shown_and_told_moves_no_cursor(capfd):
    for say in (show, tell):
        say("its reply: \x1b[2J\u202e")
    assert capfd.readouterr() == ("its reply: \\x1b[2J\\u202e\n",) * 2


def test_a_fault_of_ours_keeps_its_trace(plant):
    plant(fail(KeyError("absent")))
    with pytest.raises(KeyError):
        main(["export", "mine", "--to", "inspect"])


@pytest.mark.parametrize(("arguments", "said"), [
    (["viewx"], "No such command 'viewx'. Did you mean 'view'?"),
    (["export", "mine"], "Missing option '--to'"),
    (["run", "--limt", "3"], "No such option '--limt'. Did you mean '--limit'?"),
    (["week", "--now", "today"], "Invalid value for '--now': 'today' does not match the formats"),
    (["run", "--limit", "0"], "Invalid value for '--limit': 0 is not in the range x>=1"),
])  # fmt: skip
def test_a_command_line_that_cannot_be_read_ends_with_2(arguments, said, plant, capfd):
    with pytest.raises(SystemExit, match="2"):
        main([*arguments, "--json"])
    told = capfd.readouterr()
    assert (
        said in told.err
        and said in json.loads(told.out)["error"]
        and json.loads(told.out)["exit"] == 2
    )


def test_json_is_all_that_stands_on_standard_output(plant, capfd):
    def work(**given):
        print("words")
        subprocess.run([sys.executable, "-c", "print('words of a process')"], check=True)
        return {"mean": float("nan"), "given": given}

    plant(work)
    assert main(["export", "mine", "--to", "inspect", "--json"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out) == {"mean": None, "given": {"name": "mine", "form": "inspect"}}
    assert (
        "words of a process" in err
        and "words\n" in err
        and os.environ["OPENBLAS_NUM_THREADS"] == "1"
    )
    plant(fail(PartWay({"agents": {}, "stopped": ["mine: its ceiling"]})))
    with pytest.raises(SystemExit, match="3"):
        main(["export", "mine", "--to", "inspect", "--json"])
    assert json.loads(capfd.readouterr().out)["stopped"] == ["mine: its ceiling"]
