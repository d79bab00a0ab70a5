"""Rows of questions that cannot be asked are refused by row and field; prompts' forms are
recovered."""

import json
import os
from pathlib import Path

import pandas as pd
import pytest

from daybefore.live.prompt_kinds import read_shape
from daybefore.live.settle_week import read_truth
from daybefore.live.week_questions import Batch, build_events, check_rows, fetch_batch, find_shape
from daybefore.live.week_submission import write_prediction
from helpers import files
from helpers.files import parse_json
from helpers.means import find_clusters
from helpers.public_files import MIRROR

WHOLE = '"prompt": "Will it rain?", "options": ["Yes", "No"]'
GOOD = json.loads(f'{{"id": "q1", {WHOLE}}}')

MALFORMED = r"""
an id that is absent: {"prompt": "Will it rain?"} -> row 2: id is missing
an id that repeats: {"id": "q1", @GOOD} -> row 2, id: 'q1' stands in row 1 already
an id that is a path: {"id": "../q", @GOOD} -> row 2, id
an id that is a fraction: {"id": 7.5, @GOOD} -> row 2, id
a prompt that is absent: {"id": "q2"} -> row 2: prompt is missing
a prompt that is blank: {"id": "q2", "prompt": "  "} -> row 2, prompt
a prompt without end: {"id": "q2", "prompt": "@LONG"} -> row 2, prompt
a prompt with a NUL: {"id": "q2", "prompt": "a\u0000b"} -> row 2, prompt
a day that is none: {"id": "q2", @GOOD, "end_time": "2026-02-30"} -> row 2, end_time
a day without end: {"id": "q2", @GOOD, "end_time": "9999-12-31"} -> row 2, end_time
a level beyond 4: {"id": "q2", @GOOD, "level": 5} -> row 2, level
a level in words: {"id": "q2", @GOOD, "level": "hard"} -> row 2, level
a kind that is none: {"id": "q2", "prompt": "Rain?", "kind": "essay"} -> row 2, kind
a choice of nothing: {"id": "q2", "prompt": "Rain?", "kind": "single"} -> row 2, kind: single needs options
one option: {"id": "q2", "prompt": "Will it rain?", "options": ["Yes"]} -> row 2, options
options that are alike: {"id": "q2", "prompt": "Will it rain?", "options": ["Yes", "yes "]} -> row 2, options
letters with a gap: {"id": "q2", "prompt": "Will it rain?", "options": {"A": "x", "C": "y"}} -> row 2, options
options of a number: {"id": "q2", @GOOD, "kind": "number"} -> row 2, options: a question of kind number has
options that are no JSON: {"id": "q2", "prompt": "Will it rain?", "options": "Yes/No"} -> row 2, options
half a character: {"id": "q2", "prompt": "Will it rain?", "options": "[\"Yes\", \"\\ud800\"]"} -> row 2, options
a row that is no object: ["q2"] -> row 2: wanted is an object with id and prompt, not list
""".strip().splitlines()
"""What is wrong: the second row, after GOOD -> what is said of it."""

FILES = [
    (
        "broken.jsonl",
        b'{"id": "q1", "prompt": "a"}\n{"id": "q2", ',
        "broken.jsonl, line 2: no JSON",
    ),
    ("object.json", b'{"id": "q1"}', "object.json holds a dict; wanted is a list of questions"),
    ("empty.csv", b"", "empty.csv is empty; a question a row"),
    ("none.json", b"[]", "none.json holds no question"),
    ("fake.parquet", b"PAR1 no table", "fake.parquet cannot be read as .parquet"),
    (
        "questions.docx",
        b"x",
        "questions.docx: a file of questions ends in .parquet, .csv, .json, .jsonl, not .docx",
    ),
]


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_row_is_refused_by_row_and_field(tmp_path, case):
    row, _, said = case.partition(": ")[2].partition(" -> ")
    path = tmp_path / "week.json"
    path.write_text(
        json.dumps([GOOD, json.loads(row.replace("@GOOD", WHOLE).replace("@LONG", "a" * 30_001))])
    )
    with pytest.raises(ValueError) as refused:
        fetch_batch(path)
    assert str(refused.value).startswith("week.json, ") and said in str(refused.value)


@pytest.mark.parametrize(("name", "body", "said"), FILES, ids=[name for name, _, _ in FILES])
def test_a_malformed_file_is_refused_by_name(tmp_path, name, body, said):
    (tmp_path / name).write_bytes(body)
    with pytest.raises(ValueError) as refused:
        fetch_batch(tmp_path / name)
    assert said in str(refused.value)


def test_csv_json_jsonl_and_parquet_are_the_same_questions(tmp_path):
    asked = [{"id": "q1", "prompt": "How many?", "level": 3}]
    asked.append({"id": "q2", "prompt": "Who wins?", "level": 4, "options": ["Ann", "Bo"]})
    table = pd.DataFrame(asked)
    table.assign(options=["", "Ann|Bo"]).to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.json").write_text(json.dumps(asked))
    lines = "".join(json.dumps(row) + "\n" for row in asked).replace("How many", "How\u2028many")
    (tmp_path / "a.jsonl").write_text(lines, encoding="utf-8")  # no end of a line of JSON
    rows = [asked[0], asked[1] | {"options": {"A": "Ann", "B": "Bo"}}]
    for kind in ("csv", "parquet", "json", "jsonl"):
        found = fetch_batch(tmp_path / f"a.{kind}").rows
        assert [row | {"prompt": " ".join(row["prompt"].split())} for row in found] == rows, kind


def test_options_keep_their_own_quotes_and_lose_the_questions():
    shape = read_shape(
        'Event: "Which film?\nA.  the outcome be "Rain"\nB.  the outcome be Snow"\nOne letter: \\boxed{A}'
    )
    assert shape.options == {"A": '"Rain"', "B": "Snow"} and shape.kind == "single"


def test_what_a_row_says_comes_before_what_its_prompt_does():
    batch = Batch(
        [{"id": "q", "prompt": "How many?", "kind": "text", "unit": "m"}], "mine.csv", "0" * 64
    )
    event = build_events(batch, "2026-03-04T10:00:00+08:00").iloc[0]
    assert (event["kind"], event["unit"], event["prompt"]) == ("text", "m", "How many?")
    assert parse_json(event["metadata"]) == {"writes": "value", "is_known": True}
    assert (
        find_shape(
            {"prompt": "Pick\nA. x\nB. y", "options": {"A": "x", "B": "y"}, "kind": "multi"}
        ).kind
        == "multi"
    )


FRAME = (
    'You can predict. The event to be predicted: "%s"\n'
    "IMPORTANT: Your final answer MUST end with\n\\boxed{PREDICTION}"
)


def read_table(name):
    """Return the rows of a table beside this file; a blank cell is None."""
    rows = pd.read_csv(Path(__file__).with_name(name), dtype={"k": "Int64"})
    return rows.astype(object).where(rows.notna(), None).to_dict("records")


def check_shape(prompt, row):
    shape = read_shape(prompt)
    assert shape.is_known == row["is_known"], prompt
    assert row["kind"] is None or (shape.kind, shape.k, shape.unit) == (
        row["kind"],
        row["k"],
        row["unit"],
    ), prompt


@pytest.mark.parametrize("row", read_table("wordings.csv"), ids=lambda row: row["prompt"])
def test_kinds_places_and_amounts_are_told_apart_by_the_words_or_are_doubtful(row):
    for whole in (row["prompt"], FRAME % row["prompt"]):
        check_shape(whole, row)


def test_futurex_own_prompts_show_their_kind():
    """Of 140 past prompts and 12 open examples the kinds are kept by id; the texts are not ours."""
    root = files.ROOT / os.environ.get(MIRROR, "")
    paths = [
        root / "agents/futurex_lanian/futurex_predictions.json.gz",
        root / "futurex/questionData.json",
    ]
    paths.append(root / "agents/futurex_lanian/sampled_futurex_50.json.gz")
    if MIRROR not in os.environ or not all(path.exists() for path in paths):
        pytest.skip("needs the projects' files (KIT_DATA_MIRROR)")
    past, examples, sampled = (pd.read_json(path, dtype=False).to_dict("records") for path in paths)
    prompts = {row["question_id"]: row.get("prompt", row["question"]) for row in [*past, *sampled]}
    prompts |= {
        f"example-{n}": row["question"] for n, row in enumerate(examples) if not row["options"]
    }
    kinds = read_table("futurex_kinds.csv")
    assert {row["id"] for row in kinds} == set(prompts)
    for row in kinds:
        check_shape(prompts[row["id"]], row)


def test_labels_beyond_z_are_read_in_prompts_and_in_options():
    labels = [chr(code) for code in range(65, 98)]
    lines = "\n".join(f"{label}.  the outcome be Port {n}" for n, label in enumerate(labels))
    options = {label: f"Port {n}" for n, label in enumerate(labels)}
    shape = read_shape(f"Which ports reopen?\n{lines}\nName all plausible option(s): \\boxed{{A}}")
    assert (shape.kind, shape.options) == ("multi", options)
    for given in (
        list(options.values()),
        options,
        [f"{label}. the outcome be {text}" for label, text in options.items()],
    ):
        row = {
            "id": "q",
            "prompt": "Which ports reopen?",
            "options": json.dumps(given),
            "kind": "multi",
        }
        events = build_events(
            Batch(check_rows([row], "mine.csv"), "mine.csv", "0" * 64), "2026-03-04T10:00:00+08:00"
        )
        assert parse_json(events.loc[0, "options"]) == options
        event = events.iloc[0].to_dict()
        for cell in ("C, [, `, a", ["C", "[", "`", "a"], "['C', '[', '`', 'a']"):
            assert read_truth(cell, event) == (["C", "[", "`", "a"], "")
        assert read_truth("[, \\", event) == (["[", "\\"], "")
        assert write_prediction(["C", "[", "`", "a"], event) == "C, [, `, a"


def test_a_question_without_a_cluster_is_asked_as_before_and_counts_as_one_by_itself():
    rows = check_rows(
        [GOOD, GOOD | {"id": "q2"}, GOOD | {"id": "q3", "cluster": "rain"}], "mine.json"
    )
    events = build_events(Batch(rows, "mine.json", "5" * 40), "2026-03-02T10:00:00+08:00")
    assert events["cluster_id"].isna().tolist() == [True, True, False], (
        "a run's id rests on the events' cells"
    )
    assert find_clusters(events)[0].tolist() == ["q1", "q2", "rain"]
    alone = events[:2]
    clusters, by = find_clusters(alone)
    assert clusters.tolist() == ["q1", "q2"] and by == "event", (
        "one list is no source that its questions share"
    )
