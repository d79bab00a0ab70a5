"""`make study`: what cannot be asked is refused, and another model's study leaves the kit's own
results as they are."""

import json
import sys
from pathlib import Path

import nbformat
import pytest
from builders import read_cases

PARAMETERS = 'n: int = 5\nagent: str = "qwen_zero_shot"\nlive: bool = False\nminutes: float = None\ntasks: str = ""'


@pytest.fixture
def study(monkeypatch, tmp_path):
    """The module .ci/study.py in a small kit, its notebook replaced by one that writes a recording
    and a figure."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / ".ci")
    sys.modules.pop("study", None)
    import study

    for name, code in {"26_own": PARAMETERS, "21_none": "n: int = 1"}.items():
        cell = nbformat.v4.new_code_cell(code, id="0", metadata={"tags": ["parameters"]})
        (tmp_path / "notebooks").mkdir(exist_ok=True)
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / f"notebooks/{name}.ipynb")

    def write(source, partial, settings, shows, DAYBEFORE_OUT):
        partial.write_text("as it ran")
        for path in ("data/runs/26_own/requests.jsonl.gz", "figures/own.png"):
            path = Path(DAYBEFORE_OUT, path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(settings))

    monkeypatch.setattr(study, "execute", write)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.chdir(tmp_path)
    return study


def run(study, monkeypatch, *arguments):
    """Call the command; returns the files that stand in the kit's own places."""
    monkeypatch.setattr(sys, "argv", ["study", *arguments])
    study.main()
    return [
        path
        for path in ("data/runs/26_own/requests.jsonl.gz", "figures/own.png")
        if Path(path).exists()
    ]


@pytest.mark.parametrize(
    "case", read_cases(__file__, "refused_studies"), ids=lambda case: case["told"][:40]
)
def test_a_study_that_would_ask_nothing_is_refused(study, monkeypatch, tmp_path, case):
    monkeypatch.setattr("daybefore.models.local_server.FOLDER", tmp_path)
    with pytest.raises(SystemExit, match=case["told"].replace("?", "[?]")):
        run(study, monkeypatch, *case["arguments"])
    assert not Path("data").exists() and not Path("figures").exists()


def test_another_models_study_leaves_the_kits_own_results(study, monkeypatch, capsys):
    assert (
        run(study, monkeypatch, "26_own", "-p", "agent", "openai/gpt-4o-mini", "-p", "n", "3") == []
    )
    own = Path("data/studies/26_own/openai-gpt-4o-mini")
    assert str(own) in capsys.readouterr().out
    settings = json.loads((own / "figures/own.png").read_text())
    assert settings == {"agent": "openai/gpt-4o-mini", "n": 3, "live": True, "minutes": 60}
    assert (own / "data/runs/26_own/requests.jsonl.gz").exists()
    assert (own / "26_own.ipynb").read_text() == "as it ran"


def test_a_readers_file_is_found_from_where_the_command_runs(study, monkeypatch, tmp_path):
    (tmp_path / "my.jsonl").write_text("{}")
    run(
        study, monkeypatch, "26_own", "-p", "agent", "openai/gpt-4o-mini", "-p", "tasks", "my.jsonl"
    )
    settings = json.loads(
        Path("data/studies/26_own/openai-gpt-4o-mini/figures/own.png").read_text()
    )
    assert settings["tasks"] == "../my.jsonl", "the notebook runs in notebooks/"
    with pytest.raises(SystemExit, match=r"tasks: there is no ../my.jsonl here"):
        run(
            study,
            monkeypatch,
            "26_own",
            "-p",
            "agent",
            "openai/gpt-4o-mini",
            "-p",
            "tasks",
            "../my.jsonl",
        )


def test_other_settings_keep_what_is_recorded_and_leave_the_figures(study, monkeypatch, capsys):
    monkeypatch.setattr(study, "check_entry", lambda entry: None)
    assert run(study, monkeypatch, "26_own", "-p", "n", "3") == [
        "data/runs/26_own/requests.jsonl.gz"
    ]
    assert (
        "with n as set here, tables and figures go to .make/study.out/26_own"
        in capsys.readouterr().out
    )
    assert len(run(study, monkeypatch, "26_own", "-p", "minutes", "2")) == 2
    assert capsys.readouterr().out == ""
