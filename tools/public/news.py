"""Dated news and what it leaks: hindsight in its lines, pages that agents retrieved,
answers stated."""

import pandas as pd

from daybefore.formats.public_sets import FILE, build_past
from daybefore.questions.open_sets import NEWS
from daybefore.web.news_articles import read_feed
from daybefore.web.replay import open_world
from helpers.public_files import locate_public
from studies.futurex import news_leaks

RETRIEVALS = "leaks/ai_trader_retrievals.csv"
SOURCES = {
    "news_years": [NEWS],
    "news_readings": [NEWS],
    "news_retrievals": [RETRIEVALS],
    "news_past_audit": [NEWS, FILE],
}
N_PASSAGES = 20
"""Passages that are searched for each of the past questions."""


def build():
    """Return the tables of `SOURCES`; what each is about is said where it is made."""
    path, (events, answers, _) = locate_public(NEWS), build_past()
    feed = read_feed(path)
    lines = news_leaks.list_lines(feed)
    with open_world(articles=[path]) as connect:
        passages = news_leaks.search_news(events, connect(), N_PASSAGES)
    return {
        "news_years": news_leaks.summarize_hindsight(lines),
        "news_readings": weigh_readings(lines),
        "news_retrievals": news_leaks.summarize_flags(pd.read_csv(locate_public(RETRIEVALS))),
        "news_past_audit": audit_past(events, answers, passages),
    }


def weigh_readings(lines):
    """Return the shares of lines read as later, where the rule finds something, where it does not,
    and of all lines."""
    flagged = news_leaks.weigh_labels(lines, pd.read_csv(news_leaks.LABELS))
    rest = news_leaks.weigh_labels(lines, pd.read_csv(news_leaks.UNFLAGGED), is_flagged=False)
    pooled = news_leaks.pool_readings(lines, flagged, rest)
    named = {
        "the rule finds something": flagged,
        "the rule finds nothing": rest,
        "all lines, weighted": pooled,
    }
    return pd.concat([part.assign(lines=name) for name, part in named.items()], ignore_index=True)


def audit_past(events, answers, passages):
    """Return a row a past question: pages flagged, answers stated, planted answers found, and a
    reader's label.

    hindsight, n_answers: pages flagged, or that state the answer, where is_told (a text
    can tell it); near, named, short: whether a planted answer is found (`news_leaks.PLANTS`);
    reading: what a language model read there (`news_leaks.READINGS`).
    """
    table = news_leaks.audit_window(events, answers, passages).set_index("event_id")
    planted = news_leaks.plant_answers(events, answers, passages)
    table[["near", "named", "short"]] = planted.reindex(table.index).to_numpy()
    table["reading"] = pd.read_csv(news_leaks.READINGS).set_index("event_id")["reading"]
    return table.astype({"is_told": int}).reset_index()
