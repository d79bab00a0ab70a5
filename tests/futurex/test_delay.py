"""The evaluation delay (FutureX 3.4.1): what is posed within it, and what the paper says of it."""

import io

import pandas as pd
import pytest

from helpers import store, tables
from helpers.futurex import delay
from helpers.web.replay import open_world


def make_days(by_day):
    """Scores and events from {day: {agent: [score, ...]}}; synthetic."""
    scores, events = [], []
    for day, agents in by_day.items():
        for agent, values in agents.items():
            for at, value in enumerate(values):
                event_id = f"{day}-{at:03d}"
                events.append((event_id, "single", 1, f"{day}T00:00:00+08:00"))
                row = {"run_id": agent, "agent_id": agent, "sample": 0, "metric": "accuracy", "is_scored": True}
                scores.append(row | {"event_id": event_id, "score": value, "score_imputed": value})
    columns = ["event_id", "kind", "level", "as_of"]
    return pd.DataFrame(scores), pd.DataFrame(events, columns=columns).drop_duplicates("event_id")


@pytest.fixture(scope="module")
def crawler():
    with open_world() as connect:
        yield connect()


def write_cells(name, table):
    """Return a table as it is written and read: equal tables are equal text."""
    text = tables.check_table(name, table).to_csv(index=False, lineterminator="\n")
    return pd.read_csv(io.StringIO(text)).to_csv(index=False)


def test_the_kept_sets_are_what_is_made_anew(crawler):
    kept = [store.read_table(name, "A/delay_3", "sets") for name in delay.SET]
    day = kept[0]["as_of"].str[:10].min()
    first = [table[table["event_id"].isin(kept[0].loc[kept[0]["as_of"].str[:10] == day, "event_id"])] for table in kept]
    made = delay.run_delay(crawler, "A", [day], 3, seed=20161010, keep_binary=1.0)
    of_all = ["volatility_class", "level", "metadata"]  # rankings are cut at the median of a whole set
    made = [table[table["event_id"].isin(first[0]["event_id"])] for table in made]
    first[0], made[0] = (table.drop(columns=of_all) for table in (first[0], made[0]))
    for name, old, new in zip(delay.SET[:2], first, made, strict=False):
        assert write_cells(name, old) == write_cells(name, new)


def test_matched_questions_are_those_that_all_delays_ask():
    near, near_events = make_days({"d1": {"a": [1.0, 1.0, 1.0], "b": [1.0, 0.0, 1.0]}})
    far, far_events = make_days({"d1": {"a": [0.5, 0.0], "b": [0.5, 1.0]}})
    matched = delay.match_questions({1: near, 7: far}, {1: near_events, 7: far_events})
    assert matched["event_id"].nunique() == 2
    runs = {1: (near_events, None, near), 7: (far_events, None, far)}
    names = {"a": "last_value", "b": "random"}
    leads = delay.measure_leads(
        {d: (e, n, t.assign(agent_id=t["agent_id"].map(names))) for d, (e, n, t) in runs.items()}
    )
    assert leads["mean"].tolist() == [0.5, -0.5] and (leads["n"] == 2).all() and leads["low"].isna().all()
    with pytest.raises(ValueError, match="no question in common"):
        delay.match_questions(
            {1: near, 7: far.assign(event_id="x" + far["event_id"])},
            {1: near_events, 7: far_events.assign(event_id="x" + far_events["event_id"])},
        )
