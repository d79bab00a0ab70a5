import pandas as pd
import pytest

from helpers.calendar import ZONE
from helpers.events import horizons
from helpers.store import parse_json
from helpers.worldreasoner.scores import name_type


@pytest.fixture(scope="module")
def posed():
    sources = {name: horizons.load_series()[name] for name in ("dengue_weeks", "ecb_weeks", "cpi_months")}
    return horizons.pose_questions(sources, starts=["2023-07-04", "2024-01-04"])


def test_questions_run_30_to_180_days_and_have_every_type(posed):
    events, dropped = posed
    days = (pd.to_datetime(events["resolves_at"]) - pd.to_datetime(events["opens_at"])) / pd.Timedelta(days=1)
    assert days.between(30, 180).all() and (days[events["kind"] == "date"] > 60).all()
    types = {name_type(*row) for row in zip(events["kind"], events["options"].map(parse_json), strict=True)}
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


def test_answers_are_what_the_series_shows():
    rates = horizons.read_series("ecb_weeks", "rate")[0]
    terms = {"ask": "threshold", "entity": "USD", "date": "2024-01-07", "threshold": 1.0, "letters": {"Yes": "A"}}
    assert horizons.resolve_question(terms, rates) == "A"
    peak = {"ask": "peak", "entity": "USD", "from_date": "2024-01-07", "date": "2024-04-28"}
    window = rates.loc["2024-01-07":"2024-04-28", "USD"]
    assert horizons.resolve_question(peak, rates) == f"{window.idxmax()[:7]}-01"
    assert horizons.resolve_question(peak | {"date": "2030-01-06"}, rates) is None


def test_nothing_is_visible_before_it_is_public():
    sunday = pd.Timestamp("2024-01-07T18:00", tz="Europe/Berlin")
    assert horizons.cut_series("ecb_weeks", "rate", sunday).index[-1] == "2023-12-31"  # strictly before
    assert horizons.cut_series("ecb_weeks", "rate", sunday + pd.Timedelta(seconds=1)).index[-1] == "2024-01-07"
    open_day = pd.Timestamp("2024-01-04", tz=ZONE)
    assert horizons.cut_series("cpi_months", "index", open_day).index[-1] == "2023-11-01"
