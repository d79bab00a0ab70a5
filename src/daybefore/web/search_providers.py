"""Providers of web search, by litellm: asked within bounds, for what is older than a moment where
they know how."""

import uuid
from datetime import UTC, datetime

import pandas as pd

from daybefore.limits import count_left
from daybefore.models.client import try_often
from daybefore.models.transport import load_litellm
from helpers.clock import ZONE, stamp_moment
from helpers.files import dump_json
from helpers.input_faults import list_nearest

CURRENT = pd.Timedelta(minutes=15)
"""A moment so near to now is current: pages are read as they stand. A run that is resumed later
reads the archive."""

N_ASKED = 10
"""Results that a provider is asked for."""

MAX_TEXT = 50_000
"""Characters that are kept of a page."""


def tell(told, cost_usd):
    """Return the columns of a recording whose content is JSON."""
    return {
        "content": dump_json(told),
        "n_input_tokens": None,
        "n_output_tokens": None,
        "cost_usd": cost_usd,
    }


def is_current(as_of):
    """Say whether a moment is no more than `CURRENT` ago."""
    return pd.Timestamp(as_of) >= pd.Timestamp.now(UTC) - CURRENT


def date_search(provider, as_of, now):
    """Return the options by which a provider is asked for what is older than a moment, as it
    documents them.

    They narrow what comes; what may be seen is not left to them. Exa keeps versions of five months,
    Perplexity of 365 days.
    """
    before, moment = (
        as_of.tz_convert(ZONE) - pd.Timedelta(seconds=1),
        f"{as_of.tz_convert(UTC):%Y-%m-%dT%H:%M:%SZ}",
    )
    day, age = f"{before:%m/%d/%Y}", now - as_of
    if provider == "exa_ai":
        kept = {"snapshotAsOf": moment} if age < pd.Timedelta(days=150) else {}
        return {"endPublishedDate": moment, "contents": {"text": True} | kept}
    if provider == "perplexity":
        is_kept = age < pd.Timedelta(days=365)
        return {"snapshot_as_of": moment} if is_kept else {"search_before_date_filter": day}
    return {
        "tavily": {"end_date": f"{before:%Y-%m-%d}"},
        "brave": {"freshness": f"1990-01-01to{before:%Y-%m-%d}"},
        "serper": {"tbs": f"cdr:1,cd_max:{day}"},
    }.get(provider, {})


def search_provider(provider, door, request, limit, row):
    """Return the columns of a search's recording: {read_at, results: title, url, text, date}.
    Raises LlmError.

    `read_at` is when the web of today was searched, None where it was asked for what is of a past
    moment.
    """
    query, as_of = request["messages"][0]["content"], pd.Timestamp(request["options"]["as_of"])
    is_today = is_current(as_of)
    dated = {} if is_today else date_search(provider, as_of, pd.Timestamp.now(UTC))
    answer = try_often(
        door, lambda: send_search(provider, query, dated, count_left(limit)), limit, row
    )
    found = [
        (one.title or "", one.url, (one.snippet or "")[:MAX_TEXT], one.date)
        for one in answer.results
        if one.url
    ]
    results = [dict(zip(("title", "url", "text", "date"), one, strict=True)) for one in found]
    read_at = stamp_moment(pd.Timestamp.now(UTC)) if is_today else None
    return tell({"read_at": read_at, "results": results}, price_search(provider))


def send_search(provider, query, dated, seconds):
    """Return a provider's answer (litellm's SearchResponse): `litellm.search` by the client of
    ours, which has bounds.

    litellm's request to Perplexity leaves out what it does not know, so the dates are added to it.
    """
    litellm = load_litellm()
    from litellm.litellm_core_utils.litellm_logging import Logging
    from litellm.llms.custom_httpx.http_handler import HTTPHandler
    from litellm.llms.custom_httpx.llm_http_handler import BaseLLMHTTPHandler

    settings, options, call_id = (
        find_provider(provider),
        {"max_results": N_ASKED} | dated,
        str(uuid.uuid4()),
    )
    if provider == "perplexity":
        plain = settings.transform_search_request
        settings.transform_search_request = lambda **given: plain(**given) | dated
    messages = [{"role": "user", "content": query}]
    log = Logging(f"{provider}/search", messages, False, "search", datetime.now(UTC), call_id, "")
    log.update_environment_variables({"litellm_call_id": call_id}, options)
    about = {
        "custom_llm_provider": provider,
        "provider_config": settings,
        "logging_obj": log,
        "timeout": seconds,
    }
    about |= {
        "api_key": None,
        "api_base": settings.get_complete_url(api_base=None, optional_params=options),
    }
    client = HTTPHandler(client=litellm.client_session)
    return BaseLLMHTTPHandler().search(
        query=query, optional_params=options, client=client, headers={}, **about
    )


def find_provider(name):
    """Return litellm's settings of a search provider. Raises ValueError for a name that is none."""
    litellm = load_litellm()
    from litellm.types.utils import SearchProviders

    names = [one.value for one in SearchProviders]
    found = name in names and litellm.utils.ProviderConfigManager.get_provider_search_config(
        SearchProviders(name)
    )
    if not found:
        raise ValueError(
            f"no search provider is called {name!r}{list_nearest(name, names, 'docs/live.md')}"
        )
    return found


def find_search_problem(name):
    """Return why a provider cannot be asked from here (no such name, no key), None where it can.
    Nothing is sent."""
    try:
        find_provider(name).validate_environment(headers={})
    except ValueError as error:
        return str(error)
    return None


def price_search(provider, door=None, request=None):
    """Return what a search costs in US dollars by litellm's map, None where it has no price."""
    load_litellm()
    from litellm.search.cost_calculator import search_provider_cost_per_query

    try:
        given = {"max_results": N_ASKED}
        return search_provider_cost_per_query(f"{provider}/search", provider, 1, given)[0]
    except Exception:  # litellm says with a bare Exception that a model is not in its map
        return None
