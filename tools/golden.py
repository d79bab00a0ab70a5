"""The golden set: what must stay as it is while the code is moved, and what of it differs now.

    python tools/golden.py write      # keep today's answers in tools/golden.json
    python tools/golden.py check      # say what differs from them; ends with 1 where something does

Kept are a digest of every table behind a figure, every recorded reply as the parser reads it (under
each kind of answer, with options and without), results.json of six runs, and of documented commands
the exit code and the numbers they print. Wording, timings, digests of code and paths are not kept.
Of the helpers it imports the parser.
"""

import argparse
import contextlib
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from daybefore.replies.parse_reply import parse_prediction

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "tools/golden.json"
KINDS = ("single", "multi", "ranking", "list", "number", "percent", "date", "text")
OPTIONS = {letter: f"option {letter.lower()}" for letter in "ABCDEF"}
ASIDE = re.compile(
    r"(_s|_at|sha256|digest|version|packages|run_id|path|file|ledger|duration|kit|commit|created|started|git)$"
)
"""Keys of results.json that differ from one execution, or one state of the code, to the next."""

RUNS = {
    "baselines": "--limit 20",
    "last_value": "--agent last_value --limit 40",
    "qwen_zero_shot": "--agent qwen_zero_shot --limit 20",
    "qwen_search_prompt": "--agent qwen_search_prompt --limit 12",
    "qwen_zero_shot-C1": "--agent qwen_zero_shot --limit 15 --set C1",
    "qwen_react": "--agent qwen_react --limit 8",
}
"""Runs whose results.json is kept; recorded models answer from their recordings."""

COMMANDS = {
    "help": "--help",
    "unknown agent": "run --agent qwen_zero_sho --limit 5",
    "unknown set": "run --agent last_value --limit 5 --set Z",
    "limit of zero": "run --agent last_value --limit 0",
    "compare": "compare",
    "view": "view",
    "unknown option": "run --no-such-option",
}
"""Documented commands and wrong input; the numbers they print are kept, and the exit code."""


def hash_bytes(data):
    """Return 16 hex digits of some bytes' SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]


def digest_tables():
    """Return {path: digest} of the tables behind the figures, as text."""
    files = sorted((ROOT / "figures").rglob("*.csv"))
    return {path.relative_to(ROOT).as_posix(): hash_bytes(path.read_bytes()) for path in files}


def list_replies(commit="HEAD"):
    """Yield (recording, key, text) of every recorded reply of a commit."""
    listed = run_git("ls-tree", "-r", "--name-only", commit, "data/runs").decode().split()
    for name in sorted(name for name in listed if name.endswith("requests.jsonl.gz")):
        for line in gzip.decompress(run_git("show", f"{commit}:{name}")).decode().splitlines():
            row = json.loads(line)
            if isinstance(row.get("content"), str):
                yield name.split("/")[-2], row["key"], row["content"]


def run_git(*arguments):
    """Return what a git command writes."""
    return subprocess.run(
        ["git", "-C", str(ROOT), *arguments], check=True, stdout=subprocess.PIPE
    ).stdout


def read_reply(text):
    """Return what the parser makes of a text under each kind, as JSON."""
    read = {}
    for kind in KINDS:
        for options in (OPTIONS, None):
            with contextlib.suppress(ValueError, TypeError):
                value, reason = parse_prediction(text, kind, options, explain=True)
                read[f"{kind} {bool(options)}"] = [value, bool(reason)]
    return json.dumps(read, sort_keys=True, default=str)


def digest_replies(commit):
    """Return {recording: [number of replies, digest of all that is read of them]}."""
    found = {}
    for name, key, text in list_replies(commit):
        found.setdefault(name, []).append(f"{key} {read_reply(text)}")
    return {
        name: [len(rows), hash_bytes("\n".join(sorted(rows)).encode())]
        for name, rows in found.items()
    }


def run_command(words, folder):
    """Run the command `daybefore` with its output under a folder; returns the finished process."""
    variables = {
        "DAYBEFORE_OUT": str(folder),
        "PYTHONPATH": str(ROOT / "src"),
        "TQDM_DISABLE": "1",
        "PYTHONHASHSEED": "0",
    }
    command = [sys.executable, "-m", "daybefore", *words.split()]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, timeout=600
    )


def keep_facts(value):
    """Return JSON without what differs between executions; numbers to nine digits."""
    if isinstance(value, dict):
        return {
            key: keep_facts(part) for key, part in sorted(value.items()) if not ASIDE.search(key)
        }
    if isinstance(value, list):
        return [keep_facts(part) for part in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def collect_runs():
    """Return what six runs and the documented commands end with: {name: facts}."""
    runs = {}
    commands = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, words in RUNS.items():
            before = {path: path.read_bytes() for path in folder.rglob("results.json")}
            done = run_command(f"run {words}", folder)
            after = {path: path.read_bytes() for path in sorted(folder.rglob("results.json"))}
            results = [json.loads(text) for path, text in after.items() if before.get(path) != text]
            runs[name] = {"code": done.returncode, "results": keep_facts(results)}
        for name, words in COMMANDS.items():
            done = run_command(words, folder)
            commands[name] = {
                "code": done.returncode,
                "numbers": sorted(set(re.findall(r"-?\d+\.\d+", done.stdout))),
            }
    return {"runs": runs, "commands": commands}


def list_differences(old, new, place=""):
    """Yield a line for each place where two JSON values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from list_differences(old.get(key), new.get(key), f"{place}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from list_differences(before, after, f"{place}/{number}")
    elif old != new:
        yield f"{place}: {str(old)[:110]} -> {str(new)[:110]}"


def main():
    """Write the golden set, or say what differs from it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["write", "check"])
    parser.add_argument("--parts", default="tables replies runs", help="which parts to look at")
    parser.add_argument("--most", type=int, default=60, help="how many differences are printed")
    given = parser.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    commit = kept.get("commit") or run_git("rev-parse", "HEAD").decode().strip()
    found = {"commit": commit}
    parts = given.parts.split()
    if "tables" in parts:
        found["tables"] = digest_tables()
    if "replies" in parts:
        found["replies"] = digest_replies(commit)
    if "runs" in parts:
        found |= collect_runs()
    if given.what == "write":
        KEPT.write_text(
            json.dumps(kept | found, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        )
        return 0
    lines = [line for part in found for line in list_differences(kept.get(part), found[part], part)]
    print("\n".join(lines[: given.most]))
    print(f"{len(lines)} differences in {', '.join(parts)}")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
