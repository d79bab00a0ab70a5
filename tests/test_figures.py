import re
from io import BytesIO

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from helpers import figures

SHOWN = pd.DataFrame({"level": [1, 2], "score": [0.12345678, 0.5]})
FACTS = {
    "title": "Score by level, in °",
    "source": "window A events",
    "n": 800,
    "window": "A",
    "dates": ("2016-10-10", "2016-10-24"),
    "status": "public",
}


@pytest.fixture
def room(out):
    return out / "figures"


def draw(name="a_fig3", shown=SHOWN, **facts):
    figures.use_style()
    fig, ax = plt.subplots()
    ax.bar(shown.level, shown.score)
    return figures.save_figure(fig, name, shown, **{**FACTS, **facts})


def test_a_figure_has_the_same_bytes_each_time_for_print_and_as_vectors(room):
    shown = draw("one")
    first = {path: path.read_bytes() for path in room.glob("one.*")}
    assert sorted(path.suffix for path in first) == [".csv", ".png", ".svg"]
    draw("one")
    draw("two")
    assert all(path.read_bytes() == content for path, content in first.items())
    assert (room / "one.png").read_bytes() == (room / "two.png").read_bytes()
    assert b"<text" in first[room / "one.svg"]
    with Image.open(room / "one.png") as picture, Image.open(BytesIO(shown.data)) as small:
        assert round(picture.info["dpi"][0]) == 200 and abs(2 * small.width - picture.width) <= 4
    draw("two", n=801)
    assert (room / "one.png").read_bytes() != (room / "two.png").read_bytes()


def test_every_figure_carries_its_line(room):
    fig, ax = plt.subplots()
    ax.set_xlabel("a label\nof three\nlines")
    figures.save_figure(fig, "a_fig3", SHOWN, **FACTS)
    fig.canvas.draw()
    (line,) = fig.texts
    assert line.get_text() == "n = 800, october-2016, 2016-10-10 to 2016-10-24, public data"
    assert line.get_window_extent().y1 < ax.get_tightbbox().y0, (
        "the line runs into the axes' labels"
    )


def test_the_index_is_read_from_the_images_and_its_page_shows_each_with_its_names_escaped(room):
    draw("b_fig1", status="synthetic", n=7, window="", dates="2026", source="a < b & c")
    draw("a_fig3")
    index = figures.write_index(room)
    assert index.figure.tolist() == ["a_fig3", "b_fig1"]
    assert (room / "index.csv").read_text(encoding="utf-8") == (
        "figure,title,source,n,window,dates,status\n"
        'a_fig3,"Score by level, in °",window A events,800,october-2016,2016-10-10 to 2016-10-24,public data\n'
        'b_fig1,"Score by level, in °",a < b & c,7,,2026,synthetic\n'
    )
    page = (room / "index.html").read_text(encoding="utf-8")
    assert '<img src="b_fig1.png"' in page
    assert "<b>Score by level, in °</b><br>n = 7<br>source: a &lt; b &amp; c<br>" in page
    figures.write_index(room)
    assert (room / "index.html").read_text(encoding="utf-8") == page


def test_thin_series_in_like_colours_stay_apart_in_the_image(room):
    figures.use_style()
    fig, ax = plt.subplots()
    ax.imshow(np.random.default_rng(0).random((60, 60, 3)))
    thin = [(0.01, 0.62, 0.45), (0.10, 0.70, 0.52)]
    for at, colour in enumerate(thin):
        ax.plot([5, 55], [10 + 20 * at] * 2, color=colour, lw=2.5)
    figures.save_figure(fig, "thin", SHOWN, **FACTS)
    with Image.open(room / "thin.png") as picture:
        found = np.array([colour for _, colour in picture.convert("RGB").getcolors()])
    for colour in thin:
        assert (np.abs(found - np.round(np.array(colour) * 255)).max(axis=1) <= 1).any()


def test_a_legend_outside_stays_above_the_line(room):
    figures.use_style()
    fig, ax = plt.subplots(figsize=(5, 3))
    ax.plot([1, 2], label="a series")
    fig.legend(loc="outside lower left")
    figures.save_figure(fig, "a_fig3", SHOWN, **FACTS)
    svg = (room / "a_fig3.svg").read_text(encoding="utf-8")
    heights = {text: float(y) for y, text in re.findall(r' y="([\d.]+)"[^>]*>([^<]+)</text>', svg)}
    (line,) = (y for text, y in heights.items() if text.startswith("n = 800"))
    assert (
        max(y for text, y in heights.items() if text in ("1", "2", "1.0"))
        < heights["a series"]
        < line - 8
    )
