"""Read which options an answer names: by letter, by the option's own text, by a range; never by
resemblance."""

import re
import string
import unicodedata

from daybefore.replies.find_answer import NO_VALUE, check_answer
from helpers.boxed_answers import Unreadable

MAX_PIECES = 200
"""Most items of one answer that are read."""

SEPARATOR = re.compile(
    r"\s*(?:[,;、/|&+\n>·•→]|\b(?:and|or|then)\b|和|或|及|与)\s*|\s+(?=\(?\d{1,2}[.)]\s)|"
    r"(?<=[A-Z])\s+-\s+(?=[A-Z]\s+-|[A-Z]$)",
    re.I,
)
LETTER_RUN = re.compile(r"\(?[A-Z]\)?(?:(?:[\s,;/&+|·>]*|\.\s?)\(?[A-Z]\)?)*\.?")
RANGE = re.compile(r"([A-Za-z])\s*(?:[-–—~～]|\.{2,3}|\bto\b|\bthrough\b|至|到)\s*([A-Za-z])")
NUMBERED = re.compile(
    r"(?=\(?#?(\d{1,2}))(?:#\d+\s|\(?#?\d+(?:[.)](?!\d)|:(?!\d\d\b)|(?:st|nd|rd|th)\b)[:.)]?)\s*(?=\S)"
)
BULLETED = re.compile(r"[-*•]\s+")
OPTION_WORD = re.compile(
    r"(?:(?:the|my|final|correct)\s){0,3}(?:options?|answers?|choices?|letters?|prediction|选项|答案)"
    r"\s*(?:is\s|[:#是为])?\s*(?=\S)",
    re.I,
)
LETTER_AND_TEXT = re.compile(
    r"[\[(]?([A-Za-z]{1,2}|\d{1,2})\s*([.):=(\[\]–—-]|\s)[:.]?\s*(.*?)", re.S
)
TEXT_AND_NOTE = re.compile(r"(.*?)\s*[\[(]([^()\[\]]*)[\])]", re.S)
DENIED = re.compile(
    r"(?:not|isn't|is|no|never|unlikely|impossible|false|wrong|incorrect|reject\w*|exclud\w*|rule[ds]? out|0 ?%)(?!\w)"
)
"""How words begin that take back the letter before them."""
SHARE = re.compile(r"(?<![\d.])(?:(\d{1,3}(?:\.\d+)?)\s?%|(0?\.\d+))")
SHARE_BEHIND = re.compile(r"[\s,:=(\[~≈–-]*(?:p\s?=\s?)?\d{1,3}(?:\.\d+)?\s?%[)\]]?\.?$", re.I)
SIGNS_OF = {
    "(?:text)?backslash": "\\",
    "l(?:eft)?brack": "[",
    "r(?:ight)?brack": "]",
    "textasciicircum|hat": "^",
}
SIGNS_OF |= {"textunderscore": "_", "textasciigrave": "`"}
"""LaTeX's names of signs that are labels."""
LEAD = re.compile(r"\bthe outcome (?:will )?be\s+", re.I)
"""What FutureX writes before an option's own words."""
NONE_KEYS = {"none", "neither", "no option"}
NONE_KEYS |= {f"none of {which}" for which in ("these", "the above", "them", "the options")}
ALL_KEYS = {"all", "all options"} | {
    f"all of {which}" for which in ("these", "the above", "them", "the options")
}


def make_key(text):
    """Return a text as options are compared: without case, accents, surplus space, quotes, edge
    marks and "the".

    >>> make_key(" The “São Paulo & Rio” "), make_key("1,234.5 USD or more.")
    ('sao paulo and rio', '1234.5 usd or more')
    """
    text = unicodedata.normalize("NFKD", str(text)).casefold().replace("&", " and ")
    text = "".join(char for char in text if not unicodedata.combining(char))
    text = re.sub("[‐-―−]", "-", re.sub(r"[\"'“”‘’*`$\\]", "", text))
    text = re.sub(r"(?<=\d),(?=\d{3})", "", " ".join(text.split()))
    return text.strip(" .,:;!").removeprefix("the ")


def index_options(options):
    """Return what reading options needs: letters and texts by key, and how many pieces a text may
    fall into.

    Without options every letter from A to Z is one, with no text.
    """
    options = options or dict.fromkeys(string.ascii_uppercase, "")
    texts = {}
    for letter, text in options.items():
        texts.setdefault(make_key(text), set()).add(letter)
    texts.pop("", None)
    none = {letter for key, found in texts.items() if key in NONE_KEYS for letter in found}
    n_parts = 1 + max((len(SEPARATOR.findall(str(text))) for text in options.values()), default=0)
    folded = [letter.casefold() for letter in options]
    letters = {
        letter.casefold(): letter for letter in options if folded.count(letter.casefold()) == 1
    }
    letters |= {letter: letter for letter in options}
    return {
        "letters": letters,
        "texts": texts,
        "none": none,
        "n_parts": n_parts,
        "order": list(options),
    }


def _find_letter(text, index):
    """Return the option of a letter, in either case where no other option has it in the other; None
    for none."""
    return index["letters"].get(text) or index["letters"].get(text.casefold())


def read_letters(content, index, kind="multi"):
    """Return the letters an answer names, in its order and with repeats; raises Unreadable for any
    other word."""
    if not any(LEAD.search(text) for text in index["texts"]):
        content = LEAD.sub("", content)
    found = _look_up(content, index)
    if found:
        return found
    if content.strip(" .!").casefold() in NO_VALUE:  # N/A names no letters
        raise Unreadable("refusal")
    if make_key(content) in ALL_KEYS and kind == "multi" and index["texts"]:
        return index["order"]
    shares = [
        float(percent or 100 * float(share))
        for percent, share in SHARE.findall(_leave_out_texts(content, index))
    ]
    if kind in ("single", "multi") and min(shares, default=50) < 50:
        raise Unreadable(
            "ambiguous", f"an option with a probability below one half: {content[:40]}"
        )
    if kind == "ranking" and re.search(r"[A-Za-z]\s*<\s*[A-Za-z]", content):
        raise Unreadable("ambiguous", "the direction of <")
    letters = re.findall("[A-Z]", content) if LETTER_RUN.fullmatch(content) else []
    known = set(index["order"])
    if (
        letters
        and set(letters) <= known
        and (not any(map(str.isalpha, content[1::2])) or len(known) < 26)
    ):
        return letters
    try:
        return _read_pieces(content, index, kind)
    except Unreadable as error:
        if re.fullmatch(r"\W*[A-Za-z]\W*", error.args[-1]):  # a letter that no option has
            raise
        yes_or_no = re.match(r"(yes|no)\s?[,.;:—–-]\s", content, re.I)
        if kind == "single" and yes_or_no and set(index["texts"]) == {"yes", "no"}:
            if len(set(re.findall(r"\b(?:yes|no)\b", content.casefold()))) > 1:
                raise Unreadable("ambiguous", content[:40]) from None
            return _look_up(yes_or_no.group(1), index)
        found = _read_item(content, index, kind) if kind == "single" else None
        if not found:
            check_answer(content)
            raise
        return found


def _leave_out_texts(content, index):
    """Return an answer without the options' own texts that hold a share, as in "B. Above 0.1%"."""
    if "%" not in content:
        return content
    content = make_key(content)
    for text in sorted(index["texts"], key=len, reverse=True):
        content = content.replace(text, " ") if "%" in text else content
    return content


def _look_up(text, index):
    """Return [letter] for a bare letter or an option's text, None for neither; Unreadable if it is
    two options."""
    key = make_key(text)
    hits = set(index["texts"].get(key, ()))
    letter = _find_letter(text.strip(" .()[]*_\"'"), index)
    if letter:
        hits.add(letter)
    hits = hits or (index["none"] if key in NONE_KEYS else set())
    if len(hits) > 1:
        raise Unreadable("ambiguous", f"{text[:40]} is more than one option")
    return list(hits) or None


def split_pieces(content):
    """Return (pieces, gaps): what separators part, and the separators between them.

    >>> split_pieces("A, B and C")
    (['A', 'B', 'C'], [', ', ' and '])
    """
    pieces = []
    gaps = []
    place = 0
    gap = ""
    for match in [*SEPARATOR.finditer(content), None]:
        piece = content[place : match.start() if match else len(content)]
        if piece.strip():
            gaps += [gap] if pieces else []
            pieces.append(piece.strip())
            gap = ""
        gap = gap + (match.group() if match else "")
        place = match.end() if match else place
    if len(pieces) > MAX_PIECES:
        raise Unreadable("answer too long", f"{len(pieces)} pieces")
    return pieces, gaps


def strip_marks(pieces, must_count=False):
    """Return pieces without bullets, and without numbers where all have one.

    With `must_count`, numbers other than 1, 2, 3 ... raise Unreadable, since they tell another
    order.

    >>> strip_marks(["1. Oslo", "2. Rome"]), strip_marks(["- Oslo", "- Rome"]), strip_marks(["07:00", "08:00"])
    (['Oslo', 'Rome'], ['Oslo', 'Rome'], ['07:00', '08:00'])
    """
    pieces = [
        BULLETED.sub("", piece, count=1) if BULLETED.match(piece) else piece for piece in pieces
    ]
    matches = [NUMBERED.match(piece) for piece in pieces]
    if not matches or not all(matches):
        return pieces
    if must_count:
        check_places([int(match.group(1)) for match in matches])
    return [piece[match.end() :] for piece, match in zip(pieces, matches, strict=True)]


def check_places(places):
    """Raise Unreadable where places do not count up by one, from 1 or, as of the 8th to the 10th,
    from another."""
    first = 1 if len(places) == 1 else places[0]
    if places != list(range(first, first + len(places))):
        raise Unreadable("ambiguous", "the places are not numbered 1, 2, 3 in turn")


def _read_pieces(content, index, kind):
    """Read pieces from left to right, joining as many as one option's own text may need."""
    pieces, gaps = split_pieces(content)
    if not any(_find_letter(piece, index) for piece in pieces):
        pieces = strip_marks(pieces, must_count=kind in ("ranking", "list"))
    if not pieces:
        raise Unreadable("empty box")
    letters = []
    place = 0
    while place < len(pieces):
        bare = SHARE_BEHIND.sub("", pieces[place]) if kind in ("single", "multi") else pieces[place]
        for end in range(min(len(pieces), place + index["n_parts"]), place, -1):
            joined = "".join(
                a + b for a, b in zip(["", *gaps[place : end - 1]], pieces[place:end], strict=True)
            )
            found = _read_item(joined, index, kind, is_whole=end > place + 1)
            if found:
                break
        else:
            end = place + 1
            found = _read_item(bare, index, kind) if bare else None
            if found or (
                letters and not bare
            ):  # a letter with its probability, or that behind a comma
                letters = letters + (found or [])
                place = end
                continue
            check_answer(pieces[place])
            raise Unreadable("unknown option", pieces[place][:40])
        letters = letters + found
        place = end
    return letters


def _read_item(piece, index, kind, is_whole=False):
    """Return the letters of one piece: a letter, a range, an option's text, or both where they
    agree; None for others.

    With `is_whole` what stands beside a letter must be the option's own text.
    """
    if OPTION_WORD.match(piece):
        piece = OPTION_WORD.sub("", piece, count=1)
    found = _look_up(piece, index)
    noted = TEXT_AND_NOTE.fullmatch(piece)
    if not found and re.match(r"(?:neither|nor|not)\b\W", piece, re.I):
        return None
    span = None if found else RANGE.fullmatch(piece)
    if span:
        order = index["order"]
        ends = [_find_letter(letter, index) for letter in span.groups()]
        if None in ends:
            raise Unreadable("unknown option", piece)
        first, last = map(order.index, ends)
        if (
            kind in ("ranking", "list")
            or first >= last
            or (last > first + 1 and re.search("[~～]", piece))
        ):
            raise Unreadable("ambiguous", f"the range {piece}")
        return order[first : last + 1]
    if not found and noted:
        found = _look_up(noted.group(1), index)
        letter = _look_up(noted.group(2), index)
        if found and letter and found != letter:
            raise Unreadable("ambiguous", piece[:40])
    return found or _read_letter_and_text(piece, index, is_whole)


def _read_letter_and_text(piece, index, is_whole):
    """Read "B. Paris": the letter counts, unless the words take it back or name another option."""
    match = LETTER_AND_TEXT.fullmatch(piece)
    letter = _find_letter(match.group(1), index) if match else None
    if not letter:
        return None
    words = match.group(3)
    key = make_key(match.group(3).rstrip(")"))
    own = {text for text, found in index["texts"].items() if letter in found}
    if key in own or not key:
        return [letter]
    remark = re.fullmatch(r"(.*\S)\s*[(\[]([^()\[\]]*)[)\]]?\.?", words)
    if remark and make_key(remark[1]) in own:
        note = make_key(remark[2])  # "unlikely" takes the letter back, "not Lima" another
        is_of_another = re.search(r"\b[A-Z]\b", remark[2]) or any(
            text in note for text in index["texts"]
        )
        return None if DENIED.match(note) and not is_of_another else [letter]
    is_letter = re.fullmatch(r"[A-Za-z]", words)
    if (
        is_whole
        or is_letter
        or match.group(2).isspace()
        or (DENIED.match(key) and key not in index["texts"])
    ):
        return None
    letters = {_find_letter(x, index) for x in re.findall(r"(?<!\w)[A-Z](?=\s*[.):(,=]|$)", words)}
    others = [
        text
        for text in index["texts"]
        if text not in own and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", key)
    ]
    if letters - {letter, None} or (others and not any(text in key for text in own)):
        raise Unreadable("ambiguous", piece[:40])
    return [letter]


def read_labels(content, options):
    r"""Return the labels beyond Z that a box lists, as it is written; None where it holds anything
    else.

    FutureX goes on by ASCII after Z: [ \ ] ^ _ ` a b (its public scorer), signs that elsewhere are
    LaTeX's or markdown's.

    >>> read_labels(r"C, \_, `, \\ and a", dict.fromkeys("C[\\]^_`a", ""))
    ['C', '_', '`', '\\', 'a']
    """
    if not set(options) - {label for label in options if re.fullmatch("[A-Z]{1,2}", label)}:
        return None
    text = re.sub(r"\\(?:text|math)[a-z]{0,6}\s?\{([^{}]*)\}", r"\1", content)
    for words, sign in SIGNS_OF.items():
        text = re.sub(rf"\\(?:{words})(?![A-Za-z])(?:\{{\}})?", lambda _, sign=sign: sign, text)
    labels = []
    for piece in re.split(r"[,;、，\n]|\sand\s", text)[: MAX_PIECES + 1]:
        piece = piece.strip(" \t$*")
        forms = (piece, piece.strip("{}"), piece.removeprefix("\\"), piece[1:-1])
        label = next((form for form in forms if form in options), None)
        named = re.match(r"(\S{1,2})[.):]\s+(\S.*)", piece)
        if not label and named and named[1] in options:
            is_own = make_key(LEAD.sub("", named[2])) == make_key(
                LEAD.sub("", str(options[named[1]]))
            )
            label = named[1] if is_own else None
        if not label:
            return None
        labels.append(label)
    return labels


def settle_letters(letters, kind, options):
    """Return what a kind makes of the letters named, in their order."""
    named = list(dict.fromkeys(letters))
    if kind == "single":
        if len(named) > 1:
            raise Unreadable("several options", ", ".join(named))
        return named[0]
    if kind == "multi":
        return sorted(named)
    if kind == "ranking" and len(named) < len(letters):
        raise Unreadable("repeated option", ", ".join(letters[:12]))
    if kind == "ranking" and options and set(named) != set(options):
        raise Unreadable("incomplete ranking", ", ".join(sorted(set(options) - set(named))))
    return named
