"""Instances: what is read, and what is refused with file, line and field; evidence: what leaks
stops the build."""

import json
import os

import pandas as pd
import pytest
from builders import read_cases, write_lines

from helpers.files import ROOT
from studies.proof_of_time.evidence import (
    LeakError,
    check_instances,
    open_evidence,
    write_evidence,
)
from studies.proof_of_time.instances import (
    Instance,
    find_misfits,
    read_instances,
    read_public,
    to_event,
)
from studies.proof_of_time.trials import sample_instances

CUTOFF = "2025-01-01"
ENTRY = {"path": "a.csv", "sha256": "0" * 64, "as_of": "2024-12-31", "dates": None, "late": {}}
ABOUT = {"source": "bench", "criteria": "what the board shows", "asked": [["Bench 6", 53.7]]}
RECORD = {
    "id": "bench-1",
    "family": "frontier",
    "task": "frontier_bucket",
    "variant": "plain",
    "prompt": "Into which range will the score of Bench 6 fall?",
    "choices": {"A": "0 or more, below 50", "B": "50 to 100"},
    "target": "B",
    "cutoff": CUTOFF,
    "manifest": [],
    "metadata": ABOUT,
}


def make(**changes):
    return Instance(**RECORD | changes)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"family": "impact"}, "family: frontier_bucket belongs to frontier"),
        ({"target": "C"}, "target: 'C' is not the letter of a choice; there are A, B"),
        ({"task": "full_order", "family": "impact"}, "target: an order names the letter of each"),
        ({"target": None}, "target: None is not a letter or a list of letters"),
        ({"manifest": [ENTRY | {"path": "../b.csv"}]}, "manifest: ../b.csv lies outside"),
        ({"metadata": ABOUT | {"items": None}}, "metadata.items: None is not names by letter"),
        ({"metadata": ABOUT | {"asked": [["Bench 6"]]}}, "metadata.asked: "),
        ({"id": "bench-1"}, "id: bench-1 is taken by an earlier line"),
    ],
)
def test_a_wrong_field_is_named_with_file_and_line(tmp_path, wrong, said):
    path = write_lines(tmp_path / "mine.jsonl", RECORD, RECORD | {"id": "bench-2"} | wrong)
    with pytest.raises(ValueError) as found:
        read_instances(path)
    assert str(found.value).startswith(f"mine.jsonl, line 2: {said}")


@pytest.mark.parametrize("case", read_cases(__file__, "public_lines"), ids=lambda case: case["why"])
def test_a_line_of_the_public_layout_is_read_or_refused_with_what_is_wrong(tmp_path, case):
    path = write_lines(tmp_path / "x.jsonl", case["line"])
    task = case.get("task", "tier_post")
    given = {"task": task, "cutoff": CUTOFF, "ranges": case.get("ranges", ())}
    if "said" in case:
        with pytest.raises(ValueError, match=f"line 1: {case['said']}"):
            read_public(path, **given)
        return
    (read,) = read_public(path, **given)
    assert read.target == case["target"] and not find_misfits(read._asdict())
    assert list(read.choices.values()) == case.get("texts", list(read.choices.values()))
    assert read.prompt == case.get("prompt", read.prompt)
    assert list(read.choices) == list("ABCDE")[: len(read.choices)]
    assert read.task == case["line"].get("metadata", {}).get("task", task)


def test_an_event_does_not_carry_the_label():
    event = to_event(make())
    assert event["as_of"] == "2025-01-01T00:00:00+00:00"
    assert (event["kind"], event["k"]) == ("single", None)
    assert "53.7" not in json.dumps(event) and "target" not in event


# --- evidence ---------------------------------------------------------------------------------------

BOARD = {"name": ["Bench 5", "Bench 6"], "score": [41.0, 48.5]}
ROWS = pd.DataFrame({"day": ["2024-10-01", "2024-12-31"]} | BOARD)
UNDATED = pd.DataFrame(BOARD | {"metric": "Pass@1", "score": [41.0, 53.7]})


def build(folder, table=ROWS, *, prompt=RECORD["prompt"], metadata=(), **entry):
    dated = {"as_of": "2024-12-31", "dates": "day"} | entry
    manifest = [write_evidence(folder, "board.csv", table, **dated)]
    told = make(manifest=manifest, prompt=prompt, metadata=ABOUT | dict(metadata))
    return check_instances([told], folder)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("gone.csv", "bench-1: evidence file gone.csv cannot be read"),
        ("pipe.csv", "bench-1: evidence file pipe.csv .*is no file"),
        ("a" * 300, "File name too long"),
    ],
)
def test_a_file_that_is_none_stops_the_build_with_its_name(tmp_path, path, said):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(LeakError, match=said):
        check_instances([make(manifest=[ENTRY | {"path": path}])], tmp_path)


def test_evidence_in_json_is_refused_with_what_to_do(tmp_path):
    entry = write_evidence(tmp_path, "a.jsonl", ROWS, as_of="2024-12-31")
    with pytest.raises(LeakError, match="a.jsonl: evidence is checked as csv alone; write it as"):
        check_instances([make(manifest=[entry])], tmp_path)


TOLD = "The reported score of Bench 6 is 53.7 (Kimi K2). Into which range does it fall?"
LATE = pd.DataFrame(BOARD | {"day": ["2024-10-01", "2025-01-01"]})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"as_of": "2025-01-01"}, "bench-1: board.csv is of 2025-01-01, not before the cutoff"),
        ({"dates": "when"}, "board.csv has no column 'when'"),
        ({"dates": "name"}, "board.csv, line 2: no date in name"),
        ({"table": LATE}, "line 3: day 2025-01-01 is not before the cutoff"),
        (
            {"table": ROWS.assign(seen="2024-12-31T20:00:00-05:00")},
            "board.csv, line 2: seen .* is not before the cutoff",
        ),
        ({"late": {"score": "2025-06-01"}}, "score was counted on 2025-06-01, after the cutoff"),
        ({"prompt": TOLD}, "the prompt holds the value asked for of Bench 6: 53.7"),
        ({"table": UNDATED, "dates": None}, "board.csv, line 3 holds the value asked for of Bench"),
        ({"table": ROWS.assign(score=[41.0, 53.7])}, "line 3 holds the value"),
    ],
)
def test_what_leaks_stops_the_build_with_its_place(tmp_path, given, said):
    with pytest.raises(LeakError, match=said):
        build(tmp_path, **given)


def test_a_value_of_another_or_of_a_series_is_no_leak(tmp_path):
    series = ROWS.assign(score=[41.0, 53.7])
    assert build(tmp_path, series, metadata={"is_series": True}) == (1, 2)
    assert build(tmp_path, UNDATED.assign(score=[53.7, 41.0]), dates=None) == (1, 2)
    both = {"items": {"A": "Bench 6", "B": "Bench 5"}, "asked": [["Bench 6", 6], ["Bench 5", 41.0]]}
    told = make(choices={"A": "Bench 6", "B": "Bench 5, now at 41"}, metadata=ABOUT | both)
    with pytest.raises(LeakError, match="the choice holds the value asked for of Bench 5: 41.0"):
        check_instances([told], tmp_path)
    check_instances([told._replace(choices={"A": "Bench 6", "B": "Bench 5"})], tmp_path)


@pytest.mark.parametrize(
    ("person", "prompt", "said"),
    [
        ("R", "Which?", "papers.csv, line 3 holds the value asked for of R: On snow"),
        ("P", "Who wrote On Snow?", "the prompt holds the value asked for of P: On snow"),
        ("P", "Which?", None),
    ],
)
def test_a_persons_own_record_is_caught_where_the_person_is_one_of_several(
    tmp_path, person, prompt, said
):
    papers = pd.DataFrame({"title": ["On rain", "ON SNOW"], "authors": ["P; Q", "Q; R"]})
    entry = write_evidence(tmp_path, "papers.csv", papers, as_of="2024-12-31")
    own = {"items": {"": person, "A": "On snow"}, "asked": [[person, "On snow"]]}
    told = make(manifest=[entry], metadata=ABOUT | own, prompt=prompt)
    if said is None:
        assert check_instances([told], tmp_path) == (1, 2)
        return
    with pytest.raises(LeakError, match=said):
        check_instances([told], tmp_path)


def test_each_of_the_kits_own_is_whole_and_no_evidence_is_from_after_its_cutoff():
    known = read_instances(ROOT / "data/proof_of_time/instances.jsonl.gz")
    assert len(known) == 200 == len(sample_instances(known, 999))
    with open_evidence(ROOT / "data/proof_of_time/evidence.tar.xz") as folder:
        assert check_instances(known, folder) == (97, 37245)
