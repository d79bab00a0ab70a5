"""FutureX's public scorer beside its paper's formulas, by hand-worked cases."""

import pandas as pd
import pytest
from builders import make_tables, read_cases

from daybefore.live.settle import choose_scorer
from helpers import scores


@pytest.mark.parametrize(
    "case", read_cases(__file__, "scorers"), ids=lambda case: f"{case['kind']}: {case['why']}"
)
def test_both_scorers_on_a_case(case):
    status = "missing" if case["prediction"] is None else "ok"
    made = make_tables(
        case["kind"], case["prediction"], case["answer"], case["spread"], status=status
    )
    tables = *made[:2], made[2].assign(level=case["level"])
    for scorer, wanted in (
        (scores.PAPER_SCORER, case["by_paper"]),
        (scores.CODE_SCORER, case["by_code"]),
    ):
        table = scores.score_predictions(*tables, scorer)
        row = table[table["metric"] == scores.HEADLINE[case["kind"]]].iloc[0]
        if wanted is None:
            assert not row["is_scored"]
        else:
            assert row["score_imputed"] == pytest.approx(wanted)


def test_scores_of_two_scorers_do_not_enter_one_mean():
    tables = make_tables("number", 101, 100, 2.0)
    both = pd.concat([scores.score_predictions(*tables, scorer) for scorer in scores.SCORERS])
    with pytest.raises(ValueError, match="scores of 1 and futurex_code are mixed"):
        scores.select_headline(both, tables[2])
    with pytest.raises(
        ValueError, match="no scorer 'board'; there are futurex_paper and futurex_code"
    ):
        scores.score_predictions(*tables, "board")


def test_the_challenge_is_settled_by_the_public_scorer_and_own_questions_by_the_paper():
    assert choose_scorer({"source": "futurex-ai/Futurex-Online"}) == "futurex_code"
    assert choose_scorer({"source": "week.jsonl"}) == "futurex_paper"
