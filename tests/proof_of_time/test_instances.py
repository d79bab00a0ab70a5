"""Instances: what is read, and what is refused with file, line and field; evidence: what leaks stops the build."""

import json

import pandas as pd
import pytest

from helpers import papers
from helpers.proof_of_time.evidence import LeakError, check_instances, write_evidence
from helpers.proof_of_time.instances import (
    TASKS,
    Instance,
    find_misfits,
    read_instances,
    read_public,
    to_event,
)

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
    "metadata": {"source": "bench", "criteria": "what the board shows", "asked": [["Bench 6", 53.7]]},
}


def write_lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_tasks_are_those_of_table_6():
    table = papers.load_published("proof_of_time", "table6_task_counts")
    assert [name for _, name in TASKS.values()] == table["task"].tolist()


def test_a_line_is_an_instance(tmp_path):
    record = RECORD | {"manifest": [ENTRY]}
    assert read_instances(write_lines(tmp_path / "x.jsonl", record)) == [Instance(**record)]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"task": "sota"}, "task: "),
        ({"family": "impact"}, "family: frontier_bucket belongs to frontier"),
        ({"target": "C"}, "target: 'C' is not the letter of a choice; there are A, B"),
        ({"task": "full_order", "family": "impact"}, "target: an order names the letter of each choice once"),
        ({"variant": "next_year"}, "target: next year"),
        ({"cutoff": "January 2025"}, "cutoff: "),
        ({"choices": {"1": "low"}}, "choices.1: '1' is not a capital letter"),
        ({"manifest": [ENTRY | {"sha256": "12"}]}, "manifest[1].sha256: "),
        ({"manifest": [ENTRY | {"path": "../b.csv"}]}, "manifest: ../b.csv lies outside"),
        ({"metadata": {"source": "x"}}, "metadata: criteria is missing"),
        ({"leak": 1}, "record: "),
    ],
)
def test_a_wrong_field_is_named_with_file_and_line(tmp_path, wrong, field):
    path = write_lines(tmp_path / "mine.jsonl", RECORD, RECORD | {"id": "bench-2"} | wrong)
    with pytest.raises(ValueError, match="mine.jsonl, line 2: ") as said:
        read_instances(path)
    assert f"line 2: {field}" in str(said.value)


def test_the_public_layout_is_read(tmp_path):
    lines = [
        {"question": "Which tier?", "choices": ["Findings", "Main"], "answer": "main", "context": "A paper."},
        {"question": "Which tier?", "answer": "Best"},
        {"question": "Which?", "choices": {"A": "x", "B": "y"}, "answer": "A", "prompt": "Whole.", "metadata": {}},
        {"question": "Order?", "choices": ["x", "y"], "answer": ["y", "A"], "metadata": {"task": "full_order"}},
    ]
    read = read_public(write_lines(tmp_path / "pot.jsonl", *lines), task="tier_post", cutoff=CUTOFF)
    assert [instance.target for instance in read] == ["B", "D", "A", ["B", "A"]]
    assert [instance.prompt for instance in read[:3]] == ["A paper.\n\nWhich tier?", "Which tier?", "Whole."]
    assert read[1].choices == dict(zip("ABCD", papers.get_constant("proof_of_time", "award_tiers"), strict=True))
    assert [instance.task for instance in read[2:]] == ["tier_post", "full_order"]
    assert not any(find_misfits(instance._asdict()) for instance in read)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"answer": "Worst"}, "answer: 'Worst' is none of the choices"),
        ({"answer": 3}, "answer: "),
        ({"choices": "Findings, Main"}, "choices: "),
        ({"metadata": {"task": "sota"}}, "metadata.task: no task 'sota'"),
        ({"metadata": {"cutoff": "soon"}}, "cutoff: "),
    ],
)
def test_what_is_wrong_in_the_public_layout_is_named(tmp_path, wrong, field):
    line = {"question": "Which tier?", "choices": ["Findings", "Main"], "answer": "Main"}
    with pytest.raises(ValueError, match="pot.jsonl, line 1: ") as said:
        read_public(write_lines(tmp_path / "pot.jsonl", line | wrong), task="tier_post", cutoff=CUTOFF)
    assert f"line 1: {field}" in str(said.value)


def test_an_event_does_not_carry_the_label():
    event = to_event(Instance(**RECORD))
    assert event["as_of"] == "2025-01-01T00:00:00+00:00" and event["kind"] == "single" and event["k"] is None
    assert "53.7" not in json.dumps(event) and "target" not in event


# --- evidence --------------------------------------------------------------------------------------------------------

ROWS = pd.DataFrame({"day": ["2024-10-01", "2024-12-31"], "name": ["Bench 5", "Bench 6"], "score": [41.0, 48.5]})


def build(folder, table=ROWS, *, prompt=RECORD["prompt"], variant="plain", is_series=False, **entry):
    entry = write_evidence(folder, "board.csv", table, **{"as_of": "2024-12-31", "dates": "day"} | entry)
    metadata = RECORD["metadata"] | {"is_series": is_series}
    given = {"manifest": [entry], "prompt": prompt, "variant": variant, "metadata": metadata}
    return check_instances([Instance(**RECORD | given)], folder)


def test_clean_evidence_passes_and_is_counted(tmp_path):
    assert build(tmp_path) == (1, 2)


def test_a_file_of_the_cutoff_or_later_stops_the_build_with_its_name(tmp_path):
    for day in ("2025-01-01", "2025-10-31"):
        with pytest.raises(LeakError, match=f"bench-1: board.csv is of {day}, not before the cutoff"):
            build(tmp_path, as_of=day)


@pytest.mark.parametrize("column", ["day", "seen_at"])
def test_a_row_of_the_cutoff_or_later_stops_the_build_with_its_line(tmp_path, column):
    table = ROWS.assign(seen_at=["2024-10-01T09:00:00+00:00"] * 2)
    table.loc[1, column] = "2025-01-01" if column == "day" else "2024-12-31T20:00:00-05:00"
    with pytest.raises(LeakError, match=f"board.csv, line 3: {column} .* is not before the cutoff 2025-01-01"):
        build(tmp_path, table)


def test_a_row_without_a_date_and_a_file_without_the_column_stop_the_build(tmp_path):
    with pytest.raises(LeakError, match="board.csv, line 3: no date in day"):
        build(tmp_path, ROWS.assign(day=["2024-10-01", ""]))
    with pytest.raises(LeakError, match="board.csv has no column 'published'"):
        build(tmp_path, dates="published")


def test_another_file_under_the_manifests_name_stops_the_build(tmp_path):
    entry = write_evidence(tmp_path, "board.csv", ROWS, as_of="2024-12-31", dates="day")
    (tmp_path / "board.csv").write_text("day\n2024-01-01\n", encoding="utf-8")
    with pytest.raises(LeakError, match="board.csv is not the manifest's file"):
        check_instances([Instance(**RECORD | {"manifest": [entry]})], tmp_path)


def test_the_papers_leak_is_caught_in_prompt_and_table(tmp_path):
    with pytest.raises(LeakError, match="the prompt holds the value asked for of Bench 6: 53.7"):
        build(tmp_path, prompt="The reported score of Bench 6 is 53.7 (Kimi K2). Into which range does it fall?")
    undated = pd.DataFrame({"benchmark": ["Bench 5", "Bench 6"], "metric": "Pass@1", "score": [41.0, 53.7]})
    with pytest.raises(LeakError, match="board.csv, line 3 holds the value asked for of Bench 6: 53.7"):
        build(tmp_path, undated, dates=None)
    with pytest.raises(LeakError, match="line 3 holds the value"):
        build(tmp_path, ROWS.assign(score=[41.0, 53.7]))
    assert build(tmp_path, ROWS.assign(score=[41.0, 53.7]), is_series=True) == (1, 2)
    both = {"items": {"A": "Bench 6", "B": "Bench 5"}, "asked": [["Bench 6", 6], ["Bench 5", 41.0]]}
    told = RECORD | {"choices": {"A": "Bench 6", "B": "Bench 5, now at 41"}, "metadata": RECORD["metadata"] | both}
    with pytest.raises(LeakError, match="the choice holds the value asked for of Bench 5: 41.0"):
        check_instances([Instance(**told)], tmp_path)
    check_instances([Instance(**told | {"choices": {"A": "Bench 6", "B": "Bench 5"}})], tmp_path)
    assert build(tmp_path, undated.assign(score=[53.7, 41.0]), dates=None) == (1, 2)


@pytest.mark.parametrize("told", ["its tier: Best", "Tier BEST", "the tier is best.", "It won a best paper award."])
def test_a_tier_in_the_prompt_is_caught_in_any_case(tmp_path, told):
    asked = {"source": "venue", "criteria": "c", "items": {"": "On best rain"}, "asked": [["On best rain", "Best"]]}
    words = "Which tier was this paper given?\n\nOn best rain\nBest of all is the best tier of clouds."
    given = RECORD | {"family": "value", "task": "tier_pre", "choices": {"A": "Main", "B": "Best"}, "metadata": asked}
    assert check_instances([Instance(**given | {"prompt": words})], tmp_path) == (0, 0)
    with pytest.raises(LeakError, match="the prompt holds the value asked for of On best rain: Best"):
        check_instances([Instance(**given | {"prompt": f"{words} {told}"})], tmp_path)


def test_a_persons_own_record_is_caught_where_the_person_is_one_of_several(tmp_path):
    papers = pd.DataFrame({"day": "2024-10-01", "title": ["On rain", "ON SNOW"], "authors": ["P; Q", "Q; R"]})
    entry = write_evidence(tmp_path, "papers.csv", papers, as_of="2024-12-31", dates="day")

    def check(person, prompt=RECORD["prompt"]):
        own = {"items": {"": person, "A": "On snow"}, "asked": [[person, "On snow"]]}
        given = {"manifest": [entry], "metadata": RECORD["metadata"] | own, "prompt": prompt}
        return check_instances([Instance(**RECORD | given)], tmp_path)

    with pytest.raises(LeakError, match="papers.csv, line 3 holds the value asked for of R: On snow"):
        check("R")
    with pytest.raises(LeakError, match="the prompt holds the value asked for of P: On snow"):
        check("P", "Which of these is of the author of On Snow?")
    assert check("P") == (1, 2)


def test_counts_of_the_later_snapshot_are_a_split_of_their_own(tmp_path):
    with pytest.raises(LeakError, match="score was counted on 2025-06-12, after the cutoff"):
        build(tmp_path, late={"score": "2025-06-12"})
    assert build(tmp_path, late={"score": "2025-06-12"}, variant="counts_as_of_t1") == (1, 2)
