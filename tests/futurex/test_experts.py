"""Agents against a consensus: planted win rates and errors, wrong tables, and the polls of 2016."""

import math

import numpy as np
import pandas as pd
import pytest

from helpers.futurex.experts import (
    COLUMNS,
    N_SHOWN,
    apply_rules,
    ask_states,
    build_forecasts,
    judge_forecasts,
    list_known,
    load_election,
    load_forecasts,
    read_means,
    share_undecided,
    summarize_agents,
)
from helpers.models.judges import Verdict

EVE = "2016-11-08T00:00:00+08:00"
TIES = {"eps": 0.01, "revenue": 0.005}
HEAD = ",".join(COLUMNS)


def make_table(*rows, metric="eps", agent="m"):
    """Rows of (consensus, actual, forecast), an item each."""
    items = [f"I{at}" for at in range(len(rows))]
    table = pd.DataFrame(rows, columns=["consensus", "actual", "forecast"])
    return table.assign(item=items, metric=metric, agent=agent)[list(COLUMNS)]


def write(tmp_path, *lines, head=HEAD):
    path = tmp_path / "mine.csv"
    path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    return path


def judge(table):
    return judge_forecasts(table, TIES, 0.3)


def test_results_worked_by_hand():
    table = make_table((100, 110, 105), (100, 110, 95), (100, 110, 100.9), (100, 110, 120), (100, 110, None))
    # nearer; farther; within 1% of the consensus; equally far on the other side (no win); missing
    assert judge(table)["result"].tolist() == ["win", "loss", "tie", "loss", "missing"]


def test_tie_rule_of_the_metric_and_at_its_edge():
    rows = (100, 110, 101.0), (100, 110, 101.01), (100, 110, 100.5), (100, 110, 100.51)
    assert judge(make_table(*rows))["result"].tolist() == ["tie", "win", "tie", "tie"]
    assert judge(make_table(*rows, metric="revenue"))["result"].tolist() == ["win", "win", "tie", "win"]
    with pytest.raises(ValueError, match="no tie rule for metric 'sales'"):
        judge(make_table(*rows, metric="sales"))


def test_percentage_errors_are_capped_and_zero_actuals_too():
    judged = judge(make_table((10, 10, 11), (10, 10, 30), (1, 0, 0), (1, 0, 0.001), (-4, -5, -5)))
    assert judged["share_error"].tolist() == pytest.approx([0.1, 0.3, 0.0, 0.3, 0.0])
    assert judged["share_error_consensus"].tolist() == pytest.approx([0, 0, 0.3, 0.3, 0.2])


def test_summary_finds_planted_rates_and_counts_what_is_missing():
    won, tied, lost = [(100, 120, 110)] * 6, [(100, 120, 100)] * 2, [(100, 120, 90)] * 4
    table = summarize_agents(judge(make_table(*won, *tied, *lost, (100, 120, None))), np.random.default_rng(0))
    row = table.iloc[0]
    assert (row["n"], row["n_asked"], row["n_ties"]) == (12, 13, 2)
    assert row["coverage"] == pytest.approx(12 / 13)
    assert row["win_rate"] == pytest.approx(6 / 12)
    assert row["win_rate_untied"] == pytest.approx(6 / 10)
    assert row["mape_consensus"] == pytest.approx(20 / 120)
    assert row["mape"] == pytest.approx((6 * 10 + 2 * 20 + 4 * 30) / 12 / 120)
    assert row["mape_gap"] == pytest.approx(row["mape"] - row["mape_consensus"])
    assert row["win_rate_low"] < row["win_rate"] < row["win_rate_high"]
    assert row["verdict"] == "cannot tell"


def test_a_rate_is_held_against_one_half_in_the_family_of_all_rows():
    rng = np.random.default_rng(4)
    rows = [
        pd.DataFrame(make_table(*[(100, 120, 110 if won else 90) for won in flips]))
        for flips in rng.random((20, 51)) < 0.5
    ]
    judged = judge(pd.concat([part.assign(agent=f"a{at}") for at, part in enumerate(rows)], ignore_index=True))
    table = summarize_agents(judged, rng, n_boot=50)
    assert table["p"].min() < 0.2 and (table["p_holm"] > 0.05).all(), "the best of twenty coins is still a coin"
    sure = summarize_agents(judge(make_table(*[(100, 120, 110)] * 51)), rng, n_boot=50)
    assert sure["p_holm"].iloc[0] < 1e-9


def test_verdict_rests_on_the_paired_difference():
    # errors differ widely between items, but the agent is 1% nearer on every one: only a paired interval sees it
    rows = [(100 + 5 * at, 100, 100 + 5 * at - 1) for at in range(1, 6)]
    row = summarize_agents(judge(make_table(*rows)), np.random.default_rng(0)).iloc[0]
    assert (row["mape_gap_low"], row["mape_gap_high"]) == (pytest.approx(-0.01), pytest.approx(-0.01))
    assert row["mape_low"] < row["mape_consensus"] < row["mape_high"]
    assert row["verdict"] == "holds"


def test_a_right_csv_is_read_with_its_blanks(tmp_path):
    path = write(tmp_path, "# ours", "B,eps,1.5,0,m,", 'A,eps,2,2.5e0,"m, new",-2.25')
    table = load_forecasts(path)
    assert table.loc[0].tolist() == ["A", "eps", 2.0, 2.5, "m, new", -2.25]
    assert table.loc[1, "actual"] == 0
    assert math.isnan(table.loc[1, "forecast"])


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["A,eps,1,,m,1"], "row 2, column actual: the cell is blank"),
        (["A,eps,0,1,m,1"], "row 2, column consensus: 0, and ties"),
        (["A,eps,1,1,m,1", "A,eps,1,1,m,2"], "row 3, column agent: A, eps, m stands in row 2 already"),
        (["A,eps,1,1,m,n/a"], "row 2, column forecast: 'n/a' is no number"),
        (["A,eps,1,1,m,inf"], "row 2, column forecast: 'inf' is no finite number"),
        (["A,eps,1,nan,m,1"], "row 2, column actual: 'nan' is no finite number"),
        (['A,eps,"1,200",1,m,1'], "row 2, column consensus: '1,200' is no number"),
        (["A,eps,5%,1,m,1"], "row 2, column consensus: '5%' is no number"),
        ([",eps,1,1,m,1"], "row 2, column item: the cell is blank"),
        (["A,eps,1,1,m"], "row 2, column forecast: 5 cells, the header has 6"),
        (["A,eps,1,1,m,1", "A,eps,1,2,k,1"], "row 3, column actual: 2 here, 1 in row 2"),
        ([], "row 1, column item: the file has no rows"),
    ],
)
def test_a_wrong_csv_is_named_by_file_row_column_and_reason(tmp_path, lines, problem):
    with pytest.raises(ValueError, match="mine.csv") as error:
        load_forecasts(write(tmp_path, *lines))
    assert str(error.value).startswith(f"mine.csv, {problem}")


def test_polls_are_known_by_the_page_s_clock(sources):
    polls, _ = load_election()
    known = list_known(polls, sources["us_polls"].publication, EVE)
    # as of 11:00 in New York on 7 November, what ended on the 4th comes out an hour later
    assert known["end_date"].max() == "2016-11-03"
    assert (
        list_known(polls, sources["us_polls"].publication, "2016-11-08T01:00:01+08:00")["end_date"].max() > "2016-11-03"
    )


def test_the_committed_polls_are_those_behind_the_page(world, sources):
    polls, results = load_election()
    known = list_known(polls, sources["us_polls"].publication, EVE)
    newest = read_means(world(), EVE)
    recent = known[known["end_date"].between("2016-10-21", "2016-11-03")]
    means = recent.groupby("state")[["clinton", "trump"]].mean()
    assert (means - newest[["clinton", "trump"]]).abs().max().max() < 0.0051
    assert set(newest.index) == set(results["state"])
    assert len(results) == 51


def test_no_result_is_served_and_shares_are_shares():
    _, results = load_election()
    assert results["electoral_votes"].sum() in (535, 538)
    assert (results[["clinton", "trump", "others"]].sum(axis=1) - 100).abs().max() < 0.3


def make_polls(*rows):
    return pd.DataFrame(rows, columns=["end_date", "clinton", "trump", "others"]).assign(state="Ohio", pollster="P")


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


def test_undecided_shared_out_add_up():
    shares = share_undecided(make_polls(("2016-10-29", 1, 1, 8.0)), pd.Series({"clinton": 33.0, "trump": 44.0}))
    assert shares.sum() == pytest.approx(92)


def test_forecasts_get_their_lead_consensus_and_actual():
    shares = pd.DataFrame({"item": ["Ohio"], "agent": ["m"], "clinton": [45.0], "trump": [50.0]})
    results = pd.DataFrame({"state": ["Ohio", "Iowa"], "clinton": [43.5, 1], "trump": [51.7, 2]})
    consensus = pd.DataFrame({"clinton": [42.0], "trump": [44.0], "lead": [-2.0]}, ["Ohio"])
    table = build_forecasts(consensus, results, shares).set_index("metric")
    assert table.loc["lead", ["consensus", "actual", "forecast"]].tolist() == pytest.approx([-2, -8.2, -5])
    assert len(table) == 3


def test_a_model_is_shown_only_known_polls_or_none(monkeypatch):
    asked = []

    def consult(prompt, schema):
        asked.append(prompt)
        return Verdict("ok", {"clinton": 40.0, "trump": 50.0}) if len(asked) == 1 else Verdict("missing")

    polls = make_polls(*[(f"2016-10-{day}", 40 + day / 10, 45.0, None) for day in range(11, 20)])
    shown = ask_states(consult, ["Ohio"], "m", EVE, polls)
    assert "7 November 2016" in asked[0]
    lines = [line for line in asked[0].splitlines() if line.startswith("2016-")]
    assert lines[0] == "2016-10-19, 41.9, 45.0"
    assert len(lines) == N_SHOWN
    closed = ask_states(consult, ["Ohio"], "m")
    assert "2016-10" not in asked[1]
    assert shown.iloc[0].tolist() == ["Ohio", "m", 40.0, 50.0, "ok"]
    assert closed["clinton"].isna().all()
    assert closed["status"].tolist() == ["missing"]
