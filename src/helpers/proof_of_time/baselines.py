"""What instances earn without a model: majority, chance, and three statistical solvers that read the same evidence.

They have no model and learn nothing. An embedded instance's series they continue from its evidence file: by its last
values, by a line through them (trend), or by what followed the most similar stretch of any series in the file (nearest
history). On the public lists "last value" takes what was last: what a paper's authors had earned, a person's usual
field, a board's best so far; "trend" the line through a board's best by date; "nearest history" what is most alike:
earlier papers by their words (tf-idf), a person's own papers for their next, a board's last results for the next one.
A solver has no answer where a task gives it nothing to read.
"""

import math
from collections import Counter, defaultdict
from functools import cache

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer

from helpers.papers import get_constant
from helpers.proof_of_time.builders import find_field, find_range, place_on_scale
from helpers.proof_of_time.evidence import read_evidence
from helpers.proof_of_time.instances import NONE
from helpers.proof_of_time.public import T0
from helpers.stats.means import measure_share, summarize_clustered
from helpers.stats.paired import judge_family

SOLVERS = ("last value", "trend", "nearest history")
N_FIT = 14
"""Rows a line is drawn through."""
N_LIKE = 7
"""Rows of a stretch that is looked for."""
MAX_ERROR = 2.0
"""A record farther from the forecast than so many times the forecast's own past error is "none of these"."""


def read_panel(folder, path):
    """Return an evidence file's values by days x entities, gaps filled with the value before."""
    table = read_evidence(folder, path)
    wide = table.assign(value=table["value"].astype(float)).pivot(index="occurred_at", columns="entity", values="value")
    return wide.sort_index().ffill().bfill()


def continue_series(values, panel, n, method, *, is_level=False):
    """Return the next `n` values of a series (1-D) by a method; `panel` (days x series) is where likes are looked for.

    The last value of a level stays; of daily values the last week comes again.

    >>> continue_series(np.array([1.0, 2, 3]), None, 2, "trend").tolist()
    [4.0, 5.0]
    """
    if method == "last value":
        return np.repeat(values[-1], n) if is_level else np.resize(values[-min(N_LIKE, len(values)) :], n)
    if method == "trend":
        tail = values[-N_FIT:]
        slope, start = np.polyfit(np.arange(len(tail)), tail, 1)
        path = np.round(start + slope * np.arange(len(tail), len(tail) + n), 9)
        return np.clip(path, 0, None) if (values >= 0).all() else path
    size = min(N_LIKE, len(values) // 3)
    ahead = min(n, len(values) - 2 * size)
    windows = np.lib.stride_tricks.sliding_window_view(panel, size + ahead, axis=0).reshape(-1, size + ahead)
    scale = np.abs(windows[:, :size]).mean(axis=1, keepdims=True)
    windows, own = windows[scale[:, 0] > 0] / scale[scale[:, 0] > 0], np.abs(values[-size:]).mean()
    if not len(windows) or own == 0:
        return np.repeat(values[-1], n)
    like = windows[np.abs(windows[:, :size] - values[-size:] / own).mean(axis=1).argmin(), size:] * own
    return np.concatenate([like, np.repeat(like[-1], n - ahead)])


def forecast_figure(values, panel, metadata, method):
    """Return the figure that an instance asks for, of one entity: a sum, a level, or the top on its history's scale."""
    figure = metadata["figure"]
    path = continue_series(values, panel, metadata["n_rows"], method, is_level=figure == "level")
    if figure == "top":
        return place_on_scale(path.max(), values)
    return path.sum() if figure == "sum" else path[-1]


def answer_instance(instance, panel, method):
    """Return a statistical solver's answer to an embedded instance, in the form of its target."""
    items, metadata = instance.metadata["items"], instance.metadata
    matrix = panel.to_numpy()
    series = {letter: panel[name].to_numpy() for letter, name in items.items() if name in panel}
    if instance.task == "person_article":
        return pick_record(instance, series[""], matrix, method)
    figures = {letter: forecast_figure(values, matrix, metadata, method) for letter, values in series.items()}
    return answer_figures(instance, figures)


def answer_figures(instance, figures):
    """Return the answer to an instance's question that forecasts of its items (letter -> value) lead to."""
    if instance.task == "full_order":
        return sorted(figures, key=figures.get, reverse=True)
    if "" not in figures:
        return max(figures, key=figures.get)
    top = 100 if instance.task == "frontier_bucket" else None
    return chr(65 + find_range(np.clip(figures[""], 0, top), instance.task))


def pick_record(instance, values, panel, method):
    """Return the letter of the record nearest to a series' continuation, or of none when that is too far off."""
    gap, n = instance.metadata["gap"], instance.metadata["n_rows"]
    is_level = gap > 0
    path = continue_series(values, panel, gap + n, method, is_level=is_level)[gap:]
    errors = {}
    for letter, text in instance.choices.items():
        if text != NONE:
            errors[letter] = np.abs(np.array([float(part) for part in text.split(";")]) - path).mean()
    n_back = min(gap + n, len(values) // 3)
    back = continue_series(values[:-n_back], panel[:-n_back], n_back, method, is_level=is_level)
    usual = max(np.abs(back - values[-n_back:]).mean(), 0.05 * np.abs(values).mean())
    best = min(errors, key=errors.get)
    return best if errors[best] <= MAX_ERROR * usual else max(instance.choices)


def run_solvers(instances, folder):
    """Return the answers of the statistical solvers as a table: id, solver, answer; next year's have none to score."""
    panel = cache(lambda path: read_panel(folder, path))
    rows = [
        (instance.id, method, answer_instance(instance, panel(instance.manifest[0]["path"]), method))
        for instance in instances
        if instance.target is not None
        for method in SOLVERS
    ]
    return pd.DataFrame(rows, columns=["id", "solver", "answer"])


# --- the same on public lists -----------------------------------------------------------------------------------------

N_NEAREST = 25
"""Earlier papers that are asked what became of them."""
N_LAST = 10
"""Last results of a board."""


def fit_words(texts):
    """Return (vectorizer, matrix) of some texts: tf-idf of words and pairs of words in two or more of them."""
    vectorizer = TfidfVectorizer(
        min_df=2, ngram_range=(1, 2), sublinear_tf=True, stop_words="english", dtype=np.float32
    )
    return vectorizer, vectorizer.fit_transform(texts)


def average_by_author(papers, value):
    """Return {author: mean of a column over the author's papers}."""
    return papers.explode("authors").groupby("authors")[value].mean().to_dict()


def forecast_by_authors(authors, means, usual):
    """Return the highest mean among a paper's authors, the usual value where none has one.

    >>> forecast_by_authors(["a", "b"], {"b": 3.0}, 1.0), forecast_by_authors(["a"], {}, 1.0)
    (3.0, 1.0)
    """
    return max([means[name] for name in authors if name in means], default=usual)


def find_nearest(vectorizer, matrix, texts, n=N_NEAREST):
    """Return for each text the positions of the `n` nearest rows of a matrix (cosine)."""
    likes = (vectorizer.transform(texts) @ matrix.T).toarray()
    return np.argsort(-likes, axis=1, kind="stable")[:, :n]


def answer_citations(instances, counts):
    """Return answers about citations; `counts` has item, authors (lists), citations and published_at of all papers.

    Means are of logarithms: counts are skewed. Only papers before the cutoff are read for their counts.
    """
    before = counts[counts["published_at"] < T0].assign(log=lambda table: np.log1p(table["citations"]))
    means, usual = average_by_author(before, "log"), before["log"].mean()
    authors = dict(zip(counts["item"], counts["authors"], strict=True))
    names = sorted({item for one in instances for item in one.metadata["items"].values()})
    nearest = find_nearest(*fit_words(before["item"]), names)
    logs = before["log"].to_numpy()
    likely = {name: logs[at].mean() for name, at in zip(names, nearest, strict=True)}
    rows = []
    for one in instances:
        items = one.metadata["items"]
        by_authors = {k: np.expm1(forecast_by_authors(authors[name], means, usual)) for k, name in items.items()}
        by_words = {letter: np.expm1(likely[name]) for letter, name in items.items()}
        rows += [(one.id, "last value", answer_figures(one, by_authors))]
        rows += [(one.id, "nearest history", answer_figures(one, by_words))]
    return rows


def answer_awards(instances, papers):
    """Return answers about tiers: the authors' best tier before; the tier that is most over-represented among the like.

    Papers that are asked about are read for nothing but their text and authors.
    """
    tiers = list(get_constant("proof_of_time", "award_tiers"))
    asked = {one.metadata["items"][""] for one in instances}
    is_before = (papers["published_at"] < T0) & papers["tier"].notna() & ~papers["item"].isin(asked)
    before = papers[is_before].assign(rank=lambda table: table["tier"].map(tiers.index))
    best = before.explode("authors").groupby("authors")["rank"].max().to_dict()
    usual = tiers.index(before["tier"].mode()[0])
    ranks, shares = before["rank"].to_numpy(), before["rank"].value_counts(normalize=True)
    about = papers.set_index("item")
    nearest = find_nearest(
        *fit_words(before["text"]), [about.at[one.metadata["items"][""], "text"] for one in instances]
    )
    rows = []
    for one, at in zip(instances, nearest, strict=True):
        names = about.at[one.metadata["items"][""], "authors"]
        rows.append((one.id, "last value", chr(65 + int(forecast_by_authors(names, best, usual)))))
        over = {rank: (ranks[at] == rank).mean() / share for rank, share in shares.items()}
        rows.append((one.id, "nearest history", chr(65 + max(over, key=over.get))))
    return rows


def answer_people(instances, papers):
    """Return answers about people: their usual field; the article nearest to their papers, or none when all are far."""
    before = papers[papers["published_at"] < T0].reset_index(drop=True)
    own = defaultdict(list)
    for at, names in enumerate(before["authors"]):
        for name in names:
            own[name].append(at)
    vectorizer, matrix = fit_words(before["text"])
    rows = []
    for one in instances:
        letters = {name: letter for letter, name in one.choices.items()}
        places = own[one.metadata["items"][""]]
        usual = find_field(before["field"].iloc[places])
        if one.task == "person_article":
            rows.append((one.id, "nearest history", pick_article(one, vectorizer, matrix[places])))
        elif one.task == "person_field":
            rows.append((one.id, "last value", letters.get(usual)))
        else:
            titles = one.prompt.split("\n\n", 1)[1].split("\n")
            near = [find_field(before["field"].iloc[at]) for at in find_nearest(vectorizer, matrix, titles)]
            rows.append((one.id, "nearest history", letters.get(Counter(near).most_common(1)[0][0])))
    return rows


def pick_article(instance, vectorizer, own):
    """Return the letter of the article most like a person's papers; none when they are more like one another."""
    letters = sorted(instance.choices)
    likes = (vectorizer.transform([instance.choices[letter] for letter in letters[:-1]]) @ own.T).toarray().max(axis=1)
    among = (own @ own.T).toarray()
    np.fill_diagonal(among, 0)
    return letters[int(likes.argmax())] if likes.max() >= np.quantile(among.max(axis=1), 0.1) else letters[-1]


def answer_frontier(instances, results, convert):
    """Return answers about boards; of a pair forecast alike the first letter: a coin's throw, as letters are drawn.

    `results` maps a source to its results, `convert` some sources to a function from scores to what is asked.
    """
    rows = []
    for one in (one for one in instances if one.target is not None):
        table = results[one.metadata["source"]]
        before, later = table[table["date"] < one.cutoff], table[table["date"] >= one.cutoff]
        figures = {"last value": {}, "trend": {}, "nearest history": {}}
        for letter, system in one.metadata["items"].items():
            place = later[later["system"] == system].iloc[-1]
            past = before[before["board"] == place["board"]] if (before["board"] == place["board"]).any() else before
            for method, value in forecast_board(past, place["date"]).items():
                figures[method][letter] = convert.get(one.metadata["source"], lambda v, _: v)(value, before)
        rows += [(one.id, method, answer_figures(one, values)) for method, values in figures.items()]
    return rows


def forecast_board(past, day):
    """Return what a board's past results lead one to expect of a new one on a day, by method.

    >>> table = pd.DataFrame({"date": ["2024-01-01", "2024-01-11"], "score": [10.0, 20.0]})
    >>> {name: round(float(value), 3) for name, value in forecast_board(table, "2024-01-21").items()}
    {'last value': 20.0, 'trend': 30.0, 'nearest history': 15.0}
    """
    best = past.groupby("date")["score"].max().sort_index().cummax()
    days = (pd.to_datetime(best.index) - pd.Timestamp(day)).days.to_numpy(float)
    trend = np.polyfit(days, best.to_numpy(), 1)[1] if len(best) > 1 else best.iloc[-1]
    trend = round(float(trend), 9)  # a flat line's last digits are the machine's, and would part what is alike
    last = past.sort_values("date", kind="stable")["score"].tail(N_LAST).median()
    return {"last value": best.iloc[-1], "trend": trend, "nearest history": last}


def tabulate_answers(rows):
    """Return answers as `baselines.score_answers` takes them."""
    return pd.DataFrame(rows, columns=["id", "solver", "answer"])


# --- classes, chance, accuracy ----------------------------------------------------------------------------------------


DESCRIBED = ["id", "family", "task", "source", "cutoff", "target", "n_choices"]


def describe_instances(instances):
    """Return instances as a table of DESCRIBED; the task of a variant is the variant."""
    rows = []
    for instance in instances:
        kind = instance.variant if instance.variant in ("pairwise", "next_year") else instance.task
        target = "".join(instance.target) if instance.target is not None else None
        rows.append((instance.id, instance.family, kind, instance.metadata["source"], instance.cutoff, target))
        rows[-1] += (len(instance.choices),)
    return pd.DataFrame(rows, columns=DESCRIBED)


def tabulate_classes(described):
    """Return class shares by task: task, target, n, share; a task without targets is left out.

    >>> table = pd.DataFrame({"task": ["bucket"] * 3, "target": ["A", "A", "B"]})
    >>> tabulate_classes(table)["share"].round(2).tolist()
    [0.67, 0.33]
    """
    counts = described.groupby("task", sort=False)["target"].value_counts().rename("n").reset_index()
    return counts.assign(share=counts["n"] / counts.groupby("task")["n"].transform("sum"))


def pick_majority(described):
    """Return for each instance its task's most frequent target: it is counted among the instances themselves, so it
    knows the answers' shares, as no forecast does."""
    most = described.groupby("task")["target"].agg(lambda targets: targets.value_counts(sort=True).index[0])
    return described["task"].map(most)


def add_floors(described, rng):
    """Return answers of "majority" (each task's most frequent target) and "random" (drawn): id, solver, answer."""
    scored = described[described["target"].notna()]
    drawn = []
    for row in scored.itertuples():
        letters = [chr(65 + at) for at in range(row.n_choices)]
        is_order = len(row.target) > 1
        drawn.append("".join(rng.permutation(letters)) if is_order else str(rng.choice(letters)))
    floors = {"majority": pick_majority(scored), "random": drawn}
    parts = [pd.DataFrame({"id": scored["id"], "solver": name, "answer": answer}) for name, answer in floors.items()]
    return pd.concat(parts, ignore_index=True)


def score_answers(described, answers):
    """Return described instances with solver, answer and is_right (exact match, 4.4); no answer is wrong."""
    table = answers.merge(described, on="id", validate="many_to_one")
    said = ["".join(answer) if isinstance(answer, list) else answer for answer in table["answer"]]
    is_right = [answer is not None and answer == target for answer, target in zip(said, table["target"], strict=True)]
    return table.assign(answer=said, is_right=is_right)


def score_majority(trials):
    """Return what the most frequent answer earns on the instances of scored trials, in the form of `score_answers`."""
    asked = trials.drop_duplicates("id")[DESCRIBED]
    return score_answers(asked, asked[["id"]].assign(solver="majority", answer=pick_majority(asked)))


def list_chances(described):
    """Return for each instance the chance that a blind answer is right: 1 of its options, of an order 1 of all orders.

    >>> list_chances(pd.DataFrame({"target": ["A", "DABC"], "n_choices": [5, 4]})).round(3).tolist()
    [0.2, 0.042]
    """
    orders = described["n_choices"].map(math.factorial)
    return 1 / described["n_choices"].where(described["target"].str.len() == 1, orders)


def tabulate_chance(trials, by=()):
    """Return what a blind answer earns on the instances of trials, as expected: the columns of `by`, solver ("chance"),
    mean, n, n_clusters. It is known and not drawn, so it has no interval."""
    asked = trials.drop_duplicates("id")
    asked = asked.assign(chance=list_chances(asked), solver="chance")
    parts = asked.groupby([*by, "solver"], sort=False)
    return parts.agg(mean=("chance", "mean"), n=("id", "size"), n_clusters=("source", "nunique")).reset_index()


def tabulate_accuracy(scored, by=("task", "solver")):
    """Return accuracy by some columns: mean, low, high by source, n, n_clusters; low_by_event, high_by_event (Wilson).

    Intervals by source are blank below ten of them (definitions.md 0).
    """
    rows = []
    for names, part in scored.groupby(list(by), sort=False):
        flags = part["is_right"].astype(float).reset_index(drop=True)
        row = summarize_clustered(flags.to_frame("right"), part["source"].reset_index(drop=True)).loc["right"]
        plain = measure_share(part["is_right"])
        ends = {"low_by_event": plain["low"], "high_by_event": plain["high"]}
        rows.append(
            dict(zip(by, names, strict=True)) | row[["mean", "low", "high", "n", "n_clusters"]].to_dict() | ends
        )
    table = pd.DataFrame(rows, columns=[*by, "mean", "low", "high", "n", "n_clusters", "low_by_event", "high_by_event"])
    return table.assign(low=table["low"].clip(0, 1), high=table["high"].clip(0, 1)).astype(
        {"n": int, "n_clusters": int}
    )


def compare_with_floor(scored):
    """Return by task and solver how far it lies above majority on the same instances, in pairs, by source.

    Columns task, solver, difference, low, high, n, n_clusters, p (Holm over the table), verdict ("holds": above). Blank
    and "cannot tell" below ten sources.
    """
    wide = scored.pivot(index="id", columns="solver", values="is_right").astype(float)
    about = scored.drop_duplicates("id").set_index("id").reindex(wide.index)
    rows = []
    for task, ids in about.groupby("task", sort=False).groups.items():
        part = wide.loc[ids].drop(columns=["random", "majority"], errors="ignore").dropna(axis=1, how="all")
        above = summarize_clustered(part.sub(wide.loc[ids, "majority"], axis=0), about.loc[ids, "source"])
        rows.append(above.rename_axis("solver").reset_index().assign(task=task))
    table = pd.concat(rows, ignore_index=True).rename(columns={"mean": "difference"})
    table = judge_family(table).drop(columns="p").rename(columns={"p_holm": "p"})
    return table[["task", "solver", "difference", "low", "high", "n", "n_clusters", "p", "verdict"]]
