"""The registry is checked when it is read, and moments of publication are right to the minute."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

from helpers.calendar import stamp_moment
from helpers.question_sets import list_days
from helpers.store import ROOT
from helpers.tables import SITE_TYPES
from helpers.web.sources import FORMS, compute_published_at, load_sources, read_rows

CLEMSON = (ROOT / "data/sources/clemson.toml").read_text(encoding="utf-8")


def test_the_registry_is_as_wide_as_asked(sources):
    in_season = [source for source in sources.values() if "A" in source.windows]
    assert len(in_season) >= 28
    assert len({source.domain for source in in_season}) >= 8
    assert {source.site_type for source in in_season} == set(SITE_TYPES)
    assert {source.form for source in in_season} == set(FORMS)
    assert {source.extract["kind"] for source in in_season} == {"table", "css", "json", "regex", "market"}
    assert all(source.licence == "commit" for source in sources.values())
    assert len({source.address for source in sources.values()}) == len(sources)
    for source in sources.values():
        assert source.address.startswith(f"http://{source.id.replace('_', '-')}.replay/"), source.id


def test_load_only_sources_come_when_built(tmp_path, monkeypatch, sources):
    monkeypatch.setattr("helpers.web.sources.ROOT", tmp_path)
    assert set(load_sources(local=True)) == set(sources)
    path = tmp_path / "data/replay/local/vix.csv"
    path.parent.mkdir(parents=True)
    path.write_text("occurred_at,entity,level\n", encoding="utf-8")
    assert set(load_sources(local=True)) == set(sources) | {"vix"}
    assert set(load_sources()) == set(sources)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('site_type = "government"', 'site_type = "blog"', "clemson.toml, site_type: 'blog' is none of"),
        ('address = "http:', 'address = "gopher:', "is not a web address"),
        ('domain = "Weather"', 'domian = "Weather"', "domian is unknown; did you mean domain"),
        ('id = "clemson_tmin"', 'id = "clemson_tmax"', "the id is taken|is taken by another template"),
        ('variable = "tmax"', 'variable = "tmux"', "variable: 'tmux' is none of tmax, tmin; did you mean tmax"),
        ('lag_days = 1\nhour = "09:00"', "lag_minutes = 5", "hour is missing: values have a time of day"),
        ("lag_days = 1", "lag_days = 0", "publication.hour: the day has not ended then; add settled_at"),
        (
            'lag_days = 1\nhour = "09:00"',
            "lag_minutes = 59",
            "publication.lag_minutes: a value's period has not",
        ),
        ('"daily"\ndirectly', '"monthly"\ndirectly', "publication.lag_days: a month, dated by its first day, has not"),
        ("(?P<tmax>", "(?P<tmx>", "extract.pattern: the group tmx is no variable; did you mean tmax"),
        ("(?P<tmax>", "(?P<tmax", "extract.pattern: it is no regular expression"),
        ("{tmax}", "{tmx}", "page.sentence: {tmx} is unknown; did you mean tmax"),
        ('id = "clemson"', 'id = clemson"', "not valid toml"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path, old, new, words):
    assert old in CLEMSON
    (tmp_path / "clemson.toml").write_text(CLEMSON.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=words) as caught:
        load_sources(tmp_path)
    assert str(caught.value).startswith("clemson.toml")


def test_an_id_taken_twice_is_named(tmp_path):
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(CLEMSON, encoding="utf-8")
    with pytest.raises(ValueError, match="b.toml: the id 'clemson' is taken by a.toml"):
        load_sources(tmp_path)


@pytest.mark.parametrize(
    ("rule", "occurred_at", "published_at"),
    [
        ({"lag_days": 1, "hour": "09:00", "timezone": "America/New_York"}, "2016-10-09", "2016-10-10T21:00:00+08:00"),
        ({"lag_days": 1, "hour": "09:00", "timezone": "America/New_York"}, "2016-11-05", "2016-11-06T22:00:00+08:00"),
        ({"lag_days": 0, "hour": "16:00", "timezone": "Europe/Berlin"}, "2016-10-28", "2016-10-28T22:00:00+08:00"),
        ({"lag_days": 0, "hour": "16:00", "timezone": "Europe/Berlin"}, "2016-10-31", "2016-10-31T23:00:00+08:00"),
        ({"lag_days": 3, "hour": "02:30", "timezone": "Europe/Berlin"}, "2016-10-27", "2016-10-30T09:30:00+08:00"),
        ({"lag_minutes": 20, "timezone": "America/Chicago"}, "2016-11-06T01:00", "2016-11-06T15:20:00+08:00"),
        ({"lag_minutes": 20, "timezone": "America/Chicago"}, "2016-11-06T00:50", "2016-11-06T14:10:00+08:00"),
    ],
)
def test_publication_by_hand(rule, occurred_at, published_at):
    assert stamp_moment(compute_published_at(rule, pd.Series([occurred_at]))[0]) == published_at


def test_publication_agrees_with_the_standard_library(sources):
    for source in sources.values():
        if source.is_hourly:
            continue
        rows = read_rows(source).head(50)
        zone = ZoneInfo(source.publication["timezone"])
        hour, minute = map(int, source.publication["hour"].split(":"))
        moments = compute_published_at(source.publication, rows["occurred_at"])
        for occurred, moment in zip(rows["occurred_at"], moments, strict=True):
            day = datetime.fromisoformat(occurred) + pd.Timedelta(days=source.publication["lag_days"])
            assert moment == day.replace(hour=hour, minute=minute, tzinfo=zone), source.id


def test_rows_are_sorted_by_publication_and_a_stated_moment_wins(sources):
    rows = read_rows(sources["oil_brent"])
    assert rows["published_at"].is_monotonic_increasing
    friday = rows[rows["occurred_at"] == "2016-10-14"].iloc[0]
    assert stamp_moment(friday["published_at"]) == "2016-10-17T22:00:00+08:00"
    assert "known_at" not in rows


def test_days_of_a_window():
    assert list_days("C1")[0] == "2026-05-26" and list_days("C1")[-1] == "2026-06-09"
    with pytest.raises(ValueError, match="no question set 'B'; there are october-2016, june-2026"):
        list_days("B")
