"""The series of window L as a web: one page a source, as it stood at a moment, nothing later than
it.

A page shows the last values of each series that were public strictly before the moment
(`long_questions.cut_series`), a passage a series. A reader's own articles may stand beside the
series, by the rules of the replay web (`web.news_articles`).
"""

from bisect import bisect_left
from functools import lru_cache

import pandas as pd

from daybefore.questions.long_questions import cut_series, load_series, read_series
from daybefore.questions.question_types import measure_entities
from daybefore.web.extract_values import COLUMNS
from daybefore.web.render_pages import format_period
from daybefore.web.replay import Replay
from daybefore.web.session import Answer, Web, name_page
from daybefore.web.source_registry import head_column
from helpers.files import hash_text

N_SHOWN = 8
"""Values of a series that a page shows, the latest."""


class SeriesPages(Replay):
    """Answers for the pages of window L's sources and, as the replay web does, for those of
    articles."""

    def __init__(self, articles=()):
        super().__init__(load_series(), articles=articles)

    def answer(self, url, clock):
        """Return the `Answer` of a page as of a moment."""
        source = self.sources.get(url)
        page = source and write_page(source, pd.Timestamp(clock + 1, unit="s", tz="UTC"))
        return Answer(200, "text/plain", *page) if page else super().answer(url, clock)

    def name_page(self, url, text, digest, is_held):
        """Return a page's id; that of a series page is a digest of its passages."""
        is_series = url in self.sources
        return (
            f"l{hash_text(text.partition(chr(10))[2], 15)}"
            if is_series
            else name_page(url, text, digest, is_held)
        )


class SeriesWeb(Web):
    """A web of window L's sources and of articles, in which a source's values are read from its
    series.

    A search finds each passage that fits, several of a source.
    """

    def __init__(self, articles=()):
        pages = SeriesPages(articles)
        super().__init__(pages, load_series(), pages.feeds, by_passage=True)

    def observe(self, source_id, as_of):
        """Return (observations, page_id) of a source as of a moment: all its values that were
        public before, long.

        Columns occurred_at, entity, variable, value, as `Web.observe` has them. Raises ValueError
        for a source that window L does not have, GatewayError where nothing was public by then.
        """
        if source_id not in self.sources:
            raise ValueError(f"{source_id!r} is no source of window L (data/horizons.toml)")
        parts = [
            cut_series(source_id, name, as_of)
            .stack()
            .dropna()
            .rename("value")
            .reset_index()
            .assign(variable=name)
            for name in self.sources[source_id].variables
        ]
        table = pd.concat(parts, ignore_index=True)[COLUMNS]
        page_id = self.fetch(self.sources[source_id].address, as_of).page_id
        return table.sort_values(["variable", "occurred_at", "entity"], ignore_index=True), page_id

    def recall(self, source_id, as_of, variables):
        """Return (past of what an event asks about, page_id): dates x entities, in the measure of
        its `variables`.

        A gain is that over the question's own reference, which lies months before its end.

        >>> variables = {"variable": "f107", "entity": "Sun"}
        >>> open_series().recall("flux_weeks", "2024-01-10T00:00:00+08:00", variables)[0].iloc[-1].to_dict()
        {'Sun': 146.1}
        """
        series = cut_series(source_id, variables["variable"], as_of)
        names = [variables["entity"]] if "entity" in variables else [*variables["reference"]]
        history = pd.DataFrame(measure_entities(variables, {name: series[name] for name in names}))
        return history.dropna(how="all"), self.fetch(self.sources[source_id].address, as_of).page_id


@lru_cache(maxsize=4)
def open_series(articles=()):
    """Return the SeriesWeb with the articles at some paths (a tuple), one a process; raises what
    `read_feeds` does."""
    return SeriesWeb(articles)


def write_page(source, as_of):
    """Return (text, newest publication as epoch seconds) of a source's page as of a moment; None
    before there is any.

    Its first line is the source's name; of each series that has values by then one follows.

    >>> text, newest = write_page(load_series()["flux_weeks"], "2024-01-10T00:00:00+08:00")
    >>> text.split(chr(10))[1][:67], str(pd.Timestamp(newest, unit="s"))
    ('Sun: F10.7 (solar flux units): 7 January 2024 146.1; 31 December 20', '2024-01-08 03:00:00')
    """
    lines = [source.name]
    newest = 0
    for name, variable in source.variables.items():
        moments = read_series(source.id, name)[1]
        n_public = moments.searchsorted(pd.Timestamp(as_of))
        if n_public:
            newest = max(newest, int(moments[n_public - 1].timestamp()))
            for entity, (rows, texts) in write_values(source.id, name).items():
                end = bisect_left(rows, n_public)
                shown = "; ".join(reversed(texts[max(end - N_SHOWN, 0) : end]))
                lines.append(f"{entity}: {head_column(variable)}: {shown}")
    return ("\n".join(lines), newest) if newest else None


@lru_cache(maxsize=64)
def write_values(source_id, variable):
    """Return of each entity of a series the rows with a value, and these as a page shows them, the
    oldest first."""
    decimals = load_series()[source_id].variables[variable]["decimals"]
    table = read_series(source_id, variable)[0]
    dates = [format_period(date) for date in table.index]
    written = {}
    for entity in table:
        values = table[entity].tolist()
        rows = [row for row, value in enumerate(values) if value == value]
        written[entity] = rows, [f"{dates[row]} {values[row]:,.{decimals}f}" for row in rows]
    return written
