"""A guest of the open web, on the simulated internet: robots, paces of threads, bounds, and what is
never asked."""

import gzip
import threading
import time

import numpy as np
import pandas as pd
import pytest
from internet import open_internet

from daybefore.web.fetched_pages import GatewayError
from daybefore.web.guest import Guest

HOSTS = ("www.example.org", "closed.example.org")


def show(asked):
    if asked.path == "/robots.txt":
        return (
            200,
            {},
            "User-agent: *\nDisallow: /" + ("" if asked.host.startswith("closed") else "private"),
        )
    return 200, {}, f"{asked.host}{asked.path}"


@pytest.fixture
def web(tmp_path, monkeypatch):
    sites = dict.fromkeys(HOSTS, show)
    with open_internet(tmp_path, sites, pd.Timestamp.now("UTC"), patch=monkeypatch) as internet:
        yield internet


def test_a_guest_keeps_to_robots_and_the_hosts_pace_in_all_threads(web):
    guest = Guest(web.now, pace_s=0.2)
    threads = [
        threading.Thread(target=guest.get, args=(f"https://www.example.org/{i}",)) for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    moments = [one.at for one in web.asked if one.host == "www.example.org"]
    assert len(moments) == 5  # robots.txt once
    assert np.diff(moments).min() > 0.19
    for url in ("https://closed.example.org/a", "https://www.example.org/private/x"):
        with pytest.raises(GatewayError) as found:
            guest.get(url)
        assert found.value.status == "robots"
    assert guest.get("https://closed.example.org/api", heeds_robots=False)[0] == 200


INSIDE = r"""https://127.0.0.1/secret https://[::1]/ https://169.254.169.254/latest/meta-data https://10.0.0.8/
    https://[::ffff:192.168.0.1]/ https://localhost:8080/ https://127.1/ https://intranet/ https://printer.local/
    https://wiki.corp.example\@outside.example/ https://user@www.example.org/ https://224.0.0.1/
    https://[64:ff9b::7f00:1]/ https://[2002:7f00:1::]/ https://[::127.0.0.1]/ https://[ff0e::1]/ HTTP://127.0.0.1/
    https://rates.replay/ ftp://www.example.org/ https://[broken/"""


@pytest.mark.parametrize("url", INSIDE.split())
def test_an_address_inside_is_never_asked(web, url):
    with pytest.raises(GatewayError) as found:
        Guest(web.now).get(url)
    assert found.value.status == "outside"
    assert (web.asked, dict(web.refused)) == ([], {})


@pytest.mark.parametrize("numbers", [["192.168.1.7"], ["93.184.215.14", "192.168.1.7"]])
def test_without_a_proxy_a_name_that_leads_inside_is_not_asked(monkeypatch, numbers):
    """Also where it leads there only the second time, when it is connected to."""
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    answers, connected = iter(numbers), []
    monkeypatch.setattr(
        "socket.getaddrinfo", lambda host, *_, **__: [(2, 1, 6, "", (next(answers), 0))]
    )
    monkeypatch.setattr(
        "urllib3.util.connection.create_connection", lambda to, *_, **__: connected.append(to)
    )
    with pytest.raises(GatewayError, match="inside") as found:
        Guest(pd.Timestamp.now("UTC")).get("https://rebound.example/", heeds_robots=False)
    assert (found.value.status, connected, list(answers)) == ("outside", [], [])


def test_capitals_become_https_and_a_long_robots_is_cut(web):
    assert Guest(web.now, pace_s=0).get("HTTP://www.example.org/a")[2] == b"www.example.org/a"
    web.sites["www.example.org"] = lambda asked: (
        200,
        {},
        "User-agent: *\nDisallow: /private\n" + "#" * 900_000,
    )
    guest = Guest(web.now, pace_s=0)
    assert len(guest._read_robots("www.example.org", time.monotonic() + 30)) == 500_000
    with pytest.raises(GatewayError, match="does not allow"):
        guest.get("https://www.example.org/private/x")


@pytest.mark.parametrize("n_cut", [1, 4, 8, 400])
def test_a_compressed_body_cut_short_is_no_page(web, n_cut):
    whole = gzip.compress(b"".join(b"%d," % n for n in range(900)))
    web.sites["www.example.org"] = lambda _: (200, {"content-encoding": "gzip"}, sent)
    for sent in (whole, whole + whole):
        page = Guest(web.now, pace_s=0).get("https://www.example.org/a", heeds_robots=False)
        assert page[2].endswith(b"899,")
        sent = sent[:-n_cut]
        with pytest.raises(GatewayError, match="cut short") as found:
            Guest(web.now, pace_s=0).get("https://www.example.org/a", heeds_robots=False)
        assert found.value.status == "down"


def test_a_page_and_its_robots_share_one_deadline(web):
    def dawdle(asked):
        time.sleep(1)
        return show(asked)

    web.sites["www.example.org"] = dawdle
    guest = Guest(web.now, pace_s=0, deadline_s=1.8)
    with pytest.raises(GatewayError, match="not complete within 1.8 s") as found:
        guest.get("https://www.example.org/a")  # two answers of a second each
    assert found.value.status == "too_slow"
    assert guest.get("https://www.example.org/a")[0] == 200  # its robots.txt is known by now
    guest, begun = Guest(web.now, pace_s=60, deadline_s=1.8), time.monotonic()
    with pytest.raises(
        GatewayError, match="not complete"
    ):  # the host's pause leaves no time for the page
        guest.get("https://www.example.org/b")
    assert time.monotonic() - begun < 60
    assert not [one for one in web.asked if one.path == "/b"]
