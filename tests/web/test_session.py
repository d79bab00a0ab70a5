"""The web lets through what is dated, in time and inside the world, and nothing else."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daybefore.web.fetched_pages import GatewayError
from daybefore.web.session import Answer, Web

AS_OF = "2016-10-10T00:00:00+08:00"
MIDNIGHT = 1476028800
"""The same moment in seconds."""
URL = "http://site.replay/page"


class Site:
    """Answers the same to all that is asked, and counts it."""

    def __init__(self, *answer):
        self.shown, self.asked = Answer(*answer), []

    def answer(self, url, clock):
        self.asked.append((url, clock))
        return self.shown


def refuse(site, url=URL):
    """Return the status of a refusal, and what it says."""
    with pytest.raises(GatewayError) as caught:
        Web(site).fetch(url, AS_OF)
    return caught.value.status, str(caught.value)


@given(st.integers(-(10**9), 10**9) | st.integers(-3, 3))
def test_a_page_comes_if_it_was_published_a_second_earlier_or_more(seconds):
    site = Site(200, "text/html", "hello", MIDNIGHT + seconds)
    if seconds < 0:
        page = Web(site).fetch("http://site.replay", AS_OF)
        assert (
            page.text == "hello"
            and pd.Timestamp(page.published_at).timestamp() == MIDNIGHT + seconds
        )
        assert site.asked == [
            ("http://site.replay/", MIDNIGHT - 1)
        ]  # an address as a browser writes it
    else:
        assert refuse(site)[0] == "too_late"


@pytest.mark.parametrize(
    ("answer", "status"),
    [((200, "text/html", "hello"), "undated"), ((404,), "absent"), ((503,), "down")],
)
def test_what_is_undated_absent_or_down_is_told_apart(answer, status):
    assert refuse(Site(*answer))[0] == status


def test_a_refusal_does_not_name_the_later_moment():
    site = Site(200, "text/html", "hello", MIDNIGHT + 212_645)  # 2016-10-12T03:04:05Z
    status, said = refuse(site, f"{URL}?day=2016-10-12")
    assert status == "too_late" and "2016-10-12" not in said


OUTSIDE = """http://example.org/ http://site.replay.example.org/ http://site.replay@example.org/
    https://site.replay/page http://169.254.169.254/latest http://[a.replay]"""


@pytest.mark.parametrize("url", OUTSIDE.split())
def test_nothing_outside_is_asked_for(url):
    site = Site(200, "text/html", "hello", MIDNIGHT - 1)
    assert (refuse(site, url)[0], site.asked) == ("outside", [])
