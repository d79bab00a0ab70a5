"""A guest of the open web, on the simulated internet: robots, paces of threads, bounds, and what is never asked."""

import threading

import pandas as pd
import pytest
from internet import open_internet

from helpers.web.guest import Guest, check_outside
from helpers.web.pages import GatewayError

HOSTS = ("www.example.org", "closed.example.org")


def show(asked):
    if asked.path == "/robots.txt":
        return 200, {}, "User-agent: *\nDisallow: /" + ("" if asked.host.startswith("closed") else "private")
    return 200, {}, f"{asked.host}{asked.path}"


@pytest.fixture
def web(tmp_path, monkeypatch):
    with open_internet(tmp_path, dict.fromkeys(HOSTS, show), pd.Timestamp.now("UTC")) as internet:
        for name, value in internet.settings.items():
            monkeypatch.setenv(name, value)
        yield internet


def test_a_guest_keeps_to_robots_and_the_hosts_pace_in_all_threads(web):
    guest = Guest(web.now, pace_s=0.2)
    threads = [threading.Thread(target=guest.get, args=(f"https://www.example.org/{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    moments = [one.at for one in web.asked if one.host == "www.example.org"]
    assert len(moments) == 5  # robots.txt once
    assert min(later - first for first, later in zip(moments, moments[1:], strict=False)) > 0.19
    for url in ("https://closed.example.org/a", "https://www.example.org/private/x"):
        with pytest.raises(GatewayError) as found:
            guest.get(url)
        assert found.value.status == "robots"
    assert guest.get("https://closed.example.org/api", heeds_robots=False)[0] == 200


INSIDE = """https://127.0.0.1/secret https://[::1]/ https://169.254.169.254/latest/meta-data https://10.0.0.8/
    https://[::ffff:192.168.0.1]/ https://localhost:8080/ https://127.1/ https://intranet/ https://printer.local/
    https://rates.replay/ ftp://www.example.org/ https://[broken/"""


@pytest.mark.parametrize("url", INSIDE.split())
def test_an_address_inside_is_never_asked(web, url):
    with pytest.raises(GatewayError) as found:
        Guest(web.now).get(url)
    assert found.value.status == "outside"
    assert (web.asked, dict(web.refused)) == ([], {})


def test_without_a_proxy_a_name_that_leads_inside_is_not_asked(monkeypatch):
    monkeypatch.delenv("HTTPS_PROXY", raising=False)
    monkeypatch.delenv("https_proxy", raising=False)
    answers = {"rebound.example": "192.168.1.7", "www.example.org": "93.184.215.14"}
    monkeypatch.setattr("socket.getaddrinfo", lambda host, *_, **__: [(2, 1, 6, "", (answers[host], 0))])
    check_outside("https://www.example.org/")
    with pytest.raises(GatewayError, match="inside"):
        check_outside("https://rebound.example/")
