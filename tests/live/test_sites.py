"""New sites: screened by models, templates proposed, scraped and checked, confirmed by a person, on
a simulated web."""

import json
from functools import partial

import pandas as pd
import pytest
from builders import make_entry, use_entries
from internet import open_internet

from daybefore.commands import sites
from daybefore.commands.main import carry_out
from daybefore.live.week_questions import fetch_batch
from daybefore.web.guest import Guest

PAGES = {"/ships": "Ships in port: 41", "/copy": "Ships in port: 41 (copied)", "/shop": "Buy now"}
GOOD = {
    "question": "How many ships will be in port on {date}?",
    "kind": "number",
    "unit": "ships",
    "period": "daily",
}
GOOD |= {"answer": "41", "quote": "Ships in port: 41"}


def answer(asked):
    """A model that knows a shop and a copy, and proposes one right template, one wrong and one
    without a quote."""
    schema = asked["response_format"]["json_schema"]["schema"]["properties"]
    said = asked["messages"][-1]["content"]
    if "suitable" in schema:
        value = {
            "suitable": "no" if "Buy now" in said else "yes",
            "updated": "daily",
            "site_type": "government",
        }
        value |= {"duplicate": 1 if "copied" in said and "1. https" in said else 0, "reason": "so"}
    elif "templates" in schema:
        wrong = {"question": "How many ships were counted on {date}?", "answer": "42"}
        value = {
            "templates": [
                GOOD,
                GOOD | wrong,
                GOOD | {"question": "Ships on {date}?", "quote": "Ships: 41"},
            ]
        }
    else:
        value = {"answer": "41", "quote": "Ships in port: 41"}
    return {"content": json.dumps(value)}


@pytest.fixture
def call(provider, out, tmp_path, monkeypatch):
    """A function that calls the command; returns its result."""
    use_entries(monkeypatch, {"mine": make_entry(provider)})
    monkeypatch.setattr(sites, "Guest", partial(Guest, pace_s=0.0))
    provider.answer = answer
    text = "url\n" + "".join(f"https://port.example.org{path}\n" for path in (*PAGES, "/gone"))
    (tmp_path / "new.csv").write_text(text)

    def show(asked):
        known = asked.path in PAGES
        return (
            (200 if known else 404),
            {"content-type": "text/plain"},
            PAGES.get(asked.path, "none"),
        )

    def run(*arguments, now="2026-07-01T12:00:00+08:00"):
        return carry_out(
            [
                "sites",
                str(tmp_path / "new.csv"),
                "--now",
                now,
                "--out",
                str(tmp_path / "kept"),
                *arguments,
            ]
        )

    with open_internet(
        tmp_path, {"port.example.org": show}, "2026-07-01T04:00Z", patch=monkeypatch
    ):
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield run


MODELS = ("--screen", "mine", "--writer", "mine", "--reader", "mine")


def test_a_site_is_screened_its_templates_checked_and_asked_once_confirmed(
    call, provider, tmp_path
):
    with pytest.raises(SystemExit, match="4 sites are new: --screen NAME"):
        call()
    found = call(*MODELS)
    assert (
        found["sites"] == {"kept": 1, "duplicate": 1, "unsuitable": 1, "down": 1}
        and found["questions"] is None
    )
    table = pd.read_csv(tmp_path / "kept/templates.csv", dtype=str, keep_default_na=False)
    told = ["passed", "a reader reads 41.0", "its quote does not stand on the page"]
    assert table["check"].tolist() == told and set(table["confirmed"]) == {""}
    sites = pd.read_csv(tmp_path / "kept/sites.csv").set_index("url")
    assert (
        sites["duplicate_of"]["https://port.example.org/copy"] == "https://port.example.org/ships"
    )
    n_asked = len(provider.asked)
    table.loc[0, "confirmed"] = "yes"
    table.to_csv(tmp_path / "kept/templates.csv", index=False)
    found = call(*MODELS, now="2026-07-02T12:00:00+08:00")
    assert len(provider.asked) == n_asked, (
        "what was judged is not asked again; the page that is down costs nothing"
    )
    (row,) = fetch_batch(found["questions"]).rows
    assert (
        row["prompt"] == "How many ships will be in port on 2026-07-03?"
        and row["end_time"] == "2026-07-03"
    )


def test_a_site_whose_templates_did_not_come_is_looked_at_again(call, provider, monkeypatch):
    provider.answer = lambda asked: (
        {"content": "no"} if "Propose" in asked["messages"][0]["content"] else answer(asked)
    )
    assert call(*MODELS)["sites"] == {"unwritten": 2, "unsuitable": 1, "down": 1}
    provider.answer = answer
    monkeypatch.setitem(PAGES, "/ships", "Ships in port: 41 today")
    assert call(*MODELS)["sites"] == {"kept": 1, "duplicate": 1, "unsuitable": 1, "down": 1}


def test_a_list_with_a_wrong_address_is_refused(call, provider, tmp_path):
    (tmp_path / "new.csv").write_text("url\nhttp://port.example.org/ships\n")
    with pytest.raises(
        SystemExit, match="new.csv, row 2, column url: .* does not begin with https://"
    ):
        call(*MODELS)
    assert not provider.asked
