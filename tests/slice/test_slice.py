"""The committed rows: what the manifests and the registry say of them."""

import hashlib
import tomllib

import pandas as pd
import pytest
from slice import build as builder

from helpers.files import ROOT

REGISTRY = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in (ROOT / "data/sources").glob("*.toml")
}


def read_rows(name):
    table = pd.read_csv(ROOT / f"data/replay/{name}.csv", dtype={"occurred_at": str, "entity": str})
    return table.set_index("occurred_at")


@pytest.mark.parametrize("folder", builder.PARTS)
def test_a_manifest_lists_the_recipes_and_exactly_the_committed_files_with_their_digests(folder):
    manifest = builder.read_manifest(folder)
    made = {name for name, entry in REGISTRY.items() if entry["form"] == "market"} | {"manifest"}
    paths = [path for path in (ROOT / folder).glob("*.csv") if path.stem not in made]
    digests = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    assert digests == manifest["sha256"].to_dict()
    assert set(manifest.index) == set(builder.PARTS[folder])
    for entry in manifest.to_dict("records"):
        assert entry["package_sha256"] == builder.read_lock()[builder.name_package(entry)]
    assert set(manifest["licence"]) == {"commit"} and manifest["attribution"].str.len().min() > 20


def test_registry_fits_the_rows():
    for source_id, entry in REGISTRY.items():
        if entry["form"] != "market":
            rows = read_rows(entry.get("rows", source_id))
            for variable, facts in entry["variables"].items():
                hidden = (rows[variable].round(facts["decimals"]) - rows[variable]).abs().max()
                assert hidden < 1e-9, f"{source_id}: {variable} has more decimals than shown"
            assert set(entry["entities"].get("only", [])) <= set(rows["entity"]), source_id
    named = {entry.get("rows", source_id) for source_id, entry in REGISTRY.items()}
    assert set(builder.PARTS["data/replay"]) <= named
    asked = tomllib.loads((ROOT / "data/horizons.toml").read_text(encoding="utf-8"))
    assert set(asked) == set(builder.PARTS["data/replay/long"])


def test_a_changed_archive_is_refused(tmp_path):
    (tmp_path / "river-0.26.1-cp311-cp311-any.whl").write_bytes(b"not the pinned wheel")
    with pytest.raises(ValueError, match="differs from the pinned river==0.26.1"):
        builder.find_archive("river==0.26.1", tmp_path, builder.read_lock())
    with pytest.raises(ValueError, match="not pinned"):
        builder.find_archive("river==0.1", tmp_path, builder.read_lock())
