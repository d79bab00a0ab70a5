"""Both sides of a claim in the paper's own words: what stands beside the printed value and beside its operands.

What the kit keeps of a paper is a phrase around each number, twelve words at most.
"""

import pandas as pd

from helpers import papers
from helpers.audit.ledger import DERIVED, find_cells, load_claims, read_value, resolve_reference

N_CELLS = 4
"""Of a longer row or column of a table the first so many cells are quoted."""
N_SIDES = 8
"""Of more references than these the first are quoted."""


def quote_ledger(ledger, folder=papers.FOLDER):
    """Return a ledger's claims with both sides quoted: id, printed, against."""
    claims = pd.concat([load_claims(paper, folder) for paper in ledger["paper"].unique()]).set_index("id")
    rows = [(row.id, *quote_claim(claims.loc[row.id], row.paper, folder)) for row in ledger.itertuples()]
    return pd.DataFrame(rows, columns=["id", "printed", "against"])


def quote_claim(claim, paper, folder=papers.FOLDER):
    """Return the two sides of a claim as texts: what is printed, and what it is held against, each with its place.

    Where nothing is published, the first operand is held against the others.
    """
    operands = dict.fromkeys(reference.strip() for reference in claim["operands"].split(";") if reference.strip())
    published = [claim["published"]] if claim["published"] else list(operands)[:1]
    against = [name for name in operands if name not in published]
    sides = [
        "; ".join(quote_reference(name, paper, folder) for name in part) for part in (published, against[:N_SIDES])
    ]
    return sides[0], sides[1] + f"; and {len(against) - N_SIDES} more" * (len(against) > N_SIDES)


def quote_reference(reference, paper, folder=papers.FOLDER):
    """Return what a reference names as a quote: "..." with its section, or table, row, column and value.

    >>> quote_reference("models_abstract", "futurex")
    '"We evaluate 25 LLM/agent models" (Abstract)'
    >>> quote_reference("@crawl_hours.0", "futurex")
    '14 (3.2.4)'
    >>> quote_reference("table5_planning_scores[Qwen3-32b].plan_actionability", "futurex")
    'Table 5, Qwen3-32b, plan actionability: 4'
    """
    if isinstance(read_value(reference), float):
        return reference
    if derived := DERIVED.fullmatch(reference):
        inner = [quote_reference(name, paper, folder) for name in derived["references"].split(", ")]
        return f"{derived['kind']} of {' and '.join(inner)}"
    if reference.startswith("@"):
        entry = papers.list_constants(paper, folder).set_index("name").loc[reference[1:].partition(".")[0]]
        values = ", ".join(str(value) for value in resolve_reference(reference, paper, folder))
        return f"{values} ({entry['section']}{', assumed' * (entry['status'] == 'assumed')})"
    return _quote_cells(find_cells(reference, paper, folder), paper, folder)


def _quote_cells(cells, paper, folder):
    """A statement's phrase, or the cells of a table with their row's name where there is one row."""
    name = cells[0][0]
    table = papers.load_published(paper, name, folder, dtype=str, keep_default_na=False)
    if name == "statements":
        row = table.loc[cells[0][1]]
        return f'"{row["printed"]}" ({row["section"]})'
    rows, columns = (list(dict.fromkeys(cell[at] for cell in cells)) for at in (1, 2))
    columns = [column for column in columns if column != table.columns[0]] or columns
    values = [table.at[row, column] for row in rows for column in columns if table.at[row, column]]
    shown = ", ".join(values[:N_CELLS]) + ", ..." * (len(values) > N_CELLS)
    names = [table.at[rows[0], "section"], *([table.iat[rows[0], 0]] if len(rows) == 1 else [])]
    return f"{', '.join(names + [column.replace('_', ' ') for column in columns if len(columns) == 1])}: {shown}"
