"""A made-up world whose causes are planted: series that push one another, agents that see it, or see too much.

Synthetic throughout: it shows that the measures find what is there, and nothing about the world.
"""

import numpy as np
import pandas as pd

from helpers.questions.moments import number_days, place_forecast
from helpers.worldreasoner.builder import build_graph, judge_lags
from helpers.worldreasoner.graphs import correct_edges

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


def is_planted(cause, effect):
    """Say whether one series pushes another, at once or by way of those between.

    >>> [is_planted("rainfall", to) for to in ("ferry delays", "print jobs")] + [is_planted("ferry delays", "rainfall")]
    [True, False, False]
    """
    return {cause, effect} <= set(CHAIN) and CHAIN.index(cause) < CHAIN.index(effect)


def judge_edges(graph, series):
    """Return, for each edge between events, whether it is planted; `series` names those behind a node, as sets by id.

    Edges too weak to count, to the outcome, or with an end behind which no series is known are left out.
    """
    edges = [edge for edge in correct_edges(graph)[0]["edges"] if edge["effect"] != graph["outcome_id"]]
    ends = [(series.get(edge["cause"], set()), series.get(edge["effect"], set())) for edge in edges]
    return [
        any(is_planted(one, two) for one in causes for two in effects) for causes, effects in ends if causes and effects
    ]


def forecast_events(question, nodes, horizon, agent, rng, n_guesses=4):
    """Return the events an agent's graph names: run_id, question_id, node_id, text, day; as of the horizon's day.

    `nodes` are the question's (`graphs.tabulate_nodes`). An honest agent names what had happened, in words of its own
    (it drops some), and guesses what may come; the one that copies names what came after as well, word by word, or as
    its row of `COPIERS` says.
    """
    as_of = number_days(place_forecast(question["opens_at"], question["resolves_at"], horizon))
    end = number_days(question["resolves_at"])
    seen = nodes[(nodes["day"] < as_of) & ~nodes["is_outcome"]]
    rows = [(_drop_words(text, rng), day) for text, day in zip(seen["text"], seen["day"], strict=True)]
    for _ in range(n_guesses):
        rows.append((f"{rng.choice(CHAIN)} {rng.choice(['rises', 'falls'])}: record", float(rng.integers(as_of, end))))
    if agent in COPIERS:
        drop, shift = COPIERS[agent]
        later = nodes[(nodes["day"] >= as_of) & ~nodes["is_outcome"]]
        texts = [_drop_words(text, rng, drop) if drop else text for text in later["text"]]
        rows += list(zip(texts, later["day"] + shift, strict=True))
    table = pd.DataFrame(rows, columns=["text", "day"])
    about = {"run_id": f"{agent} {horizon}", "question_id": question["question_id"], "as_of": as_of}
    return table.assign(node_id=[f"f{at}" for at in range(len(table))], **about)


def _drop_words(text, rng, share=0.15):
    return " ".join(word for word in text.split() if rng.random() > share)


def draw_memory(rng, n_questions=120):
    """Return answers of agents that know what happened before their cutoff: model, question_id, opens_at, is_right.

    Beyond its cutoff a model is right half of the time, before it nine times of ten; a third model has no cutoff in its
    papers and no memory.
    """
    opens = pd.Timestamp("2024-07-01") + pd.to_timedelta(rng.integers(0, 540, n_questions), unit="D")
    rows = []
    for model, cutoff in (
        ("recalls to 2025-01", "2025-01"),
        ("recalls to 2025-08", "2025-08"),
        ("says no cutoff", None),
    ):
        knows = opens < pd.Timestamp(cutoff) if cutoff else np.zeros(n_questions, dtype=bool)
        right = rng.random(n_questions) < np.where(knows, 0.9, 0.5)
        rows.append(pd.DataFrame({"question_id": range(n_questions), "opens_at": opens, "is_right": right}))
        rows[-1] = rows[-1].assign(model=model, cutoff=cutoff)
    return pd.concat(rows, ignore_index=True)
