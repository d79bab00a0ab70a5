"""A provider to test against: a real HTTP server on loopback that speaks the OpenAI chat-completions protocol.

How it answers is the request's last message: "429", "hang", "drip", ... (FAULTS), anything else is answered. As a
program, `python mock_provider.py SECONDS` answers after so many seconds and prints its address.
"""

import contextlib
import json
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONTENT = "I looked at it. \\boxed{B}"


def write_body(content=CONTENT, **message):
    """Return a chat completion as the protocol has it."""
    logprobs = {"content": [{"token": "B", "logprob": -0.123456, "bytes": [66], "top_logprobs": []}]}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content} | message}
    usage = {"prompt_tokens": 50, "completion_tokens": 8, "total_tokens": 58}
    details = {
        "prompt_tokens_details": {"cached_tokens": 3},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    head = {"id": "chat-1", "object": "chat.completion", "created": 1, "model": "mock-1"}
    return json.dumps(head | {"choices": [choice | {"logprobs": logprobs}], "usage": usage | details}).encode()


def send(handler, code, body, cut=False, **headers):
    """Send a whole response; `cut` promises more bytes than come."""
    handler.send_response(code)
    for name, value in {"content-type": "application/json", **headers}.items():
        handler.send_header(name.replace("_", "-"), str(value))
    handler.send_header("content-length", str(len(body) + (500 if cut else 0)))
    handler.end_headers()
    handler.wfile.write(body)
    handler.wfile.flush()


def refuse_key(handler):
    said = handler.headers["authorization"]
    send(handler, 401, json.dumps({"error": {"message": f"Incorrect API key: {said}"}}).encode(), x_key=said)


def hang(handler):
    time.sleep(handler.server.patience)


def drip(handler):
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.end_headers()
    for _ in range(int(handler.server.patience / 0.1)):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.1)


def drip_head(handler):
    """Let a header grow for ever, a byte at a time."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nx-padding: ")
    for _ in range(int(handler.server.patience / 0.1)):
        handler.wfile.write(b"x")
        handler.wfile.flush()
        time.sleep(0.1)


def drop(handler):
    handler.connection.shutdown(2)


def cut(handler):
    send(handler, 200, write_body()[:80], cut=True)
    drop(handler)


def recover(handler):
    """Fail twice, then answer."""
    if handler.server.counts["recover"] < 3:
        return send(handler, 503, b"<html>busy</html>")
    send(handler, 200, write_body())


FAULTS = {
    "429": lambda h: send(h, 429, b'{"error": {"message": "slow down"}}', retry_after="0.2"),
    "429 for long": lambda h: send(h, 429, b'{"error": {"message": "slow down"}}', retry_after="21600"),
    "500": lambda h: send(h, 500, b'{"error": {"message": "oops"}}'),
    "401": refuse_key,
    "404": lambda h: send(h, 404, b'{"error": {"message": "no such model"}}'),
    "hang": hang,
    "drip": drip,
    "drip in the head": drip_head,
    "drop": drop,
    "cut": cut,
    "malformed": lambda h: send(h, 200, b'{"choices": [{"message": '),
    "no choice": lambda h: send(h, 200, json.dumps(json.loads(write_body()) | {"choices": []}).encode()),
    "refusal": lambda h: send(h, 200, write_body(None, refusal="I will not bet.")),
    "filter": lambda h: send(h, 400, b'{"error": {"message": "content_policy_violation", "code": "content_filter"}}'),
    "key": lambda h: send(h, 200, write_body(f"your key is {h.headers['authorization']}")),
    "recover": recover,
}


class Provider(BaseHTTPRequestHandler):
    """Answers POST /v1/chat/completions after the server's latency."""

    protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", -1, True

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = asked["messages"][-1]["content"]
        with self.server.lock:
            self.server.counts[said] += 1
        with contextlib.suppress(OSError):
            if said in FAULTS:
                self.close_connection = True
                return FAULTS[said](self)
            time.sleep(self.server.latency_s)
            send(self, 200, write_body(asked.get("echo", CONTENT)))

    def log_message(self, *arguments):
        pass


class Server(ThreadingHTTPServer):
    """A mock provider; `counts` tells how often each message came."""

    daemon_threads, block_on_close, request_queue_size = True, False, 128

    def __init__(self, latency_s=0.0, patience=30.0):
        super().__init__(("127.0.0.1", 0), Provider)
        self.latency_s, self.patience = latency_s, patience
        self.counts, self.lock = Counter(), threading.Lock()

    def handle_error(self, request, client_address):
        """A client that has hung up is no news."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


if __name__ == "__main__":
    server = Server(latency_s=float(sys.argv[1]))
    print(server.address, flush=True)
    server.serve_forever()
