"""Try one source by itself, from its page to its scores.

PYTHONPATH=src:tools python -m try_source NAME [SET]     (NAME: a file of data/sources; default october-2016)
"""

import sys
from datetime import datetime

import pandas as pd

from daybefore.agents.registry import predict_events
from daybefore.commands.print_tables import write_table
from daybefore.commands.terminal import show
from daybefore.questions.collect_events import collect_events, covers_window
from daybefore.scoring.acquire_answers import acquire_answers
from daybefore.web.extract_values import ExtractionError
from daybefore.web.fetched_pages import GatewayError
from daybefore.web.replay import SHOWN_DAYS, open_world
from daybefore.web.source_registry import compute_published_at, load_sources, locate_rows
from helpers.clock import ZONE, stamp_moment
from helpers.input_faults import (
    check_name,
    describe_problem,
    find_faults,
    list_nearest,
    raise_all,
    read_sheet,
)
from helpers.papers import get_constant
from helpers.scores import build_matrix, score_predictions, select_headline
from helpers.set_names import WINDOWS, find_set, list_days
from helpers.tables import Date, Moment, Number, time_of

SEED = 20161010
FOLDER = "data/sources"
Time = time_of(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", datetime.fromisoformat, "a time such as 2016-10-09T17:00"
)


def try_source(source_id, window="A"):
    """Print a source's page, events, predictions, answers and mean scores. Raises ValueError naming
    what is wrong."""
    source = choose_source(source_id, window)
    first = stamp_moment(pd.Timestamp(WINDOWS[window][0], tz=ZONE))
    with open_world() as connect:
        crawler = connect()
        try:
            values, _ = crawler.observe(source.id, first)
        except (GatewayError, ExtractionError) as error:
            raise ValueError(
                f"{source.id}.toml: its page as of {first} cannot be read: {error}"
            ) from None
        newest = values.sort_values(
            "opens_at" if source.form == "market" else "occurred_at", kind="stable"
        ).tail(3)
        told = f"page {source.address} as of {first}: {len(values)} values, the newest are"
        show(f"{told}\n{newest.to_string(index=False)}")
        share = get_constant("futurex", "keep_binary")
        events, screenings = collect_events(
            {source_id: source}, crawler, window, seed=SEED, keep_binary=share
        )
        answers, acquisitions = acquire_answers(events, crawler)
        predictions = predict_events(events, crawler)
    n_pages = sum(kept["url"] == source.address for kept in crawler.pages.values())
    show(f"\n{len(list_days(window))} start days, {n_pages} different pages read")
    dropped = screenings[screenings["is_dropped"]]
    show_counts(f"{len(events)} events kept, {len(dropped)} dropped", dropped["reason"])
    unanswered = answers.loc[answers["status"] != "ok", "event_id"]
    reasons = (
        acquisitions[acquisitions["event_id"].isin(unanswered)].groupby("event_id")["reason"].last()
    )
    show_counts(
        f"{len(answers) - len(unanswered)} of them answered, {len(unanswered)} not", reasons
    )
    shown = events[["event_id", "kind", "level"]].assign(
        question=events["prompt"].str.split("\n").str[0].str[:90]
    )
    for name, table in (
        ("last_value", predictions[predictions["agent_id"] == "last_value"]),
        ("answer", answers),
    ):
        shown[name] = shown["event_id"].map(table.set_index("event_id")["value"])
    show("\n" + write_table(shown.head(8).astype(object).fillna("-").set_index("event_id")))
    rows = select_headline(score_predictions(predictions, answers, events), events)
    matrix = build_matrix(rows, sorted(rows["agent_id"].unique()))
    table = pd.DataFrame(
        {"n": matrix.count().astype(str), "score": matrix.mean().round(3)}
    ).rename_axis("agent")
    show("\n" + write_table(table.sort_values("score", ascending=False)))


def show_counts(told, reasons):
    """Print a sentence, and each reason with how often it stands, the most frequent first."""
    listed = [f"\n  {n} x {reason}" for reason, n in reasons.value_counts().items()]
    show(told + ":" * bool(listed) + "".join(listed))


def choose_source(source_id, window):
    """Return the source of this name, held to its rows. Raises ValueError naming what is wrong, and
    where."""
    if window not in WINDOWS:
        raise ValueError(f"{find_set(window).name} has no sources of its own; try another SET")
    sources = load_sources()
    check_name("source", source_id)
    if source_id not in sources:
        listed = list_nearest(source_id, sources, FOLDER)
        raise ValueError(
            f"no source is called {source_id!r}{listed}; to add it, write {FOLDER}/{source_id}.toml"
        )
    if not covers_window(sources[source_id], window):
        known = ", ".join(find_set(name).name for name in sources[source_id].windows)
        raise ValueError(f"{source_id}.toml has rows for {known}, not for {find_set(window).name}")
    check_rows(sources[source_id], window)
    return sources[source_id]


def check_rows(source, window):
    """Raise Problems with what is wrong with a source's rows, or when they say nothing in a window.

    A market's rows are written by the kit (tools/slice) and have columns of their own: only dates
    are checked.
    """
    path, names = locate_rows(source), [] if source.form == "market" else list(source.variables)
    key = ["occurred_at", "entity"]
    table = read_sheet(path, [*key, *names], filled=key, key=key if names else [])
    kinds = {"occurred_at": Time if source.is_hourly else Date, "known_at": Moment} | dict.fromkeys(
        names, Number
    )
    wrong = []
    for column in [column for column in kinds if column in table]:
        cells = table.loc[table[column] != "", column]
        faults = find_faults(cells.tolist(), list[kinds[column]])
        wrong += [
            describe_problem(path.name, cells.index[at], column, words) for (at,), words in faults
        ]
    raise_all(wrong)
    published = compute_published_at(source.publication, table["occurred_at"])
    first = pd.Timestamp(WINDOWS[window][0], tz=ZONE)
    if published.min() >= first or published.max() < first - pd.Timedelta(days=SHOWN_DAYS):
        span = f"rows are published from {published.min():%Y-%m-%d} to {published.max():%Y-%m-%d}"
        span += f": none in the {SHOWN_DAYS} days before {find_set(window).name} begins on {first.date()}"
        raise_all([describe_problem(path.name, None, "occurred_at", span)])


def main(source_id, question_set="october-2016"):
    """Try a source; ends in a sentence where something is wrong with it."""
    try:
        try_source(source_id, find_set(question_set).window)
    except ValueError as problem:
        raise SystemExit(f"try_source: {problem}") from None


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit("try_source: name a source of data/sources, such as clemson")
    main(*sys.argv[1:])
