"""Which of WorldReasoner's public questions are among the 120 that the paper evaluates."""

import json

from builders import PUBLIC, needs_public

from daybefore.formats.worldreasoner import select_questions


@needs_public
def test_of_the_82_public_questions_30_and_of_the_40_asked_26_are_the_papers():
    papers = set((PUBLIC / "worldreasoner" / "include_ids.txt").read_text("utf-8").split())
    public = json.loads(
        (PUBLIC / "worldreasoner" / "questions_with_event_cards.json").read_text("utf-8")
    )
    asked = select_questions(public)
    assert (len(papers), len(public), len(asked)) == (120, 82, 40)
    assert len({row["id"] for row in public} & papers) == 30
    assert len({row["id"] for row in asked} & papers) == 26
