"""Window L: questions over series, and the series as a web as of a moment."""

import json
import re

import pandas as pd
import pytest

from daybefore.questions import horizons
from daybefore.questions.series_pages import open_series
from daybefore.web.pages import GatewayError
from helpers.calendar import ZONE
from helpers.files import parse_json
from studies.worldreasoner.scores import name_type


@pytest.fixture(scope="module")
def posed():
    sources = {
        name: horizons.load_series()[name] for name in ("dengue_weeks", "ecb_weeks", "cpi_months")
    }
    return horizons.pose_questions(sources, starts=["2023-07-04", "2024-01-04"])


def test_questions_run_30_to_180_days_and_have_every_type(posed):
    events, dropped = posed
    days = (
        pd.to_datetime(events["resolves_at"]) - pd.to_datetime(events["opens_at"])
    ) / pd.Timedelta(days=1)
    assert days.between(30, 180).all() and (days[events["kind"] == "date"] > 60).all()
    types = {
        name_type(*row)
        for row in zip(events["kind"], events["options"].map(parse_json), strict=True)
    }
    assert types == {"binary", "multiple choice", "quantity", "timeframe"}
    assert len(events) + len(dropped) == 2 * (5 + 6 + 6) and not dropped["reason"].eq("").any()


def test_a_question_is_posed_from_what_was_public_at_its_opening(posed):
    for event in posed[0].to_dict("records"):
        variables = parse_json(event["variables"])
        known = horizons.cut_series(event["source_id"], variables["variable"], event["opens_at"])
        assert known.index[-1] < variables["date"] and event["opens_at"][:10] <= variables["date"]
        if variables["ask"] == "change":
            assert variables["reference"] == known[variables["entity"]].iloc[-1]
        if variables["ask"] == "peak":
            assert known.index[-1] < variables["from_date"] <= variables["date"]


def test_nothing_is_visible_before_it_is_public():
    sunday = pd.Timestamp("2024-01-07T18:00", tz="Europe/Berlin")
    assert (
        horizons.cut_series("ecb_weeks", "rate", sunday).index[-1] == "2023-12-31"
    )  # strictly before
    assert (
        horizons.cut_series("ecb_weeks", "rate", sunday + pd.Timedelta(seconds=1)).index[-1]
        == "2024-01-07"
    )
    open_day = pd.Timestamp("2024-01-04", tz=ZONE)
    assert horizons.cut_series("cpi_months", "index", open_day).index[-1] == "2023-11-01"


MOMENT = "2024-01-08T00:00:00+08:00"


@pytest.mark.parametrize(
    "moment",
    ["2023-02-01T00:00:00+08:00", "2024-01-01T00:00:00+08:00", "2026-05-05T00:00:00+08:00"],
)
def test_no_page_shows_what_was_not_public(moment):
    for source in horizons.load_series().values():
        page = open_series().fetch(source.address, moment)
        assert pd.Timestamp(page.published_at) < pd.Timestamp(moment)
        for line in page.text.split("\n")[1:]:
            dates = [pd.Timestamp(date) for date in re.findall(r"\d{1,2} [A-Z][a-z]+ \d{4}", line)]
            assert dates and dates == sorted(dates, reverse=True)
            published = horizons.compute_published_at(
                source.publication, pd.Series([str(dates[0].date())])
            )[0]
            assert published < pd.Timestamp(moment)


def test_what_a_function_reads_was_public_before_the_moment():
    world = open_series()
    for name, source in horizons.load_series().items():
        table, page_id = world.observe(name, MOMENT)
        assert list(table) == ["occurred_at", "entity", "variable", "value"] and page_id.startswith(
            "l"
        )
        for variable, part in table.groupby("variable"):
            series = horizons.cut_series(name, variable, MOMENT)
            assert (
                part["occurred_at"].max() == series.index[-1]
                and len(part) == series.notna().sum().sum()
            )
        page = world.fetch(source.address, MOMENT)
        assert page.page_id == page_id and pd.Timestamp(page.published_at) < pd.Timestamp(MOMENT)
    with pytest.raises(ValueError, match="'oil_brent' is no source of window L"):
        world.observe("oil_brent", MOMENT)


@pytest.fixture
def press(tmp_path):
    """A folder of articles around the moment: one a second before it, one at it, one too old, one
    like a source."""
    rows = [
        ("before", "2024-01-07T23:59:59+08:00", "Sunspot wave"),
        ("at", "2024-01-08T00:00:00+08:00", "Sunspot end"),
    ]
    rows += [
        ("old", "2022-06-01", "Sunspot past"),
        ("week", "2023-12-31T00:00:00+08:00", "Sunspot wave"),
    ]
    folder = tmp_path / "my_press"
    folder.mkdir()
    keys = ("id", "published", "title")
    told = [
        dict(zip(keys, row, strict=True)) | {"text": f"Zebrafish counted {row[0]}."} for row in rows
    ]
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, told)))
    return folder


def test_articles_stand_beside_the_series_by_the_same_clock(press):
    world, plain = open_series((press,)), open_series()
    found = [
        hit.url
        for hit in world.search("zebrafish sunspot", MOMENT, n=9)
        if hit.page_id.startswith("n")
    ]
    wanted = ["http://my-press.replay/before", "http://my-press.replay/week"]
    assert found == wanted, "not at the moment, not the old one"
    assert any(hit.page_id.startswith("l") for hit in world.search("F10.7 solar flux", MOMENT, n=3))
    with pytest.raises(GatewayError, match="no page by"):
        world.fetch("http://my-press.replay/at", MOMENT)
    assert world.fetch("http://my-press.replay/at", "2024-01-08T00:00:01+08:00").page_id.startswith(
        "n"
    )
    earlier = "2024-01-07T23:59:59+08:00"
    assert [hit.url for hit in world.search("zebrafish", earlier)] == found[1:], (
        "a later look leaves nothing behind"
    )
    pages = [one.fetch("http://flux-weeks.replay/", MOMENT) for one in (world, plain)]
    assert pages[0] == pages[1] and plain.search("zebrafish", MOMENT) == []
