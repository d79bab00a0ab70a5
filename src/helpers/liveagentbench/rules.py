"""Rules that answer a question from a table: what is asked, of which column, names and dates, told by the words alone.

They were written beside the questions, so their score says how far rules reach here and nothing about questions of
others.
"""

import re

import pandas as pd

from helpers.liveagentbench.asks import ASKS, COUNTS, format_answer
from helpers.liveagentbench.readers import read_dates

PLACES = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
RULES = (
    ("rises", r"how (?:many times|often)\b.*\b(?:rise|rose|higher than)"),
    ("above", r"how many\b.*\b(?:above|over|more than) (?P<arg>[\d.,]+)"),
    ("mean", r"\b(?:average|mean)\b.*\bto (?P<arg>\d) decimals?|\b(?P<arg2>\d) decimals?"),
    ("range", r"how far apart"),
    ("change", r"\bchange"),
    ("total", r"\b(?:total|in all|altogether|together|add up|added)\b"),
    ("rank", r"\b(?P<arg>first|second|third|fourth|fifth)\b(?: in| place|,|\?)"),
    ("mover", r"\b(?:gained|rose) most\b"),
    ("gap", r"\b(?:more|higher|fuller|dearer)\b.*\bthan\b"),
    ("peak", r"(?:which|what) (?:day|date|time|hour|week|episode)\b.*\b(?:highest|most|heaviest|largest)"),
    ("trough", r"(?:(?:which|what) (?:day|date|time|hour|week|episode)|^when)\b.*\b(?:lowest|fewest|cheapest|least)"),
    ("highest", r"\b(?:which|who|where)\b.*\b(?:highest|most|largest|fullest|led|left)\b"),
    ("lowest", r"\b(?:which|who|where|these)\b.*\b(?:lowest|fewest|cheapest|smallest)\b"),
    ("max", r"\b(?:highest|maximum|largest)\b"),
    ("min", r"\b(?:lowest|minimum|smallest)\b"),
)
"""What is asked -> the words by which it is known, tried in this order; without any, one value is asked for."""


def read_ask(question):
    """Return (what is asked, its argument) by the first rule whose words stand in the question.

    >>> read_ask("On how many days was it above 75 °F?"), read_ask("Who came second?"), read_ask("What was it?")
    (('above', '75'), ('rank', '2'), ('value', ''))
    """
    for ask, words in RULES:
        match = re.search(words, question, re.I | re.S)
        if match:
            arg = next((group for group in match.groups() if group), "")
            return ask, str(PLACES.get(arg.lower(), arg.replace(",", "")))
    return "value", ""


def answer_question(question, table):
    """Return a question's answer from a table's rows, None when the rules find none."""
    ask, arg = read_ask(question)
    rows = select_rows(question, table)
    if rows.empty:
        return None
    if ask == "gap":
        arg = order_names(question, rows["entity"].unique())
    try:
        value = ASKS[ask](rows, arg)
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    decimals = max(len(text.partition(".")[2]) for text in rows["text"])
    return format_answer(value, 0 if ask in COUNTS else int(arg) if ask == "mean" else decimals)


def select_rows(question, table):
    """Return the rows a question is about (occurred_at, entity, value, text): its column, its names, its dates."""
    words = set(re.findall(r"\w+", question.casefold()))
    heading = max(
        dict.fromkeys(table["heading"]),
        key=lambda heading: len(words & set(re.findall(r"[^\W\d]{2,}", heading.casefold()))),
    )
    kept = table[table["heading"] == heading]
    names = order_names(question, kept["entity"].unique())
    kept = kept[kept["entity"].isin([*names, ""])] if names else kept
    kept = kept[keep_dates(kept["occurred_at"], read_dates(question))]
    clean = kept["text"].str.replace(",", "")
    kept = kept.assign(value=pd.to_numeric(clean, errors="coerce"), text=clean)
    return kept.dropna(subset="value")


def order_names(question, names):
    """Return those of some names that stand in the question, in order; a name inside a longer one does not count.

    >>> order_names("Food at home or All items?", ["All items", "Food at home", "Food", "Milk"])
    ['Food at home', 'All items']
    """
    text, found = question, []
    for name in sorted(names, key=len, reverse=True):
        at = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
        if at:
            found.append((at.start(), name))
            text = text[: at.start()] + "\0" * len(name) + text[at.end() :]
    named = [name for _, name in sorted(found)]
    than = re.search(r"than (?:in |for |that of )?", question)
    is_turned = len(named) == 2 and than and question.find(named[0]) == than.end() and "did" in question[than.end() :]
    return named[::-1] if is_turned else named


def keep_dates(dates, asked):
    """Return which dates a question asks about: all for none, a span for two, the day or time for one.

    Where no row is dated, as in a chart of one moment, all are kept.
    """
    if not asked or dates.eq("").all():
        return pd.Series(True, index=dates.index)
    if len(asked) == 1:
        return dates.str.startswith(asked[0])
    return (dates >= asked[0]) & (dates <= asked[-1] + ("T99" if "T" not in asked[-1] else ""))
