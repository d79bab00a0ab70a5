"""Dated news and what it leaks: coverage, hindsight in its lines, pages that agents retrieved,
answers stated."""

import pandas as pd

from daybefore.formats.public_sets import FILE, build_past
from daybefore.questions.sets import NEWS
from daybefore.web.news import read_feed
from daybefore.web.replay import open_world
from helpers.public_files import locate_public
from helpers.question_sets import list_days
from studies.futurex import news_lines, past_news

RETRIEVALS = "leaks/ai_trader_retrievals.csv"
SOURCES = {
    "news_years": [NEWS],
    "news_readings": [NEWS],
    "news_age": [NEWS, FILE],
    "news_retrievals": [RETRIEVALS],
    "news_past_audit": [NEWS, FILE],
}
N_PASSAGES = 20
"""Passages that are searched for each of the past questions."""


def build():
    """Return the tables of `SOURCES`; what each is about is said where it is made."""
    path, (events, answers, _) = locate_public(NEWS), build_past()
    feed = read_feed(path)
    lines = news_lines.list_lines(feed)
    with open_world(articles=[path]) as connect:
        world = connect()
        age = list_ages(world, feed, events)
        passages = past_news.search_news(events, world, N_PASSAGES)
    return {
        "news_years": news_lines.summarize_hindsight(lines),
        "news_readings": weigh_readings(lines),
        "news_age": age,
        "news_retrievals": news_lines.summarize_flags(pd.read_csv(locate_public(RETRIEVALS))),
        "news_past_audit": audit_past(events, answers, passages),
    }


def list_ages(world, feed, events):
    """Return how old the newest visible page is on each start day of two question sets
    (`news_lines.list_visible`)."""
    moments = {"october-2016": [f"{day}T00:00:00+08:00" for day in list_days("A")]}
    moments["futurex-past"] = sorted(events["as_of"].unique())
    parts = [
        news_lines.list_visible(world, feed.address, days).assign(set=name)
        for name, days in moments.items()
    ]
    return pd.concat(parts, ignore_index=True)


def weigh_readings(lines):
    """Return the shares of lines read as later, where the rule finds something, where it does not,
    and of all lines."""
    flagged = news_lines.weigh_labels(lines, pd.read_csv(news_lines.LABELS))
    rest = news_lines.weigh_labels(lines, pd.read_csv(news_lines.UNFLAGGED), is_flagged=False)
    pooled = news_lines.pool_readings(lines, flagged, rest)
    named = {
        "the rule finds something": flagged,
        "the rule finds nothing": rest,
        "all lines, weighted": pooled,
    }
    return pd.concat([part.assign(lines=name) for name, part in named.items()], ignore_index=True)


def audit_past(events, answers, passages):
    """Return a row a past question: pages flagged, answers stated, planted answers found, and a
    reader's label.

    hindsight, sibling, n_answers: pages flagged, or that state the answer, where is_told (a text
    can tell it); near, named, short: whether a planted answer is found (`past_news.PLANTS`);
    reading: what a language model read there (`past_news.READINGS`).
    """
    table = past_news.audit_window(events, answers, passages).set_index("event_id")
    planted = past_news.plant_answers(events, answers, passages)
    table[["near", "named", "short"]] = planted.reindex(table.index).to_numpy()
    table["reading"] = pd.read_csv(past_news.READINGS).set_index("event_id")["reading"]
    return table.astype({"is_told": int}).reset_index()
