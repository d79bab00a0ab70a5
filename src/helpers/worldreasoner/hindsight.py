"""Hindsight graphs of the replay's own questions: changes of the series asked about, and of others of its domain.

Which series may have caused which is named before any value is looked at: every other daily series of the domain may
have moved the one that is asked about. `builder` makes the graph by rule; with some fifty days a series it is small.
"""

from functools import lru_cache

import pandas as pd

from helpers.questions.market import melt_rows
from helpers.store import parse_object
from helpers.world.extract import select_series
from helpers.world.sources import load_sources, read_rows
from helpers.worldreasoner.builder import N_LAGS, build_graph, judge_lags

N_DAYS = 56
"""Days before the end of a question whose changes its graph holds."""
LEAST = 20
"""Days of values without which a series has no say."""


@lru_cache(maxsize=1)
def list_sources():
    """Return the registry of sources, read once."""
    return load_sources()


@lru_cache(maxsize=256)
def read_series(source_id, variable, entity=None, hour=None):
    """Return a series of the replay: a value a day (a DatetimeIndex); without an entity that of the source's only one.

    None for what is no number, for an entity that is not there, and where there are several and none is named.
    """
    rows = read_rows(list_sources()[source_id])
    if variable not in rows or not pd.api.types.is_numeric_dtype(rows[variable]):
        return None
    table = select_series(melt_rows(rows, variable), variable, hour)
    if entity is None and table.shape[1] != 1:
        return None
    entity = table.columns[0] if entity is None else entity
    return table[entity].dropna().set_axis(pd.to_datetime(table[entity].dropna().index)) if entity in table else None


@lru_cache(maxsize=64)
def list_neighbours(source_id, domain):
    """Return the daily series of a domain's other sources: {name: series}; each source's first number, one entity."""
    found = {}
    for other, source in list_sources().items():
        if other == source_id or source.domain != domain or not source.variables or source.rows or source.is_hourly:
            continue
        variable = next(iter(source.variables))
        series = read_series(other, variable)
        if series is not None:
            found[f"{other} {variable}"] = series
    return found


def build_hindsight(event, answer):
    """Return an event's hindsight graph (`graphs.SCHEMA`) and the tests behind it; None where its series is too short.

    `event` is a row of the events table, `answer` the words of its outcome. Events about one daily number of a series
    have a graph; others, such as rankings, have none.
    """
    asked = parse_object(event["variables"]) or {}
    if not asked.get("variable") or not asked.get("date"):
        return None
    end = pd.Timestamp(asked["date"])
    source = asked.get("about") or event["source_id"]
    own = read_series(source, asked["variable"], asked.get("entity"), asked.get("hour"))
    if own is None:
        return None
    name = f"{source} {asked['variable']}"
    values = pd.DataFrame({name: own, **list_neighbours(source, list_sources()[source].domain)})
    values = values[(values.index <= end) & (values.index > end - pd.Timedelta(days=N_DAYS))]
    values = values.loc[:, values.notna().sum() >= LEAST]
    if name not in values:
        return None
    steps = {other: values[[other, name]].dropna() for other in values if other != name}
    pairs = [(other, name) for other, part in steps.items() if len(part) > LEAST + N_LAGS]
    tests = (
        judge_lags(values, pairs) if pairs else pd.DataFrame(columns="cause effect p p_holm strength is_causal".split())
    )
    title = f"{event['prompt'].splitlines()[0]} {answer}"
    outcome = {"series": name, "title": title, "day": end, "opens_at": values.index[0]}
    return build_graph(event["event_id"], values, tests, outcome), tests
