"""Runs beside each other: a planted difference is found, luck shared by sources is not taken for
one (synthetic)."""

import json

import numpy as np
import pandas as pd
import pytest
from builders import store_run

from daybefore.commands import compare, leaderboard
from daybefore.commands.main import carry_out
from daybefore.scoring import run_scores as scored_runs
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
        events = pd.DataFrame({"event_id": ids, "kind": "single", "level": 1})
        events["source_id"] = events["cluster_id"] = [f"s{name.split('-')[1]}" for name in ids]
        facts = {"options": '{"A":"Yes","B":"No"}', "metadata": json.dumps({"moments": MOMENTS})}
        write_table("events", events.assign(as_of=MOMENTS["Mid"], **facts), window)
        write_table("answers", events[["event_id"]].assign(value='"A"', status="ok"), window)
        said = {True: '"A"', False: '"B"', None: None}
        for at, (run_id, marks) in enumerate(runs.items()):
            as_of = MOMENTS[dict(moments).get(run_id, "Mid")]
            made = {
                event_id: {"value": said[mark], "as_of": as_of}
                for event_id, mark in zip(ids, marks, strict=False)
                if mark != "unasked"
            }
            is_baseline = run_id.startswith(("random", "season"))
            about = {"category": "baseline" if is_baseline else "base_model"}
            started = {"started_at": f"2026-01-{day + at}T00:00:00+00:00"}
            about["condition"] = dict(conditions).get(run_id)
            store_run(out / STORE, run_id, made, started, **about)

    return write


@pytest.fixture
def world(plant, tmp_path):
    """`good` is right on 5 of 6 events of a source, `poor` on 2 of 6, `lucky` on all of half the
    sources; not drawn."""
    sources = [divmod(at, 6) for at in range(N)]
    agents = {
        "good-A-01": [at != source % 5 for source, at in sources],
        "poor-A-01": [at < 2 + source % 2 - source // 2 % 2 for source, at in sources],
        "lucky-A-01": [source % 2 > 0 for source, _ in sources],
        "random-A-01": [at % 2 > 0 for _, at in sources],
    }
    plant(agents)
    return tmp_path


def test_a_planted_difference_is_found_and_stands_in_a_folder_of_its_own(world, capsys):
    found = carry_out(["compare", "good", "poor"])
    (row,) = found["pairs"]
    assert [row[name] for name in ("agent_a", "agent_b", "n", "n_clusters")] == [
        "good",
        "poor",
        N,
        24,
    ]
    assert row["difference"] == pytest.approx(5 / 6 - 2 / 6) and row["verdict"] == "a is better"
    assert row["low"] < 0.5 < row["high"] and row["coverage_a"] == row["coverage_b"] == 1
    text, folder = capsys.readouterr().out, world / compare.FOLDER / "good+poor"
    assert "Holm over 1 pairs;" in text and "144 events of october-2016 asked of all" in text
    assert found["files"][0] == str(folder / "index.html")
    assert "Leaderboard" in (folder / "index.html").read_text()
    pairs, board = (pd.read_csv(folder / f"{name}.csv") for name in ("pairs", "leaderboard"))
    assert pairs["difference"].tolist() == [0.5]
    assert set(board["agent_id"]) == {"good", "poor", "random"}
    assert [row["agent_id"] for row in found["leaderboard"]] == ["good", "poor"], "those named only"
    told = (folder / "leaderboard.md").read_text()
    assert "| good | 0.83 (n = 144) |" in told and "+0.33" in told, "the lead over random"
    assert "\ngood & 0.83" in (folder / "leaderboard.tex").read_text()
    other = carry_out(["compare", "good", "lucky", "--out", str(world / "other")])["files"][0]
    assert other == str(world / "other/index.html")


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


def test_only_events_asked_of_all_count_and_a_missing_prediction_is_zero(world, plant, capsys):
    plant({"short-A-01": [None, True] * 30})
    found = carry_out(["compare", "good", "poor", "short"])
    assert found["n_events"] == 60
    (row,) = [row for row in found["leaderboard"] if row["agent_id"] == "short"]
    named = ("mean_imputed", "mean", "coverage", "n_asked")
    assert [row[name] for name in named] == [0.5, 1.0, 0.5, 60]
    plant({"tiny-A-01": [True] * 4})
    assert carry_out(["compare"])["n_events"] == 4
    said = capsys.readouterr().out
    assert "tiny (tiny-A-01) was asked 4 events and keeps the comparison to 4" in said
    assert "daybefore rm tiny-A-01" in said
    assert 'make figures AGENTS="good lucky poor short tiny"' in said


def test_agents_asked_different_questions_are_adjusted_or_refused(
    plant, tmp_path, monkeypatch, capsys
):
    first = ["unasked" if at % 2 else at % 3 > 0 for at in range(N)]
    second = [at % 3 > 0 and at % 7 > 0 if at % 2 else "unasked" for at in range(N)]
    beside = [at % 5 > 2 for at in range(N)]
    plant({"first-A-01": first, "second-A-01": second, "random-A-01": beside})
    with pytest.raises(SystemExit, match="add --adjust"):
        carry_out(["compare", "first", "second"])
    found = carry_out(["compare", "first", "second", "--adjust"])
    assert {row["agent_id"] for row in found["leaderboard"]} == {"first", "second"}
    assert "adjustment, not a test in pairs" in capsys.readouterr().out
    folder = tmp_path / compare.FOLDER / "first+second+adjusted"
    assert "| first |" in (folder / "leaderboard.md").read_text()
    (row,) = found["pairs"]
    assert row["low"] < row["difference"] < row["high"] and row["n_clusters"] == 24
    monkeypatch.setattr(compare, "add_baselines", lambda *given: [])
    with pytest.raises(SystemExit, match="no event joins first with second"):
        carry_out(["compare", "first", "second", "--adjust"])


def test_of_an_agents_runs_the_newest_is_taken_and_an_older_has_its_own_name(world, plant, capsys):
    plant({"good-A-02": [False] * 144}, day=20)
    assert carry_out(["compare", "good", "poor"])["pairs"][0]["difference"] < 0
    told = capsys.readouterr().out
    assert "good: good-A-02 of its runs; the others by their run_id: good-A-01" in told
    (both,) = carry_out(["compare", "good-A-01", "good-A-02"])["pairs"]
    assert (both["agent_a"], both["agent_b"]) == ("good-A-01", "good-A-02")
    assert both["difference"] == pytest.approx(5 / 6)


@pytest.mark.parametrize(("names", "sentence"), [
    (["goood", "poor"], r"no run or agent on october-2016 is called 'goood'; did you mean good\? There are good,"),
    (["good"], "a comparison needs two runs on october-2016, and there is good: name another"),
    (["good", "poor", "--set", "june-2026"], "no run or agent on june-2026 is called 'good'; its runs are on "
     "october-2016: name one by SET="),
])  # fmt: skip
def test_a_wrong_name_is_one_sentence(names, sentence, world):
    with pytest.raises(SystemExit, match=f"^daybefore compare: {sentence}"):
        carry_out(["compare", *names])


def test_recorded_runs_are_compared_without_a_ledger(out):
    found = carry_out(["compare", "qwen_zero_shot-A", "last_value"])
    recorded = json.loads((ROOT / "data/runs/qwen_zero_shot-A/run.json").read_text("utf-8"))
    assert found["n_events"] == recorded["n_events"]
    means = {row["agent_id"]: row["mean"] for row in found["leaderboard"]}
    assert means.keys() == {"qwen_zero_shot", "last_value"} and min(means.values()) > 0


def test_of_several_conditions_the_shared_one_is_compared_and_others_are_told_by_name(
    plant, capsys
):
    """`mine` asked at all four moments, Near last; `theirs` midway; the baseline `season` midway
    and then Near."""
    asked = {
        "mine-L-02": "Mid",
        "theirs-L-02": "Mid",
        "season-L-01": "Mid",
        "mine-L-Early": "Early",
    }
    asked |= {"mine-L-Late": "Late", "mine-L-Near": "Near", "season-L-02": "Near"}
    marks = {run_id: [at % 4 > len(told) % 4 for at in range(N)] for run_id, told in asked.items()}
    told = {run_id: f"asked at {name}" for run_id, name in asked.items() if name != "Mid"}
    plant(marks, "L", asked, told)
    (row,) = carry_out(["compare", "mine", "theirs", "--set", "L"])["pairs"]
    assert (row["agent_a"], row["condition_a"], row["condition_b"]) == ("mine", "", "")
    text = capsys.readouterr().out
    assert "144 events of long asked of all" in text and "conditions differ" not in text
    others = "the others by their run_id: mine-L-Near (asked at Near), mine-L-Late"
    assert f"mine: mine-L-02 of its runs; {others}" in text
    found = carry_out(["compare", "mine-L-Near", "mine-L-Early", "season", "--set", "L"])
    told = "conditions differ, and a difference between runs may be theirs: mine (mine-L-Near)"
    assert told in capsys.readouterr().out
    labels = {"mine-L-Near", "mine-L-Early", "season-L-02"}  # an agent stands twice
    assert {row["agent_id"] for row in found["leaderboard"]} == labels
    assert {row["condition_a"] for row in found["pairs"]} == {"asked at Near", "asked at Early"}


def test_runs_of_two_sets_are_refused(world, plant):
    plant({"good-C1-01": [True] * N}, window="C1", day=20)
    said = "these runs are of different question sets: poor-A-01 on october-2016, good-C1-01 on june-2026"
    with pytest.raises(SystemExit, match=said):
        carry_out(["compare", "poor", "good-C1-01"])
    every = scored_runs.list_runs()
    newest = scored_runs.find_run(every, "good")[0].run_id
    assert newest == "good-A-01", "the default set's, though another is newer"
    assert scored_runs.list_windows(every, "good") == ["C1", "A"]
