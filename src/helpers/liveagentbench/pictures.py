"""What a character recogniser read in the task set's pictures, and how charts and clips become lines of cells.

The recogniser (rapidocr, whose package carries its model) weighs several hundred megabytes with what it needs, so it
has an environment of its own: `make ocr` reads every picture of the task set and records the words with their places
in data/taskset/pictures.csv, by the picture's digest. From there on nothing knows how a picture was made.
"""

import argparse
import hashlib
import re
import tempfile
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import pandas as pd
from PIL import Image, ImageSequence
from tqdm import tqdm

from helpers.liveagentbench.files import build_files
from helpers.liveagentbench.tasks import build_taskset, read_shown
from helpers.store import ROOT
from helpers.world.sources import load_sources

READINGS = ROOT / "data/taskset/pictures.csv"
COLUMNS = ["picture", "frame", "left", "top", "right", "bottom", "text"]
FORMS = ("png", "gif")
SEED = 31
"""Notebook 31's: of its events only splits and twins hang on it, not the pictures."""
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
DATE = re.compile(r"(\d{4}-\d{2}-\d{2}(?: \d{2}:\d{2})?)\s*(.*)")


class Unrecorded(LookupError):
    """No reading of a picture is recorded."""


class Word(NamedTuple):
    """Words in one place of a picture, in pixels from its left and upper edge."""

    left: int
    top: int
    right: int
    bottom: int
    text: str

    @property
    def middle(self):
        """Return its middle from left to right, in pixels."""
        return (self.left + self.right) / 2


def find_words(body):
    """Return the recorded words of a picture (bytes of a file), a list for each of its frames.

    Raises ValueError for what is no picture, Unrecorded for one that was never read.
    """
    try:
        with Image.open(BytesIO(body)):
            pass
    except OSError:
        raise ValueError("no picture") from None
    frames = load_readings().get(name_picture(body))
    if frames is None:
        raise Unrecorded("no reading of this picture is recorded; `make ocr` makes one")
    return frames


def name_picture(body):
    """Return the first 16 hex digits of a picture's sha256."""
    return hashlib.sha256(body).hexdigest()[:16]


@lru_cache
def load_readings(path=READINGS):
    """Return {picture: [words of a frame, ...]}."""
    table = pd.read_csv(path, dtype={"picture": str, "text": str}, keep_default_na=False)
    pictures = {}
    for (picture, _), part in table.groupby(["picture", "frame"]):
        words = [Word(*row) for row in part[list(Word._fields)].itertuples(index=False)]
        pictures.setdefault(picture, []).append(words)
    return pictures


# --- lines of cells ---------------------------------------------------------------------------------------------------


def read_chart(body):
    """Return a chart's lines of cells: a head, then date, name and value of each mark that carries a number."""
    (words,) = find_words(body)
    return lay_chart(words)


def lay_chart(words):
    """Return the lines of cells of a chart: labels under it, numbers over them, the axis label on its left.

    A number belongs to the label whose right end (labels are slanted up to their mark) is nearest to its middle, and at
    most half a step away; numbers left of all marks are the axis's.
    """
    lowest = max((word.bottom for word in words), default=0)
    upright = sorted((word for word in words if is_upright(word)), key=lambda word: -word.top)
    title = min(words, key=lambda word: word.top, default=None)
    labels = [
        word
        for word in words
        if word.bottom > 0.7 * lowest and not NUMBER.fullmatch(word.text) and word not in upright and word != title
    ]
    labels = sorted(labels, key=lambda word: word.right)
    ends = [label.right for label in labels]
    step = median(np.diff(ends)) if len(ends) > 1 else 2 * max(ends, default=0)
    lines = [["Date", "Name", " ".join(word.text for word in upright)]]
    numbers = [word for word in words if NUMBER.fullmatch(word.text)]
    for label in labels:
        near = min(numbers, key=lambda word, end=label.right: abs(word.middle - end), default=None)
        if near is not None and abs(near.middle - label.right) <= step / 2:
            lines.append([*split_label(label.text), near.text])
    return lines


def is_upright(word):
    """Tell whether words run upwards, as an axis's label does."""
    return word.bottom - word.top > 1.5 * (word.right - word.left) and len(word.text) > 2


def split_label(text):
    """Return (date, name) of a label.

    >>> split_label("2016-10-07 14:00 I-94"), split_label("Boston")
    (['2016-10-07 14:00', 'I-94'], ['', 'Boston'])
    """
    found = DATE.match(text)
    return list(found.groups()) if found else ["", text]


def read_clip(body):
    """Return a clip's lines of cells, a frame a line: date and name above, the number, what it is below."""
    lines = []
    for words in find_words(body):
        label, value, heading = (word.text for word in sorted(words, key=lambda word: word.top))
        lines = lines or [["Date", "Name", heading]]
        lines.append([*split_label(label), value])
    return lines


# --- the recogniser ---------------------------------------------------------------------------------------------------


def recognise(engine, body):
    """Yield the readings of a picture by rapidocr, rows of COLUMNS from top to bottom."""
    with Image.open(BytesIO(body)) as picture:
        for n, frame in enumerate(ImageSequence.Iterator(picture)):
            found = engine(np.asarray(frame.convert("RGB")))
            places = [] if found.boxes is None else np.rint(found.boxes).astype(int)
            rows = [
                (name_picture(body), n, *place.min(axis=0), *place.max(axis=0), text)
                for place, text in zip(places, found.txts or (), strict=True)
            ]
            yield from sorted(rows, key=lambda row: (row[3], row[2]))


def build_pictures(folder):
    """Return the bytes of the task set's pictures by file name, in order of names."""
    sources = load_sources()
    shown = read_shown(sources)
    events, _ = build_taskset(sources, shown, np.random.default_rng(SEED))
    places = build_files(events[events["variant"] == "plain"], sources, shown, folder, forms=FORMS)
    paths = {path for paths in places.values() for path in paths if isinstance(path, Path)}
    return {path.name: path.read_bytes() for path in sorted(paths) if path.suffix[1:] in FORMS}


def main():
    """Read every picture of the task set and write data/taskset/pictures.csv."""
    argparse.ArgumentParser(description=main.__doc__).parse_args()
    from rapidocr import RapidOCR  # only in the environment of `make ocr`

    engine = RapidOCR(params={"Global.log_level": "error"})
    with tempfile.TemporaryDirectory() as folder:
        pictures = build_pictures(Path(folder))
    rows = []
    for body in tqdm(pictures.values(), desc="pictures read"):
        rows += recognise(engine, body)
    before = set(load_readings()) if READINGS.exists() else set()
    pd.DataFrame(rows, columns=COLUMNS).to_csv(READINGS, index=False, lineterminator="\n")
    new = {name_picture(body) for body in pictures.values()} - before
    print(f"{len(pictures)} pictures, {len(rows)} words; {len(new)} pictures were not recorded before")


if __name__ == "__main__":
    main()
