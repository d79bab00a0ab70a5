"""The six names: from a script or a notebook, without the command line."""

from collections import deque

import pandas as pd
import pytest

from daybefore import compare, draw, events, predictions, run, score


def test_six_names_go_from_questions_to_differences(out):
    asked = events("october-2016")
    assert {"event_id", "prompt", "kind", "level"} <= set(asked)
    results = run("last_value", limit=12)
    assert results["last_value"]["n_asked"] == 12
    rows = predictions("last_value arima")
    assert set(rows["agent_id"]) == {"last_value", "arima"}
    scores = score(rows)
    assert scores["score"].dropna().ge(0).all() and set(scores["agent_id"]) == {
        "last_value",
        "arima",
    }
    mine = score(
        pd.DataFrame(
            {"event_id": asked["event_id"][asked["kind"] == "single"].head(3), "value": '"A"'}
        )
    )
    assert set(mine["agent_id"]) == {"mine"} and len(mine) == 3
    found = compare("last_value", "arima")
    assert len(found["pairs"]) == 1 and set(found["leaderboard"]["agent_id"]) == {
        "last_value",
        "arima",
    }
    with pytest.raises(ValueError, match="'last_valeu'; did you mean last_value"):
        draw("last_valeu")


async def half(event, world):
    return "A" if event["kind"] == "single" else None


def test_a_function_is_run_as_it_stands_async_too_and_nothing_is_asked_twice(out):
    calls = deque()  # no plain value, which would name another run

    def first(event, world):
        calls.append(event["event_id"])
        return "A" if event["kind"] == "single" else None

    found = run([first, half], limit=4)
    assert found["first"]["n_asked"] == found["half"]["n_asked"] == 4 and "last_value" in found
    assert found["first"]["n_answered"] == found["half"]["n_answered"] > 0
    run(first, limit=4)
    assert len(calls) == 4
    assert set(predictions("first half")["agent_id"]) == {"first", "half"}
    with pytest.raises(ValueError, match="names no agent; give the function a name by def"):
        run(lambda event, world: "A", limit=4)
