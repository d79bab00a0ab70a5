"""WorldReasoner's public files: what matchers call the same, hindsight against prices, which questions, what is kept.

The files are of a fork of the authors' repository that keeps its history. No word of a card or a question is kept:
ids of four drawn questions stand as short names of our own.
"""

import itertools
import json

import numpy as np
import pandas as pd
from scipy import stats

from daybefore.models.embeddings import MODEL, embed_texts, fetch_embedder
from daybefore.questions.moments import number_days
from helpers import papers
from helpers.calendar import ZONE
from helpers.files import locate_input, locate_output
from helpers.means import measure_share, summarize_clustered
from helpers.paired import compare_pairs, compute_mde, judge_family
from helpers.public_files import hash_file, locate_public
from public.false_matches import (
    count_matches,
    list_cosines,
    match_others,
    match_own,
    read_cosines,
    shift_questions,
    stack_events,
    stack_faced,
    take_owners,
)
from public.price_controls import draw_days, score_strangers
from public.worldreasoner_states import count_results, judge_sides, split_changed
from studies.worldreasoner.cards import read_question
from studies.worldreasoner.hindsight.graphs import check_graph, tabulate_nodes
from studies.worldreasoner.hindsight.matching import SEMANTIC_THRESHOLD, Rules
from studies.worldreasoner.price_moves import compare_direction, find_lead_changes, measure_moves, measure_pressure
from studies.worldreasoner.prices import find_turning_points, order_prices
from studies.worldreasoner.quality import band_days, measure_spans

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
CUTOFF_DAY = papers.get_constant("worldreasoner", "cutoff_day")
KEPT = "data/cards/semantic_matches.csv"
OWN, OTHER = "another card of its question", "a card of another question"
EVENT_COLUMNS = {"share": "share", "low": "low_by_question", "high": "high_by_question"}
GATES = {"7 days": {}, "no gate": {"days": None}}
MATCHERS = {"BM25 over the largest": {}, "BM25 over the self score": {"scale": "self"}}
DRAWN = {
    "Starship Flight Test 11": "Starship by October 31: Yes",
    "NVIDIA": "NVIDIA beats earnings: Yes",
    "Grand Theft Auto": "Price of Grand Theft Auto VI: No",
    "Putin": "counterexample: Putin meets Zelenskyy: No",
}
"""A word of a question's title -> what it is called here."""
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
    false, paired = judge_matchers(nodes)
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


# --- cards ------------------------------------------------------------------------------------------------------------


def count_cards(questions, graphs, nodes):
    """Return counts of the cards: what, n."""
    status = pd.Series([card["status"] for row in questions for card in row["events"]]).value_counts()
    lacks = pd.Series([check_graph(graph)["reasons"] for graph in graphs]).str.get_dummies(" ").sum()
    rows = {"questions": len(graphs), "cards": len(nodes), "undated cards": int(nodes["day"].isna().sum())}
    rows |= {"cards with an impact": int(nodes["impact"].notna().sum())}
    rows |= {f"questions that lack {name}": n for name, n in lacks.items()}
    rows |= {f"{name} cards": n for name, n in status.items()}
    return pd.DataFrame(rows.items(), columns=["what", "n"])


def judge_matchers(nodes):
    """Return (false, paired): the share of pairs that are not the same and match, and matchers against the semantic.

    Of pairs of two events: the columns event_share to n_event_pairs, and all of `paired`. Of pairs of an event and a
    question, which match where any event of the question does: share and what stands beside it.
    """
    owners = nodes["question_id"].reset_index(drop=True)
    flags, faced, n_faced, events = {}, {}, {}, {}
    for against, match in {OWN: match_own, OTHER: match_others}.items():
        for gate, limits in GATES.items():
            n_faced[against, gate] = match(nodes, Rules(threshold=-1.0, **limits), take="count")
            faced[against, gate] = n_faced[against, gate].notna()
            for name, given in MATCHERS.items():
                n_matched = match(nodes, Rules(**given, **limits), take="count")
                flags[against, gate, name] = stack_faced(n_matched, faced[against, gate])
                events[against, gate, name] = stack_events(n_matched, n_faced[against, gate])
    kept = pd.read_csv(locate_input(KEPT))
    if set(kept["read"]) != {stamp_cards()}:
        raise ValueError(f"{KEPT} is of other cards, or of another embedding model; run write_cosines()")
    for (against, gate), who in faced.items():
        n_matched = read_cosines(kept, nodes, f"n {gate}")
        flags[against, gate, "semantic"] = stack_faced(n_matched, who)
        events[against, gate, "semantic"] = stack_events(n_matched, n_faced[against, gate])
    false = []
    for key, pairs in flags.items():
        row = dict(zip(("against", "gate", "matcher"), key, strict=True)) | count_matches(pairs, owners)
        if key[0] == OTHER:
            shifts = shift_questions(pairs, owners)
            row |= {"shift_least": shifts.min(), "shift_median": shifts.median(), "shift_most": shifts.max()}
        by_event = count_matches(events[key], owners)
        row |= {f"event_{end}": by_event[name] for end, name in EVENT_COLUMNS.items()}
        false.append(row | {"n_event_matches": int(events[key].sum()), "n_event_pairs": by_event["n"]})
    against, parts = [(name, ["semantic"]) for name in MATCHERS], {}
    for case in faced:
        wide = pd.DataFrame({name: events[*case, name] for name in [*MATCHERS, "semantic"]})
        parts[case] = compare_pairs(wide, take_owners(wide, owners), against)
    paired = pd.concat(parts, names=["against", "gate"]).reset_index(["against", "gate"])
    paired = judge_family(paired.reset_index(drop=True), "difference", "takes more", "takes fewer")
    paired = paired.rename(columns={"agent_a": "matcher"})
    columns = "against gate matcher difference low high n n_clusters p p_holm mde verdict".split()
    return pd.DataFrame(false), paired[columns]


def stamp_cards():
    """Return what the kept cosines are of: digests of the cards and of the embedding model."""
    return f"{hash_file(locate_public(CARDS))[:12]} {MODEL['sha256'][:12]}"


def write_cosines():
    """Read the cards with the embedding model (minutes) and write the cosines from the threshold on, and counts."""
    questions = json.loads(locate_public(CARDS).read_text(encoding="utf-8"))
    nodes = tabulate_nodes([read_question(question) for question in questions])
    rules = {gate: Rules(threshold=SEMANTIC_THRESHOLD, **limits) for gate, limits in GATES.items()}
    found = list_cosines(nodes, rules, SEMANTIC_THRESHOLD, embed_texts(nodes["text"], fetch_embedder()))
    found.assign(read=stamp_cards()).to_csv(locate_output(KEPT), index=False, lineterminator="\n")


# --- markets ----------------------------------------------------------------------------------------------------------


def judge_markets(questions, nodes):
    """Return the tables of hindsight against prices (appendix D, G.3.1), of yes/no questions with cards and prices."""
    prices = pd.read_csv(locate_public(PRICES))
    prices["day"] = number_days(prices["time_utc"])
    outcome = {row["id"]: row["outcome"] for row in questions if row.get("outcome") in ("Yes", "No")}
    own = nodes[nodes["question_id"].isin(outcome)]
    moves, ends = measure_moves(own, prices), compare_direction(own, prices)
    drawn, seen = draw_days(own, prices, np.random.default_rng(SEED), N_DRAWS)
    own_prices = prices[prices["question_id"].isin(outcome)].sort_values("day", kind="stable")
    paths = {name: part[["day", "price"]].to_numpy().T for name, part in own_prices.groupby("question_id")}
    turns = {name: find_turning_points(*path) for name, path in paths.items()}
    cards = own[own["question_id"].isin(paths)]
    strangers, near = score_strangers(cards, moves, MATCHERS, GATES, turns)
    strangers = strangers.assign(n_near=near["cards"].mean(), n_cards=len(cards))
    return {
        "worldreasoner_markets": check_markets(moves, ends, prices, outcome),
        "worldreasoner_chance": judge_chance(drawn, seen),
        "worldreasoner_pressure": list_pressure(questions, nodes, ends, prices),
        "worldreasoner_turning": count_turns(moves, paths, turns),
        "worldreasoner_strangers": strangers,
    }


def check_markets(moves, ends, prices, outcome):
    """Return the market checks, printed and recomputed: check, whose, share, low, high, n, n_clusters, mde.

    Local moves are clustered by question, and have a minimum detectable effect. The last two rows say that resolved
    prices move towards the outcome.
    """
    dataset = papers.load_published("worldreasoner", "intext_dataset").set_index("quantity")["value"].astype(float)
    usable, known = moves[moves["is_usable"]], ends["correlation"].dropna()
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
        rows.append(measure_share([True] * hits + [False] * (n - hits)) | {"check": name, "whose": "printed"})
        rows.append(measure_share(flags.tolist()) | {"check": name, "whose": "recomputed"})
    by_question = summarize_clustered(usable[["agrees"]], usable["question_id"]).loc["agrees"]
    rows[1] |= by_question[["low", "high", "n_clusters"]].to_dict()
    rows[1]["mde"] = compute_mde(by_question["se"], by_question["n_clusters"])
    ranked, about = known.sort_values().to_numpy(), {"check": "median correlation"}  # 98%: fourth to thirteenth of 16
    rows.append(
        about | {"whose": "printed", "share": dataset["market_corr_median"], "n": int(dataset["market_corr_n"])}
    )
    middle = {"share": known.median(), "low": ranked[3], "high": ranked[-4], "n": len(ranked)}
    rows.append(about | {"whose": "recomputed"} | middle)
    change = prices.sort_values("day").groupby("question_id")["price"].agg(lambda path: path.iloc[-1] - path.iloc[0])
    towards = pd.Series(outcome).map({"Yes": 1, "No": -1}).reindex(ends["question_id"]).to_numpy()
    for name, values in (
        ("price moved towards the outcome", change.reindex(ends["question_id"]).to_numpy()),
        ("pressure points to the outcome", ends["pressure"].to_numpy()),
    ):
        rows.append(measure_share((np.sign(values) == towards).tolist()) | {"check": name, "whose": "recomputed"})
    return pd.DataFrame(rows)["check whose share low high n n_clusters mde".split()]


def judge_chance(drawn, seen):
    """Return what pushes on days by chance give, beside what was seen: control, what, seen, mean, low, high, p, n."""
    rows = []
    for (control, part), what in itertools.product(drawn.groupby("control"), ("n_usable", "share")):
        low, high = part[what].quantile([0.025, 0.975])
        p = (1 + (part[what] >= seen[what]).sum()) / (1 + len(part))  # one-sided: as many or more
        row = {"control": control, "what": what, "seen": seen[what], "mean": part[what].mean(), "low": low}
        rows.append(row | {"high": high, "p": p if low < high else np.nan, "n": seen["n"]})
    return pd.DataFrame(rows)


def list_pressure(questions, nodes, ends, prices):
    """Return pushes, pressure and price of four questions by day (Figures 3, 7): question, part, day, push, value."""
    titles = {row["id"]: row.get("title") or "" for row in questions}
    labels = {key: name for key in ends["question_id"] for word, name in DRAWN.items() if word in titles[key]}
    pushed, end_of, parts = measure_pressure(nodes), ends.set_index("question_id"), []
    for question in sorted(labels, key=lambda key: list(DRAWN.values()).index(labels[key])):
        about = {"question": labels[question]} | end_of.loc[question, ["agrees", "correlation"]].to_dict()
        for part, table in (("pressure", pushed), ("price", order_prices(prices))):
            own = table[table["question_id"] == question]
            parts.append(own.assign(part=part, value=own[part], **about))
    table = pd.concat(parts, ignore_index=True)
    return table.round({"day": 3})["question part day push value agrees correlation".split()]


def count_turns(moves, paths, turns):
    """Return how turning points and aligned events lie (G.3.1): what, share, low, high, n, n_clusters, mde."""
    theirs = pd.read_csv(locate_public(TURNS)).query("question_id in @turns")
    theirs = theirs.assign(day=number_days(theirs["time_utc"]))
    aligned = moves[moves["is_usable"] & moves["agrees"]].reset_index(drop=True)
    near, at_turn = (
        [any(abs(day - other) <= 3 for other in turns[name]) for name, day in part[["question_id", "day"]].values]
        for part in (theirs, aligned)
    )
    spans = {name: (path[0].min(), path[0].max()) for name, path in paths.items()}
    by_chance = [
        (abs(np.asarray(turns[name])[:, None] - np.linspace(*spans[name], 1000)).min(axis=0) <= 3).mean()
        for name in aligned["question_id"]
    ]
    held = pd.DataFrame(
        {"aligned event near a change point": at_turn, "day by chance near one": by_chance}, dtype=float
    )
    held["more than by chance"] = held.iloc[:, 0] - held.iloc[:, 1]
    shares = summarize_clustered(held, aligned["question_id"])
    shares.loc[:, ["low", "high"]] = shares[["low", "high"]].clip(-1, 1)
    shares.loc["more than by chance", "mde"] = compute_mde(*shares.loc["more than by chance", ["se", "n_clusters"]])
    table = shares.rename(columns={"mean": "share"}).rename_axis("what").reset_index()
    changed = measure_share([len(find_lead_changes(*path)) > 0 for path in paths.values()])
    marked = theirs.groupby("question_id").size().reindex(list(turns), fill_value=0)
    rows = [
        {"what": "question whose lead changed", "n_clusters": changed["n"]} | changed,
        {"what": "change points, median of a question", "share": np.median([len(one) for one in turns.values()])},
        {"what": "points that the authors marked, median", "share": marked.median()},
        {"what": "of theirs within 3 days of ours", "share": np.mean(near), "n": len(near)},
    ]
    return pd.concat([table, pd.DataFrame(rows)])["what share low high n n_clusters mde".split()]


# --- questions and results --------------------------------------------------------------------------------------------


def count_subset(questions):
    """Return what the 120 evaluated questions are, and when the 58 with both dates open and end: part, name, side, n.

    Parts: origin (of the 120, by id; the exact p of so many markets in `p`), band (of days open), days (those whose
    opening is estimated), month (of the end).
    """
    dataset = (
        papers.load_published("worldreasoner", "intext_dataset")
        .set_index("quantity")["value"]
        .astype(int, errors="ignore")
    )
    ids = pd.Series(locate_public(IDS).read_text(encoding="utf-8").split())
    n_all, n_markets = int(float(dataset["resolved_questions"])), int(float(dataset["from_polymarket"]))
    n_taken = int(ids.str.startswith("polymarket_").sum())
    p = stats.hypergeom.sf(n_taken - 1, n_all, n_markets, len(ids))
    rows = [("origin", "market", "the 120", n_taken, len(ids), f"{p:.0e}")]
    rows.append(("origin", "market", "all 345, printed", n_markets, n_all, ""))
    table = pd.DataFrame(
        [
            (row["id"], row.get("market_open"), row.get("market_close"), row.get("market_open_estimated"))
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
        ("month", pd.to_datetime(known["resolves_at"], utc=True, format="mixed").dt.strftime("%Y-%m")),
    ):
        counts = known.groupby([names.rename("name"), side.rename("side")]).size()
        rows += [(part, name, which, n, len(known), "") for (name, which), n in counts.items()]
    return pd.DataFrame(rows, columns=["part", "name", "side", "n", "of", "p"])


def judge_states():
    """Return (left out, June): pairs left out since June beside those kept, by condition; June's results by model."""
    results = pd.read_csv(locate_public(RESULTS))
    printed = papers.load_published("worldreasoner", "intext_results")
    whole = printed[(printed["metric"] == "Acc") & printed["subset"].str.startswith("all")]
    kept = papers.load_published("worldreasoner", "table7_caption_cutoffs").set_index("model")["kept_pairs_of_120"]
    accuracy = whole.set_index("condition_or_row")["value"].astype(float)
    counts = count_results(results)
    sides = judge_sides(split_changed(counts, accuracy, kept), n_models=2)
    names = ["condition", "model", "n", "accuracy", "source_precision", "key_event_recall"]
    names_of = {"Vanilla LLM": "Vanilla", "Causal Sim.": "Causal Simulation"}
    return sides, results[names].replace({"condition": names_of})


def date_cutoffs(months, day=CUTOFF_DAY):
    """Return the days of knowledge cutoffs: a month's first or last day; what has a day already keeps it.

    >>> [str(day)[:10] for day in date_cutoffs(["2025-01", "2025-08-31", None], "last")]
    ['2025-01-31', '2025-08-31', 'NaT']
    """
    given = pd.Series(months, dtype="string")
    days = pd.to_datetime(given, format="ISO8601")
    is_month = given.str.len().eq(len("2025-01")).fillna(False).astype(bool)
    return days.where(~is_month | (day == "first"), days + pd.offsets.MonthEnd(0))


def filter_pairs(questions, models, day=CUTOFF_DAY):
    """Return every pair of model and question, and whether it is kept: the question opens on or after the cutoff.

    `questions` has question_id and opens_at, `models` model and cutoff (a day or a month). Columns model, question_id,
    is_kept, is_filtered: a model without a cutoff is not filtered and keeps all, and says so (Appendix E). Days are
    those of the kit's zone.
    """
    known = models.assign(cutoff=date_cutoffs(models["cutoff"], day).to_numpy())
    pairs = known.merge(questions[["question_id", "opens_at"]], how="cross")
    opens = pd.to_datetime(pairs["opens_at"], utc=True, format="ISO8601").dt.tz_convert(ZONE).dt.tz_localize(None)
    flags = {"is_kept": ~(opens < pairs["cutoff"]), "is_filtered": pairs["cutoff"].notna()}
    return pairs[["model", "question_id"]].assign(**flags)


def count_kept(pairs):
    """Return how many pairs each model keeps: model, n, n_kept, n_excluded, is_filtered."""
    about = {"n": ("is_kept", "size"), "n_kept": ("is_kept", "sum"), "is_filtered": ("is_filtered", "all")}
    table = pairs.groupby("model", sort=False).agg(**about)
    table.insert(2, "n_excluded", table["n"] - table["n_kept"])
    return table.reset_index()


def count_filtered(questions):
    """Return how many of the questions with an opening each cutoff keeps, by the month's first and last day.

    A row a model of the paper, and "all 101 of the list": model, n, n_kept, n_excluded, is_filtered, n_kept_last_day.
    """
    cutoffs = pd.read_csv(locate_public(CUTOFFS), dtype=str)
    as_given = cutoffs["cutoff_as_given"].str.replace(".", "-")
    cutoffs["cutoff"] = cutoffs["cutoff"].mask(as_given.str.fullmatch(r"\d{4}-\d\d"), as_given)
    opened = [(row["id"], row["market_open"]) for row in questions if row.get("market_open")]
    opened = pd.DataFrame(opened, columns=["question_id", "opens_at"])
    kept = {day: count_kept(filter_pairs(opened, cutoffs, day)).set_index("model") for day in ("first", "last")}
    every = kept["first"].assign(n_kept_last_day=kept["last"]["n_kept"])
    whole = every[["n", "n_kept", "n_excluded", "n_kept_last_day"]].sum().to_frame(f"all {len(every)} of the list").T
    return pd.concat([every.loc[list(OF_PAPER)].rename(index=OF_PAPER), whole]).rename_axis("model").reset_index()
