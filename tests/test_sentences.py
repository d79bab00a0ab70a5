"""Numbers of README, FINDINGS and notebooks against the cells they come from, and the check against
slips in either."""

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location(
    "sentences", Path(__file__).parents[1] / ".ci/sentences.py"
)
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)


@pytest.fixture(scope="module")
def texts():
    return script.read_texts()


def find_faults(texts):
    return script.find_faults(*script.join_map(script.list_numbers(texts)))


def change(texts, old, new):
    (name, readme), *rest = texts
    assert name == "README.md" and readme.count(old) == 1
    return [(name, readme.replace(old, new)), *rest]


def test_all_numbers_are_those_of_their_cells(texts):
    assert find_faults(texts) == [], (
        "mend the sentence or its row; .ci/sentences.py write keeps rows of reworded ones"
    )


def test_examples():
    assert doctest.testmod(script).failed == 0


def test_a_number_that_its_cell_does_not_have(texts):
    (fault,) = find_faults(
        change(texts, "51 sources from autumn 2016", "52 sources from autumn 2016")
    )
    assert "52" in fault and "figures/futurex_fig2.csv" in fault and "has 51" in fault


def test_a_reworded_sentence_keeps_its_row(texts):
    changed = change(texts, "51 sources from autumn 2016", "51 good sources from autumn 2016")
    assert find_faults(changed)
    joined, lost = script.join_map(script.list_numbers(changed))
    assert not script.find_faults(script.follow_rows(joined, lost), lost.iloc[:0])


def test_the_list_of_notebooks_names_each_of_them_once():
    folder = Path(__file__).parents[1] / "notebooks"
    named = re.findall(r"\]\(([^)/]+\.ipynb)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert named == sorted(path.name for path in folder.glob("*.ipynb"))
