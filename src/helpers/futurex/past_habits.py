"""What a mean score of window P hides: options ticked, how often Yes is said, what probabilities are worth.

F1 rewards who ticks much where many options are right; a share of right yes or no rewards who says No where most are
No. Neither is knowledge of the question, so each is set against one who does nothing else.
"""

import pandas as pd

from helpers.futurex.past_news import NEWS_AGENTS
from helpers.futurex.past_scores import ALL_OPTIONS, label_forms, open_answers
from helpers.scoring.scores import build_matrix
from helpers.stats.calibration import bin_chances, list_chances
from helpers.stats.means import summarize_clustered
from helpers.stats.paired import compare_pairs, judge_family
from helpers.store import dump_json, parse_json

YES = "A"
"""The letter of Yes, which the set has first."""


# --- several right: what is ticked -----------------------------------------------------------------------------------


def tick_all(events):
    """Return predictions of every option where several are right: a probe of F1, no forecast."""
    multi = events[events["kind"] == "multi"]
    values = [dump_json(list(parse_json(options))) for options in multi["options"]]
    return pd.DataFrame({"event_id": multi["event_id"].to_numpy(), "agent_id": ALL_OPTIONS, "value": values})


def tabulate_ticks(scores, predictions, events):
    """Return what agents tick where several are right, and both scores of it: a row an agent.

    Columns: agent_id, n, n_clusters, ticked (mean share of the options), ticked_all (share of questions), f1, strict
    (the rule by which a wrong option earns nothing, FutureX 3.3), more (F1 less that of ticking all options, on the
    same questions), low, high (95% by cluster), p_holm (over the table), verdict. `scores` and `predictions` hold the
    probe `tick_all`, whose own row has no difference.
    """
    clusters, options = events.set_index("event_id")["cluster_id"], events.set_index("event_id")["options"]
    multi = events.loc[events["kind"] == "multi", "event_id"]
    own = predictions[predictions["event_id"].isin(multi)].dropna(subset=["value"])
    own = own.assign(
        share=[len(parse_json(v)) / len(parse_json(options[e])) for v, e in own[["value", "event_id"]].to_numpy()]
    )
    agents = sorted(own["agent_id"].unique())
    f1, strict = (build_matrix(scores[scores["metric"] == name], agents) for name in ("f1", "f1_strict"))
    more = f1.drop(columns=ALL_OPTIONS).rsub(f1[ALL_OPTIONS], axis=0).mul(-1)
    found = summarize_clustered(more, clusters).rename(columns={"mean": "difference"})
    found = judge_family(found, "difference", "more", "less")
    table = pd.DataFrame({"n": f1.notna().sum(), "ticked": own.groupby("agent_id")["share"].mean()})
    table["ticked_all"] = own["share"].eq(1).groupby(own["agent_id"]).mean()
    table = table.assign(f1=f1.mean(), strict=strict.mean())
    table = table.join(found[["n_clusters", "difference", "low", "high", "p_holm", "verdict"]])
    return table.rename(columns={"difference": "more"}).rename_axis("agent_id").reset_index()


# --- yes or no: how often Yes is said --------------------------------------------------------------------------------


def read_yes(predictions, events):
    """Return 1 where Yes was said and 0 where No was, by event (rows) and agent (columns)."""
    forms = label_forms(events)
    own = predictions[predictions["event_id"].map(forms).eq("yes or no")].dropna(subset=["value"])
    said = own.assign(yes=own["value"].map(parse_json).eq(YES).astype(float))
    return build_matrix(said, sorted(said["agent_id"].unique()), "yes")


def tabulate_yes(said, events, answers):
    """Return how often agents say Yes, of all questions, of those where it is right and of those where it is not.

    `said` as of `read_yes`. Columns: agent_id, n, n_clusters, said, is_yes (how often Yes is right), of_yes, of_no,
    tells (of_yes less of_no, 0 for who says Yes at the same rate whatever the question), low, high (95% by cluster;
    blank below ten clusters of either), p_holm (over the table), verdict.
    """
    clusters, right = events.set_index("event_id")["cluster_id"], open_answers(answers)
    is_yes, rows = pd.Series([YES in right[event_id] for event_id in said.index], said.index), []
    for agent, column in said.items():
        known = column.dropna()
        yes, no = (known.index[is_yes[known.index] == side] for side in (True, False))
        shares = {"said": known.mean(), "is_yes": is_yes[known.index].mean()}
        shares |= {"of_yes": known[yes].mean(), "of_no": known[no].mean()}
        strata = [(1, yes), (-1, no)]
        found = summarize_clustered(known.to_frame(), clusters, strata).iloc[0].rename({"mean": "difference"})
        rows.append({"agent_id": agent} | shares | found.drop("se").to_dict())
    table = pd.DataFrame(rows)
    table = judge_family(table, "difference", "tells", "tells the wrong way")
    columns = "agent_id n n_clusters said is_yes of_yes of_no difference low high p_holm verdict"
    return table[columns.split()].rename(columns={"difference": "tells"})


def compare_yes(said, clusters):
    """Return how much more often the model says Yes with news than without, and with another question's: a row a pair.

    As `compare_pairs`, with `verdict` by Holm over the pairs; of `NEWS_AGENTS` that are there.
    """
    there = [agent for agent in NEWS_AGENTS.values() if agent in said]
    pairs = [(agent, [NEWS_AGENTS["none"]]) for agent in there if agent != NEWS_AGENTS["none"]]
    return judge_family(compare_pairs(said[there], clusters, pairs), "difference", "more", "less")


# --- yes or no: probabilities ----------------------------------------------------------------------------------------


def list_yes_chances(predictions, events, answers, agents):
    """Return the probabilities of Yes that agents gave, on the questions on which all of them gave one.

    Columns agent_id, event_id, said, hit (`calibration.list_chances`).
    """
    asked = events[events["event_id"].map(label_forms(events)) == "yes or no"]
    own = predictions[predictions["agent_id"].isin(agents) & predictions["event_id"].isin(asked["event_id"])]
    chances = list_chances(asked, answers, own)
    return chances[chances.groupby("event_id")["agent_id"].transform("nunique") == chances["agent_id"].nunique()]


def weigh_yes(chances, clusters, n_bins=5):
    """Return the Brier error of probabilities of Yes beside that of saying half each time: (a row an agent, bins).

    `chances` as of `list_yes_chances`. Columns: agent_id, n, n_clusters, brier (of the one event Yes, from 0 to 1,
    lower is better), said, hit (means), gain (half's 0.25 less the error), low, high (95% by cluster), p_holm,
    verdict. The bins are those of a reliability diagram (`calibration.bin_chances`).
    """
    errors = chances.assign(error=(chances["said"] - chances["hit"]) ** 2)
    matrix = build_matrix(errors, sorted(errors["agent_id"].unique()), "error")
    found = summarize_clustered(0.25 - matrix, clusters).rename(columns={"mean": "difference"})
    found = judge_family(found, "difference", "better than half", "worse than half")
    table = found.assign(
        brier=matrix.mean(), **{name: chances.groupby("agent_id")[name].mean() for name in ("said", "hit")}
    )
    columns = "n n_clusters brier said hit difference low high p_holm verdict"
    table = table[columns.split()].rename(columns={"difference": "gain"}).rename_axis("agent_id").reset_index()
    return table, bin_chances(chances, clusters, n_bins)
