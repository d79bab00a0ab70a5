"""KalshiBench: twelve models on 255 markets, some asked more than once; outcomes derived from its
aggregates.

`p_yes` is what the files hold. Many answers "no" hold there the confidence of the answer in place
of the probability of yes: `p_repaired` is 1 - p where the answer is no and p above 0.5. `sample`
counts repeats of an id within a run, and `n_asked` of a prediction how often the run was asked it.
Nine of the models had the same 300 rows, three others; of those 130 ids have no derived outcome.
"""

from collections import Counter
from typing import Any

import pandas as pd

from public.sets.rows import YES_NO, answer_yes_no, describe_run, locate_folder, read_json

FOLDER = "agents/kalshibench"
ADVICE = "its files are kalshibench_v2_2025-12-17_20-54-58 of github.com/LukasNel/kalshibench"


def build() -> dict[str, dict[str, pd.DataFrame]]:
    """Return the tables of the set kalshibench."""
    folder = locate_folder(FOLDER, ADVICE)
    outcomes = read_json(folder / "recovered_outcomes.json")["outcomes"]
    files = [read_json(path) for path in sorted(folder.glob("*/tier*/*.json*"))]
    files = [given for given in files if "predictions" in given]
    ids = sorted({row["question_id"] for given in files for row in given["predictions"]})
    known = [key for key in ids if key in outcomes]
    events = pd.DataFrame({"event_id": ids, "cluster_id": ids})
    events = events.assign(source_id="kalshi", family="market", **YES_NO)
    answers = answer_yes_no({key: outcomes[key] for key in known}).assign(method="derived")
    runs = pd.DataFrame([read_run(given) for given in files])
    predictions = pd.DataFrame([row for given in files for row in list_forecasts(given)])
    tables = {"events": events, "answers": answers, "runs": runs, "predictions": predictions}
    return {"kalshibench": tables}


def name_run(given: dict[str, Any]) -> str:
    """Return the run_id of a file."""
    return f"kalshibench-{given['model_name'].lower().replace(' ', '-')}"


def read_run(given: dict[str, Any]) -> dict[str, Any]:
    """Return a file's row of the table runs, with the Brier score it states."""
    return describe_run(
        name_run(given),
        f"kalshibench:{given['model_name']}",
        "KalshiBench",
        "none",
        agent_id=given["model_name"],
        category="base_model",
        sees_price=False,
        brier_stated=given["brier_score"],
    )


def list_forecasts(given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a file's forecasts."""
    n_asked = Counter(row["question_id"] for row in given["predictions"])
    made, seen = [], Counter()
    for row in given["predictions"]:
        key = {
            "run_id": name_run(given),
            "event_id": row["question_id"],
            "sample": seen[row["question_id"]],
        }
        seen[row["question_id"]] += 1
        p_yes, answer = row["predicted_probability"], row["predicted_answer"]
        key["n_asked"] = n_asked[row["question_id"]]
        if row["error"] or p_yes is None or answer is None:
            status = "error" if row["error"] else "unparsable"
            made.append(key | {"status": status, "p_filled": p_yes})
            continue
        is_swapped = answer == "no" and p_yes > 0.5
        repaired = 1 - p_yes if is_swapped else p_yes
        made.append(
            key
            | {"status": "ok", "p_yes": p_yes, "stated": answer, "p_repaired": round(repaired, 6)}
        )
    return made
