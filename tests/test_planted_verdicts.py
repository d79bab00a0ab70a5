"""The tables of `planted_verdicts`: errors are as seldom as is due, verdicts reached, first worlds the same again."""

import gc

import pandas as pd
import planted_verdicts as planted
import pytest

WORLDS = pd.read_csv(planted.TABLE)
COVERAGE = pd.read_csv(planted.COVERAGE)


def test_each_study_was_played_in_a_thousand_worlds_of_each_truth():
    counts = WORLDS.groupby("study")["truth"].nunique()
    assert set(counts.index) == set(planted.STUDIES) and (counts == 3).all()
    assert (WORLDS[[*planted.TRUTHS]].sum(axis=1) == WORLDS["n"]).all() and (WORLDS["n"] == planted.N_WORLDS).all()


def test_errors_are_within_what_is_due():
    over = WORLDS[WORLDS["error_low"] > 0.05]
    assert over.empty, over.to_string()
    against = WORLDS[WORLDS["truth"] != "inconclusive"]
    assert (against["error_low"] <= 0.025).all(), "the opposite of what is planted is said even less often"


def test_each_verdict_is_reached_where_it_is_true():
    for row in WORLDS.to_dict("records"):
        assert row[row["truth"]] >= 0.5 * row["n"], row


def test_intervals_by_source_hold_the_truth_and_those_by_event_do_not():
    assert COVERAGE["coverage"].between(0.93, 0.97).all() and (COVERAGE["coverage_by_event"] < 0.8).all()
    pd.testing.assert_frame_equal(planted.measure_coverage().round(4), COVERAGE, check_dtype=False)


@pytest.fixture
def quick(monkeypatch):
    planted.make_quick(monkeypatch.setattr)
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("study", planted.STUDIES)
def test_the_first_worlds_come_again(study):
    for truth, rows in WORLDS[WORLDS["study"] == study].groupby("truth"):
        found = planted.count_verdicts(study, truth, int(rows["n_first"].iloc[0]))
        first = rows.set_index("statement")[["first_agrees", "first_disagrees"]].reindex(found.index)
        said = first.fillna(0).astype(int).to_numpy().tolist()
        assert found[["agrees", "disagrees"]].to_numpy().tolist() == said, truth
