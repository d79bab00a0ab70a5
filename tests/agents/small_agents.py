"""Small agents and worlds for tests of the runner: they answer, raise, refuse, hang or die.

In a file of their own, with few imports: every worker process of the tests imports it anew.
"""

import os
import signal
import sys
import time
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path


def answer(event, world):
    n = int(event["event_id"][1:])
    trace = [
        {"actor": "manager", "step_type": "fetch", "page_ids": [f"p{n}"]},
        {"step_type": "answer", "content": "ok"},
    ]
    return {"prediction": {"value": n / 2, "distribution": {"0.5": n / 2}, "probability": 0.5}, "trace": trace}


def answer_oddly(event, world):
    """Answer with what no table holds."""
    usage = {"n_input_tokens": 2**70, "n_output_tokens": -8, "cost_usd": Decimal("0.25"), "finish_reason": "\ud800"}
    if event["event_id"] == "e001":
        usage = {"n_input_tokens": Decimal(3), "cost_usd": "much", "reason": "half \ud83d"}
    trace = [
        {
            "step_type": "answer",
            "content": "a\udc00b",
            "cost_usd": "free",
            "tool": Path("x"),
            "arguments": {"a": "\ud800"},
        }
    ]
    return usage | {"reply": "It is \ud83d.", "prediction": {"value": "\ud800", "rationale": "\ud83d"}, "trace": trace}


def answer_slowly(event, world):
    time.sleep(0.02)
    return answer(event, world)


def answer_late(event, world):
    time.sleep(0.6 if event["task"] == "late" else 0.2)
    return answer(event, world)


def misbehave(event, world):
    kind = event["task"]
    if kind == "raise":
        raise ValueError(f"no /home/me/.cache/file for key sk-secret in {event['event_id']}")
    if kind == "hang":
        time.sleep(60)
    if kind == "hang hard":  # deaf to the signal that asks it to end
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)
    if kind == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "exit":
        sys.exit(3)
    if kind == "refuse":
        return {"reply": "I would rather not.", "status": "refusal", "reason": "refused", "prediction": {"value": None}}
    if kind == "misspell":
        return {"prediction": {"valeu": 1.0}}
    return answer(event, world)


def spend(event, world):
    outcome = answer(event, world)
    return outcome | {"cost_usd": 0.25, "n_input_tokens": 100, "n_output_tokens": 20, "finish_reason": "stop"}


def tell_world(event, world):
    return {"prediction": {"value": str(world)}}


@contextmanager
def open_folder():
    folder = Path(os.environ["TEST_FOLDER"])
    (folder / f"opened_{os.getpid()}").touch()
    yield folder.name
    (folder / f"closed_{os.getpid()}").touch()


def open_nothing():
    return None


def open_badly():
    raise OSError("the replay web is down")


def open_or_die():
    """Starts 3 and 6 work; the process dies at the others."""
    start = 1 + len(list(Path(os.environ["TEST_FOLDER"]).glob("start_*")))
    (Path(os.environ["TEST_FOLDER"]) / f"start_{start}").touch()
    if start % 3:
        os.kill(os.getpid(), signal.SIGKILL)


def open_slowly():
    (Path(os.environ["TEST_FOLDER"]) / f"opened_{os.getpid()}").touch()
