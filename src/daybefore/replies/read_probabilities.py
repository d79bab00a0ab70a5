"""What a reply says beside its value: probabilities or quantiles in words, where asked for, else by
log probabilities.

By its tokens' log probabilities they are the model's own of writing this, on the path of the reply
and one token off it; they are no more calibrated than the model is. What its recording does not
hold stays blank.
"""

import math
import re
from itertools import accumulate

from daybefore.replies.find_answer import prepare_reply
from daybefore.replies.read_numbers import read_number
from helpers.boxed_answers import Unreadable

STATED = re.compile(
    r"^[ *_>#-]{0,6}(?:probabilities|quantiles)[ *_]{0,4}:([^\n]{1,2000})$", re.I | re.M
)
"""The line on which a reply states its probabilities, or a number's quantiles, where it was asked
for them."""

ROUNDING = 0.05
"""Most by which stated probabilities of one choice may miss 1; they are then divided by their
sum."""

GO_ON, END = (",", ";", "and", "&"), ("}", "\\")
"""How a token begins that goes on with a list, and one that ends it."""


def weigh_reply(reply, kind, options, value):
    """Return what a recording's log probabilities give of the columns probability and distribution,
    as a dict.

    `options` are the event's, `value` is what was read. See `weigh_letters` for choices,
    `weigh_names` for rankings; other kinds give {}.
    """
    logprobs = reply.get("logprobs") or []
    if kind in ("single", "multi"):
        letters = [value] if kind == "single" else value
        return weigh_letters(options, letters, logprobs, ends=kind == "multi")
    return weigh_names(value, logprobs) if kind == "ranking" else {}


def read_stated(text, kind, options, value, unit=None):
    """Return the columns that the line of probabilities or quantiles in a reply gives, the last of
    several; {} if none.

    See `settle_stated`.

    >>> read_stated("Probabilities: A=70%; B=30%\\nFinal answer: A", "single", {"A": "Yes", "B": "No"}, "A")
    {'probability': 0.7, 'distribution': {'A': 0.7, 'B': 0.3}}
    """
    try:
        lines = STATED.findall(prepare_reply(text))
    except Unreadable:
        return {}
    between = "[;,]" if kind in ("single", "multi") else ";"
    parts = (
        [part.partition("=") for part in re.split(between, lines[-1]) if part.strip(" .*_`$")]
        if lines
        else []
    )
    given = {
        name.strip(" .*_`$()") or name.strip(): share.strip(" *_`$").rstrip(".")
        for name, _, share in parts
    }
    return settle_stated(given, kind, options, value, unit) if len(given) == len(parts) else {}


def settle_stated(given, kind, options, value, unit=None):
    """Return stated probabilities {letter: text} or quantiles {probability: text} as columns of the
    predictions table.

    Every option must have one from 0 to 1 (or in percent), of a single choice adding up to 1 within
    `ROUNDING`; of a number the median must be among them, and values may not fall. Else {}: what is
    stated by halves is not completed.
    """
    try:
        if kind in ("number", "percent"):
            unit = "%" if kind == "percent" else unit if isinstance(unit, str) else ""
            read = {read_share(name): read_number(text, unit) for name, text in given.items()}
            levels = sorted(read)
            if 0.5 not in read or [read[level] for level in levels] != sorted(read.values()):
                return {}
            ends = {"interval_low": read.get(0.05), "interval_high": read.get(0.95)}
            return {"distribution": {f"{level:g}": read[level] for level in levels}} | ends
        shares = {letter: read_share(given[letter]) for letter in options}
    except (KeyError, Unreadable):
        return {}
    if len(given) > len(shares):
        return {}
    if kind == "multi":
        return {"distribution": shares}
    total = sum(shares.values())
    if abs(total - 1) > ROUNDING:
        return {}
    shares = {letter: round(share / total, 6) for letter, share in shares.items()}
    return {"probability": shares[value], "distribution": shares}


def read_share(text):
    """Return a probability written as 0.3 or 30%. Raises Unreadable for anything else.

    >>> read_share("30 %"), read_share(".3")
    (0.3, 0.3)
    """
    found = re.fullmatch(r"(\d{0,3}(?:\.\d{1,9})?) ?(%?)", text)
    share = float(found[1]) / (100 if found[2] else 1) if found and found[1] else 2
    if share > 1:
        raise Unreadable("not a probability", text[:40])
    return round(share, 9)


def weigh_letters(options, letters, logprobs, ends=False):
    """Return the probabilities of options by the log probabilities of the letters written in the
    box.

    Where a letter stands, alternatives that are no option's letter are left out and the rest made
    to add up to 1. With `ends` a list may go on after a letter or end, so an option's probability
    is the sum over the places that the reply reached: that the list gets there, and names it there;
    lists that begin otherwise are not seen, so it is a lower bound. `probability` is that of the
    answer as a whole. {} without log probabilities or when a letter is no token of its own.

    >>> part = {"token": "A", "logprob": -0.2877, "top": [["A", -0.2877], ["B", -1.3863], ["a", -9]]}
    >>> weigh_letters({"A": "Yes", "B": "No"}, ["A"], [{"token": "{", "logprob": 0, "top": []}, part])
    {'probability': 0.75, 'distribution': {'A': 0.75, 'B': 0.25}}
    """
    chance = dict.fromkeys(options, 0.0)
    reach = 1.0
    left = set(options)
    places = find_letters(letters, logprobs)
    for n, at in enumerate(places, 1):
        shares = share_letters(logprobs[at], left)
        written = logprobs[at]["token"].strip()
        if written not in shares:
            return {}
        for letter, share in shares.items():
            chance[letter] += reach * share
        on = measure_going_on(logprobs[at + 1 : at + 2]) if ends else 0.0
        reach *= shares[written] * (on if n < len(places) else 1 - on)
        left.discard(written)
    rounded = {letter: round(share, 4) for letter, share in chance.items()}
    return {"probability": round(reach, 4), "distribution": rounded} if places else {}


def find_letters(letters, logprobs):
    """Return the places of the last tokens that are these letters, in order; none where one is no
    token of its own."""
    left = set(letters)
    places = []
    for at in range(len(logprobs) - 1, -1, -1):
        if logprobs[at]["token"].strip() in left:
            left.remove(logprobs[at]["token"].strip())
            places.insert(0, at)
    return [] if left else places


def share_letters(part, letters):
    """Return the shares of some letters at a token: the alternatives with the same space before,
    adding up to 1."""
    space = part["token"][: len(part["token"]) - len(part["token"].lstrip())]
    tops = {
        token.removeprefix(space): logprob
        for token, logprob in part["top"]
        if token.startswith(space)
    }
    shares = {letter: math.exp(logprob) for letter, logprob in tops.items() if letter in letters}
    return {letter: share / sum(shares.values()) for letter, share in shares.items()}


def measure_going_on(parts):
    """Return the probability that a list goes on at the token after a letter, among going on and
    ending."""
    known = {
        token: logprob
        for part in parts
        for token, logprob in [(part["token"], part["logprob"]), *part["top"]]
    }
    tops = [(token.strip(), math.exp(logprob)) for token, logprob in known.items()]
    on, end = (
        sum(share for token, share in tops if token.startswith(marks)) for marks in (GO_ON, END)
    )
    return on / (on + end) if on else 0.0


def weigh_names(names, logprobs):
    """Return the probability of each name of a list in its place, given what stands before it, and
    of all together.

    A name's probability is the product over its tokens; a name that was not written has none, and
    of a name written twice the first counts. {} without log probabilities or when a name is not
    written as it was read.

    >>> parts = [{"token": token, "logprob": math.log(p)} for token, p in (("Os", 0.5), ("lo", 0.8), ("; Rome", 0.25))]
    >>> weigh_names(["Oslo", "Rome"], parts)
    {'probability': 0.1, 'distribution': {'Oslo': 0.4, 'Rome': 0.25}}
    """
    text = "".join(part["token"] for part in logprobs)
    starts = list(accumulate((len(part["token"]) for part in logprobs), initial=0))[:-1]
    chances = []
    end = len(text)
    for name in reversed(names):
        start = text.rfind(name, 0, end)
        if start < 0 or not name:
            return {}
        own = [
            part["logprob"]
            for part, at in zip(logprobs, starts, strict=True)
            if at < start + len(name) and at + len(part["token"]) > start
        ]
        chances.append((name, math.exp(sum(own))))
        end = start
    distribution = {name: round(chance, 4) for name, chance in chances}
    whole = math.prod(chance for _, chance in chances)
    return (
        {"probability": round(whole, 4), "distribution": dict(reversed(distribution.items()))}
        if chances
        else {}
    )
