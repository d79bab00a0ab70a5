"""Each kind of check on small operands whose answer is known (checks.jsonl)."""

import pytest
from builders import read_cases

from studies.audit import checks

CASES = read_cases(__file__, "checks")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["kind"])
def test_each_kind_of_check(case):
    found, holds = checks.run_check(
        *(case[name] for name in ("kind", "published", "operands", "tolerance"))
    )
    assert holds is case["holds"]
    wanted = case["recomputed"]
    assert found == (pytest.approx(wanted, abs=1e-4) if isinstance(wanted, int | float) else wanted)


def test_every_kind_is_tried_and_every_judgement_both_ways():
    assert {case["kind"] for case in CASES} == {*checks.VALUES, *checks.JUDGEMENTS}
    assert not {*checks.VALUES} & {*checks.JUDGEMENTS}
    for kind in checks.JUDGEMENTS:
        assert {case["holds"] for case in CASES if case["kind"] == kind} == {True, False}, kind
