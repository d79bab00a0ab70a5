"""The registry is checked when it is read, and moments of publication are right to the minute."""

import pandas as pd
import pytest

from daybefore.web.sources import compute_published_at, load_sources
from helpers.calendar import stamp_moment
from helpers.files import ROOT

CLEMSON = (ROOT / "data/sources/clemson.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('domain = "Weather"', 'domian = "Weather"', "domian is unknown; did you mean domain"),
        ('variable = "tmax"', 'variable = "tmux"', "variable: 'tmux' is none of tmax, tmin; did you mean tmax"),
        ('hour = "09:00"', 'hour = "9am"', "publication.hour: '9am' is not a time such as 09:00"),
        ("New_York", "New_Yrok", r"'America/New_Yrok' is no time zone; did you mean America/New_York\?"),
        ("{entity}, South", "{entty}, South", r"text: {entty} is unknown; did you mean entity\?"),
        ("lag_days = 1", "lag_days = 0", "publication.hour: the day has not ended then; add settled_at"),
        ('lag_days = 1\nhour = "09:00"', "lag_minutes = 59", "publication.lag_minutes: a value's period has not"),
        ('"daily"\ndirectly', '"monthly"\ndirectly', "publication.lag_days: a month, dated by its first day, has not"),
        ("(?P<tmax>", "(?P<tmax", "extract.pattern: it is no regular expression"),
        ("(?P<tmax>", "(?P<tmux>", r"extract.pattern: the group tmux is no variable; did you mean tmax\?"),
        ('id = "clemson_tmin', 'id = "clemson_tmax', "templates.*id: 'clemson_tmax.*' is taken by another template"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path, old, new, words):
    assert old in CLEMSON
    (tmp_path / "clemson.toml").write_text(CLEMSON.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=words) as caught:
        load_sources(tmp_path)
    assert str(caught.value).startswith("clemson.toml")


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
