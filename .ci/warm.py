"""Start Python with its libraries already loaded:  .ci/warm.py with COMMAND;  below it  .ci/warm.py FILE|-m MODULE ...

A notebook, its kernel and its check each spend seconds on importing the same libraries. `with
COMMAND` runs a command and serves while it runs: each `.ci/warm.py FILE|-m MODULE ARGUMENTS` below
it becomes a fork of the server, in its caller's folder, environment and streams, where `LIBRARIES`
are loaded. Without a server it is a plain `python`. The kit's own modules are never loaded here, so
what runs is what stands in the files. What a caller does not need is imported where it is used, so
that it starts quickly.
"""

import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress

LIBRARIES = """
    papermill nbstripout ipykernel.ipkernel matplotlib_inline.backend_inline pytest
    pandas seaborn matplotlib.pyplot scipy.stats statsmodels.api statsmodels.formula.api sklearn.metrics
    lxml.html requests jsonschema PIL.Image
"""
DOOR = "DAYBEFORE_WARM"
"""The environment variable that holds the address of the server's socket."""
WATCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "watch", "sitecustomize.py")


def wait_turn():
    """Return once no other make is at work in this folder; the lock lasts as long as this process
    and its forks."""
    import fcntl

    os.makedirs(".make", exist_ok=True)
    lock = os.open(".make/lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        told = "another make is at work in this folder; this one waits until it has ended"
        print(told, file=sys.stderr, flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def ask(argv):
    """Have the server run a program in this process's folder, environment and streams; return its
    exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    request = json.dumps([argv, os.getcwd(), dict(os.environ)]).encode()
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(os.environ[DOOR])
        socket.send_fds(line, [len(request).to_bytes(8, "big")], [0, 1, 2])
        line.sendall(request)
        return int(line.recv(8) or 1)


def serve(command):
    """Run a command and fork for what asks meanwhile; exit with its status once it and all forks
    have ended.

    A fork whose caller is gone, or that outlives the command, is ended with all that it started.
    """
    import shutil
    import subprocess
    import tempfile

    signal.signal(signal.SIGINT, lambda *_: None)  # the command decides what an interrupt ends
    folder = tempfile.mkdtemp()  # by hand: a fork that ends must not clear it away
    door = socket.socket(socket.AF_UNIX)
    door.bind(f"{folder}/door")
    door.listen(256)
    place = os.environ | {DOOR: f"{folder}/door"}
    running = subprocess.Popen(command, env=place, close_fds=False)
    over = os.pidfd_open(running.pid)
    jobs = {}  # a caller's line: (its job's number, what tells that it has ended)
    while True:
        ends = (ended for _, ended in jobs.values())
        ready = select.select([door, over, *jobs, *ends], [], [])[0]
        if over in ready:
            break
        if door in ready:
            line = door.accept()[0]
            job = start_job(line, door)
            jobs[line] = job, os.pidfd_open(job)
        for line in [line for line in jobs if line in ready or jobs[line][1] in ready]:
            end_job(line, *jobs.pop(line))
    for line, job in jobs.items():
        end_job(line, *job)
    shutil.rmtree(folder)
    status = running.wait()
    sys.exit(2 if status < 0 else status)


def start_job(line, door):
    """Fork for the program that a caller asks for, in its folder, environment and streams; return
    the fork's number."""
    import warnings

    load_libraries()
    size, streams, _, _ = socket.recv_fds(line, 8, 3)
    request = line.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)
    # From 3.12 on Python warns of forks beside threads; those of the libraries' pools wait, and
    # hold no lock.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    if job := os.fork():
        with suppress(OSError):  # it does so itself, later; but may have to be ended now
            os.setpgid(job, job)
        for stream in streams:
            os.close(stream)
        return job
    try:
        os.setpgid(0, 0)
        door.close()
        line.close()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        argv, folder, environment = json.loads(request)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        run(argv)
    finally:
        os._exit(1)  # what cannot become a program is no second server


def end_job(line, job, ended):
    """End a job, if it has not ended, with all that it started; tell its caller, if one is left,
    how it ended."""
    with suppress(ProcessLookupError):
        os.killpg(job, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(job, 0)[1])
    with suppress(OSError), line:
        line.sendall(str(status if status >= 0 else 128 - status).encode())
    os.close(ended)


def load_libraries():
    """Import the libraries as a notebook would, the first time; what they hold is kept out of
    forks' garbage."""
    import gc
    import importlib

    importlib.invalidate_caches()
    if "pandas" in sys.modules:
        return
    for name in LIBRARIES.split():
        importlib.import_module(name)
    # At its import pandas asks whether it prints to a terminal, as wide as that is, or, as kernels
    # do, in a notebook.
    sys.modules["pandas"].set_option("display.max_columns", 20)
    gc.freeze()


def run(argv):
    """Run FILE or -m MODULE as `python` would, watched when the environment asks for it, and end
    this process.

    It ends by `os._exit`, as forks of multiprocessing do: taking down the libraries it shares would
    copy them first.
    """
    import atexit
    import runpy
    import threading
    import traceback

    status = 1
    try:
        if "DAYBEFORE_READS" in os.environ:
            runpy.run_path(WATCH)
        if argv[0] == "-m":
            sys.path[0], sys.argv = os.getcwd(), argv[1:]
            runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
        else:
            sys.path[0], sys.argv = os.path.dirname(os.path.abspath(argv[0])), argv
            runpy.run_path(argv[0], run_name="__main__")
        status = 0
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
        if isinstance(ending.code, str):
            print(ending.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    if sys.argv[1] == "with":
        turn = wait_turn()
        if hasattr(os, "pidfd_open"):
            serve(sys.argv[2:])
        os.set_inheritable(turn, True)
        os.execvp(sys.argv[2], sys.argv[2:])
    elif DOOR in os.environ:
        sys.exit(ask(sys.argv[1:]))
    else:
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
