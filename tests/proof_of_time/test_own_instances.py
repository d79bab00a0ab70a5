"""The kit's own 200 instances: whole, and nothing in their evidence from after the cutoff."""

import pytest

from helpers.proof_of_time.evidence import check_instances, open_evidence
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
