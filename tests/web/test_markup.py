"""No page takes the time or the memory of the others: each hostile page is refused, or read, within a second."""

import gc
import json
import time

import pytest

from daybefore.web.extract import ExtractionError, extract_page
from daybefore.web.passages import read_page
from daybefore.web.sources import load_sources

SOURCES = load_sources()
READERS = ("clemson", "weather_bwi", "ecb_fixings", "i94_hours", "geomagnetic", "market")
"""A source for each way of reading."""
MANY = " ".join(f"a{n}=''" for n in range(100_000))
ROW = "<tr><td>2016-10-07</td>" + "<td>1</td>" * 20_000 + "</tr>"
PAGES = {
    "empty": "",
    "blank": " \n\t",
    "a comment": "<!-- nothing -->",
    "other words": "<html><body><p>Nothing of the kind.</p></body></html>",
    "no columns": "<table class='data'><tr><th>Date</th></tr></table>",
    "a short line": "<table class='data'><tr><th>Date</th><th>USD</th></tr><tr><td>2016-10-07</td></tr></table>",
    "an issue without its date": "<section class='issue'><ol><li>07:00</li></ol></section>",
    "an observation without values": '{"observations": [{"date": "2016-10-10"}]}',
    "attributes": f"<html><p {MANY}>x</p></html>",
    "attributes behind a quoted bracket": f"<html><p a='>' {MANY}>x</p></html>",
    "attributes without values": "<p " + " ".join(f"a{n}" for n in range(100_000)) + ">",
    "attributes of many tags": ("<p " + " ".join(f"a{n}" for n in range(140)) + ">") * 3000,
    "attributes that never end": '<p a="' + "b='" * 300_000,
    "tables in tables": "<table class='data'><tr><td>" * 20_000 + "1",
    "lists in sections": "<section class='issue'><ol><li>" * 20_000 + "1",
    "articles in articles": "<article class='event'><h2>x</h2>" * 20_000,
    "divisions": "<div>" * 600_000,
    "tags": "<b>" * 999_000,
    "one long word": "9" * 1_999_000,
    "long words of bulletins": ("On 9 October 2016, the maximum temperature at " + "a " * 200) * 4000,
    "a wide table": f"<table class='data'><tr>{'<th>x</th>' * 20_001}</tr>{ROW * 3}</table>",
    "a long heading": "<table><tr><th>Date</th><th>Name</th>"
    + f"<th>{'x' * 300_000}</th></tr>"
    + "".join(f"<tr><td>2016</td><td>n{n}</td><td>1</td></tr>" for n in range(15_000))
    + "</table>",
    "nested lists": "[" * 900_000,
    "nested objects": '{"observations":' * 100_000,
    "keys": json.dumps({"observations": [{f"k{n}": 1} for n in range(8000)]}),
    "one long record": json.dumps({"observations": [[1] * 300_000] + [[]] * 100_000}),
    "a long number": '{"observations": [' + "9" * 1_000_000 + "]}",
    "infinity": '{"observations": [{"date": "2016-10-09", "station": "x", "kp_sum": Infinity, "ap": 1e999}]}',
    "half a character": '{"observations": [{"date": "2016-10-09", "network": "\\ud800", "kp_sum": 1, "ap": 1}]}',
    "far dates": "<table class='data'><tr><th>Date</th><th>USD</th></tr><tr><td>9999-12-31</td><td>1</td></tr></table>",
    "too much": "<p>" + "x " * 1_500_000,
}


def try_page(name):
    """Read a page in every way there is; an extraction must end in ExtractionError."""
    for source_id in READERS:
        with pytest.raises(ExtractionError, match=source_id):
            extract_page(SOURCES[source_id], PAGES[name])
    for content_type in ("text/html", "application/json"):
        title, passages = read_page(PAGES[name], content_type)
        assert len(title) <= 240 and all(len(passage.text) < 1000 for passage in passages[:1000])


@pytest.fixture
def _no_collector():
    """Keep the collector out: what other tests left must not be finalized at the depth where a page ends the stack."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_collector")
@pytest.mark.parametrize("name", PAGES)
def test_a_hostile_page_is_refused_in_time(name):
    begun = time.perf_counter()
    try_page(name)
    assert time.perf_counter() - begun < 10, "six sources and two readings, on a busy machine"
