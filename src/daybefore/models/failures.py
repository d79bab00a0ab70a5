"""What can go wrong with a request to a model: when to try again, how long to wait, what to store
of it.

litellm names what happened by its exceptions and their status codes; a few providers' words say the
rest.
"""

import json
import re
import time

from daybefore.models.secrets import redact

MAX_WAIT_S = 60
"""A provider's Retry-After counts up to this many seconds, and so does the wait of our own between
attempts."""

MAX_SHOWN = 240
"""Characters that are told of what came in a reply's place."""

NO_CREDIT = "the provider's quota or credit is spent"
"""With these words the reason of a failed request begins that no further one would mend: it stops
an agent."""

SPENT = re.compile(
    r"insufficient[ _](quota|credit|balance|fund)|exceeded your (current|monthly) (quota|usage)|billing.{0,20}limit"
    r"|credit balance is too low|(out of|no more|not enough) credits",
    re.IGNORECASE,
)
SOON = re.compile(
    r"(retry|try again) (in|after)|retry.?delay|per.?(second|minute|hour)", re.IGNORECASE
)
"""How providers say that nothing more is paid for, and that it is a quota of minutes."""

PAGE = re.compile(r"<(!doctype html|html)\b", re.IGNORECASE)
"""How a page of the web begins that stands in an answer's place."""

NO_PAGE = "a web page stands there: look at api_base, and at a proxy or a sign-in on the way"
TOO_FAST = 'a rate limit: wait a while, or ask fewer at once (ARGS="--at-once 2")'
NOT_THERE = "there is no such model there, or api_base is not where the chat completions are (as a rule it ends in /v1)"
NO_KEY_SENT = "no key was sent: api_key_env in its table of data/agents.toml names the variable that holds one"

NO_COMPLETION = "Invalid response object"
"""With these words litellm says, as an error of the server, that it cannot make a reply of the JSON
that came."""


class LlmError(Exception):
    """A request that has no reply: `status` is one of tables.REPLY_STATUSES but "ok"; `reason` says
    it.

    `recording` is what was stored of it (tokens, cost, seconds), None when nothing was asked.
    """

    def __init__(self, status, reason, recording=None):
        super().__init__(status, reason)
        self.status = status
        self.reason = reason
        self.recording = recording

    def __str__(self):
        return self.reason


class ReplyError(ValueError):
    """What a server sent is no reply; `is_answer`: the model may have answered, so it is paid and
    not asked again."""

    def __init__(self, reason, is_answer=False):
        super().__init__(reason)
        self.is_answer = is_answer


def list_causes(error):
    """Return an exception and those behind it, the outermost first."""
    chain = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__
    return chain


def find_unfit(error):
    """Return the ReplyError behind an error, also where litellm itself could not read the JSON;
    None without any."""
    causes = list_causes(error)
    if NO_COMPLETION in str(error) or any(
        isinstance(cause, json.JSONDecodeError) for cause in causes
    ):
        causes.append(ReplyError("the reply is no chat completion", is_answer=True))
    return next((cause for cause in causes if isinstance(cause, ReplyError)), None)


def find_code(error):
    """Return the HTTP status behind an error, None without any; litellm's own differs for some."""
    codes = [
        getattr(getattr(cause, "response", None), "status_code", None)
        for cause in list_causes(error)[::-1]
    ]
    return next(filter(None, [*codes, getattr(error, "status_code", None)]), None)


def is_spent(error):
    """Say whether a provider refuses for want of money or quota, which waiting does not mend."""
    code = find_code(error)
    said = " ".join(map(str, list_causes(error)))
    if code == 402 or "insufficient_quota" in said:
        return True
    return (
        code in (400, 403, 429)
        and bool(SPENT.search(said))
        and not (code == 429 and SOON.search(said))
    )


def is_passing(error):
    """Say whether an attempt may succeed when made again: 408, 429, 5xx, or a connection that
    failed."""
    code = getattr(error, "status_code", None)
    return (
        isinstance(code, int)
        and (code in (408, 429) or code >= 500)
        and not (find_unfit(error) or is_spent(error))
    )


def read_wait(error):
    """Return the seconds that the Retry-After header behind an error asks to wait, MAX_WAIT_S at
    most; else 0."""
    sent = getattr(error, "litellm_response_headers", None) or getattr(
        getattr(error, "response", 0), "headers", {}
    )
    told = next((value for name, value in dict(sent).items() if name.lower() == "retry-after"), "")
    return min(float(told), MAX_WAIT_S) if re.fullmatch(r"\d{1,9}(\.\d+)?", told) else 0.0


def explain(error, n_requests, limit, door):
    """Return the LlmError of a failed request, its reason in a form that may be stored.

    A timeout is a reply that was waited for until `limit`; a failure that left no time to try again
    stays an error.
    """
    if isinstance(error, LlmError):
        return error
    kind = type(error).__name__
    code = find_code(error)
    unfit = find_unfit(error)
    if isinstance(error, TimeoutError) or (kind == "Timeout" and time.monotonic() >= limit - 0.05):
        return LlmError(
            "timeout", f"no whole reply within {door.deadline_s:g} s (requests: {n_requests})"
        )
    said = str(error).rpartition("Exception - ")[2].removeprefix(f"litellm.{kind}: ")
    broken = [
        cause for cause in list_causes(error) if type(cause).__module__.partition(".")[0] == "httpx"
    ]
    status = "error"
    text = f"{kind} {code}: {said}" if code else f"{kind}: {said}"
    if unfit:
        status = "unreadable" if unfit.is_answer else "error"
        text = redact(str(unfit), door.secrets)[:MAX_SHOWN]
    elif broken and type(broken[0]).__name__ != "HTTPStatusError":
        text = f"the connection failed, {type(broken[0]).__name__}: {broken[0]}"
    elif is_spent(error):
        status = "over_budget"
        text = f"{NO_CREDIT}: {said}"
    elif kind == "ContentPolicyViolationError" or "content_policy" in said:
        status = "refusal"
    elif kind in ("UnsupportedParamsError", "ContextWindowExceededError"):
        status = "unsupported"
    elif code == 404:
        text = f"not found (404): {said}; {NOT_THERE}"
    elif PAGE.search(said):
        text += f"; {NO_PAGE}"
    elif code == 429:
        text += f"; {TOO_FAST}"
    elif code in (401, 403) and "api_base" in door.connection and "api_key" not in door.connection:
        text += f"; {NO_KEY_SENT}"
    ending = "; no time left to try again" * (is_passing(error) and n_requests < door.n_requests)
    return LlmError(status, redact(f"{text} (requests: {n_requests}{ending})", door.secrets))


def fail(status, reason):
    """Return the outcome of a question that has no prediction."""
    return {"status": status, "reason": reason, "reply": None, "prediction": {"value": None}}
