"""The audit on one page: every claim is in it, text is escaped, counts follow the ledger;
benchmarks are merged."""

import re

import pandas as pd
import pytest
from lxml import html

from helpers import papers
from studies.audit.ledger import build_ledger, quote_ledger
from studies.audit.page import (
    MATTERS,
    load_matters,
    merge_benchmarks,
    spread_benchmarks,
    write_findings,
    write_page,
)


@pytest.fixture(scope="module")
def ledger():
    return build_ledger()


@pytest.fixture(scope="module")
def page(ledger):
    return write_page(
        ledger, load_matters(ledger), spread_benchmarks(merge_benchmarks()), quote_ledger(ledger)
    )


def test_the_page_holds_every_claim_once_and_nothing_from_elsewhere(ledger, page):
    tree = html.fromstring(page)
    rows = tree.xpath("//table[@id='claims']/tbody/tr")
    cells = [[cell.text_content() for cell in row] for row in rows]
    assert [row[3] for row in cells] == ledger["claim"].tolist()
    assert [row[6] for row in cells] == ledger["verdict"].tolist()
    assert not tree.xpath("//@src | //@href") and not re.search(r"https?://", page)


def test_what_a_claim_says_is_text_and_no_markup(ledger):
    changed, quotes = (
        ledger.assign(note="<script>alert(1)</script>"),
        quote_ledger(ledger).assign(printed="<i>so</i>"),
    )
    page = write_page(changed, load_matters(ledger), pd.DataFrame({"a": ["<b>"]}), quotes)
    assert "&lt;i&gt;so" in page and "&lt;script&gt;alert" in page
    assert not [one for one in ("<i>so", "<script>alert", "<b>") if one in page]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            lambda lines: [line for line in lines if "wr_cutoff_window" not in line],
            "wr_cutoff_window",
        ),
        (lambda lines: [*lines[:-1], "pot_cells_x,who knows"], "'who knows' is none of finding"),
        (lambda lines: [*lines, "wr_cutoff_window,finding"], "wr_cutoff_window"),
    ],
)
def test_an_inconsistency_without_its_reason_is_told(ledger, tmp_path, change, named):
    lines = (papers.FOLDER / "matters.csv").read_text().splitlines()
    (tmp_path / "matters.csv").write_text("\n".join(change(lines)) + "\n")
    with pytest.raises(ValueError, match=named):
        load_matters(ledger, tmp_path)
    assert set(load_matters(ledger).values()) == set(MATTERS)


def test_benchmarks_are_the_printed_cells_each_with_its_place():
    table = merge_benchmarks()
    assert table[["paper", "section"]].notna().all(axis=None)
    cells = table.set_index(["benchmark", "property"])["value"]
    assert cells["GAIA", "tool use: browser"] == "yes" and cells["FutureX", "domains"] == "11"
    assert cells["Proof of Time", "questions"] == "1122 (a sum)", "of its Table 6"
    wide = spread_benchmarks(table)
    assert table["benchmark"].nunique() == 13 == wide.shape[1]
    places = wide.loc["stated in", ["GAIA", "Proof of Time"]].tolist()
    assert places == ["liveagentbench Table 1", "proof_of_time Table 6"]


def test_every_finding_stands_on_the_page_that_sorts():
    table = pd.read_csv(papers.FOLDER.parent / "findings.csv", dtype=str, keep_default_na=False)
    (drawn,) = html.fromstring(write_findings()).xpath("//table[@id='claims']")
    cells = [[cell.text_content() for cell in row.xpath("td")] for row in drawn.xpath("tbody/tr")]
    assert [row[1] for row in cells] == table["question"].tolist()
    assert {row[-1] for row in cells} <= {
        path.stem for path in (papers.FOLDER.parents[1] / "notebooks").glob("*.ipynb")
    }
