"""Other agents' answers from a reader's own files: what is understood, and what each wrong file
gets."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders import read_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from test_inspect_logs import SAMPLE, write_log

from daybefore.commands import own_figures
from daybefore.commands.main import carry_out
from daybefore.formats.forecast_files import read_forecasts
from helpers.folders import add_room, list_folders
from helpers.input_faults import Problems
from helpers.set_names import find_set
from helpers.sets import load_set, take_usual

WIDE = "Question ID,question,resolution,first bot,second bot\n"
WIDE += "".join(f"q{n},Will it?,{['no', 'yes'][n % 2]},0.{n}1,0.{9 - n}2\n" for n in range(8))


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def read(folder, text, name="mine.csv", **how):
    return read_forecasts([write(folder / name, text)], **how)


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
    if form == "jsonl":
        return rows.to_json(orient="records", lines=True)
    sign = "%" if form == "percent" else ""
    return rows.assign(probability=rows["probability"].map(f"{{}}{sign}".format)).to_csv(
        index=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@given(st.sampled_from(["wide", "long", "percent", "jsonl"]), RESULTS)
@settings(max_examples=6)
def test_forecasts_come_back_from_each_form_of_a_file(folder, form, results):
    name = "mine.jsonl" if form == "jsonl" else "mine.csv"
    tables, notes = read(folder, write_results(form, results), name, keeps_halves=True)
    ids = [f"q{n}" for n in range(len(results))]
    found = tables["predictions"].pivot(index="event_id", columns="run_id", values="p_yes")
    told = np.array([both for *both, _ in results]) / 100
    assert found.loc[ids].to_numpy() == pytest.approx(told)
    outcomes = tables["answers"].set_index("event_id")["outcome"]
    assert outcomes[ids].tolist() == [yes for *_, yes in results]
    assert f"{len(ids)} questions (0 without an outcome yet), 2 agents: a, b" in notes


@given(RESULTS, st.integers(0, 7), st.sampled_from(["1.3", "-0.2", "often", "nan"]))
@settings(max_examples=6)
def test_a_broken_cell_is_named_by_row_and_column(folder, results, at, cell):
    lines = write_results("wide", results).split("\n")
    name, first, _, outcome = lines[at + 1].split(",")
    lines[at + 1] = f"{name},{first},{cell},{outcome}"
    with pytest.raises(Problems, match=f"^mine.csv, row {at + 2}, column b: .*{cell.strip('-')}"):
        read(folder, "\n".join(lines), keeps_halves=True)


@pytest.mark.parametrize(
    "case", read_cases(__file__, "refused_forecasts"), ids=lambda case: case["said"][:60]
)
def test_files_that_cannot_be_read_say_why(case, folder):
    with pytest.raises(Problems) as problems:
        read(folder, case["text"])
    assert str(problems.value).count(case["said"]) == 1


STRANGE = WIDE.replace("second bot", "remarks")
for n in range(8):
    STRANGE = STRANGE.replace(f",0.{9 - n}2\n", ",see the news\n")
GIVEN = "id,model,search,p,outcome\n" + "".join(
    f"q{n},GPT-9,{way},0.{n}1,{n % 2}\n" for n in range(8) for way in ("no", "dated")
)


@pytest.mark.parametrize(
    ("text", "table", "wanted", "notes"),
    [
        (
            "Question ID,question,resolution,p,price\n1,Will it?,no,0.4,0.7\n",
            "prices",
            {"price": [0.7]},
            ["id = Question ID, probability = p, outcome = resolution, prompt = question"],
        ),
        ("id,p,outcome\n1,0.4,0\n", "runs", {"agent_id": ["mine"]}, ["probability = p"]),
        (
            "id,model,answer,outcome\n1,m,A,A\n2,m,B,C\n",
            "events",
            {"kind": ["single"] * 2, "options": ['{"A":"A","B":"B","C":"C"}'] * 2},
            [],
        ),
        (
            "id,model,answer,outcome\n1,m,Lviv,Lviv\n2,m,Oslo,\n",
            "answers",
            {"value": ['"Lviv"', None], "status": ["ok", "not_published"]},
            [],
        ),
        (
            "id,agent,p,outcome,trial\n1,a,0.4,1,1\n1,a,0.6,1,2\n2,a,,0,1\n",
            "predictions",
            {"sample": [1, 2, 1], "status": ["ok", "ok", "missing"]},
            [],
        ),
        (
            GIVEN + "q1,Grok 9,,0.3,1\n",
            "runs",
            {
                "agent_id": ["GPT-9, no search", "GPT-9, dated search", "Grok 9"],
                "search": ["none", "dated", None],
                "model": ["GPT-9", "GPT-9", "Grok 9"],
            },
            [],
        ),
        (
            "id,agent,search,url,p,outcome\nq1,a,polls Ohio,x,0.2,1\n",
            "runs",
            {"agent_id": ["a"]},
            ["not read: search, url", "search is not read; 'polls ohio' is none of none, dated"],
        ),
        (STRANGE, "runs", {"agent_id": ["first bot"]}, ["mine.csv: not read: remarks"]),
    ],
)
def test_what_columns_are_is_understood_and_told(folder, text, table, wanted, notes):
    tables, told = read(folder, text)
    found = tables[table].astype(object).where(tables[table].notna(), None)
    assert found[list(wanted)].to_dict("list") == wanted
    assert all(note in "\n".join(told) for note in notes)


def test_many_halves_can_be_missing_or_meant(folder):
    rows = "".join(f"q{n},a,{0.5 if n < 9 else 0.8},{n % 2}\n" for n in range(12))
    text = "id,agent,p,outcome\n" + rows
    missing = read(folder, text, filled=0.5).tables["predictions"]
    assert missing["status"].value_counts().to_dict() == {"missing": 9, "ok": 3}
    assert missing["p_filled"].notna().sum() == 9 and missing["p_yes"].notna().sum() == 3
    assert read(folder, text, keeps_halves=True).tables["predictions"]["p_yes"].notna().all()


# --- the command ------------------------------------------------------------------------------------


@pytest.fixture
def add(tmp_path, monkeypatch):
    """A function that adds a file of a text, and returns what the command does."""
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "out"))

    def carry(text, *how, name="mine.csv"):
        return carry_out(["add", str(write(tmp_path / name, text)), *how])

    return carry


def test_nothing_is_written_of_a_wrong_file_and_of_a_name_that_is_taken(add, tmp_path, capsys):
    mended = "1.3 is no probability; .*\nNothing was written; mend the file and add it"
    with pytest.raises(SystemExit, match=mended):
        add(WIDE.replace("0.31", "1.3"))
    with pytest.raises(SystemExit, match="mine.xlsx: a file ends in .csv, .jsonl, .eval"):
        add("", name="mine.xlsx")
    with pytest.raises(SystemExit, match="there is no file"):
        carry_out(["add", str(tmp_path / "none.csv")])
    assert not list((tmp_path / "out").rglob("*.*")) and "mine" not in list_folders()
    folder = add(WIDE)["folder"]
    with pytest.raises(SystemExit, match="a set mine already; --name gives it another name, --rep"):
        add(WIDE)
    assert add(WIDE, "--replace")["name"] == "mine"
    with pytest.raises(SystemExit, match="a set blf already; --name gives it another name$"):
        add(WIDE, "--name", "blf", "--replace")
    assert carry_out(["add", folder])["n_events"] == 8
    assert "names no licence: it can be used here" in capsys.readouterr().out


def test_a_strangers_file_stands_in_the_notebooks_of_real_agents(add, capsys):
    text = write_results("long", [(20 + n, 80 - n, n % 2) for n in range(60)])
    found = add(text, name="My strangers.csv")
    assert (found["name"], found["n_events"], found["n_agents"]) == ("my-strangers", 60, 2)
    assert "make figures SET=my-strangers" in capsys.readouterr().out
    add_room(Path(found["folder"]).parent)
    one = find_set("my-strangers")
    assert {"02", "05"} <= {path.stem[:2] for path in own_figures.list_notebooks(one)}
    loaded = load_set(found["folder"])
    rows = take_usual(loaded.need("a comparison of forecasters", "brier"))
    assert set(rows["forecaster"]) == {"a", "b"} and len(rows) == 120
    for column in ("search", "price", "level", "source_id", "n_searches"):
        with pytest.raises(ValueError, match=f"figure needs {column}; the set my-strangers has"):
            loaded.need("the figure", column)


def test_a_strangers_log_has_no_probabilities_and_a_figure_of_them_says_so(add, tmp_path, capsys):
    log, name = tmp_path / "a.eval", ["--name", "logs"]
    failed = SAMPLE | {"error": {"message": "ConnectionError(no host)"}, "limit": None}
    with pytest.raises(SystemExit, match=r"1 samples has an answer \(ConnectionError\); run it ag"):
        carry_out(["add", str(write_log(log, sample=failed)), *name])
    assert "logs" not in list_folders()
    loaded = load_set(carry_out(["add", str(write_log(log)), *name])["folder"])
    assert len(loaded.predictions) == len(loaded.replies) > 0
    assert loaded.rows()["correct"].tolist() == [0.0]
    assert "agents stand on a leaderboard and in a figure of shares" in capsys.readouterr().out
    with pytest.raises(ValueError, match="forecasters needs brier; the set logs has none"):
        loaded.need("a comparison of forecasters", "brier")
