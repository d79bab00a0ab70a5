"""The command `daybefore`: what it hands on, what it ends with, what stands on standard output."""

import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

from helpers.calendar import PUBLIC_WINDOWS, WINDOWS, write_windows
from helpers.cli import main as command
from helpers.cli.main import COMMANDS, SETTINGS, PartWay, build_parser, main

ROOT = Path(__file__).parents[2]


def plant(monkeypatch, run):
    """Let `daybefore own` call a function, in an environment that is put back."""
    monkeypatch.setitem(sys.modules, "helpers.cli.own", types.SimpleNamespace(main=run))
    for name in SETTINGS:
        monkeypatch.setenv(name, os.environ.get(name, ""))


def test_the_settings_are_those_of_the_makefile():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    made = dict(re.findall(r"^export (\w+) := ([\w.]+)$", text, re.MULTILINE))
    assert SETTINGS == {name: value for name, value in made.items() if name != "TQDM_DISABLE"}


def test_help_imports_no_library_and_names_every_command():
    code = (
        "import contextlib, sys\nfrom helpers.cli.main import main\nwith contextlib.suppress(SystemExit):\n"
        "    main(['--help'])\nprint(sorted({'numpy', 'pandas', 'litellm', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.endswith("\n[]\n")
    assert all(re.search(rf"^  {name} +\w", done.stdout, re.MULTILINE) for name in COMMANDS)
    assert "130 interrupted" in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_a_commands_help_has_an_example_and_the_exit_codes(name):
    text = build_parser(name).format_help()
    assert f"\n  daybefore {name} {COMMANDS[name][1]}".rstrip() in text and "  3   stopped part-way" in text


def test_arguments_are_handed_on_as_they_are_and_retry_is_run(monkeypatch):
    seen = []
    plant(monkeypatch, seen.append)
    monkeypatch.setitem(sys.modules, "helpers.cli.run", types.SimpleNamespace(main=seen.append))
    assert [main(["own", "folder", "--seed", "3"]), main(["retry", "--agent", "x"])] == [0, 0]
    assert seen == [["folder", "--seed", "3"], ["--retry", "--agent", "x"]]
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"


def test_json_is_all_that_stands_on_standard_output(monkeypatch, capfd):
    def run(arguments):
        print("words")
        subprocess.run([sys.executable, "-c", "print('words of a process')"], check=True)
        return {"mean": float("nan"), "arguments": arguments}

    plant(monkeypatch, run)
    assert main(["own", "folder", "--json"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out) == {"mean": None, "arguments": ["folder", "--json"]}
    assert "words of a process" in err and "words\n" in err


def interrupt(arguments):
    raise KeyboardInterrupt


def want_a_file(arguments):
    raise FileNotFoundError("no checkout of Daybefore was found here")


@pytest.mark.parametrize(
    ("run", "code", "said"),
    [
        (interrupt, 130, ""),
        (want_a_file, "daybefore own: no checkout of Daybefore was found here", ""),
        (lambda arguments: sys.exit(3), 3, ""),
    ],
)
def test_a_command_ends_as_a_shell_wants_it(run, code, said, monkeypatch):
    plant(monkeypatch, run)
    with pytest.raises(SystemExit) as ending:
        main(["own", "folder"])
    assert ending.value.code == code


@pytest.mark.parametrize(("arguments", "code"), [(["runn"], 2), ([], 2), (["source"], 2), (["source", "--json"], 2)])
def test_a_command_line_that_cannot_be_read_ends_with_2(arguments, code, capsys):
    with pytest.raises(SystemExit) as ending:
        main(arguments)
    assert ending.value.code == code and "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(("path", "told"), [("absent.json", "there is no file "), ("", "is a folder, not a file")])
def test_a_file_that_is_not_one_is_said_in_a_sentence(path, told, tmp_path):
    with pytest.raises(SystemExit, match="^daybefore explore: ") as ending:
        main(["explore", "--markets", str(tmp_path / path)])
    assert told in str(ending.value) and "Errno" not in str(ending.value)


def test_one_source_as_one_json_object(monkeypatch, capfd):
    plant(monkeypatch, None)
    assert main(["source", "--source", "clemson", "--json"]) == 0
    out, err = capfd.readouterr()
    found = json.loads(out)
    assert (found["source"], found["window"]) == ("clemson", "A") and found["events"] and "events kept" in err
    assert {row["agent"] for row in found["scores"]} >= {"last_value", "random"}


def test_a_command_that_was_stopped_part_way_still_prints_what_it_found(monkeypatch, capfd):
    def stop(arguments):
        raise PartWay({"agents": {}, "stopped": ["mine: its ceiling"]})

    plant(monkeypatch, stop)
    assert main(["own", "folder", "--json"]) == 3
    assert json.loads(capfd.readouterr().out)["stopped"] == ["mine: its ceiling"]
    with pytest.raises(SystemExit) as ending:
        main(["own", "folder"])
    assert ending.value.code == 3


@pytest.mark.parametrize(
    ("ending", "found"),
    [
        (SystemExit("daybefore own: no such folder"), {"error": "daybefore own: no such folder", "exit": 1}),
        (SystemExit(130), {"error": command.CODES[130], "exit": 130}),
    ],
)
def test_a_command_that_fails_with_json_prints_its_reason_as_the_one_object(ending, found, monkeypatch, capfd):
    def fail(arguments):
        print("words")
        raise ending

    plant(monkeypatch, fail)
    with pytest.raises(SystemExit) as seen:
        main(["own", "folder", "--json"])
    assert seen.value.code == ending.code and json.loads(capfd.readouterr().out) == found


@pytest.mark.parametrize("arguments", [["run", "--limt", "3", "--json"], ["runn", "--json"], ["source", "--json"]])
def test_a_command_line_that_cannot_be_read_is_one_object_too(arguments, monkeypatch, capfd):
    plant(monkeypatch, None)
    with pytest.raises(SystemExit) as ending:
        main(arguments)
    out, err = capfd.readouterr()
    found = json.loads(out)
    assert ending.value.code == found["exit"] == 2 and found["error"] and found["error"] in err


@pytest.mark.parametrize(("arguments", "said"), [([], "name a command"), (["runn"], "there is no command 'runn'")])
def test_without_a_command_the_commands_are_listed(arguments, said, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    text = capsys.readouterr().err
    assert said in text and "required" not in text
    assert all(re.search(rf"^  {name} +\w", text, re.MULTILINE) for name in COMMANDS)


def test_the_help_of_retry_says_retry_and_what_make_ends_with(capsys, monkeypatch):
    plant(monkeypatch, None)
    with pytest.raises(SystemExit):
        main(["retry", "--help"])
    text = capsys.readouterr().out
    assert text.startswith("usage: daybefore retry") and "ask again what timed out" in text
    assert "make itself ends with 2" in command.describe_codes()
    example = command.build_parser("retry").epilog
    assert "daybefore retry --agent my_agent" in example and "daybefore run" not in example


@pytest.mark.parametrize("name", ["run", "compare", "view", "source"])
def test_the_windows_of_a_commands_help_are_those_there_are(name, capsys):
    with pytest.raises(SystemExit):
        main([name, "--help"])
    windows = WINDOWS if name == "source" else (*WINDOWS, *PUBLIC_WINDOWS)
    assert write_windows(windows) in " ".join(capsys.readouterr().out.split())
