"""Pages kept in files: text and facts in one, whoever writes them, found again by page_id."""

import pytest
from builders import AS_OF

from daybefore.web.fetched_pages import FOLDER, read_kept
from daybefore.web.replay import open_world


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    return tmp_path / FOLDER


def test_a_world_that_keeps_pages_can_be_read_afterwards(folder):
    with open_world() as connect, open_world(keeps_pages=True) as connect_keeping:
        plain, keeping = connect(), connect_keeping()
        pages = [
            keeping.fetch(source.address, AS_OF) for source in list(keeping.sources.values())[:3]
        ]
        plain.fetch(list(plain.sources.values())[9].address, AS_OF)
    kept = read_kept([*keeping.pages, *plain.pages])
    assert kept == {
        page.page_id: keeping.pages[page.page_id] | {"text": page.text} for page in pages
    }
