"""Bring your own: a synthetic folder of ten agents on fifty questions goes through; each broken one is refused."""

import hashlib
import json
import shutil
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from daybefore.commands import score as own
from daybefore.commands.main import carry_out
from helpers.faults import Problems

LETTERS = "ABCDE"
FILES = ("events", "answers", "predictions")
DOMAINS = ("Finance", "Sports", "Weather", "Politics", "Culture")
CHOICES = {"yes/no": '{"A":"Yes","B":"No"}', "choice": json.dumps(dict(zip(LETTERS, LETTERS, strict=True)))}


def make_folder(path, seed=3, n_agents=10):
    """Write a synthetic folder: 17 yes/no questions with probabilities, 16 multiple choice, 17 numbers."""
    rng = np.random.default_rng(seed)
    events, answers, predictions = [], [], []
    for i, what in enumerate(["yes/no"] * 17 + ["choice"] * 16 + ["number"] * 17):
        event_id, is_number, options = f"q{i:02d}", what == "number", CHOICES.get(what, "")
        level = int(rng.integers(3, 5)) if is_number else 1 + (what == "choice")
        events.append((event_id, "number" if is_number else "single", options, level, DOMAINS[i % 5], "true"))
        n_options = 2 if what == "yes/no" else 5
        truth = round(float(rng.normal(100, 10)), 2) if is_number else LETTERS[rng.integers(n_options)]
        answers.append((event_id, truth, 10.0 if is_number else ""))
        for a in range(n_agents):
            right = rng.random() < 0.4 + 0.05 * a
            guess = round(truth + rng.normal(0, 12 - a), 2) if is_number else truth if right else "AB"[rng.integers(2)]
            chance = round(float(rng.uniform(0.5, 1)), 2) if what == "yes/no" else ""
            is_there = rng.random() > 0.03
            predictions.append((event_id, f"agent {a:02d}", guess if is_there else "", chance if is_there else ""))
    columns = ["event_id,kind,options,level,domain,is_synthetic", "event_id,value,spread"]
    columns += ["event_id,agent_id,value,probability"]
    path.mkdir(exist_ok=True)
    for name, head, rows in zip(FILES, columns, (events, answers, predictions), strict=True):
        pd.DataFrame(rows, columns=head.split(",")).to_csv(path / f"{name}.csv", index=False, lineterminator="\n")
    return path


def write_folder(path, *texts):
    path.mkdir()
    for name, text in zip(FILES, texts, strict=True):
        (path / f"{name}.csv").write_text(text, encoding="utf-8")
    return path


def change_cell(path, name, row, column, text):
    """Write a text into one cell; `row` as a spreadsheet counts."""
    table = pd.read_csv(path / f"{name}.csv", dtype=str, keep_default_na=False)
    table.loc[row - 2, column] = text
    table.to_csv(path / f"{name}.csv", index=False, lineterminator="\n")


def list_files(path):
    files = filter(lambda path: path.is_file(), sorted(path.rglob("*")))
    return {file.relative_to(path).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.fixture
def shown(monkeypatch):
    """The figures are not drawn."""
    monkeypatch.setattr(own, "save", lambda fig, name, table, **facts: plt.close(fig))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A drawn folder, and what was said."""
    path = make_folder(tmp_path_factory.mktemp("mine"))
    return path, own.draw_folder(path)[1]


def test_the_folder_goes_through_writes_under_itself_only_and_gives_the_same_bytes(drawn, tmp_path):
    path, notes = drawn
    assert {p.name for p in path.iterdir()} == {*(f"{name}.csv" for name in FILES), "figures", "tables", "index.html"}
    assert {p.stem for p in (path / "figures").glob("*.png")} == {"scores", "domains", "probabilities"}
    assert "10 agents on 50 scored events: tables/scores.csv" in "\n".join(notes)
    (tmp_path / path.name).mkdir()
    for name in FILES:
        shutil.copy(path / f"{name}.csv", tmp_path / path.name)
    own.draw_folder(tmp_path / path.name)
    assert list_files(path) == list_files(tmp_path / path.name)


def test_the_scores_are_those_of_the_files_and_a_probability_becomes_a_brier_error(drawn):
    path, _ = drawn
    scores, answers, told = (pd.read_csv(path / f"{name}.csv") for name in ("tables/scores", "answers", "predictions"))
    both = told.merge(answers, on="event_id").dropna(subset="value_x").merge(scores, on=["event_id", "agent_id"])
    choice, numbers, brier = (both[both["metric"] == name] for name in ("accuracy", "number", "brier"))
    assert len(choice) + len(numbers) > 450 and len(brier) > 150
    assert (choice["score"] == (choice["value_x"] == choice["value_y"])).all()
    expected = (1 - ((numbers["value_x"].astype(float) - numbers["value_y"].astype(float)) / 10) ** 2).clip(lower=0)
    assert np.allclose(numbers["score"], expected, atol=1e-6)
    hit = (brier["value_x"] == brier["value_y"]).astype(float)
    assert np.allclose(brier["score"], 2 * (brier["probability"] - hit) ** 2, atol=1e-6)
    missing = scores[scores["is_missing"] & (scores["metric"] != "brier")]
    assert len(missing) and (missing["score_imputed"].dropna() == 0).all()


BROKEN = {
    "unknown event in predictions": ("predictions", 12, "event_id", "q99", "'q99' is not in events.csv"),
    "probability above 1": ("predictions", 2, "probability", "1.4", "'1.4' is not a number from 0 to 1"),
    "value is no option": ("predictions", 4, "value", "Z", "'Z' is not an option; there are A, B"),
    "options that nest": ("predictions", 180, "value", "[" * 100_000, "is nested too deep"),
    "unknown kind": ("events", 5, "kind", "essay", "'essay' is none of single, multi, ranking, number"),
    "broken JSON in a value": ("predictions", 3, "value", '["A"', "no JSON"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_wrong_cell_is_refused_with_file_row_and_column(case, tmp_path):
    name, row, column, text, said = BROKEN[case]
    change_cell(make_folder(tmp_path / "mine"), name, row, column, text)
    before = list_files(tmp_path)
    with pytest.raises(SystemExit, match="\nNothing was written") as caught:
        carry_out(["score", str(tmp_path / "mine")])
    first = str(caught.value).splitlines()[0]
    assert first.startswith(f"daybefore score: {name}.csv, row {row}, column {column}: ") and said in first
    assert list_files(tmp_path) == before, "a refused folder must stay as it was"


def test_a_number_without_a_spread_says_which_column_to_fill(tmp_path, shown):
    events, predictions = "event_id,kind\ne1,number\ne2,text\n", "event_id,agent_id,value\ne1,a,9\ne2,a,x\n"
    path = write_folder(tmp_path / "some", events, "event_id,value\ne1,10\ne2,x\n", predictions)
    assert any("events not scored: 1, e1 the first: spread is blank" in note for note in own.draw_folder(path)[1])
    path = write_folder(tmp_path / "none", events, "event_id,value\ne1,10\ne2,\n", predictions)
    with pytest.raises(Problems, match="^answers.csv, row 2, column spread: no event can be scored: spread is blank"):
        own.draw_folder(path)


def test_intervals_are_by_the_source_that_the_folder_names(tmp_path, shown):
    path = make_folder(tmp_path / "mine", n_agents=2)
    events = pd.read_csv(path / "events.csv")
    for columns, by in (({}, "event (50)"), ({"source_id": 12}, "source (12)"), ({"cluster_id": 20}, "cluster (20)")):
        made = {name: [f"s{at % n}" for at in range(50)] for name, n in columns.items()}
        events.assign(**made).to_csv(path / "events.csv", index=False)
        assert f"95%, by {by}" in "\n".join(own.draw_folder(path)[1])


HOSTILE = ["a$b$", "$x^2$", "=1+1", "@sum", "\\frac", "two\nlines", "x" * 20_000, "x" * 20_001, "ünï {}", "-0.5"]


def test_names_are_drawn_as_they_stand_and_no_spreadsheet_runs_them(tmp_path):
    path = make_folder(tmp_path / "mine", n_agents=len(HOSTILE))  # drawn: here warnings and errors would come from it
    table = pd.read_csv(path / "predictions.csv", dtype=str, keep_default_na=False)
    table["agent_id"] = table["agent_id"].map({f"agent {at:02d}": name for at, name in enumerate(HOSTILE)})
    table.to_csv(path / "predictions.csv", index=False)
    change_cell(path, "events", 3, "domain", "=cmd|'/c calc'!A0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, notes, _ = own.draw_folder(path)
    assert "x" * 40 not in "\n".join(notes)
    for file in [*path.glob("tables/*.csv"), *path.glob("figures/*.csv")]:
        cells = pd.read_csv(file, dtype=str, keep_default_na=False).to_numpy().ravel()
        assert not [cell for cell in cells if cell[:1] in ("=", "@")], file.name
    agents = set(pd.read_csv(path / "tables/scores.csv", dtype=str)["agent_id"])
    assert agents == {f"'{name}" if name[0] in "=@" else name for name in HOSTILE}


def test_coverage_is_of_all_scored_events_and_uneven_answers_are_told(tmp_path, shown, capsys):
    names = [f"e{at}" for at in range(7)]
    events = "event_id,kind\n" + "".join(f"{name},text\n" for name in names)
    answers = "event_id,value\n" + "".join(f"{name},x\n" for name in names)
    rows = [f"{name},whole,x" for name in names] + [f"{name},part,x" for name in names[:4]]
    path = write_folder(tmp_path / "mine", events, answers, "event_id,agent_id,value\n" + "\n".join(rows) + "\n")
    carry_out(["score", str(path)])
    text = capsys.readouterr().out
    assert "(n = 4 of 7)" in text and "(n = 7)" in text
    assert "agents answered different events (4 to 7 of 7, 4 by all)" in text and "tables/pairs.csv has" in text
    assert pd.read_csv(path / "tables/pairs.csv")["n"].tolist() == [4]
    scores = pd.read_csv(path / "tables/scores.csv").query("agent_id == 'part' and metric == 'match'")
    assert scores["reason"].dropna().unique().tolist() == ["no row in predictions.csv"]
    (path / "predictions.csv").write_text("event_id,agent_id,value\n" + "\n".join(rows[:7]) + "\n")
    carry_out(["score", str(path)])
    assert "different events" not in capsys.readouterr().out


def make_sole(path, n=30):
    """Write a folder whose questions have three options and whose predictions state the probability of the answer."""
    rng = np.random.default_rng(2)
    texts = [["event_id,kind,options,level"], ["event_id,value"], ["event_id,agent_id,value,probability"]]
    for i in range(n):
        texts[0].append(f"e{i},single,A|B|C,2")
        texts[1].append(f"e{i},{'ABC'[i % 3]}")
        texts[2] += [f"e{i},{agent},{'ABC'[rng.integers(3)]},{rng.uniform(0.3, 0.9):.2f}" for agent in "xy"]
    return write_folder(path, *("\n".join(lines) + "\n" for lines in texts))


def test_the_probability_of_an_answer_alone_is_drawn_with_three_options(tmp_path):
    folder = make_sole(tmp_path / "mine")
    own.main(folder)
    drawn = pd.read_csv(folder / "figures/probabilities.csv").query("part == 'reliability'")
    assert drawn.groupby("agent_id")["n"].sum().tolist() == [30, 30]
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


def test_a_figure_that_fails_leaves_nothing_half_written(tmp_path, monkeypatch):
    folder = make_sole(tmp_path / "mine")
    monkeypatch.setattr(own, "write_index", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        own.main(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["answers.csv", "events.csv", "predictions.csv"]
