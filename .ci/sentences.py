"""List every sentence with a number in README, FINDINGS and the notebooks, and the cell of a table
it comes from.

    python .ci/sentences.py            what is wrong, and how many numbers come from what
    python .ci/sentences.py list       every sentence, its numbers, their cells
    python .ci/sentences.py write      the map anew: numbers as printed now; rows follow reworded sentences, moved cells

The map is data/sentences.csv (its columns are in data/README.md). A number that has a row is read
again from its cell; one of README or FINDINGS that has none is an error, one of a notebook is
listed. What is no result needs no row: names, numbers of sections, figures and levels, dates, the
95 of an interval (`NAMES`), and whatever stands in code. Numbers in words are looked at where they
count out of something ("four of six"), and nowhere else.
"""

import collections
import csv
import difflib
import functools
import json
import re
import sys
import tokenize
import tomllib
from io import StringIO
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
MAP = "data/sentences.csv"
PAGES = ("README.md", "FINDINGS.md", "notebooks/README.md", "data/findings.csv")
COLUMNS = "file phrase nth number kind source key column take".split()
WORDS = {
    word: value
    for value, word in enumerate(
        "none one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
    )
}
WORD = "|".join(WORDS)
NUMBER = r"""(?<![\w.]) -? \d+(?:,\d{3})* (?:\.\d+)? (?:e-?\d+)? (?![\w]) (?!\.\d) (?:\s?%)?"""
OUT_OF = r"\s(?:of|in)\s(?:the\s|its\s|these\s|all\s)?"
COUNTED = (rf"\b({WORD})(?={OUT_OF}(?:{WORD}|\d+)\b)", rf"\b(?:{WORD}|\d+){OUT_OF}({WORD})\b")
"""Words that count: the first and the second of "four of the six"."""
LIST = r"\s?(?:(?:,|to|and|or|-|,\sand)\s?\d+(?!\.?\d|[\s]?%)\s?)*"
NAMES = {
    "code": r"`[^`]*`|\]\([^)]*\)|https?://\S+|\$[^$]*\$",
    "figure, table, section": rf"(?i)\b(figures?|fig\.|tables?|sections?|findings?|notebooks?|appendix|statements?|"
    rf"observations?|case study|scenario|python|round|crawl|event|agent) [A-F]?\.?\d[\d.]*{LIST}",
    "section": r"Bench \d\.\d to \d\.\d|(?<!to )(?<=[(\s,])[1-6]\.\d{1,2}(?:\.\d)?(?=[,;:)]|\sto\s[1-6]\.\d|"
    r"\sand\s[1-6]\.\d)|\b[1-6]\.\d\.\d\b",
    "level": rf"(?i)\blevels? \d{LIST}|\b[1-4]-[1-4]\b",
    "date": r"\b(1[89]|20)\d\d(-\d\d(-\d\d)?|-W\d)?\b|\b\d\d?:\d\d\b|UTC[+-]\d+|\b\d{1,2}(?= (January|February|March|"
    r"April|May|June|July|August|September|October|November|December)\b)",
    "name": r"\b(?!\d+e-\d)[\w.]*[A-Za-z][\w.]*-\d[\w.]*|\b\d[\w.]*-(?!\d|days?\b)[A-Za-z]\w*|"
    r"\b1\.5(?=B| billion)|\b135(?= million)|(?<!\w)Grok-4|\b[A-Z]+[a-z]*\d[\w.]*|"
    r"\b(?:Gemini|Sonnet|Opus|Grok|GLM|Qwen) \d+(?:\.\d+)?(?= |\.|,|'|:|;|$)|"
    r"ddof ?= ?\d|\b0\.1B|MIT|CC BY-SA 4\.0|\bk = \d",
    "zero": r"(?:(?<=from )|(?<=out )|(?<=holds )|(?<=above )|(?<=around )|(?<=down to )|(?<=near )|(?<=clear of )|"
    r"(?<=it is )|(?<= as )|(?<=makes )|(?<=has )|(?<=score, ))0(?![.\d])",
    "formula": r"\(1 - |^#+ \d\d\w?\b|^\| \d+ \||\| 0\d \||Pass@1",
    "rule": r"\b9[05]%(?= )|\b5% and 95%|(?i:\bbelow (?:its )?(?:ten|0\.05)\b|p < 0\.\d+|above 0\.4\b|"
    r"\bp below 0\.\d+)|\[0, 1\]|between 0 and 1\b|between 0 and 100\b|\b0\.1, 0\.2, 0\.3 and 0\.4\b",
}
"""What looks like a number and is none that could be found: kind and pattern."""


def read_texts(root=ROOT):
    """Return (file, text) of the prose of `PAGES`, and of every notebook's text cells, joined."""
    texts = [(page, read_page(root / page)) for page in PAGES]
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        parts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        texts.append((f"notebooks/{path.name}", "\n\n".join(parts)))
    return texts


def read_page(path):
    """Return a page's prose without its code; a csv of findings as lines of a Markdown table, its
    links in place."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".csv":
        return re.sub(r"(?ms)^```.*?^```$", "", text)
    rows = csv.reader(StringIO(text))
    next(rows)
    return "\n".join(
        f"| {' | '.join(cells)} | [{name}](notebooks/{name}.ipynb) |" for _, *cells, name in rows
    )


def split_sentences(text):
    """Return the sentences of Markdown text: paragraphs, list items and table rows apart, ended by
    a full stop.

    >>> split_sentences("# A title\\nIt is 0.5 of 3. So (e.g. this)\\nis one.\\n- And an item")
    ['# A title', 'It is 0.5 of 3.', 'So (e.g. this) is one.', '- And an item']
    """
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.\s))|(?<=\|)\n|(?m:(?<=^)(#.*)\n)", text)
    joined = (" ".join(block.split()) for block in blocks if block and block.strip())
    return [
        part
        for block in joined
        for part in re.split(r"(?<=[.?!])(?<!e\.g\.)(?<!vs\.)\s+(?=[A-Z`*(\"0-9])", block)
    ]


def mask_names(sentence):
    """Return the sentence with everything that is no result blanked out, of the same length."""
    for pattern in NAMES.values():
        sentence = re.sub(pattern, lambda found: "~" * len(found[0]), sentence)
    return sentence


def find_numbers(sentence):
    """Return (start, text) of each number in a sentence that could be a result.

    >>> find_numbers("On levels 1-2 four of six rules of Figure 8 lose 0.15 (p = 7e-18), 12% of 1,026.")
    [(14, 'four'), (22, 'six'), (49, '0.15'), (59, '7e-18'), (67, '12%'), (74, '1,026')]
    """
    plain = mask_names(sentence)
    found = [(m.start(), m[0].strip()) for m in re.finditer(NUMBER, plain, re.VERBOSE)]
    found += [
        (m.start(1), m[1]) for rule in COUNTED for m in re.finditer(rule, plain) if m[1] in WORDS
    ]
    return sorted(set(found))


def read_number(text):
    """Return a printed number's value and half of its last place.

    >>> read_number("1,026"), read_number("0.15"), read_number("four"), read_number("12%")
    ((1026.0, 0.5), (0.15, 0.005), (4.0, 0.5), (12.0, 0.5))
    """
    if text in WORDS:
        return float(WORDS[text]), 0.5
    digits = text.replace(",", "").removesuffix("%").strip()
    mantissa, _, power = digits.partition("e")
    places = len(mantissa.partition(".")[2])
    return float(digits), 0.5 * 10.0 ** (int(power or 0) - places)


def mask_phrase(sentence, start, text):
    """Return up to six words before a number, a # in its place, and up to three after it, other
    numbers as 0.

    >>> mask_phrase("Guessing is told apart from 4 of 6 rules, and nothing else.", 28, "4")
    'Guessing is told apart from # of 0 rules,'
    """
    before, after = sentence[:start].split()[-6:], sentence[start + len(text) :].split()[:3]
    glue = "" if start and not sentence[start - 1].isspace() else " "
    tail = sentence[start + len(text) :]
    gap = "" if tail[:1] and not tail[0].isspace() else " "
    hide = functools.partial(re.sub, rf"\d[\d,.]*\d|\d|\b(?:{WORD})\b", "0")
    return (hide(" ".join(before)) + glue + "#" + gap + hide(" ".join(after))).strip()


def list_numbers(texts):
    """Return a table of all numbers: file, sentence, phrase, nth (of the same phrase in its file),
    number."""
    rows, seen = [], collections.Counter()
    for file, text in texts:
        for sentence in split_sentences(text):
            for start, number in find_numbers(sentence):
                phrase = mask_phrase(sentence, start, number)
                seen[file, phrase] += 1
                rows.append((file, sentence, phrase, seen[file, phrase], number))
    return pd.DataFrame(rows, columns=["file", "sentence", "phrase", "nth", "number"])


@functools.cache
def read_source(source, root=ROOT):
    """Return what a source holds: a table (a csv, or one a notebook prints: `notebooks/x.ipynb#cell
    id`, `#cell id/2` for the second of a cell), a cell's printed text (`#cell id/text`), or a tree
    (toml)."""
    path, _, cell = source.partition("#")
    if path.endswith(".toml"):
        return tomllib.loads((root / path).read_text(encoding="utf-8"))
    if not cell:
        return pd.read_csv(root / path)
    cell_id, _, place = cell.partition("/")
    tables, text = read_outputs(root / path)[cell_id]
    return text if place == "text" or not tables else tables[int(place or 1) - 1]


@functools.cache
def read_outputs(path):
    """Return by cell id what a notebook's cells print: (tables, text)."""
    printed = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        shown = [
            output.get("data") or {"text/plain": output["text"]}
            for output in cell.get("outputs", [])
        ]
        html = [StringIO("".join(data["text/html"])) for data in shown if "text/html" in data]
        plain = [
            "".join(data["text/plain"])
            for data in shown
            if "text/html" not in data and "text/plain" in data
        ]
        printed[cell["id"]] = (
            [name_columns(pd.read_html(part, flavor="lxml")[0]) for part in html],
            "\n".join(plain),
        )
    return printed


def name_columns(table):
    """Return a printed table with columns of one line of text each."""
    parts = [
        [str(part) for part in (column if isinstance(column, tuple) else [column])]
        for column in table.columns
    ]
    return table.set_axis(
        [" ".join(p for p in part if "Unnamed" not in p) or "index" for part in parts], axis=1
    )


def take_value(rows, column, how):
    """Return what is taken of a source's rows: their number, the one value that all have ("cell"),
    or a sum, max ..."""
    if how == "rows":
        return len(rows)
    values = rows.eval(column)
    return only(values) if how == "cell" else getattr(values, how)()


TAKES = ("rows", "cell", "sum", "min", "max", "nunique")
TURNS = {"percent": lambda x: 100 * x, "tenths": lambda x: 10 * x, "abs": abs}
"""What is done to it then."""


def only(values):
    """Return the one value that all rows have; raise ValueError otherwise."""
    if values.nunique(dropna=False) != 1:
        raise ValueError(
            f"{len(values)} rows with {values.nunique(dropna=False)} values, where one is wanted"
        )
    return values.iloc[0]


@functools.cache
def read_cell(source, key, column, take):
    """Return the number that a row of the map points to; raise LookupError or ValueError where
    there is none."""
    found = read_source(source)
    turns = take.split()
    if isinstance(found, pd.DataFrame):
        rows = found.query(key) if key else found
        if rows.empty and "rows" not in turns:
            raise LookupError(f"no row of it has {key}")
        found = take_value(rows, column, turns.pop(0) if turns and turns[0] in TAKES else "cell")
    elif isinstance(found, str):
        found = re.search(key, found)[1]
    else:
        for part in filter(None, key.split(".")):
            found = found[int(part) if isinstance(found, list | tuple) else part]
    for turn in turns:
        found = TURNS[turn](as_number(found))
    return as_number(found)


def as_number(value):
    """Return a cell as a number, also one that is printed as 1,026 or 12%."""
    return float(str(value).replace(",", "").removesuffix("%"))


@functools.cache
def is_stated(value, source, root=ROOT):
    """Say whether a file, a notebook's code or a room holds a number, in digits, as a share or in
    words."""
    files = sorted((root / source).rglob("*.py")) or [root / source]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    if source.endswith(".ipynb"):
        text = "\n".join(
            "".join(cell["source"])
            for cell in json.loads(text)["cells"]
            if cell["cell_type"] == "code"
        )
    value = abs(value)
    words = {word for word, count in WORDS.items() if count == value}
    forms = {f"{value:g}", f"{value:,.0f}", f"{value:_.0f}", f"{value / 100:g}"} | words
    return any(re.search(rf"(?i)(?<![\w.]){re.escape(form)}(?!\w|\.\d)", text) for form in forms)


def check_row(row):
    """Return what is wrong with a row of the map, joined to the text's numbers, or an empty
    text."""
    value, half = read_number(row.number)
    if row.kind == "measured":
        return "" if row.source else "no command that measures it"
    if row.kind == "stated":
        return "" if is_stated(value, row.source) else f"{row.source} does not hold it"
    try:
        cell = read_cell(row.source, row.key, row.column, row.take)
    except UNREAD as error:
        return f"{row.source} [{row.key}] {row.column}: {error}"
    return (
        ""
        if abs(cell - value) <= half + 1e-9
        else f"{row.source} [{row.key}] {row.column} {row.take}has {cell:.6g}"
    )


UNREAD = (LookupError, ValueError, TypeError, OSError, AttributeError, NameError, SyntaxError)
UNREAD += (tokenize.TokenError,)  # a pattern for a text, put to a table
"""What a source that has moved may raise when it is read."""

KINDS = {
    "result": "a cell of a committed table",
    "printed": "a table or line that the notebook prints (re-run by make test)",
    "paper": "a value a paper prints (data/papers)",
    "stated": "a setting that a file states",
    "measured": "measured by a command",
}
"""What a number may come from: the first three are read again, a setting must stand in its file, a
measure is named."""


def join_map(numbers, root=ROOT):
    """Return the texts' numbers with their rows of the map (kind blank without one), and rows that
    fit no number."""
    kept = pd.read_csv(root / MAP, dtype=str, keep_default_na=False).astype({"nth": int})
    joined = numbers.merge(
        kept.drop(columns="number"), how="left", on=["file", "phrase", "nth"]
    ).fillna("")
    lost = kept.merge(numbers[["file", "phrase", "nth"]], how="left", indicator=True)
    return joined, lost[lost["_merge"] == "left_only"]


def find_faults(joined, lost):
    """Return one line for all that is wrong: a number that is not its cell's, a row without its
    phrase, and a number of `PAGES` that has no row."""
    faults = [f"{row.file}: no such phrase (any more): {row.phrase}" for row in lost.itertuples()]
    for row in joined.itertuples():
        wrong = (
            check_row(row) if row.kind else "has no row in data/sentences.csv" * (row.file in PAGES)
        )
        faults += [f"{row.file}: {row.number} in {row.phrase!r}: {wrong}"] if wrong else []
    return faults


def follow_rows(joined, lost):
    """Return the numbers with rows whose sentence was reworded: each lost row goes to the same
    number of its file that has none and whose phrase is most like its own."""
    joined = joined.set_index(
        joined["file"] + "#" + joined["phrase"] + "#" + joined["nth"].astype(str)
    )
    for row in lost.itertuples():
        is_free = (
            (joined["kind"] == "") & (joined["file"] == row.file) & (joined["number"] == row.number)
        )
        free = joined.index[is_free]
        for key in difflib.get_close_matches(f"{row.file}#{row.phrase}#{row.nth}", free, 1, 0.75):
            joined.loc[key, list(COLUMNS[4:])] = [getattr(row, name) for name in COLUMNS[4:]]
    return joined.reset_index(drop=True)


def follow_cells(joined):
    """Return the numbers with rows whose notebook cell has another id now: that of the nearest that
    prints the same."""
    joined = joined.copy()
    for row in joined[joined["source"].str.contains("#")].itertuples():
        path, _, cell = row.source.partition("#")
        if not row.kind or not check_row(row):
            continue
        cell_id, slash, place = cell.partition("/")
        near = sorted(read_outputs(ROOT / path), key=lambda other: abs(int(other) - int(cell_id)))
        tried = (row._replace(source=f"{path}#{other}{slash}{place}") for other in near)
        joined.loc[row.Index, "source"] = next(
            (new.source for new in tried if not check_row(new)), row.source
        )
    return joined


def count_kinds(joined):
    """Return how many sentences and numbers there are by what they come from, `PAGES` and notebooks
    apart."""
    where = joined["file"].where(joined["file"].isin(PAGES), "notebooks")
    kind = joined["kind"].map(KINDS).fillna("no row (not a result, or not traced)")
    table = joined.groupby([kind, where]).size().unstack(fill_value=0)
    table.loc["numbers"] = table.sum()
    table.loc["sentences with one"] = joined.groupby(where)["sentence"].nunique()
    return table.rename_axis(index=None, columns=None)


def print_sentences(joined):
    """Print every sentence with a number, and under it each number with its source."""
    for (file, sentence), part in joined.groupby(["file", "sentence"], sort=False):
        print(f"{file}: {sentence}")
        for row in part.itertuples():
            print(
                f"    {row.number}:",
                " | ".join(filter(None, [row.kind, row.source, row.key, row.column, row.take])),
            )


def main(command=""):
    """Print the sentences or write the map, then what is wrong; return 1 where something is."""
    joined, lost = join_map(list_numbers(read_texts()))
    if command == "list":
        print_sentences(joined)
    if command == "write":
        joined, lost = follow_cells(follow_rows(joined, lost)), lost.iloc[:0]
        joined[joined["kind"] != ""][COLUMNS].to_csv(ROOT / MAP, index=False, lineterminator="\n")
    faults = find_faults(joined, lost)
    print(*faults, count_kinds(joined).to_string(), sep="\n")
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
