"""What requests to models cost: prices, counts of tokens, the most that a request can cost, room
under a ceiling."""

import math
import time
from functools import lru_cache

from daybefore.models.attachments import put_in
from daybefore.models.failures import LlmError
from daybefore.models.transport import load_litellm
from helpers.files import dump_json

MAX_OUTPUT, MAX_INPUT = 32_768, 200_000
"""Tokens of a reply, and of what a model can read, where neither the request nor the price map says
how many."""

AHEAD_S = 0.5
"""Seconds before its deadline at which a request gives up waiting for room under the ceiling."""

USAGE = ("n_input_tokens", "n_output_tokens", "n_cached_tokens", "cost_usd", "model_s")
"""What a request's recording says about its cost; `model_s` are the seconds that the model's server
took."""

MAX_COUNT = 10**9
"""Tokens beyond which a provider's count is no count."""


def write_usd(amount):
    """Return an amount of US dollars as text: four decimals, more where it is small, none in vain.

    >>> write_usd(1e-06), write_usd(0.0123456), write_usd(1.5), write_usd(20), write_usd(0)
    ('0.000001', '0.0123', '1.5', '20', '0')
    """
    decimals = 4 if not amount or abs(amount) >= 0.001 else 1 - math.floor(math.log10(abs(amount)))
    return f"{amount:.{decimals}f}".rstrip("0").rstrip(".")


def read_count(value, least=0):
    """Return a provider's count of tokens, None where it is none: absent, negative, or more than
    any reply holds."""
    return value if isinstance(value, int) and least <= value <= MAX_COUNT else None


@lru_cache(maxsize=256)
def get_prices(model):
    """Return litellm's (US dollars an input token, an output token, longest output and input), None
    without them."""
    try:
        known = load_litellm().get_model_info(model)
    except Exception:  # litellm says with a bare Exception that a model is not in its map
        return None
    told = load_litellm().model_cost[known["key"]]  # `known` has 0 for a price that is not told
    prices = [told.get("input_cost_per_token"), told.get("output_cost_per_token")]
    longest = (
        known.get("max_output_tokens") or MAX_OUTPUT,
        known.get("max_input_tokens") or MAX_INPUT,
    )
    return None if None in prices else (*prices, *longest)


def name_prices(door, model):
    """Return a model's prices as `get_prices` does, by what the door was told of them before
    litellm's map."""
    return (*door.prices, MAX_OUTPUT, MAX_INPUT) if door.prices else get_prices(model)


def price_reply(door, model, row, count):
    """Return what a reply cost in US dollars: by the door's prices, else as litellm's `count()`
    says.

    `row` holds the tokens as read. None where no price is known, or they are none that a cost
    follows from.
    """
    tokens = row["n_input_tokens"], row["n_output_tokens"]
    if None in tokens or (row["n_cached_tokens"] or 0) > tokens[0]:
        return None
    if door.prices:
        return sum(n * price for n, price in zip(tokens, door.prices, strict=True))
    return count() if get_prices(model) else None


def bound_cost(door, request):
    """Return the most that a request can cost in US dollars, None without a price.

    A token is at least a byte of text, so the bytes of the request bound its tokens.
    """
    prices = name_prices(door, request["model"])
    options = request["options"]
    if prices is None:
        return None
    n_output = options.get("max_completion_tokens") or options.get("max_tokens") or prices[2]
    sent = dump_json([put_in(request["messages"], door.files), options])
    return len(sent.encode()) * prices[0] + n_output * prices[1]


def reserve(door, model, bound, limit):
    """Set a request's bound aside in the door's spending, once the bounds of those under way leave
    room for it.

    Raises LlmError when the ceiling could be passed whatever those cost, when there is no price to
    hold it by, or when there is no room before `limit` (time.monotonic()). Once a reply has cost
    more than its bound, bounds hold no more, and requests go out one at a time.
    """
    with door.room:
        while door.ceiling_usd is not None:
            spent = f"not asked: {describe_spent(door)}"
            if bound is None:
                raise LlmError(
                    "over_budget",
                    f"not asked: no price is known for {model}, so no ceiling can be held",
                )
            if door.spent_usd + bound > door.ceiling_usd:
                raise LlmError("over_budget", f"{spent}, this request can cost {write_usd(bound)}")
            if not door.n_under_way:
                break
            if (
                not door.dearest_usd
                and door.spent_usd + door.set_aside_usd + bound <= door.ceiling_usd
            ):
                break
            if not door.room.wait(max(0.0, limit - AHEAD_S - time.monotonic())):
                raise LlmError("over_budget", f"{spent}, and those under way left no room in time")
        door.set_aside_usd += bound or 0.0
        door.n_under_way += 1


def settle(door, bound, billed, *, is_most=False):
    """Take a request's bound back, count what was billed, and let those that wait for room look
    again.

    `is_most`: what was billed is not known, and counted at its bound.
    """
    with door.room:
        door.n_under_way -= 1
        door.set_aside_usd = door.set_aside_usd - (bound or 0.0) if door.n_under_way else 0.0
        door.spent_usd += billed or 0.0
        if bound is not None and (billed or 0.0) > bound * (1 + 1e-9):
            door.dearest_usd = max(door.dearest_usd, billed)
        door.at_most_usd += (billed or 0.0) if is_most else 0.0
        door.room.notify_all()


def describe_spent(door):
    """Return what a door has spent in words; what timed out, or could not be read, counts with the
    most it can cost."""
    told = f"{write_usd(door.spent_usd)} of {write_usd(door.ceiling_usd)} USD are spent"
    most = f", of which {write_usd(door.at_most_usd)} at most, by replies that did not come whole"
    return told + most * bool(door.at_most_usd)


def describe_cut(door):
    """Return how many requests a kill cut short, and what they may have cost, as a sentence; ""
    where none was.

    Those asked again since are told, too: the replies' costs leave out what was paid twice.
    """
    cut_usd = door.recordings.cut_usd
    n_left = len(door.recordings.under_way)
    if not cut_usd and not n_left:
        return ""
    most = f", {write_usd(cut_usd)} USD at most, beside what the replies say" * bool(cut_usd)
    told = f"{n_left} requests were under way when an earlier run was cut short, and were not asked again since"
    return f"{told}; what was cut short may have been paid{most}"
