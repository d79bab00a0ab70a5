"""SET=my_questions.csv: a file of questions, with or without answers, is a set for every
command."""

from pathlib import Path

import pandas as pd
import pytest

from daybefore import events
from daybefore.agents import registry
from daybefore.commands import own_figures
from daybefore.commands.main import carry_out
from helpers.sets import load_set

HEAD = "Question ID,Title,Description,Resolution Criteria,Scheduled Close Time,Resolution\n"
METACULUS = HEAD + "".join(
    f"{4000 + n},Will river {n} freeze by March?,Background {n}.,By the gauge.,2026-03-{1 + n:02d},{word}\n"
    for n, word in enumerate(["yes", "no"] * 6 + [""])
)
AGENT = """[{name}]
model = "openai/mock-1"
api_base = "{address}"
probabilities = true
"""


@pytest.fixture
def here(provider, tmp_path, monkeypatch):
    """Two agents at a provider that says yes with 0.8; everything is written below a folder, which
    is worked in."""
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "out"))
    monkeypatch.setenv("DAYBEFORE_SETS", "")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "OWN", tmp_path / "agents.toml")
    agents = [AGENT.format(name=name, address=provider.address) for name in ("mine", "other")]
    (tmp_path / "agents.toml").write_text("\n".join(agents))
    provider.answer = lambda asked: {
        "content": "Probabilities: A=80%; B=20%\nFinal answer: \\boxed{A}"
    }
    return provider


def draw(monkeypatch, *arguments):
    """Return (what `daybefore figures` of two agents says, the set that it hands to the notebooks);
    these are run elsewhere."""
    given, listed = [], own_figures.list_notebooks
    monkeypatch.setattr(own_figures, "list_notebooks", lambda one: given.append(one) or {})
    (drawn,) = carry_out(["figures", *arguments])["sets"].values()
    monkeypatch.setattr(own_figures, "list_notebooks", listed)
    return drawn, given[0]


def test_a_file_is_run_compared_viewed_and_drawn_with_brier_errors_of_several_models(
    here, tmp_path, monkeypatch, capsys
):
    (tmp_path / "rivers.csv").write_text(METACULUS)
    both = ["--agent", "mine", "--agent", "other", "--set", "rivers.csv"]
    found = carry_out(["run", *both])["agents"]
    said = capsys.readouterr().out
    told = "13 questions (13 single), 12 with an answer; columns: id = Question ID, outcome = Resol"
    assert told in said and "prompt = Title" in said
    assert {"base_rate", "random", "mine", "other"} <= set(found)
    scores = {(row["metric"], row["group"]): row for row in found["mine"]["scores"]}
    brier = scores["brier", "all"]
    assert brier["mean"] == pytest.approx(0.04 + 0.64) and brier["n"] == 12
    texts = [asked["messages"][-1]["content"] for asked in here.asked]  # by threads, in no order
    assert sum("river 1 freeze" in text for text in texts) == 2
    assert all("Yes" in text for text in texts)
    assert len(carry_out(["compare", "mine", "other", "--set", "rivers.csv"])["pairs"]) == 1
    assert 'make figures AGENTS="mine other" SET=rivers' in capsys.readouterr().out
    assert len(carry_out(["view", "--set", "rivers.csv"])["runs"]) == 6
    drawn, one = draw(monkeypatch, "--agents", "mine other", "--set", "rivers.csv")
    assert "probabilities" in drawn["figures"] and drawn["refused"] == []
    assert drawn["notes"][0] == "all means are over the same 13 events"
    takes = ["02", "04", "05", "06", "07", "09"]
    assert [path.name[:2] for path in own_figures.list_notebooks(one)] == takes
    rows = load_set(one.folder).rows().dropna(subset=["brier"])
    assert sorted(rows["agent_id"]) == ["mine"] * 12 + ["other"] * 12
    assert set(rows["p_yes"]) == {0.8} and set(rows["search"]) == {"none"}
    assert rows["brier"].mean() == pytest.approx((0.04 + 0.64) / 2)
    assert len(events("rivers.csv")) == 13
    assert len(here.asked) == len(texts), "what was asked is not asked again"


def test_answers_come_later_and_the_moment_stays(here, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("id,question,options\nq1,Will it rain?,Yes|No\nq2,Who wins?,Ann|Bob|Cy\n")
    carry_out(["run", "--agent", "mine", "--set", str(path)])
    first, n_asked = load_set("mine").events, len(here.asked)
    assert first["options"].tolist() == ['{"A":"Yes","B":"No"}', '{"A":"Ann","B":"Bob","C":"Cy"}']
    head, *rows = path.read_text().splitlines()
    path.write_text("\n".join([f"{head},outcome", f"{rows[0]},Yes", f"{rows[1]},Bob"]))
    found = carry_out(["run", "--agent", "mine", "--set", str(path)])["agents"]["mine"]
    assert load_set("mine").events["as_of"].tolist() == first["as_of"].tolist()
    assert len(here.asked) == n_asked and found["n_scored"] == 2
    assert load_set("mine").answers["value"].tolist() == ['"A"', '"B"']


def test_domain_and_price_under_peoples_names_stand_beside_the_agents_and_in_no_prompt(
    here, tmp_path, monkeypatch
):
    rows = ["Will A?,Ice,0.37,2,no", "Will B?,Sea,0.47,2,yes"]
    head = "question,Category,market_probability,difficulty,outcome"
    (tmp_path / "mine.csv").write_text("\n".join([head, *rows]))
    carry_out(["run", "--agent", "mine", "--set", "mine.csv"])
    asked = load_set("mine").events
    assert asked["domain"].tolist() == ["Ice", "Sea"] and asked["level"].eq(2).all()
    assert not [one for one in here.asked if "0.37" in str(one) or "Sea" in str(one)]
    drawn, one = draw(monkeypatch, "--agents", "mine", "--set", "mine.csv")
    rows = load_set(one.folder).rows()
    assert sorted(rows["price"]) == [0.37, 0.47] and sorted(rows["domain"]) == ["Ice", "Sea"]
    assert "Skill against the market" in Path(drawn["folder"], "index.html").read_text()


def test_a_question_is_asked_as_of_its_own_moment(here, tmp_path):
    (tmp_path / "past.csv").write_text("question,as_of\nWill it rain?,2026-02-01\n")
    assert events("past.csv")["as_of"].tolist() == ["2026-02-01T00:00:00+08:00"]


@pytest.mark.parametrize(("text", "said"), [
    ("id,words\nq1,Will it?\n", "no column holds the questions' words; there are id, words; name it question"),
    ("id,question\n", "holds no question"),
    ("", "mine.csv is empty; a question a row"),
    ("id,question,model,p,outcome\nq1,Will it?,x,0.3,1\n", "column model: it holds agents' answers: make add FILE="),
    ("id,question,outcome\nq1,Will it rain?,perhaps\n", "mine.csv, row 1, answer: 'perhaps' is no "),
    ("id,question,as_of\nq1,Will it?,soon\n", "mine.csv, row 1, as_of: 'soon' is no moment"),
    ("id,question,options\nq1,Who?,Ann|Ann\n", "mine.csv, row 1, options: "),
])  # fmt: skip
def test_a_wrong_file_is_one_sentence_and_nothing_is_kept(text, said, here, tmp_path):
    (tmp_path / "mine.csv").write_text(text)
    with pytest.raises(SystemExit) as ending:
        carry_out(["run", "--agent", "mine", "--set", "mine.csv"])
    assert said in str(ending.value)
    assert not here.asked and not list((tmp_path / "out").rglob("events.csv.gz"))


def test_a_file_that_is_not_there_and_a_name_that_is_taken_are_told(here, tmp_path):
    with pytest.raises(SystemExit, match="there is no file none.csv"):
        carry_out(["run", "--set", "none.csv"])
    (tmp_path / "october-2016.csv").write_text("question\nWill it rain?\n")
    with pytest.raises(
        SystemExit, match="there is a set october-2016 already; give october-2016.csv another name"
    ):
        carry_out(["run", "--set", "october-2016.csv"])


def test_settling_prints_the_score_with_its_interval(here, tmp_path, capsys):
    rows = pd.DataFrame({"id": [f"q{n}" for n in range(12)], "answer": ["Yes", "No", "Yes"] * 4})
    asked = rows.assign(prompt="Will it rain?", options="Yes|No").drop(columns="answer")
    asked.to_csv(tmp_path / "q.csv", index=False)
    rows.to_csv(tmp_path / "answers.csv", index=False)
    carry_out(["week", "--agent", "mine", "--questions", "q.csv", "--out", "own"])
    [found] = carry_out(["week", "--settle", "answers.csv", "--out", "own"])["settled"]
    said = capsys.readouterr().out
    assert "score, a missing answer 0: 0.667 (0.354 to 0.980, n = 12); interval: 95%" in said
    assert found["score"]["low"] == pytest.approx(0.354, abs=1e-3)
