"""Public files: where they come from, that their digest is checked, and what is said when they cannot be had."""

import functools
import hashlib
import http.server
import importlib
import os
import threading

import pandas as pd
import pytest
from public import build

from helpers import public_files as public

TEXT = b"team,score\nA,1\n"
DIGEST = hashlib.sha256(TEXT).hexdigest()


@pytest.fixture(autouse=True)
def no_mirror(monkeypatch):
    """Each test says itself where files come from; the machine's own mirror is kept aside in `MIRROR_HERE`."""
    monkeypatch.delenv(public.MIRROR, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


MIRROR_HERE = os.environ.get(public.MIRROR)


def write_registry(folder, address=None, digest=DIGEST, name="board/a.csv"):
    way = f'address = "{address}"' if address else 'rebuild = "by hand"'
    lines = [f'[files."{name}"]', 'title = "A board"', way, f'sha256 = "{digest}"']
    lines += ['licence = "MIT"', 'retrieved_date = "2026-01-02"', ""]
    path = folder / "public.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def put_file(folder, content=TEXT):
    (folder / "board").mkdir(parents=True)
    (folder / "board/a.csv").write_bytes(content)
    return folder


@pytest.fixture
def site(tmp_path):
    """A web server on this machine that publishes one file; yields its address and the folder it shows."""
    folder = put_file(tmp_path / "site")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    handler.log_message = lambda *_: None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/board/a.csv", folder
    server.shutdown()
    server.server_close()


def test_the_mirror_comes_first(tmp_path, monkeypatch):
    registry, mirror = write_registry(tmp_path, "http://127.0.0.1:9/"), put_file(tmp_path / "mirror")
    monkeypatch.setenv(public.MIRROR, str(mirror))
    assert public.locate_public("board/a.csv", registry, tmp_path / "cache") == mirror / "board/a.csv"


def test_a_relative_mirror_starts_at_the_repository(tmp_path, monkeypatch):
    registry, mirror = write_registry(tmp_path), put_file(tmp_path / "mirror")
    monkeypatch.setenv(public.MIRROR, os.path.relpath(mirror, public.store.ROOT))
    monkeypatch.chdir(tmp_path)
    assert public.locate_public("board/a.csv", registry, tmp_path / "cache").samefile(mirror / "board/a.csv")


def test_a_mirrored_file_with_another_digest_is_refused(tmp_path, monkeypatch):
    registry, mirror = write_registry(tmp_path, "http://127.0.0.1:9/"), put_file(tmp_path / "mirror", b"other")
    monkeypatch.setenv(public.MIRROR, str(mirror))
    with pytest.raises(ValueError, match="board/a.csv in the folder of KIT_DATA_MIRROR is not the file of 2026-01-02"):
        public.locate_public("board/a.csv", registry, put_file(tmp_path / "cache"))


def test_a_mirror_without_the_file_leaves_it_to_the_cache(tmp_path, monkeypatch):
    registry, cache = write_registry(tmp_path), put_file(tmp_path / "cache")
    monkeypatch.setenv(public.MIRROR, str(tmp_path))
    assert public.locate_public("board/a.csv", registry, cache) == cache / "board/a.csv"


def test_a_file_is_downloaded_once(tmp_path, site):
    address, folder = site
    registry, cache = write_registry(tmp_path, address), tmp_path / "cache"
    found = public.locate_public("board/a.csv", registry, cache)
    assert found == cache / "board/a.csv" and found.read_bytes() == TEXT
    (folder / "board/a.csv").unlink()
    assert public.locate_public("board/a.csv", registry, cache) == found


def test_a_spoilt_copy_in_the_cache_is_fetched_again(tmp_path, site):
    registry, cache = write_registry(tmp_path, site[0]), put_file(tmp_path / "cache", b"half a fi")
    assert public.locate_public("board/a.csv", registry, cache).read_bytes() == TEXT


def test_a_file_that_changed_at_its_address_is_not_kept(tmp_path, site):
    address, folder = site
    (folder / "board/a.csv").write_bytes(b"newer")
    with pytest.raises(FileNotFoundError, match="has changed since 2026-01-02 .*KIT_DATA_MIRROR"):
        public.locate_public("board/a.csv", write_registry(tmp_path, address), tmp_path / "cache")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_an_address_that_does_not_answer_is_named(tmp_path, site):
    missing = site[0].replace("a.csv", "b.csv")
    with pytest.raises(FileNotFoundError, match=r"neither mirrored nor cached, and http.*b\.csv could not be read"):
        public.locate_public("board/a.csv", write_registry(tmp_path, missing), tmp_path / "cache")


def test_a_derived_file_is_never_downloaded(tmp_path):
    with pytest.raises(FileNotFoundError, match="is derived, has no address .*KIT_DATA_MIRROR.*how to rebuild it"):
        public.locate_public("board/a.csv", write_registry(tmp_path), tmp_path / "cache")


def test_an_unknown_name_lists_what_there_is(tmp_path):
    with pytest.raises(LookupError, match="no public file 'b'; public.toml has board/a.csv"):
        public.locate_public("b", write_registry(tmp_path))


@pytest.mark.parametrize(("old", "match"), [('licence = "MIT"', "has no licence"), (DIGEST, "not 64 hex digits")])
def test_an_incomplete_entry_is_refused(tmp_path, old, match):
    path = write_registry(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace(old, "" if "=" in old else "abc"), encoding="utf-8")
    with pytest.raises(ValueError, match=match):
        public.load_registry(path)


def test_the_registry_says_where_each_file_is_from():
    files = public.load_registry()
    assert len(files) == 52
    derived = {name for name, entry in files.items() if "address" not in entry}
    assert derived == {
        "charts/billboard_hot100_2016_2026.csv.gz",
        "forecastbench/leaderboard_baseline_history.csv",
        "forecastbench/market_price_history.csv",
        "frontier/swe_bench_dated_results.csv",
        "futurex_past/futurex_past_2026_01_04.csv",
        "leaks/ai_trader_retrievals.csv",
        "news/current_events.tar.gz",
        "proof_of_time/awards.csv",
        "proof_of_time/emnlp_accepted_2021_2024.csv.gz",
        "proof_of_time/nlp_citations_2025.csv.gz",
        "worldreasoner/include_ids.txt",
        "worldreasoner/market_prices.csv",
        "worldreasoner/model_cutoffs.csv",
        "worldreasoner/questions_with_event_cards.json",
        "worldreasoner/results_by_condition_model.csv",
        "worldreasoner/turning_points_authors.csv",
    }
    addresses = [entry["address"] for entry in files.values() if "address" in entry]
    assert all(address.startswith("https://") for address in addresses) and len(set(addresses)) == 36


def test_a_source_is_described_with_its_day():
    described = public.describe_source("forecastbench/leaderboard_baseline.csv", "futurex_board")
    assert described.startswith("ForecastBench baseline leaderboard; FutureX public leaderboard, retrieved 20")


def test_each_table_of_public_data_is_listed_with_the_digests_of_its_sources():
    folder, files = public.store.ROOT / "data/public", public.load_registry()
    index = pd.read_csv(folder / "index.csv", index_col="name", dtype=str)
    tables = {path.stem for path in folder.glob("*.csv")} - {"index"}
    assert tables == set(index.index)
    named = {name: sources for builder in build.list_builders() for name, sources in list_sources(builder).items()}
    assert set(named) == tables
    for name, row in index.iterrows():
        sources = row["sources"].split("; ")
        assert sources == list(named[name])
        assert row["sha256"].split("; ") == [files[source]["sha256"] for source in sources]
        assert int(row["rows"]) == len(public.read_public(name))
    sizes = [(folder / f"{name}.csv").stat().st_size for name in tables]
    assert max(sizes) <= build.LARGEST and sum(sizes) <= 1_500_000


def list_sources(builder):
    return importlib.import_module(f"public.{builder}").SOURCES


@pytest.mark.skipif(not MIRROR_HERE, reason="needs the public files: set KIT_DATA_MIRROR to a folder that holds them")
def test_a_builder_writes_its_table_again_byte_for_byte(tmp_path, monkeypatch):
    monkeypatch.setenv(public.MIRROR, MIRROR_HERE)
    (table, sources) = build.build_tables("futurex_board")["futurex_board"]
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    written = build.write_public("futurex_board", table)
    assert written.read_bytes() == (public.store.ROOT / "data/public/futurex_board.csv").read_bytes()
    assert sources == ["futurex/leaderboard.json"]


def test_a_table_too_large_for_the_repository_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    with pytest.raises(ValueError, match="table a has 300,0.. bytes of at most 200,000"):
        build.write_public("a", pd.DataFrame({"a": ["b" * 300_000]}))


@pytest.mark.skipif(not MIRROR_HERE, reason="needs the public files: set KIT_DATA_MIRROR to a folder that holds them")
def test_every_mirrored_file_has_its_digest(monkeypatch):
    monkeypatch.setenv(public.MIRROR, MIRROR_HERE)
    for name in public.load_registry():
        assert public.locate_public(name).name == name.rpartition("/")[2]
