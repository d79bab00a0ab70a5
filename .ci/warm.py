"""Start Python with its libraries already loaded:  .ci/warm.py with COMMAND;  below it  .ci/warm.py FILE|-m MODULE ...

A notebook, its kernel and its check each spend seconds on importing the same libraries. `with
COMMAND` runs a command and serves while it runs: each `.ci/warm.py FILE|-m MODULE ARGUMENTS` below
it becomes a fork of the server, in its caller's folder, environment and streams, where `LIBRARIES`
are loaded. Without a server it is a plain `python`. The kit's own modules are never loaded here, so
what runs is what stands in the files.
"""

import contextlib
import os
import sys

LIBRARIES = """
    papermill nbstripout ipykernel.ipkernel matplotlib_inline.backend_inline pytest
    pandas seaborn matplotlib.pyplot scipy.stats statsmodels.api statsmodels.formula.api sklearn.metrics
    lxml.html requests jsonschema PIL.Image
"""
DOOR = "DAYBEFORE_WARM"
"""The environment variable that holds the address of the server's socket."""


def wait_turn():
    """Return once no other make is at work in this folder; the lock lasts as long as this process
    and its forks."""
    import fcntl

    os.makedirs(".make", exist_ok=True)
    lock = os.open(".make/lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(
            "another make is at work in this folder; this one waits until it has ended",
            file=sys.stderr,
            flush=True,
        )
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def ask(argv):
    """Have the server run a program in this process's folder, environment and streams; return its
    exit status."""
    import json
    import signal
    import socket

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

    In a fork that is to run a program return the program's arguments.
    """
    import select
    import shutil
    import signal
    import socket
    import subprocess
    import tempfile
    import warnings

    # From 3.12 on Python warns of forks beside threads; those of the libraries' pools wait, and
    # hold no lock.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    signal.signal(signal.SIGINT, lambda *_: None)  # the command decides what an interrupt ends
    folder, door, minders = tempfile.mkdtemp(), socket.socket(socket.AF_UNIX), []
    door.bind(f"{folder}/door")
    door.listen(256)
    running = subprocess.Popen(command, env=os.environ | {DOOR: f"{folder}/door"}, close_fds=False)
    end = os.pidfd_open(running.pid)
    while end not in select.select([door, end], [], [])[0]:
        line = door.accept()[0]
        load_libraries()
        if not (minder := os.fork()):
            door.close()
            return mind(line, end)
        line.close()
        minders = [minder] + [pid for pid in minders if os.waitpid(pid, os.WNOHANG) == (0, 0)]
    for pid in minders:
        os.waitpid(pid, 0)
    shutil.rmtree(folder)
    status = running.wait()
    sys.exit(2 if status < 0 else status)


def load_libraries():
    """Import the libraries as a notebook would, the first time; what they hold is kept out of
    forks' garbage."""
    import gc
    import importlib

    if "pandas" in sys.modules:
        return
    for name in LIBRARIES.split():
        importlib.import_module(name)
    # At its import pandas asks whether it prints to a terminal, as wide as that is, or, as kernels
    # do, in a notebook.
    sys.modules["pandas"].set_option("display.max_columns", 20)
    gc.freeze()


def mind(line, command_end):
    """Fork for the program that a caller asks for, whose arguments return in that fork; tell the
    caller how it ended.

    A program whose caller is gone, or that outlives the command, is ended with all that it started.
    """
    import json
    import select
    import signal
    import socket

    size, streams, _, _ = socket.recv_fds(line, 8, 3)
    request = json.loads(line.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
    if not (job := os.fork()):
        line.close()
        os.close(command_end)
        return become(*request, streams)
    with contextlib.suppress(
        OSError
    ):  # it does so itself, later; until then it could not be ended as a group
        os.setpgid(job, job)
    for stream in streams:
        os.close(stream)
    end = os.pidfd_open(job)
    if end not in select.select([line, end, command_end], [], [])[0]:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(job, 0)[1])
    with contextlib.suppress(OSError):
        line.sendall(str(status if status >= 0 else 128 - status).encode())
    os._exit(0)


def become(argv, folder, environment, streams):
    """Take over a caller's folder, environment and streams; return the arguments of the program to
    run."""
    import importlib
    import signal

    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    importlib.invalidate_caches()
    return argv


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
            runpy.run_path(
                os.path.join(
                    os.path.dirname(os.path.abspath(__file__)), "watch", "sitecustomize.py"
                )
            )
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
    if sys.argv[1] == "with" and hasattr(os, "pidfd_open"):
        wait_turn()
        run(serve(sys.argv[2:]))
    elif sys.argv[1] == "with":
        os.set_inheritable(wait_turn(), True)
        os.execvp(sys.argv[2], sys.argv[2:])
    elif DOOR in os.environ:
        sys.exit(ask(sys.argv[1:]))
    else:
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
