"""The ledger: what the papers claim, recomputed from what they print.

A claim is a line of data/papers/ledger_<paper>.csv: id, section, kind (the check), claim,
published, operands, tolerance, note. `published` and `operands` (separated by `;`) are references:

- `table[where].column`: cells of a printed table <paper>_<table>.csv; `where` is a value of its first column, or
  conditions `column=value&column!=value`, or empty for all rows; the column `*` takes every number of the rows;
- `name`: the value of that row of <paper>_statements.csv, the numbers and words printed in running text;
- `@name`: a constant of <paper>.toml, `@name.part` where it has parts (`@name.0` the first of a list);
- `kind(reference, reference)`: what a check that recomputes a value makes of others, which may be made so themselves;
- a number: itself (the days of a week).

Verdicts: `consistent`; `inconsistent`; `two readings`, where both sides are printed and are of
different kinds, so that neither proves the other wrong; `not recomputable`, where the paper prints
too little to tell. To add a claim, add a line. To add a kind of check, add a function to
`studies.audit.checks`.
"""

import re
from functools import lru_cache

import pandas as pd

from helpers import papers
from helpers.input_faults import read_sheet
from studies.audit.checks import JUDGEMENTS, VALUES, run_check

COLUMNS = "id paper section kind claim published recomputed tolerance verdict basis note".split()
CLAIM_COLUMNS = "id section kind claim published operands tolerance note".split()
VERDICTS = ("consistent", "inconsistent", "two readings", "not recomputable")
BASES = ("recomputed", "printed twice", "read in words", "own assumption")
"""What a verdict rests on: other numbers; the same thing in another place; words, read and
transcribed; or a value that the paper does not print and the kit assumes."""
REFERENCE = re.compile(r"(?P<table>\w+)\[(?P<where>[^\]]*)\]\.(?P<column>\w+|\*)")
DERIVED = re.compile(r"(?P<kind>[a-z_]+)\((?P<references>.*)\)")
DATE = re.compile(r"\d{4}-\d\d(-\d\d)?")
N_CELLS = 4
"""Of a longer row or column of a table the first so many cells are quoted."""
N_SIDES = 8
"""Of more references than these the first are quoted."""


# --- references -------------------------------------------------------------------------------------


def read_value(text):
    """Return a cell as a number where it is one, else as text; commas in thousands are dropped.

    >>> read_value("1,272"), read_value("July 24"), read_value("")
    (1272.0, 'July 24', '')
    """
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return text


def split_reference(reference):
    """Return (kind, references) of what a check makes of others, (None, []) of any other reference.

    >>> split_reference("ratio(sum(a, b), t[x (y, z)].c)"), split_reference("t[x (y)].c")
    (('ratio', ['sum(a, b)', 't[x (y, z)].c']), (None, []))
    """
    found = DERIVED.fullmatch(reference)
    if not found:
        return None, []
    parts = [""]
    depth = 0
    for letter in found["references"]:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return found["kind"], [part.strip() for part in parts]


def resolve_reference(reference, paper):
    """Return the values a reference names, as a list; blank cells are left out.

    >>> resolve_reference("table5_planning_scores[GPT-4.1].*", "futurex")
    [9.0, 8.0, 9.0]
    >>> resolve_reference("@crawl_hours", "futurex"), resolve_reference("@crawl_hours.0", "futurex")
    ([14, 16, 18, 20], [14])
    >>> resolve_reference("product(days(week_first_day, week_last_day), 2)", "futurex")
    [14.0]
    """
    if isinstance(number := read_value(reference), float):
        return [number]
    kind, parts = split_reference(reference)
    if kind:
        made = VALUES[kind]([resolve_reference(part, paper) for part in parts])
        return [] if made is None else [made]
    if reference.startswith("@"):
        name, _, part = reference[1:].partition(".")
        value = papers.get_constant(paper, name)
        value = value[int(part) if part.isdigit() else part] if part else value
        return list(value) if isinstance(value, tuple) else [value]
    values = [read_value(text) for text in find_cells(reference, paper).values()]
    return [
        value
        for value in values
        if isinstance(value, float) or value and not reference.endswith("].*")
    ]


def list_references(claim):
    """Return the references of a claim, `published` first, those within others on their own; blanks
    are left out.

    >>> list_references({"published": "axes", "operands": "sum(days(week_first_day, week_last_day), 1); 7"})
    ['axes', 'week_first_day', 'week_last_day', '1', '7']
    """
    left = [claim["published"], *split_operands(claim)]
    found = []
    while left:
        inner = split_reference(left[0])[1]
        found += [] if inner else left[:1]
        left = [*inner, *left[1:]]
    return list(filter(None, found))


def split_operands(claim):
    """Return the references of a claim's operands."""
    return [reference.strip() for reference in claim["operands"].split(";") if reference.strip()]


def find_cells(reference, paper):
    """Return the printed cells that a reference by itself names, {(table, row from 0, column):
    text}.

    Raises ValueError for a reference that cannot be read and LookupError for a table, row or column
    that is not there.

    >>> find_cells("table5_planning_scores[GPT-4.1].source_reliability", "futurex")
    {('table5_planning_scores', 0, 'source_reliability'): '8'}
    """
    found = REFERENCE.fullmatch(
        f"statements[{reference}].value" if reference.isidentifier() else reference
    )
    if not found:
        raise ValueError(
            f"cannot read the reference {reference!r}; write table[row].column, name, @name or a number"
        )
    table, where, column = found.groups()
    rows = _load_rows(paper, table)
    first, *_ = names = list(rows[0])
    conditions = (
        where.split("&") if re.search("!?=", where) else [f"{first}={where}"] if where else []
    )
    for condition in conditions:
        key, different, value = re.fullmatch(r"(\w+)(!?)=(.*)", condition).groups()
        rows = {at: cells for at, cells in rows.items() if (cells[key] == value) != bool(different)}
    if not rows:
        raise LookupError(f"no row has {where}")
    names = [name for name in names if name != "section"] if column == "*" else [column]
    return {(table, at, name): cells[name] for at, cells in rows.items() for name in names}


@lru_cache
def _load_rows(paper, table):
    return papers.load_published(paper, table, dtype=str, keep_default_na=False).to_dict("index")


# --- claims -----------------------------------------------------------------------------------------


def resolve_claim(claim, paper):
    """Return a claim's published value (None where it is not printed) and the values its operands
    name, as groups.

    Raises ValueError for several published cells.
    """
    published = resolve_reference(claim["published"], paper) if claim["published"] else []
    if len(published) > 1:
        raise ValueError(f"{claim['id']}: `published` names {len(published)} cells; name one")
    return (published or [None])[0], [
        resolve_reference(one, paper) for one in split_operands(claim)
    ]


def judge_claim(claim, value, groups):
    """Return what a claim's check makes of a published value and groups of operands, and the
    verdict.

    A claim of kind `none`, one without anything printed to hold against it, and one that refers to
    a blank cell are not recomputable. Raises ValueError for an unknown kind.
    """
    is_blank = claim["published"] and value is None or not all(groups)
    if claim["kind"] == "none" or is_blank:
        return None, "not recomputable"
    recomputed, holds = run_check(claim["kind"], value, groups, float(claim["tolerance"] or 0))
    differs = "two readings" if claim["kind"] == "readings" else "inconsistent"
    return recomputed, {True: "consistent", False: differs, None: "not recomputable"}[holds]


def find_basis(claim, value, groups, assumed, at_a_glance):
    """Return what a claim's verdict rests on, one of BASES.

    `assumed` are the paper's constants that are not printed, `at_a_glance` the ids of the claims
    that no change by a half moves (data/papers/read.csv): they are seen in reading, and nothing is
    recomputed.
    """
    texts = [
        text for text in [value, *(v for group in groups for v in group)] if isinstance(text, str)
    ]
    words = [text for text in texts if not DATE.fullmatch(text)]
    if any(
        name.startswith("@") and name[1:].partition(".")[0] in assumed
        for name in list_references(claim)
    ):
        return "own assumption"
    if claim["id"] in at_a_glance:
        return "read in words"
    if claim["kind"] == "same" and all(re.search(r"\d", text) for text in words):
        return "printed twice"
    return "read in words" if words and claim["kind"] != "largest" else "recomputed"


def load_claims(paper):
    """Return a paper's claims as text, in the file's order; raises Problems for a repeated id or an
    unknown kind."""
    kinds = {"kind": [*VALUES, *JUDGEMENTS, "none"]}
    return read_sheet(papers.FOLDER / f"ledger_{paper}.csv", CLAIM_COLUMNS, key=["id"], words=kinds)


def build_ledger():
    """Return the ledger, a row a claim (columns `COLUMNS`); values are text."""
    rows = []
    glance = set(read_sheet(papers.FOLDER / "read.csv", ("id", "why"), key=["id"])["id"])
    for paper in papers.list_papers():
        assumed = papers.load_paper(paper)["assumed"]
        for claim in load_claims(paper).to_dict("records"):
            try:
                value, groups = resolve_claim(claim, paper)
                recomputed, verdict = judge_claim(claim, value, groups)
            except (LookupError, ValueError, TypeError) as problem:
                problem.add_note(f"in claim {claim['id']} of ledger_{paper}.csv")
                raise
            basis = (
                ""
                if verdict == "not recomputable"
                else find_basis(claim, value, groups, assumed, glance)
            )
            shown = {
                "published": show_value(value),
                "recomputed": show_value(recomputed),
                "verdict": verdict,
            }
            rows.append(claim | {"paper": paper, "basis": basis} | shown)
    return pd.DataFrame(rows, columns=COLUMNS)


def show_value(value):
    """Return a value as text, numbers to four decimals; blank for none.

    >>> show_value(498.0), show_value(2 / 3), show_value("July"), show_value(None)
    ('498', '0.6667', 'July', '')
    """
    if value is None or value != value:
        return ""
    return str(value) if isinstance(value, str) else f"{round(value, 4):.10g}"


# --- both sides in the paper's own words ------------------------------------------------------------


OWN_WORDS = ("futurex",)
"""Papers whose statements are kept in our words, their numbers as printed."""


def quote_ledger(ledger):
    """Return a ledger's claims with both sides quoted: id, printed, against.

    What the kit keeps of a paper is a phrase around each number, twelve words at most.
    """
    claims = pd.concat([load_claims(paper) for paper in ledger["paper"].unique()]).set_index("id")
    rows = [(row.id, *quote_claim(claims.loc[row.id], row.paper)) for row in ledger.itertuples()]
    return pd.DataFrame(rows, columns=["id", "printed", "against"])


def quote_claim(claim, paper):
    """Return the two sides of a claim as texts: what is printed, and what it is held against, each
    with its place.

    Where nothing is published, the first operand is held against the others.
    """
    operands = dict.fromkeys(split_operands(claim))
    published = [claim["published"]] if claim["published"] else list(operands)[:1]
    against = [name for name in operands if name not in published]
    sides = [
        "; ".join(quote_reference(name, paper) for name in part)
        for part in (published, against[:N_SIDES])
    ]
    return sides[0], sides[1] + f"; and {len(against) - N_SIDES} more" * (len(against) > N_SIDES)


def quote_reference(reference, paper):
    """Return what a reference names: a statement with its section, or table, row, column and value.

    A statement stands in quotation marks where its words are the paper's (`OWN_WORDS`).

    >>> quote_reference("models_abstract", "futurex")
    '25 models are evaluated (Abstract)'
    >>> quote_reference("@crawl_hours.0", "futurex")
    '14 (3.2.4)'
    >>> quote_reference("table5_planning_scores[Qwen3-32b].plan_actionability", "futurex")
    'Table 5, Qwen3-32b, plan actionability: 4'
    """
    if isinstance(read_value(reference), float):
        return reference
    kind, parts = split_reference(reference)
    if kind:
        inner = [(split_reference(part)[0], quote_reference(part, paper)) for part in parts]
        return (
            f"{kind} of {' and '.join(f'({text})' if is_made else text for is_made, text in inner)}"
        )
    if reference.startswith("@"):
        entry = papers.list_constants(paper).set_index("name").loc[reference[1:].partition(".")[0]]
        values = ", ".join(map(str, resolve_reference(reference, paper)))
        return f"{values} ({entry['section']}{', assumed' * (entry['status'] == 'assumed')})"
    cells = find_cells(reference, paper)
    (table, *_), rows, columns = (list(dict.fromkeys(part)) for part in zip(*cells, strict=True))
    row = _load_rows(paper, table)[rows[0]]
    if table == "statements":
        mark = "" if paper in OWN_WORDS else '"'
        return f"{mark}{row['printed']}{mark} ({row['section']})"
    first = next(iter(row))
    columns = [column for column in columns if column != first] or columns
    values = [text for (_, _, column), text in cells.items() if column in columns and text]
    names = [row["section"]] + [row[first]] * (len(rows) == 1)
    names += [column.replace("_", " ") for column in columns if len(columns) == 1]
    return f"{', '.join(names)}: {', '.join(values[:N_CELLS])}{', ...' * (len(values) > N_CELLS)}"
