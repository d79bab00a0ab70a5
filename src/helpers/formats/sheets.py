"""A csv that a person writes, read as text and checked: whatever is wrong is said with file, row and column.

Rows are counted as a spreadsheet does: the header is row 1.
"""

import csv

import pandas as pd

N_SHOWN = 20


class Problems(ValueError):
    """What is wrong with a person's files: sentences, each with file, row and column; at most `N_SHOWN` are shown."""

    def __init__(self, found):
        self.found = list(found)
        n_more = len(self.found) - N_SHOWN
        super().__init__("\n".join(self.found[:N_SHOWN] + [f"and {n_more} more"] * (n_more > 0)))


def describe_problem(file, row, column, text):
    """Return one sentence on a wrong cell; `row` counts data rows from 0, None is the header.

    >>> describe_problem("answers.csv", 0, "spread", "-1 is below 0")
    'answers.csv, row 2, column spread: -1 is below 0'
    """
    return f"{file}, row {1 if row is None else row + 2}, column {column}: {text}"


def read_sheet(path, needs, **checks):
    """Return a csv as text cells, blank where empty, held to `checks` (see `check_sheet`). Raises Problems."""
    table = open_sheet(path, needs)
    raise_all(check_sheet(path.name, table, needs, **checks))
    return table


def escape_cells(table):
    """Return a table whose texts no spreadsheet takes for a formula: one that begins like it gets a ' before it.

    Numbers stay as they are, also as text.

    >>> escape_cells(pd.DataFrame({"agent_id": ["=1+1", "-0.5", "@x", "a"], "n": [-1, 2, 3, 4]})).values.tolist()
    [["'=1+1", -1], ['-0.5', 2], ["'@x", 3], ['a', 4]]
    """
    columns = table.select_dtypes(exclude="number").columns
    return table.assign(**{column: table[column].map(escape_cell) for column in columns})


def escape_cell(cell):
    """Return a text that begins with = + - @ or a tab with a ' before it, unless it is a number; else as it is."""
    if not isinstance(cell, str) or not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def raise_all(problems):
    """Raise Problems with some sentences, if there are any."""
    problems = list(problems)
    if problems:
        raise Problems(problems)


def open_sheet(path, needs, comments=False):
    """Return a csv as text cells, blank where empty; `needs` are its columns, to be named when there is no such file.

    With `comments`, lines that start with # say nothing. Raises Problems for a file that is absent, not UTF-8 or no
    csv, a column that stands twice, and a row with more or fewer cells than the header.
    """
    problem = None
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            records = enumerate(csv.reader(file, skipinitialspace=True, strict=True), -1)
            rows = {row: [cell.strip() for cell in cells] for row, cells in records if any(cells)}
    except FileNotFoundError:
        problem = f"the file is not in {path.parent.name}; it needs the columns {', '.join(needs)}"
    except UnicodeDecodeError as error:
        problem = f"the file is not UTF-8 ({error.reason}); save it so"
    except csv.Error as error:
        problem = f"the file is no csv: {error}"
    if problem is None:
        rows = {row: cells for row, cells in rows.items() if not (comments and cells[0].startswith("#"))}
        problem = None if rows else "the file is no csv: it is empty"
    if problem:
        raise Problems([describe_problem(path.name, None, needs[0], problem)])
    head = rows.pop(next(iter(rows)))
    twice = [name for name in dict.fromkeys(head) if head.count(name) > 1]
    raise_all(describe_problem(path.name, None, name, "it stands twice in the header") for name in twice)
    uneven = {row: len(cells) for row, cells in rows.items() if len(cells) != len(head)}
    said = "{} cells, the header has {}"
    raise_all(describe_problem(path.name, row, head[-1], said.format(n, len(head))) for row, n in uneven.items())
    return pd.DataFrame.from_dict(rows, orient="index", columns=head, dtype=object)


def check_sheet(file, table, needs, *, filled=(), key=(), words=None):
    """Yield what is wrong with a table of text cells, a sentence each.

    `needs` are columns it cannot do without, `filled` columns without a blank, `key` columns that no two rows share,
    `words` maps a column to what may stand in it, a blank among these where it may be left out.
    """
    absent = [column for column in needs if column not in table.columns]
    for column in absent:
        yield describe_problem(file, None, column, f"the column is missing; there are {', '.join(table.columns)}")
    if absent:
        return
    if table.empty:
        yield describe_problem(file, None, needs[0], "the file has no rows")
    for column in filled:
        for row in table.index[table[column] == ""]:
            yield describe_problem(file, row, column, "the cell is blank")
    for row in table.index[table.duplicated(key)] if key else ():
        first = table.index[(table[key] == table.loc[row, key]).all(axis=1)][0]
        what, column = ", ".join(table.loc[row, key]), next(name for name in key[::-1] if name in needs)
        yield describe_problem(file, row, column, f"{what} stands in row {first + 2} already; keep one")
    for column, known in (words or {}).items():
        listed = ", ".join(word for word in known if word) + " or blank" * ("" in known)
        for row in table.index[~table[column].isin(known)] if column in table else ():
            yield describe_problem(file, row, column, f"{table[column][row]!r} is none of {listed}")
