"""The evaluation delay (FutureX 3.4.1): what is posed within it, and what the paper says of it."""

import io

import pandas as pd
import pytest

from daybefore.web.replay import open_world
from helpers import files, tables
from studies.futurex import evaluation_delay as delay


@pytest.fixture(scope="module")
def crawler():
    with open_world() as connect:
        yield connect()


def write_cells(name, table):
    """Return a table as it is written and read: equal tables are equal text."""
    text = tables.check_table(name, table).to_csv(index=False, lineterminator="\n")
    return pd.read_csv(io.StringIO(text)).to_csv(index=False)


def test_the_kept_sets_are_what_is_made_anew(crawler):
    kept = [files.read_table(name, "A/delay_3", "sets") for name in delay.SET]
    day = kept[0]["as_of"].str[:10].min()
    first = [
        table[table["event_id"].isin(kept[0].loc[kept[0]["as_of"].str[:10] == day, "event_id"])]
        for table in kept
    ]
    made = delay.run_delay(crawler, "A", [day], 3, seed=20161010, keep_binary=1.0)
    of_all = [
        "volatility_class",
        "level",
        "metadata",
    ]  # rankings are cut at the median of a whole set
    made = [table[table["event_id"].isin(first[0]["event_id"])] for table in made]
    first[0], made[0] = (table.drop(columns=of_all) for table in (first[0], made[0]))
    for name, old, new in zip(delay.SET[:2], first, made, strict=False):
        assert write_cells(name, old) == write_cells(name, new)


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
    leads = delay.measure_leads(runs)
    assert (
        leads["mean"].tolist() == [0.5, -0.5]
        and (leads["n"] == 2).all()
        and leads["low"].isna().all()
    )
    with pytest.raises(ValueError, match="no question in common"):
        delay.measure_leads(runs | {7: make_run([0.5], [0.5], "other")})
