"""The papers' constants have one home, data/papers: each is read by what computes with it, none is typed in code."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from itertools import pairwise

import pytest

from helpers import papers
from helpers.store import ROOT

SOURCES = sorted((ROOT / "src/helpers").rglob("*.py"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
BUILT = papers.list_papers()

BY_REFERENCE = ("src/helpers/papers.py", "src/helpers/audit/ledger.py")
"""Where a constant's name is no literal: the reader itself and the ledger."""

SECTION = re.compile(
    r"(?:FutureX|LiveAgentBench|WorldReasoner|Proof of Time)(?:'s)?,? (?:[1-9A-H]|Tables?|Figures?|[Aa]ppendix)\b"
    r"|\((?:\d\.\d|[Aa]ppendix)|\bthe paper\b"
)
"""How a docstring says that it stands for a section, table or figure of a paper."""

OWN_ARGUMENTS = {
    "bound": "what an interval is held against, 0",
    "chunk": "trials in memory at once; changes no number",
    "n_boot": "draws behind an interval",
    "n_draws": "draws by chance",
    "samples": "which of its repeats a question is asked for: the first",
    "workers": "processes on this machine",
}
"""Arguments whose default is never a paper's, and what they are."""

OWN_CONSTANTS = {
    "what a small model can read and write on two cores": "LENGTHS MAX_ANSWER MAX_CHARS MAX_LOCAL MAX_PASSAGES "
    "MAX_PLAN MAX_QUERY MAX_REASON MAX_REPLY MAX_STEP MAX_SUBMISSION MAX_TURN "
    "N_CALLS N_DATES N_EVENTS N_FOUND N_HITS N_LOCAL N_LOOK_UPS N_SHOWN N_STEPS N_TOP N_WIDE N_WORDS",
    "what a reply may hold, against endless ones": "MAX_BOXES MAX_LINE MAX_LINE_WORDS MAX_NAME MAX_TEXT "
    "MAX_VALUE MAX_WORDS",
    "what a file of articles may hold, and when a day has ended": "DAYS_END MAX_FILE MAX_SECONDS MAX_TITLE "
    "MAX_UNPACKED N_LISTED",
    "what the net may do": "CANCEL_S GROWTH MAX_BYTES MAX_HOPS MAX_INTERVAL_S",
    "what is kept in memory": "N_KEPT N_PARTS",
    "a unit of language": "SCALES",
    "where arithmetic ends": "EVEN FIRST_YEAR MAD_OF_ONE MOST NONE ROUNDED SAME SIGNS",
    "against a fault of Python's": "N_PARSES",
    "how much of a paper, or of a plan, is quoted": "N_CELLS N_QUOTED N_SIDES N_TITLE",
    "the kit's own instances of Proof of Time": "BAND MAX_PASSES MIN_PAPERS N_ABSTRACT N_WEEK PER_SOURCE",
    "the kit's own questions": "FRAME_MS GAIN_DAYS N_BAND_VALUES N_DISTRACTORS N_TWINS STEP_DAYS",
    "what counts as an event in a series, and from which of its values": "LARGE LEAST N_DAYS N_LAGS N_RECORD N_WEEKS",
    "when calls are alike, and a loop": "ALIKE LOOPED",
    "the kit's own judgement": "BLOCKS EXPONENTS HOST_DAYS HOURS_BEFORE MAX_GAP_DAYS MAX_SHARE MIN_AGENTS N_LAST "
    "PAGE_DAYS POOL_TOLERANCE SAME_SDS SAME_SHARE START TOLERANCE",
}
"""Why a number is the kit's own: such numbers, typed in modules that stand for a section of a paper."""

COMMON = (0.001, 1e-10, 0.55, 0.75, 1.5)
"""Values of a paper that stand in code for other reasons, too: bounds of rounding, BM25's usual constants, a shade."""


def read_cells(path):
    """Return the code of a notebook, cell after cell."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def read_code():
    """Return {path: code} of the helpers and the notebooks."""
    code = {path: path.read_text(encoding="utf-8") for path in SOURCES} | {path: read_cells(path) for path in NOTEBOOKS}
    return {path.relative_to(ROOT).as_posix(): text for path, text in code.items()}


def list_unread(entries, code):
    """Return those of `entries` (pairs of paper and name) that no code reads."""
    return sorted(set(entries) - {read for text in code.values() for read in papers.find_reads(text)})


def list_numbers(node):
    """Return the numbers that an expression consists of, [] when it holds anything else."""
    if isinstance(node, ast.Constant):
        return [node.value] if type(node.value) in (int, float) else []
    parts = {
        ast.UnaryOp: lambda: [node.operand],
        ast.BinOp: lambda: [node.left, node.right],
        ast.Tuple: lambda: node.elts,
        ast.List: lambda: node.elts,
        ast.Set: lambda: node.elts,
        ast.Dict: lambda: node.values,
        ast.Call: lambda: [*node.args, *(given.value for given in node.keywords)],
    }.get(type(node), list)()
    numbers = [list_numbers(part) for part in parts]
    return sum(numbers, []) if numbers and all(numbers) else []


def is_rare(number):
    """Say whether a number is told from those that stand in code for other reasons: 0.97, 374, 0.005, 20000, not 7."""
    digits = f"{abs(number):e}".split("e")[0].rstrip("0").replace(".", "")
    return number != 0 and (len(digits) > 1 and (number > 100 or number % 1) or number < 0.01 or number >= 10_000)


@cache
def list_values():
    """Return {numbers: paper and name} of the constants that a value alone gives away; minutes in seconds, too."""
    values = {}
    for key in BUILT:
        for row in papers.list_constants(key).query("status != 'decided'").itertuples():
            given = row.value if isinstance(row.value, list) else [row.value]
            if not all(type(number) in (int, float) for number in given):
                continue
            for numbers in (tuple(given), tuple(60 * number for number in given if row.name.endswith("_minutes"))):
                if len(numbers) > 2 or len(numbers) == 1 and is_rare(numbers[0]) and numbers[0] not in COMMON:
                    values[numbers] = f"{key} {row.name}"
    return values


@cache
def list_names():
    return {name for key in BUILT for name in papers.list_constants(key)["name"]}


def list_defaults(function):
    """Yield (argument, default) of a function."""
    given = function.args.posonlyargs + function.args.args
    yield from zip(given[len(given) - len(function.args.defaults) :], function.args.defaults, strict=True)
    pairs = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    yield from ((argument, default) for argument, default in pairs if default is not None)


def find_typed(text):
    """Yield (name, sentence) of what a module's text types that a paper says.

    A number of the module, or the default of an argument, is a paper's when it bears the name of one of its constants,
    when its own docstring, or its module's or function's, names a section, or when its value is found in no other
    place. In the body of a function only the value tells.
    """
    tree, values = ast.parse(text), list_values()
    names = list_names()
    is_study = bool(SECTION.search(ast.get_docstring(tree) or ""))
    for node, after in pairwise([*tree.body, None]):
        if isinstance(node, ast.Assign) and list_numbers(node.value):
            about = ast.unparse(after) if isinstance(after, ast.Expr) else ""
            for target in ast.walk(node.targets[0]):
                name = getattr(target, "id", "")
                if name and (is_study or name.lower() in names or SECTION.search(about)):
                    yield name, f"line {node.lineno}: {name} is typed in what stands for a paper's section"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            is_cited = SECTION.search(ast.get_docstring(node) or "")
            for argument, default in list_defaults(node):
                name = argument.arg
                if list_numbers(default) and (is_cited or name in names):
                    yield name, f"line {node.lineno}: {node.name} has a typed {name} and stands for a paper's section"
        numbers = () if isinstance(node, ast.Call) else tuple(list_numbers(node))
        if numbers in values:
            yield "", f"line {node.lineno}: {ast.unparse(node)} is {values[numbers]}"


def list_faults(text):
    """Return the sentences of `find_typed` but for what is the kit's own."""
    own = {*OWN_ARGUMENTS, *" ".join(OWN_CONSTANTS.values()).split()}
    return [sentence for name, sentence in find_typed(text) if name not in own]


@pytest.fixture(scope="module")
def code():
    return read_code()


def list_entries(key, parts=("constants", "assumed")):
    return [(key, name) for part in parts for name in papers.load_paper(key)[part]]


# --- each constant is read -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", BUILT)
def test_each_constant_is_read_by_the_code(key, code):
    assert not list_unread(list_entries(key), code), "read it where it is computed with, or make it a decision"


def test_a_constant_that_nobody_reads_is_found(code):
    assert list_unread([("futurex", "carry_days"), ("futurex", "carry_weeks")], code) == [("futurex", "carry_weeks")]
    alone = {path: text for path, text in code.items() if path != "src/helpers/events/collect.py"}
    assert list_unread([("futurex", "carry_days")], alone) == [("futurex", "carry_days")]


def test_what_is_read_is_there_and_named_by_literals(code):
    known = {entry for key in papers.list_papers() for entry in list_entries(key)}
    for path, text in code.items():
        assert set(papers.find_reads(text)) <= known, path
        if path not in BY_REFERENCE:
            calls = [ast.unparse(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
            calls = [call for call in calls if re.match(r"(papers\.)?get_constant\(", call)]
            unclear = [call for call in calls if not papers.find_reads(call)]
            assert not unclear, f"{path}: name paper and constant, so that it can be found who reads it"


def test_each_paper_has_a_room():
    for key in BUILT:
        assert (ROOT / "src/helpers" / key).exists(), key


# --- none is typed ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT / "src/helpers").as_posix())
def test_no_constant_of_a_paper_is_typed(path):
    assert not list_faults(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("file", "old", "typed"),
    [
        ("events/collect.py", 'CARRY_DAYS = get_constant("futurex", "carry_days")', "CARRY_DAYS = 9"),
        ("events/pose.py", 'HORIZON_DAYS = get_constant("futurex", "prediction_window_days")', "HORIZON_DAYS = 9"),
        ("events/collect.py", "hours=max(CRAWL_HOURS)", "hours=max((14, 16, 18, 20))"),
        (
            "events/tiers.py",
            'VOLATILITY_CUT = get_constant("futurex", "volatility_cut_number")',
            "VOLATILITY_CUT = 1",
        ),
        ("stats/missing.py", "n_drawn=N_DRAWN", "n_drawn=499"),
        ("stats/regression.py", "    table = fit.terms", "    alpha = 0.005\n    table = fit.terms"),
        ("models/llm.py", "deadline_s: float = DEADLINE_S", "deadline_s: float = 1800"),
    ],
)
def test_a_typed_constant_is_found(file, old, typed):
    path = ROOT / "src/helpers" / file
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    assert len(list_faults(text.replace(old, typed))) == 1


def test_what_is_the_kits_own_is_still_there():
    found = {name for path in SOURCES for name, _ in find_typed(path.read_text(encoding="utf-8"))}
    own = {*OWN_ARGUMENTS, *" ".join(OWN_CONSTANTS.values()).split()}
    assert own <= found, f"no longer there: {sorted(own - found)}"


# --- and a changed one changes what is computed ----------------------------------------------------------------------

CHANGES = {
    "crawl_hours": ("[14, 16, 18, 20]", "[15, 21]"),
    "volatility_cut_number": ("0.05", "0.5"),
    "volatility_values": ("7", "4"),
    "prediction_window_days": ("7", "3"),
    "harmful_rule": ('"any"', '"all"'),
    "level1_below_options": ("4", "3"),
}


def test_each_changed_constant_changes_its_result_and_no_other(tmp_path):
    shutil.copytree(ROOT / "src/helpers", tmp_path / "src/helpers", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(papers.FOLDER, tmp_path / "data/papers")
    (tmp_path / "data/sources").symlink_to(ROOT / "data/sources")
    (tmp_path / "data/replay").symlink_to(ROOT / "data/replay")
    command = [sys.executable, ROOT / "tests/change_constants.py", json.dumps(CHANGES)]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": "src"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    for name in CHANGES:
        differ = [key for key, value in found[name].items() if value != found[""][key]]
        assert differ == [name]
