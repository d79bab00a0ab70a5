"""Bring your own: a synthetic folder of three files becomes a set that is scored; each broken one
is refused."""

import hashlib
import json
import warnings

import numpy as np
import pandas as pd
import pytest

from daybefore.commands import figures, leaderboard
from daybefore.commands.main import carry_out
from daybefore.commands.probabilities import draw_probabilities
from daybefore.formats.folder import read_folder
from daybefore.scoring.calibration import list_chances
from daybefore.scoring.runs import load_scores
from helpers.files import write_under
from helpers.means import find_clusters
from helpers.sets import load_set

LETTERS = "ABCDE"
FILES = ("events", "answers", "predictions")
DOMAINS = ("Finance", "Sports", "Weather", "Politics", "Culture")
CHOICES = {
    "yes/no": '{"A":"Yes","B":"No"}',
    "choice": json.dumps(dict(zip(LETTERS, LETTERS, strict=True))),
}


def make_folder(path, seed=3, n_agents=10):
    """Write a synthetic folder: 17 yes/no questions with probabilities, 16 multiple choice, 17
    numbers."""
    rng = np.random.default_rng(seed)
    events, answers, predictions = [], [], []
    for i, what in enumerate(["yes/no"] * 17 + ["choice"] * 16 + ["number"] * 17):
        event_id, is_number, options = f"q{i:02d}", what == "number", CHOICES.get(what, "")
        level = int(rng.integers(3, 5)) if is_number else 1 + (what == "choice")
        events.append(
            (event_id, "number" if is_number else "single", options, level, DOMAINS[i % 5], "true")
        )
        n_options = 2 if what == "yes/no" else 5
        truth = (
            round(float(rng.normal(100, 10)), 2) if is_number else LETTERS[rng.integers(n_options)]
        )
        answers.append((event_id, truth, 10.0 if is_number else ""))
        for a in range(n_agents):
            right = rng.random() < 0.4 + 0.05 * a
            guess = (
                round(truth + rng.normal(0, 12 - a), 2)
                if is_number
                else truth
                if right
                else "AB"[rng.integers(2)]
            )
            chance = round(float(rng.uniform(0.5, 1)), 2) if what == "yes/no" else ""
            is_there = rng.random() > 0.03
            predictions.append(
                (event_id, f"agent {a:02d}", guess if is_there else "", chance if is_there else "")
            )
    columns = ["event_id,kind,options,level,domain,is_synthetic", "event_id,value,spread"]
    columns += ["event_id,agent_id,value,probability"]
    path.mkdir(exist_ok=True)
    for name, head, rows in zip(FILES, columns, (events, answers, predictions), strict=True):
        pd.DataFrame(rows, columns=head.split(",")).to_csv(
            path / f"{name}.csv", index=False, lineterminator="\n"
        )
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
    return {
        file.relative_to(path).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
    }


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


def test_the_scores_are_those_of_the_files_and_a_probability_becomes_a_brier_error(out):
    path = make_folder(out / "mine")
    answers, told = (pd.read_csv(path / f"{name}.csv") for name in ("answers", "predictions"))
    scores = load_scores(add(path)).scores
    both = (
        told.merge(answers, on="event_id")
        .dropna(subset="value_x")
        .merge(scores, on=["event_id", "agent_id"])
    )
    choice, numbers, brier = (
        both[both["metric"] == name] for name in ("accuracy", "number", "brier")
    )
    assert len(choice) + len(numbers) > 450 and len(brier) > 150
    assert (choice["score"] == (choice["value_x"] == choice["value_y"])).all()
    expected = (
        1 - ((numbers["value_x"].astype(float) - numbers["value_y"].astype(float)) / 10) ** 2
    ).clip(lower=0)
    assert np.allclose(numbers["score"], expected, atol=1e-6)
    hit = (brier["value_x"] == brier["value_y"]).astype(float)
    assert np.allclose(brier["score"], 2 * (brier["probability"] - hit) ** 2, atol=1e-6)
    missing = scores[scores["is_missing"] & (scores["metric"] != "brier")]
    assert len(missing) and (missing["score_imputed"].dropna() == 0).all()
    rows = load_set(out / ".cache/sets/mine").rows()
    assert rows["brier"].notna().sum() == len(brier) and rows["brier"].mean() == pytest.approx(
        brier["score"].mean() / 2
    )


BROKEN = {
    "unknown event in predictions": (
        "predictions",
        12,
        "event_id",
        "q99",
        "'q99' is not in events.csv",
    ),
    "probability above 1": (
        "predictions",
        2,
        "probability",
        "1.4",
        "'1.4' is not a number from 0 to 1",
    ),
    "value is no option": ("predictions", 4, "value", "Z", "'Z' is not an option; there are A, B"),
    "options that nest": ("predictions", 180, "value", "[" * 100_000, "is nested too deep"),
    "unknown kind": (
        "events",
        5,
        "kind",
        "essay",
        "'essay' is none of single, multi, ranking, number",
    ),
    "broken JSON in a value": ("predictions", 3, "value", '["A"', "no JSON"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_wrong_cell_is_refused_with_file_row_and_column(case, out):
    name, row, column, text, said = BROKEN[case]
    change_cell(make_folder(out / "mine"), name, row, column, text)
    before = list_files(out)
    with pytest.raises(SystemExit, match="\nNothing was written") as caught:
        carry_out(["add", str(out / "mine")])
    first = str(caught.value).splitlines()[0]
    assert (
        first.startswith(f"daybefore add: {name}.csv, row {row}, column {column}: ")
        and said in first
    )
    assert list_files(out) == before, "a refused folder must stay as it was"


@pytest.mark.parametrize("kind", ["number", "percent"])
def test_the_three_files_keep_the_quantiles_of_a_number(kind, tmp_path):
    predictions = 'event_id,agent_id,value,distribution\ne1,a,12.5,"{""0.1"": 9, ""0.9"": 15.5}"\n'
    path = write_folder(
        tmp_path / "mine",
        f"event_id,kind\ne1,{kind}\n",
        "event_id,value,spread\ne1,12,2\n",
        predictions,
    )
    read = read_folder(path)[2]
    assert read["value"].tolist() == ["12.5"] and json.loads(read["distribution"][0]) == {
        "0.1": 9.0,
        "0.9": 15.5,
    }


def test_a_number_without_a_spread_says_which_column_to_fill(out, capsys):
    events, predictions = (
        "event_id,kind\ne1,number\ne2,text\n",
        "event_id,agent_id,value\ne1,a,9\ne2,a,x\n",
    )
    add(write_folder(out / "some", events, "event_id,value\ne1,10\ne2,x\n", predictions))
    assert (
        "1 number without a spread in answers.csv, and so without a score"
        in capsys.readouterr().out
    )


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
    names = [f"e{at}" for at in range(7)]
    events = "event_id,kind\n" + "".join(f"{name},text\n" for name in names)
    answers = "event_id,value\n" + "".join(f"{name},x\n" for name in names)
    rows = [f"{name},whole,x" for name in names] + [f"{name},part,x" for name in names[:4]]
    add(
        write_folder(
            out / "mine", events, answers, "event_id,agent_id,value\n" + "\n".join(rows) + "\n"
        )
    )
    assert "part answered 4 of 7" in capsys.readouterr().out
    carry_out(["compare", "whole", "part", "--set", "mine"])
    text = capsys.readouterr().out
    assert "(n = 4 of 7)" in text and "(n = 7)" in text
    predictions = load_scores("mine").predictions.query("agent_id == 'part'")
    assert predictions["reason"].dropna().unique().tolist() == ["no row in predictions.csv"]


HOSTILE = [
    "a$b$",
    "$x^2$",
    "=1+1",
    "@sum",
    "\\frac",
    "two\nlines",
    "x" * 20_000,
    "x" * 20_001,
    "ünï {}",
    "-0.5",
]


def draw(scored, answers, folder):
    """Draw the probabilities of some scores into a folder."""
    means = leaderboard.tabulate_scores(scored.scores, scored.events)
    clusters, by = find_clusters(scored.events)
    about = {"source": "mine", "window": "A", "status": "as given", "widths": f"95%, by {by}"}
    with write_under(folder):
        draw_probabilities(
            means, list_chances(scored.events, answers, scored.predictions), clusters, **about
        )


def test_names_are_drawn_as_they_stand_and_no_spreadsheet_runs_them(out):
    path = make_folder(
        out / "mine", n_agents=len(HOSTILE)
    )  # drawn: here warnings and errors would come from it
    table = pd.read_csv(path / "predictions.csv", dtype=str, keep_default_na=False)
    table["agent_id"] = table["agent_id"].map(
        {f"agent {at:02d}": name for at, name in enumerate(HOSTILE)}
    )
    table.to_csv(path / "predictions.csv", index=False)
    folder = add(path)
    scored = load_scores(folder)
    (out / "drawn").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw(scored, load_set(folder).answers, out / "drawn")
        leaderboard.write_board(out / "drawn", scored.scores, scored.events, [])
    files = [*out.glob("drawn/**/*.csv")]
    assert {file.name for file in files} == {"probabilities.csv", "leaderboard.csv"}
    for file in files:
        table = pd.read_csv(file, dtype=str, keep_default_na=False)
        assert not [cell for cell in table.to_numpy().ravel() if cell[:1] in ("=", "@")], file.name
    assert set(table["agent_id"]) == {f"'{name}" if name[0] in "=@" else name for name in HOSTILE}


def make_sole(path, n=30):
    """Write a folder whose questions have three options and whose predictions state the probability
    of the answer."""
    rng = np.random.default_rng(2)
    texts = [
        ["event_id,kind,options,level"],
        ["event_id,value"],
        ["event_id,agent_id,value,probability"],
    ]
    for i in range(n):
        texts[0].append(f"e{i},single,A|B|C,2")
        texts[1].append(f"e{i},{'ABC'[i % 3]}")
        texts[2] += [
            f"e{i},{agent},{'ABC'[rng.integers(3)]},{rng.uniform(0.3, 0.9):.2f}" for agent in "xy"
        ]
    return write_folder(path, *("\n".join(lines) + "\n" for lines in texts))


def test_the_probability_of_an_answer_alone_is_drawn_with_three_options_and_the_same_bytes(
    out, monkeypatch
):
    monkeypatch.setattr(figures, "list_notebooks", lambda one: {})
    add(make_sole(out / "mine"))
    folder = figures.main(question_set="mine")["sets"]["mine"]["folder"]
    drawn = pd.read_csv(f"{folder}/figures/probabilities.csv").query("part == 'reliability'")
    assert drawn.groupby("agent_id")["n"].sum().tolist() == [30, 30]
    before = list_files(out / "results")
    figures.main(question_set="mine")
    assert list_files(out / "results") == before
