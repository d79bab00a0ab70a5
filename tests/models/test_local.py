"""The local model: its file, its server, answers held to a grammar, recorded through the door and replayed."""

import hashlib
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import pytest
from builders import SMALL, match, needs_model, needs_server

from helpers.models import local as local_model
from helpers.models.files import fetch_model
from helpers.models.grammars import build_grammar
from helpers.models.llm import ask, open_door
from helpers.models.local import serve_model

QUESTION = "Which city is the capital of France?\nA. Rome\nB. Paris\nC. Bonn\nD. None of these\nAnswer in a box."


CASES = [
    (("single", list("ABC")), ["B"], ["D", "", "A, B"]),
    (("multi", list("ABC")), ["B", "A, C", "A, B, C"], ["", "C, A", "A, A", "D"]),
    (("ranking", ["Rome", "Paris", 'O"x'], 2), ["Rome; Paris", 'O"x; Rome'],
     ["Rome", "Rome; Rome", "Rome; Paris; Rome", "Bonn; Rome"]),
    (("ranking", None, 2), ["Rome; Paris, TX"], ["Rome", "Rome; Paris; Bonn", "; Rome", "{Rome; Paris"]),
    (("number",), ["-12.5", "0", "0.25", "14466"], ["", "01", "1,000", "1.", "12 USD"]),
]  # fmt: skip


@pytest.mark.parametrize(("event", "right", "wrong"), CASES)
def test_a_grammar_allows_valid_answers_and_nothing_else(event, right, wrong):
    grammar = build_grammar(*event)
    assert [text for text in right if not match(grammar, f"Final answer: \\boxed{{{text}}}")] == []
    assert [text for text in wrong if match(grammar, f"Final answer: \\boxed{{{text}}}")] == []
    assert not match(grammar, right[0])


def make_wheels(folder, contents):
    for i, data in enumerate(contents, 1):
        name = f"part_package{i}-1.0"
        with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"part_package{i}/data/part{i:02}.bin", data)
            wheel.writestr(
                f"{name}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: part-package{i}\nVersion: 1.0\n"
            )
            wheel.writestr(f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{name}.dist-info/RECORD", "")


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """A model that comes in two packages, the second of their names first, which pip finds in a folder: its name."""
    make_wheels(tmp_path, [b"<1>", b"<2>"])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    packages, digest = ["part-package2==1.0", "part-package1==1.0"], hashlib.sha256(b"<2><1>").hexdigest()
    entry = {"file": "m.gguf", "sha256": digest, "address": None, "packages": packages, "member": "*/data/part*.bin"}
    return entry


def test_a_model_is_put_together_from_its_packages_in_their_order(parts, tmp_path):
    path = fetch_model(parts, tmp_path / "models")
    assert path.read_bytes() == b"<2><1>"
    assert [file.name for file in path.parent.iterdir()] == ["m.gguf"]


def test_another_digest_is_refused(parts, tmp_path):
    with pytest.raises(ValueError, match="another file than m.gguf"):
        fetch_model(parts | {"sha256": "0" * 64}, tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


def test_the_server_needs_its_package_and_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(local_model, "has_server", lambda: True)
    with pytest.raises(FileNotFoundError, match="no model file absent.gguf; `make model` fetches it"):
        serve_model(tmp_path / "absent.gguf").__enter__()
    monkeypatch.setattr(local_model, "has_server", lambda: False)
    with pytest.raises(RuntimeError, match="needs the package xllamacpp; `make model` installs it"):
        serve_model(tmp_path / "absent.gguf").__enter__()


@needs_server
@needs_model
def test_the_small_model_answers_in_the_box_and_its_replies_replay(tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    messages = [{"role": "user", "content": QUESTION}]
    single = {"grammar": build_grammar("single", list("ABCD"))}
    number = {"grammar": build_grammar("number")}
    options = {"max_tokens": 40, "temperature": 0}
    rows = []
    with serve_model(SMALL, n_context=1024) as (base_url, model):
        door = open_door("local", live=True, connection={"api_base": base_url}, deadline_s=120)
        for extra in (single, number):
            rows += [ask(door, model, messages, sample=i, extra_body=extra, **options) for i in range(2)]
        door.recordings.close()
    assert re.fullmatch(r"Final answer: \\boxed\{[ABCD]\}", rows[0]["content"])
    assert re.fullmatch(r"Final answer: \\boxed\{-?\d+(\.\d+)?\}", rows[2]["content"])
    assert (rows[0]["content"], rows[2]["content"]) == (rows[1]["content"], rows[3]["content"]), "temperature 0"
    assert rows[0]["n_cached_tokens"] == rows[1]["n_cached_tokens"] == 0, "no prompt cache between questions"
    assert rows[0]["cost_usd"] is None
    closed = open_door("local")
    assert ask(closed, model, messages, extra_body=single, **options) == rows[0]


def fetch(address, path, origin="https://evil.example", method="GET"):
    """Return (status, headers) of a request as a page of another site would have a browser send it."""
    request = urllib.request.Request(address.removesuffix("/v1") + path, method=method, headers={"Origin": origin})
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.headers
    except urllib.error.HTTPError as error:
        return error.code, error.headers


@needs_server
@needs_model
def test_the_server_is_for_this_machine_only_and_for_no_page_of_a_browser():
    with serve_model(SMALL, n_context=256) as (base_url, _):
        host, port = base_url.removeprefix("http://").removesuffix("/v1").split(":")
        assert host == "127.0.0.1"
        listening = {line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if " 0A " in line}
        assert [place for place in listening if place.endswith(f":{int(port):04X}")] == [f"0100007F:{int(port):04X}"]
        status, headers = fetch(base_url, "/health")
        assert status == 200 and not headers.get("Access-Control-Allow-Origin"), "no other site's page may read it"
        _, headers = fetch(base_url, "/v1/chat/completions", method="OPTIONS")
        assert not headers.get("Access-Control-Allow-Origin")
        assert [path for path in ("/slots", "/", "/metrics") if fetch(base_url, path)[0] == 200] == []


@needs_server
@needs_model
def test_the_server_ends_with_its_parent():
    code = f"""
import os, signal
from helpers.models.local import serve_model
with serve_model({str(SMALL)!r}, n_context=256) as served:
    print(served.base_url, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=os.environ)
    port = int(ended.stdout.rsplit(":", 1)[1].split("/")[0])
    assert is_closed_soon(port)


def is_closed_soon(port, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return True
        time.sleep(0.1)
    return False
