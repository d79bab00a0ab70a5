"""The figure of stated probabilities: Brier errors, and how often what was given a probability came
true."""

from collections import Counter

import matplotlib.pyplot as plt
import pandas as pd

from daybefore.commands import leaderboard
from daybefore.scoring.calibration import bin_chances
from helpers.figures import save_figure
from helpers.plots import COLOURS, draw_points, measure_reach

MOST_DRAWN, N_RELIABLE, N_COLUMNS = 60, 8, 6
"""Agents whose errors are shown, agents whose reliability is drawn, and panels a row."""
COLUMNS = (
    "part agent_id mean bin said share low high low_by_event high_by_event n n_clusters".split()
)


def draw_probabilities(means, chances, clusters, *, widths, **about):
    """Draw Brier errors of one-choice events (of `means`), and how often what was given a
    probability came true.

    `chances` as of `list_chances`, `widths` what the intervals are, `about` what `save_figure`
    wants. On a diagonal what is said holds; a point's size and the number at it are how often that
    was said. Nothing where there is no such event.
    """
    brier = (
        leaderboard.take_whole(means, "brier")
        .reset_index()
        .sort_values(["mean", "agent_id"], ignore_index=True)
    )
    if brier.empty:
        return
    bins = bin_chances(chances, clusters)
    drawn = brier.head(MOST_DRAWN)
    chosen = [name for name in drawn["agent_id"] if name in set(bins["agent_id"])][:N_RELIABLE]
    fig, (left, *axes) = open_panels(1 + len(chosen), max(2.3, 0.9 + 0.19 * len(drawn)))
    told = drawn.assign(label=shorten_names(drawn["agent_id"]), is_thin=drawn["low"].isna())
    draw_points(told, left, label="label", value="mean", low="low", high="high", is_thin="is_thin")
    left.tick_params(labelsize=8)
    left.set(xlabel="Brier error, sum over options: 0 is best", xlim=(0, None))
    for ax, agent in zip(axes, chosen, strict=False):
        draw_reliability(bins[bins["agent_id"] == agent], ax)
        ax.set_title(shorten_names([agent], 26)[0], fontsize=9)
    names = shorten_names(brier["agent_id"])
    ends = [f"{brier['mean'].iloc[at]:.3f} ({names[at]})" for at in (0, -1)]
    title = f"Brier errors run from {ends[0]} to {ends[1]}; on a diagonal what is said comes true"
    fig.suptitle(f"{title} ({widths})", fontsize=11, x=0.01, ha="left")
    for text in fig.findobj(plt.Text):  # nothing in a name is taken for a formula
        text.set_parse_math(False)
    shown = pd.concat([brier.assign(part="brier"), bins.assign(part="reliability")])
    about |= {"title": title, "n": brier["n"].max(), "unit": "events"}
    save_figure(fig, "probabilities", shown[COLUMNS], **about)


def open_panels(n, height):
    """Return (a figure, the Axes of n panels in rows of up to `N_COLUMNS`), each panel of this
    height."""
    n_rows = -(-n // N_COLUMNS)
    n_columns = -(-n // n_rows)
    size = (2.4 + 3 * n_columns, n_rows * height + 0.6)
    fig, axes = plt.subplots(n_rows, n_columns, figsize=size, squeeze=False)
    for ax in axes.flat[n:]:
        ax.set_visible(False)
    return fig, axes.flat


def draw_reliability(told, ax):
    """Draw one agent's bins: what was said, and how often it came true."""
    ax.plot([0, 1], [0, 1], color="0.6", lw=1)
    ax.errorbar(
        told["said"],
        told["share"],
        measure_reach(told, "share", "low", "high"),
        fmt="none",
        ecolor="0.6",
    )
    ax.scatter(
        told["said"],
        told["share"],
        s=8 + 60 * told["n"] / told["n"].max(),
        color=COLOURS[0],
        zorder=3,
    )
    for row in told.to_dict("records"):
        ax.annotate(
            row["n"], (row["said"], row["share"]), (0, 7), textcoords="offset points", fontsize=7
        )
    ax.set(xlim=(-0.06, 1.06), ylim=(-0.06, 1.14), xlabel="probability given", ylabel="came true")


def shorten_names(names, most=32):
    """Return names to draw: on one line, cut to some characters; those that look alike then are
    numbered.

    >>> shorten_names(["a  b", "x" * 40, "x" * 50], most=6)
    ['a b', 'xxxxx…', 'xxxxx… (2)']
    """
    seen = Counter()
    made = []
    for name in (" ".join(str(name).split()) for name in names):
        short = name if len(name) <= most else name[: most - 1] + "…"
        seen[short] += 1
        made.append(short if seen[short] == 1 else f"{short} ({seen[short]})")
    return made
