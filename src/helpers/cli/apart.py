"""Rows of a run that are told apart: flagged by the leak audit, or resolved before its model was old enough.

The headline stands twice in results.json and results.csv, with and without them (groups "unflagged" and "released").
"""

import pandas as pd

from helpers.cli.report import tabulate_scores, write_interval
from helpers.futurex.past import read_window
from helpers.scoring.leaks import GATE_DAYS, OPEN_SEARCH, flag_rows, list_released
from helpers.scoring.scores import score_predictions
from helpers.store import parse_json

KEY = ["event_id", "sample"]


def tell_apart(asked, run, predictions, replies, traces):
    """Return (rows of `tabulate_scores`, facts of results.json, sentences) on what is told apart of a run.

    `run` is its row of the table runs. All are empty for an agent that did not search the open web and whose entry
    names no `model_released_date`, and where there are no answers.
    """
    released, agent = (parse_json(run["params"]) or {}).get("model_released_date"), run["agent_id"]
    searched = OPEN_SEARCH.search(run["condition"] if isinstance(run["condition"], str) else "")
    if not (released or searched) or predictions.empty:
        return [], {}, []
    try:
        answers = read_window("answers", asked.window)
    except (FileNotFoundError, ValueError):
        return [], {}, []
    tables, facts, told = [], {}, []
    if searched:
        table, facts["leaks"], said = audit_leaks(asked.events, answers, predictions, replies, traces)
        tables, told = [table], [said]
    if released:
        kept = predictions[predictions["event_id"].isin(list_released(asked.events, released))]
        tables.append(tabulate_kept(asked.events, kept, answers, "released"))
        facts["release"] = {"date": released, "n": len(predictions), "n_kept": len(kept)}
        said = f"{len(kept)} of {len(predictions)} rows are resolved {GATE_DAYS} days or more after its model's release"
        told.append(f"{said} ({released}); the others it may have read")
    pairs = zip(told, tables, strict=True)
    return tables, facts, [f"{agent}: {said}; mean without the others {describe_mean(table)}" for said, table in pairs]


def audit_leaks(events, answers, predictions, replies, traces):
    """Return (means without the flagged rows, facts of results.json, a sentence) of one run's leak audit."""
    flagged = flag_rows(events, answers, predictions, replies, traces)
    is_kept = ~pd.MultiIndex.from_frame(predictions[KEY]).isin(pd.MultiIndex.from_frame(flagged[KEY]))
    signs, n_flagged = flagged.groupby("sign").size().to_dict(), int((~is_kept).sum())
    facts = {"n": len(predictions), "n_flagged": n_flagged, "signs": signs, "rows": flagged.to_dict("records")}
    said = ", ".join(f"{n} by {sign}" for sign, n in signs.items()) or "none"
    table = tabulate_kept(events, predictions[is_kept], answers, "unflagged")
    return table, facts, f"{n_flagged} of {len(predictions)} rows flagged as possible leaks ({said})"


def tabulate_kept(events, predictions, answers, group):
    """Return the means over some predictions as rows of `tabulate_scores`, under a group of their own."""
    try:
        table = tabulate_scores(score_predictions(predictions, answers, events), events)
    except ValueError:  # nothing is left that can be scored
        return pd.DataFrame(columns=["metric", "group", "name"])
    table = table[table["group"].isin(["all", "overall"])]
    return table.assign(name=table["group"], group=group)


def describe_mean(table):
    """Return the mean of what was answered with its interval, "-" without any."""
    row = table[table["metric"].eq("score") & table["name"].eq("all")].head(1).to_dict("records")
    return write_interval(*(row[0][name] for name in ("mean", "low", "high", "n"))) if row else "-"
