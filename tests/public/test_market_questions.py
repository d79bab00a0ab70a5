"""The funnel of real market questions by judges, and what is kept of a model's reply about one."""

import pandas as pd
from public.market_questions import count_funnel, hide_prompt


def test_the_funnel_counts_questions_that_every_judge_saw_twice():
    ids = pd.Index(["a", "b", "c", "d"], name="question_id")
    harmful = pd.DataFrame(
        {"words": [True, False, False, True], "panel": [False, False, True, None]}, ids, dtype=object
    )
    subjective = pd.DataFrame({"words": [True, True, False, False], "panel": [False] * 4}, ids, dtype=object)
    funnel = count_funnel({"harmful": harmful, "subjective": subjective}).set_index("judge")
    assert funnel.loc["words"].tolist() == [3, 2, 1] and funnel.loc["panel"].tolist() == [3, 2, 2]


def test_of_a_reply_about_a_public_question_no_word_of_it_is_kept():
    request = {
        "model": "m",
        "messages": [{"role": "user", "content": "Will it rain?"}],
        "options": {"n": 1},
        "sample": 0,
    }
    kept = hide_prompt({"key": "k", "status": "ok", "content": '{"harmful": "no"}', "request": request})
    assert "rain" not in str(kept) and kept["key"] == "k" and kept["content"] == '{"harmful": "no"}'
