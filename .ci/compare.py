"""Compare the numbers in the working tree with those of a commit:  python .ci/compare.py COMMIT

Every csv of figures/ and csv.gz of data/tables/ is read on both sides and its rows are matched, by the table's key
where `helpers.store` knows one, else by the leading columns, but for measured numbers, that tell the rows apart. Of a
run's id only what stands before its digest counts, and columns of digests are set aside (--aside). Cells are equal as
text or as numbers; columns that are new, or that were blank throughout, are told and are no difference. A file that was
renamed since is found by git, or named by --rename OLD=NEW, a part of its path; its name in the other files follows.

Ends with 1 when a value, a row, a column or a file that the commit has is not there or not the same.
"""

import argparse
import io
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd

from helpers.tables import TABLES

ASIDE = ("ledger_run_id", "code_version", "parser_version", "prompt_sha256", "reply_sha256", "scorer_version")
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


def list_files(commit, renames):
    """Return the files to compare as {path now: path at the commit}, None for a side on which it is not; sorted."""
    before = [path for path in run_git("ls-tree", "-r", "--name-only", commit).decode().splitlines() if is_table(path)]
    places = (file for folder in ("figures", "data/tables") for file in Path(folder).rglob("*.csv*"))
    now = {path.as_posix() for path in places if is_table(path.as_posix())}
    moved = {}
    for line in run_git("diff", "--name-status", "--diff-filter=R", "-M", commit).decode().splitlines():
        _, old, new = line.split("\t")
        moved[old] = new
    for old, new in renames:
        moved |= {path: path.replace(old, new) for path in before if old in path}
    pairs = {moved.get(path, path): path for path in before}
    return {path: (path if path in now else None, pairs.get(path)) for path in sorted(now | set(pairs))}


def read_cells(data, path):
    """Return a csv's bytes as a table of text, a run's id without its digest.

    >>> read_cells(b"run_id,n\\narima-A-0123abcd,1\\n", "runs.csv").iloc[0].to_list()
    ['arima-A', '1']
    """
    packing = "gzip" if path.endswith(".gz") else None
    table = pd.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False, compression=packing)
    if "run_id" in table:
        table["run_id"] = table["run_id"].str.replace(RUN_DIGEST, "", regex=True)
    return table


def choose_key(path, old, new):
    """Return the columns by which rows are matched: the store's key, else the fewest leading columns; [] for none."""
    name = Path(path).name.split(".")[0]
    keys = [TABLES[name][0]] if path.startswith("data/tables/") and name in TABLES else []
    common = [column for column in old if column in new]
    names = [c for c in common if not (old[c].str.fullmatch(FRACTION).any() or new[c].str.fullmatch(FRACTION).any())]
    keys += [names[: n + 1] for n in range(len(names))]
    for key in keys:
        if set(key) <= set(common) and not old.duplicated(key).any() and not new.duplicated(key).any():
            return key
    return []


def measure_gaps(old, new):
    """Return how far apart two columns of text are: 0 where equal as text or number, else the gap, inf without one."""
    numbers = [pd.to_numeric(column, errors="coerce").reset_index(drop=True) for column in (old, new)]
    gaps = (numbers[0] - numbers[1]).abs().fillna(float("inf"))
    same = old.reset_index(drop=True) == new.reset_index(drop=True)
    return gaps.where(~same, 0.0)


def compare_tables(path, old, new, aside):
    """Return (words on differences, words on what was added) for one file's tables."""
    old, new = (table.drop(columns=[c for c in aside if c in table]) for table in (old, new))
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
            n, at = int(gaps.gt(0).sum()), int(gaps.gt(0).to_numpy().argmax())
            size = f"up to {gaps.max():.3g}" if gaps.max() < float("inf") else "not all numbers"
            size = "all were blank" if (old[column][gaps.gt(0).to_numpy()] == "").all() else size
            shown = " -> ".join(repr(table[column].iloc[at])[:60] for table in (old, new))
            wrong.append(f"{column}: {n} values differ ({size}), first {describe_row(key, old.index[at])}: {shown}")
    return wrong


def describe_row(key, values):
    """Return a row's key in words.

    >>> describe_row(["agent_id", "level"], ("arima", "2"))
    'agent_id=arima level=2'
    """
    return " ".join(f"{name}={value}" for name, value in zip(key or ["row"], values, strict=True))


def compare_file(commit, now, before, names, aside):
    """Return (words on differences, words on what was added) for one file; `names` are the files' renames."""
    if before is None:
        return [], ["only now"]
    if now is None:
        return ["only before"], []
    was, stands = run_git("show", f"{commit}:{before}"), Path(now).read_bytes()
    notes = [f"was {before}"] if before != now else []
    if was == stands:
        return [], notes
    wrong, added = compare_tables(now, read_cells(was, before).replace(names), read_cells(stands, now), aside)
    return wrong, notes + added


def main(arguments=None):
    """Print a line a file that is not the same, and how many are; exits with 1 when values differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("--aside", default=",".join(ASIDE), help="columns that do not count, with commas")
    parser.add_argument("--rename", action="append", default=[], help="OLD=NEW, parts of a path")
    given = parser.parse_args(arguments)
    aside, renames = given.aside.split(","), [pair.split("=") for pair in given.rename]
    counts = {"equal": 0, "added": 0, "differ": 0}
    files = list_files(given.commit, renames)
    names = {Path(b).name.split(".")[0]: path.split("/")[-1].split(".")[0] for path, (_, b) in files.items() if b}
    names = {old: new for old, new in names.items() if old != new}
    for path, (now, before) in files.items():
        wrong, notes = compare_file(given.commit, now, before, names, aside)
        counts["differ" if wrong else "added" if notes else "equal"] += 1
        for words in wrong + notes:
            print(f"{'DIFFERS' if words in wrong else 'added  '} {path}: {words}")
    print(f"{counts['equal']} files equal, {counts['added']} equal but for what was added, {counts['differ']} differ")
    sys.exit(1 if counts["differ"] else 0)


if __name__ == "__main__":
    main()
