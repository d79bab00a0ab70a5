"""Window L: questions over series, and the series as a web as of a moment."""

import re

import pandas as pd
import pytest
from builders import write_lines

from daybefore.questions import long_questions
from daybefore.questions.series_pages import open_series
from daybefore.web.fetched_pages import GatewayError
from helpers.files import parse_json
from studies.worldreasoner.outcome_scores import name_type

MOMENT = "2024-01-08T00:00:00+08:00"


@pytest.fixture(scope="module")
def posed():
    names = ("dengue_weeks", "ecb_weeks", "cpi_months")
    sources = {name: long_questions.load_series()[name] for name in names}
    return long_questions.pose_questions(sources, starts=["2023-07-04", "2024-01-04"])


def test_questions_run_30_to_180_days_and_have_every_type(posed):
    events, dropped = posed
    first, last = (pd.to_datetime(events[name]) for name in ("opens_at", "resolves_at"))
    days = (last - first) / pd.Timedelta(days=1)
    assert days.between(30, 180).all() and (days[events["kind"] == "date"] > 60).all()
    types = set(map(name_type, events["kind"], events["options"].map(parse_json)))
    assert types == {"binary", "multiple choice", "quantity", "timeframe"}
    assert len(events) + len(dropped) == 2 * (5 + 6 + 6) and not dropped["reason"].eq("").any()


def test_a_question_is_posed_from_what_was_public_at_its_opening(posed):
    for event in posed[0].to_dict("records"):
        variables = parse_json(event["variables"])
        known = long_questions.cut_series(
            event["source_id"], variables["variable"], event["opens_at"]
        )
        assert known.index[-1] < variables["date"] and event["opens_at"][:10] <= variables["date"]
        if variables["ask"] == "change":
            assert variables["reference"] == known[variables["entity"]].iloc[-1]
        if variables["ask"] == "peak":
            assert known.index[-1] < variables["from_date"] <= variables["date"]


@pytest.mark.parametrize(
    ("series", "moment", "last"),
    [
        (("ecb_weeks", "rate"), "2024-01-07T18:00:00+01:00", "2023-12-31"),  # strictly before
        (("ecb_weeks", "rate"), "2024-01-07T18:00:01+01:00", "2024-01-07"),
        (("cpi_months", "index"), "2024-01-04T00:00:00+08:00", "2023-11-01"),
    ],
)
def test_nothing_is_visible_before_it_is_public(series, moment, last):
    assert long_questions.cut_series(*series, moment).index[-1] == last


@pytest.mark.parametrize(
    "moment", ["2023-02-01T00:00:00+08:00", MOMENT, "2026-05-05T00:00:00+08:00"]
)
def test_no_page_and_no_table_shows_what_was_not_public(moment):
    world, now = open_series(), pd.Timestamp(moment)
    for name, source in long_questions.load_series().items():
        page = world.fetch(source.address, moment)
        table, page_id = world.observe(name, moment)
        assert page_id == page.page_id and pd.Timestamp(page.published_at) < now
        dates = []
        for line in page.text.split("\n")[1:]:
            found = [pd.Timestamp(date) for date in re.findall(r"\d{1,2} [A-Z][a-z]+ \d{4}", line)]
            assert found == sorted(found, reverse=True)
            dates.append(f"{found[0]:%Y-%m-%d}")
        last = pd.Series([max(dates), table["occurred_at"].max()])
        assert long_questions.compute_published_at(source.publication, last).max() < now
        for variable, part in table.groupby("variable"):
            series = long_questions.cut_series(name, variable, moment)
            assert len(part) == series.notna().sum().sum()
    with pytest.raises(ValueError, match="'oil_brent' is no source of window L"):
        world.observe("oil_brent", moment)


def test_articles_stand_beside_the_series_by_the_same_clock(tmp_path):
    """One a second before the moment, one at it, one too old, and one with a source's word."""
    moments = {"before": "2024-01-07T23:59:59+08:00", "at": MOMENT, "old": "2022-06-01"}
    moments |= {"week": "2023-12-31T00:00:00+08:00"}
    (tmp_path / "my_press").mkdir()
    rows = [
        {"id": key, "published": at, "title": "Sunspot", "text": f"Zebrafish counted {key}."}
        for key, at in moments.items()
    ]
    write_lines(tmp_path / "my_press/a.jsonl", *rows)
    world, plain = open_series((tmp_path / "my_press",)), open_series()

    def find(as_of):
        hits = world.search("zebrafish sunspot", as_of, n=9)
        return sorted(hit.url.rpartition("/")[2] for hit in hits if hit.page_id.startswith("n"))

    assert find(MOMENT) == ["before", "week"]
    assert find("2024-01-07T23:59:59+08:00") == ["week"], "a later look leaves nothing behind"
    assert any(hit.page_id.startswith("l") for hit in world.search("F10.7 solar flux", MOMENT, n=3))
    with pytest.raises(GatewayError, match="no page by"):
        world.fetch("http://my-press.replay/at", MOMENT)
    assert world.fetch("http://my-press.replay/at", "2024-01-08T00:00:01+08:00")
    pages = [one.fetch("http://flux-weeks.replay/", MOMENT) for one in (world, plain)]
    assert pages[0] == pages[1] and plain.search("zebrafish", MOMENT) == []
