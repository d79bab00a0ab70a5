"""The authors' own dataset as instances (AIM-Harvard/proof-of-time on the hub), from a folder that
was downloaded.

`python -m public.pot_authors FOLDER OUT` writes OUT/authors.jsonl, which notebook 41 takes (`-p
instances OUT/authors.jsonl -p evidence FOLDER/sandbox_data`). data/proof_of_time/authors.toml says
which file is which task, and on which evidence. A file that is not there is left out; one whose
lines are not as the card has them stops with its line. Nothing of the dataset is passed on.
"""

import sys
import tomllib
from pathlib import Path

from helpers.files import ROOT, dump_json
from helpers.papers import get_constant
from helpers.public_files import hash_file
from studies.proof_of_time.instances import read_public

LISTED = tomllib.loads((ROOT / "data/proof_of_time/authors.toml").read_text(encoding="utf-8"))
CUTOFF = get_constant("proof_of_time", "evidence_until")


def list_manifest(folder, names):
    """Return the manifest of evidence files below folder/sandbox_data. Raises FileNotFoundError for
    one that is not."""
    paths = [(name, Path(folder, "sandbox_data", name)) for name in names]
    about = {"as_of": LISTED["released"], "dates": None, "late": {}}
    return [{"path": name, "sha256": hash_file(path)} | about for name, path in paths]


def read_authors(folder):
    """Return the instances of the dataset's files in a folder. Raises ValueError as `read_public`,
    and for no file."""
    found = []
    for name, about in LISTED.items():
        path = Path(folder, "benchmarks", name)
        if isinstance(about, dict) and path.exists():
            given = {"cutoff": CUTOFF, "manifest": list_manifest(folder, about["evidence"])}
            made = read_public(path, task=about["task"], ranges=about.get("ranges", ()), **given)
            ids = (f"{path.stem}-{one.id.rpartition('-')[2]}" for one in made)
            found += [one._replace(id=each) for each, one in zip(ids, made, strict=True)]
    if not found:
        raise ValueError(
            f"{folder} holds none of the files of data/proof_of_time/authors.toml below benchmarks/"
        )
    return found


def main(folder, out):
    """Write the instances of a folder to out/authors.jsonl."""
    instances = read_authors(folder)
    Path(out).mkdir(parents=True, exist_ok=True)
    lines = [dump_json(one._asdict()) + "\n" for one in instances]
    Path(out, "authors.jsonl").write_text("".join(lines), encoding="utf-8")
    print(f"{len(instances)} instances: {out}/authors.jsonl; evidence: {folder}/sandbox_data")


if __name__ == "__main__":
    main(*sys.argv[1:])
