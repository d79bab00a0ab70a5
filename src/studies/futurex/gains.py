"""What a better agent gains: domains grouped, differences described, and what a later moment adds.

Differences are paired by event; tests and intervals are by source (FutureX 4.2, 4.3, 4.5, Figures
9, 10 and 12).
"""

import numpy as np
import pandas as pd

from helpers import papers
from helpers.means import MIN_CLUSTERS, find_clusters, summarize_clustered
from helpers.paired import compute_mde, judge_family, sign_flip_test
from helpers.scores import build_matrix, select_headline


def describe_differences(differences, clusters, strata=None):
    """Return n, n_clusters, difference, low, high, p, mde of differences by event.

    Below ten clusters p is the exact sign-flip test's and there is no interval; `mde` is the
    minimum detectable effect, blank where nothing varies. What is in several of `strata`
    (`summarize_clustered`) is left out of all.

    >>> found = describe_differences(pd.Series([0.5, 0.5, 0.5]), None)
    >>> found["n"], found["p"], bool(np.isnan(found["low"]))
    (3, 0.25, True)
    """
    blank = dict.fromkeys("n n_clusters difference low high p mde".split(), np.nan)
    known = differences.dropna()
    if known.empty:
        return blank | {"n": 0, "n_clusters": 0}
    found = summarize_clustered(known.to_frame("d"), clusters, strata).iloc[0]
    row = blank | {
        "n": len(known),
        "n_clusters": int(found["n_clusters"]),
        "difference": found["mean"],
    }
    row |= {name: found[name] for name in ("low", "high", "p")}
    if strata is None and found["n_clusters"] < MIN_CLUSTERS:
        return row | {"p": sign_flip_test(known, clusters)}
    return row | {"mde": compute_mde(found["se"], row["n_clusters"]) if found["p"] >= 0 else np.nan}


def compare_moments(first, second, events):
    """Return, by agent, what asking at a second moment changes (FutureX 4.5.1, Figure 12).

    `first` and `second` are scores of the same events; a missing prediction counts as 0. Columns
    agent_id, `describe_differences` (second minus first), p_holm, verdict, and each moment's mean
    with its interval by source.
    """
    clusters = find_clusters(events)[0]
    agents = sorted(set(first["agent_id"]) & set(second["agent_id"]))
    moments = [
        build_matrix(select_headline(table, events), agents, "score_imputed")
        for table in (first, second)
    ]
    rows = []
    for agent_id in agents:
        both = pd.concat(
            [marks[agent_id] for marks in moments], axis=1, keys=["first", "second"]
        ).dropna()
        found = summarize_clustered(both, clusters, ends=(0, 1))
        row = {"agent_id": agent_id} | describe_differences(
            both["second"] - both["first"], clusters
        )
        rows.append(
            row
            | {
                f"{end}_{name}": found.loc[name, end]
                for name in both
                for end in ("mean", "low", "high")
            }
        )
    return judge_family(pd.DataFrame(rows))


def group_domains(domains: pd.Series) -> pd.Series:
    """Return the paper's eight domains (Figure 9) for ours, one for each in `domains`; another's
    stays as it is.

    Which of ours stands for which is in data/papers/futurex_domain_groups.csv.

    >>> group_domains(pd.Series(["Weather & Climate"])).tolist()
    ['Weather & Climate']
    """
    groups = papers.load_published("futurex", "domain_groups").set_index("domain")["group"]
    return domains.map(groups).fillna(domains)
