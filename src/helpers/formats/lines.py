"""JSON as strangers write it, bounded before it is read: a file, or an object a line; and plain JSON of a value."""

import gzip
import json
import math
import zlib
from pathlib import Path

MAX_BYTES = 256 << 20
"""Most bytes of a file, unpacked."""


def read_text(path):
    """Return the text of a file (.gz too). Raises ValueError that names it, for one too large, broken or not UTF-8."""
    path = Path(path)
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ValueError(f"{path.name} is larger than {MAX_BYTES >> 20} MB, unpacked; split it")
        return data.decode("utf-8-sig")
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"{path.name} cannot be read ({error})") from None


def parse_text(text, place):
    """Return what a text of JSON holds, whole numbers of more than 300 digits as infinite.

    Raises ValueError that names the place for what is no JSON, is nested too deep, or holds half a character (a lone
    surrogate, which no file can hold).
    """
    try:
        value = json.loads(text, parse_int=lambda digits: int(digits) if len(digits) <= 300 else math.inf)
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError(f"{place} is nested too deep") from None
    except UnicodeEncodeError:
        raise ValueError(f"{place} holds half a character (a lone surrogate); write it whole") from None
    except ValueError as error:
        raise ValueError(f"{place}: no JSON ({error})") from None
    return value


def read_lines(path, find_faults):
    """Yield (place, object) of a JSON-lines file (.gz too); a place is "file, line n". Empty lines are passed over.

    `find_faults(object)` returns what is wrong with one. Raises ValueError with place and reason, and what `read_text`
    and `parse_text` do.
    """
    path = Path(path)
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            place = f"{path.name}, line {number}"
            record = parse_text(line, place)
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
