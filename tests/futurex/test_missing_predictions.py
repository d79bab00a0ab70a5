"""Missing predictions: averages of prefixes, closed forms, refusals laid over known scores (FutureX
3.4.2, D)."""

import numpy as np
import pandas as pd
import pytest

from daybefore.scoring.run_scores import load_scores
from studies.futurex import missing_predictions as missing


def make_world(rng):
    """A matrix of planted scores that fall with level, and the events' facts."""
    level = rng.integers(1, 5, size=600)
    chance = 1 - 0.2 * level[:, None] + rng.normal(0, 0.15, (600, 1)) + 0.05 * np.arange(4)
    matrix = pd.DataFrame((rng.random((600, 4)) < chance).astype(float), columns=list("abcd"))
    domain = rng.choice(["Space", "Weather"], size=600)
    return matrix, pd.DataFrame(
        {"level": level, "kind": np.where(level < 3, "single", "number"), "domain": domain}
    )


def test_simulation_meets_the_closed_form_for_every_agent_and_rate():
    scores = pd.DataFrame(
        np.random.default_rng(5).random((640, 4)) ** [1, 2, 4, 8], columns=list("abcd")
    )
    scores.iloc[:30, 3] = np.nan  # another pool size has draws of its own
    table = missing.simulate_std(scores, np.random.default_rng(2), range(1, 21), n_trials=20_000)
    assert len(table) == 4 * 21 and set(table["n_pool"]) == {640, 610}
    exact = [missing.derive_growth(500, row.n_kept, row.n_pool) for row in table.itertuples()]
    assert (table["growth"] - exact).abs().max() < 0.04
    spread = scores.std()[table["agent_id"]].to_numpy() * np.sqrt(
        1 / table["n_kept"] - 1 / table["n_pool"]
    )
    assert (table["std"] / spread - 1).abs().max() < 0.016


def test_refusal_chances_average_to_the_share_and_stay_below_one():
    hardness = np.array([0.0, 1.0, 2.0, 3.0, 94.0])
    chance = missing.weigh_refusals(hardness, 0.4)
    assert chance.mean() == pytest.approx(0.4) and chance.max() == 1 and chance[0] == 0
    assert chance[3] / chance[1] == pytest.approx(3)  # still proportional below the cap
    assert missing.weigh_refusals(hardness, 0).sum() == 0
    with pytest.raises(ValueError, match="0.800 of events can be"):
        missing.weigh_refusals(hardness, 0.9)


def test_planted_refusals_bias_as_they_must():
    matrix, known = make_world(np.random.default_rng(8))
    table = missing.simulate_refusals(matrix, known, np.random.default_rng(3), 0.2, 60, known.index)
    table = table.set_index(["rule", "treatment", "level"])
    bias = table["bias"]
    assert (
        abs(bias["at random", "drop", "all"]) < 0.005
        and abs(bias["at random", "model", "all"]) < 0.005
    )
    # zero-imputing a fifth at random takes a fifth of the mean away
    assert bias["at random", "zero", "all"] == pytest.approx(
        -0.2 * matrix.to_numpy().mean(), abs=0.01
    )
    # refusals by level: no bias within a level, an upward one over all, which the model (it knows
    # the level) removes
    assert all(abs(bias["level", "drop", str(level)]) < 0.02 for level in range(1, 5))
    assert bias["level", "drop", "all"] > 0.015 > 3 * abs(bias["level", "model", "all"])
    # refusals of what the agent gets wrong: only zeros are dropped, which no treatment that looks
    # at the rest can know
    wrong = (matrix == 0).to_numpy().mean(axis=0)
    kept_share = matrix.to_numpy().mean(axis=0) / (1 - 0.2)
    expected = (kept_share - (1 - wrong)).mean()
    assert bias["own error", "drop", "all"] == pytest.approx(expected, abs=0.01)
    assert bias["own error", "model", "all"] > 0.03
    assert bias["own error", "zero", "all"] == pytest.approx(0, abs=1e-12), (
        "what was dropped was 0 anyway"
    )
    assert (table["low"] <= bias).all() and (bias <= table["high"]).all()


def test_a_pool_smaller_than_the_papers_draw_is_drawn_whole():
    matrix = pd.DataFrame({"a": np.random.default_rng(3).random(300)})
    found = missing.simulate_std(matrix, np.random.default_rng(1), [20], 400).set_index("percent")
    assert found["n_kept"].tolist() == [300, 240]
    assert found.loc[0, "std"] == pytest.approx(0, abs=1e-9) and np.isnan(found.loc[20, "growth"])


def test_scores_of_a_set_without_levels_are_aligned():
    scored = load_scores("worldcup", ["Claude"])
    matrix, facts = missing.align_scores(scored.scores, scored.events)
    assert len(matrix) == len(facts) > 600 and facts["level"].eq(0).all()
