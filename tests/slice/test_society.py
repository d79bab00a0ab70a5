import gzip
import json
import pickle
import re
import string

import pandas as pd
import pytest
from slice import goods, society, sport

from helpers.store import ROOT
from helpers.web.sources import parse_source, read_rows

RECIPES = society.RECIPES | sport.RECIPES | goods.RECIPES
COMMITTED = sorted(name for name, recipe in RECIPES.items() if recipe.licence == "commit")
SOURCES = {name: parse_source(ROOT / f"data/sources/{name}.toml")[0] for name in RECIPES}
BLANKS = {
    "value": {"entity"},
    "band": {"entity"},
    "change": {"entity", "reference"},
    "threshold": {"entity", "threshold"},
    "above": {"threshold"},
    "top": {"k"},
    "rank": {"rank"},
    "outcome": {"entity"},
}


def make_match(date, home, away, home_score, away_score, division="X"):
    return dict(
        date=date, division=division, home_team=home, away_team=away, home_score=home_score, away_score=away_score
    )


def pack(table):
    return gzip.compress(pickle.dumps(table))


def fill_sentence(source, row):
    """Fill a prose source's sentence as the pages do: written-out date, commas from 10,000 on."""
    day = pd.Timestamp(row["occurred_at"])
    shown = {"date": f"{day.day} {day:%B %Y}", "entity": row["entity"]}
    for name, variable in source.variables.items():
        comma = "," if abs(row[name]) >= 10_000 else ""
        shown[name] = format(row[name], f"{comma}.{variable['decimals']}f")
    return source.page["sentence"].format(**shown)


def test_table_counts_points_wins_and_goals_up_to_each_day():
    matches = [
        make_match("2016-05-15", "Ayr", "Dun", 5, 0),
        make_match("2016-09-12", "Ayr", "Bo", 2, 0),
        make_match("2016-09-14", "Bo", "Cay", 1, 1),
        make_match("2016-09-14", "Dun", "Ayr", 1, 4, division="Y"),
        make_match("2016-09-16", "Cay", "Ayr", 3, 1),
    ]
    table = sport.build_standings(json.dumps(matches).encode(), "X").set_index(["occurred_at", "entity"])
    assert table.loc["2016-09-13", "points"].to_dict() == {"Ayr": 3, "Bo": 0, "Cay": 0}
    assert table.loc[("2016-09-16", "Cay")].tolist() == [4, 1, 2, 4, 2, 40_204]
    assert table.loc[("2016-09-16", "Ayr")].tolist() == [3, 1, 0, 3, 2, 30_003]
    assert table.loc[("2016-09-14", "Bo"), "rank_score"] == 10_000 - 200 + 1


def test_unknown_division_is_named():
    with pytest.raises(ValueError, match="no match of 'Z'"):
        sport.read_season(json.dumps([make_match("2016-09-12", "Ayr", "Bo", 2, 0)]).encode(), "Z")


def test_poll_counts_for_fourteen_days_from_its_end():
    polls = pd.DataFrame(
        {"entity": "Ohio", "enddate": ["2016-09-20", "2016-09-28"], "clinton": [40.0, 45.0], "trump": [44.0, 42.0]}
    )
    means = society.average_polls(polls).set_index("occurred_at")
    assert means.index[0] == "2016-09-20"
    assert means.loc["2016-10-03", ["clinton", "trump", "lead", "n_polls"]].tolist() == [42.5, 43.0, -0.5, 2]
    assert means.loc["2016-10-04", ["clinton", "lead", "n_polls"]].tolist() == [45.0, 3.0, 1]
    assert means.index[-1] == "2016-10-11"


def test_force_ranking_follows_names_known_before_the_window():
    moments = ["2016/03/01 10:00:00", "2016/10/01 10:00:00", "2016/10/03 10:00:00", "2016/10/03 10:00:00"]
    places = ["Como", "Como", "Como", "Folwell"]
    records = pd.DataFrame({"response_datetime": moments, "neighborhood": places, "problem": "Fight ", "age": 30})
    rows = society.build_force_ranking(pack(records), column="neighborhood", n=5, days=7)
    assert rows["entity"].unique().tolist() == ["Como"]
    assert rows.set_index("occurred_at")["reports"].loc[["2016-10-03", "2016-10-08", "2016-10-10"]].tolist() == [
        2,
        1,
        0,
    ]
    total = society.build_force_total(pack(records)).set_index("occurred_at")
    assert total.loc["2016-10-03"].tolist() == ["Minneapolis", 2, 1]
    assert total.loc["2016-10-02"].tolist() == ["Minneapolis", 0, 0]


def test_final_has_a_winner_and_nobody_leaves():
    rows = (
        pd.read_csv(ROOT / "data/replay/gbbo.csv").groupby("occurred_at")[["star_baker", "eliminated"]].sum(min_count=1)
    )
    assert (rows["star_baker"] == 1).all()
    assert (rows["eliminated"].iloc[:-1] == 1).all()
    assert pd.isna(rows.loc["2016-10-26", "eliminated"])


def test_holiday_week_appears_a_day_late():
    published = read_rows(SOURCES["eia_weekly"]).set_index("occurred_at")["published_at"]
    assert str(published["2016-09-30"]) == "2016-10-05 14:30:00+00:00"
    assert str(published["2016-10-07"]) == "2016-10-13 15:00:00+00:00"


@pytest.mark.parametrize("name", COMMITTED)
def test_rows_fit_the_registry_and_reach_into_the_benchmark(name):
    source, rows = SOURCES[name], read_rows(SOURCES[name])
    assert set(rows) == {"occurred_at", "entity", "published_at"} | set(source.variables)
    assert not rows.duplicated(["occurred_at", "entity"]).any()
    for variable, entry in source.variables.items():
        assert rows[variable].dropna().round(entry["decimals"]).equals(rows[variable].dropna()), variable
    known = rows[rows["published_at"] < pd.Timestamp("2016-10-24", tz="Asia/Shanghai")]
    least = 3 if source.update_frequency == "weekly" else 7
    assert known["occurred_at"].nunique() >= least
    assert rows["occurred_at"].max() > "2016-10-24"
    assert set(source.entities.get("only", [])) <= set(rows["entity"])


@pytest.mark.parametrize("name", sorted(name for name in COMMITTED if SOURCES[name].form == "prose"))
def test_pattern_reads_back_what_the_sentence_says(name):
    source, rows = SOURCES[name], read_rows(SOURCES[name])
    for row in rows.to_dict("records"):
        found = re.fullmatch(source.extract["pattern"], fill_sentence(source, row))
        assert found["entity"] == row["entity"]
        assert pd.Timestamp(found["date"]) == pd.Timestamp(row["occurred_at"])
        assert [float(found[v].replace(",", "")) for v in source.variables] == [row[v] for v in source.variables]


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_question_texts_have_the_blanks_their_kind_needs(name):
    for template in SOURCES[name].templates:
        blanks = {field for _, field, _, _ in string.Formatter().parse(template["text"]) if field}
        assert blanks == BLANKS.get(template["ask"], set()) | {"date"}, template["id"]
