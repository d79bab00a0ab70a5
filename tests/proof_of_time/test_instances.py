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
    read_evidence,
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
    "metadata": {
        "source": "bench",
        "criteria": "what the board shows",
        "asked": [["Bench 6", 53.7]],
    },
}


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"family": "impact"}, "family: frontier_bucket belongs to frontier"),
        ({"target": "C"}, "target: 'C' is not the letter of a choice; there are A, B"),
        (
            {"task": "full_order", "family": "impact"},
            "target: an order names the letter of each choice once",
        ),
        ({"target": None}, "target: None is not a letter or a list of letters"),
        ({"manifest": [ENTRY | {"path": "../b.csv"}]}, "manifest: ../b.csv lies outside"),
        (
            {"metadata": RECORD["metadata"] | {"items": None}},
            "metadata.items: None is not names by letter",
        ),
        ({"metadata": RECORD["metadata"] | {"asked": [["Bench 6"]]}}, "metadata.asked: "),
    ],
)
def test_a_wrong_field_is_named_with_file_and_line(tmp_path, wrong, field):
    path = write_lines(tmp_path / "mine.jsonl", RECORD, RECORD | {"id": "bench-2"} | wrong)
    with pytest.raises(ValueError, match="mine.jsonl, line 2: ") as said:
        read_instances(path)
    assert f"line 2: {field}" in str(said.value)


@pytest.mark.parametrize("case", read_cases(__file__, "public_lines"), ids=lambda case: case["why"])
def test_a_line_of_the_public_layout_is_read_or_refused_with_what_is_wrong(tmp_path, case):
    path = write_lines(tmp_path / "x.jsonl", case["line"])
    given = {
        "task": case.get("task", "tier_post"),
        "cutoff": CUTOFF,
        "ranges": case.get("ranges", ()),
    }
    if "said" in case:
        with pytest.raises(ValueError, match=f"line 1: {case['said']}"):
            read_public(path, **given)
        return
    (read,) = read_public(path, **given)
    assert read.target == case["target"] and not find_misfits(read._asdict())
    assert case.get("texts") in (None, list(read.choices.values())) and case.get("prompt") in (
        None,
        read.prompt,
    )
    assert list(read.choices) == list("ABCDE")[: len(read.choices)]
    assert read.task == case["line"].get("metadata", {}).get("task", given["task"])


def test_an_event_does_not_carry_the_label():
    event = to_event(Instance(**RECORD))
    assert (
        event["as_of"] == "2025-01-01T00:00:00+00:00"
        and event["kind"] == "single"
        and event["k"] is None
    )
    assert "53.7" not in json.dumps(event) and "target" not in event


# --- evidence ---------------------------------------------------------------------------------------

ROWS = pd.DataFrame(
    {"day": ["2024-10-01", "2024-12-31"], "name": ["Bench 5", "Bench 6"], "score": [41.0, 48.5]}
)


UNDATED = pd.DataFrame(
    {"benchmark": ["Bench 5", "Bench 6"], "metric": "Pass@1", "score": [41.0, 53.7]}
)


def build(folder, table=ROWS, *, prompt=RECORD["prompt"], is_series=False, **entry):
    entry = write_evidence(
        folder, "board.csv", table, **{"as_of": "2024-12-31", "dates": "day"} | entry
    )
    metadata = RECORD["metadata"] | {"is_series": is_series}
    given = {"manifest": [entry], "prompt": prompt, "metadata": metadata}
    return check_instances([Instance(**RECORD | given)], folder)


def test_cells_of_json_are_read_as_they_are_written(tmp_path):
    rows = [{"n": 3, "score": 21.0, "title": "On\u2028rain"}, {"n": None, "day": "2024-10-01"}]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    for name, text in (("a.json", json.dumps(rows)), ("a.jsonl", lines)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        read = read_evidence(tmp_path, name)
        assert read.to_numpy().tolist() == [
            ["3", "21.0", "On\u2028rain", ""],
            ["", "", "", "2024-10-01"],
        ]
    (tmp_path / "a.jsonl").write_text("")
    assert read_evidence(tmp_path, "a.jsonl").empty


def test_a_file_that_is_none_stops_the_build_with_its_name(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path, said in (
        ("gone.csv", "cannot be read"),
        ("pipe.csv", "is no file"),
        ("a" * 300, "File name too long"),
    ):
        with pytest.raises(LeakError, match=f"bench-1: evidence file {path} .*{said}|{said}"):
            check_instances([Instance(**RECORD | {"manifest": [ENTRY | {"path": path}]})], tmp_path)


TOLD = "The reported score of Bench 6 is 53.7 (Kimi K2). Into which range does it fall?"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"as_of": "2025-01-01"}, "bench-1: board.csv is of 2025-01-01, not before the cutoff"),
        ({"dates": "when"}, "board.csv has no column 'when'"),
        ({"dates": "name"}, "board.csv, line 2: no date in name"),
        (
            {"table": ROWS.assign(day=["2024-10-01", "2025-01-01"])},
            "line 3: day 2025-01-01 is not before the cutoff",
        ),
        (
            {"table": ROWS.assign(seen="2024-12-31T20:00:00-05:00")},
            "board.csv, line 2: seen .* is not before the cutoff",
        ),
        ({"prompt": TOLD}, "the prompt holds the value asked for of Bench 6: 53.7"),
        (
            {"table": UNDATED, "dates": None},
            "board.csv, line 3 holds the value asked for of Bench 6: 53.7",
        ),
        ({"table": ROWS.assign(score=[41.0, 53.7])}, "line 3 holds the value"),
    ],
)
def test_what_leaks_stops_the_build_with_its_place(tmp_path, given, said):
    with pytest.raises(LeakError, match=said):
        build(tmp_path, **given)


def test_a_value_of_another_or_of_a_series_is_no_leak(tmp_path):
    assert build(tmp_path, ROWS.assign(score=[41.0, 53.7]), is_series=True) == (1, 2)
    assert build(tmp_path, UNDATED.assign(score=[53.7, 41.0]), dates=None) == (1, 2)
    both = {"items": {"A": "Bench 6", "B": "Bench 5"}, "asked": [["Bench 6", 6], ["Bench 5", 41.0]]}
    told = RECORD | {
        "choices": {"A": "Bench 6", "B": "Bench 5, now at 41"},
        "metadata": RECORD["metadata"] | both,
    }
    with pytest.raises(LeakError, match="the choice holds the value asked for of Bench 5: 41.0"):
        check_instances([Instance(**told)], tmp_path)
    check_instances([Instance(**told | {"choices": {"A": "Bench 6", "B": "Bench 5"}})], tmp_path)


def test_a_persons_own_record_is_caught_where_the_person_is_one_of_several(tmp_path):
    papers = pd.DataFrame(
        {"day": "2024-10-01", "title": ["On rain", "ON SNOW"], "authors": ["P; Q", "Q; R"]}
    )
    entry = write_evidence(tmp_path, "papers.csv", papers, as_of="2024-12-31", dates="day")

    def check(person, prompt=RECORD["prompt"]):
        own = {"items": {"": person, "A": "On snow"}, "asked": [[person, "On snow"]]}
        given = {"manifest": [entry], "metadata": RECORD["metadata"] | own, "prompt": prompt}
        return check_instances([Instance(**RECORD | given)], tmp_path)

    with pytest.raises(
        LeakError, match="papers.csv, line 3 holds the value asked for of R: On snow"
    ):
        check("R")
    with pytest.raises(LeakError, match="the prompt holds the value asked for of P: On snow"):
        check("P", "Which of these is of the author of On Snow?")
    assert check("P") == (1, 2)


def test_each_of_the_kits_own_is_whole_and_no_evidence_is_from_after_its_cutoff():
    known = read_instances(ROOT / "data/proof_of_time/instances.jsonl.gz")
    assert len(known) == 200 == len(sample_instances(known, 999))
    with open_evidence(ROOT / "data/proof_of_time/evidence.tar.xz") as folder:
        assert check_instances(known, folder) == (97, 37245)
