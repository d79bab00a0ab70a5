"""A provider to test against: a real HTTP server on loopback that speaks OpenAI's chat completions
and background jobs.

How it answers is the request's last message: "429", "hang", "drip", ... (FAULTS), anything else is
answered, by the server's `answer(asked)` where it has one (a message, a fault's name, or a whole
body in another provider's form). A job (POST /v1/responses or Gemini's /v1beta/interactions, with
background) is at work for as many polls as a number in its prompt says, two without, then ends as
the words in its prompt say (mock_provider.json, `ends`).
"""

import contextlib
import json
import re
import threading
import time
import zlib
from collections import Counter
from functools import cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import serving

CONTENT = "I looked at it. \\boxed{B}"


def read_form(name):
    """Return a body of the protocols, a new one each time: chat, job, interaction; or `ends`, those
    of jobs."""
    return json.loads(read_forms())[name]


@cache
def read_forms():
    return Path(__file__).with_suffix(".json").read_text(encoding="utf-8")


def write_body(content=CONTENT, usage=None, **message):
    """Return a chat completion as the protocol has it; `usage` stands in place of the tokens it
    tells."""
    body = read_form("chat")
    body["choices"][0]["message"] |= {"content": content} | message
    if usage is not None:
        body["usage"] = usage
    return json.dumps(body).encode()


def send(handler, code, body, cut=False, **headers):
    """Send a whole response; `cut` promises more bytes than come. A connection that will be closed
    is said to be so."""
    handler.send_response(code)
    if (
        handler.close_connection
    ):  # else the client keeps it, and its next request meets a closed one now and then
        headers["connection"] = "close"
    for name, value in {"content-type": "application/json", **headers}.items():
        handler.send_header(name.replace("_", "-"), str(value))
    handler.send_header("content-length", str(len(body) + (500 if cut else 0)))
    handler.end_headers()
    handler.wfile.write(body)
    handler.wfile.flush()


def refuse_key(handler):
    said = handler.headers["authorization"]
    send(
        handler,
        401,
        json.dumps({"error": {"message": f"Incorrect API key: {said}"}}).encode(),
        x_key=said,
    )


def repeat(piece, before=b"", pause_s=0.1):
    """Answer with some bytes, then with a piece again and again, until the client hangs up or its
    patience ends."""

    def answer(handler):
        end = time.monotonic() + handler.server.patience
        handler.wfile.write(before)
        while time.monotonic() < end:
            handler.wfile.write(piece)
            handler.wfile.flush()
            time.sleep(pause_s)

    return answer


def drop(handler):
    handler.connection.shutdown(2)


def cut(handler):
    send(handler, 200, write_body()[:80], cut=True)
    drop(handler)


@cache
def press_bomb():
    """Return 300 MB of blanks as 300 kB of gzip."""
    press = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return b"".join(press.compress(b" " * 1_000_000) for _ in range(300)) + press.flush()


def say(code=200, body=b"", **headers):
    """Answer with a whole response; a body may be text."""
    return lambda handler: send(
        handler, code, body.encode() if isinstance(body, str) else body, **headers
    )


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n"
FAULTS = {name: say(**told) for name, told in read_form("faults").items()}
FAULTS |= {
    "401": refuse_key,
    "hang": repeat(b""),
    "drip": repeat(b" ", HEAD),
    "drip in the head": repeat(b"x", b"HTTP/1.1 200 OK\r\nx-padding: "),
    "drop": drop,
    "cut": cut,
    "endless": repeat(b" " * 65536, HEAD, pause_s=0),
    "bomb": lambda h: send(h, 200, press_bomb(), content_encoding="gzip"),
    "50 MB": lambda h: send(h, 200, write_body("B" * 50_000_000)),
    "brotli": lambda h: send(h, 200, b"\x0b\x02\x80{}\x03", content_encoding="br"),
    "no gzip": lambda h: send(h, 200, write_body(), content_encoding="gzip"),
    "redirect": lambda h: send(
        h, 307, b"", location=f"{h.server.elsewhere}/chat/completions?key=secret"
    ),
    "deep": lambda h: send(h, 200, b'{"a":' + b"[" * 100_000),
    "long error": lambda h: send(
        h, 200, json.dumps({"error": "x" * 60 + h.headers["authorization"]}).encode()
    ),
    "no choice": lambda h: send(
        h, 200, json.dumps(json.loads(write_body()) | {"choices": []}).encode()
    ),
    "refusal": lambda h: send(h, 200, write_body(None, refusal="I will not bet.")),
    "key": lambda h: send(h, 200, write_body(f"your key is {h.headers['authorization']}")),
}


# --- jobs in the background -------------------------------------------------------------------------


POLL_FAULTS = {f"poll {name}": FAULTS[name] for name in ("429", "500", "401", "404", "malformed")}
"""What the first two polls of a job meet; with "always" in its prompt, all of them."""


def write_job(job_id, key, **columns):
    """Return a job as the protocol has it."""
    return json.dumps(read_form("job") | {"id": job_id} | columns).replace("{key}", key).encode()


def write_interaction(job_id, key, **columns):
    """Return a job in the form of Gemini's interactions (Api-Revision 2026-05-20)."""
    body = read_form("interaction")
    if columns.get("status") == "queued":
        columns["status"] = "in_progress"
    if "output" in columns:
        columns["steps"] = body["steps"][:1]
    return json.dumps(body | {"id": job_id} | columns).replace("{key}", key).encode()


class Provider(BaseHTTPRequestHandler):
    """Answers POST /v1/chat/completions after the server's latency, and jobs under
    /v1/responses."""

    protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", -1, True

    def do_POST(self):
        size = int(self.headers["content-length"] or 0)
        body = self.rfile.read(size)
        if len(body) < size:  # who asked was killed
            return
        asked = json.loads(body or "{}")
        with contextlib.suppress(OSError):
            if self.path.endswith(("/cancel", ":cancel")):
                return self.do_job("cancel")
            is_job = self.path.endswith(("/responses", "/interactions"))
            if "contents" in asked:  # Gemini's form
                said = asked["contents"][-1]["parts"]
            else:
                said = asked["input"] if is_job else asked["messages"][-1]["content"]
            said = said if isinstance(said, str) else json.dumps(said)  # parts of a message
            with self.server.lock:
                self.server.counts[said] += 1
                self.server.asked.append(asked)
                names = ("authorization", "x-api-key", "x-goog-api-key")
                self.server.keys.append(next(filter(None, map(self.headers.get, names)), None))
            faults = self.server.faults
            if said in faults and (said != "recover" or self.server.counts[said] < 3):
                self.close_connection = True
                return faults[said](self)
            if not is_job:
                time.sleep(self.server.latency_s)
            answer = (
                self.server.answer(asked)
                if self.server.answer
                else {"content": asked.get("echo", CONTENT)}
            )
            if isinstance(answer, str):
                self.close_connection = True
                return FAULTS[answer](self)
            if is_job:
                return self.start_job(said)
            send(self, 200, answer if isinstance(answer, bytes) else write_body(**answer))

    def do_GET(self):
        with contextlib.suppress(OSError):
            if self.path in self.server.faults:  # a page of a site that lies, through this proxy
                self.close_connection = True
                return self.server.faults[self.path](self)
            self.do_job("poll")

    def start_job(self, said):
        with self.server.lock:
            job_id = f"resp_{len(self.server.jobs)}"
            self.server.jobs[job_id] = said
        self.send_job(job_id, "", status="queued", output=[], usage=None)

    def send_job(self, *about, **columns):
        write = write_interaction if "/interactions" in self.path else write_job
        send(self, 200, write(*about, **columns))

    def do_job(self, verb):
        """Answer a poll or the cancelling of a job."""
        job_id = re.search(r"resp_\d+", self.path)[0]
        said, key = self.server.jobs[job_id], self.headers["authorization"] or ""
        with self.server.lock:
            self.server.counts[f"{verb} {said}"] += 1
            self.server.moments.append(time.monotonic())
            n = self.server.counts[f"{verb} {said}"]
        if verb == "cancel":
            return self.send_job(job_id, key, status="cancelled", output=[], usage=None)
        for name in sorted(POLL_FAULTS, key=len, reverse=True):
            if name in said and (n <= 2 or "always" in said):
                self.close_connection = True
                return POLL_FAULTS[name](self)
        if n <= int((re.findall(r"\d+ polls", said) or ["2"])[0].split()[0]):
            return self.send_job(job_id, key, status="in_progress", output=[], usage=None)
        ends = [columns for words, columns in read_form("ends").items() if words in said]
        self.send_job(job_id, key, **(ends[0] if ends else {}))

    def log_message(self, *arguments):
        pass


class Server(serving.Server):
    """A mock provider; `counts` tells how often each message, "poll ..." and "cancel ..." came,
    `asked` holds them.

    `keys` holds the key each came with, in its provider's header, `moments` when jobs were polled
    or cancelled, by time.monotonic(); a "redirect" leads to `elsewhere`.
    """

    block_on_close, request_queue_size = False, 128

    def __init__(self, latency_s=0.0, patience=30.0, answer=None, faults=FAULTS):
        super().__init__(("127.0.0.1", 0), Provider)
        self.faults = faults
        self.latency_s, self.patience = latency_s, patience
        self.counts, self.lock, self.answer = Counter(), threading.Lock(), answer
        self.asked, self.keys, self.jobs, self.moments = [], [], {}, []
        self.elsewhere = "http://127.0.0.1:9"

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"
