"""The web lets through what is dated, in time and inside the world, and nothing else."""

import pytest

from daybefore.web.pages import GatewayError
from daybefore.web.session import Answer, Web

AS_OF, NOON = "2016-10-10T00:00:00+08:00", 1476028800 - 4 * 3600
URL = "http://site.replay/page"


class Site:
    """Answers the same to all that is asked, and counts it."""

    def __init__(self, *answer):
        self.shown, self.asked = Answer(*answer), []

    def answer(self, url, clock):
        self.asked.append((url, clock))
        return self.shown


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ((200, "text/html", "hello", 1476028800), "too_late"),
        ((200, "text/html", "hello", 1476241445), "too_late"),  # 2016-10-12T03:04:05Z
        ((200, "text/html", "hello"), "undated"),
        ((404,), "absent"),
        ((503,), "down"),
    ],
)
def test_what_is_late_undated_absent_or_down_is_told_apart(answer, status):
    with pytest.raises(GatewayError) as caught:
        Web(Site(*answer)).fetch(f"{URL}?day=2016-10-12", AS_OF)
    assert caught.value.status == status
    assert status != "too_late" or "2016-10-12" not in str(caught.value), "a refusal does not name the later moment"


def test_a_page_of_a_second_earlier_comes_and_the_site_is_asked_as_of_then():
    site = Site(200, "text/html", "hello", 1476028799)
    page = Web(site).fetch("http://site.replay", AS_OF)
    assert (page.text, page.published_at) == ("hello", "2016-10-09T23:59:59+08:00")
    assert site.asked == [("http://site.replay/", 1476028799)]  # an address as a browser writes it


OUTSIDE = """http://example.org/ http://site.replay.example.org/ http://site.replay@example.org/
    https://site.replay/page http://169.254.169.254/latest http://[a.replay]"""


@pytest.mark.parametrize("url", OUTSIDE.split())
def test_nothing_outside_is_asked_for(url):
    site = Site(200, "text/html", "hello", NOON)
    with pytest.raises(GatewayError) as caught:
        Web(site).fetch(url, AS_OF)
    assert (caught.value.status, site.asked) == ("outside", [])


TEXT = "On 9 October 2016, the maximum at Überlingen was 12.5 °C and the minimum -3.0 °C – “mild”."


@pytest.mark.parametrize("charset", ["utf-8", "cp1252"])
def test_a_wrong_charset_is_read_rightly(charset):
    assert Web(Site(200, "text/html", TEXT.encode(charset), NOON)).fetch(URL, AS_OF).text == TEXT
