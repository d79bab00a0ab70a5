"""Hold the code to its budget of tokens:  python .ci/budget.py [--lower]

Counts the tokens of each room (a folder below src, or another folder of code) without comments,
docstrings and layout, and prints them beside what .ci/budget.toml allows. Ends with 1 where a room
has more than it may, or has no number there. With --lower each number falls to what the room has
now; none ever rises.
"""

import ast
import io
import sys
import tokenize
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUDGET = ROOT / ".ci/budget.toml"
OTHERS = ("tests", "tools", ".ci")
"""Folders that are one room each."""
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def count_tokens(text):
    """Return the tokens of some code as a reader meets it; an f-string is one, as it is to Python
    before 3.12.

    >>> count_tokens("x = f'{a:{b}} c'" + chr(10))
    3
    >>> count_tokens("x = 1  # one" + chr(10))
    3
    """
    docs = set()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
            continue
        if isinstance(node.value.value, str):
            docs |= set(range(node.lineno, node.end_lineno + 1))
    count = 0
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_doc = token.type == tokenize.STRING and token.start[0] in docs
        count += depth == 0 and token.type not in LAYOUT and not is_doc
        name = tokenize.tok_name[token.type]
        depth += (name == "FSTRING_START") - (name == "FSTRING_END")
    return count


def count_rooms():
    """Return {room: tokens}: each folder of a package, its files together, src's other files, and
    `OTHERS`."""
    rooms = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        parts = path.relative_to(ROOT / "src").parts
        room = f"{parts[0]}/{parts[1]}" if len(parts) > 2 else "/".join(parts[:-1]) or "."
        rooms[room] = rooms.get(room, 0) + count_tokens(path.read_text(encoding="utf-8"))
    for folder in OTHERS:
        files = sorted((ROOT / folder).rglob("*.py"))
        rooms[folder] = sum(count_tokens(path.read_text(encoding="utf-8")) for path in files)
    return rooms


def main(arguments):
    """Print the table, lower the numbers where that was asked, and return 1 where a room is above
    its number."""
    allowed, rooms = tomllib.loads(BUDGET.read_text(encoding="utf-8"))["allowed"], count_rooms()
    if "--lower" in arguments:
        head = BUDGET.read_text(encoding="utf-8").split("[allowed]")[0]
        allowed = {room: min(tokens, allowed.get(room, tokens)) for room, tokens in rooms.items()}
        written = "".join(f'"{room}" = {tokens}\n' for room, tokens in allowed.items())
        BUDGET.write_text(f"{head}[allowed]\n{written}", encoding="utf-8")
    over = [room for room, tokens in rooms.items() if tokens > allowed.get(room, -1)]
    if over or "--quiet" not in arguments:
        print(f"{'room':26}  tokens     may")
        for room, tokens in rooms.items():
            note = "OVER" if room in over else ""
            print(f"{room:26} {tokens:7,} {allowed.get(room, 0):7,} {note}")
        print(f"{'all':26} {sum(rooms.values()):7,} {sum(allowed.values()):7,}")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
