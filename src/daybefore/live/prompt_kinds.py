r"""What a question's prompt asks for: its kind, options, how many, the unit, and how the answer is
to be written.

FutureX publishes prompts and no kinds. Lettered lines are options; "\boxed{Yes} or \boxed{No}"
names two; without either the question's own words decide, in English and Chinese. What they do not
decide is asked as text and told.
"""

import re
import tomllib
from typing import NamedTuple

from daybefore.formats.futurex_questions import name_labels, name_letters
from helpers.files import ROOT

LETTERED = re.compile(
    r"^[ \t]*(?:[(（]([^\s()（）]{1,2})[)）]|([^\s()（）]{1,2})[.)、:：．])[ \t]*(\S.*?)[ \t]*$",
    re.MULTILINE,
)
NOISE = re.compile(r"^the outcome be\s+")
"""What FutureX writes before an option's own words."""
TWO_BOXES = re.compile(
    r"\\boxed\{([^{}]+)\}[`'\"”’ ]*(?:or|或者?|/)[`'\"“‘ ]*\\boxed\{([^{}]+)\}", re.IGNORECASE
)
YES_OR_NO = re.compile(
    r"\b(yes)\b['\"”]?\s*(?:or|/)\s*['\"“]?(no)\b|[“\"]?(是)[”\"]?\s*(?:或者?|/)\s*[“\"]?(否)",
    re.IGNORECASE,
)
ALTERNATIVES = re.compile(
    r"\b(up|higher|over|above|rise|win|increase) or (down|lower|under|below|fall|lose|decrease)\b",
    re.IGNORECASE,
)
OTHERWISE = re.compile(
    r"\bor (?!(?:more|less|fewer|higher|lower|above|below|later|earlier|not|before|after|any|equal)\b)",
    re.IGNORECASE,
)
"""Two answers that a question names itself, and a yes/no question that names others than these."""
WRAPPER = re.compile(r"\bevents? to be predicted\s*[:：]\s*[\"“”']?", re.I)
DATED = re.compile(
    r"^(?:(?:请预测)?(?:北京时间)?\s*\d{4}-\d\d?-\d\d?\s*[,，]\s*|(?:on|by|as of)\s+[^,?]{4,30},\s+|"
    r"please,?\s+(?=predict\b))",
    re.I,
)
"""What FutureX writes around a question: a frame, and the day that is asked for."""
ASIDE = re.compile(r"\([^()]*\)|（[^（）]*）")
LETTERS = name_letters(26 * 27)
LABELS = name_labels()
DIGITS = {
    name: n for n, name in enumerate("two three four five six seven eight nine ten".split(), 2)
}
DIGITS |= {mark: n for n, mark in enumerate("一二三四五六七八九十", 1)} | {"两": 2}
GIVEN = tomllib.loads((ROOT / "data/live/shapes.toml").read_text("utf-8"))
NTH = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
ORDINALS = {name: n for n, name in enumerate(NTH, 1)} | {"one": 1}
PLACE = r"(?:#|no\.?\s?)?(?<!\d)(\d{1,3}(?=(?:st|nd|rd|th)?(?![\d.]))"
PLACE += rf"|{'|'.join([*NTH, 'one', *list(DIGITS)[:9]])}|[一二三四五六七八九十])(?:st|nd|rd|th)?"
BLANKS = {
    "COUNT": rf"(\d{{1,3}}|{'|'.join(DIGITS)})",
    "PLACE": PLACE,
    "AMOUNT": "|".join(GIVEN["amounts"].split()),
}


def compile_forms(forms):
    """Return the pattern of a list of forms in which COUNT, PLACE and AMOUNT are filled."""
    text = "|".join(forms)
    for blank, pattern in BLANKS.items():
        text = text.replace(blank, pattern)
    return re.compile(text, re.IGNORECASE | re.MULTILINE)


WORDS = {name: compile_forms(forms) for name, forms in GIVEN["words"].items()}
UNITS = [re.compile(form, re.IGNORECASE | re.MULTILINE) for form in GIVEN["units"]["forms"]]
PERCENT = compile_forms(GIVEN["units"]["percent"])


class Shape(NamedTuple):
    """What a prompt asks for: a kind of `tables.KINDS`, options by letter, how many, the unit.

    `writes` says how an option is written into the submission, by its "letter" or its own "text".
    `is_known` is False where the words do not decide: the kind is then the likelier one, or text.
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
    question = strip_frame(question)
    return read_choice(question) or read_words(question, prompt)


def strip_frame(question):
    """Return a question without what stands around it: the words on prediction before it, and its
    day.

    >>> strip_frame('You predict. The event to be predicted: "On 2025-08-08, who will win?"')
    'who will win?'
    """
    match = WRAPPER.search(question)
    question = question[match.end() :] if match else question
    return DATED.sub("", DATED.sub("", question.strip())).strip().rstrip("\"”'").rstrip()


def read_options(prompt):
    """Return ({label: text} of the lines that begin with A, B and on without a gap, where they
    end).

    After Z stand AA, AB, or, as FutureX has it, the characters that follow in ASCII.
    """
    options, end = {}, 0
    for match in LETTERED.finditer(prompt):
        letter, text = match[1] or match[2], NOISE.sub("", match[3])
        if letter == "A":
            options = {}
        elif not options or letter not in (
            LETTERS[len(options)],
            *LABELS[len(options) : len(options) + 1],
        ):
            continue
        text = (
            text[:-1].rstrip() if text.endswith('"') and text.count('"') % 2 else text
        )  # the question's own quote
        options[letter], end = text, match.end()
    return (options, end) if len(options) > 1 else (None, 0)


def read_two(prompt):
    """Return the options of a question between two answers that are named in boxes, or yes and no;
    None for others."""
    found = TWO_BOXES.findall(prompt)
    if found and len(set(map(str.casefold, found[-1]))) == 2:
        return dict(zip("AB", (text.strip() for text in found[-1]), strict=True))
    if match := YES_OR_NO.search(prompt):
        return dict(zip("AB", (match[1] or match[3], match[2] or match[4]), strict=True))
    return None


def read_choice(question):
    """Return the Shape of a question that itself says its two answers: up or down, else yes or no;
    None for others."""
    if match := ALTERNATIVES.search(question):
        if not re.match(r"(?:how|what|who|when|which)\b", question, re.I):
            return Shape(
                "single", {"A": match[1].capitalize(), "B": match[2].capitalize()}, writes="text"
            )
    if not WORDS["yes_no"].search(question):
        return None
    if OTHERWISE.search(question):
        return Shape("text", is_known=False)
    words = ("是", "否") if re.search("[\u4e00-\u9fff]", question) else ("Yes", "No")
    return Shape("single", dict(zip("AB", words, strict=True)), writes="text")


def read_words(question, prompt):
    """Return the Shape of an open question by its words: a rank, a ranking, a date, a list, a
    number, a name."""
    bare, unit = ASIDE.sub(" ", question), read_unit(prompt)
    if WORDS["place"].search(bare):
        return Shape("number")
    if match := WORDS["span"].search(bare):
        first, last = (read_place(text) for text in match.groups() if text)
        if 0 < last - first < 100:
            return Shape("ranking", k=last - first + 1)
    if WORDS["total"].search(bare):
        return Shape("number", unit=unit)
    tops = [count(match) for match in WORDS["ranking"].finditer(bare)]
    if tops and not (unit and WORDS["number"].search(bare)):
        return Shape(
            "ranking", k=min(filter(None, tops), default=None)
        )  # "of the top 10 the top 3" asks for 3
    if WORDS["date"].search(bare):
        return Shape("date")
    if match := WORDS["list"].search(bare):
        return Shape("list", k=count(match))
    head = WORDS["head"].search(bare)
    asked = next(filter(None, head.groups()), "") if head else ""
    if WORDS["one_place"].search(asked or bare) or WORDS["one_place"].search(bare):
        return Shape("text")
    if WORDS["number"].search(bare) or WORDS["amount"].search(asked):
        return Shape("number", unit=unit or ("%" if PERCENT.search(bare) else None))
    if WORDS["name"].search(bare):
        return Shape("text")
    if unit:
        return Shape("number", unit=unit)
    if not head and (match := WORDS["amount"].search(bare)):  # a title without a verb
        return Shape("number", unit="%" if PERCENT.search(bare) else None, is_known=False)
    return Shape("text", is_known=False)


def read_unit(prompt):
    """Return the unit that a prompt names for its number, None for none.

    >>> read_unit("Report in US dollars."), read_unit("How many goals?"), read_unit("金价是多少元/克（单位：元/克）？")
    ('US dollars', None, '元/克')
    """
    for form in UNITS:
        if (match := form.search(prompt)) and match[1].strip().casefold() not in GIVEN["units"][
            "none"
        ]:
            return re.sub(r"\s+-\s+", " ", match[1]).strip().strip("\"“”'").replace("％", "%")
    return None


def read_place(text):
    """Return the place that a match of `WORDS` holds in digits or words."""
    return int(text) if text.isdigit() else {**DIGITS, **ORDINALS}[text.casefold()]


def count(match):
    """Return the number that a match of `WORDS` holds in digits or words, None for none."""
    text = next(filter(None, match.groups()), "")
    return int(text) if text.isdigit() else DIGITS.get(text.casefold())
