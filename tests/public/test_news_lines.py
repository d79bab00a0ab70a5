"""What the public news brings and may give away, on synthetic feeds and pages; the labels hold on the real one."""

import os

import pandas as pd
import pytest
from public import news_lines as news

from helpers.public_files import MIRROR, locate_public
from helpers.web.news import Feed, read_feed, write_article
from helpers.web.replay import Replay
from helpers.web.session import Web

AS_OF = "2016-10-10T00:00:00+08:00"
DAYS = {"2016-10-06": ["A vote is held.", "He later dies."], "2016-10-08": ["B wins."], "2017-01-01": ["C wins."]}
ARTICLES = tuple(write_article(day, "Uncategorized", lines) for day, lines in DAYS.items())
FEED = Feed("http://press.replay/", "Press", ARTICLES, (("2018-01-01.yaml", "over 30 kB"),))


def test_lines_are_counted_by_year_with_what_was_refused_and_found():
    lines = news.list_lines(FEED)
    assert lines["hint"].tolist() == ["", "later", "", ""]
    counts = news.count_years(FEED, lines)
    assert counts.loc["all"].tolist() == [3, 3, 1, 4, 1] and counts.loc[2018].tolist() == [0, 0, 0, 0, 1]
    hindsight = news.summarize_hindsight(lines).set_index("year")
    assert hindsight["hits"].to_dict() == {"2016": 1, "2017": 0, "all": 1} and hindsight.loc["all", "share"] == 0.25


def test_labels_are_of_lines_in_which_the_rule_finds_hindsight():
    lines = news.list_lines(FEED)
    label = {"page": "2016-10-06/uncategorized", "line": 1, "hint": "later", "label": "open"}
    weighed = news.weigh_labels(lines, pd.DataFrame([label])).set_index("reading")["share"]
    assert weighed.to_dict() == {"surely later": 0, "perhaps later": 1}
    with pytest.raises(ValueError, match="1 labels are of lines in which the rule finds nothing"):
        news.weigh_labels(lines, pd.DataFrame([label, label | {"line": 0}]))


def test_the_front_page_tells_how_old_the_newest_news_is(tmp_path):
    (tmp_path / "press").mkdir()
    rows = [f'{{"id": "{day}", "title": "T", "text": "x", "published": "{day}"}}' for day in DAYS]
    (tmp_path / "press/all.jsonl").write_text("\n".join(rows))
    world = Web(Replay({}, articles=[tmp_path / "press"]), feeds=["http://press.replay/"])
    table = news.list_visible(world, "http://press.replay/", [AS_OF, "2016-10-09T00:00:00+08:00"])
    assert table[["n_pages", "newest", "age_days"]].values.tolist() == [[2, "2016-10-08", 2], [1, "2016-10-06", 3]]


def test_retrievals_are_flagged_and_summed_by_host():
    days = ["2025-10-01", "2025-10-09", "undated", "2025-09-01", "2025-09-02"]
    rows = pd.DataFrame({"published": days, "trading_day": "2025-10-01", "url": "http://a.org/x", "agent": "a"})
    rows = news.audit_retrievals(rows)
    assert rows["flag"].tolist() == ["unsure", "later", "undated", "earlier", "earlier"] and set(rows["host"]) == {
        "a.org"
    }
    flags = news.summarize_flags(rows).set_index("flag")
    assert flags["n"].to_dict() == {"earlier": 2, "unsure": 1, "later": 1, "undated": 1, "flagged": 3}
    assert flags["low"].isna().all(), "one host cannot tell an interval"


def test_what_is_read_in_both_strata_is_weighed_by_their_lines():
    lines = pd.DataFrame({"page": [f"p{n}" for n in range(100)], "line": 0, "hint": ["later"] * 10 + [""] * 90})
    flagged = lines[:10].assign(label=["yes"] * 4 + ["no"] * 6)
    rest = lines[10:40].drop(columns="hint").assign(label=["open"] * 3 + ["no"] * 27)
    strata = news.weigh_labels(lines, flagged), news.weigh_labels(lines, rest, is_flagged=False)
    pooled = news.pool_readings(lines, *strata).set_index("reading")
    assert pooled["share"].round(4).to_dict() == {"surely later": 0.04, "perhaps later": 0.13}
    assert pooled["found"].round(4).to_dict() == {"surely later": 1.0, "perhaps later": 0.3077}
    assert (pooled["low"] < pooled["share"]).all() and pooled.loc["surely later", "high"] > 0.1
    with pytest.raises(ValueError, match="in which the rule finds something"):
        news.weigh_labels(lines, flagged.drop(columns="hint"), is_flagged=False)


@pytest.mark.skipif(
    not os.environ.get(MIRROR), reason="needs the public files: set KIT_DATA_MIRROR to a folder that holds them"
)
def test_the_labels_hold_on_the_public_feed():
    lines, labels = news.list_lines(read_feed(locate_public("news/current_events.tar.gz"))), pd.read_csv(news.LABELS)
    assert news.weigh_labels(lines, labels)["n"].tolist() == [60, 60]
    unflagged = pd.read_csv(news.UNFLAGGED)
    assert news.weigh_labels(lines, unflagged, is_flagged=False)["n"].tolist() == [100, 100]
    assert set(unflagged["label_by"]) == {"language model"}
    assert set(labels["label"]) == {"yes", "open", "no"} and set(labels["label_by"]) == {"language model"}
