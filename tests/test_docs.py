"""The snippets of README and docs/, run as a reader would: in a checkout of their own, against a
mock provider."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from test_make import run_make

from daybefore.commands.main import daybefore

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def list_snippets(path, language):
    return re.findall(
        rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


def list_commands(path):
    lines = [line for text in list_snippets(path, "sh") for line in text.splitlines()]
    return [words for line in lines if (words := shlex.split(line, comments=True))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_command_is_one_that_make_or_python_has(path, out, tmp_path, monkeypatch):
    (tmp_path / "my_questions.csv").write_text("question,outcome\nDoes it rain?,Yes\n")
    monkeypatch.chdir(tmp_path)
    for words in list_commands(path):
        if words[0] == "make" and words[1] not in ("figures", "test", "lab"):
            status, printed, told = run_make(ROOT, "-n", *words[1:], f"VENV={sys.prefix}")
            assert status == 0, (words, told)
            for line in re.findall(r"daybefore (.+)", printed.replace("\\\n", " ")):
                name, *arguments = shlex.split(line)
                daybefore.commands[name].make_context(name, arguments)


def test_every_notebook_that_is_named_to_make_is_there():
    places = [
        *PAGES,
        *sorted((ROOT / "notebooks").glob("*.ipynb")),
        *sorted((ROOT / "src").rglob("*.py")),
    ]
    named = {
        (path.name, name)
        for path in places
        for name in re.findall(r"NOTEBOOK=([0-9]\w+)", path.read_text(encoding="utf-8"))
    }
    lost = sorted(pair for pair in named if not (ROOT / "notebooks" / f"{pair[1]}.ipynb").is_file())
    assert named and not lost


def test_every_link_leads_to_a_file():
    for path in PAGES:
        for target in re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8")):
            assert "://" in target or (path.parent / target).exists(), (path.name, target)


def test_a_model_and_a_function_of_ones_own_are_asked_as_the_pages_say(
    provider, out, monkeypatch, capsys
):
    (model,), page = list_snippets(ROOT / "docs/own-model.md", "toml"), ROOT / "docs/own-agent.md"
    model = model.replace(tomllib.loads(model)["my_model"]["api_base"], provider.address)
    (out / "my_module.py").write_text(list_snippets(page, "python")[0])
    (out / "own.toml").write_text(f"{model}\n{list_snippets(page, 'toml')[0]}")
    monkeypatch.setattr("daybefore.agents.registry.OWN", out / "own.toml")
    monkeypatch.syspath_prepend(out)
    asked = ["--agent", "my_model", "--agent", "half_way", "--limit", "4"]
    daybefore.main(["run", *asked], standalone_mode=False)
    told = capsys.readouterr().out
    assert "my_model" in told and "half_way" in told and provider.asked


def test_three_files_of_ones_own_are_scored_as_the_page_says(tmp_path, monkeypatch):
    page = ROOT / "docs/own-results.md"
    files, _ = re.search(
        r"```\n(events.csv.*?)```(.*)", page.read_text(encoding="utf-8"), re.DOTALL
    ).groups()
    names, *lines = files.splitlines()
    starts = [names.index(f"{name}.csv") for name in ("events", "answers", "predictions")]
    folder = tmp_path / "my_folder"
    folder.mkdir()
    for name, start, end in zip(
        ("events", "answers", "predictions"), starts, [*starts[1:], None], strict=True
    ):
        (folder / f"{name}.csv").write_text(
            "".join(f"{line[start:end].strip()}\n" for line in lines)
        )
    monkeypatch.chdir(tmp_path)
    world = {}
    exec(list_snippets(page, "python")[0].split("compare(scores")[0], world)
    assert isinstance(world["scores"], pd.DataFrame) and len(world["scores"])


def test_a_source_of_ones_own_is_tried_as_the_page_says(tmp_path):
    (toml,) = list_snippets(ROOT / "docs/sources.md", "toml")
    days = pd.date_range("2016-09-20", "2016-11-05")
    rows = "".join(f"{day:%Y-%m-%d},Boston,{50 + day.day % 9}\n" for day in days)
    for room in ("sources", "replay"):
        shutil.copytree(ROOT / "data" / room, tmp_path / "data" / room)
    for path in (ROOT / "data").iterdir():
        if path.name not in ("sources", "replay"):
            (tmp_path / "data" / path.name).symlink_to(path)
    (tmp_path / "src").symlink_to(ROOT / "src")
    (tmp_path / "data/sources/ferries.toml").write_text(toml)
    (tmp_path / "data/replay/ferries.csv").write_text("occurred_at,entity,trips\n" + rows)
    environment = os.environ | {
        "DAYBEFORE_ROOT": str(tmp_path),
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tools'}",
    }
    command = [sys.executable, "-m", "try_source", "ferries"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "ferries" in done.stdout, done.stderr
