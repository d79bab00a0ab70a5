"""The papers' figures with agents of one's own: three mock agents of 200, 60 and 15 events of
october-2016."""

import json
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pandas as pd
import pytest
from builders import store_run
from nbformat.v4 import new_code_cell, new_notebook

from daybefore.agents.runs import sample_events
from daybefore.commands import figures
from daybefore.scoring.runs import load_scores
from helpers import means
from helpers.files import ROOT, STORE, read_table
from helpers.question_sets import find_set

SHOWN = """
import matplotlib.pyplot as plt
from helpers.figures import save_figure
from daybefore.scoring.runs import load_scores

scored = load_scores(question_set, agents)
means = scored.scores.groupby("agent_id")["score"].agg(["mean", "size"])
fig, ax = plt.subplots()
ax.barh(means.index, means["mean"])
facts = {"source": "runs", "n": len(means), "window": "A", "status": "replay"}
save_figure(fig, "mock", means.reset_index(), title="Mine beside theirs", **facts)
"""
FAILING = "raise ValueError('brief answered 15 events; a level needs 25')"


def state(event, value):
    """Return 0.8 on the right one of several options and the rest on the others, None where there
    are none."""
    if event["kind"] != "single":
        return None
    options, right = json.loads(event["options"]), json.loads(value)
    return json.dumps(
        {name: 0.8 if name == right else 0.2 / (len(options) - 1) for name in options}
    )


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store with three agents that say the answer in every second question that they were
    asked."""
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "out"))
    events, answers = (
        read_table("events", "A"),
        read_table("answers", "A").set_index("event_id")["value"],
    )
    for name, n in (("wide", 200), ("middle", 60), ("brief", 15)):
        made = {}
        for at, event in enumerate(sample_events(events, n).to_dict("records")):
            value = answers.get(event["event_id"])
            is_said = at % 2 and isinstance(value, str)
            made[event["event_id"]] = (
                {"value": value, "distribution": state(event, value)} if is_said else {}
            )
        store_run(tmp_path / "out" / STORE, f"{name}-A-01234567", made, category="base_model")


@pytest.fixture
def write_notebook(tmp_path, monkeypatch):
    """A function that writes a notebook of some cells; those written are all there are."""
    listed = figures.list_notebooks
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "out"))
    monkeypatch.setattr(figures, "list_notebooks", lambda one: listed(one, tmp_path))

    def write(name, *cells, question_set="october-2016"):
        cells = [f'agents: str = ""\nquestion_set: str = "{question_set}"', *cells]
        notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {
            "display_name": "Python 3",
            "language": "python",
            "name": "python3",
        }
        notebook.cells[0].metadata["tags"] = ["parameters"]
        nbformat.write(notebook, tmp_path / f"{name}.ipynb")

    return write


def test_own_agents_are_drawn_beside_the_recorded_into_a_folder_of_their_own(
    store, write_notebook, tmp_path, capsys
):
    write_notebook("04_levels", SHOWN)
    write_notebook("07_factors", FAILING)
    write_notebook("24_long", SHOWN, question_set="long")
    found = figures.main("wide middle brief")["sets"]
    assert list(found) == ["october-2016"]
    assert found["october-2016"]["refused"] == [
        "07_factors is not drawn: brief answered 15 events; a level needs 25"
    ]
    folder = tmp_path / "out/results/wide+middle+brief/october-2016"
    numbers = (folder / "figures/mock.csv").read_text()
    assert all(
        f"\n{name}," in numbers
        for name in ("wide", "middle", "brief", "last_value", "qwen_zero_shot")
    )
    page, said = (
        (folder / "index.html").read_text(),
        ("figures/mock.png", "Mine beside theirs", "a level needs 25"),
    )
    assert all(
        words in page
        for words in (*said, "leaderboard.csv", ">adjusted<", '<td class="keep">brief</td>')
    )
    assert "| brief |" in (folder / "leaderboard.md").read_text() and "https://" not in page
    assert all(f"-p agent {name}" in page for name in ("wide", "middle", "brief")), (
        "no trials of theirs"
    )
    assert "index.html" in capsys.readouterr().out
    stated = pd.read_csv(folder / "figures/probabilities.csv").query(
        "agent_id == 'wide' and part == 'reliability'"
    )
    assert stated.set_index("bin").loc[0.8, ["said", "share"]].tolist() == [0.8, 1.0], (
        "what is right is said at 0.8"
    )


def test_a_figure_without_the_agents_is_left_where_it_is_and_who_is_left_out_is_named(
    store, write_notebook
):
    committed = """
import pandas as pd
from helpers.files import ROOT
print("left out, with fewer than 100 events: brief")
people = pd.read_csv(ROOT / "figures/public_people.csv")
fig, ax = plt.subplots()
save_figure(fig, "public_people", people, title="People", source="s", n=1, window="", dates="", status="public")
"""
    write_notebook("04_levels", SHOWN, committed, "raise ValueError('the rest needs search')")
    found = figures.main("wide brief")["sets"]["october-2016"]
    assert "mock" in found["figures"] and "public_people" not in found["figures"]
    assert found["refused"] == ["04_levels is drawn in part: the rest needs search"]
    said = [note for note in found["notes"] if note.startswith("04_levels")]
    assert said == [
        "04_levels: left out, with fewer than 100 events: brief",
        "04_levels also draws what does not depend on them; see figures/: public_people",
    ]


def test_long_questions_have_a_notebook_and_their_baselines_and_a_set_without_one_says_so(
    out, monkeypatch
):
    assert [path.stem for path in figures.list_notebooks(find_set("long"))] == [
        "24_conditions",
        "25_horizons",
    ]
    monkeypatch.setattr(figures, "list_notebooks", lambda one: {})
    events = read_table("events", "L").query("kind == 'single'")
    made = {event_id: {"value": '"A"'} for event_id in events["event_id"].head(12)}
    store_run(out / STORE, "mine-L-01234567", made, category="base_model")
    store_run(out / STORE, "walk-L-01234567", made, category="baseline")
    found = figures.main("mine")["sets"]["long"]
    assert "no notebook draws agents on long" in found["notes"][-1] and "42_your_agent" not in str(
        found["notes"]
    )
    board = pd.read_csv(out / "results/mine/long/leaderboard.csv")
    assert {"mine", "walk"} == set(board["agent_id"]), "on the twelve questions that mine was asked"
    assert any(
        note.startswith("qwen_zero_shot is left out: it was asked") for note in found["notes"]
    )


def test_a_set_with_runs_of_its_own_is_drawn_whole_or_by_names(write_notebook):
    write_notebook("02_real", SHOWN.replace('"window": "A"', '"window": "blf"'), question_set="blf")
    write_notebook("03_replay", SHOWN)
    found = figures.main(["Grok 4", "GPT-5.4"], "blf")["sets"]["blf"]
    assert found["refused"] == [] and {"probabilities"} < {
        Path(name).stem for name in found["figures"]
    }
    folder = Path(found["folder"])
    board = pd.read_csv(folder / "leaderboard.csv")
    assert board["agent_id"].nunique() == 7
    numbers = pd.read_csv(folder / "figures/mock.csv")
    assert (
        "Grok 4, search, price shown, base rate shown, data tools" in set(numbers["agent_id"])
        and len(numbers) == 7
    )
    page = (folder / "index.html").read_text()
    assert "Skill against the market" in page


def test_a_notebook_with_a_set_of_the_replay_beside_its_own_is_found_by_it():
    replay = {
        path.stem: given for path, given in figures.list_notebooks(find_set("october-2016")).items()
    }
    assert replay["04_domains_and_factors"] == {"agents": "", "replay_set": "october-2016"}
    assert replay["07_missing_predictions"] == {"agents": "", "replay_set": "october-2016"}
    real = {path.stem: given for path, given in figures.list_notebooks(find_set("blf")).items()}
    assert {"06_past_vs_future", "07_missing_predictions"} <= set(real)
    assert real["04_domains_and_factors"] == {"question_set": "blf"}, "its agents are the replay's"


def test_nothing_named_is_a_sentence():
    with pytest.raises(
        ValueError, match="name agents: --agents 'my_model other_model', or --set a set"
    ):
        figures.main()


def test_a_ranking_is_over_the_events_that_all_drawn_agents_were_asked(
    store, tmp_path, monkeypatch
):
    monkeypatch.setattr(figures, "list_notebooks", lambda one: {})
    found = figures.main("middle")["sets"]["october-2016"]
    board = pd.read_csv(Path(found["folder"]) / "leaderboard.csv").query(
        "group == 'all' and metric == 'score'"
    )
    scored = load_scores("october-2016", "middle")
    asked = set(scored.predictions.query("agent_id == 'middle'")["event_id"])
    by_agent = scored.predictions.groupby("agent_id")["event_id"].agg(set)
    assert len(asked) == 60 and all(events == asked for events in by_agent)
    assert board["n_asked"].nunique() == 1 and {"last_value", "qwen_zero_shot"} <= set(
        board["agent_id"]
    )
    left = [
        note
        for note in found["notes"]
        if "qwen_research is left out: it was asked 20 events" in note
    ]
    assert left and "over the 60 events that middle were asked" in found["notes"][0]
    both = figures.main("wide middle")["sets"]["october-2016"]["notes"]
    assert "asked in all: wide 200, middle 60" in both[1]


def test_questions_that_are_no_set_or_cannot_be_read_do_not_stop_the_figures(
    out, monkeypatch, capsys
):
    def draw(names, one, folder):
        if one.name == "earnings":
            raise ValueError("its file is not there")
        return names

    monkeypatch.setattr(figures, "draw_set", draw)
    for window in ("A", "E", "L", "ask0123abcd"):
        store_run(out / STORE, f"mine-{window}-01234567", {"e1": {}}, category="base_model")
    assert figures.main("mine")["sets"] == {"october-2016": ["mine"], "long": ["mine"]}
    told = capsys.readouterr().err
    assert (
        "earnings is not drawn: its file is not there" in told
        and "are no question set: ask0123abcd" in told
    )
    with pytest.raises(ValueError, match="its file is not there"):
        figures.main("mine", "earnings")


def test_agents_without_a_shared_event_are_not_ranked(out):
    ids = list(read_table("events", "A")["event_id"])
    store_run(out / STORE, "one-A-01234567", {ids[0]: {}}, category="base_model")
    store_run(out / STORE, "two-A-01234567", {ids[1]: {}}, category="base_model")
    with pytest.raises(ValueError, match=r"no event was asked of all of one \(1\), two \(1\)"):
        load_scores("october-2016", "one two")


def run_cell(notebook, words, **names):
    """Run the cell of a committed notebook that holds some words, in a namespace of its own;
    returns that."""
    cells = nbformat.read(ROOT / f"notebooks/{notebook}.ipynb", as_version=4)["cells"]
    exec(
        next(
            cell["source"]
            for cell in cells
            if cell["cell_type"] == "code" and words in cell["source"]
        ),
        names,
    )
    return names


@pytest.mark.parametrize(
    "searches", [["none", "none"], ["none", "dated"]], ids=["none searches", "one searches"]
)
def test_models_that_never_search_stand_on_the_figures_by_domain_and_of_gaps(searches):
    rows = pd.DataFrame(
        {"agent_id": ["mine", "other"] * 12, "event_id": [f"e{n // 2}" for n in range(24)]}
    )
    rows = rows.assign(
        model=rows["agent_id"], search=searches * 12, domain="ice", score=0.1, brier=0.1, outcome=1
    )
    blank = dict.fromkeys(["sees_price", "keeps_beliefs", "uses_tools", "variant", "effort"])
    rows = rows.assign(**blank, status="ok", p_yes=0.7)
    events = rows[["event_id"]].drop_duplicates().assign(cluster_id=lambda t: t["event_id"])
    given = SimpleNamespace(need=lambda *words: rows, events=events, name="own")
    shown = rows.assign(search=rows["search"].map({"none": "no", "dated": "yes"}))
    library = {"pd": pd, "means": means}
    cells = run_cell(
        "04_domains_and_factors",
        '"the figure by domain", "domain"',
        **library,
        rows=shown,
        given=given,
    )
    assert set(cells["cells"]["model"]) == {"mine", "other"}
    made = run_cell(
        "07_missing_predictions",
        "what gaps do to ranks",
        load_set=lambda name: given,
        question_set="own",
    )
    assert set(made["rows"]["agent_id"]) == {"mine", "other"}
