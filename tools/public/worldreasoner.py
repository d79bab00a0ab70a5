"""WorldReasoner's public files: what matchers call the same, hindsight against prices, which
questions, what is kept.

The files are of a fork of the authors' repository that keeps its history. No word of a card or a
question is kept: ids of four drawn questions stand as short names of our own.
"""

import json

import numpy as np
import pandas as pd
from scipy import stats

from daybefore.models.embeddings import MODEL, embed_texts, fetch_embedder
from daybefore.questions.life_moments import number_days
from helpers import papers
from helpers.files import locate_input, locate_output
from helpers.public_files import hash_file, locate_public
from studies.audit.earlier_results import count_results, judge_sides, split_changed
from studies.worldreasoner.hindsight.false_matches import (
    GATES,
    MATCHERS,
    count_meanings,
    judge_matchers,
)
from studies.worldreasoner.hindsight.graphs import check_graph, read_question, tabulate_nodes
from studies.worldreasoner.own_runs import count_kept
from studies.worldreasoner.price_checks import (
    check_markets,
    count_turns,
    draw_days,
    list_pressure,
    score_strangers,
)
from studies.worldreasoner.price_moves import compare_direction, measure_moves
from studies.worldreasoner.prices import find_turning_points
from studies.worldreasoner.question_quality import band_days, measure_spans

CARDS, PRICES = "worldreasoner/questions_with_event_cards.json", "worldreasoner/market_prices.csv"
TURNS, IDS = "worldreasoner/turning_points_authors.csv", "worldreasoner/include_ids.txt"
RESULTS, CUTOFFS = "worldreasoner/results_by_condition_model.csv", "worldreasoner/model_cutoffs.csv"
SOURCES = {
    "worldreasoner_cards": [CARDS],
    "worldreasoner_matchers": [CARDS],
    "worldreasoner_matchers_paired": [CARDS],
    "worldreasoner_markets": [CARDS, PRICES],
    "worldreasoner_chance": [CARDS, PRICES],
    "worldreasoner_pressure": [CARDS, PRICES],
    "worldreasoner_turning": [CARDS, PRICES, TURNS],
    "worldreasoner_strangers": [CARDS, PRICES],
    "worldreasoner_subset": [CARDS, IDS],
    "worldreasoner_left_out": [RESULTS],
    "worldreasoner_june": [RESULTS],
    "worldreasoner_kept": [CARDS, CUTOFFS],
}
SEED, N_DRAWS = 54, 1000
"""Of days by chance."""
KEPT = "data/cards/semantic_matches.csv"
OF_PAPER = {
    "gemini-3-flash": "Gemini 3 Flash",
    "gemini-3-pro": "Gemini 3 Pro",
    "deepseek-v4": "DeepSeek V4",
    "gpt-4o-2024-11-20": "GPT-4o",
    "gpt-5.4": "GPT-5.4",
}


def build():
    """Return the tables of `SOURCES`."""
    questions = json.loads(locate_public(CARDS).read_text(encoding="utf-8"))
    graphs = [read_question(question) for question in questions]
    nodes = tabulate_nodes(graphs)
    kept = pd.read_csv(locate_input(KEPT))
    if set(kept["read"]) != {stamp_cards()}:
        raise ValueError(
            f"{KEPT} is of other cards, or of another embedding model; run write_cosines()"
        )
    false, paired = judge_matchers(nodes, kept)
    left_out, june = judge_states()
    return {
        "worldreasoner_cards": count_cards(questions, graphs, nodes),
        "worldreasoner_matchers": false,
        "worldreasoner_matchers_paired": paired,
        **judge_markets(questions, nodes),
        "worldreasoner_subset": count_subset(questions),
        "worldreasoner_left_out": left_out,
        "worldreasoner_june": june,
        "worldreasoner_kept": count_filtered(questions),
    }


# --- cards ------------------------------------------------------------------------------------------


def count_cards(questions, graphs, nodes):
    """Return counts of the cards: what, n."""
    status = pd.Series(
        [card["status"] for row in questions for card in row["events"]]
    ).value_counts()
    lacks = (
        pd.Series([check_graph(graph)["reasons"] for graph in graphs]).str.get_dummies(" ").sum()
    )
    rows = {
        "questions": len(graphs),
        "cards": len(nodes),
        "undated cards": int(nodes["day"].isna().sum()),
    }
    rows |= {"cards with an impact": int(nodes["impact"].notna().sum())}
    rows |= {f"questions that lack {name}": n for name, n in lacks.items()}
    rows |= {f"{name} cards": n for name, n in status.items()}
    return pd.DataFrame(rows.items(), columns=["what", "n"])


def stamp_cards():
    """Return what the kept cosines are of: digests of the cards and of the embedding model."""
    return f"{hash_file(locate_public(CARDS))[:12]} {MODEL['sha256'][:12]}"


def write_cosines():
    """Read the cards with the embedding model (minutes) and write how many each takes for the
    same."""
    questions = json.loads(locate_public(CARDS).read_text(encoding="utf-8"))
    nodes = tabulate_nodes([read_question(question) for question in questions])
    found = count_meanings(nodes, embed_texts(nodes["text"], fetch_embedder()))
    found.assign(read=stamp_cards()).to_csv(locate_output(KEPT), index=False, lineterminator="\n")


# --- markets ----------------------------------------------------------------------------------------


def judge_markets(questions, nodes):
    """Return the tables of hindsight against prices (appendix D, G.3.1), of yes/no questions with
    cards and prices."""
    prices = pd.read_csv(locate_public(PRICES))
    prices["day"] = number_days(prices["time_utc"])
    outcome = {
        row["id"]: row["outcome"] for row in questions if row.get("outcome") in ("Yes", "No")
    }
    own = nodes[nodes["question_id"].isin(outcome)]
    moves, ends = measure_moves(own, prices), compare_direction(own, prices)
    own_prices = prices[prices["question_id"].isin(outcome)].sort_values("day", kind="stable")
    paths = {
        name: part[["day", "price"]].to_numpy().T
        for name, part in own_prices.groupby("question_id")
    }
    turns = {name: find_turning_points(*path) for name, path in paths.items()}
    cards = own[own["question_id"].isin(paths)]
    marked = pd.read_csv(locate_public(TURNS))
    marked["day"] = number_days(marked["time_utc"])
    return {
        "worldreasoner_markets": check_markets(moves, ends, outcome),
        "worldreasoner_chance": draw_days(own, prices, np.random.default_rng(SEED), N_DRAWS),
        "worldreasoner_pressure": list_pressure(questions, nodes, ends, prices),
        "worldreasoner_turning": count_turns(moves, paths, turns, marked),
        "worldreasoner_strangers": score_strangers(cards, moves, MATCHERS, GATES),
    }


# --- questions and results --------------------------------------------------------------------------


def count_subset(questions):
    """Return what the 120 evaluated questions are, and when the 58 with both dates open and end:
    part, name, side, n.

    Parts: origin (of the 120, by id; the exact p of so many markets in `p`), band (of days open),
    days (those whose opening is estimated), month (of the end).
    """
    dataset = papers.load_published("worldreasoner", "intext_dataset").set_index("quantity")[
        "value"
    ]
    ids = pd.Series(locate_public(IDS).read_text(encoding="utf-8").split())
    n_all, n_markets = (
        int(float(dataset["resolved_questions"])),
        int(float(dataset["from_polymarket"])),
    )
    n_taken = int(ids.str.startswith("polymarket_").sum())
    p = stats.hypergeom.sf(n_taken - 1, n_all, n_markets, len(ids))
    rows = [("origin", "market", "the 120", n_taken, len(ids), f"{p:.0e}")]
    rows.append(("origin", "market", "all 345, printed", n_markets, n_all, ""))
    table = pd.DataFrame(
        [
            (
                row["id"],
                row.get("market_open"),
                row.get("market_close"),
                row.get("market_open_estimated"),
            )
            for row in questions
        ],
        columns=["question_id", "opens_at", "resolves_at", "is_estimated"],
    )
    table["days"] = measure_spans(table).round(2)
    known = table[table["days"].notna()]
    side = known["is_estimated"].eq(True).map({True: "estimated", False: "given"})
    for part, names in (
        ("band", band_days(known["days"].to_numpy()).set_axis(known.index)),
        ("days", known["days"].astype(str)),
        (
            "month",
            pd.to_datetime(known["resolves_at"], utc=True, format="mixed").dt.strftime("%Y-%m"),
        ),
    ):
        counts = known.groupby([names.rename("name"), side.rename("side")]).size()
        rows += [(part, name, which, n, len(known), "") for (name, which), n in counts.items()]
    return pd.DataFrame(rows, columns=["part", "name", "side", "n", "of", "p"])


def judge_states():
    """Return (left out, June): pairs left out since June beside those kept, by condition; June's
    results by model."""
    results = pd.read_csv(locate_public(RESULTS))
    printed = papers.load_published("worldreasoner", "intext_results")
    whole = printed[(printed["metric"] == "Acc") & printed["subset"].str.startswith("all")]
    kept = papers.load_published("worldreasoner", "table7_caption_cutoffs").set_index("model")[
        "kept_pairs_of_120"
    ]
    accuracy = whole.set_index("condition_or_row")["value"].astype(float)
    counts = count_results(results)
    sides = judge_sides(split_changed(counts, accuracy, kept), n_models=2)
    names = ["condition", "model", "n", "accuracy", "source_precision", "key_event_recall"]
    names_of = {"Vanilla LLM": "Vanilla", "Causal Sim.": "Causal Simulation"}
    return sides, results[names].replace({"condition": names_of})


def count_filtered(questions):
    """Return how many of the questions with an opening each cutoff keeps, by the month's first and
    last day.

    A row a model of the paper, and "all 101 of the list": model, n, n_kept, n_excluded,
    is_filtered, n_kept_last_day.
    """
    cutoffs = pd.read_csv(locate_public(CUTOFFS), dtype=str)
    as_given = cutoffs["cutoff_as_given"].str.replace(".", "-")
    cutoffs["cutoff"] = cutoffs["cutoff"].mask(as_given.str.fullmatch(r"\d{4}-\d\d"), as_given)
    opened = [(row["id"], row["market_open"]) for row in questions if row.get("market_open")]
    opened = pd.DataFrame(opened, columns=["event_id", "opens_at"])
    kept = {day: count_kept(opened, cutoffs, day).set_index("model") for day in ("first", "last")}
    every = kept["first"].assign(n_kept_last_day=kept["last"]["n_kept"])
    whole = (
        every[["n", "n_kept", "n_excluded", "n_kept_last_day"]]
        .sum()
        .to_frame(f"all {len(every)} of the list")
        .T
    )
    return (
        pd.concat([every.loc[list(OF_PAPER)].rename(index=OF_PAPER), whole])
        .rename_axis("model")
        .reset_index()
    )
