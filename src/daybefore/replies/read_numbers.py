"""Read one number or percentage from the words of an answer, whole; what could mean two things is
not read.

English conventions, since the prompts are English: a dot is the decimal point, a comma before three
digits groups thousands. Continental forms are read where only one reading is left (1.234,5 and 1
234,5 and 12,5).
"""

import math
import re
import unicodedata
from decimal import Decimal

from helpers.boxed_answers import DASHES, Unreadable
from helpers.clock import MONTH

GROUPED = re.compile(
    r"[0-9]{1,3}(?:([,' _])[0-9]{3})(?:\1[0-9]{3})*(?:\.[0-9]+)?|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]+)?"
)
CONTINENTAL = re.compile(
    r"[0-9]{1,3}(?:[. ][0-9]{3})*,[0-9]{1,2}|0,[0-9]+|[0-9]{1,3}(?:\.[0-9]{3}){2,}|[0-9]+,[0-9]{1,2}"
)
PLAIN = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")

TOKEN = re.compile(
    r"(?<![A-Za-z0-9_^.])"
    r"(?P<digits>\.?[0-9](?:[0-9]|[.,'_](?=[0-9])| (?=[0-9]{3}(?![0-9])))*)"
    r"(?:[eE](?P<e>[-+]?[0-9]{1,3})(?![0-9A-Za-z.])|\s?[×x*·]\s?10\s?\^\s?\(?(?P<ten>[-+]?[0-9]{1,3})\)?)?"
)
POWER = re.compile(r"10\s?\^\s?\(?([-+]?[0-9]{1,3})\)?")
FRACTION = re.compile(
    r"(?<![0-9./,])(?:([0-9]{1,9})\s)?([0-9]{1,9})\s?/\s?([0-9]{1,9})(?![0-9./,])"
)
MONEY = "$€£¥₹₽₩"
CURRENCY = re.compile(
    rf"(?:\b(?:US|A|AU|C|CA|HK|NZ|S|R|NT))?\$\s?|[{MONEY}]\s?|"
    r"\b(?:USD|EUR|GBP|JPY|CNY|RMB|CHF|INR|AUD|CAD|HKD|Rs\.?)\s?(?=[-+0-9])"
)
SCALES = {
    "hundred": 2,
    "thousand": 3,
    "million": 6,
    "billion": 9,
    "trillion": 12,
    "quadrillion": 15,
    "milliard": 9,
}
SCALES |= {
    "lakh": 5,
    "lac": 5,
    "crore": 7,
    "mln": 6,
    "mio": 6,
    "mn": 6,
    "mrd": 9,
    "bn": 9,
    "tn": 12,
}
SCALES |= {"k": 3, "K": 3, "M": 6, "B": 9, "T": 12}
SCALES |= {"千": 3, "万": 4, "萬": 4, "百万": 6, "千万": 7, "亿": 8, "億": 8, "万亿": 12}
SCALE_WORDS = "|".join(word for word in SCALES if word.isascii() and len(word) > 1)
SCALE_WORD = re.compile(rf"[ -]?\b({SCALE_WORDS})s?\b", re.I)
CHINESE_SCALE = re.compile("万亿|百万|千万|[千万萬亿億]")
SCALE = re.compile(
    rf"[ -]?(?i:({SCALE_WORDS})s?)\b|([kKMBT])(?![\w-])|\s?({CHINESE_SCALE.pattern})"
)
SCALED = re.compile(rf"{SCALE_WORD.pattern}|{CHINESE_SCALE.pattern}", re.I)
UNSURE_SCALE = re.compile(r" ?(?:(?i:k|m|b|t)|MM)\b(?![/^°])|(?i: ?[kmgt]i?b(?:ytes?)?|mm)\b")
"""What may be a scale or a unit; mm is one of length where it stands apart, as in 200 mm."""
BOUND = re.compile(
    r"[<>≥≤≠]|[0-9%]\s?\+(?!\s?[0-9])|\b(?:at (?:least|most)|(?:more|less|fewer|greater|higher|lower) than|over|under|"
    r"above|below|up to|exceed\w*|or (?:more|less|fewer|higher|lower|above|below|over|under)|"
    r"between|from|not|non|no)\b|"
    r"\b(?:max|min)(?:imum)?\b\.?(?: of)?\s*(?=[-+.0-9])|[0-9%]\s?max(?:imum)?\b|"
    r"\bplus\b|[以之][上下内间]|超过|[低高大小多少]于|不[到足]|[至最][少多]",
    re.I,
)
DIRECTION = re.compile(
    r"\b(?:down|fall\w*|fell|drop\w*|decreas\w*|declin\w*|loss|lose\w*|below)\b|[降跌]|减少|亏损",
    re.I,
)
WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
RESCALED = re.compile(
    rf"\b(?:minus|negative|to|or|(?<!per )(?:{SCALE_WORDS})s?|{'|'.join(WORDS)}|\w+teen|"
    r"(?:twen|thir|for|fif|six|seven|eigh|nine)ty|dozens?|half|halves|twice|double|"
    r"triple|pairs?|gross|myriads?|quarters?|thirds?|grand|thou|tens?|mil|mill|mile?r|cr|crs|trn?|kk|mm?illes?|juta|"
    r"ribu|tausend|e|x|times|mil(?:l?i?[oó]|h|(?:li|i|j)ar)\w*|bi(?:l?li?[oó]|lh)\w*|trill?i\w*|\w*illiona\w*|[ap]\.?m|o'clock)\b|"
    r"[十百千万萬亿億兆]",
    re.I,
)
"""What changes a number's size or says that it is none, and was not read with it."""
PROSE = re.compile(
    r"\b(?:I|we|you|it|they|there|this|these|those|is|are|was|were|be|been|has|have|had|will|would|could|should|might|"
    r"if|because|since|but|however|although|unless|maybe|perhaps|possibly|based|page|step|error|code|https?|version|"
    r"question|option|sources?|figure|table|section|chapter)\b",
    re.I,
)
REST = re.compile(r"(?:[\s.,;:?'\"%°/&µμ~≈*]|[^\W\d_])*")
CHINESE_UNIT = re.compile(
    "[点元度人个次例桶件辆张约为左右大概是美欧英镑公斤克吨升台套部首场票枚户家座只股手民币港韩]"
)
MEASURES = """% percent percentage pct pp 百分; °C celsius centigrade; °F fahrenheit; cent ¢ pence; $ USD dollar; € EUR
euro; £ GBP pound; ¥ JPY CNY RMB yen yuan; ₹ INR Rs rupee; ms millisecond; s sec second; minute; hour hr h; day daily;
week weekly; month monthly; year annual annually annum; km kilometre kilometer; mile mph; barrel bbl; gallon; litre
liter"""
MEASURES = {
    words.split()[0]: re.compile(
        rf"(?<![A-Za-z'])(?:{'|'.join(map(re.escape, words.split()))})s?(?![A-Za-z])", re.I
    )
    for words in MEASURES.split(";")
}
"""What a unit may be made of, each with the words for it: an answer that names another than its
event is not read."""
CHINESE_MONEY = {"美元": "USD", "欧元": "EUR", "英镑": "GBP", "元": "CNY"}
LABEL = re.compile(
    r"[^:=;]*[^\W\d_][^:=;]*(?:=|(?<=\D):|:(?=\s))\s*(?=[-+.0-9])(?!.*[:=;])(.*)", re.S
)
"""A name with digits before its number, as in "S&P 500: 2,163.7"."""
NOTES = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")
PERCENT = re.compile(
    r"\s?(?:%|‰|个?百分点|(?:percent(?:age points?)?|per cent|pct|pp|p\.p\.|basis points?|bps?)(?![A-Za-z]))",
    re.I,
)
SHARED = re.compile(rf"{PERCENT.pattern}|\bpoints?\b", re.I)
"""Units in which a percentage can be stated."""
MAX_WORDS = 12
"""Most words beside a number: more are a sentence."""


def read_number(text, unit=""):
    """Return the one number that an answer states, as a float, in the event's unit where that is
    given.

    Words of a unit are passed over, scale words multiply; with a unit such as "million barrels"
    what is said in thousands is counted in millions. What stands beside the number must be a unit
    or say that it is about so much. Raises Unreadable for no number, several numbers, a bound or
    range, a direction told in words, a unit that is not the event's, words that change the number
    and are not understood, and forms with more than one reading.

    >>> read_number("about 112.52 点"), read_number("$1.2 million"), read_number("−3.5 °C"), read_number("3/4")
    (112.52, 1200000.0, -3.5, 0.75)
    >>> read_number("5 thousand million"), read_number("3 million", unit="thousand barrels"), read_number("12_345")
    (5000000000.0, 3000.0, 12345.0)
    """
    if unit == "%":
        return read_percent(text)
    value, sign, exponent = _read_stated(text, unit)
    if sign and not (sign[0] in "%p百个" and SHARED.search(unit)):
        raise Unreadable("another unit", f"{sign}, which the question does not ask for")
    unit_scale = sum(
        SCALES[word.casefold()]
        for word in [*SCALE_WORD.findall(unit), *CHINESE_SCALE.findall(unit)]
    )
    return float(value.scaleb(exponent - unit_scale if exponent else 0))


def read_percent(text):
    """Return a percentage in percentage points; a bare number is read as percent, as the question
    asks.

    Per mille and basis points are converted. Raises Unreadable as `read_number` does, and for a
    fraction without a percent sign.

    >>> read_percent("45.5%"), read_percent("0.4"), read_percent("25 bps")
    (45.5, 0.4, 0.25)
    """
    text = re.sub(r"百分之\s?([-0-9.]+)", r"\1%", text)
    value, sign, exponent = _read_stated(text, "% a second minute hour day week month year")
    if not sign and (PERCENT.search(text) or FRACTION.search(_tidy(text))):
        raise Unreadable("ambiguous", "a share or a percentage")
    if exponent:
        raise Unreadable("ambiguous", "a percentage with a scale")
    return float(value / {"‰": 10, "b": 100}.get(sign[:1], 1))


def _tidy(text):
    """Give signs, powers and fractions one form each, all digits ASCII, and take currencies
    away."""
    text = re.sub(
        "[⁰¹²³⁴-⁹⁻⁺]+", lambda run: "^" + unicodedata.normalize("NFKC", run.group()), text
    )
    text = re.sub("[¼-¾⅓-⅞]", lambda sign: " " + unicodedata.normalize("NFKC", sign.group()), text)
    text = DASHES.sub("-", text.replace("⁄", "/").replace("+/-", "±"))
    text = "".join(
        str(int(char)) if char.isdecimal() else char
        for char in text.translate({0x66B: ".", 0x66C: ","})
    )
    text = text.replace("千克", "公斤").replace("千米", "公里")
    text = re.sub(
        r"(?<![A-Za-z])(?:(?:minus|negative)\s+|[负負]\s?)(?=[0-9.$€£])", "-", text, flags=re.I
    )
    text = re.sub(r"(?<=[A-Za-z])(?=[\u2e80-\uffdc])|(?<=[\u2e80-\uffdc])(?=[A-Za-z])", " ", text)
    text = re.sub(r"\bper\s+1(?:,?0)+(?![0-9])(?:,0{3})*", " ", text, flags=re.I)
    if re.search(rf"[0-9]\s?[{MONEY}]\s?[0-9]", text):
        raise Unreadable("ambiguous", f"a currency between digits: {text[:40]}")
    text = (
        re.sub(r"(?<=[0-9])\s?(?:m|mm|MM)\b", " million", text)
        if re.search(rf"[{MONEY}]\s?[0-9]", text)
        else text
    )
    return " ".join(CURRENCY.sub("", text).split())


def _read_stated(text, unit):
    """Return (Decimal, the percent sign after it, the scale's exponent of ten) of the one number
    that a text states."""
    check_unit(text, unit)
    if unit and not (SCALED.search(unit) or PERCENT.search(unit)):
        text = text.replace(unit, " ; ", 1) if text.rstrip(" .").endswith(unit) else text
    text = _tidy(text)
    has_notes = not re.search(r"\^\s?\(", text)
    notes = NOTES.findall(text) if has_notes else []
    bare = NOTES.sub(" ", text) if has_notes else text
    label = re.match(r"[^0-9:=]*[^\W\d_][^0-9:=]*[:=](.*)", bare, re.S)
    label = label or LABEL.match(bare[:200])
    outside = label.group(1) if label and re.search("[0-9]", label.group(1)) else bare
    name = bare[: len(bare) - len(outside)]
    if BOUND.search(outside) or BOUND.search(name):
        raise Unreadable("bound", "a limit or a range is not a value")
    if DIRECTION.search(outside) or DIRECTION.search(name):
        raise Unreadable("ambiguous", "a direction told in words")
    if SCALED.search(name) and not SCALED.search(unit):
        raise Unreadable("ambiguous", f"a scale beside the number: {name[:40]}")
    value, sign, exponent = _read_outside(re.sub(r"±\s?[0-9.,]+", " ", outside))
    for note in map("".join, notes):
        _check_note(note, value.scaleb(exponent), sign)
    return value, sign, exponent


def check_unit(text, unit):
    """Raise Unreadable for a measure that is not of the event's unit, where that is known."""
    for chinese, english in CHINESE_MONEY.items():
        text = text.replace(chinese, f" {english} ")
        unit = unit.replace(chinese, f" {english} ")
    text = re.sub(r"per cent\b|°\s(?=[CF]\b)", lambda found: found.group().replace(" ", ""), text)
    wanted = {name for name, words in MEASURES.items() if words.search(unit)} | (
        {"%"} if "point" in unit else set()
    )
    named = {name for name, words in MEASURES.items() if words.search(text)} if unit else set()
    if named - wanted:
        raise Unreadable("another unit", f"{sorted(named - wanted)[0]}, not {unit}")


def _check_note(note, value, sign):
    """Raise Unreadable for a bracket that says another number, or a scale that the number before it
    lacks."""
    if not SCALED.search(note) and not re.fullmatch(r"[-+~≈0-9.,%\s]*[0-9][0-9.,%\s]*", note):
        return
    try:
        other, other_sign, exponent = _read_outside(note.strip())
    except Unreadable:
        raise Unreadable("ambiguous", f"a bracket beside the number: {note[:40]}") from None
    if other.scaleb(exponent) != value or bool(sign) != bool(other_sign):
        raise Unreadable("several numbers", f"{value.normalize():f}, {note[:20]}")


def _read_outside(text):
    """Return what `_read_stated` does of a text without its label and brackets, all of which must
    be understood."""
    value, start, end = _read_fraction(text) or _read_power(text) or _read_token(text)
    before = text[:start]
    after = text[end:]
    sign = re.search(r"(?:^|[\s~≈=])([-+])(\s*)$", before)
    if sign:
        before = before[: sign.start(1)]
        if sign.group(2) and before.strip(" ~≈="):
            raise Unreadable("ambiguous", f"a minus or a dash: {text[:40]}")
        value = -value if sign.group(1) == "-" else value
    elif re.search(r"[-+*/^×·]\s*$|[.,'_]$", before):
        raise Unreadable("not a number", text[:40])
    exponent = 0
    scale = SCALE.match(after)
    while scale:
        word, letter, chinese = scale.groups()
        exponent += SCALES[word.casefold() if word else letter or chinese]
        after = after[scale.end() :]
        scale = SCALE.match(after)
    if UNSURE_SCALE.match(after):
        raise Unreadable("ambiguous", "a unit or a scale: " + after[:4].strip())
    percent = PERCENT.match(after)
    _check_rest(before.lstrip(" ="), after[percent.end() :] if percent else after, text)
    if not math.isfinite(float(value.scaleb(exponent))):
        raise Unreadable("not a number", text[:40])
    return value, percent.group().strip().casefold() if percent else "", exponent


def _check_rest(before, after, text):
    """Raise Unreadable unless what stands beside a number can only be its unit or the words "about
    so much"."""
    rest = re.sub(
        r"(?<=[A-Za-z])(?:\^\s?-?)?[0-9](?![0-9])", "", f"{before} ; {after}"
    )  # m^2, m3, CO2
    rest = re.sub(r"(?<=[^\W\d_])-(?=[^\W\d_])", " ", rest)
    if re.search("[0-9]", rest):
        raise Unreadable("several numbers", text[:40])
    changed = RESCALED.search(rest) or re.search(rf"(?i:{MONTH})", rest)
    if changed:
        raise Unreadable("ambiguous", f"{changed.group()!r} beside the number")
    is_strange = any(
        char.isalpha() and ord(char) > 0x24F and char != "μ" for char in CHINESE_UNIT.sub("", rest)
    )
    if (
        is_strange
        or not REST.fullmatch(rest)
        or "%" in rest
        or re.search(r"[~≈*]|^\s*[:/]\s*$|^:", after)
    ):
        raise Unreadable("not a number", text[:40])
    if before.startswith(":") or re.search(r"[^\W\d_]\s+0[0-9]", text):
        raise Unreadable("not a number", text[:40])
    if PROSE.search(rest) or len(rest.split()) > MAX_WORDS:
        raise Unreadable("prose", text[:40])


def _read_fraction(text):
    match = FRACTION.search(text)
    if not match or re.search("[0-9]", text[: match.start()] + text[match.end() :]):
        return None
    whole, above, below = match.groups()
    if int(below) == 0:
        raise Unreadable("not a number", "a division by zero")
    return Decimal(int(whole or 0)) + Decimal(int(above)) / Decimal(int(below)), *match.span()


def _read_power(text):
    match = POWER.fullmatch(text.strip(" +"))
    return (Decimal(1).scaleb(int(match.group(1))), 0, len(text)) if match else None


def _read_token(text):
    tokens = list(TOKEN.finditer(text))
    if not tokens:
        word = text.strip(" .").casefold()
        if word in WORDS:
            return Decimal(WORDS.index(word)), 0, len(text)
        raise Unreadable("ambiguous" if re.search("[0-9]", text) else "not a number", text[:40])
    if len(tokens) > 1:
        raise Unreadable(
            "several numbers", ", ".join(token.group("digits") for token in tokens[:3])
        )
    token = tokens[0]
    value = read_digits(token["digits"]).scaleb(int(token["e"] or token["ten"] or 0))
    if re.match(r"[A-Za-z]+[0-9]", text[token.end() :]):
        raise Unreadable("not a number", text[:40])
    return value, *token.span()


def read_digits(digits):
    """Return the Decimal that digits with separators write; raises Unreadable where they have no
    single reading.

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
