"""Several trials of one agent: how far they agree, what their majority and their pool are worth, and a curve after it.

Not of WorldReasoner, whose agents answer once: the mean log-odds are the logit model of Satopää et al. (2014) without
its factor, the curve is Platt's (1999). Trials differ by chance alone; beside them stands one run of the same agent
without chance (temperature 0). Intervals and tests are by source.
"""

from itertools import permutations

import pandas as pd

from helpers.agents.arms import load_arms, replay_arms
from helpers.agents.samples import NUMBERS, combine_values, count_votes
from helpers.events.series_pages import open_series
from helpers.plots import draw_points, name_rows
from helpers.stats.calibration import list_chances, measure_trials, pool_chances, spread_rest
from helpers.stats.means import find_clusters, summarize_clustered
from helpers.store import STORE, dump_json, locate_output, parse_json, read_runs
from helpers.tables import list_columns
from helpers.worldreasoner.conditions import compare_metrics
from helpers.worldreasoner.scores import CATEGORICAL, name_type, score_forecast, score_table

COLD, ONE, MAJORITY, POOL, MENDED = "temperature 0", "one trial", "majority", "pool", "mended"
EVEN = "even"
"""What stands beside the trials: a run without chance, a trial on average, the three ways to make one of them, and who
gives all options the same probability.
"""

PAIRS = {
    "accuracy": ((MAJORITY, ONE), (COLD, ONE), (MAJORITY, COLD)),
    "brier": ((POOL, ONE), (MENDED, POOL), (COLD, ONE), (POOL, COLD), (MENDED, EVEN)),
}
"""What is compared, by metric."""


def replay_trials(events, arm_id, cold_id):
    """Return what an arm of several trials said, and the run of `cold_id` on the same questions, replayed: predictions.

    Both ask window L, whose table `events` is. A row a trial and question of which all trials are recorded; agent_id is
    "trial 1" and on, or "temperature 0". An empty table without a recording.
    """
    ledger, arms = locate_output(STORE), load_arms()
    runs = replay_arms([arm_id, cold_id], open_series, ledger, events={"L": events})
    if arm_id not in runs:
        return pd.DataFrame(columns=list_columns("predictions"))
    trials = read_runs(ledger, "predictions", [runs[arm_id]])
    trials = trials[trials["sample"] < arms[arm_id]["trials"]]
    parts = [trials.assign(agent_id="trial " + (trials["sample"] + 1).astype(str))]
    if cold_id in runs:
        cold = read_runs(ledger, "predictions", [runs[cold_id]])
        parts.append(cold[cold["event_id"].isin(trials["event_id"])].assign(agent_id=COLD))
    return pd.concat(parts, ignore_index=True)


def take_trials(said):
    """Return the rows that are trials, without the run beside them."""
    return said[said["agent_id"] != COLD]


def add_types(said, events):
    """Return predictions with kind, options and type (`scores.name_type`) of their questions."""
    known = events[["event_id", "kind", "options"]]
    names = [name_type(row["kind"], parse_json(row["options"])) for row in known.to_dict("records")]
    return said.merge(known.assign(type=names), on="event_id")


def agree_by_type(said, events):
    """Return how far trials agree (`calibration.measure_trials`): over all, those with options, and by type.

    Columns type, agreement, low, high, n, n_clusters; close, close_low, close_high (`share_close`); drawn (what the
    agreement would be were each option drawn alike, blank without options), spread, spread_low, spread_high: of the
    stated probability of the own answer, its standard deviation over a question's trials. Types of which no question
    has two answers are left out.
    """
    rows, clusters = add_types(take_trials(said), events), find_clusters(events)[0]
    choices = rows[rows["type"].isin(CATEGORICAL)]
    parts = {"all": rows, "with options": choices} | dict(tuple(rows.groupby("type")))
    whole = pd.concat(part.assign(agent_id=name) for name, part in parts.items())
    table = measure_trials(whole, clusters).rename(columns={"agent_id": "type"})
    close = {name: share_close(part) for name, part in parts.items() if name in set(table["type"])}
    found = summarize_clustered(pd.DataFrame(close), clusters).rename(columns={"mean": ""})
    for at, end in enumerate(("", "low", "high")):
        table.insert(6 + at, "_".join(["close", end]).strip("_"), table["type"].map(found[end]))
    options = choices.drop_duplicates("event_id").set_index("event_id")["options"]
    shares = 1 / options.map(parse_json).map(len).astype(float)
    own = {name: shares.reindex(part["event_id"].unique()).mean() for name, part in parts.items() if name != "all"}
    table.insert(9, "drawn", table["type"].map(own))
    return table.sort_values("type", key=lambda names: names.map(list(parts).index), ignore_index=True)


def share_close(rows):
    """Return by event_id the share of pairs of answers of which one would be right (F.1) were the other the answer.

    Of a quantity that is within a tenth, of all else the same answer. A pair counts both ways. `rows` as of
    `add_types`; questions with fewer than two answers are left out.
    """
    shares = {}
    for event_id, part in rows.dropna(subset=["value"]).groupby("event_id"):
        kind, options = part["kind"].iloc[0], parse_json(part["options"].iloc[0])
        pairs = list(permutations(map(parse_json, part["value"]), 2))
        hits = [score_forecast(kind, first, second, options=options)["accuracy"] for first, second in pairs]
        shares |= {event_id: sum(hits) / len(hits)} if hits else {}
    return pd.Series(shares, dtype=float)


VOTES = ("two agree", "median", "first trial")
"""What a majority rests on: an answer given twice or more; else, of numbers, their median; else trial 1 alone."""


def count_majorities(said, events):
    """Return what the majority of trials rests on, by type and over all: type, n, and a count for each of `VOTES`."""
    rows = add_types(take_trials(said), events).dropna(subset=["value"])
    found = [
        (part["type"].iloc[0], VOTES[0] if votes > 1 else VOTES[1 + (part["kind"].iloc[0] not in NUMBERS)])
        for _, part in rows.groupby("event_id")
        for votes in [count_votes(map(parse_json, part["value"])).most_common(1)[0][1]]
    ]
    table = pd.DataFrame(found, columns=["type", "rests"])
    counts = pd.crosstab(table["type"], table["rests"]).reindex(columns=list(VOTES), fill_value=0)
    counts = pd.concat([counts.sum().to_frame("all").T, counts]).rename_axis("type").rename_axis(None, axis=1)
    counts.insert(0, "n", counts.sum(axis=1))
    return counts.reset_index()


def vote_trials(said, events):
    """Return the majority of trials as predictions (`samples.combine_values`): a row a question, agent "majority".

    Of numbers it is the median, of answers that are equally frequent the first trial's; None where none has an answer.
    """
    rows = []
    for event_id, part in add_types(take_trials(said), events).sort_values("agent_id").groupby("event_id", sort=False):
        values = [value for value in map(parse_json, part["value"]) if value is not None]
        value = dump_json(combine_values(values, part["kind"].iloc[0])) if values else None
        rows.append({"run_id": MAJORITY, "agent_id": MAJORITY, "event_id": event_id, "sample": 0, "value": value})
    return pd.DataFrame(rows, columns=["run_id", "agent_id", "event_id", "sample", "value"])


def score_accuracy(said, events, answers):
    """Return accuracies (F.1), a row a question and a column a trial, with the majority and a trial on average.

    A trial without an answer is wrong.
    """
    rows = score_table(pd.concat([said, vote_trials(said, events)]), answers, events)
    if rows.empty:
        return pd.DataFrame()
    wide = rows.pivot(index="event_id", columns="agent_id", values="accuracy")
    return average_trials(wide)


def score_chances(said, events, answers):
    """Return (Brier scores, chances): a row a choice question, a column a trial, with ONE, POOL, MENDED and EVEN.

    Of questions with options whose trials all have an answer and its probability, which the other options share the
    rest of (`calibration.spread_rest`). The score is the mean over a question's options, of two it is that of one.
    `chances` are as `calibration.measure_calibration` takes them.
    """
    clusters = find_clusters(events)[0]
    chances = list_chances(events, answers, fill_distributions(said, events))
    hit, wide = pool_chances(take_trials(chances), clusters)
    if wide.empty:
        return pd.DataFrame(), chances
    cold = chances[chances["agent_id"] == COLD]
    cold = cold.assign(option=cold.groupby("event_id").cumcount()).set_index(["event_id", "option"])["said"]
    counts = events.set_index("event_id")["options"].map(parse_json).map(len, na_action="ignore")
    even = 1 / counts.reindex(wide.index.get_level_values(0)).to_numpy()
    wide = wide.assign(**{COLD: cold.reindex(wide.index), EVEN: even})
    long = wide.melt(ignore_index=False, var_name="agent_id", value_name="said").join(hit.rename("hit")).reset_index()
    return average_trials((wide.sub(hit, axis=0) ** 2).groupby(level=0).mean()), long.dropna(subset="said")


def fill_distributions(said, events):
    """Return predictions of choice questions with a distribution: the one given, else by the answer's probability."""
    rows = add_types(said, events)
    rows = rows[rows["type"].isin(CATEGORICAL)]
    filled = []
    for row in rows.to_dict("records"):
        value, probability, given = parse_json(row["value"]), row["probability"], parse_json(row["distribution"])
        if given is None and value is not None and pd.notna(probability):
            given = spread_rest(value, probability, parse_json(row["options"]))
        filled.append(None if given is None else dump_json(given))
    return rows.assign(distribution=filled).drop(columns=["kind", "options", "type"])


def average_trials(wide):
    """Return scores by trial with what a trial has on average."""
    return wide.assign(**{ONE: wide[[name for name in wide if str(name).startswith("trial ")]].mean(axis=1)})


def summarize_trials(accuracy, brier, clusters):
    """Return means by metric and who: metric, name, mean, low, high (95% by source), n, n_clusters.

    The trials first, then one on average, what is made of them, and what stands beside.
    """
    order = [ONE, MAJORITY, POOL, MENDED, COLD, EVEN]
    parts = []
    for metric, wide in (("accuracy", accuracy), ("brier", brier)):
        if len(wide):
            names = [name for name in wide if name not in order] + [name for name in order if name in wide]
            found = summarize_clustered(wide[names], clusters).rename_axis("name").reset_index().assign(metric=metric)
            found[["low", "high"]] = found[["low", "high"]].clip(0, 1)
            parts.append(found)
    columns = ["metric", "name", "mean", "low", "high", "n", "n_clusters"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def compare_trials(accuracy, brier, clusters):
    """Return the pairs of `PAIRS` on the questions that both have (`conditions.compare_metrics`), by exact tests.

    low and high are blank below ten sources.
    """
    return compare_metrics({"accuracy": accuracy, "brier": brier}, PAIRS, clusters, is_exact=True)


RULES = {"agreement": "the very same answer", "close": "by the scoring rule"}
"""How two trials may agree, by metric: both are drawn in one part of the figure."""

TITLES = {
    "agreement": "Pairs of trials that agree",
    "accuracy": "Accuracy, all types",
    "brier": "Brier score, less is better",
}
"""Part of the figure -> what is drawn in it."""


def gather_trials(agreement, means, compared):
    """Return what a figure shows and is saved with: agreement by type, means, and the pairs, a row each.

    Columns metric, name (blank of a pair), a, b (blank of others), value, low, high, p_holm, seen, n, n_clusters,
    verdict. Single trials are left out.
    """
    close = agreement.drop(columns=["low", "high"]).rename(columns=lambda name: name.removeprefix("close_"))
    parts = [
        agreement.rename(columns={"type": "name", "agreement": "value"}).assign(metric="agreement"),
        close.rename(columns={"type": "name", "close": "value"}).assign(metric="close"),
        means[~means["name"].str.startswith("trial ")].rename(columns={"mean": "value"}),
        compared.rename(columns={"difference": "value"}),
    ]
    columns = "metric name a b value low high p_holm seen n n_clusters verdict".split()
    return pd.concat(parts, ignore_index=True).reindex(columns=columns)


def draw_trials(part, ax, metric):
    """Draw the rows of one metric (`gather_trials`), or of both `RULES`, as points with their intervals and n."""
    part = part.assign(label=name_rows(part["name"], part["n"]), rule=part["metric"].map(RULES))
    series = "rule" if part["metric"].nunique() > 1 else None
    draw_points(part, ax, label="label", value="value", low="low", high="high", series=series)
    if series:
        ax.legend(loc="lower right", fontsize=8)
    ax.set(title=TITLES[metric], xlim=(-0.03, 1.03), xlabel="95% by source; none below ten sources")
    return ax
