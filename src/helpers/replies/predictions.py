"""Turn a reply into a prediction, or into nothing with a reason; never a guess (FutureX 3.2.3, C.2).

What counts as the answer: the last box of the reply (after any thinking); without a box the last line, if the whole
line, or what follows its "answer:", is an answer. Boxes side by side, or on lines of one list, are one answer of
several items for the kinds that hold several; for the others they must agree. A reply that quotes the prompt's box
("for example ...") has not answered by it. A box that is empty, unclosed or full of prose is no answer, whatever stood
in an earlier one.
"""

import re

from helpers import columns
from helpers.replies.boxes import (
    NAMED_LINE,
    PLACEHOLDER,
    REFUSAL,
    Unreadable,
    check_answer,
    clean_content,
    find_last_line,
    prepare_reply,
    select_boxes,
)
from helpers.replies.letters import index_options, read_letters, settle_letters, strip_marks
from helpers.replies.quantities import SCALE, read_date, read_number, read_percent

KINDS = tuple(kind for kind in columns.KINDS if kind != "interval")
"""The kinds that are read; an interval comes from elsewhere (`formats.folder`)."""
ITEM = re.compile(r"\W*(?:[-*•]\s|\(?(?:[A-Za-z]|\d{1,2})[.):]\s)")
BARE_NUMBER = re.compile(
    r"(?:[^\w.]|(?:about|around|roughly|approximately|USD)\s|约|为)*[\d.,' ]*\d[^\s\d]*"
    r"(?:(?:\s\D\S*){0,2}|\s\D*\b(?:per|an?)\s\D*)"
)
TWO_STOPS = re.compile(r"(?<!\.)\.\.$")
"""A sentence's full stop after an abbreviation's, as in "Washington, D.C.."."""
MAX_NAME, MAX_TEXT = 150, 500
"""The longest name and text that are read."""


def parse_prediction(reply, kind, options=None, *, explain=False):
    """Return the prediction in a reply, or None when it holds no valid one; with `explain`, (prediction, reason).

    `kind` is one of KINDS; `options` maps letters to texts. Returns a letter (single), a sorted list of letters
    (multi), an ordered list (ranking, list: letters where options are given, else strings), a float (number; percent
    in percentage points), an ISO date, or a string. The reason is "" with a prediction, else a short term, for some
    with a detail after a colon: "refusal", "empty box", "unknown option: F". A ranking of given options must
    name each once. Raises ValueError for an unknown kind only.

    >>> parse_prediction(r"So \\boxed{A}? No: \\boxed{\\text{B and C}}", "multi", {"A": "x", "B": "y", "C": "z"})
    ['B', 'C']
    >>> parse_prediction(r"\\boxed{F}", "single", {"A": "Yes", "B": "No"}, explain=True)
    (None, 'unknown option: F')
    """
    if kind not in KINDS:
        raise ValueError(f"no kind {kind!r} of prediction; choose one of {', '.join(KINDS)}")
    try:
        value, reason = _read_reply(prepare_reply(reply), kind, dict(options or {})), ""
    except Unreadable as error:
        value, reason = None, str(error)
    return (value, reason) if explain else value


def _read_reply(text, kind, options):
    boxes = select_boxes(text)
    if not boxes:
        return _read_line(text, kind, options)
    contents = [_widen(text, box, kind) for box in boxes]
    contents = list(dict.fromkeys(clean_content(content) for content in contents))
    if len(contents) == 1:
        return read_content(contents[0], kind, options)
    if kind in ("multi", "ranking", "list"):
        return _join_boxes(contents, kind, options)
    values = [read_content(content, kind, options) for content in contents]
    if any(value != values[0] for value in values):
        raise Unreadable("boxes in conflict", " | ".join(content[:20] for content in contents[:3]))
    return values[0]


def _widen(text, box, kind):
    """Take in what belongs to a boxed number but stands outside its box: a minus before it, a scale word after it."""
    start, end, content = box
    if kind in ("number", "percent"):
        minus = re.search(r"[$=(]\s?[-−]\s?$", text[max(0, start - 5) : start])
        after = re.sub(r"^[$)\]\\*\s]+", " ", text[end : end + 20])
        scale = SCALE.match(after) if after[:1] == " " else None
        content = ("-" if minus else "") + content + (scale.group() if scale else "")
    return content


def _join_boxes(contents, kind, options):
    """Read boxes that hold one item each as one answer; boxes of several items that differ are in conflict."""
    items = []
    for content in contents:
        names = read_content(content, "multi" if kind == "multi" else "list", options)
        if len(names) > 1:
            raise Unreadable("boxes in conflict", " | ".join(content[:20] for content in contents[:3]))
        items += names
    return settle_letters(items, kind, options) if options or kind == "multi" else items


def _read_line(text, kind, options):
    """Read the last line; unless it names itself an answer, all of it must be one."""
    content, is_named, above = find_last_line(text)
    try:
        if not is_named and (_is_in_block(text, above) or not _is_bare(content, above, kind, options)):
            raise Unreadable("no answer")
        return read_content(content, kind, options)
    except Unreadable:
        if is_named:
            raise
        raise Unreadable("refusal" if REFUSAL.search(text) else "no answer") from None


def _is_in_block(text, above):
    """Say whether the last line only ends a list or a table: the line above is no sentence and announces nothing."""
    if ITEM.match(above):
        return True
    is_next = above and not re.search(r"\n\s*\n\s*\S[^\n]*\s*$", text[-2_000:])
    return bool(is_next and above.strip("*_`$ ")[-1:] not in [*".!?:"] and not NAMED_LINE.search(above))


def _is_bare(content, above, kind, options):
    """Say whether a line may be an answer by itself: no sentence, and for numbers a number with its unit."""
    if kind in ("number", "percent"):
        return len(content) < 100 and bool(BARE_NUMBER.fullmatch(content))
    if kind == "text" or (kind in ("ranking", "list") and not options):
        is_sentence = content[-1:] in [*".!?:"] and not (kind == "text" and not above and content[-1] == ".")
        return not is_sentence and (kind != "text" or len(content.split()) <= (8 if above else 12))
    return True


def read_content(content, kind, options=None):
    """Read one cleaned answer of a kind; raises Unreadable with the reason."""
    options = options or {}
    if kind in ("single", "multi") or (options and kind in ("ranking", "list")):
        return settle_letters(read_letters(content, index_options(options), kind), kind, options)
    check_answer(content)
    if kind in ("ranking", "list"):
        return read_names(content, kind)
    readers = {"number": read_number, "percent": read_percent, "date": read_date, "text": read_text}
    return readers[kind](content)


def read_names(content, kind="list"):
    """Return the names an answer lists where no options are given, in their order.

    Parted by lines, else semicolons, numbers, arrows, else commas. A list drops repeats; a ranking keeps them (they
    count once when it is scored). "X and Y" is two names of a list but one of a ranking; at the end of a ranking with
    commas it may be either, and raises Unreadable.

    >>> read_names("1. Oslo 2. Rome"), read_names("Oslo, Rome and Lima"), read_names("Trinidad and Tobago", "ranking")
    (['Oslo', 'Rome'], ['Oslo', 'Rome', 'Lima'], ['Trinidad and Tobago'])
    """
    if kind == "ranking" and " < " in content:
        raise Unreadable("ambiguous", "the direction of <")
    quoted = re.fullmatch(r'"[^"]*"(?:\s*[,;]\s*"[^"]*")+|\'[^\']*\'(?:\s*[,;]\s*\'[^\']*\')+', content)
    names = re.findall(r'"([^"]*)"|\'([^\']*)\'', content) if quoted else None
    names = [first or second for first, second in names] if quoted else _split_names(content, kind)
    names = [" ".join(name.strip(' \t*_"').rstrip(",;").split()) for name in strip_marks(names, kind == "ranking")]
    names = [TWO_STOPS.sub(".", name) for name in names]
    names = [name[:-1].rstrip() if name.endswith(".") and "." not in name[:-1] else name for name in names]
    if any(PLACEHOLDER.fullmatch(name) for name in names):
        raise Unreadable("empty box")
    for name in names:
        check_answer(name)
        if len(name) > MAX_NAME:
            raise Unreadable("prose", name[:40])
    return list(dict.fromkeys(names)) if kind == "list" else names


def _split_names(content, kind):
    lines = [line.strip() for line in content.split("\n") if line.strip(" ,;*-")]
    for names in (
        lines,
        content.split(";"),
        re.split(r"(?:^|[,\s]\s*)(?=\d{1,2}[.)]\s)", content),
        re.split(r"\s*[>→|]\s*", content),
    ):
        names = [name for name in names if name.strip()]
        if len(names) > 1:
            return [name.strip() for name in names]
    names = [name.strip() for name in re.split(r"(?<!\d),(?!\d)(?![^()]{0,200}\))|,\s|、", content) if name.strip()]
    *head, last = names or [""]
    if last.startswith(("and ", "& ")):
        return [*head, last.split(" ", 1)[1]]
    if " and " in last and (kind == "list" or head):
        if kind == "ranking":
            raise Unreadable("ambiguous", f"one name or two: {last[:40]}")
        return [*head, *last.rsplit(" and ", 1)]
    return names


def read_text(content):
    """Return a short text answer on one line, without a closing full stop.

    >>> read_text("Manchester  City.")
    'Manchester City'
    """
    text = TWO_STOPS.sub(".", " ".join(content.split()))
    if len(text) > MAX_TEXT:
        raise Unreadable("prose", text[:40])
    return (
        text[:-1].rstrip()
        if text.endswith(".") and not text.endswith("..") and "." not in text.split()[-1][:-1]
        else text
    )
