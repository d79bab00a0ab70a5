"""The audit on one page: every claim is in it, text is escaped; benchmarks are merged."""

import re

import pandas as pd
import pytest
from lxml import html

from helpers import papers
from studies.audit.audit_page import (
    MATTERS,
    load_matters,
    merge_benchmarks,
    spread_benchmarks,
    write_findings,
    write_page,
)
from studies.audit.ledger import build_ledger, quote_ledger


@pytest.fixture(scope="module")
def ledger():
    return build_ledger()


def read_cells(page):
    (table,) = html.fromstring(page).xpath("//table[@id='claims']")
    rows = table.xpath("tbody/tr")
    return pd.DataFrame([[cell.text_content() for cell in row.xpath("td")] for row in rows])


def test_the_page_holds_every_claim_once_as_text_and_nothing_from_elsewhere(ledger):
    hostile = "<script>alert(1)</script>"
    quotes = quote_ledger(ledger).assign(printed=hostile)
    table = pd.DataFrame({"a": [hostile]})
    page = write_page(ledger.assign(note=hostile), load_matters(ledger), table, quotes)
    cells = read_cells(page)
    assert cells[3].tolist() == ledger["claim"].tolist()
    assert cells[6].tolist() == ledger["verdict"].tolist()
    assert hostile not in page and "&lt;script&gt;alert" in page
    assert not html.fromstring(page).xpath("//@src | //@href")
    assert not re.search(r"https?://", page)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (r"wr_cutoff_window,.*\n", "", "wr_cutoff_window"),
        (r",[^,]*\n\Z", ",who knows\n", "'who knows' is none of finding"),
        (r"\Z", "wr_cutoff_window,finding\n", "wr_cutoff_window"),
    ],
)
def test_an_inconsistency_without_its_reason_is_told(ledger, tmp_path, old, new, named):
    text = (papers.FOLDER / "matters.csv").read_text()
    (tmp_path / "matters.csv").write_text(re.sub(old, new, text))
    with pytest.raises(ValueError, match=named):
        load_matters(ledger, tmp_path)
    assert set(load_matters(ledger).values()) == set(MATTERS)


def test_benchmarks_are_the_printed_cells_each_with_its_place():
    table = merge_benchmarks()
    assert table[["paper", "section"]].notna().all(axis=None)
    wide = spread_benchmarks(table)
    assert table["benchmark"].nunique() == 13 == wide.shape[1]
    assert wide.loc["tool use: browser", "GAIA"] == "yes" and wide.loc["domains", "FutureX"] == "11"
    assert wide.loc["questions", "Proof of Time"] == "1122 (a sum)", "of its Table 6"
    places = wide.loc["stated in", ["GAIA", "Proof of Time"]].tolist()
    assert places == ["liveagentbench Table 1", "proof_of_time Table 6"]


def test_every_finding_stands_on_the_page_that_sorts():
    table = pd.read_csv(papers.FOLDER.parent / "findings.csv", dtype=str, keep_default_na=False)
    cells = read_cells(write_findings())
    assert cells[1].tolist() == table["question"].tolist()
    notebooks = (papers.FOLDER.parents[1] / "notebooks").glob("*.ipynb")
    assert set(cells.iloc[:, -1]) <= {path.stem for path in notebooks}
