"""Facts counted in the files of other projects, each by a path of its own from the tables."""

import os
import time

import pandas as pd
import pytest

from daybefore.scoring.runs import load_scores
from helpers import files
from helpers.public_files import MIRROR
from helpers.sets import load_set

needs_files = pytest.mark.skipif(not os.environ.get(MIRROR), reason="needs the projects' files")


def test_the_price_of_the_markets():
    blf = load_set("blf")
    rows = blf.events.merge(blf.prices, on="event_id").merge(blf.answers, on="event_id")
    for day, n_yes, brier in (("2025-10-26", 14, 0.0347), ("2025-11-09", 11, 0.0339)):
        ours = rows[rows["round"] == day]
        assert (len(ours), ours["outcome"].sum()) == (100, n_yes)
        assert ((ours["price"] - ours["outcome"]) ** 2).mean() == pytest.approx(brier, abs=5e-5)


def test_rows_and_questions_of_the_two_rounds():
    events = load_set("blf").events
    rounds = events.groupby("round")
    assert rounds.size().tolist() == [398, 393]
    assert rounds["cluster_id"].nunique().tolist() == [200, 200]
    of_first = events[events["round"] == "2025-10-26"]["source_id"].value_counts().to_dict()
    assert of_first == {
        "polymarket": 67,
        "acled": 60,
        "wikipedia": 60,
        "yfinance": 60,
        "dbnomics": 59,
        "fred": 59,
        "manifold": 18,
        "metaculus": 10,
        "infer": 5,
    }
    assert load_set("blf").predictions.merge(events).groupby("round")["run_id"].nunique().tolist() == [42, 40]


def test_rows_that_were_not_submitted():
    blf = load_set("blf")
    rows = blf.predictions.merge(blf.events[blf.events["round"] == "2025-10-26"], on="event_id")
    n_over = rows[rows["status"] == "over_budget"].groupby("run_id").size()
    known = {
        "kimi-k2.5-high-brave-c0-t1-nobelief": 104,
        "kimi-k2.5-high-brave-c0-t1": 149,
        "flash-high-brave-c0-t1": 153,
        "pro-high-brave-c0-t0": 245,
    }
    assert {arm: n_over[f"blf-{arm}"] for arm in known} == known
    empty = rows[rows["run_id"].str.contains("halawi") & (rows["status"] == "missing")].groupby("run_id").size()
    assert empty.between(183, 192).all() and len(empty) == 3
    kimi = rows[(rows["run_id"] == "blf-kimi-k2.5-high-brave-c0-t1-nobelief") & (rows["family"] == "market")]
    assert ((kimi["status"] == "over_budget") & (kimi["p_filled"] == 0.5)).sum() == 75


def test_brier_of_the_first_rounds_markets():
    rows = load_set("blf").rows()
    ours = rows[(rows["round"] == "2025-10-26") & (rows["family"] == "market")]
    means = ours.groupby("run_id")["brier_filled"].mean().round(3)
    assert means["blf-gpt5-high-none-c0-t0"] == 0.079 and means["blf-gpt5-high-brave-c0-t1"] == 0.065
    assert means["blf-flash-high-none-c0-t0"] == 0.136 and means["blf-flash-high-brave-c0-t1"] == 0.066
    gpt5 = means[means.index.str.contains("gpt5.*-c1")]
    flash = means[means.index.str.contains("flash.*-c1")]
    assert (gpt5.min(), gpt5.max()) == (0.031, 0.034)
    assert (flash.min(), flash.max()) == (0.028, 0.053)


def test_the_other_sets():
    quarter, delib, gpt5 = load_set("blf_aibq2"), load_set("delib"), load_set("futurex_past_gpt5")
    assert (len(quarter.events), len(quarter.runs)) == (113, 11)
    assert (len(delib.events), delib.answers["outcome"].sum(), len(delib.predictions)) == (202, 70, 7272)
    assert delib.rows()["stage"].value_counts().to_dict() == {"before": 3636, "after": 3636}
    by_level = gpt5.rows().groupby("level")["score_source"].agg(["mean", "count"]).round(3)
    assert by_level["mean"].tolist() == [0.709, 0.663, 0.110, 0.114]
    assert by_level["count"].tolist() == [86, 26, 249, 485]


def test_marks_of_the_world_cup_are_its_answers():
    cup = load_set("worldcup")
    rows = cup.rows()
    marked = rows[rows["score_source"].notna()]
    known = marked[marked["answer"].notna()]
    assert (known["value"].eq(known["answer"]) == known["score_source"].eq(1)).all()
    assert (cup.events["cluster_id"].nunique(), cup.events["family"].nunique()) == (104, 7)
    assert rows[rows["correct"].notna()]["cluster_id"].nunique() == 102


def test_every_forecast_of_blf_is_scored_in_five_seconds():
    started = time.process_time()
    scored = load_scores("blf")
    assert time.process_time() - started < 5
    assert len(scored.predictions) > 32_000
    briers = scored.scores[scored.scores["metric"] == "brier"]
    is_ok = scored.predictions["status"].eq("ok").sum()
    assert briers["score"].notna().sum() == is_ok


def test_scores_by_the_sources_rule_say_so():
    scored = load_scores("futurex_past_gpt5")
    rows = scored.scores[scored.scores["is_scored"].astype(bool)]
    assert len(rows) == 846 and rows["reason"].eq("scored by the source's own rule").all()


@needs_files
@pytest.mark.parametrize("builder", ["blf", "worldcup", "delib", "futurex_past_gpt5"])
def test_sets_are_built_again_byte_for_byte(builder, tmp_path, monkeypatch):
    from public.sets import build

    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    for name in build.build_sets(builder):
        made = sorted((tmp_path / "data/sets" / name).glob("*.gz"))
        assert made
        for path in made:
            assert path.read_bytes() == (files.ROOT / "data/sets" / name / path.name).read_bytes(), path.name


@pytest.fixture
def built(tmp_path, monkeypatch):
    """Return a function that builds a module's sets in an empty folder and loads the one of a name."""
    from public.sets import build

    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))

    def load(name):
        build.build_sets(name)
        return load_set(name)

    return load


@needs_files
def test_futuresim_answers_and_coverage(built):
    loaded = built("futuresim")
    assert (len(loaded.events), len(loaded.runs), len(loaded.answers)) == (330, 24, 330)
    n = loaded.coverage().set_index("run_id")["n_forecasts"]
    qwen = n[n.index.str.contains("qwen")].sort_index().tolist()
    assert qwen == [322, 107, 108]
    assert n[n.index.str.contains("opus-4.8")].sort_values().tolist() == [225, 298, 311]
    assert loaded.days.groupby("run_id").size().sum() == 2281
    skill = loaded.rows().groupby("run_id")["skill_source"].mean().round(4)
    assert skill["futuresim-ds-v4-pro-26-05-01-18-54-31"] == -0.0416
    assert loaded.rows().query("status == 'missing'")["correct"].isna().all()


@needs_files
def test_timeseek_brier_and_price(built):
    rows = built("timeseek").rows()
    assert rows.groupby("run_id").size().tolist() == [750] * 4
    means = rows.groupby("model")["brier_filled"].mean().round(4).to_dict()
    assert means == {"GPT-5.2": 0.2153, "DeepSeek V3.2": 0.2625, "INTELLECT-3": 0.2715, "Qwen3 235B": 0.2878}
    assert rows["brier_price"].mean() == pytest.approx(0.1546, abs=5e-5)
    assert rows["cluster_id"].nunique() == 150


@needs_files
def test_kalshibench_has_the_brier_it_states(built):
    loaded = built("kalshibench")
    rows = loaded.rows()
    first = rows.groupby("run_id").filter(lambda part: part["outcome"].notna().all())
    assert first["run_id"].nunique() == 9
    for _, part in first.groupby("run_id"):
        assert part["brier"].mean() == pytest.approx(part["brier_stated"].iloc[0], abs=1e-6)
    assert first[first["n_asked"] == 1].groupby("run_id")["event_id"].nunique().unique().tolist() == [210]


@needs_files
def test_aib_brier_of_medians(built):
    rows = built("aib").rows()
    direct = rows[(rows["variant"] == "direct") & (rows["round"] == "aibq3")]
    medians = direct.groupby(["model", "event_id"])[["p_yes", "outcome"]].median()
    means = ((medians["p_yes"] - medians["outcome"]) ** 2).groupby("model").mean().round(4).to_dict()
    assert means == {
        "Claude Sonnet 3.5 (October)": 0.181,
        "Claude Sonnet 3.5 (June)": 0.1947,
        "GPT-4o": 0.1968,
        "DeepSeek V3": 0.2116,
        "Claude Haiku 3.5": 0.2476,
    }


@needs_files
def test_oracle_has_every_scored_call(built):
    loaded = built("oracle")
    assert (len(loaded.predictions), loaded.events["source_id"].notna().all()) == (1909, True)


@needs_files
def test_outcomes_are_forecastbench_s():
    import json

    path = files.ROOT / os.environ[MIRROR] / "forecastbench/2025-10-26_resolution_set.json"
    given = pd.DataFrame(json.loads(path.read_text())["resolutions"])
    given = given[given["id"].map(lambda key: isinstance(key, str))]
    given = given.assign(key=given["id"] + "_2025-10-26", day=given["resolution_date"].str[:10])
    blf = load_set("blf")
    ours = blf.events[blf.events["round"] == "2025-10-26"].merge(blf.answers, on="event_id")
    ours = ours.assign(day=ours["resolves_at"].str[:10])
    joined = ours.merge(given, left_on=["origin_id", "day"], right_on=["key", "day"], how="inner")
    assert len(joined) == 398
    assert (joined["outcome"] == joined["resolved_to"]).sum() == 395
