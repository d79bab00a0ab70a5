"""What window P shows: what the order of options tells, and scores above chance by form."""

from math import comb

import pandas as pd

from helpers.agents.past import read_form
from helpers.formats.futurex import cluster_questions
from helpers.plots import COLOURS, draw_points, measure_reach, name_rows
from helpers.scoring.scores import build_matrix, select_headline
from helpers.stats.means import summarize_clustered
from helpers.stats.paired import judge_family
from helpers.store import dump_json, parse_json

ALL_OPTIONS = "all options"
"""The probe that ticks every option where several are right (`past_habits.tick_all`)."""

MARKERS = "osD^vP"
"""How agents are told apart beside their colours."""

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


# --- chance ----------------------------------------------------------------------------------------------------------


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


def list_guesses(events, answers):
    """Return `expect_guess` of each event that has an answer, by event_id."""
    right = open_answers(answers)
    rows = events[events["event_id"].isin(right)].to_dict("records")
    counts = {row["event_id"]: (len(parse_json(row["options"])), len(right[row["event_id"]])) for row in rows}
    return pd.Series({row["event_id"]: expect_guess(row["kind"], *counts[row["event_id"]]) for row in rows})


def take_form(matrix, forms, form):
    """Return a matrix's rows of a form; for "all" every row, and the agents that have scores in two forms or more."""
    own = forms.reindex(matrix.index)
    if form == "all":
        return matrix.loc[:, matrix.notna().groupby(own).any().sum() > 1]
    return matrix[own == form]


def tabulate_forms(scores, events, answers):
    """Return each agent's mean score by form, and above chance: a row an agent and form ("all" the first).

    Under "all" stands who predicted more forms than one; a probe of a single form would say the same again.
    Columns: form, agent_id, mean, low, high, chance, above, above_low, above_high, p, p_holm, n, n_clusters; intervals
    95% by cluster, p that of no gain on the exact mean of guessing at the same events, p_holm over the whole table,
    by which the verdict is.
    """
    rows = select_headline(scores, events)
    matrix = build_matrix(rows, sorted(rows["agent_id"].unique()))
    guesses, clusters = list_guesses(events, answers), events.set_index("event_id")["cluster_id"]
    forms, parts = label_forms(events), []
    for form in ["all", *[form for form in FORMS.values() if (forms == form).any()]]:
        part = take_form(matrix, forms, form)
        found = summarize_clustered(part, clusters)
        above = summarize_clustered(part.sub(guesses.reindex(part.index), axis=0), clusters)
        table = found[["mean", "low", "high"]].assign(chance=found["mean"] - above["mean"], above=above["mean"])
        table = table.assign(above_low=above["low"], above_high=above["high"], p=above["p"])
        table = table.assign(n=found["n"], n_clusters=found["n_clusters"], form=form).rename_axis("agent_id")
        parts.append(table.reset_index())
    table = pd.concat(parts, ignore_index=True).query("n > 0")
    return judge_family(table, "above", "above", "below").reset_index(drop=True)


def vary_clusters(scores, events, answers, rows, cuts):
    """Return what another cut of the clusters changes: cut, n_clusters, agree (share of the forms' verdicts that stay).

    `rows` are the events' rows in the set, in their order; `cuts` likenesses from which questions share a cluster.
    """
    first, found = tabulate_forms(scores, events, answers), []
    for cut in cuts:
        other = events.assign(cluster_id=cluster_questions(rows, cut))
        same = tabulate_forms(scores, other, answers)["verdict"].eq(first["verdict"])
        found.append((cut, other["cluster_id"].nunique(), same[first["p"].notna()].mean()))
    return pd.DataFrame(found, columns=["cut", "n_clusters", "agree"])


# --- the order of the options in the file ----------------------------------------------------------------------------


def take_given(events):
    """Return predictions of the option that the file has first, where one of several is right: a probe, no forecast."""
    rows = []
    for event in events[events["event_id"].map(label_forms(events)) == "one of several"].to_dict("records"):
        letters, order = list(parse_json(event["options"])), parse_json(event["metadata"])["order"]
        value = dump_json(letters[order.index(0)])
        rows.append({"event_id": event["event_id"], "agent_id": "first in the file", "value": value})
    return pd.DataFrame(rows)


def measure_order(events, answers):
    """Return how often the right options stand first: form, n, seen, expected, gain, low, high, p, n_clusters.

    For one of several: that the first is right; for several right ones: that they are the first ones and no other.
    `expected` is what any order would give, `gain` the mean difference an event, its interval by cluster.
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


# --- the set, and the figure -----------------------------------------------------------------------------------------


def describe_forms(events, answers):
    """Return a row a form: n, n_clusters, level, options (median, least, most), share of options that are right, and of
    yes and no how often yes was."""
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


def list_facts(events, answers, touch, settled):
    """Return what may be told of each event: its id, form, counts, dates, cluster, letters, findings; no word of it."""
    kept = events[["event_id", "kind", "level", "opens_at", "as_of", "resolves_at", "cluster_id"]].copy()
    kept["form"] = events["event_id"].map(label_forms(events)).to_numpy()
    kept["n_options"] = events["options"].map(parse_json).map(len)
    kept["order"] = [dump_json(parse_json(cell)["order"]) for cell in events["metadata"]]
    kept["answer"] = events["event_id"].map(answers.set_index("event_id")["value"]).to_numpy()
    kept["touch"] = events["event_id"].map(touch).to_numpy()
    return kept.assign(is_settled=kept["event_id"].isin(settled))


def count_rewordings(rows, later):
    """Return what later versions of a set changed in the rows that they word anew: the column, and how many rows."""
    both = later.merge(rows, on="id", suffixes=("", "_first"))
    names = ("event", "options", "answer", "end_time", "choice_type", "question_type")
    changed = {name: both.loc[both[name] != both[f"{name}_first"], "id"].nunique() for name in names}
    changed |= {"rows in all": rows["id"].nunique()}
    return pd.DataFrame(changed.items(), columns=["column", "rows changed"])


def list_effects(order, added):
    """Return what the file's order tells (`measure_order`) and news adds (`compare_news`) as lines of one table.

    Columns `part` (order or news), line, n, n_clusters, difference, low, high, p, p_holm. Of the news: the effect, by
    touch and by form, and beside it, over all and of yes or no, its parts on the questions that have the control.
    """
    first = order.assign(part="order", line=order["form"]).rename(columns={"gain": "difference"})
    news = added[added["comparison"].eq("search - none") | added["events"].isin(["all", "yes or no"])]
    news = news.assign(part="news", line=news["comparison"] + ": " + news["events"])
    numbers = "n n_clusters difference low high p p_holm".split()
    return pd.concat([first, news], ignore_index=True)[["part", "line", *numbers]].astype(dict.fromkeys(numbers, float))


def draw_past(table, effects, bins, axes):
    """Draw on the axes "forms", "order", "news" and "yes" of a mosaic: scores above guessing by form (forms of ten
    clusters or more), the two parts of `list_effects`, and how often Yes was right.

    Ticking every option (`ALL_OPTIONS`) is a stroke. `bins` as of `past_habits.weigh_yes`: by the probability of Yes.
    """
    draw_forms(table, axes["forms"])
    titles = {"order": "Right options that stand first in the file", "news": "What the news adds to the 1.5B model"}
    units = {"order": "share seen less that in a drawn order", "news": "score of the first less that of the second"}
    for part, title in titles.items():
        rows = effects[effects["part"] == part].assign(is_few=lambda rows: rows["p"].isna())
        rows["line"] = name_rows(rows["line"], rows["n"].astype(int))
        axes[part].set_visible(len(rows) > 0)
        if len(rows):
            draw_points(rows, axes[part], label="line", value="difference", low="low", high="high", is_thin="is_few")
            axes[part].set(title=title, xlabel=f"{units[part]}, 95% by cluster")
    draw_bins(bins, axes["yes"])


def draw_forms(table, ax):
    """Draw scores above guessing, a line a form with its n, a point an agent; ticking every option is a stroke."""
    rows = table[table["form"].isin(table.loc[table["p"].notna(), "form"])].assign(is_few=lambda rows: rows["p"].isna())
    rows["form"] = name_rows(rows["form"], rows.groupby("form")["n"].transform("max"), "{}\n(n = {})")
    probe, rows = (rows[rows["agent_id"].eq(ALL_OPTIONS) == is_probe] for is_probe in (True, False))
    ends = {"low": "above_low", "high": "above_high", "is_thin": "is_few"}
    draw_points(rows, ax, label="form", value="above", series="agent_id", **ends)
    places = [list(dict.fromkeys(rows["form"])).index(form) for form in probe["form"]]
    ends = [[place + side for place in places] for side in (-0.46, 0.46)]
    ax.vlines(probe["above"], *ends, color="0.2", lw=2, zorder=1, label="every option ticked")
    ax.set(title="Above guessing, on questions asked of all", xlabel="score less that of guessing, 95% by cluster")
    ax.legend(loc="upper left", bbox_to_anchor=(0, -0.13), ncol=2, fontsize=8)


def draw_bins(bins, ax):
    """Draw how often Yes was right by the probability it was given: a point an agent and bin, hollow for few clusters.

    Each stands at its value; a later agent's marks are smaller, so that those of equal points are seen in each other.
    """
    ax.plot([0, 1], [0, 1], color="0.6", lw=1, zorder=1)
    for place, (agent, part) in enumerate(bins.groupby("agent_id", sort=True)):
        size = max(11 - 1.75 * place, 4)
        look = {"color": COLOURS[place % len(COLOURS)], "fmt": MARKERS[place % len(MARKERS)], "elinewidth": size / 3}
        is_thin = part["low"].isna()
        for chosen, face in ((part[~is_thin], {"label": agent}), (part[is_thin], {"mfc": "none", "elinewidth": 0})):
            reach = None if chosen["low"].isna().any() else measure_reach(chosen, "share", "low", "high")
            ax.errorbar(chosen["said"], chosen["share"], reach, **look | face, ms=size, zorder=2 + place)
    n = int(bins.groupby("agent_id")["n"].sum().max())
    ends = {"xlim": (-0.05, 1.05), "ylim": (-0.05, 1.05)}
    ax.set(xlabel="probability given to Yes", ylabel="share in which Yes was right", **ends)
    ax.set_title(f"Yes or no: {n} probabilities each, 95% by cluster")
    ax.legend(loc="upper left", bbox_to_anchor=(0, -0.13), ncol=2, fontsize=8)
