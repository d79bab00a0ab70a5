"""Rules on traces, planted runs and the judge of runs: each label can be given, and can be missed."""

import json

import pytest
from public.proof_of_time_logs import list_steps

from daybefore.models.judges import Verdict
from studies.proof_of_time import rubrics
from studies.proof_of_time.failures import label_run, read_run
from studies.proof_of_time.rubrics import UNLABELLED


def make_steps(calls=(), turns=(), answer=None, prompt="Which is first? A or B"):
    steps = [{"step_type": "prompt", "content": prompt}]
    steps += [{"step_type": "model", "content": turn} for turn in turns]
    for asked, result in calls:
        arguments = json.dumps({"script": asked})
        steps.append({"step_type": "tool", "tool": "bash", "arguments": arguments, "content": result, "error": None})
    return [*steps, {"step_type": "answer", "content": answer}]


GOOD = [(f"grep word{name} x.csv", "a row") for name in "abc"]


@pytest.mark.parametrize(
    ("steps", "label", "bottleneck"),
    [
        (make_steps(GOOD, ["I weigh it."], "A"), "reasoning", "reasoning"),
        (make_steps([("grep u x.csv", ""), ("grep v x.csv", "")], [], "A"), "retrieval", "retrieval"),
        (make_steps([("ls", "x.csv")], ["Well."], "A"), "stopped_early", "retrieval"),
        (make_steps(GOOD, [], "A or B, hard to say"), "format", "other"),
        (make_steps(GOOD, [], "a summary of all the texts"), "misunderstanding", "task"),
        (make_steps(GOOD, ["The table says 77."], "A"), "misread", "parsing"),
        (make_steps([], [], "A"), UNLABELLED, UNLABELLED),
        (make_steps([("python a", "ModuleNotFoundError: x")] * 2, [], "A"), "retrieval", "environment"),
        (make_steps([("grep q a", "")] * 2, ["Two of the same name."], "A"), "retrieval", "entity"),
    ],
)
def test_a_wrong_run_gets_its_label(steps, label, bottleneck):
    made = label_run(steps, "ok", 0, ("A", "B"), "B")
    assert (made["stratum"], made["label"], made["bottleneck"]) == ("wrong", label, bottleneck)


def test_a_masked_case_holds_no_text_of_the_run():
    secret = "zebra"
    steps = make_steps([(f"grep -n '{secret}' data/p.csv", f"{secret} row")], [f"I like the {secret}."], secret, secret)
    masked = rubrics.write_case(list_steps(read_run(steps)), "wrong")
    assert secret not in masked and "bash: grep csv -> 9 letters" in masked


def test_a_long_run_is_shown_without_its_middle():
    shown = rubrics.write_case([f"step {at}" for at in range(20)], "correct")
    assert "step 7\n... 4 more ...\nstep 12" in shown


def test_a_judges_verdict_becomes_a_label_a_blank_or_unlabelled():
    value = dict.fromkeys(rubrics.RUBRICS["wrong"], "x") | {"label": "misread", "bottleneck": "parsing"}
    replies = iter([Verdict("ok", value), Verdict("missing", reason="none"), Verdict("unparsable", reason="no end")])
    rows = rubrics.judge_runs(lambda *_: next(replies), [(str(at), "wrong", "p") for at in range(3)], "m")
    assert rows["label"].fillna("").tolist() == ["misread", "", UNLABELLED]
    assert rows["bottleneck"][0] == "parsing"
