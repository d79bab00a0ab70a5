"""A run of an agent that searches the open web, from the command to its results: costs, leaks, no
key kept."""

import re
from pathlib import Path

import pandas as pd
import pytest
from builders import make_entry
from internet import open_internet
from web.test_open_web import KEYS, write_page

from daybefore.agents.registry import check_agent
from daybefore.commands.main import carry_out
from daybefore.commands.report import main as report
from daybefore.models.transport import load_litellm
from daybefore.store import read_runs
from helpers.files import STORE, read_table

LEAK = "The record says that on 2031-05-06 it was over."


def answer(asked):
    said = asked["messages"][-1]["content"]
    value = "A" if re.search(r"^A\. ", said, re.M) else "12"
    return {"content": rf"{LEAK if value == 'A' else 'So.'} \boxed{{{value}}}"}


def show_archive(asked):
    """Every page has a capture of September 2016."""
    if asked.path == "/cdx/search/cdx":
        url = asked.query["url"]
        return (
            200,
            {"content-type": "text/plain"},
            f"k 20160901000000 {url} text/html 200 ABC 100\n",
        )
    return (
        200,
        {"memento-datetime": "Thu, 01 Sep 2016 00:00:00 GMT"},
        write_page("Quiet days.", "2016-08-30"),
    )


def search(asked):
    return (
        200,
        {},
        {
            "results": [
                {"url": "https://news.example/a", "title": "a", "content": "as of today: LEAKED"}
            ]
        },
    )


@pytest.fixture
def ask(provider, tmp_path, monkeypatch):
    """A function that runs an agent on four questions; returns its results.json."""
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "out"))
    provider.answer = answer
    with open_internet(
        tmp_path,
        {"api.tavily.com": search, "web.archive.org": show_archive},
        "2026-11-01T00:00:00Z",
    ) as web:
        for name, value in (web.settings | KEYS).items():
            monkeypatch.setenv(name, value)
        load_litellm.cache_clear()

        def run_mine(*arguments, **changes):
            own = {
                "category": "think_search",
                "method": "search_prompt",
                "search": "tavily",
            } | changes
            entry = make_entry(provider, **own)
            monkeypatch.setattr(
                "daybefore.commands.service.load_entries", lambda **_: {"mine": entry}
            )
            return carry_out(["run", "--limit", "4", "--agent", "mine", *arguments])["agents"][
                "mine"
            ]

        run_mine.web = web
        yield run_mine
        load_litellm.cache_clear()


def test_a_run_searches_pays_flags_and_resumes_without_asking_again(
    ask, tmp_path, capsys, provider
):
    found = ask("--ceiling", "1")
    assert found["condition"] == "searches with tavily" and found["n_answered"] == 4
    n_asked, n_model = len(ask.web.asked), len(provider.asked)
    assert ask.web.count("api.tavily.com") == 4
    path = tmp_path / "out" / STORE
    traces, replies = (read_runs(path, name, [found["run_id"]]) for name in ("traces", "replies"))
    steps = traces[traces["tool"] == "search"]
    assert (
        steps["cost_usd"].tolist() == [0.008] * 4
        and steps["content"].str.contains("Quiet days").all()
    )
    assert (replies["cost_usd"] > 0.008).all() and found["cost_usd"] == pytest.approx(
        replies["cost_usd"].sum()
    )
    assert not traces["content"].str.contains("LEAKED").any()
    flagged = found["leaks"]["rows"]
    assert {row["found"] for row in flagged} <= {"2031-05-06"}
    assert (
        found["leaks"]["n_flagged"] == len(flagged) == replies["reply"].str.contains("2031").sum()
    )
    assert 0 < len(flagged) < 4
    groups = {
        (row["group"], row["name"]): row for row in found["scores"] if row["metric"] == "score"
    }
    assert groups["unflagged", "all"]["n_asked"] == 4 - len(flagged)
    assert "of 4 rows flagged as possible leaks" in capsys.readouterr().out
    sections = {one["title"]: one["notes"] for one in report("mine")["sections"]}
    first, means, *_ = sections["Leaks and agreement"]
    assert (
        first.startswith(f"Leaks: {len(flagged)} of 4 rows")
        and f"n = {4 - len(flagged)}) without them" in means
    )
    again = ask("--ceiling", "1")
    assert (len(ask.web.asked), len(provider.asked)) == (n_asked, n_model)
    assert again == found
    kept = [file.read_bytes() for file in Path(tmp_path, "out").rglob("*") if file.is_file()]
    assert kept and not any(key.encode() in body for key in KEYS.values() for body in kept)


def test_a_search_that_fails_costs_no_answer_and_the_same_command_asks_again(ask):
    fails = iter([False, *[True] * 100])

    def tire(asked):
        return (429, {"retry-after": "0.01"}, "slow down") if next(fails) else search(asked)

    ask.web.sites["api.tavily.com"] = tire
    found = ask()
    assert (found["n_answered"], {row["status"] for row in found["missing"]}) == (1, {"error"})
    assert "tavily/search" in found["missing"][0]["reason"]
    ask.web.sites["api.tavily.com"] = search
    assert ask()["n_answered"] == 4


def test_rows_resolved_soon_after_a_models_release_are_told_apart(ask, capsys):
    events = read_table("events", "A").set_index("event_id")
    before = ask(model_released_date="2016-01-01")
    assert before["release"] == {"date": "2016-01-01", "n": 4, "n_kept": 4}
    last = pd.to_datetime(events["resolves_at"], utc=True).max()
    after = ask(model_released_date=f"{last:%Y-%m-%d}")
    assert after["release"]["n_kept"] == 0 and after["run_id"] != before["run_id"]
    assert (
        "0 of 4 rows are resolved 10 days or more after its model's release"
        in capsys.readouterr().out
    )
    assert not [row for row in after["scores"] if row["group"] == "released"]


def test_a_provider_without_key_or_of_no_name_is_told_before_anything_is_asked(
    ask, provider, monkeypatch
):
    monkeypatch.delenv("TAVILY_API_KEY")
    with pytest.raises(SystemExit, match="mine: TAVILY_API_KEY is not set"):
        ask()
    with pytest.raises(
        SystemExit, match="no search provider is called 'tavli'; did you mean tavily"
    ):
        ask(search="tavli")
    with pytest.raises(SystemExit, match="no price is known for a search by brave"):
        ask("--ceiling", "1", search="brave")
    assert provider.asked == [] and ask.web.asked == []
    with pytest.raises(
        ValueError, match="tolerance_s: it is of an agent that searches the open web; add search"
    ):
        check_agent("mine", {"model": "openai/mock-1", "tolerance_s": 5})


def test_a_tolerance_is_declared_in_the_runs_condition(ask):
    found = ask("--yes", tolerance_s=300)
    assert found["condition"] == "searches with tavily; pages read up to 300 s after as_of"
