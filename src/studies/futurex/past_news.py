"""FutureX's past questions and the news: what a search finds for a question, and what it may give
away.

No table of findings holds a text: passages and questions stand as ids, counts and labels.
"""

import re

import pandas as pd
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from helpers.files import ROOT
from studies.futurex.leaks import (
    find_hindsight,
    list_siblings,
    list_words,
    states_answer,
    tell_answer,
)

READINGS = ROOT / "data/labels/past_readings.csv"
"""What a language model read in passages of window P's questions: a row a question that was read,
ids and labels."""


def list_names(question):
    """Return the names in a question: its words with a capital, of three letters or more, but for
    common words."""
    words = re.findall(r"[^\W\d_]{3,}", question)
    return {
        word
        for word in words
        if word[0].isupper() and word.casefold() not in {*ENGLISH_STOP_WORDS, "did", "does"}
    }


def search_news(events, world, n):
    """Return the passages that a search for each event's question finds as of its start: a row a
    passage, best first.

    Columns: event_id, place (from 1), page_id, url, published_at, text. The texts are for this
    process only.
    """
    rows = [
        (event["event_id"], place, hit.page_id, hit.url, hit.published_at, hit.text)
        for event in events.sort_values("as_of").to_dict("records")
        for place, hit in enumerate(world.search(event["prompt"], event["as_of"], n), 1)
    ]
    return pd.DataFrame(rows, columns="event_id place page_id url published_at text".split())


def tell_answers(events, answers):
    """Return the texts by which a page can tell each event's answer, by event_id
    (`leaks.tell_answer`)."""
    values = answers.set_index("event_id")["value"]
    return {
        event["event_id"]: tell_answer(event, values[event["event_id"]])
        for event in events.to_dict("records")
    }


def audit_window(events, answers, passages):
    """Return a row an event: how many of the pages that a search found for it (`search_news`) may
    tell something.

    Columns: event_id, cluster_id, hindsight, sibling (tells the answer of another question of its
    cluster that was open), is_told (a text can tell its answer), n_answers (pages that state it).
    """
    texts = tell_answers(events, answers)
    rows = []
    for event in events.sort_values(["as_of", "event_id"]).to_dict("records"):
        own = [(event["prompt"], answer) for answer in texts[event["event_id"]]]
        siblings = list_siblings(event, events, texts)
        found = {"hindsight": set(), "sibling": set(), "n_answers": set()}
        for page in passages[passages["event_id"] == event["event_id"]].itertuples():
            if find_hindsight(page.text, pd.Timestamp(page.published_at).date()):
                found["hindsight"].add(page.page_id)
            if any(states_answer(page.text, *pair) for pair in siblings):
                found["sibling"].add(page.page_id)
            if any(states_answer(page.text, *pair) for pair in own):
                found["n_answers"].add(page.page_id)
        row = {
            "event_id": event["event_id"],
            "cluster_id": event["cluster_id"],
            "is_told": bool(own),
        }
        rows.append(row | {name: len(pages) for name, pages in found.items()})
    return pd.DataFrame(rows)


PLANTS = ("nearest passage", "and all names", "all names, a short answer")
"""How an answer is planted in a real passage: written after it; with the question's names that it
lacks; and with the last word of an answer of several words alone."""


def plant_answers(events, answers, passages):
    """Return whether `states_answer` finds answers that were planted in real passages: a row an
    event, a column a way.

    Of `PLANTS`, 1 or 0, blank where it cannot be planted. The passage is the one found with most
    words of the question.
    """
    rows = {}
    for event in events.to_dict("records"):
        told = tell_answers(pd.DataFrame([event]), answers)[event["event_id"]]
        question = event["prompt"]
        texts = passages.loc[passages["event_id"] == event["event_id"], "text"]
        if not told or texts.empty:
            continue
        asked = set(list_words(question.partition("\n")[0])) - {
            *ENGLISH_STOP_WORDS,
            *list_words(told[0]),
        }
        near = max(texts, key=lambda text: len(asked & set(list_words(text))))
        named = " ".join([near, *sorted(list_names(question.partition("\n")[0]))])
        words = list_words(told[0])
        lines = (
            f"{near} {told[0]}",
            f"{named} {told[0]}",
            f"{named} {words[-1]}" if len(words) > 1 else None,
        )
        rows[event["event_id"]] = [
            line and float(states_answer(line, question, told[0])) for line in lines
        ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=PLANTS).astype(float)
