"""What a run says of articles of one's own before anything is asked."""

import json

import pytest

from helpers.cli import preflight


@pytest.fixture
def folder(tmp_path):
    """A folder of three articles, two of them old."""
    rows = [{"id": str(year), "title": "T", "text": "x", "published": f"{year}-10-01"} for year in (2013, 2014, 2016)]
    (tmp_path / "own").mkdir()
    (tmp_path / "own/a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "own"


def test_what_cannot_be_read_is_named(folder, tmp_path):
    (tmp_path / "events.tar.gz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match="an archive is broken"):
        preflight.announce_articles([tmp_path / "events.tar.gz"])
