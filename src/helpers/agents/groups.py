"""The processes of a call into the sandbox: what they use, how they are ended, a control group that bounds them."""

import os
import re
import signal
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def open_group(n_bytes):
    """Yield the folder of a control group for one call's processes: so much memory, the kernel's for them included.

    Yields None where this process may make none, or no memory is counted there. Of cgroups both versions are known.
    """
    group = None
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, kind, place = line.split(":", 2)
        own = Path("/sys/fs/cgroup", kind, place[1:])
        limit = {"": "memory.max", "memory": "memory.limit_in_bytes"}.get(kind)
        for base in (own, own.parent) if limit and not group else ():
            group = group or make_group(base, limit, n_bytes)
    try:
        yield group
    finally:
        for _ in range(50 if group else 0):  # until the kernel has let go of its last process
            with suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.025)


def make_group(base, limit, n_bytes):
    """Return a new control group below another, its memory limited by a file so named; None where none can be had."""
    group = base / f"sandbox-{uuid.uuid4().hex[:12]}"
    with suppress(OSError):
        if os.access(base / "cgroup.procs", os.W_OK):
            group.mkdir()
            try:
                (group / limit).write_text(str(n_bytes))
                return group
            except OSError:
                group.rmdir()
    return None


def was_full(group):
    """Say whether the kernel ended a process of a control group for want of memory."""
    for name in ("memory.events", "memory.oom_control") if group else ():
        with suppress(OSError):
            if found := re.search(r"^oom_kill (\d+)", (group / name).read_text(), re.MULTILINE):
                return int(found[1]) > 0
    return False


def list_group(pid):
    """Return a process and all that descend from it: whose parent is gone, its namespace's first process has taken."""
    group = [pid]
    for one in group:
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{one}/task"):
                group += map(int, Path(f"/proc/{one}/task/{thread}/children").read_text().split())
    return group


def measure_group(pid, used):
    """Return a group's memory (bytes, files apart) and processor time (seconds, with that of processes that ended).

    `used` keeps what each process was seen to use: of one that nobody waited for the kernel tells no more later.
    """
    memory = ticks = 0
    for one in list_group(pid):
        with suppress(OSError):
            resident, shared = Path(f"/proc/{one}/statm").read_text().split()[1:3]
            memory += (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
            facts = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            user, system, *waited_for = map(int, facts[11:15])
            used[one, facts[19]] = user + system
            ticks += user + system + sum(waited_for)
    return memory, max(ticks, sum(used.values())) / os.sysconf("SC_CLK_TCK")


def kill_group(pid):
    """Kill a process and all that descend from it; they are stopped first, so that none is born meanwhile."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for one in list_group(pid):
            with suppress(ProcessLookupError):
                os.kill(one, number)
