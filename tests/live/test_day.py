"""A benchmark of one's own over a week of the simulated internet: looks, questions, answers,
faults, politeness."""

from functools import partial

import pandas as pd
import pytest
from internet import open_internet
from live.bodies import HOSTS, show

from daybefore.agents.registry import load_agents
from daybefore.agents.run_loop import run_agents
from daybefore.commands import day as command
from daybefore.commands import run
from daybefore.live import keep_pages, own_benchmark
from daybefore.live.keep_pages import read_looks
from daybefore.store import read_runs
from daybefore.web.replay import open_world
from daybefore.web.source_registry import LIVE_SOURCES, load_sources, locate_rows
from helpers.files import locate_output
from helpers.set_names import find_set

CLOSED = b"User-agent: *\nDisallow: /"
FAULTS = [
    ("npm", "closed", "api.npmjs.org", "/down", {}, "down"),
    ("lichess", "429", "lichess.org", "/api", {"retry_after": 7200}, "busy"),
    ("tsa", "bomb", "www.tsa.gov", "/travel", {}, "too_large"),
    ("co2", "redirect", "gml.noaa.gov", "/webdata", {"to": "http://127.0.0.1:8080/x"}, "redirect"),
    ("carbon", "body", "api.carbonintensity.org.uk", "/int", {"body": b"{}"}, "layout"),
    ("nhl", "closed", "api-web.nhle.com", "/v1", {}, "down"),
    ("earthquakes", "500", "earthquake.usgs.gov", "/earth", {}, "down"),
    ("steam", "charset", "api.steampowered.com", "/ISteam", {}, "ok"),
    ("ecb_rates", "body", "data-api.ecb.europa.eu", "/robots.txt", {"body": CLOSED}, "robots"),
]
"""A source of each form, what befalls it where, and what its look is then called."""
CHOSEN = [name for name, *_ in FAULTS]
SOURCES = {name: source for name, source in load_sources(LIVE_SOURCES).items() if name in CHOSEN}
FEW = {name: SOURCES[name] for name in ("ecb_rates", "carbon", "lichess", "tsa")}
FIRST = pd.Timestamp("2026-11-20T17:00:00Z")


@pytest.fixture
def web(out, tmp_path, monkeypatch):
    """The sites of the chosen sources; nothing of the kit knows that they are not the real ones."""
    with open_internet(tmp_path, dict.fromkeys(HOSTS, show), FIRST, patch=monkeypatch) as internet:
        yield internet


def look(web, chosen=FEW, **options):
    """Look at some sources at the internet's moment; returns {source: kind}."""
    options = {"pace_s": 0.0, "deadline_s": 20.0, "tell": lambda text: None} | options
    return {row["source_id"]: row["kind"] for row in keep_pages.look(chosen, web.now, **options)}


def test_each_fault_is_named_by_its_kind_and_stops_no_other_source(web):
    for _, fault, host, path, settings, _ in FAULTS:
        web.plan(fault, host, path, **settings)
    assert look(web, SOURCES) == {name: kind for name, *_, kind in FAULTS}
    web.plan("drip", "api.npmjs.org", "/down")
    web.move(hours=4)
    assert look(web, {"npm": SOURCES["npm"]}, deadline_s=2.0)["npm"] == "too_slow"
    assert not web.refused, "an address inside the machine was never asked for"


def test_a_week_poses_settles_and_replays(web):
    for number in range(9):
        assert set(look(web, SOURCES).values()) == {"ok"}
        if number == 1:
            name, events, _ = own_benchmark.pose(web.now)
        own_benchmark.close_day(web.now)  # as on each day
        web.move(hours=24)
    path, [(found, n, n_answered, _, n_open)] = own_benchmark.close_day(web.now)
    assert found == name and n_open == 0 and n_answered == n >= 5
    assert "Nothing." in (text := path.read_text(encoding="utf-8")) and name in text
    for source in SOURCES.values():
        table = pd.read_csv(locate_rows(source))
        assert not table.duplicated(["occurred_at", "entity"]).any()
    window, kept = find_set(name).window, []
    with open_world(day=window) as opener:
        crawler = opener()
        for source_id in events["source_id"].unique():
            crawler.observe(source_id, events["as_of"][0])
        assert all(page["published_at"] < events["as_of"][0] for page in crawler.pages.values()), (
            "the web as of a question's start holds nothing that came later"
        )
        for number in (1, 2):
            store = locate_output(f"again-{number}.sqlite")
            agents = {"last_value": load_agents()["last_value"]}
            run_agents(agents, events, opener, store, window=window)
            kept.append(read_runs(store, "predictions").to_csv(index=False))
    assert kept[0] == kept[1]


def test_a_second_call_asks_nothing_and_an_unchanged_page_is_not_sent_again(web):
    look(web)
    n = len(web.asked)
    assert look(web) == {} and len(web.asked) == n
    web.move(hours=4)
    look(web)
    again = [
        one
        for one in web.asked[n:]
        if one.host == "data-api.ecb.europa.eu" and one.path != "/robots.txt"
    ]
    assert [bool(one.headers.get("if-none-match")) for one in again] == [True]


def test_patience_that_a_host_asks_for_is_kept_across_calls(web):
    web.plan("429", "lichess.org", "/api", retry_after=7200)
    assert look(web)["lichess"] == "busy"
    n = web.count("lichess.org")
    web.move(hours=1)
    assert "lichess" not in look(web) and web.count("lichess.org") == n
    web.move(hours=2)
    assert look(web)["lichess"] == "ok"


def test_days_without_questions_and_what_needs_a_person_are_told(web):
    look(web)
    web.move(hours=24)
    own_benchmark.pose(web.now)
    web.sites["www.tsa.gov"] = lambda asked: (503, {}, "down")
    for _ in range(3):
        web.move(hours=24)
        look(web)
    text = own_benchmark.close_day(web.now)[0].read_text(encoding="utf-8")
    assert "tsa: 3 looks in a row failed, the last: down" in text
    assert "Days without questions: 2026-11-23, 2026-11-24, 2026-11-25." in text
    assert len(read_looks(locate_output(keep_pages.CAPTURES))) == 4 * len(FEW)


def test_the_command_asks_an_agent_and_tells_what_is_open(web, monkeypatch, capsys):
    monkeypatch.setattr("daybefore.commands.day.look", partial(keep_pages.look, pace_s=0.0))
    for hours in (0, 20, 24):
        web.move(hours=hours)
        found = command.main(["last_value"], sources=list(SOURCES), now=web.now.isoformat())
    said = capsys.readouterr().out
    assert said.count("after three days of calls: call again tomorrow") == 2, (
        "told until a set was posed"
    )
    assert found["sets"][0]["n"] > 5 and found["sets"][0]["open"] == found["sets"][0]["n"]
    assert (
        "no scores: no question of the day has an answer yet" in said and "day-2026-11-22" in said
    )
    web.move(hours=8 * 24)
    look(web, SOURCES)
    found = command.main(sources=["tsa"], now=web.now.isoformat())
    assert found["sets"][0]["answered"] > 5
    run.main(["last_value"], find_set("day-2026-11-22").window)
    assert "mean of answered" in capsys.readouterr().out
    with pytest.raises(ValueError, match="no live source 'tsaa'"):
        command.main(sources=["tsaa"], now=web.now.isoformat())


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"names": ["lst_value"]}, "no agent is called 'lst_value'; did you mean last_value"),
        ({"news": "feeds.csv"}, "--news wants who proposes questions and who checks them"),
        ({"panel": ["nobody"]}, "no agent is called 'nobody'"),
        (
            {"news": "nofeeds.csv", "writer": "local/qwen", "reader": "local/qwen"},
            "there is no file nofeeds.csv",
        ),
    ],
)
def test_what_is_not_there_is_told_before_any_site_is_asked(web, given, told):
    with pytest.raises(ValueError, match=told):
        command.main(sources=["tsa"], now=web.now.isoformat(), **given)
    assert not web.asked
