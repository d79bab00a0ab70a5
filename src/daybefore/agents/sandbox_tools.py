"""The tools of an agent in the sandbox: run bash or Python in the sandbox, and see or change a text
file there."""

from contextlib import contextmanager, suppress

import pandas as pd

from daybefore.agents.search_agents import write_schema
from helpers.files import locate_input, locate_output, write_whole

MAX_SHOWN = 6_000
"""Longest result that is shown to an agent, in characters: of a longer one the beginning and the
end."""

WHERE = "offline, in /workdir; the evidence is in /evidence (read-only)"

SCHEMAS = [
    write_schema("bash", f"Run a bash script, {WHERE}.", {"script": {"type": "string"}}),
    write_schema(
        "python",
        f"Run a Python program, {WHERE}; shows what it prints.",
        {"program": {"type": "string"}},
    ),
    write_schema(
        "editor",
        "View, create, change a text file: `replace` puts `text` where `old` stands once, `insert` after line `line`.",
        {
            "command": {"type": "string", "enum": ["view", "create", "replace", "insert"]},
            "path": {"type": "string"},
            "text": {"type": "string"},
            "old": {"type": "string"},
            "line": {"type": "integer", "description": "0 inserts at the top"},
        },
    ),
]
"""The tools as providers of native tool calls want them."""


@contextmanager
def keep_printed(run_id, live=False):
    """Yield what a run's scripts printed, a dict of (event_id, a task's scripts so far as JSON), so
    that they replay.

    It lies beside the run's recordings, shells.csv; at the end a live run writes it.
    """
    kept = f"data/runs/{run_id}/shells.csv"
    key = ["event_id", "scripts"]
    printed = {}
    with suppress(FileNotFoundError):
        printed = pd.read_csv(locate_input(kept), index_col=key, dtype=str, keep_default_na=False)[
            "shown"
        ].to_dict()
    try:
        yield printed
    finally:
        if live and printed:
            table = pd.Series(printed, name="shown").rename_axis(key).sort_index()
            write_whole(locate_output(kept), table.to_csv(lineterminator="\n"))


def call_tool(box, name, arguments, *, timeout=None, n_shown=MAX_SHOWN):
    """Return the step of a tool that was called by name: columns of the traces table, what it shows
    as `content`.

    Of a result longer than `n_shown` characters the middle is left out. A fault of the agent's is
    said to it, never raised; only SandboxError is (the sandbox is gone).
    """
    error = None
    try:
        if name == "editor":
            shown = edit(box, timeout, **arguments)
        elif name in ("bash", "python") and isinstance(
            text := next(iter(arguments.values()), None), str
        ):
            command = ["python3", "-"] if name == "python" else ["bash", "-c", text]
            result = box.exec(command, text if name == "python" else "", timeout)
            shown = describe_result(result)
            error = result.limit
        else:
            shown = "The tools are bash (script), python (program) and editor (command, path)."
            error = "not a tool"
    except (AttributeError, OSError, TypeError, ValueError) as fault:
        shown = f"It was not done: {fault}"
        error = type(fault).__name__
    step = {
        "step_type": "tool",
        "tool": name,
        "arguments": arguments,
        "content": cut_middle(shown, n_shown),
    }
    return step | {"sandbox_backend": box.backend, "error": error}


def describe_result(result):
    """Return what came of a command as an agent reads it."""
    parts = [result.stdout.rstrip("\n"), result.stderr.rstrip("\n")]
    if result.limit:
        parts.append(f"(it was ended: it passed the limit of {result.limit})")
    elif not result.success:
        parts.append(f"(it ended with {result.returncode})")
    return "\n".join(part for part in parts if part) or "(it printed nothing)"


def cut_middle(text, n=MAX_SHOWN):
    """Return a text of `n` characters about, a longer one without its middle.

    >>> cut_middle("abcdefghij", 4)
    'ab\\n... 6 characters left out ...\\nij'
    """
    if len(text) <= n:
        return text
    return f"{text[: n // 2]}\n... {len(text) - n} characters left out ...\n{text[-(n // 2) :]}"


def edit(box, timeout, command=None, path=None, text="", old="", line=0):
    """View, create or change a text file in a sandbox; returns what is told of it. Raises OSError
    or ValueError.

    `timeout` in seconds, None for the sandbox's own, holds for the reading and the writing each.
    """
    if command not in ("view", "create", "replace", "insert") or not isinstance(path, str):
        raise ValueError("the editor needs a command (view, create, replace, insert) and a path")
    if command == "create":
        box.write_file(path, text, timeout)
        return f"{path} is written."
    had = box.read_file(path, timeout)
    lines = had.splitlines(keepends=True)
    if command == "view":
        return "".join(f"{n:6} {line}" for n, line in enumerate(lines, 1)) or "(it is empty)"
    if command == "replace":
        if (n := had.count(old) if old else 0) != 1:
            raise ValueError(f"`old` must stand in {path} once; it stands there {n} times")
        new = had.replace(old, text)
    else:
        if not 0 <= line <= len(lines):
            raise ValueError(f"{path} has {len(lines)} lines; `line` is 0 to {len(lines)}")
        new = "".join([*lines[:line], text.removesuffix("\n") + "\n", *lines[line:]])
    box.write_file(path, new, timeout)
    return f"{path} is changed."
