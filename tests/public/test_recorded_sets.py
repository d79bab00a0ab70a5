"""Sets recorded from other projects' files: scored quickly, built again byte for byte, outcomes by
another path."""

import json
import time

import pandas as pd
import pytest
from builders import PUBLIC, needs_public

from daybefore.scoring.runs import load_scores
from helpers import files
from helpers.sets import load_set


def test_every_forecast_of_blf_is_scored_in_five_seconds():
    started = time.process_time()
    scored = load_scores("blf")
    assert time.process_time() - started < 5
    assert len(scored.predictions) > 29_000
    briers = scored.scores[scored.scores["metric"] == "brier"]
    assert briers["score"].notna().sum() == scored.predictions["status"].eq("ok").sum()


def test_scores_by_the_sources_rule_say_so():
    scored = load_scores("futurex_past_gpt5")
    rows = scored.scores[scored.scores["is_scored"].astype(bool)]
    assert len(rows) == 846 and rows["reason"].eq("scored by the source's own rule").all()


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Return a function that builds a module's sets in an empty folder; returns their folders."""
    from public.sets import build

    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    return lambda builder: [tmp_path / "data/sets" / name for name in build.build_sets(builder)]


@needs_public
@pytest.mark.parametrize("builder", ["blf", "worldcup", "delib", "futurex_past_gpt5"])
def test_sets_are_built_again_byte_for_byte(builder, build):
    for folder in build(builder):
        made = sorted(folder.glob("*.gz"))
        assert made
        for path in made:
            assert (
                path.read_bytes()
                == (files.ROOT / "data/sets" / folder.name / path.name).read_bytes()
            ), path.name


@needs_public
def test_medians_of_the_ai_benchmark(build):
    build("aib")
    asked = "variant == 'direct' and round == 'aibq3'"
    rows = load_set("aib").rows().query(asked)
    medians = rows.groupby(["model", "event_id"])[["p_yes", "outcome"]].median()
    means = ((medians["p_yes"] - medians["outcome"]) ** 2).groupby("model").mean()
    table = pd.read_csv(files.ROOT / "data/public/aib_repeats.csv").query(asked)
    kept = table.set_index("model")["brier_median"]
    assert means[kept.index].tolist() == pytest.approx(kept.tolist(), abs=5e-5)


@needs_public
def test_outcomes_are_forecastbench_s():
    path = PUBLIC / "forecastbench/2025-10-26_resolution_set.json"
    given = pd.DataFrame(json.loads(path.read_text())["resolutions"])
    given = given[given["id"].map(lambda key: isinstance(key, str))]
    given = given.assign(key=given["id"] + "_2025-10-26", day=given["resolution_date"].str[:10])
    blf = load_set("blf")
    ours = blf.events[blf.events["round"] == "2025-10-26"].merge(blf.answers, on="event_id")
    ours = ours.assign(day=ours["resolves_at"].str[:10])
    joined = ours.merge(given, left_on=["origin_id", "day"], right_on=["key", "day"], how="inner")
    assert len(joined) == 398
    assert (joined["outcome"] == joined["resolved_to"]).sum() == 395
