"""Compare the numbers in the working tree with those of a commit:  python .ci/compare.py COMMIT

Every csv of figures/ and csv.gz of data/tables/ is read on both sides and its rows are matched, by the table's key
where `helpers.tables` knows one, else by the leading columns, but for measured numbers, that tell the rows apart. Of a
run's id only what stands before its digest counts, and columns of digests are set aside. Cells are equal as text or as
numbers; columns that are new, or that were blank throughout, are told and are no difference. Ends with 1 when a value,
a row, a column or a file that the commit has is not there or not the same.
"""

import io
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd

from helpers.tables import TABLES

ASIDE = ("code_version", "parser_version", "prompt_sha256", "reply_sha256", "scorer_version")
"""Columns that hold digests of code or text."""
RUN_DIGEST = re.compile(r"(?<=.)-[0-9a-f]{8}$")
FRACTION = r"-?\d+\.\d*[1-9]\d*(e.*)?"
"""A number that is not whole; a column that holds one tells no rows apart."""


def run_git(*arguments):
    """Return what a git command writes. Raises CalledProcessError."""
    return subprocess.run(["git", *arguments], check=True, stdout=subprocess.PIPE).stdout


def is_table(path):
    """Say whether a file is compared."""
    return path.startswith("figures/") and path.endswith(".csv") or path.startswith("data/tables/") and ".csv" in path


def read_cells(data, path):
    """Return a csv's bytes as a table of text, a run's id without its digest, digests left out.

    >>> read_cells(b"run_id,n\\narima-A-0123abcd,1\\n", "runs.csv").iloc[0].to_list()
    ['arima-A', '1']
    """
    packing = "gzip" if path.endswith(".gz") else None
    table = pd.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False, compression=packing)
    if "run_id" in table:
        table["run_id"] = table["run_id"].str.replace(RUN_DIGEST, "", regex=True)
    return table.drop(columns=[column for column in ASIDE if column in table])


def choose_key(path, old, new):
    """Return the columns by which rows are matched: the store's key, else the fewest leading columns; [] for none."""
    name = Path(path).name.split(".")[0]
    keys = [TABLES[name][0]] if path.startswith("data/tables/") and name in TABLES else []
    names = [c for c in old if c in new and not any(t[c].str.fullmatch(FRACTION).any() for t in (old, new))]
    for key in keys + [names[: n + 1] for n in range(len(names))]:
        if all(set(key) <= set(table) and not table.duplicated(key).any() for table in (old, new)):
            return key
    return []


def measure_gaps(old, new):
    """Return how far apart two columns of text are: 0 where equal as text or number, else the gap, inf without one."""
    numbers = [pd.to_numeric(column, errors="coerce").reset_index(drop=True) for column in (old, new)]
    gaps = (numbers[0] - numbers[1]).abs().fillna(float("inf"))
    return gaps.where(old.reset_index(drop=True) != new.reset_index(drop=True), 0.0)


def compare_tables(path, old, new):
    """Return (words on differences, words on what was added) for one file's tables."""
    lost = [column for column in old if column not in new]
    wrong = [f"columns gone: {', '.join(lost)}"] if lost else []
    filled = [c for c in old if c not in lost and (old[c] == "").all() and (new[c] != "").any()]
    added = [column for column in new if column not in old] + filled
    notes = [f"columns added: {', '.join(added)}"] if added else []
    old, new = (table.drop(columns=[c for c in lost + added if c in table]) for table in (old, new))
    key = choose_key(path, old, new)
    if not key and len(old) != len(new):
        return [*wrong, f"{len(old)} rows before, {len(new)} now, and no key to match them by"], notes
    old, new = (t.set_axis(pd.MultiIndex.from_frame(t[key] if key else t.index.to_frame())) for t in (old, new))
    for table, other, when in ((old, new, "before"), (new, old, "now")):
        rows = table.index.difference(other.index, sort=False)
        wrong += [f"{len(rows)} rows only {when}, the first {describe_row(key, rows[0])}"] if len(rows) else []
    both = old.index.intersection(new.index, sort=False)
    return wrong + compare_values(old.loc[both], new.loc[both], key), notes


def compare_values(old, new, key):
    """Return a sentence for each column in which two tables of the same rows differ."""
    wrong = []
    for column in [column for column in old if column not in key]:
        gaps = measure_gaps(old[column], new[column])
        if gaps.gt(0).any():
            at = int(gaps.gt(0).to_numpy().argmax())
            size = f"up to {gaps.max():.3g}" if gaps.max() < float("inf") else "not all numbers"
            shown = " -> ".join(repr(table[column].iloc[at])[:60] for table in (old, new))
            told = f"{column}: {int(gaps.gt(0).sum())} values differ ({size})"
            wrong.append(f"{told}, first {describe_row(key, old.index[at])}: {shown}")
    return wrong


def describe_row(key, values):
    """Return a row's key in words.

    >>> describe_row(["agent_id", "level"], ("arima", "2"))
    'agent_id=arima level=2'
    """
    return " ".join(f"{name}={value}" for name, value in zip(key or ["row"], values, strict=True))


def main(commit):
    """Print a line a difference, and how many files are not the same; return 1 when values differ."""
    before = set(filter(is_table, run_git("ls-tree", "-r", "--name-only", commit).decode().splitlines()))
    places = (file.as_posix() for folder in ("figures", "data/tables") for file in Path(folder).rglob("*.csv*"))
    now, counts = set(filter(is_table, places)), {"equal": 0, "added": 0, "differ": 0}
    for path in sorted(before | now):
        wrong, notes = (["only before"] * (path not in now), ["only now"] * (path not in before))
        if path in before & now and (was := run_git("show", f"{commit}:{path}")) != Path(path).read_bytes():
            wrong, notes = compare_tables(path, read_cells(was, path), read_cells(Path(path).read_bytes(), path))
        counts["differ" if wrong else "added" if notes else "equal"] += 1
        for words in wrong + notes:
            print(f"{'DIFFERS' if words in wrong else 'added  '} {path}: {words}")
    print(f"{counts['equal']} files equal, {counts['added']} equal but for what was added, {counts['differ']} differ")
    return int(counts["differ"] > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
