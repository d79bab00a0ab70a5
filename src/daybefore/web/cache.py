"""A cache between agents and the web, as a provider's or a crawler's: it serves a page again until
the copy is too old.

A page's age is counted by the replay clock, which comes with each request.
"""

import threading


class Cache:
    """Answers with the copy it holds, else with what the adapter `upstream` answers, which it then
    holds.

    A copy is served while it is younger than `ttl_hours`; 0 keeps nothing. Counted are `n_requests`
    and `n_kept`, those answered from a copy. Raises ValueError for a negative time to live.
    """

    def __init__(self, upstream, ttl_hours):
        if ttl_hours < 0:
            raise ValueError(f"a time to live of {ttl_hours} hours; 0 is the least")
        self.upstream, self.ttl_s, self.copies, self.lock = (
            upstream,
            3600 * ttl_hours,
            {},
            threading.Lock(),
        )
        self.n_requests = self.n_kept = 0

    def answer(self, url, clock):
        """Return the `session.Answer` of the copy, or of the page upstream."""
        with self.lock:
            self.n_requests += 1
            made, answer = self.copies.get(url, (None, None))
            if made is not None and 0 <= clock - made < self.ttl_s:  # never a copy of later
                self.n_kept += 1
                return answer
            answer = self.upstream.answer(url, clock)
            if answer.status == 200 and (made is None or made <= clock):  # the newest copy stays
                self.copies[url] = clock, answer
            return answer
