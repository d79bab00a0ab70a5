"""The processes of a call into the sandbox: what they use, and how they are ended."""

import os
import signal
from contextlib import suppress
from pathlib import Path


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
