"""Embeddings: the model's published similarities, and that a text's vector is its own."""

import numpy as np
import pytest
from public.embeddings import MODEL, embed_texts

from helpers.models.files import FOLDER

PATH = FOLDER / MODEL["file"]
TEXTS = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]

needs_embedder = pytest.mark.skipif(
    not PATH.exists(), reason="the embedding model is not there; `python -m public.embeddings` fetches it"
)


@needs_embedder
def test_similarities_are_those_that_its_makers_print():
    vectors = embed_texts(TEXTS, PATH)
    printed = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    np.testing.assert_allclose(vectors @ vectors.T, printed, atol=6e-5)


@needs_embedder
def test_a_vector_depends_on_its_text_alone():
    together, alone = embed_texts(TEXTS, PATH), embed_texts(TEXTS[1:2], PATH)
    np.testing.assert_allclose(together[1], alone[0], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    assert embed_texts([], PATH).shape == (0, 384)
    long = embed_texts(["rain " * 400, "rain " * 1000, ""], PATH)
    np.testing.assert_allclose(long[0], long[1], atol=1e-6, err_msg="what is beyond 256 tokens is cut off")
    assert np.isfinite(long).all()
