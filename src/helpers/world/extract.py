"""Read what a source's page says, by the source's rule: table, css, JSON path or regular expression (FutureX 3.2.1)."""

import json
import re
from datetime import datetime
from functools import cache, lru_cache

import jmespath
import numpy as np
import pandas as pd
from lxml import etree, html
from lxml.cssselect import CSSSelector

COLUMNS = ["occurred_at", "entity", "variable", "value"]


class ExtractionError(Exception):
    """A page that was fetched but from which the source's rule read nothing."""


def extract_page(source, text):
    """Return the observations on a page by its source's rule. Raises ExtractionError when it reads none."""
    rule = source.extract
    if rule["kind"] == "market":
        return extract_market(source, text)
    try:
        rows = EXTRACTORS[rule["kind"]](source, rule, text)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise ExtractionError(f"{source.id}: the {rule['kind']} rule does not fit the page ({error})") from None
    if not any(row[3] is not None for row in rows):
        raise ExtractionError(f"{source.id}: the {rule['kind']} rule reads nothing from the page")
    table = pd.DataFrame(rows, columns=COLUMNS)
    table["value"] = pd.to_numeric(table["value"])
    return table


@cache
def compile_css(selector):
    """Return a css selector compiled once; call it with an element."""
    return CSSSelector(selector)


@lru_cache(maxsize=4096)
def read_period(text):
    """Read a page's date or time into the tables' form.

    >>> read_period("9 October 2016"), read_period("9 October 2016, 17:00"), read_period("2016-10-09 17:00")
    ('2016-10-09', '2016-10-09T17:00', '2016-10-09T17:00')
    """
    text = text.strip()
    if text[:4].isdigit():
        return text.replace(" ", "T")
    if "," in text:
        return datetime.strptime(text, "%d %B %Y, %H:%M").isoformat(timespec="minutes")  # noqa: DTZ007 (local time)
    return datetime.strptime(text, "%d %B %Y").date().isoformat()  # noqa: DTZ007 (local date)


def read_number(text):
    """Read a printed number; None for 'n/a' and what is no number.

    >>> read_number("12,345.7"), read_number("n/a"), read_number("-0.5"), read_number("nan"), read_number("1_000")
    (12345.7, None, -0.5, None, None)
    """
    try:
        value = float(str(text).replace(",", "").replace("_", "-"))
    except ValueError:
        return None
    return value if value == value else None


PARSER = etree.HTMLParser(encoding="utf-8")
"""Makes plain elements: lxml's html ones are each made through a look-up in Python, and pages have many cells."""
STRING = etree.XPath("string()")


def parse_html(text):
    """Return the tree of a page."""
    return html.fromstring(text.encode(), parser=PARSER)


def read_text(element):
    """Return the text of an element; one without children is read without a query."""
    return STRING(element) if len(element) else element.text or ""


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
    issues, date = (compile_css(rule[part]) for part in ("issue", "date"))
    names, values = (compile_css(f"{rule['item']} {rule[part]}") for part in ("name", "value"))
    for issue in issues(parse_html(text)):
        period = read_period(read_text(date(issue)[0]))
        pairs = zip(names(issue), values(issue), strict=True)
        rows += [(period, read_text(name), rule["variable"], read_number(read_text(value))) for name, value in pairs]
    return rows


def extract_json(source, rule, text):
    """Read a JSON endpoint by jmespath expressions."""
    rows = []
    for entry in jmespath.search(rule["rows"], json.loads(text)) or []:
        period, entity = read_period(entry[rule["date"]]), entry[rule["entity"]]
        rows += [(period, entity, variable, entry[key]) for variable, key in rule["values"].items()]
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


EXTRACTORS = {"table": extract_table, "css": extract_css, "json": extract_json, "regex": extract_regex}


def extract_market(source, text):
    """Return a prediction market's event pages: question, options, opening and closing, terms, rules, resolution."""
    rows = []
    heading, option, closing, rules, resolution_part = map(
        compile_css, ("h2", ".options li", ".closes", ".rules", ".resolution")
    )
    for article in compile_css("article.event")(parse_html(text)):
        resolution = resolution_part(article)
        rows.append(
            {
                "market_id": article.get("id"),
                "question": read_text(heading(article)[0]),
                "options": json.dumps([read_text(item) for item in option(article)]),
                "opens_at": article.get("data-opens"),
                "closes_at": read_text(closing(article)[0]),
                "rules": read_text(rules(article)[0]),
                "terms": article.get("data-terms"),
                "resolution": read_text(resolution[0]) if resolution else None,
            }
        )
    if not rows:
        raise ExtractionError(f"{source.id}: no event on the page")
    return pd.DataFrame(rows)


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
    # a pivot by hand, as thousands of pages are read and pandas' own takes four times as long
    rows, days = pd.factorize(np.array([moment[:10] for moment in moments], dtype=object), sort=True)
    columns, names = pd.factorize(entities, sort=True)
    if len(set(zip(rows, columns, strict=True))) < len(rows):
        raise ValueError(f"{variable}: an entity has two values on one day; name the hour")
    is_full = len(values) == len(days) * len(names)
    table = np.full((len(days), len(names)), 0 if is_full else np.nan, values.dtype if is_full else float)
    table[rows, columns] = values
    return pd.DataFrame(table, index=pd.Index(days, name="date"), columns=pd.Index(names, name="entity"))
