import pytest

from helpers import papers

KEYS = ["futurex", "liveagentbench", "proof_of_time", "worldreasoner"]


def write_paper(folder, text, key="mini"):
    (folder / f"{key}.toml").write_text(text, encoding="utf-8")


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


def test_futurex_level_weights_add_up_to_one():
    weights = papers.get_constant("futurex", "level_weights")
    assert weights == (0.1, 0.2, 0.3, 0.4)
    assert sum(weights) == pytest.approx(1)


def test_keep_rate_is_the_papers_example():
    assert papers.get_constant("futurex", "keep_binary") == pytest.approx(36 / 193)


def test_unknown_names_list_what_exists():
    with pytest.raises(LookupError, match="there are futurex, liveagentbench"):
        papers.load_paper("future")
    with pytest.raises(LookupError, match="it has .*level_weights"):
        papers.get_constant("futurex", "level_weight")
    with pytest.raises(LookupError, match="table5_planning_scores"):
        papers.load_published("futurex", "table6")


def test_constant_without_section_is_refused(tmp_path):
    write_paper(tmp_path, "[constants]\nhours = { value = 3 }\n")
    with pytest.raises(ValueError, match="constants.hours has no section"):
        papers.load_paper("mini", tmp_path)


def test_assumption_without_reason_is_refused(tmp_path):
    write_paper(tmp_path, '[assumed]\nhours = { value = 3, section = "1" }\n')
    with pytest.raises(ValueError, match="assumed.hours has no reason"):
        papers.load_paper("mini", tmp_path)


def test_constant_zero_and_false_are_values(tmp_path):
    write_paper(tmp_path, '[constants]\nlow = { value = 0, section = "1" }\noff = { value = false, section = "1" }\n')
    assert papers.get_constant("mini", "low", tmp_path) == 0
    assert papers.get_constant("mini", "off", tmp_path) is False


def test_name_both_printed_and_assumed_is_refused(tmp_path):
    entry = '{ value = 3, section = "1", reason = "because" }'
    write_paper(tmp_path, f"[constants]\nhours = {entry}\n[assumed]\nhours = {entry}\n")
    with pytest.raises(ValueError, match="hours stands in constants and in assumed"):
        papers.load_paper("mini", tmp_path)


def test_a_text_is_parsed_again_when_python_miscounts_between_threads(monkeypatch):
    parse, left = papers.ast.parse, [SystemError("AST constructor recursion depth mismatch")] * 2

    def stumble(text):
        if left:
            raise left.pop()
        return parse(text)

    monkeypatch.setattr(papers.ast, "parse", stumble)
    assert papers.find_reads("get_constant('futurex', 'parsed_again')") == (("futurex", "parsed_again"),)
    assert left == []
    with pytest.raises(SyntaxError):
        papers.parse_code("def")
