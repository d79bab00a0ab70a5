"""The ledger: each kind of check on small claims, and the papers' own."""

import pytest

from helpers import papers
from studies.audit import ledger as audit


@pytest.fixture(scope="module")
def ledger():
    return audit.build_ledger()


def check(kind, published, operands, tolerance=""):
    """Check a claim whose references are numbers, constants or printed cells of FutureX."""
    claim = {
        "id": "x",
        "kind": kind,
        "published": published,
        "operands": operands,
        "tolerance": tolerance,
    }
    value, groups = audit.resolve_claim(claim, "futurex")
    return value, *audit.judge_claim(claim, value, groups)


def test_a_claim_gets_its_verdict():
    assert check("sum", "24", "8; 7; 8; 2", "1") == (24.0, 25.0, "consistent")
    assert check("sum", "23", "8; 7; 8; 2", "1") == (23.0, 25.0, "inconsistent")
    assert check("sum", "", "8; 7") == (None, 15.0, "not recomputable")
    assert check("none", "8", "") == (8.0, None, "not recomputable")


def test_the_authors_heat_map_does_not_give_table_7(ledger):
    """By hand, Gemini 3 Pro: (200 (0.91 + 0.72 + 0.93) + 197 0.22 + 122 0.19 + ...) / 1122 =
    65.9%."""
    rows = ledger[ledger["id"].str.startswith("pot_cells_")].set_index("id")
    assert len(rows) == 11 and rows["verdict"].eq("inconsistent").all()
    assert rows.loc["pot_cells_gemini_3_pro", ["published", "recomputed"]].tolist() == [
        "55.8",
        "65.9305",
    ]
    assert rows.loc["pot_cells_gpt_5_1", "recomputed"] == "37.6854"  # of the 925; 34.1 of all


def test_what_a_verdict_rests_on(ledger):
    bases = ledger.set_index("id")["basis"]
    assert bases["pot_strata_sum"] == bases["wr_sources_sum"] == "recomputed"
    assert bases["fx_models_repeat"] == bases["fx_window"] == "printed twice"
    assert (
        bases["fx_filter_judges"]
        == bases["wr_cited_rule"]
        == bases["fx_sites_funnel"]
        == "read in words"
    )
    assert bases["lab_inputs_deepseek_r1"] == bases["pot_gpt52_acl"] == "own assumption"
    assert bases["fx_r2_factors"] == ""
    assert set(bases[ledger.set_index("id")["verdict"] != "not recomputable"]) == set(audit.BASES)


def test_a_reference_that_names_nothing_is_refused():
    wrong = {
        "sites_lost": "no row has sites_lost",
        "61 x 7": "cannot read the reference",
        "t9[a].b": "no printed table",
    }
    for reference, said in wrong.items():
        with pytest.raises((LookupError, ValueError), match=said):
            audit.resolve_reference(reference, "futurex")


def test_every_statement_is_used(ledger):
    for paper in papers.list_papers():
        claims = audit.load_claims(paper).to_dict("records")
        used = {reference for claim in claims for reference in audit.list_references(claim)}
        names = papers.load_published(paper, "statements", dtype=str)["name"]
        assert names.is_unique and not names.str.contains(r"\W").any()
        assert set(names) - used <= {"domains_coverage_named"}, paper


KNOWN = {
    "consistent": "fx_open_ended_week fx_market_drop fx_models_section4 wr_pairs_sum wr_ker_identity",
    "inconsistent": "fx_domains_named fx_market_drop_week lab_llm_mean lab_sizes_total pot_wrong_sum wr_cutoff_window",
    "not recomputable": "fx_r2_factors fx_missing_with fx_missing_without",
    "two readings": "pot_instances wr_reviewed lab_table1_video",
}


def test_known_findings(ledger):
    assert (
        ledger["id"].is_unique
        and len(ledger) >= 700
        and ledger["verdict"].eq("inconsistent").sum() == 80
    )
    verdicts = ledger.set_index("id")["verdict"]
    for verdict, claims in KNOWN.items():
        assert set(verdicts[claims.split()]) == {verdict}
