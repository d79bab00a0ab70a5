"""What several tests share: the replay world, its events with their answers (made once a run),
small servers."""

import fcntl
import os
import pickle
import signal

import pytest
from builders import KEEP_BINARY, KEY
from hypothesis import settings
from mock_provider import Server
from serving import run_server

from daybefore.agents.prompted_agents import Client
from daybefore.models.client import ask, open_door
from daybefore.models.long_jobs import ask_in_background
from daybefore.questions.collect_events import collect_events
from daybefore.scoring.acquire_answers import acquire_answers
from daybefore.web.replay import open_world
from daybefore.web.source_registry import load_sources

# What a shell or a login may have set otherwise, for these tests and the processes they start:
# under nohup an interrupt is ignored, and a strict umask makes folders that no other user may
# enter.
signal.signal(signal.SIGINT, signal.default_int_handler)
os.umask(0o022)

# What hypothesis tries is the same in every run.
settings.register_profile("same", derandomize=True, deadline=None, max_examples=100, database=None)
settings.load_profile("same")


@pytest.fixture(scope="session")
def sources():
    return load_sources()


@pytest.fixture(scope="session")
def world():
    """The replay web as everybody opens it: a function that returns a new Web."""
    with open_world() as opener:
        yield opener


@pytest.fixture(scope="session")
def share(request, tmp_path_factory):
    """Return `share(name, make)`: what `make` returns, made once though several workers of pytest
    ask for it."""
    is_worker = hasattr(request.config, "workerinput")
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if is_worker else folder

    def get(name, make):
        path = folder / f"{name}.pickle"
        with open(folder / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                path.write_bytes(pickle.dumps(make()))
        return pickle.loads(path.read_bytes())

    return get


@pytest.fixture(scope="session")
def collected(share, world, sources):
    """Events and screenings of window A."""
    return share(
        "events", lambda: collect_events(sources, world(), "A", seed=1, keep_binary=KEEP_BINARY)
    )


@pytest.fixture(scope="session")
def acquired(share, world, collected):
    """Answers and acquisitions of all events of window A, from sites that behave."""
    return share("answers", lambda: acquire_answers(collected[0], world()))


@pytest.fixture
def out(tmp_path, monkeypatch):
    """The test's folder, where everything is written."""
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path))
    return tmp_path


@pytest.fixture
def provider():
    """A mock provider of models."""
    with run_server(server := Server()):
        yield server


@pytest.fixture(scope="session")
def warm(tmp_path_factory):
    """A job and a chat before any clock is watched: litellm imports parts of itself with the
    first."""
    with run_server(server := Server()), pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAYBEFORE_OUT", str(tmp_path_factory.mktemp("warm")))
        door = open_door("warm", live=True, connection={"api_base": server.address}, wait_s=0.05)
        ask_in_background(door, "openai/mock-1", "hello")
        ask(door, "openai/mock-1", [{"role": "user", "content": "hello"}])
        door.recordings.close()


@pytest.fixture
def knock(warm, provider, out):
    """A function that opens a door on the mock provider; everything is written under a folder of
    the test."""
    doors = []

    def open_mock(live=True, run_id="mock", **settings):
        settings = {"deadline_s": 20, "n_requests": 2, "wait_s": 0.05} | settings
        connection = {"api_base": provider.address, "api_key": KEY}
        doors.append(
            open_door(run_id, live=live, connection=connection, environment={}, **settings)
        )
        return doors[-1]

    yield open_mock
    for door in doors:
        door.recordings.close()


@pytest.fixture
def reach(knock):
    """A function that returns a Client of the mock provider."""

    def open_client(live=True, is_local=False, options=None, model="openai/mock-1", **settings):
        return Client(knock(live, **settings), model, is_local, options or {})

    return open_client
