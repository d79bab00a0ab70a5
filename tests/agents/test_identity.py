"""Which code a run's identity depends on: the digest of its agent's import closure, on a copy of the sources."""

import linecache
import shutil
from functools import partial

import pandas as pd
import pytest

from helpers import prompts
from helpers.agents import identity
from helpers.agents.identity import PARSER, SOURCE, hash_agent, hash_modules, hash_parser
from helpers.agents.prompted import forecast
from helpers.agents.registry import PROMPTED, connect_agent, load_agents
from helpers.agents.runs import describe_run
from helpers.store import list_columns

ENTRY = {"category": "base_model", "framework": "prompt", "model": "local/qwen"}
METHODS = set(PROMPTED)
SEARCHING = METHODS - {"zero_shot", "research", "deep_research"}
EVENTS = pd.DataFrame([dict.fromkeys(list_columns("events"), "x")])


@pytest.fixture
def source(tmp_path):
    """A copy of the sources to change."""
    shutil.copytree(SOURCE / "helpers", tmp_path / "helpers", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def hash_all(source):
    """Return the digest of every method's agents, and "baselines", which share one."""
    digests = {method: hash_agent(partial(forecast, answer, None), source) for method, (answer, _) in PROMPTED.items()}
    (digests["baselines"],) = {hash_agent(agent["forecast"], source) for agent in load_agents().values()}
    return digests


@pytest.mark.parametrize(
    ("file", "renamed"),
    [
        ("models/grammars.py", METHODS),
        ("replies/quantities.py", METHODS),
        ("agents/prompted.py", METHODS),
        ("agents/research.py", {"research"}),
        ("agents/deep_research.py", {"deep_research"}),
        ("agents/searching.py", SEARCHING),
        ("agents/tools.py", SEARCHING | {"research"}),
        ("agents/forecasters.py", {"baselines"}),
        ("events/targets.py", {"baselines"}),
        ("web/search.py", METHODS | {"baselines"}),
        ("web/render.py", METHODS | {"baselines"}),
        ("liveagentbench/tasks.py", set()),
        ("futurex/levels.py", set()),
        ("scoring/scores.py", set()),
        ("agents/registry.py", set()),
        ("agents/arms.py", set()),
        ("agents/runs.py", set()),
        ("agents/ledger.py", set()),
        ("agents/workers.py", set()),
    ],
)
def test_a_comment_renames_the_agents_that_import_the_module_and_no_others(source, file, renamed):
    before, parser = hash_all(source), hash_modules(PARSER, source)
    assert before == hash_all(SOURCE) and parser == hash_parser()
    with (source / "helpers" / file).open("a", encoding="utf-8") as out:
        out.write("# a comment\n")
    after = hash_all(source)
    assert {name for name in before if after[name] != before[name]} == renamed
    assert (hash_modules(PARSER, source) != parser) == file.startswith("replies/")


def test_a_changed_constant_of_a_paper_renames_the_agents_that_read_it(monkeypatch):
    before, real = hash_all(SOURCE), identity.get_constant
    changed = {("futurex", "volatility_values"): 9, ("futurex", "level_weights"): (1, 0, 0, 0)}
    monkeypatch.setattr(identity, "get_constant", lambda *read: changed.get(read) or real(*read))
    renamed = {name for name, digest in hash_all(SOURCE).items() if digest != before[name]}
    changed.pop(("futurex", "volatility_values"))
    assert "baselines" in renamed and hash_all(SOURCE) == before


def test_an_import_inside_a_function_counts(source):
    file = source / "helpers/agents/deep_research.py"
    with file.open("a", encoding="utf-8") as out:
        out.write("\n\ndef look():\n    from helpers.scoring import scores\n\n    return scores\n")
    before = hash_all(source)
    with (source / "helpers/scoring/scores.py").open("a", encoding="utf-8") as out:
        out.write("# a comment\n")
    assert {name for name, digest in hash_all(source).items() if digest != before[name]} == {"deep_research"}


def test_a_prompt_renames_the_runs_that_use_it(tmp_path, monkeypatch):
    def identify():
        prompts.read_prompt.cache_clear()
        agents = {method: connect_agent(ENTRY | {"method": method}, None) for method in PROMPTED}
        options = {"window": "T", "deadline_s": 1}
        return {name: describe_run(name, agent, EVENTS, **options)["run_id"] for name, agent in agents.items()}

    before = identify()
    shutil.copytree(prompts.FOLDER, tmp_path / "prompts")
    monkeypatch.setattr(prompts, "FOLDER", tmp_path / "prompts")
    assert identify() == before
    with (tmp_path / "prompts/research_manager.md").open("a", encoding="utf-8") as out:
        out.write("Think.\n")
    assert {name for name, run_id in identify().items() if run_id != before[name]} == {"research"}
    prompts.read_prompt.cache_clear()


def test_a_readers_own_agent_counts_with_its_file_and_what_it_imports(source, tmp_path):
    text = "from helpers.scoring import scores\n\n\ndef guess(event, world):\n    return scores, 1\n"

    def identify(text, name="cell"):
        """As a notebook keeps a cell's source: in linecache, under a name that is no file."""
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
        space = {"__name__": "__main__"}
        exec(compile(text, name, "exec"), space)
        return hash_agent(space["guess"], source)

    first = identify(text)
    assert identify(text, "another cell") == first
    assert identify(text.replace("1", "2")) != first
    with (source / "helpers/scoring/scores.py").open("a", encoding="utf-8") as out:
        out.write("# a comment\n")
    assert identify(text) != first


def test_nothing_is_left_out_that_is_passed_to_an_agent():
    for name in identity.WORLD + PARSER:
        assert identity.find_file(name), f"{name} has moved"
