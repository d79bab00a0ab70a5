"""What window P shows: scores above chance by form, what the options' order tells, and what a mean hides.

Options ticked, how often Yes is said, what probabilities are worth: each is set against one who knows nothing of the
question (ticking all, saying No, saying half).
"""

from math import comb

import pandas as pd

from helpers.agents.past import read_form
from helpers.scoring.scores import build_matrix, select_headline
from helpers.stats.calibration import bin_chances, list_chances
from helpers.stats.means import summarize_clustered
from helpers.stats.paired import judge_family
from helpers.store import dump_json, parse_json

ALL_OPTIONS = "all options"
"""The probe that ticks every option where several are right (`past_habits.tick_all`)."""

FORMS = {
    ("single", "yes_no"): "yes or no",
    ("single", "binary_named"): "one of two names",
    ("single", "multiple_choice"): "one of several",
    ("multi", "multiple_choice"): "several right",
}
"""Kind and the set's own question type -> what a form is called here."""


def label_forms(events):
    """Return the form of each event by event_id; a type that the set did not have before keeps its own name."""
    labels = [
        FORMS.get((row["kind"], read_form(row)), f"{row['kind']} {read_form(row)}") for row in events.to_dict("records")
    ]
    return pd.Series(labels, index=events["event_id"])


def open_answers(answers):
    """Return each event's right letters as a set, by event_id."""
    values = {row.event_id: parse_json(row.value) for row in answers.dropna(subset=["value"]).itertuples()}
    return {event_id: {value} if isinstance(value, str) else set(value) for event_id, value in values.items()}


def expect_guess(kind, n_options, n_right):
    """Return what the agent `random` earns on average: one option, or each by a coin and one where none came up (F1).

    >>> expect_guess("single", 4, 1), expect_guess("multi", 2, 1)
    (0.25, 0.5416666666666666)
    """
    if kind == "single":
        return 1 / n_options
    total = 0.0
    for hits in range(n_right + 1):
        for misses in range(n_options - n_right + 1):
            weight = comb(n_right, hits) * comb(n_options - n_right, misses) / 2**n_options
            total += weight * (2 * hits / (hits + misses + n_right))
    return total + n_right / n_options * 2 / (1 + n_right) / 2**n_options


def tabulate_forms(scores, events, answers):
    """Return each agent's mean score by form, and above the exact mean of guessing: a row an agent and form.

    Under "all", the first, stands who predicted more forms than one. Columns: form, agent_id, mean, low, high, chance,
    above, above_low, above_high, p, p_holm (over the table), n, n_clusters, verdict; intervals 95% by cluster.
    """
    rows = select_headline(scores, events)
    matrix = build_matrix(rows, sorted(rows["agent_id"].unique()))
    right, clusters, guesses = open_answers(answers), events.set_index("event_id")["cluster_id"], {}
    for row in events[events["event_id"].isin(right)].to_dict("records"):
        n_right = len(right[row["event_id"]])
        guesses[row["event_id"]] = expect_guess(row["kind"], len(parse_json(row["options"])), n_right)
    guesses, forms, parts = pd.Series(guesses), label_forms(events), []
    for form in ["all", *[form for form in FORMS.values() if (forms == form).any()]]:
        own = forms.reindex(matrix.index)
        part = matrix.loc[:, matrix.notna().groupby(own).any().sum() > 1] if form == "all" else matrix[own == form]
        found = summarize_clustered(part, clusters)
        above = summarize_clustered(part.sub(guesses.reindex(part.index), axis=0), clusters)
        table = found[["mean", "low", "high"]].assign(chance=found["mean"] - above["mean"], above=above["mean"])
        table = table.assign(above_low=above["low"], above_high=above["high"], p=above["p"])
        table = table.assign(n=found["n"], n_clusters=found["n_clusters"], form=form).rename_axis("agent_id")
        parts.append(table.reset_index())
    table = pd.concat(parts, ignore_index=True).query("n > 0")
    return judge_family(table, "above", "above", "below").reset_index(drop=True)


def measure_order(events, answers):
    """Return how often the right options stand first: form, n, seen, expected (in any order), gain, low, high, p,
    n_clusters.

    For one of several: that the first is right; for several right ones: that they are the first ones and no other.
    """
    forms, right, rows = label_forms(events), open_answers(answers), []
    for event in events[events["event_id"].map(forms).isin(["one of several", "several right"])].to_dict("records"):
        letters, order = list(parse_json(event["options"])), parse_json(event["metadata"])["order"]
        places = sorted(order[letters.index(letter)] for letter in right[event["event_id"]])
        chance = 1 / comb(len(letters), len(places))
        rows.append((event["event_id"], forms[event["event_id"]], float(places == list(range(len(places)))), chance))
    table = pd.DataFrame(rows, columns=["event_id", "form", "seen", "expected"]).set_index("event_id")
    clusters, parts = events.set_index("event_id")["cluster_id"], []
    for form, part in table.groupby("form", sort=False):
        found = summarize_clustered((part["seen"] - part["expected"]).to_frame("gain"), clusters).iloc[0]
        sums = {"form": form, "n": len(part), "seen": part["seen"].sum(), "expected": part["expected"].sum()}
        parts.append(sums | {"gain": found["mean"]} | found[["low", "high", "p", "n_clusters"]].to_dict())
    return pd.DataFrame(parts)


def describe_forms(events, answers):
    """Return a row a form: n, n_clusters, options (median, least, most), levels, share_right of the options,
    share_yes.
    """
    right = open_answers(answers)
    table = events.assign(form=events["event_id"].map(label_forms(events)), options=events["options"].map(parse_json))
    table["n_options"] = table["options"].map(len)
    table["share_right"] = table["event_id"].map(right).map(len) / table["n_options"]
    table["share_first"] = [float("A" in right[event_id]) for event_id in table["event_id"]]
    grouped = table.groupby("form")
    found = grouped["n_options"].agg(n="size", median="median", least="min", most="max")
    found.insert(1, "n_clusters", grouped["cluster_id"].nunique())
    found["levels"] = grouped["level"].agg(lambda levels: ", ".join(map(str, sorted(set(levels)))))
    found["share_right"] = grouped["share_right"].mean()
    found["share_yes"] = grouped["share_first"].mean().where(found.index == "yes or no")
    return found.reindex([form for form in FORMS.values() if form in found.index]).reset_index()


def list_effects(order, added):
    """Return what the file's order tells (`measure_order`) and news adds (`compare_news`) as lines of one table.

    Columns part (order or news), line, n, n_clusters, difference, low, high, p, p_holm.
    """
    first = order.assign(part="order", line=order["form"]).rename(columns={"gain": "difference"})
    news = added[added["comparison"].eq("search - none") | added["events"].isin(["all", "yes or no"])]
    news = news.assign(part="news", line=news["comparison"] + ": " + news["events"])
    numbers = "n n_clusters difference low high p p_holm".split()
    return pd.concat([first, news], ignore_index=True)[["part", "line", *numbers]].astype(dict.fromkeys(numbers, float))


YES = "A"
"""The letter of Yes, which the set has first."""


def tick_all(events):
    """Return predictions of every option where several are right: a probe of F1, no forecast."""
    multi = events[events["kind"] == "multi"]
    values = [dump_json(list(parse_json(options))) for options in multi["options"]]
    return pd.DataFrame({"event_id": multi["event_id"].to_numpy(), "agent_id": ALL_OPTIONS, "value": values})


def tabulate_ticks(scores, predictions, events):
    """Return what agents tick where several are right, and both scores of it: a row an agent.

    Columns: agent_id, n, n_clusters, ticked (mean share of the options), ticked_all (share of questions), f1, strict
    (FutureX 3.3), more (F1 less that of ticking all options), low, high (95% by cluster), p_holm, verdict. `scores` and
    `predictions` hold the probe `tick_all`.
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


def read_yes(predictions, events):
    """Return 1 where Yes was said and 0 where No was, by event (rows) and agent (columns)."""
    forms = label_forms(events)
    own = predictions[predictions["event_id"].map(forms).eq("yes or no")].dropna(subset=["value"])
    said = own.assign(yes=own["value"].map(parse_json).eq(YES).astype(float))
    return build_matrix(said, sorted(said["agent_id"].unique()), "yes")


def tabulate_yes(said, events, answers):
    """Return how often agents say Yes, of all questions, of those where it is right and of those where it is not.

    Columns: agent_id, n, n_clusters, said, is_yes (how often Yes is right), of_yes, of_no, tells (of_yes less of_no),
    low, high (95% by cluster), p_holm, verdict. `said` as of `read_yes`.
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


def list_yes_chances(predictions, events, answers, agents):
    """Return the probabilities of Yes that all agents gave: agent_id, event_id, said, hit
    (`calibration.list_chances`).
    """
    asked = events[events["event_id"].map(label_forms(events)) == "yes or no"]
    own = predictions[predictions["agent_id"].isin(agents) & predictions["event_id"].isin(asked["event_id"])]
    chances = list_chances(asked, answers, own)
    return chances[chances.groupby("event_id")["agent_id"].transform("nunique") == chances["agent_id"].nunique()]


def weigh_yes(chances, clusters, n_bins=5):
    """Return the Brier error of probabilities of Yes beside that of saying half each time: (a row an agent, bins).

    Columns: agent_id, n, n_clusters, brier (of the one event Yes, 0 to 1), said, hit (means), gain (0.25 less the
    error), low, high (95% by cluster), p_holm, verdict. Bins are those of a reliability diagram (`bin_chances`).
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
