"""Runs beside each other: a planted difference is found, luck shared by sources is not taken for
one (synthetic)."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import store_run

from daybefore.commands import compare, leaderboard
from daybefore.commands.main import carry_out
from daybefore.scoring import runs as scored_runs
from helpers.files import ROOT, STORE, write_table

N_SOURCES, N_EACH = 24, 6
N = N_SOURCES * N_EACH
DAYS = {"Early": "2023-01-24", "Mid": "2023-02-24", "Late": "2023-03-27", "Near": "2023-04-16"}
MOMENTS = {name: f"{day}T00:00:00+08:00" for name, day in DAYS.items()}


@pytest.fixture
def plant(out, monkeypatch):
    """A function that writes events of 24 sources with answers, and a ledger; no recorded run
    stands beside it.

    It takes {run_id: right, wrong, None (refused) or "unasked" by event}, and what else is known of
    a run.
    """
    monkeypatch.setattr(scored_runs, "list_recorded", lambda window=None: [])

    def write(runs, window="A", moments=(), conditions=(), day=10):
        ids = [f"{window}-{source:02}-{at}" for source in range(N_SOURCES) for at in range(N_EACH)]
        events = pd.DataFrame(
            {"event_id": ids, "kind": "single", "level": 1, "options": '{"A":"Yes","B":"No"}'}
        )
        events["source_id"] = events["cluster_id"] = [f"s{name.split('-')[1]}" for name in ids]
        events["as_of"], events["metadata"] = MOMENTS["Mid"], json.dumps({"moments": MOMENTS})
        write_table("events", events, window)
        write_table("answers", events[["event_id"]].assign(value='"A"', status="ok"), window)
        for at, (run_id, marks) in enumerate(runs.items()):
            as_of, said = (
                MOMENTS[dict(moments).get(run_id, "Mid")],
                {True: '"A"', False: '"B"', None: None},
            )
            rows = [row for row in zip(ids, marks, strict=False) if row[1] != "unasked"]
            made = {event_id: {"value": said[mark], "as_of": as_of} for event_id, mark in rows}
            about = {
                "category": "baseline" if run_id.startswith(("random", "season")) else "base_model"
            }
            started = {"started_at": f"2026-01-{day + at}T00:00:00+00:00"}
            store_run(
                out / STORE, run_id, made, started, condition=dict(conditions).get(run_id), **about
            )

    return write


@pytest.fixture
def world(plant, tmp_path):
    """`good` is right on 5 of 6 events of a source, `poor` on 2 of 6, `lucky` on all of half the
    sources; not drawn."""
    poor = [at % 6 < 2 + (at // 6) % 2 - (at // 12) % 2 for at in range(N)]
    agents = {"good-A-01": [at % 6 != (at // 6) % 5 for at in range(N)], "poor-A-01": poor}
    agents |= {
        "lucky-A-01": [bool((at // 6) % 2) for at in range(N)],
        "random-A-01": [at % 2 > 0 for at in range(N)],
    }
    plant(agents)
    return tmp_path


def test_a_planted_difference_is_found_and_stands_in_a_folder_of_its_own(world, capsys):
    found = carry_out(["compare", "good", "poor"])
    (row,) = found["pairs"]
    assert (row["agent_a"], row["agent_b"], row["n"], row["n_clusters"]) == (
        "good",
        "poor",
        144,
        24,
    )
    assert row["difference"] == pytest.approx(5 / 6 - 2 / 6) and row["verdict"] == "a is better"
    assert row["low"] < 0.5 < row["high"] and row["coverage_a"] == row["coverage_b"] == 1
    text, folder = capsys.readouterr().out, Path(found["files"][0]).parent
    assert "Holm over 1 pairs;" in text and "144 events of october-2016 asked of all" in text
    assert (
        folder == world / compare.FOLDER / "good+poor"
        and "Leaderboard" in (folder / "index.html").read_text()
    )
    pairs, board = (pd.read_csv(folder / f"{name}.csv") for name in ("pairs", "leaderboard"))
    assert pairs["difference"].tolist() == [0.5] and {"good", "poor", "random"} == set(
        board["agent_id"]
    )
    assert [row["agent_id"] for row in found["leaderboard"]] == ["good", "poor"], "those named only"
    told = (folder / "leaderboard.md").read_text()
    assert "+0.33" in told and "| good | 0.83 (n = 144) |" in told, (
        "the lead over the best baseline, random"
    )
    table = (folder / "leaderboard.tex").read_text()
    assert table.startswith("\\begin{tabular}{l") and "\ngood & 0.83" in table
    other = carry_out(["compare", "good", "lucky", "--out", str(world / "other")])["files"][0]
    assert other == str(world / "other/index.html")


def test_luck_that_sources_share_is_no_difference(world):
    row = carry_out(["compare", "lucky", "poor"])["pairs"][0]
    assert row["low_by_event"] > 0, "by event it would count as one"
    assert row["low"] < 0 < row["high"] and row["verdict"] == "inconclusive"
    assert row["mde"] > row["difference"]


def test_the_family_is_all_pairs_shown_and_of_many_agents_those_with_the_best(world, monkeypatch):
    pairs = pd.DataFrame(carry_out(["compare"])["pairs"])
    assert len(pairs) == 6
    ordered = pairs.sort_values("p")
    holm = np.minimum(1, np.maximum.accumulate(ordered["p"] * np.arange(6, 0, -1)))
    assert ordered["p_holm"].tolist() == pytest.approx(holm.tolist()) and holm.nunique() > 3
    monkeypatch.setattr(leaderboard, "MANY", 3)
    pairs = pd.DataFrame(carry_out(["compare"])["pairs"])
    assert set(pairs["agent_a"]) == {"good"} and sorted(pairs["agent_b"]) == [
        "lucky",
        "poor",
        "random",
    ]


def test_only_events_asked_of_all_count_and_a_missing_prediction_is_zero(world, plant):
    plant({"short-A-01": [None, True] * 30})
    found = carry_out(["compare", "good", "poor", "short"])
    assert found["n_events"] == 60
    board = pd.DataFrame(found["leaderboard"]).set_index("agent_id")
    assert board.loc["short", ["mean_imputed", "mean", "coverage", "n_asked"]].tolist() == [
        0.5,
        1.0,
        0.5,
        60,
    ]


def test_without_names_the_run_that_shrinks_the_comparison_is_named_and_the_hint_draws_agents(
    world, plant, capsys
):
    plant({"tiny-A-01": [True] * 4})
    found = carry_out(["compare"])
    assert found["n_events"] == 4
    said = capsys.readouterr().out
    assert "tiny (tiny-A-01) was asked 4 events and keeps the comparison to 4" in said
    assert "daybefore rm tiny-A-01" in said and "make figures RUN=" not in said
    assert 'make figures AGENTS="good lucky poor tiny"' in said


def test_agents_asked_different_questions_are_adjusted_or_refused(
    plant, tmp_path, monkeypatch, capsys
):
    first = ["unasked" if at % 2 else at % 3 > 0 for at in range(N)]
    second = [at % 3 > 0 and at % 7 > 0 if at % 2 else "unasked" for at in range(N)]
    plant(
        {"first-A-01": first, "second-A-01": second, "random-A-01": [at % 5 > 2 for at in range(N)]}
    )
    with pytest.raises(SystemExit, match="add --adjust"):
        carry_out(["compare", "first", "second"])
    found = carry_out(["compare", "first", "second", "--adjust"])
    assert {row["agent_id"] for row in found["leaderboard"]} == {"first", "second"} and len(
        found["pairs"]
    ) == 1
    assert "adjustment, not a test in pairs" in capsys.readouterr().out
    assert (
        "| first |"
        in (tmp_path / compare.FOLDER / "first+second+adjusted/leaderboard.md").read_text()
    )
    assert all(
        row["low"] < row["difference"] < row["high"] and row["n_clusters"] == 24
        for row in found["pairs"]
    )
    monkeypatch.setattr(compare, "add_baselines", lambda *given: [])
    with pytest.raises(SystemExit, match="no event joins first with second"):
        carry_out(["compare", "first", "second", "--adjust"])


def test_of_an_agents_runs_the_newest_is_taken_and_an_older_has_its_own_name(world, plant, capsys):
    plant({"good-A-02": [False] * 144}, day=20)
    found = carry_out(["compare", "good", "poor"])
    assert found["pairs"][0]["difference"] < 0
    told = capsys.readouterr().out
    assert "good: good-A-02 of its runs; the others by their run_id: good-A-01" in told
    both = carry_out(["compare", "good-A-01", "good-A-02"])["pairs"][0]
    assert (both["agent_a"], both["agent_b"], round(both["difference"], 6)) == (
        "good-A-01",
        "good-A-02",
        0.833333,
    )


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (
            ["goood", "poor"],
            r"no run or agent on october-2016 is called 'goood'; did you mean good\? There are good,",
        ),
        (["good"], "a comparison needs two runs on october-2016, and there is good: name another"),
    ],
)
def test_a_wrong_name_is_one_sentence(names, sentence, world):
    with pytest.raises(SystemExit, match=f"^daybefore compare: {sentence}"):
        carry_out(["compare", *names])


def test_recorded_runs_are_compared_without_a_ledger(out):
    found = carry_out(["compare", "qwen_zero_shot-A", "last_value"])
    board = pd.DataFrame(found["leaderboard"])
    recorded = json.loads(
        (ROOT / "data/runs/qwen_zero_shot-A/run.json").read_text(encoding="utf-8")
    )
    assert found["n_events"] == recorded["n_events"] and set(board["agent_id"]) == {
        "qwen_zero_shot",
        "last_value",
    }
    assert np.isfinite(board["mean"]).all() and found["pairs"][0]["n_clusters"] > 20


def test_of_several_conditions_the_shared_one_is_compared_and_others_are_told_by_name(
    plant, capsys
):
    """`mine` asked at all four moments, Near last; `theirs` midway; the baseline `season` midway
    and then Near."""
    asked = {"mine-L-02": "Mid", "theirs-L-02": "Mid", "season-L-01": "Mid"}
    asked |= {f"mine-L-{name}": name for name in ("Early", "Late", "Near")} | {
        "season-L-02": "Near"
    }
    marks = {
        run_id: [at % 4 > len(moment) % 4 for at in range(N)] for run_id, moment in asked.items()
    }
    plant(
        marks,
        "L",
        asked,
        {run_id: f"asked at {name}" for run_id, name in asked.items() if name != "Mid"},
    )
    (row,) = carry_out(["compare", "mine", "theirs", "--set", "L"])["pairs"]
    assert (row["agent_a"], row["condition_a"], row["condition_b"]) == ("mine", "", "")
    text = capsys.readouterr().out
    assert (
        "144 events of long asked of all, 144 with a score" in text
        and "conditions differ" not in text
    )
    assert (
        "mine: mine-L-02 of its runs; the others by their run_id: mine-L-Near (asked at Near), mine-L-Late"
        in text
    )
    found = carry_out(["compare", "mine-L-Near", "mine-L-Early", "season", "--set", "L"])
    told = (
        "conditions differ, and a difference between runs may be theirs: "
        "mine (mine-L-Near) asked at Near; mine (mine"
    )
    assert told in capsys.readouterr().out
    labels = {"mine-L-Near", "mine-L-Early", "season-L-02"}  # an agent stands twice
    assert {row["agent_id"] for row in found["leaderboard"]} == labels
    assert {row["condition_a"] for row in found["pairs"]} == {"asked at Near", "asked at Early"}


def test_runs_of_two_sets_are_refused_and_a_name_says_where_its_runs_are(world, plant):
    said = "no run or agent on june-2026 is called 'good'; its runs are on october-2016: name one by SET="
    with pytest.raises(SystemExit, match=said):
        carry_out(["compare", "good", "poor", "--set", "june-2026"])
    plant({"good-C1-01": [True] * N}, window="C1", day=20)
    said = "these runs are of different question sets: poor-A-01 on october-2016, good-C1-01 on june-2026"
    with pytest.raises(SystemExit, match=said):
        carry_out(["compare", "poor", "good-C1-01"])
    every = scored_runs.list_runs()
    assert scored_runs.find_run(every, "good")[0].run_id == "good-A-01", (
        "the default set's, though another is newer"
    )
    assert scored_runs.list_windows(every, "good") == ["C1", "A"]
