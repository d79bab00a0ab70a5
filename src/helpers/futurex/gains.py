"""What a better agent gains: leads over a baseline by level and domain, what search, memory and a later moment add.

Differences are paired by event; tests and intervals are by source (FutureX 4.2, 4.3, 4.5, Figures 9, 10 and 12).
"""

import itertools

import numpy as np
import pandas as pd

from helpers import papers
from helpers.futurex.levels import LEVEL_PAIRS, lay_out
from helpers.scoring.scores import build_matrix, select_headline
from helpers.stats.means import MIN_CLUSTERS, find_clusters, summarize_clustered
from helpers.stats.paired import compute_mde, judge_family, sign_flip_test


def compare_levels(scores, events, pairs, groups=LEVEL_PAIRS):
    """Return the difference between two agents by levels, on the events that both predicted: a row a pair and group.

    `pairs` lists (agent, base), `groups` maps a name to its levels. Columns: agent_a, agent_b, levels, mean_a, mean_b,
    what `describe_differences` says (a - b), p_holm over all rows, verdict (holds when a is better).
    """
    rows = select_headline(scores, events)
    matrix = build_matrix(rows, sorted({name for pair in pairs for name in pair}))
    level, clusters = events.set_index("event_id")["level"].reindex(matrix.index), find_clusters(events)[0]
    table = []
    for (a, b), (name, levels) in itertools.product(pairs, groups.items()):
        both = matrix.loc[level.isin(levels), [a, b]].dropna()
        means = {"mean_a": both[a].mean(), "mean_b": both[b].mean()}
        table.append(
            {"agent_a": a, "agent_b": b, "levels": name} | means | describe_differences(both[a] - both[b], clusters)
        )
    return judge_family(pd.DataFrame(table))


def describe_differences(differences, clusters, strata=None):
    """Return n, n_clusters, difference, low, high, p, mde of differences by event.

    Below ten clusters p is the exact sign-flip test's and there is no interval; `mde` is the minimum detectable
    effect, blank where nothing varies. What is in several of `strata` (`summarize_clustered`) is left out of all.

    >>> found = describe_differences(pd.Series([0.5, 0.5, 0.5]), None)
    >>> found["n"], found["p"], bool(np.isnan(found["low"]))
    (3, 0.25, True)
    """
    blank = dict.fromkeys("n n_clusters difference low high p mde".split(), np.nan)
    known = differences.dropna()
    if known.empty:
        return blank | {"n": 0, "n_clusters": 0}
    found = summarize_clustered(known.to_frame("d"), clusters, strata).iloc[0]
    row = blank | {"n": len(known), "n_clusters": int(found["n_clusters"]), "difference": found["mean"]}
    row |= {name: found[name] for name in ("low", "high", "p")}
    if strata is None and found["n_clusters"] < MIN_CLUSTERS:
        return row | {"p": sign_flip_test(known, clusters)}
    return row | {"mde": compute_mde(found["se"], row["n_clusters"]) if found["p"] >= 0 else np.nan}


def compare_memory(scores, events, model, baseline, kinds):
    """Return a model's lead over a baseline by window and contamination group, and how it differs between windows.

    `scores` and `events` hold both windows; only events of `kinds` count. Groups: widely known, obscure, all, and the
    sources that both windows have. Rows: group, window, means, `describe_differences` of the lead; last in a group the
    first window's lead minus the second's, of which alone p_holm and verdict are. Raises ValueError where no event was
    predicted by both.
    """
    matrix = build_matrix(select_headline(scores, events[events["kind"].isin(kinds)]), [model, baseline]).dropna()
    if matrix.empty:
        raise ValueError(f"no event was predicted by both {model} and {baseline}")
    facts, clusters = events.set_index("event_id").reindex(matrix.index), find_clusters(events)[0]
    source, lead = clusters.reindex(matrix.index), matrix[model] - matrix[baseline]
    windows = list(dict.fromkeys(facts["window"]))
    shared = set.intersection(*(set(source[facts["window"] == window]) for window in windows))
    groups = {name: facts["contamination_group"] == name for name in ("widely_known", "obscure")}
    groups |= {"all": pd.Series(True, matrix.index), "shared sources": source.isin(shared)}
    rows = []
    for group, is_in in groups.items():
        parts = {window: matrix.index[is_in & (facts["window"] == window)] for window in windows}
        for window, part in parts.items():
            means = {"mean_model": matrix.loc[part, model].mean(), "mean_baseline": matrix.loc[part, baseline].mean()}
            rows.append({"group": group, "window": window} | means | describe_differences(lead[part], clusters))
        if len(windows) == 2 and all(len(part) for part in parts.values()):
            gap = describe_differences(lead[is_in], clusters, list(zip((1, -1), parts.values(), strict=True)))
            rows.append({"group": group, "window": " minus ".join(windows)} | gap)
    table = pd.DataFrame(rows)
    gaps = table["window"].str.contains(" minus ")
    judged = judge_family(table.assign(p=table["p"].where(gaps)))
    return table.assign(p_holm=judged["p_holm"], verdict=judged["verdict"].where(gaps, ""))


def compare_moments(first, second, events):
    """Return, by agent, what asking at a second moment changes (FutureX 4.5.1, Figure 12).

    `first` and `second` are scores of the same events; a missing prediction counts as 0. Columns agent_id,
    `describe_differences` (second minus first), p_holm, verdict, and each moment's mean with its interval by source.
    """
    clusters, rows = find_clusters(events)[0], []
    for agent_id in sorted(set(first["agent_id"]) & set(second["agent_id"])):
        columns = [
            select_headline(table[table["agent_id"] == agent_id], events).set_index("event_id")["score_imputed"]
            for table in (first, second)
        ]
        both = pd.concat(columns, axis=1, keys=["first", "second"]).dropna()
        found = summarize_clustered(both, clusters, ends=(0, 1))
        row = {"agent_id": agent_id} | describe_differences(both["second"] - both["first"], clusters)
        rows.append(row | {f"{end}_{name}": found.loc[name, end] for name in both for end in ("mean", "low", "high")})
    return judge_family(pd.DataFrame(rows))


def group_domains(domains: pd.Series) -> pd.Series:
    """Return the paper's eight domains (Figure 9) for ours, one for each in `domains`; another's stays as it is.

    Which of ours stands for which is in data/papers/futurex_domain_groups.csv.

    >>> group_domains(pd.Series(["Weather & Climate"])).tolist()
    ['Weather & Climate']
    """
    groups = papers.load_published("futurex", "domain_groups").set_index("domain")["group"]
    return domains.map(groups).fillna(domains)


def compare_domains(scores, events, baseline):
    """Return each agent's mean score minus a baseline's by levels (1-2, 3-4) and domain, on the events both predicted.

    Columns: levels, domain, label (with its events and sources), agent_id, `gains.describe_differences` (clustered by
    source; without interval below ten), n_events, p_holm and verdict over a pair of levels. Agents come best first.
    """
    marks, _, clusters = lay_out(scores, events)
    known = events.set_index("event_id").loc[marks.index]
    order = [agent for agent in marks.mean().sort_values(ascending=False).index if agent != baseline]
    tables = []
    for name, pair in LEVEL_PAIRS.items():
        at = known[known["level"].astype(int).isin(pair)]
        parts = []
        for domain, part in at.groupby("domain"):
            n, n_sources = len(part), clusters.reindex(part.index).nunique()
            about = {"levels": name, "domain": domain, "n_events": n}
            about["label"] = f"{domain}\n{n} events, {n_sources} source" + "s" * (n_sources > 1)
            gaps = marks.loc[part.index].sub(marks.loc[part.index, baseline], axis=0)
            parts += [about | {"agent_id": agent} | describe_differences(gaps[agent], clusters) for agent in order]
        tables += [judge_family(pd.DataFrame(parts))] if parts else []
    return pd.concat(tables, ignore_index=True)
