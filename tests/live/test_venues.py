"""Open questions of four markets and ForecastBench on the simulated internet: asked, settled,
beside the price."""

import json
import re
from functools import partial

import pandas as pd
import pytest
from internet import open_internet
from venue_sites import Exchange, Market, make_resolutions, make_set
from weeks import write_agents

from daybefore.commands.main import main
from daybefore.live import market_venues
from daybefore.live.market_venues import VENUES, fetch_questions
from daybefore.live.week_questions import Batch, build_events, check_rows
from daybefore.web.guest import Guest

NOW = pd.Timestamp("2026-03-02T16:00:00+08:00")
HOSTS = {"polymarket": "gamma-api.polymarket.com", "manifold": "api.manifold.markets"}
HOSTS |= {"kalshi": "external-api.kalshi.com"}


@pytest.fixture
def web(tmp_path, monkeypatch):
    """The internet of all venues; `web.exchange` holds their markets, and a guest asks without a
    pause."""
    exchange = Exchange([Market(n, 0.2 + 0.05 * (n % 10), group=n // 2) for n in range(1, 13)])
    with open_internet(tmp_path, exchange.hosts, NOW, patch=monkeypatch) as web:
        monkeypatch.setattr(market_venues, "Guest", partial(Guest, pace_s=0.0))
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
    rows, told = market_venues.fetch_answers(events, NOW)
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
    rows, told = market_venues.fetch_answers(events, NOW)
    assert rows == [] and len(told) == 12 and web.count(HOSTS["manifold"]) == before + 1
    assert "answered 429; it wants no request before 2026-03-02T16:02:00+08:00" in told[0][1]
    assert "asked for patience" in told[1][1]


@pytest.mark.parametrize("venue", VENUES)
def test_a_list_is_read_page_by_page_as_far_as_is_wanted(web, venue):
    web.exchange.markets = [Market(n, 0.5) for n in range(1, 251)]
    rows, _ = fetch_questions(venue, 150, NOW)
    assert len({row["id"] for row in rows}) == 150 and web.count(HOSTS[venue]) == 2
    assert not web.count(HOSTS[venue], "/robots.txt"), "an interface for programs"


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


def test_a_markets_questions_are_asked_settled_and_stand_beside_the_price(ask):
    ask.web.exchange.markets = [
        Market(n, 0.2 + 0.05 * (n % 10), group=n // 2) for n in range(1, 31)
    ]
    ask.model.answer = lambda asked: say(
        0.9 if "lock 3 " in asked["messages"][-1]["content"] else 0.6
    )
    week = (
        "--agent",
        "my_model",
        "--from",
        "polymarket",
        "--limit",
        "30",
        "--out",
        "poly",
        "--ceiling",
        "1",
    )
    told = ask(*week)
    assert "my_model: 30 of 30 questions answered" in told and len(ask.model.asked) == 30
    shown = json.dumps([asked["messages"] for asked in ask.model.asked])
    assert "By the lock keeper's log." in shown and "0.25" not in shown
    ask.web.exchange.markets[0].price = 0.99
    again = ask(
        *week, now=NOW + pd.Timedelta(hours=3)
    )  # the day's file: the same questions, moment and price
    assert (
        "round 1" in again
        and len(ask.model.asked) == 30
        and ask.web.count(HOSTS["polymarket"]) == 1
    )
    with pytest.raises(
        SystemExit, match="none of the 30 questions is settled; the first, polymarket-0x0001: it is"
    ):
        ask("--settle", "venue", "--out", "poly")
    for one in ask.web.exchange.markets[:29]:
        one.outcome = "yes" if one.n == 3 else "no"
    told = ask("--settle", "venue", "--out", "poly", now=NOW + pd.Timedelta(days=30))
    prices = {n: 0.2 + 0.05 * (n % 10) for n in range(1, 30)}
    agent = (28 * 0.6**2 + 0.1**2) / 29
    price = sum((one - (n == 3)) ** 2 for n, one in prices.items()) / 29
    assert f"29 questions of 15 events: agent {agent:.3f},\nprice when asked {price:.3f}; " in told
    assert f"price minus agent {price - agent:+.3f} (" in told
    assert "not settled yet: 1: polymarket-0x001e (it is not resolved yet)" in told
    scores = pd.read_csv(ask.folder / "poly/scores.csv").set_index("event_id")["score_imputed"]
    assert scores.sum() == 1 and scores["polymarket-0x0003"] == 1


def test_forecastbench_in_submission_out_resolutions_in(ask):
    ask.model.answer = lambda asked: (
        say(0.7) if "ferry" in asked["messages"][-1]["content"] else {"content": "Hm."}
    )
    (ask.folder / "2026-03-01-llm.json").write_text(json.dumps(make_set()))
    told = ask("--agent", "my_model", "--questions", "2026-03-01-llm.json", "--out", "round")
    shown = json.dumps([asked["messages"] for asked in ask.model.asked])
    assert "Will the level on 2026-03-08 be above that of 2026-03-01?" in shown
    assert "On 2026-02-19: 3.5. The level in metres." in shown and "0.25" not in shown
    assert "ForecastBench's submission: round/2026-03-01.daybefore.my_model.json" in told
    made = json.loads((ask.folder / "round/2026-03-01.daybefore.my_model.json").read_text())
    assert set(made) == {"organization", "model", "model_organization", "question_set", "forecasts"}
    assert (made["model"], made["question_set"]) == ("my_model", "2026-03-01-llm.json")
    rows = {
        (one["source"], one["id"], one["resolution_date"]): one["forecast"]
        for one in made["forecasts"]
    }
    markets = {("manifold", f"m{n}", None): 0.7 for n in range(3)}
    dates = ("2026-03-08", "2026-03-31")
    assert rows == markets | {("fred", f"s.{n}", date): 0.5 for n in range(2) for date in dates}
    assert set(made["forecasts"][0]) == {"id", "source", "forecast", "resolution_date", "reasoning"}
    resolutions = "2026-03-01_resolution_set.json"
    with pytest.raises(SystemExit, match=f"none of the 7 .* SETTLE={resolutions}"):
        ask("--settle", "venue", "--out", "round")
    (ask.folder / resolutions).write_text(json.dumps(make_resolutions()))
    told = ask("--settle", resolutions, "--out", "round")
    table = [
        line.split() for line in told.partition("0.5 where none was forecast")[2].splitlines()[2:5]
    ]
    wanted = [
        ("market", "1", "0", "0.090"),
        ("dataset", "2", "2", "0.250"),
        ("overall", "3", "2", "0.170"),
    ]
    assert list(map(tuple, table)) == wanted
