"""A synthetic world whose causes are planted: series that push one another, agents that see it, or
see too much.

It shows that graph builders and matchers find what is there, and nothing about the world.
`PYTHONPATH=src:tools python -m planted_world` writes data/planted_world/*, from which notebooks 22
and 23 draw; the same seeds give the same bytes.
"""

import json

import numpy as np
import pandas as pd

from daybefore.questions.life_moments import number_days, place_forecast
from helpers.files import locate_output
from studies.worldreasoner.hindsight.graphs import check_graph, correct_edges, tabulate_nodes
from studies.worldreasoner.hindsight.graphs_by_rule import N_LAGS, build_graph, judge_lags

CHAIN = ("rainfall", "river level", "ferry delays", "ticket refunds")
"""Each pushes the next, the day after; the last is what is asked about."""
OTHERS = ("moth counts", "print jobs")
"""Series that nothing pushes and that push nothing."""
FIRST, N_DAYS = pd.Timestamp("2026-01-01"), 120
AGENTS = ("honest", "copies")
"""What an agent names: what had happened, and guesses; with "copies" also what comes after, word by
word."""
PUSHES = ("directly", "through others", "not planted")
"""How one series pushes another: the day after, by way of those between, or not at all."""
N_BURN = 80
"""Days before a question opens."""
SHOCK, NOISE, PULL = 8.0, 1.0, 0.9


def draw_series(rng, n_shocks=10):
    """Return daily series: shocks reach the chain's first and each of the others a day after the
    one before it.

    >>> draw_series(np.random.default_rng(0)).shape
    (120, 6)
    """
    steps = rng.normal(0, NOISE, (N_DAYS, len(CHAIN) + len(OTHERS)))
    for name in (0, *range(len(CHAIN), steps.shape[1])):
        steps[rng.choice(N_DAYS - 8, n_shocks, replace=False), name] += rng.choice(
            [-SHOCK, SHOCK], n_shocks
        )
    for at in range(1, len(CHAIN)):
        steps[1:, at] += PULL * steps[:-1, at - 1]
    return pd.DataFrame(
        steps.cumsum(axis=0), pd.date_range(FIRST, periods=N_DAYS), [*CHAIN, *OTHERS]
    )


def draw_question(question_id, rng):
    """Return a question on a drawn world: question_id, opens_at, resolves_at, answer, values,
    tests, graph.

    Will the last of the chain stand above its value of the opening day at the end? All ordered
    pairs are tested.
    """
    values, opens, closes = (
        draw_series(rng),
        FIRST + pd.Timedelta(days=N_BURN),
        FIRST + pd.Timedelta(days=N_DAYS - 1),
    )
    tests = judge_lags(values, [(one, two) for one in values for two in values if one != two])
    cut, asked = float(values.loc[opens, CHAIN[-1]]), CHAIN[-1]
    answer = "Yes" if values.loc[closes, asked] > cut else "No"
    outcome = {
        "series": asked,
        "title": f"{asked} end above {cut:.0f}: {answer}",
        "day": closes,
        "opens_at": opens,
    }
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
    """Return the events an agent's graph names: run_id, question_id, node_id, of_id, text, day,
    as_of.

    `of_id` is the node an event tells of, None of a guess. `nodes` are the question's
    (`graphs.tabulate_nodes`). An honest agent names what had happened, in words of its own (it
    drops some), and guesses what may come; the one that copies names what came after as well, word
    by word.
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
    if agent == "copies":
        rows += list(zip(later["text"], later["day"], later["node_id"], strict=True))
    table = pd.DataFrame(rows, columns=["text", "day", "of_id"])
    about = {"run_id": f"{agent} {horizon}", "question_id": question["question_id"], "as_of": as_of}
    return table.assign(node_id=[f"f{at}" for at in range(len(table))], **about)


# --- what the notebooks draw from -------------------------------------------------------------------

N_QUESTIONS, N_ASKED = 16, 4
"""Questions of a world, and of these, put to a language model."""
SEED_EDGES, SEED_MATCHES = 26, 20
HORIZONS = ("Early", "Mid", "Late")


def write_edges():
    """Write how far the rule's edges are planted, its graphs' checks, and the articles that a model
    is shown."""
    rng = np.random.default_rng(SEED_EDGES)
    world = [draw_question(f"q{at:02}", rng) for at in range(N_QUESTIONS)]
    rows = []
    for question in world:
        changes = list_changes(question["graph"])
        pairs = pair_changes(changes)
        rows += [(question["question_id"], "any two changes", kind) for kind in pairs["kind"]]
        series = changes.set_index("node_id")["series"]
        edges = [
            (edge["cause"], edge["effect"]) for edge in correct_edges(question["graph"])["edges"]
        ]
        edges = [edge for edge in edges if edge[1] in series]  # not to the outcome
        rows += [
            (question["question_id"], "the rule", name_push(series[one], series[two]))
            for one, two in edges
        ]
        pushes = pairs[
            (pairs["kind"] == PUSHES[0]) & (pairs["move"] == pairs["move_to"]) & (pairs["lag"] == 1)
        ]
        for push in zip(pushes["node_id"], pushes["node_id_to"], strict=True):
            rows.append(
                (question["question_id"], "planted pushes", "found" if push in edges else "missed")
            )
    table = pd.DataFrame(rows, columns=["question_id", "of", "kind"])
    write_csv("edges", table.groupby(list(table), sort=False).size().rename("n").reset_index())
    write_csv("graphs", pd.DataFrame([check_graph(question["graph"]) for question in world]))
    asked = [
        {"question": ask_outcome(one), "articles": tell_articles(one["graph"])}
        for one in world[:N_ASKED]
    ]
    text = json.dumps(asked, indent=1, ensure_ascii=False) + "\n"
    locate_output("data/planted_world/articles.json").write_text(text, encoding="utf-8")


def list_changes(graph):
    """Return the changes of a graph, all nodes but the outcome: its columns, series, move (rises or
    falls), day."""
    table = pd.DataFrame(
        [node for node in graph["nodes"] if node["node_id"] != graph["outcome_id"]]
    )
    table[["series", "move"]] = (
        table["title"].str.split(":").str[0].str.rsplit(" ", n=1, expand=True)
    )
    return table.assign(day=pd.to_datetime(table["occurred_at"]))


def pair_changes(changes):
    """Return pairs of changes of different series, the second up to N_LAGS days after the first:
    lag, kind of push."""
    columns = changes[["node_id", "series", "move", "day"]]
    pairs = columns.merge(columns, how="cross", suffixes=("", "_to"))
    pairs["lag"] = (pairs["day_to"] - pairs["day"]).dt.days
    pairs = pairs[pairs["lag"].between(1, N_LAGS) & (pairs["series"] != pairs["series_to"])]
    return pairs.assign(kind=list(map(name_push, pairs["series"], pairs["series_to"])))


def tell_articles(graph):
    """Return two articles of a line on each change: id, day, text."""
    return [
        {"id": f"{node['node_id']}|{at}", "day": node["occurred_at"], "text": node[part]}
        for node in list_changes(graph).to_dict("records")
        for at, part in enumerate(("title", "description"))
    ]


def ask_outcome(question):
    """Return what a builder is told of a question: its words, the answer and the day."""
    outcome = next(
        node
        for node in question["graph"]["nodes"]
        if node["node_id"] == question["graph"]["outcome_id"]
    )
    asked = {
        "question_id": question["question_id"],
        "question": f"Will {outcome['title'].rsplit(':', 1)[0]}?",
    }
    return asked | {"answer": question["answer"], "day": str(question["resolves_at"].date())}


def write_matches():
    """Write the events of hindsight and of forecasts by agents that are honest, or copy what came
    after."""
    rng = np.random.default_rng(SEED_MATCHES)
    rng.integers(
        0, 540, 120
    )  # what an earlier version of the world drew first, so that its numbers stay
    rng.random(360)
    world = [draw_question(f"q{at:02}", rng) for at in range(N_QUESTIONS)]
    nodes = tabulate_nodes([question["graph"] for question in world])
    parts = [
        forecast_events(
            question, nodes[nodes["question_id"] == question["question_id"]], horizon, agent, rng
        )
        for question in world
        for agent in AGENTS
        for horizon in HORIZONS
    ]
    write_csv("hindsight", nodes)
    write_csv("forecasts", pd.concat(parts, ignore_index=True))


def write_csv(name, table):
    """Write data/planted_world/<name>.csv.gz, the same bytes for the same table."""
    path = locate_output(f"data/planted_world/{name}.csv.gz")
    table.to_csv(path, index=False, lineterminator="\n", compression={"method": "gzip", "mtime": 0})


if __name__ == "__main__":
    write_edges()
    write_matches()
