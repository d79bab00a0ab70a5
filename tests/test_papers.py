import pytest

from helpers import papers

KEYS = ["futurex", "liveagentbench", "proof_of_time", "worldreasoner"]


@pytest.mark.parametrize("key", KEYS)
def test_every_constant_has_a_section_and_every_assumption_a_reason(key):
    table = papers.list_constants(key)
    assert (table["section"] != "").all()
    assumed = table[table["status"] == "assumed"]
    assert len(assumed) and (assumed["reason"].str.len() > 10).all()


@pytest.mark.parametrize("key", KEYS)
def test_every_printed_cell_has_its_place(key):
    for table in papers.list_published(key):
        frame = papers.load_published(key, table, dtype=str)
        assert frame["section"].notna().all(), table
