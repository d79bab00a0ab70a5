"""A provider that lies: what each lie must end as, at how many requests: the mock provider's faults, and rawer ones.

What a server may send and still be a provider (an odd usage, two choices) is answered; all else is a failure that says
what came. Either way nothing lasts past the deadline, takes memory beyond the cap or puts the key into a file.
"""

import json
import re
import resource
import socket
import struct
import tempfile
import time
import zlib
from contextlib import contextmanager
from functools import partial

import pytest
from builders import KEY, PRICED, scan
from faults.table import FORK, measure_peak
from mock_provider import CONTENT, FAULTS, Server, press_bomb, send, write_body
from serving import run_server

from helpers.models.failures import NO_PAGE, TOO_FAST, LlmError
from helpers.models.llm import ask, open_door
from helpers.models.transport import load_litellm

DEADLINE_S, N_REQUESTS, OVER_S = 1.5, 3, 1.0
"""A question's, how often it is asked at most, and how far past its deadline it may end."""
MAX_MB = 200
"""A lie may take so much memory beyond what the process had before: the cap of a reply several times over."""


# --- what the mock provider does not say: bytes as they come ---------------------------------------------------------


def write_raw(handler, head, body=b"", end=b""):
    """Write a response as bytes, its head by lines; without an end of the connection unless `end` says so."""
    handler.wfile.write("\r\n".join(["HTTP/1.1 200 OK", "content-type: application/json", *head, "", ""]).encode())
    handler.wfile.write(body)
    handler.wfile.flush()


def say_raw(*head, body=None):
    body = write_body() if body is None else body
    return lambda handler: write_raw(handler, [line.replace("{n}", str(len(body))) for line in head], body)


def say_bytes(data):
    def answer(handler):
        handler.wfile.write(data)
        handler.wfile.flush()

    return answer


def say_code(code, body=b'{"error": {"message": "no"}}', **headers):
    return lambda handler: send(handler, code, body, **headers)


def say_body(body, **headers):
    return lambda handler: send(handler, 200, body if isinstance(body, bytes) else body.encode(), **headers)


def change(**columns):
    """Answer with a good reply, some of whose columns are others."""
    return say_body(json.dumps(json.loads(write_body()) | columns))


def change_message(message):
    return change(choices=[json.loads(write_body())["choices"][0] | {"message": message}])


def reset(handler):
    """Send half of a body and reset the connection."""
    write_raw(handler, ["content-length: 500"], b'{"choices": ')
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()


def stall(handler):
    """Send the head and half of the body, then nothing more."""
    write_raw(handler, ["content-length: 500"], b'{"choices": ')
    time.sleep(handler.server.patience)


def repeat(piece):
    """Send a piece for ever."""

    def answer(handler):
        end = time.monotonic() + handler.server.patience
        while time.monotonic() < end:
            handler.wfile.write(piece)

    return answer


def send_chunks_for_ever(handler):
    write_raw(handler, ["transfer-encoding: chunked"])
    repeat(b"1\r\nx\r\n" * 1000)(handler)


# --- the lies, and how each has to end: (status, words of its reason, requests) ---------------------------------------

SIGN_IN = "<!doctype html><title>Sign in</title>"
BROKEN = ("error", "the connection failed, ", N_REQUESTS)
LATE = ("timeout", f"no whole reply within {DEADLINE_S} s", 1)
NONE = ("unreadable", "the reply", 1)
FINE = ("ok", "", 1)
GOOD = write_body()
CHOICE = json.loads(GOOD)["choices"][0]

CONNECTIONS = {
    "reset in the body": (reset, BROKEN),
    "stalls in the body": (stall, LATE),
    "TLS on a plain port": (say_bytes(b"\x15\x03\x01\x00\x02\x02\x28" * 50), BROKEN),
    "status 999": (say_bytes(b"HTTP/1.1 999 ?\r\ncontent-length: 2\r\n\r\n{}"), ("error", "APIError 999", 3)),
    "100 for ever": (repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 100), LATE),
    "10,000 headers": (say_raw(*[f"x-{n}: {n}" for n in range(10_000)], "content-length: {n}"), BROKEN),
    "headers for ever": (lambda h: repeat(b"HTTP/1.1 200 OK\r\n" + b"x-a: b\r\n" * 10_000)(h), BROKEN),
}
LENGTHS = {
    "length too short": (say_raw("content-length: 80"), NONE),
    "length of 2^70": (say_raw(f"content-length: {2**70}"), BROKEN),
    "chunk of size zz": (say_raw("transfer-encoding: chunked", body=b"zz\r\n" + GOOD), BROKEN),
    "chunks for ever": (send_chunks_for_ever, LATE),
    "gzip cut off": (say_body(zlib.compress(GOOD, wbits=31)[:60], content_encoding="gzip"), NONE),
    "gzip in gzip": (lambda h: send(h, 200, press_bomb(), content_encoding="gzip, gzip"), NONE),
    "JSON as HTML": (say_body(GOOD, content_type="text/html"), FINE),
    "UTF-16": (say_body(GOOD.decode().encode("utf-16")), FINE),
    "no UTF-8": (say_body(GOOD.replace(b"looked", b"l\xff\xfeked")), NONE),
}
REPLIES = {
    "null": (say_body(b"null"), NONE),
    "a number of 5,000 digits": (say_body(GOOD.replace(b"50,", b"9" * 5000 + b",")), NONE),
    "a key twice": (say_body(GOOD[:-1] + b', "choices": []}'), NONE),
    "half a surrogate pair": (say_body(GOOD.replace(b"looked", b"l\\ud800ked")), FINE),
    "choices null": (change(choices=None), NONE),
    "two choices": (change(choices=[CHOICE, CHOICE | {"message": {"role": "assistant", "content": "C"}}]), FINE),
    "content a list": (change_message({"role": "assistant", "content": [{"type": "text", "text": "B"}]}), NONE),
    "log probabilities of null": (change(choices=[CHOICE | {"logprobs": {"content": [None]}}]), NONE),
    "usage negative": (change(usage={"prompt_tokens": -5_000_000, "completion_tokens": 8}), FINE),
    "usage of 2^70": (change(usage={"prompt_tokens": 2**70, "completion_tokens": 2**70}), FINE),
    "usage in words": (change(usage={"prompt_tokens": "50", "completion_tokens": "eight"}), NONE),
    "usage NaN": (say_body(GOOD.replace(b"50,", b"NaN,")), NONE),
    "model a number": (change(model=7), FINE),
    "model of 100 kB": (change(model="m" * 100_000), FINE),
}
WAITS = ("-5", "nan", "soon", "Fri, 31 Dec 9999 00:00:00 GMT")
CODES = {
    **{f"code {code}": (say_code(code), NONE) for code in (204, 206)},
    **{f"code {code}": (say_code(code), ("error", f"{code}", 1)) for code in (301, 400, 422)},
    "code 402": (say_code(402), ("over_budget", "the provider's quota or credit is spent", 1)),
    **{f"code {code}": (say_code(code), ("error", f"{code}", N_REQUESTS)) for code in (408, 502, 599)},
    "302 to itself": (lambda h: send(h, 302, b"", location=h.path), ("error", "redirects", 1)),
    "302 to a file": (say_code(302, location="file:///etc/hostname"), ("error", "redirects", 1)),
    "500 of 50 MB": (say_code(500, b"x" * 50_000_000), NONE),
    **{f"429, again in {wait}": (say_code(429, retry_after=wait), ("error", "429", N_REQUESTS)) for wait in WAITS},
}
LIES = CONNECTIONS | LENGTHS | REPLIES | CODES

ENDS = {
    "429": ("error", f"RateLimitError 429: slow down; {TOO_FAST}", 3),
    "429 for long": ("error", "no time left to try again", 1),
    "500": ("error", "InternalServerError 500: oops", 3),
    "401": ("error", "AuthenticationError 401: Incorrect API key: Bearer <secret>", 1),
    "404": ("error", "there is no model 'mock-1' there, or api_base is not where the chat completions are", 1),
    "no credit": ("over_budget", "the provider's quota or credit is spent: You exceeded your quota.", 1),
    **dict.fromkeys(("hang", "drip", "drip in the head"), LATE),
    "drop": ("error", "the connection failed, RemoteProtocolError: Server disconnected", 3),
    "cut": ("error", "complete message body (received 80 bytes, expected 580)", 3),
    "malformed": ("unreadable", 'the reply is not JSON: \'{"choices": [{"message":\'', 1),
    "html": ("unreadable", f"the reply is not JSON: {SIGN_IN!r}; {NO_PAGE}", 1),
    "empty": ("unreadable", "the reply is not JSON: ''", 1),
    "list": ("unreadable", "the reply is no JSON object: '[1]'", 1),
    "deep": ("unreadable", "the reply is not JSON: ", 1),
    "no choice": ("unreadable", "the reply holds no choice", 1),
    "error in a 200": ("unreadable", "the reply holds no choice; its error: out of memory", 1),
    "no message": ("unreadable", "the reply's first choice holds no message", 1),
    **dict.fromkeys(("endless", "bomb", "50 MB"), ("unreadable", "the reply is larger than 10,000,000 bytes", 1)),
    "brotli": ("unreadable", "the reply is not JSON: ", 1),
    "no gzip": ("unreadable", "the reply cannot be decompressed", 1),
    "redirect": ("error", "the server redirects (307) to http://127.0.0.1:9/chat/completions; set api_base", 1),
    "refusal": ("refusal", "I will not bet.", 1),
    "filter": ("refusal", "BadRequestError 400: content_policy_violation", 1),
}
"""How each of the mock provider's own faults has to end: (status, words of the reason, requests)."""


# --- played -----------------------------------------------------------------------------------------------------------


def serve_lies(pipe):
    """Serve, in a process of its own, telling the address, then for each message how often it came."""
    faults = FAULTS | {name: answer for name, (answer, _) in LIES.items()}
    with run_server(server := Server(patience=8, faults=faults)):
        pipe.send(server.address)
        while (asked := pipe.recv()) is not None:
            pipe.send(server.counts[asked])


@contextmanager
def start_liar():
    """Yield (address, function that returns how often a message came) of a provider that lies, in its own process."""
    ours, theirs = FORK.Pipe()
    process = FORK.Process(target=serve_lies, args=(theirs,), daemon=True)
    process.start()
    try:
        address = ours.recv()
        yield address, lambda asked: ours.send(asked) or ours.recv()
    finally:
        process.kill()


def open_to(address, **settings):
    connection = {"api_base": address, "api_key": KEY}
    return open_door("lies", connection=connection, environment={}, n_requests=N_REQUESTS, wait_s=0.05, **settings)


def ask_or_fail(door, name):
    """Return the recording of a request whose only message is a lie's name, be it a reply or a failure."""
    try:
        return ask(door, PRICED, [{"role": "user", "content": name}], max_tokens=100)
    except LlmError as error:
        return error.recording or {"status": error.status, "reason": error.reason, "n_requests": 0}


def meet_lie(name, end, folder):
    """Ask for a lie; returns (1, whether it ended as it must, how it ended, measured)."""
    with start_liar() as (address, count):
        door, before = open_to(address, live=True, deadline_s=DEADLINE_S), measure_peak(resource.RUSAGE_SELF)
        begun = time.monotonic()
        row = ask_or_fail(door, name)
        over = time.monotonic() - begun - DEADLINE_S
        again = ask_or_fail(open_to(address), name)
        n, peak = count(name), measure_peak(resource.RUSAGE_SELF)
    status, words, n_wanted = end
    reason = re.sub(r":\d{4,5}/", ":PORT/", row["reason"] or "")
    faults = {
        f"{n} requests, not {n_wanted}": not n == row["n_requests"] == n_wanted,
        f"status {row['status']}": row["status"] != status,
        "another reason": words.replace("mock-1", PRICED.partition("/")[2]) not in reason,
        "the replay differs": [again["status"], again["reason"]] != [row["status"], row["reason"]],
        f"{over:.1f} s late": over > OVER_S,
        f"{peak - before} MB more": peak - before > MAX_MB,
        "the key is in a file": bool(scan(folder)),
        "not charged": bool(status == "ok") and not door.spent_usd > 0,
    }
    found = [fault for fault, is_so in faults.items() if is_so]
    seen = f"{row['status']}, asked {n} times" + f": {reason[:100]}" * bool(reason)
    return 1, not found, "; ".join([seen, *found]), {"over_s": round(max(0.0, over), 1), "peak_mb": peak}


def send_two(handler):
    """Send two replies to one request, and keep the connection."""
    handler.close_connection = False
    for content in (CONTENT, "\\boxed{C}, which was not asked for"):
        say_raw("content-length: {n}", body=write_body(content))(handler)


def get_one_too_many(folder):
    """Ask three questions of a server that sends two replies to the first."""
    with run_server(server := Server(faults={"two": send_two})):
        door = open_to(server.address, live=True)
        said = [ask_or_fail(door, name)["content"] for name in ("two", "next", "last")]
    return 3, said == [CONTENT] * 3, "each its own" if said == [CONTENT] * 3 else f"{said}"


def warm_up():
    """Ask once, before anything is forked or measured: litellm imports parts of itself with the first request."""
    load_litellm()
    press_bomb()
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch, run_server(server := Server()):
        patch.setenv("DAYBEFORE_OUT", folder)
        ask_or_fail(open_to(server.address, live=True), "hello")


MUST = {
    "ok": "answered, asked once, charged",
    "error": "a failure that says what came, asked exactly so often",
    "unreadable": "a failure that says what came, asked exactly once",
    "timeout": "ends within a second of the deadline",
    "over_budget": "a failure that says what came, asked exactly once",
    "refusal": "a refusal, asked once",
}


def list_lies():
    """Return {lie: (what must hold, function)}."""
    ends = ENDS | {name: end for name, (_, end) in LIES.items()}
    told = {name: (MUST[end[0]], partial(meet_lie, name, end)) for name, end in ends.items()}
    return told | {"two replies to one request": ("each question has its own reply", get_one_too_many)}


PLAYS = list_lies()
