"""The ledger: each kind of check on small claims, and the papers' own."""

import math
import shutil

import pandas as pd
import pytest

from helpers import papers
from helpers.studies import audit


@pytest.fixture(scope="module")
def ledger():
    return audit.build_ledger()


def copy_papers(folder):
    return shutil.copytree(papers.FOLDER, folder / "papers")


def change_text(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def check(kind, published, operands, tolerance=""):
    """Check a claim whose references are numbers, constants or printed cells of FutureX."""
    claim = {"id": "x", "kind": kind, "published": published, "operands": operands, "tolerance": tolerance}
    return audit.check_claim(claim, "futurex")[1:]


@pytest.mark.parametrize(
    ("kind", "published", "operands", "tolerance", "recomputed", "verdict"),
    [
        ("sum", "25", "8; 7; 8; 2", "", 25, "consistent"),
        ("sum", "24", "8; 7; 8; 2", "", 25, "inconsistent"),
        ("sum", "24", "8; 7; 8; 2", "1", 25, "consistent"),
        ("sum", "23", "8; 7; 8; 2", "1", 25, "inconsistent"),
        ("sum", "", "8; 7", "", 15, "not recomputable"),
        ("none", "8", "", "", None, "not recomputable"),
        ("mean", "2", "1; 3", "", 2, "consistent"),
        ("difference", "294", "487; 193", "", 294, "consistent"),
        ("multiply_and_add", "498", "61; 7; 71", "", 498, "consistent"),
        ("product", "12", "3; 4", "", 12, "consistent"),
        ("ratio", "0.5", "1; 2", "", 0.5, "consistent"),
        ("share", "35.8", "630; 1759", "0.05", 100 * 630 / 1759, "consistent"),
        ("change", "50", "2; 3", "", 50, "consistent"),
        ("mean_change", "50", "2; 3", "", 50, "consistent"),
        ("mean_difference", "1", "3; 2", "", 1, "consistent"),
        ("mixture", "9.8", "64.4; 10.8; 8.0", "0.05", 0.644 * 10.8 + 0.356 * 8, "consistent"),
        ("f1", "0.5", "2; 2; 3", "", 0.8, "inconsistent"),
        ("feasible", "75.3", "75.3; 81", "0.05", 100 * 61 / 81, "consistent"),
        ("feasible", "23.1", "23.1; 122", "0.05", 100 * 28 / 122, "inconsistent"),
        ("count", "2", "5; 5", "", 2, "consistent"),
        ("distinct", "1", "5; 5", "", 1, "consistent"),
        ("words", "5", "site_types_named", "", 5, "consistent"),
        ("days", "7", "week_first_day; week_last_day", "", 7, "consistent"),
        ("rate", "84.8", "1272; window_first_day; window_end_day; 1", "", 84.8, "consistent"),
        ("std_growth_with", "11.8", "20", "0.05", 100 * (1 / math.sqrt(0.8) - 1), "consistent"),
        ("std_growth_without", "18.8", "20; 500; 1272", "0.05", 18.8241, "consistent"),
        ("same", "195", "195; 195", "", 195, "consistent"),
        ("same", "195", "195; 128", "", 128, "inconsistent"),
        ("at_least", "10", "3; 12", "", 12, "consistent"),
        ("at_least", "10", "3; 7.2", "", 7.2, "inconsistent"),
        ("at_most", "50", "37.5; 33", "", 37.5, "consistent"),
        ("at_most", "50", "37.5; 51", "", 51, "inconsistent"),
        ("order", "", "3; 2; 1", "", "3 > 2 > 1", "consistent"),
        ("order", "", "3; 3", "", "3 > 3", "inconsistent"),  # a tie is no order
        ("highest", "", "11; 5; 8", "", "11 against 8", "consistent"),
        ("highest", "", "8; 5; 8", "", "8 against 8", "inconsistent"),
        ("within", "86", "31; 90", "", "31 to 90", "consistent"),
        ("within", "91", "31; 90", "", "31 to 90", "inconsistent"),
        ("within", "", "1; 11; 0; 10", "", "0 to 10", "inconsistent"),
        ("rate_within", "", "1272; window_first_day; window_end_day; 70; 100", "", 84.8, "consistent"),
        ("rate_within", "", "1272; window_first_day; window_end_day; 90; 100", "", 84.8, "inconsistent"),
        ("bar_at_most", "400", "61; 71; window_first_day; window_end_day; 2", "50", 528.5, "inconsistent"),
        ("bar_at_most", "400", "40; 71; window_first_day; window_end_day; 2", "50", 371, "consistent"),
        ("balance", "", "site_types_named; 3; 2", "", "5 against 5", "consistent"),
        ("balance", "", "site_types_named; 3; 3", "", "5 against 6", "inconsistent"),
    ],
)
def test_each_kind_of_check(kind, published, operands, tolerance, recomputed, verdict):
    found, judged = check(kind, published, operands, tolerance)
    assert judged == verdict
    if isinstance(recomputed, float | int):
        assert found == pytest.approx(recomputed, abs=1e-4)
    else:
        assert found == recomputed


def test_same_set_ignores_order():
    assert check("same_set", "top_four_factors", "top_four_overall")[1] == "consistent"
    assert check("same_set", "domains_figure4_named", "domains_coverage_named")[1] == "inconsistent"


def test_every_kind_is_tried_above():
    tried = {mark.args[1] and case[0] for mark in test_each_kind_of_check.pytestmark for case in mark.args[1]}
    assert tried | {"same_set"} == {*audit.VALUES, *audit.JUDGEMENTS, "none"}


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


def test_unknown_kind_and_several_published_cells_raise():
    with pytest.raises(ValueError, match="no check 'vibe'"):
        check("vibe", "1", "1")
    with pytest.raises(ValueError, match="names 3 cells; name one"):
        check("sum", "table5_planning_scores[GPT-4.1].*", "1")


def test_ledger_columns_ids_and_verdicts(ledger):
    assert ledger.columns.tolist() == audit.COLUMNS
    assert ledger["id"].is_unique
    assert set(ledger["verdict"]) == set(audit.VERDICTS)
    assert set(ledger["paper"]) == set(papers.list_papers())
    assert (ledger[["section", "claim", "kind"]] != "").all(axis=None)


def test_every_inconsistency_between_numbers_shows_both(ledger):
    bad = ledger[ledger["verdict"] == "inconsistent"]
    assert (bad["recomputed"] != "").all() and (bad["note"] != "").mean() > 0.9


def test_known_findings(ledger):
    verdicts = ledger.set_index("id")["verdict"]
    for claim in ("fx_open_ended_week", "fx_market_drop", "fx_models_section4", "wr_pairs_sum", "wr_ker_identity"):
        assert verdicts[claim] == "consistent", claim
    for claim in ("fx_sites_updates", "fx_domains_named", "fx_market_drop_week", "lab_llm_mean", "pot_wrong_sum"):
        assert verdicts[claim] == "inconsistent", claim
    for claim in ("fx_r2_factors", "fx_missing_with", "fx_missing_without"):
        assert verdicts[claim] == "not recomputable", claim


def test_changed_digit_changes_only_its_verdict(tmp_path, ledger):
    folder = copy_papers(tmp_path)
    change_text(folder / "proof_of_time_table7_test_time_scaling.csv", "35.1,26.7", "35.1,27.7")
    changed = audit.build_ledger(folder=folder)
    differs = ledger.loc[ledger["verdict"] != changed["verdict"], "id"].tolist()
    assert differs == ["pot_scaling_claude_haiku_4_5"]


def test_changed_constant_changes_its_verdict(tmp_path, ledger):
    folder = copy_papers(tmp_path)
    change_text(folder / "liveagentbench.toml", "value = 125", "value = 126")
    changed = audit.build_ledger(folder=folder)
    assert ledger.loc[ledger["verdict"] != changed["verdict"], "id"].tolist() == ["lab_split"]


def test_row_is_added_by_a_line(tmp_path):
    folder = copy_papers(tmp_path)
    path = folder / "ledger_futurex.csv"
    line = "fx_new,9,sum,one and one,2,1; 1,,\n"
    path.write_text(path.read_text(encoding="utf-8") + line, encoding="utf-8")
    assert audit.build_ledger(["futurex"], folder).iloc[-1]["verdict"] == "consistent"
    path.write_text(path.read_text(encoding="utf-8") + line, encoding="utf-8")
    with pytest.raises(ValueError, match="id fx_new stands twice"):
        audit.build_ledger(["futurex"], folder)


def test_error_names_its_claim(tmp_path):
    folder = copy_papers(tmp_path)
    change_text(folder / "ledger_worldreasoner.csv", "intext_dataset[articles].value", "intext_dataset[papers].value")
    with pytest.raises(LookupError) as caught:
        audit.build_ledger(folder=folder)
    assert caught.value.__notes__ == ["in claim wr_articles_repeat of ledger_worldreasoner.csv"]


def test_fill_ours_adds_value_interval_and_note(ledger):
    ours = pd.DataFrame(
        [
            {"id": "fx_acquisition", "value": 98.5, "low": 97.1, "high": 99.2, "note": "788 of 800"},
            {"id": "fx_events_total", "value": 800, "low": None, "high": None, "note": None},
        ]
    )
    filled = audit.fill_ours(ledger, ours).set_index("id")
    assert filled.loc["fx_acquisition", ["ours", "interval"]].tolist() == ["98.5", "97.1 to 99.2"]
    assert filled.loc["fx_acquisition", "note"].endswith("; 788 of 800")
    assert filled.loc["fx_events_total", ["ours", "interval"]].tolist() == ["800", ""]
    assert (filled["ours"] != "").sum() == 2
    assert (ledger["ours"] == "").all()  # the ledger itself is untouched
    with pytest.raises(ValueError, match="fx_nothing, which is no claim"):
        audit.fill_ours(ledger, ours.assign(id=["fx_nothing", "fx_events_total"]))
    with pytest.raises(ValueError, match="two values"):
        audit.fill_ours(ledger, ours.assign(id="fx_acquisition"))


def test_measured_values_fit_the_ledger(ledger):
    events = pd.DataFrame(
        {
            "event_id": ["e1", "e2", "e3", "e4"],
            "as_of": ["2016-10-10T00:00:00+08:00"] * 2 + ["2016-10-11T00:00:00+08:00"] * 2,
            "source_id": ["s1", "s1", "s2", "s3"],
            "site_type": ["news", "news", "prediction_market", "government"],
            "domain": ["Sports", "Sports", "Crypto", "Weather"],
            "kind": ["number", "ranking", "single", "number"],
            "level": [3, 4, 1, 3],
        }
    )
    answers = pd.DataFrame({"event_id": ["e1", "e2", "e3", "e4"], "value": ["1", '["a"]', '"A"', None]})
    ours = audit.measure_events(events, answers)
    values = ours.set_index("id")["value"]
    assert values["fx_events_total"] == 4 and values["fx_events_a_day"] == 2
    assert values["fx_acquisition"] == 75  # 3 of 4
    assert values["fx_open_ended_week"] == 10.5  # 3 in 2 days
    assert values["fx_levels_figure6"] == "1 25.0%, 3 50.0%, 4 25.0%"
    assert (audit.fill_ours(ledger, ours)["ours"] != "").sum() == len(ours)
    with pytest.raises(ValueError, match="no events"):
        audit.measure_events(events.iloc[:0], answers)
