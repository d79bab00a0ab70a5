"""Drawings of scored agents, few or many: points with intervals in panels, and whether probabilities hold.

Names come from a user: they are drawn as they stand, short and on one line, and nothing in them is taken for a formula.
"""

import matplotlib.pyplot as plt
import numpy as np

from helpers.plots import COLOURS, draw_points, lighten, measure_reach

MOST_DRAWN = 60
"""So many agents fit on a page; of more the best are drawn, and all stand in the tables."""
N_COLUMNS = 6


def shorten_names(names, most=32):
    """Return names to draw: on one line, cut to some characters; those that look alike then are numbered.

    >>> list(shorten_names(["a  b", "x" * 40, "x" * 50], most=6))
    ['a b', 'xxxxx…', 'xxxxx… (2)']
    """
    short = [" ".join(str(name).split()) for name in names]
    short = [name if len(name) <= most else name[: most - 1] + "…" for name in short]
    seen = {}
    for name, text in zip(names, short, strict=True):
        seen.setdefault(text, {}).setdefault(name, len(seen.get(text, {})))
    places = [seen[text][name] for name, text in zip(names, short, strict=True)]
    return [text if at == 0 else f"{text} ({at + 1})" for text, at in zip(short, places, strict=True)]


def write_plain(ax):
    """Let no text of an Axes be read as mathematics: a $ is a $."""
    for text in (ax.title, *ax.get_xticklabels(), *ax.get_yticklabels(), *ax.texts):
        text.set_parse_math(False)
    return ax


def head(fig, title):
    """Write a figure's title, left above it, and return the figure."""
    fig.suptitle(title, fontsize=11, x=0.01, ha="left")
    return fig


def draw_dots(table, ax, *, label, value):
    """Draw a point a row, the first at the top, with its interval (low, high); hollow without one, values at the right.

    Raises ValueError when the table is empty.
    """
    told = table.assign(place=range(len(table)), is_thin=table["low"].isna())  # two rows may have one label
    draw_points(told, ax, label="place", value=value, low="low", high="high", is_thin="is_thin")
    ax.set_yticks(range(len(table)), table[label])
    for place, end in enumerate(table[value]):
        text = f"{end:z.2f}" if np.isfinite(end) else "–"
        ax.annotate(text, (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=8, color="0.3")
    ax.tick_params(labelsize=8)
    return write_plain(ax)


def draw_panels(table, names, *, title):
    """Return a figure with a panel a group, a row an agent in the same order in each: means with their intervals.

    `table` has agent_id, panel, mean, low, high and n_events; `names` are the agents in their order. Panels stand
    N_COLUMNS to a row. Of an agent without a mean in a panel there is a dash.
    """
    groups, labels = list(dict.fromkeys(table["panel"])), shorten_names(names)
    n_rows = -(-len(groups) // N_COLUMNS)
    n_columns = -(-len(groups) // n_rows)
    size = 2.4 + 1.9 * n_columns, n_rows * (0.9 + 0.19 * len(names)) + 0.6
    fig, axes = plt.subplots(n_rows, n_columns, figsize=size, squeeze=False, sharex=True, sharey=True)
    for ax, name in zip(axes.flat, groups, strict=False):
        part = table[table["panel"] == name].set_index("agent_id").reindex(names)
        ax.set(xlim=(-0.03, 1.03), xticks=[0, 0.5, 1])
        ax.set_title(f"{shorten_names([name], 20)[0]}\nn = {part['n_events'].max():.0f}", fontsize=9)
        draw_dots(part.assign(label=labels), ax, label="label", value="mean")
    for ax in axes.flat[len(groups) :]:
        ax.set_visible(False)
    fig.supxlabel("mean score", fontsize=9)
    return head(fig, title)


def draw_chances(brier, bins, *, title):
    """Return a figure: the Brier errors of the best agents, and the reliability of up to eight of them beside.

    `brier` has agent_id, mean and intervals, the best first; `bins` as of `bin_chances`. On a diagonal what is said
    holds; a point's size and the number at it are how often that was said.
    """
    brier = brier.head(MOST_DRAWN)
    chosen = list(brier["agent_id"])[:8]
    n_columns = min(len(chosen), 2 if len(chosen) < 5 else 4)
    n_rows = -(-len(chosen) // n_columns)
    fig = plt.figure(figsize=(4.2 + 2.5 * n_columns, max(2.6 * n_rows, 1.2 + 0.19 * len(brier)) + 0.5))
    left, right = fig.subfigures(1, 2, width_ratios=[4.2, 2.5 * n_columns])
    ax = draw_dots(brier.assign(label=shorten_names(brier["agent_id"])), left.subplots(), label="label", value="mean")
    ax.set(xlabel="Brier error, sum over options: 0 is best", xlim=(0, None))
    axes = right.subplots(n_rows, n_columns, squeeze=False)
    for ax, name in zip(axes.flat, chosen, strict=False):
        draw_reliability(bins[bins["agent_id"] == name], ax, title=shorten_names([name], 26)[0])
    for ax in axes.flat[len(chosen) :]:
        ax.set_visible(False)
    right.supxlabel("probability given", fontsize=9)
    right.supylabel("came true", fontsize=9)
    return head(fig, title)


def draw_reliability(bins, ax, *, title):
    """Draw how often what was given a probability came true: a point a bin, with its interval and its count."""
    ax.plot([0, 1], [0, 1], color="0.6", lw=1)
    told = bins[bins["low"].notna()]
    look = {"fmt": "none", "ecolor": lighten(COLOURS[0], 0.4), "elinewidth": 2}
    ax.errorbar(told["said"], told["share"], measure_reach(told, "share", "low", "high"), **look)
    ax.scatter(bins["said"], bins["share"], s=8 + 60 * bins["n"] / bins["n"].max(), color=COLOURS[0], zorder=3)
    for row in bins.to_dict("records"):
        ax.annotate(row["n"], (row["said"], row["share"]), (0, 7), textcoords="offset points", ha="center", fontsize=7)
    ax.set(xlim=(-0.06, 1.06), ylim=(-0.06, 1.14), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], aspect="equal")
    ax.tick_params(labelsize=8)
    ax.set_title(title, fontsize=9)
    return write_plain(ax)


def draw_effects(table, *, title):
    """Return a figure of a regression's effects, a panel a factor, the largest effect first in each.

    `table` has factor, label, effect, low and high.
    """
    parts = [part for _, part in table.groupby("factor", sort=False)]
    sizes = [max(len(part), 2) for part in parts]
    size = 7, 1.2 + 0.4 * len(parts) + 0.2 * sum(sizes)
    fig, axes = plt.subplots(len(parts), 1, figsize=size, height_ratios=sizes, sharex=True, squeeze=False)
    for ax, part in zip(axes[:, 0], parts, strict=True):
        part = part.sort_values("effect", ascending=False)
        draw_dots(part.assign(label=shorten_names(part["label"])), ax, label="label", value="effect")
        ax.set_title(part["factor"].iloc[0].replace("_id", ""), fontsize=9)
    axes[-1, 0].set_xlabel("effect on the score (sum coding)")
    return head(fig, title)
