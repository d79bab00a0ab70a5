"""The processes of a call into the sandbox: what they use, and how they are ended."""

import os
import signal
import tempfile
import time
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

CGROUPS = (("cpuacct", "cpuacct.usage", 1e9), ("", "cpu.stat", 1e6))
"""Control groups of the kernel (version 1, 2): their folder, the file with the processor time of
all that ever ran in one, and its units a second."""


def list_group(pid):
    """Return a process and all that descend from it: whose parent is gone, its namespace's first
    process has taken."""
    group = [pid]
    for one in group:
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{one}/task"):
                group += map(int, Path(f"/proc/{one}/task/{thread}/children").read_text().split())
    return group


def measure_group(pid, used):
    """Return a group's memory (bytes, files apart) and processor time (seconds, with that of
    processes that ended).

    `used` keeps what each process was seen to use: of one that nobody waited for the kernel tells
    no more later.
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
    """Kill a process and all that descend from it; they are stopped first, so that none is born
    meanwhile."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for one in list_group(pid):
            with suppress(ProcessLookupError):
                os.kill(one, number)


@contextmanager
def open_cgroup():
    """Yield a new control group, (file that takes its processes, file and units a second of their
    time), or None.

    It is made below this process's group (in version 1 below the first), where this process may
    make one.
    """
    made = next(filter(None, (make_cgroup(*way) for way in CGROUPS)), None)
    try:
        yield made
    finally:
        end = time.monotonic() + 10  # the last process may be on its way out
        while made and made[0].exists() and time.monotonic() < end:
            with suppress(OSError):
                made[0].parent.rmdir()
            time.sleep(0.01)


def make_cgroup(name, usage, unit):
    """Return what `open_cgroup` yields of one version's groups, None where none can be made."""
    with suppress(OSError):
        own = Path("/proc/self/cgroup").read_text().rpartition("::/")[2].strip()
        base = Path("/sys/fs/cgroup", name or own)
        if (base / usage).exists():
            clear_left(base)
            folder = Path(tempfile.mkdtemp(prefix="daybefore-", dir=base))
            return folder / "cgroup.procs", folder / usage, unit
    return None


@cache
def clear_left(base):
    """Remove the empty groups that kits left which were killed an hour ago or more; once a
    process."""
    for left in base.glob("daybefore-*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > 3600:
                left.rmdir()


def read_usage(cgroup):
    """Return the processor time of all that ever ran in a control group, in seconds; 0 without
    one."""
    return int(cgroup[1].read_text().split()[:2][-1]) / cgroup[2] if cgroup else 0.0
