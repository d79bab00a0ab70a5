"""Studies of language models: planted leads, gains and later pages are found; absent ones are not."""

import numpy as np
import pandas as pd
import pytest

from helpers.estimates.intervals import compare_paired
from helpers.futurex.lookups import (
    check_pages_read,
    compare_leads,
    compare_memory,
    count_reasons,
    mark_shown,
    measure_effort,
    measure_gain,
    rate_effort,
    score_shared,
)


def make_scores(events, means, rng, missing=()):
    """Synthetic accuracies: every agent's chance of being right is given, in {agent: chance by event}."""
    rows = []
    for agent, chance in means.items():
        hits = (rng.random(len(events)) < chance).astype(float)
        for event_id, hit in zip(events["event_id"], hits, strict=True):
            gone = (agent, event_id) in missing
            score = {"score": np.nan if gone else hit, "score_imputed": 0.0 if gone else hit, "is_missing": gone}
            rows.append({"agent_id": agent, "event_id": event_id, "metric": "accuracy", "is_scored": True} | score)
    return pd.DataFrame(rows)


@pytest.fixture
def events():
    n = 800
    table = pd.DataFrame({"event_id": [f"e{i:03}" for i in range(n)], "kind": "single", "level": np.arange(n) % 4 + 1})
    table["window"] = np.where(np.arange(n) < n // 2, "A", "C1")
    table["contamination_group"] = np.where(np.arange(n) % 8 < 4, "obscure", "widely_known")
    return table


def test_a_planted_gain_is_found_in_its_levels_only(events):
    rng = np.random.default_rng(1)
    better = np.where(events["level"] >= 3, 0.8, 0.4)
    gain = measure_gain(make_scores(events, {"base": 0.4, "search": better}, rng), events, "base", "search", rng)
    verdicts = gain.set_index("level")["verdict"]
    assert verdicts[[3, 4]].eq("holds").all() and verdicts["all"] == "holds"
    assert not verdicts[[1, 2]].eq("holds").any()
    assert gain["n"].tolist() == [200, 200, 200, 200, 800]
    assert ((gain["low"] <= gain["difference"]) & (gain["difference"] <= gain["high"])).all()


def test_an_interval_of_no_difference_covers_zero_at_the_nominal_rate():
    rng, covered = np.random.default_rng(2), 0
    for _ in range(200):
        pair = compare_paired(*(pd.Series(rng.random(60)) for _ in range(2)), rng, n_boot=300)
        covered += pair["low"] <= 0 <= pair["high"]
    assert 180 <= covered <= 199


def test_a_lead_is_on_an_agents_own_events_and_what_is_missing_counts_as_nothing(events):
    rng, easy = np.random.default_rng(5), events["level"] <= 2
    ours = make_scores(events[easy], {"ours": 1.0}, rng, missing={("ours", "e000")})
    scores = pd.concat([make_scores(events, {"plain": 0.0}, rng), ours])
    leads = compare_leads(scores, events, "plain", ["ours"], rng).set_index("levels")
    assert leads.loc["1-2", ["n", "verdict"]].tolist() == [400, "holds"]
    assert leads.loc["1-2", "difference"] == pytest.approx(399 / 400)
    assert leads.loc["3-4", ["n", "verdict"]].tolist() == [0, "cannot tell"]


def test_memory_shows_as_a_lead_that_is_gone_in_the_later_window(events):
    rng = np.random.default_rng(3)
    known = (events["window"] == "A") & (events["contamination_group"] == "widely_known")
    means = {"model": np.where(known, 0.9, 0.5), "plain": 0.5}
    table = compare_memory(make_scores(events, means, rng), events, "model", "plain", ["single"], rng)
    gaps = table[table["window"] == "A minus C1"].set_index("group")
    assert gaps.loc["widely_known", "verdict"] == "holds" and gaps.loc["widely_known", "difference"] > 0.25
    assert gaps.loc["obscure", "verdict"] == "cannot tell"
    with pytest.raises(ValueError, match="no event was put to all of model, oracle"):
        compare_memory(make_scores(events, means, rng), events, "model", "oracle", ["single"], rng)


def test_only_events_put_to_all_agents_are_shared_and_missing_ones_are_blank(events):
    rng = np.random.default_rng(4)
    few = events.head(10)
    scores = pd.concat([make_scores(events, {"a": 0.5}, rng), make_scores(few, {"b": 0.5}, rng, {("b", "e003")})])
    matrix = score_shared(scores, events, ["a", "b"])
    assert matrix.shape == (10, 2) and matrix["b"].isna().sum() == 1 and matrix["a"].notna().all()


def make_traces():
    return pd.DataFrame(
        [
            {"run_id": "r1", "event_id": "e1", "step_type": "tool", "tool": "search", "page_ids": '["p1","p2"]'},
            {"run_id": "r1", "event_id": "e1", "step_type": "model", "n_input_tokens": 100, "duration_s": 30.0},
            {"run_id": "r1", "event_id": "e2", "step_type": "tool", "tool": "open", "page_ids": '["p2"]'},
            {"run_id": "r1", "event_id": "e2", "step_type": "model", "n_input_tokens": 300, "duration_s": 60.0},
        ]
    ).assign(n_output_tokens=5)


PREDICTIONS = pd.DataFrame(
    {
        "run_id": "r1",
        "agent_id": "a",
        "event_id": ["e1", "e2"],
        "as_of": "2016-10-10T00:00:00+08:00",
        "status": ["ok", "refusal"],
    }
)
PAGES = pd.DataFrame(
    {"page_id": ["p1", "p2"], "published_at": ["2016-10-09T23:59:59+08:00", "2016-10-01T00:00:00+08:00"]}
)


@pytest.mark.parametrize("moment", ["2016-10-10T00:00:00+08:00", "2016-10-09T16:00:01Z", None])
def test_a_page_that_is_not_earlier_than_its_question_is_named(moment):
    assert check_pages_read(make_traces(), PREDICTIONS, PAGES) == (2, 2)
    later = PAGES.assign(published_at=[moment, "2016-10-01T00:00:00+08:00"])
    with pytest.raises(ValueError, match="e1 was asked as of 2016-10-10T00:00:00.*page p1"):
        check_pages_read(make_traces(), PREDICTIONS, later)
    with pytest.raises(ValueError, match="e1 was asked .*page p2"):
        check_pages_read(make_traces(), PREDICTIONS, PAGES.iloc[:1])


def test_effort_is_a_mean_over_questions_and_ratios_follow():
    effort = measure_effort(make_traces(), PREDICTIONS, {"r1": "a"})
    assert effort.loc["a"].to_dict() == {
        "n": 2, "queries": 0.5, "opened": 0.5, "requests": 1, "tokens_read": 200, "tokens_written": 10, "seconds": 45
    }  # fmt: skip
    events = pd.DataFrame({"event_id": ["e1", "e2"], "kind": "single", "level": 1})
    rng = np.random.default_rng(0)
    scores = make_scores(events, {"a": 1.0}, rng, {("a", "e2")})
    rated = rate_effort(scores, events, effort, rng).iloc[0]
    assert (rated["score"], rated["per_minute"], rated["per_query"]) == (0.5, pytest.approx(0.5 / 0.75), 1.0)
    counts = count_reasons(PREDICTIONS).loc["a"]
    assert counts["ok"] == 1 and counts["refusal"] == 1 and counts["timeout"] == 0


def test_a_day_counts_as_shown_only_with_its_value():
    events = pd.DataFrame(
        {
            "event_id": ["e1", "e2", "e3", "e4"],
            "variables": '{"date": "2016-10-12"}',
            "prompt": "Will it rain on 12 October 2016?\nA. Yes\nB. No",
        }
    )
    texts = [
        "2016-10-12: 4.5",
        "on 12 October 2016 to come",
        "Will it rain on 12 October 2016? Resolved: No",
        "Resolved: No",
    ]
    traces = pd.DataFrame({"event_id": events["event_id"], "tool": "search", "content": texts})
    assert mark_shown(traces, events)["is_shown"].tolist() == [True, False, True, False]
