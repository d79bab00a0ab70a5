"""Open questions of four markets and ForecastBench on the simulated internet: asked, settled,
beside the price."""

import json
import re
from functools import partial

import pandas as pd
import pytest
from internet import open_internet
from venue_sites import COMMIT, Exchange, Market, make_bench, make_resolutions, make_set
from weeks import write_agents

from daybefore.commands.main import main
from daybefore.live import venues
from daybefore.live.challenge import Batch, build_events, check_rows
from daybefore.live.venues import VENUES, fetch_questions
from daybefore.web.guest import Guest

NOW = pd.Timestamp("2026-03-02T16:00:00+08:00")
HOSTS = {"polymarket": "gamma-api.polymarket.com", "manifold": "api.manifold.markets"}
HOSTS |= {"kalshi": "external-api.kalshi.com"}
FILES = {
    "question_sets/latest-llm.json": "2026-03-01-llm.json",
    "question_sets/2026-03-01-llm.json": make_set(),
    "resolution_sets/2026-03-01_resolution_set.json": make_resolutions(),
}


@pytest.fixture
def web(tmp_path, monkeypatch):
    """The internet of all venues; `web.exchange` holds their markets, and a guest asks without a
    pause."""
    exchange = Exchange([Market(n, 0.2 + 0.05 * (n % 10), group=n // 2) for n in range(1, 13)])
    with open_internet(tmp_path, exchange.hosts | make_bench(FILES), NOW, patch=monkeypatch) as web:
        monkeypatch.setattr(venues, "Guest", partial(Guest, pace_s=0.0))
        web.exchange = exchange
        yield web


def ask_events(venue, n=12):
    rows = check_rows(fetch_questions(venue, n, NOW)[0], venue)
    return build_events(Batch(rows, venue, "c" * 40), NOW.isoformat())


@pytest.mark.parametrize("venue", VENUES)
def test_a_venues_open_questions_become_rows_with_their_price_and_are_settled_there(web, venue):
    rows, out = fetch_questions(venue, 3, NOW)
    assert len(rows) == 3 and out == [] and web.count(HOSTS[venue]) == 1
    assert rows[0]["prompt"] == "Will lock 1 of the canal open?\nA. Yes\nB. No"
    assert [row["price"] for row in rows] == pytest.approx([0.25, 0.3, 0.35])
    assert rows[0]["fetched_at"] == "2026-03-02T16:00:00+08:00" and rows[0]["url"].startswith(
        "https://"
    )
    event = build_events(Batch(check_rows(rows, venue), venue, "c" * 40), NOW.isoformat()).iloc[0]
    assert (event["source_id"], event["kind"], event["resolves_at"]) == (
        venue,
        "single",
        "2026-04-01T08:00:00+08:00",
    )
    assert (
        json.loads(event["metadata"])["price"] == pytest.approx(0.25)
        and "0.25" not in event["prompt"]
    )
    events = ask_events(venue)
    for one in web.exchange.markets[:4]:
        one.outcome = "no" if one.n == 2 else "yes"
    rows, told = venues.fetch_answers(events, NOW)
    assert [row["answer"] for row in rows] == ["A", "B", "A", "A"] and len(told) == 8
    assert told[0][1] == "it is not resolved yet"


@pytest.mark.parametrize(
    ("venue", "change", "said"),
    [
        (
            "polymarket",
            {"outcomes": None},
            "the first of 12 left out (1): field outcomes is missing",
        ),
        (
            "kalshi",
            {"yes_ask_dollars": "cheap"},
            "field yes_ask_dollars: 'cheap' is not a number from 0 to 1",
        ),
    ],
)
def test_a_changed_form_is_named_by_venue_question_and_field(web, venue, change, said):
    web.exchange.changes[venue] = lambda row: row | change
    with pytest.raises(
        ValueError, match=f"^{venue} lists no open question that can be read.*{re.escape(said)}"
    ):
        fetch_questions(venue, 5, NOW)
    assert web.count(HOSTS[venue]) == 1


def test_a_host_that_asks_for_patience_is_asked_nothing_more(web):
    events = ask_events("manifold")
    before = web.count(HOSTS["manifold"])
    web.plan("429", HOSTS["manifold"], times=9, retry_after=120)
    rows, told = venues.fetch_answers(events, NOW)
    assert rows == [] and len(told) == 12 and web.count(HOSTS["manifold"]) == before + 1
    assert "answered 429; it wants no request before 2026-03-02T16:02:00+08:00" in told[0][1]
    assert "asked for patience" in told[1][1]


def test_a_second_lies_between_two_requests_to_a_venue(web, monkeypatch):
    monkeypatch.setattr(venues, "Guest", Guest)
    web.exchange.markets = [Market(n, 0.5) for n in range(1, 151)]
    fetch_questions("polymarket", 150, NOW)
    first, second = (one.at for one in web.asked)
    assert second - first >= 1 and not web.count(HOSTS["polymarket"], "/robots.txt")


def test_forecastbench_is_read_at_a_commit_a_row_a_date_its_sources_in_turn(web):
    rows, _ = fetch_questions("forecastbench", 10_000, NOW)
    ids = [row["id"] for row in rows]
    assert ids[:4] == ["2026-03-01-manifold-m0", "2026-03-01-fred-s.0-2026-03-08"] + [
        "2026-03-01-manifold-m1", "2026-03-01-fred-s.0-2026-03-31"
    ]  # fmt: skip
    assert len(ids) == 3 + 4 and rows[0]["question_set"] == f"2026-03-01-llm.json@{COMMIT}"
    assert rows[1]["prompt"].startswith("Will the level on 2026-03-08 be above that of 2026-03-01?")
    assert (
        "On 2026-02-19: 3.5. The level in metres." in rows[1]["criteria"] and "price" not in rows[1]
    )
    assert rows[0]["prompt"].startswith("Will ferry 0 sail?") and rows[0]["price"] == 0.25
    with pytest.raises(ValueError, match="answered 422"):
        fetch_questions("forecastbench", 5, NOW, commit="0" * 40)


# --- by the command ---------------------------------------------------------------------------------


@pytest.fixture
def ask(web, model, tmp_path, monkeypatch, capsys):
    """A model that states probabilities, and a function that runs `daybefore week` as of a
    moment."""
    write_agents(tmp_path, model.address, more="probabilities = true\n")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1,localhost")

    def call(*arguments, now=NOW):
        main(["week", "--now", now.isoformat(), *arguments])
        return "".join(capsys.readouterr())

    call.model, call.web, call.folder = model, web, tmp_path
    return call


def say(share):
    return {
        "content": f"I weighed it.\nProbabilities: A = {share}; B = {round(1 - share, 2)}\n\\boxed{{A}}"
    }
