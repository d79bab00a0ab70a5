"""Drawings that one notebook of FutureX each has: factors, agreement, gaps, a funnel, two rings,
usage."""

import numpy as np
import seaborn as sns

from helpers.plots import (
    COLOURS,
    draw_intervals,
    draw_points,
    lighten,
    measure_reach,
    name_agent,
    name_rows,
    pick_ink,
)

FINER = 4
"""Factors beside the first have a finer scale where the first reaches so many times as far."""


def draw_factors(effects, fig, names):
    """Draw the effects of two or three factors (`names`: factor -> title); return the Axes.

    Columns: factor, category, effect, clustered_low, clustered_high; hollow where there is no
    interval. The categories of a third keep their order, the others are sorted. All have one scale;
    where what stands beside the first factor would be lost on it (`FINER`), that has a finer one,
    and its axis says so.
    """
    words = effects["category"].astype(str).map(name_agent)
    effects = effects.assign(label=words, is_thin=effects["clustered_low"].isna())
    look = {
        "value": "effect",
        "low": "clustered_low",
        "high": "clustered_high",
        "is_thin": "is_thin",
    }
    parts = [effects[effects["factor"] == factor] for factor in names]
    if len(parts) == 2:
        axes = list(fig.subplots(1, 2))
    else:
        grid = fig.add_gridspec(2, 2, height_ratios=[len(parts[1]), len(parts[2]) + 1])
        axes = [
            fig.add_subplot(grid[:, 0]),
            fig.add_subplot(grid[0, 1]),
            fig.add_subplot(grid[1, 1]),
        ]
    ends = effects[["effect", "clustered_low", "clustered_high"]].abs().max(axis=1)
    widest = ends.max()
    beside = ends[effects["factor"] != next(iter(names))].max()
    is_finer = 0 < FINER * beside <= widest
    for ax, part, title in zip(axes, parts, names.values(), strict=True):
        part = part if ax in axes[2:] else part.sort_values("effect", ascending=False)
        draw_points(part, ax, label="label", **look)
        limit = 1.08 * (beside if is_finer and ax is not axes[0] else widest)
        ax.set(title=title, xlim=(-limit, limit))
    axes[0].set_xlabel("effect on the score")
    finer = f" (axis {widest / beside:.0f} times finer)" if is_finer else ""
    axes[-1].set_xlabel(f"effect on the score{finer}")
    return axes


def draw_heat(table, ax):
    """Draw differences by domain (rows) and model (columns) with their numbers, in the order in
    which they first occur.

    Columns beside: difference, n_clusters (below ten a number is slanted), verdict (a star where it
    is told). Returns the Axes.
    """
    wide, few, told = (
        table.pivot(index="domain", columns="model", values=part).loc[
            table["domain"].unique(), table["model"].unique()
        ]
        for part in ("difference", "n_clusters", "verdict")
    )
    bound = 1.6 * np.nanmax(wide.abs().to_numpy())
    label = {"label": "Brier score minus 0.25 (blue: better)"}
    sns.heatmap(wide, ax=ax, cmap="vlag", vmin=-bound, vmax=bound, cbar_kws=label)
    for y, x in np.argwhere(wide.notna().to_numpy()):
        star = "*" * (told.iloc[y, x] in ("holds", "fails"))
        ink = (
            {"fontstyle": "italic", "color": "0.3"}
            if few.iloc[y, x] < 10
            else {"fontweight": "bold"}
        )
        ax.text(
            x + 0.5,
            y + 0.5,
            f"{wide.iloc[y, x]:+.2f}{star}",
            ha="center",
            va="center",
            fontsize=8,
            **ink,
        )
    ax.set(xlabel="", ylabel="")
    ax.set_xticks(
        np.arange(wide.shape[1]) + 0.5, wide.columns.str.replace("_", " "), rotation=30, ha="right"
    )
    ax.tick_params(axis="y", rotation=0)
    ax.grid(visible=False)
    return ax


def draw_funnel(table, ax):
    """Draw a funnel (step, n): centred bars as wide as the counts written on them, joined by
    slopes, with shares of the first."""
    counts = table["n"].to_numpy(dtype=float)
    places = np.arange(len(table))
    edges = np.repeat(places, 2) + np.tile([-0.3, 0.3], len(table))
    ax.fill_betweenx(
        edges,
        -np.repeat(counts, 2) / 2,
        np.repeat(counts, 2) / 2,
        color=lighten(COLOURS[1], 0.75),
        lw=0,
    )
    bars = ax.barh(places, counts, left=-counts / 2, height=0.6, color=lighten(COLOURS[1], 0.35))
    words = [
        f"{count:,.0f}" + f"  ({count / counts[0]:.0%})" * (at > 0)
        for at, count in enumerate(counts)
    ]
    ax.bar_label(bars, words, label_type="center", fontweight="bold")
    ax.set_yticks(places, table["step"])
    ax.set_xticks([])
    ax.grid(visible=False)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(left=False)
    ax.invert_yaxis()
    return ax


def draw_sunburst(table, ax):
    """Draw two rings: domains inside, their subdomains outside in a lighter shade, labels turned
    outwards.

    `table` has a row a subdomain (domain, subdomain, n_events), sorted by domain; parts below 2% of
    all, outside below 0.9%, are drawn without a label.
    """
    groups = table.groupby("domain", sort=False)["n_events"].sum()
    palette = dict(
        zip(groups.index, [*COLOURS, *(lighten(c, 0.35) for c in COLOURS)], strict=False)
    )
    look = {"startangle": 90, "counterclock": False, "rotatelabels": True}
    words = {"rotation_mode": "anchor", "va": "center", "fontsize": 9}
    edge = {"edgecolor": "white", "linewidth": 1}
    inside = {"radius": 0.72, "labeldistance": 0.51 / 0.72, "colors": palette.values()}
    inside |= {"wedgeprops": edge | {"width": 0.42}, "textprops": words | {"ha": "center"}}
    texts = ax.pie(groups, labels=_name_parts(groups.index, groups, 0.02), **inside, **look)[1]
    for text, colour in zip(texts, palette.values(), strict=True):
        text.set_color(pick_ink(colour))
    outside = {
        "radius": 1.0,
        "labeldistance": 1.03,
        "colors": [lighten(palette[g], 0.5) for g in table["domain"]],
    }
    outside |= {"wedgeprops": edge | {"width": 0.27}, "textprops": words | {"color": "0.15"}}
    ax.pie(
        table["n_events"],
        labels=_name_parts(table["subdomain"], table["n_events"], 0.009),
        **outside,
        **look,
    )
    ax.set(xlim=(-1.62, 1.62), ylim=(-1.62, 1.62), aspect="equal")
    return ax


def _name_parts(names, counts, min_share):
    return [
        f"{name} {n}" if n >= min_share * counts.sum() else ""
        for name, n in zip(names, counts, strict=True)
    ]


def draw_agreement(table, ax):
    """Draw how often two benchmarks order two models alike: a row a comparison, the most models at
    the top.

    `table` has first, second, search, n_models, n_pairs, agreement, low, high and ceiling
    (`benchmark_agreement`). A dot with its interval is the agreement, coloured by the kind of search,
    a grey stroke what would be left by sampling alone if both had one order; the line at a half is
    chance.
    """
    rows = table.sort_values(
        ["search", "n_models", "agreement"], ascending=[True, False, False], ignore_index=True
    )
    for (kind, part), colour in zip(rows.groupby("search", sort=False), COLOURS, strict=False):
        ends = measure_reach(part, "agreement", "low", "high")
        ax.errorbar(
            part["agreement"],
            part.index,
            xerr=ends,
            fmt="o",
            color=colour,
            capsize=2,
            lw=1.1,
            label=kind,
        )
    places = rows.index
    ax.plot(
        rows["ceiling"],
        places,
        "|",
        color="0.35",
        ms=13,
        mew=2,
        label="expected of one order, by sampling",
    )
    ax.axvline(0.5, color="0.6", lw=0.9, ls="--")
    pairs = zip(rows["first"], rows["second"], rows["n_models"], strict=True)
    ax.set_yticks(places, [f"{first} / {second} ({n})" for first, second, n in pairs])
    ax.invert_yaxis()
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel("share of pairs of models in the same order")
    ax.legend(loc="upper center", bbox_to_anchor=(0.3, -0.08), ncols=2, frameon=False)
    return ax


def draw_usage(usage, axes):
    """Draw what agents took (rows of `usage.measure_usage`), seconds and queries on two Axes,
    searching ones orange."""
    named = usage.assign(
        label=name_rows(usage["agent_id"], usage["n"].astype(int), "{}\n({:,} events)")
    )
    shades = [lighten(COLOURS[1] if queries else COLOURS[0], 0.3) for queries in usage["queries"]]
    for ax, column, unit in zip(
        axes, ("seconds", "queries"), ("seconds of the model", "web queries"), strict=True
    ):
        draw_intervals(named, ax, label="label", value=column, colour=shades, digits=1)
        ax.set_xlabel(f"{unit}, mean a question")
    axes[0].invert_yaxis()
    return axes


def draw_growth(drawn, exact, fig, n_events):
    """Draw the deviation of an average and its growth as predictions go missing, a line an agent
    (Figures 7, 16).

    `drawn` are rows of `missing.simulate_std` (agent_id, n_pool, percent, std, growth), `exact` the
    growth by formula (percent -> growth), dashed; `n_events` are averaged. Returns the two Axes.
    """
    axes = fig.subplots(1, 2)
    for place, (agent, part) in enumerate(drawn.groupby("agent_id")):
        look = {"color": COLOURS[place % len(COLOURS)]}
        axes[0].plot(part["percent"], part["std"], **look)
        axes[1].plot(
            part["percent"],
            part["growth"],
            label=f"{agent} ({part['n_pool'].iloc[0]} events)",
            **look,
        )
    axes[1].plot(
        exact.keys(), exact.values(), "--", color="0.3", label="formula, the paper's 1,272 events"
    )
    axes[0].set(
        ylabel="standard deviation of the average score",
        title=f"Figure 7: {n_events} events or all",
    )
    axes[0].set_ylim(0, None)
    axes[1].set(ylabel="growth of the standard deviation", title="Figure 16")
    axes[1].yaxis.set_major_formatter("{x:.0%}")
    fig.legend(fontsize=8, loc="outside right upper")
    for ax in axes:
        ax.set_xlabel("predictions missing at random, %")
    return axes
