"""Read one number or percentage from the words of an answer, whole; what could mean two things is not read.

English conventions, since the prompts are English: a dot is the decimal point, a comma before three digits groups
thousands. Continental forms are read where only one reading is left (1.234,5 and 12,5).
"""

import math
import re
from decimal import Decimal

from helpers.calendar import MONTH
from helpers.replies.boxes import DASHES, Unreadable

GROUPED = re.compile(r"[0-9]{1,3}(?:([,' _])[0-9]{3})(?:\1[0-9]{3})*(?:\.[0-9]+)?")
CONTINENTAL = re.compile(r"[0-9]{1,3}(?:[. ][0-9]{3})*,[0-9]{1,2}|[0-9]{1,3}(?:\.[0-9]{3}){2,}|[0-9]+,[0-9]{1,2}")
PLAIN = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")

WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "lakh": 5, "crore": 7}
SCALES |= {"mln": 6, "mio": 6, "mn": 6, "bn": 9, "mrd": 9, "tn": 12, "k": 3, "K": 3, "M": 6, "B": 9, "T": 12}
SCALE_WORDS = "|".join(word for word in SCALES if len(word) > 1)
SCALE_WORD = re.compile(rf"\b({SCALE_WORDS})s?\b", re.I)
MONEY = "$€£¥₹"
CURRENCY = re.compile(rf"(?:\b(?:US|A|C|HK))?\$\s?|[{MONEY}]\s?|\b(?:USD|EUR|GBP|JPY|CNY|CHF|INR)\s?(?=[-+0-9])")
LABEL = re.compile(r".*[^\W\d_].*[:=]\s*(?=[^:=]*[0-9])", re.S)
"""What names a value before it, up to its last colon or equals sign."""
AMOUNT = re.compile(
    r"[\s:~≈=\"]*(?i:(?:about|around|approximately|roughly|circa)\s)?(?P<sign>[-+]?)\s?"
    r"(?P<digits>\.?[0-9](?:[0-9]|[.,'_](?=[0-9])| (?=[0-9]{3}(?![0-9])))*)"
    r"(?:[eE](?P<e>[-+]?[0-9]{1,3})(?![0-9A-Za-z.])|\s?[×x*]\s?10\s?\^\s?\(?(?P<ten>[-+]?[0-9]{1,3})\)?)?"
    rf"(?P<scale>(?:[ -]?(?i:{SCALE_WORDS})s?\b|[kKMBT](?![\w-]))*)\s?%?"
    r"(?P<rest>(?:[\s.,;°/µμ&'\"A-Za-zÀ-ɏ]|(?<=[A-Za-z])-(?=[A-Za-z]))*)"
)
NOT_A_UNIT = re.compile(
    r"\b(?:at|least|most|more|less|fewer|greater|higher|lower|than|over|under|above|below|up|exceed\w*|between|from|not|"
    r"non|no|to|max(?:imum)?|min(?:imum)?|plus|minus|negative|times|x|e|m|mm|[kmgt]i?b|[kmgt]i?bytes?|bps?|basis|mille|"
    r"k|b|t|down|fall\w*|fell|drop\w*|decreas\w*|declin\w*|loss|lose\w*|I|we|you|it|they|there|this|these|those|is|are|"
    r"was|were|be|been|has|have|had|will|would|could|should|might|or|if|because|since|but|however|although|unless|maybe|"
    r"perhaps|possibly|based|page|step|error|code|https?|version|question|option|sources?|figure|table|section|chapter|"
    rf"{'|'.join(WORDS)}|\w+teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|dozens?|half|twice|double|triple|pairs?|"
    rf"quarters?|thirds?|tens?|grand|[ap]\.?m|o'clock|{SCALE_WORDS}|\w*illion\w*|mil|mill?i?on\w*|milh\w*|miljo\w*|milliards?|cr|"
    rf"lacs?)\b|{MONTH}",
    re.I,
)
"""Words that change a number, bound it, or say that it is none: beside it they leave it unread."""
MEASURES = """% percent percentage pct pp; °C celsius centigrade; °F fahrenheit; cent ¢ pence; $ USD dollar; € EUR euro;
£ GBP pound; ¥ JPY CNY yen yuan; ₹ INR rupee; ms millisecond; s sec second; minute; hour hr h; day daily; week weekly;
month monthly; year annual annually annum; km kilometre kilometer; mile mph; barrel bbl; gallon; litre liter"""
MEASURES = {
    words.split()[0]: re.compile(rf"(?<![A-Za-z'])(?:{'|'.join(map(re.escape, words.split()))})s?(?![A-Za-z])", re.I)
    for words in MEASURES.split(";")
}
"""What a unit may be made of, each with the words for it: an answer that names another than its event is not read."""
TERM = "% a second minute hour day week month year"
"""What the words beside a percentage may measure."""
MAX_WORDS = 8
"""Most words beside a number: more are a sentence."""


def read_number(text, unit=""):
    """Return the one number that an answer states, as a float, in the event's unit where that is given.

    Words of a unit are passed over, scale words multiply; with a unit such as "million barrels" what is said in
    thousands is counted in millions. Raises Unreadable for no number, several numbers, a bound or range, a direction
    told in words, a unit that is not the event's, and forms with more than one reading.

    >>> read_number("about 112.52 points"), read_number("$1.2 million"), read_number("−3.5 °C")
    (112.52, 1200000.0, -3.5)
    >>> read_number("5 thousand million"), read_number("3 million", unit="thousand barrels"), read_number("12_345")
    (5000000000.0, 3000.0, 12345.0)
    """
    if unit == "%":
        return read_percent(text)
    value, exponent = _read_amount(text, unit)
    unit_scale = sum(SCALES[word.casefold()] for word in SCALE_WORD.findall(unit))
    return float(value.scaleb(exponent - unit_scale if exponent else 0))


def read_percent(text):
    """Return a percentage in percentage points; a bare number is read as percent, as the question asks.

    >>> read_percent("45.5%"), read_percent("0.4"), read_percent("about 3 percentage points")
    (45.5, 0.4, 3.0)
    """
    value, exponent = _read_amount(text, TERM)
    if exponent:
        raise Unreadable("ambiguous", "a percentage with a scale")
    return float(value)


def check_unit(text, unit):
    """Raise Unreadable for a measure that is not of the event's unit, where that is known."""
    text = re.sub(r"per cent\b|°\s(?=[CF]\b)", lambda found: found.group().replace(" ", ""), text)
    wanted = {name for name, words in MEASURES.items() if words.search(unit)} | ({"%"} if "point" in unit else set())
    named = {name for name, words in MEASURES.items() if words.search(text)} if unit else set()
    if named - wanted:
        raise Unreadable("another unit", f"{sorted(named - wanted)[0]}, not {unit}")


def _read_amount(text, unit):
    """Return (Decimal, exponent of ten of the scale words) of the one number that a text states."""
    check_unit(text, unit)
    note = re.search(r"\([^()\d]*\)|\[[^\[\]\d]*\]", text)
    text = DASHES.sub("-", text.replace(note.group(), " ") if note and not NOT_A_UNIT.search(note.group()) else text)
    text = re.sub(r"(?<![A-Za-z])(?:minus|negative)\s+(?=[0-9.$€£])", "-", text, flags=re.I)
    text = re.sub(r"±\s?[0-9.,]*[0-9]", " ", text)
    label = LABEL.match(text[:300])
    if re.search(rf"[0-9]\s?[{MONEY}]\s?[0-9]", text) or (label and NOT_A_UNIT.search(label.group())):
        raise Unreadable("ambiguous", text[:40])
    stated = " ".join(CURRENCY.sub("", text[label.end() :] if label else text).split())
    if re.search("[<>≥≤≠]", stated):
        raise Unreadable("bound", "a limit or a range is not a value")
    amount = AMOUNT.fullmatch(stated)
    if not amount:
        raise Unreadable("several numbers" if len(re.findall("[0-9]+", stated)) > 1 else "not a number", text[:40])
    wrong = NOT_A_UNIT.search(amount["rest"])
    if wrong or len(amount["rest"].split()) > MAX_WORDS:
        raise Unreadable("ambiguous", f"{wrong.group()!r} beside the number" if wrong else text[:40])
    words = re.findall(rf"(?i:{SCALE_WORDS})(?=s?\b)|[kKMBT]", amount["scale"])
    exponent = sum(SCALES.get(word, SCALES.get(word.casefold(), 0)) for word in words)
    value = read_digits(amount["digits"]).scaleb(int(amount["e"] or amount["ten"] or 0))
    if not math.isfinite(float(value.scaleb(exponent))):
        raise Unreadable("not a number", "beyond the range of a float")
    return -value if amount["sign"] == "-" else value, exponent


def read_digits(digits):
    """Return the Decimal that digits with separators write; raises Unreadable where they have no single reading.

    >>> [str(read_digits(text)) for text in ("1,234.5", "1 234,5", "1.234.567", "12,5", "1'000", ".5")]
    ['1234.5', '1234.5', '1234567', '12.5', '1000', '0.5']
    """
    if len(digits) > 60:
        raise Unreadable("not a number", "too many digits")
    if GROUPED.fullmatch(digits) and not digits.startswith("0"):
        return Decimal(re.sub("[,' _]", "", digits))
    if PLAIN.fullmatch(digits):
        return Decimal(digits)
    if CONTINENTAL.fullmatch(digits):
        return Decimal(re.sub("[. ]", "", digits).replace(",", "."))
    raise Unreadable("ambiguous", f"the separators of {digits}")
