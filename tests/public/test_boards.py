"""Public leaderboards: worked cases on small boards, and the known facts of the real ones where they are mirrored."""

import json
import math
import os

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from public import boards
from public import findings as boards_findings
from public import forecastbench as boards_forecastbench
from public.boards import COUNTS, SCORES

from helpers import public_files as public

FIRST_WEEKS = ["2025-07-W4", "2025-08-W1", "2025-08-W2"]
needs_mirror = pytest.mark.skipif(
    not os.environ.get(public.MIRROR), reason="needs the public files: set KIT_DATA_MIRROR to a folder that holds them"
)


def make_rows(rows):
    """Rows of (week, agent, category, level scores, level counts) as `flatten_board` gives them."""
    table = pd.DataFrame([(week, agent, agent, "LLM", kind, "o") for week, agent, kind, *_ in rows])
    table.columns = ["week", "agent_id", "model", "framework", "category", "organization"]
    table[SCORES] = [scores for *_, scores, _ in rows]
    table[COUNTS] = [counts for *_, counts in rows]
    table[SCORES + COUNTS] = table[SCORES + COUNTS].astype(float)
    overall = boards.rebuild_overall(table.assign(overall=0.0))["rebuilt"]
    return table.assign(overall=overall, n_events=table[COUNTS].sum(axis=1))


def make_weeks(n=4, **agents):
    """The same agents (name -> (category, scores)) in n weeks, `n` more points on all levels each week."""
    return make_rows(
        [
            (f"2025-01-W{week}", name, kind, [score + week for score in scores], [50] * 4)
            for week in range(1, n + 1)
            for name, (kind, scores) in agents.items()
        ]
    )


def make_site_row(model, framework, overall, levels, **more):
    row = {"modelName": model, "agentFramework": framework, "organization": "o", "overallScore": overall}
    row |= {f"level{at}Score": score for at, score in enumerate(levels, 1)}
    return row | {"numberOfEvents": 100} | more


def test_the_sites_json_becomes_one_table():
    board = {"overall": [make_site_row("A", "LLM", 30, [10, 20, 30, 40])], "weekly": {}, "monthly": {}}
    board["weekly"]["w1"] = [make_site_row("a ", "Odd", 30, [None, 20, 30, 40], level_1_num_events=3.0)]
    table = boards.flatten_board(board, {"LLM": "base_model"})
    assert table["week"].tolist() == ["overall", "w1"]
    assert table["category"].tolist() == ["base_model", "unclassified"]
    assert table["agent_id"].tolist() == ["a | llm", "a | odd"]
    assert math.isnan(table["n_level1"][0]) and table["n_level1"][1] == 3 and math.isnan(table["level1"][1])


def test_overall_is_rebuilt_with_the_weights_of_the_levels_there():
    table = make_rows(
        [("w", "a", "x", [10, 20, 30, 40], [50] * 4), ("w", "b", "x", [None, 20, 30, 50], [9, 50, 50, 50])]
    )
    rebuilt = boards.rebuild_overall(table.assign(overall=[30.01, (0.2 * 20 + 0.3 * 30 + 0.4 * 50) / 0.9]))
    assert rebuilt["status"].tolist() == ["direct", "renormalised"]
    assert boards.rebuild_overall(table.assign(overall=[30.03, 33.0]))["status"].tolist() == ["disagrees", "disagrees"]


def test_weeks_are_pooled_by_their_events():
    weeks = [
        ("w1", "a", "x", [None, 10, 10, 10], [10, 50, 50, 50]),
        ("w2", "a", "x", [20, 40, 10, 10], [30, 100, 50, 50]),
    ]
    pooled = ("overall", "a", "x", [27.5, 30, 10, 10], [40, 150, 100, 100])  # level 1: (30 * 20 + 10 * 50) / 40
    found = boards.pool_weeks(make_rows([pooled, *weeks]), ["w1", "w2"]).iloc[0]
    assert found["is_pooled"] and found["hidden_low"] == pytest.approx(50)
    unweighted = ("overall", "a", "x", [27.5, 25, 10, 10], [40, 150, 100, 100])
    assert not boards.pool_weeks(make_rows([unweighted, *weeks]), ["w1", "w2"])["is_pooled"].any()
    impossible = ("overall", "a", "x", [60, 30, 10, 10], [40, 150, 100, 100])  # level 1 of w1 would be 180
    assert not boards.pool_weeks(make_rows([impossible, *weeks]), ["w1", "w2"])["is_pooled"].any()
    assert not boards.pool_weeks(make_rows([pooled, weeks[1]]), ["w1", "w2"])["is_pooled"].any()
    alone = ("overall", *weeks[1][1:])  # its numbers are those of one week, and two are wanted
    assert not boards.pool_weeks(make_rows([alone, weeks[1]]), ["w1", "w2"])["is_pooled"].any()
    assert boards.pool_weeks(make_rows([alone, weeks[1]]), ["w2"])["is_pooled"].all()


def test_ranks_are_sure_with_many_events_and_open_with_few():
    scores = {"a": [60] * 4, "b": [50] * 4, "c": [40] * 4}
    for n, expected in ((100_000, [(1, 1), (2, 2), (3, 3)]), (4, [(1, 3)] * 3)):
        table = make_rows([("overall", name, "x", levels, [n] * 4) for name, levels in scores.items()])
        ranks = boards.simulate_ranks(table, np.random.default_rng(0), n_draws=2000)
        assert list(zip(ranks["rank_low"], ranks["rank_high"], strict=True)) == expected
        assert ranks["rank"].tolist() == [1, 2, 3] and ranks["top_share"].sum() == pytest.approx(1)


def test_a_ranks_deviation_is_the_binomial_bound():
    table = make_rows([("overall", name, "x", [50] * 4, [100] * 4) for name in "ab"])
    ranks = boards.simulate_ranks(table, np.random.default_rng(0), n_draws=40_000)
    bound = 5 * math.sqrt(0.1**2 + 0.2**2 + 0.3**2 + 0.4**2)
    assert ranks["deviation"].tolist() == pytest.approx([bound, bound], rel=0.02)
    with pytest.raises(ValueError, match="lacks the score or the number of events"):
        boards.simulate_ranks(table.assign(n_level1=np.nan), np.random.default_rng(0))


def make_cells(seed=0):
    """Weekly level scores of four agents: 40, 30, 20, 10 by level, 7 more with search, noise."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"w{week}", f"{model}|{kind}", model, kind, level, 50 - 10 * level + 7 * (kind == "s") + rng.normal())
        for week in range(6)
        for model in "pq"
        for kind in "bs"
        for level in (1, 2, 3, 4)
    ]
    return pd.DataFrame(rows, columns=["week", "agent_id", "model", "category", "level", "score"])


def test_factors_equal_statsmodels_and_find_what_was_planted():
    cells = make_cells()
    effects, r2 = boards.explain_scores(cells, ["model", "category", "level", "week"])
    fit = smf.ols("score ~ C(model) + C(category) + C(level) + C(week)", cells).fit(
        cov_type="cluster", cov_kwds={"groups": pd.factorize(cells["agent_id"])[0]}
    )
    row = effects.set_index(["factor", "category"]).loc[("category", "s")]
    assert row["effect"] == pytest.approx(fit.params["C(category)[T.s]"], abs=1e-10)
    level = effects.set_index(["factor", "category"]).loc[("level", 3)]
    assert level["se_agent_id"] == pytest.approx(fit.bse["C(level)[T.3]"], rel=1e-8)
    assert row["effect"] == pytest.approx(7, abs=1) and level["effect"] == pytest.approx(-20, abs=1)
    assert r2["r2"][0] == pytest.approx(fit.rsquared)
    assert r2.set_index("factors")["drop"].drop("all").idxmax() == "without level"
    assert effects.loc[effects["factor"] == "week", "se_week"].isna().all()


def make_board(index=60.0, brier=0.16, **more):
    row = {"model": "m", "organization": "o", "dataset": 50.0, "market": 75.0, "overall": index}
    row |= {"brier_dataset": 0.25, "brier_market": 0.0625, "brier_overall": brier}
    return pd.DataFrame([row | more])


def test_the_brier_index_of_mean_briers_is_not_the_mean_of_indices():
    right = boards_forecastbench.check_identities(make_board(60.5, 0.15625)).iloc[0]  # sqrt(0.15625) = 0.3953
    assert right[["is_dataset", "is_market", "is_overall", "is_mean_of_briers"]].all()
    assert not right["is_mean_of_indices"]
    late = boards_forecastbench.check_identities(make_board(62.5, 0.15625)).iloc[0]  # the mean of 50 and 75
    assert late["is_mean_of_indices"] and not late["is_overall"]


def make_history(*snapshots):
    """Snapshots of (date, overall of superforecasters, public, model, crowd)."""
    names = [*boards_forecastbench.PEOPLE.values(), "m", "crowd"]
    houses = ["ForecastBench", "ForecastBench", "o", "ForecastBench"]
    rows = [
        {"snapshot_date": date, "rank": at, "model": name, "model_organization": house, "n": 5, "overall": value}
        for date, *values in snapshots
        for at, (name, house, value) in enumerate(zip(names, houses, values, strict=True), 1)
    ]
    return pd.DataFrame(rows).assign(dataset=lambda t: t["overall"], market=lambda t: t["overall"])


def test_history_changes_its_unit_once():
    history = make_history(("2026-01-01", 0.04, 0.09, 0.16, 0.01), ("2026-02-01", 81.0, 70.0, 75.0, 99.0))
    people = boards_forecastbench.trace_people(boards_forecastbench.convert_history(history))
    assert people["unit"].tolist() == ["brier", "index"]
    assert people["superforecasters"].tolist() == pytest.approx([80, 81])
    assert people["gap"].tolist() == pytest.approx([20, 6]) and people["n_above_public"].tolist() == [0, 1]
    assert people["best_model"].tolist() == pytest.approx([60, 75])  # the crowd is no model
    back = make_history(("2026-01-01", 80.0, 70, 60, 50), ("2026-02-01", 0.04, 0.09, 0.16, 0.2))
    with pytest.raises(ValueError, match="changed more than once"):
        boards_forecastbench.convert_history(back)
    with pytest.raises(ValueError, match="mixes"):
        boards_forecastbench.convert_history(make_history(("2026-01-01", 80.0, 0.09, 60, 50)))


def test_the_gap_to_people_adds_both_intervals_in_squares():
    rows = [("Superforecaster median forecast", "ForecastBench", 70.0, 67.0, 74.0), ("m", "o", 60.0, 57.0, 64.0)]
    board = pd.DataFrame(rows, columns=["model", "organization", "overall", "low_overall", "high_overall"])
    found = boards_forecastbench.compare_people(board.assign(n_overall=9, p_supers="0.5"))
    assert (found["gap"], found["low"], found["high"]) == pytest.approx((10, 5, 15))


def test_a_lead_by_hand():
    rows = [
        ("overall", "a", "base_model", [60, 40, 0, 0], [100] * 4),
        ("overall", "b", "base_model", [40, 40, 0, 0], [100] * 4),
        ("overall", "c", "think_search", [90, 90, 0, 0], [100] * 4),
    ]
    lead, low, high, n, other = boards_findings.measure_lead(make_rows(rows), "a", ["base_model"], (1, 2))
    half = 1.96 * math.sqrt(4 * 24 / 4)  # four variances of 0.24 * 100^2 / 100 = 24, each a quarter
    assert (lead, low, high, n, other) == pytest.approx((10, 10 - half, 10 + half, 200, "b")[:4] + ("b",))
    with pytest.raises(LookupError, match="z is not on the pooled leaderboard"):
        boards_findings.measure_lead(make_rows(rows), "z", ["base_model"], (1, 2))


def test_findings_on_search_hold_where_they_were_planted():
    planted = make_weeks(8, a=("base_model", [50, 40, 5, 2]), b=("think_search", [52, 42, 25, 22]))
    planted.loc[planted["agent_id"] == "b", "level3"] += [0.1, 0.2, 0.0, 0.1] * 2
    few = boards_findings.judge_search(planted[planted["week"] < "2025-01-W6"].assign(agent_id="m | x"))
    assert {row["verdict"] for row in few} == {"cannot tell"}  # five weeks: the exact p is 1/16 at best
    verdicts = {row["id"]: row["verdict"] for row in boards_findings.judge_search(planted.assign(agent_id="m | x"))}
    assert set(verdicts.values()) == {"agrees"} and len(verdicts) == 4
    turned = planted.assign(
        category=planted["category"].map({"base_model": "think_search", "think_search": "base_model"})
    )
    verdicts = {row["id"]: row["verdict"] for row in boards_findings.judge_search(turned.assign(agent_id="m | x"))}
    assert set(verdicts.values()) == {"disagrees"}


def test_the_fall_and_the_bar_are_judged_by_their_intervals():
    table = make_weeks(12, a=("base_model", [50, 40, 30, 31]), b=("base_model", [52, 40, 20, 19]))
    table["level1"] += [0, 1, 2, 0, 1, 0, 2, 1] * 3
    table["level2"] += [1, 0, 0, 2, 0, 1, 0, 0] * 3
    table["level4"] += [3, -3, -4, 4, 2, -2, 1, -1] * 3
    verdicts = [row["verdict"] for row in boards_findings.judge_decline(table)]
    assert verdicts == ["agrees", "agrees", "cannot tell"]
    leads = pd.concat([table, make_rows([("overall", boards_findings.DOUBAO, "base_model", [50] * 4, [100] * 4)])])
    leads = pd.concat([leads, make_rows([("overall", "dr", "closed_deep_research", [10] * 4, [100] * 4)])])
    assert [row["verdict"] for row in boards_findings.judge_base(leads)] == ["disagrees", "agrees"]


def test_what_a_family_does_not_leave_cannot_be_told():
    ps = {"a": 0.001, "b": 0.03, "c": 0.04, "d": 0.9}
    rows = [boards_findings.state_finding(name, 1, "it", (-2.0, 0, 0, 7), "7 weeks", p=p) for name, p in ps.items()]
    found = boards_findings.correct_family(pd.DataFrame(rows)).set_index("id")
    assert found["verdict"].tolist() == ["disagrees"] + ["cannot tell"] * 3
    assert found["p_holm"].tolist() == pytest.approx([0.004, 0.09, 0.09, 0.9])
    assert found.loc["fx_public_a", "note"] == "public board: disagrees; 7 weeks"
    assert found.loc["fx_public_b", "note"] == "public board: cannot tell after Holm, disagrees alone; 7 weeks"
    assert found.loc["fx_public_d", "note"] == "public board: cannot tell; 7 weeks"


def test_each_verdict_is_reached_where_it_is_planted():
    """Weeks of a planted mean: beyond the nominal share no wrong verdict, and the right one where it is large."""
    rng = np.random.default_rng(7)
    for n_weeks in (7, 20):
        share = {}
        for mean in (-3.0, 0.0, 3.0):
            draws = rng.normal(mean, 1.5, (300, n_weeks))
            rows = [boards_findings.state_weekly("x", 3, "it helps", pd.Series(draw)) for draw in draws]
            share[mean] = pd.Series([row["verdict"] for row in rows]).value_counts(normalize=True)
            assert all(np.isnan(row["low"]) == (n_weeks < 10) for row in rows)
        assert share[3.0]["agrees"] > 0.9 and share[-3.0]["disagrees"] > 0.9
        assert "disagrees" not in share[3.0] and "agrees" not in share[-3.0]
        assert share[0.0]["cannot tell"] > 0.91  # 5% in the long run, 300 draws


def test_frameworks_have_one_category_each():
    frameworks = boards.load_frameworks()
    assert frameworks["LLM"] == "base_model" and frameworks["Deep-Research"] == "closed_deep_research"
    assert "MiroFlow" not in frameworks


@pytest.fixture(scope="module")
def futurex():
    text = public.locate_public("futurex/leaderboard.json").read_text(encoding="utf-8")
    return boards.flatten_board(json.loads(text), boards.load_frameworks())


def read_forecastbench(name):
    return pd.read_csv(public.locate_public(f"forecastbench/leaderboard_{name}.csv"))


@needs_mirror
def test_740_of_744_overall_scores_are_rebuilt(futurex):
    rebuilt = boards.rebuild_overall(futurex)
    assert rebuilt["status"].value_counts().to_dict() == {"direct": 683, "renormalised": 57, "disagrees": 4}
    odd = rebuilt[rebuilt["status"] == "disagrees"]
    assert list(zip(odd["week"], odd["model"], odd["framework"], strict=True)) == [
        ("2025-09-W1", "ChatGPT-Agent", "Search"),
        ("2025-09-W1", "Grok-4", "Search"),
        ("2025-09-W1", "MiroThinker-72B-Preview", "Open-Deep-Research-MiroFlow-Preview"),
        ("2026-01-W1", "claude-sonnet-4-5-20250929", "h2oGPTe_Agent_v1.81"),
    ]


@needs_mirror
def test_the_pooled_board_is_three_weeks_in_20_of_23_rows(futurex):
    pooled = boards.pool_weeks(futurex, FIRST_WEEKS)
    odd = pooled[~pooled["is_pooled"]]
    assert len(pooled) == 23 and list(zip(odd["model"], odd["framework"], strict=True)) == [
        ("Gemini-2.5-flash", "Deep-Research"),
        ("Seed-DouBao", "Deep-Research"),
        ("Doubao-Seed1.6-Thinking", "LLM"),
    ]


@needs_mirror
def test_397_of_397_brier_indices():
    tables = [boards_forecastbench.tidy_board(read_forecastbench(name)) for name in ("baseline", "tournament")]
    checks = boards_forecastbench.check_identities(pd.concat(tables, ignore_index=True))
    assert len(checks) == 397
    assert checks[["is_dataset", "is_market", "is_overall", "is_mean_of_briers"]].all().all()
    assert checks["is_mean_of_indices"].sum() < 397


@needs_mirror
def test_the_history_has_23_snapshots_and_one_change_of_unit():
    history = boards_forecastbench.convert_history(read_forecastbench("baseline_history"))
    people = boards_forecastbench.trace_people(history)
    assert len(history) == 2348 and len(people) == 23
    assert people.loc[people["unit"] == "index", "snapshot_date"].min() == "2026-03-15"
    assert people["superforecasters"].between(67, 72).all()  # no jump where the unit changes


def test_blocks_cover_the_mean_of_a_series_whose_neighbours_are_alike():
    rng, hits = np.random.default_rng(3), {1: [], 8: []}
    for _ in range(200):
        noise, values = rng.normal(size=140), [0.0]
        for step in noise:
            values.append(0.6 * values[-1] + step)  # its mean is 0
        for length, found in hits.items():
            low, high = boards_findings.bound_blocks(values[21:], length, rng, n_boot=400)
            found.append(low <= 0 <= high)
    assert np.mean(hits[1]) < 0.75 and np.mean(hits[8]) > 0.85
