"""Turn a reply into a prediction, or into nothing with a reason; never a guess (FutureX 3.2.3,
C.2).

The answer is the last box of the reply (after any thinking). Without a box (definitions.md 1.3:
"else last line") it is the last line, if that says so: "answer: ...", "I predict ...", or the line
under "answer:"; a reply that is nothing but letters, an option, a number or a date needs no such
name. Boxes side by side are one answer of several items for the kinds that hold several; for the
others they must agree. A box that is empty, unclosed, taken back or full of prose is no answer,
whatever stood in an earlier one. What is not understood as a whole is not read.
"""

import re

from daybefore.replies.find_answer import (
    ANSWER_AFTER,
    DENIED_AFTER,
    REFUSAL,
    check_answer,
    clean_content,
    find_last_line,
    prepare_reply,
)
from daybefore.replies.read_numbers import (
    BOUND,
    DIRECTION,
    MONEY,
    SCALED,
    read_number,
    read_percent,
)
from daybefore.replies.read_options import (
    index_options,
    read_labels,
    read_letters,
    settle_letters,
    strip_marks,
)
from helpers import tables
from helpers.boxed_answers import PLACEHOLDER, THOUGHT_END, Unreadable, find_boxes, select_boxes
from helpers.read_dates import read_date

KINDS = tuple(kind for kind in tables.KINDS if kind != "interval")
"""The kinds that are read; an interval comes from elsewhere (`formats.folder_of_csv`)."""
BARE_NUMBER = re.compile(
    r"(?:[^\w.]|(?:about|around|roughly|approximately|USD)\s|约|为)*[\d.,' ]*\d[^\s\d]*"
    r"(?:(?:\s\D\S*){0,2}|\s\D*\b(?:per|an?)\s\D*)"
)
CONTINUED = re.compile(
    rf"(?:[0-9^×*·/±%‰+_!]|[.,][0-9]|e[-+]?[0-9]|\s?[-−–][-−–\s]*[0-9]|\s?(?:[×*·/^±%‰+=\u0370-\u1fff\u2e80-\uffdc]|"
    r"x\s?[0-9]|to\s[0-9]|or\s|million|bps?\b|basis|(?:dozen|mil|cr|grand|thou|plus|[kmbt]|[kmgt]i?b(?:ytes?)?|mm)\b)"
    rf"|\s?\(?(?:in )?(?:{SCALED.pattern})).*",
    re.I | re.S,
)
"""What may follow a box and belong to the number in it."""
SIGN_BEFORE = re.compile(rf"(\S?)(\s*)([-‐-–−﹣+±])((?:[\s$*`({{\[]|\\[([,;:! ]|\\?[{MONEY}])*)$")
FORMULA_BEFORE = re.compile(
    r"[0-9][.,]?$|[0-9]\s?[×x/^]\s*$|[\^×/]\s*$|\\(?:times|cdot|div)\s*$"
    r"|\\(?!text|math|left|displaystyle|q?quad|approx|sim|bf|rm|[lL]arge|[hH]uge|therefore|implies|[rR]ightarrow|to$|colon)[A-Za-z]+$"
)
AFTER_BOX = re.compile(r"^(?:\\[)\],;:! ]|[)\]`}~$]|\*{1,2}(?![*\s]?\d))+")
LED_BY = re.compile(
    rf"(?:{BOUND.pattern}|{DIRECTION.pattern}|\b(?:minus|negative)\b|[负負])(?:\s(?:by|of|a|about))*\s*$",
    re.I,
)
"""What may lead to a box and change the number in it."""
NO_NAME = re.compile(
    r"(?:see|as|in|on|based|given|above|below|provided|shown|boxed|here|this|that|it|there|I|we)\b",
    re.I,
)
MAX_LINE_WORDS, MAX_NAME, MAX_TEXT, MAX_VALUE = 12, 150, 500, 300
"""Most words of a free text outside a box; the longest name, text and number or date that are
read."""
PLACE = re.compile(
    r"(?<![^\s,;])(?:#(?=\d{1,2}\s)|\(?#?(?=\d{1,2}(?:[.)、:](?!\d)|(?:st|nd|rd|th)\b)))"
    r"(\d{1,2})(?:[.)、:]|st|nd|rd|th)?[.:)]?\s*"
)
CHINESE_PLACE = re.compile(r"第([一二三四五六七八九十]|\d{1,2})[名位]?\s?[:是为、.]\s?")
DIGITS = {mark: n for n, mark in enumerate("一二三四五六七八九十", 1)}
"""The place before a name of a list."""
QUOTED = r"\"[^\"]*\"|'(?:[^']|'(?=[^\s,;、]))*'"
"""A name in quotes, as Python and JSON write it: an apostrophe within a word ends none."""
TWO_STOPS = re.compile(r"(?<!\.)\.\.$")
"""A sentence's full stop after an abbreviation's, as in "Washington, D.C.."."""
SHARE_NOTE = re.compile(
    r"\s*(?:\([^()]*\d\s?%[^()]*\)|\[[^\[\]]*\d\s?%[^\[\]]*\]|(?:\s[-–—]|[:=,]|\s)\s*[-+~≈−]?[\d.,]*\d\s?%)$"
)
NUMBER_NOTE = re.compile(
    rf"\s*(?:[(\[](?!(?:19|20)\d\d[)\]])[-+~≈−{MONEY}\s]*\d[\d.,]*\s?[A-Za-z]{{0,8}}[)\]]|(?:[:=]\s|\s[-–—]\s)\s*[-+~≈−{MONEY}]*\d[\d.,]*)$"
)
"""Values that stand beside a name: shares, and other numbers."""
NOT_A_NAME = re.compile(
    r"^(?:not|or|and|then|followed by|lastly|finally|next|etc\.?|and so on|\.\.\.|…|\?)(?:\s|$)|"
    r"^\d{1,2} [-–—] |^(?i:first|second|third|fourth|fifth|last)\b\s?[:,]|\s(?:or|then|vs\.?|versus|etc\.?)(?:\s|$)|"
    r"[~①-⑳≻\\]|\s[/=+]\s|…$|\.\.\.$",
)
"""Words and signs by which a piece of a list is more, or less, than one name."""


def parse_prediction(reply, kind, options=None, unit=None, *, explain=False, is_cut=False):
    """Return the prediction in a reply, or None when it holds no valid one; with `explain`,
    (prediction, reason).

    `kind` is one of KINDS; `options` maps letters to texts; `unit` is the event's: a number that
    names another is not read, one in thousands counts in millions where the unit does. `is_cut`:
    the reply ended at its limit of tokens. Returns a letter (single), a sorted list of letters
    (multi), an ordered list (ranking, list: letters where options are given, else strings), a float
    (number; percent in percentage points), an ISO date, or a string. The reason is "" with a
    prediction, else a short term, for some with a detail after a colon: "refusal", "empty box",
    "unknown option: F". A ranking of given options must name each once. Raises ValueError for an
    unknown kind only.

    >>> parse_prediction(r"So \\boxed{A}? No: \\boxed{\\text{B and C}}", "multi", {"A": "x", "B": "y", "C": "z"})
    ['B', 'C']
    >>> parse_prediction(r"\\boxed{F}", "single", {"A": "Yes", "B": "No"}, explain=True)
    (None, 'unknown option: F')
    """
    if kind not in KINDS:
        raise ValueError(f"no kind {kind!r} of prediction; choose one of {', '.join(KINDS)}")
    unit = unit if isinstance(unit, str) else ""
    try:
        text = prepare_reply(reply)
        if is_cut and not ends_whole(text, reply):
            raise Unreadable("unfinished reply", "cut at its limit of tokens")
        value = _read_reply(text, kind, dict(options or {}), unit)
        reason = ""
    except Unreadable as error:
        value = None
        reason = str(error)
    return (value, reason) if explain else value


def ends_whole(text, reply):
    """Say whether a reply that was cut may be read: its thinking has ended, or a box is the last
    thing that it says.

    Elsewhere what was cut may be thinking without a mark, and a box in it one of several
    candidates.

    >>> ends_whole(r"A is \\boxed{A}. But wait", ""), ends_whole(r"So \\boxed{A}.**", ""), ends_whole("B", "</think>B")
    (False, True, True)
    """
    boxes = find_boxes(text)
    is_last = (
        bool(boxes) and not re.search(r"\w", text[boxes[-1][1] :]) and boxes[-1][2] is not None
    )
    return is_last or bool(THOUGHT_END.search(reply))


def _read_reply(text, kind, options, unit):
    boxes = select_boxes(text)
    if not boxes:
        return _read_line(text, kind, options, unit)
    labels = [read_labels(box[2], options) for box in boxes] if options else []
    if labels and all(labels):
        _check_after(text[boxes[-1][1] :], [box[2] for box in boxes])
        return settle_letters([label for some in labels for label in some], kind, options)
    contents = list(dict.fromkeys(clean_content(_widen(text, box, kind)) for box in boxes))
    _check_after(text[boxes[-1][1] :], contents)
    if len(contents) == 1:
        return read_content(contents[0], kind, options, unit)
    if kind in ("multi", "ranking", "list"):
        return _join_boxes(contents, kind, options)
    values = [read_content(content, kind, options, unit) for content in contents]
    if any(value != values[0] for value in values):
        raise Unreadable("boxes in conflict", " | ".join(content[:20] for content in contents[:3]))
    return values[0]


def _check_after(after, contents):
    """Raise Unreadable where the text after the boxes takes them back, or names another answer."""
    other = ANSWER_AFTER.search(after[:1_000])
    said = clean_content(other["answer"]).strip(" .") if other else ""
    if DENIED_AFTER.match(after) or (
        said and not any(said in content or content in said for content in contents)
    ):
        raise Unreadable("ambiguous", "the box is taken back after it")


def _widen(text, box, kind):
    """Take in what belongs to a boxed number or date but stands outside its box: its sign, power,
    scale, limit."""
    start, end, content = box
    if kind not in ("number", "percent", "date"):
        return content
    before = re.sub(
        r"\\textminus(?![A-Za-z])", "−", text[max(0, start - 60) : start].rpartition("\n")[2]
    )
    lead = re.sub(r"\\text\w*\s?\{|\\[([,;:! ]|[`*{(\[]|(?<!\\)\$", "", before)
    if kind == "date":
        limit = re.search(r"\b(?:before|after|not|by|until|between|from|to)\s*$", lead, re.I)
        other = re.match(r"[\s*`$)]*(?:or\s\w+|to\b|[至到]|[之以][前后])", text[end : end + 30])
        return f"{limit.group() if limit else ''} {content}{other.group() if other else ''}"
    after = re.split(r"\n|\\?f?boxed", text[end : end + 60])[0]
    after = AFTER_BOX.sub(lambda marks: " " if marks.group().strip("*`$)}]") else "", after)
    tail = CONTINUED.match(re.sub(r"\s+", " ", clean_content("0" + after))[1:])
    tail = re.split(r"[.;,](?!\d)", tail.group())[0] if tail else ""
    sign = _find_sign(before)
    led = LED_BY.search(lead)
    if not sign and FORMULA_BEFORE.search(lead):
        raise Unreadable("ambiguous", f"part of a formula: {lead[-10:]}")
    if not sign and led and not re.fullmatch(r"\s*>\s+", before):  # no quotation in markdown
        sign = led.group() + " "
    return sign + content + tail


def _find_sign(before):
    """Return the sign before a boxed number, "" for none; Unreadable where it may be a bullet, a
    dash or a sum."""
    sign = SIGN_BEFORE.search(before)
    if not sign:
        return ""
    front, gap, mark, between = sign.groups()
    if front.isdigit() or mark == "±" or (front.isalpha() and not gap):
        raise Unreadable("ambiguous", f"part of a sum: {before[-10:]}")
    if mark not in "+−" and re.search(r"[\s*]", between) and front not in [*"$(=:"]:
        raise Unreadable("ambiguous", "a minus, a dash or a bullet before the box")
    return "+" if mark == "+" else "-"


def _join_boxes(contents, kind, options):
    """Read boxes that hold one item each as one answer; boxes of several items that differ are in
    conflict."""
    items = []
    for content in contents:
        names = read_content(content, "multi" if kind == "multi" else "list", options)
        if len(names) > 1:
            raise Unreadable(
                "boxes in conflict", " | ".join(content[:20] for content in contents[:3])
            )
        items += names
    return settle_letters(items, kind, options) if options or kind == "multi" else items


def _read_line(text, kind, options, unit):
    """Read the last line where it names itself an answer, or is the whole reply and nothing but
    one."""
    content, name = find_last_line(text)
    is_closed = kind not in ("text", "ranking", "list") or bool(
        options
    )  # can be told from other text
    is_named = name == ":" or (name == "is" and (is_closed or not content[:1].islower()))
    try:
        if not (is_named or (name == "alone" and is_closed)):
            raise Unreadable("no answer")
        if kind in ("number", "percent") and not (
            len(content) < 100 and BARE_NUMBER.fullmatch(content)
        ):
            read_content(content, kind, options, unit)
            raise Unreadable("prose", content[:40])
        if kind == "text" and (len(content.split()) > MAX_LINE_WORDS or NO_NAME.match(content)):
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
        return settle_letters(read_letters(content, index_options(options), kind), kind, options)
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

    Parted by lines, else semicolons, numbers, arrows, else commas. A list drops repeats; a ranking
    keeps them (they count once when it is scored). "X and Y" is two names of a list but one of a
    ranking; at the end of a ranking with commas it may be either, and raises Unreadable.

    >>> read_names("1. Oslo 2. Rome"), read_names("Oslo, Rome and Lima"), read_names("Trinidad and Tobago", "ranking")
    (['Oslo', 'Rome'], ['Oslo', 'Rome', 'Lima'], ['Trinidad and Tobago'])
    """
    if kind == "ranking" and " < " in content:
        raise Unreadable("ambiguous", "the direction of <")
    quoted = re.fullmatch(rf"(?:{QUOTED})(?:\s*[,;、]?\s*(?:{QUOTED}))+", content)
    if quoted:
        names = [name[1:-1] for name in re.findall(QUOTED, content)]
    else:
        names = _split_places(content) or _split_names(content.strip(" ,;"), kind)
    names = strip_marks(names, kind == "ranking")
    names = names if quoted else strip_notes(_strip_link(names))
    names = [
        TWO_STOPS.sub(".", " ".join(name.strip(' \t*_"').rstrip(",;").split())) for name in names
    ]
    names = [
        name[:-1].rstrip() if name.endswith(".") and "." not in name[:-1] else name
        for name in names
    ]
    if any(PLACEHOLDER.fullmatch(name) for name in names):
        raise Unreadable("empty box")
    for name in names:
        check_answer(name)
        if len(name) > MAX_NAME:
            raise Unreadable("prose", name[:40])
        if not quoted and NOT_A_NAME.search(name):
            raise Unreadable("ambiguous", f"no name: {name[:40]}")
    return list(dict.fromkeys(names)) if kind == "list" else names


def _split_places(content):
    """Return the names that stand behind places which count up by one, from the beginning on; None
    for other lists.

    >>> _split_places("1.Oslo 2.Rome"), _split_places("8th: Oslo, 9th: Rome")
    (['Oslo', 'Rome'], ['Oslo', 'Rome'])
    """
    content = CHINESE_PLACE.sub(
        lambda found: f" {DIGITS.get(found[1], found[1])}. ", content
    ).strip()
    marks = list(PLACE.finditer(content))
    places = [int(mark[1]) for mark in marks]
    if (
        len(marks) < 2
        or marks[0].start()
        or places != list(range(places[0], places[0] + len(places)))
    ):
        return None
    ends = [mark.start() for mark in marks[1:]] + [len(content)]
    names = [
        content[mark.end() : end].strip(" ,;、>→|•\n")
        for mark, end in zip(marks, ends, strict=True)
    ]
    return [re.sub(r"[\s,;]+(?:and|&)$", "", name) for name in names[:-1]] + names[-1:]


def strip_notes(names):
    """Return names without values beside them: shares always, plain numbers where every name has
    one.

    Raises Unreadable where some have one and others not; a year in brackets stays.

    >>> strip_notes(["AUD (1.2%)", "BRL"]), strip_notes(["AUD: 3", "BRL: 2"]), strip_notes(["It (2017)", "Cam (2018)"])
    (['AUD', 'BRL'], ['AUD', 'BRL'], ['It (2017)', 'Cam (2018)'])
    """
    names = [SHARE_NOTE.sub("", name) for name in names]
    noted = [bool(NUMBER_NOTE.search(name)) for name in names]
    if any(noted) and not all(noted):
        raise Unreadable(
            "ambiguous", f"a number beside some names: {names[noted.index(True)][:40]}"
        )
    return [NUMBER_NOTE.sub("", name) for name in names]


def _strip_link(names):
    """Take "and" off the last name of a list."""
    *head, last = names or [""]
    link = re.match(r"(?:and|AND|&)\s+(?=\S)", last.strip()) if head else None
    if head and re.match(r"And\s", last.strip()):
        raise Unreadable("ambiguous", f"the first word of a name or not: {last[:40]}")
    return [*head, last.strip()[link.end() :]] if link else names


def _split_names(content, kind):
    lines = [line.strip() for line in content.split("\n") if line.strip(" ,;*-")]
    numbered = re.split(r"(?:^|[,\s]\s*)(?=\(?#?\d{1,2}[.)]\s)", content)
    for names in (
        lines,
        content.split(";"),
        numbered,
        re.split(r"\s*(?:[>→|≻•]|\s·\s)\s*", content),
    ):
        names = [name.strip() for name in names if name.strip()]
        if len(names) > 1:
            return names
    names = [
        name.strip()
        for name in re.split(r"(?:(?<!\d),|,(?!\d))(?![^()]{0,200}\))|、", content)
        if name.strip()
    ]
    *head, last = names or [""]
    linked = re.search(r"\s(?:and|&)\s", last)
    if linked and not re.match(r"(?:and|&)\s", last) and (kind == "list" or head):
        if kind == "ranking" or linked.group().strip() == "&":
            raise Unreadable("ambiguous", f"one name or two: {last[:40]}")
        return [*head, *last.rsplit(" and ", 1)]
    return names


def read_text(content):
    """Return a short text answer on one line, without a closing full stop and without a share in
    brackets.

    >>> read_text("Manchester  City.")
    'Manchester City'
    """
    text = TWO_STOPS.sub(".", " ".join(content.split()))
    text = re.sub(r"\s\([^()]{0,80}\d\s?%[^()]{0,80}\)$", "", text)
    if re.match(r"(?:not|either|neither)\s", text, re.I):
        raise Unreadable("ambiguous", text[:40])
    if len(text) > MAX_TEXT:
        raise Unreadable("prose", text[:40])
    is_sentence = (
        text.endswith(".") and not text.endswith("..") and "." not in text.split()[-1][:-1]
    )
    return text[:-1].rstrip() if is_sentence else text
