"""Chances: what was said of an option, and whether it came true."""

import numpy as np
import pandas as pd

from helpers.stats.calibration import list_chances


def test_a_question_without_an_answer_says_nothing_of_chances():
    events = pd.DataFrame({"event_id": ["e1", "e2"], "kind": "single", "options": '{"A":"x","B":"y","C":"z"}'})
    answers = pd.DataFrame({"event_id": ["e1", "e2"], "value": ['"A"', np.nan]})
    told = pd.DataFrame({"event_id": ["e1", "e2"], "agent_id": "a", "distribution": '{"A":0.5,"B":0.3,"C":0.2}'})
    chances = list_chances(events, answers, told)[["event_id", "hit"]].to_numpy().tolist()
    assert chances == [["e1", 1.0], ["e1", 0.0], ["e1", 0.0]]
