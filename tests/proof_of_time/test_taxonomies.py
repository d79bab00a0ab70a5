"""The judge of runs: what a case shows it, and what becomes of its verdict."""

import json

from public.proof_of_time_logs import list_calls

from daybefore.models.judges import Verdict
from studies.proof_of_time import rubrics
from studies.proof_of_time.rubrics import UNLABELLED


def test_a_masked_case_holds_no_text_of_the_run():
    arguments = json.dumps({"script": "grep -n 'zebra' data/p.csv"})
    call = {
        "step_type": "tool",
        "tool": "bash",
        "arguments": arguments,
        "content": "zebra row",
        "error": None,
    }
    said = {"step_type": "model", "content": "I like the zebra."}
    masked = rubrics.write_case(list_calls([said, call]), "wrong")
    assert "zebra" not in masked and "bash: grep csv -> 9 letters" in masked


def test_a_long_run_is_shown_without_its_middle():
    shown = rubrics.write_case([f"step {at}" for at in range(20)], "correct")
    assert "step 7\n... 4 more ...\nstep 12" in shown


def test_a_judges_verdict_becomes_a_label_a_blank_or_unlabelled():
    value = dict.fromkeys(rubrics.RUBRICS["wrong"], "x") | {
        "label": "misread",
        "bottleneck": "parsing",
    }
    replies = iter(
        [
            Verdict("ok", value),
            Verdict("missing", reason="none"),
            Verdict("unparsable", reason="no end"),
        ]
    )
    rows = rubrics.judge_runs(
        lambda *_: next(replies), [(str(at), "wrong", "p") for at in range(3)], "m"
    )
    assert rows["label"].fillna("").tolist() == ["misread", "", UNLABELLED]
    assert rows["bottleneck"][0] == "parsing"
