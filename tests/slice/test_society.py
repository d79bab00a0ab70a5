import gzip
import json
import pickle

import pandas as pd
from slice import society, sport

MATCH = ("date", "division", "home_team", "away_team", "home_score", "away_score")


def test_table_counts_points_wins_and_goals_up_to_each_day():
    matches = [
        ("2016-05-15", "X", "Ayr", "Dun", 5, 0),
        ("2016-09-12", "X", "Ayr", "Bo", 2, 0),
        ("2016-09-14", "X", "Bo", "Cay", 1, 1),
        ("2016-09-14", "Y", "Dun", "Ayr", 1, 4),
        ("2016-09-16", "X", "Cay", "Ayr", 3, 1),
    ]
    season = json.dumps([dict(zip(MATCH, match, strict=True)) for match in matches]).encode()
    table = sport.build_standings(season, "X").set_index(["occurred_at", "entity"])
    assert table.loc["2016-09-13", "points"].to_dict() == {"Ayr": 3, "Bo": 0, "Cay": 0}
    assert table.loc[("2016-09-16", "Cay")].tolist() == [4, 1, 2, 4, 2, 40_204]
    assert table.loc[("2016-09-16", "Ayr")].tolist() == [3, 1, 0, 3, 2, 30_003]
    assert table.loc[("2016-09-14", "Bo"), "rank_score"] == 10_000 - 200 + 1


def test_poll_counts_for_fourteen_days_from_its_end():
    polls = pd.DataFrame(
        {
            "entity": "Ohio",
            "enddate": ["2016-09-20", "2016-09-28"],
            "clinton": [40.0, 45.0],
            "trump": [44.0, 42.0],
        }
    )
    means = society.average_polls(polls).set_index("occurred_at")
    assert means.index[0] == "2016-09-20"
    assert means.loc["2016-10-03", ["clinton", "trump", "lead", "n_polls"]].tolist() == [
        42.5,
        43.0,
        -0.5,
        2,
    ]
    assert means.loc["2016-10-04", ["clinton", "lead", "n_polls"]].tolist() == [45.0, 3.0, 1]
    assert means.index[-1] == "2016-10-11"


def test_force_ranking_follows_names_known_before_the_window():
    moments = [
        "2016/03/01 10:00:00",
        "2016/10/01 10:00:00",
        "2016/10/03 10:00:00",
        "2016/10/03 10:00:00",
    ]
    places = ["Como", "Como", "Como", "Folwell"]
    records = pd.DataFrame(
        {"response_datetime": moments, "neighborhood": places, "problem": "Fight ", "age": 30}
    )
    packed = gzip.compress(pickle.dumps(records))
    rows = society.build_force_ranking(packed, column="neighborhood", n=5, days=7)
    assert rows["entity"].unique().tolist() == ["Como"]
    reports = rows.set_index("occurred_at")["reports"]
    assert reports.loc[["2016-10-03", "2016-10-08", "2016-10-10"]].tolist() == [2, 1, 0]
    total = society.build_force_total(packed).set_index("occurred_at")
    assert total.loc["2016-10-03"].tolist() == ["Minneapolis", 2, 1]
    assert total.loc["2016-10-02"].tolist() == ["Minneapolis", 0, 0]
