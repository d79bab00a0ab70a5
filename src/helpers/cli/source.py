"""`make source SOURCE=name`: try one source by itself, from its page to its scores."""

from datetime import datetime

import pandas as pd

from helpers.agents.registry import predict_events
from helpers.calendar import ZONE, stamp_moment
from helpers.events.collect import collect_events, covers_window
from helpers.faults import (
    Problems,
    check_name,
    check_sheet,
    describe_problem,
    find_faults,
    list_nearest,
    open_sheet,
    raise_all,
)
from helpers.papers import get_constant
from helpers.question_sets import WINDOWS, find_set, list_days
from helpers.scoring.answers import acquire_answers
from helpers.scoring.scores import build_matrix, score_predictions, select_headline
from helpers.tables import Date, Moment, Number, time_of
from helpers.web.extract import ExtractionError
from helpers.web.pages import GatewayError
from helpers.web.replay import SHOWN_DAYS, open_world
from helpers.web.sources import compute_published_at, load_sources, locate_rows

SEED = 20161010
FOLDER = "data/sources"
Time = time_of(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", datetime.fromisoformat, "a time such as 2016-10-09T17:00")


def check_rows(source, window):
    """Raise Problems with what is wrong with a source's rows, or when they say nothing in a window.

    A market's rows are written by the kit (tools/slice) and have columns of their own: only dates are checked.
    """
    path, names = locate_rows(source), [] if source.form == "market" else list(source.variables)
    needs = ["occurred_at", "entity", *names]
    table = open_sheet(path, needs)
    if len(table.columns) == 1:
        said = "the header is one cell; separate columns by commas"
        raise Problems([describe_problem(path.name, None, table.columns[0], said)])
    key = [] if source.form == "market" else needs[:2]
    found = list(check_sheet(path.name, table, needs, filled=needs[:2], key=key))
    if not set(needs) <= set(table.columns):
        raise Problems(found)
    kinds = {"occurred_at": Time if source.is_hourly else Date, "known_at": Moment} | dict.fromkeys(names, Number)
    for column in [column for column in kinds if column in table]:
        cells = table.loc[table[column] != "", column]
        wrong = find_faults(cells.tolist(), list[kinds[column]])
        found += [describe_problem(path.name, cells.index[at], column, words) for (at,), words in wrong]
    raise_all(found)
    raise_all(check_span(source, path.name, table["occurred_at"], window))


def check_span(source, file, occurred_at, window):
    """Yield a sentence when a page would show nothing on a window's first day: rows too late, or too old."""
    first = pd.Timestamp(WINDOWS[window][0], tz=ZONE)
    published = compute_published_at(source.publication, occurred_at)
    span = f"rows are published from {published.min():%Y-%m-%d} to {published.max():%Y-%m-%d}"
    if published.min() >= first:
        yield describe_problem(
            file, None, "occurred_at", f"{span}: none before {find_set(window).name} begins on {first.date()}"
        )
    elif published.max() < first - pd.Timedelta(days=SHOWN_DAYS):
        said = f"{span}: none in the {SHOWN_DAYS} days before {find_set(window).name} begins on {first.date()}"
        yield describe_problem(file, None, "occurred_at", said)


def choose_source(source_id, window, *, local=False):
    """Return all sources, the one of this name held to its rows. Raises ValueError naming what is wrong, and where."""
    if window not in WINDOWS:
        raise ValueError(f"{find_set(window).name} has no sources of its own; try another SET")
    sources = load_sources(local=local)
    check_name("source", source_id)
    if source_id not in sources:
        listed = list_nearest(source_id, sources, FOLDER)
        raise ValueError(f"no source is called {source_id!r}{listed}; to add it, write {FOLDER}/{source_id}.toml")
    if not covers_window(sources[source_id], window):
        known = ", ".join(find_set(name).name for name in sources[source_id].windows)
        raise ValueError(f"{source_id}.toml has rows for {known}, not for {find_set(window).name}")
    check_rows(sources[source_id], window)
    return sources


def main(source_id, window="A", local=False):
    """Print a source's page, events, predictions, answers and mean scores, and return them as a dict.

    Raises ValueError naming what is wrong.
    """
    sources = choose_source(source_id, window, local=local)
    with open_world(local=local) as connect:
        crawler = connect()
        page = show_page(crawler, sources[source_id], stamp_moment(pd.Timestamp(list_days(window)[0], tz=ZONE)))
        share = get_constant("futurex", "keep_binary")
        chosen = {source_id: sources[source_id]}
        events, screenings = collect_events(chosen, crawler, window, seed=SEED, keep_binary=share)
        answers, acquisitions = acquire_answers(events, crawler)
        predictions = predict_events(events, crawler)
    n_pages = sum(kept["url"] == page["address"] for kept in crawler.pages.values())
    print(f"\n{len(list_days(window))} start days, {n_pages} different pages read")
    dropped = screenings[screenings["is_dropped"]]
    print(f"{len(events)} events kept, {len(dropped)} dropped{':' * (len(dropped) > 0)}")
    print_counts(dropped["reason"])
    is_open = answers["status"] != "ok"
    print(f"{len(answers) - is_open.sum()} of them answered, {is_open.sum()} not{':' * bool(is_open.any())}")
    attempts = acquisitions[acquisitions["event_id"].isin(answers.loc[is_open, "event_id"])]
    print_counts(attempts.groupby("event_id")["reason"].last())
    shown = events[["event_id", "kind", "level"]].assign(question=events["prompt"].str.split("\n").str[0].str[:90])
    known = answers.set_index("event_id")["value"]
    last = predictions[predictions["agent_id"] == "last_value"].set_index("event_id")["value"]
    shown = shown.assign(last_value=shown["event_id"].map(last), answer=shown["event_id"].map(known))
    print("\n" + shown.head(8).to_string(index=False))
    rows = select_headline(score_predictions(predictions, answers, events), events)
    matrix = build_matrix(rows, sorted(rows["agent_id"].unique()))
    table = pd.DataFrame({"n": matrix.notna().sum(), "mean score": matrix.mean().round(3)})
    table = table.sort_values("mean score", ascending=False)
    print("\n" + table.to_string())
    scores = table.rename(columns={"mean score": "score"}).rename_axis("agent").reset_index().to_dict("records")
    kept = shown.astype(object).where(shown.notna(), None).to_dict("records")
    return {"source": source_id, "window": window, "page": page, "events": kept, "scores": scores}


def show_page(crawler, source, moment):
    """Print the newest values of a source's page as of a moment; returns its address, moment and number of values.

    Raises ValueError when none can be read.
    """
    try:
        observations, _ = crawler.observe(source.id, moment)
    except (GatewayError, ExtractionError) as error:
        raise ValueError(f"{source.id}.toml: its page as of {moment} cannot be read: {error}") from None
    print(f"page {source.address} as of {moment}: {len(observations)} values, the newest are")
    by = "opens_at" if source.form == "market" else "occurred_at"
    print(observations.sort_values(by, kind="stable").tail(3).to_string(index=False))
    return {"address": source.address, "as_of": moment, "n_values": len(observations)}


def print_counts(reasons):
    """Print each reason with how often it stands, the most frequent first."""
    for reason, n in reasons.value_counts().items():
        print(f"  {n} x {reason}")
