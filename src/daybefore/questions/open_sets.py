"""Question sets by their window: the tables of any, and the world in which its questions are asked.

A set's tables lie in data/tables, in its folder (questions of one's own, and other projects'), or
are built from public files.
"""

import contextlib
from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from daybefore.questions.series_pages import open_series
from daybefore.web.replay import Replay, open_world
from daybefore.web.session import Web
from helpers.files import read_table
from helpers.public_files import locate_public
from helpers.set_names import PUBLIC_WINDOWS, QuestionSet, find_set, is_day, read_about
from helpers.sets import load_set
from helpers.tables import check_table

NEWS = "news/current_events.tar.gz"
"""What agents may search in public windows."""


def has_builder(one: QuestionSet) -> bool:
    """Tell whether a set's events are built from public files wherever they are needed."""
    return bool(one.folder and read_about(one.folder).get("builder"))


def has_runs(one: QuestionSet) -> bool:
    """Tell whether a set has its tables in its folder, runs among them, as those of other projects
    do."""
    return bool(one.folder and not {"builder", "tables"} & set(read_about(one.folder)))


def read_window(name: str, window: str) -> pd.DataFrame:
    """Return the table `events` or `answers` of any window."""
    one = find_set(window)
    if has_builder(one) or has_runs(one):
        return check_table(name, getattr(load_set(one.folder), name))
    return read_table(name, one.window)


def list_articles(window: str) -> list[Path]:
    """Return the paths of what a window's world publishes beside the replay: for a public window
    dated news.

    They begin after the questions of window E, which has none.
    """
    return [locate_public(NEWS)] if window in PUBLIC_WINDOWS and window != "E" else []


def open_window(window: str, articles: Iterable = (), **options: Any) -> AbstractContextManager:
    """Return a context whose value returns a world to search (`replay.open_world`): that of a
    window.

    Window L's has its series' pages, and articles where there are some (`questions.series_pages`);
    the world of a set of questions of one's own has articles alone.
    """
    if has_runs(find_set(window)):
        return open_articles(articles)
    if window == "L":
        articles = tuple(str(Path(path).resolve()) for path in articles)
        open_series(
            articles
        )  # here, so that what is wrong with them is told before anything is asked
        return contextlib.nullcontext(partial(open_series, articles))
    return open_world(day=window if is_day(window) else None, articles=articles, **options)


def open_articles(articles: Iterable = ()) -> AbstractContextManager:
    """Return a context whose value returns a world of dated articles alone; without any nothing is
    in it."""
    pages = Replay({}, articles=[str(Path(path).resolve()) for path in articles])
    return contextlib.nullcontext(partial(Web, pages, {}, pages.feeds, keeps_pages=True))
