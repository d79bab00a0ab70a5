"""Hindsight held against market prices (WorldReasoner appendix D, G.3.1): do pushes and prices go
the same way?

`questions` are those of the authors' file of event cards, `nodes` as of `graphs.tabulate_nodes`,
prices as in `prices`.
"""

import itertools

import numpy as np
import pandas as pd

from helpers import papers
from helpers.means import measure_share, summarize_clustered
from helpers.paired import compute_mde
from studies.worldreasoner.price_moves import find_lead_changes, measure_pressure
from studies.worldreasoner.prices import order_prices

DRAWN = {
    "Starship Flight Test 11": "Starship by October 31: Yes",
    "NVIDIA": "NVIDIA beats earnings: Yes",
    "Grand Theft Auto": "Price of Grand Theft Auto VI: No",
    "Putin": "counterexample: Putin meets Zelenskyy: No",
}
"""A word of a question's title -> what it is called here."""


def check_markets(moves, ends, prices, outcome):
    """Return the market checks, printed and recomputed: check, whose, share, low, high, n,
    n_clusters, mde.

    Local moves are clustered by question, and have a minimum detectable effect. The last two rows
    say that resolved prices move towards the outcome.
    """
    dataset = (
        papers.load_published("worldreasoner", "intext_dataset")
        .set_index("quantity")["value"]
        .astype(float)
    )
    usable = moves[moves["is_usable"]]
    known = ends["correlation"].dropna()
    ours = {
        "local move agrees": (usable["agrees"], "event_local_agree_pct", "event_local_n"),
        "final direction agrees": (
            *(ends.loc[ends["is_comparable"], "agrees"], "market_net_direction_agree_pct"),
            "market_net_direction_n",
        ),
        "correlation above 0": (known > 0, "market_corr_positive_pct", "market_corr_n"),
    }
    rows = []
    for name, (flags, percent, n) in ours.items():
        n, hits = int(dataset[n]), round(dataset[percent] / 100 * dataset[n])
        rows.append(
            measure_share([True] * hits + [False] * (n - hits))
            | {"check": name, "whose": "printed"}
        )
        rows.append(measure_share(flags.tolist()) | {"check": name, "whose": "recomputed"})
    by_question = summarize_clustered(usable[["agrees"]], usable["question_id"]).loc["agrees"]
    rows[1] |= by_question[["low", "high", "n_clusters"]].to_dict()
    rows[1]["mde"] = compute_mde(by_question["se"], by_question["n_clusters"])
    ranked, about = (
        known.sort_values().to_numpy(),
        {"check": "median correlation"},
    )  # 98%: fourth to thirteenth of 16
    rows.append(
        about
        | {
            "whose": "printed",
            "share": dataset["market_corr_median"],
            "n": int(dataset["market_corr_n"]),
        }
    )
    middle = {"share": known.median(), "low": ranked[3], "high": ranked[-4], "n": len(ranked)}
    rows.append(about | {"whose": "recomputed"} | middle)
    change = (
        prices.sort_values("day")
        .groupby("question_id")["price"]
        .agg(lambda path: path.iloc[-1] - path.iloc[0])
    )
    towards = pd.Series(outcome).map({"Yes": 1, "No": -1}).reindex(ends["question_id"]).to_numpy()
    for name, values in (
        ("price moved towards the outcome", change.reindex(ends["question_id"]).to_numpy()),
        ("pressure points to the outcome", ends["pressure"].to_numpy()),
    ):
        rows.append(
            measure_share((np.sign(values) == towards).tolist())
            | {"check": name, "whose": "recomputed"}
        )
    return pd.DataFrame(rows)["check whose share low high n n_clusters mde".split()]


def judge_chance(drawn, seen):
    """Return what pushes on days by chance give, beside what was seen: control, what, seen, mean,
    low, high, p, n."""
    rows = []
    for (control, part), what in itertools.product(drawn.groupby("control"), ("n_usable", "share")):
        low, high = part[what].quantile([0.025, 0.975])
        p = (1 + (part[what] >= seen[what]).sum()) / (1 + len(part))  # one-sided: as many or more
        row = {
            "control": control,
            "what": what,
            "seen": seen[what],
            "mean": part[what].mean(),
            "low": low,
        }
        rows.append(row | {"high": high, "p": p if low < high else np.nan, "n": seen["n"]})
    return pd.DataFrame(rows)


def list_pressure(questions, nodes, ends, prices):
    """Return pushes, pressure and price of four questions by day (Figures 3, 7): question, part,
    day, push, value."""
    titles = {row["id"]: row.get("title") or "" for row in questions}
    labels = {
        key: name
        for key in ends["question_id"]
        for word, name in DRAWN.items()
        if word in titles[key]
    }
    pushed = measure_pressure(nodes)
    end_of = ends.set_index("question_id")
    parts = []
    for question in sorted(labels, key=lambda key: list(DRAWN.values()).index(labels[key])):
        about = {"question": labels[question]} | end_of.loc[
            question, ["agrees", "correlation"]
        ].to_dict()
        for part, table in (("pressure", pushed), ("price", order_prices(prices))):
            own = table[table["question_id"] == question]
            parts.append(own.assign(part=part, value=own[part], **about))
    table = pd.concat(parts, ignore_index=True)
    return table.round({"day": 3})["question part day push value agrees correlation".split()]


def count_turns(moves, paths, turns, theirs):
    """Return how turning points and aligned events lie (G.3.1): what, share, low, high, n,
    n_clusters, mde.

    `paths` are (days, prices) and `turns` days of change points by question, `theirs` the points
    that the authors marked: question_id, day.
    """
    theirs = theirs[theirs["question_id"].isin(turns)]
    aligned = moves[moves["is_usable"] & moves["agrees"]].reset_index(drop=True)
    near, at_turn = (
        [
            any(abs(day - other) <= 3 for other in turns[name])
            for name, day in part[["question_id", "day"]].values
        ]
        for part in (theirs, aligned)
    )
    spans = {name: (path[0].min(), path[0].max()) for name, path in paths.items()}
    by_chance = [
        (
            abs(np.asarray(turns[name])[:, None] - np.linspace(*spans[name], 1000)).min(axis=0) <= 3
        ).mean()
        for name in aligned["question_id"]
    ]
    held = pd.DataFrame(
        {"aligned event near a change point": at_turn, "day by chance near one": by_chance},
        dtype=float,
    )
    held["more than by chance"] = held.iloc[:, 0] - held.iloc[:, 1]
    shares = summarize_clustered(held, aligned["question_id"])
    shares.loc[:, ["low", "high"]] = shares[["low", "high"]].clip(-1, 1)
    shares.loc["more than by chance", "mde"] = compute_mde(
        *shares.loc["more than by chance", ["se", "n_clusters"]]
    )
    table = shares.rename(columns={"mean": "share"}).rename_axis("what").reset_index()
    changed = measure_share([len(find_lead_changes(*path)) > 0 for path in paths.values()])
    marked = theirs.groupby("question_id").size().reindex(list(turns), fill_value=0)
    rows = [
        {"what": "question whose lead changed", "n_clusters": changed["n"]} | changed,
        {
            "what": "change points, median of a question",
            "share": np.median([len(one) for one in turns.values()]),
        },
        {"what": "points that the authors marked, median", "share": marked.median()},
        {"what": "of theirs within 3 days of ours", "share": np.mean(near), "n": len(near)},
    ]
    return pd.concat([table, pd.DataFrame(rows)])["what share low high n n_clusters mde".split()]
