"""The evaluation delay (FutureX 3.4.1): what is posed within it, the noise of a day, the agents' order."""

import io
import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from helpers import store, tables
from helpers.futurex import delay
from helpers.web.replay import open_world


def make_rng():
    return np.random.default_rng(2)


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


BASELINES = ("last_value", "random")
DAYS = ["2016-10-12"]


@pytest.fixture(scope="module")
def crawler():
    with open_world() as connect:
        yield connect()


@pytest.fixture(scope="module")
def three_days(crawler):
    """One start day of the replay world, with a delay of three days."""
    return delay.run_delay(crawler, "A", DAYS, 3, seed=20161010, keep_binary=0.5, names=BASELINES)


def test_every_outcome_is_due_within_the_delay(three_days):
    events, _, _ = three_days
    assert len(events) > 40 and events["event_id"].is_unique
    assert set(events["as_of"]) == {"2016-10-12T00:00:00+08:00"}
    due = pd.to_datetime(events["resolves_at"], utc=True) - pd.to_datetime(events["as_of"], utc=True)
    market = events["source_id"].str.contains("market")
    assert due[~market].max() <= pd.Timedelta(days=3) and due.min() > pd.Timedelta(0)


def test_its_answers_are_found_and_its_agents_scored(three_days):
    events, answers, scores = three_days
    assert (answers["status"] == "ok").sum() > 0.9 * len(events)
    assert set(scores["agent_id"]) == {"last_value", "random"}
    assert scores.loc[scores["metric"] == "accuracy", "event_id"].isin(events["event_id"]).all()
    means = delay.measure_agents(scores, events).set_index("agent_id")["mean"]
    assert means["last_value"] > means["random"]


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


def test_agents_means_and_daily_scatter_by_hand():
    scores, events = make_days({"2016-10-10": {"a": [1, 0, 1, 0]}, "2016-10-11": {"a": [1, 1, 1, 0]}})
    row = delay.measure_agents(scores, events).iloc[0]
    assert row["mean"] == 0.625 and row["n"] == 8
    assert row["sd_days"] == pytest.approx(np.std([0.5, 0.75], ddof=1))
    assert row["se_day"] == pytest.approx(
        np.sqrt((1 / 3 / 4 + 0.25 / 4) / 2)
    )  # variances 1/3 and 1/4, four events each
    assert np.isnan(row[["low", "low_by_event"]].astype(float)).all(), "eight events have no interval"


def test_chance_alone_gives_daily_means_their_expected_scatter():
    rng = np.random.default_rng(9)
    by_day = {f"2016-10-{day}": {"a": (rng.random(50) < 0.4).astype(float)} for day in range(10, 30)}
    row = delay.measure_agents(*make_days(by_day)).iloc[0]
    assert row["sd_days"] == pytest.approx(row["se_day"], rel=0.35)
    assert row["se_day"] == pytest.approx(np.sqrt(0.24 / 50), rel=0.1)


def test_an_order_that_holds_every_day_is_stable_and_chance_is_not():
    rng = np.random.default_rng(3)
    days = [f"2016-10-{day}" for day in range(10, 16)]
    means = {"a": 0.1, "b": 0.5, "c": 0.9}
    firm = {d: {a: (rng.random(80) < m).astype(float) for a, m in means.items()} for d in days}
    loose = {d: {a: (rng.random(80) < 0.5).astype(float) for a in means} for d in days}
    kept = delay.measure_stability(*make_days(firm), make_rng(), 200)
    lost = delay.measure_stability(*make_days(loose), make_rng(), 200)
    assert kept["tau_days"] == 1.0 and kept["tau_halves_low"] == 1.0
    assert lost["tau_days"] < 0.5 and lost["tau_halves_low"] <= lost["tau_halves"] <= lost["tau_halves_high"]
    assert "tau_days_low" not in lost, "the mean over pairs of days has no interval"


def test_tau_between_days_is_the_mean_over_pairs():
    by_day = {"d1": [0.1, 0.2, 0.3], "d2": [0.1, 0.3, 0.2], "d3": [0.3, 0.2, 0.1]}
    scores, events = make_days(
        {d: {a: [v] * 4 for a, v in zip("abc", values, strict=True)} for d, values in by_day.items()}
    )
    pairs = [kendalltau(by_day[x], by_day[y]).statistic for x, y in itertools.combinations(by_day, 2)]
    assert delay.measure_stability(scores, events, make_rng(), 20)["tau_days"] == pytest.approx(np.mean(pairs))


def test_one_day_has_no_tau_between_days():
    stable = delay.measure_stability(*make_days({"d1": {"a": [0.1, 0.2], "b": [0.9, 0.8]}}), make_rng(), 20)
    assert np.isnan(stable["tau_days"])


def test_matched_questions_are_those_that_all_delays_ask():
    near, near_events = make_days({"d1": {"a": [1.0, 1.0, 1.0], "b": [1.0, 0.0, 1.0]}})
    far, far_events = make_days({"d1": {"a": [0.5, 0.0], "b": [0.5, 1.0]}})
    matched = delay.match_questions({1: near, 7: far}, {1: near_events, 7: far_events})
    assert matched["event_id"].nunique() == 2
    table = delay.compare_matched(matched, base=7).set_index(["agent_id", "delay"])
    assert table.loc[("a", 1), "difference"] == 0.75 and table.loc[("b", 1), "difference"] == -0.25
    assert table.loc[("mean", 1), "difference"] == 0.25 and (table["n"] == 2).all()
    assert table.loc[("a", 7), "difference"] == 0
    with pytest.raises(ValueError, match="no question in common"):
        delay.match_questions(
            {1: near, 7: far.assign(event_id="x" + far["event_id"])},
            {1: near_events, 7: far_events.assign(event_id="x" + far_events["event_id"])},
        )


def make_studied():
    """Tables as notebook 16 has them, of two agents and two delays; synthetic."""
    available = pd.DataFrame({"delay": [1, 7], "per_day": [50.0, 70], "wait_mean": [1.2, 5], "wait_max": [2.0, 8]})
    available = available.assign(n_domains=[3, 4], n_sources=[5, 9]).set_index("delay")
    return available, pd.DataFrame({"se_day": [0.06, 0.05]}, index=[1, 7])


def plant_sets(rng, more, harder, n_days=12, n_each=12):
    """Sets of 1 and of 7 days as notebook 16 has them: `more` events a day in the long one, which is `harder` to
    `last_value`; synthetic."""
    runs = {}
    for horizon, n in ((1, n_each), (7, n_each + more)):
        ease = {"last_value": 0.7 - harder * (horizon == 7), "random": 0.3}
        days = [f"2016-10-{10 + day}" for day in range(n_days)]
        by_day = {day: {who: (rng.random(n) < mean).astype(float) for who, mean in ease.items()} for day in days}
        scores, events = make_days(by_day)
        events["source_id"] = [f"s{int(name[-3:])}" for name in events["event_id"]]
        answers = events[["event_id"]].assign(status="ok", acquired_at=events["as_of"])
        runs[horizon] = events, answers, scores
    return runs


@pytest.mark.parametrize(
    ("more", "harder", "verdicts"),
    [
        (6, 0.4, {"agrees"}),
        (-6, -0.3, {"disagrees"}),
        (0, 0.0, {"cannot tell"}),
    ],
)
def test_statements_on_the_delay_reach_each_verdict(more, harder, verdicts):
    rng, said = np.random.default_rng(1), []
    for _ in range(8):
        n_each = 12 if more >= 0 else 18
        table = delay.judge_delays(plant_sets(rng, more, harder, n_each=n_each)).set_index("statement")
        said += [table.loc[name, "verdict"] for name in table.index[[0, 1, 3]]]
    assert np.mean([word in verdicts for word in said]) >= 0.9
