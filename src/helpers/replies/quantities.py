"""Read one number, percentage or date from the words of an answer; what could mean two things is not read.

English conventions, since the prompts are English: a dot is the decimal point, a comma before three digits groups
thousands. Continental forms are read where only one reading is left (1.234,5 and 1 234,5 and 12,5).
"""

import datetime
import math
import re
from decimal import Decimal

from helpers.calendar import find_dates
from helpers.replies.boxes import Unreadable

GROUPED = re.compile(
    r"[0-9]{1,3}(?:([,' ])[0-9]{3})(?:\1[0-9]{3})*(?:\.[0-9]+)?|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]+)?"
)
CONTINENTAL = re.compile(r"[0-9]{1,3}(?:[. ][0-9]{3})*,[0-9]+|[0-9]{1,3}(?:\.[0-9]{3}){2,}|[0-9]+,[0-9]+")
PLAIN = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")

TOKEN = re.compile(
    r"(?<![A-Za-z0-9_^.])(?:(?<![A-Za-z])|(?<=[^A-Za-z]))"
    r"(?P<digits>\.?[0-9](?:[0-9]|[.,'](?=[0-9])| (?=[0-9]{3}(?![0-9])))*)"
    r"(?:[eE](?P<e>[-+]?[0-9]{1,3})(?![0-9A-Za-z.])|\s?[×x*·]\s?10\s?\^\s?\(?(?P<ten>[-+]?[0-9]{1,3})\)?)?"
)
POWER = re.compile(r"(?<![0-9.,^×x*·] )(?<![0-9.,^×x*·A-Za-z])10\s?\^\s?\(?([-+]?[0-9]{1,3})\)?")
FRACTION = re.compile(r"(?<![0-9./,])([-+]?)\s?(?:([0-9]{1,9})\s)?([0-9]{1,9})\s?/\s?([0-9]{1,9})(?![0-9./,])")
CURRENCY = re.compile(
    r"(?:\b(?:US|A|AU|C|CA|HK|NZ|S|R|NT))?\$\s?|[€£¥₹₽₩]\s?|\b(?:USD|EUR|GBP|JPY|CNY|RMB|CHF|INR|AUD|CAD|HKD)\s?(?=[-+0-9])"
)
SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12, "mln": 6, "mn": 6, "bn": 9, "tn": 12, "k": 3}
SCALES |= {"千": 3, "万": 4, "百万": 6, "千万": 7, "亿": 8, "万亿": 12, "K": 3, "M": 6, "B": 9, "T": 12}
SCALE = re.compile(
    r"[ -]?(thousand|million|billion|trillion|mln|mn|bn|tn)s?\b|(k|K|M|B|T)\b|\s?(万亿|百万|千万|千|万|亿)", re.I
)
UNSURE_SCALE = re.compile(r" ?(?:k|m|b|t)\b(?![/^°])", re.I)
BOUND = re.compile(
    r"[<>≥≤]|[0-9%]\s?\+(?!\s?[0-9])|\b(?:at (?:least|most)|(?:more|less|fewer|greater|higher|lower) than|over|under|"
    r"above|below|up to|exceed\w*|"
    r"or (?:more|less|fewer|higher|lower|above|below|over|under)|between|from|not|non|no)\b|"
    r"(?:以上|以下|超过|低于|高于|不到|至少|至多)",
    re.I,
)
DIRECTION = re.compile(
    r"\b(?:down|fall\w*|fell|drop\w*|decreas\w*|declin\w*|loss|lose\w*|below)\b|下降|下跌|减少", re.I
)
WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
VULGAR = {"½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8"}
PERCENT = re.compile(
    r"\s?(?:%|‰|个?百分点|(?:percent(?:age points?)?|per cent|pct|pp|p\.p\.|basis points?|bps?)(?![A-Za-z]))", re.I
)

DATES = [
    re.compile(r"(?<![0-9])(?P<year>[0-9]{4})\s?([-/.])\s?(?P<month>[0-9]{1,2})\s?\2\s?(?P<day>[0-9]{1,2})(?![0-9])"),
    re.compile(r"(?P<year>[0-9]{4})\s?年\s?(?P<month>[0-9]{1,2})\s?月\s?(?P<day>[0-9]{1,2})\s?[日号]"),
    re.compile(r"(?<![0-9.])(?P<year>(?:19|20)[0-9]{2})(?P<month>[0-9]{2})(?P<day>[0-9]{2})(?![0-9.])"),
]
SHORT_DATE = re.compile(r"(?<![0-9./-])([0-9]{1,2})\s?([-/.])\s?([0-9]{1,2})\s?\2\s?([0-9]{4})(?![0-9])")
CLOCK = re.compile(
    r"(?:\bT?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:\.[0-9]+)?)|(?:UTC|GMT)?\s?[+-][0-9]{1,2}(?::?[0-9]{2})?\b", re.I
)
DATE_BOUND = re.compile(r"\b(?:before|after|by|until|between|from|not|later|earlier|since)\b|之前|之后|以前|以后", re.I)


def read_number(text):
    """Return the one number that an answer states, as a float; units are passed over, scale words multiply.

    Raises Unreadable for no number, several numbers, a bound or range, a direction told in words, and forms with more
    than one reading.

    >>> read_number("about 112.52 点"), read_number("$1.2 million"), read_number("−3.5 °C"), read_number("3/4")
    (112.52, 1200000.0, -3.5, 0.75)
    """
    return float(_read_stated(_tidy(text))[0])


def read_percent(text):
    """Return a percentage in percentage points; a bare number is read as percent, as the question asks.

    Per mille and basis points are converted. Raises Unreadable as `read_number` does, and for a fraction without a
    percent sign.

    >>> read_percent("45.5%"), read_percent("0.4"), read_percent("25 bps")
    (45.5, 0.4, 0.25)
    """
    text = re.sub(r"百分之\s?([0-9.]+)", r"\1%", _tidy(text))
    value, end, outside = _read_stated(text)
    sign = PERCENT.match(outside, end)
    if not sign and (PERCENT.search(text) or FRACTION.search(text)):
        raise Unreadable("ambiguous", "a share or a percentage")
    unit = sign.group().strip().casefold() if sign else "%"
    return float(value / {"‰": 10, "b": 100}.get(unit[0], 1))


def _tidy(text):
    """Give signs, powers and fractions one form each, all digits ASCII, and take currencies away."""
    text = re.sub("[⁰¹²³⁴-⁹⁻⁺]+", lambda run: "^" + run.group().translate(SUPERSCRIPT), text)
    text = re.sub("[½¼¾⅓⅔⅛⅜⅝⅞]", lambda sign: " " + VULGAR[sign.group()], text).replace("⁄", "/").replace("+/-", "±")
    text = "".join(str(int(char)) if char.isdecimal() else char for char in text)
    text = re.sub(r"(?<![A-Za-z])(?:minus|negative)\s+(?=[0-9.$€£])", "-", re.sub("[−‒–—]", "-", text), flags=re.I)
    text = re.sub(r"\bper\s+1(?:,?0)+(?![0-9])(?:,0{3})*", " ", text, flags=re.I)
    text = re.sub(r"(?<=[0-9])\s?m\b", " million", text) if re.search(r"[$€£¥]\s?[0-9]", text) else text
    return " ".join(CURRENCY.sub("", text).split())


def _read_stated(text):
    """Return (Decimal, where its token ends, the text it stands in)."""
    label = re.match(r"[^0-9:=]*[^\W\d_][^0-9:=]*[:=](.*)", text, re.S)
    label = label or re.match(r".*[^\W\d_].*[:=]\s*(?=[-+.0-9])(?!.*[:=])(.*)", text[:200], re.S)
    text = label.group(1) if label and re.search("[0-9]", label.group(1)) else text
    outside = re.sub(r"\([^()]*\)|\[[^\[\]]*\]", " ", text) if not re.search(r"\^\s?\(", text) else text
    if BOUND.search(outside):
        raise Unreadable("bound", "a limit or a range is not a value")
    if DIRECTION.search(outside):
        raise Unreadable("ambiguous", "a direction told in words")
    outside = re.sub(r"±\s?[0-9.,]+", " ", outside)
    return _read_fraction(outside) or _read_power(outside) or _read_token(outside)


def _read_fraction(text):
    match = FRACTION.search(text)
    if not match or re.search("[0-9]", text[: match.start()] + text[match.end() :]):
        return None
    sign, whole, above, below = match.groups()
    if int(below) == 0:
        raise Unreadable("not a number", "a division by zero")
    value = Decimal(int(whole or 0)) + Decimal(int(above)) / Decimal(int(below))
    return (-value if sign == "-" else value), match.end(), text


def _read_power(text):
    match = POWER.fullmatch(text.strip(" +"))
    return (Decimal(10) ** _check_exponent(match.group(1)), len(text), text) if match else None


def _read_token(text):
    tokens = list(TOKEN.finditer(text))
    if not tokens:
        word = text.strip(" .").casefold()
        if word in WORDS:
            return Decimal(WORDS.index(word)), len(text), text
        raise Unreadable("ambiguous" if re.search("[0-9]", text) else "not a number", text[:40])
    if len(tokens) > 1:
        raise Unreadable("several numbers", ", ".join(token.group("digits") for token in tokens[:3]))
    token = tokens[0]
    value = read_digits(token.group("digits")) * Decimal(10) ** _check_exponent(
        token.group("e") or token.group("ten") or 0
    )
    before = text[: token.start()]
    if re.search(r"(?:^|[^\w%)-])\s*-$|^\s*-\s*$", before):
        value = -value
    elif before.endswith("-") or re.match(r"[A-Za-z]+[0-9]", text[token.end() :]):
        raise Unreadable("not a number", text[:40])
    value, end = _apply_scale(value, text, token.end(), before)
    if text[end : end + 1] in ("^", ":") or not math.isfinite(float(value)):
        raise Unreadable("not a number", text[:40])
    return value, end, text


def _apply_scale(value, text, end, before):
    scale = SCALE.match(text, end)
    if scale and not (scale.group(2) and scale.group(2) not in "kKMBT"):
        name = next(group for group in scale.groups() if group)
        return value * 10 ** SCALES[name if name in SCALES else name.casefold()], scale.end()
    if UNSURE_SCALE.match(text, end):
        raise Unreadable("ambiguous", "a unit or a scale: " + text[end : end + 4].strip())
    return value, end


def _check_exponent(exponent):
    if abs(int(exponent)) > 300:
        raise Unreadable("not a number", "beyond the range of a float")
    return int(exponent)


def read_digits(digits):
    """Return the Decimal that digits with separators write; raises Unreadable where they have no single reading.

    >>> [str(read_digits(text)) for text in ("1,234.5", "1 234,5", "1.234.567", "12,5", "1'000", ".5")]
    ['1234.5', '1234.5', '1234567', '12.5', '1000', '0.5']
    """
    if len(digits) > 60:
        raise Unreadable("not a number", "too many digits")
    if GROUPED.fullmatch(digits) and not digits.startswith("0"):
        return Decimal(re.sub("[,' ]", "", digits))
    if PLAIN.fullmatch(digits):
        return Decimal(digits)
    if CONTINENTAL.fullmatch(digits):
        return Decimal(re.sub("[. ]", "", digits).replace(",", "."))
    raise Unreadable("ambiguous", f"the separators of {digits}")


def read_date(text):
    """Return the one date that an answer states, as YYYY-MM-DD.

    Raises Unreadable for no full date, several dates, a bound, a day that does not exist, and 05/06/2016, which may
    be in May or June.

    >>> read_date("Monday, October 10th, 2016"), read_date("2016年10月10日"), read_date("13/10/2016")
    ('2016-10-10', '2016-10-10', '2016-10-13')
    """
    named = [date for date in find_dates(text) if date.year and date.day]
    rest = text
    for date in named:
        rest = rest[: date.start] + " " * (date.end - date.start) + rest[date.end :]
    found = {_build_date(*date[:3]) for date in named}
    found |= {_build_date(**match.groupdict()) for pattern in DATES for match in pattern.finditer(rest)}
    for pattern in DATES:
        rest = pattern.sub(" ", rest)
    found |= {_read_short_date(match) for match in SHORT_DATE.finditer(rest)}
    rest = CLOCK.sub(" ", SHORT_DATE.sub(" ", rest))
    if len(found) > 1:
        raise Unreadable("several dates", ", ".join(sorted(found)[:3]))
    if not found or re.search("[0-9]", rest):
        raise Unreadable("not a date", text[:40])
    if DATE_BOUND.search(text):
        raise Unreadable("bound", "a limit or a range is not a date")
    return found.pop()


def _build_date(year, month, day):
    try:
        return datetime.date(int(year), int(month), int(day)).isoformat()
    except ValueError as error:
        raise Unreadable("not a date", str(error)) from None


def _read_short_date(match):
    first, _, second, year = match.groups()
    if int(first) <= 12 and int(second) <= 12 and first != second:
        raise Unreadable("ambiguous", "day or month first")
    day, month = (second, first) if int(second) > 12 else (first, second)
    return _build_date(year, month, day)
