"""Sets recorded from other projects' files: built again byte for byte, scored by their own rule."""

import pytest
from builders import needs_public

from daybefore.scoring.run_scores import load_scores
from helpers.files import ROOT


def test_scores_by_the_sources_rule_say_so():
    scored = load_scores("futurex_past_gpt5")
    rows = scored.scores[scored.scores["is_scored"].astype(bool)]
    assert len(rows) == 846 and rows["reason"].eq("scored by the source's own rule").all()


@needs_public
@pytest.mark.parametrize("builder", ["blf", "worldcup", "delib", "futurex_past_gpt5"])
def test_sets_are_built_again_byte_for_byte(builder, tmp_path, monkeypatch):
    from public.sets import build

    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    for name in build.build_sets(builder):
        made = sorted((tmp_path / "data/sets" / name).glob("*.gz"))
        assert made
        for path in made:
            kept = ROOT / "data/sets" / name / path.name
            assert path.read_bytes() == kept.read_bytes(), path.name
