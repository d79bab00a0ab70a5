"""Rows of questions that cannot be asked are refused by row and field; prompts' forms are recovered."""

import json
import os
from pathlib import Path

import pandas as pd
import pytest

from daybefore.live.challenge import Batch, build_events, check_rows, fetch_batch, find_shape
from daybefore.live.settle import read_truth
from daybefore.live.shapes import read_shape
from daybefore.live.submission import write_prediction
from helpers import files
from helpers.files import parse_json
from helpers.public_files import MIRROR

GOOD = {"id": "q1", "prompt": "Will it rain?", "options": ["Yes", "No"]}

MALFORMED = [
    ("an id that is absent", {"prompt": "Will it rain?"}, "row 2: id is missing"),
    ("an id that repeats", GOOD, "row 2, id: 'q1' stands in row 1 already"),
    ("an id that is a path", GOOD | {"id": "../q"}, "row 2, id: "),
    ("an id that is a fraction", GOOD | {"id": 7.5}, "row 2, id: "),
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


WORDINGS = [
    ("On 2026-03-04, who will be the singers ranked 2nd to 5th on the radio chart?", "ranking", 4, None),
    ("Which songs will stand in positions four to six of the hit list?", "ranking", 3, None),
    ("What will be the 4th-6th ranked novels of the library's list?", "ranking", 3, None),
    ("What will be the games from rank 11 to 15 of the store's chart?", "ranking", 5, None),
    ("Who will be the drivers ranked first through third?", "ranking", 3, None),
    ("北京时间周五，电台榜第4至第6的歌曲分别是什么？", "ranking", 3, None),
    ("书店榜单第二名到第四名分别是哪些书？", "ranking", 3, None),
    ("榜单TOP3的歌曲分别是什么？", "ranking", 3, None),
    ("歌曲榜（Top 50）前3名是哪几首？", "ranking", 3, None),
    ("On 2026-03-04, what will be the #1 song of the Radio Share Index?", "text", None, None),
    ("Which bicycle will be ranked 2nd on the Price List board?", "text", None, None),
    ("Who will rank first in the turnover table?", "text", None, None),
    ("本周歌曲榜排名第一的是哪首歌？", "text", None, None),
    ("What will be the rice price index on 4 March?", "number", None, None),
    ("Please predict what the Calm and Storm Index will be on Sunday.", "number", None, None),
    ("Please predict the turnover of the Oslo exchange for Friday.", "number", None, None),
    ("What will be the turnover on the Oslo exchange (in million crowns)?", "number", None, "million crowns"),
    ("What will the FTSE 100 close at on Friday?", "number", None, None),
    ("What will be the lowest point of ACME on Monday?", "number", None, None),
    ("Please predict the vote share percentage of the Greens.", "number", None, "%"),
    ("What will be the unemployment rate in May?", "number", None, "%"),
    ("浏览器排行榜中，某浏览器的占有率是%多少？", "number", None, "%"),
    ("批发市场苹果平均价格是多少元/公斤？", "number", None, "元/公斤"),
    ("Please predict the Top 5 Gross in euros on the cinema's list.", "number", None, "euros"),
    ("Please predict the top five films of the cinema's list.", "ranking", 5, None),
    ("Which of the top 10 cities will make the top 3?", "ranking", 3, None),
    ("Where will the film rank next week?", "number", None, None),
    ("Bitcoin up or down on Friday?", "single", None, None),
    ("Will the ferry sail on Friday?", "single", None, None),
    ("Will it take two or more days?", "single", None, None),
    ("台风会不会在周五登陆？", "single", None, None),
    ("Who will win the race? A. Ada, B. Bo, C. Cy", "single", None, None),
    ("Which rivers will flood?", "list", None, None),
    ("Which three rivers will flood?", "list", 3, None),
    ("Which series will win?", "text", None, None),
    ("On what day will the fair open?", "date", None, None),
]
DOUBTFUL = [
    "Oslo vs. Rome",
    "Will Ada or Bo win?",
    "Describe the sea.",
    "Best film score?",
    "Who wins? A. Ada, B. Bo, ...",
]
FRAME = (
    'You can predict. The event to be predicted: "%s"\nIMPORTANT: Your final answer MUST end with\n\\boxed{PREDICTION}'
)


@pytest.mark.parametrize(("prompt", "kind", "k", "unit"), WORDINGS)
def test_rankings_places_and_amounts_are_told_apart(prompt, kind, k, unit):
    for whole in (prompt, FRAME % prompt):
        shape = read_shape(whole)
        assert (shape.kind, shape.k, shape.unit, shape.is_known) == (kind, k, unit, True)


@pytest.mark.parametrize("prompt", DOUBTFUL)
def test_what_the_words_do_not_decide_is_doubtful(prompt):
    assert not read_shape(prompt).is_known


def test_futurex_own_prompts_show_their_kind():
    """Of 140 past prompts and 12 open examples the kinds are kept by id; the texts are not ours."""
    root = files.ROOT / os.environ.get(MIRROR, "")
    paths = [root / "agents/futurex_lanian/futurex_predictions.json.gz", root / "futurex/questionData.json"]
    paths.append(root / "agents/futurex_lanian/sampled_futurex_50.json.gz")
    if MIRROR not in os.environ or not all(path.exists() for path in paths):
        pytest.skip("needs the projects' files (KIT_DATA_MIRROR)")
    past, examples, sampled = (pd.read_json(path, dtype=False).to_dict("records") for path in paths)
    prompts = {row["question_id"]: row.get("prompt", row["question"]) for row in [*past, *sampled]}
    prompts |= {f"example-{n}": row["question"] for n, row in enumerate(examples) if not row["options"]}
    kinds = pd.read_csv(Path(__file__).with_name("futurex_kinds.csv"), dtype={"k": "Int64"})
    assert set(kinds["id"]) == set(prompts)
    for row in kinds.astype(object).where(kinds.notna(), None).to_dict("records"):
        shape = read_shape(prompts[row["id"]])
        assert (shape.kind, shape.k, shape.unit, shape.is_known) == (
            row["kind"],
            row["k"],
            row["unit"],
            row["is_known"],
        )


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
        row = {"id": "q", "prompt": "Which ports reopen?", "options": json.dumps(given), "kind": "multi"}
        events = build_events(Batch(check_rows([row], "mine.csv"), "mine.csv", "0" * 64), "2026-03-04T10:00:00+08:00")
        assert parse_json(events.loc[0, "options"]) == options
        event = events.iloc[0].to_dict()
        for cell in ("C, [, `, a", ["C", "[", "`", "a"], "['C', '[', '`', 'a']"):
            assert read_truth(cell, event) == (["C", "[", "`", "a"], "")
        assert read_truth("[, \\", event) == (["[", "\\"], "")
        assert write_prediction(["C", "[", "`", "a"], event) == "C, [, `, a"
