"""A run by four protocols: the page's numbers are those of the rooms that compute them, and no cell
is blank."""

import re
from html import unescape

import pandas as pd
import pytest

from daybefore.commands import print_tables, report
from daybefore.commands.leaderboard import tabulate_scores
from daybefore.commands.result_files import count_missing
from daybefore.commands.run import main as ask
from daybefore.scoring.calibration import list_chances
from daybefore.scoring.run_scores import load_scores
from helpers.scores import select_headline


@pytest.mark.parametrize(
    ("agent", "name"), [("qwen_react", "october-2016"), ("qwen_search_graph", "long")]
)
def test_a_recorded_run_has_the_numbers_of_load_scores(agent, name, tmp_path):
    tables = {one["title"]: one["table"] for one in report.main(agent, out=tmp_path)["sections"]}
    events, _, predictions, scores = load_scores(name, agent)
    table = tabulate_scores(scores, events).query("agent_id == @agent and metric == 'score'")
    rows = {row["score"]: row["mean (95%)"] for row in tables["FutureX"]}
    for row in table[table["group"].isin(["all", "level"])].to_dict("records"):
        assert rows[f"{row['group']} {row['name']}".strip()] == print_tables.write_mean(row)
    own = select_headline(scores, events).query("agent_id == @agent")["score_imputed"]
    rate = tables["LiveAgentBench"][0]["mean (95%)"]
    assert float(rate.split()[0]) == round(own.eq(1).mean(), 3)
    assert (tables["WorldReasoner"] is None) == (name != "long")


def test_a_local_run_is_told_whole_and_the_page_holds_what_the_markdown_says(out):
    ask(["last_value"], "A", 8)
    sections = report.main("last_value")["sections"]
    assert sections[0]["table"][1]["n"].endswith(" of 8")
    told = "Cost of an answered question: not known, as replies have no price."
    assert told in sections[2]["notes"]
    (page,) = out.rglob("report/*/index.html")
    text = page.read_text()
    assert "://" not in text and "<script" not in text
    for one in sections:
        assert one["notes"] and all(note in unescape(text) for note in one["notes"])
        cells = {str(cell).strip() for row in one["table"] or [] for cell in row.values()}
        assert not cells & {"", "-", "nan", "None"}
    assert not re.search(r"\bnan\b", (page.parent / "report.md").read_text())


def test_samples_of_an_event_are_one_probability():
    events = pd.DataFrame({"event_id": ["E1"], "kind": "single", "options": '{"A":"x","B":"y"}'})
    key = {"run_id": "m-A-1", "event_id": "E1", "agent_id": "m"}
    said = [key | {"sample": at, "distribution": f'{{"A":{p}}}'} for at, p in enumerate((0.5, 0.7))]
    answers = pd.DataFrame({"event_id": ["E1"], "value": '"A"'})
    chances = list_chances(events, answers, pd.DataFrame(said))
    assert chances[["said", "hit"]].to_numpy().tolist() == [[0.6, 1.0]]


def test_a_reply_cut_short_is_told_apart():
    lost = pd.DataFrame({"run_id": "m-A-1", "event_id": "E1", "sample": [0, 1]})
    lost = lost.assign(status="unparsable", reason="no answer")
    replies = lost.assign(reply="Let me think", finish_reason=["length", "stop"])
    told = {row["reason"]: row["n"] for row in count_missing(lost, replies)}
    assert told == {"no answer; cut at max_tokens, with more it is a new run": 1, "no answer": 1}


def test_agreement_counts_questions_whose_samples_say_the_same():
    told = {"event_id": list("aabb"), "sample": [0, 1, 0, 1], "value": ['"A"', '"A"', '"A"', None]}
    assert "0.500 (0.095 to 0.905), n = 2" in report.tell_samples(pd.DataFrame(told))[0]
