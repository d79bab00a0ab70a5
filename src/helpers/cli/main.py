"""The command `daybefore`: a name and its options, handed to the module of that name in this room.

A module is imported only when it was chosen, after the settings that results rest on. Its `main(arguments)` returns
what it found as a dict (for --json) or None, and ends otherwise by SystemExit: with a sentence for a wrong setting or
input, else with a number of `CODES` (`PartWay` where something was found all the same).
"""

import argparse
import contextlib
import errno
import importlib
import importlib.metadata
import json
import math
import os
import sys
import time
from functools import partial

from helpers.formats.lines import clean_json

SETTINGS = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "MPLBACKEND": "Agg",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "TZ": "UTC",
}
"""The environment of every command and of the processes it starts, as the Makefile sets it: one thread a process (small
linear solves run many times slower with several), no display, no clock, no network at import."""

CODES = {
    0: "done",
    1: "a setting, file or model is not as it must be; one sentence says what to do",
    2: "the command line cannot be read",
    3: "stopped part-way (ceiling, accidents); what was answered is stored, the same command goes on",
    130: "interrupted; what was answered is stored, the same command goes on",
}
"""What a command ends with."""

COMMANDS = {
    "run": ("put agents to events, beside the baselines, and show their scores", "--agent qwen_zero_shot --limit 20"),
    "retry": ("as run, and ask again what timed out", "--agent my_agent --limit 20"),
    "compare": ("paired differences between agents or runs", "my_agent arima"),
    "view": ("look at runs, events and replies in a browser", ""),
    "explore": ("look at questions, their hindsight graphs, prices and forecasts in a browser", "--origin synthetic"),
    "source": ("try one source by itself, from its page to its scores", "--source clemson"),
    "own": ("score and draw predictions of your own, from a folder of csv files", "my_folder"),
    "record": ("record local models on the events of data/arms.toml", "--arm qwen_zero_shot-A --minutes 30"),
}
"""Command -> what it does, and the options of its example."""


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says of a disk that takes no more."""

BARRED = (errno.ENOTDIR, errno.EEXIST, errno.EROFS)
"""What it says of a place that is no folder, or cannot be written."""


class PartWay(SystemExit):
    """The end of a command that was stopped part-way, with what it found so far."""

    def __init__(self, found):
        super().__init__(3)
        self.found = found


class Refused(SystemExit):
    """The end of a command line that cannot be read, with the sentence that was printed."""

    def __init__(self, sentence):
        super().__init__(2)
        self.sentence = sentence


def refuse(prog, problem):
    """Say in one sentence what a command line lacks, on standard error, and end with 2."""
    sentence = f"{prog}: {problem}; {prog} --help tells more"
    print(sentence, file=sys.stderr)
    raise Refused(sentence)


def build_parser(name, about=None):
    """Return the parser of a command's options, its help ending with an example and the exit codes."""
    example = f"example:\n  daybefore {name} {COMMANDS[name][1]}"
    if name in ("run", "retry"):
        example += f"\n  daybefore {name} --agent my_agent --limit 20 --ceiling 1 --json > scores.json"
    parser = argparse.ArgumentParser(
        prog=f"daybefore {name}",
        description=about or COMMANDS[name][0],
        epilog=f"{example}\n\n{describe_codes()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.error = partial(refuse, parser.prog)
    parser.add_argument("--json", action="store_true", help="print one JSON object, and all words on standard error")
    return parser


def parse_positive(name, text, least=1, example=20):
    """Return a whole number that is at least `least`. Raises ValueError that names the setting.

    >>> parse_positive("LIMIT", "20")
    20
    >>> parse_positive("LIMIT", "all")
    Traceback (most recent call last):
        ...
    ValueError: LIMIT must be a positive whole number such as 20, not 'all'
    """
    if not text.isdecimal() or int(text) < least:
        raise ValueError(f"{name} must be a positive whole number such as {example}, not {text!r}")
    return int(text)


def parse_amount(name, text, what="number of US dollars such as 1.5"):
    """Return a positive number. Raises ValueError that names the setting and what it is.

    >>> parse_amount("CEILING", "0.5")
    0.5
    >>> parse_amount("MINUTES", "-5", "number such as 20")
    Traceback (most recent call last):
        ...
    ValueError: MINUTES must be a positive number such as 20, not '-5'
    """
    with contextlib.suppress(ValueError):
        if 0 < (amount := float(text)) < math.inf:
            return amount
    raise ValueError(f"{name} must be a positive {what}, not {text!r}")


def describe_problem(problem):
    """Return what an exception says; of what the system says against a file, a plain sentence with its name.

    >>> describe_problem(FileNotFoundError(errno.ENOENT, "No such file or directory", "a.json"))
    'there is no file a.json'
    >>> describe_problem(PermissionError(errno.EACCES, "Permission denied", "a.json"))
    'a.json cannot be read or written (permission denied)'
    """
    if not isinstance(problem, OSError) or not problem.filename:
        return str(problem)
    if isinstance(problem, FileNotFoundError):
        return f"there is no file {problem.filename}"
    if isinstance(problem, IsADirectoryError):
        return f"{problem.filename} is a folder, not a file"
    return f"{problem.filename} cannot be read or written ({str(problem.strerror).lower()})"


def describe_codes():
    """Return the exit codes as lines of help."""
    listed = "\n".join(f"  {code:<4}{about}" for code, about in CODES.items())
    return f"exit codes:\n{listed}\nmake itself ends with 2 whichever of these the command it started ended with"


def read_command(arguments):
    """Return (command, its arguments); prints help, or ends with 2 and the names there are."""
    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name:<{width}}  {about}" for name, (about, _) in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="daybefore",
        usage="daybefore COMMAND [options]   (daybefore COMMAND --help: its options)",
        description=f"Put forecasting agents back to the day before.\n\ncommands:\n{listed}",
        epilog="example:\n  daybefore run --agent last_value --limit 20\n\n"
        f"It reads a checkout: its own, one above the working folder, or DAYBEFORE_ROOT.\n\n{describe_codes()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=read_version())
    parser.error = partial(refuse, parser.prog)
    parser.add_argument("command", nargs="?", metavar="COMMAND", help=argparse.SUPPRESS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.command not in COMMANDS:
        problem = f"there is no command {given.command!r}" if given.command else "name a command"
        refuse("daybefore", f"{problem}, of these:\n{listed}\nfor example daybefore run --agent last_value --limit 20")
    return given.command, given.arguments


def read_version():
    """Return the installed version, as far as one is installed."""
    try:
        return importlib.metadata.version("daybefore")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


@contextlib.contextmanager
def keep_stdout():
    """Send what is printed, here and by processes that are started, to standard error while the block runs."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def call(name, arguments):
    """Import a command's module and call it; returns what it found. Ends by SystemExit in whatever else happens."""
    module = f"helpers.cli.{'run' if name == 'retry' else name}"
    try:
        return importlib.import_module(module).main(["--retry"] * (name == "retry") + arguments)
    except KeyboardInterrupt:
        print(f"\ndaybefore {name}: stopped; what was stored is kept, and the same command goes on", file=sys.stderr)
        raise SystemExit(130) from None
    except (FileNotFoundError, IsADirectoryError, PermissionError) as problem:  # no checkout, or a file is missing
        raise SystemExit(f"daybefore {name}: {describe_problem(problem)}") from None
    except OSError as problem:
        if problem.errno in BARRED:
            said = f"nothing can be written to {problem.filename} ({problem.strerror.lower()})"
            raise SystemExit(f"daybefore {name}: {said}; set DAYBEFORE_OUT to a folder that can be written") from None
        if problem.errno not in FULL:
            raise
        what = f": {problem.filename}" if problem.filename else ""
        raise SystemExit(
            f"daybefore {name}: {problem.strerror}{what}; make room, and the same command goes on"
        ) from None


def carry_out(arguments):
    """Read the command line, take the settings on and call the command; returns what it found."""
    name, rest = read_command(arguments)
    os.environ.update(SETTINGS)
    if hasattr(time, "tzset"):
        time.tzset()
    return call(name, rest)


def describe_end(ending):
    """Return what --json prints of a command that ended by SystemExit: what it found part-way, or why it failed.

    >>> describe_end(SystemExit("daybefore run: no model answers"))
    {'error': 'daybefore run: no model answers', 'exit': 1}
    """
    if isinstance(ending, PartWay):
        return ending.found
    if isinstance(ending.code, str):
        return {"error": ending.code, "exit": 1}
    return {"error": getattr(ending, "sentence", CODES[ending.code]), "exit": ending.code}


def main(arguments=None):
    """Read the command line and carry it out; returns one of `CODES`, or ends by SystemExit with it."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if "--json" not in arguments:
        carry_out(arguments)
        return 0
    found, ending = {}, None
    with keep_stdout():
        try:
            found = carry_out(arguments) or {}
        except SystemExit as stopped:
            ending = stopped
            found = describe_end(stopped) if stopped.code else None
    if found is not None:
        print(json.dumps(clean_json(found), ensure_ascii=False))
    if ending is None:
        return 0
    if isinstance(ending, PartWay):
        return ending.code
    raise ending
