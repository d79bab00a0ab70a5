"""Read what a source's page says, by the source's rule: table, css, JSON path or regular expression (FutureX 3.2.1)."""

import json
import math
import re
from datetime import datetime
from functools import cache, lru_cache

import jmespath
import numpy as np
import pandas as pd
from lxml.cssselect import CSSSelector

from helpers.web.markup import MAX_NUMBER, YEARS, parse_html, parse_json, read_number, read_period, read_text

KEYS = {"threshold": ["Yes", "No"], "change": ["Yes", "No"], "outcome": ["home", "draw", "away"]}
"""What a market's options stand for, by what is asked; of a leader, its names."""
COLUMNS = ["occurred_at", "entity", "variable", "value"]


class ExtractionError(Exception):
    """A page that was fetched but from which the source's rule read nothing."""


def extract_page(source, text):
    """Return the observations on a page by its source's rule; of a prediction market, its event pages.

    Whatever a page does, ExtractionError is all that it raises.
    """
    rule = source.extract
    try:
        rows = EXTRACTORS[rule["kind"]](source, rule, text)
        if rule["kind"] == "market":
            return pd.DataFrame(check_events(rows))
        return pd.DataFrame(dict(zip(COLUMNS, check_rows(source, rows), strict=True)))
    except Exception as error:  # a page is a stranger's: it must not stop the reading of another
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise ExtractionError(f"{source.id}: the {rule['kind']} rule does not fit the page ({said})") from None


def check_rows(source, rows):
    """Return the columns of rows of (period, entity, variable, value).

    Raises ValueError for what no source of this kind can say: a date where values have a time, a value that is no
    number, two values of one thing, no value at all.
    """
    periods, entities, variables, values = zip(*rows, strict=True) if rows else [()] * 4
    if len(set(zip(periods, entities, variables, strict=True))) < len(rows):
        raise ValueError("it says two values of one thing")
    for period in set(periods):
        if ("T" in period) != source.is_hourly:
            raise ValueError(f"{period!r} is no {'time' if source.is_hourly else 'date'}")
    "".join(set(entities)).encode()  # names are texts; half a character, as JSON may hold, could be written nowhere
    if kinds := set(map(type, values)) - {int, float, type(None)}:
        raise ValueError(f"a value is {kinds.pop().__name__}, no number")
    if all(value is None for value in values):
        raise ValueError("it reads nothing from the page")
    return periods, entities, variables, np.array(values, dtype=float if None in values else None)


@cache
def compile_css(selector):
    """Return a css selector compiled once; call it with an element."""
    return CSSSelector(selector)


def extract_table(source, rule, text):
    """Read an html table, wide (a column an entity) or long (a column a variable)."""
    tree = parse_html(text)
    lines = [[read_text(cell) for cell in row] for row in compile_css(f"{rule['selector']} tr")(tree)]
    head, rows = lines[0], []
    if rule["layout"] == "wide":
        for period, *cells in lines[1:]:
            period = read_period(period)
            rows += [
                (period, entity, rule["variable"], read_number(cell))
                for entity, cell in zip(head[1:], cells, strict=True)
            ]
        return rows
    places = {variable: head.index(title) for variable, title in rule["columns"].items()}
    entity = head.index(rule["entity"])
    for cells in lines[1:]:
        period = read_period(cells[0])
        rows += [(period, cells[entity], variable, read_number(cells[i])) for variable, i in places.items()]
    return rows


def extract_css(source, rule, text):
    """Read ranking lists: an issue a section, an item a name and a value."""
    rows = []
    for issue in compile_css(rule["issue"])(parse_html(text)):
        names, values = (compile_css(f"{rule['item']} {rule[part]}")(issue) for part in ("name", "value"))
        period = read_period(read_text(compile_css(rule["date"])(issue)[0]))
        pairs = zip(names, values, strict=True)
        rows += [(period, read_text(name), rule["variable"], read_number(read_text(value))) for name, value in pairs]
    return rows


def extract_json(source, rule, text):
    """Read a JSON endpoint by jmespath expressions."""
    rows = []
    for entry in jmespath.search(rule["rows"], parse_json(text)) or []:
        period, entity = read_period(entry[rule["date"]]), entry[rule["entity"]]
        values = {variable: entry[key] for variable, key in rule["values"].items()}
        for variable, value in values.items():  # a number too large is none, as on other pages
            is_far = type(value) in (int, float) and not abs(value) <= MAX_NUMBER
            rows.append((period, entity, variable, None if is_far else value))
    return rows


def extract_regex(source, rule, text):
    """Read prose by a pattern with the groups date, entity (or the source's only one) and one a variable."""
    prose = "\n".join(map(read_text, compile_css("p")(parse_html(text))))
    only = source.entities.get("only", [""])[0]
    rows = []
    for match in re.finditer(rule["pattern"], prose):
        groups = match.groupdict()
        period, entity = read_period(groups.pop("date")), groups.pop("entity", None) or only
        rows += [(period, entity, variable, read_number(cell)) for variable, cell in groups.items()]
    return rows


def extract_market(source, rule, text):
    """Read a prediction market's event pages: question, options, opening and closing, terms, rules, resolution."""
    return [read_event(article) for article in compile_css("article.event")(parse_html(text))]


def read_event(article):
    """Return one event page as a row."""
    heading, options, closing, rules, resolution = (
        list(map(read_text, compile_css(part)(article)))
        for part in ("h2", ".options li", ".closes", ".rules", ".resolution")
    )
    return {
        "market_id": article.get("id"),
        "question": heading[0],
        "options": json.dumps(options),
        "opens_at": article.get("data-opens"),
        "closes_at": closing[0],
        "rules": rules[0],
        "terms": article.get("data-terms"),
        "resolution": resolution[0] if resolution else None,
    }


EXTRACTORS = {
    "table": extract_table,
    "css": extract_css,
    "json": extract_json,
    "regex": extract_regex,
    "market": extract_market,
}


def check_events(rows):
    """Return a market's event pages. Raises ValueError when there is none, or one that no question can be made of."""
    if not rows or len({row["market_id"] for row in rows}) < len(rows):
        raise ValueError("two events have one name" if rows else "no event on the page")
    for row in rows:
        keys, options = read_terms(row["terms"])["keys"], json.loads(row["options"])
        is_whole = row["question"] and row["market_id"] and len(set(options)) == len(options) == len(keys)
        if not is_whole:
            raise ValueError(f"event {row['market_id']} has no question, or not its options")
        for text in (row["opens_at"], row["closes_at"]):
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None or moment.year not in YEARS:
                raise ValueError(f"{text[:40]!r} is no moment with an offset")
    return rows


@lru_cache(maxsize=4096)
def read_terms(text):
    """Return an event page's terms (`types.resolve_event`). Raises ValueError or LookupError for what are none.

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
    """Return one variable as a frame: index date (ISO), columns entity, values; at one time of day for hourly sources.

    >>> rows = [("2016-10-09T17:00", "I-94", "volume", 5.0), ("2016-10-09T18:00", "I-94", "volume", 7.0)]
    >>> select_series(pd.DataFrame(rows, columns=COLUMNS), "volume", "18:00").loc["2016-10-09", "I-94"]
    np.float64(7.0)

    Raises ValueError when an entity has two values on a day.
    """
    moments, entities, variables, values = (observations[column].to_numpy() for column in COLUMNS)
    is_chosen = (variables == variable) & ~np.isnan(values)
    if hour is not None:
        is_chosen &= np.array([moment[11:] == hour for moment in moments], dtype=bool)
    moments, entities, values = (cells[is_chosen] for cells in (moments, entities, values))
    # a pivot by hand, as thousands of pages are read and pandas' own takes six times as long
    days = [moment[:10] for moment in moments]
    row_of, column_of = ({name: place for place, name in enumerate(sorted(set(names)))} for names in (days, entities))
    rows, columns = [row_of[day] for day in days], [column_of[entity] for entity in entities]
    if len(set(zip(rows, columns, strict=True))) < len(rows):
        raise ValueError(f"{variable}: an entity has two values on one day; name the hour")
    size = len(row_of), len(column_of)
    is_full = len(values) == math.prod(size)
    table = np.full(size, 0 if is_full else np.nan, values.dtype if is_full else float)
    table[rows, columns] = values
    index, names = (
        pd.Index(list(places), dtype=str, name=name) for places, name in ((row_of, "date"), (column_of, "entity"))
    )
    return pd.DataFrame(table, index=index, columns=names)
