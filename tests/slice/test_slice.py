"""The committed rows: what the manifests and the registry say of them, and recipes on small tables."""

import gzip
import hashlib
import json
import pickle
import tomllib

import pandas as pd
import pytest
from slice import build as builder
from slice import long, society, sport

from helpers.files import ROOT

REGISTRY = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in (ROOT / "data/sources").glob("*.toml")
}


def read_rows(name):
    table = pd.read_csv(ROOT / f"data/replay/{name}.csv", dtype={"occurred_at": str, "entity": str})
    return table.set_index("occurred_at")


@pytest.mark.parametrize("folder", builder.PARTS)
def test_a_manifest_lists_the_recipes_and_exactly_the_committed_files_with_their_digests(folder):
    manifest = builder.read_manifest(folder)
    made = {name for name, entry in REGISTRY.items() if entry["form"] == "market"} | {"manifest"}
    paths = [path for path in (ROOT / folder).glob("*.csv") if path.stem not in made]
    digests = {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    assert digests == manifest["sha256"].to_dict()
    assert set(manifest.index) == set(builder.PARTS[folder])
    for entry in manifest.to_dict("records"):
        assert entry["package_sha256"] == builder.read_lock()[builder.name_package(entry)]
    assert set(manifest["licence"]) == {"commit"} and manifest["attribution"].str.len().min() > 20


def test_registry_fits_the_rows():
    for source_id, entry in REGISTRY.items():
        if entry["form"] != "market":
            rows = read_rows(entry.get("rows", source_id))
            for variable, facts in entry["variables"].items():
                hidden = (rows[variable].round(facts["decimals"]) - rows[variable]).abs().max()
                assert hidden < 1e-9, f"{source_id}: {variable} has more decimals than shown"
            assert set(entry["entities"].get("only", [])) <= set(rows["entity"]), source_id
    named = {entry.get("rows", source_id) for source_id, entry in REGISTRY.items()}
    assert set(builder.PARTS["data/replay"]) <= named
    asked = tomllib.loads((ROOT / "data/horizons.toml").read_text(encoding="utf-8"))
    assert set(asked) == set(builder.PARTS["data/replay/long"])


def test_a_changed_archive_is_refused(tmp_path):
    (tmp_path / "river-0.26.1-cp311-cp311-any.whl").write_bytes(b"not the pinned wheel")
    with pytest.raises(ValueError, match="differs from the pinned river==0.26.1"):
        builder.find_archive("river==0.26.1", tmp_path, builder.read_lock())
    with pytest.raises(ValueError, match="not pinned"):
        builder.find_archive("river==0.1", tmp_path, builder.read_lock())


# --- recipes ----------------------------------------------------------------------------------------


def test_a_week_that_the_file_does_not_finish_is_left_out():
    days = pd.DataFrame({"x": range(13)}, index=pd.date_range("2024-01-01", periods=13))
    whole = long.gather_weeks(days, "last")["x"].dropna()
    assert whole.to_dict() == {pd.Timestamp("2024-01-07"): 6.0}
    holed = days.drop(pd.Timestamp("2024-01-03"))
    assert long.gather_weeks(holed, "sum")["x"].isna().all()
    assert long.gather_weeks(holed, "mean")["x"].notna().any()


def test_table_counts_points_wins_and_goals_up_to_each_day():
    names = ("date", "division", "home_team", "away_team", "home_score", "away_score")
    matches = [
        ("2016-05-15", "X", "Ayr", "Dun", 5, 0),
        ("2016-09-12", "X", "Ayr", "Bo", 2, 0),
        ("2016-09-14", "X", "Bo", "Cay", 1, 1),
        ("2016-09-14", "Y", "Dun", "Ayr", 1, 4),
        ("2016-09-16", "X", "Cay", "Ayr", 3, 1),
    ]
    season = json.dumps([dict(zip(names, match, strict=True)) for match in matches]).encode()
    table = sport.build_standings(season, "X").set_index(["occurred_at", "entity"])
    assert table.loc["2016-09-13", "points"].to_dict() == {"Ayr": 3, "Bo": 0, "Cay": 0}
    assert table.loc[("2016-09-16", "Cay")].tolist() == [4, 1, 2, 4, 2, 40_204]
    assert table.loc[("2016-09-16", "Ayr")].tolist() == [3, 1, 0, 3, 2, 30_003]
    assert table.loc[("2016-09-14", "Bo"), "rank_score"] == 10_000 - 200 + 1


def test_poll_counts_for_fourteen_days_from_its_end():
    polls = pd.DataFrame({"entity": "Ohio", "enddate": ["2016-09-20", "2016-09-28"]})
    means = society.average_polls(polls.assign(clinton=[40.0, 45.0], trump=[44.0, 42.0]))
    means = means.set_index("occurred_at")[["clinton", "trump", "lead", "n_polls"]]
    assert (means.index[0], means.index[-1]) == ("2016-09-20", "2016-10-11")
    assert means.loc["2016-10-03"].tolist() == [42.5, 43.0, -0.5, 2]
    assert means.loc["2016-10-04"].tolist() == [45.0, 42.0, 3.0, 1]


def test_force_ranking_follows_names_known_before_the_window():
    days = ["2016/03/01", "2016/10/01", "2016/10/03", "2016/10/03"]
    records = pd.DataFrame({"response_datetime": [f"{day} 10:00:00" for day in days]})
    records["neighborhood"] = ["Como", "Como", "Como", "Folwell"]
    packed = gzip.compress(pickle.dumps(records.assign(problem="Fight ")))
    rows = society.build_force_ranking(packed, column="neighborhood", n=5, days=7)
    assert rows["entity"].unique().tolist() == ["Como"]
    reports = rows.set_index("occurred_at")["reports"]
    assert reports.loc[["2016-10-03", "2016-10-08", "2016-10-10"]].tolist() == [2, 1, 0]
    total = society.build_force_total(packed).set_index("occurred_at")
    assert total.loc["2016-10-03"].tolist() == ["Minneapolis", 2, 1]
    assert total.loc["2016-10-02"].tolist() == ["Minneapolis", 0, 0]
