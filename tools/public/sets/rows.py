"""What the builders of question sets share: finding a project's files, reading them, names of
models."""

import gzip
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from helpers import files
from helpers.public_files import CACHE, MIRROR

MODELS = "data/sets/models.csv"
YES_NO = {"kind": "single", "options": files.dump_json({"A": "Yes", "B": "No"}), "guess": 0.5}
"""Of the table events, a question answered by yes or no."""


def locate_folder(name: str, advice: str) -> Path:
    """Return the folder of a project's files: in the mirror that KIT_DATA_MIRROR names, else in
    .cache/public.

    Raises FileNotFoundError with `advice`, which says where its files are published.
    """
    mirror = os.environ.get(MIRROR)
    places = [CACHE / name]
    if mirror:
        places.insert(0, files.ROOT / mirror / name)
    for place in places:
        if place.is_dir():
            return place
    raise FileNotFoundError(
        f"{name} is neither in the folder of {MIRROR} nor in .cache/public; {advice}"
    )


def read_bytes(path: Path) -> bytes:
    """Return what a file holds, or the same file packed by gzip (with .gz after its name)."""
    packed = path if path.suffix == ".gz" else path.with_name(f"{path.name}.gz")
    if packed.exists():
        return gzip.decompress(packed.read_bytes())
    return path.read_bytes()


def read_json(path: Path) -> Any:
    """Return the value of a file of JSON, plain or packed."""
    return json.loads(read_bytes(path))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines, plain or packed."""
    return [json.loads(line) for line in read_bytes(path).decode().splitlines() if line.strip()]


@cache
def load_models() -> dict[str, dict[str, Any]]:
    """Return how models are called: a source's spelling -> model, model_family, version, effort."""
    table = pd.read_csv(files.ROOT / MODELS, dtype=str, keep_default_na=False)
    return {row["spelling"]: row for row in table.to_dict("records")}


def name_model(spelling: str) -> dict[str, Any]:
    """Return model, model_family and effort of a source's spelling. Raises KeyError that names the
    file."""
    known = load_models()
    if spelling not in known:
        raise KeyError(f"{spelling!r} is no spelling of {MODELS}; add a row")
    row = known[spelling]
    return {"model": row["model"], "model_family": row["family"], "effort": row["effort"] or None}


def describe_run(
    run_id: str, spelling: str, harness: str, search: str, **more: Any
) -> dict[str, Any]:
    """Return a row of the table runs; `spelling` is the model's, `more` are further columns
    (agent_id, category)."""
    about = name_model(spelling)
    named = {"run_id": run_id, "agent_id": about["model"], "category": "think_search"} | about
    return (
        named
        | {"harness": harness, "search": search}
        | more
        | {"origin": "imported", "status": "complete"}
    )


def answer_yes_no(outcomes: dict[str, int]) -> pd.DataFrame:
    """Return the table answers of outcomes by event_id: 1 for yes, 0 for no."""
    table = pd.DataFrame({"event_id": list(outcomes), "outcome": list(outcomes.values())})
    letters = table["outcome"].map({1: files.dump_json("A"), 0: files.dump_json("B")})
    return table.assign(value=letters, status="ok")
