"""What a matcher takes for the same where it is not: cards against others of their question, and of
other questions.

Each card in turn plays the forecast event (WorldReasoner F.3, Table 12); whatever it matches is a
false match, or within a question a twin that review left in. `nodes` are those of
`graphs.tabulate_nodes`; frames have a row a card, by its place in `nodes`, and a column a question.
"""

import numpy as np
import pandas as pd

from helpers.means import logit_interval, summarize_clustered
from helpers.paired import compare_pairs, judge_family
from studies.worldreasoner.hindsight.matching import Rules, count_words, match_events

OWN = "another card of its question"
OTHER = "a card of another question"
EVENT_COLUMNS = {"share": "share", "low": "low_by_question", "high": "high_by_question"}
GATES = {"7 days": {}, "no gate": {"days": None}}
MATCHERS = {"BM25 over the largest": {}, "BM25 over the self score": {"scale": "self"}}
"""How a matcher measures likeness, and how far apart two events may lie."""


def match_own(
    nodes: pd.DataFrame, rules: Rules, vectors: np.ndarray | None = None, take: str = "max"
) -> pd.DataFrame:
    """Return each card's largest similarity with another card of its question, blank where none
    reaches the rules' bar.

    `vectors` (a row a card) are meanings, whose cosine it is then; without them the words count.
    With `take` "count" it is the number of cards that reach the bar.
    """
    told = nodes.reset_index(drop=True).assign(row=np.arange(len(nodes)))
    seen = (
        told[["row", "question_id"]].rename(columns={"row": "facing"}).merge(told, on="question_id")
    )
    seen = seen[seen["facing"] != seen["row"]].assign(question_id=lambda table: table["facing"])
    best = _match(seen, told.assign(question_id=told["row"]), rules, told, vectors, take)
    best.index = pd.MultiIndex.from_arrays(
        [rows := best.index.get_level_values(0), told["question_id"].loc[rows]]
    )
    return _spread(best, told)


def match_others(
    nodes: pd.DataFrame, rules: Rules, vectors: np.ndarray | None = None, take: str = "max"
) -> pd.DataFrame:
    """Return each card's largest similarity with each other question's cards, blank where none
    reaches the rules' bar.

    `take` is as in `match_own`.

    >>> nodes = pd.DataFrame({"question_id": list("pq"), "node_id": list("ab"), "text": ["rain in Rome", "rain today"]})
    >>> match_others(nodes.assign(day=1.0, is_outcome=False), Rules()).round(2).values.tolist()  # 0.6 + 0.4 * 2 / 4
    [[nan, 0.8], [0.8, nan]]
    """
    told = nodes.reset_index(drop=True).assign(row=np.arange(len(nodes)))
    questions = pd.DataFrame({"question_id": sorted(told["question_id"].unique())})
    asked = told.drop(columns="question_id").merge(questions, how="cross")
    asked = asked[asked["question_id"] != told["question_id"].to_numpy()[asked["row"]]]
    return _spread(_match(told, asked, rules, told, vectors, take), told)


def _match(seen, asked, rules, told, vectors, take):
    """What is taken of each asked card and question; a run a card, since cards do not compete with
    each other."""
    features = count_words(told["text"]) if vectors is None else vectors
    given = features[seen["row"].to_numpy()], features[asked["row"].to_numpy()]
    asked = asked.assign(run_id=asked["row"], node_id=asked["row"])
    pairs = match_events(seen.reset_index(drop=True), asked.reset_index(drop=True), rules, given)
    return pairs.groupby(["run_id", "question_id"])["similarity"].agg(take)


def _spread(best, told):
    return best.unstack().reindex(index=told.index, columns=sorted(told["question_id"].unique()))


def stack_faced(matches, faced):
    """Return who matched (1) and who did not (0) of the pairs of card and question that face each
    other: a Series."""
    rows, columns = np.nonzero(faced.to_numpy())
    index = pd.MultiIndex.from_arrays([faced.index[rows], faced.columns[columns]])
    return pd.Series(matches.notna().to_numpy()[rows, columns].astype(float), index)


def take_owners(flags, owners):
    """Return the question of each pair's card, its cluster; `owners` has the question of each card
    by place."""
    return pd.Series(owners.reindex(flags.index.get_level_values(0)).to_numpy(), flags.index)


def count_matches(flags, owners):
    """Return the share of pairs that match with its interval by the card's question, kept on its
    scale, and counts.

    A dict: share, low_by_question, high_by_question, n (pairs), n_cards, n_questions.
    """
    row = logit_interval(
        summarize_clustered(flags.to_frame(), take_owners(flags, owners)), 0, 1
    ).iloc[0]
    ends = {f"{end}_by_question": row[end] for end in ("low", "high")}
    cards = flags.index.get_level_values(0).nunique()
    return (
        {"share": row["mean"]}
        | ends
        | {"n": int(row["n"]), "n_cards": cards, "n_questions": int(row["n_clusters"])}
    )


def stack_events(n_matched: pd.DataFrame, n_faced: pd.DataFrame) -> pd.Series:
    """Return which pairs of events match (1) and which do not (0), by the first card's place and
    the other's question.

    `n_matched` and `n_faced` are counts of the other question's cards by card and question
    (`match_own`, `match_others`); a pair stands once for each of its two cards, as a card in turn
    plays the forecast event.

    >>> names = list("pq")
    >>> faced = pd.DataFrame([[np.nan, 3], [1, np.nan]], columns=names)
    >>> stack_events(pd.DataFrame([[np.nan, 2], [np.nan, np.nan]], columns=names), faced).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    faced = n_faced.stack().dropna().astype(int)
    matched = n_matched.stack().reindex(faced.index).fillna(0).astype(int)
    index = faced.index.repeat(faced)
    place = np.concatenate([np.arange(n) for n in faced])
    return pd.Series((place < np.repeat(matched, faced).to_numpy()).astype(float), index)


def list_cosines(nodes, gates, bar, vectors):
    """Return cosines from `bar` on of each card with its own question's other cards and with each
    other question's.

    `gates` are rules by name (their threshold is `bar`), two columns each: the largest cosine, and
    the number of cards ("n ..."). A row a card and question: node_id, question (its place among the
    sorted ids). Ids and numbers alone.
    """
    found = {}
    for name, rules in gates.items():
        for take, column in (("max", name), ("count", f"n {name}")):
            best = match_own(nodes, rules, vectors, take).combine_first(
                match_others(nodes, rules, vectors, take)
            )
            best = best if take == "count" else best.where(best >= bar)
            found[column] = best.set_axis(range(best.shape[1]), axis=1).stack().dropna()
    table = pd.DataFrame(found).round(4).rename_axis(["row", "question"]).reset_index()
    table.insert(0, "node_id", nodes["node_id"].to_numpy()[table.pop("row")])
    return table


def read_cosines(table, nodes, column):
    """Return one column of `list_cosines` by card and question, blank where there is none."""
    questions = sorted(nodes["question_id"].unique())
    wide = table.pivot(index="node_id", columns="question", values=column)
    wide = wide.reindex(index=nodes["node_id"], columns=range(len(questions)))
    return wide.set_axis(range(len(nodes))).set_axis(questions, axis=1)


def judge_matchers(nodes, kept):
    """Return (false, paired): the share of pairs that are not the same and match, and matchers
    against the semantic.

    Of pairs of two events: the columns event_share to n_event_pairs, and all of `paired`. Of pairs
    of an event and a question, which match where any event of the question does: share and what
    stands beside it. `kept` is what `list_cosines` gave of the same cards.
    """
    owners = nodes["question_id"].reset_index(drop=True)
    flags = {}
    faced = {}
    n_faced = {}
    events = {}
    for against, match in {OWN: match_own, OTHER: match_others}.items():
        for gate, limits in GATES.items():
            n_faced[against, gate] = match(nodes, Rules(threshold=-1.0, **limits), take="count")
            faced[against, gate] = n_faced[against, gate].notna()
            for name, given in MATCHERS.items():
                n_matched = match(nodes, Rules(**given, **limits), take="count")
                flags[against, gate, name] = stack_faced(n_matched, faced[against, gate])
                events[against, gate, name] = stack_events(n_matched, n_faced[against, gate])
    for (against, gate), who in faced.items():
        n_matched = read_cosines(kept, nodes, f"n {gate}")
        flags[against, gate, "semantic"] = stack_faced(n_matched, who)
        events[against, gate, "semantic"] = stack_events(n_matched, n_faced[against, gate])
    false = []
    for key, pairs in flags.items():
        row = dict(zip(("against", "gate", "matcher"), key, strict=True)) | count_matches(
            pairs, owners
        )
        by_event = count_matches(events[key], owners)
        row |= {f"event_{end}": by_event[name] for end, name in EVENT_COLUMNS.items()}
        false.append(
            row | {"n_event_matches": int(events[key].sum()), "n_event_pairs": by_event["n"]}
        )
    against = [(name, ["semantic"]) for name in MATCHERS]
    parts = {}
    for case in faced:
        wide = pd.DataFrame({name: events[*case, name] for name in [*MATCHERS, "semantic"]})
        parts[case] = compare_pairs(wide, take_owners(wide, owners), against)
    paired = pd.concat(parts, names=["against", "gate"]).reset_index(["against", "gate"])
    paired = judge_family(paired.reset_index(drop=True), "difference", "takes more", "takes fewer")
    paired = paired.rename(columns={"agent_a": "matcher"})
    columns = "against gate matcher difference low high n n_clusters p p_holm mde verdict".split()
    return pd.DataFrame(false), paired[columns]
