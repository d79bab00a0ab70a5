"""Hindsight against a prediction market: causal pressure, price moves, market recall
and precision.

WorldReasoner Appendix D and G.3.1. Prices are a table of question_id, day (a number of days, with
its fraction) and price (of Yes); nodes are those of `graphs.tabulate_nodes`, with signs towards
Yes.
"""

import numpy as np
import pandas as pd

from helpers.agreement import correlate
from helpers.means import divide
from helpers.papers import get_constant
from studies.worldreasoner.prices import SAME, order_prices

MOVE_DAYS = get_constant("worldreasoner", "local_move_days")
MIN_MOVE = get_constant("worldreasoner", "local_move_min")


def measure_pressure(nodes):
    """Return the causal pressure after each dated event with an impact: question_id, node_id, day,
    push, pressure.

    A push is sign times magnitude times confidence; pressure is their sum so far, by date (Appendix
    D).

    >>> nodes = pd.DataFrame({"question_id": "q", "node_id": ["b", "a"], "day": [2.0, 1.0], "sign": [-1, 1]})
    >>> measure_pressure(nodes.assign(impact=[0.5, 0.2]))[["node_id", "pressure"]].values.tolist()
    [['a', 0.2], ['b', -0.3]]
    """
    known = nodes[nodes["impact"].notna() & nodes["day"].notna()]
    known = known.sort_values(["question_id", "day", "node_id"], kind="stable", ignore_index=True)
    table = known[["question_id", "node_id", "day"]].assign(push=known["sign"] * known["impact"])
    return table.assign(pressure=table.groupby("question_id")["push"].cumsum())


def measure_moves(nodes, prices):
    """Return the price's move around each dated event that pushes one way.

    Columns question_id, node_id, day, sign, before, after, move, is_usable, agrees (the move has
    the event's sign). The nearest prices within `MOVE_DAYS` before and after the event, its own
    moment included, make the move; it is usable from `MIN_MOVE` on (the authors' rule). Where no
    price is that near, before or after is blank.

    >>> nodes = pd.DataFrame({"question_id": "q", "node_id": ["a"], "day": [5.0], "sign": [1], "impact": [0.5]})
    >>> prices = pd.DataFrame({"question_id": "q", "day": [3.0, 4.0, 7.0], "price": [0.9, 0.40, 0.45]})
    >>> measure_moves(nodes, prices)[["move", "is_usable", "agrees"]].round(2).values.tolist()
    [[0.05, True, True]]
    """
    pushes = measure_pressure(nodes)
    pushes = pushes[pushes["push"] != 0].assign(sign=lambda table: np.sign(table["push"]))
    table = (
        pushes[["question_id", "node_id", "day", "sign"]]
        .astype({"day": float})
        .sort_values("day", kind="stable")
    )
    known = order_prices(prices)
    for side, name in (("backward", "before"), ("forward", "after")):
        about = {"on": "day", "by": "question_id", "direction": side, "tolerance": float(MOVE_DAYS)}
        table = pd.merge_asof(table, known.rename(columns={"price": name}), **about)
    move = table["after"] - table["before"]
    table = table.assign(
        move=move, is_usable=move.abs() >= MIN_MOVE - SAME, agrees=np.sign(move) == table["sign"]
    )
    return table.sort_values(["question_id", "day", "node_id"], kind="stable", ignore_index=True)


def compare_direction(nodes, prices):
    """Return, by question with pressure and prices, whether the two end the same way and how they
    go together.

    Columns question_id, pressure (at the end), change (of the price, last minus first),
    is_comparable (neither is 0), agrees, correlation (Pearson's over the days with a price,
    pressure carried forward from 0; blank where either does not vary or fewer than three days have
    a price).

    >>> nodes = pd.DataFrame({"question_id": "q", "node_id": ["a"], "day": [2.0], "sign": [1], "impact": [0.5]})
    >>> prices = pd.DataFrame({"question_id": "q", "day": [1.0, 2.0, 3.0], "price": [0.3, 0.4, 0.6]})
    >>> compare_direction(nodes, prices)[["agrees", "correlation"]].round(3).values.tolist()
    [[True, 0.756]]
    """
    rows = []
    own = dict(list(order_prices(prices).groupby("question_id")))
    for question, part in measure_pressure(nodes).groupby("question_id"):
        if question not in own:
            continue
        known = own[question]
        daily = known.groupby(np.floor(known["day"]))["price"].last()
        at = np.searchsorted(np.floor(part["day"]), daily.index, side="right")
        pressure = np.array([0.0, *part["pressure"]])
        change = known["price"].iloc[-1] - known["price"].iloc[0]
        ends = np.array([change, pressure[-1]])
        ok = bool((np.abs(ends) > SAME).all())
        fit = correlate(pressure[at], daily.to_numpy()) if len(daily) > 2 else np.nan
        row = {"question_id": question, "pressure": pressure[-1], "change": change}
        row |= {"is_comparable": ok, "agrees": ok and bool(np.ptp(np.sign(ends)) == 0)}
        rows.append(row | {"correlation": float(fit)})
    return pd.DataFrame(rows)


def score_alignment(moves, pairs, said, submissions, turns=None):
    """Return the market recall and precision of each submission (Table 11): a row a run and
    question.

    An aligned event is one of `moves` (`measure_moves`) that is usable and agrees; with `turns`
    (days of change points by question) also at most `MOVE_DAYS` from one. Recall is the share of
    aligned events that a forecast event was matched with one to one (`pairs`, of
    `matching.match_events`), precision the share of forecast events (`said`: run_id, question_id,
    node_id; undated ones count) matched with an aligned one. `submissions` has run_id and
    question_id. Columns beside its own: n_aligned, n_said, n_matched, recall (blank without an
    aligned event), precision (blank without a forecast event).
    """
    aligned = moves[moves["is_usable"] & moves["agrees"]]
    if turns is not None:
        near = [
            any(abs(day - turn) <= MOVE_DAYS for turn in turns.get(question, ()))
            for question, day in zip(aligned["question_id"], aligned["day"], strict=True)
        ]
        aligned = aligned[np.array(near, dtype=bool)]
    aligned = aligned[["question_id", "node_id"]].rename(columns={"node_id": "hindsight_id"})
    hits = pairs[pairs["is_kept"].astype(bool)].merge(aligned)
    by = ["run_id", "question_id"]
    table = submissions.reset_index(drop=True)
    for name, rows, keys in (
        ("n_aligned", aligned, ["question_id"]),
        ("n_said", said, by),
        ("n_matched", hits, by),
    ):
        table = table.join(rows.groupby(keys).size().rename(name), on=keys)
        table[name] = table[name].fillna(0)
    return table.assign(
        recall=divide(table["n_matched"], table["n_aligned"]),
        precision=divide(table["n_matched"], table["n_said"]),
    )
