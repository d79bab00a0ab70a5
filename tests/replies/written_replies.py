"""Seeded replies with a known answer, written in a random manner: read right, or not at all,
never wrong.

Each reply is built from its answer, so the oracle needs no parser. Replies that hold no single
answer (ranges, refusals, chatter, a box cut off) must give nothing.
"""

import datetime
from decimal import Decimal

import numpy as np

from daybefore.replies.parse_reply import parse_prediction

OPTIONS = {"A": "Oslo", "B": "Rome", "C": "Lima", "D": "Port of Spain", "E": "None of these"}
NAMES = "AUD|Oslo|Rio de Janeiro|Trinidad and Tobago|AT&T|X-ray|Kim Min-ji|St. Louis".split("|")
SCALES = {
    "k": 3,
    " million": 6,
    r"\text{ million}": 6,
    " bn": 9,
    " lakh": 5,
    "万": 4,
    r" \times 10^{3}": 3,
    "e4": 4,
}
UNITS = ["", "", "", *r" barrels| °C|\,\mathrm{km}| 点|^\circ\text{C}".split("|")]
SEPARATORS = [*",|{,}|\\,|'|’|\\text{,}|，| ".split("|"), "\u202f", "\u00a0"]
POWERS = r"e{}|E+{:02d}| \times 10^{{{}}}|×10^{}".split("|")
WRAPS = [
    "{}",
    "{}",
    "{}",
    *r"\text{{{}}}|\mathrm{{{}}}|**{}**| {} |${}$|\;{}".split("|"),
    "\u200b{}",
]
SIGNS = ["", "", "", *"-|−|–|minus |\\textminus |+".split("|")]
PERCENTS = {"{}%": 1, r"{}\%": 1, "{} percent": 1, "{}": 1, "{} bps": 100, "{}‰": 10, "{}％": 1}
DATES = "%Y{dash}%m{dash}%d|%Y%m%d|{d} %B %Y|%B {d}, %Y|%b {nth}, %Y|the {nth} of %B %Y|%Y年%m月%d日|{d}-%b-%Y".split(
    "|"
)
SHORT_DATES = ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y"]
NO_DATES = "before %Y-%m-%d|%B {d}|%B %Y|%Y-%m-%d to %Y-12-31|%d/%m/%y|the week of %Y-%m-%d".split(
    "|"
)
LETTERS = r"{0}|({0})|{0}.|\text{{{0}}}|{1}|{0}. {1}|{1} ({0})|**{0}**".split("|")
NOTES = r"{}|{}|{}|{} (1.2%)|{} (12\%)|\text{{{}}}|**{}**".split("|")
WRONG = "{0}-{1}|{0} to {1}|> {0}|at least {0}|{0}+|{0} or {1}|not {0}|Oct {0}|{0} dozen|{0}!|half of {0}|{0}/0".split(
    "|"
)
REFUSALS = "I cannot predict this.|N/A|As an AI I am unable to forecast it.|无法预测|unknown".split(
    "|"
)
CHATTER = "HTTP 503|Let me know if you need more!|The vote is in October 2016.|null|Sorry.\n\n2016|{}|".split(
    "|"
)
CHATTER += ["In my answer I looked at page 5", '{"name": "search", "arguments": {}}']
BEFORE = [
    "",
    "",
    "Final answer: ",
    "In 2016, I say\n\n",
    "<think>5? \\boxed{A}</think>",
    "```\n",
    "# Answer\n",
]
BEFORE += [
    "At first I had \\boxed{7} in mind. It is weaker than this one: ",
    "Unlike, for example, \\boxed{3}: ",
]
AFTER = [
    "",
    "",
    ".",
    "\n```",
    "\n\nThe format \\boxed{answer} is kept.",
    " (as in \\boxed{...})",
    "\n\n---",
    "</s>",
]


def frame(reply, pick):
    """Put a reply between what stands before and after boxes."""
    return pick(BEFORE) + reply + pick(AFTER)


def write_number(rng, pick):
    """Return (kind, options, reply, value): a number with its sign, scale, unit and notes, in or
    beside the box."""
    value = Decimal(int(rng.integers(0, 10 ** rng.integers(1, 8)))).scaleb(-int(rng.integers(0, 3)))
    digits, how, word, sign = (
        f"{value:f}",
        pick(["plain", "grouped", "grouped", "power"]),
        "",
        pick(SIGNS),
    )
    if how == "grouped" and value >= 1000:
        digits = f"{value:,f}".replace(",", pick(SEPARATORS))
    elif how == "power" and value >= 10:
        digits = f"{value.scaleb(-value.adjusted()):f}" + pick(POWERS).format(value.adjusted())
    elif rng.random() < 0.5:
        word = pick(list(SCALES))
    number = value.scaleb(SCALES.get(word, 0)) * (1 if sign in ("", "+") else -1)
    lead = pick(["", "", "about ", "≈ ", r"\approx ", "~"]) if sign in ("", "-", "−") else ""
    note = "" if word else pick(["", "", " (my estimate)", " ± 1", r" \pm 1"])
    unit = pick(UNITS) if word in ("", " million") else ""
    if rng.random() < 0.6:
        reply = r"\boxed{" + pick(WRAPS).format(lead + sign + digits + word + unit + note) + "}"
    else:
        reply = sign + r"\boxed{" + digits + "}" + (word or unit)
    return "number", None, frame(reply, pick), float(number)


def write_percent(rng, pick):
    value, form = (
        Decimal(int(rng.integers(0, 10_000))).scaleb(-int(rng.integers(0, 3))),
        pick(list(PERCENTS)),
    )
    return (
        "percent",
        None,
        frame(r"\boxed{" + form.format(value) + "}", pick),
        float(value / PERCENTS[form]),
    )


def write_date(rng, pick):
    """A date; one that lacks its year, is a limit or may be two days has no value."""
    day = datetime.date(2016, 1, 1) + datetime.timedelta(int(rng.integers(4_000)))
    nth = f"{day.day}{'th' if 10 < day.day < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day.day % 10, 'th')}"
    form = pick(DATES * 3 + SHORT_DATES * 2 + NO_DATES)
    is_known = form in DATES or (form in SHORT_DATES and (day.day > 12 or day.day == day.month))
    text = day.strftime(form).format(d=day.day, nth=nth, dash=pick(list("--‑–−—/.")))
    return (
        "date",
        None,
        frame(r"\boxed{" + pick(WRAPS).format(text) + "}", pick),
        day.isoformat() if is_known else None,
    )


def write_letters(rng, pick):
    """Letters of options; a letter that there is not, or a word that takes the answer back, leaves
    no value."""
    kind = pick(["single", "multi", "ranking"])
    n = {"single": 1, "multi": int(rng.integers(1, 5)), "ranking": len(OPTIONS)}[kind]
    letters, style = [str(letter) for letter in rng.permutation(list(OPTIONS))[:n]], pick(LETTERS)
    more = {"single": [], "multi": [" and ", " & "], "ranking": [" > "]}[kind]
    gap = pick([", ", ",", "; ", r",\ ", "\n", *more])
    text = gap.join(style.format(letter, OPTIONS[letter]) for letter in letters)
    value = {"single": letters[0], "multi": sorted(letters), "ranking": letters}[kind]
    if rng.random() < 0.3:
        text, value = pick([text + gap + "Z", "not " + text, "neither " + text]), None
    return kind, OPTIONS, frame(r"\boxed{" + text + "}", pick), value


def write_names(rng, pick):
    kind, names = (
        pick(["ranking", "list"]),
        [str(name) for name in rng.permutation(NAMES)[: int(rng.integers(2, 6))]],
    )
    note, gap = pick(NOTES), pick(["; ", ";", "\n", r"\\", " > "])
    marks = pick(["{1}", "{0}. {1}", "({0}) {1}", "- {1}"]) if gap == "\n" else "{1}"
    text = gap.join(marks.format(place, note.format(name)) for place, name in enumerate(names, 1))
    spoiled = pick([""] * 4 + ["; etc.", "; or Paris", "; ..."]) if gap == "; " else ""
    return kind, None, frame(r"\boxed{" + text + spoiled + "}", pick), None if spoiled else names


def write_nothing(rng, pick):
    """A reply that holds no single answer of its kind."""
    kind = pick(["number", "percent", "date", "text", "list", "ranking", "single"])
    low, high = int(rng.integers(1, 29)), int(rng.integers(29, 900))
    if kind in ("number", "percent") and rng.random() < 0.5:
        return kind, None, frame(r"\boxed{" + pick(WRONG).format(low, high) + "}", pick), None
    reply = pick(
        [
            pick(REFUSALS),
            pick(CHATTER),
            r"\boxed{" + pick(REFUSALS) + "}",
            rf"So \boxed{{{low}",
            r"\boxed{}",
        ]
    )
    return kind, OPTIONS if kind == "single" else None, reply, None


WRITERS = (write_number, write_percent, write_date, write_letters, write_names, write_nothing)


def read_replies(n, seed=7):
    """Return ({writer: share read right}, what went wrong) of seeded replies."""
    rng, right, wrong = np.random.default_rng(seed), dict.fromkeys(WRITERS, 0), []

    def pick(choices):
        return choices[int(rng.integers(len(choices)))]

    for i in range(n):
        writer = WRITERS[i % len(WRITERS)]
        kind, options, reply, wanted = writer(rng, pick)
        value = parse_prediction(reply, kind, options)
        right[writer] += value == wanted
        if value is not None and value != wanted:
            wrong.append(f"{kind} {reply[:300]!r}: {value!r}, not {wanted!r}")
    return {writer.__name__: count * len(WRITERS) / n for writer, count in right.items()}, wrong
