"""FutureX's past questions and the news: what a search finds for a question, and what it may give away.

No table of findings holds a text: passages and questions stand as ids, counts and labels.
"""

import re

import pandas as pd
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from helpers.files import ROOT
from studies.futurex.leaks import audit_pages, find_answers, list_siblings, list_words, states_answer, tell_answer

READINGS = ROOT / "data/labels/past_readings.csv"
"""What a language model read in passages of window P's questions: a row a question that was read, ids and labels."""

MOST_NAMES = 0.5
"""A passage is about a question when it holds more than this share of its names."""


def list_names(question):
    """Return the names in a question: its words with a capital, of three letters or more, but for common words."""
    words = re.findall(r"[^\W\d_]{3,}", question)
    return {word for word in words if word[0].isupper() and word.casefold() not in {*ENGLISH_STOP_WORDS, "did", "does"}}


def measure_touch(question, texts):
    """Return the largest share of a question's names that one of some passages holds; 0 where it names nothing.

    >>> passages = ["Hungary votes.", "It rained."]
    >>> measure_touch("Who wins in Hungary?", passages), measure_touch("Will Orban win in Hungary?", passages)
    (1.0, 0.5)
    """
    names = list_names(question.partition("\n")[0])
    held = [len(names & set(re.findall(r"[^\W\d_]{3,}", text))) for text in texts]
    return max(held, default=0) / len(names) if names else 0.0


def label_touch(events, passages):
    """Return by event_id how far its passages touch its question: "most names", "some names" or "no name"."""
    texts = passages.groupby("event_id")["text"].agg(list)
    shares = [measure_touch(row.prompt, texts.get(row.event_id, [])) for row in events.itertuples()]
    labels = ["most names" if share > MOST_NAMES else "some names" if share else "no name" for share in shares]
    return pd.Series(labels, index=events["event_id"])


def search_news(events, world, n):
    """Return the passages that a search for each event's question finds as of its start: a row a passage, best first.

    Columns: event_id, place (from 1), page_id, url, published_at, text. The texts are for this process only.
    """
    rows = [
        (event["event_id"], place, hit.page_id, hit.url, hit.published_at, hit.text)
        for event in events.sort_values("as_of").to_dict("records")
        for place, hit in enumerate(world.search(event["prompt"], event["as_of"], n), 1)
    ]
    return pd.DataFrame(rows, columns="event_id place page_id url published_at text".split())


def tell_answers(events, answers):
    """Return the texts by which a page can tell each event's answer, by event_id (`leaks.tell_answer`)."""
    values = answers.set_index("event_id")["value"]
    return {event["event_id"]: tell_answer(event, values[event["event_id"]]) for event in events.to_dict("records")}


def audit_window(events, answers, passages):
    """Return (a row an event, a row an answer found) of passages that a search found for each (`search_news`).

    Of an event: event_id, cluster_id, as_of, n_passages, n_news, is_told (a text can tell its answer), n_answers and
    the auditor's flags. Of an answer found: event_id, cluster_id, as_of, page_id, place, page_day, days_before.
    """
    texts = tell_answers(events, answers)
    rows = []
    found = []
    for event in events.sort_values(["as_of", "event_id"]).to_dict("records"):
        pages = passages[passages["event_id"] == event["event_id"]]
        told = find_answers(pages, event["prompt"], texts[event["event_id"]])["page_id"].unique()
        flags = audit_pages(event["as_of"], pages, list_siblings(event, events, texts, by=["cluster_id"]))
        about = {name: event[name] for name in ("event_id", "cluster_id", "as_of")}
        counts = flags.groupby("flag")["page_id"].nunique().to_dict()
        is_told = bool(texts[event["event_id"]])
        n_news = int(pages["page_id"].str.startswith("n").sum())
        facts = {"n_passages": len(pages), "n_news": n_news, "is_told": is_told, "n_answers": len(told)}
        rows.append(about | facts | counts)
        firsts = pages[pages["page_id"].isin(told)].drop_duplicates("page_id")
        firsts = firsts.assign(page_day=firsts["published_at"].str[:10], **about)
        found += firsts[[*about, "page_id", "place", "page_day"]].to_dict("records")
    found = pd.DataFrame(found, columns=["event_id", "cluster_id", "as_of", "page_id", "place", "page_day"])
    before = pd.to_datetime(found["as_of"].str[:10]) - pd.to_datetime(found["page_day"])
    return pd.DataFrame(rows).fillna(0), found.assign(days_before=before.dt.days)


PLANTS = ("nearest passage", "and all names", "all names, a short answer")
"""How an answer is planted in a real passage: written after it; with the question's names that it lacks; and with the
last word of an answer of several words alone."""


def plant_answers(events, answers, passages):
    """Return whether `find_answers` finds answers that were planted in real passages: a row an event, a column a way.

    Of `PLANTS`, 1 or 0, blank where it cannot be planted. The passage is the one found with most words of the question.
    """
    rows = {}
    for event in events.to_dict("records"):
        told = tell_answers(pd.DataFrame([event]), answers)[event["event_id"]]
        question = event["prompt"]
        texts = passages.loc[passages["event_id"] == event["event_id"], "text"]
        if not told or texts.empty:
            continue
        asked = set(list_words(question.partition("\n")[0])) - {*ENGLISH_STOP_WORDS, *list_words(told[0])}
        near = max(texts, key=lambda text: len(asked & set(list_words(text))))
        named = " ".join([near, *sorted(list_names(question.partition("\n")[0]))])
        words = list_words(told[0])
        lines = (f"{near} {told[0]}", f"{named} {told[0]}", f"{named} {words[-1]}" if len(words) > 1 else None)
        rows[event["event_id"]] = [line and float(states_answer(line, question, told[0])) for line in lines]
    return pd.DataFrame.from_dict(rows, orient="index", columns=PLANTS).astype(float)
