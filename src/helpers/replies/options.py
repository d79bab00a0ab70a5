"""Read which options an answer names: by letter, by the option's own text, or both; never by resemblance."""

import re
import string
import unicodedata
from functools import lru_cache

from helpers.replies.boxes import NO_VALUE, Unreadable, check_answer

MAX_PIECES = 200
"""Most items of one answer that are read."""

SEPARATOR = r"\s*(?:(?:[,;、/|&+>·•→]|\b(?:and|or|then)\b|[和或及与])\s*)+"
MARK = r"(?:(?:[-*•]|\(?#?(?P<place>\d{1,2})[.)])\s+)?"
WORD = r"(?:(?:the )?(?:final )?(?:options?|answers?|choices?|选项|答案)\s*(?:is\b|[:#是为])?\s*)?"
SHARE = r"(?:\s*[:(]?\s*(?P<share>\d{1,3}(?:\.\d+)?) ?%\)?)?"
"""What stands between items, before one (a bullet or its place, "option") and after one (its probability)."""

LETTER_RUN = re.compile(r"[A-Z](?:[\s,;/&+|·>]*[A-Z])*\.?")
NONE_KEYS = {"none", "neither", *(f"none of {which}" for which in ("these", "the above", "them", "the options"))}


def make_key(text):
    """Return a text as options are compared: without case, accents, surplus space, quotes, edge marks and "the".

    >>> make_key(" The “São Paulo & Rio” "), make_key("1,234.5 USD or more.")
    ('sao paulo and rio', '1234.5 usd or more')
    """
    text = unicodedata.normalize("NFKD", str(text)).casefold().replace("&", " and ")
    text = "".join(char for char in text if not unicodedata.combining(char))
    text = re.sub("[‐-―−]", "-", re.sub(r"[\"'“”‘’*`$\\]", "", text))
    text = re.sub(r"(?<=\d),(?=\d{3})", "", " ".join(text.split()))
    return text.strip(" .,:;!").removeprefix("the ")


@lru_cache(maxsize=256)
def compile_options(options):
    """Return ({key: letters}, pattern of one item) of options, given as ((letter, text), ...).

    An item is an option's letter, its text, or both in either order; the groups o0, o1, ... tell which option it is.
    Longer texts are tried first. None of these may be named by another such phrase.
    """
    keys, items = {}, []
    for at, (letter, text) in enumerate(options):
        key, sign = make_key(text), rf"[\[(]?{re.escape(letter.casefold())}[\])]?"
        for name in {letter.casefold(), key, *(NONE_KEYS if key in NONE_KEYS else ())} - {""}:
            keys.setdefault(name, set()).add(letter)
        own = re.escape(key)
        both = rf"{sign}(?:\s*[.):=–-]?\s*[\[(]?{own}[\])]?)|(?:the )?{own}(?:\s*[\[(]{sign}[\])])?|" if key else ""
        items.append((len(key), rf"(?P<o{at}>{both}{sign})"))
    items = "|".join(item for _, item in sorted(items, key=lambda item: -item[0]))
    return keys, re.compile(rf"{MARK}{WORD}(?:{items})[.,:]?{SHARE}(?={SEPARATOR}|\s*$)")


def read_letters(content, options, kind="multi"):
    """Return the letters an answer names, in its order and with repeats; raises Unreadable for any other word.

    `options` maps letters to texts; without options every letter from A to Z is one, with no text.

    >>> read_letters("B, Oslo and C (70%)", {"A": "Oslo", "B": "Rome", "C": "Lima"})
    ['B', 'A', 'C']
    """
    options = tuple((options or dict.fromkeys(string.ascii_uppercase, "")).items())
    keys, item = compile_options(options)
    key = make_key(content)
    if named := keys.get(key) or keys.get(content.strip(" .()[]*_\"'").casefold()):
        if len(named) > 1:
            raise Unreadable("ambiguous", f"{content[:40]} is more than one option")
        return list(named)
    if content.strip(" .!").casefold() in NO_VALUE:  # N/A names no letters
        raise Unreadable("refusal")
    letters = re.findall("[A-Z]", content) if LETTER_RUN.fullmatch(content) else []
    if letters and set(letters) <= dict(options).keys() and (len(options) < 26 or not re.search("[A-Z]{2}", content)):
        return letters
    try:
        letters = _read_items("; ".join(map(make_key, content.split("\n"))), options, item, keys, kind)
    except Unreadable:
        check_answer(content)
        raise
    if not letters:
        raise Unreadable("empty box")
    return letters


def _read_items(key, options, item, keys, kind):
    """Read the items of an answer's key from left to right."""
    letters, places, at = [], [], 0
    while at < len(key):
        found = item.match(key, at)
        if not found:
            check_answer(re.split(SEPARATOR, key[at:], maxsplit=1)[0])
            raise Unreadable("unknown option", key[at : at + 40])
        own = next(name for name, text in found.groupdict().items() if name[0] == "o" and text is not None)
        letter = options[int(own[1:])][0]
        if keys.get(found.group().strip(), {letter}) != {letter} or float(found["share"] or 50) < 50:
            raise Unreadable("ambiguous", f"{found.group()[:40]} is more than one option, or improbable")
        letters.append(letter)
        places += [int(found["place"])] if found["place"] else []
        if len(letters) > MAX_PIECES:
            raise Unreadable("answer too long", f"more than {MAX_PIECES} items")
        at = re.compile(rf"{SEPARATOR}|\s*").match(key, found.end()).end()
    if kind in ("ranking", "list") and places and places != list(range(1, len(letters) + 1)):
        raise Unreadable("ambiguous", "the places are not numbered 1, 2, 3 in turn")
    return letters


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
