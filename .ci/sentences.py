"""Hold every number of README, FINDINGS and the notebooks against the cell of a table it comes from.

    python .ci/sentences.py            what is wrong, and how many numbers come from what
    python .ci/sentences.py list       every sentence, its numbers, their cells
    python .ci/sentences.py write      the map anew: numbers as printed now; rows follow reworded sentences

The map is data/sentences.csv (its columns are in data/README.md). A number that has a row is read
again from its cell; one of `PAGES` that has none is an error. What is no result needs no row:
names, numbers of sections, figures and levels, dates, the 95 of an interval (`NAMES`), and whatever
stands in code. Numbers in words are looked at where they count out of something ("four of six"),
and nowhere else.
"""

import collections
import csv
import difflib
import functools
import json
import re
import sys
import tokenize
from io import StringIO
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
MAP = "data/sentences.csv"
PAGES = ("README.md", "FINDINGS.md", "notebooks/README.md", "data/findings.csv")
PLACE = ["file", "phrase", "nth"]
FOUND = ["kind", "source", "key", "column", "take"]
WORDS = {
    word: value
    for value, word in enumerate(
        "none one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
    )
}
WORD = "|".join(WORDS)
NUMBER = r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?(?!\w)(?!\.\d)(?:\s?%)?"
OUT_OF = r"\s(?:of|in)\s(?:the\s|its\s|these\s|all\s)?"
COUNTED = (rf"\b({WORD})(?={OUT_OF}(?:{WORD}|\d+)\b)", rf"\b(?:{WORD}|\d+){OUT_OF}({WORD})\b")
"""Words that count: the first and the second of "four of the six"."""
NAMES = {
    "code": r"`[^`]*`|\]\([^)]*\)|https?://\S+",
    "figure, table, section": r"(?i)\b(figures?|tables?|sections?|findings?|notebooks?|levels?|observations?|"
    r"python|scenario|round|event|agent) [A-F]?\.?\d[\d.]*(\s?(,|to|and|or|-|, and)\s?\d+(?!\.?\d|\s?%))*",
    "section": r"(?<!to )(?<=[(\s,])[1-6]\.\d{1,2}(\.\d)?(?=[,;:)]|\sto\s[1-6]\.\d|\sand\s[1-6]\.\d)",
    "date": r"\b(1[89]|20)\d\d(-\d\d(-\d\d)?)?\b|\b\d{1,2}(?= [A-Z][a-z]+ber\b)",
    "name": r"\b(?!\d+e-\d)[\w.]*[A-Za-z][\w.]*-\d[\w.]*|\b1\.5(?=B| billion)|"
    r"\b(?:Gemini|Sonnet|Opus|Grok|GLM|Qwen) \d+(\.\d+)?",
    "rule": r"\b95%(?= )|p < 0\.\d+|(?i:below 0\.05|p below 0\.\d+|above 0\.4)\b|\[0, 1\]",
}
"""What looks like a number and is none that could be found: kind and pattern."""


def read_texts():
    """Return (file, text) of the prose of `PAGES`, and of every notebook's text cells, joined."""
    texts = [(page, read_page(ROOT / page)) for page in PAGES]
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
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
    rows = list(csv.reader(StringIO(text)))[1:]
    lines = (f"{' | '.join(cells)} | [{name}](notebooks/{name}.ipynb)" for _, *cells, name in rows)
    return "\n".join(f"| {line} |" for line in lines)


def split_sentences(text):
    """Return the sentences of Markdown text: paragraphs, list items and table rows apart, ended by
    a full stop.

    >>> split_sentences("# A title\\nIt is 0.5 of 3. So (e.g. this)\\nis one.\\n- And an item")
    ['# A title', 'It is 0.5 of 3.', 'So (e.g. this) is one.', '- And an item']
    """
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.\s))|(?<=\|)\n|(?m:(?<=^)(#.*)\n)", text)
    joined = (" ".join(block.split()) for block in blocks if block and block.strip())
    end = r"(?<=[.?!])(?<!e\.g\.)(?<!vs\.)\s+(?=[A-Z`*(\"0-9])"
    return [part for block in joined for part in re.split(end, block)]


def find_numbers(sentence):
    """Return (start, text) of each number in a sentence that could be a result.

    >>> find_numbers("On levels 1-2 four of six rules of Figure 8 lose 0.15 (p = 7e-18), 12% of 1,026.")
    [(14, 'four'), (22, 'six'), (49, '0.15'), (59, '7e-18'), (67, '12%'), (74, '1,026')]
    """
    for pattern in NAMES.values():
        sentence = re.sub(pattern, lambda found: "~" * len(found[0]), sentence)
    found = {(match.start(), match[0].strip()) for match in re.finditer(NUMBER, sentence)}
    for pattern in COUNTED:
        words = (match for match in re.finditer(pattern, sentence) if match[1] in WORDS)
        found |= {(match.start(1), match[1]) for match in words}
    return sorted(found)


def read_number(text):
    """Return the number that a text, or a cell, prints.

    >>> read_number("1,026"), read_number("four"), read_number("12%"), read_number(0.15)
    (1026.0, 4.0, 12.0, 0.15)
    """
    return float(WORDS.get(text, str(text).replace(",", "").removesuffix("%")))


def halve_place(text):
    """Return half of a printed number's last place.

    >>> halve_place("1,026"), halve_place("0.15"), halve_place("four"), halve_place("12%")
    (0.5, 0.005, 0.5, 0.5)
    """
    mantissa, _, power = text.partition("e") if text not in WORDS else (text, "", "")
    places = len(re.sub(r"\D", "", mantissa.partition(".")[2]))
    return 0.5 * 10.0 ** (int(power or 0) - places)


def mask_phrase(sentence, start, text):
    """Return up to six words before a number, a # in its place, and up to three after it, other
    numbers as 0.

    >>> mask_phrase("Guessing is told apart from 4 of 6 rules, and nothing else.", 28, "4")
    'Guessing is told apart from # of 0 rules,'
    """
    before, after = sentence[:start], sentence[start + len(text) :]
    glue = "" if start and not before[-1].isspace() else " "
    gap = "" if after[:1] and not after[0].isspace() else " "
    hide = functools.partial(re.sub, rf"\d[\d,.]*\d|\d|\b(?:{WORD})\b", "0")
    words = hide(" ".join(before.split()[-6:])), hide(" ".join(after.split()[:3]))
    return f"{words[0]}{glue}#{gap}{words[1]}".strip()


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
def read_source(source):
    """Return what a source holds: a table (a csv, or one that a notebook prints: `notebooks/x.ipynb
    #cell id`, `#cell id/2` for the second of a cell), a cell's printed text (`#cell id/text`), or
    any other file's text."""
    path, _, cell = source.partition("#")
    if path.endswith((".csv", ".csv.gz")):
        return pd.read_csv(ROOT / path)
    if not cell:
        return (ROOT / path).read_text(encoding="utf-8")
    cell_id, _, place = cell.partition("/")
    tables, text = read_outputs(path)[cell_id]
    return text if place == "text" or not tables else tables[int(place or 1) - 1]


@functools.cache
def read_outputs(path):
    """Return by cell id what a notebook's cells print: (tables, text)."""
    printed = {}
    for cell in json.loads((ROOT / path).read_text(encoding="utf-8"))["cells"]:
        tables, texts = [], []
        for output in cell.get("outputs", []):
            shown = output.get("data") or {"text/plain": output["text"]}
            if "text/html" in shown:
                html = StringIO("".join(shown["text/html"]))
                tables.append(name_columns(pd.read_html(html, flavor="lxml")[0]))
            else:
                texts.append("".join(shown.get("text/plain", "")))
        printed[cell["id"]] = tables, "\n".join(texts)
    return printed


def name_columns(table):
    """Return a printed table with columns of one line of text each."""
    names = []
    for column in table.columns:
        parts = map(str, column if isinstance(column, tuple) else [column])
        names.append(" ".join(part for part in parts if "Unnamed" not in part) or "index")
    return table.set_axis(names, axis=1)


TAKES = ("rows", "cell", "sum", "min", "max", "nunique")
"""What is taken of a table's rows: their number, the one value that all have, or a sum, max ..."""
TURNS = {"percent": lambda x: 100 * x, "tenths": lambda x: 10 * x, "abs": abs}
"""What is done to it then."""


def take_value(rows, column, how):
    """Return what is taken of a table's rows; raise ValueError for several values where one is
    wanted."""
    if how == "rows":
        return len(rows)
    values = rows.eval(column)
    if how != "cell":
        return getattr(values, how)()
    if values.nunique(dropna=False) != 1:
        raise ValueError(f"{len(values)} rows with several values, where one is wanted")
    return values.iloc[0]


@functools.cache
def read_cell(source, key, column, take):
    """Return the number that a row of the map points to; raise LookupError or ValueError where
    there is none."""
    found, turns = read_source(source), take.split()
    if isinstance(found, str):
        value = re.search(key, found)[1]
    else:
        rows = found.query(key) if key else found
        how = turns.pop(0) if turns and turns[0] in TAKES else "cell"
        if rows.empty and how != "rows":
            raise LookupError(f"no row of it has {key}")
        value = take_value(rows, column, how)
    value = read_number(value)
    for turn in turns:
        value = TURNS[turn](value)
    return value


UNREAD = (LookupError, ValueError, TypeError, OSError, AttributeError, NameError, SyntaxError)
UNREAD += (tokenize.TokenError,)  # a pattern for a text, put to a table
"""What a source that has moved may raise when it is read."""


def check_row(row):
    """Return what is wrong with a row of the map, joined to the text's numbers, or an empty
    text."""
    if row.kind == "measured":  # by the command that is its source
        return "" if row.source else "no command that measures it"
    place = f"{row.source} [{row.key}] {row.column}"
    try:
        cell = read_cell(row.source, row.key, row.column, row.take)
    except UNREAD as error:
        return f"{place}: {error}"
    is_it = abs(cell - read_number(row.number)) <= halve_place(row.number) + 1e-9
    return "" if is_it else f"{place} {row.take}has {cell:.6g}"


def join_map(numbers):
    """Return the texts' numbers with their rows of the map (kind blank without one), and rows that
    fit no number."""
    kept = pd.read_csv(ROOT / MAP, dtype=str, keep_default_na=False).astype({"nth": int})
    joined = numbers.merge(kept.drop(columns="number"), how="left", on=PLACE).fillna("")
    lost = kept.merge(numbers[PLACE], how="left", indicator=True)
    return joined, lost[lost["_merge"] == "left_only"]


def find_faults(joined, lost):
    """Return one line for all that is wrong: a number that is not its cell's, a row without its
    phrase, and a number of `PAGES` that has no row."""
    faults = [f"{row.file}: no such phrase (any more): {row.phrase}" for row in lost.itertuples()]
    for row in joined.itertuples():
        wrong = "has no row in data/sentences.csv" if row.file in PAGES else ""
        if row.kind:
            wrong = check_row(row)
        if wrong:
            faults.append(f"{row.file}: {row.number} in {row.phrase!r}: {wrong}")
    return faults


def follow_rows(joined, lost):
    """Return the numbers with rows whose sentence was reworded: each lost row goes to the same
    number of its file that has none and whose phrase is most like its own."""
    joined = joined.copy()
    for row in lost.itertuples():
        is_free = joined["kind"].eq("") & joined["number"].eq(row.number)
        phrases = joined.loc[is_free & joined["file"].eq(row.file), "phrase"]
        for phrase in difflib.get_close_matches(row.phrase, phrases, 1, 0.7):
            at = phrases.index[phrases == phrase][0]
            joined.loc[at, FOUND] = [getattr(row, name) for name in FOUND]
    return joined


def main(command=""):
    """Print the sentences or write the map, then what is wrong; return 1 where something is."""
    joined, lost = join_map(list_numbers(read_texts()))
    if command == "list":
        for (file, sentence), rows in joined.groupby(["file", "sentence"], sort=False):
            print(f"{file}: {sentence}", rows[["number", *FOUND]].to_csv(index=False), sep="\n")
    if command == "write":
        joined, lost = follow_rows(joined, lost), lost.iloc[:0]
        mapped = joined[joined["kind"] != ""]
        mapped[[*PLACE, "number", *FOUND]].to_csv(ROOT / MAP, index=False, lineterminator="\n")
    faults = find_faults(joined, lost)
    n_mapped = int((joined["kind"] != "").sum())
    print(*faults, f"{n_mapped} numbers have a cell, {len(faults)} are wrong", sep="\n")
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
