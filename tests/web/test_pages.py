"""Pages kept in files: text and facts in one, whoever writes them, found again by page_id."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from builders import AS_OF

from helpers.web.pages import FOLDER, keep_page, read_kept, read_title
from helpers.web.passages import read_page
from helpers.web.replay import open_world

TEXT = "<title>Rates</title>\r\n" + "12,5 °C\n" * 20_000
PAGE = {"page_id": "p1", "url": "http://x.test/"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    return tmp_path / FOLDER


def test_a_page_is_kept_once_whoever_writes_it(folder):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(partial(keep_page, PAGE), [TEXT] * 16))
    keep_page(PAGE | {"url": "http://y.test/"}, "other")
    assert [path.name for path in folder.iterdir()] == ["p1.json"]
    assert read_kept(["p0", "p1"]) == {"p1": PAGE | {"text": TEXT}} and read_kept(["p0"]) == {}


def test_a_world_that_keeps_pages_can_be_read_afterwards(folder):
    with open_world() as connect, open_world(keeps_pages=True) as connect_keeping:
        plain, keeping = connect(), connect_keeping()
        pages = [keeping.fetch(source.address, AS_OF) for source in list(keeping.sources.values())[:3]]
        plain.fetch(list(plain.sources.values())[9].address, AS_OF)
    kept = read_kept([*keeping.pages, *plain.pages])
    assert kept == {page.page_id: keeping.pages[page.page_id] | {"text": page.text} for page in pages}


def test_every_sources_page_has_the_title_that_its_reader_gives_it(world):
    web = world()
    for source in (source for source in web.sources.values() if "A" in source.windows):
        page = web.fetch(source.address, AS_OF)
        assert web.pages[page.page_id]["title"] == read_page(page.text, page.content_type)[0] == source.name
    assert read_title("<h1>Rates</h1>", "text/html") is None and read_title("[1]", "application/json") is None
