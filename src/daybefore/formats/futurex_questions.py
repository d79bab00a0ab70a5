"""FutureX's public format: past questions with answers, of yes/no, several options, or several
right ones.

What the rows leave open is decided here: a question is asked at 00:00 UTC+8, days before the day of
end_time, or after it was made where that was later (an id begins with that moment: seconds, 8 hex
digits). Options are put in an order drawn by the event's id (yes and no stay), since in the file
the right one stands first far more often than chance has it; `metadata.order` leads back. Levels
are 1 and 2 (definitions.md 1.4). Site and domain are not said.
"""

import json
import re
import sqlite3
import string
from contextlib import closing

import numpy as np
import pandas as pd

from daybefore.questions.fill_templates import seed_by_name
from daybefore.questions.levels import assign_level
from daybefore.replies.read_options import make_key
from helpers.clock import ZONE, blank_dates, stamp_moment
from helpers.files import dump_json
from helpers.papers import get_constant
from helpers.tables import check_table

COLUMNS = ["id", "choice_type", "question_type", "event", "options", "answer", "end_time"]
"""Columns of a past set; an answer is marks of the right options: A the first, and past Z the
characters of ASCII."""
TABLE, SOURCE_ID = "forecast_eval_set", "futurex_past"
DAYS_BEFORE = get_constant("futurex", "prediction_window_days")
"""Days from an event's start to its end: FutureX's one-week window (3.4.1)."""
SEED = 20260115
LIKENESS = 0.3
"""Questions whose wordings are as like as this, by the cosine of their words' weights, share a
cluster."""


def read_past(path):
    """Return the rows of a past set, from its database (.db) or a csv, all columns as text, in the
    file's order."""
    if path.suffix == ".db":
        with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
            rows = pd.read_sql(f"SELECT * FROM {TABLE} ORDER BY rowid", database)
    else:
        rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    return rows[COLUMNS].fillna("").astype(str)


def screen_rows(rows):
    """Return (rows that can be asked and scored, the others as a table of id and reason).

    What else may be wrong with a row is not asked: the file is known by its digest
    (`public_files`).
    """
    keys = [[make_key(text) for text in json.loads(cell)] for cell in rows["options"]]
    is_fine = pd.Series([len(set(one)) == len(one) for one in keys], rows.index)
    dropped = rows.loc[~is_fine, ["id"]].assign(reason="two of its options read the same")
    return rows[is_fine], dropped.reset_index(drop=True)


def name_letters(n):
    """Return the letters of n options: A to Z, then AA, AB and on.

    >>> name_letters(28)[-3:]
    ['Z', 'AA', 'AB']
    """
    alone = list(string.ascii_uppercase)
    return (alone + [first + second for first in alone for second in alone])[:n]


def name_labels():
    r"""Return FutureX's own labels of options in a prompt: A to Z, and the characters of ASCII that
    follow.

    >>> "".join(name_labels()[24:36])
    'YZ[\\]^_`abcd'
    """
    return [chr(code) for code in range(ord("A"), ord("z") + 1)]


def word_prompt(question, options):
    """Return a question with its options ({letter: text}, None for none) below it, a line each."""
    return "\n".join([question, *(f"{letter}. {text}" for letter, text in (options or {}).items())])


def build_events(rows):
    """Return (events, answers) of window P, from rows that `screen_rows` let pass."""
    made = [build_event(row) for row in rows.to_dict("records")]
    events = pd.DataFrame([event for event, _ in made])
    events["cluster_id"] = cluster_questions(rows)
    answers = pd.DataFrame([answer for _, answer in made])
    return check_table("events", events), check_table("answers", answers)


def build_event(row):
    """Return a row's (event, answer) as dicts of columns of their tables."""
    given = json.loads(row["options"])
    order = list(range(len(given)))
    if row["question_type"] != "yes_no":
        order = [int(place) for place in seed_by_name(SEED, row["id"]).permutation(len(given))]
    letters = name_letters(len(given))
    options = {
        letter: " ".join(given[place].split()) for letter, place in zip(letters, order, strict=True)
    }
    marks = [mark.strip() for mark in row["answer"].split(",")]
    right = sorted(letters[order.index(ord(mark) - ord("A"))] for mark in marks)
    question, end = " ".join(row["event"].split()), pd.Timestamp(row["end_time"], tz=ZONE)
    event = {
        "event_id": f"futurex-{row['id']}",
        "paper": "futurex",
        "window": "P",
        "source_id": SOURCE_ID,
        "prompt": word_prompt(question, options),
        "kind": row["choice_type"],
        "options": json.dumps(options, ensure_ascii=False),
        "opens_at": find_made_at(row["id"]),
        "as_of": choose_start(end, find_made_at(row["id"])),
        "resolves_at": stamp_moment(end),
        "level": assign_level(row["choice_type"], len(given), ""),
        "resolution_criteria": f"The question closes on {row['end_time']}; it is settled by what has happened by then.",
        "provenance": "FutureX-Past",
        "is_synthetic": False,
        "metadata": dump_json({"order": order, "question_type": row["question_type"]}),
    }
    value = dump_json(right[0] if row["choice_type"] == "single" else right)
    return event, {
        "event_id": event["event_id"],
        "value": value,
        "status": "ok",
        "method": SOURCE_ID,
    }


def find_made_at(row_id):
    """Return the moment at which an id was made (seconds, its first 8 of 24 hex digits), None for
    another form."""
    if not re.fullmatch("[0-9a-f]{24}", row_id):
        return None
    return stamp_moment(pd.Timestamp(int(row_id[:8], 16), unit="s", tz="UTC"))


def choose_start(end, made_at):
    """Return the moment as of which a question that closes on the day `end` is asked: a week
    before, or 1 to 6 days where it was made later.

    >>> end = pd.Timestamp("2026-01-15", tz=ZONE)
    >>> choose_start(end, find_made_at("6941510e41b9d1005effa734")), choose_start(end, "2026-01-11T09:00+08:00")
    ('2026-01-08T00:00:00+08:00', '2026-01-12T00:00:00+08:00')
    """
    start = end - pd.Timedelta(days=DAYS_BEFORE)
    if made_at:
        start = max(start, min(pd.Timestamp(made_at).ceil("D"), end - pd.Timedelta(days=1)))
    return stamp_moment(start)


def cluster_questions(rows):
    """Return each row's cluster, named after its first question: questions that are worded alike
    share their luck.

    Weeks of one series, several questions on one match, prize or price: by the average cosine
    likeness of their words, weighted by rarity, dates and digits left out.
    """
    from sklearn.cluster import AgglomerativeClustering  # here: it takes a second to import
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [re.sub(r"\d+", " ", blank_dates(text)) for text in rows["event"]]
    names = [f"futurex-{row_id}" for row_id in rows["id"]]
    try:
        weights = (
            TfidfVectorizer(sublinear_tf=True, stop_words="english").fit_transform(texts).toarray()
        )
        apart = 1 - np.clip(weights @ weights.T, 0, 1)
        options = {
            "metric": "precomputed",
            "linkage": "average",
            "distance_threshold": 1 - LIKENESS,
        }
        groups = AgglomerativeClustering(None, **options).fit_predict(apart)
    except ValueError:  # a single question, or no words are left
        return names
    first = {}
    return [first.setdefault(group, name) for group, name in zip(groups, names, strict=True)]
