"""Logs of inspect_ai (.eval: a zip of JSON files) as this kit's tables: runs, replies, traces,
predictions, scores.

A log is one run; a sample of it is one reply to one event. Both compressions are read: Deflate, as
the authors' public logs use, and Zstandard, as newer inspect_ai writes (Python's own zipfile reads
it from 3.14 on, below that a backport). A file is a stranger's: what is unpacked and what is made
of it is bounded as it goes, what is wrong is one sentence.
"""

import re
import zlib
from typing import NamedTuple

import pandas as pd

from helpers.files import dump_json, hash_text
from helpers.input_faults import check_name, parse_text
from helpers.tables import check_table, list_columns

try:
    from backports.zstd import ZstdError, zipfile
except ImportError:  # from Python 3.14 on
    import zipfile

    from compression.zstd import ZstdError

MAX_ENTRY, MAX_TOTAL = 16 << 20, 256 << 20
"""Most bytes of a log's file, unpacked; of all that is read of it, and most characters of the
traces made of it."""

DEFLATED, ZSTANDARD = 8, 93
"""How a zip names the compressions that inspect_ai writes."""

SAMPLE = re.compile(r"samples/[^/]+_epoch_\d+\.json")
ATTACHED = re.compile(r"attachment://([0-9a-f]{8,64})")
LIMITS = {"message": "message_limit", "time": "timeout", "working": "timeout"}
"""What ended a sample -> a reply's status; any other limit is over_budget."""

FAULTS = (zipfile.BadZipFile, zlib.error, ZstdError, OSError, EOFError, RuntimeError, ValueError)
FAULTS += (LookupError, TypeError, AttributeError)


class Log(NamedTuple):
    """A log's tables; `answers` are the targets as the log has them, `scores` its scorers' values
    from 0 to 1."""

    runs: pd.DataFrame
    replies: pd.DataFrame
    traces: pd.DataFrame
    predictions: pd.DataFrame
    scores: pd.DataFrame
    answers: pd.DataFrame


def read_logs(paths):
    """Return the tables of some logs, one under the other; raises ValueError for none, and where
    two are one run."""
    if not paths:
        raise ValueError("no log is given")
    joined = [
        pd.concat(parts, ignore_index=True) for parts in zip(*map(read_log, paths), strict=True)
    ]
    joined[-1] = joined[-1].drop_duplicates(ignore_index=True)
    return Log(*(check_table(name, table) for name, table in zip(Log._fields, joined, strict=True)))


def read_log(path):
    """Return the tables of a log. Raises ValueError, in one sentence with the file's name, for any
    that is none."""
    try:
        header, samples = open_log(path)
        run = describe_run(header)
        n_left = MAX_TOTAL
        made = {name: [] for name in Log._fields[1:]} | {"runs": [run]}
        for sample in samples:
            rows = read_sample(sample, run, n_left)
            n_left -= measure(rows["traces"])
            for name, part in rows.items():
                made[name] += part
        run["n_tokens"] = sum(row.pop("n_tokens") or 0 for row in made["replies"]) or None
        tables = {
            name: pd.DataFrame(rows, columns=None if rows else list_columns(name))
            for name, rows in made.items()
        }
        return Log(*(check_table(name, tables[name]) for name in Log._fields))
    except FAULTS as error:
        text = (str(error).splitlines() or [type(error).__name__])[0][:200]
        said = error.strerror if isinstance(error, OSError) and error.strerror else text
        said = f"it has no {said}" if isinstance(error, KeyError) else said
        raise ValueError(f"{path.name} cannot be read as a log of inspect_ai: {said}") from None


def open_log(path):
    """Return a log's header and an iterator of its samples, each opened when it comes, all as
    objects of JSON.

    Raises ValueError for a zip without a header, of an unknown compression, or too large.
    """
    archive = zipfile.ZipFile(path)
    methods = {entry.compress_type for entry in archive.infolist()}
    if methods - {zipfile.ZIP_STORED, DEFLATED, ZSTANDARD}:  # others cannot be bounded as they go
        raise ValueError("only the compressions Deflate and Zstandard are read")
    names, sizes = sorted(archive.namelist()), []
    if "header.json" not in names:
        raise ValueError("it has no header.json: its run did not end, or it is no log")

    def read(name):
        limit = min(MAX_ENTRY, MAX_TOTAL - sum(sizes))
        with archive.open(name) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise ValueError(
                f"unpacked, {name} is larger than {limit >> 20} MB, or all is than {MAX_TOTAL >> 20} MB"
            )
        sizes.append(len(data))
        value = parse_text(data.decode("utf-8-sig"), name)
        if not isinstance(value, dict):
            raise ValueError(f"{name} holds no JSON object")
        return value

    return read("header.json"), map(read, filter(SAMPLE.fullmatch, dict.fromkeys(names)))


def describe_run(header):
    """Return a run's row from a log's header. Raises ValueError where its task or model is no
    text."""
    about = header["eval"]
    for name in ("task", "model"):
        if not isinstance(about[name], str):
            raise ValueError(f"its {name} is {str(about[name])[:40]!r}, no text")
    return {
        "run_id": check_name("run", about["task_id"]),
        "agent_id": about["model"],
        "model": about["model"],
        "model_family": about["model"].rpartition("/")[2],
        "framework": "inspect_ai",
        "condition": about["task"],
        "status": "complete" if header.get("status") == "success" else "partial",
    }


def read_sample(sample, run, n_left):
    """Return a sample's rows by table: replies, traces, predictions, scores and answers (lists).

    The prediction is the answer that the first scorer read of the reply. Raises ValueError where
    the traces have more than `n_left` characters.
    """
    event_id = f"{run['condition'].rpartition('/')[2]}-{sample['id']}"
    key = {"run_id": run["run_id"], "event_id": event_id, "sample": sample["epoch"] - 1}
    own = key | {"agent_id": run["agent_id"]}
    status, reason = find_end(sample)
    choices = (sample.get("output") or {}).get("choices") or [{}]
    reply = read_text(sample, choices[0].get("message", {}).get("content"))
    used = pd.DataFrame(map(read_usage, (sample.get("model_usage") or {}).values()))
    total = {name: int(cells.sum()) for name, cells in used.items()}
    n_tokens = total["n_input_tokens"] + total["n_output_tokens"] if total else None
    row = key | {"status": status, "reason": reason, "reply": reply or None}
    row |= {"duration_s": sample.get("working_time"), "n_tokens": n_tokens}
    steps = list_steps(sample, n_left)
    steps.append({"step_type": "end", "error": reason})
    if status == "ok":
        steps[-1] = {"step_type": "answer", "content": reply}
    scores = sample.get("scores") or {}
    answer = next((score.get("answer") for score in scores.values()), None)
    value = dump_json(answer) if status == "ok" and answer != "" else None
    if status == "ok" and value is None:
        status, reason = "unparsable", "no scorer read an answer"
    said = {"status": status, "reason": reason, "value": value}
    return {
        "replies": [row | total],
        "traces": [key | {"step": at} | step for at, step in enumerate(steps)],
        "predictions": [own | said | {"reply_sha256": hash_text(reply) if reply else None}],
        "scores": [
            own | {"metric": name, "score": read_score(score["value"])}
            for name, score in scores.items()
        ],
        "answers": [{"event_id": event_id, "value": dump_json(sample["target"])}],
    }


def find_end(sample):
    """Return how a sample ended, as a reply's status, and why: its limit, its error, or neither.

    >>> find_end({"limit": {"type": "message", "limit": 30.0}}), find_end({"error": {"message": "no model"}})
    (('message_limit', 'the limit of 30 messages'), ('error', 'no model'))
    """
    if limit := sample.get("limit"):
        return LIMITS.get(
            limit["type"], "over_budget"
        ), f"the limit of {limit['limit']:g} {limit['type']}s"
    if error := sample.get("error"):
        return "error", str(error.get("message"))[:300]
    return "ok", None


def read_score(value):
    """Return a scorer's value as a number, C, P, I or N (right, partly, wrong, none) or 0 to 1;
    None for another.

    >>> [read_score(value) for value in ("C", "I", 0.5, True, 7, float("nan"), {"a": 1})]
    [1.0, 0.0, 0.5, 1.0, None, None, None]
    """
    value = {"C": 1, "P": 0.5, "I": 0, "N": 0}.get(value) if isinstance(value, str) else value
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else None


def read_usage(usage):
    """Return one usage's tokens by our names; what is read from a cache, or kept there, is among
    those in.

    Logs of some providers (Anthropic) count these apart, in the total alone.

    >>> read_usage({"input_tokens": 3, "output_tokens": 2, "input_tokens_cache_read": 95, "total_tokens": 100})
    {'n_input_tokens': 98, 'n_output_tokens': 2, 'n_cached_tokens': 95}
    """
    names = ("input_tokens", "output_tokens", "total_tokens")
    n_input, n_output, n_all = map(usage.get, names)
    if None not in (n_input, n_output, n_all):
        n_input = max(n_input, n_all - n_output)
    n_cached = usage.get("input_tokens_cache_read")
    return {"n_input_tokens": n_input, "n_output_tokens": n_output, "n_cached_tokens": n_cached}


def read_text(sample, content):
    """Return the words of a message: of parts those written and thought, of attachments what they
    stand for.

    Raises ValueError for one that its attachments make too large.
    """
    parts = content if isinstance(content, list) else [{"text": content or ""}]
    text = "\n".join(part.get("text") or part.get("reasoning") or "" for part in parts).strip()
    attached = sample.get("attachments") or {}
    if sum(len(str(attached.get(name, ""))) for name in ATTACHED.findall(text)) > MAX_ENTRY:
        raise ValueError(f"a message with its attachments is larger than {MAX_ENTRY >> 20} MB")
    return ATTACHED.sub(lambda found: str(attached.get(found[1], found[0])), text)


def measure(steps):
    """Return how many characters the texts of some steps have."""
    return sum(len(cell) for step in steps for cell in step.values() if isinstance(cell, str))


def list_steps(sample, n_left):
    """Return a sample's steps: the prompt, the model's turns, tool calls with results, and the
    count of messages.

    Raises ValueError where they have more than `n_left` characters.
    """
    messages = sample["messages"]
    calls = {}
    steps = []
    for message in messages:  # of the calls under one id the latest before a result is its call
        calls |= {call["id"]: call for call in message.get("tool_calls") or []}
        steps.append(write_step(sample, message, calls))
        n_left -= measure(steps[-1:])
        if n_left < 0:
            raise ValueError(
                f"its messages with their attachments are larger than {MAX_TOTAL >> 20} MB"
            )
    told = {"limit": (sample.get("limit") or {}).get("limit"), "n_messages": len(messages)}
    told["n_turns"] = sum(message["role"] == "assistant" for message in messages)
    return [*steps, {"step_type": "count", "content": dump_json(told)}]


def write_step(sample, message, calls):
    """Return a message as a step of our traces."""
    text = read_text(sample, message.get("content"))
    if message["role"] == "assistant":
        asked = [
            f"{call['function']}({dump_json(call['arguments'])})"
            for call in message.get("tool_calls") or []
        ]
        return {"step_type": "model", "content": text or "; ".join(asked)}
    if message["role"] != "tool":
        return {"step_type": "prompt", "content": text}
    call = calls.get(message.get("tool_call_id")) or {}
    return {
        "step_type": "tool",
        "content": text,
        "arguments": dump_json(call.get("arguments") or {}),
        "tool": message.get("function") or call.get("function"),
        "error": (message.get("error") or {}).get("type"),
    }
