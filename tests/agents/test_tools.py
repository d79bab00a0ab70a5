"""Bash, Python and the editor as an agent calls them, in a real sandbox."""

import time

import pytest
from builders import needs_sandbox

from daybefore.agents.sandbox import open_sandbox
from daybefore.agents.sandbox_parts import Limits
from daybefore.agents.sandbox_tools import call_tool


@pytest.fixture(scope="module")
def box():
    needs_sandbox()
    with open_sandbox(limits=Limits(seconds=10, memory_mb=192)) as box:
        yield box


def call(box, name, **arguments):
    """Return what a tool shows, and what went wrong."""
    step = call_tool(box, name, arguments, timeout=arguments.pop("timeout", None))
    assert step["sandbox_backend"].startswith(("bubblewrap", "docker")) and step["tool"] == name
    return step["content"], step["error"]


def test_programs_are_run_and_shown(box):
    assert call(box, "bash", script="echo a; echo b >&2; exit 3") == (
        "a\nb\n(it ended with 3)",
        None,
    )
    assert call(box, "python", program="print(6 * 7)") == ("42", None)
    assert call(box, "bash", script="true") == ("(it printed nothing)", None)
    shown, error = call(box, "bash", script="yes | head -c 50000")
    assert len(shown) < 6100 and "characters left out" in shown and error is None


def test_a_limit_is_told_to_the_agent_and_stands_in_the_trace(box):
    shown, error = call(
        box, "python", program="x = [bytearray(b'x') * 2**20 for i in range(300)]\nwhile True: pass"
    )
    assert (shown, error) == ("(it was ended: it passed the limit of memory)", "memory")


def test_a_file_is_written_changed_and_shown(box):
    for arguments in (
        {"command": "create", "text": "one\ntwo\n"},
        {"command": "replace", "old": "two", "text": "2"},
        {"command": "insert", "line": 1, "text": "half"},
    ):
        assert call(box, "editor", path="kept/a.txt", **arguments)[1] is None
    assert (
        call(box, "editor", command="view", path="kept/a.txt")[0]
        == "     1 one\n     2 half\n     3 2\n"
    )


@pytest.mark.parametrize(
    ("name", "arguments", "told", "error"),
    [
        ("editor", {"command": "view", "path": "none.txt"}, "No such file", "OSError"),
        ("editor", {"command": "burn", "path": "a"}, "needs a command", "ValueError"),
        (
            "editor",
            {"command": "replace", "path": "kept/a.txt", "old": "x"},
            "stands there 0 times",
            "ValueError",
        ),
        (
            "editor",
            {"command": "insert", "path": "kept/a.txt", "line": 9},
            "has 3 lines",
            "ValueError",
        ),
        (
            "editor",
            {"command": "insert", "path": "kept/a.txt", "text": 5},
            "It was not done",
            "AttributeError",
        ),
        ("bash", {}, "The tools are", "not a tool"),
        ("browser", {"url": "x"}, "The tools are", "not a tool"),
    ],
)
def test_what_cannot_be_done_is_said_and_not_raised(box, name, arguments, told, error):
    call(box, "editor", command="create", path="kept/a.txt", text="1\n2\n3\n")
    shown, got = call(box, name, **arguments)
    assert told in shown and got == error


@pytest.mark.parametrize(
    "arguments",
    [{"command": "view"}, {"command": "create", "text": "x"}, {"command": "insert", "text": "x"}],
)
def test_a_timeout_holds_for_the_editor_too(box, arguments):
    box.exec(["mkfifo", "-m", "600", "pipe"])
    start = time.monotonic()
    shown, error = call(box, "editor", path="pipe", timeout=0.3, **arguments)
    assert time.monotonic() - start < 3 and error == "OSError" and "that passes" in shown
