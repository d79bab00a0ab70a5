"""What a matcher takes for the same where it is not: cards against others of their question, and of
other questions.

Each card in turn plays the forecast event (WorldReasoner F.3, Table 12); whatever it matches is a
false match, or within a question a twin that review left in. `nodes` are those of
`graphs.tabulate_nodes`; pairs of cards are arrays, a row and a column a card, in the order of
`nodes`.
"""

import numpy as np
import pandas as pd

from helpers.means import logit_interval, summarize_clustered
from helpers.paired import compare_pairs, judge_family
from studies.worldreasoner.hindsight.matching import (
    EVEN,
    SEMANTIC_THRESHOLD,
    Rules,
    compare_texts,
    count_words,
)

OWN = "another card of its question"
OTHER = "a card of another question"
GATES = {"7 days": {}, "no gate": {"days": None}}
MATCHERS = {"BM25 over the largest": {}, "BM25 over the self score": {"scale": "self"}}
"""How a matcher measures likeness, and how far apart two events may lie."""


def face_cards(nodes: pd.DataFrame, rules: Rules) -> np.ndarray:
    """Return which cards may match by their days: of two undated ones none where there is a
    gate."""
    days = nodes["day"].to_numpy(float)
    gaps = np.abs(days[:, None] - days)
    near = np.full(gaps.shape, True) if rules.days is None else gaps <= rules.days + EVEN
    np.fill_diagonal(near, False)
    return near


def compare_words(nodes: pd.DataFrame, rules: Rules) -> np.ndarray:
    """Return the similarity of each card with each other one, minus infinity with itself.

    A card stands for a run of its own, as cards do not compete with each other. Of its question it
    faces the other cards alone.

    >>> nodes = pd.DataFrame({"question_id": list("pq"), "text": ["rain in Rome", "rain today"]})
    >>> compare_words(nodes, Rules()).round(2).tolist()  # 0.6 + 0.4 * 2 / 4
    [[-inf, 0.8], [0.8, -inf]]
    """
    words = count_words(nodes["text"])
    like = np.full((len(nodes), len(nodes)), -np.inf)
    for own in nodes.groupby("question_id").indices.values():
        others = np.setdiff1d(np.arange(len(nodes)), own)
        like[np.ix_(others, own)] = compare_texts(words[own], words[others], others, rules)
        for card in own if len(own) > 1 else ():
            rest = own[own != card]
            like[card, rest] = compare_texts(words[rest], words[[card]], [card], rules)[0]
    return like


def count_pairs(nodes: pd.DataFrame, pairs: np.ndarray) -> pd.DataFrame:
    """Return in how many of some pairs each card stands: a row a card, columns OWN and OTHER."""
    questions = nodes["question_id"].to_numpy()
    is_own = questions[:, None] == questions
    return pd.DataFrame(
        {OWN: (pairs & is_own).sum(axis=1), OTHER: (pairs & ~is_own).sum(axis=1)}, nodes["node_id"]
    )


def count_meanings(nodes: pd.DataFrame, vectors: np.ndarray) -> pd.DataFrame:
    """Return how many cards each takes for the same by meaning, the cosine of `vectors` (a row a
    card).

    Columns node_id, against, and a gate each; cards that match none are left out.
    """
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    alike = unit @ unit.T >= SEMANTIC_THRESHOLD - EVEN
    counts = {
        gate: count_pairs(nodes, alike & face_cards(nodes, Rules(**limits)))
        .rename_axis(columns="against")
        .stack()
        for gate, limits in GATES.items()
    }
    table = pd.DataFrame(counts)
    return table[table.any(axis=1)].reset_index()


def list_flags(n_matched: pd.Series, n_faced: pd.Series) -> np.ndarray:
    """Return which pairs match (1) and which do not (0), card by card, from counts by card.

    >>> list_flags(pd.Series([2, 0]), pd.Series([3, 1])).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    place = np.concatenate([np.arange(n) for n in n_faced])
    return (place < np.repeat(n_matched.to_numpy(), n_faced)).astype(float)


def judge_matchers(nodes: pd.DataFrame, kept: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return (false, paired): the share of pairs of events that are not the same and match, and
    matchers against the semantic.

    `kept` is what `count_meanings` gave of the same cards. A pair stands once for each of its two
    cards, clustered by that card's question; intervals stay on the share's scale. Columns of
    `false`: against, gate, matcher, event_share, event_low, event_high, n_event_matches,
    n_event_pairs, n_questions.
    """
    like = {name: compare_words(nodes, Rules(**given)) for name, given in MATCHERS.items()}
    semantic = kept.set_index(["node_id", "against"])
    false = []
    parts = {}
    for against in (OWN, OTHER):
        for gate, limits in GATES.items():
            rules = Rules(**limits)
            near = face_cards(nodes, rules)
            n_faced = count_pairs(nodes, near)[against]
            matched = {
                name: count_pairs(nodes, near & (one >= rules.threshold - EVEN))[against]
                for name, one in like.items()
            }
            by_meaning = semantic[gate].xs(against, level="against")
            matched["semantic"] = by_meaning.reindex(n_faced.index, fill_value=0)
            wide = pd.DataFrame({name: list_flags(n, n_faced) for name, n in matched.items()})
            owners = pd.Series(np.repeat(nodes["question_id"].to_numpy(), n_faced))
            shares = logit_interval(summarize_clustered(wide, owners), 0, 1)
            shares["n_event_matches"] = wide.sum().astype(int)
            false.append(shares.assign(against=against, gate=gate).rename_axis("matcher"))
            pairs = [(name, ["semantic"]) for name in MATCHERS]
            parts[against, gate] = compare_pairs(wide, owners, pairs)
    names = {"mean": "event_share", "low": "event_low", "high": "event_high", "n": "n_event_pairs"}
    table = pd.concat(false).reset_index().rename(columns=names | {"n_clusters": "n_questions"})
    columns = "against gate matcher event_share event_low event_high n_event_matches n_event_pairs"
    paired = pd.concat(parts, names=["against", "gate"]).reset_index(["against", "gate"])
    paired = judge_family(paired.reset_index(drop=True), "difference", "takes more", "takes fewer")
    paired = paired.rename(columns={"agent_a": "matcher"})
    told = "against gate matcher difference low high n n_clusters p p_holm mde verdict".split()
    return table[[*columns.split(), "n_questions"]], paired[told]
