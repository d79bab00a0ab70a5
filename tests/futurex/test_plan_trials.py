"""The short agent under chosen plans: what a given plan says, and what is counted of trials."""

import json
import re

import pytest
from builders import scan

from daybefore.models.recordings import Recordings
from helpers.agreement import READINGS
from helpers.files import read_table
from studies.futurex.plan_scores import RUBRICS
from studies.futurex.plan_trials import Planner, choose_events, open_bench, run_planners


def play(asked):
    """Answer as a planner, a searcher, a forecaster or a judge, by what is asked (synthetic
    words)."""
    said = asked["messages"][-1]["content"]
    if named := re.search(r"grade one of them alone: (\w+)", said):
        score = {"comprehensiveness": 3, "source_reliability": 5, "plan_actionability": 8}[named[1]]
        return {
            "content": json.dumps(
                {"reason": f"about {named[1]}", "score": score + asked.get("seed", 0)}
            )
        }
    if "Write the plan" in said:
        return {"content": f"1. {asked['model']} looks at the page.\n2. It answers."}
    if "has the key query" in said:
        return {"content": '{"query": "exchange rate"}'}
    return {"content": "Final answer: \\boxed{A}"}


@pytest.fixture
def study(provider, monkeypatch, sources, world, out):
    """A function that runs planners and judge of one's own on two events; everything is written
    under a folder."""
    monkeypatch.setenv("OPENAI_API_BASE", provider.address)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-plans")
    provider.answer, events = play, choose_events(read_table("events", "A"), 2)
    planners = {"own": Planner(), "yours": Planner("openai/planner-1")}

    def run(live=True, **counts):
        others = ["openai/judge-1", "openai/planner-1"]
        with open_bench("openai/agent-1", others=others, live=live, run_id="mock") as clients:
            return run_planners(
                clients,
                "openai/agent-1",
                "openai/judge-1",
                events,
                sources,
                world(),
                planners,
                **counts,
            )

    return run


def test_a_planner_and_a_judge_of_ones_own_run_and_replay(study, provider, tmp_path):
    trials, plans, judgements = study(n_again=1)
    assert trials["arm"].tolist() == ["own", "yours"] * 2 and trials["status"].eq("ok").all()
    assert trials["n_tool_calls"].eq(1).all() and trials["manager_think_length"].eq(8).all(), (
        "as the provider counts them"
    )
    wrote = dict(zip(plans["planner"], plans["plan"], strict=True))
    assert wrote["own"].startswith("1. model-2 looks") and "model-3" in wrote["yours"], (
        "names are hidden"
    )
    assert not plans["plan_id"].str.contains("own|yours|A-1").any() and plans["plan_id"].is_unique
    counts = judgements.groupby("reading").size()
    assert counts[READINGS[0]] == 2 * 2 * 3 and counts[READINGS[1]] == counts[READINGS[2]] == 2 * 3
    expected = {"comprehensiveness": 3, "source_reliability": 5, "plan_actionability": 8}
    first = judgements[judgements["reading"] == READINGS[0]]
    assert first.groupby("rubric")["score"].unique().map(list).to_dict() == {
        k: [v] for k, v in expected.items()
    }
    n_asked = len(provider.asked)
    replayed = study(live=False, n_again=1)
    assert all(
        new.equals(old) for new, old in zip(replayed, (trials, plans, judgements), strict=True)
    )
    assert len(provider.asked) == n_asked == 4 * 3 + 12 + 12
    assert {row["request"]["model"] for row in Recordings("mock").rows.values()} == {
        "openai/agent-1",
        "openai/planner-1",
        "openai/judge-1",
    }
    assert not scan(tmp_path, "sk-canary-plans")
    calls = [asked["messages"][-1]["content"] for asked in provider.asked]
    calls = [text for text in calls if "grade one of them alone" in text]
    shown = [re.findall(r"^- (\w+):", text, re.MULTILINE) for text in calls]
    assert all(sorted(order) == sorted(RUBRICS) for order in shown)
    for at in range(0, 18, 9):  # the first event's two plans: nine calls each
        assert shown[at] == shown[at + 2] == shown[at + 6] and shown[at + 3] == shown[at][::-1]
    assert len({tuple(shown[at]) for at in (0, 9, 18, 21)}) > 1, "not one order for all plans"
