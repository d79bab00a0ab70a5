"""Note what a program reads under src/, data/ and figures/, as a compiler notes the headers it
read.

Python imports this file at its start where this folder is on PYTHONPATH, so children are watched
like their parents: workers, servers, `python -m`. Each file or folder is a line of the file that
`DAYBEFORE_READS` names.
"""

import os
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
ROOMS = tuple(os.path.join(ROOT, room) + os.sep for room in ("src", "data", "figures"))


def watch_reads(path):
    """Append to `path` each file this process opens for reading and each folder it lists, once, as
    it happens."""
    notes = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    seen = set()

    def note(event, arguments):
        if event not in ("open", "os.listdir", "os.scandir"):
            return
        file = arguments[0]
        if isinstance(file, int) or (
            event == "open" and arguments[2] & os.O_ACCMODE != os.O_RDONLY
        ):
            return
        name = os.path.abspath(os.fsdecode("." if file is None else file)) + os.sep * (
            event != "open"
        )
        if name not in seen:
            seen.add(name)
            real = os.path.realpath(name) + os.sep * (event != "open")
            if real.startswith(ROOMS):
                os.write(notes, f"{real[len(ROOT) + 1 :]}\n".encode())

    sys.addaudithook(note)


if "DAYBEFORE_READS" in os.environ:
    watch_reads(os.environ["DAYBEFORE_READS"])
