"""Headline numbers of notebooks 02, 04 and 05, again from the committed files of BLF in plain pandas."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from helpers.files import ROOT
from studies.futurex.settings import compare_runs, name_settings, pair_runs

FOLDER = ROOT / "data/sets/blf"


@pytest.fixture(scope="module")
def rows():
    """Forecasts of BLF's runs with their outcome, joined without the kit."""
    names = ("predictions", "runs", "answers", "events")
    tables = {name: pd.read_csv(FOLDER / f"{name}.csv.gz") for name in names}
    made = tables["predictions"].query("status == 'ok'").merge(tables["runs"], on="run_id")
    made = made.merge(tables["answers"][["event_id", "outcome"]], on="event_id")
    made = made.merge(tables["events"][["event_id", "cluster_id", "source_id", "family", "round"]], on="event_id")
    return made.assign(brier=(made["outcome"] - made["p_yes"]) ** 2)


def measure_change(rows, off, on):
    """Return the mean change and its error by a sandwich over questions (CR0), close to the kit's jackknife."""
    wide = rows.pivot(index=["cluster_id", "event_id"], columns="run_id", values="brier")
    change = (wide[f"blf-{on}"] - wide[f"blf-{off}"]).dropna()
    sums = (change - change.mean()).groupby("cluster_id").sum()
    return change.mean(), np.sqrt((sums**2).sum()) / len(change), len(change)


@pytest.mark.parametrize(
    ("off", "on", "expected", "n"),
    [
        ("gpt5-high-none-c0-t0", "gpt5-high-brave-c0-t1", -0.0141, 791),
        ("pro-high-none-c0-t0", "pro-high-brave-c0-t1", -0.0251, 782),
        ("kimi-k2.5-high-none-c0-t0", "kimi-k2.5-high-brave-c0-t1", -0.0374, 494),
    ],
)
def test_search_lowers_the_brier_score_of_one_model_on_the_same_questions(rows, off, on, expected, n):
    change, error, n_rows = measure_change(rows, off, on)
    assert (round(change, 4), n_rows) == (expected, n)
    assert change + 1.96 * error < 0
    drawn = pd.read_csv(ROOT / "figures/real_search.csv")
    found = drawn[np.isclose(drawn["difference"], change, atol=1e-6)]
    assert len(found) == 1 and found["high"].iloc[0] == pytest.approx(change + 1.97 * error, abs=5e-4)


def test_no_run_beats_the_price_after_holm_and_flash_comes_closest(rows):
    prices = pd.read_csv(FOLDER / "prices.csv.gz").sort_values("at").groupby("event_id")["price"].last()
    market = rows[rows["family"] == "market"].assign(price=lambda part: part["event_id"].map(prices))
    market["lead"] = market["brier"] - (market["outcome"] - market["price"]) ** 2
    part = market[market["run_id"] == "blf-flash-high-brave-c1-p1-t1"]
    assert (round(part["lead"].mean(), 4), len(part)) == (-0.0064, 200)
    drawn = pd.read_csv(ROOT / "figures/real_forecasters.csv").query("arm == 'price shown'")
    assert not ((drawn["p_holm"] < 0.05) & (drawn["mean"] < 0)).any()
    assert drawn.loc[drawn["mean"].idxmin(), "forecaster"] == "Gemini 3.1 Pro + search"


def test_the_regression_of_notebook_04_by_statsmodels(rows):
    plain = rows[rows["variant"].isna() & (rows["effort"] == "high") & rows["search"].isin(["none", "dated"])]
    plain = plain[plain["model"].isin(plain.loc[plain["search"] == "none", "model"])]
    plain = plain.astype({"sees_price": int, "keeps_beliefs": int}).assign(searches=plain["search"] == "dated")
    formula = "brier ~ C(model) + searches + sees_price + keeps_beliefs + C(source_id) + C(round)"
    groups = {"groups": pd.factorize(plain["cluster_id"])[0]}
    fit = smf.ols(formula, plain).fit(cov_type="cluster", cov_kwds=groups)
    drawn = pd.read_csv(ROOT / "figures/real_factors.csv").set_index(["factor", "category"])
    assert fit.rsquared == pytest.approx(drawn["r2"].iloc[0], abs=1e-6)
    search = drawn.loc[("search", "yes")]
    assert search["effect"] == pytest.approx(fit.params["searches[T.True]"], abs=1e-6)
    assert search["clustered_se"] == pytest.approx(fit.bse["searches[T.True]"], rel=1e-3)
    assert round(search["effect"], 3) == -0.019 and search["clustered_p"] < 0.005
    kimi = drawn.loc[("model", "Kimi K2.5")]
    assert kimi["effect"] == pytest.approx(fit.params["C(model)[T.Kimi K2.5]"], abs=1e-6)


def test_runs_are_paired_where_one_setting_differs_alone():
    runs = pd.DataFrame(
        [
            ("a", "m", "none", True, None),
            ("b", "m", "dated", True, None),
            ("c", "m", "dated", False, None),
            ("d", "m", "dated", True, "odd"),
            ("e", "n", "dated", True, None),
        ],
        columns=["run_id", "model", "search", "keeps_beliefs", "variant"],
    )
    pairs = pair_runs(runs, "search", "none", "dated")
    assert pairs[["run_off", "run_on"]].to_numpy().tolist() == [["a", "b"]]
    assert pair_runs(runs, "search", "none", "dated", free=("keeps_beliefs",))["run_on"].tolist() == ["b", "c"]
    assert name_settings(runs.iloc[2], ["search", "keeps_beliefs"]) == "dated search"
    rows = [(run, f"q{n}", f"q{n}", 0.1 * n + 0.05 * (run == "b")) for run in "ab" for n in range(12)]
    rows = pd.DataFrame(rows, columns=["run_id", "event_id", "cluster_id", "brier"])
    found = compare_runs(rows, pairs).iloc[0]
    assert found["difference"] == pytest.approx(0.05) and found["n"] == 12


def test_kinds_of_match_questions_by_plain_means():
    folder = ROOT / "data/sets/worldcup"
    rows = pd.read_csv(folder / "predictions.csv.gz").merge(pd.read_csv(folder / "events.csv.gz"), on="event_id")
    rows = rows.dropna(subset=["n_options", "score_source"])
    rows["above"] = rows["score_source"] - 1 / rows["n_options"]
    above = rows.groupby(["family", "cluster_id"])["above"].mean().groupby("family").mean()
    assert above.round(3).loc[["odd_even", "result", "half_and_full"]].tolist() == [0.0, 0.317, 0.224]


def test_gaps_of_the_board_and_what_zeros_would_do():
    gaps = pd.read_csv(ROOT / "data/public/futurex_gaps.csv")
    missing = 1 - gaps["answered"] / gaps.groupby("week")["answered"].transform("max")
    assert (missing >= 0.2).sum() == 9 and missing.max() == pytest.approx(1 - 237 / 509)
    first = gaps[gaps["week"] == "2025-07-W4"].set_index("model")
    ranks = first.loc[first["framework"] == "Search"].index
    assert "GPT-o4-mini" in ranks and first["overall"].idxmax() == "GPT-o4-mini"
    zero = first["overall_zero"].rank(ascending=False)[(first["framework"] == "Search").to_numpy()]
    assert zero["GPT-o4-mini"] == 7


def test_what_agents_leave_out_is_easier_for_runs_that_answer_all(rows):
    plain = rows[rows["variant"].isna() & (rows["effort"] == "high") & ~rows["sees_price"] & rows["uses_tools"]]
    wide = plain[plain["search"] == "dated"].pivot(index="event_id", columns="run_id", values="brier")
    hardness = wide.loc[:, wide.notna().all()].mean(axis=1)
    for run in ("kimi-k2.5-high-brave-c0-t1", "kimi-k2t-high-brave-c0-t1"):
        answered = wide[f"blf-{run}"].notna()
        assert hardness[~answered].mean() < 0.5 * hardness[answered].mean()


def test_a_search_that_is_not_cut_lowers_the_brier_score_of_the_same_model(rows):
    off, on = "pro-high-brave-c1-t1", "pro-high-brave-c1-t1-clairvoyant"
    change, error, n = measure_change(rows, off, on)
    assert (round(change, 3), n) == (-0.044, 497) and change + 3 * error < 0
    filled = pd.read_csv(FOLDER / "predictions.csv.gz").merge(pd.read_csv(FOLDER / "answers.csv.gz"), on="event_id")
    filled["brier"] = (filled["outcome"] - filled["p_yes"].fillna(filled["p_filled"])) ** 2
    wide = filled.pivot(index="event_id", columns="run_id", values="brier")
    change = (wide[f"blf-{on}"] - wide[f"blf-{off}"]).dropna()
    assert (round(change.mean(), 3), len(change)) == (-0.030, 791)


def test_effort_within_a_model_and_the_belief_state_over_all_pairs(rows):
    runs = pd.read_csv(ROOT / "data/public/futuresim_runs.csv").dropna(subset=["skill"])
    inside = runs.groupby("model")[["n_notes", "skill"]].transform(lambda column: column - column.mean())
    several = runs.groupby("model")["skill"].transform("size") > 1
    effort = pd.read_csv(ROOT / "data/public/futuresim_effort.csv").set_index(["unit", "value", "effort"])
    found = effort.loc[("run", "skill", "n_notes")]
    assert inside[several]["n_notes"].corr(inside[several]["skill"]) == pytest.approx(found["within"], abs=1e-5)
    changes = []
    for arm in set(rows["run_id"]):
        if f"{arm}-nobelief" in set(rows["run_id"]):
            wide = rows[rows["run_id"].isin([arm, f"{arm}-nobelief"])].pivot(
                index="event_id", columns="run_id", values="brier"
            )
            changes.append(wide[arm] - wide[f"{arm}-nobelief"])
    assert len(changes) == 10
    assert pd.concat(changes, axis=1).mean(axis=1).mean() == pytest.approx(-0.0029, abs=5e-5)
