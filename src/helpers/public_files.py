"""Public files the kit reads and does not hold: leaderboards, question sets, probabilities of games.

data/public.toml names each: title, public address, sha256, licence, the day it was retrieved. A file comes from the
mirror folder that the environment variable KIT_DATA_MIRROR names, else from .cache/public, else from its address; its
digest is checked whatever the way. Files without an address are derived; the toml says how to make them again.
"""

import hashlib
import logging
import os
import re
import tomllib

import requests

from helpers import store

REGISTRY = store.ROOT / "data" / "public.toml"
CACHE = store.ROOT / ".cache" / "public"
MIRROR = "KIT_DATA_MIRROR"
"""Environment variable: a folder that holds the files under their names; a relative one starts at the repository."""


def hash_file(path):
    """Return the sha256 of a file in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch_file(address, sha256, path):
    """Fetch a file from its address to `path`, unless it is there already; nothing is kept that has another sha256.

    Raises requests.RequestException when it does not arrive, ValueError when another file does.
    """
    import pooch  # here: on import it warns in a notebook without widgets

    pooch.get_logger().setLevel(logging.WARNING)
    options = {"fname": path.name, "path": path.parent, "downloader": pooch.HTTPDownloader(timeout=30)}
    pooch.retrieve(address, known_hash=f"sha256:{sha256}", **options)


def load_registry(path=REGISTRY):
    """Return the public files as a dictionary: name -> title, sha256, licence, retrieved_date, and address or rebuild.

    Raises ValueError when an entry lacks one of these, or its sha256 is none.

    >>> load_registry()["futurex/leaderboard.json"]["licence"]
    'none stated; figures only'
    """
    files = tomllib.loads(path.read_text(encoding="utf-8"))["files"]
    for name, entry in files.items():
        absent = [field for field in ("title", "sha256", "licence", "retrieved_date") if not entry.get(field)]
        if absent or not (entry.get("address") or entry.get("rebuild")):
            raise ValueError(f"{path.name}: {name} has no {absent[0] if absent else 'address and no rebuild'}")
        if not re.fullmatch("[0-9a-f]{64}", entry["sha256"]):
            raise ValueError(f"{path.name}: the sha256 of {name} is not 64 hex digits")
    return files


def locate_public(name, registry=REGISTRY, cache=CACHE):
    """Return the path of a public file whose sha256 is the registry's, fetching it into the cache when need be.

    Raises LookupError for a name the registry lacks, ValueError when a mirror's file has another digest, and
    FileNotFoundError, with what to do, when the file is neither mirrored nor cached nor can be downloaded.
    """
    files = load_registry(registry)
    if name not in files:
        raise LookupError(f"no public file {name!r}; {registry.name} has {', '.join(files)}")
    entry, mirror, cached = files[name], os.environ.get(MIRROR), cache / name
    mirrored = store.ROOT / mirror / name if mirror else None
    if mirrored and mirrored.exists():
        if hash_file(mirrored) != entry["sha256"]:
            raise ValueError(
                f"{name} in the folder of {MIRROR} is not the file of {entry['retrieved_date']} that {registry.name} "
                "names (its sha256 differs); mirror that one, or leave it out of the folder"
            )
        return mirrored
    if not (cached.exists() and hash_file(cached) == entry["sha256"]):
        download_file(name, entry, cached)
    return cached


def download_file(name, entry, path):
    """Fetch a public file from its address; nothing is kept that has another digest.

    Raises FileNotFoundError when it has no address, does not arrive, or has changed since it was retrieved.
    """
    instead = f"name a folder that holds it in {MIRROR}, or put it at .cache/public/{name}"
    if "address" not in entry:
        raise FileNotFoundError(
            f"{name} is derived, has no address of its own, and is not there with its sha256; {instead} "
            "(data/public.toml says how to rebuild it)"
        )
    try:
        fetch_file(entry["address"], entry["sha256"], path)
    except requests.RequestException as problem:
        raise FileNotFoundError(
            f"{name} is neither mirrored nor cached, and {entry['address']} could not be read "
            f"({type(problem).__name__}); {instead}"
        ) from None
    except ValueError:
        raise FileNotFoundError(
            f"{name} at {entry['address']} has changed since {entry['retrieved_date']} (its sha256 differs); {instead}"
        ) from None


def describe_source(*names, registry=REGISTRY):
    """Return what a figure says of the public files it rests on: titles and the day they were retrieved.

    >>> describe_source("futurex/leaderboard.json")
    'FutureX public leaderboard, retrieved 2026-11-22'
    """
    files = load_registry(registry)
    titles = "; ".join(files[name]["title"] for name in names)
    dates = sorted({files[name]["retrieved_date"] for name in names})
    return f"{titles}, retrieved {' and '.join(dates)}"


def fetch_all(registry=REGISTRY, cache=CACHE):
    """Return for each public file "" when it is there, fetched if need be, else the sentence that says why not.

    A notebook fails on the files it needs; this fetches what it can beforehand, all in one go.
    """
    problems = {}
    for name in load_registry(registry):
        try:
            locate_public(name, registry, cache)
            problems[name] = ""
        except (FileNotFoundError, ValueError) as problem:
            problems[name] = str(problem)
    return problems


if __name__ == "__main__":
    for file_name, why in fetch_all().items():
        print(why or f"{file_name} is there")
