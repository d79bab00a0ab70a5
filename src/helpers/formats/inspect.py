"""Logs of inspect_ai (.eval: a zip of JSON files) as this kit's tables: runs, replies, traces, predictions, scores.

A log is one run; a sample of it is one reply to one event. Both compressions are read: Deflate, as the authors' public
logs use, and Zstandard, as newer inspect_ai writes: Python's own zipfile reads it from 3.14 on, below that a backport.
A file is a stranger's: what is in it is bounded before it is read, nothing is unpacked, what is wrong is said in one
sentence.
"""

import json
import re
import zlib
from typing import NamedTuple

import pandas as pd

from helpers.faults import check_name
from helpers.store import dump_json, hash_text
from helpers.tables import check_table, list_columns

try:
    from backports.zstd import ZstdError, zipfile
except ImportError:
    import zipfile

    try:
        from compression.zstd import ZstdError
    except ImportError:  # neither: such logs are refused
        ZstdError = zlib.error

MAX_FILE, MAX_ENTRY, MAX_TOTAL = 200 << 20, 64 << 20, 512 << 20
"""Most bytes of a log, of one file in it unpacked, of all that is read of it."""
MAX_ENTRIES = 25_000
"""Most files in a log."""

STORED, DEFLATED, ZSTANDARD = 0, 8, 93
"""How a zip names the compressions that inspect_ai writes."""

SAMPLE = re.compile(r"samples/[^/]+_epoch_\d+\.json")
ATTACHED = re.compile(r"attachment://([0-9a-f]{8,64})")
LIMITS = {
    "message": "message_limit",
    "time": "timeout",
    "working": "timeout",
    "token": "over_budget",
    "cost": "over_budget",
}
"""What ended a sample -> a reply's status."""

READ_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    ZstdError,
    OSError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    ValueError,
    KeyError,
)


class Log(NamedTuple):
    """A log's tables; `answers` are the targets as the log has them, `scores` its scorers' values from 0 to 1."""

    runs: pd.DataFrame
    replies: pd.DataFrame
    traces: pd.DataFrame
    predictions: pd.DataFrame
    scores: pd.DataFrame
    answers: pd.DataFrame


def read_logs(paths):
    """Return the tables of some logs, one under the other; raises ValueError for none, and where two are one run."""
    if not paths:
        raise ValueError("no log is given")
    logs = [read_log(path) for path in paths]
    joined = [pd.concat(parts, ignore_index=True) for parts in zip(*logs, strict=True)]
    names = Log._fields
    joined[names.index("answers")] = joined[names.index("answers")].drop_duplicates(ignore_index=True)
    return Log(*(check_table(name, table) for name, table in zip(names, joined, strict=True)))


def read_log(path):
    """Return the tables of a log. Raises ValueError, in one sentence with the file's name, for any that is none."""
    header, samples = open_log(path)
    try:
        facts = describe_run(header)
        parts = [read_sample(sample, facts) for sample in samples]
        made = {name: [row for part in parts for row in part[name]] for name in Log._fields[1:]}
        made["runs"] = [facts["run"] | {"n_tokens": sum(row["n_tokens"] or 0 for row in made["replies"]) or None}]
        tables = {name: pd.DataFrame(rows, columns=None if rows else list_columns(name)) for name, rows in made.items()}
        tables["replies"] = tables["replies"].drop(columns="n_tokens", errors="ignore")
        return Log(*(check_table(name, tables[name]) for name in Log._fields))
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise ValueError(f"{path.name} is no log of inspect_ai that can be read: {describe_fault(error)}") from None


def describe_fault(error):
    """Return what went wrong, short.

    >>> describe_fault(KeyError("eval")), describe_fault(ValueError("no\\nend"))
    ("it has no 'eval'", 'no')
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
    return f"it has no {text}" if isinstance(error, KeyError) else text


def open_log(path):
    """Return a log's header and samples as JSON. Raises ValueError for what is no log, or too large to be read."""
    try:
        if path.stat().st_size > MAX_FILE:
            raise ValueError(f"it is larger than {MAX_FILE >> 20} MB")
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            check_entries(entries)
            left = MAX_TOTAL
            found = {}
            for entry in entries:
                if entry.filename == "header.json" or SAMPLE.fullmatch(entry.filename):
                    found[entry.filename], n = read_entry(archive, entry, min(left, MAX_ENTRY))
                    left -= n
    except READ_FAULTS as error:
        raise ValueError(f"{path.name} cannot be read as a log of inspect_ai: {describe_fault(error)}") from None
    if "header.json" not in found:
        raise ValueError(f"{path.name} has no header.json: the run that wrote it did not end, or it is no log")
    header = found.pop("header.json")
    return header, [found[name] for name in sorted(found)]


def check_entries(entries):
    """Raise ValueError for a zip that no log is: too many files, names twice, secrets, an unknown compression."""
    names = [entry.filename for entry in entries]
    if len(names) > MAX_ENTRIES or len(set(names)) < len(names):
        raise ValueError(f"it holds more than {MAX_ENTRIES:,} files, or a name twice")
    if any(entry.flag_bits & 1 for entry in entries):
        raise ValueError("it is locked with a password")
    if sum(entry.file_size for entry in entries) > MAX_TOTAL:
        raise ValueError(f"unpacked it is larger than {MAX_TOTAL >> 20} MB")
    methods = {entry.compress_type for entry in entries}
    if ZSTANDARD in methods and not hasattr(zipfile, "ZIP_ZSTANDARD"):
        raise ValueError(
            "it is compressed with Zstandard, which Python reads from 3.14 on: pip install backports.zstd, or use that"
        )
    if strange := sorted(methods - {STORED, DEFLATED, ZSTANDARD}):  # their unpacking cannot be bounded as it goes
        raise ValueError(f"it is compressed by method {strange[0]}, and only Deflate and Zstandard are read")


def read_entry(archive, entry, limit):
    """Return a file of a zip as JSON, and its bytes, whatever its entry says of its size."""
    with archive.open(entry) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"unpacked, {entry.filename} is larger than {limit >> 20} MB")
    try:
        value = json.loads(data)
    except RecursionError:
        raise ValueError(f"{entry.filename} is nested too deep") from None
    if not isinstance(value, dict):
        raise ValueError(f"{entry.filename} holds no JSON object")
    return value, len(data)


def describe_run(header):
    """Return a run's row, its id and task, from a log's header."""
    about = header["eval"]
    model, limit = about["model"], (about.get("config") or {}).get("message_limit")
    run_id = check_name("run", about["task_id"])
    code = about.get("revision") or {}
    run = {"run_id": run_id, "agent_id": model, "model": model, "model_family": model.rpartition("/")[2]}
    run |= {"framework": "inspect_ai", "condition": about["task"], "message_limit": limit}
    run |= {
        "code_version": code.get("commit"),
        "packages": dump_json([f"{name}=={version}" for name, version in (about.get("packages") or {}).items()]),
    }
    run["status"] = "complete" if header.get("status") == "success" else "partial"
    box = about.get("sandbox") or {}
    return {"run": run, "run_id": run_id, "task": str(about["task"]).rpartition("/")[2], "sandbox": box.get("type")}


def read_sample(sample, facts):
    """Return a sample's rows: replies, traces, predictions, scores and answers (lists)."""
    key = {"run_id": facts["run_id"], "event_id": f"{facts['task']}-{sample['id']}", "sample": sample["epoch"] - 1}
    status, reason = find_end(sample)
    reply = read_text(
        sample, ((sample.get("output") or {}).get("choices") or [{}])[0].get("message", {}).get("content")
    )
    used = add_usage((sample.get("model_usage") or {}).values())
    row = key | {"status": status, "reason": reason, "reply": reply or None, "duration_s": sample.get("working_time")}
    steps = list_steps(sample, status, reason, reply)
    scores = [
        key | {"metric": name, "agent_id": facts["run"]["agent_id"]} | describe_score(score["value"])
        for name, score in (sample.get("scores") or {}).items()
    ]
    value = read_answer(sample, status, reason) | {"agent_id": facts["run"]["agent_id"]}
    value |= {"reply_sha256": hash_text(reply) if reply else None}
    return {
        "replies": [row | used],
        "traces": [key | {"step": at, "sandbox_backend": facts["sandbox"]} | step for at, step in enumerate(steps)],
        "predictions": [key | value],
        "scores": scores,
        "answers": [{"event_id": key["event_id"], "value": dump_json(sample["target"])}],
    }


def read_answer(sample, status, reason):
    """Return status, reason and value of a sample's prediction: the answer that its first scorer read of the reply.

    >>> read_answer({"scores": {"match": {"value": "I", "answer": ""}}}, "ok", None)
    {'status': 'unparsable', 'reason': 'no scorer read an answer', 'value': None}
    """
    given = next((score.get("answer") for score in (sample.get("scores") or {}).values()), None)
    if status == "ok" and given in (None, ""):
        status, reason = "unparsable", "no scorer read an answer"
    return {"status": status, "reason": reason, "value": dump_json(given) if status == "ok" else None}


def find_end(sample):
    """Return how a sample ended, as a reply's status, and why: its limit, its error, or neither.

    >>> find_end({"limit": {"type": "message", "limit": 30.0}}), find_end({"error": {"message": "no model"}})
    (('message_limit', 'the limit of 30 messages'), ('error', 'no model'))
    """
    if limit := sample.get("limit"):
        return LIMITS.get(limit["type"], "over_budget"), f"the limit of {limit['limit']:g} {limit['type']}s"
    if error := sample.get("error"):
        return "error", str(error.get("message"))[:300]
    return "ok", None


def read_score(value):
    """Return a scorer's value as a score from 0 to 1, None for one that is on another scale, or several.

    C, P, I and N are its letters for right, partly, wrong and no answer.

    >>> [read_score(value) for value in ("C", "I", 0.5, True, 7, float("nan"), {"a": 1})]
    [1.0, 0.0, 0.5, 1.0, None, None, None]
    """
    value = {"C": 1, "P": 0.5, "I": 0, "N": 0}.get(value) if isinstance(value, str) else value
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else None


def describe_score(value):
    """Return what a row of scores says of a scorer's value: score, is_scored, and the reason where there is none."""
    score = read_score(value)
    why = None if score is not None else "the scorer's value is none from 0 to 1"
    return {"score": score, "is_scored": score is not None, "reason": why}


def add_usage(usages):
    """Return what a sample's models used: tokens in (the cached ones among them), out, cached, all."""
    known = list(map(read_usage, usages))
    names = ("n_input_tokens", "n_output_tokens", "n_cached_tokens")
    total = {name: sum(usage.get(name) or 0 for usage in known) if known else None for name in names}
    return total | {"n_tokens": total["n_input_tokens"] + total["n_output_tokens"] if known else None}


def read_usage(usage):
    """Return one usage's tokens by our names; what is read from a cache, or kept there, is among those in.

    Logs of some providers (Anthropic) count these apart, in the total alone.

    >>> read_usage({"input_tokens": 3, "output_tokens": 2, "input_tokens_cache_read": 95, "total_tokens": 100})
    {'n_input_tokens': 98, 'n_output_tokens': 2, 'n_cached_tokens': 95, 'n_think_tokens': None}
    """
    names = ("input_tokens", "output_tokens", "input_tokens_cache_read", "reasoning_tokens", "total_tokens")
    n_input, n_output, n_cached, n_think, n_all = map(usage.get, names)
    if None not in (n_input, n_output, n_all):
        n_input = max(n_input, n_all - n_output)
    counts = {"n_input_tokens": n_input, "n_output_tokens": n_output}
    return counts | {"n_cached_tokens": n_cached, "n_think_tokens": n_think}


def read_text(sample, content):
    """Return the words of a message: of parts those written and thought, of attachments what they stand for."""
    parts = content if isinstance(content, list) else [{"text": content or ""}]
    text = "\n".join(part.get("text") or part.get("reasoning") or "" for part in parts).strip()
    attached = sample.get("attachments") or {}
    return ATTACHED.sub(lambda found: str(attached.get(found[1], found[0])), text)


def list_steps(sample, status, reason, reply):
    """Return a sample's steps: the prompt, the model's turns, tool calls with results, the count, the end."""
    messages = sample["messages"]
    calls = {}  # of those under one id the latest before a result is its call
    turns = [message for message in messages if message["role"] == "assistant"]
    usages = [
        (event.get("output") or {}).get("usage") for event in sample.get("events") or [] if event["event"] == "model"
    ]
    usage = dict(zip(map(id, turns), usages, strict=True)) if len(usages) == len(turns) else {}
    steps = []
    for message in messages:
        calls |= {call["id"]: call for call in message.get("tool_calls") or []}
        steps.append(write_step(sample, message, calls, usage.get(id(message)) or {}))
    told = {"limit": (sample.get("limit") or {}).get("limit"), "count": "messages", "status": status}
    steps.append(
        {"step_type": "count", "content": dump_json(told | {"n_messages": len(messages), "n_turns": len(turns)})}
    )
    ended = {"step_type": "answer", "content": reply} if status == "ok" else {"step_type": "end", "error": reason}
    return [*steps, ended]


def write_step(sample, message, calls, usage):
    """Return a message as a step of our traces."""
    text = read_text(sample, message.get("content"))
    if message["role"] == "assistant":
        asked = "; ".join(
            f"{call['function']}({dump_json(call['arguments'])})" for call in message.get("tool_calls") or []
        )
        used = read_usage(usage)
        del used["n_cached_tokens"]  # a step has no column for it
        return {"step_type": "model", "content": text or asked} | used
    if message["role"] == "tool":
        call = calls.get(message.get("tool_call_id")) or {}
        fault = (message.get("error") or {}).get("type")
        step = {
            "step_type": "tool",
            "tool": message.get("function") or call.get("function"),
            "content": text,
            "error": fault,
        }
        return step | {"arguments": dump_json(call.get("arguments") or {})}
    return {"step_type": "prompt", "actor": message["role"], "content": text}
