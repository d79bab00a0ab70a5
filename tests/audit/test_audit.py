"""The ledger: each kind of check on small claims, and the papers' own."""

import csv
import random
import re
import shutil

import pytest

from helpers import papers
from helpers.audit import ledger as audit

READINGS = (
    "pot_instances",
    "wr_reviewed",
    "pot_cost_openai_names",
    "fx_responses_option",
    "lab_table1_video",
    "fx_sites_updates",
)
NEW_FINDINGS = (
    "fx_futurebench_source",
    "lab_dl_manus",
    "lab_im_openai_deep_research",
    "lab_pooled_openai_deep_research",
    "lab_inputs_qwen3_235b_a22b",
    "lab_inputs_deepseek_r1",
    "lab_size_text_file",
    "lab_sizes_total",
    "lab_study_gap",
    "pot_article_direction",
    "pot_award_candidates",
    "pot_buckets_prompt",
    "pot_gpt52_acl",
    "pot_sota_shown",
    "wr_cutoff_window",
    "wr_filter_place",
    "wr_reference_builder",
)


@pytest.fixture(scope="module")
def ledger():
    return audit.build_ledger()


def copy_papers(folder):
    return shutil.copytree(papers.FOLDER, folder / "papers")


def check(kind, published, operands, tolerance=""):
    """Check a claim whose references are numbers, constants or printed cells of FutureX."""
    claim = {"id": "x", "kind": kind, "published": published, "operands": operands, "tolerance": tolerance}
    value, groups = audit.resolve_claim(claim, "futurex")
    return value, *audit.judge_claim(claim, value, groups)


def test_claim_gets_its_verdict():
    assert check("sum", "24", "8; 7; 8; 2", "1") == (24.0, 25.0, "consistent")
    assert check("sum", "23", "8; 7; 8; 2", "1") == (23.0, 25.0, "inconsistent")
    assert check("sum", "", "8; 7") == (None, 15.0, "not recomputable")
    assert check("none", "8", "") == (8.0, None, "not recomputable")
    assert check("days", "7", "week_first_day; week_last_day")[2] == "consistent"
    assert check("same_set", "domains_figure4_named", "domains_coverage_named")[2] == "inconsistent"


def test_the_authors_heat_map_does_not_give_table_7(ledger):
    """By hand, Gemini 3 Pro: (200 (0.91 + 0.72 + 0.93) + 197 0.22 + 122 0.19 + ...) / 1122 = 65.9%."""
    rows = ledger[ledger["id"].str.startswith("pot_cells_")].set_index("id")
    assert len(rows) == 11 and rows["verdict"].eq("inconsistent").all()
    assert rows.loc["pot_cells_gemini_3_pro", ["published", "recomputed"]].tolist() == ["55.8", "65.9305"]
    assert rows.loc["pot_cells_gpt_5_1", "recomputed"] == "37.6854"  # of the 925; 34.1 of all


def test_what_a_verdict_rests_on(ledger):
    bases = ledger.set_index("id")["basis"]
    assert bases["pot_strata_sum"] == bases["wr_sources_sum"] == "recomputed"
    assert bases["fx_models_repeat"] == bases["fx_window"] == "printed twice"
    assert bases["fx_filter_judges"] == bases["wr_cited_rule"] == bases["fx_sites_funnel"] == "read in words"
    assert bases["lab_inputs_deepseek_r1"] == bases["pot_gpt52_acl"] == "own assumption"
    assert bases["fx_r2_factors"] == ""
    assert set(bases[ledger.set_index("id")["verdict"] != "not recomputable"]) == set(audit.BASES)


def test_references():
    assert audit.resolve_reference("table1_benchmarks[benchmark!=FutureX].n_domains", "futurex") == [5.0, 8.0]
    one = "intext_values[subject=Gemini-2.5-pro&target=eps].value"
    assert audit.resolve_reference(one, "futurex") == [33.7]
    assert audit.resolve_reference("week_text", "futurex") == ["July 15 to July 22"]
    with pytest.raises(LookupError, match="no row has sites_lost"):
        audit.resolve_reference("sites_lost", "futurex")
    with pytest.raises(ValueError, match="cannot read the reference"):
        audit.resolve_reference("61 x 7", "futurex")
    with pytest.raises(LookupError, match="no printed table 'table9'"):
        audit.resolve_reference("table9[a].b", "futurex")


def test_every_statement_is_used(ledger):
    for paper in papers.list_papers():
        claims = audit.load_claims(paper).to_dict("records")
        used = {reference for claim in claims for reference in audit.list_references(claim)}
        names = papers.load_published(paper, "statements", dtype=str)["name"]
        assert names.is_unique and not names.str.contains(r"\W").any()
        assert set(names) - used <= {"domains_coverage_named"}, paper


def test_known_findings(ledger):
    assert ledger["id"].is_unique and len(ledger) >= 700 and ledger["verdict"].eq("inconsistent").sum() == 75
    verdicts = ledger.set_index("id")["verdict"]
    for claim in ("fx_open_ended_week", "fx_market_drop", "fx_models_section4", "wr_pairs_sum", "wr_ker_identity"):
        assert verdicts[claim] == "consistent", claim
    for claim in (
        "fx_domains_named",
        "fx_market_drop_week",
        "lab_llm_mean",
        "pot_wrong_sum",
        *NEW_FINDINGS,
    ):
        assert verdicts[claim] == "inconsistent", claim
    assert (verdicts[list(NEW_FINDINGS)] == "inconsistent").all()
    for claim in ("fx_r2_factors", "fx_missing_with", "fx_missing_without"):
        assert verdicts[claim] == "not recomputable", claim
    assert (verdicts[list(READINGS)] == "two readings").all()


def change_cell(path, row, column, change):
    """Rewrite one cell of a csv; returns the old text."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    at = rows[0].index(column)
    old, rows[row + 1][at] = rows[row + 1][at], change(rows[row + 1][at])
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    return old


def change_digit(text):
    """The text with its last digit up by one, 9 becoming 8."""
    *_, last = re.finditer(r"\d", text)
    digit = "8" if last.group() == "9" else str(int(last.group()) + 1)
    return text[: last.start()] + digit + text[last.end() :]


def list_dependents(paper):
    """Return printed cell with a number -> ids of the claims that refer to it, as its value or one of its operands."""
    dependents = {}
    for claim in audit.load_claims(paper).to_dict("records"):
        for reference in audit.list_references(claim):
            for cell in audit.find_cells(reference, paper):
                dependents.setdefault(cell, set()).add(claim["id"])
    tables = {table: papers.load_published(paper, table, dtype=str) for table, _, _ in dependents}
    return {
        (table, row, column): ids
        for (table, row, column), ids in sorted(dependents.items())
        if re.fullmatch(r"-?[\d.]+", str(tables[table].at[row, column])) and column != tables[table].columns[0]
    }


@pytest.mark.parametrize("paper", papers.list_papers())
def test_changed_cell_changes_only_the_claims_that_refer_to_it(tmp_path, ledger, paper):
    folder = copy_papers(tmp_path)
    dependents = list_dependents(paper)
    shown = ["published", "recomputed", "verdict"]
    before = ledger[ledger["paper"] == paper].set_index("id")[shown]
    sample = random.Random(paper).sample(sorted(dependents), 6)
    seen = 0
    for number, (table, row, column) in enumerate(sample):
        path = folder / f"{paper}_{table}.csv"
        original = path.read_bytes()
        change_cell(path, row, column, [change_digit, lambda text: ""][number % 2])
        after = audit.build_ledger([paper], folder).set_index("id")[shown]
        path.write_bytes(original)
        changed = set(before.index[(before != after).any(axis=1)])
        assert changed <= dependents[table, row, column], (table, row, column)
        seen += bool(changed)
    assert seen >= 5  # a value below a bar, say, may change without a trace
    assert audit.build_ledger([paper], folder).set_index("id")[shown].equals(before)
