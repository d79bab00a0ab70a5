"""Hold the helpers to their budget:  python .ci/budget.py [--lower]

Counts the lines of each room of src/helpers (a folder, or a file beside the folders) and prints them beside what
.ci/budget.toml allows and what it aims at. Ends with 1 where a room has more than it may, or has no number there.
With --lower each number falls to what the room has now; none ever rises.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUDGET = ROOT / ".ci/budget.toml"


def count_rooms(folder):
    """Return {room: (lines, files)}: a folder with all Python below it, or a single file; sorted by name."""
    rooms = {}
    for path in sorted(folder.rglob("*.py")):
        room = path.relative_to(folder).parts[0]
        lines, files = rooms.get(room, (0, 0))
        rooms[room] = lines + len(path.read_text(encoding="utf-8").splitlines()), files + (path.name != "__init__.py")
    return rooms


def main(arguments):
    """Print the table, lower the numbers where that was asked, and return 1 where a room is above its number."""
    budget, rooms = tomllib.loads(BUDGET.read_text(encoding="utf-8")), count_rooms(ROOT / "src/helpers")
    allowed, aims = budget["allowed"], budget["aim"]
    if "--lower" in arguments:
        head = BUDGET.read_text(encoding="utf-8").split("\n[allowed]")[0]
        lowered = {room: min(lines, allowed.get(room, lines)) for room, (lines, _) in rooms.items()}
        written = "".join(f'"{room}" = {lines}\n' for room, lines in lowered.items())
        BUDGET.write_text(f"{head}\n[allowed]\n{written}", encoding="utf-8")
        allowed = lowered
    over = [room for room, (lines, _) in rooms.items() if lines > allowed.get(room, -1)]
    if over or "--quiet" not in arguments:
        print(f"{'room':20} lines  may  aim files")
        for room, (lines, files) in rooms.items():
            said = "OVER" if room in over else ""
            print(f"{room:20} {lines:5} {allowed.get(room, 0):5} {aims.get(room, 0):5} {files:3} {said}")
        print(f"{'all':20} {sum(n for n, _ in rooms.values()):5} {sum(allowed.values()):5} {sum(aims.values()):5}")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
