"""15,000 seeded replies with a known answer, written in a random manner: read right, or not at all, never wrong.

Each reply is built from its answer, so the oracle needs no parser. Replies that hold no single answer (ranges,
refusals, chatter, a box cut off) must give nothing.
"""

import datetime
import time
from decimal import Decimal

import numpy as np
from faults.table import judge

from helpers.replies.parse import parse_prediction

SLOWEST_S = 0.2
OPTIONS = {"A": "Oslo", "B": "Rome", "C": "Lima", "D": "Port of Spain", "E": "None of these"}
YES_NO = {"A": "Yes", "B": "No"}
NAMES = "AUD|BRL|CAD|Oslo|Rio de Janeiro|Trinidad and Tobago|AT&T|X-ray|Kim Min-ji|St. Louis".split("|")
UNITS = ["", "", "", *r" barrels| °C| points| km|\,\mathrm{km}| \text{ views}| 点|^\circ\text{C}| cases".split("|")]
SCALES = {" thousand": 3, "k": 3, " million": 6, r"\text{ million}": 6, " bn": 9, " billion": 9}
SCALES |= {" lakh": 5, " crore": 7, " thousand million": 9, " lakh crore": 12, "万": 4, "亿": 8}
SCALES |= {r" \times 10^{3}": 3, "e4": 4}
SEPARATORS = [*",|{,}|\\,|'|’|\\text{,}|，|\\ | ".split("|"), "\u202f", "\u2009", "\u00a0"]
POWERS = r"e{}|E+{:02d}| \times 10^{{{}}}|×10^{}|\cdot 10^{}".split("|")
WRAPS = ["{}", "{}", "{}", *r"\text{{{}}}|\mathrm{{{}}}|\mathbf{{{}}}|**{}**| {} |${}$|\;{}".split("|"), "\u200b{}"]
SIGNS = ["", "", "", *r"-|−|–|‑|minus |\textminus |+".split("|")]
PERCENTS = {"{}%": 1, r"{}\%": 1, "{} percent": 1, "{}": 1, "{} per cent": 1, "{} bps": 100, "{}‰": 10, "{}％": 1}
DATES = "%Y{dash}%m{dash}%d|%Y-%m-%d|%Y%m%d|{d} %B %Y|%B {d}, %Y|%b {nth}, %Y|the {nth} of %B %Y|%A, {d} %B %Y|"
DATES = (DATES + r"%Y年%m月%d日|{d}-%b-%Y|%Y-%m-%dT00:00:00+08:00|%Y\text{{-}}%m\text{{-}}%d").split("|")
SHORT_DATES = ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y"]
NO_DATES = (
    "before %Y-%m-%d|%B {d}|%B %Y|%Y-%m-%d to %Y-12-31|%d/%m/%y|the week of %Y-%m-%d|%Y-%m-%d-%d|mid %B %Y".split("|")
)
LETTERS = r"{0}|{0}|({0})|{0}.|[{0}]|\text{{{0}}}|{1}|{0}. {1}|{0}: {1}|{1} ({0})|**{0}**".split("|")
NOTES = r"{}|{}|{}|{} (1.2%)|{}: 3.4%|{} (12\%)|\text{{{}}}|**{}**|{} (41)".split("|")
WRONG = (
    "{0}-{1}|{0}–{1}|{0} to {1}|> {0}|at least {0}|{0}+|{0} or {1}|not {0}|Oct {0}|{0} dozen|{0} mil|{0}!|{0}_{1}_{0}_"
)
WRONG = (WRONG + r"|half of {0}|{0}×{1}|{0}/0|7{0}^2|\sqrt{{{0}}}|{0}:{1}|{0} ({1})|{0}..{1}|{0}€{1}|twice {0}").split(
    "|"
)
REFUSALS = (
    "I cannot predict this.|N/A|As an AI I am unable to forecast it.|无法预测|unknown|There is not enough data.".split(
        "|"
    )
)
CHATTER = (
    "Service Unavailable|Let me know if you need more!|The vote is in October 2016.|null|HTTP 503|Sorry.\n\n2016|{}|"
)
CHATTER += 'I looked at 3 sources|In my answer I looked at page 5|{"name": "search", "arguments": {}}|See you in 2017'
CHATTER = CHATTER.split("|")
BEFORE = (
    "||Final answer: |**Final answer:** |Weighing it all, in 2016, I say\n\n|<think>5? \\boxed{A}</think>|> |```\n|"
)
BEFORE += "# Answer\n|"
BEFORE += "At first I had \\boxed{7} in mind. It is weaker than this one: |Unlike, for example, \\boxed{3}: "
BEFORE = BEFORE.split("|")
AFTER = "||.|\n|\n```|\n\nThe format \\boxed{answer} is kept.| (as in \\boxed{...})|\n\n---|</s>".split("|")


def frame(reply, pick):
    """Put a reply between what stands before and after boxes."""
    return pick(BEFORE) + reply + pick(AFTER)


def write_digits(value, pick):
    """Write a Decimal that is not negative in one of the ways in which its digits are written."""
    text, how = f"{value:f}", pick(["plain", "grouped", "grouped", "power"])
    if how == "grouped" and value >= 1000:
        return f"{value:,f}".replace(",", pick(SEPARATORS))
    if how == "power" and value >= 10:
        exponent = value.adjusted()
        return f"{value.scaleb(-exponent):f}" + pick(POWERS).format(exponent)
    return text


def write_number(rng, pick):
    """Return (kind, options, reply, value): a number with its sign, scale, unit and notes, in or beside the box."""
    value = Decimal(int(rng.integers(0, 10 ** rng.integers(1, 8)))).scaleb(-int(rng.integers(0, 3)))
    digits, word = write_digits(value, pick), ""
    if rng.random() < 0.4 and not any(mark in digits for mark in "eE×\\^"):
        word = pick(list(SCALES))
    sign = pick(SIGNS)
    number = value.scaleb(SCALES.get(word, 0)) * (1 if sign in ("", "+") else -1)
    lead = pick(["", "", "", "about ", "≈ ", r"\approx ", "~"]) if sign in ("", "-", "−") else ""
    note = "" if word else pick(["", "", "", " (my estimate)", " ± 1", r" \pm 1"])
    unit = pick(UNITS) if word in ("", " million", " thousand") else ""
    if rng.random() < 0.6:
        reply = r"\boxed{" + pick(WRAPS).format(lead + sign + digits + word + unit + note) + "}"
    else:
        reply = pick(["{}", "${}$", "{}"]).format(sign + r"\boxed{" + digits + "}" + (word or unit))
    return "number", None, frame(reply, pick), float(number)


def write_percent(rng, pick):
    value, form = Decimal(int(rng.integers(0, 10_000))).scaleb(-int(rng.integers(0, 3))), pick(list(PERCENTS))
    return "percent", None, frame(r"\boxed{" + form.format(value) + "}", pick), float(value / PERCENTS[form])


def write_date(rng, pick):
    """A date; one that lacks its year, is a limit or may be two days has no value."""
    day = datetime.date(2016, 1, 1) + datetime.timedelta(int(rng.integers(4_000)))
    nth = f"{day.day}{'th' if 10 < day.day < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day.day % 10, 'th')}"
    form = pick(DATES * 3 + SHORT_DATES * 2 + NO_DATES)
    is_known = form in DATES or (form in SHORT_DATES and (day.day > 12 or day.day == day.month))
    text = day.strftime(form).format(d=day.day, nth=nth, dash=pick(list("--‑–−—/.")))
    return "date", None, frame(r"\boxed{" + pick(WRAPS).format(text) + "}", pick), day.isoformat() if is_known else None


def write_letters(rng, pick):
    kind = pick(["single", "multi", "ranking"])
    options = YES_NO if kind == "single" and rng.random() < 0.3 else OPTIONS
    n = {"single": 1, "multi": int(rng.integers(1, 5)), "ranking": len(options)}[kind]
    letters = [str(letter) for letter in rng.permutation(list(options))[:n]]
    gap = pick(
        [", ", ",", ",~", "; ", r",\ ", "\n", *{"single": [], "multi": [" and ", " & "], "ranking": [" > "]}[kind]]
    )
    style = pick(LETTERS)
    text = gap.join(style.format(letter, options[letter]) for letter in letters)
    value = {"single": letters[0], "multi": sorted(letters), "ranking": letters}[kind]
    if rng.random() < 0.3:  # an option that there is not, or a word that takes the answer back
        wrong = [text + gap + "Z", "not " + text, "neither " + text, text + gap + "Atlantis"]
        text, value = pick(wrong[:3] if kind == "single" else wrong), None  # words behind one letter may be its reason
    return kind, options, frame(r"\boxed{" + text + "}", pick), value


def write_names(rng, pick):
    kind, n = pick(["ranking", "list"]), int(rng.integers(2, 6))
    names = [str(name) for name in rng.permutation(NAMES)[:n]]
    note, gap = pick(NOTES), pick(["; ", ";", "\n", r"\\", " > ", "; "])
    marks = pick(["{1}", "{1}", "{1}", "{0}. {1}", "({0}) {1}", "- {1}"] if gap in ("\n", "; ") else ["{1}"])
    shown = [marks.format(place, note.format(name)) for place, name in enumerate(names, 1)]
    last = pick(["", "", "and ", "& "]) if marks == "{1}" and gap != " > " else ""
    spoiled = pick([""] * 8 + ["; etc.", "; or Paris", "; ...", "; unknown"]) if gap == "; " and marks == "{1}" else ""
    text = gap.join([*shown[:-1], last + shown[-1]]) + spoiled
    return kind, None, frame(r"\boxed{" + text + "}", pick), None if spoiled else names


def write_nothing(rng, pick):
    """A reply that holds no single answer of its kind."""
    kind = pick(["number", "percent", "date", "text", "list", "ranking", "single"])
    low, high = int(rng.integers(1, 29)), int(rng.integers(29, 900))
    if kind in ("number", "percent") and rng.random() < 0.5:
        return kind, None, frame(r"\boxed{" + pick(WRONG).format(low, high) + "}", pick), None
    reply = pick([pick(REFUSALS), pick(CHATTER), r"\boxed{" + pick(REFUSALS) + "}", rf"So \boxed{{{low}", r"\boxed{}"])
    return kind, OPTIONS if kind == "single" else None, reply, None


WRITERS = {"number": write_number, "percent": write_percent, "date": write_date, "letters": write_letters}
WRITERS |= {"names": write_names, "no answer": write_nothing}
COLUMNS = ("replies", "right", "none", "wrong", "crashed")


def read_replies(n, seed=7):
    """Return ({writer: counts by COLUMNS and slowest_s}, [(kind, reply, wanted, read) that went wrong])."""
    rng = np.random.default_rng(seed)
    table, failures = {name: dict.fromkeys(COLUMNS, 0) | {"slowest_s": 0.0} for name in WRITERS}, []
    for i in range(n):
        row = table[list(WRITERS)[i % len(WRITERS)]]
        writer = list(WRITERS.values())[i % len(WRITERS)]
        kind, options, reply, wanted = writer(rng, lambda choices: choices[int(rng.integers(len(choices)))])
        started = time.process_time()
        try:
            value = parse_prediction(reply, kind, options)
            result = "right" if value == wanted else "none" if value is None else "wrong"
        except Exception as error:  # whatever it is, it is counted
            value, result = error, "crashed"
        row["slowest_s"] = max(row["slowest_s"], time.process_time() - started)
        row["replies"] += 1
        row[result] += 1
        if result in ("wrong", "crashed"):
            failures.append((kind, reply[:300], wanted, value))
    return table, failures


def play_replies(folder, n=15_000):
    """Read replies with a known answer, written in a random manner."""
    rows = read_replies(n)[0].values()
    faults = {what: sum(row[what] for row in rows) for what in ("wrong", "crashed")}
    faults["slow"] = sum(row["slowest_s"] > SLOWEST_S for row in rows)
    return judge(n, faults, f"{sum(row['right'] for row in rows)} right")


PLAYS = {"fuzzed replies": ("read right, or not at all, within 0.2 s", play_replies)}
