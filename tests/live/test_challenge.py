"""Rows of questions that cannot be asked are refused by row and field; prompts' forms are recovered."""

import json

import pandas as pd
import pytest

from helpers.live.challenge import Batch, build_events, fetch_batch, find_shape
from helpers.live.shapes import read_shape
from helpers.store import parse_json

GOOD = {"id": "q1", "prompt": "Will it rain?", "options": ["Yes", "No"]}

MALFORMED = [
    ("an id that is absent", {"prompt": "Will it rain?"}, "row 2: id is missing"),
    ("an id that repeats", GOOD, "row 2, id: 'q1' stands in row 1 already"),
    ("an id that is a path", GOOD | {"id": "../q"}, "row 2, id: "),
    ("an id that is a number", GOOD | {"id": 7}, "row 2, id: "),
    ("a prompt that is absent", {"id": "q2"}, "row 2: prompt is missing"),
    ("a prompt that is blank", {"id": "q2", "prompt": "  "}, "row 2, prompt: "),
    ("a prompt without end", {"id": "q2", "prompt": "a" * 30_001}, "row 2, prompt: "),
    ("a prompt with a NUL", {"id": "q2", "prompt": "a\0b"}, "row 2, prompt: "),
    ("a day that is none", GOOD | {"id": "q2", "end_time": "2026-02-30"}, "row 2, end_time: "),
    ("a day without end", GOOD | {"id": "q2", "end_time": "9999-12-31"}, "row 2, end_time: "),
    ("a level beyond 4", GOOD | {"id": "q2", "level": 5}, "row 2, level: "),
    ("a level in words", GOOD | {"id": "q2", "level": "hard"}, "row 2, level: "),
    ("a kind that is none", {"id": "q2", "prompt": "Rain?", "kind": "essay"}, "row 2, kind: "),
    ("a choice of nothing", {"id": "q2", "prompt": "Rain?", "kind": "single"}, "row 2, kind: single needs options"),
    ("one option", GOOD | {"id": "q2", "options": ["Yes"]}, "row 2, options: "),
    ("options that are alike", GOOD | {"id": "q2", "options": ["Yes", "yes "]}, "row 2, options: "),
    ("letters with a gap", GOOD | {"id": "q2", "options": {"A": "x", "C": "y"}}, "row 2, options: "),
    ("options of a number", GOOD | {"id": "q2", "kind": "number"}, "row 2, options: a question of kind number has"),
    ("options that are no JSON", GOOD | {"id": "q2", "options": "Yes/No"}, "row 2, options: "),
    ("half a character", GOOD | {"id": "q2", "options": '["Yes", "\\ud800"]'}, "row 2, options: "),
    ("a row that is no object", ["q2"], "row 2: wanted is an object with id and prompt, not list"),
]

FILES = [
    ("broken.jsonl", b'{"id": "q1", "prompt": "a"}\n{"id": "q2", ', "broken.jsonl, line 2: no JSON"),
    ("object.json", b'{"id": "q1"}', "object.json holds a dict; wanted is a list of questions"),
    ("empty.csv", b"", "empty.csv cannot be read as .csv"),
    ("none.json", b"[]", "none.json holds no question"),
    ("fake.parquet", b"PAR1 no table", "fake.parquet cannot be read as .parquet"),
    ("questions.docx", b"x", "questions.docx: a file of questions ends in .parquet, .csv, .json, .jsonl, not .docx"),
]


@pytest.mark.parametrize(("what", "row", "said"), MALFORMED, ids=[what for what, _, _ in MALFORMED])
def test_a_malformed_row_is_refused_by_row_and_field(tmp_path, what, row, said):
    path = tmp_path / "week.json"
    path.write_text(json.dumps([GOOD, row]))
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
    rows = [{"id": "q1", "prompt": "How many?", "level": 3}, {"id": "q2", "prompt": "Who wins?", "level": 4}]
    table = pd.DataFrame(rows)
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.json").write_text(json.dumps(rows))
    table.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    assert all(fetch_batch(tmp_path / f"a.{kind}").rows == rows for kind in ("csv", "parquet", "json", "jsonl"))
    (tmp_path / "b.jsonl").write_text('{"id": "q1", "prompt": "How\u2028many\u0085?"}\n', encoding="utf-8")
    assert len(fetch_batch(tmp_path / "b.jsonl").rows) == 1, "JSON allows these where lines end elsewhere"


@pytest.mark.parametrize(
    ("prompt", "kind", "k", "unit"),
    [
        ("Who will be champion?", "text", None, None),
        ("How many goals will be scored?", "number", None, None),
        ("What will be the rank of the song?", "number", None, None),
        ("What is the air temperature? Unit: °C", "number", None, "°C"),
        ("Name the top five songs in order.", "ranking", 5, None),
        ("Which countries will vote yes?", "list", None, None),
        ("When will the ferry resume?", "date", None, None),
        ("北京时间周五，金价收盘多少元/克？（单位：元/克）", "number", None, "元/克"),
        ("票房前五名的电影依次是？", "ranking", 5, None),
        ("哪些国家会投赞成票？", "list", None, None),
        ("哪支球队将夺冠？", "text", None, None),
        ("展会哪一天开幕？", "date", None, None),
    ],
)
def test_open_questions_show_their_kind(prompt, kind, k, unit):
    shape = read_shape(prompt + "\nIMPORTANT: end with \\boxed{YOUR_PREDICTION}")
    assert (shape.kind, shape.k, shape.unit, shape.is_known) == (kind, k, unit, True)


def test_what_is_not_recognised_is_text_and_says_so():
    shape = read_shape("Describe the sea.")
    assert (shape.kind, shape.is_known) == ("text", False)


def test_options_keep_their_own_quotes_and_lose_the_questions():
    shape = read_shape(
        'Event: "Which film?\nA.  the outcome be "Rain"\nB.  the outcome be Snow"\nOne letter: \\boxed{A}'
    )
    assert shape.options == {"A": '"Rain"', "B": "Snow"} and shape.kind == "single"


def test_what_a_row_says_comes_before_what_its_prompt_does():
    batch = Batch([{"id": "q", "prompt": "How many?", "kind": "text", "unit": "m"}], "mine.csv", "0" * 64)
    event = build_events(batch, "2026-03-04T10:00:00+08:00").iloc[0]
    assert (event["kind"], event["unit"], event["prompt"]) == ("text", "m", "How many?")
    assert parse_json(event["metadata"]) == {"writes": "value", "is_known": True}
    assert find_shape({"prompt": "Pick\nA. x\nB. y", "options": {"A": "x", "B": "y"}, "kind": "multi"}).kind == "multi"
