"""Which of WorldReasoner's public questions are among the 120 that the paper evaluates."""

import json
import os
from pathlib import Path

import pytest

from daybefore.formats.worldreasoner import select_questions
from helpers.public_files import MIRROR

FOLDER = Path(os.environ.get(MIRROR, "no mirror")) / "worldreasoner"
needs_mirror = pytest.mark.skipif(not FOLDER.exists(), reason="needs the public files: set KIT_DATA_MIRROR")


@needs_mirror
def test_of_the_82_public_questions_30_and_of_the_40_asked_26_are_the_papers():
    papers = set((FOLDER / "include_ids.txt").read_text("utf-8").split())
    public = json.loads((FOLDER / "questions_with_event_cards.json").read_text("utf-8"))
    asked = select_questions(public)
    assert (len(papers), len(public), len(asked)) == (120, 82, 40)
    assert len({row["id"] for row in public} & papers) == 30
    assert len({row["id"] for row in asked} & papers) == 26
