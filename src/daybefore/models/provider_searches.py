"""What a reply tells of the searches that its provider made by itself: how many, for what, which
pages it names."""

import re

ADDRESS = re.compile(r"https?://\S{1,2000}")
"""What is taken for the address of a page."""
MAX_SEARCHES = 1000
"""Searches beyond which a provider's count is no count."""


def read_searches(response):
    """Return {n_searches, queries, citations} of litellm's response to a chat completion; {} where
    none were made.

    Each provider tells it elsewhere: OpenAI cites pages and counts nothing, Anthropic's and
    Gemini's queries stand beside the reply, Perplexity numbers its pages and counts its queries.
    """
    message = response.choices[0].message
    usage = response.usage
    own = getattr(message, "provider_specific_fields", None) or {}
    grounded = getattr(response, "vertex_ai_grounding_metadata", None) or []
    queries = [
        query for call in own.get("web_search_calls") or [] for query in call.action.queries or []
    ]
    queries += [query for part in grounded for query in part.get("webSearchQueries") or []]
    pages = [
        mark.get("url_citation") for mark in list_tables(getattr(message, "annotations", None))
    ]
    pages += [page for cited in own.get("citations") or [] for page in cited]
    pages += [chunk.get("web") for part in grounded for chunk in part.get("groundingChunks") or []]
    pages += list_tables(getattr(response, "search_results", None))
    places = (getattr(usage, name, None) for name in ("prompt_tokens_details", "server_tool_use"))
    counts = [getattr(place, "web_search_requests", None) for place in places]
    return tell_searches(queries, pages, *counts, getattr(usage, "num_search_queries", None))


def list_tables(value):
    """Return the tables of a list, [] of what is none: servers of one's own send what they like."""
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def tell_searches(queries, pages, *counts):
    """Return {n_searches, queries, citations} from all that a reply tells, {} where that is
    nothing.

    `pages` have `url` or `uri` and perhaps a `title`; each is cited once, as "address title". A
    provider's own count stands where it is more than the queries told.

    >>> tell_searches(["rain"], [{"url": "https://a.example/", "title": "A"}, {"url": "https://a.example/"}], 2)
    {'n_searches': 2, 'queries': ['rain'], 'citations': ['https://a.example/ A']}
    """
    cited = {}
    queries = [query for query in queries if query]
    for page in list_tables(pages):
        url = page.get("url") or page.get("uri")
        if isinstance(url, str) and ADDRESS.fullmatch(url):
            cited.setdefault(url, " ".join(str(page.get("title") or "").split()))
    n_told = max([len(queries), *(n for n in counts if isinstance(n, int) and n <= MAX_SEARCHES)])
    if not n_told and not cited:
        return {}
    return {
        "n_searches": n_told,
        "queries": queries,
        "citations": [" ".join(page).strip() for page in cited.items()],
    }
