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


TABLE = pd.DataFrame(
    {"name": ["b", "a"], "score": [0.5, 0.25], "low": [0.4, 0.2], "high": [0.7, 0.3]}
)


def test_intervals_put_the_first_row_on_top_and_write_the_values(ax):
    plots.draw_intervals(TABLE, ax, label="name", value="score", low="low", high="high")
    assert [bar.get_width() for bar in ax.patches] == [0.5, 0.25]
    assert [text.get_text() for text in ax.texts] == ["0.50", "0.25"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    segments = ax.collections[0].get_segments()
    assert np.allclose([segment[:, 0] for segment in segments], TABLE[["low", "high"]])


def list_crosses(ax):
    return [line.get_xydata().tolist() for line in ax.lines if line.get_marker() == "x"]


def test_a_zero_has_a_stroke_and_a_missing_value_a_cross_and_words(ax):
    table = pd.DataFrame({"name": ["a", "b", "c"], "score": [0.0, np.nan, 0.5]})
    plots.draw_intervals(table, ax, label="name", value="score")
    assert [text.get_text() for text in ax.texts] == ["0.00", "no value", "0.50"]
    assert [segment[:, 1].mean() for segment in ax.collections[0].get_segments()] == [0]
    assert list_crosses(ax) == [[[0, 1]]]


def draw_points(ax, table):
    look = {"label": "name", "value": "v", "low": "low", "high": "high", "series": "who"}
    plots.draw_points(table, ax, **look, is_thin="is_thin")


def test_points_are_hollow_where_thin_and_crossed_out_where_missing(ax):
    table = pd.DataFrame({"who": ["x", "x", "y"], "name": ["p", "q", "p"], "v": [0.5, 0.0, np.nan]})
    table = table.assign(low=table["v"] - 0.1, high=table["v"] + 0.1, is_thin=[False, True, False])
    draw_points(ax, table)
    dots = [
        container.lines[0] for container in ax.containers if len(container.lines[0].get_xdata())
    ]
    assert [dot.get_markerfacecolor() == "white" for dot in dots] == [False, True]
    assert np.allclose([dot.get_xydata()[0] for dot in dots], [[0.5, -0.09], [0.0, 0.91]])
    assert np.allclose(list_crosses(ax), [[[0, 0.09], [0, 1.09]]])
    with pytest.raises(ValueError, match="name and who"):
        draw_points(ax, pd.concat([table, table]))


def test_the_legend_names_every_series_hollow_where_it_has_no_other_point(ax):
    table = pd.DataFrame(
        {"name": ["p", "q", "p", "q", "p"], "v": [0.1, 0.2, 0.3, 0.4, np.nan], "who": list("xxyyz")}
    )
    draw_points(
        ax, table.assign(low=table["v"], high=table["v"], is_thin=[True, True, False, True, True])
    )
    handles, names = ax.get_legend_handles_labels()
    assert names == ["no value", "x", "y", "z"]
    assert [handle.lines[0].get_markerfacecolor() == "white" for handle in handles[1:3]] == [
        True,
        False,
    ]
