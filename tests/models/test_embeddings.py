"""Embeddings: the similarities that the model's makers print."""

import numpy as np
import pytest

from daybefore.models.embeddings import MODEL, embed_texts
from daybefore.models.model_files import FOLDER

PATH = FOLDER / MODEL["file"]
TEXTS = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]


@pytest.mark.skipif(
    not PATH.exists(), reason="`python -m daybefore.models.embeddings` fetches the model"
)
def test_similarities_are_those_that_its_makers_print():
    vectors = embed_texts(TEXTS, PATH)
    printed = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    np.testing.assert_allclose(vectors @ vectors.T, printed, atol=6e-5)
