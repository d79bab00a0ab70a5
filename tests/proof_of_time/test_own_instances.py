"""The kit's own 200 instances: whole, and nothing in their evidence from after the cutoff."""

import hashlib

import pytest

from helpers.proof_of_time.evidence import LeakError, check_instances, open_evidence, read_evidence
from helpers.proof_of_time.instances import find_misfits, read_instances
from helpers.proof_of_time.trials import sample_instances
from helpers.store import ROOT

HOME = ROOT / "data/proof_of_time"


@pytest.fixture(scope="module")
def known():
    return read_instances(HOME / "instances.jsonl.gz")


def test_each_is_whole_and_no_evidence_is_from_after_its_cutoff(known):
    assert len(known) == 200 == len(sample_instances(known, 999))
    assert not [fault for instance in known for fault in find_misfits(instance._asdict())]
    with open_evidence(HOME / "evidence.tar.xz") as folder:
        assert check_instances(known, folder) == (97, 37245)


def test_a_later_row_planted_in_any_file_stops_with_its_name(known):
    with open_evidence(HOME / "evidence.tar.xz") as folder:
        for instance in known[::40]:
            (entry,) = instance.manifest
            table = read_evidence(folder, entry["path"])
            table.loc[len(table)] = table.iloc[-1].to_dict() | {"published_at": "2016-11-08T00:00:00+00:00"}
            table.to_csv(folder / entry["path"], index=False, lineterminator="\n")
            digest = hashlib.sha256((folder / entry["path"]).read_bytes()).hexdigest()
            with pytest.raises(LeakError, match=f"{entry['path']}, line {len(table) + 1}: published_at 2016-11-08"):
                check_instances([instance._replace(manifest=[entry | {"sha256": digest}])], folder)
