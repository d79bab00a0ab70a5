import numpy as np
import pandas as pd
import pytest

from helpers.events import stubs
from helpers.web.news import Article, end_day

FERRY = "The ferry strike at the harbour of Bergen goes on, sailors say"
COMET = "Astronomers watch the bright comet near the constellation Orion"

MORE = ["", "as talks begin", "after talks fail"]


def tell(day, *texts):
    return Article(f"{day}/news", end_day(day), "News", texts)


@pytest.fixture
def lines():
    days = pd.date_range("2024-01-05", "2024-01-29", freq="4D").strftime("%Y-%m-%d")
    before = [tell(day, f"{FERRY} {MORE[n % 3]}", f"{COMET} {MORE[n % 3]}") for n, day in enumerate(days)]
    later = [tell(day, FERRY) for day in ("2024-02-10", "2024-03-15", "2024-03-20")]
    return stubs.list_lines([*before, *later, tell("2024-03-16", "Potato prices fall at markets in Lima")])


def test_stories_are_what_several_days_tell_of_and_resolve_by_what_comes_later(lines):
    events, answers, stories = stubs.make_stubs(lines, "2024-02-01")
    assert stories[["n_lines", "n_days"]].values.tolist() == [[7, 7], [7, 7]]
    assert stories["last"].max() < "2024-01-31"
    values = answers.set_index("event_id")["value"]
    counts = sorted(int(value) for name, value in values.items() if name.endswith("count"))
    assert counts == [0, 3]
    assert sorted(value for name, value in values.items() if name.endswith("returns")) == ['"A"', '"B"']
    assert set(events["kind"]) == {"single", "number"}


def test_an_articles_day_is_that_from_which_it_was_public_whatever_its_id(lines):
    own = [Article("my-notes-42", 1707000000, "News", (FERRY,)), tell("2024-02-10", FERRY)]
    assert stubs.list_lines(own)["day"].tolist() == ["2024-02-04", "2024-02-10"]


def test_lines_of_stop_words_alone_tell_no_story():
    days = pd.date_range("2024-01-05", "2024-01-29", freq="2D").strftime("%Y-%m-%d")
    lines = stubs.list_lines([tell(day, "it was as it is") for day in days])
    assert stubs.find_stories(lines, "2024-02-01T00:00:00+08:00") == ([], None)


def test_a_stub_holds_none_of_the_feeds_words(lines):
    events, _, stories = stubs.make_stubs(lines, "2024-02-01")
    text = (events.to_csv() + stories.to_csv()).lower()
    assert not any(word in text for word in ("ferry", "comet", "bergen", "orion"))


def test_only_what_was_public_at_the_opening_makes_a_story(lines):
    held = lines.assign(published=lines["published"] + 40 * 86400)
    assert stubs.make_stubs(held, "2024-02-01")[2].empty
    first = stubs.find_stories(lines, "2024-02-01T00:00:00+08:00")[0]
    more = pd.concat([lines, lines.tail(4).assign(text="Comet Orion ferry Bergen")])
    assert [story["words"] for story in stubs.find_stories(more, "2024-02-01T00:00:00+08:00")[0]] == [
        story["words"] for story in first
    ]


def test_a_story_that_is_told_at_once_but_not_later_does_not_return(lines):
    soon = lines[~lines["day"].str.startswith("2024-03")]
    values = stubs.make_stubs(soon, "2024-02-01")[1].set_index("event_id")["value"]
    assert all(value == '"B"' for name, value in values.items() if name.endswith("returns"))
    assert sorted(int(value) for name, value in values.items() if name.endswith("count")) == [0, 1]


@pytest.mark.parametrize(("year", "away"), [(2025, 365), (2023, -365)])
def test_a_placebo_is_the_same_story_followed_a_year_away_where_the_feed_covers_it(lines, year, away):
    days = pd.date_range(f"{year}-01-25", f"{year}-04-10").strftime("%Y-%m-%d")
    filler = [tell(day, "Potato prices fall at markets in Lima") for day in days]
    there = stubs.list_lines([*filler, tell(f"{year}-03-15", COMET)])
    table = stubs.compare_years(pd.concat([lines, there], ignore_index=True), "2024-02-01")
    assert sorted(table[["returns", "placebo"]].values.tolist()) == [[0, 1], [1, 0]]
    assert set(table["away"]) == {away} and table["n_lines"].tolist() == [7, 7]
    bare = stubs.compare_years(lines, "2024-02-01")
    assert bare["placebo"].isna().all() and bare["returns"].sum() == 1, "no feed a year away: no placebo"


def test_a_larger_story_has_a_lower_bar():
    days = pd.date_range("2024-01-05", "2024-01-30").strftime("%Y-%m-%d")
    rng = np.random.default_rng(0)
    words = [f"town{n}" for n in range(40)]
    told = [
        [f"{FERRY} {' '.join(rng.choice(words, 3))}"] + ([f"{COMET} {' '.join(rng.choice(words, 3))}"] if n < 5 else [])
        for n in range(len(days))
    ]
    feed = stubs.list_lines([tell(day, *texts) for day, texts in zip(days, told, strict=True)])
    large, small = stubs.find_stories(feed, "2024-02-01T00:00:00+08:00")[0]
    assert (large["n_lines"], small["n_lines"]) == (26, 5) and large["bar"] < small["bar"]
