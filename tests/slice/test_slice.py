import hashlib
import tomllib

import pandas as pd
import pytest
from slice import build as builder

from helpers.files import ROOT

FOLDER = ROOT / "data/replay"
MANIFEST = pd.read_csv(FOLDER / "manifest.csv").set_index("file")
REGISTRY = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in (ROOT / "data/sources").glob("*.toml")
}


def read_source(source_id):
    return pd.read_csv(FOLDER / f"{source_id}.csv", dtype={"occurred_at": str, "entity": str})


def test_the_manifest_lists_the_recipes_and_exactly_the_committed_files_with_their_digests():
    made = {
        f"{name}.csv" for name, entry in REGISTRY.items() if entry["form"] == "market"
    }  # by the kit
    paths = [path for path in FOLDER.glob("*.csv") if path.name not in made | {"manifest.csv"}]
    assert {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths} == MANIFEST[
        "sha256"
    ].to_dict()
    assert sorted(MANIFEST.index) == sorted(f"{name}.csv" for name in builder.PARTS["data/replay"])
    for row in MANIFEST.itertuples():
        assert row.package_sha256 == builder.read_lock()[f"{row.package}=={row.version}"]
    assert set(MANIFEST["licence"]) == {"commit"} and MANIFEST["attribution"].str.len().min() > 20


def test_registry_fits_the_rows():
    files = set()
    for source_id, entry in REGISTRY.items():
        name = entry.get("rows", source_id)
        files.add(f"{name}.csv")
        if entry["form"] == "market":
            continue
        rows = read_source(name)
        for variable, facts in entry["variables"].items():
            shown = rows[variable].round(facts["decimals"])
            assert (shown - rows[variable]).abs().max() < 1e-9, (
                f"{source_id}: {variable} has more decimals than shown"
            )
        for entity in entry["entities"].get("only", []):
            assert entity in set(rows["entity"]), f"{source_id}: no rows of {entity}"
    assert set(MANIFEST.index) <= files


@pytest.mark.parametrize("source_id", ["solar_flux", "oil_brent", "us_cpi"])
def test_rebuild_is_byte_identical(source_id):
    digests, entry = (
        builder.read_lock(),
        builder.read_manifest("data/replay").loc[source_id].to_dict(),
    )
    requirement = builder.name_package(entry)
    if builder.find_archive(requirement, builder.CACHE, digests) is None:
        pytest.skip(f"{requirement} is not in .cache/wheels: `python -m slice.build` fetches it")
    build = builder.PARTS["data/replay"][source_id]
    content = builder.format_rows(
        builder.build_rows(source_id, entry, build, builder.CACHE, digests)
    )
    assert content == (FOLDER / f"{source_id}.csv").read_bytes()


def test_a_changed_archive_is_refused(tmp_path):
    requirement = "river==0.26.1"
    (tmp_path / "river-0.26.1-cp311-cp311-any.whl").write_bytes(b"not the pinned wheel")
    with pytest.raises(ValueError, match="differs from the pinned river==0.26.1"):
        builder.find_archive(requirement, tmp_path, builder.read_lock())
    with pytest.raises(ValueError, match="not pinned"):
        builder.find_archive("river==0.1", tmp_path, builder.read_lock())
