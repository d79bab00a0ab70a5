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
def room(tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    return tmp_path / "figures"


def draw(name="a_fig3", shown=SHOWN, **facts):
    figures.use_style()
    fig, ax = plt.subplots()
    ax.bar(shown.level, shown.score)
    return figures.save_figure(fig, name, shown, **{**FACTS, **facts})


def test_the_same_figure_has_the_same_bytes(room):
    draw("one")
    draw("two")
    assert (room / "one.png").read_bytes() == (room / "two.png").read_bytes()
    draw("two", n=801)
    assert (room / "one.png").read_bytes() != (room / "two.png").read_bytes()


def test_every_figure_carries_its_line(room, monkeypatch):
    fig, ax = plt.subplots()
    ax.set_xlabel("a label\nof three\nlines")
    figures.save_figure(fig, "a_fig3", SHOWN, **FACTS)
    fig.canvas.draw()
    (line,) = fig.texts
    assert line.get_text() == "n = 800, october-2016, 2016-10-10 to 2016-10-24, public data"
    assert line.get_window_extent().y1 < ax.get_tightbbox().y0, "the line runs into the axes' labels"


def test_the_index_is_read_from_the_images(room):
    draw("b_fig1", status="synthetic", n=7, window="", dates="2026")
    draw("a_fig3")
    index = figures.write_index(room)
    assert index.figure.tolist() == ["a_fig3", "b_fig1"]
    assert (room / "index.csv").read_text(encoding="utf-8") == (
        "figure,title,source,n,window,dates,status\n"
        'a_fig3,"Score by level, in °",window A events,800,october-2016,2016-10-10 to 2016-10-24,public data\n'
        'b_fig1,"Score by level, in °",window A events,7,,2026,synthetic\n'
    )


def test_the_index_page_shows_each_image_and_its_names_are_escaped(room):
    draw("a_fig3", source="a < b & c")
    figures.write_index(room)
    page = (room / "index.html").read_text(encoding="utf-8")
    assert '<img src="a_fig3.png"' in page and (room / "a_fig3.png").exists()
    assert "<b>Score by level, in °</b><br>n = 800<br>source: a &lt; b &amp; c<br>" in page
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


def test_a_figure_is_saved_for_print_and_as_vectors_and_twice_the_same(tmp_path, monkeypatch):
    written = []
    for name in ("first", "second"):
        monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / name))
        fig, ax = plt.subplots()
        ax.plot([0, 1], [0, 1])
        about = {"title": "A line", "source": "invented", "n": 2, "window": "", "dates": "2016", "status": "synthetic"}
        shown = figures.save_figure(fig, "line", pd.DataFrame({"y": [0, 1]}), **about)
        folder = tmp_path / name / "figures"
        with Image.open(folder / "line.png") as picture:
            assert round(picture.info["dpi"][0]) == 200
            width = picture.width
        written.append([path.read_bytes() for path in sorted(folder.iterdir())])
    assert written[0] == written[1] and len(written[0]) == 3
    assert b"<svg" in written[0][2] and b"<text" in written[0][2]
    assert abs(2 * Image.open(BytesIO(shown.data)).width - width) <= 4
