"""What an agent claims that nothing it had been shown holds: the numbers, dates, names and addresses it made up.

An agent's text is what it wrote before its final answer: thoughts, plans, queries, tasks, reports. It is held against
what it had been shown by then: the question and the passages of pages. What the final answer itself says is a forecast,
not a claim. (FutureX's appendix A calls such claims hallucination and leaves it to a model's reading to find them.)

What the rule cannot see: a number computed from shown ones counts as made up, as does what a model rightly knew; a
small number that stands on a page for something else counts as held.
"""

import json
import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from helpers.calendar import blank_dates, find_dates
from helpers.replies.numbers import WORDS
from helpers.store import parse_json

SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9}
ADDRESS = re.compile(r"https?://[^\s\"'<>]+|\b[\w-]+(?:\.[a-z][\w-]*)+/[^\s\"'<>]*", re.IGNORECASE)
NUMBER = re.compile(r"(?<![\w.,-])-?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)")
SHOWN_NUMBER = re.compile(r"(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?:\s+(hundred|thousand|million|billion)\b)?")
SCALE = re.compile(r"\s+(hundred|thousand|million|billion)\b", re.IGNORECASE)
STEP_INPUTS = {"search": "query", "open": "address"}
BOX = re.compile(r"(?:Final answer:)?\s*\\boxed\{[^}]*\}?")


class Shown(NamedTuple):
    """What an agent had been shown: its text without case, its words, its numbers and its dates (year, month, day)."""

    text: str
    words: set
    numbers: np.ndarray
    digits: set
    dates: set


def read_shown(text):
    """Return what a text shows. Numbers come plain and, before million and the like, scaled; words up to twelve count.

    >>> shown = read_shown("On 12 October 2016 it had 13.13 million viewers within seven days")
    >>> shown.dates, [float(x) for x in shown.numbers]
    ({(2016, 10, 12)}, [7.0, 12.0, 13.13, 2016.0, 13130000.0])
    """
    plain = text.casefold()
    words = set(re.findall(r"[^\W\d_]+", plain))
    numbers = {float(at) for at, word in enumerate(WORDS) if at and word in words}
    digits = set()
    for found in SHOWN_NUMBER.finditer(plain):
        value = float(found[1].replace(",", ""))
        digits.add(found[1].replace(",", ""))
        numbers |= {value, value * SCALES.get(found[2], 1)}
    return Shown(plain, words, np.array(sorted(numbers)), digits, {date[:3] for date in find_dates(text)})


# --- what an agent wrote -------------------------------------------------------------------------------------------


def list_writings(trace):
    """Return what an agent wrote before its final answer, as dicts of step, actor, part, text and `seen`.

    `trace` is the steps of one run on one event in their order. `part` is the key of the reply's JSON (thought, task,
    query, answer, plan ...), "reply" for plain text; `seen` is the text that it had been shown by then. What a look-up
    says of an address that cannot be opened and what a search agent reports are its own words: they show nothing.
    """
    rows, seen = [], []
    for step in trace.sort_values("step").to_dict("records"):
        is_page = step["step_type"] == "tool" and step["tool"] in ("search", "open") and pd.isna(step["error"])
        content = step["content"] if isinstance(step["content"], str) else ""
        if step["step_type"] == "prompt" or is_page:
            seen.append(content)
        elif step["step_type"] == "model":
            at = {"step": step["step"], "actor": step["actor"], "seen": "\n".join(seen)}
            rows += [{"part": part, "text": text} | at for part, text in split_reply(content)]
    return rows


def split_reply(content):
    r"""Return (part, text) of what a reply says beside its final answer.

    >>> split_reply('{"name": "search", "arguments": {"query": "rain"}}'), split_reply("Final answer: \\boxed{A}")
    ([('query', 'rain')], [])
    """
    try:
        value = json.loads(content)
    except ValueError:
        text = BOX.sub("", content).strip()
        return [("reply", text)] if text else []
    value = value.get("arguments", value) if isinstance(value, dict) else {"reply": value}
    value = value if isinstance(value, dict) else {"reply": value}
    step = STEP_INPUTS.get(value.get("action"), "input")  # a step-by-step agent's one input, named as its tool names it
    value = {step if key == "input" else key: given for key, given in value.items()}
    parts = [(key, text) for key, given in value.items() for text in (given if isinstance(given, list) else [given])]
    return [(key, str(text)) for key, text in parts if key not in ("name", "action") and str(text).strip()]


def find_unheld(text, shown, known=()):
    """Return (kind, text) of the dates, numbers and names in a text that nothing shown holds; addresses are left out.

    Numbers are held when a shown one is equal or rounds to it at its own number of decimals, whatever the separators;
    dates when the parts they give agree with a shown date, in whatever form. A name is two or more words that begin
    with capitals (the first of a sentence does not count), or one of `known` in one word: it is held when all its words
    were shown. The last item of a text may be cut off, and is held when it begins a shown one.

    >>> shown = read_shown("On 12 October 2016 Ann Lee counted 1,234.50 votes")
    >>> find_unheld("On 2016-10-12, Ann Lee: 1234.5 votes, about 1235", shown)
    []
    >>> find_unheld("It was Ann Poe who counted 1,300 on 13 October 2016.", shown)
    [('date', '13 October 2016'), ('number', '1,300'), ('name', 'Ann Poe')]
    """
    unheld, rest = [], ADDRESS.sub(" ", text)
    for date in find_dates(rest):
        if not any(agree_dates(date, other, date.end == len(rest)) for other in shown.dates):
            unheld.append(("date", rest[date.start : date.end]))
    rest = re.sub(r"(?m)^\s*\d+[.)]\s", lambda mark: " " * len(mark[0]), blank_dates(rest))
    for found in NUMBER.finditer(rest):
        if not hold_number(found[1], SCALE.match(rest, found.end()), shown, found.end() == len(rest)):
            unheld.append(("number", found[0]))
    names = [*find_names(rest), *sorted(set(re.findall(r"\w+", rest)) & set(known))]
    return unheld + [("name", name) for name in dict.fromkeys(names) if not hold_name(name, shown, rest)]


def agree_dates(date, other, is_last=False):
    """Say whether a date agrees with a shown one in all parts that both give; the last day of a text may be cut off."""
    pairs = [pair for pair in zip(date[:2], other[:2], strict=True) if None not in pair]
    if any(a != b for a, b in pairs):
        return False
    day, shown_day = date[2], other[2]
    return day is None or shown_day is None or day == shown_day or (is_last and str(shown_day).startswith(str(day)))


def hold_number(digits, scale, shown, is_last):
    """Say whether a number as written (1,234.5) was shown."""
    plain = digits.replace(",", "")
    value, n_decimals = float(plain), len(plain.partition(".")[2])
    factors = {1.0, SCALES[scale[1].casefold()] if scale else 1.0}
    for factor in factors:
        if (np.abs(shown.numbers - value * factor) <= 0.5 * factor * 10.0**-n_decimals + 1e-9).any():
            return True
    return is_last and any(other.startswith(plain) for other in shown.digits)


def find_names(text):
    """Return the runs of two or more words that begin with capitals; a sentence's first word is left out of its run.

    >>> find_names("The poll of Ann Lee in New York is new. Ask New Jersey Transit.")
    ['Ann Lee', 'New York', 'New Jersey Transit']
    """
    names, run, is_start = [], [], True
    for token in [*text.split(), "."]:
        word = token.strip("()[]{}\"',.;:!?*")
        is_name = bool(re.match(r"[A-Z][^\W\d_]*['’&.-]?\w*$", word))
        if is_name:
            run.append((word, is_start))
        if not is_name or token[-1] in ".,;:!?)":
            if len(run) > 1:
                names.append(" ".join(part for part, is_first in run if not is_first))
            run = []
        is_start = token[-1] in ".:!?"
    return names


def hold_name(name, shown, text):
    """Say whether all words of a name were shown; the last word of a text may be cut off."""
    is_last = text.rstrip().endswith(name)
    for word in re.findall(r"[^\W\d_]+", re.sub(r"['’]s\b", "", name.casefold())):
        is_cut = is_last and any(other.startswith(word) for other in shown.words)
        if word not in shown.words and word.removesuffix("s") not in shown.words and not is_cut:
            return False
    return True


def list_unheld(trace, known=()):
    """Return what one trace says and nothing shown holds: columns step, actor, part, kind, text.

    An address counts where the agent tried to open it; one that it only writes down is no claim.
    """
    rows, cache = [], {}
    for wrote in list_writings(trace):
        shown = cache[len(wrote["seen"])] = cache.get(len(wrote["seen"])) or read_shown(wrote["seen"])
        about = {name: wrote[name] for name in ("step", "actor", "part")}
        if wrote["part"] == "address":
            address = re.sub("^https?://", "", wrote["text"].strip().casefold())
            unheld = [] if address in shown.text else [("address", wrote["text"].strip())]
        else:
            unheld = find_unheld(wrote["text"], shown, known)
        rows += [about | {"kind": kind, "text": text} for kind, text in unheld]
    return pd.DataFrame(rows, columns=["step", "actor", "part", "kind", "text"])


def list_known(events):
    """Return the entities of one word that a window's events ask about or offer: tickers, currencies, places."""
    options = [text for cell in events["options"].dropna() for text in parse_json(cell).values()]
    names = {str(name) for name in [*options, *events["entity_id"].dropna()]} - {"Yes", "No", "None"}
    return sorted(name for name in names if re.fullmatch(r"[A-Z][^\W\d_]{2,}", name))
