"""The leak audit on planted rows: each sign by itself, and rows that only look like one."""

import pandas as pd
import pytest
from builders import read_cases

from daybefore.scoring.leak_audit import flag_rows

AS_OF = "2026-03-02T00:00:00+08:00"
PAGE = "Harbour (https://news.example/a), published 2026-02-20:\n{}"
READ = "by 2026-03-02T{}+08:00, when it was read"
EVENT = {"event_id": "e", "kind": "number", "options": None}
PROMPT = (
    "At what level will the harbour index close on 2026-03-09? On 2026-02-27 it stood at 1500.25."
)


def audit(shown=(), reply="", rationale=None, value="1523.4", kind="number"):
    """Return {sign: found} of one row whose tools showed some texts."""
    steps = [{"step_type": "tool", "content": text} for text in shown] + [
        {"step_type": "model", "content": "2027-01-01"}
    ]
    key = {"event_id": "e", "sample": 0}
    traces = pd.DataFrame([key | {"step": n} | step for n, step in enumerate(steps)])
    events = pd.DataFrame([EVENT | {"prompt": PROMPT, "kind": kind}])
    predictions = pd.DataFrame([key | {"as_of": AS_OF, "rationale": rationale}])
    answers = pd.DataFrame([{"event_id": "e", "value": value}])
    rows = flag_rows(events, answers, predictions, pd.DataFrame([key | {"reply": reply}]), traces)
    return dict(zip(rows["sign"], rows["found"], strict=True))


@pytest.mark.parametrize("case", read_cases(__file__, "leaks"))
def test_each_sign_is_found_and_what_only_looks_like_one_is_not(case):
    assert audit(**case["given"]) == case["found"]
