"""Run one notebook, and put it and what it wrote in place only when every cell passed.

The notebook runs from a copy under .make/ with `DAYBEFORE_OUT` set to .make/<name>.out, so a failing cell leaves the
committed notebook, figures and tables as they were. What differs from run to run or from machine to machine is
stripped (times) or refused (warnings, paths, addresses of objects).
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import papermill
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

VARYING_KEYS = "metadata.papermill cell.metadata.papermill metadata.language_info.version"
ROOMS = ("data", "figures")
"""A notebook may write here; the live ledger of runs (*.sqlite) is never moved over the user's own."""


def run_notebook(name, work=Path(".make")):
    """Execute notebooks/<name>.ipynb and move the result into place; exits with a message when a cell fails."""
    source, partial, staged = Path("notebooks", f"{name}.ipynb"), work / f"{name}.partial.ipynb", work / f"{name}.out"
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    os.environ["DAYBEFORE_OUT"] = str(staged.resolve())
    with tempfile.TemporaryDirectory() as sockets:
        # A kernel of its own socket files: two kernels that start together can take each other's port.
        config = Config({"KernelManager": {"transport": "ipc", "ip": f"{sockets}/kernel"}})
        options = {"cwd": "notebooks", "kernel_name": "python3", "progress_bar": False, "config": config}
        try:
            papermill.execute_notebook(source, partial, **options)
        except PapermillExecutionError as error:
            sys.exit(describe_failure(source, partial, error))
    strip = [sys.executable, "-m", "nbstripout", "--keep-output", "--keep-count", "--extra-keys", VARYING_KEYS]
    subprocess.run([*strip, str(partial)], check=True)
    if faults := find_faults(json.loads(partial.read_text(encoding="utf-8"))):
        sys.exit("\n".join(f"{source}, {fault}" for fault in faults))
    move_outputs(staged)
    move(partial, source)
    shutil.rmtree(staged)


def describe_failure(source, partial, error):
    """Return the failing cell, its last traceback lines without colours, and where to look."""
    trace = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback)).splitlines()
    code = "".join(f"    {line}\n" for line in error.source.splitlines())
    shown = "".join(f"  {line}\n" for line in trace[-12:])
    return (
        f"\n{source}: cell [{error.exec_count}] failed with {error.ename}: {error.evalue}\n{code}{shown}"
        f"Nothing committed was changed; the run as far as it came is {partial}"
    )


def find_faults(notebook):
    """Return a sentence for each output that would not be the same on another run or another machine."""
    faults = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            text = json.dumps(output.get("text", output.get("data", {}).get("text/plain", "")), ensure_ascii=False)
            where = f"cell [{cell['execution_count']}]"
            if output.get("name") == "stderr":
                faults.append(f"{where} writes to stderr (a warning or progress bar): {text[:300]}; mend its cause")
            if re.search(r" at 0x[0-9a-f]{6,}", text):
                faults.append(f"{where} shows an object's address; end its last line with a semicolon")
            if str(Path.cwd()) in text or str(Path.home()) + "/" in text:
                faults.append(f"{where} shows a path of this machine; show it relative to the repository")
    return faults


def move_outputs(staged):
    """Move what the notebook wrote from its staging folder to the repository; refuses folders other than `ROOMS`."""
    written = [path for path in sorted(staged.rglob("*")) if path.is_file() and ".sqlite" not in path.name]
    astray = [str(path.relative_to(staged)) for path in written if path.relative_to(staged).parts[0] not in ROOMS]
    if astray:
        sys.exit(f"{staged} holds {', '.join(astray)}; a notebook writes under {' or '.join(ROOMS)} only")
    for path in written:
        move(path, path.relative_to(staged))


def move(path, target):
    """Replace `target` by `path`, unless they are equal: an unchanged file keeps its time."""
    if target.exists() and target.read_bytes() == path.read_bytes():
        path.unlink()
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(path, target)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="file name in notebooks/ without .ipynb")
    start = time.monotonic()
    notebook_name = parser.parse_args().name
    run_notebook(notebook_name)
    print(f"{notebook_name}  {time.monotonic() - start:.1f} s")
