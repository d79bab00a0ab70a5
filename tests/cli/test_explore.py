"""The explorer: made-up questions say so, what is told adds up, text stays text, and the page in a browser."""

import json

import pandas as pd
import pytest
from browser import CHROMIUM, open_browser

from helpers.agents.runs import run_agents
from helpers.cli import explore
from helpers.cli.main import main as run_command
from helpers.formats.forecastbench import build_markets, word_events
from helpers.store import STORE, locate_output
from helpers.worldreasoner.dossiers import ORIGINS, tell_authors, tell_planted
from helpers.worldreasoner.hindsight.builder import Hindsight
from helpers.worldreasoner.hindsight.graphs import check_graph

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=2'>"


@pytest.fixture(scope="module")
def planted():
    return tell_planted(n_questions=1)


@pytest.fixture(scope="module")
def authors():
    """A question in the form of the authors' file, its words ours and hostile."""
    impact = {"direction": "positive", "magnitude": 0.8, "confidence": 0.5, "affects": "Yes - x", "reasoning": HOSTILE}
    card = {"title": HOSTILE, "description": HOSTILE, "source_url": "https://a.test/", "status": "pending"}
    cards = [
        card | {"id": f"e{day}", "date": f"2026-01-0{day}", "impact": impact if day > 1 else None} for day in (1, 3, 4)
    ]
    row = {"id": "q", "title": HOSTILE, "outcome": "Yes", "in_benchmark_120": True, "events": cards}
    days = pd.date_range("2026-01-01 12:00", periods=8, tz="UTC").astype(str)
    prices = pd.DataFrame({"question_id": "q", "time_utc": days, "price": [0.3, 0.3, 0.31, 0.6, 0.6, 0.7, 0.7, 0.7]})
    return tell_authors([row], prices, prices.head(1))


def test_a_dossier_holds_what_the_measures_say(planted, authors):
    told, [card] = planted[0], authors
    assert told["origin"] == "synthetic" and ORIGINS["synthetic"].startswith("Made up")
    assert told["pressure"][-1]["pressure"] == pytest.approx(sum(row["push"] for row in told["pressure"]), abs=1e-5)
    kept = [edge for edge in told["edges"] if edge["is_kept"]]
    assert len(kept) == told["check"]["n_edges"] and len(told["edges"]) == len(kept) + told["check"]["n_removed"]
    assert {edge[end] for edge in kept for end in ("cause", "effect")} == set(told["layout"])
    assert sum(node["is_key"] for node in told["nodes"]) == 5
    honest, *_, copies = told["forecasts"]
    assert all("matches" in event for event in honest["said"]) and len(copies["said"]) > len(honest["said"])
    assert [move["agrees"] for move in card["moves"]] == [True] and card["leads"] == [[20457.5, "Yes"]]
    assert card["pressure"][-1]["pressure"] == pytest.approx(0.8) and card["turns"] == [20454.5]
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_questions_of_the_replay_have_their_forecasts(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    run_command(["explore", "--origin", "replay", "--limit", "1", "--json"])
    [told] = json.loads(capsys.readouterr().out)["questions"]
    assert told["origin"] == "replay" and len(told["forecasts"]) >= 7 and not told["prices"]
    assert {"arima", "qwen_zero_shot"} <= {one["agent"].split("-")[0] for one in told["forecasts"]}
    assert any(node["is_outcome"] and told["answer"] in node["title"] for node in told["nodes"])


def test_long_questions_are_shown_with_the_graphs_that_models_submitted(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    run_command(["explore", "--origin", "replay", "--window", "L", "--limit", "80", "--json"])
    told = json.loads(capsys.readouterr().out)["questions"]
    assert len(told) > 50 and all(one["explanation"] for one in told)
    named = [one for one in told if one["facts"]["kind"] == "single" and one["answer"] not in ("Yes", "No")]
    assert named and any("said" in forecast for one in named for forecast in one["forecasts"])


def test_a_forecast_shows_the_graph_that_came_with_it_and_the_pages_that_were_read():
    event = dict.fromkeys(("kind", "domain", "source_id", "resolution_criteria"), "x")
    event |= {"event_id": "q", "prompt": "Will it rise?", "options": '{"A": "Yes", "B": "No"}'}
    event |= {"opens_at": "2026-01-04T00:00:00+08:00", "as_of": "2026-01-05T00:00:00+08:00"}
    event |= {"resolves_at": "2026-03-10T00:00:00+08:00"}
    days = {"q_0": "2026-02-01", "q_outcome": "2026-03-10"}
    nodes = [
        {"node_id": name, "title": "rates cut", "occurred_at": day, "source_ids": []} for name, day in days.items()
    ]
    impact = {"node_id": "q_0", "direction": "Positive", "magnitude": 0.8, "confidence": 0.7}
    edge = {"cause": "q_0", "effect": "q_outcome", "relation": "Causes", "strength": 0.8, "confidence": 0.9}
    graph = {"question_id": "q", "outcome_id": "q_outcome", "nodes": nodes, "edges": [edge], "impacts": [impact]}
    item = {"title": "rates cut", "date": "2026-02-03", "direction": "Positive", "magnitude": 0.8, "confidence": 0.7}
    said = {"events": [item], "edges": [], "rationale": "", "sources": [], "answer": "A", "probability": 0.8}
    pages = [{"page_id": "p1", "role": "found", "is_accessed": True, "is_cited": True}]
    asked = {"run_id": "r", "sample": 0, "prediction": {"value": "A"}, "pages": pages}
    asked |= {"reply": {"reply": json.dumps(said)}}
    plain = asked | {"run_id": "s", "reply": {"reply": "Final answer: A"}, "pages": []}
    other = said | {"events": [item | {"title": "a harbour opens"}]}
    again = asked | {"sample": 1, "reply": {"reply": json.dumps(other)}}
    tests = pd.DataFrame({"cause": ["oil", "gas"], "effect": ["rates", "oil"], "is_causal": [True, True]})
    hindsight = Hindsight(graph, "rates", tests, check_graph(graph), 2)
    told = explore.tell_replay(event, "Yes", hindsight, [asked, again, plain])
    assert told["facts"]["series that may be causes"] == "oil", "what may push a cause pushes the outcome through it"
    assert (told["opens_at"], told["facts"]["asked on"]) == (event["opens_at"], event["as_of"])
    with_graph, second, without = told["forecasts"]
    assert [one["agent"] for one in told["forecasts"]] == ["r", "r (answer 2)", "s"]
    assert [event["matches"] for event in second["said"]] == [None], "the answers' events bear the same ids"
    assert [event["matches"] for event in with_graph["said"]] == ["q_0"] and "said" not in without
    assert (with_graph["pages"], without["pages"]) == ([{"page_id": "p1", "is_cited": True}], [])
    assert "rates cut (2026-02-01), the last of 1 dated changes" in told["explanation"]
    assert "Of 1 series whose lead over its own was tested oil held." in told["explanation"]


def test_a_file_of_a_market_is_shown_with_its_prices(tmp_path, capsys):
    market = {"ticker": "T-1", "title": "Rain?", "open_time": "2026-01-01", "close_time": "2026-02-01", "result": "yes"}
    candles = [{"end_period_ts": 1767300000 + 86400 * at, "price": {"close_dollars": "0.5"}} for at in range(3)]
    for name, given in (
        ("m.json", [market, market | {"ticker": "T-2", "result": "void"}]),
        ("p.json", {"candlesticks": candles}),
    ):
        (tmp_path / name).write_text(json.dumps(given))
    told = ["explore", "--markets", str(tmp_path / "m.json"), "--prices", str(tmp_path / "p.json"), "--json"]
    run_command(told)
    out = capsys.readouterr()
    [one] = json.loads(out.out)["questions"]
    assert (one["origin"], one["answer"], len(one["prices"]), one["nodes"]) == ("market", "Yes", 3, [])
    assert "left out: T-2, it was resolved as void" in out.err
    explore.write_page(tmp_path / "page", [one])


def test_an_unknown_question_and_absent_files_are_told(monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="daybefore explore: .*no question 'nothing'"):
        explore.main(["--origin", "synthetic", "--question", "nothing"])
    with pytest.raises(SystemExit, match="--limit must be a positive whole number"):
        explore.main(["--origin", "replay", "--limit", "0"])
    with pytest.raises(SystemExit, match="there is no window 'Z'"):
        explore.main(["--window", "Z"])
    with pytest.raises(SystemExit, match="--prices are of the questions of --markets"):
        explore.main(["--prices", "p.json"])
    (tmp_path / "none.json").write_text("[]")
    with pytest.raises(SystemExit, match="none.json holds no question"):
        explore.main(["--markets", str(tmp_path / "none.json")])
    monkeypatch.setattr(explore, "locate_public", lambda name: (_ for _ in ()).throw(FileNotFoundError(f"no {name}")))
    with pytest.raises(SystemExit, match="no worldreasoner/questions"):
        explore.main(["--origin", "authors"])
    assert {one["origin"] for one in explore.list_dossiers(("synthetic", "authors"))} == {"synthetic"}


def test_the_page_holds_no_markup_of_a_question(planted, authors, tmp_path):
    size = explore.write_page(tmp_path, [*planted, *authors])
    assert size == sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert HOSTILE not in (tmp_path / "index.html").read_text()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here (apt-get install chromium)")
def test_a_short_question_of_no_yes_in_a_browser(planted, tmp_path):
    ends = {"opens_at": "2026-04-30T00:00:00+08:00", "resolves_at": "2026-05-02T11:00:00+08:00"}
    nodes = [planted[0]["nodes"][-1] | {"day": 20573.5, "is_outcome": False}]
    one = planted[0] | ends | {"answer": "2.5", "prices": [], "nodes": nodes, "edges": [], "layout": {}, "turns": []}
    one["pressure"] = [{"day": 20573.5, "push": 0.5, "pressure": 0.5, "node_id": nodes[0]["node_id"]}]
    explore.write_page(tmp_path, [one])
    with open_browser(tmp_path / "chromium") as tab:
        tab.open((tmp_path / "index.html").as_uri() + f"#question={one['question_id']}", width=400)
        tab.wait("document.documentElement.dataset.ready")
        assert tab.run("document.querySelector('#total').textContent") == "1 question"
        days = "[...document.querySelectorAll('.grid')].map(line => line.parentNode.textContent)"
        assert tab.run(days) == ["2026-04-30", "2026-05-01", "2026-05-02"]
        assert tab.run("document.querySelector('#life h2').textContent") == "Events and their push"
        assert "push up (green) or down (red)" in tab.run("document.querySelector('#life svg + p').textContent")
        style = "getComputedStyle(document.querySelector('#life > :last-child {}'))"
        assert tab.run(f"{style.format('th')}.overflowWrap") == "normal"
        assert tab.run(f"{style.format('tbody td .one')}.whiteSpace") == "nowrap"
        told = "[...document.querySelectorAll('#life dd')].map(dd => dd.textContent)"
        assert tab.run(told)[1:3] == ["2026-04-30 00:00 (UTC+8)", "2026-05-02 11:00 (UTC+8)"]
        cells = "one => [...one.tHead.rows[0].cells].map(th => th.textContent)"
        forecasts, events = tab.run(f"[...document.querySelectorAll('#life > .wide > table')].map({cells})")
        assert forecasts == ["agent", "as of"] and "price moved" not in events, "columns of blanks are left out"
        summary = "document.querySelector('#life table.plain summary')"
        assert tab.run(f"getComputedStyle({summary}).overflowWrap") == "normal", "no word is broken into letters"
        tab.run("location.hash = '#'")
        tab.wait("!document.querySelector('#list').hidden")
        shown = (
            "[...document.querySelectorAll('#questions td')].filter(td => td.offsetParent).map(td => td.dataset.name)"
        )
        assert "prices" not in tab.run(shown) and "forecasts" in tab.run(shown), "a count of none is left out"


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here (apt-get install chromium)")
def test_in_a_browser_from_disk(planted, authors, tmp_path):
    explore.write_page(tmp_path, [*planted, *authors])
    with open_browser(tmp_path / "chromium") as tab:
        tab.open((tmp_path / "index.html").as_uri())
        tab.wait("document.documentElement.dataset.ready")
        assert tab.run("document.querySelector('#count').textContent") == "2 of 2 questions"
        tab.run("filters.text.value = 'refunds'; filters.text.dispatchEvent(new Event('input', {bubbles: true}))")
        assert tab.run("document.querySelector('#count').textContent") == "1 of 2 questions"
        tab.run("document.querySelector('#questions td a').click()")
        tab.wait("document.querySelector('#life .why')")
        assert tab.run("document.querySelector('#life .why').textContent").startswith("synthetic: Made up")
        n_dots = "document.querySelectorAll('#life svg')[0].querySelectorAll('circle').length"
        assert tab.run(n_dots) == len(planted[0]["pressure"])
        n_edges = "document.querySelectorAll('#life svg')[1].querySelectorAll('.edge').length"
        assert tab.run(n_edges) == planted[0]["check"]["n_edges"]
        n_rows = (
            "[...document.querySelectorAll('#life h2')].at(-1).nextElementSibling.querySelectorAll('tbody > tr').length"
        )
        assert tab.run(n_rows) == len(planted[0]["nodes"])
        tab.open((tmp_path / "index.html").as_uri() + "#question=q", width=390, scheme="dark")
        tab.wait("document.querySelector('#life h1') && document.querySelector('#life svg .price')")
        assert tab.run("document.querySelector('#life h1').textContent") == HOSTILE
        tab.run("for (const part of document.querySelectorAll('#life details')) part.open = true")
        assert tab.run("document.documentElement.scrollWidth <= 390")
        assert tab.run("window.hacked") is None and not tab.run(
            "document.querySelectorAll('main img, main script').length"
        )
        tab.run("location.hash = '#question=gone'")
        tab.wait("document.querySelector('#life .tag')")


def make_markets():
    """Two invented markets in the form of window M, each with two prices; the second has ended in Yes."""
    names = "question_set id source snapshot_date value resolved resolution_date".split()
    rows = [("2026-01-01", 0.4, 0), ("2026-01-20", 0.6, 0)]
    paths = [("s", at, "infer", *row, "2026-03-01") for at in "12" for row in [*rows, ("2026-03-01", at == "2", 1)]]
    events, answers, prices = build_markets(pd.DataFrame(paths, columns=names).astype({"value": float}))
    return (
        word_events(events, {f"s-infer-{at}": (f"Does harbour {at} open?", "By eye.") for at in "12"}),
        answers,
        prices,
    )


def test_public_questions_are_shown_without_a_graph_with_their_prices_and_forecasts(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    tables = make_markets()
    for place in ("helpers.futurex.past", "helpers.cli.explore"):
        monkeypatch.setattr(f"{place}.build_priced", lambda: tables, raising=False)
    shown = ["explore", "--origin", "replay", "--window", "M", "--json"]
    run_command(shown)
    assert [one["forecasts"] for one in json.loads(capsys.readouterr().out)["questions"]] == [[], []], "no run yet"
    agents = {"half": {"forecast": lambda event, world: {"prediction": {"value": "A", "probability": 0.5}}}}
    run_agents(agents, tables[0].tail(1), dict, locate_output(STORE), window="M", mode="thread")
    run_command(shown)
    second, first = json.loads(capsys.readouterr().out)["questions"]
    assert (first["question_id"], second["question_id"]) == ("s-infer-1", "s-infer-2"), "those with a run come first"
    assert (second["origin"], second["answer"], second["nodes"]) == ("public", "Yes", []) and first["answer"] == "No"
    assert [price for _, price in second["prices"]] == [0.4, 0.6] and second["facts"]["options"] == "Yes, No"
    assert [one["value"] for one in second["forecasts"]] == ["A (Yes)"] and ORIGINS["public"]
    run_command([*shown, "--agent", "half"])
    assert len(json.loads(capsys.readouterr().out)["questions"]) == 1
    monkeypatch.setattr("helpers.futurex.past.build_past", lambda: (*tables[:2], None))
    run_command(["explore", "--origin", "replay", "--window", "P", "--json"])
    assert not any(one["prices"] for one in json.loads(capsys.readouterr().out)["questions"])
