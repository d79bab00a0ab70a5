import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers import plots


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


def test_groups_keep_their_order_and_an_absent_bar_stays_empty(ax):
    table = pd.DataFrame({"step": ["z", "z", "a"], "who": ["ours", "paper", "ours"], "n": [3, 2, 1]})
    table["text"] = table["n"].astype(str)
    plots.draw_grouped(table, ax, group="step", series="who", value="n", text="text")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["z", "a"]
    heights = [[bar.get_height() for bar in bars] for bars in ax.containers]
    assert heights[0] == [3, 1] and heights[1][0] == 2 and np.isnan(heights[1][1])
    assert sorted(text.get_text() for text in ax.texts if text.get_text()) == ["1", "2", "3"]


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


def test_pairs_fill_half_a_matrix_with_rows_minus_columns(ax):
    pairs = pd.DataFrame({"agent_a": ["x", "x", "y"], "agent_b": ["y", "z", "z"]})
    pairs = pairs.assign(difference=[0.1, 0.3, -0.2], seen=[0.05, 0.2, 0.3], told=[True, False, False])
    plots.draw_pairs(pairs, ["x", "y", "z"], ax)
    assert [text.get_text() for text in ax.texts] == ["-0.100*\n(0.050)", "-0.300\n(0.200)", "+0.200\n(0.300)"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["y", "z"]


def test_effects_have_the_first_on_top_and_are_hollow_without_an_interval(ax):
    effects = pd.DataFrame({"category": ["a", "b"], "effect": [0.2, -0.1]})
    plots.draw_effects(effects.assign(clustered_low=[0.05, np.nan], clustered_high=[0.35, np.nan]), ax)
    assert ax.get_ylim() == (1.5, -0.5)
