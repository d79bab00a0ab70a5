"""The audit on one page: every claim is in it, text is escaped, counts follow the ledger; benchmarks are merged."""

import re
import shutil

import pandas as pd
import pytest
from browser import CHROMIUM, open_browser
from lxml import html

from helpers import papers
from helpers.audit.benchmarks import merge_benchmarks, spread_benchmarks
from helpers.audit.ledger import build_ledger
from helpers.audit.page import MATTERS, load_matters, write_page
from helpers.audit.quotes import quote_ledger


@pytest.fixture(scope="module")
def ledger():
    return build_ledger()


@pytest.fixture(scope="module")
def page(ledger):
    return write_page(ledger, load_matters(ledger), spread_benchmarks(merge_benchmarks()), quote_ledger(ledger))


def test_the_page_holds_every_claim_once_and_nothing_from_elsewhere(ledger, page):
    tree = html.fromstring(page)
    rows = tree.xpath("//table[@id='claims']/tbody/tr")
    cells = [[cell.text_content() for cell in row] for row in rows]
    assert [row[3] for row in cells] == ledger["claim"].tolist()
    assert [row[6] for row in cells] == ledger["verdict"].tolist()
    assert not tree.xpath("//@src | //@href") and not re.search(r"https?://", page)


def test_what_a_claim_says_is_text_and_no_markup(ledger):
    changed = ledger.assign(note="<script>alert(1)</script>")
    quotes = quote_ledger(ledger).assign(printed="<i>so</i>")
    page = write_page(changed, load_matters(ledger), pd.DataFrame({"a": ["<b>"]}), quotes)
    assert "<i>so" not in page and "&lt;i&gt;so" in page
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page and "<b>" not in page


def test_both_sides_of_what_does_not_hold_stand_beside_each_other(ledger, page):
    tree = html.fromstring(page)
    heads = [[cell.text_content() for cell in row] for row in tree.xpath("//thead/tr")]
    for verdict, table in (("inconsistent", heads.index(next(h for h in heads if "matters" in h and "against" in h))),):
        rows = tree.xpath("//table")[table].xpath("tbody/tr")
        assert len(rows) == ledger["verdict"].eq(verdict).sum()
        at = heads[table].index("printed")
        assert all(row[at].text_content() and row[at + 1].text_content() for row in rows)
    text = tree.text_content()
    assert '"30K+ instances" (Abstract)' in text and "Table 6, n samples: 200, 200, 200, 197, ..." in text
    assert len(page.encode()) < 270_000


def test_a_quote_is_twelve_words_at_most():
    for paper in papers.list_papers():
        printed = papers.load_published(paper, "statements", dtype=str).set_index("name")["printed"]
        words = printed.str.count(r"[^\W_]+")
        assert words.max() <= 12, printed[words.idxmax()]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda lines: [line for line in lines if "wr_cutoff_window" not in line], "wr_cutoff_window"),
        (lambda lines: [*lines, "fx_acquisition,count"], "fx_acquisition"),
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
    assert wide.loc["stated in", ["GAIA", "Proof of Time"]].tolist() == [
        "liveagentbench Table 1",
        "proof_of_time Table 6",
    ]


def test_a_changed_digit_of_print_changes_the_merged_table(tmp_path):
    for path in papers.FOLDER.iterdir():
        shutil.copy(path, tmp_path)
    path = tmp_path / "worldreasoner_intext_dataset.csv"
    path.write_text(path.read_text().replace("resolved_questions,345", "resolved_questions,346"))
    before, after = merge_benchmarks().set_index(["benchmark", "property"]), merge_benchmarks(tmp_path)
    changed = after.set_index(["benchmark", "property"])["value"] != before["value"]
    assert after[changed.to_numpy()]["benchmark"].tolist() == ["WorldReasoner"]


BROKEN = """[...document.querySelectorAll("th, tbody tr:nth-child(-n+99) td")].flatMap(cell => {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), found = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    for (const word of node.data.matchAll(/[A-Za-z]{4,}/g)) {
      const range = new Range();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(box => box.top)).size > 1) found.push(word[0]);
    }
  return found;
})"""
"""The words in the tables that stand on two lines."""
SORT = """[...document.querySelectorAll("table:has(td)")].map(table => {
  const read = () => [...table.tBodies[0].rows].map(row => row.cells[1].textContent);
  const button = table.tHead.rows[0].cells[1].querySelector("button"), compare = (a, b) =>
    a !== "" && !isNaN(a) && b !== "" && !isNaN(b) ? a - b : 0;
  button.click();
  const up = read();
  button.click();
  const down = read(), isUp = up.every((text, n) => n === 0 || compare(up[n - 1], text) <= 0);
  return isUp && new Set(up).size > 1 && up[0] !== down[0] && [...up].sort().join() === [...down].sort().join();
})"""
FILTER = """[...document.querySelectorAll(".filters:has(+ * td)")].map(box => {
  const input = box.querySelector("input"), rows = [...box.nextElementSibling.querySelectorAll("tbody tr")];
  input.value = rows[1].cells[0].textContent + "no such words";
  input.dispatchEvent(new Event("input", {bubbles: true}));
  const none = rows.filter(row => !row.hidden).length;
  input.value = rows[1].cells[0].textContent.toUpperCase();
  input.dispatchEvent(new Event("input", {bubbles: true}));
  return none === 0 && !rows[1].hidden;
})"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here (apt-get install chromium)")
def test_in_a_browser_every_table_sorts_and_filters_and_no_word_is_broken(ledger, page, tmp_path):
    path = tmp_path / "audit.html"
    path.write_text(page, encoding="utf-8")
    with open_browser(tmp_path / "chromium") as tab:
        for width in (390, 1280):
            tab.open(path.as_uri(), width)
            assert tab.run("document.documentElement.scrollWidth") <= width
            assert tab.run(BROKEN) == []
        pick = "[...document.querySelectorAll('.filters')].at(-1).querySelectorAll('select')[2]"
        shown = "[...document.querySelectorAll('#claims tbody tr')].filter(row => !row.hidden)"
        for value in ("inconsistent", "two readings", ""):
            n = int(ledger["verdict"].eq(value).sum()) if value else len(ledger)
            assert 0 < n <= len(ledger)
            tab.run(f"{pick}.value = '{value}'; {pick}.dispatchEvent(new Event('input', {{bubbles: true}}))")
            assert tab.run(f"{shown}.length") == n
        n = 8
        assert tab.run(SORT) == [True] * n
        assert tab.run(FILTER) == [True] * n
