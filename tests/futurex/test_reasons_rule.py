"""A rule's reasons are given for traces of the events at hand only."""

import pandas as pd

from studies.futurex.reasons import apply_rule


def test_a_trace_of_an_event_that_was_left_out_has_no_reason():
    events = pd.DataFrame({"event_id": ["e1"], "options": [None], "entity_id": ["Boston"], "variables": ["{}"]})
    events["resolution_criteria"] = "the page (https://series.example/boston)"
    steps = [(run, event, "answer", '"A"') for run, event in (("r", "e1"), ("r", "e2"))]
    traces = pd.DataFrame(steps, columns=["run_id", "event_id", "step_type", "content"])
    traces = traces.assign(tool=None, arguments=None, sample=0, step=0, actor="agent", page_ids=None, error=None)
    found = apply_rule(traces, events, {"r": "mine"})
    assert found[["event_id", "agent_id"]].to_numpy().tolist() == [["e1", "mine"]]
