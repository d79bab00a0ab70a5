"""What views on questions add up to: how many each stage keeps, how the judges fared, and the
tables of tasks kept."""

import pandas as pd

from helpers.agreement import compare_judges
from studies.liveagentbench.asks import write_truth
from studies.liveagentbench.cases import CONTROLS, JUDGES, STAGES, rate_level

JUDGED = ("tool dependent", "not retrievable", "relevance", "complexity")
"""Stages at which the model and the labels each have a view of their own."""


def run_funnel(views, stages=STAGES):
    """Return how many questions each stage keeps, by judge: judge, stage, n_in, n_out, n_unknown,
    reasons.

    A question without a view (None) stops there and is counted as unknown; reasons are the notes of
    those dropped.
    """
    rows = []
    for judge, part in views.groupby("judge", sort=False):
        left = set(part["question_id"])
        for stage in stages:
            here = part[(part["stage"] == stage) & part["question_id"].isin(left)]
            kept = here[here["is_kept"].eq(True)]
            dropped = here[here["is_kept"].eq(False)]
            reasons = "; ".join(
                f"{note} ({n})" for note, n in dropped["note"].value_counts(sort=False).items()
            )
            row = {"judge": judge, "stage": stage, "n_in": len(left), "n_out": len(kept)}
            rows.append(
                row | {"n_unknown": len(left) - len(kept) - len(dropped), "reasons": reasons}
            )
            left = set(kept["question_id"])
    return pd.DataFrame(rows)


def rate_model(views, seed, n_boot):
    """Return how the model's views agree with the labels', a row a stage
    (`agreement.compare_judges`).

    A question is flagged where the model would drop it; `n_true` are those that the labels drop. No
    row without labels.
    """
    wide = views.pivot(index="question_id", columns=["stage", "judge"], values="is_kept").astype(
        object
    )
    rows = []
    for stage in [name for name in JUDGED if name in wide and wide[name]["labels"].notna().any()]:
        pair = wide[stage].dropna(subset=["labels"])
        flags = pair["model"].map(lambda kept: None if pd.isna(kept) else not kept)
        rated = compare_judges(
            pd.DataFrame({stage: flags}, dtype=object), ~pair["labels"].astype(bool), seed, n_boot
        )
        rows.append(rated.rename(columns={"judge": "stage"}))
    return (
        pd.concat(rows, ignore_index=True)
        if rows
        else pd.DataFrame(columns=["stage", "n", "n_true", "verdict"])
    )


def list_kept(views, judge, stages=STAGES):
    """Return the question_ids that a judge keeps at every stage, sorted."""
    part = views[
        (views["judge"] == judge) & views["is_kept"].eq(True) & views["stage"].isin(stages)
    ]
    n_kept = part.groupby("question_id")["stage"].nunique()
    return sorted(n_kept.index[n_kept == len(stages)])


def catch_planted(views, cases):
    """Return what each control says of the case planted for it, and of the cases not planted for
    any.

    Columns: stage, judge, planted (kept, dropped or not recorded), n_fine, n_false (fine cases that
    it drops).
    """
    rows = []
    said = {True: "kept", False: "dropped", None: "not recorded"}
    fine = {name for name, case in cases.items() if not case["planted"]}
    for stage in CONTROLS:
        planted = sorted(name for name, case in cases.items() if case["planted"] == stage)
        for judge in JUDGES:
            part = views[(views["stage"] == stage) & (views["judge"] == judge)].set_index(
                "question_id"
            )["is_kept"]
            known = part[part.index.isin(fine)].dropna()
            row = {
                "stage": stage,
                "judge": judge,
                "planted": ", ".join(said[part[name]] for name in planted),
            }
            rows.append(row | {"n_fine": len(known), "n_false": int((~known.astype(bool)).sum())})
    return pd.DataFrame(rows)


def build_tables(names, cases, columns):
    """Return (events, answers) of the cases kept; `columns` are those of the events, whose ids are
    their questions'."""
    events = []
    answers = []
    for name in names:
        case = cases[name]
        facts = {
            "event_id": name,
            "pair_id": None,
            "level": rate_level(case["steps"]),
            "n_steps": len(case["steps"]),
        }
        events.append(case["event"] | facts)
        answers.append({"event_id": name, "value": write_truth(case["answer"]), "status": "ok"})
    return pd.DataFrame(events, columns=columns), pd.DataFrame(
        answers, columns=["event_id", "value", "status"]
    )
