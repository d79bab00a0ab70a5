import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers import plots
from helpers.store import ROOT


@pytest.fixture
def ax():
    fig, ax = plt.subplots()
    yield ax
    plt.close(fig)


TABLE = pd.DataFrame({"name": ["b", "a"], "score": [0.5, 0.25], "low": [0.4, 0.2], "high": [0.7, 0.3]})


def test_intervals_put_the_first_row_on_top_and_write_the_values(ax):
    plots.draw_intervals(TABLE, ax, label="name", value="score", low="low", high="high")
    assert [bar.get_width() for bar in ax.patches] == [0.5, 0.25]
    assert [text.get_text() for text in ax.texts] == ["0.50", "0.25"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    segments = ax.collections[0].get_segments()
    assert np.allclose([segment[:, 0] for segment in segments], TABLE[["low", "high"]])


def test_points_of_two_series_share_their_lines_and_the_first_is_on_top(ax):
    table = pd.concat([TABLE.assign(who="x"), TABLE.assign(who="y", score=-0.1)])
    plots.draw_points(table, ax, label="name", value="score", low="low", high="high", series="who")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["b", "a"] and ax.get_ylim()[0] > ax.get_ylim()[1]
    points = [container.lines[0].get_xydata() for container in ax.containers]
    assert np.allclose([xy[:, 0] for xy in points], [[0.5, 0.25], [-0.1, -0.1]])
    assert (points[0][:, 1] < points[1][:, 1]).all() and np.allclose(points[1][:, 1].round(), [0, 1])


def list_crosses(ax):
    return [line.get_xydata().tolist() for line in ax.lines if line.get_marker() == "x"]


def test_a_zero_has_a_stroke_and_a_missing_value_a_cross_and_words(ax):
    table = pd.DataFrame({"name": ["a", "b", "c"], "score": [0.0, np.nan, 0.5]})
    plots.draw_intervals(table, ax, label="name", value="score")
    assert [text.get_text() for text in ax.texts] == ["0.00", "no value", "0.50"]
    assert [segment[:, 1].mean() for segment in ax.collections[0].get_segments()] == [0]
    assert list_crosses(ax) == [[[0, 1]]]


def test_in_groups_too_a_zero_and_a_missing_value_look_different(ax):
    table = pd.DataFrame({"who": ["x", "x", "y"], "step": ["p", "q", "p"], "n": [0.0, 2, 1]})
    plots.draw_grouped(table, ax, group="step", series="who", value="n")
    strokes = [segment.mean(axis=0).tolist() for lines in ax.collections for segment in lines.get_segments()]
    assert np.allclose(strokes, [[-0.2, 0]]) and np.allclose(list_crosses(ax), [[[1.2, 0]]])
    assert ax.get_legend_handles_labels()[1].count(plots.BLANK) == 1


def test_points_are_hollow_where_thin_and_crossed_out_where_missing(ax):
    table = pd.DataFrame({"who": ["x", "x", "y"], "name": ["p", "q", "p"], "v": [0.5, 0.0, np.nan]})
    table = table.assign(low=table["v"] - 0.1, high=table["v"] + 0.1, is_thin=[False, True, False])
    look = {"label": "name", "value": "v", "low": "low", "high": "high", "series": "who"}
    plots.draw_points(table, ax, **look, is_thin="is_thin")
    dots = [container.lines[0] for container in ax.containers if len(container.lines[0].get_xdata())]
    assert [dot.get_markerfacecolor() == "white" for dot in dots] == [False, True]
    assert np.allclose([dot.get_xydata()[0] for dot in dots], [[0.5, -0.09], [0.0, 0.91]])
    assert np.allclose(list_crosses(ax), [[[0, 0.09], [0, 1.09]]])
    with pytest.raises(ValueError, match="name and who"):
        plots.draw_points(pd.concat([table, table]), ax, **look)


def test_what_a_series_lacks_is_said_in_words_at_the_right_edge(ax):
    table = pd.concat([TABLE.assign(who="a"), TABLE.iloc[:1].assign(who="b")])
    look = {"label": "name", "value": "score", "low": "low", "high": "high", "series": "who"}
    plots.draw_points(table, ax, **look, absent="not printed")
    assert [(text.get_text(), text.get_position()[1]) for text in ax.texts] == [("b: not printed", pytest.approx(1.09))]
    assert not list_crosses(ax)


def test_a_label_that_a_series_does_not_have_stays_empty_where_the_table_is_not_whole(ax):
    lacks = TABLE.iloc[1:].assign(who="c", score=np.nan)
    table = pd.concat([TABLE.assign(who="a"), TABLE.iloc[:1].assign(who="b"), lacks])
    look = {"label": "name", "value": "score", "low": "low", "high": "high", "series": "who"}
    plots.draw_points(table, ax, **look, is_whole=False)
    assert np.allclose(list_crosses(ax), [[[0, 1.18]]]), "a blank value is marked, a row that is not there is not"


def test_a_level_has_a_band_where_it_has_an_interval(ax):
    plots.draw_level(ax, 0.5, 0.25, 0.75, colour="0.3", label="a")
    plots.draw_level(ax, 0.2, colour="0.3", style=":", label="b")
    assert [line.get_ydata()[0] for line in ax.lines] == [0.5, 0.2]
    assert [(band.get_y(), band.get_height()) for band in ax.patches] == [(0.25, 0.5)]


def test_seven_series_stay_within_their_label(ax):
    table = pd.concat([TABLE.assign(who=str(at)) for at in range(7)])
    plots.draw_points(table, ax, label="name", value="score", low="low", high="high", series="who")
    places = np.array([container.lines[0].get_ydata() for container in ax.containers])
    assert (np.abs(places - [0, 1]) < 0.4).all() and (np.diff(places, axis=0) > 0.1).all()


def test_a_funnel_that_widens_is_refused(ax):
    with pytest.raises(ValueError, match="'sites' has more"):
        plots.draw_funnel(pd.DataFrame({"step": ["a", "sites"], "n": [3, 4]}), ax, step="step", n="n")


def test_an_empty_table_is_refused(ax):
    with pytest.raises(ValueError, match="nothing to draw"):
        plots.draw_intervals(TABLE.iloc[:0], ax, label="name", value="score")
    with pytest.raises(ValueError, match="nothing to draw"):
        plots.draw_points(TABLE.iloc[:0], ax, label="name", value="score", low="low", high="high")


def test_groups_keep_their_order_and_an_absent_bar_stays_empty(ax):
    table = pd.DataFrame({"step": ["z", "z", "a"], "who": ["ours", "paper", "ours"], "n": [3, 2, 1]})
    table["text"] = table["n"].astype(str)
    plots.draw_grouped(table, ax, group="step", series="who", value="n", text="text")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["z", "a"]
    heights = [[bar.get_height() for bar in bars] for bars in ax.containers]
    assert heights[0] == [3, 1] and heights[1][0] == 2 and np.isnan(heights[1][1])
    assert sorted(text.get_text() for text in ax.texts if text.get_text()) == ["1", "2", "3"]


def test_a_series_twice_in_a_group_is_refused(ax):
    with pytest.raises(ValueError, match="more than one row for a name"):
        plots.draw_grouped(pd.concat([TABLE, TABLE]), ax, group="name", series="score", value="low")


def test_the_funnel_is_centred_and_as_wide_as_its_counts(ax):
    plots.draw_funnel(pd.DataFrame({"step": ["all", "left"], "n": [1200, 300]}), ax, step="step", n="n")
    spans = [(bar.get_x(), bar.get_width()) for bar in ax.patches]
    assert spans == [(-600, 1200), (-150, 300)]
    assert [text.get_text() for text in ax.texts] == ["1,200", "300  (25%)"]


def test_the_sunburst_has_both_rings_and_leaves_slivers_without_a_name(ax):
    rows = [("Space", "Moon", 60), ("Space", "Mars", 39), ("Sports", "Chess", 1)]
    table = pd.DataFrame(rows, columns=["domain", "sub", "n"])
    plots.draw_sunburst(table, ax, inner="domain", outer="sub", n="n", min_share=0.05)
    angles = [wedge.theta2 - wedge.theta1 for wedge in ax.patches]
    assert np.allclose(np.abs(angles), 3.6 * np.array([99, 1, 60, 39, 1]))
    named = [text.get_text() for text in ax.texts if text.get_text()]
    assert named == ["Space 99", "Moon 60", "Mars 39"]


def test_stacks_add_up_and_small_layers_carry_no_value(ax):
    table = pd.DataFrame({"kind": ["x", "y"], "low": [10, 1], "high": [90, 4]})
    plots.draw_stacked(table, ax, label="kind", parts=["low", "high"], colours=["0.8", "0.1"])
    tops = [bar.get_y() + bar.get_height() for bar in ax.containers[1]]
    assert tops == [100, 5]
    shown = [(text.get_text(), text.get_color()) for text in ax.texts if text.get_text()]
    assert shown == [("10", "0.15"), ("90", "white")]


def test_steps_rise_at_the_crawl_and_count_in_percent(ax):
    table = pd.DataFrame({"crawl": [1, 2], "share": [0.25, 1.0]})
    plots.draw_steps(table, ax, x="crawl", y="share", label="found", colour="0.1")
    line = ax.lines[0]
    assert line.get_drawstyle() == "steps-post" and line.get_ydata().tolist() == [0.25, 1.0]
    assert ax.yaxis.get_major_formatter()(0.25, 0) == "25%"


def test_reaches_run_from_low_to_high_at_their_places(ax):
    table = pd.DataFrame({"mean": [0.5, 0.2], "low": [0.4, 0.0], "high": [0.9, 0.3]}, index=[7, 8])
    plots.draw_reaches(table, ax, np.array([1.0, 2.5]), value="mean", low="low", high="high", fmt="o")
    (whiskers,) = ax.collections
    assert [segment.round(6).tolist() for segment in whiskers.get_segments()] == [
        [[1.0, 0.4], [1.0, 0.9]],
        [[2.5, 0.0], [2.5, 0.3]],
    ]
    assert ax.lines[0].get_xydata().tolist() == [[1.0, 0.5], [2.5, 0.2]]


@pytest.mark.parametrize("draw", [plots.draw_points, plots.draw_intervals])
def test_an_interval_by_event_stands_thin_beside_the_one_by_source(ax, draw):
    table = pd.DataFrame({"name": ["a", "b"], "mean": [0.5, 0.4], "low": [0.3, np.nan], "high": [0.7, np.nan]})
    draw(table.assign(low_by_event=0.4, high_by_event=0.6), ax, label="name", value="mean", low="low", high="high")
    segments = [line.tolist() for lines in ax.collections for line in lines.get_segments()]
    assert [[0.4, 0.6]] * 2 == [[x for x, _ in line] for line in segments if {x for x, _ in line} == {0.4, 0.6}]


def test_pairs_fill_half_a_matrix_with_rows_minus_columns(ax):
    pairs = pd.DataFrame({"agent_a": ["x", "x", "y"], "agent_b": ["y", "z", "z"]})
    pairs = pairs.assign(difference=[0.1, 0.3, -0.2], seen=[0.05, 0.2, 0.3], told=[True, False, False])
    plots.draw_pairs(pairs, ["x", "y", "z"], ax)
    assert [text.get_text() for text in ax.texts] == ["-0.100*\n(0.050)", "-0.300\n(0.200)", "+0.200\n(0.300)"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["y", "z"]


def test_effects_have_the_first_on_top_and_all_sets_of_stars(ax):
    effects = pd.DataFrame({"category": ["a", "b"], "effect": [0.2, -0.1], "plain_stars": ["***", ""]})
    effects = effects.assign(plain_low=0.1, plain_high=0.3, event_low=0.0, event_high=0.4, event_stars="")
    effects = effects.assign(source_low=[0.05, np.nan], source_high=[0.35, np.nan], source_stars="")
    plots.draw_effects(effects, ax)
    assert [text.get_text() for text in ax.texts] == ["– (–, ***)", "few (–, –)"]
    assert ax.get_ylim() == (1.5, -0.5)
    assert [lines.get_segments()[0][:, 0].tolist() for lines in ax.collections] == [
        [0.05, 0.35],
        [0.1, 0.3],
        [0.0, 0.4],
    ]


def test_factors_share_one_scale_and_only_the_last_keeps_its_order():
    effects = pd.DataFrame({"factor": list("aabbcc"), "category": list("uvwxyz"), "effect": [0.1, 0.2] * 3})
    for kind in ("plain", "event", "source"):
        effects = effects.assign(**{f"{kind}_low": -0.5, f"{kind}_high": 0.4, f"{kind}_stars": ""})
    axes = plots.draw_factors(effects, plt.figure(), {"a": "one", "b": "two", "c": "three"})
    assert [[label.get_text() for label in ax.get_yticklabels()] for ax in axes] == [["v", "u"], ["x", "w"], ["y", "z"]]
    assert {ax.get_xlim() for ax in axes} == {(-0.54, 0.54)}
    plt.close("all")


def test_interactions_carry_their_stars(ax):
    table = pd.DataFrame({"agent_id": ["a", "a"], "level": [1, 2], "interaction": [0.1, -0.2], "stars": ["*", ""]})
    plots.draw_interactions(table, ax)
    assert [text.get_text() for text in ax.texts] == ["+0.100 *", "-0.200 "]


def test_a_cell_that_makes_a_figure_saves_it():
    """What a cell leaves open JupyterLab draws at its end, and the layout of a second drawing differs by pixels."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            text = "".join(cell["source"])
            makes = cell["cell_type"] == "code" and ("plt.subplots(" in text or "plt.figure(" in text)
            assert not makes or "save_figure(" in text, f"{path.name}: {text[:200]}"


def test_curves_have_a_line_and_dots_a_series(ax):
    table = pd.DataFrame({"who": ["a_b", "a_b"], "x": [1, 2], "seen": [0.1, 0.3], "exact": [0.2, 0.2]})
    plots.draw_curves(table, ax, x="x", value="seen", line="exact", series="who", colours={"a_b": "0.1"})
    assert [line.get_ydata().tolist() for line in ax.lines] == [[0.2, 0.2], [0.1, 0.3]]
    assert ax.get_legend_handles_labels()[1] == ["a b"]
