"""What tests of the live commands share: a mock model that is the reader's own agent."""

import pytest
from mock_provider import Server
from serving import run_server
from weeks import write_agents

from daybefore.agents import registry
from daybefore.models.transport import load_litellm


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A mock model, the reader's agent `my_model`; the test's folder is that of all that is read
    and written."""
    load_litellm()
    with run_server(server := Server()):
        write_agents(tmp_path, server.address)
        monkeypatch.setattr(registry, "OWN", tmp_path / "agents.toml")
        monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "out"))
        monkeypatch.chdir(tmp_path)
        yield server
