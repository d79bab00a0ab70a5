"""Numbers as text, and tables as what is printed, csv, markdown and a page that opens from disk."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
from jinja2 import ChainableUndefined, Environment, PackageLoader, select_autoescape
from PIL import Image

from helpers.files import locate_output
from helpers.input_faults import escape_cells, write_count
from helpers.means import MIN_CLUSTERS, find_clusters

WIDTH, WIDEST = 80, 60
"""Columns of a terminal that a printed table takes, and of one cell in it."""
EXPLAIN = "what the columns mean, and more of them: --explain (of make: ARGS=--explain)"
"""What is printed in place of a table's legend."""
DETAILS = ("level ", "best baseline", "s each", "model s", "by event", "coverage")
"""How columns begin that are printed with the legend alone."""


def write_interval(value, low=math.nan, high=math.nan, n=None, n_asked=None, digits=2):
    """Return a value with its interval, and the number of events where it is given, as text, "-"
    for none.

    Where more events were asked than the value is over, their number stands beside.

    >>> write_interval(0.314, 0.25, 0.38), write_interval(0.314), write_interval(math.nan, 0, 0)
    ('0.31 (0.25 to 0.38)', '0.31', '-')
    >>> write_interval(0.314, 0.25, 0.38, 60), write_interval(0.314, n=6, n_asked=20)
    ('0.31 (0.25 to 0.38, n = 60)', '0.31 (n = 6 of 20)')
    """
    of = f" of {n_asked:.0f}" if n is not None and n_asked is not None and n_asked > n else ""
    told = [f"{low:z.{digits}f} to {high:z.{digits}f}"] if np.isfinite(low) else []
    told += [] if n is None else [f"n = {n:.0f}{of}"]
    return (
        f"{value:z.{digits}f}" + f" ({', '.join(told)})" * bool(told) if np.isfinite(value) else "-"
    )


def write_mean(row):
    """Return a row of means (mean, low, high) as text with its interval, or that none is due."""
    ends = (row[name] for name in ("mean", "low", "high"))
    return "none is due" if pd.isna(row["mean"]) else write_interval(*ends, digits=3)


def write_difference(pair, digits=2):
    """Return a row of `paired.compare_pairs` as text.

    >>> write_difference({"difference": 0.1, "low": -0.02, "high": 0.22, "n": 40})
    '+0.10 (-0.02 to +0.22)'
    >>> write_difference({"difference": -0.1, "low": math.nan, "high": math.nan, "n": 20}, 3)
    '-0.100 (inconclusive)'
    """
    if not pair["n"]:
        return "-"
    value, low, high = (f"{pair[name]:+z.{digits}f}" for name in ("difference", "low", "high"))
    return f"{value} ({f'{low} to {high}' if np.isfinite(pair['low']) else 'inconclusive'})"


def write_p(value: float) -> str:
    """Return a p-value as text, "-" for none; one that would round to zero as below a thousandth.

    >>> write_p(0.0421), write_p(0.0002), write_p(math.nan)
    ('0.042', '<0.001', '-')
    """
    if not np.isfinite(value):
        return "-"
    return f"{value:.3f}" if value >= 0.001 else "<0.001"


def write_table(table, explain=True):
    """Return a table whose index is printed as text, in parts of no more than `WIDTH` columns.

    Without `explain` the columns of `DETAILS` are left out, and those that hold nothing.
    """
    if not explain:
        table = table[
            [name for name in table if not name.startswith(DETAILS) and table[name].ne("-").any()]
        ]
    formats = {name: "{:.3f}".format for name in table.select_dtypes("float")}
    options = {
        "line_width": WIDTH,
        "max_colwidth": WIDEST,
        "na_rep": "-",
        "formatters": formats,
        "index_names": False,
    }
    return re.sub(
        r"(?m) +\\?$", "", table.rename_axis(columns=table.index.name).to_string(**options)
    )


def describe_intervals(events):
    """Return a sentence on what the intervals of some events rest on.

    >>> describe_intervals(pd.DataFrame({"event_id": ["a", "b"], "source_id": ["s", "s"]}))
    'intervals: none, as 2 events are of 1 source, fewer than 10'
    """
    clusters, by = find_clusters(events)
    n = clusters.nunique()
    if n == len(events):
        by = "event"
    if n < MIN_CLUSTERS:
        asked, told = write_count(len(events), "event"), write_count(n, by)
        few = f"of {told}, fewer" if by != "event" else "fewer"
        return f"intervals: none, as {asked} are {few} than {MIN_CLUSTERS}"
    alike = "as if no two were correlated" if by == "event" else "as events of one are correlated"
    return f"intervals: 95%, by {by} ({n}), {alike}; none from fewer than {MIN_CLUSTERS}"


# --- files ------------------------------------------------------------------------------------------


def write_csv(table, path):
    """Write a table as csv, its texts safe for a spreadsheet."""
    escape_cells(table).to_csv(path, index=False, lineterminator="\n")


def write_markdown(table):
    """Return a table of texts as markdown.

    >>> print(write_markdown(pd.DataFrame({"agent": ["a|b"], "score": ["0.5"]})))
    | agent | score |
    |---|---|
    | a\\|b | 0.5 |
    """
    rows = [table.columns, *table.astype(str).to_numpy()]
    lines = [
        "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in row) + " |"
        for row in rows
    ]
    return "\n".join([lines[0], "|" + "---|" * len(table.columns), *lines[1:]])


def open_folder(out, place, names):
    """Return the folder `out`, or one below `place` that is named after some names; it is made."""
    told = "+".join(re.sub(r"[^\w.-]", "_", name) for name in names)[:60]
    folder = Path(out) if out else locate_output(f"{place}/{told}/index.html").parent
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def open_templates():
    """Return the templates of this room; on a page of HTML what a model or a page said is
    escaped."""
    loader, is_html = PackageLoader(__package__, "pages"), select_autoescape(["html"])
    return Environment(
        autoescape=is_html, undefined=ChainableUndefined, loader=loader, trim_blocks=True
    )


def write_page(folder, title, sections, *, about=(), files=(), markdown=""):
    """Write folder/index.html, which opens from disk: sentences, sections, links to `files`,
    folder/figures.

    `sections` maps headings to (sentences, a table of texts or None). The same without figures is
    written as the file `markdown`, where it is named. Returns (the figures' names, the page's
    address, the text in markdown).
    """
    figures = {}
    for path in sorted((folder / "figures").glob("*.png")):
        with Image.open(path) as picture:
            figures[path.stem] = picture.text.get("Title", path.stem)
    facts = {
        "title": title,
        "about": about,
        "sections": sections,
        "figures": figures,
        "files": files,
    }
    (folder / "index.html").write_text(
        open_templates().get_template("gallery.html").render(**facts), encoding="utf-8"
    )
    parts = [f"# {title}", *about]
    for name, (notes, table) in sections.items():
        parts += [f"## {name}", *([] if table is None else [write_markdown(table)])]
        parts += ["\n".join(f"- {note}" for note in notes if note)]
    text = "\n\n".join(filter(None, parts)) + "\n"
    if markdown:
        (folder / markdown).write_text(text, encoding="utf-8")
    return list(figures), (folder / "index.html").resolve().as_uri(), text
