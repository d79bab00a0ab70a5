"""News as a source of a day's questions: proposed by a model, checked, confirmed by a person,
asked, settled."""

import json
from functools import partial

import pandas as pd
import pytest
from builders import make_entry, use_entries
from internet import open_internet

from daybefore.agents.registry import load_entries
from daybefore.commands.main import carry_out
from daybefore.live import day_news
from daybefore.live.day_news import read_feed
from daybefore.live.own_benchmark import pose
from daybefore.store import read_runs
from daybefore.web.guest import Guest
from daybefore.web.news_articles import read_feed as read_articles
from helpers.files import STORE, locate_output, parse_json, read_table

FEED = "https://harbour.example.org/feed"
FIRST, SECOND, LATER = (f"2026-03-{day}T10:00:00+08:00" for day in ("28", "29", "31"))
ITEM = "<item><title>{}</title><link>https://harbour.example.org/{}</link><description>{}</description>{}</item>"
DATE = "<pubDate>{}</pubDate>"
OPENING = ITEM.format(
    "Lock opens soon", 1, "The council &lt;b&gt;votes&lt;/b&gt; on the lock on 30 March.", ""
)
COMING = ITEM.format(
    "The vote is over", 9, "It was no.", DATE.format("Mon, 30 Mar 2026 09:00:00 GMT")
)
VOTED = ITEM.format("Council says yes", 2, "The council said yes to the lock.", "")

ASKED = {
    "article": 1,
    "question": "Will the council say yes to the lock on 30 March 2026?",
    "kind": "single",
}
ASKED |= {
    "options": ["Yes", "No"],
    "unit": "",
    "end": "2026-03-30",
    "criteria": "The council's minutes.",
}
ASKED |= {"quote": "The council votes on the lock"}
PROPOSED = [
    ASKED,
    ASKED | {"question": "Will it rain on 30 March 2026?", "quote": "It will rain"},
    ASKED | {"question": "Will the lock open on 30 May 2026?", "end": "2026-05-30"},
]


def answer(asked):
    """A writer, a reader that finds a vote, and an agent, in one model."""
    said = asked["messages"][-1]["content"]
    if "response_format" not in asked:
        return {"content": r"\boxed{A}"}
    schema = asked["response_format"]["json_schema"]["schema"]["properties"]
    if "questions" in schema:
        return {"content": json.dumps({"questions": PROPOSED})}
    found = (
        {"answer": "A", "quote": "said yes"} if "said yes" in said else {"answer": "", "quote": ""}
    )
    return {"content": json.dumps(found)}


def write_feed(*items):
    return (
        f"<?xml version='1.0'?><rss><channel><title>Harbour</title>{''.join(items)}</channel></rss>"
    )


@pytest.fixture
def call(provider, out, tmp_path, monkeypatch):
    """A function that runs `daybefore day` at a moment on a feed of the simulated internet, which
    it can change."""
    provider.answer = answer
    use_entries(monkeypatch, load_entries() | {"mine": make_entry(provider)})
    monkeypatch.setattr(day_news, "Guest", partial(Guest, pace_s=0.0))
    monkeypatch.setattr("daybefore.commands.day.look", lambda *_, **__: [])
    (tmp_path / "feeds.csv").write_text(f"url\n{FEED}\n")
    items = [COMING, OPENING]

    def show(asked):
        return (
            (404, {}, "")
            if asked.path == "/robots.txt"
            else (200, {"content-type": "text/xml"}, write_feed(*items))
        )

    def run(now, *more):
        models = ("--writer", "mine", "--reader", "mine")
        given = ["--news", str(tmp_path / "feeds.csv"), *models, "--agent", "mine", "--yes", *more]
        return carry_out(["day", "--now", now, *given])

    with open_internet(
        tmp_path, {"harbour.example.org": show}, "2026-03-28T02:00Z", patch=monkeypatch
    ) as web:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        run.items, run.web = items, web
        yield run


def confirm(n=0, **cells):
    """Write into a row of the table of proposals, as a person does."""
    path = locate_output(day_news.TABLE)
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    for column, cell in cells.items():
        table.loc[n, column] = cell
    table.to_csv(path, index=False)
    return table


def test_news_are_proposed_checked_confirmed_asked_and_settled_by_a_reader(call, provider, capsys):
    call(FIRST)
    assert "no questions today" in capsys.readouterr().out, (
        "nothing is asked before a person wrote yes"
    )
    table = confirm(confirmed="yes")
    told = ["passed", "its quote does not stand in the article", "it does not end within the week"]
    assert table["check"].tolist() == told and set(table["url"]) == {
        "https://harbour.example.org/1"
    }
    prompt = json.dumps(provider.asked[0]["messages"])
    assert "The vote is over" not in prompt, "an article that is dated later than now is left out"
    assert "between 2026-03-29 and 2026-04-04" in prompt
    n_asked = len(provider.asked)
    call(SECOND)
    events = read_table("events", "D260329")
    assert events["as_of"].tolist() == [SECOND] and events["resolves_at"].tolist() == [
        "2026-03-31T00:00:00+08:00"
    ]
    assert parse_json(events["options"][0]) == {"A": "Yes", "B": "No"} and events[
        "level"
    ].tolist() == [1]
    own = read_runs(locate_output(STORE), "predictions").query("agent_id == 'mine'")
    assert own["value"].tolist() == ['"A"'] and len(provider.asked) == n_asked + 1, (
        "the feed has nothing new"
    )
    call.items.insert(0, VOTED)
    found = call(LATER)
    assert found["sets"][0]["answered"] == 1
    answers = read_table("answers", "D260329")
    assert answers["value"].tolist() == ['"A"'] and answers["method"].tolist() == [
        "read by a model"
    ]
    feed = read_articles(locate_output(day_news.ARTICLES))
    moments = {one.title: pd.Timestamp(one.published, unit="s", tz="UTC") for one in feed.articles}
    assert moments["Council says yes"] == pd.Timestamp(LATER), (
        "for --articles: known from when it was seen"
    )


def test_a_reader_is_shown_the_articles_that_are_most_like_the_question(call):
    call(FIRST)
    confirm(confirmed="yes")
    call(SECOND)
    noise = [
        ITEM.format(f"Ferry {n} sails", f"f{n}", "A long day at sea. " * 40, "") for n in range(40)
    ]
    call.items[:0] = [*noise[:20], VOTED, *noise[20:]]
    assert call(LATER)["sets"][0]["answered"] == 1


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"end": "3/30/2026"}, "news.csv, row 2, end_time: '3/30/2026' is not a day"),
        ({"options": "Yes"}, "news.csv, row 2, options: 'Yes' is not 2 to 58 different texts"),
        ({"answer": "maybe"}, "news.csv, row 2, column answer: 'maybe' is no single"),
    ],
)
def test_what_a_person_or_a_spreadsheet_wrote_is_told_by_row_and_column(call, cells, said):
    call(FIRST)
    confirm(confirmed="YES ", **cells)
    with pytest.raises(SystemExit, match=said):
        call(SECOND)


def test_options_and_moments_in_a_persons_form_are_taken_and_another_file_is_told(call):
    call(FIRST)
    table = confirm(confirmed="yes", options="Yes|No", proposed_at="28/03/2026 10:00")
    call(SECOND)
    assert parse_json(read_table("events", "D260329")["options"][0]) == {"A": "Yes", "B": "No"}
    path = locate_output(day_news.TABLE)
    for written in ({"sep": ";"}, {"encoding": "utf-16"}):
        table.to_csv(path, index=False, **written)
        with pytest.raises(SystemExit, match="news.csv .*; save it as csv in UTF-8, with commas"):
            call(SECOND)


def test_a_person_settles_what_no_reader_finds(call):
    call(FIRST)
    confirm(confirmed="yes")
    call(SECOND)
    assert call(LATER)["sets"][0]["open"] == 1
    confirm(answer="no")
    assert call(LATER)["sets"][0]["answered"] == 1
    assert read_table("answers", "D260329")[["value", "method"]].to_numpy().tolist() == [
        ['"B"', "a person"]
    ]
    call.items[:] = [VOTED]
    with pytest.raises(
        ValueError, match="every question was asked in the last seven days, or there is none"
    ):
        pose(pd.Timestamp(SECOND) + pd.Timedelta(hours=20))


def test_a_feed_or_a_writer_that_fails_is_told_and_asked_again(call, provider, capsys):
    call.web.plan("500", "harbour.example.org", "/feed")
    call(FIRST)
    assert f"news: {FEED}: harbour.example.org answered 500" in capsys.readouterr().err
    provider.answer = lambda asked: {"content": "I would rather not."}
    found = call(FIRST)
    assert "the writer gave no questions (unparsable" in capsys.readouterr().err
    assert "the writer gave no questions" in open(found["report"]).read()
    provider.answer = answer
    call(SECOND)  # the day's own prompt; a reply that was paid for is not asked again
    assert "3 questions proposed, 1 passed their check, 0 confirmed" in capsys.readouterr().out


ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>A &amp; B</title><link href="https://a.example/1"/>
<updated>2026-03-02T08:00:00+01:00</updated><summary type="html">&lt;p&gt;One.&lt;/p&gt; Two.</summary>
</entry></feed>"""


BOMB = '<!DOCTYPE a [<!ENTITY b "lol">]><rss>' + ITEM.format("x &b;", 1, "y", "") + "</rss>"


def test_forms_of_feeds_and_what_is_none():
    (one,) = read_feed(ATOM)
    assert (one["title"], one["text"], one["address"]) == (
        "A & B",
        "One. Two.",
        "https://a.example/1",
    )
    assert one["dated"] == pd.Timestamp("2026-03-02T07:00Z")
    assert [row["dated"] for row in read_feed(write_feed(OPENING))] == [None]
    for body, said in (
        ("<html><p>", "no feed in XML"),
        ("", "no feed in XML"),
        ("<rss/>", "lists no article"),
        (BOMB, "entities"),
    ):
        with pytest.raises(ValueError, match=said):
            read_feed(body)
