"""Public files the kit does not hold (leaderboards, question sets, games), and the small tables
made from them.

data/public.toml names each: title, public address, sha256, licence, the day it was retrieved. A
file comes from the mirror folder that the environment variable KIT_DATA_MIRROR names, else from
.cache/public, else from its address; its digest is checked whatever the way. Files without an
address are derived; the toml says how to make them again. Notebooks read the tables in data/public,
which tools/public builds from these files (`make public`).
"""

import hashlib
import logging
import os
import tomllib
from pathlib import Path

import pandas as pd
import requests

from helpers.files import ROOT, locate_input

REGISTRY = ROOT / "data" / "public.toml"
INDEX = "data/public/index.csv"
SET = "set:"
"""How a question set is named among a table's sources."""
CACHE = ROOT / ".cache" / "public"
MIRROR = "KIT_DATA_MIRROR"
"""Environment variable: a folder that holds the files under their names; a relative one starts at
the repository."""


def hash_file(path: str | Path) -> str:
    """Return the sha256 of a file in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch_file(address: str, sha256: str, path: Path) -> None:
    """Fetch a file from its address to `path`, unless it is there already; nothing is kept that has
    another sha256.

    Raises requests.RequestException when it does not arrive, ValueError when another file does.
    """
    import pooch  # here: on import it warns in a notebook without widgets

    pooch.get_logger().setLevel(logging.WARNING)
    options = {
        "fname": path.name,
        "path": path.parent,
        "downloader": pooch.HTTPDownloader(timeout=30),
    }
    pooch.retrieve(address, known_hash=f"sha256:{sha256}", **options)


def load_registry() -> dict[str, dict]:
    """Return the public files as a dictionary: name -> title, sha256, licence, retrieved_date, and
    address or rebuild.

    >>> load_registry()["futurex/leaderboard.json"]["licence"]
    'none stated; figures only'
    """
    return tomllib.loads(REGISTRY.read_text(encoding="utf-8"))["files"]


def find_entry(source: str) -> dict:
    """Return what the registry has of a public file, or of a question set ("set:<name>") its
    set.toml says.

    A set is built from many files, so it has no digest of its own. Raises KeyError for an unknown
    file.

    >>> find_entry("set:futuresim")["licence"]
    'none stated; figures only'
    """
    if not source.startswith(SET):
        return load_registry()[source]
    place = locate_input(f"data/sets/{source.removeprefix(SET)}/set.toml")
    about = tomllib.loads(place.read_text(encoding="utf-8"))
    entry = {
        "title": about["title"],
        "sha256": "of many files",
        "retrieved_date": about["retrieved"],
    }
    return entry | {"licence": about.get("licence", "none stated; figures only")}


def locate_public(name: str) -> Path:
    """Return the path of a public file whose sha256 is the registry's, fetching it into the cache
    when need be.

    Raises LookupError for a name the registry lacks, ValueError when a mirror's file has another
    digest, and FileNotFoundError, with what to do, when the file is neither mirrored nor cached,
    and has no address, does not arrive, or has changed since it was retrieved.
    """
    files = load_registry()
    if name not in files:
        raise LookupError(f"no public file {name!r}; {REGISTRY.name} has {', '.join(files)}")
    entry = files[name]
    mirror = os.environ.get(MIRROR)
    cached = CACHE / name
    mirrored = ROOT / mirror / name if mirror else None
    if mirrored and mirrored.exists():
        if hash_file(mirrored) != entry["sha256"]:
            raise ValueError(
                f"{name} in the folder of {MIRROR} is not the file of {entry['retrieved_date']} that {REGISTRY.name} "
                "names (its sha256 differs); mirror that one, or leave it out of the folder"
            )
        return mirrored
    if cached.exists() and hash_file(cached) == entry["sha256"]:
        return cached
    why = "is derived, has no address of its own, and is not there (data/public.toml says how to rebuild it)"
    try:
        if "address" in entry:
            fetch_file(entry["address"], entry["sha256"], cached)
            return cached
    except requests.RequestException as problem:
        kind = type(problem).__name__
        why = f"is neither mirrored nor cached, and {entry['address']} could not be read ({kind})"
    except ValueError:
        why = f"at {entry['address']} has changed since {entry['retrieved_date']} (its sha256 differs)"
    raise FileNotFoundError(
        f"{name} {why}; name a folder that holds it in {MIRROR}, or put it at .cache/public/{name}"
    )


def read_public(name: str) -> pd.DataFrame:
    """Return the table data/public/<name>.csv, made from public files. Raises FileNotFoundError
    when it is not there.

    >>> len(read_public("futurex_board"))
    23
    """
    return pd.read_csv(locate_input(f"data/public/{name}.csv"))


def describe_source(*names: str) -> str:
    """Return what a figure says of the tables of data/public (or public files) it rests on: titles,
    day of retrieval.

    >>> describe_source("futurex_board")
    'FutureX public leaderboard, retrieved 2026-11-22'
    """
    index = pd.read_csv(locate_input(INDEX), index_col="name")
    sources = [index["sources"].get(name, name).split("; ") for name in names]
    entries = [find_entry(source) for source in dict.fromkeys(sum(sources, []))]
    titles = "; ".join(entry["title"] for entry in entries)
    return f"{titles}, retrieved {' and '.join(sorted({entry['retrieved_date'] for entry in entries}))}"
