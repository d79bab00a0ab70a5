"""What views on questions add up to: how many each stage keeps, how the judges fared, and the tables of tasks kept."""

import pandas as pd

from helpers.liveagentbench.asks import write_truth
from helpers.liveagentbench.cases import CONTROLS, JUDGES, STAGES, rate_level
from helpers.stats.means import measure_share


def run_funnel(views, stages=STAGES):
    """Return how many questions each stage keeps, by judge: judge, stage, n_in, n_out, n_unknown, reasons.

    A question without a view (None) stops there and is counted as unknown; reasons are the notes of those dropped.
    """
    rows = []
    for judge, part in views.groupby("judge", sort=False):
        left = set(part["question_id"])
        for stage in stages:
            here = part[(part["stage"] == stage) & part["question_id"].isin(left)]
            kept = here[here["is_kept"].eq(True)]
            dropped = here[here["is_kept"].eq(False)]
            reasons = "; ".join(f"{note} ({n})" for note, n in dropped["note"].value_counts(sort=False).items())
            row = {"judge": judge, "stage": stage, "n_in": len(left), "n_out": len(kept)}
            rows.append(row | {"n_unknown": len(left) - len(kept) - len(dropped), "reasons": reasons})
            left = set(kept["question_id"])
    return pd.DataFrame(rows)


def count_readers(views):
    """Return how the blind readers ended: how, n, share, low, high (Wilson, 95%); none, no row."""
    part = views[(views["stage"] == "uniqueness") & (views["judge"] == JUDGES[0])].dropna(subset="is_kept")
    rows = [{"how": how} | measure_share(part["note"].eq(how)) for how in dict.fromkeys(sorted(part["note"]))]
    return pd.DataFrame(rows, columns=["how", "n", "share", "low", "high"])


def measure_reading(views, cases):
    """Return the share of fault-free cases that the blind readers let pass: n, share, low, high (Wilson, 95%)."""
    fine = [name for name, case in cases.items() if not case["planted"]]
    part = views[(views["stage"] == "uniqueness") & (views["judge"] == JUDGES[0])]
    return measure_share(part.loc[part["question_id"].isin(fine), "is_kept"].dropna().astype(bool))


def list_kept(views, judge, stages=STAGES):
    """Return the question_ids that a judge keeps at every stage, sorted."""
    part = views[(views["judge"] == judge) & views["is_kept"].eq(True)]
    n_kept = part.groupby("question_id")["stage"].nunique()
    return sorted(n_kept.index[n_kept == len(stages)])


def catch_planted(views, cases):
    """Return what each control says of the case planted for it, and of the cases not planted for any.

    Columns: stage, judge, planted (kept, dropped or not recorded), n_fine, n_false (fine cases that it drops).
    """
    rows, said = [], {True: "kept", False: "dropped", None: "not recorded"}
    for stage in CONTROLS:
        planted = {name for name, case in cases.items() if case["planted"] == stage}
        fine = {name for name, case in cases.items() if not case["planted"]}
        for judge in JUDGES:
            part = views[(views["stage"] == stage) & (views["judge"] == judge)].set_index("question_id")["is_kept"]
            known = part[part.index.isin(fine)].dropna()
            verdicts = [said[part[name]] for name in sorted(planted)]
            row = {"stage": stage, "judge": judge, "planted": ", ".join(verdicts)}
            rows.append(row | {"n_fine": len(known), "n_false": int((~known.astype(bool)).sum())})
    return pd.DataFrame(rows)


def build_tables(names, cases, columns):
    """Return (events, answers) of the cases kept; `columns` are those of the events, whose ids are their questions'."""
    events, answers = [], []
    for name in names:
        case = cases[name]
        facts = {"event_id": name, "pair_id": None, "level": rate_level(case["steps"]), "n_steps": len(case["steps"])}
        events.append(case["event"] | facts)
        answers.append({"event_id": name, "value": write_truth(case["answer"]), "status": "ok"})
    return pd.DataFrame(events, columns=columns), pd.DataFrame(answers, columns=["event_id", "value", "status"])


def build_screenings(views):
    """Return the table of screenings: every view that says something, with the stage and its judge as the filter."""
    known = views[views["is_kept"].notna()].rename(columns={"question_id": "event_id", "note": "reason"})
    facts = {"filter": known["stage"] + ", " + known["judge"], "is_dropped": ~known["is_kept"].astype(bool)}
    return known.assign(**facts)[["event_id", "filter", "judge", "is_dropped", "reason"]]
