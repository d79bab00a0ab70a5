"""`probabilities = true`: every method asks for probabilities in words, and what is stated stands beside the value."""

import json

import pytest
from builders import make_event, match, reply_with
from test_searching import World
from test_submissions import SAID

from helpers.agents.prompted import constrain_answer, keep_values, read_reply
from helpers.agents.registry import PROMPTED, connect_agent
from helpers.agents.submissions import hold_submission
from helpers.prompts import read_prompt
from helpers.store import dump_json

ENTRY = {"category": "base_model", "framework": "prompt", "model": "openai/mock-1", "probabilities": True}
LINE, FINAL = "Probabilities: A=0.2; B=0.8", r"Final answer: \boxed{B}"
PAIRS = [{"of": "A", "is": 0.2}, {"of": "B", "is": 0.8}]


@pytest.mark.parametrize("method", [name for name in PROMPTED if name != "deep_research"])
def test_every_method_asks_and_reads_probabilities_by_option(method, reach, provider):
    done = '{"name": "final_answer", "arguments": {"answer": "done"}}'
    said = dict.fromkeys(("react", "graph_turns", "search_graph_turns"), ["{}"])
    said |= {"research": ["{}", done], "orchestra": [done]}
    answer = json.dumps(SAID | {"answer": "B", "distribution": PAIRS}) if "graph" in method else f"{LINE}\n{FINAL}"
    provider.answer = reply_with(*said.get(method, []), answer)
    agent = connect_agent(ENTRY | {"method": method}, reach().door)
    prediction = agent["forecast"](make_event(), World())["prediction"]
    assert (prediction["value"], prediction["distribution"]) == ("B", {"A": 0.2, "B": 0.8})
    assert prediction["probability"] == 0.8
    asked = dump_json(provider.asked[-1]["messages"])
    wanted = "submission_probabilities" if "graph" in method else "probabilities_single"
    assert dump_json(read_prompt(wanted).strip())[1:-1] in asked
    plain = connect_agent(ENTRY | {"method": method, "probabilities": False}, agent["forecast"].args[1].door)
    assert (plain["prompt_sha256"], plain["params"]) != (agent["prompt_sha256"], agent["params"])
    assert "probabilities" not in plain["params"], "agents that are not asked keep their runs"


def test_a_local_models_grammar_holds_the_line_and_its_reply_is_read(reach):
    client = reach(is_local=True)
    for kind, options, reply in (
        ("single", '{"A":"Yes","B":"No"}', f"{LINE}\n{FINAL}"),
        ("number", None, "Quantiles: 0.05=-1; 0.25=2; 0.5=3; 0.75=4; 0.95=8\nFinal answer: \\boxed{3}"),
    ):
        event = make_event(kind, options) | {"probabilities": True}
        assert match(constrain_answer(client, event)["grammar"], reply)
        assert read_reply(event, {"content": reply, "logprobs": None})["distribution"]
    event = make_event() | {"probabilities": True}
    submission = json.dumps(SAID | {"sources": [], "distribution": PAIRS}, separators=(",", ":"))
    assert match(hold_submission(client, event, 0)["grammar"], submission)


def test_of_a_public_question_the_line_is_kept_and_no_word(reach, provider):
    event = make_event("single", probabilities=True)
    request = {"model": "m", "messages": [], "sample": 0, "options": {}}
    row = {"key": "1f", "status": "ok", "content": f"Since it rains.\n{LINE}\n{FINAL}", "request": request}
    kept = keep_values(event, row)
    assert "rains" not in dump_json(kept) and kept["read"] == read_reply(event, row)
