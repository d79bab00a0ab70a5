"""JSON lines, an object a line, as people write them: a fault is told with file and line."""

import gzip
import json
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
