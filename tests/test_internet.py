"""The simulated internet: real clients, unmodified, pass through it; faults and what it refuses are seen by them."""

import json
import subprocess
import sys

import pytest
from internet import open_internet
from sites import Hub, make_archive, make_tavily, write_parquet

PAGES = [
    {"url": "https://news.example/a", "title": "Rain in Oslo", "text": "It rains in Oslo.", "date": "2026-03-01"},
    {"url": "https://news.example/b", "title": "Snow in Oslo", "text": "It snows in Oslo.", "date": "2026-03-09"},
]
CAPTURES = [
    {"url": "https://news.example/a", "at": "2026-02-01T00:00:00Z", "body": "as of February"},
    {"url": "https://news.example/a", "at": "2026-03-01T00:00:00Z", "body": "as of March"},
    {"url": "https://news.example/a", "at": "2026-04-01T00:00:00Z", "body": "not yet"},
]

CLIENTS = """
import datetime, json, requests, httpx, pandas, wayback, litellm
from huggingface_hub import HfApi, hf_hub_download
said = {"requests": requests.get("https://www.example.org/page?q=a%20b").text}
said["httpx"] = httpx.post("https://www.example.org/page", content=b"four").json()
said["stranger"] = type(requests.exceptions.RequestException()).__name__
try:
    requests.get("https://elsewhere.example/")
except requests.exceptions.ProxyError as error:
    said["stranger"] = "ProxyError"
commit = HfApi().dataset_info("owner/weekly").sha
path = hf_hub_download("owner/weekly", "data/train.parquet", repo_type="dataset", revision=commit)
said["hub"] = [commit, pandas.read_parquet(path)["id"].tolist()]
found = litellm.search(query="oslo rain", search_provider="tavily", max_results=3)
said["search"] = [one.url for one in found.results]
with wayback.WaybackClient() as client:
    found = list(client.search("https://news.example/a", to_date=datetime.date(2026, 2, 10)))
    said["captures"] = [one.timestamp.isoformat() for one in found]
    said["memento"] = client.get_memento(found[-1]).text
print(json.dumps(said))
"""


def say(asked):
    if asked.method == "POST":
        return 200, {}, {"got": asked.body.decode(), "now": asked.now.isoformat()}
    return 200, {}, f"{asked.host}{asked.path} {asked.query} été 中文"


@pytest.fixture
def web(tmp_path, monkeypatch):
    with open_internet(tmp_path, {"www.example.org": say, "api.tavily.com": say}) as internet:
        for name, value in internet.settings.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("SSL_CERT_DIR", raising=False)
        yield internet


def test_real_clients_pass_through_unmodified(tmp_path):
    hub = Hub()
    commit = hub.publish("owner/weekly", {"data/train.parquet": write_parquet([{"id": "a"}])}, "2026-03-01T00:00:00Z")
    newest = hub.publish("owner/weekly", {"data/train.parquet": write_parquet([{"id": "b"}])}, "2026-03-08T00:00:00Z")
    sites = {"www.example.org": say, "huggingface.co": hub, "api.tavily.com": make_tavily(PAGES)}
    with open_internet(tmp_path, sites | {"web.archive.org": make_archive(CAPTURES)}) as web:
        given = {"TAVILY_API_KEY": "key", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        environment = web.environment(**given, HF_HOME=str(tmp_path / "hub"))
        command = [sys.executable, "-c", CLIENTS]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout.splitlines()[-1])
        assert said["requests"] == "www.example.org/page {'q': 'a b'} été 中文"
        assert said["httpx"] == {"got": "four", "now": "2026-03-02T08:00:00+00:00"}
        assert said["stranger"] == "ProxyError"
        assert web.refused == {"elsewhere.example:443": 1}
        assert said["hub"] == [commit, ["a"]]
        assert said["search"] == ["https://news.example/a"]  # the later page is not published yet
        assert said["captures"] == ["2026-02-01T00:00:00+00:00"]
        assert said["memento"] == "as of February"
        assert {one.host for one in web.asked} == {*sites, "web.archive.org"}
        assert web.count("api.tavily.com", "/search") == 1
        web.move(days=7)
        command[2] = "from huggingface_hub import HfApi; print(HfApi().dataset_info('owner/weekly').sha)"
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert done.stdout.strip() == newest
