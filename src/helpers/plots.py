"""Drawings that several notebooks share: each takes a table and an Axes, draws, and returns the
Axes.

Nothing is saved here (`figures.save_figure` does that) and nothing is computed beyond where to
draw.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.transforms import offset_copy

COLOURS = sns.color_palette("colorblind")
"""Told apart by colour-blind readers; used in this order."""
BLANK = "no value"
"""What the cross of a missing value is called; a zero is a stroke at 0."""


def lighten(colour: Any, share: float = 0.55) -> tuple:
    """Return a colour moved towards white by a share."""
    return tuple(float(part + (1 - part) * share) for part in to_rgb(colour))


def pick_ink(colour: Any) -> str:
    """Return the text colour that can be read on a colour: white on dark ones, else nearly
    black."""
    red, green, blue = to_rgb(colour)
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.5 else "0.15"


MODELS = {"qwen_small": "Qwen 0.5B", "qwen": "Qwen 1.5B", "smollm2": "SmolLM2 135M"}
"""The local models, by the beginnings of their agents' names."""
METHODS = {
    "zero_shot": "",
    "search_prompt": " + one search",
    "react": " + searches at will",
    "research": " + research",
}


def name_agent(agent_id: str) -> str:
    """Return what an agent is called in figures: a local model by its name and method, another by
    its own words.

    >>> name_agent("qwen_search_prompt"), name_agent("smollm2_zero_shot, reworded"), name_agent("my_model")
    ('Qwen 1.5B + one search', 'SmolLM2 135M, reworded', 'my model')
    """
    own, comma, more = agent_id.partition(",")
    for model, name in MODELS.items():
        method = own.removeprefix(f"{model}_")
        if method in METHODS:
            return name + METHODS[method] + comma + more
    return agent_id.replace("_", " ")


def name_rows(names: Iterable[str], counts: Iterable, form: str = "{} (n = {})") -> list[str]:
    """Return labels of names, underscores as spaces, each with its n."""
    return [form.format(name_agent(name), n) for name, n in zip(names, counts, strict=True)]


def measure_reach(table: pd.DataFrame, value: str, low: str, high: str) -> np.ndarray:
    """Return how far the ends of intervals lie from their values, as matplotlib takes it (2 x rows,
    none below 0)."""
    ends = table[[value, low, high]].to_numpy(dtype=float).T
    return np.clip([ends[0] - ends[1], ends[2] - ends[0]], 0, None)


def mark_blanks(ax: Axes, x: Any, y: Any, shift: tuple = (0, 0), transform: Any = None) -> None:
    """Draw a grey cross where a value would stand, moved by a `shift` in points; named once, "no
    value"."""
    if len(x):
        name = None if BLANK in ax.get_legend_handles_labels()[1] else BLANK
        place = offset_copy(
            transform or ax.transData, ax.get_figure(root=True), shift[0], shift[1], "points"
        )
        ax.plot(
            x,
            y,
            "x",
            color="0.45",
            ms=5,
            mew=1.2,
            transform=place,
            label=name,
            clip_on=False,
            zorder=3,
        )


def draw_intervals(
    table: pd.DataFrame,
    ax: Axes,
    *,
    label: str,
    value: str,
    low: str | None = None,
    high: str | None = None,
    colour: Any = COLOURS[0],
    digits: int = 2,
) -> Axes:
    """Draw horizontal bars, the first row at the top, with intervals as whiskers and values written
    at the end.

    A zero has a stroke at 0, a blank value a cross. Raises ValueError when the table is empty.
    """
    if table.empty:
        raise ValueError("nothing to draw: the table is empty")
    places = np.arange(len(table))
    ends = table[value].to_numpy(dtype=float)
    errors = measure_reach(table, value, low, high) if low and high else None
    ax.barh(
        places,
        ends,
        color=colour,
        height=0.65,
        xerr=errors,
        error_kw={"lw": 1.2, "capsize": 3, "ecolor": "0.25"},
    )
    tops = ends if low is None else table[high].fillna(table[value]).to_numpy(dtype=float)
    is_blank = np.isnan(ends)
    ax.vlines(
        np.zeros(sum(ends == 0)),
        places[ends == 0] - 0.325,
        places[ends == 0] + 0.325,
        color="0.25",
        lw=2,
    )
    mark_blanks(ax, np.zeros(is_blank.sum()), places[is_blank], (6, 0))
    for place, top, end in zip(places, np.nan_to_num(tops), ends, strict=True):
        words, gap = ("no value", 14) if np.isnan(end) else (f"{end:.{digits}f}", 5)
        look: dict[str, Any] = {
            "va": "center",
            "fontsize": 9,
            "bbox": {"fc": "white", "ec": "none", "pad": 0.5, "alpha": 0.85},
        }
        ax.annotate(words, (top, place), (gap, 0), textcoords="offset points", **look)
    ax.set_yticks(places, table[label])
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    return ax


def draw_points(
    table: pd.DataFrame,
    ax: Axes,
    *,
    label: str,
    value: str,
    low: str,
    high: str,
    series: str | None = None,
    is_thin: str | None = None,
    colours: Any = COLOURS,
    absent: str | None = None,
    is_whole: bool = True,
) -> Axes:
    """Draw points with their intervals, a line a label, the first at the top; each of a `series` a
    little lower.

    Points of rows where `is_thin` are hollow; what a series lacks is a cross at the left edge, or
    the words `absent` at the right one; where the table is not `is_whole`, a label of which a
    series has no row at all stays empty. Raises ValueError when the table is empty or a label has a
    series twice.
    """
    if table.empty:
        raise ValueError("nothing to draw: the table is empty")
    if table.duplicated([label, series] if series else [label]).any():
        raise ValueError(
            f"more than one row for a {label}{f' and {series}' if series else ''}; sum or average them first"
        )
    labels = list(dict.fromkeys(table[label]))
    parts = [(None, table)] if series is None else list(table.groupby(series, sort=False))
    step = min(0.18, 0.8 / len(parts))
    for at, (name, part) in enumerate(parts):
        places = pd.Series(
            np.arange(len(labels)) + step * (at - (len(parts) - 1) / 2), index=labels
        )
        kept = part[part[value].notna()]
        thin = kept[is_thin].astype(bool) if is_thin else pd.Series(False, index=kept.index)
        look = {"fmt": "o", "capsize": 3 if step > 0.15 else 0, "color": colours[at % len(colours)]}
        look |= {"ms": 6 if step > 0.15 else 4, "elinewidth": 1.5 if step > 0.15 else 1}
        faces: list[tuple[Any, dict[str, Any]]] = [
            (kept[~thin], {}),
            (kept[thin], {"mfc": "white"}),
        ]
        faces = [one for one in faces if len(one[0])] or faces[:1]
        for at_face, (chosen, face) in enumerate(faces):
            reach = measure_reach(chosen, value, low, high)
            shown = (
                None if at_face else name
            )  # the legend shows a hollow point where a series has no other
            ax.errorbar(
                chosen[value], places[chosen[label]], xerr=reach, label=shown, **look, **face
            )
        lacking = (places if is_whole else places[part[label]]).drop(kept[label])
        for place in lacking if absent else ():
            words = {"ha": "right", "va": "center", "fontsize": 8, "color": look["color"]}
            words["bbox"] = {"fc": "white", "ec": "none", "pad": 0.5, "alpha": 0.85}
            ax.text(
                0.99,
                place,
                f"{name}: {absent}" if name else str(absent),
                transform=ax.get_yaxis_transform(),
                **words,
            )
        if not absent:
            mark_blanks(ax, np.zeros(len(lacking)), lacking, (5, 0), ax.get_yaxis_transform())
    for place in range(1, len(labels), 2) if len(parts) > 1 else ():
        ax.axhspan(place - 0.5, place + 0.5, color="0.95", lw=0, zorder=0)
    ax.axvline(0, color="0.4", lw=1)
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    return ax


def label_ends(
    table: pd.DataFrame,
    ax: Axes,
    *,
    x: str,
    y: str,
    label: str,
    form: str = "{}",
    gap: float = 0.045,
) -> Axes:
    """Write each line's name and value beside its last point, in the row's `colour`; returns the
    Axes.

    `table` has a row a line. Labels are moved until they lie `gap` of the axis's height apart, so
    that limits and scale are to be set before.
    """
    rows = table.sort_values(y).to_dict("records")
    places = (ax.transData + ax.transAxes.inverted()).transform([(row[x], row[y]) for row in rows])
    heights = places[:, 1].copy()
    for _ in range(200):  # neighbours that are too near give way to each other, half each
        for at in range(len(rows) - 1):
            lack = max(0.0, gap - (heights[at + 1] - heights[at])) / 2
            heights[at : at + 2] += (-lack, lack)
    for row, across, height in zip(rows, places[:, 0] + 0.02, heights, strict=True):
        words = f"{row[label]} {form.format(row[y])}"
        ax.text(
            across,
            height,
            words,
            va="center",
            fontsize=8,
            color=row["colour"],
            transform=ax.transAxes,
        )
    return ax


def draw_reaches(
    table: pd.DataFrame, ax: Axes, places: Any, *, value: str, low: str, high: str, **look: Any
) -> Axes:
    """Draw values at some places, each with its interval upright through it; `look` is what
    `ax.errorbar` takes."""
    ax.errorbar(places, table[value], measure_reach(table, value, low, high), **look)
    return ax


def draw_grouped(
    table: pd.DataFrame,
    ax: Axes,
    *,
    group: str,
    series: str,
    value: str,
    low: str | None = None,
    high: str | None = None,
    text: str | None = None,
    colours: Any = COLOURS,
) -> Axes:
    """Draw groups of vertical bars, a bar a series, in the order in which both first occur;
    intervals as whiskers.

    A zero has a stroke at 0, what a series lacks a cross. `text` names a column written above the
    bars.
    """
    if table.duplicated([group, series]).any():
        raise ValueError(f"more than one row for a {group} and {series}; sum or average them first")
    groups, names = (list(dict.fromkeys(table[column])) for column in (group, series))
    width = 0.8 / len(names)
    for at, name in enumerate(names):
        part = table[table[series] == name].set_index(group).reindex(groups)
        ends = part[value].to_numpy(dtype=float)
        errors = measure_reach(part, value, low, high) if low and high else None
        places = np.arange(len(groups)) + (at - (len(names) - 1) / 2) * width
        style = {"lw": 1, "capsize": 2, "ecolor": "0.25"}
        bars = ax.bar(
            places,
            ends,
            width * 0.92,
            color=colours[at],
            label=str(name),
            yerr=errors,
            error_kw=style,
        )
        if text:
            ax.bar_label(bars, part[text].where(np.isfinite(ends), ""), padding=1, fontsize=9)
        zeros = places[ends == 0]
        blanks = places[np.isnan(ends)]
        ax.hlines(
            np.zeros(len(zeros)),
            zeros - width * 0.46,
            zeros + width * 0.46,
            color=colours[at],
            lw=1,
            zorder=3,
        )
        mark_blanks(ax, blanks, np.zeros(len(blanks)), (0, 5))
    ax.set_xticks(np.arange(len(groups)), groups)
    ax.grid(visible=False, axis="x")
    return ax


def draw_stacked(
    table: pd.DataFrame,
    ax: Axes,
    *,
    label: str,
    parts: Sequence[str],
    colours: Iterable,
    names: Iterable | None = None,
) -> Axes:
    """Draw a stacked vertical bar a row, a layer a column of `parts`, named `names`.

    Layers above 4% of the tallest bar carry their value.
    """
    places = np.arange(len(table))
    bottom = np.zeros(len(table))
    least = 0.04 * table[list(parts)].sum(axis=1).max()
    for part, colour, name in zip(parts, colours, names or parts, strict=True):
        sizes = table[part].to_numpy(dtype=float)
        bars = ax.bar(places, sizes, 0.65, bottom=bottom, color=colour, label=name)
        words = [f"{size:,.0f}" if size > least else "" for size in sizes]
        ax.bar_label(bars, words, label_type="center", fontsize=9, color=pick_ink(colour))
        bottom += sizes
    ax.set_xticks(places, table[label])
    ax.grid(visible=False, axis="x")
    return ax
