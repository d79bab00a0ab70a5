"""Ask a local model recorded requests again and say how many replies are the same: a test of the
recordings.

PYTHONPATH=src:tools python -m ask_again [N] [ARM]     (default: 20 of qwen_zero_shot-A)
"""

import sys
import time
from contextlib import ExitStack

from tqdm import tqdm

from daybefore.agents.recorded_runs import SEED, load_recorded_runs
from daybefore.agents.registry import load_entries
from daybefore.commands.terminal import show
from daybefore.models.client import complete, open_door, open_recording
from daybefore.models.failures import LlmError
from daybefore.models.local_server import open_model
from daybefore.models.recordings import Recordings
from helpers.files import hash_text
from helpers.set_names import PUBLIC_WINDOWS


def ask_again(arm_id, arm, n):
    """Ask a local model `n` recorded requests again and print which replies differ and how many
    agree.

    Only requests that stand alone are taken: a later turn's reply may depend on the cache of the
    turns before. Raises LookupError when nothing is recorded, or its values alone, RuntimeError
    when a request fails.
    """
    if arm["window"] in PUBLIC_WINDOWS:
        raise LookupError(
            f"of {arm_id} values alone are kept, not the requests: they cannot be asked again"
        )
    rows = [row for row in Recordings(arm_id).rows.values() if row["status"] == "ok"]
    rows = [
        row
        for row in rows
        if not row["request"]["options"].get("extra_body", {}).get("cache_prompt")
    ]
    chosen, n_same = sorted(rows, key=lambda row: hash_text(f"{SEED}:{row['key']}"))[:n], 0
    if not chosen:
        raise LookupError(f"nothing is recorded of {arm_id}; `make record ARM={arm_id}` records it")
    with ExitStack() as stack:
        connection = open_model(load_entries(wanted=[arm["agent"]])[arm["agent"]], stack)
        door = open_door("again", live=True, connection=connection)
        stack.callback(door.recordings.close)
        for row in tqdm(chosen, desc=f"{arm_id}, again", unit="request"):
            try:
                now = complete(
                    door, row["request"], time.monotonic() + door.deadline_s, {"n_requests": 0}
                )
                now = open_recording({"status": "ok"} | now)["content"]
            except LlmError as error:
                failed = (
                    f"{arm_id}: request {row['key']} failed now ({error.status}): {error.reason}"
                )
                raise RuntimeError(failed) from None
            n_same += now == row["content"]
            if now != row["content"]:
                show(f"{row['key']}: recorded {row['content']!r}, now {now!r}")
    show(f"{arm_id}: {n_same} of {len(chosen)} replies are the recorded ones")


def main(n=20, arm_id="qwen_zero_shot-A"):
    """Ask again; ends in a sentence where it cannot."""
    try:
        ask_again(arm_id, load_recorded_runs()[arm_id], int(n))
    except (LookupError, RuntimeError) as problem:
        raise SystemExit(f"ask_again: {problem}") from None


if __name__ == "__main__":
    main(*sys.argv[1:])
