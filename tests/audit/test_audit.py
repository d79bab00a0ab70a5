"""The ledger: a claim's verdict and basis, references that name nothing, the papers' own claims."""

import pytest

from helpers import papers
from studies.audit import ledger as audit


@pytest.fixture(scope="module")
def ledger():
    return audit.build_ledger().set_index("id")


@pytest.mark.parametrize(
    ("kind", "published", "operands", "found"),
    [
        ("sum", "24", "8; 7; 8; 2", (24.0, 25.0, "consistent")),
        ("sum", "23", "8; 7; 8; 2", (23.0, 25.0, "inconsistent")),
        ("sum", "", "8; 7", (None, 15.0, "not recomputable")),
        ("none", "8", "", (8.0, None, "not recomputable")),
    ],
)
def test_a_claim_gets_its_verdict(kind, published, operands, found):
    claim = {"id": "x", "kind": kind, "published": published, "operands": operands}
    claim["tolerance"] = "1"
    value, groups = audit.resolve_claim(claim, "futurex")
    assert (value, *audit.judge_claim(claim, value, groups)) == found


def test_the_authors_heat_map_does_not_give_table_7(ledger):
    """By hand, Gemini 3 Pro: (200 (0.91 + 0.72 + 0.93) + 197 0.22 + 122 0.19 + ...) / 1122 =
    65.9%; of GPT-5.1 37.7% of the 925, 34.1% of all."""
    rows = ledger[ledger.index.str.startswith("pot_cells_")]
    assert len(rows) == 11 and rows["verdict"].eq("inconsistent").all()
    assert rows.loc["pot_cells_gemini_3_pro", ["published", "recomputed"]].tolist() == [
        "55.8",
        "65.9305",
    ]
    assert rows.loc["pot_cells_gpt_5_1", "recomputed"] == "37.6854"


BASES = {
    "recomputed": "pot_strata_sum wr_sources_sum",
    "printed twice": "fx_models_repeat fx_window",
    "read in words": "fx_filter_judges wr_cited_rule fx_sites_funnel",
    "own assumption": "lab_inputs_deepseek_r1 pot_gpt52_acl",
    "": "fx_r2_factors",
}
VERDICTS = {
    "consistent": "fx_open_ended_week fx_market_drop fx_models_section4 wr_pairs_sum wr_ker_identity",
    "inconsistent": "fx_domains_named fx_market_drop_week lab_llm_mean lab_sizes_total pot_wrong_sum wr_cutoff_window",
    "not recomputable": "fx_r2_factors fx_missing_with fx_missing_without",
    "two readings": "pot_instances wr_reviewed lab_table1_video",
}


def test_known_findings_and_what_they_rest_on(ledger):
    assert ledger.index.is_unique and len(ledger) >= 700
    assert ledger["verdict"].eq("inconsistent").sum() == 80
    for column, known in (("basis", BASES), ("verdict", VERDICTS)):
        for cell, claims in known.items():
            assert set(ledger.loc[claims.split(), column]) == {cell}
    rests = ledger.loc[ledger["verdict"] != "not recomputable", "basis"]
    assert set(rests) == set(audit.BASES)


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("sites_lost", "no row has sites_lost"),
        ("61 x 7", "cannot read the reference"),
        ("t9[a].b", "no printed table"),
    ],
)
def test_a_reference_that_names_nothing_is_refused(reference, said):
    with pytest.raises((LookupError, ValueError), match=said):
        audit.resolve_reference(reference, "futurex")


def test_every_statement_is_used():
    for paper in papers.list_papers():
        claims = audit.load_claims(paper).to_dict("records")
        used = {reference for claim in claims for reference in audit.list_references(claim)}
        names = papers.load_published(paper, "statements", dtype=str)["name"]
        assert names.is_unique and not names.str.contains(r"\W").any()
        assert set(names) - used <= {"domains_coverage_named"}, paper
