"""Pictures: every one of the task set was read, charts and clips become cells, a number lost is a mark left out."""

import io

import pytest
from PIL import Image

from helpers.liveagentbench import pictures
from helpers.liveagentbench.pictures import Unrecorded, Word, build_pictures, find_words, load_readings, name_picture
from helpers.liveagentbench.readers import Unread, lay_chart, read_table

AXIS = [Word(30, 60, 55, 76, "20"), Word(30, 200, 55, 216, "10"), Word(8, 100, 24, 190, "Licences (licences)")]
TITLE = Word(300, 9, 560, 25, "Seattle pet licences 2016")


def place(*marks):
    """Return the words of a chart whose marks stand 100 pixels apart: (label, number or None for one not read)."""
    words = [TITLE, *AXIS]
    for n, (label, number) in enumerate(marks):
        x = 100 * (n + 1)
        words.append(Word(x - 60, 400, x + 3, 440, label))
        words += [Word(x - 10, 90 + n, x + 10, 105 + n, number)] if number else []
    return words


def test_numbers_go_to_their_labels_and_the_axis_is_left_out():
    head, *lines = lay_chart(place(("Boston", "20"), ("New York", "1,204"), ("Troy", "7.5")))
    assert head == ["Date", "Name", "Licences (licences)"]
    assert lines == [["", "Boston", "20"], ["", "New York", "1,204"], ["", "Troy", "7.5"]]


def test_a_number_that_was_not_read_leaves_its_mark_out_and_moves_no_other():
    lines = lay_chart(place(("2016-10-08", "5"), ("2016-10-09", None), ("2016-10-10", "6")))[1:]
    assert lines == [["2016-10-08", "", "5"], ["2016-10-10", "", "6"]]


def test_a_chart_without_words_has_no_lines():
    assert lay_chart([]) == [["Date", "Name", ""]]


def draw(colour=255):
    """Return a small picture without a word."""
    body = io.BytesIO()
    Image.new("L", (40, 20), colour).save(body, "PNG")
    return body.getvalue()


def test_what_is_no_picture_and_what_was_never_read_are_told_apart(monkeypatch):
    with pytest.raises(ValueError, match="no picture"):
        find_words(b"junk" * 40)
    with pytest.raises(Unrecorded, match="make ocr"):
        find_words(draw())
    with pytest.raises(Unread, match="no reading of this picture is recorded; `make ocr` makes one"):
        read_table(draw(), "png")
    with pytest.raises(Unread, match=r"the gif cannot be read \(ValueError\)"):
        read_table(b"junk", "gif")
    monkeypatch.setattr(pictures, "load_readings", lambda: {name_picture(draw()): [[TITLE]]})
    assert find_words(draw()) == [[TITLE]]


def test_a_clip_is_a_line_a_frame(monkeypatch):
    body = draw(0)
    frames = [
        [Word(17, 150, 90, 170, "Close ($)"), Word(17, 70, 60, 110, value), Word(17, 18, 99, 30, f"2016-10-1{n} AAPL")]
        for n, value in enumerate(("116.05", "116.30"))
    ]
    monkeypatch.setattr(pictures, "load_readings", lambda: {name_picture(body): frames})
    rows = read_table(body, "gif")
    assert rows["entity"].eq("AAPL").all() and rows["heading"].eq("Close ($)").all()
    assert rows[["occurred_at", "text"]].to_numpy().tolist() == [["2016-10-10", "116.05"], ["2016-10-11", "116.30"]]


def test_every_picture_of_the_task_set_was_read(tmp_path):
    names = {name: name_picture(body) for name, body in build_pictures(tmp_path).items()}
    assert len(names) == 18
    assert set(names.values()) == set(load_readings()), "pictures changed; run `make ocr`"
