"""Read what a source's page says, by the rule of its form: table, css, JSON or regular expression
(FutureX 3.2.1).

The rule follows from what the source says of itself: its variables, the label of its entities, its
sentence.
"""

import json
import re
from datetime import datetime
from functools import cache, lru_cache
from string import Formatter

import numpy as np
import pandas as pd
from lxml.cssselect import CSSSelector

from daybefore.web.parse_markup import (
    MAX_NUMBER,
    YEARS,
    parse_html,
    parse_json,
    read_number,
    read_period,
    read_text,
)
from daybefore.web.source_registry import head_column

METHODS = {"ranking": "css", "prose": "regex"}
"""A page's form -> how it is read, where that has another name."""
BLANKS = {"date": r"\d+ \w+ \d{4}(?:, \d\d:\d\d)?", "entity": ".+?"}
"""What stands in the blanks of a prose page's sentence; in the others numbers do."""
NUMBER = r"-?[\d,.]*\d"
KEYS = {"threshold": ["Yes", "No"], "change": ["Yes", "No"], "outcome": ["home", "draw", "away"]}
"""What a market's options stand for, by what is asked; of a leader, its names."""
COLUMNS = ["occurred_at", "entity", "variable", "value"]

compile_css = cache(CSSSelector)


class ExtractionError(Exception):
    """A page that was fetched but from which the source's rule read nothing."""


def extract_page(source, text):
    """Return the observations on a page by its source's rule (`COLUMNS`); of a prediction market,
    its event pages.

    Whatever a page does, ExtractionError is all that it raises.
    """
    kind = METHODS.get(source.form, source.form)
    try:
        rows = EXTRACTORS[source.form](source, text)
        return pd.DataFrame(rows if kind == "market" else check_rows(source, rows))
    except Exception as error:  # a page is a stranger's: it must not stop the reading of another
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise ExtractionError(
            f"{source.id}: the {kind} rule does not fit the page ({said})"
        ) from None


def check_rows(source, rows):
    """Return the columns, by name, of rows of (period, entity, variable, value).

    Raises ValueError for what no source of this kind can say: a date where values have a time, a
    value that is no number, two values of one thing, no value at all.
    """
    periods, entities, variables, values = zip(*rows, strict=True) if rows else [()] * 4
    if len(set(zip(periods, entities, variables, strict=True))) < len(rows):
        raise ValueError("it says two values of one thing")
    for period in set(periods):
        if ("T" in period) != source.is_hourly:
            raise ValueError(f"{period!r} is no {'time' if source.is_hourly else 'date'}")
    "".join(set(entities)).encode()  # names are texts, without half a character, as JSON may hold
    if kinds := set(map(type, values)) - {int, float, type(None)}:
        raise ValueError(f"a value is {kinds.pop().__name__}, no number")
    if all(value is None for value in values):
        raise ValueError("it reads nothing from the page")
    values = np.array(values, dtype=float if None in values else None)
    return dict(zip(COLUMNS, (periods, entities, variables, values), strict=True))


# --- rules: each returns rows of (period, entity, variable, value) ---


def extract_table(source, text):
    """Read an html table, wide (a column an entity) or long (a column a variable)."""
    lines = [list(map(read_text, row)) for row in compile_css("table.data tr")(parse_html(text))]
    head, rows = lines[0], []
    if source.page.get("layout") == "wide":
        (variable,) = source.variables
        for period, *cells in lines[1:]:
            values = zip(head[1:], map(read_number, cells), strict=True)
            rows += [(read_period(period), entity, variable, value) for entity, value in values]
        return rows
    places = {name: head.index(head_column(about)) for name, about in source.variables.items()}
    entity = head.index(source.entities["label"].capitalize())
    for cells in lines[1:]:
        period = read_period(cells[0])
        rows += [
            (period, cells[entity], variable, read_number(cells[i]))
            for variable, i in places.items()
        ]
    return rows


def extract_ranking(source, text):
    """Read ranking lists: an issue a section, an item a name and a value."""
    (variable,) = source.variables
    rows = []
    for issue in compile_css("section.issue")(parse_html(text)):
        period = read_period(read_text(compile_css("time")(issue)[0]))
        items = zip(compile_css("li .name")(issue), compile_css("li .value")(issue), strict=True)
        rows += [
            (period, read_text(name), variable, read_number(read_text(value)))
            for name, value in items
        ]
    return rows


def extract_json(source, text):
    """Read the observations of a JSON endpoint."""
    label = source.entities["label"].replace(" ", "_")
    rows = []
    for entry in parse_json(text)["observations"]:
        period = read_period(entry["date"])
        for variable in source.variables:
            value = entry[variable]
            if type(value) in (int, float) and not abs(value) <= MAX_NUMBER:
                value = None  # as on other pages
            rows.append((period, entry[label], variable, value))
    return rows


def extract_prose(source, text):
    """Read paragraphs that are the source's sentence; without a name in it they are of its only
    entity."""
    pattern, names = compile_sentence(source.page["sentence"])
    only = source.entities.get("only", [""])[0]
    rows = []
    for part in compile_css("p")(parse_html(text)):
        if match := pattern.fullmatch(read_text(part)):
            blanks = {"entity": only} | dict(zip(names, match.groups(), strict=True))
            period, entity = read_period(blanks.pop("date")), blanks.pop("entity")
            rows += [(period, entity, name, read_number(cell)) for name, cell in blanks.items()]
    return rows


@cache
def compile_sentence(sentence: str) -> tuple[re.Pattern, list[str]]:
    """Return (the pattern of a sentence whose braces are filled in, what they hold).

    >>> pattern, names = compile_sentence("On {date} it was {n} °C.")
    >>> dict(zip(names, pattern.fullmatch("On 9 October 2016 it was 1,200.5 °C.").groups()))
    {'date': '9 October 2016', 'n': '1,200.5'}
    """
    parts = [part[:2] for part in Formatter().parse(sentence)]
    blanks = [
        re.escape(words) + (f"({BLANKS.get(name, NUMBER)})" if name else "")
        for words, name in parts
    ]
    return re.compile("".join(blanks)), [name for _, name in parts if name]


def extract_market(source, text):
    """Read a prediction market's event pages, a dict each: question, options, opening and closing,
    terms, resolution.

    Raises ValueError when there is none, or one that no question can be made of.
    """
    rows = []
    for article in compile_css("article.event")(parse_html(text)):

        def read_all(css, article=article):
            return [read_text(part) for part in compile_css(css)(article)]

        options = read_all(".options li")
        row = {
            "market_id": article.get("id"),
            "question": read_all("h2")[0],
            "options": json.dumps(options),
            "opens_at": article.get("data-opens"),
            "closes_at": read_all(".closes")[0],
            "rules": read_all(".rules")[0],
            "terms": article.get("data-terms"),
            "resolution": next(iter(read_all(".resolution")), None),
        }
        n_keys = len(read_terms(row["terms"])["keys"])
        if not (row["question"] and row["market_id"] and len({*options}) == len(options) == n_keys):
            raise ValueError(f"event {row['market_id']} has no question, or not its options")
        for moment in (row["opens_at"], row["closes_at"]):
            read = datetime.fromisoformat(moment)  # which takes any sign between day and hour
            is_whole = moment == read.isoformat()
            if not is_whole or read.tzinfo is None or read.year not in YEARS:
                raise ValueError(f"{moment[:40]!r} is no moment with an offset")
        rows.append(row)
    if not rows or len({row["market_id"] for row in rows}) < len(rows):
        raise ValueError("two events have one name" if rows else "no event on the page")
    return rows


EXTRACTORS = {
    "table": extract_table,
    "ranking": extract_ranking,
    "json": extract_json,
    "prose": extract_prose,
    "market": extract_market,
}


@lru_cache(maxsize=4096)
def read_terms(text):
    """Return an event page's terms (`question_types.resolve_event`). Raises ValueError or
    LookupError for what are none.

    >>> read_terms('{"ask":"change","keys":["Yes"],"reference":1.0,"date":"2016-10-10"}')
    Traceback (most recent call last):
        ...
    ValueError: the terms of a question: keys are ['Yes']
    """
    terms = json.loads(text)
    wanted = KEYS.get(terms["ask"]) or list(terms["reference"])
    if sorted(terms["keys"]) != sorted(wanted) or len(wanted) < 2:
        raise ValueError(f"the terms of a question: keys are {terms['keys']}"[:160])
    read_period(terms["date"])
    return terms


def select_series(observations, variable, hour=None):
    """Return one variable as a frame: index date (ISO), columns entity, values; at one time of day
    for hourly sources.

    >>> rows = [("2016-10-09T17:00", "I-94", "volume", 5.0), ("2016-10-09T18:00", "I-94", "volume", 7.0)]
    >>> select_series(pd.DataFrame(rows, columns=COLUMNS), "volume", "18:00").loc["2016-10-09", "I-94"]
    np.float64(7.0)

    Raises ValueError when an entity has two values on a day.
    """
    moments, entities, variables, values = (observations[column].to_numpy() for column in COLUMNS)
    is_chosen = (variables == variable) & ~np.isnan(values)
    if hour is not None:
        is_chosen &= np.array([moment[11:] == hour for moment in moments], dtype=bool)
    # a pivot by hand, as thousands of pages are read and pandas' own takes six times as long
    days, rows = np.unique([moment[:10] for moment in moments[is_chosen]], return_inverse=True)
    names, columns = np.unique(entities[is_chosen], return_inverse=True)
    table, values = np.full((len(days), len(names)), np.nan), values[is_chosen]
    table[rows, columns] = values
    n_filled = np.count_nonzero(~np.isnan(table))
    if n_filled < len(values):
        raise ValueError(f"{variable}: an entity has two values on one day; name the hour")
    index, heads = pd.Index(days, dtype=str, name="date"), pd.Index(names, dtype=str, name="entity")
    return pd.DataFrame(
        table.astype(values.dtype if n_filled == table.size else float), index=index, columns=heads
    )
