"""WorldReasoner's scores of runs of one's own: outcome, sources, key events, what a cutoff keeps,
and market prices.

Appendix E, F; G.3.1. The tables are a ledger's (`store.read_runs`) of runs on the same questions at
the same moment; of a question asked several times the first answer counts.
"""

import pandas as pd

from helpers.clock import ZONE
from helpers.means import find_clusters, summarize_clustered, tabulate_groups
from helpers.papers import get_constant
from studies.worldreasoner.conditions import OPEN, describe_runs
from studies.worldreasoner.hindsight.graphs import tabulate_nodes
from studies.worldreasoner.outcome_scores import CATEGORICAL, LIMITS, take_clusters
from studies.worldreasoner.outcome_scores import METRICS as OUTCOMES
from studies.worldreasoner.price_moves import measure_moves, score_alignment
from studies.worldreasoner.prices import find_turning_points, measure_skill, tell_markets
from studies.worldreasoner.submissions import (
    match_hashed,
    read_submitted,
    recall_events,
    score_submissions,
    split_conditions,
)

CUTOFF_DAY = get_constant("worldreasoner", "cutoff_day")
"""The day of a month in which a cutoff is given."""
SHOWN = (
    *OUTCOMES,
    "srcp_cited",
    "srcp_accessed",
    "recall",
    "recall_graphs",
    "bound",
    "recall_valid",
)
"""The metrics of a run, in their order; each stands in its files as "worldreasoner_" and its
name."""


def judge_runs(events, answers, runs, predictions, replies, traces, cutoffs, **references):
    """Return (rows, facts) of runs on questions with a reference: means by agent and metric, and
    what they rest on.

    `rows` are those of `tabulate_outcomes` and, of an agent with a cutoff, its accuracy on the
    questions that it keeps (group "kept"); `facts` says by agent_id its condition, is_forecast,
    n_references (hindsight graphs by rule of the questions asked for a graph), n_valid (those that
    pass the published thresholds), n_sources (questions whose source precision is measured, None
    without a gateway), left_out (submitted events that are none, by reason) and `keep_questions`.
    `cutoffs` maps the agents asked for to a day, a month or None; `references` are as of
    `score_submissions`, none for window L.
    """
    asked = describe_runs(runs, traces)
    first = join_first((predictions, replies, traces), asked)
    scores, left, references = score_submissions(events, answers, *first, **references)
    if scores.empty:
        raise ValueError("no question of this run has an answer to score")
    # one probability of a yes/no question tells both options'
    whole = (2 * scores["brier"]).where(scores["type"] == "binary")
    scores["brier_full"] = scores["brier_full"].fillna(whole)
    left = left[left["part"] == "events"]
    rows = [tabulate_outcomes(scores)]
    facts = {}
    agents = runs.set_index("agent_id")["run_id"]
    for agent in [name for name in cutoffs if name in agents]:
        run = agents[agent]
        about = asked.loc[run]
        own = scores[scores["run_id"] == run]
        kept, cutoff = keep_questions(events, cutoffs[agent])
        facts[agent] = {
            "condition": about["condition"],
            "moment": about["horizon"],
            "is_forecast": about["horizon"] != OPEN,
            "n_references": len(references) if about["has_graph"] else 0,
            "n_sources": int(own["srcp_accessed"].count()) if about["has_sources"] else None,
            "n_valid": int(own["recall_valid"].count()) if about["has_graph"] else 0,
            "left_out": left[left["run_id"] == run].groupby("reason").size().to_dict(),
            "cutoff": cutoff,
        }
        own = own[own["event_id"].isin(kept)]
        if cutoff["is_filtered"] and len(own):
            means = tabulate_outcomes(own, ["accuracy"]).query("group == 'all'")
            rows.append(means.assign(group="kept", name=cutoff["date"]))
    return pd.concat(rows, ignore_index=True), facts


def keep_questions(events, cutoff):
    """Return the questions that a cutoff keeps, those that open on or after it, and {date,
    is_filtered, n, n_kept}.

    Days are those of the kit's zone. Without a cutoff all are kept, unfiltered (Appendix E).
    """
    kept = events["event_id"]
    if cutoff is not None:
        opens = pd.to_datetime(events["opens_at"], utc=True, format="ISO8601")
        kept = kept[opens.dt.tz_convert(ZONE) >= pd.Timestamp(cutoff, tz=ZONE)]
    about = {"date": cutoff, "is_filtered": cutoff is not None}
    return set(kept), about | {"n": len(events), "n_kept": len(kept)}


def date_cutoff(cutoff, day=CUTOFF_DAY):
    """Return the day of a knowledge cutoff: a month's first or last day; a day stays, and blank is
    None.

    >>> date_cutoff("2025-01", "last"), date_cutoff("2025-08-31", "first"), date_cutoff(float("nan"))
    ('2025-01-31', '2025-08-31', None)
    """
    if pd.isna(cutoff):
        return None
    span = pd.Period(cutoff)
    return str((span.start_time if day == "first" else span.end_time).date())


def count_kept(questions, models, day=CUTOFF_DAY):
    """Return how many questions each model keeps, those that open on or after its cutoff (Appendix
    E).

    `questions` has event_id and opens_at, `models` model and cutoff (a day or a month; without one
    all are kept). A row a model: model, n, n_kept, n_excluded, is_filtered.
    """
    rows = []
    for model, cutoff in models[["model", "cutoff"]].itertuples(index=False):
        found = keep_questions(questions, date_cutoff(cutoff, day))[1]
        rows.append({"model": model, "n_excluded": found["n"] - found["n_kept"]} | found)
    return pd.DataFrame(rows)["model n n_kept n_excluded is_filtered".split()]


def tabulate_outcomes(scores, names=SHOWN):
    """Return each agent's means of some metrics with 95% intervals by source: a row an agent and
    metric that it has.

    Columns metric ("worldreasoner_" and its name), and those of `means.tabulate_groups`; accuracy
    also by type of question (F.1). `scores` are of `submissions.score_submissions`. `n_asked`
    counts the questions that were asked (for probabilities those with options), `n` those that the
    mean is over. A missing answer is wrong for accuracy, and `coverage` is there the share that was
    answered.
    """
    parts = []
    clusters = take_clusters(scores)
    for name in names:
        rows = scores[scores["type"].isin(CATEGORICAL)] if name in OUTCOMES[1:] else scores
        rows = rows[rows[name].notna().groupby(rows["agent_id"]).transform("any")]
        if rows.empty:
            continue
        least, most = LIMITS.get(name, (0, 1))
        is_right = name == "accuracy"
        given = clusters, ("type",) if is_right else (), most, least
        rows = rows.assign(score=rows[name].astype(float), score_imputed=0.0)
        table = tabulate_groups(rows, *given).assign(metric=f"worldreasoner_{name}")
        table["mean_imputed"] = table["mean"] if is_right else float("nan")
        if is_right:
            answered = rows["score"].mask(rows["is_missing"])
            table["coverage"] = tabulate_groups(rows.assign(score=answered), *given)["coverage"]
        parts.append(table[table["n_asked"] > 0])
    return pd.concat(parts, ignore_index=True)


def judge_graphs(events, answers, tables, references, prices=None, embed=None) -> dict:
    """Return what the graphs of one run say beside its means: {name: table}, without what it has
    nothing of.

    `tables` are runs, predictions, replies and traces by name, `references` as of
    `score_submissions`. "split": quality of right and of wrong forecasts (Tables 4, 10); "market":
    Table 11, where there are `prices`; "recall": key-event recall by words and, with `embed` (texts
    -> vectors), by meaning (Table 12): matcher, mean, low, high, n, n_clusters. Raises ValueError
    for words that are kept as digests, which have no meaning.
    """
    about = describe_runs(tables["runs"], tables["traces"])
    about["condition"] = about["condition"].fillna("none of the six")
    asked = join_first([tables[name] for name in ("predictions", "replies", "traces")], about)
    scores, _, graphs_of = score_submissions(events, answers, *asked, **references)
    found = {"split": split_conditions(scores)}
    replies = asked[1]
    graphs = read_submitted(replies[replies["has_graph"].astype(bool)], events)[0]
    if any(graphs.values()) and graphs_of:
        recalls = {"words": recall_events(graphs, graphs_of)}
        if embed is not None:
            recalls["meaning"] = recall_events(graphs, graphs_of, embed)
        wide = pd.DataFrame(
            {how: one.set_index("event_id")["recall"] for how, one in recalls.items()}
        )
        means = summarize_clustered(wide, take_clusters(scores), ends=(0, 1))
        means = means.rename_axis("matcher").reset_index()
        found["recall"] = means[["matcher", "mean", "low", "high", "n", "n_clusters"]]
        if prices is not None:
            cards = {graph["question_id"]: graph for graph in graphs_of}
            found["market"] = align_graphs(graphs, cards, events, prices, about)
    return {name: table for name, table in found.items() if len(table)}


def join_first(tables, about):
    """Return tables' rows of first answers, each with what `describe_runs` says of its run."""
    cells = about.drop(columns=["agent_id", "model"])
    return [table[table["sample"] == 0].join(cells, on="run_id") for table in tables]


def align_graphs(
    graphs: dict, cards: dict, events: pd.DataFrame, prices: pd.DataFrame, about: pd.DataFrame
):
    """Return market recall and precision of submitted graphs (Table 11): a row a model, condition
    and measure.

    `graphs` are as of `read_submitted`, `cards` the references, `about` has model and condition by
    run_id. Of yes/no questions with prices; empty without one. Columns model, condition, events
    (all aligned, near a change point), measure, mean, low, high, n (questions), n_clusters,
    n_aligned (events), n_matched.
    """
    columns = (
        "model condition events measure mean low high n n_clusters n_aligned n_matched".split()
    )
    priced = set(prices["question_id"]) & set(cards)
    graphs = {key: graph for key, graph in graphs.items() if key[1] in priced}
    if not any(graphs.values()):
        return pd.DataFrame(columns=columns)
    hindsight = tabulate_nodes([graph for name, graph in cards.items() if name in priced])
    said, pairs = match_hashed(graphs, hindsight)
    moves = measure_moves(hindsight, prices)
    paths = prices.sort_values("day").groupby("question_id")
    turns = {name: find_turning_points(part["day"], part["price"]) for name, part in paths}
    asked = pd.DataFrame(list(graphs), columns=["run_id", "question_id"])
    asked = asked.join(about[["model", "condition"]], on="run_id")
    clusters = find_clusters(events)[0]
    rows = []
    for which, points in (("all aligned", None), ("near a change point", turns)):
        found = score_alignment(moves, pairs, said, asked, points)
        for (model, condition), part in found.groupby(["model", "condition"]):
            part = part.set_index("question_id")
            means = summarize_clustered(part[["recall", "precision"]], clusters, ends=(0, 1))
            named = {"model": model, "condition": condition, "events": which}
            counts = part[["n_aligned", "n_matched"]].sum().astype(int)
            rows.append(means.rename_axis("measure").reset_index().assign(**named, **counts))
    return pd.concat(rows, ignore_index=True)[columns]


def price_runs(events, answers, predictions, prices, moment):
    """Return each agent's Brier score beside the market's of the same moment, in pairs
    (`prices.measure_skill`).

    Of runs on `markets` and `worldreasoner`; `prices` are question_id, day, price. A row an agent:
    agent_id, brier, market, difference (above 0: better than the price), low, high (95% by market),
    n, n_clusters, skill. Agents without a probability are left out.
    """
    first = predictions[predictions["sample"] == 0]
    told = tell_markets(first.assign(horizon=moment), answers)
    told = told[told["question_id"].isin(answers.loc[answers["value"].notna(), "event_id"])]
    if told["p"].isna().all():
        return pd.DataFrame(
            columns="agent_id brier market difference low high n n_clusters skill".split()
        )
    table = measure_skill(told, prices, events.set_index("event_id")["cluster_id"])
    return table[table["stage"] == "all"].drop(columns="stage").reset_index(drop=True)
