"""What in a page that an agent saw may tell what was not known at its moment: its date, hindsight,
an answer.

The rules fail closed: what cannot be dated, or may be of a day that had not ended, is flagged. None
repeats a page's text: findings name words and dates.
"""

import re
from datetime import date

import pandas as pd

from daybefore.web.news import end_day
from helpers.calendar import blank_dates, find_dates
from helpers.files import parse_json
from helpers.tables import MOMENT_FORM

DATED = ("earlier", "unsure", "later", "undated")
"""What a publication date is against a moment, the best first; unsure: of a day, or a time without
a zone, that may not have ended before it."""
LATER = re.compile(
    r"\b(?:later|subsequently|eventually)\b(?! (?:in the|that|this|today|than|date|stage|phase|round)\b)",
    re.I,
)
PLAN = re.compile(
    r"\b(?:will|would|shall|to|until|till|from|by|before|after|for|effective|beginning|starting|schedul\w*|expect\w*"
    r"|plan\w*|upcoming|next|deadline|postpon\w*|delay\w*|set|due|extend\w*|ahead|calls?|term|attacks?|movement)\b",
    re.I,
)
"""Words by which a sentence that names a day to come speaks of plans (or of a name that holds a
date)."""
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")
WORD = re.compile(r"[^\W_]+(?:[.][0-9]+)?")
WORDS_SHARED = 0.5
"""Share of a question's words that a line has in common with it when it speaks of the same
thing."""
EARLIEST, LATEST = pd.Timedelta(hours=14), pd.Timedelta(hours=12)
"""How far clocks on Earth lie before and behind UTC."""


def date_page(published, moment):
    """Return which of DATED a page's publication date is: a moment, a day, or whatever was found
    there.

    >>> moment = pd.Timestamp("2025-10-01T00:00:00+08:00")
    >>> [date_page(found, moment) for found in ("2025-09-29", "2025-09-30", "2025-10-14", "undated", "2025-02-31")]
    ['earlier', 'unsure', 'later', 'undated', 'undated']
    """
    text = published.strip() if isinstance(published, str) else ""
    try:
        if re.fullmatch(MOMENT_FORM, text):
            first = last = pd.Timestamp(text)
        elif re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            first = pd.Timestamp(text, tz="UTC") - EARLIEST
            last = pd.Timestamp(end_day(text), unit="s", tz="UTC")
        elif re.fullmatch(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?", text):
            first = pd.Timestamp(text, tz="UTC") - EARLIEST
            last = pd.Timestamp(text, tz="UTC") + LATEST
        else:
            return "undated"
    except ValueError:  # a day that does not exist
        return "undated"
    if last < moment:
        return "earlier"
    return "later" if first >= moment else "unsure"


def find_hindsight(text, day):
    """Return the hindsight in a text that is said to be of a day: words and dates, in its order, []
    for none.

    A sentence shows it by `later`, `subsequently` or `eventually` (not `later this week`), or by
    naming a day to come without a word of plans. It is a rule, and finds too much: what came later
    on the same day, too.

    >>> find_hindsight("He is shot. He dies two months later on August 11, and is mourned.", date(2025, 6, 7))
    ['later']
    >>> find_hindsight("A vote is set for 4 June 2025. His body was found on June 4.", date(2025, 6, 2))
    ['2025-06-04']
    """
    hints = []
    for sentence in SENTENCE.split(text):
        found = [word[0].lower() for word in LATER.finditer(sentence)]
        if not found and not PLAN.search(sentence):
            found = [str(named) for named in list_days(sentence, day) if named > day]
        hints += found[:1]
    return hints


def list_days(text, day):
    """Return the whole dates that a text names; one without a year is of the year of `day`."""
    found = []
    for named in find_dates(text):
        try:
            found += [date(named.year or day.year, named.month, named.day)] if named.day else []
        except ValueError:  # such as 31 June
            continue
    return found


def tell_answer(event, value):
    """Return the texts by which a page can tell an event's answer: its right options, or the value
    as it is printed.

    [] for yes and no, which no word of a page tells.

    >>> tell_answer({"kind": "multi", "options": '{"A": "Oslo", "B": "Rome"}'}, '["B", "A"]')
    ['Rome', 'Oslo']
    >>> tell_answer({"kind": "single", "options": '{"A": "Yes", "B": "No"}'}, '"A"')
    []
    """
    options = parse_json(event["options"]) or {}
    value = parse_json(value)
    values = value if isinstance(value, list) else [] if value is None else [value]
    texts = [
        str(options.get(given, f"{given:g}" if isinstance(given, float) else given))
        for given in values
    ]
    return [text for text in texts if text.casefold() not in ("yes", "no")]


def list_siblings(event, events, answers):
    """Return [(prompt, answer as text)] of the questions of an event's cluster that were open at
    its moment.

    `answers` maps event_ids to lists of texts (`tell_answer`); the event's own is never read.
    """
    own = events["event_id"].eq(event["event_id"])
    is_same = events["cluster_id"].eq(event["cluster_id"])
    is_open = pd.to_datetime(events["resolves_at"], utc=True) >= pd.Timestamp(event["as_of"])
    rows = events[is_same & is_open & ~own]
    return [
        (row.prompt, text) for row in rows.itertuples() for text in answers.get(row.event_id, ())
    ]


def states_answer(text, prompt, answer):
    """Say whether a line of a text holds an answer word for word and speaks of the question.

    It does when it has WORDS_SHARED of the words of the question's first line, but for those of
    every text (`the`, `will`), of the answer and of dates. Without such words, or an answer,
    nothing is stated.

    >>> states_answer("Cup: Brazil beats Chile in the final.", "Who wins the Cup final, Brazil or Peru?", "Brazil")
    True
    >>> states_answer("Brazil votes.", "Who wins the Cup final, Brazil or Peru?", "Brazil")
    False
    """
    from sklearn.feature_extraction.text import (
        ENGLISH_STOP_WORDS,
    )  # here: it takes half a second to import

    wanted = list_words(answer)
    asked = set(list_words(blank_dates(prompt.partition("\n")[0]))) - {*ENGLISH_STOP_WORDS, *wanted}
    if not wanted or not asked:
        return False
    for words in map(list_words, text.splitlines()):
        is_told = any(
            words[at : at + len(wanted)] == wanted for at in range(len(words) - len(wanted) + 1)
        )
        if is_told and len(asked & set(words)) >= WORDS_SHARED * len(asked):
            return True
    return False


def list_words(text):
    """Return a text's words in small letters; numbers without the commas between thousands.

    >>> list_words("The Fed: 1,250.5 points!")
    ['the', 'fed', '1250.5', 'points']
    """
    return WORD.findall(re.sub(r"(?<=\d),(?=\d{3}\b)", "", text.casefold()))
