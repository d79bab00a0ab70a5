"""Turn a reply into a prediction, or into nothing with a reason; never a guess (FutureX 3.2.3, C.2).

The answer is the last box of the reply (after any thinking). Without a box (definitions.md 1.3: "else last line") it is
the last line, if that says so: "answer: ...", "my forecast is ...", or the line under "answer:"; a reply that is
nothing but letters, an option, a number or a date needs no such name. Boxes with no end of a sentence between them
must agree. A box that is empty, unclosed, taken back or full of prose is no answer, whatever stood in an earlier one.
What is not understood as a whole is not read: by the papers' prompts an answer is letters, names, a number or a date,
and other grammar is not guessed.
"""

import json
import re

from helpers import tables
from helpers.replies.boxes import (
    ANSWER_AFTER,
    DASHES,
    DENIED_AFTER,
    REFUSAL,
    Unreadable,
    check_answer,
    clean_content,
    find_last_line,
    prepare_reply,
    select_boxes,
)
from helpers.replies.dates import read_date
from helpers.replies.numbers import BOUND, DIRECTION, SCALED, read_number, read_percent
from helpers.replies.options import read_letters, settle_letters

KINDS = tuple(kind for kind in tables.KINDS if kind != "interval")
"""The kinds that are read; an interval comes from elsewhere (`formats.folder`)."""
FORMULA_BEFORE = re.compile(r"(?:\d[.,]?|[\^×/±]\s*|\\(?:times|cdot|div|log|sqrt)\s*|\w[-+]|\d\s*[-+]\s*|[-+]\s+)$")
LED_BY = re.compile(
    rf"(?:[-+]|(?:{BOUND.pattern}|{DIRECTION.pattern}|\b(?:minus|negative)\b|[负負])(?:\s(?:by|of|a|about))*\s*)$",
    re.I,
)
AFTER_BOX = re.compile(
    r"(?:[0-9!]|[.,][0-9]|e[-+]?[0-9]|\s?(?:[×*·/^±%‰+\u2e80-\uffdc]|[-−–]\s?[0-9]|to\s|or\s|percent|bps?\b|basis|dozen|mil\b|"
    rf"cr\b|mm\b|[kmbt]\b|[kmgt]i?b\b|\(?(?:in )?(?:{SCALED.pattern}))).*",
    re.I | re.S,
)
"""What stands before and behind a box and may belong to the number in it."""
DATE_BEFORE = re.compile(r"\b(?:before|after|not|by|until|between|from|to)\s*$", re.I)
DATE_AFTER = re.compile(r"[\s*`$)]*(?:or\s\w+|to\b|[至到]|[之以][前后])", re.I)
NO_NAME = re.compile(r"(?:see|as|in|on|based|given|above|below|shown|boxed|here|this|that|it|there|I|we)\b", re.I)
MAX_LINE_WORDS, MAX_NAME, MAX_TEXT, MAX_VALUE = 12, 150, 500, 300
"""Most words of a free text outside a box; the longest name, text and number or date that are read."""
TWO_STOPS = re.compile(r"(?<!\.)\.\.$")
"""A sentence's full stop after an abbreviation's, as in "Washington, D.C.."."""
PLACE = re.compile(r"(?:[-*•]\s+)?(?:\(?#?(\d{1,2})[.)]\s+(?=\S))?")
NOTE = re.compile(
    r"\s*(?:[(\[](?!(?:19|20)\d\d[)\]])[^()\[\]]*\d[^()\[\]]*[)\]]|(?:[:=]\s|\s[-–—]\s)\s*[-+~≈−$€£]*[\d.,]*\d\s?%?)$"
)
"""What stands before a name (its place) and behind it (a number, but no year)."""
NOT_A_NAME = re.compile(
    r"^(?:not|or|[Aa]nd|then|followed by|lastly|finally|next|etc\.?|\.\.\.|…|\?)(?:\s|$)|^\d{1,2} [-–—] |"
    r"^(?i:first|second|third|fourth|fifth|last)\b\s?[:,]|\s(?:or|then|vs\.?|versus|etc\.?)(?:\s|$)|[~①-⑳≻\\]|^#\d|\s[/=+]\s|…$|\.\.\.$"
)
"""Words and signs by which a piece of a list is more, or less, than one name."""


def parse_prediction(reply, kind, options=None, unit=None, *, explain=False):
    """Return the prediction in a reply, or None when it holds no valid one; with `explain`, (prediction, reason).

    `kind` is one of KINDS; `options` maps letters to texts; `unit` is the event's: a number that names another is not
    read, one in thousands counts in millions where the unit does. Returns a letter (single), a sorted list of letters
    (multi), an ordered list (ranking, list: letters where options are given, else strings), a float (number; percent
    in percentage points), an ISO date, or a string. The reason is "" with a prediction, else a short term, for some
    with a detail after a colon: "refusal", "empty box", "unknown option: F". A ranking of given options must
    name each once. Raises ValueError for an unknown kind only.

    >>> parse_prediction(r"So \\boxed{A}? No: \\boxed{\\text{B and C}}", "multi", {"A": "x", "B": "y", "C": "z"})
    ['B', 'C']
    >>> parse_prediction(r"\\boxed{F}", "single", {"A": "Yes", "B": "No"}, explain=True)
    (None, 'unknown option: f')
    """
    if kind not in KINDS:
        raise ValueError(f"no kind {kind!r} of prediction; choose one of {', '.join(KINDS)}")
    unit = unit if isinstance(unit, str) else ""
    try:
        value, reason = _read_reply(prepare_reply(reply), kind, dict(options or {}), unit), ""
    except Unreadable as error:
        value, reason = None, str(error)
    return (value, reason) if explain else value


def _read_reply(text, kind, options, unit):
    boxes = select_boxes(text)
    if not boxes:
        return _read_line(text, kind, options, unit)
    contents = list(dict.fromkeys(clean_content(_widen(text, box, kind)) for box in boxes))
    _check_after(text[boxes[-1][1] :], contents)
    if len(contents) == 1:
        return read_content(contents[0], kind, options, unit)
    values = [read_content(content, kind, options, unit) for content in contents]
    if any(value != values[0] for value in values):
        raise Unreadable("boxes in conflict", " | ".join(content[:20] for content in contents[:3]))
    return values[0]


def _check_after(after, contents):
    """Raise Unreadable where the text after the boxes takes them back, or names another answer."""
    other = ANSWER_AFTER.search(after[:1_000])
    said = clean_content(other["answer"]).strip(" .") if other else ""
    if DENIED_AFTER.match(after) or (said and not any(said in content or content in said for content in contents)):
        raise Unreadable("ambiguous", "the box is taken back after it")


def _widen(text, box, kind):
    """Take in what belongs to a boxed number or date but stands outside its box: its sign, power, scale, limit."""
    start, end, content = box
    if kind not in ("number", "percent", "date"):
        return content
    raw = text[max(0, start - 60) : start].rpartition("\n")[2]
    before = DASHES.sub("-", re.sub(r"\\textminus\s*", "-", raw))
    before = re.sub(r"\\text\w*\s?\{|\\[([,;:! $]|[`${(\[]|\*\*", "", before)
    if kind == "date":
        limit, other = DATE_BEFORE.search(before), DATE_AFTER.match(text[end : end + 30])
        return f"{limit.group() if limit else ''} {content}{other.group() if other else ''}"
    if FORMULA_BEFORE.search(before):
        raise Unreadable("ambiguous", f"part of a formula, or behind a dash: {before[-10:]}")
    lead = LED_BY.search(before) if not re.fullmatch(r"\s*>\s+\$?", raw) else None  # no quotation in markdown
    after = re.split(r"\n|\\?f?boxed|\s\((?=as\b)", text[end : end + 60])[0]
    after = clean_content("0" + re.sub(r"^(?:\\[)\]]|[)}`$]|\*\*)+", "", after))[1:]
    tail = AFTER_BOX.match(re.sub(r"[\s$~]+", " ", after))
    return (lead.group() if lead else "") + content + (re.split(r"[.;,](?!\d)", tail.group())[0] if tail else "")


def _read_line(text, kind, options, unit):
    """Read the last line where it names itself an answer, or is the whole reply and nothing but one."""
    content, name = find_last_line(text)
    is_closed = kind not in ("text", "ranking", "list") or bool(options)  # can be told from other text
    is_named = name == ":" or (name == "is" and (is_closed or not content[:1].islower()))
    try:
        if not (is_named or (name == "alone" and is_closed)):
            raise Unreadable("no answer")
        is_prose = len(content.split()) > MAX_LINE_WORDS or (kind == "text" and NO_NAME.match(content))
        is_prose = is_prose or (kind in ("number", "percent") and re.match(r"[^:=]*[^\W\d_][^:=]*[:=]", content))
        if is_prose and kind in ("text", "number", "percent"):
            raise Unreadable("prose", content[:40])
        return read_content(content, kind, options, unit)
    except Unreadable:
        if name in (":", "is"):
            raise
        raise Unreadable("refusal" if REFUSAL.search(text) else "no answer") from None


def read_content(content, kind, options=None, unit=""):
    """Read one cleaned answer of a kind; raises Unreadable with the reason."""
    options = options or {}
    if kind in ("single", "multi") or (options and kind in ("ranking", "list")):
        if not content:
            raise Unreadable("empty box")
        return settle_letters(read_letters(content, options, kind), kind, options)
    check_answer(content)
    if kind in ("ranking", "list"):
        return read_names(content, kind)
    if kind in ("number", "percent", "date") and len(content) > MAX_VALUE:
        raise Unreadable("prose", content[:40])
    if kind == "number":
        return read_number(content, unit)
    return {"percent": read_percent, "date": read_date, "text": read_text}[kind](content)


def read_names(content, kind="list"):
    """Return the names an answer lists where no options are given, in their order.

    Parted by lines, else semicolons, numbers, arrows, else commas. A list drops repeats; a ranking keeps them (they
    count once when it is scored). "X and Y" is two names of a list but one of a ranking; at the end of a ranking with
    commas it may be either, and raises Unreadable. Numbers beside all of the names are left out.

    >>> read_names("1. Oslo 2. Rome"), read_names("Oslo, Rome and Lima"), read_names("Trinidad and Tobago", "ranking")
    (['Oslo', 'Rome'], ['Oslo', 'Rome', 'Lima'], ['Trinidad and Tobago'])
    >>> read_names("AUD: 3; BRL: 2"), read_names("It (2017); Cam (2018)")
    (['AUD', 'BRL'], ['It (2017)', 'Cam (2018)'])
    """
    try:
        names = [str(name) for name in json.loads(f"[{content}]")] if content.startswith('"') else []
    except ValueError:
        names = []
    names = names or _split_names(content.strip(" ,;"), kind)
    marks = [PLACE.match(name) for name in names]
    places = [int(mark.group(1)) for mark in marks if mark.group(1)]
    if places and kind == "ranking" and places != list(range(1, len(names) + 1)):
        raise Unreadable("ambiguous", "the places are not numbered 1, 2, 3 in turn")
    names = [name[mark.end() :] for name, mark in zip(names, marks, strict=True)]
    if len(names) > 1:
        names[-1] = re.sub(r"^(?:and|&)\s+", "", names[-1])
    noted = [bool(NOTE.search(name)) for name in names]
    if any(noted) and not all(noted):
        raise Unreadable("ambiguous", f"a number beside some names: {names[noted.index(True)][:40]}")
    names = [" ".join(NOTE.sub("", name).strip(' \t*_"').rstrip(",;").split()) for name in names]
    names = [TWO_STOPS.sub(".", name) for name in names]
    names = [name[:-1].rstrip() if name.endswith(".") and "." not in name[:-1] else name for name in names]
    for name in names:
        check_answer(name)
        if len(name) > MAX_NAME:
            raise Unreadable("prose", name[:40])
        if NOT_A_NAME.search(name):
            raise Unreadable("ambiguous", f"no name: {name[:40]}")
    return list(dict.fromkeys(names)) if kind == "list" else names


def _split_names(content, kind):
    lines = [line.strip() for line in content.split("\n") if line.strip(" ,;*-")]
    numbered = re.split(r"(?:^|[,\s]\s*)(?=\(?#?\d{1,2}[.)]\s)", content)
    for names in (lines, content.split(";"), numbered, re.split(r"\s*[>→|•]\s*", content)):
        names = [name.strip() for name in names if name.strip()]
        if len(names) > 1:
            return names
    names = [name.strip() for name in re.split(r"(?<!\d),(?!\d)(?![^()]{0,200}\))|,\s|、", content) if name.strip()]
    *head, last = names or [""]
    linked = re.search(r"\s(?:and|&)\s", last)
    if linked and not re.match(r"(?:and|&)\s", last) and (kind == "list" or head):
        if kind == "ranking" or linked.group().strip() == "&":
            raise Unreadable("ambiguous", f"one name or two: {last[:40]}")
        return [*head, *last.rsplit(" and ", 1)]
    return names


def read_text(content):
    """Return a short text answer on one line, without a closing full stop and without a share in brackets.

    >>> read_text("Manchester  City.")
    'Manchester City'
    """
    text = TWO_STOPS.sub(".", " ".join(content.split()))
    text = re.sub(r"\s\([^()]{0,80}\d\s?%[^()]{0,80}\)$", "", text)
    if re.match(r"(?:not|either|neither)\s", text, re.I):
        raise Unreadable("ambiguous", text[:40])
    if len(text) > MAX_TEXT:
        raise Unreadable("prose", text[:40])
    is_sentence = text.endswith(".") and not text.endswith("..") and "." not in text.split()[-1][:-1]
    return text[:-1].rstrip() if is_sentence else text
