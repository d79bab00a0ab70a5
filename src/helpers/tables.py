"""The tables and settings: what their rows, columns and entries may hold, as pydantic's types and
models.

Each type has words for what it wants. Big tables are held to them once a distinct value
(`check_table`), entries of toml and objects of JSON by a model (`input_faults.check_object`).
Faults are told as `helpers.input_faults` has them.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, datetime
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StringConstraints,
    WrapValidator,
    create_model,
)
from pydantic_core import PydanticCustomError

from helpers.input_faults import find_faults

KINDS = ("single", "multi", "ranking", "list", "number", "percent", "interval", "date", "text")
"""What an event asks for; yes/no is single."""

LEVELS = (1, 2, 3, 4)
SEARCH_CATEGORIES = ("think_search", "open_deep_research", "closed_deep_research")
"""Agents that look things up."""

CATEGORIES = ("baseline", "base_model", *SEARCH_CATEGORIES, "human", "scripted")
"""What an agent is: FutureX's four (3.2.3) and the kit's own."""

REPLY_STATUSES = (
    "ok",
    "timeout",
    "refusal",
    "error",
    "over_budget",
    "message_limit",
    "unsupported",
    "unreadable",
)
"""How a reply can end; unreadable: what came is no reply of a model, though one may have
answered."""

PREDICTION_STATUSES = (*REPLY_STATUSES, "unparsable", "missing")
"""How a prediction can: a reply that came may hold no valid answer; of one from elsewhere no reason
may be known."""

ANSWER_STATUSES = ("ok", "crawl_error", "extraction_error", "not_published")
"""How the search for an answer, and each attempt at it, can end (FutureX 3.2.4)."""

SITE_TYPES = ("prediction_market", "news", "ranking", "government", "real_time")
"""FutureX's five types (3.2.1); `ranking` is its entertainment ranking."""

ROLES = ("opened", "found", "observed", "named")
"""How a page came to an agent, the closest first: opened by its address, a passage of it found by a
search, read whole as a source's page; or only named in what it wrote."""

SEARCHES = ("none", "dated", "undated", "provider")
"""How a run searched: not at all, up to the question's moment, with no such bound, by its model's
own provider."""

ORIGINS = ("asked", "recorded", "imported")
"""Where a run is from: asked on this machine, recorded with the kit, or of other people's files."""

EFFORTS = ("low", "medium", "high", "xhigh", "default")
"""How much its provider lets a model reason."""

HORIZONS = ("Early", "Mid", "Late", "Near")
"""Points of a question's life at which it may be asked (WorldReasoner 5.3)."""

HELD = "n"
"""What the page_id of a page begins with whose text is not ours to store: news that is fetched, a
reader's articles."""

DIGEST = "sha256:"
"""How a cell begins that holds a text's digest in the text's place."""

MOMENT_FORM = r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[+-]\d\d:\d\d|Z)"

TABLES = {
    "events": (
        ["event_id"],
        "paper family task cluster_id variant window source_id template_id variables entity_id domain subdomain "
        "site_type prompt kind options k unit opens_at as_of resolves_at answer_due_at cutoff_at volatility "
        "volatility_class level contamination_group n_steps capabilities pair_id manifest_id split "
        "resolution_criteria provenance is_synthetic metadata scenario scenario_group environments attachments",
    ),
    "runs": (
        ["run_id"],
        "agent_id category framework model model_family model_digest knowledge_cutoff_date condition message_limit "
        "time_limit_s params prompt_sha256 seed code_version packages status n_tokens cost_usd",
    ),
    "replies": (
        ["run_id", "event_id", "sample"],
        "status reply reason started_at duration_s model_s n_input_tokens n_output_tokens n_cached_tokens cost_usd "
        "finish_reason",
    ),
    "predictions": (
        ["run_id", "event_id", "sample"],
        "agent_id as_of status reason value probability distribution interval_low interval_high rationale source_ids "
        "graph_id reply_sha256 parser_version",
    ),
    "screenings": (["event_id", "filter"], "judge is_dropped reason rule"),
    "answers": (
        ["event_id"],
        "value status acquired_at page_id method spread n_spread spread_rule",
    ),
    "acquisitions": (["event_id", "attempted_at"], "status page_id reason"),
    "scores": (
        ["run_id", "event_id", "sample", "metric"],
        "agent_id score score_imputed is_missing is_scored reason scorer_version",
    ),
    "pages": (
        ["page_id"],
        "source_id url published_at occurred_at retrieved_at origin title content_type content_sha256 text_path "
        "cluster_id",
    ),
    "evidence": (["owner_type", "owner_id", "page_id"], "role is_accessed is_cited"),
    "traces": (
        ["run_id", "event_id", "sample", "step"],
        "actor step_type tool arguments content page_ids n_input_tokens n_output_tokens n_think_tokens "
        "n_context_tokens duration_s cost_usd sandbox_backend error",
    ),
    "judgements": (["target_type", "target_id", "judge", "rubric", "repeat"], "label score reason"),
    "prices": (["event_id", "at"], "price source"),
    "trials": (["run_id", "event_id", "sample"], "p_yes value"),
    "revisions": (["run_id", "event_id", "revision"], "at value probability distribution"),
    "days": (["run_id", "day"], "n_tool_calls n_searches n_forecasts"),
}
"""Table name -> (key columns, the other columns in order). Add columns, never rename (the contract
between stages)."""


OPTIONAL = {"runs": ("question_set", "horizon", "days_after", "query_of", "sees_today")}
"""Columns that the store's tables have beside these: a run's question set, by its window, and how
it was asked."""


# --- types ------------------------------------------------------------------------------------------


def allow(kind: Any, wanted: str, known: tuple = (), test: Callable | None = None) -> Any:
    """Return a pydantic type that also passes a `test`, with words for what it wants, or the words
    that are `known`."""

    def hold(value: Any, check: Callable) -> Any:
        with suppress(ValueError, TypeError, OverflowError, RecursionError):
            value = check(value)
            if test is None or test(value):
                return value
        raise PydanticCustomError("wanted", "wanted", {"wanted": wanted, "known": known})

    return Annotated[kind, WrapValidator(hold)]


def one_of(*words: Any) -> Any:
    """Return the type of one of some words or numbers."""
    return allow(Any, "", words, lambda value: value in words)


def json_of(kind: Any, wanted: str) -> Any:
    """Return the type of JSON text of a Python type; a number counts as its own JSON, as a csv
    reader opens it."""
    return allow(
        Any,
        wanted,
        test=lambda cell: isinstance(
            json.loads(cell) if isinstance(cell, str) else float(cell), kind
        ),
    )


def time_of(form: str, read: Callable, wanted: str) -> Any:
    """Return the type of a text of some form that reads as a date or moment that exists."""
    return allow(Any, wanted, test=lambda text: re.fullmatch(form, text) and read(text))


Finite = Annotated[float, Field(allow_inf_nan=False)]
Number = allow(Finite, "a number")
Amount = allow(Annotated[Finite, Field(ge=0)], "a number of 0 or more")
Share = allow(Annotated[Finite, Field(ge=0, le=1)], "a number from 0 to 1")
Whole = allow(int, "a whole number")
Count = allow(Annotated[int, Field(ge=0)], "a whole number of 0 or more")
Positive = allow(Annotated[int, Field(ge=1)], "a whole number of 1 or more")
Text = allow(Annotated[str, StringConstraints(min_length=1)], "a text")
Truth = allow(StrictBool, "true or false")
Moment = time_of(
    MOMENT_FORM, datetime.fromisoformat, "a moment with its zone, such as 2016-10-10T00:00:00+08:00"
)
Date = time_of(r"\d{4}-\d\d-\d\d", date.fromisoformat, "a date such as 2016-10-10")
Flag = one_of(True, False)
Object = json_of(dict, "JSON text of an object")

TYPES = {
    "kind": one_of(*KINDS),
    "level": one_of(*LEVELS),
    "category": one_of(*CATEGORIES),
    "site_type": one_of(*SITE_TYPES),
    "volatility_class": one_of("low", "high"),
    "contamination_group": one_of("widely_known", "obscure"),
    "split": one_of("validation", "test"),
    "pages.origin": one_of("replay", "news", "live"),
    "runs.origin": one_of(*ORIGINS),
    "search": one_of(*SEARCHES),
    "effort": one_of(*EFFORTS),
    "outcome": one_of(0, 1),
    **dict.fromkeys(("sees_price", "keeps_beliefs", "sees_today"), Flag),
    **dict.fromkeys(("p_yes", "p_filled", "price", "guess"), Share),
    "role": one_of(*ROLES),
    "runs.status": one_of("partial", "complete"),
    "replies.status": one_of(*REPLY_STATUSES),
    "predictions.status": one_of(*PREDICTION_STATUSES),
    "answers.status": one_of(*ANSWER_STATUSES, "none"),  # none: from elsewhere, no reason known
    "acquisitions.status": one_of(*ANSWER_STATUSES),
    "as_of": Moment,
    **dict.fromkeys(("sample", "step", "repeat"), Count),
    **dict.fromkeys(("k", "message_limit"), Positive),
    "seed": Whole,
    **dict.fromkeys(("spread", "volatility"), Amount),
    **dict.fromkeys(("probability", "score_imputed"), Share),
    **dict.fromkeys(("score", "interval_low", "interval_high"), Number),
    "value": json_of(object, "JSON text"),
    **dict.fromkeys(
        ("variables", "options", "metadata", "params", "distribution", "arguments"), Object
    ),
    **dict.fromkeys(
        ("capabilities", "environments", "attachments", "packages", "source_ids", "page_ids"),
        json_of(list, "JSON text of a list"),
    ),
}
"""Column, or table.column -> its type."""

ENDS = {"_at": Moment, "_date": Date, "_s": Amount, "_usd": Amount, "n_": Count, "is_": Flag}
"""Types of the columns that a name's end or start tells: moments, dates, seconds, dollars, counts,
flags."""


class Setting(BaseModel):
    """A table of a settings file, or an object of a file of JSON: its fields alone, each of its own
    type."""

    model_config = ConfigDict(strict=True, extra="forbid")


def form(*needs: str, **fields: Any) -> Any:
    """Return the model of a table of settings: its fields with their types, `needs` those that must
    be there."""
    given: dict[str, Any] = {
        name: (kind, ... if name in needs else None) for name, kind in fields.items()
    }
    return create_model("Form", __base__=Setting, **given)


def some(kind: Any) -> Any:
    """Return the type of a list of one or more."""
    return Annotated[list[kind], Field(min_length=1)]


Price = form("input", "output", input=Amount, output=Amount)
"""What a model costs, in US dollars a million tokens."""


class Agent(Setting):
    """An agent of data/agents.toml: a model with a method, a baseline, or a function of the
    reader's own (`agent`)."""

    category: one_of(*CATEGORIES)
    method: Text
    framework: Text
    about: Text = None
    agent: allow(
        Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.]+:\w+$")], '"module:function"'
    ) = None
    model: Text = None
    model_family: Text = None
    knowledge_cutoff_date: Date = None
    model_released_date: Date = None
    search: Text = None
    tolerance_s: Amount = None
    api_base: allow(
        Annotated[str, StringConstraints(pattern=r"^https?://[^\s/]")],
        "an address: http://127.0.0.1:8000/v1 or https://api.example.com/v1",
    ) = None
    api_key_env: Text = None
    options: dict[str, Any] = {}
    usd_per_million: Price = None
    takes: list[one_of("image", "audio")] | None = None
    probabilities: Truth = None
    max_lookups: Positive = None
    max_steps: Positive = None
    max_seconds: Positive = None
    max_tokens: Positive = None


class RecordedRun(Setting):
    """A run of data/arms.toml: an agent, the question set, and which of its questions are asked,
    and when.

    `days_after`: so many days after the resolution; `query_of`: searched with another event's
    question.
    """

    agent: Text
    window: Text
    n: Positive = None
    levels: list[one_of(*LEVELS)] = []
    kinds: list[one_of(*KINDS)] = []
    first_date: Date = None
    last_date: Date = None
    days_after: Whole = None
    query_of: one_of("another") = None
    horizon: one_of(*HORIZONS) = None
    about: Text = None


# --- tables -----------------------------------------------------------------------------------------


def list_columns(name: str) -> list[str]:
    """Return a table's columns, key first.

    >>> list_columns("acquisitions")
    ['event_id', 'attempted_at', 'status', 'page_id', 'reason']
    """
    key, rest = TABLES[name]
    return key + rest.split()


def find_wrong(name: str, column: str, cells: pd.Series) -> Iterator[tuple[int, str]]:
    """Yield (row from 0, what is wrong) for the cells of a table's column that it may not hold;
    blanks are allowed."""
    by_name = (t for part, t in ENDS.items() if column.endswith(part) or column.startswith(part))
    kind = (
        TYPES.get(f"{name}.{column}") or TYPES.get(column) or next(by_name, None)
    )  # None: a free column
    is_given = (cells.notna() & cells.ne("")).to_numpy()
    if kind is None or not is_given.any():
        return
    try:
        codes, values = pd.factorize(cells[is_given])
    except TypeError:  # cells that are lists
        codes = np.arange(is_given.sum())
        values = cells[is_given]
    plain = [value.item() if isinstance(value, np.generic) else value for value in values.tolist()]
    wrong = {place[0]: words for place, words in find_faults(plain, list[kind])}
    for row, code in zip(np.flatnonzero(is_given), codes, strict=True) if wrong else ():
        if code in wrong:
            yield int(row), wrong[code]


def check_table(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return `table` with the contract's columns in order; extra columns follow, absent ones are
    blank.

    Raises ValueError when a key column is absent, blank or repeated, or for the first cell of a
    column that holds what it may not.

    >>> check_table("acquisitions", pd.DataFrame({"event_id": ["e1"]}))
    Traceback (most recent call last):
        ...
    ValueError: acquisitions: column 'attempted_at' is missing; the key is event_id, attempted_at
    """
    key = TABLES[name][0]
    columns = list_columns(name)
    for column in key:
        if column not in table.columns:
            raise ValueError(f"{name}: column {column!r} is missing; the key is {', '.join(key)}")
        if (blank := table[column].isna().to_numpy()).any():
            raise ValueError(f"{name}: row {int(blank.argmax()) + 1} has no {column}")
    if (repeated := table.duplicated(key)).any():
        first = table.loc[repeated, key].iloc[0].to_dict()
        raise ValueError(f"{name}: {int(repeated.sum())} rows repeat a key, the first is {first}")
    for column in table.columns.intersection(columns, sort=False):
        for row, words in find_wrong(name, column, table[column]):
            raise ValueError(f"{name}, row {row + 1}, column {column}: {words}")
    return table.reindex(
        columns=columns + [column for column in table.columns if column not in columns]
    )
