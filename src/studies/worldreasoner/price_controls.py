"""Negative controls of events against markets: the same pushes on other days, other questions'
events in their place.

Prices and nodes as in `price_moves`.
"""

import itertools

import numpy as np
import pandas as pd

from helpers.means import summarize_clustered
from studies.worldreasoner.hindsight.matching import Rules, match_events
from studies.worldreasoner.price_moves import measure_moves, score_alignment
from studies.worldreasoner.prices import order_prices

USABLE_DAYS = "on days by chance that can be used"
N_POINTS = 2000
"""Days by chance are drawn from so many, evenly over the span of a question's prices."""


def draw_days(nodes, prices, rng, n_draws=1000):
    """Return what pushes on days by chance give, a row a control and draw: n_usable moves and the
    share that agrees.

    Pushes dated within the span of their question's prices count. Three controls: "each on a day by
    chance", "all of a question moved together" (round the span, so that they keep their distances),
    and "on days by chance that can be used": as many usable moves as there are, each on a day by
    chance on which its question's price moves enough. The first two say how many usable moves the
    dates earn, the third how often signs agree wherever prices move. Also returns what was seen, as
    a dict with n (pushes within the spans), n_usable and share.
    """
    pushes = measure_moves(nodes, prices)
    spans = order_prices(prices).groupby("question_id")["day"].agg(["min", "max"])
    spans = spans[spans["max"] > spans["min"]]
    pushes = pushes[pushes["question_id"].isin(spans.index)]
    ends = spans.loc[pushes["question_id"]].reset_index(drop=True)
    place = (pushes["day"].to_numpy() - ends["min"]) / (ends["max"] - ends["min"])
    inside = place.between(0, 1).to_numpy()
    pushes = pushes[inside]
    place = place.to_numpy()[inside]
    codes, names = pd.factorize(pushes["question_id"], sort=True)
    signs = _sign_grid(spans.loc[names], prices)
    own = pushes["sign"].to_numpy()
    usable = pushes["is_usable"].to_numpy()
    points = np.minimum((place * N_POINTS).astype(int), N_POINTS - 1)
    moving = [np.flatnonzero(row) for row in signs]
    rows = []
    for _ in range(n_draws):
        chosen = {
            "each on a day by chance": rng.integers(N_POINTS, size=len(own)),
            "all of a question moved together": (
                points + rng.integers(N_POINTS, size=len(names))[codes]
            )
            % N_POINTS,
        }
        for control, days in chosen.items():
            found = signs[codes, days]
            rows.append(
                (control, n := int((found != 0).sum()), (found == own).sum() / n if n else np.nan)
            )
        drawn = np.array([rng.choice(moving[code]) for code in codes[usable]], dtype=int)
        rows.append(
            (USABLE_DAYS, int(usable.sum()), (signs[codes[usable], drawn] == own[usable]).mean())
        )
    seen = {
        "n": len(own),
        "n_usable": int(usable.sum()),
        "share": pushes.loc[usable, "agrees"].mean(),
    }
    return pd.DataFrame(rows, columns=["control", "n_usable", "share"]), seen


def _sign_grid(spans, prices):
    """Sign of the usable move around each of `N_POINTS` days of each question's span, else 0:
    questions x days."""
    steps = (np.arange(N_POINTS) + 0.5) / N_POINTS
    days = (
        spans["min"].to_numpy()[:, None] + (spans["max"] - spans["min"]).to_numpy()[:, None] * steps
    )
    table = pd.DataFrame(
        {"question_id": np.repeat(spans.index.to_numpy(), N_POINTS), "day": days.ravel()}
    )
    moves = (
        measure_moves(table.assign(node_id=table.index, sign=1, impact=1.0), prices)
        .set_index("node_id")
        .sort_index()
    )
    return (
        (np.sign(moves["move"]).where(moves["is_usable"], 0))
        .to_numpy()
        .reshape(days.shape)
        .astype(int)
    )


def score_strangers(cards, moves, matchers, gates, turns):
    """Return what other questions' cards earn in market recall and precision (Table 11), by matcher
    and gate.

    Each question's cards stand as the forecast of the question so many places on, for every such
    shift; a question's recall and precision are the mean over its shifts, the interval is over
    questions. `matchers` and `gates` are arguments of `matching.Rules` by name, `turns` days of
    change points by question. Returns the table (measure, matcher, gate, events, mean, low, high,
    n) and, by shift, how many cards stand within the gate's days of one that they face.
    """
    questions = sorted(turns)
    found = []
    near = []
    asked = pd.DataFrame({"run_id": "another story", "question_id": questions})
    for shift in range(1, len(questions)):
        whose = dict(zip(questions, questions[shift:] + questions[:shift], strict=True))
        said = cards.assign(run_id="another story", question_id=cards["question_id"].map(whose))
        faced = match_events(cards, said, Rules(threshold=-1.0, n_candidates=None))
        near.append((shift, faced["forecast_id"].nunique()))
        for (matcher, given), (gate, limits) in itertools.product(matchers.items(), gates.items()):
            pairs = match_events(cards, said, Rules(**given, **limits))
            for events, points in (("all aligned", None), ("near a change point", turns)):
                scored = score_alignment(moves, pairs, said, asked, points)
                found.append(scored.assign(matcher=matcher, gate=gate, events=events))
    keys = ["matcher", "gate", "events"]
    means = pd.concat(found).groupby([*keys, "question_id"])[["recall", "precision"]].mean()
    rows = []
    for key, part in means.groupby(level=keys, sort=False):
        summary = summarize_clustered(part.droplevel(keys))[["mean", "low", "high", "n"]].clip(
            lower=0
        )
        rows.append(
            summary.assign(**dict(zip(keys, key, strict=True))).rename_axis("measure").reset_index()
        )
    table = pd.concat(rows, ignore_index=True)[
        "measure matcher gate events mean low high n".split()
    ]
    return table, pd.DataFrame(near, columns=["shift", "cards"])
