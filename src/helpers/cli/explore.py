"""`daybefore explore`: questions with their hindsight on a page that opens from disk.

Of each question: what is known of it, its events against the market's price, its causal graph, its evidence, and all
forecasts. Without public files there are made-up questions, marked synthetic, and the replay's with graphs by rule;
with them the authors' own, whose words stay in the folder that is written. The page is made as that of `view` is.
"""

import json
import sys
from pathlib import Path

import pandas as pd

from helpers.calendar import PUBLIC_WINDOWS, write_windows
from helpers.cli.lives import check_window, list_questions, read_lives, spread_lives, write_value
from helpers.cli.main import build_parser, describe_problem, parse_positive
from helpers.cli.view import list_keys, name_file, pack, read_own, write_texts
from helpers.formats.market_prices import read_prices
from helpers.formats.markets import read_markets
from helpers.futurex.past import build_priced
from helpers.models.secrets import hide_secrets
from helpers.public_files import locate_public
from helpers.store import locate_output, parse_json
from helpers.worldreasoner.dossiers import ORIGINS, tell_authors, tell_markets, tell_planted, tell_question
from helpers.worldreasoner.hindsight.builder import build_hindsight, explain_graph, word_answer
from helpers.worldreasoner.hindsight.graphs import tabulate_nodes
from helpers.worldreasoner.hindsight.matching import match_events
from helpers.worldreasoner.submissions import read_graph

FOLDER = "data/runs/explore"
OWN = ("explore", "Daybefore: questions, their hindsight and their forecasts", "daybefore explore --question ID")
PUBLIC = ("questions_with_event_cards.json", "market_prices.csv", "turning_points_authors.csv")
N_REPLAY = 40
"""Questions of the replay on the page, unless --limit says otherwise."""
TOLD = ("value", "probability", "outcome", "score", "reason")


def main(arguments=None):
    """Read the command line; write the page, print one question (--question), or return all of them for --json."""
    parser = build_parser("explore", __doc__.split("\n\n")[0])
    parser.add_argument(
        "--origin",
        action="append",
        choices=[name for name in ORIGINS if name not in ("market", "public")],
        help="only these (replay: the window's); may be given several times",
    )
    parser.add_argument("--window", default="A", help=f"the replay's questions are of this window: {write_windows()}")
    parser.add_argument("--agent", action="append", help="only this agent's forecasts of the replay's questions")
    parser.add_argument("--limit", default=str(N_REPLAY), help=f"so many of the replay's (default {N_REPLAY})")
    parser.add_argument(
        "--markets", help="a file of questions as Polymarket, Manifold, Metaculus or Kalshi give them (JSON)"
    )
    parser.add_argument("--prices", help="a file with the prices of the questions of --markets (JSON)")
    parser.add_argument("--question", help="print this question as JSON instead of writing the page")
    parser.add_argument("--folder", help=f"where the page is written (default {FOLDER})")
    given = parser.parse_args(arguments)
    try:
        return explore(given)
    except (ValueError, LookupError, OSError) as problem:
        raise SystemExit(f"daybefore explore: {describe_problem(problem)}") from None


def explore(given):
    """Do what the command line says; with `given.json` return the questions."""
    check_window(given.window)
    if given.prices and not given.markets:
        raise ValueError("--prices are of the questions of --markets; name its file")
    dossiers = list_markets(given.markets, given.prices) if given.markets else []
    if given.origin or not given.markets:
        limit = parse_positive("--limit", given.limit)
        dossiers += list_dossiers(given.origin or tuple(ORIGINS), given.window, limit, given.agent)
    dossiers = hide_secrets(dossiers, list_keys())
    if given.question:
        dossiers = [one for one in dossiers if one["question_id"] == given.question]
        if not dossiers:
            raise LookupError(f"no question {given.question!r}; --json lists them")
    if given.json:
        return {"questions": dossiers}
    if given.question:
        print(json.dumps(dossiers[0], indent=1, ensure_ascii=False))
        return None
    folder = Path(given.folder) if given.folder else locate_output(f"{FOLDER}/index.html").parent
    size = write_page(folder, dossiers)
    print(f"{len(dossiers)} question{'s' * (len(dossiers) != 1)}, {size / 1e6:.1f} MB; open in a browser:")
    print((folder / "index.html").resolve().as_uri())
    return None


def list_dossiers(origins, window="A", limit=N_REPLAY, agents=None):
    """Return the dossiers of questions by origin; the authors' are left out where their files are not at hand."""
    dossiers = tell_planted() if "synthetic" in origins else []
    if "replay" in origins:
        dossiers += (list_public if window in PUBLIC_WINDOWS else list_replay)(window, limit, agents)
    if "authors" in origins:
        try:
            cards, prices, turns = (locate_public(f"worldreasoner/{name}") for name in PUBLIC)
        except FileNotFoundError:
            if tuple(origins) == ("authors",):
                raise
            return dossiers
        questions = json.loads(cards.read_text(encoding="utf-8"))
        dossiers += tell_authors(questions, pd.read_csv(prices), pd.read_csv(turns))
    return dossiers


def list_markets(path, prices_path=None):
    """Return the dossiers of a market's file; what was left out is told."""
    events, answers, prices, out = read_markets(path)
    for row in out.to_dict("records"):
        print(f"left out: {row['id']}, {row['reason']}", file=sys.stderr)
    if events.empty:
        raise ValueError(f"{Path(path).name} holds no question that can be shown")
    if prices_path:
        prices = read_prices(prices_path, events)
    return tell_markets(events, answers, prices)


def list_replay(window, limit, agents=None):
    """Return the dossiers of a window's questions that have a graph by rule with an event; those most runs answered.

    With `agents` only their forecasts are read. Raises ValueError for one without a run on the window.
    """
    lives = read_asked_lives(window, agents)
    questions = list_questions(lives)
    answers = lives.answers.set_index("event_id")["value"]
    events = lives.events[lives.events["event_id"].isin(answers.dropna().index)].set_index("event_id", drop=False)
    chosen, order = {}, questions["event_id"].value_counts(sort=False)
    for event_id in sorted(set(order.index) & set(events.index), key=lambda name: (-order[name], name)):
        if len(chosen) == limit:
            break
        event = events.loc[event_id].to_dict()
        answer = word_answer(event, answers[event_id])
        found = build_hindsight(event, answer)
        if found and len(found.graph["nodes"]) > 1:
            chosen[event_id] = (event, answer, found)
    runs = group_forecasts(lives, questions, chosen)
    return [tell_replay(*parts, runs[event_id]) for event_id, parts in chosen.items()]


def list_public(window, limit, agents=None):
    """Return the dossiers of a public window's questions, without a graph: those that most runs answered first.

    Their words and prices are those of the public files. With `agents` only what these were asked, as `list_replay`.
    """
    lives = read_asked_lives(window, agents)
    questions = list_questions(lives)
    order = questions["event_id"].value_counts()
    events = lives.events.drop_duplicates("event_id").set_index("event_id", drop=False)
    names = [name for name in events.index if agents is None or name in order.index]
    chosen = sorted(names, key=lambda name: (-order.get(name, 0), name))[:limit]
    answers = lives.answers.set_index("event_id")["value"]
    prices = build_priced()[2] if window == "M" else None
    runs, dossiers = group_forecasts(lives, questions, chosen), []
    for name in chosen:
        event, own = events.loc[name].to_dict(), None if prices is None else prices[prices["question_id"] == name]
        dossiers.append(tell_public(event, answers.get(name), runs.get(name, []), own))
    return dossiers


def read_asked_lives(window, agents):
    """Return the Lives of a window's questions. Raises ValueError for an agent without a run on it."""
    lives = read_lives([window], agents)
    if strange := sorted(set(agents or ()) - set(lives.runs["agent_id"])):
        raise ValueError(f"no run of agent {strange[0]!r} on window {window}")
    return lives


def group_forecasts(lives, questions, event_ids):
    """Return {event_id: its questions as of `spread_lives`} of those of some events that a run was asked."""
    told = spread_lives(lives, questions[questions["event_id"].isin(list(event_ids))])
    return {life["event"]["event_id"]: life["questions"] for life in told}


def describe_event(event, origin, answer):
    """Return what is known of an event beside its hindsight, as `dossiers.tell_question` takes it."""
    about = {"question_id": event["event_id"], "title": event["prompt"].splitlines()[0], "origin": origin}
    about |= {"answer": answer, "opens_at": event["opens_at"], "resolves_at": event["resolves_at"]}
    facts = {name: event[name] for name in ("kind", "domain", "source_id", "resolution_criteria")}
    return about | {"facts": {"asked on": event["as_of"]} | facts}


def tell_public(event, cell, questions, prices=None):
    """Return the dossier of a question of a public window; `cell` is its answer's value, blank for none."""
    value, options = parse_json(cell), parse_json(event["options"]) or {}
    letters = value if isinstance(value, list) else [] if value is None else [value]
    about = describe_event(event, "public", ", ".join(str(options.get(one, one)) for one in letters) or None)
    facts = {name: text for name, text in about["facts"].items() if not pd.isna(text)}
    about |= {"explanation": None, "facts": facts | {"options": ", ".join(options.values())}}
    graph = {"question_id": event["event_id"], "outcome_id": None, "nodes": [], "edges": [], "impacts": []}
    forecasts = [tell_forecast(one, event) for one in questions]
    return tell_question(about, graph, prices, forecasts=forecasts)


def tell_replay(event, answer, hindsight, questions):
    """Return the dossier of an event of the replay with its `builder.Hindsight`; `questions` as of `spread_lives`."""
    graph, tests = hindsight.graph, hindsight.tests[hindsight.tests["effect"] == hindsight.series]
    about = describe_event(event, "replay", answer) | {"explanation": explain_graph(graph, tests)}
    about["facts"]["series that may be causes"] = ", ".join(tests["cause"]) or "none of its domain"
    forecasts = [tell_forecast(one, event) for one in questions]
    said = [
        {"run_id": one["agent"], "question_id": event["event_id"], **node}
        for one in forecasts
        for node in one.get("said", [])
    ]
    pairs = match_events(tabulate_nodes([graph]), pd.DataFrame(said)) if said else None
    return tell_question(about, graph, forecasts=forecasts, pairs=pairs)


def tell_forecast(question, event):
    """Return a question's forecast by one run as the page shows it; the words of `value` are those of its options.

    `said` are the events of a graph that came with the answer, `pages` what was read for it, those it names marked.
    """
    prediction, options = question["prediction"], parse_json(event["options"])
    told = {"agent": name_answer(question["run_id"], question.get("sample"))}
    told |= {name: prediction.get(name) for name in ("as_of", "rationale")}
    told |= {name: question.get(name, prediction.get(name)) for name in TOLD}
    told |= {"pages": [{name: page[name] for name in ("page_id", "is_cited")} for page in question["pages"]]}
    graph, _ = read_graph(question["reply"].get("reply"), event)
    if graph:
        nodes = tabulate_nodes([graph])
        told["said"] = nodes.loc[~nodes["is_outcome"].astype(bool), ["node_id", "text", "day"]].to_dict("records")
    return told | {"value": write_value(told["value"], options)}


def name_answer(run_id, sample):
    """Return how one of a run's answers to a question is called; each of several has a name of its own, as in `view`.

    >>> name_answer("mine-L", 0), name_answer("mine-L", 1)
    ('mine-L', 'mine-L (answer 2)')
    """
    return f"{run_id} (answer {sample + 1})" if sample else run_id


def write_page(folder, dossiers):
    """Write the page into a folder; returns its size in bytes. Files of an earlier page there are replaced."""
    texts, listed = read_own(*OWN), []
    for one in dossiers:
        name = name_file("questions", one["question_id"])
        texts[f"{name}.js"] = pack(name, one)
        counts = {"n_nodes": len(one["nodes"]), "n_edges": one["check"]["n_edges"], "n_prices": len(one["prices"])}
        about = {key: one[key] for key in ("question_id", "title", "origin", "answer")}
        listed.append(about | counts | {"n_forecasts": len(one["forecasts"]), "file": name})
    rows = {"questions": listed, "origins": ORIGINS}
    texts["rows.js"] = f"var daybefore = {json.dumps(rows, separators=(',', ':'), allow_nan=False)};\n"
    return write_texts(folder, texts)


if __name__ == "__main__":
    main()
