"""import-linter's contracts (pyproject.toml): imports go down, and no paper's room knows another's."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOWN = "imports go down, and the papers' rooms do not know each other"


def check_layers(folder):
    """Return lint-imports' exit status and what it says of the packages in a folder's src."""
    command = [Path(sys.prefix, "bin/lint-imports"), "--no-logo", "--no-cache"]
    own = {"PYTHONPATH": str(folder / "src")}
    done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of src with the contracts."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy2(ROOT / "pyproject.toml", folder)
    return folder


def test_the_rooms_keep_their_order():
    status, said = check_layers(ROOT)
    assert status == 0, said


@pytest.mark.parametrize(
    ("file", "line", "broken"),
    [
        ("futurex/planted.py", "import helpers.liveagentbench", DOWN),  # from one paper's room into another's
        ("worldreasoner/stray.py", "import helpers.futurex", DOWN),
        ("proof_of_time/stray.py", "import helpers.futurex", DOWN),
        ("stats/planted.py", "import helpers.futurex", DOWN),  # upwards
        ("models/planted.py", "import helpers.replies", DOWN),
        ("elsewhere/__init__.py", "", DOWN),  # a room without a place in the order
    ],
)
def test_an_import_against_the_order_is_seen(copy, file, line, broken):
    path = copy / "src/helpers" / file
    path.parent.mkdir(exist_ok=True)
    with open(path, "x", encoding="utf-8") as planted:
        planted.write(f"{line}\n")
    status, said = check_layers(copy)
    path.unlink()
    if path.name == "__init__.py":
        path.parent.rmdir()
    assert status != 0
    assert f"{broken} BROKEN" in said
