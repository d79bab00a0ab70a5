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


def test_articles_that_are_not_searched_are_counted(folder, monkeypatch, capsys):
    preflight.announce_articles([folder], ["2016-10-10"])
    told = capsys.readouterr().err
    assert "on 2016-10-10 of 3 published articles 2 are older than 500 days; these are not searched" in told
    monkeypatch.setattr(preflight, "N_LISTED", 2)
    preflight.announce_articles([folder], ["2013-10-10", "2014-10-10", "2014-10-10"])
    assert "not searched" not in capsys.readouterr().err, "what is not out yet, and what all can be found, is not told"
    monkeypatch.setattr(preflight, "SHOWN_DAYS", 5000)
    preflight.announce_articles([folder], ["2016-10-10"])
    assert "1 stand beyond the newest 2" in capsys.readouterr().err


def test_what_cannot_be_read_is_named(folder, tmp_path):
    (folder / "loop.jsonl").symlink_to("loop.jsonl")
    with pytest.raises(ValueError, match=r"loop.jsonl cannot be read \(too many levels of symbolic links\)"):
        preflight.announce_articles([folder])
    (folder / "loop.jsonl").unlink()
    (folder / "gone.jsonl").symlink_to("nowhere")
    with pytest.raises(ValueError, match=r"gone.jsonl cannot be read \(no such file"):
        preflight.announce_articles([folder])
    (tmp_path / "events.tar.gz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match="an archive is broken"):
        preflight.announce_articles([tmp_path / "events.tar.gz"])
