"""What every backend of the sandbox has in common: its limits, a call's result, the evidence, the
filter, the probe."""

import fcntl
import hashlib
import os
import struct
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

TICK_S = 0.025
"""Seconds between two looks at what a call's processes use."""

ENV = dict(
    word.split("=")
    for word in "HOME=/workdir LANG=C.UTF-8 TZ=UTC PYTHONHASHSEED=0 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "
    "PYTHONDONTWRITEBYTECODE=1".split()
)
"""A call's whole environment, but for where programs are."""

X86 = (29, 41, 53, 64, 68, 248, 249, 250, 253, 278, 294, 298, 300, 319, 321, 323, 425, 447)

ARM = (194, 198, 199, 190, 186, 217, 218, 219, 26, 75, 241, 262, 279, 280, 282, 425, 447)

FILTER = {"x86_64": (0xC000003E, 9, 72, X86), "aarch64": (0xC00000B7, 222, 25, ARM)}
"""Machine -> the kernel's name of it, the calls `mmap` and `fcntl`, and the calls refused: memory
that no process owns up to, as sockets' buffers and queues of file events are; keys, other ways into
the kernel (shmget socket socketpair semget msgget add_key request_key keyctl inotify_init vmsplice
inotify_init1 perf_event_open fanotify_init memfd_create bpf userfaultfd io_uring_setup
memfd_secret)."""

SHARED, LOCKS = 0x21, (6, 7, 37, 38)
"""What `mmap` may not be asked for together (MAP_SHARED and MAP_ANONYMOUS), and what `fcntl` may
not: locks on parts of a file, of which the kernel keeps any number."""

PROBE = """
import ctypes, os
told = dict(line.strip().split(":", 1) for line in open("/proc/self/status"))
held = [int(told[name], 16) for name in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")]
nets = [line.split(":")[0].strip() for line in list(open("/proc/net/dev"))[2:]]
writable = [name for name in ("/", "/dev", "/usr", "/evidence", "/disk") if os.access(name, os.W_OK)]
print(os.getuid(), held, os.getppid(), nets, writable, ctypes.CDLL(None).unshare(0x10000000))
"""

IN_FORCE = "1000 [0, 0, 1, 2] 1 ['lo'] [] -1"
"""What the probe prints where all holds: an ordinary user without capability or a way to one, a
filter, no network."""

REMOVE = 'cat >/dev/null; chmod -R u+w -- "$1"; rm -rf -- "$1"'
"""What a shell does that outlives a kit that is killed: the copies of evidence go with it."""


class SandboxError(RuntimeError):
    """There is no sandbox: none can be had here, the evidence is not the manifest's, or it has been
    closed."""


class Limits(NamedTuple):
    """What one call may use; the disk (/workdir, /tmp, shared memory) and its files are those of
    the whole sandbox."""

    seconds: float = 120
    cpu_s: int = 120
    memory_mb: int = 1024
    n_processes: int = 64
    disk_mb: int = 256
    file_mb: int = 64
    n_files: int = 10_000
    output_kb: int = 1024


class Result(NamedTuple):
    """What a call came to; `limit` is the limit of its group that ended it: time cpu memory files
    output."""

    success: bool
    returncode: int
    stdout: str
    stderr: str
    limit: str | None = None


class Backend(NamedTuple):
    """A backend that works here: its program, its name (for traces), and what opens a sandbox with
    it."""

    program: Path
    name: str
    open: Callable


class Sandbox(NamedTuple):
    """An open sandbox: its backend's name, its limits, who holds its file system, and what runs a
    call.

    `run(sandbox, cmd, given, seconds)` returns (returncode, stdout, stderr, limit); `given` is a
    file, the input.
    """

    backend: str
    limits: Limits
    holder: subprocess.Popen
    run: Callable
    pid: int | None = None

    def exec(self, cmd, input="", timeout=None):
        """Return the Result of a command (a list of words), run in /workdir and given `input`
        (text, bytes) to read.

        `timeout` in seconds can only shorten the limit. Raises ValueError or OSError for words that
        no program can be given (a zero byte, 128 kB), SandboxError when the sandbox has been
        closed.
        """
        if self.holder.poll() is not None:
            raise SandboxError("this sandbox has been closed; open another")
        seconds = min(timeout or self.limits.seconds, self.limits.seconds)
        n = 1024 * self.limits.output_kb
        with open_input(input.encode() if isinstance(input, str) else input) as given:
            returncode, out, err, limit = self.run(self, cmd, given, seconds)
        limit = limit or ("output" if len(out) + len(err) > n else None)
        texts = (
            part.decode("utf-8", errors="replace")
            for part in (out[:n], err[: max(0, n - len(out))])
        )
        return Result(returncode == 0 and limit is None, returncode, *texts, limit)

    def read_file(self, path, timeout=None):
        """Return a file's text, as the agent could read it. Raises OSError; ValueError if too long
        or no text."""
        result = self.exec(["cat", "--", path], timeout=timeout)
        if result.limit == "time":
            raise OSError(f"{path} was not read: that passes the limit of time")
        if result.limit or "\ufffd" in result.stdout:
            raise ValueError(
                f"{path} cannot be read: it "
                + ("is too long" if result.limit else "is no UTF-8 text")
            )
        if not result.success:
            raise OSError(result.stderr.strip().removeprefix("cat: "))
        return result.stdout

    def write_file(self, path, contents, timeout=None):
        """Write text (or bytes) to a file, as the agent could; makes the folders on the way. Raises
        OSError."""
        script = 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"'
        result = self.exec(["bash", "-c", script, "write", path], contents, timeout)
        if not result.success:
            raise OSError(
                result.stderr.strip() or f"{path} was not written whole: that passes a limit"
            )


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
def open_backend(backend, manifest=(), folder=".", limits=None):
    """Open a sandbox by a Backend, as `sandbox.open_sandbox` says."""
    with open_stage() as stage:
        copy_evidence(manifest, Path(folder), evidence := Path(stage, "evidence"))
        with backend.open(backend, limits or Limits(), evidence) as sandbox:
            yield sandbox


def copy_evidence(manifest, folder, target):
    """Copy a manifest's files to a new folder, each checked as it is copied; all times are 0.
    Raises SandboxError."""
    target.mkdir()
    for entry in manifest:
        path = entry["path"]
        data = read_listed(entry, folder)
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(data)
    for place in [target, *target.rglob("*")]:
        place.chmod(0o555)
        os.utime(place, (0, 0))


def read_listed(entry, folder):
    """Return the bytes of a manifest's file. Raises SandboxError, which names it, as `open_sandbox`
    does."""
    path = PurePosixPath(entry["path"])
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise SandboxError(
            f"evidence file {path}: name it by its place below the evidence's folder"
        )
    try:
        real = (folder / path).resolve()
        if real.exists() and not (real.is_file() and real.is_relative_to(folder.resolve())):
            raise SandboxError(
                f"evidence file {path} is no file in the evidence's folder: put it there itself"
            )
        data = real.read_bytes()
    except OSError as error:
        raise SandboxError(
            f"evidence file {path} cannot be read ({error.strerror}): put it back"
        ) from None
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise SandboxError(
            f"evidence file {path} is not the manifest's (another sha256): restore one of them"
        )
    return data


def probe(backend, more="", told=""):
    """Return why a backend does not serve, None where all that is promised is in force: of `more`,
    what is `told`."""
    program = PROBE + more
    in_force = IN_FORCE + told
    try:
        with open_backend(backend) as sandbox:
            done = sandbox.exec(["python3", "-c", program], timeout=20)
    except (SandboxError, OSError, ValueError) as error:
        return str(error)
    said = done.stdout.strip()
    return (
        None
        if said == in_force
        else (done.stderr.strip() or f"{said!r} in place of {in_force!r}").splitlines()[-1]
    )


@cache
def list_rules(machine):
    """Return a machine's filter of system calls, as the kernel reads it (seccomp, classic BPF)."""
    arch, mmap, fcntl, denied = FILTER[machine]
    load = 0x20
    mask = 0x54
    equal = 0x15
    above = 0x35
    end = 0x06
    refuse = (end, 0, 0, 0x00050001)
    kill = (end, 0, 0, 0x80000000)
    allow = (end, 0, 0, 0x7FFF0000)
    rules = [
        (load, 0, 0, 4),
        (equal, 1, 0, arch),
        kill,
        (load, 0, 0, 0),
        (above, 0, 1, 0x40000000),
        refuse,
    ]
    rules += [rule for call in denied for rule in ((equal, 0, 1, call), refuse)]
    asked = [rule for lock in LOCKS for rule in ((equal, 0, 1, lock), refuse)]
    rules += [(equal, 0, 2 + len(asked), fcntl), (load, 0, 0, 24), *asked, allow]
    rules += [
        (equal, 1, 0, mmap),
        allow,
        (load, 0, 0, 40),
        (mask, 0, 0, SHARED),
        (equal, 0, 1, SHARED),
        refuse,
    ]
    return b"".join(struct.pack("=HBBI", *rule) for rule in [*rules, allow])
