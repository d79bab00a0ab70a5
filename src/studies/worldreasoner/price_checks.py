"""Do hindsight's pushes and market prices go the same way? Checked as printed, and against chance
(WorldReasoner appendix D, G.3.1).

`questions` are those of the authors' file of event cards, `nodes` as of `graphs.tabulate_nodes`,
prices as in `prices`. Controls: the same pushes on other days, other questions' events in their
place.
"""

import itertools

import numpy as np
import pandas as pd

from helpers import papers
from helpers.means import measure_share, summarize_clustered
from helpers.paired import compute_mde
from studies.worldreasoner.hindsight.matching import Rules, match_events
from studies.worldreasoner.price_moves import measure_moves, measure_pressure, score_alignment
from studies.worldreasoner.prices import order_prices

DRAWN = {
    "Starship Flight Test 11": "Starship by October 31: Yes",
    "NVIDIA": "NVIDIA beats earnings: Yes",
    "Grand Theft Auto": "Price of Grand Theft Auto VI: No",
    "Putin": "counterexample: Putin meets Zelenskyy: No",
}
"""A word of a question's title -> what it is called here."""
NEAR_DAYS = 3
"""An event this near a change point is at it."""
N_POINTS = 2000
"""Days by chance are drawn from so many, evenly over the span of a question's prices."""


def check_markets(moves, ends, outcome):
    """Return the market checks, printed and recomputed: check, whose, share, low, high, n,
    n_clusters, mde.

    Local moves are clustered by question, and have a minimum detectable effect. The last two rows
    say that resolved prices move towards the outcome.
    """
    printed = papers.load_published("worldreasoner", "intext_dataset")
    printed = printed.set_index("quantity")["value"].astype(float)
    usable = moves[moves["is_usable"]].set_index("question_id")
    local = summarize_clustered(usable[["agrees"]], usable.index.to_series()).loc["agrees"]
    known = ends["correlation"].dropna().sort_values()
    ours = {
        "local move agrees": (usable["agrees"], "event_local_agree_pct", "event_local_n"),
        "final direction agrees": (
            ends.loc[ends["is_comparable"], "agrees"],
            "market_net_direction_agree_pct",
            "market_net_direction_n",
        ),
        "correlation above 0": (known > 0, "market_corr_positive_pct", "market_corr_n"),
    }
    rows = []
    for name, (flags, percent, n) in ours.items():
        hits = round(printed[percent] / 100 * printed[n])
        theirs = np.arange(printed[n]) < hits
        rows.append({"check": name, "whose": "printed"} | measure_share(theirs))
        rows.append({"check": name, "whose": "recomputed"} | measure_share(flags))
    rows[1] |= local[["low", "high", "n_clusters"]].to_dict()
    rows[1]["mde"] = compute_mde(local["se"], local["n_clusters"])
    about = {"check": "median correlation"}
    theirs = {"share": printed["market_corr_median"], "n": int(printed["market_corr_n"])}
    rows.append(about | {"whose": "printed"} | theirs)
    # 98%: fourth to thirteenth of 16
    middle = {"share": known.median(), "low": known.iloc[3], "high": known.iloc[-4]}
    rows.append(about | {"whose": "recomputed", "n": len(known)} | middle)
    side = ends["question_id"].map(outcome).map({"Yes": 1, "No": -1})
    signs = {
        "price moved towards the outcome": ends["change"],
        "pressure points to the outcome": ends["pressure"],
    }
    for name, values in signs.items():
        share = measure_share(np.sign(values) == side)
        rows.append({"check": name, "whose": "recomputed"} | share)
    return pd.DataFrame(rows)["check whose share low high n n_clusters mde".split()]


def list_pressure(questions, nodes, ends, prices):
    """Return pushes, pressure and price of four questions by day (Figures 3, 7): question, part,
    day, push, value."""
    titles = {row["id"]: row.get("title") or "" for row in questions}
    ends = ends.set_index("question_id")
    tables = {"pressure": measure_pressure(nodes), "price": order_prices(prices)}
    parts = []
    for word, name in DRAWN.items():
        for key in [key for key in ends.index if word in titles[key]]:
            about = {"question": name} | ends.loc[key, ["agrees", "correlation"]].to_dict()
            for part, table in tables.items():
                own = table[table["question_id"] == key]
                parts.append(own.assign(part=part, value=own[part], **about))
    table = pd.concat(parts, ignore_index=True)
    return table.round({"day": 3})["question part day push value agrees correlation".split()]


def count_turns(moves, paths, turns, theirs):
    """Return how turning points and aligned events lie (G.3.1): what, share, low, high, n,
    n_clusters, mde.

    `paths` are (days, prices) and `turns` days of change points by question, `theirs` the points
    that the authors marked: question_id, day.
    """

    def are_near(question, days):
        gaps = np.abs(np.asarray(days)[:, None] - np.asarray(turns[question]))
        return (gaps <= NEAR_DAYS).any(axis=1)

    aligned = moves[moves["is_usable"] & moves["agrees"]]
    held = []
    for question, days in aligned.groupby("question_id")["day"]:
        path = paths[question][0]
        by_chance = are_near(question, np.linspace(path.min(), path.max(), 1000)).mean()
        held += [(question, at_turn, by_chance) for at_turn in are_near(question, days)]
    told = ["aligned event near a change point", "day by chance near one"]
    held = pd.DataFrame(held, columns=["question_id", *told]).set_index("question_id").astype(float)
    held["more than by chance"] = held[told[0]] - held[told[1]]
    shares = summarize_clustered(held, held.index.to_series(), ends=(-1, 1))
    last = shares.loc["more than by chance"]
    shares.loc["more than by chance", "mde"] = compute_mde(last["se"], last["n_clusters"])
    table = shares.rename(columns={"mean": "share"}).rename_axis("what").reset_index()
    theirs = theirs[theirs["question_id"].isin(turns)].groupby("question_id")["day"]
    near = np.concatenate([are_near(question, days) for question, days in theirs])
    marked = theirs.size().reindex(list(turns), fill_value=0).median()
    rows = [
        ("change points, median of a question", np.median([len(one) for one in turns.values()])),
        ("points that the authors marked, median", marked),
        ("of theirs within 3 days of ours", near.mean(), len(near)),
    ]
    table = pd.concat([table, pd.DataFrame(rows, columns=["what", "share", "n"])])
    return table["what share low high n n_clusters mde".split()]


def draw_days(nodes, prices, rng, n_draws=1000):
    """Return what pushes on days by chance give beside what was seen: control, what, seen, mean,
    low, high, p (one-sided: as much or more), n (pushes within the spans).

    Pushes dated within the span of their question's prices count. "All of a question moved
    together" (round the span, so that they keep their distances) and "each on a day by chance" say
    how many usable moves (n_usable) the dates earn. "On days by chance that can be used", as many
    usable moves as there are, each on a day on which its question's price moves enough, says how
    often signs agree (share) wherever prices move.
    """
    pushes = measure_moves(nodes, prices)
    spans = order_prices(prices).groupby("question_id")["day"].agg(["min", "max"])
    spans = spans[spans["max"] > spans["min"]]
    pushes = pushes.join(spans, on="question_id", how="inner")
    pushes["place"] = (pushes["day"] - pushes["min"]) / (pushes["max"] - pushes["min"])
    pushes = pushes[pushes["place"].between(0, 1)]
    codes, names = pd.factorize(pushes["question_id"], sort=True)
    signs = sign_days(spans.loc[names], prices)
    moving = [np.flatnonzero(row) for row in signs]
    usable = pushes["is_usable"].to_numpy()
    own = pushes["sign"].to_numpy()[usable]
    points = np.minimum((pushes["place"].to_numpy() * N_POINTS).astype(int), N_POINTS - 1)
    rows = []
    for _ in range(n_draws):
        alone = rng.integers(N_POINTS, size=len(pushes))
        together = (points + rng.integers(N_POINTS, size=len(names))[codes]) % N_POINTS
        drawn = np.array([rng.choice(moving[code]) for code in codes[usable]], dtype=int)
        counts = [(signs[codes, days] != 0).sum() for days in (together, alone)]
        rows.append((*counts, (signs[codes[usable], drawn] == own).mean()))
    seen = usable.sum(), usable.sum(), pushes.loc[usable, "agrees"].mean()
    rows = np.array(rows, dtype=float)
    low, high = np.quantile(rows, [0.025, 0.975], axis=0)
    p = (1 + (rows >= seen).sum(axis=0)) / (1 + n_draws)
    table = {
        "control": [
            "all of a question moved together",
            "each on a day by chance",
            "on days by chance that can be used",
        ],
        "what": ["n_usable", "n_usable", "share"],
        "seen": seen,
        "mean": rows.mean(axis=0),
    }
    return pd.DataFrame(table | {"low": low, "high": high, "p": p, "n": len(pushes)})


def sign_days(spans, prices):
    """Return the sign of the usable move around each of `N_POINTS` days of each question's span,
    else 0: questions x days."""
    steps = (np.arange(N_POINTS) + 0.5) / N_POINTS
    first, last = (spans[end].to_numpy()[:, None] for end in ("min", "max"))
    days = first + (last - first) * steps
    table = {"question_id": np.repeat(spans.index, N_POINTS), "day": days.ravel()}
    table = pd.DataFrame(table).rename_axis("node_id").reset_index()
    moves = measure_moves(table.assign(sign=1, impact=1.0), prices).sort_values("node_id")
    signs = np.sign(moves["move"]).where(moves["is_usable"], 0)
    return signs.to_numpy(int).reshape(days.shape)


def score_strangers(cards, moves, matchers, gates):
    """Return what other questions' cards earn in market recall and precision (Table 11): measure,
    matcher, gate, mean, low, high, n, n_near, n_cards.

    Each question's cards stand as the forecast of the question so many places on, for every such
    shift; a question's recall and precision are the mean over its shifts, the interval is over
    questions. `matchers` and `gates` are arguments of `matching.Rules` by name. n_near is how many
    of the n_cards stand within the gate's days of one that they face, in the mean of shifts.
    """
    questions = sorted(cards["question_id"].unique())
    asked = pd.DataFrame({"run_id": "another story", "question_id": questions})
    found = []
    near = []
    for shift in range(1, len(questions)):
        whose = dict(zip(questions, questions[shift:] + questions[:shift], strict=True))
        said = cards.assign(run_id="another story", question_id=cards["question_id"].map(whose))
        faced = match_events(cards, said, Rules(threshold=-1.0, n_candidates=None))
        near.append(faced["forecast_id"].nunique())
        for (matcher, given), (gate, limits) in itertools.product(matchers.items(), gates.items()):
            pairs = match_events(cards, said, Rules(**given, **limits))
            scored = score_alignment(moves, pairs, said, asked)
            found.append(scored.assign(matcher=matcher, gate=gate))
    keys = ["matcher", "gate"]
    means = pd.concat(found).groupby([*keys, "question_id"], sort=False)[["recall", "precision"]]
    wide = means.mean().unstack(keys)
    table = summarize_clustered(wide, ends=(0, np.inf)).rename_axis(["measure", *keys])
    table = table.reset_index().assign(n_near=np.mean(near), n_cards=len(cards))
    return table["measure matcher gate mean low high n n_near n_cards".split()]
