"""FutureX's public scorer beside its paper's formulas, by hand-worked cases."""

import pandas as pd
import pytest
from builders import make_tables, read_cases

from daybefore.live.settle_week import choose_scorer
from helpers import scores


@pytest.mark.parametrize(
    "case", read_cases(__file__, "scorers"), ids=lambda case: f"{case['kind']}: {case['why']}"
)
@pytest.mark.parametrize(
    ("scorer", "by"), [(scores.PAPER_SCORER, "by_paper"), (scores.CODE_SCORER, "by_code")]
)
def test_both_scorers_on_a_case(case, scorer, by):
    kind, value, status = case["kind"], case["prediction"], "ok"
    if value is None:
        status = "missing"
    *made, events = make_tables(kind, value, case["answer"], case["spread"], status=status)
    table = scores.score_predictions(*made, events.assign(level=case["level"]), scorer)
    row = table[table["metric"] == scores.HEADLINE[kind]].iloc[0]
    assert row["is_scored"] == (case[by] is not None)
    if row["is_scored"]:
        assert row["score_imputed"] == pytest.approx(case[by])


def test_scores_of_two_scorers_do_not_enter_one_mean():
    tables = make_tables("number", 101, 100, 2.0)
    both = pd.concat([scores.score_predictions(*tables, scorer) for scorer in scores.SCORERS])
    with pytest.raises(ValueError, match="scores of 1 and futurex_code are mixed"):
        scores.select_headline(both, tables[2])
    with pytest.raises(ValueError, match="'board'; there are futurex_paper and futurex_code"):
        scores.score_predictions(*tables, "board")


def test_the_challenge_is_settled_by_the_public_scorer_and_own_questions_by_the_paper():
    assert choose_scorer({"source": "futurex-ai/Futurex-Online"}) == "futurex_code"
    assert choose_scorer({"source": "week.jsonl"}) == "futurex_paper"
