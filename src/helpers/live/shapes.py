r"""What a question's prompt asks for: its kind, options, how many, the unit, and how the answer is to be written.

FutureX publishes prompts and no kinds. Lettered lines are options; "\boxed{Yes} or \boxed{No}" names two; without
either the question's own words decide, in English and Chinese. What they do not decide is asked as text and told.
"""

import re
import tomllib
from typing import NamedTuple

from helpers.formats.futurex import name_letters
from helpers.store import ROOT

LETTERED = re.compile(r"^[ \t]*(?:[(（]([A-Z]{1,2})[)）]|([A-Z]{1,2})[.)、:：．])[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
NOISE = re.compile(r"^the outcome be\s+")
"""What FutureX writes before an option's own words."""
TWO_BOXES = re.compile(r"\\boxed\{([^{}]+)\}[`'\"”’ ]*(?:or|或者?|/)[`'\"“‘ ]*\\boxed\{([^{}]+)\}", re.IGNORECASE)
YES_OR_NO = re.compile(
    r"\b(yes)\b['\"”]?\s*(?:or|/)\s*['\"“]?(no)\b|[“\"]?(是)[”\"]?\s*(?:或者?|/)\s*[“\"]?(否)", re.IGNORECASE
)
LETTERS = name_letters(26 * 27)
DIGITS = {name: n for n, name in enumerate("two three four five six seven eight nine ten".split(), 2)}
DIGITS |= {mark: n for n, mark in enumerate("一二三四五六七八九十", 1)} | {"两": 2}
GIVEN = tomllib.loads((ROOT / "data/live/shapes.toml").read_text("utf-8"))
WORDS = {
    name: re.compile("|".join(forms).replace("COUNT", rf"(\d{{1,3}}|{'|'.join(DIGITS)})"), re.IGNORECASE | re.MULTILINE)
    for name, forms in GIVEN["words"].items()
}
UNITS = [re.compile(form, re.IGNORECASE | re.MULTILINE) for form in GIVEN["units"]["forms"]]


class Shape(NamedTuple):
    """What a prompt asks for: a kind of `tables.KINDS`, options by letter, how many, the unit.

    `writes` says how an option is written into the submission, by its "letter" or its own "text"; of what is not
    recognised `is_known` is False, and its kind is text.
    """

    kind: str
    options: dict | None = None
    k: int | None = None
    unit: str | None = None
    writes: str = "value"
    is_known: bool = True


def read_shape(prompt):
    r"""Return the Shape of a prompt.

    >>> read_shape("Will it rain?\nAnswer with \\boxed{Yes} or \\boxed{No}").options
    {'A': 'Yes', 'B': 'No'}
    >>> read_shape("上证指数收盘多少点？").unit
    '点'
    """
    options, end = read_options(prompt)
    if options:
        several = WORDS["several"].search(prompt, end)
        return Shape("multi" if several else "single", options, writes="letter")
    if two := read_two(prompt):
        return Shape("single", two, writes="text")
    match = WORDS["instruction"].search(prompt)
    question = prompt[: match.start()] if match and match.start() else prompt
    return read_words(question, prompt)


def read_options(prompt):
    """Return ({letter: text} of the lettered lines that begin with A and go on without a gap, where they end)."""
    options, end = {}, 0
    for match in LETTERED.finditer(prompt):
        letter, text = match[1] or match[2], NOISE.sub("", match[3])
        if letter == "A":
            options = {}
        elif not options or letter != LETTERS[len(options)]:
            continue
        text = text[:-1].rstrip() if text.endswith('"') and text.count('"') % 2 else text  # the question's own quote
        options[letter], end = text, match.end()
    return (options, end) if len(options) > 1 else (None, 0)


def read_two(prompt):
    """Return the options of a question between two answers that are named in boxes, or yes and no; None for others."""
    found = TWO_BOXES.findall(prompt)
    if found and len(set(map(str.casefold, found[-1]))) == 2:
        return dict(zip("AB", (text.strip() for text in found[-1]), strict=True))
    if match := YES_OR_NO.search(prompt):
        return dict(zip("AB", (match[1] or match[3], match[2] or match[4]), strict=True))
    return None


def read_words(question, prompt):
    """Return the Shape of an open question by its words: a rank, a ranking, a date, a list, a number, a name."""
    unit = read_unit(prompt)
    if WORDS["place"].search(question):
        return Shape("number")
    if (match := WORDS["ranking"].search(question)) and not (unit and WORDS["number"].search(question)):
        return Shape("ranking", k=count(match))
    if WORDS["date"].search(question):
        return Shape("date")
    if match := WORDS["list"].search(question):
        return Shape("list", k=count(match))
    if unit or WORDS["number"].search(prompt):
        return Shape("number", unit=unit)
    if WORDS["name"].search(question):
        return Shape("text")
    return Shape("text", is_known=False)


def read_unit(prompt):
    """Return the unit that a prompt names for its number, None for none.

    >>> read_unit("Report in US dollars."), read_unit("How many goals?"), read_unit("金价是多少元/克（单位：元/克）？")
    ('US dollars', None, '元/克')
    """
    for form in UNITS:
        if (match := form.search(prompt)) and match[1].strip().casefold() not in GIVEN["units"]["none"]:
            return match[1].strip().strip("\"“”'")
    return None


def count(match):
    """Return the number that a match of `WORDS` holds in digits or words, None for none."""
    text = next(filter(None, match.groups()), "")
    return int(text) if text.isdigit() else DIGITS.get(text.casefold())
