"""Run one notebook, and put it and what it wrote in place only when every cell passed.

The notebook runs from a copy under .make/ with `DAYBEFORE_OUT` set to .make/<name>.out, so a
failing cell leaves the committed notebook, figures and tables as they were. What differs from run
to run or from machine to machine is stripped (times) or refused (warnings, paths, addresses of
objects). What it read is written to .make/<name>.d, as compilers do, for make to know when it is
out of date; what it read of a notebook that it does not follow is refused.
"""

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time
from importlib.util import source_from_cache
from pathlib import Path

import nbformat
from form import put_in_form
from papermill import execute_notebook
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

ROOMS = ("data", "figures")
"""A notebook may write here; the live ledger of runs (*.sqlite) is never moved over the user's
own."""
WRITTEN = re.compile(r"data/tables/|figures/")
"""What only notebooks write."""
WATCH = Path(__file__).parent / "watch"


def run_notebook(name, follows=None, work=Path(".make")):
    """Execute notebooks/<name>.ipynb and move the result into place; exits with a message when a
    cell fails.

    `follows` are the notebooks whose outputs it may read; None, by hand, asks nothing and tells
    make nothing.
    """
    source = Path("notebooks", f"{name}.ipynb")
    partial = work / f"{name}.partial.ipynb"
    staged = work / f"{name}.out"
    notes = work / f"{name}.reads"
    check_notebook(source)
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    notes.write_text("", encoding="utf-8")
    environment = {"DAYBEFORE_OUT": str(staged.resolve()), "DAYBEFORE_READS": str(notes.resolve())}
    try:
        execute(source, partial, **environment)
    except PapermillExecutionError as error:
        sys.exit(describe_failure(error, source, partial))
    notebook = nbformat.read(partial, as_version=4)
    put_in_form(notebook)
    nbformat.write(notebook, partial)
    written = list_outputs(staged)
    reads = list_reads(notes)
    faults = find_faults(notebook)
    if follows is not None:
        faults += find_strangers(reads, name, follows, work)
    if faults:
        sys.exit("\n".join(f"{source}, {fault}" for fault in faults))
    for path in written:
        move(staged / path, path)
    move(partial, source)
    if follows is not None:
        rules = write_rules(name, follows, reads, written)
        (work / f"{name}.d").write_text(rules, encoding="utf-8")
    notes.unlink()
    shutil.rmtree(staged)


def check_notebook(source):
    """Exit with a message unless a file is a notebook, before anything is made of it."""
    try:
        nbformat.validate(nbformat.read(source, as_version=4))
    except (ValueError, TypeError, AttributeError, KeyError, nbformat.ValidationError) as error:
        said = str(error).splitlines()[0]
        sys.exit(
            f"{source} cannot be read as a notebook ({said}); restore it, by `git checkout {source}` for one"
        )


def execute(source, partial, parameters=None, shows=False, **environment):
    """Run a notebook by papermill with some environment variables, watched; what came is written to
    `partial`.

    With `shows` the cells' output is shown as it comes.
    """
    watched = os.pathsep.join([str(WATCH.resolve()), os.environ.get("PYTHONPATH", "")])
    os.environ.update(environment, PYTHONPATH=watched)
    with tempfile.TemporaryDirectory() as sockets:
        # Each kernel has its socket files: two that start together can take each other's port.
        config = Config({"KernelManager": {"transport": "ipc", "ip": f"{sockets}/kernel"}})
        execute_notebook(
            source,
            partial,
            parameters,
            kernel_name="python3",
            cwd="notebooks",
            progress_bar=False,
            log_output=shows,
            coalesce_streams=True,  # where a slow cell's text is cut differs from run to run
            config=config,
        )


def describe_failure(error, source, partial):
    """Return the failing cell of a run, its last traceback lines without colours, and where to
    look."""
    trace = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback)).splitlines()[-12:]
    return "\n".join(
        [
            f"\n{source}: cell [{error.exec_count}] failed with {error.ename}: {error.evalue}",
            *(f"    {line}" for line in error.source.splitlines()),
            *(f"  {line}" for line in trace),
            f"Nothing committed was changed; the run as far as it came is {partial}",
        ]
    )


def find_faults(notebook):
    """Return a sentence for each output that would not be the same on another run or another
    machine."""
    faults = []
    for cell in notebook["cells"]:
        where = f"cell [{cell.get('execution_count')}]"
        for output in cell.get("outputs", []):
            shown = output.get("text") or output.get("data", {}).get("text/plain", "")
            text = json.dumps(shown, ensure_ascii=False)
            if output.get("name") == "stderr":
                faults.append(f"{where} writes to stderr: {text[:300]}; mend its cause")
            if re.search(r" at 0x[0-9a-f]{6,}", text):
                faults.append(f"{where} shows an object's address; give its last value a name")
            if str(Path.cwd()) in text or str(Path.home()) + "/" in text:
                faults.append(f"{where} shows a path of this machine; show it from the repository")
    return faults


def list_outputs(staged):
    """Return what the notebook wrote, relative to its staging folder; refuses folders other than
    `ROOMS`."""
    files = (path.relative_to(staged) for path in sorted(staged.rglob("*")) if path.is_file())
    written = [path for path in files if ".sqlite" not in path.name]
    if astray := [str(path) for path in written if path.parts[0] not in ROOMS]:
        sys.exit(
            f"{staged} holds {', '.join(astray)}; a notebook writes under {' or '.join(ROOMS)} only"
        )
    return written


def list_reads(notes):
    """Return the files under src/, data/ and figures/ that were read, and the folders (ending in /)
    that were listed.

    A compiled module stands for its source; folders of modules are listed by Python itself at every
    import.
    """
    reads = set()
    for path in notes.read_text(encoding="utf-8").splitlines():
        if path.endswith(".pyc"):
            path = source_from_cache(path)
        if not (path.startswith("src/") and path.endswith("/")) and ".egg-info" not in path:
            reads.add(path)
    return sorted(reads)


def find_strangers(reads, name, follows, work):
    """Return a sentence for each notebook that wrote what was read, but is not among those this one
    follows, or they follow."""
    records = {path.stem: read_record(path) for path in work.glob("*.d")}
    before = [other for other in follows if other in records]
    for other in before:  # it grows meanwhile
        more = records[other]["follows"]
        before += [one for one in more if one in records and one not in before]
    known = {path for other in before for path in records[other]["wrote"]}
    wrote = {path: other for other, record in records.items() for path in record["wrote"]}
    strangers = {}
    for path in reads:
        if WRITTEN.match(path) and not path.endswith("/") and path not in known:
            strangers.setdefault(wrote.get(path, "a notebook"), path)
    return [
        f"which reads {path}, must follow {'itself' if other == name else other}, which writes it: "
        f"the Makefile should say .make/{name}: | .make/{other}"
        for other, path in strangers.items()
    ]


def read_record(path):
    """Return what the first two lines of a notebook's .d say: the notebooks it follows, the files
    it wrote."""
    lines = path.read_text(encoding="utf-8").splitlines()[:2]
    return {key: names.split() for key, names in (line[2:].split(":") for line in lines)}


def write_rules(name, follows, reads, written):
    """Return make's rules for a notebook that has run: what it read, what it wrote, the folders it
    listed.

    A file that is read and gone later is no error but makes the notebook run (the lines without
    recipe). A written file is looked at again after its notebook ran: only if it changed do its
    readers run; one that is newer than the run was changed by another hand, and the notebook runs
    again. A listed folder is compared by the names in it (folders' times change with every write).
    """
    wrote = " ".join(path.as_posix() for path in written)
    sources = " ".join(path for path in reads if not path.endswith("/"))
    stamp = f".make/{name}"
    lines = [f"# follows: {' '.join(follows)}", f"# wrote: {wrote}"]
    lines += [f"{stamp}: {sources}", f"{sources}:"] * bool(sources)
    if made := " ".join(path for path in wrote.split() if WRITTEN.match(path)):
        lines += [f"{made}: {stamp} ; +", f"{stamp}: $(call unlike,$(wildcard {made}),{made})"]
        # What was changed by another hand since: `find` is asked as make cannot depend on what it
        # makes.
        lines.append(f"{stamp}: $(if $(shell find {made} -newer {stamp} 2>/dev/null),FORCE)")
    for folder in (path for path in reads if path.endswith("/")):
        names = " ".join(sorted(entry for entry in os.listdir(folder) if not entry.startswith(".")))
        lines.append(f"{stamp}: $(call unlike,$(notdir $(wildcard {folder}*)),{names})")
    return "\n".join(lines) + "\n"


def move(path, target):
    """Replace `target` by `path`, unless they are equal: an unchanged file keeps its time."""
    if target.exists() and target.read_bytes() == path.read_bytes():
        path.unlink()
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(path, target)


def add_progress(line, work=Path(".make")):
    """Return a line on a notebook that has run, with how many have of those that are due, and about
    how long the others take.

    `make figures` writes how many are due to .make/due; each adds a byte to .make/done.
    """
    due = work / "due"
    if not due.exists():
        return line
    with open(work / "done", "ab") as done:
        done.write(b".")
        n_done = done.tell()
    n_due = max(n_done, int(due.read_text()))  # a changed table makes its readers run too
    left_s = (time.time() - due.stat().st_mtime) * (n_due - n_done) / n_done
    return f"[{n_done:2}/{n_due}] {line}, about {left_s:.0f} s to go"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="file name in notebooks/ without .ipynb")
    parser.add_argument("--follows", nargs="*", help="whose outputs it may read (default: any)")
    start = time.monotonic()
    given = parser.parse_args()
    run_notebook(given.name, given.follows)
    print(add_progress(f"{given.name} {time.monotonic() - start:.1f} s"))
