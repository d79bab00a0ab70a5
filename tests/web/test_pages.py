"""Pages kept in files: text and facts once by digest, whoever writes them, found again by page_id."""

import contextlib
import resource
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from hashlib import sha256

import pytest
from builders import AS_OF

from helpers.web.pages import FOLDER, keep_page, read_kept, read_text, read_title
from helpers.web.passages import read_page
from helpers.web.replay import open_world

TEXT = "<title>Rates</title>\r\n" + "12,5 °C\n" * 20_000
PAGE = {"page_id": "p1", "url": "http://x.test/", "content_sha256": sha256(TEXT.encode()).hexdigest()}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    return tmp_path / FOLDER


def test_a_page_is_kept_once_by_its_digest_whoever_writes_it(folder):
    with ProcessPoolExecutor(4) as pool:
        kept = list(pool.map(partial(keep_page, PAGE), [TEXT] * 16))
    assert kept == [PAGE | {"text_path": f"{FOLDER}/{PAGE['content_sha256']}"}] * 16
    assert sorted(path.name for path in folder.iterdir()) == sorted([PAGE["content_sha256"], "p1.json"])
    assert sha256(read_text(kept[0]["text_path"]).encode()).hexdigest() == PAGE["content_sha256"]


def test_what_is_kept_is_never_written_again(folder):
    keep_page(PAGE, TEXT)
    keep_page(PAGE | {"url": "http://y.test/"}, "other")
    found = read_kept(["p0", "p1"])
    assert found["url"].tolist() == ["http://x.test/"] and read_text(found["text_path"].iloc[0]) == TEXT
    assert read_kept(["p0"]).empty


def test_a_world_that_keeps_pages_can_be_read_afterwards(folder):
    with open_world() as connect, open_world(keeps_pages=True) as connect_keeping:
        plain, keeping = connect(), connect_keeping()
        pages = [keeping.fetch(source.address, AS_OF) for source in list(keeping.sources.values())[:3]]
        plain.fetch(pages[0].url, AS_OF)
    found = read_kept([page.page_id for page in pages])
    assert [read_text(path) for path in found["text_path"]] == [page.text for page in pages]
    assert found.dropna(axis=1).to_dict("records") == [
        {name: keeping.pages[page.page_id][name] for name in found.dropna(axis=1)} for page in pages
    ]
    assert "text_path" not in plain.pages[pages[0].page_id]


def test_every_sources_page_has_the_title_that_its_reader_gives_it(world):
    web = world()
    for source in (source for source in web.sources.values() if "A" in source.windows):
        page = web.fetch(source.address, AS_OF)
        assert web.pages[page.page_id]["title"] == read_page(page.text, page.content_type)[0] == source.name


def test_a_page_without_a_title_has_none():
    assert read_title("<h1>Rates</h1>", "text/html") is None and read_title("[1]", "application/json") is None


@contextlib.contextmanager
def limit_files(size):
    """Have the system refuse to write more than so many bytes to a file, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_ends_in_one_sentence_and_leaves_no_half_page(folder, sources):
    with open_world(keeps_pages=True) as connect:
        gateway = connect()
        with (
            limit_files(100),
            pytest.raises(RuntimeError, match=r"cannot be kept .*; make room on the disk and run it"),
        ):
            gateway.fetch(sources["us_polls"].address, AS_OF)
        assert list(folder.iterdir()) == [] and gateway.pages == {}
        page = gateway.fetch(sources["us_polls"].address, AS_OF)
    assert read_text(read_kept([page.page_id])["text_path"].iloc[0]) == page.text, "with room again, it is kept"
