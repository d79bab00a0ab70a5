"""Agents against a consensus: planted win rates and errors, wrong tables, and the polls of 2016."""

import numpy as np
import pandas as pd
import pytest

from daybefore.models.judges import Verdict
from studies.futurex.experts import (
    COLUMNS,
    N_SHOWN,
    apply_rules,
    ask_states,
    judge_forecasts,
    load_forecasts,
    summarize_agents,
)

EVE = "2016-11-08T00:00:00+08:00"


def judge(*rows):
    """Judge rows of (consensus, actual, forecast), an item each."""
    table = pd.DataFrame(rows, columns=["consensus", "actual", "forecast"])
    table = table.assign(item=[f"I{at}" for at in table.index], metric="eps", agent="m")
    return judge_forecasts(table, {"eps": 0.01}, 0.3)


def test_results_worked_by_hand():
    table = judge(
        (100, 110, 105), (100, 110, 95), (100, 110, 100.9), (100, 110, 120), (100, 110, None)
    )
    # nearer; farther; within 1% of the consensus; equally far on the other side (no win); missing
    assert table["result"].tolist() == ["win", "loss", "tie", "loss", "missing"]


def test_a_rate_is_held_against_one_half_in_the_family_of_all_rows():
    rng = np.random.default_rng(4)
    parts = [
        judge(*[(100, 120, 110 if won else 90) for won in flips])
        for flips in rng.random((20, 51)) < 0.5
    ]
    judged = pd.concat(
        [part.assign(agent=f"a{at}") for at, part in enumerate(parts)], ignore_index=True
    )
    table = summarize_agents(judged)
    assert table["p"].min() < 0.2 and (table["p_holm"] > 0.05).all(), (
        "the best of twenty coins is still a coin"
    )
    sure = summarize_agents(judge(*[(100, 120, 110)] * 51)).iloc[0]
    assert sure["p_holm"] < 1e-9
    assert sure[["n", "n_ties", "win_rate", "mape_gap"]].tolist() == pytest.approx(
        [51, 0, 1, (10 - 20) / 120]
    )


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["A,eps,0,1,m,1"], "row 2, column consensus: 0, and ties"),
        (["A,eps,1,1,m,n/a"], "row 2, column forecast: 'n/a' is no number"),
        (["A,eps,1,1,m,1", "A,eps,1,2,k,1"], "row 3, column actual: 2 here, 1 before"),
    ],
)
def test_a_wrong_csv_is_named_by_file_row_column_and_reason(tmp_path, lines, problem):
    path = tmp_path / "mine.csv"
    path.write_text("\n".join([",".join(COLUMNS), *lines]) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=f"^mine.csv, {problem}"):
        load_forecasts(path)


def make_polls(*rows):
    return pd.DataFrame(rows, columns=["end_date", "clinton", "trump", "others"]).assign(
        state="Ohio", pollster="P"
    )


def test_rules_worked_by_hand():
    polls = make_polls(
        ("2016-10-09", 40.0, 50.0, 5.0),
        ("2016-10-29", 42.0, 48.0, None),
        ("2016-10-29", 42.0, 44.0, 15.0),
    )
    means = pd.DataFrame({"clinton": [41], "trump": [47], "lead": [-6]}, ["Ohio"])
    rules = apply_rules(polls, means).set_index("agent")[["clinton", "trump"]]
    assert rules.loc["last poll"].tolist() == [42, 46]
    assert rules.loc["mean of 7 polls"].round(3).tolist() == [41.333, 47.333]
    assert rules.loc["undecided shared out"].tolist() == pytest.approx([90 * 41 / 88, 90 * 47 / 88])


def test_a_model_is_shown_the_newest_polls_known():
    asked = []

    def consult(prompt, schema):
        asked.append(prompt)
        return (
            Verdict("ok", {"clinton": 40.0, "trump": 50.0})
            if len(asked) == 1
            else Verdict("missing")
        )

    polls = make_polls(*[(f"2016-10-{day}", 40 + day / 10, 45.0, None) for day in range(11, 20)])
    shown = ask_states(consult, ["Ohio", "Iowa"], "m", EVE, polls)
    assert "7 November 2016" in asked[0]
    lines = [line for line in asked[0].splitlines() if line.startswith("2016-")]
    assert lines[0] == "2016-10-19, 41.9, 45.0"
    assert len(lines) == N_SHOWN
    assert shown.iloc[0].tolist() == ["Ohio", "m", 40.0, 50.0, "ok"]
    assert (
        shown.iloc[1].isna().tolist() == [False, False, True, True, False]
        and shown["status"][1] == "missing"
    )
