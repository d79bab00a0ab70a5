"""How many requests may be under way to a provider at once: as many as it bears, or a fixed number.

Between LEAST and MOST the number grows with replies, doubling a round until the provider first
refuses for its load (429, 503, 529), by one a round from then on; a refusal halves it. It stays
where replies take twice as long as before.
"""

import statistics
import threading
import time
from contextlib import contextmanager

from daybefore.models.failures import find_code

LEAST, MOST = 8, 100
"""Requests at once, to begin with and at most, where no number is fixed."""

OVERLOAD = (429, 503, 529)
"""HTTP statuses by which a provider says that it is asked too much."""

SLOWER = 2
"""How many times the seconds of the quickest round a round may take for the number to grow."""

PACES = {}
"""(provider, address) -> the pace that this process has found there."""


class Pace:
    """The number of requests at once, `limit`, and those under way; threads share it."""

    def __init__(self, fixed: int | None = None):
        self.limit = fixed or LEAST
        self.is_fixed = fixed is not None
        self.room = threading.Condition()
        self.n_under_way = 0
        self.n_round = 0
        self.has_met_limit = False
        self.seconds = []
        self.quickest_s = None

    @contextmanager
    def turn(self, limit: float):
        """Wait for a turn, until `limit` (time.monotonic()) at most, and have it for one request in
        the block.

        Yields whether fewer at once could be tried as it began. How the block ends moves the
        number. Raises TimeoutError where there was no turn.
        """
        with self.room:
            if not self.room.wait_for(
                lambda: self.n_under_way < self.limit, limit - time.monotonic()
            ):
                raise TimeoutError
            self.n_under_way += 1
            number = self.n_round
            can_fall = not self.is_fixed and self.limit > LEAST
        at = time.monotonic()
        code = None
        try:
            yield can_fall
            code = 200
        except Exception as error:
            code = find_code(error)
            raise
        finally:
            with self.room:
                self.n_under_way -= 1
                if code == 200:
                    self.count(time.monotonic() - at)
                elif (
                    code in OVERLOAD and number == self.n_round
                ):  # once for all that went out together
                    self.start_round(max(LEAST, self.limit // 2))
                    self.has_met_limit = True
                self.room.notify_all()

    def count(self, seconds: float):
        """Count a reply that took so many seconds; after a round of them that was not slow the
        number grows."""
        self.seconds.append(seconds)
        if len(self.seconds) < self.limit:
            return
        typical = statistics.median(self.seconds)
        self.quickest_s = min(typical, self.quickest_s or typical)
        more = 1 if self.has_met_limit else self.limit
        self.start_round(
            min(MOST, self.limit + more) if typical <= SLOWER * self.quickest_s else self.limit
        )

    def start_round(self, limit: int):
        """Begin a round with a number of requests at once."""
        self.limit = self.limit if self.is_fixed else limit
        self.n_round += 1
        self.seconds = []


def find_pace(model: str, api_base: str | None = None, at_once: int | None = None) -> Pace:
    """Return the pace of a model's provider and address, that of this process, or a fixed one of
    `at_once`."""
    if at_once is not None:
        return Pace(at_once)
    return PACES.setdefault((model.partition("/")[0], api_base), Pace())
