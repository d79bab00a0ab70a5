"""JSON lines, an object a line, as people write them (a fault is told with file and line); plain JSON of any value."""

import gzip
import json
import math
import zlib
from pathlib import Path


def read_lines(path, find_faults):
    """Yield (place, object) of a JSON-lines file (.gz too); a place is "file, line n". Empty lines are passed over.

    `find_faults(object)` returns what is wrong with one. Raises ValueError with place and reason, and for a file that
    cannot be unpacked or decoded.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} cannot be read ({error})") from None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        place = f"{path.name}, line {number}"
        try:
            record = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{place}: no JSON ({error})") from None
        if said := find_faults(record):
            raise ValueError(f"{place}: {said[0]}")
        yield place, record


def clean_json(value, n_digits=None):
    """Return a value as plain JSON has it: numpy's numbers as Python's, rounded to digits, what is not finite as None.

    >>> clean_json({"mean": float("nan"), 1: (0.125, True)}, 2)
    {'mean': None, '1': [0.12, True]}
    """
    if isinstance(value, dict):
        return {str(key): clean_json(cell, n_digits) for key, cell in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(cell, n_digits) for cell in value]
    value = value.item() if hasattr(value, "item") else value
    if not isinstance(value, float):
        return value
    return None if not math.isfinite(value) else value if n_digits is None else round(value, n_digits)
