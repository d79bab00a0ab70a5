import numpy as np
import pandas as pd
import pytest

from helpers.agents import paths
from helpers.events import horizons
from helpers.store import parse_json


@pytest.fixture(scope="module")
def events():
    sources = {name: horizons.load_series()[name] for name in ("dengue_weeks", "ecb_weeks", "flight_weeks")}
    posed = horizons.pose_questions(sources, starts=["2023-07-04"])[0]
    return posed.assign(as_of=posed["opens_at"].str.replace("2023-07-04", "2023-07-20")).to_dict("records")


def test_every_drawn_future_is_answered_as_the_question_will_be(events):
    tried = set()
    for event in [event for event in events if event["kind"] != "number"]:
        variables = parse_json(event["variables"])
        names = tuple(sorted(variables["reference"])) if variables["ask"] == "leader" else (variables["entity"],)
        table = horizons.cut_series(event["source_id"], variables["variable"], event["as_of"])[list(names)].dropna()
        known, values = tuple(table.index), table.to_numpy()
        ahead = paths.step_dates("weekly", known[-1], variables["date"])
        drawn = paths.draw_paths("walk", values, np.array(known, dtype="datetime64[D]"), len(ahead))[::7]
        if variables["ask"] == "band":
            drawn[0, -1, 0] = variables["cuts"][0]  # a value on the cut belongs above it
        fast = paths.resolve_paths(variables, names, known, values, ahead, drawn)
        past = pd.DataFrame(values, index=known, columns=names)
        slow = [
            horizons.resolve_question(variables, pd.concat([past, pd.DataFrame(path, index=ahead, columns=names)]))
            for path in drawn
        ]
        assert fast == slow
        tried.add(variables["ask"])
    assert tried == {"change", "threshold", "band", "leader", "peak"}


def test_opening_never_looks_again_and_the_others_do(events):
    events = [event for event in events if parse_json(event["variables"])["date"] > "2023-08-20"]
    later = [event | {"as_of": event["as_of"].replace("2023-07-20", "2023-08-20")} for event in events]

    def ask(name, asked):
        return [paths.forecast_from_paths(name, event)["prediction"] for event in asked]

    assert ask("opening", later) == ask("opening", events) and ask("uniform", later) != ask("walk", later)
    assert ask("walk", later) != ask("walk", events) and ask("walk", events) == ask("walk", events)


def test_counts_never_fall_below_zero_and_probabilities_sum_to_one(events):
    for event in events:
        for name in paths.METHODS:
            said = paths.forecast_from_paths(name, event)["prediction"]
            if event["kind"] == "number":
                assert said["value"] >= 0 or event["source_id"] == "flight_weeks"
            else:
                assert sum(said["distribution"].values()) == pytest.approx(1, abs=1e-4)
                assert 0 < said["probability"] < 1
