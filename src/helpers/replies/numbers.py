"""Read one number or percentage from the words of an answer, whole; what could mean two things is not read.

English conventions, since the prompts are English: a dot is the decimal point, a comma before three digits groups
thousands. Of Chinese the scales and signs are known.
"""

import math
import re
from decimal import Decimal

from helpers.calendar import MONTH
from helpers.replies.boxes import DASHES, Unreadable

SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "lakh": 5, "crore": 7}
SCALES |= {"mn": 6, "bn": 9, "k": 3, "K": 3, "M": 6, "B": 9, "T": 12}
SCALES |= {"千": 3, "万": 4, "萬": 4, "百万": 6, "千万": 7, "亿": 8, "億": 8, "万亿": 12}
SCALED = re.compile(
    r"[ -]?\b(?P<word>(?i:hundred|thousand|million|billion|trillion|lakh|crore|mn|bn))s?\b|"
    r"\s?(?P<chinese>万亿|百万|千万|[千万萬亿億])"
)
SCALE = re.compile(rf"{SCALED.pattern}|(?P<letter>[kKMBT])(?![\w-])")
"""Words that multiply a number; a letter does so right behind it."""

MONEY = "$€£¥₹₽₩"
CURRENCY = rf"(?:\b(?:US|A|AU|C|CA|HK|NZ|S)?\$|[{MONEY}]|\b(?:USD|EUR|GBP|JPY|CNY|RMB|CHF|INR)(?=\s?[-+.0-9]))\s?"
NUMBER = re.compile(
    rf"(?:(?:about|around|approximately|roughly|大?约|[~≈=])\s*)*(?P<sign>[-+]?)\s?(?:{CURRENCY})?(?P<minus>-?)"
    r"(?P<digits>[1-9][0-9]{0,2}(?P<mark>[,' ])[0-9]{3}(?:(?P=mark)[0-9]{3})*(?:\.[0-9]+)?|[0-9]+\.?[0-9]*|\.[0-9]+)"
    r"(?![0-9]|[.,'][0-9]| [0-9]{3}|[A-DF-Z]?[0-9])"
    r"(?:(?:[eE]|\s?[×x*·]\s?10\s?\^)\(?(?P<power>[-+]?[0-9]{1,3})(?![0-9.])\)?)?",
    re.I,
)
BOUND = re.compile(
    r"[<>≥≤≠]|[0-9%]\s?\+(?!\s?[0-9])|\b(?:at (?:least|most)|(?:more|less|fewer|greater|higher|lower) than|over|under|"
    r"above|below|up to|exceed\w*|or (?:more|less|fewer|higher|lower|above|below)|between|from|not|no|max|min)\b|"
    r"[以之][上下内间]|超过|[低高大小多少]于|不[到足]|[至最][少多]",
    re.I,
)
DIRECTION = re.compile(r"\b(?:down|fall|fell|drop|decrease|decline|loss|below)\b|[降跌]|减少|亏损", re.I)
WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
CHANGED = re.compile(
    rf"\b(?:{'|'.join(WORDS)}|\w+teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|dozens?|half|halves|twice|double|times|"
    r"pairs?|quarters?|thirds?|grand|thou|tens?|cr|\w*mil(?!es?\b|it)\w*|\w*mi[lo]h\w*|\w*ill?[io]\w*n\w*|mrd|mio|mln|tn|"
    r"lacs?|[ekmbtx]|(?<! )mm|[kmgt]i?b|to|or|and|than|minus|negative|plus|[ap]\.?m|i|we|you|it|they|there|this|is|are|"
    rf"was|were|has|have|will|would|could|because|since|but|if|page|step|error|code|sources?|version)\b|{MONTH}",
    re.I,
)
"""Words beside a number that change its size, or make it a sentence's."""
UNIT = re.compile(
    r"(?![:/-])(?:[\s.,;:\"'%°/&µμ^-]|[23²³](?![0-9])|[A-Za-z\u00c0-\u024f]|[点元度人个次例桶件辆张左右大概是美欧英镑])*"
)
MEASURES = """% percent percentage pct pp 百分; °C celsius centigrade; °F fahrenheit; cent ¢ pence; $ USD dollar; € EUR
euro; £ GBP pound; ¥ JPY CNY RMB yen yuan; ₹ INR Rs rupee; ms millisecond; s sec second; minute; hour hr h; day daily;
week weekly; month monthly; year annual annually annum; km kilometre kilometer; mile mph; barrel bbl; gallon; litre
liter"""
MEASURES = {
    words.split()[0]: re.compile(rf"(?<![A-Za-z'])(?:{'|'.join(map(re.escape, words.split()))})s?(?![A-Za-z])", re.I)
    for words in MEASURES.split(";")
}
"""What a unit may be made of, each with the words for it: an answer that names another than its event is not read."""
CHINESE_MONEY = {"美元": "USD", "欧元": "EUR", "英镑": "GBP", "元": "CNY"}
PERCENT = re.compile(
    r"\s?(?:%|‰|个?百分点|(?:percent(?:age points?)?|per cent|pct|pp|basis points?|bps?)(?![A-Za-z]))", re.I
)
MAX_WORDS = 6
"""Most words behind a number: more are a sentence."""


def read_number(text, unit=""):
    """Return the one number that an answer states, as a float, in the event's unit where that is given.

    Words of a unit are passed over, scale words multiply; with a unit such as "million barrels" what is said in
    thousands is counted in millions. Raises Unreadable for no number, several numbers, a bound or range, a direction
    told in words, a unit that is not the event's, and whatever else is not understood.

    >>> read_number("about 112.52 点"), read_number("$1.2 million"), read_number("−3.5 °C")
    (112.52, 1200000.0, -3.5)
    >>> read_number("5 hundred thousand"), read_number("3 million", unit="thousand barrels")
    (500000.0, 3000.0)
    """
    if unit == "%":
        return read_percent(text)
    value, sign, exponent = _read_stated(text, unit)
    if sign and sign[0] not in "%p百个":
        raise Unreadable("ambiguous", f"a share in {sign}")
    in_unit = sum(SCALES[(scale["word"] or scale["chinese"]).casefold()] for scale in SCALED.finditer(unit))
    return float(value.scaleb(exponent - in_unit if exponent else 0))


def read_percent(text):
    """Return a percentage in percentage points; a bare number is read as percent, as the question asks.

    Per mille and basis points are converted. Raises Unreadable as `read_number` does.

    >>> read_percent("45.5%"), read_percent("0.4"), read_percent("25 bps")
    (45.5, 0.4, 0.25)
    """
    text = re.sub(r"百分之\s?([-0-9.]+)", r"\1%", text)
    value, sign, exponent = _read_stated(text, "% a second minute hour day week month year")
    if exponent or (not sign and PERCENT.search(text)):
        raise Unreadable("ambiguous", "a share or a percentage, or one with a scale")
    return float(value / {"‰": 10, "b": 100}.get(sign[:1], 1))


def _read_stated(text, unit):
    """Return (Decimal, the percent sign after it, the scale's exponent of ten) of the one number that a text states."""
    check_unit(text, unit)
    text = " ".join(DASHES.sub("-", text).split())
    text = re.sub(r"(?<![A-Za-z])(?:(?:minus|negative)\s+|[负負]\s?)(?=[0-9.$€£])", "-", text, flags=re.I)
    text = re.sub(r"\s?±\s?[0-9.,]+|\bper\s1(?:,?0)+(?![0-9])(?:,0{3})*", "", text, flags=re.I)
    label = re.match(r"([^0-9:=]*[^\W\d_][^0-9:=]*)[:=](?=.*[0-9])\s*", text, re.S)
    name, stated = (label.group(1), text[label.end() :]) if label else ("", text)
    note = re.search(r"\s?\(([^()]*)\)$", stated)
    stated = stated[: note.start()] if note else stated
    if BOUND.search(stated) or BOUND.search(name):
        raise Unreadable("bound", "a limit or a range is not a value")
    if DIRECTION.search(stated + name) or (SCALED.search(name) and not SCALED.search(unit)):
        raise Unreadable("ambiguous", f"a direction, or a scale beside the number: {text[:40]}")
    value, sign, exponent = _read_alone(stated)
    if note and (SCALED.search(note.group(1)) or re.search("[0-9]", note.group(1))):
        if _read_alone(note.group(1).strip()) != (value.scaleb(exponent), sign, 0):
            raise Unreadable("several numbers", text[:40])
    return value, sign, exponent


def check_unit(text, unit):
    """Raise Unreadable for a measure that is not of the event's unit, where that is known."""
    for chinese, english in CHINESE_MONEY.items():
        text, unit = text.replace(chinese, f" {english} "), unit.replace(chinese, f" {english} ")
    text = re.sub(r"per cent\b|°\s(?=[CF]\b)", lambda found: found.group().replace(" ", ""), text)
    wanted = {name for name, words in MEASURES.items() if words.search(unit)} | ({"%"} if "point" in unit else set())
    named = {name for name, words in MEASURES.items() if words.search(text)} if unit else set()
    if named - wanted:
        raise Unreadable("another unit", f"{sorted(named - wanted)[0]}, not {unit}")


def _read_alone(text):
    """Return what `_read_stated` does of a text without its label and bracket, all of which must be understood."""
    if text.strip(" .").casefold() in WORDS:
        return Decimal(WORDS.index(text.strip(" .").casefold())), "", 0
    match = NUMBER.match(text)
    after = text[match.end() :] if match else text
    others = re.search("[0-9]", re.sub(r"(?<=[A-Za-z])\^?-?[23](?![0-9])", "", after))  # but for m^2 or CO2
    if others and re.search("[0-9][^0-9]+[0-9]", text):
        raise Unreadable("several numbers", text[:40])
    if not match or (match["sign"] and match["minus"]):
        raise Unreadable("not a number", text[:40])
    value = Decimal(re.sub("[,' ]", "", match["digits"])).scaleb(int(match["power"] or 0))
    value = -value if "-" in match["sign"] + match["minus"] else value
    exponent, scale = 0, SCALE.match(after)
    while scale:
        exponent += SCALES[scale["letter"] or scale["chinese"] or scale["word"].casefold()]
        after = after[scale.end() :]
        scale = SCALE.match(after)
    percent = PERCENT.match(after)
    after = after[percent.end() :] if percent else after
    if changed := CHANGED.search(re.sub("[-^]", " ", after)) or SCALED.search(after):
        raise Unreadable("ambiguous", f"{changed.group()!r} beside the number")
    if not UNIT.fullmatch(after) or "%" in after or not math.isfinite(float(value.scaleb(exponent))):
        raise Unreadable("not a number", text[:40])
    if len(after.split()) > MAX_WORDS:
        raise Unreadable("prose", text[:40])
    return value, percent.group().strip().casefold() if percent else "", exponent
