"""Start Python with its libraries already loaded:  .ci/warm.py with COMMAND;  below it  .ci/warm.py FILE|-m MODULE ...

A notebook, its kernel and its check each spend seconds on importing the same libraries. `with COMMAND` runs a command
and serves while it runs: each `.ci/warm.py FILE|-m MODULE ARGUMENTS` below it becomes a fork of the server, in its
caller's folder, environment and streams, where `LIBRARIES` are loaded. Without a server it is a plain `python`. The
kit's own modules are never loaded here, so what runs is what stands in the files.

With `with --turns N NAME ... -- make ...`, programs that say what they are called (the environment variable
DAYBEFORE_TURN) run N at a time, those of the list first, in its order, where make by itself would start what comes
next in an order of its own. After one has failed no further one begins, unless make is to --keep-going.
"""

import contextlib
import os
import sys
import time

LIBRARIES = """
    papermill nbstripout ipykernel.ipkernel matplotlib_inline.backend_inline pytest
    pandas seaborn matplotlib.pyplot scipy.stats statsmodels.api statsmodels.formula.api sklearn.metrics
    lxml.html requests jsonschema PIL.Image
"""
DOOR = "DAYBEFORE_WARM"
"""The environment variable that holds the address of the server's socket."""
TURN = "DAYBEFORE_TURN"
"""The environment variable that holds the name of a program that waits for its turn."""
PAUSE_S = 0.2
"""So long the next turn waits for what make may start now, while names of the order have not asked."""


def wait_turn():
    """Return once no other make is at work in this folder; the lock lasts as long as this process and its forks."""
    import fcntl

    os.makedirs(".make", exist_ok=True)
    lock = os.open(".make/lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("another make is at work in this folder; this one waits until it has ended", file=sys.stderr, flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def ask(argv):
    """Have the server run a program in this process's folder, environment and streams; return its exit status."""
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


class Server:
    """Runs a command and forks for what asks meanwhile; of the programs that wait for a turn `n_turns` run at a time.

    `jobs` are the programs at work, by the line to their caller: (process, its end as a descriptor, whether it takes a
    turn). `waiting` are those to be started: (request, streams). Names of `order` go first, in its order.
    """

    def __init__(self, command, n_turns, order):
        import select
        import signal
        import socket
        import subprocess
        import tempfile

        signal.signal(signal.SIGINT, lambda *_: None)  # the command decides what an interrupt ends
        self.n_turns, self.order, self.goes_on = n_turns, order, "--keep-going" in command
        self.folder, self.door, self.select = tempfile.mkdtemp(), socket.socket(socket.AF_UNIX), select.select
        self.door.bind(f"{self.folder}/door")
        self.door.listen(256)
        self.running = subprocess.Popen(command, env=os.environ | {DOOR: f"{self.folder}/door"}, close_fds=False)
        self.command_end, self.jobs, self.waiting = os.pidfd_open(self.running.pid), {}, {}
        self.stops, self.expected, self.quiet_until = False, set(order), 0.0

    def serve(self):
        """Exit with the command's status once it has ended; in a fork return the arguments of the program to run."""
        while not (self.stops and self.count_turns() == 0):
            ready = self.wait()
            if self.command_end in ready:
                break
            self.settle(ready)
            if self.door in ready:
                self.admit()
            while (line := self.choose_next()) is not None:
                if not (job := os.fork()):
                    return self.leave(line)
                self.note_start(line, job)
        else:
            give_up(self.running, self.waiting)
        self.close()

    def count_turns(self):
        """Return how many of the programs at work take a turn."""
        return sum(takes_turn for _, _, takes_turn in self.jobs.values())

    def wait(self):
        """Return what there is to see to: the door, the command's end, lines of callers, ends of programs."""
        left_s = self.quiet_until - time.monotonic()
        sources = [self.door, self.command_end, *self.waiting, *self.jobs, *(end for _, end, _ in self.jobs.values())]
        return self.select(sources, [], [], left_s if left_s > 0 else None)[0]

    def settle(self, ready):
        """Tell callers of the programs that have ended, and forget the callers that are gone."""
        for line in [line for line, (_, end, _) in self.jobs.items() if line in ready or end in ready]:
            job, end, takes_turn = self.jobs.pop(line)
            self.stops |= finish(line, job, end) and takes_turn and not self.goes_on
            if takes_turn and self.expected:
                self.quiet_until = time.monotonic() + PAUSE_S
        for line in [line for line in self.waiting if line in ready]:
            close_all(self.waiting.pop(line)[1])
            line.close()

    def admit(self):
        """Take what asks at the door among those that wait."""
        line = self.door.accept()[0]
        self.waiting[line] = receive(line)
        self.expected.discard(self.waiting[line][0][2].get(TURN))
        if load_libraries():
            self.quiet_until = time.monotonic() + PAUSE_S

    def choose_next(self):
        """Return the line of the waiting program to start now, None when none may."""
        names = {line: request[2].get(TURN) or None for line, (request, _) in self.waiting.items()}
        for line, name in names.items():
            if name is None:
                return line
        is_held = self.stops or time.monotonic() < self.quiet_until or self.count_turns() >= self.n_turns
        places = {name: place for place, name in enumerate(self.order)}
        by_place = sorted(names, key=lambda line: (places.get(names[line], len(places)), names[line]))
        return None if is_held or not by_place else by_place[0]

    def leave(self, line):
        """In a fork: close all that is the server's and become the program that the line's caller asked for."""
        request, streams = self.waiting.pop(line)
        for other in (self.door, line, *self.jobs, *self.waiting):
            other.close()
        for end in (self.command_end, *(end for _, end, _ in self.jobs.values())):
            os.close(end)
        for _, others in self.waiting.values():
            close_all(others)
        return become(*request, streams)

    def note_start(self, line, job):
        """Take a fork among the programs at work."""
        request, streams = self.waiting.pop(line)
        with contextlib.suppress(OSError):  # it does so itself, later; until then it could not be ended as a group
            os.setpgid(job, job)
        close_all(streams)
        self.jobs[line] = job, os.pidfd_open(job), bool(request[2].get(TURN))

    def close(self):
        """End what is still at work and exit with the command's status."""
        import shutil

        for line, (job, end, _) in self.jobs.items():
            finish(line, job, end)
        shutil.rmtree(self.folder)
        status = self.running.wait()
        sys.exit(2 if status < 0 else status)


def receive(line):
    """Return what a caller asks for, [arguments, folder, environment], and its three streams."""
    import json
    import socket

    size, streams, _, _ = socket.recv_fds(line, 8, 3)
    return json.loads(line.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL)), streams


def give_up(running, waiting):
    """End make, that has told of the failure, before it tells of each program that waits for its turn."""
    import subprocess

    if waiting:
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(0.5)
        running.kill()
        names = sorted(request[2][TURN] for request, _ in waiting.values())
        print(f"not begun: {', '.join(names)}; the same command goes on with them", file=sys.stderr, flush=True)


def close_all(streams):
    """Close a caller's streams on this side."""
    for stream in streams:
        os.close(stream)


def load_libraries():
    """Import the libraries as a notebook would, the first time; what they hold is kept out of forks' garbage.

    Returns whether this was the first time.
    """
    import gc
    import importlib

    if "pandas" in sys.modules:
        return False
    for name in LIBRARIES.split():
        importlib.import_module(name)
    # At its import pandas asks whether it prints to a terminal, as wide as that is, or, as kernels do, in a notebook.
    sys.modules["pandas"].set_option("display.max_columns", 20)
    gc.freeze()
    return True


def finish(line, job, end):
    """Tell the caller how its program ended, or end a program (with all it started) whose caller is gone.

    Returns whether it failed, or was ended.
    """
    import signal

    done = os.waitid(os.P_PIDFD, end, os.WEXITED | os.WNOHANG)
    if done is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job, signal.SIGKILL)
        os.waitid(os.P_PIDFD, end, os.WEXITED)
    else:
        killed = done.si_code != os.CLD_EXITED
        try:
            line.sendall(str(done.si_status + 128 * killed).encode())
        except BrokenPipeError:
            pass
    os.close(end)
    line.close()
    return done is None or done.si_status != 0


def become(argv, folder, environment, streams):
    """Take over a caller's folder, environment and streams; return the arguments of the program to run."""
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
    os.environ.pop(TURN, None)  # what it starts belongs to its turn
    importlib.invalidate_caches()
    return argv


def run(argv):
    """Run FILE or -m MODULE as `python` would, watched when the environment asks for it, and end this process.

    It ends by `os._exit`, as forks of multiprocessing do: taking down the libraries it shares would copy them first.
    """
    import atexit
    import runpy
    import threading
    import traceback

    status = 1
    try:
        if "DAYBEFORE_READS" in os.environ:
            runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "watch", "sitecustomize.py"))
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


def read_command(arguments):
    """Return what stands after `with`: make's command, how many turns at a time, and the names that come first."""
    if arguments[0] != "--turns":
        return arguments, sys.maxsize, []
    end = arguments.index("--")
    return arguments[end + 1 :], int(arguments[1]), arguments[2:end]


if __name__ == "__main__":
    if sys.argv[1] == "with":
        command, n_turns, order = read_command(sys.argv[2:])
        if hasattr(os, "pidfd_open"):
            wait_turn()
            run(Server([*command, *(["-j64"] if order else [])], n_turns, order).serve())
        os.set_inheritable(wait_turn(), True)
        os.execvp(command[0], [*command, *([f"-j{n_turns}"] if order else [])])
    elif DOOR in os.environ:
        sys.exit(ask(sys.argv[1:]))
    else:
        os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
