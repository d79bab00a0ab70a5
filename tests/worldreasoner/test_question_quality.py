import pandas as pd
import pytest

from studies.worldreasoner.question_quality import rate_questions

GOOD = {
    "event_id": "q1",
    "source_id": "rain",
    "prompt": "Will 5 mm of rain or more fall at Oslo in the week to 7 April 2024?\nA. Yes\nB. No",
    "kind": "single",
    "options": '{"A":"Yes","B":"No"}',
    "unit": "mm",
    "variables": '{"ask":"threshold","variable":"rain","entity":"Oslo","threshold":5,"date":"2024-04-07"}',
    "opens_at": "2024-01-04T00:00:00+08:00",
    "resolves_at": "2024-04-08T00:00:00+08:00",
    "resolution_criteria": "What the station shows for 7 April 2024.",
    "provenance": "rows of a station",
}
OPEN = {"value": "A", "distribution": {"A": 0.5, "B": 0.5}}


def rate(*changes, said=OPEN, least=0):
    rows = [GOOD | {"event_id": f"q{n}"} | change for n, change in enumerate(changes)]
    names = [row["event_id"] for row in rows]
    return rate_questions(
        pd.DataFrame(rows), dict.fromkeys(names, said), dict.fromkeys(names, least)
    )


LATE = {"resolves_at": "2024-01-20T00:00:00+08:00"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"variables": GOOD["variables"].replace(":5", ":0")}, "answerability"),
        (LATE, ""),
        (LATE | {"variables": '{"date":"2024-01-01"}'}, "temporal validity"),
        ({"resolution_criteria": None, "provenance": ""}, "verifiability"),
        ({"prompt": "Will it likely rain soon? " + "word " * 60}, "clarity"),
    ],
)
def test_each_refusal_says_why(change, reason):
    assert rate(change)["reasons"].iloc[0].partition(":")[0] == reason


def test_what_looked_certain_and_what_was_asked_before_are_left_out():
    sure = {"value": "A", "distribution": {"A": 0.99, "B": 0.01}}
    assert rate({}, said=sure)["reasons"].iloc[0].startswith("interest")
    rome = {"variables": GOOD["variables"].replace("Oslo", "Rome")}
    again = rate({}, {"opens_at": "2024-01-10T00:00:00+08:00"}, rome).sort_values("event_id")
    assert again["reasons"].str.startswith("novelty").tolist() == [False, True, False]
