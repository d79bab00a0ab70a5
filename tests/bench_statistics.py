"""How long the fast paths take on made-up data of the paper's size: python tests/bench_statistics.py (not a test).

Prints the best of three; the Monte Carlo of 25 agents x 20 rates x 20,000 trials is to stay below 2 s.
"""

import time

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

from helpers.stats import missing
from helpers.stats import regression as factors
from helpers.stats.paired import compare_pairs

N_AGENTS, N_EVENTS, N_TRIALS, RATES = 25, 1272, 20_000, range(1, 21)


def time_best(call, repeats=3):
    """Return the shortest of several durations in seconds, and the last result."""
    durations = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        durations.append(time.perf_counter() - start)
    return min(durations), result


def make_scores(rng):
    """Scores of 25 agents on 1,272 events as a matrix, and as rows with domain and level."""
    matrix = pd.DataFrame(rng.beta(0.3, 0.5, (N_EVENTS, N_AGENTS)), columns=[f"a{i:02d}" for i in range(N_AGENTS)])
    rows = matrix.rename_axis("event_id").reset_index().melt("event_id", var_name="agent_id", value_name="score")
    domain, level = rng.choice(list("ABCDEFGH"), N_EVENTS), rng.integers(1, 5, N_EVENTS)
    return matrix, rows.assign(domain=domain[rows["event_id"]], level=level[rows["event_id"]])


def bench_missing(matrix):
    """Time the Monte Carlo of Figures 7 and 16 and say how far it lies off the closed form."""
    for replace, name in ((True, "with"), (False, "without")):
        seconds, table = time_best(
            lambda replace=replace: missing.simulate_std(
                matrix, np.random.default_rng(1), RATES, 500, N_TRIALS, replace=replace
            )
        )
        off = (table["std"] / table["std_analytic"] - 1).abs().max()
        print(f"missing, {name} replacement: {seconds:.2f} s, at most {off:.2%} off the closed form")
    known = pd.DataFrame({"level": np.arange(N_EVENTS) % 4 + 1, "kind": "number", "domain": "A"})
    seconds, _ = time_best(
        lambda: missing.simulate_refusals(matrix, known, np.random.default_rng(1), 0.2, 200, known.index), 1
    )
    print(f"refusals, 4 rules x {N_AGENTS} agents x 200 draws: {seconds:.2f} s")


def bench_factors(rows):
    """Time the regression on 31,800 rows beside statsmodels."""
    seconds, _ = time_best(lambda: factors.fit_factors(rows))
    print(f"regression of {len(rows):,} rows, clustered: {1000 * seconds:.1f} ms")
    seconds, _ = time_best(lambda: smf.ols("score ~ C(agent_id) + C(domain) + C(level)", rows).fit(), 1)
    print(f"statsmodels formula, plain: {1000 * seconds:.0f} ms")
    marks = rows.pivot(index="event_id", columns="agent_id", values="score")
    seconds, _ = time_best(lambda: compare_pairs(marks), 1)
    print(f"{N_AGENTS * (N_AGENTS - 1) // 2} pairs: {seconds:.2f} s")


if __name__ == "__main__":
    score_matrix, score_rows = make_scores(np.random.default_rng(0))
    bench_missing(score_matrix)
    bench_factors(score_rows)
