"""A provider with a batch interface to test against: OpenAI's files and batches over real HTTP,
beside its chats.

A batch is answered once it has been looked at `n_looks` times. `fate(prompt)` says what becomes of
a line: "ok", "expired" (it stands in no file of replies, and a line of the file of errors says so),
"lost" (it stands nowhere), an HTTP status, or a body. `at(moment)` is called at "uploaded",
"created", "looked", "read" before the reply goes out.
"""

import json
from collections import Counter

import mock_provider
from mock_provider import read_form, send


class Handler(mock_provider.Provider):
    """Answers what batches need; all else is the mock provider's."""

    def do_POST(self):
        size = int(self.headers["content-length"] or 0)
        if self.path.endswith("/files"):
            body = self.rfile.read(size)
            start = body.index(b"{", body.index(b".jsonl"))
            lines = [json.loads(line) for line in body[start : body.rindex(b"}") + 1].splitlines()]
            return self.reply("uploaded", self.server.keep("file", lines))
        if self.path.endswith("/batches"):
            return self.reply("created", self.server.create(json.loads(self.rfile.read(size))))
        return super().do_POST()

    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path.endswith("/batches"):
            rows = [one for name, one in self.server.kept.items() if name.startswith("batch")][::-1]
            first = 1 + next((at for at, row in enumerate(rows) if row["id"] in query), -1)
            page = rows[first : first + self.server.n_page]
            more = first + self.server.n_page < len(rows)
            return self.reply("listed", {"object": "list", "data": page, "has_more": more})
        if path.endswith("/content"):
            lines = self.server.kept[path.split("/")[-2]]
            return self.reply("read", "".join(json.dumps(line) + "\n" for line in lines))
        if "/batches/" in path:
            return self.reply("looked", self.server.look(path.rpartition("/")[2]))
        return super().do_GET()

    def reply(self, moment, body):
        code = self.server.at(moment) or 200
        if isinstance(code, int) and code != 200:
            body = {"error": {"message": f"refused at {moment}", "code": code}}
        send(self, code, (body if isinstance(body, str) else json.dumps(body)).encode())


class BatchServer(mock_provider.Server):
    """A mock provider of batches; `billed` counts how often each prompt was answered and is to be
    paid."""

    def __init__(self, **settings):
        super().__init__(**settings)
        self.RequestHandlerClass = Handler
        self.kept, self.billed, self.n_looks, self.n_page = {}, Counter(), 2, 2
        self.fate, self.at, self.ends = (lambda prompt: "ok"), (lambda moment: None), "completed"

    def keep(self, kind, value):
        """Keep a file's lines, or a batch, under an id; returns it as the protocol has a file."""
        name = f"{kind}-{len(self.kept)}"
        self.kept[name] = value
        return {
            "id": name,
            "object": "file",
            "bytes": 1,
            "created_at": 1,
            "filename": "a",
            "purpose": "batch",
        } | ({"status": "processed"})

    def create(self, asked):
        """Return a batch as the protocol has it, and bill what will be answered of it."""
        lines = self.kept[asked["input_file_id"]]
        counts = {"total": len(lines), "completed": 0, "failed": 0}
        batch = asked | {
            "object": "batch",
            "created_at": 1,
            "status": "in_progress",
            "request_counts": counts,
        }
        batch["id"] = self.keep("batch", batch)["id"]
        batch["looks"] = 0
        for line in lines:
            self.asked.append(line["body"])
            self.billed[line["body"]["messages"][-1]["content"]] += self.fate_of(line) in (
                "ok",
                "lost",
                "broken",
            )
        return batch

    def fate_of(self, line):
        return self.fate(line["body"]["messages"][-1]["content"])

    def look(self, batch_id):
        """Return a batch, one look older; at its end its files are there."""
        batch = self.kept[batch_id]
        batch["looks"] += 1
        if batch["looks"] == self.n_looks:
            files = {"output": [], "error": []}
            for line in self.kept[batch["input_file_id"]]:
                self.answer_line(line, files)
            for kind, lines in files.items():
                batch[f"{kind}_file_id"] = self.keep("file", lines)["id"] if lines else None
            batch["request_counts"] |= {
                "completed": len(files["output"]),
                "failed": len(files["error"]),
            }
            batch["status"] = self.ends
        return batch

    def answer_line(self, line, files):
        fate = self.fate_of(line)
        row = {"id": "r", "custom_id": line["custom_id"], "error": None, "response": None}
        if fate == "expired":
            fault = {
                "code": "batch_expired",
                "message": "This request could not be executed in time.",
            }
            files["error"].append(row | {"error": fault})
        elif fate in ("ok", "broken"):
            body = read_form("chat") if fate == "ok" else {"object": "none"}
            files["output"].append(row | {"response": {"status_code": 200, "body": body}})
        elif fate != "lost":
            body = {"error": {"message": f"refused: {fate}", "code": fate}}
            files["error"].append(row | {"response": {"status_code": fate, "body": body}})
