"""A run of an agent that searches the open web, from the command to its results: costs, leaks, no
key kept."""

import re

import pytest
from builders import make_entry, use_entries
from internet import open_internet
from web.test_open_web import KEYS, write_page

from daybefore.agents.registry import check_agent
from daybefore.commands.main import carry_out
from daybefore.commands.report import main as report
from daybefore.models.transport import load_litellm
from daybefore.store import read_runs
from helpers.files import STORE

LEAK = "The record says that on 2031-05-06 it was over."


def answer(asked):
    said = asked["messages"][-1]["content"]
    value = "A" if re.search(r"^A\. ", said, re.M) else "12"
    return {"content": rf"{LEAK if value == 'A' else 'So.'} \boxed{{{value}}}"}


def show_archive(asked):
    """Every page has a capture of September 2016."""
    if asked.path == "/cdx/search/cdx":
        found = f"k 20160901000000 {asked.query['url']} text/html 200 ABC 100\n"
        return 200, {"content-type": "text/plain"}, found
    stamp = {"memento-datetime": "Thu, 01 Sep 2016 00:00:00 GMT"}
    return 200, stamp, write_page("Quiet days.", "2016-08-30")


def search(asked):
    hit = {"url": "https://news.example/a", "title": "a", "content": "as of today: LEAKED"}
    return 200, {}, {"results": [hit]}


@pytest.fixture
def ask(provider, out, monkeypatch):
    """A function that runs an agent on four questions; returns its results.json."""
    provider.answer = answer
    sites = {"api.tavily.com": search, "web.archive.org": show_archive}
    with open_internet(out, sites, "2026-11-01T00:00:00Z") as web:
        for name, value in (web.settings | KEYS).items():
            monkeypatch.setenv(name, value)
        load_litellm.cache_clear()

        def run_mine(*arguments, **changes):
            own = {"category": "think_search", "method": "search_prompt", "search": "tavily"}
            use_entries(monkeypatch, {"mine": make_entry(provider, **own | changes)})
            found = carry_out(["run", "--limit", "4", "--agent", "mine", *arguments])
            return found["agents"]["mine"]

        run_mine.web = web
        yield run_mine
        load_litellm.cache_clear()


def test_a_run_searches_pays_flags_and_resumes_without_asking_again(ask, out, capsys, provider):
    found = ask("--ceiling", "1", tolerance_s=300)
    told = "searches with tavily; pages read up to 300 s after as_of"
    assert found["condition"] == told and found["n_answered"] == 4
    n_asked, n_model = len(ask.web.asked), len(provider.asked)
    assert ask.web.count("api.tavily.com") == 4
    run = [out / STORE, [found["run_id"]]]
    traces, replies = (read_runs(run[0], name, run[1]) for name in ("traces", "replies"))
    steps = traces[traces["tool"] == "search"]
    assert steps["cost_usd"].tolist() == [0.008] * 4
    assert steps["content"].str.contains("Quiet days").all()
    assert not traces["content"].str.contains("LEAKED").any()
    assert (replies["cost_usd"] > 0.008).all()
    assert found["cost_usd"] == pytest.approx(replies["cost_usd"].sum())
    leaks, n = found["leaks"], replies["reply"].str.contains("2031").sum()
    assert 0 < n < 4 and leaks["n_flagged"] == len(leaks["rows"]) == n
    assert {row["found"] for row in leaks["rows"]} == {"2031-05-06"}
    scores = {(row["group"], row["metric"], row["name"]): row for row in found["scores"]}
    assert scores["unflagged", "score", "all"]["n_asked"] == 4 - n
    assert "of 4 rows flagged as possible leaks" in capsys.readouterr().out
    sections = {one["title"]: one["notes"] for one in report("mine")["sections"]}
    first, means, *_ = sections["Leaks and agreement"]
    assert first.startswith(f"Leaks: {n} of 4 rows") and f"n = {4 - n}) without them" in means
    assert ask("--ceiling", "1", tolerance_s=300) == found
    assert (len(ask.web.asked), len(provider.asked)) == (n_asked, n_model)
    kept = [file.read_bytes() for file in out.glob("data/**/*") if file.is_file()]
    assert kept and not any(key.encode() in body for key in KEYS.values() for body in kept)


def test_rows_resolved_soon_after_a_models_release_are_told_apart(ask, capsys):
    before = ask(model_released_date="2016-01-01")
    assert before["release"] == {"date": "2016-01-01", "n": 4, "n_kept": 4}
    after = ask(model_released_date="2016-12-31")
    assert after["release"]["n_kept"] == 0 and after["run_id"] != before["run_id"]
    told = "0 of 4 rows are resolved 10 days or more after its model's release"
    assert told in capsys.readouterr().out
    assert not [row for row in after["scores"] if row["group"] == "released"]


def test_a_provider_without_key_or_of_no_name_is_told_before_anything_is_asked(
    ask, provider, monkeypatch
):
    monkeypatch.delenv("TAVILY_API_KEY")
    with pytest.raises(SystemExit, match="mine: TAVILY_API_KEY is not set"):
        ask()
    with pytest.raises(SystemExit, match="no search provider is called 'tavli'; did you mean tav"):
        ask(search="tavli")
    with pytest.raises(SystemExit, match="no price is known for a search by brave"):
        ask("--ceiling", "1", search="brave")
    assert provider.asked == [] and ask.web.asked == []
    with pytest.raises(
        ValueError, match="tolerance_s: it is of an agent that searches the open web; add search"
    ):
        check_agent("mine", {"model": "openai/mock-1", "tolerance_s": 5})
