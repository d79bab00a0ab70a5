"""The same questions at points of their life (horizons): who is right more often the later it is
asked, runs compared, and a lead over a rule (WorldReasoner 5.3).

Intervals and tests are clustered by source.
"""

import pandas as pd

from daybefore.agents.recorded_runs import move_moments
from helpers.files import dump_json
from helpers.means import find_clusters
from helpers.paired import compare_pairs, correct_holm, sign_flip_test
from helpers.papers import load_published
from helpers.tables import HORIZONS
from studies.worldreasoner.outcome_scores import score_table, take_clusters


def load_ranges():
    """Return the printed ranges of three models' accuracy (low, high) by horizon (5.3)."""
    printed = load_published("worldreasoner", "intext_results")
    printed = printed[printed["subset"] == "3 models approx"].set_index("condition_or_row")["value"]
    ranges = printed.str.split("-", expand=True).astype(float) / 100
    return ranges.set_axis(["low", "high"], axis=1).rename(
        index=lambda name: name.replace("Near-res", "Near")
    )


def ask_horizons(events, agents, horizons=HORIZONS):
    """Return the predictions of agents that need no world, asked at each horizon: a row a run,
    question.

    Columns run_id ("agent at horizon"), agent_id, horizon, event_id, sample, as_of and those of a
    prediction, values and distributions as JSON. `agents` are as `run_loop.run_agents` takes them.
    """
    rows = []
    for horizon in horizons:
        asked = move_moments(events, horizon).to_dict("records")
        for name, agent in agents.items():
            about = {
                "run_id": f"{name} at {horizon}",
                "agent_id": name,
                "horizon": horizon,
                "sample": 0,
            }
            for event in asked:
                said = agent["forecast"](event, None)["prediction"]
                cells = {key: dump_json(said.get(key)) for key in ("value", "distribution")}
                rows.append(
                    about | {"event_id": event["event_id"], "as_of": event["as_of"]} | said | cells
                )
    return pd.DataFrame(rows)


def score_horizons(predictions, answers, events):
    """Return the scores (`outcome_scores.score_table`) of predictions at a horizon, with it, and
    each question's cluster.

    Columns run_id, event_id, agent_id, horizon, type, the metrics, cluster.
    """
    table = score_table(predictions, answers, events)
    horizons = predictions.groupby("run_id")["horizon"].first()
    table["horizon"] = table["run_id"].map(horizons)
    table["cluster"] = table["event_id"].map(find_clusters(events)[0])
    return table


def compare_runs(scores, pairs):
    """Return how much more often one run is right than another on the questions of both, a row a
    pair.

    A run is (agent, horizon). Columns run_a, run_b, n, n_clusters, difference (a - b), low, high, p
    (of a t test by cluster), p_flip (exact, over clusters: `paired.sign_flip_test`), p_holm, mde.
    Clusters are few and of unequal sizes, so that the larger of the two p counts, corrected over
    all `pairs`: those without a common question are left out of the table, and count.
    """
    known = scores.astype({"accuracy": float})
    wide = known.pivot_table("accuracy", "event_id", ["agent_id", "horizon"])
    wide.columns = wide.columns.map(" at ".join)
    named = [[" at ".join(run) for run in pair] for pair in pairs]
    wide = wide.reindex(columns=sorted({run for pair in named for run in pair}))
    clusters = take_clusters(scores)
    table = compare_pairs(wide, clusters, [(first, [second]) for first, second in named])
    table = table.rename(columns={"agent_a": "run_a", "agent_b": "run_b"})
    table = table.query("n > 0").reset_index(drop=True)
    gains = [wide[a] - wide[b] for a, b in table[["run_a", "run_b"]].to_numpy()]
    table["p_flip"] = [sign_flip_test(gain, clusters) for gain in gains]
    table["p_holm"] = correct_holm(table[["p", "p_flip"]].max(axis=1), len(pairs))
    return table["run_a run_b n n_clusters difference low high p p_flip p_holm mde".split()]


def measure_lead(scores, reference):
    """Return by agent and horizon how far its mean Brier score lies below the reference's on the
    same questions.

    Columns agent_id, horizon, reference (its mean), difference (above 0: better than it), skill
    (the difference over the reference's mean), low, high, p, p_holm (over all rows), mde, n,
    n_clusters. Raises KeyError when the reference was not asked.
    """
    known = scores[scores["brier"].notna()].astype({"brier": float})
    parts = []
    for horizon in HORIZONS:
        wide = known[known["horizon"] == horizon].pivot_table("brier", "event_id", "agent_id")
        others = wide.columns.drop(reference)
        found = compare_pairs(wide, take_clusters(scores), [(reference, others)])
        shared = [wide.loc[wide[name].notna(), reference].mean() for name in others]
        parts.append(found.assign(horizon=horizon, reference=shared))
    table = pd.concat(parts).rename(columns={"agent_b": "agent_id"})
    table = table.sort_values("agent_id", kind="stable", ignore_index=True)
    table["skill"] = table["difference"] / table["reference"]
    table["p_holm"] = correct_holm(table["p"])
    columns = "agent_id horizon reference difference skill low high p p_holm mde n n_clusters"
    return table[columns.split()]
