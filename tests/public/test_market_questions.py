"""The funnel of real market questions by judges, and what is kept of a model's reply about one."""

import json

import pandas as pd
from public.market_questions import count_funnel, keep_flags


def test_the_funnel_counts_questions_that_every_judge_saw_twice():
    ids = pd.Index(["a", "b", "c", "d"], name="question_id")
    harmful = pd.DataFrame(
        {"words": [True, False, False, True], "panel": [False, False, True, None]},
        ids,
        dtype=object,
    )
    subjective = pd.DataFrame(
        {"words": [True, True, False, False], "panel": [False] * 4}, ids, dtype=object
    )
    funnel = count_funnel({"harmful": harmful, "subjective": subjective}).set_index("judge")
    assert funnel.loc["words"].tolist() == [3, 2, 1] and funnel.loc["panel"].tolist() == [3, 2, 2]


def test_of_a_reply_about_a_public_question_yes_and_no_alone_are_kept():
    prose = "Will it rain?"
    request = {
        "model": "m",
        "messages": [{"content": prose}],
        "options": {"stop": prose},
        "sample": 0,
    }
    row = {
        "key": "k",
        "status": "ok",
        "duration_s": 1.5,
        "request": request,
        "reason": prose,
        "reasoning": prose,
    }
    row |= {
        "logprobs": [{"token": prose, "top": [[prose, 0.0]]}],
        "tool_calls": [{"arguments": prose}],
    }
    row |= {"citations": [prose], "queries": [prose]}
    said = {"harmful": "no", "subjective": prose, "why": prose}
    for content, left in ((json.dumps(said), '{"harmful":"no"}'), (prose, ""), (None, "")):
        kept = keep_flags(row | {"content": content})
        assert "rain" not in str(kept) and kept["content"] == left
        assert (kept["key"], kept["duration_s"], kept["request"]["model"]) == ("k", 1.5, "m")
    failed = keep_flags(
        {"key": "k", "status": "error", "reason": prose, "request": request, "cost_usd": None}
    )
    assert "rain" not in str(failed) and failed["status"] == "error"
