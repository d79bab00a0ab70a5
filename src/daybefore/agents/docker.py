"""The sandbox by Docker, where bubblewrap cannot be had: each call is a container of its own,
without a network.

/workdir and /tmp are disks in memory, the evidence is a copy (volumes). A process apart, the
keeper, holds them while its input is open, and then removes what the engine has of it: so also when
the kit was killed. Nothing is pulled or built; the image is there, or SandboxError says how it is
built.

The engine bounds memory (what a call writes is of it), processes, files, the user, the network.
Inside, a call's first process adds what bubblewrap's calls have: the same filter of system calls,
addresses, the processor time of them all. Time and output are looked at from outside. An agent can
see what it can by bubblewrap; Python is the image's.
"""

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from functools import partial

from daybefore.agents.sandbox_parts import (
    ENV,
    TICK_S,
    Backend,
    Limits,
    Sandbox,
    SandboxError,
    list_rules,
    probe,
)

IMAGE = "daybefore-sandbox"
BUILD = f"docker build -t {IMAGE} -f .ci/sandbox.Dockerfile .ci"

MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
"""An image's architecture -> the machine of its filter."""

ENGINE_S = 120
"""Seconds that the engine has for an answer."""

APART = {
    "start_new_session": True,
    "creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
}
"""Out of reach of Ctrl-C, which would end a program of Docker's, and not what it started."""

BOUND = (
    "--interactive --network none --read-only --cap-drop ALL --security-opt no-new-privileges --user 1000:1000 "
    "--hostname sandbox --dns 127.0.0.1 --dns-search . --log-driver none --cpus 1 --memory {limits.memory_mb}m "
    "--memory-swap {limits.memory_mb}m --pids-limit {n_processes} --shm-size {limits.disk_mb}m --ulimit core=1 "
    "--ulimit nofile=128 --ulimit msgqueue=0 --ulimit fsize={file_bytes} --ulimit cpu={cpu_s} --workdir /workdir "
    "--entrypoint /usr/bin/env"
)
"""How every container is set apart and bound."""

DISK = (
    '"volume-opt=o=size={limits.disk_mb}m,nr_inodes={limits.n_files},mode=1777,nosuid,nodev",'
    "volume-driver=local,volume-opt=type=tmpfs,volume-opt=device=tmpfs"
)
"""A disk in memory, made with the container that holds it."""

KEEPER = """
import subprocess, sys, time
docker, name, *run = sys.argv[1:]
subprocess.run([docker, "run", *run])
def ask(*words):
    return subprocess.run([docker, *words], stdin=subprocess.DEVNULL, capture_output=True)
for again in range(10):
    for left in ask("ps", "--all", "--quiet", "--filter", "name=" + name).stdout.decode().split():
        ask("rm", "--force", left)
    if ask("volume", "rm", "--force", *(name + disk for disk in ("-workdir", "-tmp", "-evidence"))).returncode == 0:
        break
    time.sleep(0.5)
"""
"""Holds the volumes until its input ends or has a line, then removes what is left: again, as one
may be on its way."""

FIRST = """
import ctypes, os, resource, signal, struct, sys
rules, n_bytes, cpu_s, *cmd = sys.argv[1:]
rules = bytes.fromhex(rules)
kept = ctypes.create_string_buffer(rules)
resource.setrlimit(resource.RLIMIT_AS, (int(n_bytes),) * 2)
libc = ctypes.CDLL(None)
if libc.prctl(22, 2, struct.pack("HP", len(rules) // 8, ctypes.addressof(kept))):
    sys.exit("no filter of system calls can be set")
libc.prctl(4, 0)  # nothing takes this process over
ways = [(f"/sys/fs/cgroup/{way}", unit) for way, unit in (("cpuacct/cpuacct.usage", 1e9), ("cpu.stat", 1e6))]
usage, unit = next(way for way in ways if os.path.exists(way[0]))
if (pid := os.fork()) == 0:
    for name in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(name, signal.SIG_DFL)
    try:
        os.execvp(cmd[0], cmd)
    except OSError as error:
        sys.exit(f"{cmd[0]}: {error.strerror}")
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
while True:
    done, status = os.waitpid(-1, os.WNOHANG)
    if done == pid:
        code = os.waitstatus_to_exitcode(status)
        os._exit(code if code >= 0 else 128 - code)
    if int(open(usage).read().split()[:2][-1]) / unit > int(cpu_s):
        os._exit(152)
    if done == 0:
        signal.sigtimedwait({signal.SIGCHLD}, 0.1)
"""
"""A call's first process: bound as all that follow, it ends them with the command, or at their
processor time (152)."""

BOUNDS = """
found = [f"/sys/fs/cgroup/{way}" for way in ("memory/memory.limit_in_bytes", "memory.max", "pids/pids.max", "pids.max")]
print([open(way).read().strip() for way in found if os.path.exists(way)], sorted(os.environ))
disks = [os.statvfs(f"/{name}") for name in ("", "evidence", "workdir", "tmp")]
sizes = [(disk.f_blocks * disk.f_frsize, disk.f_files) for disk in disks[2:]]
print([disk.f_flag & os.ST_RDONLY for disk in disks], sizes)
"""
"""What the probe asks beside: the engine's bounds, the environment, what is read-only, how large
the disks are."""


def find_docker():
    """Return the Backend of the Docker that works here, found by trying. Raises SandboxError: what
    is wrong with it."""
    docker = shutil.which("docker")
    if docker is None:
        raise SandboxError("there is no docker program")
    image, machine = ask(
        docker, "image", "inspect", "--format", "{{.Id}} {{.Architecture}}", IMAGE
    ).split()
    if machine not in MACHINES:
        raise SandboxError(f"its image is for {machine}")
    name = "docker " + ask(docker, "version", "--format", "{{.Server.Version}}")
    backend = Backend(docker, name, partial(open_docker, image=image, machine=MACHINES[machine]))
    limits = Limits()
    bounds = [str(limits.memory_mb << 20), str(limits.n_processes + 1)]
    disks = [(limits.disk_mb << 20, limits.n_files)] * 2
    if problem := probe(
        backend, BOUNDS, f"\n{bounds} {sorted(['PATH', *ENV])}\n[1, 1, 0, 0] {disks}"
    ):
        raise SandboxError(problem)
    return backend


def ask(docker, *words):
    """Return what Docker answers. Raises SandboxError with the last line of what it says is
    wrong."""
    kept = {
        "stdin": subprocess.DEVNULL,
        "capture_output": True,
        "encoding": "utf-8",
        "errors": "replace",
    }
    try:
        done = subprocess.run([docker, *words], timeout=ENGINE_S, check=False, **kept, **APART)
    except subprocess.TimeoutExpired:
        raise SandboxError("its engine does not answer") from None
    if done.returncode:
        raise SandboxError((done.stderr.strip() or "docker failed").splitlines()[-1])
    return done.stdout.strip()


@contextmanager
def open_docker(backend, limits, evidence, *, image, machine):
    """Open a sandbox by Docker, as `sandbox.open_sandbox` says; `evidence` is the folder to copy
    in."""
    docker = backend.program
    name = f"daybefore-{secrets.token_hex(6)}"
    disk = DISK.format(limits=limits)
    sizes = {
        "file_bytes": limits.file_mb << 20,
        "n_processes": limits.n_processes + 1,
        "cpu_s": limits.cpu_s + 1,
    }
    bound = BOUND.format(limits=limits, **sizes).split()
    places = [
        f"--mount=type=volume,src={name}-{to},dst=/{to},volume-nocopy"
        for to in ("workdir", "tmp", "evidence")
    ]
    held = [f"{places[0]},{disk}", f"{places[1]},{disk}", places[2]]
    run = ["--rm", f"--name={name}", *bound, *held, image, "-i", "sh", "-c", "echo; read -r end"]
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(
        [sys.executable, "-Ic", KEEPER, docker, name, *run], **streams, **APART
    ) as holder:
        try:
            if not holder.stdout.readline():
                raise SandboxError(
                    (holder.stderr.read().decode().strip() or "docker ended").splitlines()[-1]
                )
            ask(docker, "cp", f"{evidence}{os.sep}.", f"{name}:/evidence")
            words = [
                *bound,
                *places[:2],
                f"{places[2]},readonly",
                image,
                "-i",
                "PATH=/usr/bin:/bin",
            ]
            words += [*(f"{key}={value}" for key, value in ENV.items()), "python3", "-Ic", FIRST]
            words += [list_rules(machine).hex(), str(limits.memory_mb << 21), str(limits.cpu_s)]
            yield Sandbox(
                backend.name,
                limits,
                holder,
                partial(run_container, docker=docker, name=name, words=words),
            )
        finally:
            holder.communicate(b"\n")


def run_container(sandbox, cmd, given, seconds, *, docker, name, words):
    """Run a call in a container of its own, as `Sandbox.run`; `words` are those of `docker create`
    before its own."""
    n_bytes = sandbox.limits.output_kb << 10
    name = f"{name}-{secrets.token_hex(4)}"
    limit = None
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            ask(docker, "create", "--name", name, *words, *cmd)
            start = [docker, "start", "--attach", "--interactive", name]
            end_at = time.monotonic() + seconds
            process = subprocess.Popen(start, stdin=given, stdout=out, stderr=err, **APART)
            while limit is None and process.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(TICK_S)
                n_said = sum(os.fstat(file.fileno()).st_size for file in (out, err))
                if time.monotonic() > end_at:
                    limit = "time"
                elif n_said > n_bytes:
                    limit = "output"
            state = ask(
                docker, "inspect", "--format", "{{.State.Status}} {{.State.OOMKilled}}", name
            ).split()
        finally:  # after Ctrl-C, too; to end the program that started it would leave the container running
            with suppress(SandboxError):
                ask(docker, "rm", "--force", name)
        process.kill()
        code = process.wait()
        for file in (out, err):
            file.seek(0)
        said = out.read(n_bytes + 1), err.read(n_bytes + 1)
    if state[0] == "created" and limit is None:
        raise SandboxError(said[1].decode(errors="replace").strip() or "docker started nothing")
    if limit is None and state[1] == "true":
        limit = "memory"
    if limit is None and code == 152:
        limit = "cpu"
    return code, *said, limit
