"""FutureX's public scorer beside its paper's formulas, by hand-worked cases."""

import pandas as pd
import pytest
from builders import make_event

from daybefore.live.settle import choose_scorer
from helpers import scores, tables
from helpers.files import dump_json


def make_answer(value, spread=None):
    row = {"event_id": "e", "value": dump_json(value), "status": "ok", "spread": spread}
    return tables.check_table("answers", pd.DataFrame([row]))


# kind, level, prediction, answer, spread -> score by the paper, by the public code
CASES = [
    ("single", 1, "A", "A", None, 1.0, 1.0),
    ("single", 1, "B", "A", None, 0.0, 0.0),
    ("multi", 2, ["A", "B"], ["A"], None, 2 / 3, 0.0),  # a second label beside the one right one
    ("multi", 2, ["A"], ["A"], None, 1.0, 1.0),
    ("multi", 2, ["A", "C"], ["A", "B"], None, 0.5, 0.5),  # several right: F1 by both
    ("multi", 3, ["B", "A"], ["A", "B"], None, 1.0, 1.0),  # any order
    ("multi", 3, ["A"], ["A", "B"], None, 2 / 3, 0.0),  # level 3: no part of it
    ("ranking", 3, ["a", "b"], ["a", "b"], None, 1.0, 1.0),
    ("ranking", 3, ["b", "a"], ["a", "b"], None, 0.8, 0.0),  # the 0.8 is not reached
    ("ranking", 3, ["a", "b", "c"], ["a", "b"], None, 1.0, 0.0),  # the paper's is cut to k
    ("number", 4, 103.0, 100.0, 2.0, 0.0, 1 - 0.6**2),  # 5% of 100 is 5
    ("number", 4, 101.0, 100.0, None, None, 1 - 0.2**2),  # no spread: unscored by the paper
    ("number", 4, 0.005, 0.0, 2.0, 1 - 0.0025**2, 0.75),  # 0.01 where the truth is 0
    ("text", 3, "The fox", "fox", None, 1.0, 0.0),  # equal beside the judge, not found within
    ("number", 4, None, 100.0, 2.0, 0.0, 0.0),  # missing: 0 where it is imputed
]


@pytest.mark.parametrize("case", CASES, ids=[f"{case[0]}-{case[2]}-{case[3]}" for case in CASES])
def test_both_scorers_on_a_case(case):
    kind, level, prediction, answer, spread, by_paper, by_code = case
    options = dump_json({"A": "x", "B": "y", "C": "z"}) if kind in ("single", "multi") else None
    events = pd.DataFrame([make_event(event_id="e", kind=kind, level=level, options=options)])
    answers = make_answer(answer, spread)
    said = {"run_id": "r", "event_id": "e", "agent_id": "a", "sample": 0, "value": dump_json(prediction)}
    said |= {"status": "ok" if prediction is not None else "missing"}
    for scorer, wanted in ((scores.PAPER_SCORER, by_paper), (scores.CODE_SCORER, by_code)):
        table = scores.score_predictions(pd.DataFrame([said]), answers, events, scorer)
        row = table[table["metric"] == scores.HEADLINE[kind]].iloc[0]
        if wanted is None:
            assert not row["is_scored"]
        else:
            assert row["score_imputed"] == pytest.approx(wanted)


def test_scores_of_two_scorers_do_not_enter_one_mean():
    events = pd.DataFrame([make_event(event_id="e", kind="number", level=4, options=None)])
    answers = make_answer(100, 2.0)
    said = pd.DataFrame(
        [{"run_id": "r", "event_id": "e", "agent_id": "a", "sample": 0, "value": "101", "status": "ok"}]
    )
    both = pd.concat([scores.score_predictions(said, answers, events, scorer) for scorer in scores.SCORERS])
    with pytest.raises(ValueError, match="scores of 1 and futurex_code are mixed"):
        scores.select_headline(both, events)
    with pytest.raises(ValueError, match="no scorer 'board'; there are futurex_paper and futurex_code"):
        scores.score_predictions(said, answers, events, "board")


def test_the_challenge_is_settled_by_the_public_scorer_and_own_questions_by_the_paper():
    assert choose_scorer({"source": "futurex-ai/Futurex-Online"}) == "futurex_code"
    assert choose_scorer({"source": "week.jsonl"}) == "futurex_paper"
