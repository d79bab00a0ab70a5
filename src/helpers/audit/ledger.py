"""The ledger: what the papers claim, recomputed from what they print.

A claim is a line of data/papers/ledger_<paper>.csv: id, section, kind (the check), claim, published, operands,
tolerance, note. `published` and `operands` (separated by `;`) are references:

- `table[where].column`: cells of a printed table <paper>_<table>.csv; `where` is a value of its first column, or
  conditions `column=value&column!=value`, or empty for all rows; the column `*` takes every number of the rows;
- `name`: the value of that row of <paper>_statements.csv, the numbers and words printed in running text;
- `@name`: a constant of <paper>.toml, `@name.part` where it has parts (`@name.0` the first of a list);
- `kind(reference, reference)`: what a check that recomputes a value makes of others, `days(first, last)` say;
- a number: itself (the days of a week).

Verdicts: `consistent`; `inconsistent`; `two readings`, where both sides are printed and are of different kinds, so that
neither proves the other wrong; `not recomputable`, where the paper prints too little to tell. To add a claim, add a
line. To add a kind of check, add a function to `helpers.audit.checks`.
"""

import re
from functools import lru_cache

import pandas as pd

from helpers import papers
from helpers.audit.checks import JUDGEMENTS, VALUES, run_check
from helpers.faults import read_sheet

COLUMNS = "id paper section kind claim published recomputed tolerance verdict basis note".split()
CLAIM_COLUMNS = "id section kind claim published operands tolerance note".split()
VERDICTS = ("consistent", "inconsistent", "two readings", "not recomputable")
BASES = ("recomputed", "printed twice", "read in words", "own assumption")
"""What a verdict rests on: other numbers; the same thing in another place; words, read and transcribed; or a value that
the paper does not print and the kit assumes."""
REFERENCE = re.compile(r"(?P<table>\w+)\[(?P<where>[^\]]*)\]\.(?P<column>\w+|\*)")
DERIVED = re.compile(r"(?P<kind>[a-z_]+)\((?P<references>.*)\)")
DATE = re.compile(r"\d{4}-\d\d(-\d\d)?")


# --- references -------------------------------------------------------------------------------------------------------


def read_value(text):
    """Return a cell as a number where it is one, else as text; commas in thousands are dropped.

    >>> read_value("1,272"), read_value("July 24"), read_value("")
    (1272.0, 'July 24', '')
    """
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return text


def select_rows(table, where):
    """Return the rows of a text table that meet `where` (see the module's head); raises LookupError for none.

    >>> select_rows(pd.DataFrame({"a": ["x", "y"], "b": ["1", "1"]}), "b=1&a!=x")["a"].tolist()
    ['y']
    """
    conditions = re.split("&", where) if re.search("!?=", where) else [f"{table.columns[0]}={where}"] if where else []
    for condition in conditions:
        column, different, value = re.fullmatch(r"(\w+)(!?)=(.*)", condition).groups()
        table = table[(table[column] == value) != bool(different)]
    if table.empty:
        raise LookupError(f"no row has {where}")
    return table


def resolve_reference(reference, paper, folder=papers.FOLDER):
    """Return the values a reference names, as a list; blank cells are left out.

    >>> resolve_reference("table5_planning_scores[GPT-4.1].*", "futurex")
    [9.0, 8.0, 9.0]
    >>> resolve_reference("@crawl_hours", "futurex"), resolve_reference("@crawl_hours.0", "futurex")
    ([14, 16, 18, 20], [14])
    >>> resolve_reference("days(week_first_day, week_last_day)", "futurex"), resolve_reference("61", "futurex")
    ([7], [61.0])
    """
    number = read_value(reference)
    if isinstance(number, float):
        return [number]
    if derived := DERIVED.fullmatch(reference):
        inner = [resolve_reference(name, paper, folder) for name in derived["references"].split(", ")]
        made = VALUES[derived["kind"]](inner)
        return [] if made is None else [made]
    if reference.startswith("@"):
        name, _, part = reference[1:].partition(".")
        value = papers.get_constant(paper, name, folder)
        value = value[int(part) if part.isdigit() else part] if part else value
        return list(value) if isinstance(value, tuple) else [value]
    values = [read_value(text) for text in _read_cells(reference, paper, folder).values()]
    if reference.endswith("].*"):
        return [value for value in values if isinstance(value, float)]
    return [value for value in values if value != ""]


def list_references(claim):
    """Return the references of a claim, `published` first, those within others on their own; blanks are left out.

    >>> list_references({"published": "axes", "operands": "days(week_first_day, week_last_day); 7"})
    ['axes', 'week_first_day', 'week_last_day', '7']
    """
    outer = [reference.strip() for reference in [claim["published"], *claim["operands"].split(";")]]
    parts = [DERIVED.fullmatch(name) for name in outer]
    split = [part["references"].split(", ") if part else [name] for part, name in zip(parts, outer, strict=True)]
    return [name for names in split for name in names if name]


def find_cells(reference, paper, folder=papers.FOLDER):
    """Return the printed cells a reference names, as (table, row from 0, column); none for a number or a constant.

    Raises ValueError for a reference that cannot be read and LookupError for a table, row or column that is not there.

    >>> find_cells("table5_planning_scores[GPT-4.1].source_reliability", "futurex")
    [('table5_planning_scores', 0, 'source_reliability')]
    """
    if reference.startswith("@") or isinstance(read_value(reference), float):
        return []
    if derived := DERIVED.fullmatch(reference):
        return [cell for name in derived["references"].split(", ") for cell in find_cells(name, paper, folder)]
    return list(_read_cells(reference, paper, folder))


def _read_cells(reference, paper, folder):
    """{(table, row, column): text} of the cells that a reference names."""
    found = REFERENCE.fullmatch(f"statements[{reference}].value" if reference.isidentifier() else reference)
    if not found:
        raise ValueError(f"cannot read the reference {reference!r}; write table[row].column, name, @name or a number")
    table, where, column = found.groups()
    path = folder / f"{paper}_{table}.csv"
    return _select_cells(table, where, column, paper, folder, path.stat().st_mtime_ns if path.exists() else None)


@lru_cache(maxsize=4096)
def _select_cells(table, where, column, paper, folder, changed_ns):
    rows = select_rows(_load_text(paper, table, folder, changed_ns), where)
    rows = rows.drop(columns="section") if column == "*" else rows[[column]]
    return {(table, row, name): text for row, cells in rows.to_dict("index").items() for name, text in cells.items()}


@lru_cache
def _load_text(paper, table, folder, changed_ns):
    return papers.load_published(paper, table, folder, dtype=str, keep_default_na=False)


# --- claims -----------------------------------------------------------------------------------------------------------


def resolve_claim(claim, paper, folder=papers.FOLDER):
    """Return a claim's published value (None where it is not printed) and the values its operands name, as groups.

    Raises ValueError for several published cells.
    """
    published = resolve_reference(claim["published"], paper, folder) if claim["published"] else []
    if len(published) > 1:
        raise ValueError(f"{claim['id']}: `published` names {len(published)} cells; name one")
    operands = [reference.strip() for reference in claim["operands"].split(";") if reference.strip()]
    return (published or [None])[0], [resolve_reference(reference, paper, folder) for reference in operands]


def judge_claim(claim, value, groups):
    """Return what a claim's check makes of a published value and groups of operands, and the verdict.

    A claim of kind `none`, one without anything printed to hold against it, and one that refers to a blank cell are
    not recomputable. Raises ValueError for an unknown kind.
    """
    is_blank = claim["published"] and value is None or not all(groups)
    if claim["kind"] == "none" or is_blank:
        return None, "not recomputable"
    recomputed, holds = run_check(claim["kind"], value, groups, float(claim["tolerance"] or 0))
    differs = "two readings" if claim["kind"] == "readings" else "inconsistent"
    return recomputed, {True: "consistent", False: differs, None: "not recomputable"}[holds]


def find_basis(claim, value, groups, assumed=(), at_a_glance=()):
    """Return what a claim's verdict rests on, one of BASES.

    `assumed` are the paper's constants that are not printed, `at_a_glance` the ids of the claims that no change by a
    half moves (data/papers/read.csv): they are seen in reading, and nothing is recomputed.

    >>> claim = {"id": "x", "kind": "same", "published": "events_figure4", "operands": "events_a_week"}
    >>> find_basis(claim, 1272.0, [[500.0]]), find_basis(claim, "most", [["fewer"]])
    ('printed twice', 'read in words')
    """
    texts = [text for text in [value, *(v for group in groups for v in group)] if isinstance(text, str)]
    words = [text for text in texts if not DATE.fullmatch(text)]
    if any(name.startswith("@") and name[1:].partition(".")[0] in assumed for name in list_references(claim)):
        return "own assumption"
    if claim["id"] in at_a_glance:
        return "read in words"
    if claim["kind"] == "same" and all(re.search(r"\d", text) for text in words):
        return "printed twice"
    return "read in words" if words and claim["kind"] != "largest" else "recomputed"


def load_claims(paper, folder=papers.FOLDER):
    """Return a paper's claims as text, in the file's order; raises Problems for a repeated id or an unknown kind."""
    kinds = {"kind": [*VALUES, *JUDGEMENTS, "none"]}
    return read_sheet(folder / f"ledger_{paper}.csv", CLAIM_COLUMNS, key=["id"], words=kinds)


def build_ledger(paper_keys=None, folder=papers.FOLDER):
    """Return the ledger, a row a claim (columns `COLUMNS`); values are text.

    >>> ledger = build_ledger(["futurex"]).set_index("id")
    >>> ledger.loc["fx_open_ended_week", ["published", "recomputed", "verdict"]].tolist()
    ['498', '498', 'consistent']
    """
    rows, glance = [], set(read_sheet(folder / "read.csv", ("id", "why"), key=["id"])["id"])
    for paper in papers.list_papers(folder) if paper_keys is None else paper_keys:
        assumed = papers.load_paper(paper, folder)["assumed"]
        for claim in load_claims(paper, folder).to_dict("records"):
            try:
                value, groups = resolve_claim(claim, paper, folder)
                recomputed, verdict = judge_claim(claim, value, groups)
            except (LookupError, ValueError, TypeError) as problem:
                problem.add_note(f"in claim {claim['id']} of ledger_{paper}.csv")
                raise
            basis = "" if verdict == "not recomputable" else find_basis(claim, value, groups, assumed, glance)
            shown = {"published": show_value(value), "recomputed": show_value(recomputed), "verdict": verdict}
            rows.append(claim | {"paper": paper, "basis": basis} | shown)
    ledger = pd.DataFrame(rows, columns=COLUMNS)
    if ledger["id"].duplicated().any():
        raise ValueError(f"id {ledger.loc[ledger['id'].duplicated(), 'id'].iloc[0]} stands in two papers' claims")
    return ledger


def show_value(value):
    """Return a value as text, numbers to four decimals; blank for none.

    >>> show_value(498.0), show_value(2 / 3), show_value("July"), show_value(None)
    ('498', '0.6667', 'July', '')
    """
    if value is None or value != value:
        return ""
    return str(value) if isinstance(value, str) else f"{round(value, 4):.10g}"
