"""A made-up world whose causes are planted: series that push one another, agents that see it, or see too much.

Synthetic throughout: it shows that the measures find what is there, and nothing about the world.
"""

import numpy as np
import pandas as pd

from helpers.events.moments import number_days, place_forecast
from helpers.worldreasoner.hindsight.builder import build_graph, judge_lags

CHAIN = ("rainfall", "river level", "ferry delays", "ticket refunds")
"""Each pushes the next, the day after; the last is what is asked about."""
OTHERS = ("moth counts", "print jobs")
"""Series that nothing pushes and that push nothing."""
FIRST, N_DAYS = pd.Timestamp("2026-01-01"), 120
COPIERS = {
    "copies": (0.0, 0),
    "copies, 15% of words dropped": (0.15, 0),
    "copies, 30% of words dropped": (0.30, 0),
    "copies, a day later": (0.0, 1),
    "copies, dropped and later": (0.15, 1),
}
"""Agents that name what comes after: share of the words dropped, days by which they are off."""
PUSHES = ("directly", "through others", "not planted")
"""How one series pushes another: the day after, by way of those between, or not at all."""
N_BURN = 80
"""Days before a question opens."""
SHOCK, NOISE, PULL = 8.0, 1.0, 0.9


def draw_series(rng, n_shocks=10):
    """Return daily series: shocks reach the chain's first and each of the others a day after the one before it.

    >>> draw_series(np.random.default_rng(0)).shape
    (120, 6)
    """
    steps = rng.normal(0, NOISE, (N_DAYS, len(CHAIN) + len(OTHERS)))
    for name in (0, *range(len(CHAIN), steps.shape[1])):
        steps[rng.choice(N_DAYS - 8, n_shocks, replace=False), name] += rng.choice([-SHOCK, SHOCK], n_shocks)
    for at in range(1, len(CHAIN)):
        steps[1:, at] += PULL * steps[:-1, at - 1]
    return pd.DataFrame(steps.cumsum(axis=0), pd.date_range(FIRST, periods=N_DAYS), [*CHAIN, *OTHERS])


def draw_question(question_id, rng):
    """Return a question on a drawn world: question_id, opens_at, resolves_at, answer, values, tests, graph.

    Will the last of the chain stand above its value of the opening day at the end? All ordered pairs are tested.
    """
    values, opens, closes = draw_series(rng), FIRST + pd.Timedelta(days=N_BURN), FIRST + pd.Timedelta(days=N_DAYS - 1)
    tests = judge_lags(values, [(one, two) for one in values for two in values if one != two])
    cut, asked = float(values.loc[opens, CHAIN[-1]]), CHAIN[-1]
    answer = "Yes" if values.loc[closes, asked] > cut else "No"
    outcome = {"series": asked, "title": f"{asked} end above {cut:.0f}: {answer}", "day": closes, "opens_at": opens}
    graph = build_graph(question_id, values, tests, outcome, {asked: [cut]})
    return {"question_id": question_id, "opens_at": opens, "resolves_at": closes, "answer": answer} | {
        "values": values, "tests": tests, "graph": graph,
    }  # fmt: skip


def name_push(cause, effect):
    """Say how one series pushes another: a word of `PUSHES`.

    >>> [name_push("rainfall", to) for to in ("river level", "ferry delays", "print jobs")]
    ['directly', 'through others', 'not planted']
    >>> name_push("ferry delays", "rainfall")
    'not planted'
    """
    if not {cause, effect} <= set(CHAIN):
        return PUSHES[2]
    ahead = CHAIN.index(effect) - CHAIN.index(cause)
    return PUSHES[0] if ahead == 1 else PUSHES[1] if ahead > 1 else PUSHES[2]


def forecast_events(question, nodes, horizon, agent, rng, n_guesses=4):
    """Return the events an agent's graph names: run_id, question_id, node_id, of_id, text, day, as_of.

    `of_id` is the node an event tells of, None of a guess. `nodes` are the question's (`graphs.tabulate_nodes`). An
    honest agent names what had happened, in words of its own (it drops some), and guesses what may come; the one that
    copies names what came after as well, word by word, or as its row of `COPIERS` says.
    """

    def drop_words(text, share):
        return " ".join(word for word in text.split() if rng.random() > share)

    as_of = number_days(place_forecast(question["opens_at"], question["resolves_at"], horizon))
    end, told = number_days(question["resolves_at"]), nodes[~nodes["is_outcome"]]
    seen, later = told[told["day"] < as_of], told[told["day"] >= as_of]
    rows = [(drop_words(row.text, 0.15), row.day, row.node_id) for row in seen.itertuples()]
    for _ in range(n_guesses):
        text = f"{rng.choice(CHAIN)} {rng.choice(['rises', 'falls'])}: record"
        rows.append((text, float(rng.integers(as_of, end)), None))
    if agent in COPIERS:
        drop, shift = COPIERS[agent]
        texts = [drop_words(text, drop) if drop else text for text in later["text"]]
        rows += list(zip(texts, later["day"] + shift, later["node_id"], strict=True))
    table = pd.DataFrame(rows, columns=["text", "day", "of_id"])
    about = {"run_id": f"{agent} {horizon}", "question_id": question["question_id"], "as_of": as_of}
    return table.assign(node_id=[f"f{at}" for at in range(len(table))], **about)


def judge_matches(pairs, hindsight, forecasts):
    """Return the matches chosen one to one, with what they are: is_own (of the event it tells of), is_false.

    `pairs` as of `matching.match_events`, `forecasts` as of `forecast_events`, `hindsight` its nodes. A guess tells of
    no event: its match is false where the series or the direction is another.

    >>> seen = pd.DataFrame({"question_id": "q", "node_id": ["h"], "text": ["rainfall rises: record. On"]})
    >>> said = pd.DataFrame({"run_id": "r", "question_id": "q", "node_id": ["f", "g"], "of_id": ["i", None]})
    >>> said["text"] = ["rainfall rises", "rainfall rises: record"]
    >>> pairs = pd.DataFrame({"run_id": "r", "question_id": "q", "forecast_id": ["f", "g"], "hindsight_id": "h"})
    >>> judge_matches(pairs.assign(is_kept=True), seen, said)[["is_own", "is_false"]].values.tolist()
    [[False, True], [False, False]]
    """
    own = forecasts.rename(columns={"node_id": "forecast_id", "text": "said"})
    own = own[["run_id", "question_id", "forecast_id", "of_id", "said"]]
    seen = hindsight[["question_id", "node_id", "text"]].rename(columns={"node_id": "hindsight_id"})
    table = pairs[pairs["is_kept"].astype(bool)].merge(own, on=["run_id", "question_id", "forecast_id"])
    table = table.merge(seen, on=["question_id", "hindsight_id"])
    is_own, is_guess = table["of_id"].eq(table["hindsight_id"]), table["of_id"].isna()
    alike = [said.split(":")[0] == text.split(":")[0] for said, text in zip(table["said"], table["text"], strict=True)]
    return table.assign(is_own=is_own, is_false=~np.where(is_guess, alike, is_own)).drop(columns=["said", "text"])


def share_matches(judged, forecasts):
    """Return, by question, the share of told events that are matched with their own, and of matches that are false.

    Columns hits and false, a row a question; `judged` as of `judge_matches`.
    """
    n_told = forecasts[forecasts["of_id"].notna()].groupby("question_id").size()
    by_question = judged.groupby("question_id")
    hits = by_question["is_own"].sum().reindex(n_told.index, fill_value=0) / n_told
    return pd.DataFrame({"hits": hits, "false": by_question["is_false"].mean()})


def draw_memory(rng, n_questions=120):
    """Return answers of agents that know what happened before their cutoff: model, question_id, opens_at, is_right.

    Beyond its cutoff a model is right half of the time, before it nine times of ten; a third model has no cutoff in its
    papers and no memory.
    """
    opens = pd.Timestamp("2024-07-01") + pd.to_timedelta(rng.integers(0, 540, n_questions), unit="D")
    cutoffs, rows = {"recalls to 2025-01": "2025-01", "recalls to 2025-08": "2025-08", "says no cutoff": None}, []
    for model, cutoff in cutoffs.items():
        knows = opens < pd.Timestamp(cutoff) if cutoff else np.zeros(n_questions, dtype=bool)
        right = rng.random(n_questions) < np.where(knows, 0.9, 0.5)
        table = pd.DataFrame({"question_id": range(n_questions), "opens_at": opens, "is_right": right})
        rows.append(table.assign(model=model, cutoff=cutoff))
    return pd.concat(rows, ignore_index=True)
