"""An auditor of the pages that an agent saw: what in them may tell what was not known at its moment.

It reads dates and texts and is blind to the answer. It fails closed: what cannot be dated, or may be of a day that had
not ended, is flagged. Whether the answer itself stands in what was seen is measured apart (`find_answers`). Neither
repeats a page's text: findings name pages, words and dates.
"""

import re
from datetime import date

import pandas as pd

from daybefore.web.news import end_day
from helpers.calendar import blank_dates, find_dates
from helpers.files import parse_json
from helpers.tables import MOMENT_FORM

FLAGS = {
    "undated": "no date that can be read",
    "later": "published at the moment or after it",
    "unsure": "of a day, or a time without a zone, that may not have ended before the moment",
    "revised": "says that it was changed at the moment or after it, or stands there with two contents of one date",
    "hindsight": "words of one who knows what came after its day",
    "sibling": "tells the answer of a question of the same group that was open at the moment",
}
"""What a page can be flagged for."""
LATER = re.compile(
    r"\b(?:later|subsequently|eventually)\b(?! (?:in the|that|this|today|than|date|stage|phase|round)\b)", re.I
)
PLAN = re.compile(
    r"\b(?:will|would|shall|to|until|till|from|by|before|after|for|effective|beginning|starting|schedul\w*|expect\w*"
    r"|plan\w*|upcoming|next|deadline|postpon\w*|delay\w*|set|due|extend\w*|ahead|calls?|term|attacks?|movement)\b",
    re.I,
)
"""Words by which a sentence that names a day to come speaks of plans (or of a name that holds a date)."""
CHANGED = re.compile(r"\b(?:updated|revised|corrected|modified)\b[^.\n]{0,30}$", re.I)
"""How a text says that the date which follows is that of a change."""
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")
WORD = re.compile(r"[^\W_]+(?:[.][0-9]+)?")
WORDS_SHARED = 0.5
"""Share of a question's words that a line has in common with it when it speaks of the same thing."""
EARLIEST, LATEST = pd.Timedelta(hours=14), pd.Timedelta(hours=12)
"""How far clocks on Earth lie before and behind UTC."""


def audit_pages(as_of, pages, siblings=()):
    """Return the findings about pages that were seen as of a moment, a row a page and flag: page_id, flag, detail.

    `pages` has page_id and published_at (a moment, a day, or whatever was found there) and, where known, url,
    content_sha256 and text, a passage a line. `siblings` are (prompt, answer) of questions that were open at the moment
    (`list_siblings`). Raises ValueError for a moment without an offset, or without these columns.

    >>> pages = pd.DataFrame({"page_id": ["p1", "p2", "p3"], "published_at": ["2025-10-14", "undated", "2025-09-29"]})
    >>> audit_pages("2025-10-01T00:00:00+08:00", pages)[["page_id", "flag"]].values.tolist()
    [['p1', 'later'], ['p2', 'undated']]
    """
    moment = pd.Timestamp(as_of)
    if moment.tzinfo is None:
        raise ValueError(f"as_of {as_of!r} has no offset from UTC; write it like 2016-10-10T00:00:00+08:00")
    if absent := {"page_id", "published_at"} - set(pages):
        raise ValueError(f"pages have no column {min(absent)!r}")
    twice = set()
    if {"url", "content_sha256"} <= set(pages):
        known = pages.dropna(subset=["url", "content_sha256"])
        n_contents = known.groupby(["url", "published_at"], dropna=False)["content_sha256"].transform("nunique")
        twice = set(known.loc[n_contents > 1, "page_id"])
    found = []
    for page in pages.to_dict("records"):
        span = read_span(page["published_at"])
        flags = []
        if span is None:
            flags.append(("undated", ""))
        elif span[1] >= moment:
            flags.append(("later" if span[0] >= moment else "unsure", str(page["published_at"])))
        if page["page_id"] in twice:
            flags.append(("revised", "two contents of one date"))
        if isinstance(text := page.get("text"), str):
            day = (span[0] + (span[1] - span[0]) / 2).date() if span else moment.date()
            named = [(at, named) for at, named in list_days(text, day) if named >= moment.date()]
            flags += [("revised", f"changed {named}") for at, named in named if CHANGED.search(text[:at])][:1]
            flags += [("hindsight", hint) for hint in find_hindsight(text, day)[:1]]
            flags += [("sibling", str(n)) for n, pair in enumerate(siblings) if states_answer(text, *pair)]
        found += [(page["page_id"], *flag) for flag in flags]
    return pd.DataFrame(found, columns=["page_id", "flag", "detail"])


def read_span(published):
    """Return the earliest and the latest moment that a publication date can stand for, None for what is no date.

    >>> [str(moment) for moment in read_span("2025-10-01")]
    ['2025-09-30 10:00:00+00:00', '2025-10-02 12:00:00+00:00']
    >>> read_span("undated"), read_span(None), read_span("2025-02-31")
    (None, None, None)
    """
    text = published.strip() if isinstance(published, str) else ""
    try:
        if re.fullmatch(MOMENT_FORM, text):
            return (pd.Timestamp(text),) * 2
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return pd.Timestamp(text, tz="UTC") - EARLIEST, pd.Timestamp(end_day(text), unit="s", tz="UTC")
        if re.fullmatch(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?", text):
            return pd.Timestamp(text, tz="UTC") - EARLIEST, pd.Timestamp(text, tz="UTC") + LATEST
    except ValueError:  # a day that does not exist
        pass
    return None


def find_hindsight(text, day):
    """Return the hindsight in a text that is said to be of a day: words and dates, in its order, [] for none.

    A sentence shows it by `later`, `subsequently` or `eventually` (not `later this week`), or by naming a day to come
    without a word of plans. It is a rule, and finds too much: what came later on the same day, too.

    >>> find_hindsight("He is shot. He dies two months later on August 11, and is mourned.", date(2025, 6, 7))
    ['later']
    >>> find_hindsight("A vote is set for 4 June 2025. His body was found on June 4.", date(2025, 6, 2))
    ['2025-06-04']
    """
    hints = []
    for sentence in SENTENCE.split(text):
        found = [word[0].lower() for word in LATER.finditer(sentence)]
        if not found and not PLAN.search(sentence):
            found = [str(named) for _, named in list_days(sentence, day) if named > day]
        hints += found[:1]
    return hints


def list_days(text, day):
    """Return (place, date) of the whole dates that a text names; one without a year is of the year of `day`."""
    found = []
    for named in find_dates(text):
        try:
            found += [(named.start, date(named.year or day.year, named.month, named.day))] if named.day else []
        except ValueError:  # such as 31 June
            continue
    return found


# --- answers ---------------------------------------------------------------------------------------------------------


def tell_answer(event, value):
    """Return the texts by which a page can tell an event's answer: its right options, or the value as it is printed.

    [] for yes and no, which no word of a page tells.

    >>> tell_answer({"kind": "multi", "options": '{"A": "Oslo", "B": "Rome"}'}, '["B", "A"]')
    ['Rome', 'Oslo']
    >>> tell_answer({"kind": "single", "options": '{"A": "Yes", "B": "No"}'}, '"A"')
    []
    """
    options = parse_json(event["options"]) or {}
    value = parse_json(value)
    values = value if isinstance(value, list) else [] if value is None else [value]
    texts = [str(options.get(given, f"{given:g}" if isinstance(given, float) else given)) for given in values]
    return [text for text in texts if text.casefold() not in ("yes", "no")]


def find_answers(pages, prompt, answers):
    """Return the pages that state an answer to a question (`states_answer`): page_id, and which of `answers`, from 0.

    This is the measure for whoever holds the answers, not the auditor's.
    """
    rows = [
        (page_id, place)
        for page_id, text in zip(pages["page_id"], pages["text"], strict=True)
        for place, answer in enumerate(answers)
        if states_answer(text, prompt, answer)
    ]
    return pd.DataFrame(rows, columns=["page_id", "place"])


def list_siblings(event, events, answers, by=("template_id", "entity_id")):
    """Return [(prompt, answer as text)] of the questions of an event's group that were open at its moment.

    A group is what is equal, and not blank, in all columns `by`. `answers` maps event_ids to lists of texts
    (`tell_answer`); the event's own is never read.
    """
    own = events["event_id"].eq(event["event_id"])
    same = [events[column].eq(event[column]) & events[column].notna() for column in by]
    is_open = pd.to_datetime(events["resolves_at"], utc=True) >= pd.Timestamp(event["as_of"])
    rows = events[pd.concat(same, axis=1).all(axis=1) & is_open & ~own]
    return [(row.prompt, text) for row in rows.itertuples() for text in answers.get(row.event_id, ())]


def states_answer(text, prompt, answer):
    """Say whether a line of a text holds an answer word for word and speaks of the question.

    It does when it has WORDS_SHARED of the words of the question's first line, but for those of every text (`the`,
    `will`), of the answer and of dates. Without such words, or an answer, nothing is stated.

    >>> states_answer("Cup: Brazil beats Chile in the final.", "Who wins the Cup final, Brazil or Peru?", "Brazil")
    True
    >>> states_answer("Brazil votes.", "Who wins the Cup final, Brazil or Peru?", "Brazil")
    False
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # here: it takes half a second to import

    wanted = list_words(answer)
    asked = set(list_words(blank_dates(prompt.partition("\n")[0]))) - {*ENGLISH_STOP_WORDS, *wanted}
    if not wanted or not asked:
        return False
    for words in map(list_words, text.splitlines()):
        is_told = any(words[at : at + len(wanted)] == wanted for at in range(len(words) - len(wanted) + 1))
        if is_told and len(asked & set(words)) >= WORDS_SHARED * len(asked):
            return True
    return False


def list_words(text):
    """Return a text's words in small letters; numbers without the commas between thousands.

    >>> list_words("The Fed: 1,250.5 points!")
    ['the', 'fed', '1250.5', 'points']
    """
    return WORD.findall(re.sub(r"(?<=\d),(?=\d{3}\b)", "", text.casefold()))
