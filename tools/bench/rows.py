"""The bench's own rows, by name: python tools/bench/rows.py NAME N [SECONDS]; inputs are
synthetic."""

import asyncio
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from measuring import draw_factors, measure, serve, write_texts

AT_ONCE = 50
"""Questions at once."""


def ask(n, latency_s):
    """Questions to a model, every request, reply and prediction stored durably."""
    from daybefore.agents.registry import check_agent, connect_agent
    from daybefore.agents.run_loop import run_agents
    from daybefore.models.client import open_door
    from daybefore.models.pace import Pace

    rows = [
        {"event_id": f"e{at}", "prompt": f"Will synthetic event {at} come about?"}
        for at in range(n)
    ]
    same = {
        "kind": "single",
        "options": '{"A": "Yes", "B": "No"}',
        "as_of": "2026-01-01T00:00:00+08:00",
    }
    same |= {"source_id": "s", "level": 1, "resolution_criteria": "as reported", "metadata": None}
    events = pd.DataFrame(rows).assign(**same)
    path = Path(os.environ["DAYBEFORE_OUT"]) / "data/runs/store.sqlite"
    with serve(latency_s) as address:
        pace, connection = Pace(AT_ONCE), {"api_base": address}
        door = open_door("bench", live=True, connection=connection, environment={}, pace=pace)
        agent = connect_agent(check_agent("bench", {"model": "openai/bench"} | connection), door)
        given = {"window": "A", "workers": pace, "progress": False}
        measure(lambda: len(run_agents({"bench": agent}, events, dict, path, **given)))


def litellm(n, latency_s):
    """The same requests by litellm's asynchronous client and a semaphore; nothing is stored."""
    from daybefore.models.transport import load_litellm

    client = load_litellm()

    async def ask_all(address):
        turns = asyncio.Semaphore(AT_ONCE)

        async def ask_one(at):
            async with turns:
                messages = [{"role": "user", "content": f"Will synthetic event {at} come about?"}]
                await client.acompletion("openai/bench", messages, api_base=address, api_key="none")

        await asyncio.gather(*map(ask_one, range(n)))

    with serve(latency_s) as address:
        measure(lambda: asyncio.run(ask_all(address)))


def look_ups(n, workers):
    """Searches of the replay, as of ten days, between turns of a model of 0.1 s, so many questions
    at once."""
    from daybefore.web.replay import open_world

    with open_world() as opener:
        world, waited = opener(), []
        days = [f"2016-10-{day}T00:00:00+08:00" for day in range(10, 20)]
        for day in days:
            world.search("oil", day)

        def look(at):
            time.sleep(0.1)
            began = time.perf_counter()
            world.search(f"price {at} oil temperature", days[at % 10])
            waited.append(time.perf_counter() - began)

        def look_all():
            with ThreadPoolExecutor(int(workers)) as pool:
                list(pool.map(look, range(n)))
            return {"waiting_s": float(np.mean(waited))}

        measure(look_all)


def missing(n):
    """Trials of missing predictions (Figure 16), of eight agents with 1,000 scores."""
    from studies.futurex.missing_predictions import simulate_std

    scores = pd.DataFrame(np.random.default_rng(1).random((1000, 8))).add_prefix("agent ")
    measure(lambda: simulate_std(scores, np.random.default_rng(2), n_trials=n))


def regress(n):
    """Factor regression (Figure 11) with errors clustered by event."""
    from studies.futurex.factors import fit_factors, tabulate_effects

    rows = draw_factors(n)
    measure(lambda: tabulate_effects(fit_factors(rows)))


def match(n):
    """Pairs of a forecast's and a hindsight event (WorldReasoner 5.1): 100 x 300 a question."""
    from studies.worldreasoner.hindsight.matching import match_events

    def draw(n_own, seed, **about):
        at = np.arange(n // 30_000 * n_own)
        days = np.random.default_rng(seed).integers(0, 30, len(at)).astype(float)
        texts = write_texts(len(at), seed=seed)
        told = {
            "question_id": [f"q{one // n_own}" for one in at],
            "node_id": [f"n{one}" for one in at],
        }
        return pd.DataFrame(told | {"text": texts, "day": days} | about)

    seen = draw(100, 1, is_outcome=False)
    said = draw(300, 2, run_id="r")
    measure(lambda: match_events(seen, said))


def score(n):
    """Predictions of probabilities by 1,000 agents, scored by accuracy and Brier."""
    from helpers.scores import score_predictions

    event = [f"e{at}" for at in range(n // 1000)]
    events = pd.DataFrame(
        {"event_id": event, "kind": "single", "level": 1, "options": '{"A":"Yes","B":"No"}'}
    )
    answers = pd.DataFrame({"event_id": event, "value": '"A"', "status": "ok"})
    rows = pd.MultiIndex.from_product(
        [[f"r{at}" for at in range(1000)], event], names=["run_id", "event_id"]
    )
    said = pd.DataFrame(index=rows).reset_index()
    chance = np.random.default_rng(1).random(len(said)).round(3)
    said = said.assign(sample=0, status="ok", value='"A"', agent_id=said["run_id"])
    said["distribution"] = [f'{{"A":{one},"B":{1 - one:.3f}}}' for one in chance]
    measure(lambda: score_predictions(said, answers, events))


def search(n):
    """A hundred queries to an index of passages, made first."""
    from daybefore.web.search import count_words, weigh_passages, weigh_words

    texts, queries = write_texts(n, 40), write_texts(100, 5, seed=9)

    def search_all():
        weighed, ages = weigh_words(count_words(texts)), [0] * n
        for query in queries:
            np.argsort(-weigh_passages(weighed, ages, query), kind="stable")[:10]

    measure(search_all)


def load(n):
    """Forecasts of 1,000 agents in a long csv, read and checked as `make add` does."""
    from daybefore.formats.forecast_files import read_forecasts

    rng, at = np.random.default_rng(1), np.arange(n)
    rows = pd.DataFrame({"question_id": at // 1000, "agent": at % 1000, "outcome": at // 1000 % 2})
    path = Path(os.environ["DAYBEFORE_OUT"]) / "forecasts.csv"
    rows.assign(agent="a" + rows["agent"].astype(str), probability=rng.random(n).round(4)).to_csv(
        path, index=False
    )
    measure(lambda: read_forecasts([path]))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DAYBEFORE_OUT"] = folder
        globals()[sys.argv[1]](int(sys.argv[2]), *map(float, sys.argv[3:]))
