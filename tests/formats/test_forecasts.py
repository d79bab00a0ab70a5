"""Other agents' answers from a reader's own files: what is understood, and what each wrong file
gets."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import read_cases
from hypothesis import given, settings
from hypothesis import strategies as st

from daybefore.commands import add, figures
from daybefore.commands.main import carry_out
from daybefore.formats.forecasts import read_forecasts
from helpers.faults import Problems
from helpers.places import add_room, list_folders
from helpers.question_sets import find_set
from helpers.sets import load_set, take_usual

WIDE = "Question ID,question,resolution,first bot,second bot\n"
WIDE += "".join(f"q{n},Will it?,{['no', 'yes'][n % 2]},0.{n}1,0.{9 - n}2\n" for n in range(8))


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def read(tmp_path, text, name="mine.csv", **how):
    return read_forecasts([write(tmp_path / name, text)], **how)


def refuse(tmp_path, text, **how):
    with pytest.raises(Problems) as problems:
        read(tmp_path, text, **how)
    return str(problems.value)


RESULTS = st.lists(
    st.tuples(st.integers(2, 98), st.integers(2, 98), st.booleans()), min_size=8, max_size=12
)


def write_results(form, results):
    """Return a file's text of two agents' percentages and the outcomes."""
    table = pd.DataFrame(results, columns=["a", "b", "outcome"]).astype(int)
    table.insert(0, "id", [f"q{n}" for n in range(len(table))])
    if form != "percent":
        table[["a", "b"]] = table[["a", "b"]] / 100
    if form == "wide":
        return table.to_csv(index=False)
    rows = table.melt(["id", "outcome"], var_name="agent", value_name="probability")
    if form == "percent":
        rows["probability"] = rows["probability"].map("{}%".format)
    return (
        rows.to_json(orient="records", lines=True) if form == "jsonl" else rows.to_csv(index=False)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@given(st.sampled_from(["wide", "long", "percent", "jsonl"]), RESULTS)
@settings(max_examples=6)
def test_forecasts_come_back_from_each_form_of_a_file(folder, form, results):
    name = "mine.jsonl" if form == "jsonl" else "mine.csv"
    tables, notes = read(folder, write_results(form, results), name, keeps_halves=True)
    found = tables["predictions"].merge(tables["runs"], on="run_id")
    found = found.pivot(index="event_id", columns="agent_id", values="p_yes")
    ids = [f"q{n}" for n in range(len(results))]
    assert found.loc[ids].to_numpy() == pytest.approx(
        np.array([both for *both, _ in results]) / 100
    )
    assert tables["answers"].set_index("event_id")["outcome"][ids].tolist() == [
        yes for *_, yes in results
    ]
    assert any(
        f"{len(results)} questions (0 without an outcome yet), 2 agents: a, b" in note
        for note in notes
    )


@given(RESULTS, st.integers(0, 7), st.sampled_from(["1.3", "-0.2", "often", "nan"]))
@settings(max_examples=6)
def test_a_broken_cell_is_named_by_row_and_column(folder, results, at, cell):
    lines = write_results("wide", results).split("\n")
    name, first, _, outcome = lines[at + 1].split(",")
    lines[at + 1] = f"{name},{first},{cell},{outcome}"
    said = refuse(folder, "\n".join(lines), keeps_halves=True)
    assert said.startswith(f"mine.csv, row {at + 2}, column b: ") and cell.lstrip("-") in said


def test_a_file_of_one_agent_is_called_after_it_and_columns_are_told(tmp_path):
    tables, notes = read(
        tmp_path, "Question ID,question,resolution,p,price\n1,Will it?,no,0.4,0.7\n", "my_bot.csv"
    )
    assert list(tables["runs"]["agent_id"]) == ["my_bot"] and tables["prices"][
        "price"
    ].tolist() == [0.7]
    assert "id = Question ID, probability = p, outcome = resolution, prompt = question" in notes[0]


def test_letters_and_texts_are_compared_with_the_outcome(tmp_path):
    tables, _ = read(tmp_path, "id,model,answer,outcome\n1,m,A,A\n2,m,B,C\n")
    assert tables["events"]["kind"].eq("single").all() and tables["answers"]["value"].tolist() == [
        '"A"',
        '"C"',
    ]
    tables, _ = read(tmp_path, "id,model,answer,outcome\n1,m,Lviv,Lviv\n2,m,Oslo,\n")
    assert tables["events"]["kind"].eq("text").all()
    assert tables["answers"]["status"].tolist() == ["ok", "not_published"]


def test_blank_cells_are_missing_and_repeats_are_samples(tmp_path):
    tables, _ = read(tmp_path, "id,agent,p,outcome,trial\n1,a,0.4,1,1\n1,a,0.6,1,2\n2,a,,0,1\n")
    assert tables["predictions"]["sample"].tolist() == [1, 2, 1]
    assert tables["predictions"]["status"].tolist() == ["ok", "ok", "missing"]


@pytest.mark.parametrize(
    "case", read_cases(__file__, "refused_forecasts"), ids=lambda case: case["said"][:60]
)
def test_files_that_cannot_be_read_say_why(case, tmp_path):
    said = refuse(tmp_path, case["text"])
    assert case["said"] in said and said.count(case["said"][-20:]) == 1


def test_many_halves_can_be_missing_or_meant(tmp_path):
    rows = "".join(f"q{n},a,{0.5 if n < 9 else 0.8},{n % 2}\n" for n in range(12))
    text = "id,agent,p,outcome\n" + rows
    missing = read(tmp_path, text, filled=0.5).tables["predictions"]
    assert missing["status"].value_counts().to_dict() == {"missing": 9, "ok": 3}
    assert missing["p_filled"].notna().sum() == 9 and missing["p_yes"].notna().sum() == 3
    assert read(tmp_path, text, keeps_halves=True).tables["predictions"]["p_yes"].notna().all()


def test_what_a_run_was_given_is_read_and_runs_of_one_model_are_told_apart(tmp_path):
    lines = "id,model,search,p,outcome\n"
    lines += "".join(
        f"q{n},GPT-9,{way},0.{n}1,{n % 2}\n" for n in range(8) for way in ("no", "dated")
    )
    runs = read(tmp_path, lines + "q1,Grok 9,,0.3,1\n").tables["runs"].fillna("")
    assert runs["agent_id"].tolist() == ["GPT-9, no search", "GPT-9, dated search", "Grok 9"]
    assert runs["search"].tolist() == ["none", "dated", ""] and runs["model"].tolist() == [
        "GPT-9",
        "GPT-9",
        "Grok 9",
    ]


def test_a_column_of_other_words_is_told_and_not_read(tmp_path):
    tables, notes = read(tmp_path, "id,agent,search,url,p,outcome\nq1,a,polls Ohio,x,0.2,1\n")
    assert "search" not in tables["runs"] and "mine.csv: not read: search, url" in notes
    assert (
        "mine.csv: search is not read; 'polls ohio' is none of none, dated, undated, provider"
        in notes
    )
    wide = WIDE.replace("second bot", "remarks").replace("0.92", "late").replace("0.82", "early")
    for n in range(8):
        wide = wide.replace(f",0.{9 - n}2\n", ",see the news\n")
    tables, notes = read(tmp_path, wide)
    assert (
        list(tables["runs"]["agent_id"]) == ["first bot"] and "mine.csv: not read: remarks" in notes
    )


def test_a_file_of_another_form_and_one_that_is_not_there(tmp_path):
    with pytest.raises(Problems, match="mine.xlsx: a file ends in .csv, .jsonl, .eval"):
        read_forecasts([write(tmp_path / "mine.xlsx", "")])
    with pytest.raises(Problems, match="there is no file"):
        read_forecasts([tmp_path / "none.csv"])


# --- the command ------------------------------------------------------------------------------------


@pytest.fixture
def out(tmp_path, monkeypatch):
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "out"))
    return tmp_path / "out"


def test_nothing_is_written_of_a_wrong_file(out, tmp_path):
    with pytest.raises(
        SystemExit, match="1.3 is no probability; .*\nNothing was written; mend the file and add it"
    ):
        carry_out(["add", str(write(tmp_path / "mine.csv", WIDE.replace("0.31", "1.3")))])
    assert not list(out.rglob("*.*")) and "mine" not in list_folders()


def test_a_name_that_is_taken_is_refused_and_can_be_replaced(out, tmp_path):
    path = str(write(tmp_path / "mine.csv", WIDE))
    carry_out(["add", path])
    with pytest.raises(
        SystemExit, match="there is a set mine already; --name gives it another name, --replace"
    ):
        carry_out(["add", path])
    assert carry_out(["add", path, "--replace"])["name"] == "mine"
    with pytest.raises(
        SystemExit, match="there is a set blf already; --name gives it another name$"
    ):
        carry_out(["add", path, "--name", "blf", "--replace"])


def test_a_folder_that_is_a_set_is_looked_at(out, tmp_path, capsys):
    carry_out(["add", str(write(tmp_path / "mine.csv", WIDE))])
    capsys.readouterr()
    found = add.main((str(out / ".cache/sets/mine"),))
    assert (
        found["n_events"] == 8
        and "names no licence: it can be used here" in capsys.readouterr().out
    )


def test_a_log_without_an_answer_is_refused(out, tmp_path):
    from test_inspect_logs import SAMPLE, write_log

    path = write_log(
        tmp_path / "a.eval",
        sample=SAMPLE | {"error": {"message": "ConnectionError(no host)"}, "limit": None},
    )
    with pytest.raises(
        SystemExit, match=r"none of its 1 samples has an answer \(ConnectionError\); run it again"
    ):
        carry_out(["add", str(path), "--name", "logs"])
    assert "logs" not in list_folders()


def test_a_strangers_file_stands_in_the_notebooks_of_real_agents(out, tmp_path, capsys):
    path = write(
        tmp_path / "My strangers.csv",
        write_results("long", [(20 + n, 80 - n, n % 2) for n in range(60)]),
    )
    given = pd.read_csv(path).assign(domain="sport")
    given.to_csv(path, index=False)
    found = carry_out(["add", str(path)])
    assert (found["name"], found["n_events"], found["n_agents"]) == ("my-strangers", 60, 2)
    assert "make figures SET=my-strangers" in capsys.readouterr().out
    add_room(Path(found["folder"]).parent)
    one = find_set("my-strangers")
    listed = {path.stem[:2]: given for path, given in figures.list_notebooks(one).items()}
    assert {"02", "04", "05"} <= set(listed) and listed["04"]["question_set"] in (
        "my-strangers",
        found["folder"],
    )
    loaded = load_set(found["folder"])
    rows = take_usual(loaded.need("a comparison of forecasters", "brier"))
    assert set(rows["forecaster"]) == {"a", "b"} and len(rows) == 120
    own = (
        given.assign(brier=(given["outcome"] - given["probability"]) ** 2)
        .groupby("agent")["brier"]
        .mean()
    )
    assert rows.groupby("forecaster")["brier"].mean().to_dict() == pytest.approx(own.to_dict())
    for column in ("search", "price", "level", "source_id", "n_searches"):
        with pytest.raises(
            ValueError, match=f"the figure needs {column}; the set my-strangers has none"
        ):
            loaded.need("the figure", column)


def test_a_strangers_log_has_no_probabilities_and_a_figure_of_them_says_so(out, tmp_path, capsys):
    from test_inspect_logs import write_log

    found = carry_out(["add", str(write_log(tmp_path / "a.eval")), "--name", "logs"])
    loaded = load_set(found["folder"])
    assert found["n_agents"] == 1 and len(loaded.predictions) == len(loaded.replies) > 0
    assert loaded.rows()["correct"].tolist() == [0.0]
    assert (
        "its agents stand on a leaderboard and in a figure of shares right"
        in capsys.readouterr().out
    )
    with pytest.raises(
        ValueError, match="a comparison of forecasters needs brier; the set logs has none"
    ):
        loaded.need("a comparison of forecasters", "brier")
