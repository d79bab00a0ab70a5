"""Evidence: what an agent was shown is accessed, what its reply names is cited; both with one role a page."""

import pandas as pd
import pytest

from helpers.agents.evidence import list_evidence
from helpers.store import dump_json

KEY = {"run_id": "r-A", "event_id": "e1", "sample": 0}
PAGES = pd.DataFrame({"page_id": ["p1", "p2"], "url": ["http://oil.test/prices", "http://oil.test/prices/old"]})


def make_evidence(steps, reply=None, source_ids=None, pages=PAGES):
    """Return the evidence of one prediction, by page: role, is_accessed, is_cited. `steps`: (tool, page ids)."""
    traces = [KEY | {"step": n, "tool": tool, "page_ids": dump_json(ids)} for n, (tool, ids) in enumerate(steps)]
    columns = [*KEY, "step", "tool", "page_ids"]
    made = pd.DataFrame([KEY | {"source_ids": dump_json(source_ids)}])
    table = list_evidence(pd.DataFrame(traces, columns=columns), pd.DataFrame([KEY | {"reply": reply}]), made, pages)
    assert (table["owner_type"] == "prediction").all() and (table["owner_id"] == "r-A|e1|0").all()
    return {row.page_id: (row.role, row.is_accessed, row.is_cited) for row in table.itertuples()}


def test_a_page_has_the_closest_role_that_a_step_gave_it():
    steps = [("search", ["p1", "p2"]), ("open", ["p1"]), ("search", ["p1"]), ("answer", None)]
    assert make_evidence(steps) == {"p1": ("opened", True, False), "p2": ("found", True, False)}
    assert make_evidence([("observe", ["p1"])])["p1"][0] == "observed"


@pytest.mark.parametrize(
    ("reply", "cited"),
    [
        ("As p1 shows. Final answer: 5", {"p1"}),
        ("See http://oil.test/prices. Final answer: 5", {"p1"}),
        ("See (http://oil.test/prices/old), Final answer: 5", {"p2"}),
        ('{"source_ids":["p2"],"value":5}', {"p2"}),
        ("p11 and http://oil.test/price", set()),
        ("Final answer: 5", set()),
        (None, set()),
    ],
)
def test_what_the_reply_names_is_cited(reply, cited):
    found = make_evidence([("search", ["p1", "p2"])], reply)
    assert {page for page, (_, _, is_cited) in found.items() if is_cited} == cited


def test_a_page_that_only_the_prediction_names_was_not_accessed():
    assert make_evidence([("search", ["p1"])], source_ids=["p1", "p9"]) == {
        "p1": ("found", True, False),
        "p9": ("named", False, True),
    }
