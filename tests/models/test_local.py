"""The local model: its file, its server, answers held to a grammar, recorded through the door and
replayed."""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from builders import SMALL, match, needs_model, needs_server

from daybefore.models.client import ask, open_door
from daybefore.models.grammars import build_grammar
from daybefore.models.local_server import serve_model

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


def fetch(address, path):
    """Return (status, headers) of a request as a page of another site would have a browser send
    it."""
    request = urllib.request.Request(
        address.removesuffix("/v1") + path, headers={"Origin": "https://evil.example"}
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.headers
    except urllib.error.HTTPError as error:
        return error.code, error.headers


@needs_server
@needs_model
def test_the_small_model_answers_in_the_box_and_its_replies_replay(out):
    messages = [{"role": "user", "content": QUESTION}]
    single = {"grammar": build_grammar("single", list("ABCD"))}
    number = {"grammar": build_grammar("number")}
    options = {"max_tokens": 40, "temperature": 0}
    rows = []
    model = f"openai/{SMALL.stem}"
    with serve_model(SMALL) as address:
        door = open_door("local", live=True, connection={"api_base": address}, deadline_s=120)
        status, headers = fetch(address, "/health")
        assert status == 200 and not headers.get("Access-Control-Allow-Origin"), (
            "no other site's page may read it"
        )
        assert address.startswith("http://127.0.0.1:") and fetch(address, "/slots")[0] != 200
        for extra in (single, number):
            rows += [
                ask(door, model, messages, sample=i, extra_body=extra, **options) for i in range(2)
            ]
        door.recordings.close()
    assert re.fullmatch(r"Final answer: \\boxed\{[ABCD]\}", rows[0]["content"])
    assert re.fullmatch(r"Final answer: \\boxed\{-?\d+(\.\d+)?\}", rows[2]["content"])
    assert (rows[0]["content"], rows[2]["content"]) == (rows[1]["content"], rows[3]["content"]), (
        "temperature 0"
    )
    assert rows[0]["n_cached_tokens"] == rows[1]["n_cached_tokens"] == 0, (
        "no prompt cache between questions"
    )
    assert rows[0]["cost_usd"] is None
    closed = open_door("local")
    assert ask(closed, model, messages, extra_body=single, **options) == rows[0]


@needs_server
@needs_model
def test_the_server_ends_with_its_parent():
    code = f"""
import os, signal
from daybefore.models.local_server import serve_model
with serve_model({str(SMALL)!r}) as address:
    print(address, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=os.environ
    )
    port = int(ended.stdout.rsplit(":", 1)[1].split("/")[0])
    end = time.monotonic() + 10
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return
        assert time.monotonic() < end, "the server lives on"
        time.sleep(0.1)
