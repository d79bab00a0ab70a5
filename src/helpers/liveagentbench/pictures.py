"""The words in the task set's pictures, with their places, as a character recogniser read them.

The recogniser (rapidocr, whose package carries its model) weighs several hundred megabytes with what it needs, so it
has an environment of its own: `make ocr` reads every picture of the task set and records the words with their places
in data/taskset/pictures.csv, by the picture's digest. From there on nothing knows how a picture was made.
"""

import argparse
import hashlib
import tempfile
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from PIL import Image, ImageSequence
from tqdm import tqdm

from helpers.liveagentbench.files import build_files
from helpers.liveagentbench.tasks import build_taskset, read_shown
from helpers.store import ROOT
from helpers.web.sources import load_sources

READINGS = ROOT / "data/taskset/pictures.csv"
COLUMNS = ["picture", "frame", "left", "top", "right", "bottom", "text"]
FORMS = ("png", "gif")
SEED = 31
"""Notebook 31's: of its events only splits and twins hang on it, not the pictures."""


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
def load_readings():
    """Return {picture: [words of a frame, ...]}."""
    table = pd.read_csv(READINGS, dtype={"picture": str, "text": str}, keep_default_na=False)
    pictures = {}
    for (picture, _), part in table.groupby(["picture", "frame"]):
        words = [Word(*row) for row in part[list(Word._fields)].itertuples(index=False)]
        pictures.setdefault(picture, []).append(words)
    return pictures


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
