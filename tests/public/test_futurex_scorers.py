"""Agents ranked by FutureX's two scorers."""

import pandas as pd
import pytest
from builders import make_event

from helpers.files import dump_json
from helpers.tables import check_table
from studies.futurex.scorers import compare_scorers, rank_scorers


def test_agents_are_ranked_on_what_both_scorers_score():
    events = pd.DataFrame(
        [make_event(event_id=f"e{n}", kind="ranking", level=3, options=None) for n in range(3)]
    )
    rows = [{"event_id": f"e{n}", "value": dump_json(["a", "b"]), "status": "ok"} for n in range(3)]
    answers = check_table("answers", pd.DataFrame(rows))
    said = [("near", f"e{n}", ["b", "a"]) for n in range(3)]  # 0.8 three times by the paper
    said += [("sharp", "e0", ["a", "b"]), ("sharp", "e1", ["x", "y"]), ("sharp", "e2", ["x", "y"])]
    predictions = pd.DataFrame(
        [
            {
                "run_id": agent,
                "agent_id": agent,
                "event_id": event,
                "sample": 0,
                "value": dump_json(value),
            }
            for agent, event, value in said
        ]
    ).assign(status="ok")
    table = rank_scorers(compare_scorers(predictions, answers, events)).set_index("agent_id")
    assert (table.loc["near", "rank_paper"], table.loc["near", "rank_code"]) == (1, 2)
    assert table.loc["near", "paper"] == pytest.approx(0.8) and table.loc[
        "sharp", "code"
    ] == pytest.approx(1 / 3)
