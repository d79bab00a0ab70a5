"""The factor regression against statsmodels, planted effects, coverage of its intervals, pairs (FutureX 4.4)."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from studies.futurex import regression as factors

AGENTS = {"a": 0.0, "b": 0.1, "c": -0.2}
DOMAINS = {"Health": 0.0, "Space": 0.15, "Weather": -0.1}
LEVELS = {1: 0.0, 2: -0.1, 3: -0.25, 4: -0.4}


def make_rows(rng, n_events=200, agents=AGENTS, event_sd=0.0, share=1.0):
    """Rows with planted effects: an event has one domain and level; `event_sd` is what its scores share."""
    events = pd.DataFrame({"event_id": [f"e{i:04d}" for i in range(n_events)]})
    events["domain"] = rng.choice(list(DOMAINS), size=n_events)
    events["level"] = rng.choice(list(LEVELS), size=n_events)
    events["shared"] = rng.normal(0, event_sd, n_events)
    rows = events.merge(pd.DataFrame({"agent_id": list(agents)}), how="cross")
    truth = 0.5 + rows["agent_id"].map(agents) + rows["domain"].map(DOMAINS) + rows["level"].map(LEVELS)
    rows["score"] = truth + rows["shared"] + rng.normal(0, 0.1, len(rows))
    return rows[rng.random(len(rows)) < share].reset_index(drop=True)


def fit_oracle(rows):
    model = smf.ols("score ~ C(agent_id) + C(domain) + C(level)", rows)
    groups = {"groups": pd.factorize(rows["event_id"])[0]}
    return model.fit(), model.fit(cov_type="cluster", cov_kwds=groups, use_t=True)


def test_equals_statsmodels():
    agents = {f"agent{i:02d}": 0.02 * i for i in range(9)}
    rows = make_rows(np.random.default_rng(11), 400, agents, event_sd=0.2, share=0.9)
    plain, clustered = fit_oracle(rows)
    fit = factors.fit_factors(rows)
    table = factors.tabulate_effects(fit).dropna(subset="plain_se")
    for name, oracle in (("plain", plain), ("clustered", clustered)):
        for column, expected in (("effect", oracle.params), (f"{name}_se", oracle.bse), (f"{name}_p", oracle.pvalues)):
            np.testing.assert_allclose(table[column], expected.to_numpy(), rtol=0, atol=1e-10)
        np.testing.assert_allclose(table[[f"{name}_low", f"{name}_high"]], oracle.conf_int(), rtol=0, atol=1e-10)
    assert fit.r2 == pytest.approx(plain.rsquared, abs=1e-10)
    alone = smf.ols("score ~ C(domain)", rows).fit().rsquared
    assert factors.measure_r2(rows, "domain") == pytest.approx(alone, abs=1e-10)


@pytest.mark.parametrize("coding", ("base", "sum"))
def test_a_whole_factor_is_tested_as_in_statsmodels(coding):
    rows = make_rows(np.random.default_rng(3), event_sd=0.2, share=0.8)
    _, clustered = fit_oracle(rows)
    table = factors.judge_factors(factors.fit_factors(rows, coding=coding)).set_index("factor")
    for factor in factors.FACTORS:
        at = [i for i, name in enumerate(clustered.params.index) if f"C({factor})" in name]
        wald = clustered.f_test(np.eye(len(clustered.params))[at])
        assert table.loc[factor, "f"] == pytest.approx(float(wald.fvalue), rel=1e-8)
        assert table.loc[factor, "p"] == pytest.approx(float(wald.pvalue), abs=1e-10)
        assert table.loc[factor, "df"] == len(at)
    assert table.loc["level", "range"] == pytest.approx(0.4, abs=0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r[r["level"] == 1], "all rows have the same level, 1"),
        (lambda r: r[~r[list(factors.FACTORS)].apply(pd.Series.duplicated).all(axis=1)], "rows cannot carry 8 coef"),
        (lambda r: r.assign(event_id="e"), "need two events or more"),
        (lambda r: r.assign(score=r["score"].where(r.index > 0)), "1 rows have no score"),
        (lambda r: r.assign(domain=r["domain"].where(r.index > 1)), "2 rows have no domain"),
        (lambda r: r.assign(domain="d" + r["level"].astype(str)), "cannot tell these apart: domain d2, domain d3,"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(change, message):
    with pytest.raises(ValueError, match=message):
        factors.fit_factors(change(make_rows(np.random.default_rng(4), 60)))


def plant_sources(rng, domain_sd, n_sources=24, shared=0.2):
    """Rows of two agents on five events of each synthetic source; a source has luck, and a domain an effect."""
    effects, rows = rng.normal(0, domain_sd, 4), []
    for source in range(n_sources):
        luck = rng.normal(0, shared) + effects[source % 4]
        for at in range(5):
            for agent in ("a", "b"):
                score = 0.5 + luck + rng.normal(0, 0.2)
                rows.append((f"e{source}-{at}", agent, score, f"d{source % 4}", at % 2 + 1, f"s{source}"))
    return pd.DataFrame(rows, columns=["event_id", "agent_id", "score", "domain", "level", "cluster"])


def test_a_permutation_over_sources_finds_a_domain_and_is_not_fooled_by_their_luck():
    rng = np.random.default_rng(5)
    found = [factors.permute_factor(plant_sources(rng, 0.6), "domain", rng, n_draws=199) for _ in range(20)]
    chance = [factors.permute_factor(plant_sources(rng, 0.0), "domain", rng, n_draws=199) for _ in range(60)]
    by_event = [factors.judge_factors(factors.fit_factors(plant_sources(rng, 0.0))) for _ in range(20)]
    fooled = [table.set_index("factor").loc["domain", "p"] < 0.05 for table in by_event]
    assert np.mean(np.array(found) < 0.05) >= 0.85 and np.mean(np.array(chance) < 0.05) <= 0.15
    assert np.mean(fooled) > 0.5, "errors by event take a source's luck for its domain's"
