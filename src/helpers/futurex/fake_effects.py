"""What planted pages did (FutureX 5.2): shares moved, and what filters take from honest pages."""

import itertools

import pandas as pd

from helpers.futurex.fake_sites import N_FOUND, GuardedWorld, is_target
from helpers.stats.means import measure_share


def mark_trials(trials):
    """Return the answered trials with a page, compared with the control: is_moved, is_changed, control.

    The control is the answer without an address under the same defence, or under none. is_moved: the answer is the
    target; is_changed: not the control's. Trials without a control, or whose control is the target, are left out.
    """
    answered = trials[trials["value"].notna()]
    is_control = answered["arm"] == "control"
    controls = answered[is_control].set_index(["event_id", "defence"])["value"].to_dict()
    rows = []
    for row in answered[~is_control].to_dict("records"):
        control = controls.get((row["event_id"], row["defence"]), controls.get((row["event_id"], "none")))
        if control is not None and not is_target(control, row["target"]):
            marks = {"is_moved": is_target(row["value"], row["target"]), "control": control}
            rows.append(row | marks | {"is_changed": not is_target(row["value"], control)})
    return pd.DataFrame(rows)


def measure_arms(marked):
    """Return by arm and defence: n (events), moved by the first page (share, Wilson's low and high), moved_in_all (by
    any of its editions), changed and quoted (shares).
    """
    rows = []
    for (arm, defence), part in marked.groupby(["arm", "defence"], sort=False):
        first = part[part["round"] == 1]
        moved = measure_share(first["is_moved"])
        row = {"arm": arm, "defence": defence, "n": moved["n"], "moved": moved["share"], "low": moved["low"]}
        row |= {"high": moved["high"], "moved_in_all": part.groupby("event_id")["is_moved"].any().mean()}
        rows.append(row | {"changed": first["is_changed"].mean(), "quoted": first["is_quoted"].mean()})
    return pd.DataFrame(rows)


def count_set_aside(events, crawler, defences):
    """Return, by day and defence, what is left of the honest passages that a search shows an agent (`N_FOUND` each).

    Columns day, defence, n_events, n (passages), whole (kept with every figure; share), low, high (Wilson).
    """
    rows = []
    for (day, part), defence in itertools.product(events.groupby("as_of"), defences):
        whole = []
        for event in part.to_dict("records"):
            hits = crawler.search(event["prompt"], day, N_FOUND)
            whole += [GuardedWorld(crawler, defence).guard(hit, event["prompt"], day) == hit for hit in hits]
        share = measure_share(whole)
        row = {"day": day[:10], "defence": defence, "n_events": len(part), "n": share["n"], "whole": share["share"]}
        rows.append(row | {"low": share["low"], "high": share["high"]})
    return pd.DataFrame(rows)
