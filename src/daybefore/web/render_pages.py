"""The five forms in which the replay world's sites publish: tables, ranking lists, prose, JSON,
market event pages.

A renderer takes (source, rows, fixtures): rows are in order of occurrence and name; of fixtures,
rows to come, only date and name may show.
"""

import json
import math
from html import escape
from itertools import groupby
from operator import itemgetter

import pandas as pd

from daybefore.web.source_registry import head_column


def format_number(value, decimals, commas=True):
    """Print a number as a page does: '12,345.7'; a missing one is 'n/a'."""
    if value != value:
        return "n/a"
    return f"{value:,.{decimals}f}" if commas and abs(value) >= 10000 else f"{value:.{decimals}f}"


def format_period(occurred_at):
    """Print a date as prose does: '9 October 2016', '9 October 2016, 17:00'."""
    moment = pd.Timestamp(occurred_at)
    date = f"{moment.day} {moment:%B %Y}"
    return f"{date}, {moment:%H:%M}" if "T" in occurred_at else date


def wrap_page(source, body):
    """Return an html page with the source's name, body and note."""
    note = f"<footer>{escape(source.note)}</footer>" if source.note else ""
    return (
        f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{escape(source.name)}</title></head>\n"
        f"<body><h1>{escape(source.name)}</h1>\n{body}\n{note}</body></html>\n"
    )


def print_values(source, row):
    """Return a row's values as a page prints them, by variable."""
    return {
        name: format_number(row[name], about["decimals"])
        for name, about in source.variables.items()
    }


def render_table(source, rows, fixtures):
    """Render rows as an html table, wide (a column an entity) or long (a column a variable)."""
    stamp = "Time" if source.is_hourly else "Date"
    if source.page.get("layout") == "wide":
        ((name, variable),) = source.variables.items()
        entities = sorted({row["entity"] for row in rows})
        head, lines = [stamp, *entities], []
        for period, some in groupby(rows, itemgetter("occurred_at")):
            values = dict.fromkeys(entities, math.nan) | {row["entity"]: row[name] for row in some}
            cells = [format_number(value, variable["decimals"]) for value in values.values()]
            lines.append([period, *cells])
    else:
        label = source.entities["label"].capitalize()
        head = [stamp, label, *map(head_column, source.variables.values())]
        lines = [
            [row["occurred_at"], row["entity"], *print_values(source, row).values()] for row in rows
        ]
    to_come = ["to be played"] * len(source.variables)
    lines += [[row["occurred_at"], row["entity"], *to_come] for row in fixtures]
    return "text/html", wrap_page(source, build_table("data", head, lines))


def build_table(css_class, head, lines):
    """Return an html table; the first cell of a line is a date, shown with a space before its
    time."""
    rows = [f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"]
    for first, *rest in lines:
        cells = [first.replace("T", " "), *map(escape, rest)]
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    return f"<table class='{css_class}'>\n" + "\n".join(rows) + "\n</table>"


def render_ranking(source, rows, fixtures):
    """Render one ordered list an issue, newest first, each item with name and value."""
    ((name, variable),) = source.variables.items()
    sections = []
    for period, some in groupby(rows, itemgetter("occurred_at")):
        known = [row for row in some if row[name] == row[name]]
        items = "".join(
            f"<li><span class='name'>{escape(row['entity'])}</span> "
            f"<span class='value'>{format_number(row[name], variable['decimals'], commas=False)}</span></li>"
            for row in sorted(known, key=lambda row: (-row[name], row["entity"]))
        )
        heading = f"<h2><time>{format_period(period)}</time></h2>"
        sections.append(f"<section class='issue'>{heading}<ol>{items}</ol></section>")
    intro = f"<p>Ranked by {escape(head_column(variable)).lower()}.</p>"
    return "text/html", wrap_page(source, intro + "\n".join(reversed(sections)))


def render_prose(source, rows, fixtures):
    """Render one bulletin a row, newest first, by the source's sentence."""
    bulletins = []
    for row in sorted(rows, key=itemgetter("occurred_at"), reverse=True):  # names stay in order
        about = {"date": format_period(row["occurred_at"]), "entity": row["entity"]}
        text = source.page["sentence"].format(**about, **print_values(source, row))
        bulletins.append(f"<p>{escape(text)}</p>")
    return "text/html", wrap_page(source, "\n".join(bulletins))


def render_json(source, rows, fixtures):
    """Render rows as a JSON endpoint's answer; missing values are null."""
    label, observations = source.entities["label"].replace(" ", "_"), []
    for row in rows:
        values = {
            name: round(row[name], about["decimals"]) if row[name] == row[name] else None
            for name, about in source.variables.items()
        }
        observations.append(
            print_lines({"date": row["occurred_at"], label: row["entity"]} | values)
        )
    about = {"source": source.name, "updated": rows[-1]["occurred_at"], "note": source.note}
    lines = ",\n".join(observations)
    return "application/json", f'{print_lines(about)[:-2]},\n"observations": [\n{lines}\n]\n}}'


def print_lines(row):
    """Return an object as JSON, a line a field: `json.dumps(indent=0)` in a tenth of its time."""
    return "{\n" + json.dumps(row, ensure_ascii=False, separators=(",\n", ": "))[1:-1] + "\n}"


def render_market(source, rows, fixtures):
    """Render an event page of a prediction market without prices: questions, options, rules, and
    the resolution if any.

    Rows are facts in order of publication: a question when it opens, its resolution when it is
    known.
    """
    questions = {}
    for row in rows:
        facts = {key: value for key, value in row.items() if value == value and value != ""}
        if "question" in facts:
            facts["opens_at"] = f"{row['occurred_at']}:00+08:00"
        questions.setdefault(row["entity"], {}).update(facts)
    articles = []
    for key, row in questions.items():
        if "question" not in row:
            continue
        options = "".join(f"<li>{escape(option)}</li>" for option in json.loads(row["options"]))
        resolution = (
            f"<p class='resolution'>{escape(row['resolution'])}</p>" if "resolution" in row else ""
        )
        marks = f"id='{key}' data-opens='{row['opens_at']}' data-terms='{escape(row['terms'])}'"
        articles.append(
            f"<article class='event' {marks}>"
            f"<h2>{escape(row['question'])}</h2><p class='closes'>{row['closes_at']}</p>"
            f"<ul class='options'>{options}</ul><p class='rules'>{escape(row['rules'])}</p>{resolution}</article>"
        )
    return "text/html", wrap_page(source, "\n".join(reversed(articles)))


RENDERERS = dict(
    table=render_table,
    ranking=render_ranking,
    prose=render_prose,
    json=render_json,
    market=render_market,
)
