"""What was collected: the tables behind FutureX's Figures 2, 3 and 5 and Tables 2 to 4, of a window's own events."""

import math

import pandas as pd

from helpers import papers
from helpers.events.collect import covers_window
from helpers.stats.means import measure_share
from helpers.store import parse_json

STEPS = (
    ("cannot be asked", ("frozen", "unanswerable", "unreachable")),
    ("harmful or subjective", ("harmful", "subjective")),
    ("yes/no, downsampled", ("binary",)),
)
"""The curation's steps in order, each with the filters that drop candidates there (FutureX 3.2.2, Figure 3)."""
OPEN_KINDS = ("ranking", "number")
ALL_KINDS = ("single", "multi", *OPEN_KINDS)


def list_sites(sources, window):
    """Return the registry's sources that cover a window: source_id, site_type, n_daily and n_weekly templates.

    Raises ValueError when none does.
    """
    rows = []
    for source in sources.values():
        if covers_window(source, window):
            periods = [template["period"] for template in source.templates]
            rows.append((source.id, source.site_type, periods.count("daily"), periods.count("weekly")))
    if not rows:
        raise ValueError(f"no source covers window {window}; name it under `windows` in a file of data/sources")
    return pd.DataFrame(rows, columns=["source_id", "site_type", "n_daily", "n_weekly"])


def count_curation(screenings):
    """Return how many candidates are left after each step, by branch: branch, step, n_dropped, n_left, left_share.

    A branch begins with "collected" and ends with the events (FutureX 3.2.2, Figure 3). Raises ValueError for a filter
    that belongs to no step.
    """
    unknown = set(screenings.loc[screenings["is_dropped"], "filter"]) - {name for _, names in STEPS for name in names}
    if unknown:
        raise ValueError(f"filter {sorted(unknown)[0]!r} belongs to no step of the curation; add it to STEPS")
    rows = []
    is_market = screenings["event_id"].str.split("-").str[2].eq("market")
    for branch, part in screenings.groupby(is_market.map({True: "market", False: "template"})):
        n_left = part["event_id"].nunique()
        rows.append((branch, "collected", 0, n_left))
        for step, names in STEPS:
            n_dropped = part.loc[part["is_dropped"] & part["filter"].isin(names), "event_id"].nunique()
            n_left -= n_dropped
            rows.append((branch, step, n_dropped, n_left))
    table = pd.DataFrame(rows, columns=["branch", "step", "n_dropped", "n_left"])
    return table.assign(left_share=table["n_left"] / table.groupby("branch")["n_left"].transform("first"))


def count_published_curation():
    """Return the paper's counts of one week in the form of `count_curation`, without the steps it does not count."""
    counts = papers.load_published("futurex", "fig2_fig3_counts").set_index("stage")["count"]
    _, unsuitable, binary = (step for step, _ in STEPS)
    rows = [
        ("market", "collected", counts["prediction_market_crawled_week"]),
        ("market", unsuitable, counts["after_harmful_subjective_drop"]),
        ("market", binary, counts["after_yes_no_downsample"]),
        ("template", "collected", counts["open_ended_per_week"]),
        ("template", binary, counts["open_ended_per_week"]),
    ]
    table = pd.DataFrame(rows, columns=["branch", "step", "n_left"])
    groups = table.groupby("branch")["n_left"]
    table["n_dropped"] = -groups.diff().fillna(0).astype(int)
    return table.assign(left_share=table["n_left"] / groups.transform("first"))


def count_pipeline(sources, sites, screenings):
    """Return the counts of Figure 2: stage (database, curation), step, n; the curation's branches together."""
    left = count_curation(screenings).groupby("step", sort=False)["n_left"].sum()
    rows = [
        ("database", "sources with rows at hand", len(sources)),
        ("database", "of these, in this window", len(sites)),
        ("database", "their templates", int(sites["n_daily"].sum() + sites["n_weekly"].sum())),
        ("curation", "candidates collected", int(left["collected"])),
        ("curation", "can be asked, not frozen", int(left["cannot be asked"])),
        ("curation", "not harmful, not subjective", int(left["harmful or subjective"])),
        ("curation", "yes/no downsampled: events", int(left["yes/no, downsampled"])),
    ]
    return pd.DataFrame(rows, columns=["stage", "step", "n"])


def compare_counts(events, sites, screenings):
    """Return what the paper prints of its events beside ours: place, what, FutureX, ours, difference, likely reason.

    Counts of a week are of seven of our days; a week of the paper's is scaled where we count more days.
    """
    n_days, is_market = events["as_of"].nunique(), events["event_id"].str.contains("-market-")
    weeks, left = n_days / 7, count_curation(screenings).set_index(["branch", "step"])["n_left"]
    paper = papers.load_published("futurex", "fig2_fig3_counts").set_index("stage")["count"]
    stated = papers.load_published("futurex", "statements", dtype=str).set_index("name")["value"]
    drawn = papers.load_published("futurex", "fig4_domains")
    _, unsuitable, binary = (step for step, _ in STEPS)
    total, scaled, chosen = paper["events_jul20_aug3"], "its week, scaled", "ours were chosen one by one"
    rows = [
        ("Figure 2", "sites collected", paper["website_pool"], math.nan, chosen),
        ("Figure 2", "sites after the models' check", paper["after_llm_check"], math.nan, chosen),
        ("Figure 2", "sites after review: sources", paper["after_manual_review"], len(sites), "what may be passed on"),
        ("Figure 3", "daily templates", paper["daily_templates"], sites["n_daily"].sum(), "several a source"),
        ("Figure 3", "weekly templates", paper["weekly_templates"], sites["n_weekly"].sum(), "weekly series"),
    ]
    steps = [
        ("market", "collected", "prediction_market_crawled_week", "one market"),
        ("market", unsuitable, "after_harmful_subjective_drop", "none is written by a user"),
        ("market", binary, "after_yes_no_downsample", "many have three options"),
        ("template", "collected", "open_ended_per_week", "yes/no templates are among ours"),
    ]
    for branch, step, name, why in steps:
        rows.append(("Figure 3", f"{branch}, a week: {step}", paper[name], left[branch, step] / weeks, why))
    templates, markets = paper["open_ended_per_week"] * weeks, paper["after_yes_no_downsample"] * weeks
    rows += [
        ("Figure 3", f"template events in {n_days} days", templates, (~is_market).sum(), scaled),
        ("Figure 3", f"market events in {n_days} days", markets, is_market.sum(), scaled),
        ("Figure 4", f"events in {n_days} days", total, len(events), "fewer from templates, more from the market"),
        ("3.2.3", "events a day", total / n_days, len(events) / n_days, "the same"),
        ("Figure 4", "domains", drawn["domain"].nunique(), events["domain"].nunique(), "Transport is ours"),
        ("Figure 4", "sub-domains", len(drawn), events["subdomain"].nunique(), "fewer sources"),
        ("Table 1", "events a week", float(stated["events_a_week"]), len(events) / weeks, "it prints about 500"),
    ]
    table = pd.DataFrame(rows, columns=["place", "what", "FutureX", "ours", "likely reason"])
    table.insert(4, "difference", table["ours"] - table["FutureX"])
    return table


def count_kinds(events):
    """Return the number of events by kind, open-ended ones split by volatility (FutureX Figure 5).

    A row a kind, columns kind, options (single, multi), low, high, n_events, share.
    """
    label = events["volatility_class"].where(events["kind"].isin(OPEN_KINDS), "options")
    table = pd.crosstab(events["kind"], label).reindex(
        index=ALL_KINDS, columns=["options", "low", "high"], fill_value=0
    )
    table["n_events"] = table.sum(axis=1)
    return table.assign(share=table["n_events"] / len(events)).rename_axis(columns=None).reset_index()


def describe_tiers(events):
    """Return the paper's row of each level (Table 3) beside our events': kinds, options, median_volatility, n_e"""
    rows = []
    for level, part in events.groupby("level"):
        n_options = part["options"].map(lambda cell: len(parse_json(cell) or {}))
        span = f"{n_options.min()} to {n_options.max()}" if n_options.max() else "none"
        volatility = part.loc[part["kind"].isin(OPEN_KINDS), "volatility"].median()
        rows.append((level, ", ".join(sorted(part["kind"].unique())), span, volatility, len(part)))
    ours = pd.DataFrame(rows, columns=["level", "kinds", "options", "median_volatility", "n_events"])
    return papers.load_published("futurex", "table3_tiers").drop(columns="section").merge(ours, on="level", how="left")


def choose_examples(events, by):
    """Return one event a group (domain or level), the one with the shortest wording: group, prompt on one line.

    No template serves two groups as long as there is another.
    """
    table = events.assign(prompt=events["prompt"].str.replace("\n", " / "))
    table["length"] = table["prompt"].str.len()
    chosen, taken = [], set()
    for _, part in table.sort_values([by, "length", "event_id"]).groupby(by):
        fresh = part[~part["template_id"].isin(taken)]
        row = (part if fresh.empty else fresh).iloc[0]
        taken.add(row["template_id"])
        chosen.append(row[[by, "prompt"]])
    return pd.DataFrame(chosen).reset_index(drop=True)


def measure_horizon(events):
    """Return each event's horizon in days: from its start day to the date its value is for (negative for a nowcast).

    >>> rows = {"as_of": ["2016-10-10T00:00:00+08:00"], "variables": ['{"date":"2016-10-16"}']}
    >>> measure_horizon(pd.DataFrame(rows)).tolist()
    [6]
    """
    dates = pd.to_datetime([parse_json(cell)["date"] for cell in events["variables"]])
    return pd.Series((dates - pd.to_datetime(events["as_of"].str[:10].to_numpy())).days, index=events.index)


def measure_events(events, answers):
    """Return our values for the claims about FutureX's events and answers: id, value, low, high (Wilson), note."""
    n_days = events["as_of"].astype(str).str[:10].nunique()
    found = events["event_id"].isin(answers.loc[answers["value"].notna(), "event_id"])
    share = measure_share(found)
    percents = [100 * share[name] for name in ("share", "low", "high")]
    open_ended = int(events["kind"].isin(OPEN_KINDS).sum())
    asked, start_days = f"{n_days} start days", f"mean over {n_days} start days"
    rows = [
        ("fx_events_total", len(events), None, None, asked),
        ("fx_events_a_day", len(events) / n_days, None, None, start_days),
        ("fx_acquisition", *percents, f"{int(found.sum())} of {len(events)} events"),
        ("fx_sites_table1", events["source_id"].nunique(), None, None, "sources with an event"),
        ("fx_site_types", events["site_type"].nunique(), None, None, "types with an event"),
        ("fx_domains_figure4", events["domain"].nunique(), None, None, "domains with an event"),
        ("fx_open_ended_week", open_ended * 7 / n_days, None, None, f"{open_ended} ranking and number events, {asked}"),
    ]
    for name, column in (("fx_kinds_figure5", "kind"), ("fx_levels_figure6", "level")):
        shares = events[column].value_counts(normalize=True).sort_index()
        words = ", ".join(f"{key} {100 * value:.1f}%" for key, value in shares.items())
        rows.append((name, words, None, None, f"n = {len(events)}"))
    return pd.DataFrame(rows, columns=["id", "value", "low", "high", "note"])
