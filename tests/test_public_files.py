"""Public files: where they come from, that their digest is checked, and what is said when they
cannot be had."""

import hashlib
import importlib

import pandas as pd
import pytest
from builders import PUBLIC, needs_public
from mock_provider import Server, send
from public import build
from serving import run_server

from helpers import public_files as public

TEXT = b"team,score\nA,1\n"
DIGEST = hashlib.sha256(TEXT).hexdigest()


@pytest.fixture(autouse=True)
def no_mirror(monkeypatch):
    """Each test says itself where files come from."""
    monkeypatch.delenv(public.MIRROR, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def room(tmp_path, monkeypatch):
    """A folder in whose public.toml and cache the files stand."""
    monkeypatch.setattr(public, "REGISTRY", tmp_path / "public.toml")
    monkeypatch.setattr(public, "CACHE", tmp_path / "cache")
    return tmp_path


def write_registry(folder, address):
    lines = [
        '[files."board/a.csv"]',
        'title = "A board"',
        f'address = "{address}"',
        f'sha256 = "{DIGEST}"',
    ]
    lines += ['licence = "MIT"', 'retrieved_date = "2026-01-02"', ""]
    (folder / "public.toml").write_text("\n".join(lines), encoding="utf-8")


def put_file(folder, content=TEXT):
    (folder / "board").mkdir(parents=True)
    (folder / "board/a.csv").write_bytes(content)
    return folder


def test_a_mirrored_file_with_another_digest_is_refused(room, monkeypatch):
    write_registry(room, "http://127.0.0.1:9/")
    put_file(room / "cache")
    monkeypatch.setenv(public.MIRROR, str(put_file(room / "mirror", b"other")))
    with pytest.raises(
        ValueError,
        match="board/a.csv in the folder of KIT_DATA_MIRROR is not the file of 2026-01-02",
    ):
        public.locate_public("board/a.csv")


def test_a_file_is_downloaded_once(room):
    asked = []

    def answer(handler):
        asked.append(handler.path)
        send(handler, 200, TEXT)

    with run_server(Server(faults={"/board/a.csv": answer})) as address:
        write_registry(room, f"{address}/board/a.csv")
        for _ in range(2):
            found = public.locate_public("board/a.csv")
            assert found == room / "cache/board/a.csv" and found.read_bytes() == TEXT
    assert asked == ["/board/a.csv"]


def test_each_table_of_public_data_is_listed_with_the_digests_of_its_sources():
    folder = public.ROOT / "data/public"
    index = pd.read_csv(folder / "index.csv", index_col="name", dtype=str)
    tables = {path.stem for path in folder.glob("*.csv")} - {"index"}
    assert tables == set(index.index)
    named = {
        name: sources
        for builder in build.list_builders()
        for name, sources in list_sources(builder).items()
    }
    assert set(named) == tables
    for name, row in index.iterrows():
        sources = row["sources"].split("; ")
        assert sources == list(named[name])
        assert row["sha256"].split("; ") == [
            public.find_entry(source)["sha256"] for source in sources
        ]
        assert int(row["rows"]) == len(public.read_public(name))
    sizes = [(folder / f"{name}.csv").stat().st_size for name in tables]
    assert max(sizes) <= build.LARGEST and sum(sizes) <= 1_500_000


def list_sources(builder):
    return importlib.import_module(f"public.{builder}").SOURCES


@needs_public
def test_a_builder_writes_its_table_again_byte_for_byte(tmp_path, monkeypatch):
    monkeypatch.setenv(public.MIRROR, str(PUBLIC))
    (table, sources) = build.build_tables("futurex_board")["futurex_board"]
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    written = build.write_public("futurex_board", table)
    assert written.read_bytes() == (public.ROOT / "data/public/futurex_board.csv").read_bytes()
    assert sources == ["futurex/leaderboard.json"]
