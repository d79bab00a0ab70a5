"""Both sides of a claim in the paper's own words: what stands beside the printed value and beside its operands.

What the kit keeps of a paper is a phrase around each number, twelve words at most. Who has the papers' texts reads
more: `load_copies` takes them from a folder, `find_passage` gives the words around a phrase. Nothing of that is kept.
"""

import re

import pandas as pd

from helpers import papers
from helpers.audit.ledger import DERIVED, find_cells, load_claims, read_value, resolve_reference

N_CELLS = 4
"""Of a longer row or column of a table the first so many cells are quoted."""
N_SIDES = 8
"""Of more references than these the first are quoted."""
N_TITLE = 4000
"""The title of a paper stands in so many first characters of its text."""
WORD = re.compile(r"[^\W_]+")


def load_copies(folder):
    """Return the texts of the papers in a folder as a dictionary: key -> text; a file is known by the paper's title.

    Raises FileNotFoundError for a folder in which no text file begins with a title of the four.
    """
    words = {key: " ".join(_list_words(papers.load_paper(key)["title"])) for key in papers.list_papers()}
    copies = {}
    for path in sorted(folder.glob("*.txt")):
        text = path.read_text(encoding="utf-8", errors="replace")
        head = " ".join(_list_words(text[:N_TITLE]))
        copies |= {key: text for key, title in words.items() if title in head}
    if not copies:
        raise FileNotFoundError(f"no .txt in {folder.name} begins with the title of one of the four papers")
    return copies


def find_passage(text, phrase, n_words=20):
    """Return a phrase with up to `n_words` words before and after it in a text; the phrase alone where it is not found.

    Spaces, line ends and punctuation need not agree; of a phrase with gaps (...) the longest part is looked for.

    >>> find_passage("We say that, in all, 12 of\\n30 sites are slow today.", "12 of 30 sites", 2)
    '... in all, 12 of 30 sites are slow ...'
    """
    words = max((_list_words(part) for part in phrase.split("...")), key=len)
    places = list(WORD.finditer(text))
    known = [place.group().casefold() for place in places]
    for at in range(len(known) - len(words) + 1 if words else 0):
        if known[at : at + len(words)] == words:
            first, last = max(at - n_words, 0), min(at + len(words) + n_words, len(known)) - 1
            return f"... {' '.join(text[places[first].start() : places[last].end()].split())} ..."
    return phrase


def quote_claim(claim, paper, folder=papers.FOLDER, copy=None):
    """Return the two sides of a claim as texts: what is printed, and what it is held against, each with its place.

    Where nothing is published, the first operand is held against the others.
    """
    operands = dict.fromkeys(reference.strip() for reference in claim["operands"].split(";") if reference.strip())
    published = [claim["published"]] if claim["published"] else list(operands)[:1]
    against = [name for name in operands if name not in published]
    left_out = f"; and {len(against) - N_SIDES} more" * (len(against) > N_SIDES)
    first, second = (
        "; ".join(quote_reference(name, paper, folder, copy) for name in names)
        for names in (published, against[:N_SIDES])
    )
    return first, second + left_out


def quote_reference(reference, paper, folder=papers.FOLDER, copy=None):
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
        inner = [quote_reference(name, paper, folder, copy) for name in derived["references"].split(", ")]
        return f"{derived['kind']} of {' and '.join(inner)}"
    if reference.startswith("@"):
        entry = papers.list_constants(paper, folder).set_index("name").loc[reference[1:].partition(".")[0]]
        values = ", ".join(str(value) for value in resolve_reference(reference, paper, folder))
        return f"{values} ({entry['section']}{', assumed' * (entry['status'] == 'assumed')})"
    return _quote_cells(find_cells(reference, paper, folder), paper, folder, copy)


def _quote_cells(cells, paper, folder, copy):
    """A statement's phrase, or the cells of a table with their row's name where there is one row."""
    name = cells[0][0]
    table = papers.load_published(paper, name, folder, dtype=str, keep_default_na=False)
    if name == "statements":
        row = table.loc[cells[0][1]]
        return f'"{find_passage(copy, row["printed"]) if copy else row["printed"]}" ({row["section"]})'
    rows, columns = (list(dict.fromkeys(cell[at] for cell in cells)) for at in (1, 2))
    columns = [column for column in columns if column != table.columns[0]] or columns
    values = [table.at[row, column] for row in rows for column in columns if table.at[row, column]]
    shown = ", ".join(values[:N_CELLS]) + ", ..." * (len(values) > N_CELLS)
    names = [table.at[rows[0], "section"], *([table.iat[rows[0], 0]] if len(rows) == 1 else [])]
    return f"{', '.join(names + [column.replace('_', ' ') for column in columns if len(columns) == 1])}: {shown}"


def quote_ledger(ledger, folder=papers.FOLDER, copies=None):
    """Return a ledger's claims with both sides quoted: id, printed, against; `copies` are texts by paper."""
    claims = pd.concat([load_claims(paper, folder) for paper in ledger["paper"].unique()]).set_index("id")
    rows = []
    for row in ledger.itertuples():
        claim = claims.loc[row.id].to_dict()
        rows.append((row.id, *quote_claim(claim, row.paper, folder, (copies or {}).get(row.paper))))
    return pd.DataFrame(rows, columns=["id", "printed", "against"])


def _list_words(text):
    return [word.casefold() for word in WORD.findall(text)]
