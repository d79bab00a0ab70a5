"""Put agents to events: every agent answers every event once, on its start day (FutureX 3.2.3).

Each answer is stored as it comes, so a run that was killed continues where it was. A reply is
final; an accident (a connection, a server, an exception) and what a ceiling kept from being asked
are asked by the next run.

An agent is a dict: `forecast`, a function `(event, world) -> outcome`, beside any columns of the
runs table; `world`, which `opener` gives, is the only way to what was published. The outcome is a
dict: `prediction` (columns of the predictions table), and optionally `reply` (by default the
prediction as JSON), `status` (of tables.REPLY_STATUSES), `reason`, `trace` (a list of columns of
the traces table), token counts, `cost_usd` and `finish_reason`.
"""

import importlib.metadata
import re
import statistics
from collections import Counter
from contextlib import closing
from functools import cache

from tqdm import tqdm

from daybefore.agents.ask_questions import (
    Stopped,
    Watch,
    ask_all,
    check_columns,
    stop_on_signal,
    to_cell,
)
from daybefore.agents.python_functions import hash_own, make_agent
from daybefore.agents.when_asked import SEES_TODAY, fill_asked
from daybefore.models.client import DEADLINE_S
from daybefore.store import (
    ACCIDENTS,
    close_run,
    insert_row,
    list_done,
    name_problem,
    open_store,
    save_questions,
    sum_costs,
)
from helpers.files import dump_json, hash_text, parse_json
from helpers.input_faults import check_name

METHOD_VERSIONS = {}
"""Method of the kit's own -> its number, where that is no longer 1: raise it when a change of the
code changes what the method answers or asks. Nothing else of the code renames a run."""

PACKAGES = ("litellm", "numpy", "pandas", "scikit-learn", "scipy", "statsmodels")
"""Libraries whose versions a run records."""

OWN_SEARCH = re.compile(
    r"web_?search|google_?search|grounding|live_?search|search_parameters|web_?fetch|url_?context|\"id\": ?\"web\"|"
    r"perplexity/|sonar|search-preview|search-api|deep-research|:online\b|/compound",
    re.IGNORECASE,
)
"""How the options of such a provider read, and the names of models that search unasked."""


def order_events(events, seed=0):
    """Return an events table in the order in which a sample draws it: by turns from each level,
    there by a hash.

    It is that of seed and event_id, so that the sample of 20 is part of that of 40, whatever other
    events there are.
    """
    draws = [hash_text(f"{seed}:{event_id}", 16) for event_id in events["event_id"]]
    order = events.assign(draw=draws, place=range(len(events))).sort_values(["draw", "event_id"])
    order["turn"] = order.groupby("level", dropna=False).cumcount()
    return events.iloc[order.sort_values(["turn", "level", "draw"])["place"]]


def sample_events(events, n, seed=0):
    """Return a sample of `n` events, shared equally by the levels as far as each has enough, in the
    order of the table.

    Samples of one seed are nested (`order_events`). Raises ValueError when n is not positive.

    >>> import pandas as pd
    >>> events = pd.DataFrame({"event_id": list("abcdef"), "level": [1, 1, 1, 1, 1, 2]})
    >>> list(sample_events(events, 4).level)
    [1, 1, 1, 2]
    """
    if n < 1:
        raise ValueError(f"the number of events must be positive, not {n}")
    return events[events["event_id"].isin(order_events(events, seed)["event_id"].iloc[:n])]


def describe_run(agent_id, agent, events, *, window, deadline_s):
    """Return the row of the runs table; its run_id changes with the agent's columns, the events and
    the code.

    The code is a number of the method (`METHOD_VERSIONS`), or the digest of a function of your own.
    Raises ValueError when the agent has a key that is neither `forecast`, `asked` nor a column of
    the runs table (what has none goes into `params`), or its name cannot become a file's.
    """
    check_name("agent", agent_id)
    if sees_today(agent):
        agent = agent | {"condition": "; ".join(filter(None, [agent.get("condition"), SEES_TODAY]))}
    given = {
        key: to_cell(value) for key, value in agent.items() if key not in ("forecast", "asked")
    }
    check_columns("runs", given)
    asked = fill_asked(given | (agent.get("asked") or {}))
    method = (agent.get("params") or {}).get("method")
    code_version = hash_own(agent["forecast"]) or str(METHOD_VERSIONS.get(method, 1))
    rows = events.sort_values("event_id").to_csv(index=False, lineterminator="\n")
    identity = dump_json([agent_id, given, hash_text(rows), code_version])
    return (
        given
        | asked._asdict()
        | {
            "run_id": f"{agent_id}-{window}-{hash_text(identity, 8)}",
            "question_set": window,
            "agent_id": agent_id,
            "time_limit_s": deadline_s,
            "code_version": code_version,
            "packages": list_packages(),
            "status": "partial",
        }
    )


@cache
def list_packages():
    """Return the versions of `PACKAGES` here, as JSON."""
    return dump_json([f"{name}=={importlib.metadata.version(name)}" for name in PACKAGES])


def sees_today(agent):
    """Say whether an agent's search is its provider's own, of today's web: by a job, an option, its
    model."""
    params = agent.get("params") or {}
    told = dump_json([agent.get("model"), params.get("options") or {}])
    return params.get("method") == "deep_research" or bool(OWN_SEARCH.search(told))


def list_tasks(runs, events, done, samples):
    """Return the questions still to be asked, ((run_id, agent_id), event), by sample, day, source
    (a page each), event.

    `done` maps run_id to (event_id, sample); an event stands once for each of its samples, from 1
    on as its column.
    """
    rows = events.sort_values(["as_of", "source_id", "event_id"]).to_dict("records")
    rows = [{column: to_cell(value) for column, value in row.items()} for row in rows]
    asked = [(event | {"sample": n} if n else event, n) for n in samples for event in rows]
    return [
        (run, event)
        for event, n in asked
        for run in runs
        if (event["event_id"], n) not in done[run[0]]
    ]


def run_agents(
    agents,
    events,
    opener,
    ledger_path,
    *,
    window,
    drawn_from=None,
    deadline_s=DEADLINE_S,
    workers=2,
    progress=True,
    again=ACCIDENTS,
    max_accidents=None,
    tries_first=False,
    samples=(0,),
):
    """Put every agent to every event and store what comes; returns {agent_id: run_id}.

    `agents` maps agent_id to an agent (see the module's text) or to a function of your own (see
    `python_functions`); `opener` is called once and gives the world. Baselines answer in turn; of the
    others' questions as many as `workers`, a number or a `models.pace.Pace`, are under way at once,
    each for `deadline_s` seconds at most (3.2.3).

    What the store holds is not asked again, refusals and timeouts neither; a reply whose status is
    one of `again` is none. Each event is asked once for each of `samples`. After `max_accidents` in
    a row, at a ceiling, or at Ctrl-C (SIGINT, SIGTERM) no further question is asked, those under
    way are stored as they end, and Stopped is raised; with `tries_first` also when the first
    question, which then goes alone, has no reply. A second Ctrl-C raises KeyboardInterrupt at once.
    Where `events` is a sample, `drawn_from` is the table it was drawn from: the run is named after
    the whole, and continued by a larger sample. `progress` shows a bar, on a terminal only. The
    environment's keys are hidden in what is stored.
    """
    agents = {
        name: make_agent(agent) if callable(agent) else agent
        for name, agent in sorted(agents.items())
    }
    whole = events if drawn_from is None else drawn_from
    settings = {"window": window, "deadline_s": deadline_s}
    runs = [describe_run(agent_id, agent, whole, **settings) for agent_id, agent in agents.items()]
    ids = [(run["run_id"], run["agent_id"]) for run in runs]
    watch = Watch(max_accidents, tries_first)
    with name_problem(ledger_path), closing(open_store(ledger_path)) as ledger:
        for run in runs:
            insert_row(ledger, "runs", run)
        tasks = list_tasks(
            ids, events, {run_id: list_done(ledger, run_id, again) for run_id, _ in ids}, samples
        )
        n_all = len(ids) * len(events) * len(samples)
        cost = sum_costs(ledger, [run_id for run_id, _ in ids])
        shown = {"desc": "questions", "unit": "q", "disable": None if progress else True}
        try:
            with (
                stop_on_signal(watch),
                tqdm(total=n_all, initial=n_all - len(tasks), **shown) as bar,
            ):
                world = opener() if tasks else None
                for batch in ask_all(tasks, agents, world, watch, deadline_s, workers):
                    kept = [rows for rows in batch if watch.judge(rows[0])]
                    save_questions(ledger, kept, again)
                    if cost := cost + sum(reply["cost_usd"] or 0 for reply, _, _ in kept):
                        bar.set_postfix_str(f"{cost:.2f} USD", refresh=False)
                    bar.update(len(kept))
        finally:
            for run_id, _ in ids:
                close_run(ledger, run_id, len(whole) * len(samples))
    run_ids = {agent_id: run_id for run_id, agent_id in ids}
    if watch.cause:
        raise Stopped(watch.cause, watch.reason, run_ids)
    return run_ids


# --- several answers to one question: their majority or median as an agent of its own ---------------


def make_majority(path, run_id, agent, n_samples):
    """Return the agent that answers as the majority or median of a run's samples, which stand in a
    store, does.

    The probabilities of a single choice are the shares of its votes. The trace holds the values.
    """
    sql = "SELECT value FROM predictions WHERE run_id = ? AND event_id = ? AND sample < ? ORDER BY sample"

    def vote(event, world):
        with closing(open_store(path)) as store:
            cells = store.execute(sql, [run_id, event["event_id"], n_samples]).fetchall()
        values = [parse_json(cell) for (cell,) in cells if cell is not None]
        trace = [
            {"actor": "samples", "step_type": "answer", "content": dump_json({"values": values})}
        ]
        votes = Counter(map(dump_json, values))
        if not values:
            reason = f"none of {n_samples} samples holds an answer"
            made = {"value": None, "status": "unparsable", "reason": reason}
        elif event["kind"] in ("number", "percent"):
            made = {"value": statistics.median(values)}
        else:  # the most frequent, of several the first
            made = {"value": parse_json(votes.most_common(1)[0][0])}
        if values and event["kind"] == "single":
            shares = {parse_json(cell): n / len(values) for cell, n in sorted(votes.items())}
            made |= {"distribution": shares, "probability": shares[made["value"]]}
        return {"prediction": made, "trace": trace}

    params = {"method": "majority", "of": run_id, "n_samples": n_samples}
    about = {
        "category": agent["category"],
        "framework": f"majority of {n_samples}",
        "model": agent.get("model"),
    }
    return about | {"params": params, "forecast": vote}


def select_whole(path, run_id, events, n_samples):
    """Return the events that have all their samples."""
    with closing(open_store(path)) as store:
        done = Counter(
            event_id for event_id, n in list_done(store, run_id, ACCIDENTS) if n < n_samples
        )
    return events[events["event_id"].map(done) == n_samples]
