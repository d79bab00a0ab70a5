"""What was collected: the tables behind FutureX's Figures 2, 3 and 5 and Tables 2 to 4, of a window's own events."""

import pandas as pd

from helpers import papers
from helpers.events.collect import covers_window

STEPS = (
    ("cannot be asked", ("frozen", "unanswerable", "unreachable")),
    ("harmful or subjective", ("harmful", "subjective")),
    ("yes/no, downsampled", ("binary",)),
)
"""The curation's steps in order, each with the filters that drop candidates there (FutureX 3.2.2, Figure 3)."""
OPEN_KINDS = ("ranking", "number")


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
