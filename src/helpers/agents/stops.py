"""When a run of questions in threads is to stop, and why: accidents in a row, a ceiling, a spent quota, Ctrl-C."""

import os
import signal
import threading
import time
from contextlib import contextmanager

from helpers.models.failures import NO_CREDIT
from helpers.store import FIRST_FAILURES, STRIKES

STOPS = (signal.SIGINT, signal.SIGTERM)
"""What a person, or who started us, stops a run with."""


class Stopped(RuntimeError):
    """A run was stopped before its last question; `cause` is "first", "accidents", "ceiling", "credit" or "signal".

    `run_ids` are as `run_agents` returns them.
    """

    def __init__(self, cause, reason, run_ids):
        super().__init__(reason)
        self.cause, self.run_ids = cause, run_ids


class Watch:
    """Looks at what arrives, and says when a run is to stop and why. `under_way` holds the questions being asked.

    `remind(seconds)`, or None, is called while the first reply, tried alone, takes its time.
    """

    def __init__(self, max_accidents=None, tries_first=False, remind=None):
        self.max_accidents, self.is_trying, self.n_in_row = max_accidents, tries_first, 0
        self.cause, self.reason, self.under_way, self.remind, self.seconds = None, None, {}, remind, []

    def stop(self, cause, reason):
        """Stop the run; the first cause is kept."""
        if self.cause is None:
            self.cause, self.reason = cause, reason

    def allow(self, workers):
        """Return how many questions may be under way: none once stopped, one until the first has its reply."""
        return 0 if self.cause else 1 if self.is_trying else workers

    def judge(self, reply):
        """Count a reply, stop the run where it is due, and say whether the reply is to be stored.

        What a ceiling or a spent quota kept from being asked is none, nor a first question that could not be asked.
        """
        status, reason = reply["status"], reply["reason"]
        self.seconds.append(reply.get("duration_s") or 0)
        self.n_in_row = self.n_in_row + 1 if status in STRIKES else 0
        if status == "over_budget":
            is_own = not (reason or "").startswith(NO_CREDIT)
            self.stop("ceiling" if is_own else "first" if self.is_trying else "credit", reason)
            return False
        if self.is_trying and status in FIRST_FAILURES:
            self.stop("first", reason + "; the same command asks it, and may pay it, again" * (status == "timeout"))
            return status == "unreadable"  # which may have been paid, and is not asked again by itself
        self.is_trying = False
        if self.max_accidents and self.n_in_row >= self.max_accidents:
            self.stop("accidents", f"{self.n_in_row} accidents in a row, the last: {reason}")
        return True


def describe_stop(watch, number):
    """Return what a run says at its first signal: what is under way, for how long at most, what a second one does."""
    n, now = len(watch.under_way), time.monotonic()
    if not n:
        return "\nstopping\n"
    what = "1 question is under way and will be stored as it ends"
    if n > 1:
        what = f"{n} questions are under way and will be stored as they end"
    usual, longest = "", max(watch.seconds, default=None)
    waited = max(now - begun for _, _, begun in watch.under_way.values())
    if longest is not None and waited <= longest:
        usual = f", most likely within {longest:.0f} s"
    elif longest is not None:
        usual = f" (one has waited {waited:.0f} s, where earlier took {longest:.0f} s at most: its server may hang)"
    seconds = max(0, max(limit for _, limit, _ in watch.under_way.values()) - now)
    again = "a second Ctrl-C" if number == signal.SIGINT else "a second signal"
    cost = "what has not been answered by then is asked, and may be paid, again"
    told = f"stopping: no further question is asked; {what}{usual}, in {seconds:.0f} s at most"
    return f"\n{told}; {again} stops at once, and {cost}\n"


@contextmanager
def heed_signals(watch):
    """Stop a run at the first SIGINT (Ctrl-C) or SIGTERM, raise KeyboardInterrupt at the second; in the main thread.

    A line on standard error says what is under way and what a second one costs.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number, frame):
        if watch.cause == "signal":
            raise KeyboardInterrupt
        os.write(2, describe_stop(watch, number).encode())  # print is not safe here: it may be at work itself
        watch.stop("signal", "stopped by Ctrl-C" if number == signal.SIGINT else "stopped by SIGTERM")

    before = {number: signal.signal(number, stop) for number in STOPS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
