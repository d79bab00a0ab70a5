"""A synthetic world with planted causes: what the measures must find in it."""

import numpy as np
import pandas as pd
from planted_world import CHAIN, draw_question


def test_the_planted_causes_are_found_and_what_pushes_nothing_is_not():
    rng = np.random.default_rng(1)
    tests = pd.concat(draw_question(f"q{at}", rng)["tests"] for at in range(8))
    place = {name: at for at, name in enumerate(CHAIN)}
    ahead = tests["effect"].map(place) - tests["cause"].map(place)
    assert tests.loc[ahead == 1, "is_causal"].all()
    assert tests.loc[~(ahead >= 1), "is_causal"].mean() < 0.05
