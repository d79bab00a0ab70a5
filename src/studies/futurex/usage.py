"""What agents' runs took and what they lack: pages, requests, seconds; missing predictions with
their reason."""

import pandas as pd

from helpers.files import parse_json

SEARCHING = r"search(?!_?agent)|tavily|\bexa\b|serp|google|bing"
OPENING = r"^open|lookup|fetch|browse|visit|scrape|crawl|goto|read_(?:url|page)|get_(?:url|page)"
"""What tools that search, and that open a page, are called, by us (search, open) and by others. An
agent that is handed a task (search_agent) is none: its own searches count."""


def is_search(tools: pd.Series) -> pd.Series:
    """Tell which tools search.

    >>> is_search(pd.Series(["search", "mcp__forecast__search_news", "search_agent", None])).tolist()
    [True, True, False, False]
    """
    return (
        tools.astype("string")
        .str.contains(SEARCHING, case=False, regex=True)
        .fillna(False)
        .astype(bool)
    )


def is_opening(tools: pd.Series) -> pd.Series:
    """Tell which tools open a page; one that searches does not.

    >>> is_opening(pd.Series(["open", "lookup_url", "web_fetch", "search_page", "submit"])).tolist()
    [True, True, True, False, False]
    """
    opens = tools.astype("string").str.contains(OPENING, case=False, regex=True)
    return opens.fillna(False).astype(bool) & ~is_search(tools)


def check_pages_read(traces, predictions, pages):
    """Return (n pages read, n events), having checked that each was published before the moment of
    its question.

    The moment is the prediction's `as_of`. Raises ValueError naming the first page that is unknown
    or not earlier.
    """
    read = traces.dropna(subset="page_ids")[["run_id", "event_id", "page_ids"]]
    read = (
        read.assign(page_id=read["page_ids"].map(parse_json))
        .explode("page_id")
        .dropna(subset="page_id")
    )
    read = read.merge(
        pages[["page_id", "published_at"]].drop_duplicates("page_id"), how="left", on="page_id"
    )
    read = read.merge(
        predictions[["run_id", "event_id", "as_of"]], how="left", on=["run_id", "event_id"]
    )
    published, as_of = (
        pd.to_datetime(read[column], utc=True) for column in ("published_at", "as_of")
    )
    wrong = read[~(published < as_of)]
    if len(wrong):
        page, event, stamp, moment = wrong.iloc[0][["page_id", "event_id", "published_at", "as_of"]]
        raise ValueError(
            f"{event} was asked as of {moment}, but its page {page} was published at {stamp}"
        )
    return read["page_id"].nunique(), read["event_id"].nunique()


def measure_usage(traces, predictions, agent_ids):
    """Return, by agent, the means a question of queries, opened pages, requests, tokens and seconds
    of the model.

    `agent_ids` maps run_id to agent_id. Tools count by what they are called (`is_search`,
    `is_opening`). Seconds are those of the recording; an agent that asks no model has none.
    """
    names = {
        "n_input_tokens": "tokens_read",
        "n_output_tokens": "tokens_written",
        "duration_s": "seconds",
    }
    marks = {"queries": is_search(traces["tool"]), "opened": is_opening(traces["tool"])}
    marks["requests"] = traces["step_type"] == "model"
    steps = traces.rename(columns=names).assign(agent_id=traces["run_id"].map(agent_ids), **marks)
    counts = steps.groupby("agent_id")[[*marks, *names.values()]].sum()
    n = predictions.groupby("agent_id")["event_id"].nunique()
    return (
        counts.div(n, axis=0)
        .assign(n=n)
        .reindex(columns=["n", *counts])
        .loc[lambda table: table["n"].notna()]
    )
