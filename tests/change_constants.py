"""Compute six results with the papers' constants as they are, then with one after the other changed (not a test).

python change_constants.py '{"carry_days": ["7", "9"]}' in a folder with src/helpers and data/papers, copies of the
repository's: data/papers/futurex.toml is changed there. Writes {"": results, changed name: results} as JSON.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd


class Silent:
    """A crawler whose sites are all down."""

    def observe(self, source_id, as_of):
        """Answer with a failure."""
        from helpers.web.pages import GatewayError

        raise GatewayError("unreachable", "nobody answers")


def list_attempts():
    """Return the hours at which an answer is looked for that never comes."""
    from helpers.scoring.answers import acquire_answers

    event = {"event_id": "e", "source_id": "s", "variables": "{}"}
    event |= {"resolves_at": "2016-10-11T00:00:00+08:00", "answer_due_at": "2016-10-12T23:00:00+08:00"}
    return sorted(set(acquire_answers(pd.DataFrame([event]), Silent())[1]["attempted_at"].str[11:16]))


def pose_date():
    """Return the date that a daily template asks for by default, the last that is published within the window."""
    from helpers.events.pose import Deck, pose_event
    from helpers.web.sources import load_sources

    source = load_sources()["btc_transactions"]
    template = next(template for template in source.templates if template["id"] == "btc_count")
    days = [str(day.date()) for day in pd.date_range("2016-09-20", "2016-10-08")]
    rows = [(day, "Bitcoin", template["variable"], 3.0 + at % 4) for at, day in enumerate(days)]
    seen = pd.DataFrame(rows, columns=["occurred_at", "entity", "variable", "value"])
    deck = Deck(np.random.default_rng(0))
    return pose_event(template, source, seen, "2016-10-10T00:00:00+08:00", deck)["variables"]["date"]


def compute():
    """Return six results, each by the name of the constant it rests on."""
    from helpers.events.filters import JUDGES, screen_event
    from helpers.events.levels import assign_level, classify_volatility, measure_number_volatility

    judges, rule = JUDGES["harmful"]
    judges = judges | {"nobody minds": lambda event: (False, "")}
    event = {"event_id": "e", "prompt": "Will a massacre occur?", "options": {}}
    known = pd.DataFrame({"kind": ["number"], "volatility": [0.1]})
    return {
        "crawl_hours": list_attempts(),
        "harmful_rule": screen_event(event, "harmful", judges, rule)["is_dropped"],
        "level1_below_options": assign_level("single", 3, ""),
        "prediction_window_days": pose_date(),
        "volatility_cut_number": classify_volatility(known)[0].tolist(),
        "volatility_values": measure_number_volatility([1.0, 9.0, 2.0, 4.0, 4.0, 5.0, 7.0]),
    }


def change_each(changes, path=Path("data/papers/futurex.toml")):
    """Return the results as they are, and those with each constant changed alone: {name: (old, new)}, as texts."""
    text, found = path.read_text(encoding="utf-8"), {"": compute()}
    for name, (old, new) in changes.items():
        entry = f"\n{name} = {{ value = {old},"
        assert text.count(entry) == 1, name
        path.write_text(text.replace(entry, entry.replace(old, new)), encoding="utf-8")
        for module in [module for module in sys.modules if module.split(".")[0] == "helpers"]:
            del sys.modules[module]  # read at import
        found[name] = compute()
    return found


if __name__ == "__main__":
    print(json.dumps(change_each(json.loads(sys.argv[1]))))
