"""Small agents and worlds for tests of the runner: they answer, raise, refuse, hang or die.

In a file of their own, with few imports: every worker process of the tests imports it anew.
"""

import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path


def answer(event, world):
    n = int(event["event_id"][1:])
    trace = [
        {"actor": "manager", "step_type": "fetch", "page_ids": [f"p{n}"]},
        {"step_type": "answer", "content": "ok"},
    ]
    return {"prediction": {"value": n / 2, "distribution": {"0.5": n / 2}, "probability": 0.5}, "trace": trace}


def answer_slowly(event, world):
    time.sleep(0.02)
    return answer(event, world)


def misbehave(event, world):
    kind = event["task"]
    if kind == "raise":
        raise ValueError(f"no /home/me/.cache/file for key sk-secret in {event['event_id']}")
    if kind == "hang":
        time.sleep(60)
    if kind == "exit":
        sys.exit(3)
    if kind == "refuse":
        return {"reply": "I would rather not.", "status": "refusal", "reason": "refused", "prediction": {"value": None}}
    if kind == "misspell":
        return {"prediction": {"valeu": 1.0}}
    return answer(event, world)


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
