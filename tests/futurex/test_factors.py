"""The factor regression against statsmodels, planted effects, coverage of its intervals, pairs
(FutureX 4.4)."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from studies.futurex import factors

PLANTED = {"agent_id": {"a": 0.0, "b": 0.1, "c": -0.2}, "domain": {"Space": 0.15, "Weather": -0.1}}
PLANTED["level"] = {1: 0.0, 2: -0.1, 3: -0.25, 4: -0.4}


def make_rows(rng, n_events=200):
    """Rows of three agents with planted effects, a tenth left out; scores of an event share
    luck."""
    events = pd.DataFrame({"event_id": np.arange(n_events), "luck": rng.normal(0, 0.2, n_events)})
    for factor in ("domain", "level"):
        events[factor] = rng.choice(list(PLANTED[factor]), size=n_events)
    rows = events.merge(pd.DataFrame({"agent_id": list("abc")}), how="cross")
    rows["score"] = rows["luck"] + rng.normal(0, 0.1, len(rows))
    rows["score"] += sum(rows[factor].map(PLANTED[factor]) for factor in PLANTED)
    return rows[rng.random(len(rows)) < 0.9].reset_index(drop=True)


def test_effects_and_factors_are_those_of_a_formula():
    rows = make_rows(np.random.default_rng(11))
    model = smf.ols("score ~ C(agent_id) + C(domain) + C(level)", rows)
    by_event = {"cov_type": "cluster", "cov_kwds": {"groups": rows["event_id"]}, "use_t": True}
    fits = {"plain": model.fit(), "clustered": model.fit(**by_event)}
    fit = factors.fit_factors(rows)
    assert fit.r2 == pytest.approx(fits["plain"].rsquared, abs=1e-10)
    whole = factors.tabulate_effects(fit)
    table = whole.dropna(subset="plain_se")
    for name, found in fits.items():
        wanted = found.conf_int().set_axis(["low", "high"], axis=1)
        wanted = wanted.assign(se=found.bse, p=found.pvalues).add_prefix(f"{name}_")
        wanted = wanted.assign(effect=found.params).iloc[1:]
        np.testing.assert_allclose(table[wanted.columns], wanted, rtol=0, atol=1e-10)
    judged = factors.judge_factors(fit).set_index("factor")
    for factor in factors.FACTORS:
        is_own = fits["plain"].params.index.str.contains(factor)
        wald = fits["clustered"].f_test(np.eye(len(is_own))[is_own])
        wanted = [float(wald.fvalue), wald.df_num, float(wald.pvalue)]
        assert judged.loc[factor, ["f", "df", "p"]].tolist() == pytest.approx(wanted, rel=1e-8)
    assert judged.loc["level", "range"] == pytest.approx(0.4, abs=0.1)
    assert factors.measure_r2(rows, "domain") == pytest.approx(
        smf.ols("score ~ C(domain)", rows).fit().rsquared
    )
    centred = factors.fit_factors(rows, coding="sum")
    effects = factors.tabulate_effects(centred).set_index("factor")["effect"]
    means = whole.groupby("factor")["effect"].transform("mean")
    np.testing.assert_allclose(effects, whole["effect"] - means, atol=1e-12)
    pd.testing.assert_frame_equal(factors.judge_factors(centred).set_index("factor"), judged)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r[r["level"] == 1], "all rows have the same level, 1"),
        (
            lambda r: r[~r[list(factors.FACTORS)].apply(pd.Series.duplicated).all(axis=1)],
            "rows cannot carry 7 coef",
        ),
        (lambda r: r.assign(event_id="e"), "need two events or more"),
        (lambda r: r.assign(score=r["score"].where(r.index > 0)), "1 rows have no score"),
        (lambda r: r.assign(domain=r["domain"].where(r.index > 1)), "2 rows have no domain"),
        (
            lambda r: r.assign(domain="d" + r["level"].astype(str)),
            "cannot tell these apart: domain d2, domain d3,",
        ),
    ],
)
def test_bad_input_is_refused_in_a_sentence(change, message):
    with pytest.raises(ValueError, match=message):
        factors.fit_factors(change(make_rows(np.random.default_rng(4), 60)))


def plant_sources(rng, domain_sd):
    """Rows of two agents on five events of each of 24 sources; a source has luck, and a domain an
    effect."""
    rows = pd.DataFrame({"source": np.repeat(np.arange(24), 10)})
    rows["agent_id"] = np.tile(["a", "b"], 120)
    rows["event_id"] = np.arange(240) // 2
    rows["level"] = rows["event_id"] % 2
    luck = rng.normal(0, 0.2, 24) + np.tile(rng.normal(0, domain_sd, 4), 6)
    rows["score"] = luck[rows["source"]] + rng.normal(0, 0.2, 240)
    return rows.assign(cluster=rows["source"], domain=rows["source"] % 4)


def test_a_permutation_over_sources_finds_a_domain_and_is_not_fooled_by_their_luck():
    rng = np.random.default_rng(5)

    def test_often(domain_sd, n):
        worlds = [plant_sources(rng, domain_sd) for _ in range(n)]
        return np.mean([factors.permute_factor(rows, "domain", rng, 99) < 0.05 for rows in worlds])

    assert test_often(0.6, 20) >= 0.85 and test_often(0.0, 60) <= 0.15
    by_event = [
        factors.judge_factors(factors.fit_factors(plant_sources(rng, 0.0))) for _ in range(20)
    ]
    fooled = [table.set_index("factor").loc["domain", "p"] < 0.05 for table in by_event]
    assert np.mean(fooled) > 0.5, "errors by event take a source's luck for its domain's"
