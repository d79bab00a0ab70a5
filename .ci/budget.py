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
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUDGET = ROOT / ".ci/budget.toml"
LAYOUT = "COMMENT NL NEWLINE INDENT DEDENT ENCODING ENDMARKER".split()


def count_tokens(text):
    """Return the tokens of some code as a reader meets it; an f-string is one, as it is to Python
    before 3.12."""
    docs = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            docs |= set(range(node.lineno, node.end_lineno + 1))
    count = 0
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        is_doc = name == "STRING" and token.start[0] in docs
        count += depth == 0 and name not in LAYOUT and not is_doc
        depth += (name == "FSTRING_START") - (name == "FSTRING_END")
    return count


def count_rooms():
    """Return {room: tokens}: each folder of a package with all below it, and folders beside src."""
    rooms = Counter()
    for top in ("src", "tests", "tools", ".ci"):
        for path in sorted((ROOT / top).rglob("*.py")):
            folders = path.relative_to(ROOT / top).parts[:-1]
            room = "/".join(folders[:2]) if top == "src" else top
            rooms[room or "."] += count_tokens(path.read_text(encoding="utf-8"))
    return dict(rooms)


def main(arguments):
    """Print the table, lower the numbers where that was asked, and return 1 where a room is above
    its number."""
    text = BUDGET.read_text(encoding="utf-8")
    allowed = tomllib.loads(text)["allowed"]
    rooms = count_rooms()
    if "--lower" in arguments:
        allowed = {room: min(tokens, allowed.get(room, tokens)) for room, tokens in rooms.items()}
        lines = "".join(f'"{room}" = {tokens}\n' for room, tokens in allowed.items())
        BUDGET.write_text(f"{text.split('[allowed]')[0]}[allowed]\n{lines}", encoding="utf-8")
    print(f"{'room':26}  tokens     may")
    for room, tokens in rooms.items():
        note = "OVER" if tokens > allowed.get(room, -1) else ""
        print(f"{room:26} {tokens:7,} {allowed.get(room, 0):7,} {note}")
    print(f"{'all':26} {sum(rooms.values()):7,} {sum(allowed.values()):7,}")
    return any(tokens > allowed.get(room, -1) for room, tokens in rooms.items())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
