"""Graphs built by rule from dated values: events are changes of series, causal edges need a lagged
test across series.

Stands in for the language model of WorldReasoner B.2. What may cause what is named before the
values are looked at; the tests of all named pairs are one family (Holm). Where a test says nothing,
two changes near each other only correlate. `build_hindsight` makes the graph of a long question
(every other series of its domain with values of the same days may be a cause), in rounds, as B.3
asks.
"""

from operator import itemgetter
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.lib.stride_tricks import sliding_window_view
from scipy import signal, stats

from daybefore.questions import long_questions
from helpers.files import parse_json, parse_object
from helpers.paired import ALPHA, correct_holm
from studies.worldreasoner.hindsight.graphs import MIN_CONFIDENCE, MIN_STRENGTH, check_graph

N_LAGS = 3
"""Days (or weeks) by which a cause may come before its effect."""
N_RECORD = 60
"""Days (or weeks) that a record must stand above."""
LARGE = 3.0
"""A change of so many standard deviations has the magnitude 1."""
N_WEEKS = 104
"""Weeks or months before the end of a question whose values its graph is built from."""
LEAST = 20
"""Values without which a series has no say."""


def find_changes(values, thresholds=None):
    """Return the dated changes of series, in order: dicts of row (of `values`), day, series, rule,
    size.

    `values` has a column a series, a row a day (or week). A crossing passes one of a series'
    `thresholds`; a record lies beyond the 60 rows before, the first of its run; a turning point is
    a local extreme that stands out by three standard deviations of the changes (it shows only
    afterwards). `size` is the day's change in such deviations.
    """
    changes = []
    for name in values:
        series = values[name].dropna()
        rows = np.flatnonzero(values[name].notna())
        level = series.to_numpy()
        steps = np.diff(level, prepend=np.nan)
        spread = np.std(steps[1:], ddof=1)
        before = series.shift().rolling(N_RECORD)
        is_record = ((series > before.max()) | (series < before.min())).to_numpy()
        cuts = (thresholds or {}).get(name, ())
        found = {
            "crossing": [np.flatnonzero(np.diff(level >= cut)) + 1 for cut in cuts],
            "record": [np.flatnonzero(is_record[1:] & ~is_record[:-1]) + 1],
            "turning": [
                signal.find_peaks(side, prominence=LARGE * spread)[0] for side in (level, -level)
            ],
        }
        for rule, places in found.items():
            for at in set(np.concatenate([[], *places]).astype(int).tolist()):
                about = {"row": int(rows[at]), "day": series.index[at], "series": name}
                changes.append(about | {"rule": rule, "size": float(steps[at] / spread)})
    return sorted(changes, key=itemgetter("row", "series", "rule"))


def judge_lags(values, pairs):
    """Return whether a series' changes help to foretell another's: cause, effect, p, p_holm,
    strength, is_causal.

    For each of `pairs`, named beforehand: an F test that the cause's last N_LAGS daily changes add
    to the effect's own (Granger 1969), on differences. `strength` is the root of the share of
    variance they explain of what is left, with the sign of their sum; 0, with a p of 1, where the
    effect does not vary or there are too few days. Holm over all pairs.
    """
    steps = {name: np.diff(column.to_numpy(float)) for name, column in values.items()}
    found = np.array([_judge_pair(steps[cause], steps[effect]) for cause, effect in pairs]).reshape(
        -1, 3
    )
    p = pd.Series(stats.f.sf(found[:, 0], N_LAGS, found[:, 1]))
    p_holm = correct_holm(p)
    told = {"cause": [cause for cause, _ in pairs], "effect": [effect for _, effect in pairs]}
    return pd.DataFrame(
        told | {"p": p, "p_holm": p_holm, "strength": found[:, 2], "is_causal": p_holm < ALPHA}
    )


def _judge_pair(cause, effect):
    """(F ratio, its free rows, strength) of the daily changes of a cause and an effect; a ratio of
    0 has p 1."""
    is_known = np.isfinite(cause) & np.isfinite(effect)
    n_free = is_known.sum() - N_LAGS - 1 - 2 * N_LAGS
    if n_free < 1 or not np.ptp(effect[is_known]) > 0:
        return 0.0, 1, 0.0
    lags = [sliding_window_view(steps[is_known], N_LAGS + 1) for steps in (effect, cause)]
    outcome = lags[0][:, -1]
    whole = np.column_stack([np.ones(len(outcome)), lags[0][:, :-1], lags[1][:, :-1]])
    squares = []
    for design in (whole[:, : N_LAGS + 1], whole):
        params = np.linalg.lstsq(design, outcome, rcond=None)[0]
        squares.append(float(((outcome - design @ params) ** 2).sum()))
    alone, both = squares
    if not alone > 0:
        return 0.0, 1, 0.0
    ratio = (alone - both) / N_LAGS / (both / n_free) if both > 0 else np.inf
    strength = np.sqrt(max(0.0, 1 - both / alone)) * np.sign(params[N_LAGS + 1 :].sum())
    return ratio, n_free, float(strength)


def build_graph(question_id, values, tests, outcome, thresholds=None):
    """Return a graph (`graphs.check_form`) of the changes of series, their edges, and their impacts
    on an outcome.

    `outcome` has series, title, day and opens_at, from which on changes count; `tests` as of
    `judge_lags`. An edge joins a change to those of another series one to N_LAGS rows later, if
    their pair was tested: Causes (Inhibits, where its strength is negative) if the test says so and
    the directions fit, else Correlates; strength is the test's, confidence 1 - p. The outcome
    correlates with the last change of its own series. An impact is that of a change in the
    outcome's series, or in one tested to cause it. A change is documented by its series' pages of
    the day and the day before.
    """
    asked = outcome["series"]
    known = {(test["cause"], test["effect"]): test for test in tests.to_dict("records")}
    known[asked, asked] = {"strength": 1.0, "p_holm": 0.0, "is_causal": True}
    changes = find_changes(values[values.index < outcome["day"]], thresholds)
    changes = [change for change in changes if change["day"] >= outcome["opens_at"]]
    nodes = [_describe_change(f"{question_id}_{at}", change) for at, change in enumerate(changes)]
    pairs = list(zip(nodes, changes, strict=True))
    edges = []
    impacts = []
    for node, change in pairs:
        test = known.get((change["series"], asked))
        if test and test["is_causal"]:
            side = "Positive" if change["size"] * test["strength"] > 0 else "Negative"
            size = float(min(1.0, abs(change["size"]) / LARGE) * abs(test["strength"]))
            about = {"magnitude": size, "confidence": 1 - test["p_holm"]}
            impacts.append({"node_id": node["node_id"], "direction": side} | about)
        for later, other in pairs:
            test = known.get((change["series"], other["series"]))
            is_near = 1 <= other["row"] - change["row"] <= N_LAGS
            if not test or not is_near or other["series"] == change["series"]:
                continue
            relation = "Correlates"
            if test["is_causal"] and change["size"] * other["size"] * test["strength"] > 0:
                relation = "Causes" if test["strength"] > 0 else "Inhibits"
            ends = {"cause": node["node_id"], "effect": later["node_id"], "relation": relation}
            about = {"strength": test["strength"], "confidence": 1 - test["p_holm"]}
            edges.append(ends | about)
    end = f"{question_id}_outcome"
    own = [node["node_id"] for node, change in pairs if change["series"] == asked]
    about = {"effect": end, "relation": "Correlates", "strength": 1.0, "confidence": 1.0}
    edges += [{"cause": node_id} | about for node_id in own[-1:]]
    last = {"node_id": end, "title": outcome["title"], "description": "", "type": "Outcome"}
    last |= {"occurred_at": str(outcome["day"].date()), "source_ids": []}
    parts = {"nodes": [*nodes, last], "edges": edges, "impacts": impacts}
    return {"question_id": question_id, "outcome_id": end} | parts


def _describe_change(node_id, change):
    """A change of a series as a node, with its series' pages of the day and the day before."""
    moved = "rises" if change["size"] > 0 else "falls"
    name = change["series"]
    day = change["day"]
    days = [day.date(), (day - pd.Timedelta(days=1)).date()]
    size = f"{abs(change['size']):.1f} standard deviations"
    return {
        "node_id": node_id,
        "title": f"{name} {moved}: {change['rule']}",
        "description": f"On {days[0]} {name} {moved} by {size}",
        "occurred_at": str(days[0]),
        "source_ids": [f"{name} {one}" for one in days],
        "type": "Indicator",
    }


def word_answer(event, cell):
    """Return an event's stored answer in the words of its option, any other as text.

    >>> word_answer({"options": '{"A": "Yes"}'}, '"A"'), word_answer({"options": None}, "12.0")
    ('Yes', '12')
    """
    value = parse_json(cell)
    options = parse_json(event["options"]) or {}
    if isinstance(value, str):
        return options.get(value, value)
    return f"{value:.10g}" if isinstance(value, float) else str(value)


class Hindsight(NamedTuple):
    """A graph by rule, what `check_graph` says of it, and the sources of the series that it
    names."""

    graph: dict
    check: dict
    source_ids: list


def build_hindsight(event, answer):
    """Return the Hindsight of an event; None where it asks about no number of a series, or the
    series is too short.

    `event` is a row of the events table, `answer` the words of its outcome (`word_answer`). Where
    several entities compete, the graph is of the one that these name. A round that misses a
    published threshold is followed by the next (B.3, `list_rounds`). Where no round passes, the
    first stands, and its check says what it lacks.
    """
    asked = parse_json(event["variables"]) or {}
    if not asked.get("variable") or not asked.get("date"):
        return None
    end = pd.Timestamp(asked["date"])
    name, values, sources = gather_weeks(event, asked, end, answer)
    if name not in values:
        return None
    outcome = {"series": name, "title": f"{event['prompt'].splitlines()[0]} {answer}", "day": end}
    bars = [*(asked.get("cuts") or []), asked.get("threshold"), asked.get("reference")]
    bars = {
        name: [float(bar) for bar in bars if isinstance(bar, int | float)]
    }  # where the answer changes
    made = []
    for tests, opens_at in list_rounds(values, name, pd.Timestamp(event["opens_at"][:10])):
        graph = build_graph(
            event["event_id"], values, tests, outcome | {"opens_at": opens_at}, bars
        )
        named = {page.rpartition(" ")[0] for node in graph["nodes"] for page in node["source_ids"]}
        made.append(
            Hindsight(graph, check_graph(graph), sorted({sources[series] for series in named}))
        )
        if made[-1].check["is_valid"]:
            return made[-1]
    return made[0]


def build_references(events, answers):
    """Return {event_id: Hindsight} of some events, those that have one."""
    values = answers.set_index("event_id")["value"]
    rows = events.to_dict("records")
    built = {
        one["event_id"]: build_hindsight(one, word_answer(one, values[one["event_id"]]))
        for one in rows
    }
    return {name: found for name, found in built.items() if found}


def list_rounds(values, name, opens_at):
    """Yield the tests and the first day of each round of building a graph about a series (B.3).

    First what may push the series itself, since the opening; then what may push that, a step
    farther away; then changes before the opening, too. All pairs tested by then are one family.
    More tests make none of them surer, so without a cause in the first round there is no second.
    """
    tests = judge_lags(values, name_pairs(values, name))
    yield tests, opens_at
    if find_causes(tests, name):
        tests = judge_lags(values, name_pairs(values))
        if any(find_causes(tests, cause) for cause in find_causes(tests, name)):
            yield tests, opens_at
            yield tests, values.index[0]


def name_pairs(values, name=None):
    """Return the pairs (cause, effect) of series with enough common values: of all, or those with
    one as the effect.

    >>> values = pd.DataFrame(dict.fromkeys("abc", range(30)))
    >>> name_pairs(values, "a"), len(name_pairs(values))
    ([('b', 'a'), ('c', 'a')], 6)
    """
    known = values.notna().to_numpy(int)
    names = list(values)
    places = np.argwhere(known.T @ known > LEAST + N_LAGS)
    return [(names[a], names[b]) for a, b in places if a != b and name in (None, names[b])]


def find_causes(tests, name):
    """Return the causes of a series by tests that are strong and sure enough for an edge to count
    (B.3).

    >>> tests = {"cause": ["a", "b"], "effect": ["b", "c"], "strength": [0.5, -0.4], "p_holm": [0.01, 0.3]}
    >>> find_causes(pd.DataFrame(tests), "b"), find_causes(pd.DataFrame(tests), "c")
    (['a'], ['b'])
    """
    is_sure = (tests["strength"].abs() >= MIN_STRENGTH) & (1 - tests["p_holm"] >= MIN_CONFIDENCE)
    return tests.loc[is_sure & (tests["effect"] == name), "cause"].tolist()


def gather_weeks(event, asked, end, answer):
    """Return (name, values, sources by series) of the series of a long question and of others of
    its domain.

    The others are those of the same days, by entity and label; `values` has a row a day until
    `end`, a column a series with LEAST values or more.
    """
    sources = {
        name: source
        for name, source in long_questions.load_series().items()
        if source.domain == event["domain"]
    }
    parts = {
        (source_id, variable, entity): series
        for source_id, source in sources.items()
        for variable in source.variables
        for entity, series in long_questions.read_series(source_id, variable)[0].items()
    }
    options = parse_object(event["options"])
    letters = asked.get("letters", {})
    winners = [entity for entity, letter in letters.items() if options[letter] == answer]
    own = event["source_id"], asked["variable"], asked.get("entity") or next(iter(winners), None)
    days = parts[own].dropna().loc[: str(end.date())].index[-N_WEEKS:]
    names = {key: f"{key[2]} {sources[key[0]].variables[key[1]]['label']}" for key in parts}
    values = pd.DataFrame({names[key]: one.reindex(days) for key, one in parts.items()}, days)
    values = values.astype(float).dropna(axis=1, thresh=LEAST).set_axis(pd.to_datetime(days))
    of_source = {name: key[0] for key, name in names.items() if name in values}
    return names[own], values, of_source
