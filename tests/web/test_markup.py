"""No page takes the time or the memory of the others: each hostile page is refused, or read, within
a second."""

import gc
import time

import pytest
from builders import read_long_texts

from daybefore.web.extract_values import ExtractionError, extract_page
from daybefore.web.passages import read_page
from daybefore.web.source_registry import load_sources

SOURCES = load_sources()
READERS = ("clemson", "weather_bwi", "ecb_fixings", "i94_hours", "geomagnetic", "market")
"""A source for each way of reading."""
PAGES = read_long_texts(__file__, "hostile")


@pytest.fixture(scope="module")
def _no_collector():
    """Keep the collector out: what other tests left must not be finalized at the depth where a page
    ends the stack."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_collector")
@pytest.mark.parametrize("name", PAGES)
def test_a_hostile_page_is_refused_in_time(name):
    begun = time.perf_counter()
    for source_id in READERS:
        with pytest.raises(ExtractionError, match=source_id):
            extract_page(SOURCES[source_id], PAGES[name])
    for content_type in ("text/html", "application/json"):
        title, passages = read_page(PAGES[name], content_type)
        assert len(title) <= 240 and all(len(passage.text) < 1000 for passage in passages[:1000])
    assert time.perf_counter() - begun < 10, "six sources and two readings, on a busy machine"


EVENT = """<article class="event" id="m-1" data-opens="2016-10-10T21:00:00+08:00"
  data-terms='{{"ask": "change", "date": "2016-10-13", "keys": ["Yes", "No"], "reference": 1.0}}'><h2>Will it?</h2>
<ul class="options"><li>Yes</li><li>No</li></ul><p class="closes">{closes}</p>
<p class="rules">As reported.</p></article>"""


@pytest.mark.parametrize(
    "closes", ["2016-10-13621:00:00+08:00", "2016-10-13T21:00:00", "20161013T210000+0800", "soon"]
)
def test_a_markets_moment_that_is_not_written_whole_is_refused(closes):
    whole = extract_page(SOURCES["market"], EVENT.format(closes="2016-10-13T21:00:00+08:00"))
    assert list(whole["closes_at"]) == ["2016-10-13T21:00:00+08:00"]
    with pytest.raises(ExtractionError, match="market"):
        extract_page(SOURCES["market"], EVENT.format(closes=closes))
