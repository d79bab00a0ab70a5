"""The factor regression against statsmodels, planted effects, coverage of its intervals, pairs
(FutureX 4.4)."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from studies.futurex import factors

AGENTS = {"a": 0.0, "b": 0.1, "c": -0.2}
DOMAINS = {"Health": 0.0, "Space": 0.15, "Weather": -0.1}
LEVELS = {1: 0.0, 2: -0.1, 3: -0.25, 4: -0.4}


def make_rows(rng, n_events=200, event_sd=0.0, share=1.0):
    """Rows with planted effects: an event has one domain and level; `event_sd` is what its scores
    share."""
    events = pd.DataFrame({"event_id": [f"e{i:04d}" for i in range(n_events)]})
    events["domain"] = rng.choice(list(DOMAINS), size=n_events)
    events["level"] = rng.choice(list(LEVELS), size=n_events)
    events["shared"] = rng.normal(0, event_sd, n_events)
    rows = events.merge(pd.DataFrame({"agent_id": list(AGENTS)}), how="cross")
    truth = (
        0.5 + rows["agent_id"].map(AGENTS) + rows["domain"].map(DOMAINS) + rows["level"].map(LEVELS)
    )
    rows["score"] = truth + rows["shared"] + rng.normal(0, 0.1, len(rows))
    return rows[rng.random(len(rows)) < share].reset_index(drop=True)


@pytest.mark.parametrize("coding", ("base", "sum"))
def test_effects_and_factors_are_those_of_a_formula(coding):
    rows = make_rows(np.random.default_rng(11), event_sd=0.2, share=0.9)
    model = smf.ols("score ~ C(agent_id) + C(domain) + C(level)", rows)
    plain, clustered = (
        model.fit(),
        model.fit(cov_type="cluster", cov_kwds={"groups": rows["event_id"]}, use_t=True),
    )
    fit = factors.fit_factors(rows, coding=coding)
    assert fit.r2 == pytest.approx(plain.rsquared, abs=1e-10)
    if coding == "base":
        table = factors.tabulate_effects(fit).dropna(subset="plain_se")
        for name, found in (("plain", plain), ("clustered", clustered)):
            wanted = {"effect": found.params, f"{name}_se": found.bse, f"{name}_p": found.pvalues}
            wanted |= {f"{name}_low": found.conf_int()[0], f"{name}_high": found.conf_int()[1]}
            wanted = pd.DataFrame(wanted).iloc[1:]
            np.testing.assert_allclose(table[wanted.columns], wanted, rtol=0, atol=1e-10)
    judged = factors.judge_factors(fit).set_index("factor")
    for factor in factors.FACTORS:
        wald = clustered.f_test(
            np.eye(len(plain.params))[[f"C({factor})" in name for name in plain.params.index]]
        )
        wanted = [float(wald.fvalue), wald.df_num, float(wald.pvalue)]
        assert judged.loc[factor, ["f", "df", "p"]].tolist() == pytest.approx(wanted, rel=1e-8)
    assert judged.loc["level", "range"] == pytest.approx(0.4, abs=0.1)
    alone = smf.ols("score ~ C(domain)", rows).fit().rsquared
    assert factors.measure_r2(rows, "domain") == pytest.approx(alone, abs=1e-10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r[r["level"] == 1], "all rows have the same level, 1"),
        (
            lambda r: r[~r[list(factors.FACTORS)].apply(pd.Series.duplicated).all(axis=1)],
            "rows cannot carry 8 coef",
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
