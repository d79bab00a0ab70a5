"""Means by domain, the spread between agents less chance, and the four observations (FutureX 4.3); synthetic scores."""

import numpy as np
import pandas as pd
import pytest

from helpers.futurex import domains


def make_rng():
    return np.random.default_rng(4)


def make_tables(by_cell):
    """Scores and events from {(domain, level): {agent: [score, ...]}}."""
    scores, events = [], []
    for (domain, level), agents in by_cell.items():
        for agent, values in agents.items():
            for at, value in enumerate(values):
                event = {"event_id": f"{domain}{level}-{at:03d}", "kind": "single", "level": level, "domain": domain}
                events += [event] if event not in events else []
                row = {"run_id": agent, "agent_id": agent, "sample": 0, "metric": "accuracy", "is_scored": True}
                scores.append(row | {"event_id": event["event_id"], "score": value, "score_imputed": value})
    return pd.DataFrame(scores), pd.DataFrame(events)


def make_rows(by_cell):
    """Rows of `select_domains`, with the paper's groups."""
    rows = domains.select_domains(*make_tables(by_cell))
    return rows.assign(group=domains.group_domains(rows["domain"]))


def make_categories(**agents):
    return pd.Series(agents, name="category")


def draw(mean, n=200, seed=0):
    """Scores around a mean, 0 or 1."""
    return (np.random.default_rng(seed).random(n) < mean).astype(float)


def test_means_and_counts_by_hand():
    rows = make_rows({("Crypto", 1): {"a": [1, 0, 1, 0], "b": [1, 1, 1, 1]}, ("Crypto", 4): {"a": [0.5], "b": [0.1]}})
    table = domains.summarize_domains(rows).set_index(["levels", "agent_id"])
    assert table.loc[("1-2", "a"), ["mean", "n", "n_events"]].tolist() == [0.5, 4, 4]
    assert table.loc[("3-4", "b"), "mean"] == 0.1
    assert table["is_thin"].all(), "four events and one event are both too few"
    assert table[["low", "low_by_event"]].isna().all(axis=None), "and have no interval"


def test_an_interval_is_by_source_and_that_by_event_beside_it():
    values = draw(0.3, 400)
    row = domains.summarize_domains(make_rows({("Space", 1): {"a": values}})).iloc[0]
    reach = 1.96 * values.std() / 20
    assert row["high_by_event"] - row["low_by_event"] == pytest.approx(2 * reach, rel=0.1)
    scores, events = make_tables({("Space", 1): {"a": np.repeat(values[:40], 10)}})  # ten events share a source's luck
    shared = events.assign(source_id=[f"s{int(name[-3:]) // 10}" for name in events["event_id"]])
    wide = domains.summarize_domains(domains.select_domains(scores, shared)).iloc[0]
    assert wide["n_clusters"] == 40
    assert (wide["high"] - wide["low"]) / (wide["high_by_event"] - wide["low_by_event"]) > 2.5
    few = domains.summarize_domains(domains.select_domains(scores, shared.assign(source_id="one"))).iloc[0]
    assert np.isnan(few["low"]) and few["n_clusters"] == 1


def test_every_domain_of_the_registry_has_one_of_the_papers_eight():
    from helpers.web.sources import load_sources

    ours = pd.Series(sorted({source.domain for source in load_sources().values()} - {None, ""}))
    assert domains.group_domains(ours).notna().all()
    assert domains.papers.load_published("futurex", "domain_groups")["group"].nunique() == 8


def test_spread_of_equal_agents_is_chance_and_of_different_ones_is_not():
    same = {f"a{i}": draw(0.5, seed=i) for i in range(6)}
    apart = {f"a{i}": draw(0.1 + 0.16 * i, seed=i) for i in range(6)}
    table = {}
    for name, agents in (("same", same), ("apart", apart)):
        rows = make_rows({("Sports", 1): agents})
        spread = domains.measure_spread(rows, make_categories(**dict.fromkeys(agents, "baseline")), make_rng())
        table[name] = spread.set_index("domain").loc["Sports"]
    assert table["same"]["sd_seen"] > 0.02 and table["same"]["low"] == 0
    assert table["same"]["sd"] < table["same"]["sd_seen"]
    truth = np.std(0.1 + 0.16 * np.arange(6), ddof=1)
    assert table["apart"]["low"] < truth < table["apart"]["high"] and table["apart"]["low"] > 0.15
    assert table["apart"]["range"] == pytest.approx(np.ptp([v.mean() for v in apart.values()]))


def make_models(n=60):
    """Two base models and two search agents with what the paper observes planted in."""
    cells = {}
    for at, domain in enumerate(["Culture", "Technology", "Crypto", "Finance", "Politics"]):
        informed = 0.3 if domain in ("Culture", "Technology") else 0.0
        for level, ease in ((1, 0.5), (4, 0.05)):
            seeds = iter(range(100 * at + 10 * level, 1000))
            means = {"gpt-base": 0.0, "deepseek": 0.0, "gpt-search": -0.2 + informed, "grok": 0.3 + informed}
            cells[domain, level] = {
                agent: draw(np.clip(ease + (more if level == 1 else 0), 0.01, 0.99), n, next(seeds))
                for agent, more in means.items()
            }
    return cells


def test_the_observations_are_judged_where_models_are_there():
    category = make_categories(
        **{"gpt-base": "base_model", "deepseek": "base_model", "gpt-search": "think_search", "grok": "think_search"}
    )
    table = domains.judge_observations(make_rows(make_models()), category, make_rng(), n_boot=500)
    told = table.set_index("statement")["verdict"]
    assert told["search minus base models in Culture & Media"] == "agrees"
    assert told["levels 1-2: spread of search agents minus spread of base models"] == "agrees"
    assert told["search agents: levels 1-2 minus levels 3-4, no guessing agent to compare with"] == "agrees"
    assert told["search agents on levels 3-4: 0.2 (top ring of Figure 10) minus their mean"] == "agrees"
    assert told["DeepSeek-V3 minus the other models in Politics"] == "cannot tell"
    assert told["GPT models minus the other models in Crypto"] == "disagrees"


def plant_domains(rng, sd, noise, n_sources=48, n_each=8):
    """Rows of four baselines whose strengths differ by domain with this SD, in four domains; synthetic."""
    source = np.repeat(np.arange(n_sources), n_each)
    strength = rng.normal(size=(4, 4))
    strength -= strength.mean(axis=0) + strength.mean(axis=1, keepdims=True) - strength.mean()
    values = 0.5 + sd / strength.std() * strength[:, source % 4] + noise * rng.normal(size=(4, len(source)))
    ids = [f"e{at:03d}" for at in range(len(source))]
    head = {"event_id": ids * 4, "agent_id": np.repeat(list("abcd"), len(ids)), "score": values.ravel()}
    group = np.array(["Crypto", "Politics", "Sports", "Technology"])[source % 4]
    known = {"group": np.tile(group, 4), "cluster": [f"s{at}" for at in source] * 4, "levels": "1-2"}
    return pd.DataFrame(head | known)


@pytest.mark.parametrize(
    ("sd", "noise", "truth", "by_bound"),
    [
        (0.2, 0.1, "agrees", {"agrees"}),
        (0.0, 0.02, "disagrees", {"disagrees"}),
        (0.0, 0.4, "cannot tell", {"disagrees", "cannot tell"}),
        (0.04, 0.1, "cannot tell", {"agrees", "disagrees"}),
    ],
)
def test_the_interaction_has_one_verdict_where_all_our_bounds_give_it(sd, noise, truth, by_bound):
    rows = plant_domains(np.random.default_rng(1), sd, noise)
    category = make_categories(**dict.fromkeys("abcd", "baseline"))
    judged = domains.judge_observations(rows, category, make_rng(), n_boot=300)
    assert judged["verdict"].iloc[1] == truth
    assert set(domains.judge_evenness(judged).iloc[1, 1:]) == by_bound


def test_without_models_nothing_is_claimed():
    rows = make_rows(make_models())
    category = make_categories(**dict.fromkeys(rows["agent_id"].unique(), "baseline"))
    table = domains.judge_observations(rows, category, make_rng(), n_boot=200)
    assert sorted(table["observation"].unique()) == [1, 2, 3, 4]
    models = table[~table["statement"].str.contains("our baselines")]
    assert (models["verdict"] == "cannot tell").all() and models["estimate"].isna().all()
