"""Limits of time: a call that may take so many seconds, a study that may ask for so many
minutes."""

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future


def start(function: Callable) -> Future:
    """Call a function in a daemon thread, which cannot be killed and may be left behind; returns
    its Future."""
    answer = Future()

    def run():
        try:
            answer.set_result(function())
        except BaseException as error:  # handed over, and raised in the thread that waits
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return answer


def call_within(function: Callable, seconds):
    """Return what a function returns, raise what it raises, or TimeoutError after so many seconds.

    >>> call_within(lambda: time.sleep(5), 0.01)
    Traceback (most recent call last):
        ...
    TimeoutError
    """
    return start(function).result(timeout=max(0.0, seconds))


def count_left(limit):
    """Return the whole seconds, one at least, that are left until a moment of time.monotonic()."""
    return float(max(1, math.ceil(limit - time.monotonic())))


def end_after(minutes=None):
    """Return the moment of time.monotonic() when so many minutes from now are up; without a number
    they never are."""
    return math.inf if minutes is None else time.monotonic() + 60 * minutes
