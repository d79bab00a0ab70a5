"""Bring your own: a synthetic folder of three files becomes a set that is scored; each broken one
is refused."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from daybefore.commands import own_figures
from daybefore.commands.main import carry_out
from daybefore.formats.folder_of_csv import read_folder
from daybefore.scoring.run_scores import load_scores
from helpers.means import find_clusters
from helpers.sets import load_set

FILES = ("events", "answers", "predictions")


def write_folder(path, *texts):
    path.mkdir(parents=True)
    for name, text in zip(FILES, texts, strict=True):
        (path / f"{name}.csv").write_text(text, encoding="utf-8")
    return path


def make_folder(path, n_agents=3):
    """Write a synthetic folder: 50 yes/no questions, with agents' answers and probabilities."""
    rng = np.random.default_rng(3)
    events = pd.DataFrame({"event_id": [f"q{at:02d}" for at in range(50)], "kind": "single"})
    events = events.assign(options='{"A":"Yes","B":"No"}', level=1)
    answers = events[["event_id"]].assign(value=rng.choice(["A", "B"], 50))
    parts = []
    for a in range(n_agents):
        said = {"value": rng.choice(["A", "B"], 50), "probability": rng.uniform(0.5, 1, 50)}
        part = events[["event_id"]].assign(agent_id=f"agent {a:02d}", **said).round(2)
        part.loc[rng.random(50) < 0.1, ["value", "probability"]] = None
        parts.append(part)
    return write_folder(path, *(t.to_csv(index=False) for t in (events, answers, pd.concat(parts))))


def list_files(path):
    return {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.fixture
def out(tmp_path, monkeypatch):
    """A folder that everything is written below."""
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "out"))
    monkeypatch.setenv("DAYBEFORE_SETS", "")
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def add(path):
    """Add a folder; return the set's folder."""
    return carry_out(["add", str(path)])["folder"]


def test_a_set_whose_name_was_given_with_an_underscore_is_found_and_viewed(out):
    add(make_folder(out / "my_folder", n_agents=2))
    assert len(carry_out(["view", "--set", "my_folder"])["runs"]) == 2


def test_a_probability_of_yes_or_no_becomes_a_brier_error_and_a_probability_of_yes(out):
    path = make_folder(out / "mine")
    answers, told = (pd.read_csv(path / f"{name}.csv") for name in ("answers", "predictions"))
    brier = load_scores(add(path)).scores.query("metric == 'brier'")
    both = told.dropna().merge(answers, on="event_id").merge(brier, on=["event_id", "agent_id"])
    gap = both["probability"] - (both["value_x"] == both["value_y"])
    assert np.allclose(both["score"], 2 * gap**2, atol=1e-6) and 100 < len(both) < 150
    rows = load_set(out / ".cache/sets/mine").rows()["brier"].dropna()
    assert len(rows) == len(both) and rows.mean() == pytest.approx((gap**2).mean())


@pytest.mark.parametrize(("name", "row", "column", "text", "said"), [
    ("predictions", 12, "event_id", "q99", "'q99' is not in events.csv"),
    ("predictions", 2, "probability", "1.4", "'1.4' is not a number from 0 to 1"),
    ("predictions", 4, "value", "Z", "'Z' is not an option; there are A, B"),
    ("predictions", 5, "value", "[" * 100_000, "is nested too deep"),
    ("events", 5, "kind", "essay", "'essay' is none of single, multi, ranking, number"),
    ("predictions", 3, "value", '["A"', "no JSON"),
])  # fmt: skip
def test_a_wrong_cell_is_refused_with_file_row_and_column(name, row, column, text, said, out):
    path = make_folder(out / "mine") / f"{name}.csv"
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table.loc[row - 2, column] = text  # as a spreadsheet counts
    table.to_csv(path, index=False)
    before = list_files(out)
    with pytest.raises(SystemExit, match="\nNothing was written") as caught:
        add(out / "mine")
    first = str(caught.value).splitlines()[0]
    place = f"daybefore add: {name}.csv, row {row}, column {column}: "
    assert first.startswith(place) and said in first
    assert list_files(out) == before, "a refused folder must stay as it was"


@pytest.mark.parametrize("kind", ["number", "percent"])
def test_the_three_files_keep_the_quantiles_of_a_number(kind, tmp_path):
    events, answers = f"event_id,kind\ne1,{kind}\n", "event_id,value,spread\ne1,12,2\n"
    predictions = 'event_id,agent_id,value,distribution\ne1,a,12.5,"{""0.1"": 9, ""0.9"": 15.5}"\n'
    read = read_folder(write_folder(tmp_path / "mine", events, answers, predictions))[2]
    assert read["value"].tolist() == ["12.5"]
    assert json.loads(read["distribution"][0]) == {"0.1": 9.0, "0.9": 15.5}


def test_a_number_without_a_spread_says_which_column_to_fill(out, capsys):
    events, predictions = "e1,number\ne2,text\n", "event_id,agent_id,value\ne1,a,9\ne2,a,x\n"
    answers = "event_id,value\ne1,10\ne2,x\n"
    add(write_folder(out / "some", f"event_id,kind\n{events}", answers, predictions))
    assert "1 number without a spread in answers.csv" in capsys.readouterr().out


@pytest.mark.parametrize(("column", "n"), [(None, 50), ("source_id", 12), ("cluster_id", 20)])
def test_intervals_are_by_the_source_that_the_folder_names(column, n, out):
    path = make_folder(out / "mine", n_agents=2)
    events = pd.read_csv(path / "events.csv")
    if column:
        events[column] = [f"s{at % n}" for at in range(50)]
    events.to_csv(path / "events.csv", index=False)
    assert load_set(add(path)).events["cluster_id"].nunique() == n
    assert find_clusters(load_scores("mine").events)[0].nunique() == n


def test_coverage_is_of_all_events_where_an_agent_has_no_row(out, capsys):
    events = pd.DataFrame({"event_id": [f"e{at}" for at in range(7)], "kind": "text", "value": "x"})
    whole = events[["event_id", "value"]].assign(agent_id="whole")
    predictions = pd.concat([whole, whole.head(4).assign(agent_id="part")])
    tables = events[["event_id", "kind"]], events[["event_id", "value"]], predictions
    add(write_folder(out / "mine", *(table.to_csv(index=False) for table in tables)))
    assert "part answered 4 of 7" in capsys.readouterr().out
    carry_out(["compare", "whole", "part", "--set", "mine"])
    text = capsys.readouterr().out
    assert "(n = 4 of 7)" in text and "(n = 7)" in text
    predictions = load_scores("mine").predictions.query("agent_id == 'part'")
    assert predictions["reason"].dropna().unique().tolist() == ["no row in predictions.csv"]


HOSTILE = ["a$b$", "$x^2$", "=1+1", "@sum", "\\frac", "two\nlines", "ünï {}", "-0.5"]
HOSTILE += ["x" * 20_000, "x" * 20_001]


def test_names_are_drawn_as_they_stand_and_no_spreadsheet_runs_them(out, monkeypatch):
    monkeypatch.setattr(own_figures, "list_notebooks", lambda one: {})
    path = make_folder(out / "mine", n_agents=len(HOSTILE)) / "predictions.csv"
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    names = {f"agent {at:02d}": name for at, name in enumerate(HOSTILE)}
    table.assign(agent_id=table["agent_id"].map(names)).to_csv(path, index=False)
    add(out / "mine")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folder = own_figures.main(question_set="mine")["sets"]["mine"]["folder"]
    files = [*Path(folder).rglob("*.csv")]
    assert {file.name for file in files} >= {"probabilities.csv", "leaderboard.csv"}
    for file in files:
        table = pd.read_csv(file, dtype=str, keep_default_na=False)
        assert not [cell for cell in table.to_numpy().ravel() if cell[:1] in ("=", "@")], file.name
        names = {f"'{name}" if name[0] in "=@" else name for name in HOSTILE}
        assert set(table["agent_id"]) == names


def test_the_probability_of_an_answer_alone_is_drawn_with_three_options(out, monkeypatch):
    monkeypatch.setattr(own_figures, "list_notebooks", lambda one: {})
    events = pd.DataFrame({"event_id": [f"e{at}" for at in range(30)], "value": list("ABC") * 10})
    both = pd.concat([events.assign(agent_id=agent, probability=0.6) for agent in "xy"])
    kinds = events[["event_id"]].assign(kind="single", options="A|B|C", level=2)
    path = write_folder(
        out / "mine", *(table.to_csv(index=False) for table in (kinds, events, both))
    )
    add(path)
    folder = own_figures.main(question_set="mine")["sets"]["mine"]["folder"]
    drawn = pd.read_csv(f"{folder}/figures/probabilities.csv").query("part == 'reliability'")
    assert drawn.groupby("agent_id")["n"].sum().tolist() == [30, 30]
    before = list_files(out / "results")
    own_figures.main(question_set="mine")
    assert list_files(out / "results") == before, "the same bytes"
