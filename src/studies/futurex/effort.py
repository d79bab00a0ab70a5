"""What agents' runs took, and what effort has to do with skill (FutureX 4.5.2, Figure 14).

An agent that works more may be better for other reasons, so nothing here is an effect of effort:
runs are compared with other runs of one model.
"""

import numpy as np
import pandas as pd

from helpers.agreement import correlate
from helpers.files import parse_json
from helpers.means import summarize_clustered

SEARCHING = r"search(?!_?agent)|tavily|\bexa\b|serp|google|bing"
OPENING = r"^open|lookup|fetch|browse|visit|scrape|crawl|goto|read_(?:url|page)|get_(?:url|page)"
"""What tools that search, and that open a page, are called, by us (search, open) and by others. An
agent that is handed a task (search_agent) is none: its own searches count."""
EFFORTS = (
    "searches_a_day",
    "tool_calls_a_day",
    "plans_a_day",
    "revisions_a_question",
    "n_notes",
    "coverage",
)
"""Columns of `describe_runs` that are held against skill."""
N_PERMUTED = 10_000
SEED = 20261128


def is_search(tools: pd.Series) -> pd.Series:
    """Tell which tools search.

    >>> is_search(pd.Series(["search", "mcp__forecast__search_news", "search_agent", None])).tolist()
    [True, True, False, False]
    """
    return tools.astype("string").str.contains(SEARCHING, case=False, na=False).astype(bool)


def is_opening(tools: pd.Series) -> pd.Series:
    """Tell which tools open a page; one that searches does not.

    >>> is_opening(pd.Series(["open", "lookup_url", "web_fetch", "search_page", "submit"])).tolist()
    [True, True, True, False, False]
    """
    opens = tools.astype("string").str.contains(OPENING, case=False, na=False)
    return opens.astype(bool) & ~is_search(tools)


def check_pages_read(traces, predictions, pages):
    """Return (n pages read, n events), having checked that each was published before the moment of
    its question.

    The moment is the prediction's `as_of`. Raises ValueError naming the first page that is unknown
    or not earlier.
    """
    read = traces.dropna(subset="page_ids")[["run_id", "event_id", "page_ids"]]
    read = read.assign(page_id=read["page_ids"].map(parse_json)).explode("page_id")
    read = read.dropna(subset="page_id")
    known = pages[["page_id", "published_at"]].drop_duplicates("page_id")
    asked = predictions[["run_id", "event_id", "as_of"]]
    read = read.merge(known, "left", "page_id").merge(asked, "left", ["run_id", "event_id"])
    published, as_of = (pd.to_datetime(read[name], utc=True) for name in ("published_at", "as_of"))
    wrong = read[~(published < as_of)]
    if len(wrong):
        row = wrong.iloc[0]
        raise ValueError(
            f"{row['event_id']} was asked as of {row['as_of']}, but its page {row['page_id']} was published at "
            f"{row['published_at']}"
        )
    return read["page_id"].nunique(), read["event_id"].nunique()


def measure_usage(traces, predictions, agent_ids):
    """Return, by agent, the means a question of queries, opened pages, requests, tokens and seconds
    of the model.

    `agent_ids` maps run_id to agent_id. Tools count by what they are called (`is_search`,
    `is_opening`). Seconds are those of the recording; an agent that asks no model has none.
    """
    n = predictions.groupby("agent_id")["event_id"].nunique()
    counts = {
        "queries": is_search(traces["tool"]),
        "opened": is_opening(traces["tool"]),
        "requests": traces["step_type"] == "model",
        "tokens_read": traces["n_input_tokens"],
        "tokens_written": traces["n_output_tokens"],
        "seconds": traces["duration_s"],
    }
    sums = pd.DataFrame(counts).groupby(traces["run_id"].map(agent_ids)).sum()
    means = sums.reindex(n.index).div(n, axis=0)
    means.insert(0, "n", n)
    return means


def describe_runs(rows: pd.DataFrame, days: pd.DataFrame) -> pd.DataFrame:
    """Return what each run did and earned, a row a run.

    `rows` are a set's rows with `skill_source` (1 is perfect, 0 is no better than saying nothing)
    and `n_revisions`, `days` a row a run and day. Columns: run_id, agent_id, model, repeat,
    n_forecasts, coverage, searches_a_day, tool_calls_a_day, plans_a_day, n_notes,
    revisions_a_question (of those forecast), skill (mean over forecasts), skill_all (0 where there
    is none), correct (share of forecasts whose likeliest answer is the truth's text). Skill is
    blank where the source states none.
    """
    by_day = days.groupby("run_id")[["n_searches", "n_tool_calls", "n_plans"]].mean()
    by_day.columns = ["searches_a_day", "tool_calls_a_day", "plans_a_day"]
    first = rows.groupby("run_id")[["agent_id", "model", "repeat", "n_notes"]].first()
    there = rows[rows["is_forecast"]].groupby("run_id")
    means = there[["n_revisions", "skill_source", "correct"]].mean()
    means.columns = ["revisions_a_question", "skill", "correct"]
    runs = first.join([by_day, means])
    n_asked = rows.groupby("run_id").size()
    runs["n_forecasts"] = there.size()
    runs["coverage"] = runs["n_forecasts"] / n_asked
    runs["skill_all"] = runs["skill"] * there["skill_source"].count() / n_asked
    columns = (
        "agent_id model repeat n_forecasts coverage searches_a_day tool_calls_a_day plans_a_day "
        "n_notes revisions_a_question skill skill_all correct"
    )
    return runs[columns.split()].reset_index()


def relate_runs(runs: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return how `EFFORTS` go with skill within models: a row an effort.

    Columns: effort, within (correlation of what is left of both once each model's mean is taken
    off), p (of orders drawn anew within each model, two-sided), between (correlation of the models'
    means), n_runs, n_models. Models with one run say nothing within, and are left out there.
    """
    columns = [value, *EFFORTS]
    known = runs.dropna(subset=columns)
    between = known.groupby("model")[columns].mean().corr()[value]
    several = known[known.groupby("model")["run_id"].transform("size") > 1]
    several = several.sort_values(["model", "run_id"])
    models = several.groupby("model")
    inside = several[columns] - models[columns].transform("mean")
    draws = np.random.default_rng(SEED).random((N_PERMUTED, len(several)))
    orders = np.argsort(models.ngroup().to_numpy() + draws, axis=-1)  # anew within each model
    target = inside[value].to_numpy()
    rows = []
    for effort in EFFORTS:
        own = inside[effort].to_numpy()
        seen = correlate(own, target)
        n_above = (np.abs(correlate(own[orders], target)) >= abs(seen) - 1e-12).sum()
        row = {"effort": effort, "within": seen, "p": (1 + n_above) / (1 + N_PERMUTED)}
        rows.append(row | {"between": between[effort]})
    return pd.DataFrame(rows).assign(n_runs=len(several), n_models=models.ngroups)


def measure_revisions(revisions: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return how much probability the right answer had first and last, a row a model and "all".

    `revisions` are every distribution that a run submitted (revision 0 the first), those of the
    rows' questions until the run saw the answer (`last_at`). An answer is right where its text is
    the truth's, case and blanks aside: stricter than a judge, alike for first and last. Of
    questions that a run revised. Columns: model, first, last, gain, low, high, p (by question), n,
    n_clusters.
    """
    key = ["run_id", "event_id"]
    asked = rows.loc[rows["is_forecast"], [*key, "model", "answer", "last_at"]]
    known = revisions.merge(asked, on=key)
    known = known[known["at"] <= known["last_at"]].sort_values([*key, "revision"])
    known["right"] = list(map(find_chance, known["distribution"], known["answer"]))
    groups = known.groupby([*key, "model"])["right"]
    ends = groups.agg(["first", "last"])[groups.size() > 1].reset_index()
    ends["gain"] = ends["last"] - ends["first"]
    made = []
    for model, part in [("all", ends), *ends.groupby("model")]:
        found = summarize_clustered(part[["gain"]], part["event_id"])
        means = part[["first", "last"]].mean().to_dict()
        made.append(found.assign(model=model, **means))
    table = pd.concat(made, ignore_index=True).rename(columns={"mean": "gain"})
    return table["model first last gain low high p n n_clusters".split()]


def find_chance(distribution: str, truth: str) -> float:
    """Return the probability that a distribution (JSON) gives the truth's text (JSON), 0 where it
    does not name it."""
    right = spell(str(parse_json(truth)))
    told = parse_json(distribution)
    return float(sum(chance for name, chance in told.items() if spell(name) == right))


def spell(text: str) -> str:
    """Return a text in small letters with single blanks."""
    return " ".join(text.casefold().split())
