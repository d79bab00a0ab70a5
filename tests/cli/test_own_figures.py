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

from daybefore.agents.run_loop import sample_events
from daybefore.commands import own_figures
from daybefore.scoring.run_scores import load_scores
from helpers import means
from helpers.files import ROOT, STORE, read_table
from helpers.set_names import find_set

SHOWN = """
import matplotlib.pyplot as plt
from helpers.figures import save_figure
from daybefore.scoring.run_scores import load_scores

scored = load_scores(question_set, agents)
means = scored.scores.groupby("agent_id")["score"].agg(["mean", "size"])
fig, ax = plt.subplots()
ax.barh(means.index, means["mean"])
facts = {"source": "runs", "n": len(means), "window": "A", "status": "replay"}
save_figure(fig, "mock", means.reset_index(), title="Mine beside theirs", **facts)
"""
COMMITTED = """
import pandas as pd
from helpers.files import ROOT
print("left out, with fewer than 100 events: brief")
people = pd.read_csv(ROOT / "figures/public_people.csv")
fig, ax = plt.subplots()
save_figure(fig, "public_people", people, title="People", source="s", n=1, window="", dates="", status="public")
"""
FAILING = "raise ValueError('brief answered 15 events; a level needs 25')"


def state(event, value):
    """Return 0.8 on the right one of several options and the rest on the others, None where there
    are none."""
    if event["kind"] != "single":
        return None
    options, right = json.loads(event["options"]), json.loads(value)
    rest = 0.2 / (len(options) - 1)
    return json.dumps(dict.fromkeys(options, rest) | {right: 0.8})


@pytest.fixture
def store(out):
    """A store with three agents that say the answer in every second question that they were
    asked."""
    answers = read_table("answers", "A")[["event_id", "value"]]
    events = read_table("events", "A").merge(answers, "left")
    for name, n in (("wide", 200), ("middle", 60), ("brief", 15)):
        made = {}
        for at, event in enumerate(sample_events(events, n).to_dict("records")):
            value, said = event["value"], {}
            if at % 2 and isinstance(value, str):
                said = {"value": value, "distribution": state(event, value)}
            made[event["event_id"]] = said
        store_run(out / STORE, f"{name}-A-01234567", made, category="base_model")


@pytest.fixture
def write_notebook(out, monkeypatch):
    """A function that writes a notebook of some cells; those written are all there are."""
    listed = own_figures.list_notebooks
    monkeypatch.setattr(own_figures, "list_notebooks", lambda one: listed(one, out))

    def write(name, *cells, question_set="october-2016"):
        cells = [f'agents: str = ""\nquestion_set: str = "{question_set}"', *cells]
        notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
        notebook.metadata["kernelspec"] = {
            "display_name": "Python",
            "name": "python3",
            "language": "python",
        }
        notebook.cells[0].metadata["tags"] = ["parameters"]
        nbformat.write(notebook, out / f"{name}.ipynb")

    return write


def test_own_agents_are_drawn_beside_the_recorded_into_a_folder_of_their_own(
    store, write_notebook, out, capsys
):
    write_notebook("04_levels", SHOWN, COMMITTED, FAILING)
    write_notebook("07_factors", FAILING)
    write_notebook("24_long", SHOWN, question_set="long")
    found = own_figures.main("wide middle brief")["sets"]
    assert list(found) == ["october-2016"]
    found, names = found["october-2016"], ("wide", "middle", "brief")
    assert found["refused"] == [
        "04_levels is drawn in part: brief answered 15 events; a level needs 25",
        "07_factors is not drawn: brief answered 15 events; a level needs 25",
    ]
    assert {"mock"} < set(found["figures"]) and "public_people" not in found["figures"]
    assert {note for note in found["notes"] if note.startswith("04_levels")} == {
        "04_levels: left out, with fewer than 100 events: brief",
        "04_levels also draws what does not depend on them; see figures/: public_people",
    }
    folder = out / "results/wide+middle+brief/october-2016"
    numbers = (folder / "figures/mock.csv").read_text()
    assert all(f"\n{name}," in numbers for name in (*names, "last_value", "qwen_zero_shot"))
    page = (folder / "index.html").read_text()
    said = ("figures/mock.png", "Mine beside theirs", "a level needs 25", "leaderboard.csv")
    said += (">adjusted<", '<td class="keep">brief</td>', *(f"-p agent {name}" for name in names))
    assert [words for words in said if words not in page] == [] and "https://" not in page
    assert "| brief |" in (folder / "leaderboard.md").read_text()
    assert "index.html" in capsys.readouterr().out
    stated = pd.read_csv(folder / "figures/probabilities.csv").query("part == 'reliability'")
    (row,) = stated.query("agent_id == 'wide' and bin == 0.8").to_dict("records")
    assert (row["said"], row["share"]) == (0.8, 1.0), "what is right is said at 0.8"


def list_taken(name):
    return {path.stem: given for path, given in own_figures.list_notebooks(find_set(name)).items()}


def test_long_questions_have_a_notebook_and_their_baselines_and_a_set_without_one_says_so(
    out, monkeypatch
):
    assert list_taken("long").keys() == {"24_conditions", "25_horizons"}
    monkeypatch.setattr(own_figures, "list_notebooks", lambda one: {})
    events = read_table("events", "L").query("kind == 'single'")
    made = {event_id: {"value": '"A"'} for event_id in events["event_id"].head(12)}
    store_run(out / STORE, "mine-L-01234567", made, category="base_model")
    store_run(out / STORE, "walk-L-01234567", made, category="baseline")
    near = {"category": "baseline", "condition": "asked at Near"}
    store_run(out / STORE, "walk-L-89abcdef", made, {"started_at": "2026-11-28"}, **near)
    notes = own_figures.main("mine")["sets"]["long"]["notes"]
    assert "no notebook draws agents on long" in notes[-1] and "42_your_agent" not in str(notes)
    runs = load_scores("long", "mine").runs
    assert set(runs["run_id"]) == {"mine-L-01234567", "walk-L-01234567"}, "asked at one moment"
    board = pd.read_csv(out / "results/mine/long/leaderboard.csv")
    assert {"mine", "walk"} == set(board["agent_id"]), "on the twelve questions that mine was asked"
    assert any(note.startswith("qwen_zero_shot is left out: it was asked") for note in notes)


def test_a_set_with_runs_of_its_own_is_drawn_whole_or_by_names(write_notebook):
    write_notebook("02_real", SHOWN.replace('"window": "A"', '"window": "blf"'), question_set="blf")
    write_notebook("03_replay", SHOWN)
    found = own_figures.main(["Grok 4", "GPT-5.4"], "blf")["sets"]["blf"]
    assert found["refused"] == [] and {"probabilities", "mock"} <= set(found["figures"])
    folder = Path(found["folder"])
    numbers = pd.read_csv(folder / "figures/mock.csv")["agent_id"]
    name = "Grok 4, search, price shown, base rate shown, data tools"
    assert len(numbers) == 7 and name in set(numbers)
    assert pd.read_csv(folder / "leaderboard.csv")["agent_id"].nunique() == 7
    assert "Skill against the market" in (folder / "index.html").read_text()


def test_a_notebook_with_a_set_of_the_replay_beside_its_own_is_found_by_it():
    replay, real = list_taken("october-2016"), list_taken("blf")
    for name in ("04_domains_and_factors", "07_missing_predictions"):
        assert replay[name] == {"agents": "", "replay_set": "october-2016"}
    assert {"06_past_vs_future", "07_missing_predictions"} <= set(real)
    assert real["04_domains_and_factors"] == {"question_set": "blf"}, "its agents are the replay's"


def test_nothing_named_is_a_sentence():
    with pytest.raises(
        ValueError, match="name agents: --agents 'my_model other_model', or --set a set"
    ):
        own_figures.main()


def test_a_ranking_is_over_the_events_that_all_drawn_agents_were_asked(store, monkeypatch):
    monkeypatch.setattr(own_figures, "list_notebooks", lambda one: {})
    found = own_figures.main("wide middle")["sets"]["october-2016"]
    board = pd.read_csv(Path(found["folder"]) / "leaderboard.csv")
    board = board[board["group"].eq("all") & board["metric"].eq("score")]
    assert board["n_asked"].nunique() == 1
    assert {"last_value", "qwen_zero_shot"} <= set(board["agent_id"])
    shared, asked, *left = found["notes"]
    assert "over the 60 events that wide, middle were asked" in shared
    assert "asked in all: wide 200, middle 60" in asked
    assert any("qwen_research is left out: it was asked 20 events" in note for note in left)


def test_questions_that_are_no_set_or_cannot_be_read_do_not_stop_the_figures(
    out, monkeypatch, capsys
):
    def draw(names, one, folder):
        if one.name == "earnings":
            raise ValueError("its file is not there")
        return names

    monkeypatch.setattr(own_figures, "draw_set", draw)
    for window in ("A", "E", "L", "ask0123abcd"):
        store_run(out / STORE, f"mine-{window}-01234567", {"e1": {}}, category="base_model")
    assert own_figures.main("mine")["sets"] == {"october-2016": ["mine"], "long": ["mine"]}
    told = capsys.readouterr().err
    assert "earnings is not drawn: its file is not there" in told
    assert "are no question set: ask0123abcd" in told
    with pytest.raises(ValueError, match="its file is not there"):
        own_figures.main("mine", "earnings")


def test_agents_without_a_shared_event_are_not_ranked(out):
    first, second = read_table("events", "A")["event_id"].head(2)
    store_run(out / STORE, "one-A-01234567", {first: {}}, category="base_model")
    store_run(out / STORE, "two-A-01234567", {second: {}}, category="base_model")
    with pytest.raises(ValueError, match=r"no event was asked of all of one \(1\), two \(1\)"):
        load_scores("october-2016", "one two")


def run_cell(notebook, words, **names):
    """Run the cell of a committed notebook that holds some words, in a namespace of its own;
    returns that."""
    cells = nbformat.read(ROOT / f"notebooks/{notebook}.ipynb", as_version=4)["cells"]
    sources = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    exec(next(source for source in sources if words in source), names)
    return names


@pytest.mark.parametrize("searches", [["none", "none"], ["none", "dated"]])
def test_models_that_never_search_stand_on_the_figures_by_domain_and_of_gaps(searches):
    rows = pd.DataFrame({"agent_id": ["mine", "other"] * 12, "search": searches * 12})
    blank = dict.fromkeys(["sees_price", "keeps_beliefs", "uses_tools", "variant", "effort"])
    facts = {
        "domain": "ice",
        "score": 0.1,
        "brier": 0.1,
        "outcome": 1,
        "status": "ok",
        "p_yes": 0.7,
    }
    events = [f"e{n // 2}" for n in range(24)]
    rows = rows.assign(model=rows["agent_id"], event_id=events, cluster_id=events, **blank, **facts)
    questions = rows[["event_id", "cluster_id"]].drop_duplicates()
    given = SimpleNamespace(need=lambda *words: rows, events=questions, name="own")
    shown = rows.assign(search=rows["search"].map({"none": "no", "dated": "yes"}))
    rows = rows.drop(columns="cluster_id")
    words, library = '"the figure by domain", "domain"', {"pd": pd, "means": means}
    cells = run_cell("04_domains_and_factors", words, **library, rows=shown, given=given)["cells"]
    assert set(cells["model"]) == {"mine", "other"}
    found = {"load_set": lambda name: given, "question_set": "own"}
    made = run_cell("07_missing_predictions", "what gaps do to ranks", **found)["rows"]
    assert set(made["agent_id"]) == {"mine", "other"}
