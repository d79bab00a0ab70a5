r"""What a question's prompt asks for: its kind, options, how many, the unit, and how the answer is to be written.

FutureX publishes prompts and no kinds. Lettered lines are options; "\boxed{Yes} or \boxed{No}" names two; without
either the question's own words decide, in English and Chinese. What they do not decide is asked as text and told.
"""

import re
from typing import NamedTuple

LETTERED = re.compile(r"^[ \t]*(?:[(（]([A-Z]{1,2})[)）]|([A-Z]{1,2})[.)、:：．])[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
NOISE = re.compile(r"^the outcome be\s+")
"""What FutureX writes before an option's own words."""
BOX = re.compile(r"\\boxed\{([^{}]*)\}")
TWO_BOXES = re.compile(r"\\boxed\{([^{}]+)\}[`'\"”’ ]*(?:or|或者?|/)[`'\"“‘ ]*\\boxed\{([^{}]+)\}", re.IGNORECASE)
YES_OR_NO = re.compile(
    r"\b(yes)\b['\"”]?\s*(?:or|/)\s*['\"“]?(no)\b|[“\"]?(是)[”\"]?\s*(?:或者?|/)\s*[“\"]?(否)", re.IGNORECASE
)
SEVERAL = re.compile(
    r"\ball (?:the )?(?:plausible|possible|correct|right|applicable|options)|\bmultiple (?:correct |right )?options"
    r"|option\(s\)|letter\(s\)|\bselect all\b|one or more|所有|多个|多选|一个或",
    re.IGNORECASE,
)
INSTRUCTION = re.compile(
    r"^\s*(?:IMPORTANT|NOTE|Instructions?|Your (?:task|final answer)|重要|注意|请|最终答案|你的最终)", re.MULTILINE
)
"""Where the question ends and the words on the answer's form begin."""

DIGITS = {name: n for n, name in enumerate("two three four five six seven eight nine ten".split(), 2)}
DIGITS |= {mark: n for n, mark in enumerate("一二三四五六七八九十", 1)} | {"两": 2}
COUNT = r"(\d{1,3}|" + "|".join(DIGITS) + r")"

PLACE = re.compile(
    r"what (?:rank|place|position)\b|\bthe (?:rank|ranking|position) of\b|排名?第几|第几[名位]|排名是多少", re.I
)
RANKING = re.compile(
    rf"\btop[ -]{COUNT}\b|\bfirst {COUNT}\b(?! (?:day|week|month|hour|minute|quarter))|前{COUNT}[名位个大强部首只支]?"
    r"|\brank(?:ed|ing)? (?:the|in order|from)|\bin (?:descending |ascending |ranking )?order\b|依次|按顺序"
    r"|由高到低|从高到低",
    re.IGNORECASE,
)
DATE = re.compile(
    r"\b(?:on )?(?:what|which) (?:date|day)\b|^when\b|\bwhen (?:will|does|is)\b|哪一?天|什么时候|何时"
    r"|哪一?日|几月几[日号]",
    re.IGNORECASE,
)
LIST = re.compile(
    rf"\bname (?:all|the {COUNT})|\blist (?:all|the|every)|\bwhich {COUNT} |\bwho are\b|"
    r"\bwhich (?:teams|countries|players|films|movies|songs|companies|cities|candidates|artists|stocks)\b|哪些|哪几",
    re.IGNORECASE,
)
NUMBER = re.compile(
    r"\bhow (?:many|much|high|low|far|long|large|big|old)\b|\bnumerical value\b|\breport(?:ed)? in\b|\bunits?\s*[:=]"
    r"|\bwhat (?:will|would|is|was)(?: be)? the\b[^?？]*?\b(?:numbers?|prices?|values?|rates?|index|amount|total|"
    r"average|scores?|percentage|temperature|level|yield|close|closing|open|high|low|volume|count|box office|revenue|"
    r"turnout|share|magnitude)\b|多少|几[个次人分场颗件元点度家枚]|数值|保留[^。]{0,6}小数|单位|[点价率值量额数]位?(?:是|为)[?？]",
    re.IGNORECASE,
)
NAME = re.compile(
    r"\bwho\b|\bwhose\b|\bwhich\b|\bwhat (?:is|will be|would be) the (?:name|title)|\bwhat (?:film|movie|song|team|"
    r"country|word|city|company|player|game|app|book)\b|谁|哪[支部个位家首队款座国一]|什么[名歌片电]|冠军是",
    re.IGNORECASE,
)
UNITS = (
    re.compile(
        r"\bunits?\s*(?:[:=]|is|are)\s*([^\s,;.()（）。，\n][^,;()（）。，\n]{0,24}?)\s*(?=[,;.()（）。，\n]|$)", re.I
    ),
    re.compile(
        r"\breport(?:ed)? (?:it |the \w+ )?in ([^,;.()（）\n?]{1,30}?)(?=[,;.()（）\n?]| with | to | rounded|$)", re.I
    ),
    re.compile(r"单位\s*(?:[:：是为]|应?为)?\s*[“\"]?([^\s，。；、,;()（）”\"]{1,8})"),
    re.compile(r"以\s*[“\"]?([^\s，。；、,;()（）”\"]{1,8}?)[”\"]?\s*为单位"),
    re.compile(r"多少(?!次|个)([\u4e00-\u9fff%°℃]{1,4}?)(?=[?？。，,;；（(]|$)", re.MULTILINE),
    re.compile(r"\(in ([^()]{1,30})\)", re.IGNORECASE),
)
"""How a unit is named; "how many goals" names none: the number alone is asked for."""

NOT_UNITS = ("order", "total", "years", "utc", "gmt", "the box", "this", "english", "chinese", "full")


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
        several = SEVERAL.search(prompt, end)
        return Shape("multi" if several else "single", options, writes="letter")
    if two := read_two(prompt):
        return Shape("single", two, writes="text")
    match = INSTRUCTION.search(prompt)
    question = prompt[: match.start()] if match and match.start() else prompt
    return read_words(question, prompt)


def read_options(prompt):
    """Return ({letter: text} of the lettered lines that begin with A and go on without a gap, where they end)."""
    options, end = {}, 0
    for match in LETTERED.finditer(prompt):
        letter, text = match[1] or match[2], NOISE.sub("", match[3])
        if letter == "A":
            options = {}
        elif letter != follow(options):
            continue
        text = text[:-1].rstrip() if text.endswith('"') and text.count('"') % 2 else text  # the question's own quote
        options[letter], end = text, match.end()
    return (options, end) if len(options) > 1 else (None, 0)


def follow(options):
    """Return the letter after the last one: B after A, AA after Z; None where there is none yet.

    >>> follow({"A": "x"}), follow({"Z": "x"}), follow({})
    ('B', 'AA', None)
    """
    last = next(reversed(options), None)
    if last is None:
        return None
    head, tail = last[:-1], last[-1]
    return head + chr(ord(tail) + 1) if tail < "Z" else chr(ord(head) + 1) + "A" if head else "AA"


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
    if PLACE.search(question):
        return Shape("number")
    if (match := RANKING.search(question)) and not (unit and NUMBER.search(question)):
        n = next((group for group in match.groups() if group), None)
        return Shape("ranking", k=count(n))
    if DATE.search(question):
        return Shape("date")
    if match := LIST.search(question):
        return Shape("list", k=count(next((group for group in match.groups() if group), None)))
    if unit or NUMBER.search(prompt):
        return Shape("number", unit=unit)
    if NAME.search(question):
        return Shape("text")
    return Shape("text", is_known=False)


def read_unit(prompt):
    """Return the unit that a prompt names for its number, None for none.

    >>> read_unit("Report in US dollars."), read_unit("How many goals?"), read_unit("金价是多少元/克（单位：元/克）？")
    ('US dollars', None, '元/克')
    """
    for form in UNITS:
        if (match := form.search(prompt)) and match[1].strip().casefold() not in NOT_UNITS:
            return match[1].strip().strip("\"“”'")
    return None


def count(text):
    """Return a number that stands in digits or words, None for none."""
    return None if text is None else int(text) if text.isdigit() else DIGITS.get(text.casefold())
