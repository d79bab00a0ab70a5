"""Markets as a source of a day's questions: groups of markets, distractors, yes/no downsampled,
answers later."""

import json
from functools import partial

import pandas as pd
import pytest
from builders import make_entry, use_entries
from internet import open_internet
from live.bodies import show
from live.venue_sites import Exchange, Market

from daybefore.agents.registry import load_entries
from daybefore.commands.main import carry_out
from daybefore.live import day_markets
from daybefore.live.day_markets import gather_groups
from daybefore.live.own_benchmark import pose, settle
from daybefore.models.judges import Verdict
from daybefore.store import read_runs
from daybefore.web.guest import Guest
from helpers.files import STORE, locate_output, parse_json, read_table

NOW = pd.Timestamp(
    "2026-03-28T10:00:00+08:00"
)  # the questions of the simulated venues close on 1 April


class Cup(Market):
    """A market of a group: one name of a cup's clubs."""

    def __init__(self, n, name, outcome=None):
        super().__init__(n, 0.3, outcome, group=77)
        self.name = name

    def write(self, venue):
        row = super().write(venue) | {"negRisk": True, "groupItemTitle": self.name}
        return row | {"events": [{"id": "77", "slug": "cup", "title": "Which club wins the cup?"}]}


def invent(prompt, schema):
    return Verdict("ok", {"options": ["A lighthouse", "dock united"]})


@pytest.fixture
def venue(out, tmp_path, monkeypatch):
    """Eleven yes/no questions and a cup of three clubs, on the simulated internet."""
    clubs = [
        Cup(n, name) for n, name in ((101, "Dock United"), (102, "Quay Rovers"), (103, "Pier City"))
    ]
    exchange = Exchange([Market(n, 0.4) for n in range(11)] + clubs)
    hosts = exchange.hosts | {"api.carbonintensity.org.uk": show}
    monkeypatch.setattr(day_markets, "Guest", partial(Guest, pace_s=0.0))
    with open_internet(tmp_path, hosts, NOW, patch=monkeypatch) as internet:
        exchange.clubs, exchange.internet = clubs, internet
        yield exchange


def test_markets_are_posed_with_distractors_and_settled_by_their_venue(venue):
    name, events, screenings = pose(NOW, venues=["polymarket"], distract=invent)
    assert name == "day-2026-03-28"
    cup = events[events["cluster_id"] == "polymarket-event-77"].iloc[0]
    options = parse_json(cup["options"])
    expected = ["A lighthouse", "Dock United", "Pier City", "Quay Rovers"]
    assert sorted(options.values()) == expected, (
        "a distractor that reads like an option is left out"
    )
    assert cup["prompt"].startswith("Which club wins the cup?\nA. ") and cup["level"] == 2
    yes_no = events[events["event_id"] != cup["event_id"]]
    assert len(yes_no) == round(11 * 36 / 193) and (
        screenings["filter"] == "binary"
    ).sum() == 11 - len(yes_no)
    assert all(set(parse_json(cell).values()) == {"Yes", "No"} for cell in yes_no["options"]), (
        "yes/no gets no more"
    )
    assert (
        pose(NOW, venues=["polymarket"])[1]["event_id"].tolist() == events["event_id"].tolist()
    ), "posed once"
    later = pd.Timestamp("2026-04-02T12:00:00+08:00")
    venue.internet.move(days=5)
    assert settle(name, later)[1] == len(events), "nothing is settled yet"
    venue.clubs[1].outcome = "yes"
    venue.clubs[0].outcome = venue.clubs[2].outcome = "no"
    answers, n_open = settle(name, later)
    assert (
        n_open == len(events) - 1 and options[json.loads(answers["value"].iloc[0])] == "Quay Rovers"
    )
    assert read_table("answers", "D260328")["method"].tolist() == ["polymarket"]
    for market in venue.markets:
        market.outcome = market.outcome or "no"
    answers, n_open = settle(name, later)
    assert n_open == 0 and (answers["status"] == "ok").all()
    right = answers.set_index("event_id")["value"][yes_no["event_id"]]
    letters = [
        parse_json(cell)[parse_json(value)]
        for cell, value in zip(yes_no["options"], right, strict=True)
    ]
    assert set(letters) == {"No"}


def test_the_command_asks_agents_the_markets_of_the_day(
    venue, provider, tmp_path, monkeypatch, capsys
):
    def answer(asked):
        if "response_format" in asked:
            return {"content": json.dumps({"options": ["A lighthouse", "A pear"]})}
        return {"content": r"\boxed{A}"}

    provider.answer = answer
    use_entries(monkeypatch, load_entries() | {"mine": make_entry(provider)})
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    given = [
        "day",
        "--agent",
        "mine",
        "--source",
        "carbon",
        "--market",
        "polymarket",
        "--distractors",
        "mine",
    ]
    given += ["--now", NOW.isoformat(), "--yes"]
    carry_out(given)
    shown = capsys.readouterr().out
    assert "day-2026-03-28: 3 questions" in shown and "report: " in shown
    told = read_runs(locate_output(STORE), "predictions")
    own = told[told["agent_id"] == "mine"]
    assert len(own) == 3 and set(own["status"]) == {"ok"}
    others = told[(told["agent_id"] != "mine") & told["event_id"].str.contains("-market-")]
    assert set(others["status"]) <= {"missing"}, "what reads a series has none to read"
    n_asked = len(provider.asked)
    carry_out(given)
    assert len(provider.asked) == n_asked, "a second call of the day asks nothing"


def test_a_venue_that_does_not_answer_is_told_and_the_day_is_not_lost(venue):
    told = []
    venue.internet.plan("500", "gamma-api.polymarket.com", times=9)
    with pytest.raises(
        ValueError, match="day-2026-03-28: every question was asked .* or there is none"
    ):
        pose(NOW, venues=["polymarket"], tell=told.append)
    assert told[-1].startswith("polymarket: no questions today: ")


def test_a_group_of_fewer_than_three_names_or_with_one_twice_is_no_question(venue):
    rows = [club.write("polymarket") for club in venue.clubs]
    assert [one["names"] for one in gather_groups(rows)] == [
        ["Dock United", "Quay Rovers", "Pier City"]
    ]
    assert gather_groups(rows[:2]) == gather_groups([*rows, rows[0]]) == []
