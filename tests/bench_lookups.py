"""What looking up costs a question, one at a time and eight at once: tests/bench_lookups.py [ROUNDS [N]] (not a test).

Agents that look up what they ask about are put to N questions (40, over 14 days), as `daybefore run` does it, with a
mock provider that answers after 0.3 s. The kit's part is a question's seconds less those the model took, with what it
waits for others; the look-ups' part is what searching and opening take of it, and at eight at once is to be at most 1.5
times what it is at one. Rounds are
interleaved, as a machine's load changes; CPU seconds are those of this process.
"""

import os
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from bench_llm import MODEL, start_provider

from helpers.agents.prompted import Client, ask_directly, forecast
from helpers.agents.prompts import fill_prompt
from helpers.agents.runs import run_agents, sample_events
from helpers.agents.searching import ask_with_pages, call_tool
from helpers.models.llm import ask, open_door
from helpers.models.transport import load_litellm
from helpers.store import read_runs, read_table
from helpers.web.replay import open_world

LATENCY_S = 0.3


def ask_three_times(transcript, event, world):
    """Search, ask, search again, ask, open what was found, ask: what an agent of several steps does."""
    ask_with_pages(transcript, event, world)
    call_tool(transcript, world, event, "search", {"query": event["resolution_criteria"]})
    prompt = fill_prompt(event)
    transcript.ask([{"role": "user", "content": f"{prompt} And now?"}])
    url = event["resolution_criteria"].split("http://")[-1].split()[0].rstrip(".,;")
    call_tool(transcript, world, event, "open", {"address": f"http://{url}"})
    return transcript.ask([{"role": "user", "content": f"{prompt} And so?"}])


WAYS = {
    "no look-up, one request": ask_directly,
    "one look-up, one request": ask_with_pages,
    "three look-ups, three requests": ask_three_times,
}


class Timed:
    """A world that counts the seconds its look-ups take."""

    def __init__(self, world):
        self.world, self.seconds = world, []

    def __getattr__(self, name):
        return getattr(self.world, name)

    def search(self, *arguments):
        return self.time(self.world.search, *arguments)

    def open(self, *arguments):
        return self.time(self.world.open, *arguments)

    def time(self, look, *arguments):
        started = time.perf_counter()
        try:
            return look(*arguments)
        finally:
            self.seconds.append(time.perf_counter() - started)


def run_once(opener, events, answer, workers, address):
    """Return a new run's mean seconds a question of look-ups, the kit and waiting; its CPU seconds, seconds in all."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DAYBEFORE_OUT"] = folder
        door = open_door("bench", live=True, connection={"api_base": address})
        ask(door, MODEL, [{"role": "user", "content": "first"}])
        agent = {"forecast": partial(forecast, answer, Client(door, MODEL))}
        path, started, cpu = Path(folder) / "ledger.sqlite", time.perf_counter(), time.process_time()
        world, options = Timed(opener()), {"workers": workers, "tries_first": True}
        run_agents({"mock": agent}, events, lambda: world, path, window="A", **options)
        spent = time.process_time() - cpu, time.perf_counter() - started
        door.recordings.close()
        replies = read_runs(path, "replies", timings=True)
    assert set(replies["status"]) <= {"ok", "unparsable"}, set(replies["reason"])
    own = (replies["duration_s"] - replies["model_s"]).mean()
    return sum(world.seconds) / len(events), own, *spent


def main(rounds=3, n=40):
    """Print, for each way and number at once, the median over rounds, and how much more look-ups take at eight."""
    load_litellm()
    events = sample_events(read_table("events", "A"), n, seed=1)
    with open_world() as opener, start_provider(LATENCY_S) as address:
        opener().search("rain", events["as_of"].min(), 1)  # the server's rows are read, the libraries imported
        runs = {(way, at_once): [] for way in WAYS for at_once in (1, 8)}
        for _ in range(rounds):
            for way, at_once in runs:
                runs[way, at_once].append(run_once(opener, events, WAYS[way], at_once, address))
    for way in WAYS:
        for at_once in (1, 8):
            looks, own, cpu, whole = map(statistics.median, zip(*runs[way, at_once], strict=True))
            print(
                f"{way}, {at_once} at once: look-ups {1000 * looks:.0f} ms a question, the kit {1000 * own:.0f} ms, "
                f"CPU {1000 * cpu / n:.0f} ms; {whole:.1f} s in all"
            )
        ratios = [eight[0] / one[0] for one, eight in zip(runs[way, 1], runs[way, 8], strict=True) if one[0]]
        if ratios:
            print(f"look-ups at eight at once: {statistics.median(ratios):.2f} times those at one")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
