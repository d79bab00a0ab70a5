"""The evaluation delay (FutureX 3.4.1): what is posed within it, and what the paper says of it."""

import pandas as pd
import pytest

from daybefore.web.replay import open_world
from helpers.files import read_table
from studies.futurex.evaluation_delay import measure_leads, run_delay


def test_the_kept_sets_are_what_is_made_anew():
    kept, answers = (read_table(name, "A/delay_3", "sets") for name in ("events", "answers"))
    kept = kept[kept["as_of"] == kept["as_of"].min()].merge(answers, on="event_id")
    with open_world() as connect:
        day = kept["as_of"].iloc[0][:10]
        made = run_delay(connect(), "A", [day], 3, seed=20161010, keep_binary=1.0)
    made = kept[["event_id"]].merge(made[0], on="event_id").merge(made[1], on="event_id")
    of_all = {"volatility_class", "level", "metadata"}  # rankings are cut at a whole set's median
    columns = [name for name in kept if name not in of_all]
    assert made[columns].to_csv() == kept[columns].to_csv()


def make_run(last_value, random, name="d1"):
    """Events, no answers and scores of one start day from two agents' scores; synthetic."""
    ids = [f"{name}-{at}" for at in range(len(random))]
    events = pd.DataFrame(
        {"event_id": ids, "kind": "single", "level": 1, "as_of": "2016-10-10T00:00:00+08:00"}
    )
    scores = pd.DataFrame({"event_id": ids, "last_value": last_value, "random": random})
    scores = scores.melt("event_id", var_name="agent_id", value_name="score")
    return events, None, scores.assign(metric="accuracy", is_scored=True)


def test_matched_questions_are_those_that_all_delays_ask():
    runs = {1: make_run([1.0, 1.0, 1.0], [1.0, 0.0, 1.0]), 7: make_run([0.5, 0.0], [0.5, 1.0])}
    leads = measure_leads(runs)
    assert (
        leads["mean"].tolist() == [0.5, -0.5]
        and (leads["n"] == 2).all()
        and leads["low"].isna().all()
    )
    with pytest.raises(ValueError, match="no question in common"):
        measure_leads(runs | {7: make_run([0.5], [0.5], "other")})
