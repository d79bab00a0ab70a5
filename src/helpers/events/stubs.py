"""Question stubs from clusters of dated articles: stories that are being told, and whether they go on.

Lines of the last weeks are grouped by their words; a group that several days tell of is a story. What comes after the
opening is held against the story's own words, so a stub resolves itself: does the story return, how often, which of
several most. The words serve a reader only: what is kept of a stub are ids, counts and dates.
"""

import numpy as np
import pandas as pd
from sklearn.cluster import AgglomerativeClustering
from sklearn.feature_extraction.text import TfidfVectorizer

from helpers.calendar import ZONE, stamp_moment
from helpers.store import check_table, dump_json
from helpers.web.news import tell_day
from helpers.web.render import format_period

BACK_DAYS, AHEAD_DAYS = 28, 60
"""Days before an opening whose lines are grouped, and days after it in which a story may go on."""
QUIET_DAYS = 30
"""A story returns when it is told again after so many days: that it goes on tomorrow is no question."""
YEAR_DAYS = 365
MIN_LINES, MIN_DAYS = 4, 3
LIKENESS = 0.2
"""Least mean likeness of a group's lines, a cosine over words weighted by rarity; nearer 0, groups lose their story."""
N_WORDS, N_RIVALS = 5, 5


def list_lines(articles):
    """Return articles (`web.news.Article`) as a row a line: line_id, published (epoch seconds), day, text."""
    rows = [
        (f"{article.path}#{n}", article.published, tell_day(article.published), text)
        for article in articles
        for n, text in enumerate(article.paragraphs)
    ]
    return pd.DataFrame(rows, columns=["line_id", "published", "day", "text"])


def find_stories(lines, opens_at):
    """Return (stories, model): what lines public before a moment tell of on several days, the largest first.

    A story is a dict of line_ids, n_lines, n_days, first, last, words, centre (a unit vector) and bar, the likeness to
    the centre that all of its own lines reach. `model` turns lines into vectors. ([], None) with too few lines, and
    where no word that counts stands in two.
    """
    end = int(pd.Timestamp(opens_at).timestamp())
    recent = lines[(lines["published"] < end) & (lines["published"] >= end - BACK_DAYS * 86400)]
    if len(recent) < 2 * MIN_LINES:
        return [], None
    model = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=2)
    try:
        vectors = model.fit_transform(recent["text"])
    except ValueError:  # no word is left: all are stop words, or stand once
        return [], None
    apart = 1 - np.clip((vectors @ vectors.T).toarray(), 0, 1)
    grouping = AgglomerativeClustering(None, metric="precomputed", linkage="average", distance_threshold=1 - LIKENESS)
    stories = []
    for _, places in pd.Series(np.arange(len(recent))).groupby(grouping.fit_predict(apart)):
        own = recent.iloc[places]
        if len(own) >= MIN_LINES and own["day"].nunique() >= MIN_DAYS:
            stories.append(describe_story(own, vectors[places.to_numpy()], model))
    return sorted(stories, key=lambda story: (-story["n_lines"], story["line_ids"])), model


def describe_story(own, vectors, model):
    """Return a story of its lines and their vectors, as `find_stories` says."""
    centre = np.asarray(vectors.mean(axis=0)).ravel()
    centre /= np.linalg.norm(centre)
    words = model.get_feature_names_out()[np.argsort(-centre, kind="stable")[:N_WORDS]]
    counts = {"n_lines": len(own), "n_days": own["day"].nunique(), "first": own["day"].min(), "last": own["day"].max()}
    bar = float((vectors @ centre).min()) - 1e-9  # a line is as like it as itself
    return {"line_ids": sorted(own["line_id"]), "words": list(words), "centre": centre, "bar": bar} | counts


def follow_stories(stories, model, lines, opens_at):
    """Return a table of the lines after a moment that go on with a story: story (its place) and days after the opening.

    A line goes on with the story that it is most like, if it is as like its centre as any of the story's own.
    """
    start = int(pd.Timestamp(opens_at).timestamp())
    later = lines[(lines["published"] >= start) & (lines["published"] < start + AHEAD_DAYS * 86400)]
    if later.empty or not stories:
        return pd.DataFrame({"story": [], "days": []}).astype({"story": int, "days": float})
    alike = model.transform(later["text"]) @ np.array([story["centre"] for story in stories]).T
    is_told = alike >= np.array([story["bar"] for story in stories])
    best = np.where(is_told, alike, -1).argmax(axis=1)
    table = pd.DataFrame({"story": best, "days": (later["published"].to_numpy() - start) / 86400})
    return table[is_told.any(axis=1)].reset_index(drop=True)


def name_stories(stories, opens_at):
    """Return the stories' ids: the day of the opening, and their place."""
    return [f"S-{opens_at:%Y%m%d}-{n:02}" for n in range(len(stories))]


def find_returns(told, n_stories):
    """Return whether each story is told again after `QUIET_DAYS`, from the lines that go on with it (an array).

    >>> find_returns(pd.DataFrame({"story": [0, 1], "days": [29.0, 30.0]}), 3).tolist()
    [False, True, False]
    """
    return np.isin(np.arange(n_stories), told.loc[told["days"] >= QUIET_DAYS, "story"])


def compare_years(lines, opens_at, days=YEAR_DAYS):
    """Return whether each story returns, and whether the same rule says so a year away: what its words alone earn.

    A year away few stories can still be told, so that is a placebo: it does not say that the story goes on, only that
    its bar is low (the more lines a story has, the lower is the likeness that all of them reach). A year later counts,
    or, where the feed does not cover that, a year earlier; blank where it covers neither. A story that does last
    makes the placebo larger, so the excess is a floor. Columns story_id, n_lines, bar, returns, placebo, away (days).
    """
    opens_at = pd.Timestamp(opens_at, tz=ZONE)
    stories, model = find_stories(lines, opens_at)
    table = pd.DataFrame({"story_id": name_stories(stories, opens_at)})
    table = table.assign(**{name: [story[name] for story in stories] for name in ("n_lines", "bar")})
    table["returns"] = find_returns(follow_stories(stories, model, lines, opens_at), len(stories)).astype(float)
    for away in (days, -days):
        moment = opens_at + pd.Timedelta(days=away)
        if is_covered(lines, moment):
            told = follow_stories(stories, model, lines, moment)
            return table.assign(placebo=find_returns(told, len(stories)).astype(float), away=away)
    return table.assign(placebo=np.nan, away=np.nan)


def is_covered(lines, opens_at):
    """Say whether nine of ten days after a moment in which a story may go on have a line."""
    start = int(pd.Timestamp(opens_at).timestamp())
    later = lines[(lines["published"] >= start) & (lines["published"] < start + AHEAD_DAYS * 86400)]
    return later["day"].nunique() >= 0.9 * AHEAD_DAYS


def make_stubs(lines, opens_at):
    """Return (events, answers, stories) of one opening: for each story whether it returns and how often it is told.

    And which of the largest is told most. Columns of the tables; `stories` has story_id, n_lines, n_days, first, last.
    """
    opens_at = pd.Timestamp(opens_at, tz=ZONE)
    stories, model = find_stories(lines, opens_at)
    told, names = follow_stories(stories, model, lines, opens_at), name_stories(stories, opens_at)
    counts = told["story"].value_counts().reindex(range(len(stories)), fill_value=0)
    returns = find_returns(told, len(stories))
    made = []
    for n, name in enumerate(names):
        made.append((f"{name}-returns", "single", {"A": "Yes", "B": "No"}, "A" if returns[n] else "B", name))
        made.append((f"{name}-count", "number", None, int(counts[n]), name))
    rivals = counts[:N_RIVALS]
    if len(rivals) >= 3 and rivals.max() > rivals.drop(rivals.idxmax()).max():  # a tie has no right option
        letters = {chr(ord("A") + n): names[n] for n in rivals.index}
        made.append((f"S-{opens_at:%Y%m%d}-most", "single", letters, chr(ord("A") + int(rivals.idxmax())), "all"))
    events = [write_stub(*row, opens_at) for row in made]
    answers = [{"event_id": row[0], "value": dump_json(row[3]), "status": "ok", "method": "clusters"} for row in made]
    about = [
        {"story_id": name} | {key: story[key] for key in ("n_lines", "n_days", "first", "last")}
        for name, story in zip(names, stories, strict=True)
    ]
    tables = [
        check_table(name, pd.DataFrame(rows) if rows else pd.DataFrame(columns=["event_id"]))
        for name, rows in (("events", events), ("answers", answers))
    ]
    return *tables, pd.DataFrame(about, columns=["story_id", "n_lines", "n_days", "first", "last"])


ASKED = {
    "returns": "Will a line of the feed that is public from {quiet} to {end} go on with story {story}?",
    "count": "How many lines of the feed that are public from {start} to {end} will go on with story {story}?",
    "most": "Which of these stories will most lines of the feed that are public from {start} to {end} go on with?",
}


def write_stub(event_id, kind, options, value, story, opens_at):
    """Return a stub's row of the events table; its words name the story by its id alone."""
    ask, end = event_id.rsplit("-", 1)[1], opens_at + pd.Timedelta(days=AHEAD_DAYS)
    days = {"start": opens_at, "quiet": opens_at + pd.Timedelta(days=QUIET_DAYS), "end": end}
    days = {name: format_period(str(day.date())) for name, day in days.items()}
    lines = [ASKED[ask].format(story=story, **days)] + [f"{letter}. {text}" for letter, text in (options or {}).items()]
    return {
        "event_id": event_id,
        "paper": "worldreasoner",
        "task": "forecast",
        "cluster_id": event_id.rsplit("-", 1)[0],
        "source_id": "news_clusters",
        "variables": dump_json({"ask": ask, "entity": story, "date": str(end.date())}),
        "prompt": "\n".join(lines),
        "kind": kind,
        "options": dump_json(options),
        "unit": "lines" if kind == "number" else "",
        "opens_at": stamp_moment(opens_at),
        "resolves_at": stamp_moment(end),
        "resolution_criteria": f"Lines as like the story's centre as any of its own, public by {days['end']}.",
        "provenance": "clusters of dated news",
        "is_synthetic": False,
        "metadata": dump_json({"question_type": "yes_no" if ask == "returns" else ""}),
    }
