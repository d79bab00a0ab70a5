"""Drawings of scored agents, few or many: points with intervals in panels, and whether probabilities hold.

Names come from a user: they are drawn as they stand, short and on one line, and nothing in them is taken for a formula.
"""

import matplotlib.pyplot as plt
import numpy as np

from helpers.plots import COLOURS, lighten, measure_reach

MOST_DRAWN = 60
"""So many agents fit on a page; of more the best are drawn, and all stand in the tables."""

N_BINS = 10
"""Bins of a reliability diagram."""

N_CURVES = 8
"""Agents with a reliability diagram of their own, the best first."""


def shorten_names(names, most=32):
    """Return names to draw: on one line, cut to some characters; those that look alike then are numbered.

    >>> list(shorten_names(["a  b", "x" * 40, "x" * 50], most=6))
    ['a b', 'xxxxx…', 'xxxxx… (2)']
    """
    short = [" ".join(str(name).split()) for name in names]
    short = [name if len(name) <= most else name[: most - 1] + "…" for name in short]
    whole, shown, seen = list(names), [], {}
    for name, text in zip(whole, short, strict=True):
        known = seen.setdefault(text, [])
        if name not in known:
            known.append(name)
        at = known.index(name)
        shown.append(text if at == 0 else f"{text} ({at + 1})")
    return shown


def write_plain(ax):
    """Let no text of an Axes be read as mathematics: a $ is a $."""
    for text in (ax.title, *ax.get_xticklabels(), *ax.get_yticklabels(), *ax.texts):
        text.set_parse_math(False)
    return ax


def draw_dots(table, ax, *, label, value, colour=COLOURS[0], digits=2):
    """Draw a point a row, the first at the top, with its interval (low, high) thick and that by event thin beside it.

    A blank interval is not drawn; without one the point is hollow. Values stand at the right edge. Raises ValueError
    when the table is empty.
    """
    if table.empty:
        raise ValueError("nothing to draw: the table is empty")
    places = np.arange(len(table))
    told = np.isfinite(table["low"].to_numpy(dtype=float))
    ax.hlines(places, table["low"], table["high"], color=lighten(colour, 0.5), lw=5)
    if "low_by_event" in table:
        ax.hlines(places, table["low_by_event"], table["high_by_event"], color="0.35", lw=1)
    ends = table[value].to_numpy(dtype=float)
    ax.scatter(ends, places, s=22, color=np.where(told[:, None], colour, (1, 1, 1)), edgecolor=colour, zorder=3)
    for place, end in zip(places, ends, strict=True):
        text = f"{end:z.{digits}f}" if np.isfinite(end) else "–"
        ax.annotate(text, (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=8, color="0.3")
    ax.set_yticks(places, table[label])
    ax.set_ylim(len(table) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    return write_plain(ax)


def draw_panels(table, *, group, names, title, most=6):
    """Return a figure with a panel a group, a row an agent in the same order in each: means with their intervals.

    `table` has agent_id, label, `group`, mean, low, high, low_by_event, high_by_event and n_events; `names` are the
    agents in their order. Panels stand `most` to a row. An agent without a mean in a group has an empty line there.
    """
    groups = list(dict.fromkeys(table[group]))
    n_columns = min(most, len(groups))
    n_rows = -(-len(groups) // n_columns)
    size = 2.2 + 1.9 * n_columns, n_rows * (1.0 + 0.2 * len(names)) + 0.5
    fig, axes = plt.subplots(n_rows, n_columns, figsize=size, squeeze=False, sharex=True, sharey=True)
    known = table.drop_duplicates("agent_id").set_index("agent_id")["label"]
    for ax, name in zip(axes.flat, groups, strict=False):
        part = table[table[group] == name].set_index("agent_id").reindex(names)
        draw_dots(part.assign(label=known.reindex(names)), ax, label="label", value="mean")
        ax.set_title(f"{shorten_names([name], 22)[0]}\nn = {int(part['n_events'].max())}", fontsize=9)
        ax.set_xlim(-0.03, 1.03)
        ax.tick_params(axis="y", labelsize=8)
        write_plain(ax)
    for ax in list(axes.flat)[len(groups) :]:
        ax.set_visible(False)
    fig.supxlabel("mean score", fontsize=10)
    fig.suptitle(title, fontsize=11, x=0.01, ha="left")
    return fig


def draw_reliability(bins, ax, *, title):
    """Draw how often what was given a probability came true: a point a bin with its interval, its size and n the count.

    `bins`: said (mean probability), share, low, high, n. On the diagonal what is said holds.
    """
    ax.plot([0, 1], [0, 1], color="0.6", lw=1)
    told = bins[bins["low"].notna()]
    look = {"fmt": "none", "ecolor": lighten(COLOURS[0], 0.4), "elinewidth": 2}
    ax.errorbar(told["said"], told["share"], measure_reach(told, "share", "low", "high"), **look)
    ax.scatter(bins["said"], bins["share"], s=12 + 120 * bins["n"] / bins["n"].max(), color=COLOURS[0], zorder=3)
    for row in bins.to_dict("records"):
        ax.annotate(row["n"], (row["said"], row["share"]), (0, 9), textcoords="offset points", ha="center", fontsize=7)
    ax.set(xlim=(-0.04, 1.04), ylim=(-0.04, 1.1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], aspect="equal")
    ax.set_title(title, fontsize=9)
    return write_plain(ax)
