"""Dated articles in the replay web: read under limits, refused where not genuine or undated, never
shown too early."""

import io
import json
import tarfile

import pandas as pd
import pytest
from builders import AS_OF, write_lines

from daybefore.web import news_articles
from daybefore.web.cache import Cache
from daybefore.web.fetched_pages import GatewayError
from daybefore.web.news_articles import describe_articles, locate_feed, read_feed
from daybefore.web.replay import Replay
from daybefore.web.session import Web

DAY = "Date: '2016-10-08'\nSource_URI: Portal\nIntelligence_Payload:\n"
OSLO = {
    "id": "a1",
    "title": "Storm in Oslo",
    "text": "A storm reaches Oslo.\nTrams stop.",
    "published": "2016-10-08",
}
LATER = {
    "id": "a2",
    "title": "Oslo trams",
    "text": "Oslo trams run again.",
    "published": "2016-10-10T09:30:00+08:00",
}


def write_archive(folder, days, name="current_events.tar.gz"):
    """Write an archive of daily files: {day: text}."""
    path = folder / name
    with tarfile.open(path, "w:gz") as archive:
        for day, text in days.items():
            member = tarfile.TarInfo(f"./{day[:4]}/{day[5:7]}/{day}.yaml")
            member.size = len(data := text.encode())
            archive.addfile(member, io.BytesIO(data))
    return path


def write_folder(folder, *rows):
    """Write a folder of articles, a line a row; returns its path."""
    (folder / "press").mkdir()
    return write_lines(folder / "press/all.jsonl", *rows).parent


def open_press(path):
    """Return a web of one feed alone."""
    replay = Replay({}, articles=[path])
    return Web(replay, feeds=replay.feeds)


# --- current events ---------------------------------------------------------------------------------


def test_a_day_and_topic_is_an_article_and_headings_go_with_the_next_line(tmp_path):
    text = (
        DAY
        + "  Sports:\n  - Cup\n  - A beats B. (BBC)\n  - C wins. (AP)\n  Health:\n  - D is well.\n"
    )
    feed = read_feed(write_archive(tmp_path, {"2016-10-08": text}))
    assert [(a.path, a.title, a.paragraphs) for a in feed.articles] == [
        ("2016-10-08/health", "Current events, 8 October 2016: Health", ("D is well.",)),
        (
            "2016-10-08/sports",
            "Current events, 8 October 2016: Sports",
            ("Cup: A beats B. (BBC)", "C wins. (AP)"),
        ),
    ]
    assert (feed.address, feed.refused) == ("http://current-events.replay/", ())


def test_what_is_not_a_genuine_day_is_refused_with_its_reason(tmp_path):
    days = {
        "2016-10-08": DAY + "  Sports: [A wins.]\n",
        "2016-10-09": "date: '2016-10-09'\nevents: []\n",
        "2016-10-10": DAY + "  Sports: [A wins.]\n",
        "2016-10-11": "a: [",
        "2016-10-12": DAY.replace("-08", "-12") + f"  Sports: [{'x' * news_articles.MAX_FILE}]\n",
        "2016-10-14": "!!python/object/apply:os.system [exit]",
    }
    feed = read_feed(write_archive(tmp_path, days))
    assert [article.path for article in feed.articles] == ["2016-10-08/sports"]
    assert [(where[:10], why) for where, why in feed.refused] == [
        ("2016-10-09", "no key Intelligence_Payload"),
        ("2016-10-10", "its Date is another day's"),
        ("2016-10-11", "no valid YAML"),
        ("2016-10-12", "over 30 kB"),
        ("2016-10-14", "no valid YAML"),
    ]


@pytest.mark.parametrize("keep", [0, 40])
def test_a_broken_archive_is_named(keep, tmp_path):
    path = write_archive(tmp_path, {"2016-10-08": DAY + f"  Sports: [A wins. {'x' * 9000}]\n"})
    path.write_bytes(path.read_bytes()[:keep] + b"none")
    with pytest.raises(ValueError, match=r"^current_events\.tar\.gz is a broken archive"):
        read_feed(path)


# --- a folder of one's own --------------------------------------------------------------------------


def test_a_folder_is_read_and_undated_articles_are_refused_and_counted(tmp_path):
    undated = [OSLO | {"id": "b", "published": ""}, {**OSLO, "id": "c", "published": None}]
    odd = OSLO | {"id": "not/a name", "extra": 1}
    feed = read_feed(write_folder(tmp_path, LATER, "", *undated, odd, OSLO))
    assert feed.refused == (("all.jsonl, line 3", "undated"), ("all.jsonl, line 4", "undated"))
    told = [
        (a.title, str(pd.Timestamp(a.published, unit="s", tz="Etc/GMT-8"))) for a in feed.articles
    ]
    storm = ("Storm in Oslo", "2016-10-09 20:00:00+08:00")
    assert told == [storm, storm, ("Oslo trams", "2016-10-10 09:30:00+08:00")]
    assert feed.articles[0].path == "a1" and "/" not in feed.articles[1].path


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": "a1"}, ", id: 'a1' is taken by all.jsonl, line 1"),
        ({"text": "x" * (news_articles.MAX_TEXT + 1)}, ", text: 'xx"),
        (
            {"published": "2016-10-08T09:30:00"},
            ", published: '2016-10-08T09:30:00' is not a day",
        ),
        ({"id": "b\udc00"}, " holds half a character"),
    ],
)
def test_a_mistake_is_told_with_file_line_and_field(tmp_path, changes, said):
    (tmp_path / "press").mkdir()
    rows = [OSLO, OSLO | {"id": "b"} | changes]
    (tmp_path / "press/all.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(ValueError, match=f"^all.jsonl, line 2:?{said}"):
        read_feed(tmp_path / "press")


def test_the_condition_of_a_run_changes_with_the_articles(tmp_path):
    path = write_folder(tmp_path, OSLO)
    before = describe_articles([path])
    assert before.startswith("with articles press ") and describe_articles([]) is None
    write_lines(path / "all.jsonl", LATER)
    assert describe_articles([path]) != before


# --- nothing too early ------------------------------------------------------------------------------


def test_an_article_is_found_and_opened_only_once_it_is_public(tmp_path):
    path = write_folder(tmp_path, OSLO, LATER)
    web = open_press(path)
    for moment, n in (
        ("09T20:00:00", 0),
        ("09T20:00:01", 1),
        ("10T09:30:00", 1),
        ("10T09:30:01", 2),
        ("09T20:00:01", 1),  # again, after a later moment was asked for
        ("09T20:00:00", 0),
    ):
        as_of = f"2016-10-{moment}+08:00"
        hits = web.search("Oslo storm trams", as_of, 9)
        assert len(hits) == n, as_of
        assert all(pd.Timestamp(hit.published_at) < pd.Timestamp(as_of) for hit in hits)
        for row in (OSLO, LATER)[n:]:
            with pytest.raises(GatewayError, match="no page by"):
                web.open(locate_feed(path) + row["id"], as_of)
    assert web.open(locate_feed(path) + "a1", AS_OF).text == "A storm reaches Oslo.\nTrams stop."


def test_a_front_page_lists_what_is_public_and_not_too_old(tmp_path, monkeypatch):
    old = [OSLO | {"id": f"a{day}", "published": day} for day in ("2015-01-01", "2016-10-07")]
    path = write_folder(tmp_path, OSLO, LATER, *old)
    for n_listed, keys in ((1000, ["a2016-10-07", "a1"]), (1, ["a1"])):
        monkeypatch.setattr(news_articles, "N_LISTED", n_listed)
        front = open_press(path).fetch(locate_feed(path), AS_OF)
        assert json.loads(front.text)["articles"] == [locate_feed(path) + key for key in keys]
        assert front.published_at == "2016-10-09T20:00:00+08:00"


def test_news_is_marked_as_not_ours_also_behind_a_cache(tmp_path):
    path = write_folder(tmp_path, OSLO)
    replay = Replay({}, articles=[path])
    cache = Cache(replay, 24)
    for adapter in (replay, cache, cache):
        web = Web(adapter)
        page = web.fetch(locate_feed(path) + "a1", AS_OF)
        assert page.page_id.startswith("n") and web.pages[page.page_id]["origin"] == "news"
