"""What can go wrong with a request to a model: when to try again, how long to wait, what to store of it.

Nothing here imports litellm: its exceptions are read by their names, status codes and causes.
"""

import json
import math
import re
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from helpers.models.secrets import redact

MAX_WAIT_S = 60
"""A provider's Retry-After counts up to this many seconds, and so does the wait of our own between attempts."""


class LlmError(Exception):
    """A request that has no reply: `status` is one of columns.REPLY_STATUSES but "ok"; `reason` says it.

    `recording` is what was stored of it (tokens, cost, seconds), None when nothing was asked; `is_malformed` says that
    a body came which is no JSON.
    """

    def __init__(self, status, reason, recording=None, is_malformed=False):
        super().__init__(status, reason)
        self.status, self.reason, self.recording, self.is_malformed = status, reason, recording, is_malformed

    def __str__(self):
        return self.reason


class ReplyError(ValueError):
    """What a server sent is no reply to a request; the message says what it is.

    `is_answer`: the model may have answered, so it is paid for and not asked again; a redirect is none.
    """

    def __init__(self, reason, is_answer=False):
        super().__init__(reason)
        self.is_answer = is_answer


def get_headers(error):
    """Return the headers of the HTTP response behind an error, {} when there was none."""
    found = getattr(error, "litellm_response_headers", None) or getattr(getattr(error, "response", None), "headers", {})
    return {name.lower(): value for name, value in dict(found or {}).items()}


def list_causes(error):
    """Return an exception and those behind it, the outermost first."""
    chain = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain


def find_unfit(error):
    """Return the ReplyError behind an error, None when there is none."""
    return next((cause for cause in list_causes(error) if isinstance(cause, ReplyError)), None)


NO_COMPLETION = "Invalid response object"
"""With these words litellm says, as an error of the server, that it cannot make a reply of the JSON that came."""


def is_malformed(error):
    """Say whether an error comes from a body that is no reply: the model has answered, so it is not asked again."""
    if unfit := find_unfit(error):
        return unfit.is_answer
    return NO_COMPLETION in str(error) or any(isinstance(cause, json.JSONDecodeError) for cause in list_causes(error))


def describe_malformed(error):
    """Return what is wrong with a body that is no reply, in one line."""
    if NO_COMPLETION in str(error):
        wrong = re.findall(r"^(\w+(?:\.\w+)*)\n  ((?:Input|Field) .*?)(?: \[|$)", str(error), re.MULTILINE)
        return "the reply is no chat completion" + "".join(f"; {name}: {said}" for name, said in wrong[:1])
    return str(find_unfit(error) or "the reply is not JSON")


NO_CREDIT = "the provider's quota or credit is spent"
"""With these words the reason of a failed request begins that no further one would mend: it stops an agent."""

SPENT = re.compile(
    r"insufficient[ _](quota|credit|balance|fund)|exceeded your (current|monthly) (quota|usage)|billing.{0,20}limit"
    r"|credit balance is too low|(out of|no more|not enough) credits",
    re.IGNORECASE,
)
"""How providers say so."""

PAGE = re.compile(r"<(!doctype html|html)\b", re.IGNORECASE)
"""How a page of the web begins that stands in an answer's place."""

NO_PAGE = "a web page stands there: look at api_base, and at a proxy or a sign-in on the way"

TOO_FAST = 'a rate limit: wait a while, or ask fewer at once (ARGS="--at-once 2")'

SOON = re.compile(r"(retry|try again) (in|after)|retry.?delay|per.?(second|minute|hour)", re.IGNORECASE)
"""How they say that it is a quota of minutes."""


def find_code(error):
    """Return the HTTP status behind an error, None without any; litellm's own differs for some."""
    codes = [getattr(getattr(cause, "response", None), "status_code", None) for cause in list_causes(error)[::-1]]
    return next(filter(None, [*codes, getattr(error, "status_code", None)]), None)


def is_spent(error):
    """Say whether a provider refuses for want of money or quota, which waiting does not mend."""
    code, said = find_code(error), " ".join(map(str, list_causes(error)))
    if code == 402 or "insufficient_quota" in said:
        return True
    return code in (400, 403, 429) and bool(SPENT.search(said)) and not (code == 429 and SOON.search(said))


def is_passing(error):
    """Say whether an attempt may succeed when made again: 408, 429, 5xx, or a connection that failed."""
    code = getattr(error, "status_code", None)
    is_unfit = find_unfit(error) or is_malformed(error) or is_spent(error)
    return isinstance(code, int) and (code in (408, 429) or code >= 500) and not is_unfit


def choose_wait(default, state):
    """Return the seconds before the next attempt: what Retry-After says (seconds or a date), else doubling ones."""
    seconds = read_wait(get_headers(state.outcome.exception()))
    return default(state) if seconds is None else seconds


def read_wait(headers):
    """Return the seconds that a Retry-After header (a number or a date) asks to wait, MAX_WAIT_S at most; else None.

    >>> read_wait({"retry-after": "2"}), read_wait({"retry-after": "21600"}), read_wait({})
    (2.0, 60, None)
    """
    wanted = headers.get("retry-after", "").strip()
    try:
        seconds = float(wanted)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(wanted) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            return None
    return min(max(0.0, seconds), MAX_WAIT_S) if math.isfinite(seconds) else None


def is_over(enough, limit, state):
    """Say whether to stop trying: enough attempts were made, or the next would start past the limit."""
    return enough(state) or time.monotonic() + state.upcoming_sleep >= limit


def advise(error, text):
    """Return what most likely mends a provider's no, as the rest of a sentence; "" where nothing is known to.

    >>> advise(None, "<!DOCTYPE html><title>502 Bad Gateway</title>")
    '; a web page stands there: look at api_base, and at a proxy or a sign-in on the way'
    """
    if PAGE.search(text):
        return f"; {NO_PAGE}"
    return f"; {TOO_FAST}" if find_code(error) == 429 else ""


def explain(error, n_requests, limit, door):
    """Return (status, reason) of a failed request in a form that may be stored.

    A timeout is a reply that was waited for until `limit`; an accident that left no time to try again stays an error.
    """
    kind, code = type(error).__name__, getattr(error, "status_code", None)
    if isinstance(error, LlmError):
        return error.status, error.reason
    text = str(error).rpartition("Exception - ")[2].removeprefix(f"litellm.{kind}: ")
    if isinstance(error, TimeoutError) or (kind == "Timeout" and time.monotonic() >= limit - 0.05):
        return "timeout", f"no whole reply within {door.deadline_s:g} s (requests: {n_requests})"
    behind = [cause for cause in list_causes(error) if type(cause).__module__.partition(".")[0] == "httpx"]
    if find_unfit(error) or is_malformed(error):
        status, text = "unreadable" if is_malformed(error) else "error", describe_malformed(error)
    elif behind and type(behind[0]).__name__ != "HTTPStatusError":
        status, text = "error", f"the connection failed, {type(behind[0]).__name__}: {behind[0]}"
    elif is_spent(error):
        status, text = "over_budget", f"{NO_CREDIT}: {text}"
    elif find_code(error) == 404:
        what = (
            f"most likely there is no model {getattr(error, 'model', None)!r} there, or api_base is not where the chat"
        )
        status, text = "error", f"not found (404): {text}; {what} completions are (as a rule it ends in /v1)"
    else:
        status = classify(kind, text)
        text = (f"{kind} {code}: {text}" if code else f"{kind}: {text}") + advise(error, text)
    late = is_passing(error) and n_requests < door.n_requests
    ending = "; no time left to try again" if late else ""
    return status, redact(f"{text} (requests: {n_requests}{ending})", door.secrets)


def classify(kind, text):
    """Return the status of a provider's no, by the kind of litellm's exception.

    >>> classify("UnsupportedParamsError", "no logprobs"), classify("AuthenticationError", "bad key")
    ('unsupported', 'error')
    """
    if kind == "ContentPolicyViolationError" or "content_policy" in text:
        return "refusal"
    if kind in ("UnsupportedParamsError", "ContextWindowExceededError"):
        return "unsupported"
    return "error"


def fail(status, reason):
    """Return the outcome of a question that has no prediction.

    >>> fail("refusal", "will not bet")["prediction"]
    {'value': None}
    """
    return {"status": status, "reason": reason, "reply": None, "prediction": {"value": None}}
