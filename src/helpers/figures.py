"""One style for all figures; each is saved as an image with the numbers it shows and with what they
rest on.

The image carries its own description (title, source, n, window, dates, status) as PNG text;
figures/index.csv is read back from there, so the index cannot say anything else than the images.
"""

import json
import sys
from collections.abc import Mapping
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from IPython.display import Image
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from PIL import Image as Picture
from PIL.PngImagePlugin import PngInfo

from helpers.files import locate_output
from helpers.input_faults import escape_cells
from helpers.set_names import find_set, list_days

STATUSES = {
    "printed": "paper's printed numbers",
    "public": "public data",
    "replay": "replay of real series",
    "synthetic": "synthetic",
    "as given": "as given",
}
"""Whose data a figure shows, and how its footer says so; as given: a user's own, of which the kit
knows no more."""

DPI, SHOWN_DPI = 200, 100
"""Dots an inch of the file, and of the image that a notebook shows."""
N_COLOURS = 64
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
    "legend.title_fontsize": 9,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "mathtext.fontset": "dejavusans",
}


def use_style() -> None:
    """Set the kit's look over matplotlib's defaults: a palette for colour-blind readers, fixed
    sizes, its own font."""
    backend = mpl.get_backend()
    mpl.rcdefaults()
    mpl.use(backend)
    sns.set_theme(style="whitegrid", palette="colorblind", font="DejaVu Sans", rc=STYLE)
    mpl.rcParams["font.family"] = ["DejaVu Sans"]


def save_figure(
    fig: Figure,
    name: str,
    shown: pd.DataFrame,
    *,
    title: str,
    source: str,
    n: int,
    window: str,
    status: str,
    dates: str | tuple[str, str] | None = None,
    unit: str = "",
) -> Image:
    """Write figures/<name>.png and .svg and, as .csv, the numbers shown; return a smaller image for
    the notebook.

    `n` counts what the figure rests on, in a `unit` ("events"); `window` is a question set's name
    or key, or ""; `dates` is a pair of ISO dates or a text, by default the set's first and last
    start day, where it has them; `status` is one of `STATUSES`. They stand under the figure, in the
    image and in figures/index.csv. `shown` is rounded to 6 decimals. Closes the figure; the same
    figure gives the same bytes. Raises ValueError for an empty `shown` and n below 1.
    """
    if len(shown) == 0 or int(n) < 1:
        raise ValueError(
            f"figure {name}: n is {n}, {len(shown)} numbers are shown; a figure rests on one case at least"
        )
    if dates is None:
        days = list_days(window)
        dates = (days[0], days[-1]) if days else ""
    dates = dates if isinstance(dates, str) else " to ".join(map(str, dates))
    if Path(window).is_absolute():
        window = find_set(window).name
    facts = {"n": int(n), "window": window, "dates": dates, "status": STATUSES[status]}
    said = (f"n = {int(n):,} {unit}".rstrip(), name_sets(window), dates, STATUSES[status])
    draw_caption(fig, ", ".join(filter(None, said)))
    daybefore = json.dumps(facts, sort_keys=True, ensure_ascii=False)
    image = locate_output(f"figures/{name}.png")
    texts = {"Title": title, "Description": source, "daybefore": daybefore}
    shown_image = BytesIO()
    write_image(fig, shown_image, texts, SHOWN_DPI)
    write_image(fig, image, texts, DPI)
    write_vectors(fig, image.with_suffix(".svg"), title)
    escape_cells(shown.round(6)).to_csv(image.with_suffix(".csv"), index=False, lineterminator="\n")
    plt.close(fig)
    return Image(shown_image.getvalue())


def name_sets(window: str) -> str:
    """Return question sets by their names, given by names or keys: "A, june-2026" -> "october-2016,
    june-2026"."""
    return ", ".join(name_set(key) for key in window.split(", ") if key)


def name_set(key: str) -> str:
    """Return the name of a question set given by a name or key; that of a folder elsewhere as it
    is."""
    try:
        return find_set(key).name
    except ValueError:
        return key


def write_vectors(fig: Figure, path: Path, title: str) -> None:
    """Write a figure as SVG, its text as text; the same figure gives the same bytes."""
    with mpl.rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none"}):
        metadata = {"Date": None, "Creator": None, "Title": title}
        fig.savefig(path, format="svg", bbox_inches="tight", metadata=metadata)


def write_image(fig: Figure, file: Any, texts: Mapping, dpi: int) -> None:
    """Write a figure as PNG of 64 colours, a quarter of the bytes of all its shades, with `texts`
    as its metadata."""
    drawn = BytesIO()
    metadata = PngInfo()
    fig.set_dpi(dpi)
    tight = fig.get_tightbbox().padded(
        mpl.rcParams["savefig.pad_inches"]
    )  # "tight" would draw all of it once more
    fig.savefig(drawn, dpi=dpi, bbox_inches=tight, pil_kwargs={"compress_level": 0})
    for name, text in texts.items():
        metadata.add_text(name, text)
    with Picture.open(drawn) as picture:
        few = reduce_colours(picture.convert("RGB"), list_colours(fig))
    few.save(file, "PNG", dpi=(dpi, dpi), pnginfo=metadata, optimize=True)


def list_colours(fig: Figure) -> set[tuple]:
    """Return the opaque colours of a figure's lines, marks and areas, as a set of (red, green,
    blue) from 0 to 255."""
    given = []
    for artist in fig.findobj(
        lambda one: hasattr(one, "get_facecolor") or hasattr(one, "get_markerfacecolor")
    ):
        for name in ("get_color", "get_facecolor", "get_edgecolor"):
            given += list(to_rgba_array(getattr(artist, name)())) if hasattr(artist, name) else []
    return {tuple(round(255 * part) for part in colour[:3]) for colour in given if colour[3] == 1}


def reduce_colours(picture: Any, colours: set[tuple]) -> Picture.Image:
    """Return a picture in a palette, in which each of some colours that it shows is itself, or
    nearly.

    Median cut alone may give two series that are drawn thinly one shade; then these colours take
    places of their own.
    """
    drawn = np.array([colour for _, colour in picture.getcolors(picture.width * picture.height)])
    apart = {colour: np.abs(drawn - colour).max(axis=1) for colour in {(255,) * 3} | colours}
    shown = sorted(
        {tuple(map(int, drawn[far.argmin()])) for far in apart.values() if far.min() <= 1}
    )
    n = N_COLOURS if 2 * len(shown) < N_COLOURS else 256
    few = picture.quantize(n, Picture.Quantize.MEDIANCUT, dither=Picture.Dither.NONE)
    kept = np.array([colour for _, colour in few.convert("RGB").getcolors() or ()])
    if len(shown) >= n or all(np.abs(kept - colour).max(axis=1).min() <= 12 for colour in shown):
        return few
    rest = picture.quantize(n - len(shown), Picture.Quantize.MEDIANCUT, dither=Picture.Dither.NONE)
    places = np.array(rest) + len(shown)
    for place, colour in enumerate(shown):
        places[(np.array(picture) == colour).all(axis=-1)] = place
    few = Picture.fromarray(places.astype(np.uint8), "P")
    few.putpalette([part for colour in shown for part in colour] + list(rest.getpalette() or ()))
    return few


def draw_caption(fig: Figure, text: str) -> None:
    """Write a small line under everything the figure holds, at its left edge; the layout is worked
    out here."""
    if engine := fig.get_layout_engine():
        engine.execute(fig)
    with mpl.rc_context({"figure.constrained_layout.use": False}):
        fig.set_layout_engine("none" if fig.legends else None)
    for (
        legend
    ) in fig.legends:  # fixed, else it moves with the edge of what is saved, onto this line
        legend.set_bbox_to_anchor((0, 0, 1, 1), fig.transFigure)
    drawn = fig.get_tightbbox()
    width, height = fig.get_size_inches()
    fig.text(
        drawn.x0 / width,
        (drawn.y0 - 0.08) / height,
        text,
        ha="left",
        va="top",
        fontsize=8,
        color="0.35",
    )


def write_index(folder: str | Path | None = None) -> pd.DataFrame:
    """Write index.csv, a row for each image under `folder` (default: figures), sorted by name;
    return the table.

    index.html shows the same rows beside the images.
    """
    folder = Path(folder) if folder else locate_output("figures/index.csv").parent
    rows = []
    for image in folder.rglob("*.png"):
        with Picture.open(image) as picture:
            text = picture.info
        facts = json.loads(text["daybefore"])
        facts |= {
            "title": text["Title"],
            "source": text["Description"],
            "window": name_sets(facts["window"]),
        }
        rows.append(facts | {"figure": image.relative_to(folder).with_suffix("").as_posix()})
    rows.sort(key=lambda row: row["figure"])
    index = pd.DataFrame(rows, columns=INDEX_COLUMNS)
    escape_cells(index).to_csv(folder / "index.csv", index=False, lineterminator="\n")
    (folder / "index.html").write_text(write_page(index), encoding="utf-8")
    return index


def write_page(index: pd.DataFrame) -> str:
    """Return a page of all figures: each image with its title, n, source and whose data it
    shows."""
    rows = "\n".join(write_row(row) for row in index.to_dict("records"))
    return f"""<!doctype html>
<meta charset="utf-8">
<title>All figures</title>
<style>
body {{ font-family: sans-serif; max-width: 60em; margin: 2em auto }}
td {{ padding: 0.5em; vertical-align: top }}
img {{ width: 20em }}
</style>
<h1>All {len(index)} figures</h1>
<table>
{rows}
</table>
"""


def write_row(row: dict) -> str:
    """Return a figure's row of the page: the image leads to itself in full, and its numbers to the
    csv."""
    name, title, source = (escape(row[key]) for key in ("figure", "title", "source"))
    said = escape(", ".join(filter(None, [row["window"], row["dates"], row["status"]])))
    return (
        f'<tr><td><a href="{name}.png"><img src="{name}.png" alt="{title}" loading="lazy"></a></td>'
        f"<td><b>{title}</b><br>n = {row['n']:,}<br>source: {source}<br>{said}<br>"
        f'<a href="{name}.csv">numbers</a> <a href="{name}.svg">svg</a></td></tr>'
    )


if __name__ == "__main__":
    write_index() if sys.argv[1:] == ["index"] else sys.exit(
        "usage: python -m helpers.figures index"
    )
