"""Turn a template into one event: draw its variables, find the date it is due, word it (FutureX
3.2.2)."""

import string
import zlib
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np
import pandas as pd

from daybefore.questions.levels import (
    MIN_VALUES,
    N_VALUES,
    measure_number_volatility,
    measure_ranking_volatility,
)
from daybefore.questions.question_types import GAIN_DAYS, KINDS, NONE_LABEL, build_history
from daybefore.web.extract_values import select_series
from daybefore.web.render_pages import format_period
from daybefore.web.source_registry import Source, compute_published_at
from helpers.clock import stamp_moment
from helpers.papers import get_constant

HORIZON_DAYS = get_constant("futurex", "prediction_window_days")
"""Longest time from start to resolution (FutureX 3.4.1, the one-week window)."""
N_BAND_VALUES = 28
STEPS = {"daily": "D", "hourly": "D", "weekdays": "B", "weekly": "7D", "monthly": "MS"}
"""How a source is updated -> from a date to the next, as pandas names it."""


class Unanswerable(Exception):
    """No event can be posed; the first argument is the reason kept in the screenings."""


@dataclass
class Deck:
    """Values of a template's variables in seeded random order; none comes again before all have
    come.

    The seed is the template's own (`seed_by_name`), so that another template's draws never move it.
    `asked` holds what was asked for which date, so that no question recurs (FutureX 3.2.2).
    """

    rng: np.random.Generator
    cards: list = field(default_factory=list)
    asked: set = field(default_factory=set)

    def draw(self, variables, values, dates=None):
        """Take the next value (an entity or a place) not asked about yet, reshuffling when the deck
        runs out.

        It is for the date of `variables`, or of each value its own.

        >>> deck = Deck(np.random.default_rng(0))
        >>> sorted(deck.draw({"date": "2016-10-10", "hour": None}, ["x", "y", "z"]) for _ in range(3))
        ['x', 'y', 'z']
        """
        for _ in range(2):
            for place, card in enumerate(self.cards):
                date = dates[card] if dates and card in dates else variables.get("date")
                if card in values and self.is_new(date, variables["hour"], card):
                    return self.cards.pop(place)
            fresh = [value for value in values if value not in self.cards]
            self.cards += [fresh[i] for i in self.rng.permutation(len(fresh))]
        raise Unanswerable(
            "no entity has enough published values, or was not asked about within the horizon"
        )

    def mark(self, variables):
        """Remember a question by date, hour, and entity or place."""
        self.asked.add(
            (variables["date"], variables["hour"], variables.get("entity", variables.get("rank")))
        )

    def is_new(self, date, hour, card=None):
        """Tell whether a question (with the entity or place `card`) was not asked before."""
        return (date, hour, card) not in self.asked


def seed_by_name(seed, name):
    """Return a generator for what has this name, which no other name's draws move."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def pose_event(
    template,
    source,
    observations,
    as_of,
    deck,
    *,
    select=None,
    horizon_days=HORIZON_DAYS,
    not_before="",
):
    """Return one event of a template as of a moment: a dict with prompt, kind, options, variables,
    dates, volatility.

    `observations` are what the source's page showed then, `select(variable, hour)` their series
    where they are kept (`select_series` by default); the value is for no date earlier than
    `not_before`. Asked about are the entities that template or source names, with three of the last
    seven values. Raises Unanswerable with its reason when none is due within the horizon, no entity
    has enough history, or it is frozen.
    """
    hours = np.atleast_1d(template.get("hour") if template.get("hour") is not None else "").tolist()
    rng = deck.rng
    hour = hours[int(rng.integers(len(hours)))] or None
    series = (select or partial(select_series, observations))(template["variable"], hour)
    if series.empty:
        raise Unanswerable("the page shows no value of this variable" + f" at {hour}" * bool(hour))
    if source.page.get("fixtures_days"):
        return pose_fixture(template, source, observations, series, as_of, deck, horizon_days)
    date, resolves_at = find_due_date(source, series.index[-1], hour, as_of, horizon_days)
    if date < not_before:
        raise Unanswerable("no value that is still to happen is due within the horizon")
    known = ~np.isnan(series.to_numpy()[-N_VALUES:].astype(float))
    alive = series.columns[(known.sum(axis=0) >= MIN_VALUES) & known[-1]].tolist()
    wanted = template.get("only") or source.entities.get("only")
    entities = [entity for entity in alive if not wanted or entity in wanted]
    variables = {
        "ask": template["ask"],
        "variable": template["variable"],
        "hour": hour,
        "date": date,
    }
    variables |= {key: template[key] for key in ("k", "by", "order", "absent") if key in template}
    options = ADDERS[template["ask"]](template, source, series, entities, variables, deck)
    volatility = measure_volatility(variables, series)
    deck.mark(variables)
    return word_event(template, source, variables, options, resolves_at) | {
        "volatility": volatility
    }


def find_due_date(source, last_date, hour, as_of, horizon_days):
    """Return (date, resolves_at): the latest date whose value is published within the horizon, and
    when (UTC).

    Raises Unanswerable when that is no later than what is known already.
    """
    start = pd.Timestamp(as_of)
    end = start + pd.Timedelta(days=horizon_days)
    longest = start + pd.Timedelta(days=2 * HORIZON_DAYS)  # so that horizons share what is found
    due = list_due(source, last_date, hour, max(end, longest))
    due = [(date, moment) for date, moment in due if moment <= end]
    if not due:
        raise Unanswerable("no value is due within the horizon")
    return due[-1]


def list_due(source: Source, last_date: str, hour: str | None, end: pd.Timestamp) -> list[tuple]:
    """Return [(date, moment of publication, UTC)] of the values that follow the last one, to a day
    past `end`.

    >>> from daybefore.web.source_registry import load_sources
    >>> [date for date, _ in list_due(load_sources()["us_cpi"], "2016-08-01", None, pd.Timestamp("2016-10-15"))]
    ['2016-09-01', '2016-10-01']
    """
    rule = tuple(sorted(source.publication.items()))
    return _list_due(
        rule, source.update_frequency, last_date, hour, str(end + pd.Timedelta(days=1))[:10]
    )


@lru_cache(maxsize=4096)
def _list_due(rule, frequency, last_date, hour, until):
    """What `list_due` returns, found once for templates of one source and day."""
    dates = step_dates(frequency, last_date, until)
    timed = pd.Series([f"{date}T{hour}" if hour else date for date in dates], dtype=str)
    return list(zip(dates, compute_published_at(dict(rule), timed), strict=True))


@lru_cache(maxsize=4096)
def step_dates(frequency: str, last_date: str, date: str) -> tuple[str, ...]:
    """Return the dates of a source after one date, up to another.

    >>> step_dates("weekly", "2024-01-07", "2024-01-21"), step_dates("weekdays", "2024-01-05", "2024-01-09")
    (('2024-01-14', '2024-01-21'), ('2024-01-08', '2024-01-09'))
    """
    days = pd.date_range(last_date, date, freq=STEPS[frequency])
    return tuple(days[days > last_date].strftime("%Y-%m-%d"))


def measure_volatility(variables, series):
    """Return the event's volatility: of its number, or of its ranking. Raises Unanswerable when it
    is frozen."""
    if "entity" in variables:
        volatility = measure_number_volatility(series[variables["entity"]].dropna())
    elif variables["ask"] in ("risers", "above"):
        volatility = float(series[list(variables["reference"])].iloc[-N_VALUES:].std().mean())
    else:
        history = build_history(series, variables)
        if variables["ask"] == "leader":
            history = history[[name for name in variables["reference"] if name in history]]
        volatility = measure_ranking_volatility(
            history, variables.get("k", 1), variables.get("rank"), variables.get("order", "desc")
        )
    if volatility is None:
        raise Unanswerable("fewer than three past values")
    if volatility == 0:
        raise Unanswerable("frozen: no movement in the last seven values")
    return volatility


def add_number(template, source, series, entities, variables, deck):
    """Number, yes/no and band asks: one entity; a reference, a threshold or cuts from what is
    known."""
    entity = variables["entity"] = deck.draw(variables, sorted(entities))
    known = series[entity].dropna()
    decimals = source.variables[template["variable"]]["decimals"]
    if template["ask"] == "change":
        variables["reference"] = float(known.iloc[-1])
    if template["ask"] == "threshold":
        variables["threshold"] = draw_threshold(known, deck.rng, decimals)
    if template["ask"] == "band":
        return add_bands(template, source, known, variables, decimals)
    return {"Yes": "Yes", "No": "No"} if template["ask"] in ("change", "threshold") else {}


def draw_threshold(known, rng, decimals):
    """Return the last value, or half a deviation of the last seven below or above it.

    Where no value has been below 0, "0 or more" is certain by its form: such a draw goes up
    instead, by at least one unit of the last decimal.
    """
    last = float(known.iloc[-1])
    shift = float(rng.choice([-0.5, 0.0, 0.5])) * float(known.iloc[-N_VALUES:].std())
    threshold = round(last + shift, decimals)
    if threshold <= 0 <= known.min():
        return lift_threshold(round(last + abs(shift), decimals), known, decimals)
    return threshold


def lift_threshold(threshold, known, decimals):
    """Return a threshold, one unit of the last decimal where it is 0 or less and no value has been
    below 0.

    >>> lift_threshold(0.0, [0, 0, 3], decimals=0), lift_threshold(0.0, [-1, 0, 3], decimals=0)
    (1.0, 0.0)
    """
    return 10.0**-decimals if threshold <= 0 <= np.nanmin(known) else threshold


def add_bands(template, source, known, variables, decimals):
    """Cut the last 28 values into equally frequent bands; returns {band: wording}."""
    n_bands = template.get("bands", 3)
    unit = source.variables[template["variable"]]["unit"]
    shares = np.arange(1, n_bands) / n_bands
    cuts = [round(float(cut), decimals) for cut in np.quantile(known.iloc[-N_BAND_VALUES:], shares)]
    if len(set(cuts)) < len(cuts):
        raise Unanswerable("frozen: too few different values for bands")
    variables["cuts"] = cuts
    shown = [f"{cut:,.{decimals}f}" for cut in cuts]
    words = [f"below {shown[0]} {unit}"]
    words += [f"{low} to below {high} {unit}" for low, high in pairwise(shown)]
    words += [f"{shown[-1]} {unit} or more".replace("  ", " ")]
    return {str(place): word.strip() for place, word in enumerate(words)}


def add_options(template, source, series, entities, variables, deck):
    """Leader, risers and above: a draw of entities as options, each with its last value as
    reference."""
    n_options = template.get("n_options", 5) or len(entities)
    if len(entities) < max(n_options, 3):
        raise Unanswerable("too few entities have published values")
    chosen = sorted(
        str(entity) for entity in deck.rng.choice(entities, size=n_options, replace=False)
    )
    last = find_reference(series, variables, chosen)
    variables["reference"] = {entity: float(last[entity]) for entity in chosen}
    if template["ask"] == "above":
        decimals = source.variables[template["variable"]]["decimals"]
        median = round(float(np.nanmedian(series[chosen].iloc[-N_VALUES:].to_numpy())), decimals)
        variables["threshold"] = lift_threshold(
            median, series[chosen].to_numpy(dtype=float), decimals
        )
    shuffled = [chosen[i] for i in deck.rng.permutation(n_options)]
    last_option = [NONE_LABEL] if template["ask"] in ("risers", "above") else []
    return {entity: entity for entity in shuffled + last_option}


def add_ranking(template, source, series, entities, variables, deck):
    """Top and rank: all entities of the page compete; a place is drawn for rank."""
    k = variables["k"] = template.get("k", 5) if template["ask"] == "top" else 1
    if template["ask"] == "rank":
        variables["rank"] = deck.draw(variables, template.get("ranks", [1, 2, 3]))
    elif not deck.is_new(variables["date"], variables["hour"]):
        raise Unanswerable("the ranking of that date was asked for before, within the horizon")
    if len(entities) < max(k, variables.get("rank", 1)) + 1:
        raise Unanswerable("too few entities have published values")
    if wanted := template.get("only") or source.entities.get("only"):
        variables["among"] = sorted(wanted)
    if variables.get("by") == "gain":
        last = find_reference(series, variables, entities)
        variables["reference"] = {
            entity: float(last[entity]) for entity in entities if last[entity] == last[entity]
        }
    return {}


def find_reference(series, variables, entities):
    """Return the values against which change counts: seven days before the date for gains, else the
    last published."""
    if variables.get("by") != "gain":
        return series[entities].ffill().iloc[-1]
    back = str((pd.Timestamp(variables["date"]) - pd.Timedelta(days=GAIN_DAYS)).date())
    if back not in series.index:
        raise Unanswerable("no value is published for the day that gains count from")
    return series.loc[back]


ADDERS = {ask: add_number for ask in ("value", "change", "threshold", "band")}
ADDERS |= {ask: add_options for ask in ("leader", "risers", "above")}
ADDERS |= {ask: add_ranking for ask in ("top", "rank")}


def pose_fixture(template, source, observations, series, as_of, deck, horizon_days):
    """Pose an event about a match to be played within the horizon, its name and date known from the
    fixture list."""
    start = pd.Timestamp(as_of)
    is_of_variable = observations["variable"] == template["variable"]
    coming = observations[observations["value"].isna() & is_of_variable]
    moments = compute_published_at(source.publication, coming["occurred_at"])
    is_due = (moments > start) & (moments <= start + pd.Timedelta(days=horizon_days))
    coming = coming.assign(moment=moments)[is_due & (coming["occurred_at"] >= str(start.date()))]
    coming = coming.drop_duplicates("entity", keep="last").set_index("entity")
    dates = coming["occurred_at"].to_dict()
    if not dates:
        raise Unanswerable("no match is listed within the horizon")
    variables = {"ask": template["ask"], "variable": template["variable"], "hour": None}
    entity = deck.draw(variables, sorted(dates), dates)
    variables |= {"date": dates[entity], "entity": entity}
    deck.mark(variables)
    options = {}
    if template["ask"] == "outcome":
        options = {"home": "the home side wins", "draw": "a draw", "away": "the away side wins"}
    event = word_event(template, source, variables, options, coming.at[entity, "moment"])
    return event | {"volatility": measure_number_volatility(pool_matches(series)) or 0.0}


def pool_matches(series):
    """Return all matches' values in order of date: what a fixture's outcome is expected from."""
    values = series.to_numpy().ravel()
    return values[~np.isnan(values)]


def word_event(template, source, variables, options, resolves_at):
    """Return the event's fields: wording, lettered options, resolution rule and origin."""
    variable = source.variables[template["variable"]]
    rank = variables.get("rank", 0)
    ending = {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    if rank % 100 in (11, 12, 13):
        ending = "th"
    date = format_period(variables["date"])
    blanks = {key: variables.get(key) for key in ("entity", "hour", "k")}
    blanks |= {"rank": f"{rank}{ending}", "date": date}
    for key in ("reference", "threshold"):
        if isinstance(variables.get(key), float):
            blanks[key] = f"{variables[key]:,.{variable['decimals']}f}"
    letters, wording = letter_options(template["text"].format(**blanks), options)
    if options:
        variables["letters"] = letters
    hour = f", {variables['hour']} local time" if variables["hour"] else ""
    return wording | {
        "kind": KINDS[template["ask"]],
        "k": variables.get("k"),
        "unit": variable["unit"],
        "entity_id": variables.get("entity"),
        "variables": variables,
        "resolves_at": resolves_at,
        "resolution_criteria": f"What {source.name} ({source.address}) shows for {date}{hour}; "
        "equal values rank by name.",
        "template_id": template["id"],
    }


def tell_origin(posed: dict, source: Source, about: Source) -> dict:
    """Return an event's fields as posed, with those of its source, and of the source that it is
    `about` and settles it.

    For a market's question these are two; its cluster is the second.
    """
    return posed | {
        "family": posed["variables"]["ask"],
        "task": "forecast",
        "cluster_id": about.id,
        "source_id": source.id,
        "domain": about.domain,
        "subdomain": about.subdomain,
        "site_type": source.site_type,
        "resolves_at": stamp_moment(posed["resolves_at"]),
        "contamination_group": about.contamination_group,
        "is_synthetic": False,
    }


def letter_options(question, options):
    """Return (letters by key, {prompt, options by letter}) of a question and its options' wording
    by key.

    >>> letter_options("Rain?", {"yes": "Yes", "no": "No"})
    ({'yes': 'A', 'no': 'B'}, {'prompt': 'Rain?\\nA. Yes\\nB. No', 'options': {'A': 'Yes', 'B': 'No'}})
    """
    letters = dict(zip(options, string.ascii_uppercase, strict=False))
    by_letter = {letters[key]: text for key, text in options.items()}
    lines = [f"{letter}. {text}" for letter, text in by_letter.items()]
    return letters, {"prompt": "\n".join([question, *lines]), "options": by_letter}
