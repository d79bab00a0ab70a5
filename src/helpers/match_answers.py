"""Find the final answer in a reply and hold it against the truth by string handling alone
(LiveAgentBench 4.2).

A reply is right when its extracted answer equals the truth after both are normalised, or else when
the truth stands as a whole run of tokens in the reply's final line. Strict equality stands beside
it: the second rule credits a final line that names many things, the truth among them.
"""

import re
import unicodedata

from helpers.boxed_answers import Unreadable, select_boxes, strip_thinking

UNITS = frozenset(
    """c f °c °f degree degrees celsius fahrenheit percent pct point points pts dollar dollars usd us us$ euro euros eur
    pound pounds gbp barrel barrels bbl gallon gallons mm cm m km mile miles hour hours hr hrs day days week weeks
    vehicle vehicles car cars view views vote votes case cases death deaths record records licence licences license
    licenses booking bookings avocado avocados goal goals viewer viewers time times ms s sfu""".split()
)
"""Words dropped from an answer beside a number; words that change its size (thousand, million) are
not among them."""
MARKED = re.compile(r"(?:final answer|answer|result)\s*(?:is|:|=)+\s*(.+)", re.I)
THOUSANDS = re.compile(r"(?<=\d)[,'’\u00a0\u2009\u202f](?=\d{3}(?!\d))")
MINUS = dict.fromkeys(map(ord, "\u2212\u2013\u2012"), "-")
TOKEN = re.compile(
    r"\d{4}-\d{2}-\d{2}"  # a date
    r"|(?<![\w.])[-+]?\d+(?:\.\d+)?"  # a number, its sign where nothing but a space or a bracket stands before it
    r"|\d+(?:\.\d+)?|[°$€£%]?[^\W\d_]+\$?|[%$€£]"
)
SIGNS = frozenset("% $ € £".split())


def extract_answer(reply: str | None) -> str:
    """Return the final answer a reply states: its last box, else what its last line says after
    "answer:" or "answer is", else the last line.
    """
    text = strip_thinking(reply or "") or ""
    try:
        boxes = select_boxes(text)
    except Unreadable:  # boxes that contradict each other, or never end, are none
        boxes = []
    line = boxes[-1][2] or "" if boxes else take_final_line(text)
    marked = MARKED.findall(line)
    return (marked[-1] if marked else line).strip(" *_`\"'").removesuffix(".").strip(" *_`\"'")


def take_final_line(text: str) -> str:
    """Return a text's last line that is not blank."""
    return (text.strip().splitlines() or [""])[-1].strip()


def split_tokens(text: str | None) -> list[str]:
    """Return a text's tokens, normalised: NFKC, case folded, no punctuation, numbers without
    thousands separators, a plus sign or zeros that say nothing, and without units beside a number.
    """
    text = THOUSANDS.sub("", text or "").translate(MINUS)
    text = unicodedata.normalize("NFKC", text).casefold().strip()
    tokens = [tidy_number(token) for token in TOKEN.findall(text)]
    if any(token[-1].isdigit() for token in tokens):
        tokens = [token for token in tokens if token not in UNITS and token not in SIGNS]
    return tokens


def tidy_number(token: str) -> str:
    """Return a number without plus sign and without zeros that say nothing; any other token as it
    is."""
    if not re.fullmatch(r"[-+]?\d+(?:\.\d+)?", token):
        return token
    whole, _, part = token.lstrip("+-").partition(".")
    number = (
        f"{whole.lstrip('0') or '0'}.{part}".rstrip("0").rstrip(".")
        if part
        else whole.lstrip("0") or "0"
    )
    return "-" + number if token[0] == "-" and number != "0" else number


def match_answer(reply: str | None, truth: str) -> dict:
    """Return how a reply fits the truth: extracted, is_match, is_equal (normalised), is_strict (as
    written).

    Raises ValueError for a truth that nothing is left of when it is normalised.

    >>> match_answer("It is 1,234.5 dollars", "1234.50")["is_match"]
    True
    >>> match_answer("12, 13, 14 or 15", "14")
    {'extracted': '12, 13, 14 or 15', 'is_match': True, 'is_equal': False, 'is_strict': False}
    """
    wanted = split_tokens(truth)
    if not wanted:
        raise ValueError(f"the truth {truth!r} holds nothing to match")
    extracted = extract_answer(reply)
    is_equal = split_tokens(extracted) == wanted
    tokens = split_tokens(take_final_line(strip_thinking(reply or "") or ""))
    is_match = is_equal or any(tokens[at : at + len(wanted)] == wanted for at in range(len(tokens)))
    return {
        "extracted": extracted,
        "is_match": is_match,
        "is_equal": is_equal,
        "is_strict": extracted == truth,
    }
