"""What the public news brings and may give away, on synthetic feeds and pages; the labels hold on
the real one."""

import pandas as pd
import pytest

from daybefore.web.news import Feed, write_article
from studies.futurex import news_lines as news

DAYS = {
    "2016-10-06": ["A vote is held.", "He later dies."],
    "2016-10-08": ["B wins."],
    "2017-01-01": ["C wins."],
}
ARTICLES = tuple(write_article(day, "Uncategorized", lines) for day, lines in DAYS.items())
FEED = Feed("http://press.replay/", "Press", ARTICLES, (("2018-01-01.yaml", "over 30 kB"),))


def test_labels_are_of_lines_in_which_the_rule_finds_hindsight():
    lines = news.list_lines(FEED)
    label = {"page": "2016-10-06/uncategorized", "line": 1, "hint": "later", "label": "open"}
    weighed = news.weigh_labels(lines, pd.DataFrame([label])).set_index("reading")["share"]
    assert weighed.to_dict() == {"surely later": 0, "perhaps later": 1}
    with pytest.raises(ValueError, match="1 labels are of lines in which the rule finds nothing"):
        news.weigh_labels(lines, pd.DataFrame([label, label | {"line": 0}]))
