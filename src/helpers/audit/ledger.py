"""The ledger: what the papers claim, recomputed from what they print, and what this kit measures beside it.

A claim is a line of data/papers/ledger_<paper>.csv: id, section, kind (the check), claim, published, operands,
tolerance, note. `published` and `operands` (separated by `;`) are references:

- `table[where].column`: cells of a printed table <paper>_<table>.csv; `where` is a value of its first column, or
  conditions `column=value&column!=value`, or empty for all rows; the column `*` takes every number of the rows;
- `name`: the value of that row of <paper>_statements.csv, the numbers and words printed in running text;
- `@name`: a constant of <paper>.toml, `@name.part` where it has parts;  a number: itself (days in a week, say).

To add a claim, add a line. To add a kind of check, add a function to `helpers.audit.checks`.
"""

import re
from functools import lru_cache

import pandas as pd

from helpers import papers
from helpers.audit.checks import JUDGEMENTS, VALUES, run_check
from helpers.formats.sheets import read_sheet

COLUMNS = "id paper section kind claim published recomputed tolerance verdict ours interval note".split()
CLAIM_COLUMNS = "id section kind claim published operands tolerance note".split()
VERDICTS = ("consistent", "inconsistent", "not recomputable")
REFERENCE = re.compile(r"(?P<table>\w+)\[(?P<where>[^\]]*)\]\.(?P<column>\w+|\*)")


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
    >>> resolve_reference("@crawl_hours", "futurex"), resolve_reference("61", "futurex")
    ([14, 16, 18, 20], [61.0])
    """
    number = read_value(reference)
    if isinstance(number, float):
        return [number]
    if reference.startswith("@"):
        name, _, part = reference[1:].partition(".")
        value = papers.get_constant(paper, name, folder)
        value = value[part] if part else value
        return list(value) if isinstance(value, tuple) else [value]
    values = [read_value(text) for text in _read_cells(*_split_reference(reference), paper, folder).values()]
    if reference.endswith("].*"):
        return [value for value in values if isinstance(value, float)]
    return [value for value in values if value != ""]


def find_cells(reference, paper, folder=papers.FOLDER):
    """Return the printed cells a reference names, as (table, row from 0, column); none for a number or a constant.

    Raises ValueError for a reference that cannot be read and LookupError for a table, row or column that is not there.

    >>> find_cells("table5_planning_scores[GPT-4.1].source_reliability", "futurex")
    [('table5_planning_scores', 0, 'source_reliability')]
    >>> find_cells("@crawl_hours", "futurex"), find_cells("models_abstract", "futurex")
    ([], [('statements', 0, 'value')])
    """
    if reference.startswith("@") or isinstance(read_value(reference), float):
        return []
    return list(_read_cells(*_split_reference(reference), paper, folder))


def _split_reference(reference):
    """Table, condition and column of a reference to printed cells."""
    found = REFERENCE.fullmatch(f"statements[{reference}].value" if reference.isidentifier() else reference)
    if not found:
        raise ValueError(f"cannot read the reference {reference!r}; write table[row].column, name, @name or a number")
    return found["table"], found["where"], found["column"]


def _read_cells(table, where, column, paper, folder):
    return _select_cells(table, where, column, paper, folder, _date_file(folder / f"{paper}_{table}.csv"))


@lru_cache(maxsize=4096)
def _select_cells(table, where, column, paper, folder, changed_ns):
    """{(table, row, column): text} of the cells named; read again only when their file has changed."""
    rows = select_rows(_load_text(paper, table, folder, changed_ns), where)
    rows = rows.drop(columns="section") if column == "*" else rows[[column]]
    return {(table, row, name): rows.at[row, name] for row in rows.index for name in rows.columns}


@lru_cache
def _load_text(paper, table, folder, changed_ns):
    return papers.load_published(paper, table, folder, dtype=str, keep_default_na=False)


def _date_file(path):
    return path.stat().st_mtime_ns if path.exists() else None


def check_claim(claim, paper, folder=papers.FOLDER):
    """Return a claim's published value, the recomputed one and the verdict.

    A claim of kind `none`, one whose published value is not printed, and one that refers to a blank cell are not
    recomputable. Raises ValueError for an unknown kind, and for several published cells.
    """
    published = resolve_reference(claim["published"], paper, folder) if claim["published"] else [None]
    groups = [resolve_reference(ref.strip(), paper, folder) for ref in claim["operands"].split(";") if ref.strip()]
    if len(published) > 1:
        raise ValueError(f"{claim['id']}: `published` names {len(published)} cells; name one")
    value = published[0] if published else None
    if claim["kind"] == "none":
        return value, None, "not recomputable"
    if not published or not all(groups):
        return value, None, "not recomputable"
    recomputed, holds = run_check(claim["kind"], value, groups, float(claim["tolerance"] or 0))
    return value, recomputed, {True: "consistent", False: "inconsistent", None: "not recomputable"}[holds]


def load_claims(paper, folder=papers.FOLDER):
    """Return a paper's claims as text, in the file's order; raises Problems for a repeated id or an unknown kind.

    >>> load_claims("futurex").columns.tolist()
    ['id', 'section', 'kind', 'claim', 'published', 'operands', 'tolerance', 'note']
    """
    kinds = {"kind": [*VALUES, *JUDGEMENTS, "none"]}
    return read_sheet(folder / f"ledger_{paper}.csv", CLAIM_COLUMNS, key=["id"], words=kinds)


def build_ledger(paper_keys=None, folder=papers.FOLDER):
    """Return the ledger, a row a claim (columns `COLUMNS`); values are text, `ours` and `interval` are blank.

    >>> ledger = build_ledger(["futurex"]).set_index("id")
    >>> ledger.loc["fx_open_ended_week", ["published", "recomputed", "verdict"]].tolist()
    ['498', '498', 'consistent']
    """
    rows = []
    for paper in papers.list_papers(folder) if paper_keys is None else paper_keys:
        for claim in load_claims(paper, folder).to_dict("records"):
            try:
                published, recomputed, verdict = check_claim(claim, paper, folder)
            except (LookupError, ValueError, TypeError) as problem:
                problem.add_note(f"in claim {claim['id']} of ledger_{paper}.csv")
                raise
            shown = {"published": show_value(published), "recomputed": show_value(recomputed), "verdict": verdict}
            rows.append({**claim, "paper": paper, **shown, "ours": "", "interval": ""})
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


def fill_ours(ledger, ours):
    """Return the ledger with measured values: `ours` has id, value, low, high, note; blanks are allowed but for id.

    The note is added to the ledger's. Raises ValueError for a repeated id or one the ledger does not hold.
    """
    stray = sorted(set(ours["id"]) - set(ledger["id"]))
    if stray or ours["id"].duplicated().any():
        raise ValueError(f"measured value for {stray[0]}, which is no claim" if stray else "two values for one claim")
    filled = ledger.set_index("id")
    for row in ours.itertuples():
        filled.loc[row.id, "ours"] = show_value(row.value)
        if not (pd.isna(row.low) or pd.isna(row.high)):
            filled.loc[row.id, "interval"] = f"{show_value(row.low)} to {show_value(row.high)}"
        notes = (filled.loc[row.id, "note"], row.note)
        filled.loc[row.id, "note"] = "; ".join(note for note in notes if isinstance(note, str) and note)
    return filled.reset_index()[list(ledger.columns)]
