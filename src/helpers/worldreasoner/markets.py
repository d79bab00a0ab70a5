"""Hindsight against a prediction market: causal pressure, price moves, turning points, and skill beside the price.

WorldReasoner Appendix D and G.3.1. Prices are a table of question_id, day (a number of days, with its fraction) and
price (of Yes); nodes are those of `graphs.tabulate_nodes`, with signs towards Yes.
"""

import numpy as np
import pandas as pd
from matplotlib.dates import AutoDateLocator, DateFormatter

from helpers.columns import check_shares
from helpers.estimates.agreement import correlate
from helpers.estimates.intervals import divide, summarize_clustered
from helpers.papers import get_constant
from helpers.plots import COLOURS
from helpers.questions.moments import name_horizon, number_days
from helpers.store import dump_json, parse_json

MOVE_DAYS = get_constant("worldreasoner", "local_move_days")
MIN_MOVE = get_constant("worldreasoner", "local_move_min")
N_SEGMENT = get_constant("worldreasoner", "turning_point_points")
GAP_HOURS = get_constant("worldreasoner", "turning_point_hours")
CUT = get_constant("worldreasoner", "binary_cut")

SAME = 1e-9
"""Prices this near are the same."""
MAD_OF_ONE = 0.6745
"""Median distance from the median of a normal variable of standard deviation 1."""


def measure_pressure(nodes):
    """Return the causal pressure after each dated event with an impact: question_id, node_id, day, push, pressure.

    A push is sign times magnitude times confidence; pressure is their sum so far, by date (Appendix D).

    >>> nodes = pd.DataFrame({"question_id": "q", "node_id": ["b", "a"], "day": [2.0, 1.0], "sign": [-1, 1]})
    >>> measure_pressure(nodes.assign(impact=[0.5, 0.2]))[["node_id", "pressure"]].values.tolist()
    [['a', 0.2], ['b', -0.3]]
    """
    known = nodes[nodes["impact"].notna() & nodes["day"].notna()]
    known = known.sort_values(["question_id", "day", "node_id"], kind="stable", ignore_index=True)
    table = known[["question_id", "node_id", "day"]].assign(push=known["sign"] * known["impact"])
    return table.assign(pressure=table.groupby("question_id")["push"].cumsum())


def measure_moves(nodes, prices, days=MOVE_DAYS, least=MIN_MOVE):
    """Return the price's move around each dated event that pushes one way.

    Columns question_id, node_id, day, sign, before, after, move, is_usable, agrees (the move has the event's sign). The
    nearest prices within `days` before and after the event, its own moment included, make the move; it is usable
    from `least` on (the authors' rule). Where no price is that near, before or after is blank.

    >>> nodes = pd.DataFrame({"question_id": "q", "node_id": ["a"], "day": [5.0], "sign": [1], "impact": [0.5]})
    >>> prices = pd.DataFrame({"question_id": "q", "day": [3.0, 4.0, 7.0], "price": [0.9, 0.40, 0.45]})
    >>> measure_moves(nodes, prices)[["move", "is_usable", "agrees"]].round(2).values.tolist()
    [[0.05, True, True]]
    """
    pushes = measure_pressure(nodes)
    pushes = pushes[pushes["push"] != 0].assign(sign=lambda table: np.sign(table["push"]))
    table = pushes[["question_id", "node_id", "day", "sign"]].astype({"day": float}).sort_values("day", kind="stable")
    known = _order_prices(prices)
    for side, name in (("backward", "before"), ("forward", "after")):
        about = {"on": "day", "by": "question_id", "direction": side, "tolerance": float(days)}
        table = pd.merge_asof(table, known.rename(columns={"price": name}), **about)
    move = table["after"] - table["before"]
    table = table.assign(move=move, is_usable=move.abs() >= least - SAME, agrees=np.sign(move) == table["sign"])
    return table.sort_values(["question_id", "day", "node_id"], kind="stable", ignore_index=True)


def _order_prices(prices):
    """Prices by day, without blank ones."""
    known = prices[["question_id", "day", "price"]].dropna(subset="price")
    return _check_days(known, "a price").sort_values("day", kind="stable")


def _check_days(table, what):
    if table["day"].isna().any():
        name = table.loc[table["day"].isna(), "question_id"].iloc[0]
        raise ValueError(f"{what} of question {name} has no day; give it one, or leave it out")
    return table.astype({"day": float})


def compare_direction(nodes, prices):
    """Return, by question with pressure and prices, whether the two end the same way and how they go together.

    Columns question_id, n_events, pressure (at the end), change (of the price, last minus first), is_comparable
    (neither is 0), agrees, correlation (Pearson's over the days with a price, pressure carried forward from 0; blank
    where either does not vary or fewer than three days have a price).

    >>> nodes = pd.DataFrame({"question_id": "q", "node_id": ["a"], "day": [2.0], "sign": [1], "impact": [0.5]})
    >>> prices = pd.DataFrame({"question_id": "q", "day": [1.0, 2.0, 3.0], "price": [0.3, 0.4, 0.6]})
    >>> compare_direction(nodes, prices)[["agrees", "correlation"]].round(3).values.tolist()
    [[True, 0.756]]
    """
    pushes, rows = measure_pressure(nodes), []
    own = dict(list(_order_prices(prices).groupby("question_id")))
    for question, part in pushes.groupby("question_id", sort=True):
        if question not in own:
            continue
        known = own[question]
        daily = known.assign(date=np.floor(known["day"])).groupby("date")["price"].last()
        pressure = np.concatenate([[0.0], part["pressure"]])[
            np.searchsorted(np.floor(part["day"].to_numpy()), daily.index.to_numpy(), side="right")
        ]
        change, end = known["price"].iloc[-1] - known["price"].iloc[0], part["pressure"].iloc[-1]
        ok = abs(change) > SAME and abs(end) > SAME
        row = {"question_id": question, "n_events": len(part), "pressure": end, "change": change, "is_comparable": ok}
        row["agrees"] = bool(ok and np.sign(change) == np.sign(end))
        row["correlation"] = float(correlate(pressure, daily.to_numpy())) if len(daily) > 2 else np.nan
        rows.append(row)
    return pd.DataFrame(rows)


def draw_pressure(pressure, prices, ax):
    """Draw one question as Figures 3 and 7 do: each event's push as a dot, pressure as steps, the price as a line.

    The price has the right-hand axis, returned beside `ax`; a pressure of 0 stands at a price of one half, where
    neither points to Yes or No. Days longer before the first price than the prices last are left out of the picture, so
    that these can be read; how many pushes lie there is written. Dots and lines have labels, for a legend.
    """
    days = [pd.to_datetime(table["day"], unit="D") for table in (pressure, prices)]
    ax.axhline(0, color="0.6", lw=1)
    ax.step(days[0], pressure["pressure"], where="post", color=COLOURS[7], lw=1.5, label="pressure")
    for side, colour, name in ((1, COLOURS[2], "push towards Yes"), (-1, COLOURS[3], "push towards No")):
        part = np.sign(pressure["push"]) == side
        ax.scatter(days[0][part], pressure.loc[part, "push"], s=22, color=colour, zorder=3, label=name)
    ax.xaxis.set_major_locator(AutoDateLocator(minticks=5, maxticks=9))
    ax.xaxis.set_major_formatter(DateFormatter("%Y-%m-%d"))
    start, end = prices["day"].min(), prices["day"].max()
    ends = np.array([max(pressure["day"].min(), 2 * start - end), max(pressure["day"].max(), end)])
    if n_before := int((pressure["day"] < ends[0]).sum()):
        ax.text(0.02, 0.03, f"{n_before} earlier, not drawn", transform=ax.transAxes, fontsize=8)
    ax.set_xlim(*pd.to_datetime(ends + np.ptp(ends) * np.array([-0.03, 0.03]), unit="D"))
    most = 1.06 * max(pressure["pressure"].abs().max(), pressure["push"].abs().max())
    ax.set_ylim(-most, most)
    right = ax.twinx()
    right.plot(days[1], prices["price"], color=COLOURS[0], lw=1.2, label="price of Yes")
    right.set(ylim=(0, 1))
    right.grid(visible=False)
    return ax, right


# --- turning points, lead changes ------------------------------------------------------------------------------------


def find_turning_points(days, prices, n_least=N_SEGMENT, gap_hours=GAP_HOURS):
    """Return the days at which the level of a price changes: change points by PELT, oldest first (G.3.1).

    Segments have a mean each and `n_least` prices or more; a further one must earn log(n) times the noise's variance
    (BIC), the noise being that of the price's steps (median distance). Of two within `gap_hours` the earlier stays.
    Blank prices are left out.
    Empty with too few prices, or where none moves. Needs the package ruptures.

    >>> find_turning_points(np.arange(12.0), [0.2, 0.21] * 3 + [0.8, 0.81] * 3)
    [6.0]
    """
    import ruptures  # here: there is no release for every Python that the kit runs on

    days, values = _drop_blanks(days, prices)
    if len(values) < 2 * n_least or np.ptp(values) <= SAME:
        return []
    steps = np.diff(values)
    noise = np.median(np.abs(steps - np.median(steps))) / MAD_OF_ONE or steps.std()
    cost = max(np.log(len(values)) * noise**2, SAME)
    ends = ruptures.Pelt(model="l2", min_size=n_least, jump=1).fit(values[:, None]).predict(pen=cost)
    found = []
    for at in ends[:-1]:
        if not found or days[at] - found[-1] >= gap_hours / 24:
            found.append(float(days[at]))
    return found


def _drop_blanks(days, prices):
    days, prices = (np.asarray(part, dtype=float) for part in (days, prices))
    return days[~np.isnan(prices)], prices[~np.isnan(prices)]


def find_lead_changes(days, prices, cut=CUT):
    """Return the days at which the price crosses one half, and the side it is on then: (day, "Yes" or "No").

    Blank prices are left out.

    >>> find_lead_changes([1.0, 2.0, 3.0], [0.4, 0.5, 0.45])
    [(2.0, 'Yes'), (3.0, 'No')]
    """
    days, values = _drop_blanks(days, prices)
    above = values >= cut
    return [(float(days[at]), "Yes" if above[at] else "No") for at in np.flatnonzero(above[1:] != above[:-1]) + 1]


def score_alignment(moves, pairs, said, submissions, turns=None, days=MOVE_DAYS):
    """Return the market recall and precision of each submission (Table 11): a row a run and question.

    An aligned event is one of `moves` (`measure_moves`) that is usable and agrees; with `turns` (days of change points
    by question) also at most `days` from one. Recall is the share of aligned events that a forecast event was matched
    with one to one (`pairs`, of `matching.match_events`), precision the share of forecast events (`said`: run_id,
    question_id, node_id; undated ones count) matched with an aligned one. `submissions` has run_id and question_id.
    Columns beside these: n_aligned, n_said, n_matched, recall (blank without an aligned event), precision (blank
    without a forecast event).
    """
    held = moves["is_usable"] & moves["agrees"]
    if turns is not None:
        at_turn = [
            any(abs(day - turn) <= days for turn in turns.get(question, ()))
            for question, day in zip(moves["question_id"], moves["day"], strict=True)
        ]
        held = held & pd.Series(at_turn, moves.index, dtype=bool)
    aligned = moves.loc[held, ["question_id", "node_id"]].rename(columns={"node_id": "hindsight_id"})
    hits, by = pairs[pairs["is_kept"].astype(bool)].merge(aligned), ["run_id", "question_id"]
    table = submissions[by].copy()
    for name, rows, keys in (("aligned", aligned, by[1:]), ("said", said, by), ("matched", hits, by)):
        table = table.merge(rows.groupby(keys).size().rename(f"n_{name}"), how="left", left_on=keys, right_index=True)
    table = table.fillna({"n_aligned": 0, "n_said": 0, "n_matched": 0}).reset_index(drop=True)
    return table.assign(
        recall=divide(table["n_matched"], table["n_aligned"]), precision=divide(table["n_matched"], table["n_said"])
    )


# --- skill beside the price ------------------------------------------------------------------------------------------


def price_forecasts(forecasts, prices):
    """Return forecasts with the market's price as it stood: the last one before the forecast's moment, blank without.

    `forecasts` has question_id and day; columns price and price_day are added. Blank prices are left out. Raises
    ValueError for a forecast or a price without a day.

    >>> prices = pd.DataFrame({"question_id": "q", "day": [1.0, 2.0], "price": [0.4, 0.9]})
    >>> price_forecasts(pd.DataFrame({"question_id": ["q"], "day": [2.0]}), prices)["price"].tolist()
    [0.4]
    """
    known = _order_prices(prices).assign(price_day=lambda table: table["day"])
    ordered = _check_days(forecasts.assign(row=np.arange(len(forecasts))), "a forecast")
    ordered = ordered.sort_values("day", kind="stable")
    table = pd.merge_asof(ordered, known, on="day", by="question_id", allow_exact_matches=False)
    return table.sort_values("row", ignore_index=True).drop(columns="row")


def tell_markets(predictions, events, answers):
    """Return predictions of yes/no questions at horizons as forecasts that `measure_skill` takes.

    `predictions` has agent_id, event_id, as_of, horizon, value, probability and distribution (JSON by letter, Yes is
    A). Columns agent_id, question_id, as_of, stage, day, p (of Yes, by the distribution, else by the probability stated
    of the value; blank without both), says_yes, outcome, opens_at, resolves_at.
    """
    about = events.set_index("event_id")
    values = answers.set_index("event_id")["value"]
    table = predictions.rename(columns={"event_id": "question_id", "horizon": "stage"}).reset_index(drop=True)
    told = [(parse_json(cell) or {}).get("A") for cell in table["distribution"]]
    says = [np.nan if pd.isna(cell) else parse_json(cell) == "A" for cell in table["value"]]
    table = table.assign(p=pd.Series(told, table.index, dtype=float), says_yes=pd.Series(says, dtype=float))
    stated = pd.to_numeric(table.get("probability", pd.Series(np.nan, table.index))).where(table["says_yes"].notna())
    table["p"] = table["p"].fillna(stated.where(table["says_yes"] == 1, 1 - stated))
    table["day"] = number_days(table["as_of"])
    table["outcome"] = table["question_id"].map(values).eq(dump_json("A")).astype(int)
    for name in ("opens_at", "resolves_at"):
        table[name] = table["question_id"].map(about[name].str[:10])
    return table["agent_id question_id as_of stage day p says_yes outcome opens_at resolves_at".split()]


def measure_skill(forecasts, prices, clusters=None):
    """Return each agent's Brier score beside the market's at the same moment, by stage of the question's life.

    `forecasts` has agent_id, question_id, day, p (of Yes), outcome (0 or 1), opens_at, resolves_at. The baseline that
    matters is the price: `difference` is the market's Brier score minus the agent's, in pairs (above 0: the agent is
    better), with its 95% interval by cluster (a question by default); `skill` 1 minus their quotient. Columns agent_id,
    stage (all first), brier, market, difference, low, high, n, n_clusters, skill. Forecasts without an earlier price
    are left out. Raises ValueError for a `p` or a price outside 0 to 1.
    """
    table = price_forecasts(forecasts, prices).dropna(subset=["price", "p"])
    for name in ("price", "p"):
        check_shares(name, table[name])
    ends = zip(table["opens_at"], table["resolves_at"], pd.to_datetime(table["day"], unit="D"), strict=True)
    table = table.assign(stage=[name_horizon(opens, closes, [day])[0] for opens, closes, day in ends])
    table = table.assign(brier=(table["p"] - table["outcome"]) ** 2, market=(table["price"] - table["outcome"]) ** 2)
    table = table.assign(difference=table["market"] - table["brier"])
    parts = [("all", table), *((name, part) for name, part in table.groupby("stage", sort=True))]
    rows = []
    for stage, part in parts:
        wide = part.pivot_table("difference", "question_id", "agent_id", aggfunc="mean")
        found = summarize_clustered(wide, clusters)[["mean", "low", "high", "n", "n_clusters"]]
        means = part.groupby(["agent_id", "question_id"])[["brier", "market"]].mean().groupby(level=0).mean()
        rows.append(found.rename(columns={"mean": "difference"}).join(means).rename_axis("agent_id").reset_index())
        rows[-1].insert(1, "stage", stage)
    table = pd.concat(rows, ignore_index=True)
    table["skill"] = 1 - table["brier"] / table["market"].where(table["market"] > 0)
    return table["agent_id stage brier market difference low high n n_clusters skill".split()]
