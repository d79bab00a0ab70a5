"""What a page that an agent saw may tell of what was not known at its moment: its date, hindsight,
an answer; and how much of that the public news holds.

The rules fail closed: what cannot be dated, or may be of a day that had not ended, is flagged. No
table here holds a text: pages, lines and questions stand as addresses, numbers, words and ids.
"""

import re
from datetime import date
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from daybefore.web.news_articles import end_day
from helpers.clock import blank_dates, find_dates
from helpers.files import ROOT, parse_json
from helpers.means import measure_share, summarize_clustered
from helpers.tables import MOMENT_FORM

LABELS = ROOT / "data/labels/news_hindsight.csv"
"""Lines in which the rule finds hindsight, read by a language model: does it tell of a later day?
Ids, no text."""
UNFLAGGED = ROOT / "data/labels/news_unflagged.csv"
"""Lines in which the rule finds nothing, drawn by a hash and read in the same way. Ids, no text."""
READINGS = ROOT / "data/labels/past_readings.csv"
"""What a language model read in passages of window P's questions: a row a question that was read,
ids and labels."""

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
PLANTS = ("nearest passage", "and all names", "all names, a short answer")
"""How an answer is planted in a real passage: written after it; with the question's names that it
lacks; and with the last word of an answer of several words alone."""


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


def summarize_flags(rows):
    """Return the share of retrievals (published, trading_day, url) by what their date is (`DATED`)
    as of their day, and of all that are not surely earlier ("flagged").

    The interval is by host: pages of a site are dated alike, or not at all. Columns flag, n, share,
    low, high, n_hosts.
    """
    days = [pd.Timestamp(f"{day}T00:00:00+08:00") for day in rows["trading_day"]]
    found = np.array(list(map(date_page, rows["published"], days)))
    flags = {flag: found == flag for flag in DATED} | {"flagged": found != DATED[0]}
    shown = pd.DataFrame(flags, rows.index)
    hosts = rows["url"].map(lambda url: urlsplit(url).hostname)
    names = {"mean": "share", "n_clusters": "n_hosts"}
    table = summarize_clustered(shown, hosts).rename(columns=names).assign(n=shown.sum())
    return table[["n", "share", "low", "high", "n_hosts"]].rename_axis("flag").reset_index()


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


def list_lines(feed):
    """Return a row for each line of a feed of current events: page, line, day, year, hint (""
    without any)."""
    rows = []
    for article in feed.articles:
        day = article.path.partition("/")[0]
        for line, text in enumerate(article.paragraphs):
            hints = find_hindsight(text, date.fromisoformat(day))
            rows.append((article.path, line, day, day[:4], hints[0] if hints else ""))
    return pd.DataFrame(rows, columns=["page", "line", "day", "year", "hint"])


def summarize_hindsight(lines):
    """Return the share of lines in which the rule finds hindsight by year, and of all: year, lines,
    share, low, high.

    Lines of a day are correlated: the interval is by day (`summarize_clustered`).
    """
    is_found = lines["hint"].ne("").rename("share")
    parts = {year: is_found[part] for year, part in lines.groupby("year").groups.items()}
    found = [summarize_clustered(part, lines["day"]) for part in (*parts.values(), is_found)]
    table = pd.concat(found).assign(year=[*parts, "all"])
    names = {"n": "lines", "mean": "share"}
    return table.rename(columns=names)[["year", "lines", "share", "low", "high"]]


def weigh_labels(lines, labels, is_flagged=True):
    """Return the shares of labelled lines that surely tell of a later day ("yes"), and that may
    ("yes" or "open").

    Columns reading, n, share, low, high. Raises ValueError for a label of a line in which the rule
    finds nothing, or with `is_flagged` false of one in which it finds something.
    """
    known = lines[lines["hint"].ne("") == is_flagged]
    n_stray = len(labels) - len(
        labels.merge(known, on=list({"page", "line", "hint"} & set(labels)))
    )
    if n_stray:
        finds = "nothing" if is_flagged else "something"
        raise ValueError(f"{n_stray} labels are of lines in which the rule finds {finds}")
    readings = {"surely later": ["yes"], "perhaps later": ["yes", "open"]}
    shares = {name: measure_share(labels["label"].isin(words)) for name, words in readings.items()}
    return pd.DataFrame.from_dict(shares, orient="index").rename_axis("reading").reset_index()


def pool_readings(lines, flagged, unflagged):
    """Return the share of all lines that tell of a later day, from both strata of lines read
    (`weigh_labels`).

    Columns reading, share, low, high, found: the strata's shares weighted by their lines; the ends
    by the distances of the strata's own ends, squared and added (Zou and Donner 2008); `found` is
    the part that the rule finds, blank where there is none.
    """
    weight = lines["hint"].ne("").mean()
    ends = ["share", "low", "high"]
    one = weight * flagged[ends]
    two = (1 - weight) * unflagged[ends]
    table = (one + two)[["share"]].assign(reading=flagged["reading"])
    for end, sign in (("low", -1), ("high", 1)):
        gaps = np.hypot(one[end] - one["share"], two[end] - two["share"])
        table[end] = table["share"] + sign * gaps
    return table.assign(found=one["share"] / table["share"])[["reading", *ends, "found"]]


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
    wanted = list_words(answer)
    asked = list_asked(blank_dates(prompt.partition("\n")[0]), wanted)
    if not wanted or not asked:
        return False
    for words in map(list_words, text.splitlines()):
        starts = range(len(words) - len(wanted) + 1)
        is_told = any(words[at : at + len(wanted)] == wanted for at in starts)
        if is_told and len(asked & set(words)) >= WORDS_SHARED * len(asked):
            return True
    return False


def list_words(text):
    """Return a text's words in small letters; numbers without the commas between thousands.

    >>> list_words("The Fed: 1,250.5 points!")
    ['the', 'fed', '1250.5', 'points']
    """
    return WORD.findall(re.sub(r"(?<=\d),(?=\d{3}\b)", "", text.casefold()))


def list_asked(question, answer):
    """Return the words of a question but for those of every text and of the answer."""
    return set(list_words(question)) - ENGLISH_STOP_WORDS - {*answer}


def tell_answers(events, answers):
    """Return the texts by which a page can tell each event's answer, by event_id: its right
    options, or the value as it is printed; [] for yes and no, which no word of a page tells.

    >>> events = pd.DataFrame({"event_id": ["e", "f"], "options": ['{"A": "Oslo", "B": "Rome"}', '{"A": "Yes"}']})
    >>> tell_answers(events, pd.DataFrame({"event_id": ["e", "f"], "value": ['["B", "A"]', '"A"']}))
    {'e': ['Rome', 'Oslo'], 'f': []}
    """
    values = answers.set_index("event_id")["value"].map(parse_json)
    told = {}
    for event in events.itertuples():
        options = parse_json(event.options) or {}
        value = values[event.event_id]
        right = value if isinstance(value, list) else [value]
        texts = [str(options.get(one, one)) for one in right]
        told[event.event_id] = [text for text in texts if text.casefold() not in ("yes", "no")]
    return told


def search_news(events, world, n):
    """Return the passages that a search for each event's question finds as of its start: a row a
    passage, best first.

    Columns: event_id, page_id, published_at, text. The texts are for this process only.
    """
    rows = [
        (event.event_id, hit.page_id, hit.published_at, hit.text)
        for event in events.sort_values("as_of").itertuples()
        for hit in world.search(event.prompt, event.as_of, n)
    ]
    return pd.DataFrame(rows, columns="event_id page_id published_at text".split())


def audit_window(events, answers, passages):
    """Return a row an event: how many of the pages that a search found for it (`search_news`) may
    tell something.

    Columns: event_id, cluster_id, is_told (a text can tell its answer), hindsight, n_answers (pages
    that state it).
    """
    told = tell_answers(events, answers)
    asked = passages.merge(events[["event_id", "prompt"]], on="event_id")
    flags = asked[["event_id", "page_id"]].assign(
        hindsight=[
            bool(find_hindsight(page.text, pd.Timestamp(page.published_at).date()))
            for page in asked.itertuples()
        ],
        n_answers=[
            any(states_answer(page.text, page.prompt, one) for one in told[page.event_id])
            for page in asked.itertuples()
        ],
    )
    pages = flags.groupby(["event_id", "page_id"]).any().groupby("event_id").sum()
    rows = events.sort_values(["as_of", "event_id"])[["event_id", "cluster_id"]]
    rows = rows.assign(is_told=[bool(told[event_id]) for event_id in rows["event_id"]])
    counts = pages.reindex(rows["event_id"], fill_value=0).reset_index(drop=True)
    return rows.reset_index(drop=True).join(counts)


def plant_answers(events, answers, passages):
    """Return whether `states_answer` finds answers that were planted in real passages: a row an
    event, a column a way.

    Of `PLANTS`, 1 or 0, blank where it cannot be planted. The passage is the one found with most
    words of the question.
    """
    told = tell_answers(events, answers)
    texts = passages.groupby("event_id")["text"].agg(list)
    rows = {}
    for event in events.itertuples():
        if not told[event.event_id] or event.event_id not in texts:
            continue
        answer = told[event.event_id][0]
        words = list_words(answer)
        question = event.prompt.partition("\n")[0]
        asked = list_asked(question, words)
        near = max(texts[event.event_id], key=lambda text: len(asked & set(list_words(text))))
        named = " ".join([near, *list_names(question)])
        lines = [f"{near} {answer}", f"{named} {answer}"]
        lines += [f"{named} {words[-1]}"] if len(words) > 1 else []
        found = [float(states_answer(line, event.prompt, answer)) for line in lines]
        rows[event.event_id] = dict(zip(PLANTS, found, strict=False))
    return pd.DataFrame.from_dict(rows, orient="index", columns=PLANTS)


def list_names(question):
    """Return the names in a question: its words with a capital, of three letters or more, but for
    common words."""
    words = set(re.findall(r"[^\W\d_]{3,}", question))
    common = {*ENGLISH_STOP_WORDS, "did", "does"}
    return sorted(word for word in words if word[0].isupper() and word.casefold() not in common)
