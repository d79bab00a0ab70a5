"""What a run is named by: settings, prompts, questions and a version a method; a change elsewhere renames nothing."""

import shutil

import pandas as pd

from helpers import prompts
from helpers.agents import runs
from helpers.agents.registry import PROMPTED, connect_agent, load_agents
from helpers.agents.runs import describe_run
from helpers.tables import list_columns

ENTRY = {"category": "base_model", "framework": "prompt", "model": "local/qwen"}
EVENTS = pd.DataFrame([dict.fromkeys(list_columns("events"), "x")])


def name_all():
    """Return the run's id of every method's agent."""
    agents = load_agents() | {method: connect_agent(ENTRY | {"method": method}, None) for method in PROMPTED}
    return {
        name: describe_run(name, agent, EVENTS, window="T", deadline_s=1)["run_id"] for name, agent in agents.items()
    }


def test_a_change_of_a_methods_version_renames_that_methods_runs_alone(monkeypatch):
    before = name_all()
    monkeypatch.setitem(runs.METHOD_VERSIONS, "react", 2)
    assert {name for name, run_id in name_all().items() if run_id != before[name]} == {"react"}


def test_a_prompt_renames_the_runs_that_use_it(tmp_path, monkeypatch):
    before = name_all()
    shutil.copytree(prompts.FOLDER, tmp_path / "prompts")
    monkeypatch.setattr(prompts, "FOLDER", tmp_path / "prompts")
    with (tmp_path / "prompts/research_manager.md").open("a", encoding="utf-8") as out:
        out.write("Think.\n")
    prompts.read_prompt.cache_clear()
    assert {name for name, run_id in name_all().items() if run_id != before[name]} == {"research"}
    prompts.read_prompt.cache_clear()
