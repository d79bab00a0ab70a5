"""Statistical solvers of instances from public lists: they have no model and learn nothing.

"last value" takes what was last: a person's usual field, a board's best so far; "trend" the line
through a board's best by date; "nearest history" what is most alike: earlier papers by their words
(tf-idf), a person's own papers for their next, a board's last results for the next one. Citations
and awards are of one or two venue-years, too few sources for an interval, and are not tried. Each
function returns rows (id, solver, answer).
"""

from collections import Counter, defaultdict

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer

from studies.proof_of_time.build_instances import find_field, find_range

T0 = "2024-01-01"
"""The cutoff: the lists end in 2024, so that the paper's own, January 2025, leaves nothing to
ask."""

SOLVERS = ("last value", "trend", "nearest history")
N_NEAREST = 25
"""Earlier papers that are asked what became of them."""
N_LAST = 10
"""Last results of a board."""


def answer_figures(instance, figures):
    """Return the answer to an instance's question that forecasts of its items (letter -> value)
    lead to."""
    if "" not in figures:
        return max(figures, key=figures.get)
    return chr(65 + find_range(np.clip(figures[""], 0, 100), instance.task))


def fit_words(texts):
    """Return (vectorizer, matrix) of some texts: tf-idf of words and pairs of words in two or more
    of them."""
    vectorizer = TfidfVectorizer(
        min_df=2, ngram_range=(1, 2), sublinear_tf=True, stop_words="english", dtype=np.float32
    )
    return vectorizer, vectorizer.fit_transform(texts)


def find_nearest(vectorizer, matrix, texts, n=N_NEAREST):
    """Return for each text the positions of the `n` nearest rows of a matrix (cosine)."""
    likes = (vectorizer.transform(texts) @ matrix.T).toarray()
    return np.argsort(-likes, axis=1, kind="stable")[:, :n]


def answer_people(instances, papers):
    """Return answers about people: their usual field; the article nearest to their papers, or none
    when all are far."""
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
            near = [
                find_field(before["field"].iloc[at])
                for at in find_nearest(vectorizer, matrix, titles)
            ]
            rows.append(
                (one.id, "nearest history", letters.get(Counter(near).most_common(1)[0][0]))
            )
    return rows


def pick_article(instance, vectorizer, own):
    """Return the letter of the article most like a person's papers; none when they are more like
    one another."""
    letters = sorted(instance.choices)
    likes = (
        (vectorizer.transform([instance.choices[letter] for letter in letters[:-1]]) @ own.T)
        .toarray()
        .max(axis=1)
    )
    among = (own @ own.T).toarray()
    np.fill_diagonal(among, 0)
    return (
        letters[int(likes.argmax())]
        if likes.max() >= np.quantile(among.max(axis=1), 0.1)
        else letters[-1]
    )


def answer_frontier(instances, results, convert):
    """Return answers about boards; of a pair forecast alike the first letter: a coin's throw, as
    letters are drawn.

    `results` maps a source to its results, `convert` some sources to a function from scores to what
    is asked.
    """
    rows = []
    for one in instances:
        table = results[one.metadata["source"]]
        before = table[table["date"] < one.cutoff]
        later = table[table["date"] >= one.cutoff]
        figures = {"last value": {}, "trend": {}, "nearest history": {}}
        for letter, system in one.metadata["items"].items():
            place = later[later["system"] == system].iloc[-1]
            past = (
                before[before["board"] == place["board"]]
                if (before["board"] == place["board"]).any()
                else before
            )
            for method, value in forecast_board(past, place["date"]).items():
                figures[method][letter] = convert.get(one.metadata["source"], lambda v, _: v)(
                    value, before
                )
        rows += [
            (one.id, method, answer_figures(one, values)) for method, values in figures.items()
        ]
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
    trend = round(
        float(trend), 9
    )  # a flat line's last digits are the machine's, and would part what is alike
    last = past.sort_values("date", kind="stable")["score"].tail(N_LAST).median()
    return {"last value": best.iloc[-1], "trend": trend, "nearest history": last}
