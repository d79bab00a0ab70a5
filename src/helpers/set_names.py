"""Question sets by name: what each is called, on which days its questions start, and whether its
words are public.

A set is a folder with a set.toml (`helpers.sets`): those with the repository, those built on this
machine, and any folder by its path. It is known by a name that a person can say, and by the short
one of its window, which ids of events, folders of tables and recorded runs carry; of a set without
one the window is its name.
"""

import re
import tomllib
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from helpers.folders import ABOUT, list_folders


class QuestionSet(NamedTuple):
    """A question set: its names, its first and last start day (both included), and what it is for.

    The words of a set that `keeps_words` are not ours to pass on: of a reply to them its values are
    exported, and the replay web does not pose them. `folder` is that of its set.toml.
    """

    name: str
    window: str
    first: str
    last: str
    about: str
    keeps_words: bool = False
    folder: Any = None


DEFAULT = "october-2016"
"""The set that is meant where none is named."""

DAY = re.compile(r"(?:day-20(\d\d)-(\d\d)-(\d\d)|d(\d\d)(\d\d)(\d\d))", re.IGNORECASE)
"""Names of the sets that `daybefore day` makes: day-2026-11-25, in ids D261125."""


@lru_cache(maxsize=256)
def read_toml(path: Path, changed_at: int) -> dict:
    """Return what a set.toml says, read once for each time it changed; `helpers.sets` checks it."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {error}") from None


def read_about(folder: Path) -> dict:
    """Return what the set.toml of a folder says."""
    path = folder / ABOUT
    return read_toml(path, path.stat().st_mtime_ns)


def open_folder(folder: Path) -> QuestionSet:
    """Return the set of a folder that holds a set.toml."""
    about = read_about(folder)
    return QuestionSet(
        folder.name,
        about.get("window") or folder.name,
        about.get("first") or "",
        about.get("last") or "",
        about.get("about") or about.get("title") or "",
        "words" not in about.get("has", ()),
        folder,
    )


def list_sets() -> list[QuestionSet]:
    """Return the sets that are here: the kit's own in their order, then those of other projects by
    name.

    >>> [one.name for one in list_sets()][:2], "blf" in [one.name for one in list_sets()]
    (['october-2016', 'june-2026'], True)
    """
    folders = list_folders().values()
    places = {folder: read_about(folder).get("place") or 99 for folder in folders}
    return [
        open_folder(folder)
        for folder in sorted(folders, key=lambda folder: (places[folder], folder.name))
    ]


def list_windows(*, is_replay: bool) -> dict[str, tuple[str, str]]:
    """Return {window: (first, last start day)} of the kit's sets whose web is the replay's, or of
    the public ones."""
    found = {}
    for one in list_sets():
        about = read_about(one.folder)
        if about.get("window") and about.get("replay", False) == is_replay:
            found[one.window] = (one.first, one.last)
    return found


WINDOWS = list_windows(is_replay=True)
"""Windows that the replay web poses: first and last start day."""

PUBLIC_WINDOWS = list_windows(is_replay=False)
"""Windows of the kit that are built from public files."""


def name_day(day: date) -> str:
    """Return the name of a day's own question set (`day`: a date).

    >>> name_day(date(2026, 11, 25)), find_set("day-2026-11-25").window
    ('day-2026-11-25', 'D261125')
    """
    return f"day-{day:%Y-%m-%d}"


def is_day(window: str) -> bool:
    """Tell whether a window is that of a day's own set."""
    return bool(DAY.fullmatch(window))


def find_set(name: str | Path) -> QuestionSet:
    """Return the set of a name or a window, whatever the case, _ or -, or of the path of a folder.

    Raises ValueError with the nearest name for another.

    >>> find_set("October-2016").window, find_set("M").name
    ('A', 'markets')
    >>> find_set("markts")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: there is no question set 'markts'; did you mean markets? There are october-2016, ...
    """
    text = str(name).strip()
    if found := DAY.fullmatch(text):
        year, month, day = (part for part in found.groups() if part)
        iso = f"20{year}-{month}-{day}"
        return QuestionSet(
            f"day-{iso}", f"D{year}{month}{day}", iso, iso, "a day of one's own benchmark"
        )
    sets = list_sets()
    known = {
        key.casefold().replace("_", "-"): one for one in sets for key in (one.name, one.window)
    }
    if (one := known.get(text.casefold().replace("_", "-"))) is not None:
        return one
    if text and (Path(text) / ABOUT).is_file():
        return open_folder(Path(text).resolve())
    from helpers.input_faults import list_nearest  # here: it takes a second to import

    names = [one.name for one in sets]
    raise ValueError(
        f"there is no question set {name!r}{list_nearest(text.casefold(), names, 'data/sets/README.md')}"
    )


def list_days(window: str | Path) -> list[str]:
    """Return a set's start days as ISO dates; none where its set.toml says none.

    >>> list_days("A")[0], len(list_days("october-2016"))
    ('2016-10-10', 15)
    """
    one = find_set(window)
    if not one.first:
        return []
    first = date.fromisoformat(one.first)
    last = date.fromisoformat(one.last)
    return [str(first + timedelta(days=n)) for n in range((last - first).days + 1)]
