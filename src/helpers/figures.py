"""One style for all figures; each is saved as an image with the numbers it shows and with what they rest on.

The image carries its own description (title, source, n, window, dates, status) as PNG text; figures/index.csv is read
back from there, so the index cannot say anything else than the images.
"""

import json
import sys
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
from IPython.display import Image
from PIL import Image as Picture
from PIL.PngImagePlugin import PngInfo

from helpers.question_sets import list_days
from helpers.store import locate_output

STATUSES = ("real", "stand-in", "synthetic", "as given")
"""real: from recorded history; stand-in: a part stands in for what the paper used; synthetic: made-up data;
as given: of a user's own files or runs, of which the kit does not know what they are."""

DPI = 120

INDEX_COLUMNS = ["figure", "title", "source", "n", "window", "dates", "status"]

STYLE = {
    "figure.figsize": (7.0, 4.2),
    "figure.dpi": 100,
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "mathtext.fontset": "dejavusans",
}


def use_style():
    """Set the kit's look: a palette for colour-blind readers, fixed sizes, the font that matplotlib ships.

    Starts from matplotlib's defaults, so a user's own matplotlibrc changes nothing.

    >>> use_style()
    >>> plt.rcParams["font.family"], plt.rcParams["figure.figsize"]
    (['DejaVu Sans'], [7.0, 4.2])
    """
    backend = mpl.get_backend()
    mpl.rcdefaults()
    mpl.use(backend)
    sns.set_theme(style="whitegrid", palette="colorblind", font="DejaVu Sans", rc=STYLE)
    mpl.rcParams["font.family"] = ["DejaVu Sans"]


def save_figure(fig, name, shown, *, title, source, n, window, status, dates=None):
    """Write figures/<name>.png and, as figures/<name>.csv, the numbers it shows; return the image for the notebook.

    `n` counts what the figure rests on (events, predictions); `window` is a key such as "A", or "" where there is none;
    `dates` is a pair of ISO dates (first, last) or a text, by default the window's first and last start day; `status`
    is one of `STATUSES`. These stand in a line under the figure, in the image's metadata and in figures/index.csv.
    `shown` is rounded to 6 decimals. Closes the figure; the same figure gives the same bytes.

    Raises ValueError when `shown` is empty or has labels in its index, when n is below 1, when the status is unknown,
    when neither dates nor a known window is given.
    """
    if status not in STATUSES:
        raise ValueError(f"figure {name}: status {status!r} is none of {', '.join(STATUSES)}")
    if len(shown) == 0:
        raise ValueError(f"figure {name}: the table of numbers it shows is empty")
    if any(label is not None for label in shown.index.names):
        raise ValueError(
            f"figure {name}: labels stand in the index {shown.index.names}; call reset_index() on the table"
        )
    if int(n) < 1:
        raise ValueError(f"figure {name}: n is {n}; a figure rests on at least one case")
    if dates is None:
        first, *_, last = list_days(window)
        dates = first, last
    facts = {"n": int(n), "window": window, "dates": join_dates(dates), "status": status}
    draw_caption(fig, describe_facts(**facts))
    daybefore = json.dumps(facts, sort_keys=True, ensure_ascii=False)
    image = locate_output(f"figures/{name}.png")
    write_image(fig, image, {"Title": title, "Description": source, "daybefore": daybefore})
    shown.round(6).to_csv(image.with_suffix(".csv"), index=False, lineterminator="\n")
    plt.close(fig)
    return Image(image)


def write_image(fig, path, texts):
    """Write a figure as PNG of 256 colours, a third of the bytes of all its shades, with `texts` as its metadata."""
    drawn, metadata = BytesIO(), PngInfo()
    fig.set_dpi(DPI)
    tight = fig.get_tightbbox().padded(mpl.rcParams["savefig.pad_inches"])  # "tight" would draw all of it once more
    fig.savefig(drawn, dpi=DPI, bbox_inches=tight, pil_kwargs={"compress_level": 0})
    for name, text in texts.items():
        metadata.add_text(name, text)
    with Picture.open(drawn) as picture:
        few = picture.convert("RGB").quantize(256, Picture.Quantize.MEDIANCUT, dither=Picture.Dither.NONE)
    few.save(path, dpi=(DPI, DPI), pnginfo=metadata, optimize=True)


def join_dates(dates):
    """Return a pair of dates as text, a text as it is.

    >>> join_dates(("2016-10-10", "2016-10-24"))
    '2016-10-10 to 2016-10-24'
    """
    return dates if isinstance(dates, str) else " to ".join(str(date) for date in dates)


def describe_facts(n, window, dates, status):
    """Return the line that stands under a figure.

    >>> describe_facts(n=12450, window="A", dates="2016-10-10 to 2016-10-24", status="real")
    'n = 12,450, window A 2016-10-10 to 2016-10-24, real'
    """
    span = " ".join(part for part in (f"window {window}" if window else "", dates) if part)
    return ", ".join(part for part in (f"n = {n:,}", span, status) if part)


def draw_caption(fig, text):
    """Write a small line under everything the figure holds, at its left edge; the layout is worked out once, here."""
    if engine := fig.get_layout_engine():
        engine.execute(fig)
    with mpl.rc_context({"figure.constrained_layout.use": False}):
        fig.set_layout_engine(None)
    drawn = fig.get_tightbbox()
    width, height = fig.get_size_inches()
    fig.text(drawn.x0 / width, (drawn.y0 - 0.08) / height, text, ha="left", va="top", fontsize=8, color="0.35")


def read_facts(image):
    """Return an image's row for figures/index.csv, from the text inside the PNG.

    Raises ValueError for an image that `save_figure` did not write.
    """
    with Picture.open(image) as picture:
        text = picture.text
    if "daybefore" not in text:
        raise ValueError(f"{image.name} was not written by save_figure; draw it again or delete it")
    return {"title": text["Title"], "source": text["Description"], **json.loads(text["daybefore"])}


def write_index(folder=None):
    """Write index.csv, a row for each image under `folder` (default: figures), sorted by name; return the table."""
    folder = Path(folder) if folder else locate_output("figures/index.csv").parent
    images = {image.relative_to(folder).with_suffix("").as_posix(): image for image in folder.rglob("*.png")}
    rows = [{"figure": name, **read_facts(images[name])} for name in sorted(images)]
    index = pd.DataFrame(rows, columns=INDEX_COLUMNS)
    index.to_csv(folder / "index.csv", index=False, lineterminator="\n")
    return index


if __name__ == "__main__":
    if sys.argv[1:] != ["index"]:
        sys.exit("usage: python -m helpers.figures index   (writes figures/index.csv)")
    write_index()
