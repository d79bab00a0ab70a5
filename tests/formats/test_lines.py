"""Files of strangers: what is too large, no JSON, nested too deep or half a character is one named sentence."""

import gzip
import json

import pytest

from helpers.formats import lines


def read(path):
    return list(lines.read_lines(path, lambda record: []))


def test_a_line_ends_where_a_file_ends_it_and_a_byte_order_mark_is_no_text(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('\ufeff{"a": "one\u2028two\u0085three"}\r\n\n{"a": 2}\n', encoding="utf-8", newline="")
    assert read(path) == [("a.jsonl, line 1", {"a": "one\u2028two\u0085three"}), ("a.jsonl, line 3", {"a": 2})]


def test_what_is_unpacked_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MAX_BYTES", 1 << 20)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1}\n' * 500_000))
    with pytest.raises(ValueError, match=r"^a\.jsonl\.gz is larger than 1 MB, unpacked; split it$"):
        read(tmp_path / "a.jsonl.gz")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"a": 1}')[:-9])
    with pytest.raises(ValueError, match=r"b\.jsonl\.gz cannot be read"):
        read(tmp_path / "b.jsonl.gz")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "a.jsonl, line 2: no JSON"),
        ("[" * 200_000, "a.jsonl, line 2 is nested too deep"),
        (json.dumps({"id": "\ud800"}), "a.jsonl, line 2 holds half a character"),
        ('{"a": -Infinity, "b": ' + "9" * 5000, "a.jsonl, line 2: no JSON"),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path, line, said):
    (tmp_path / "a.jsonl").write_text("{}\n" + line, encoding="utf-8")
    with pytest.raises(ValueError) as problem:
        read(tmp_path / "a.jsonl")
    assert str(problem.value).startswith(said)


def test_a_number_of_many_digits_is_infinite_and_a_whole_character_stays(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"n": ' + "9" * 5000 + ', "s": "\\ud83d\\ude00"}', encoding="utf-8")
    assert read(tmp_path / "a.jsonl")[0][1] == {"n": float("inf"), "s": "😀"}
