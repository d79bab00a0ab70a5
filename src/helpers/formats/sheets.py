"""A csv that a person writes, read as text and checked: whatever is wrong is said with file, row and column.

Rows are counted as a spreadsheet does: the header is row 1.
"""

import pandas as pd

N_SHOWN = 10


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


def raise_all(problems):
    """Raise Problems with some sentences, if there are any."""
    problems = list(problems)
    if problems:
        raise Problems(problems)


def open_sheet(path, needs):
    """Return a csv as text cells, blank where empty; `needs` are its columns, to be named when there is no such file.

    Raises Problems for a file that is absent, not UTF-8 or no csv.
    """
    problem = None
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig", skipinitialspace=True)
    except FileNotFoundError:
        problem = f"the file is not in {path.parent.name}; it needs the columns {', '.join(needs)}"
    except UnicodeDecodeError as error:
        problem = f"the file is not UTF-8 ({error.reason}); save it so"
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        problem = f"the file is no csv: {error}"
    if problem:
        raise Problems([describe_problem(path.name, None, needs[0], problem)])
    return table.apply(lambda column: column.str.strip())


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
