"""GPT-5 in MiroFlow on 846 of FutureX's past questions: level, prediction, and the harness's own
score.

The file has neither the questions nor their answers, so the score is the harness's
(`score_source`), whose rule for numbers is not FutureX's.
"""

import io

import pandas as pd

from helpers.files import dump_json
from public.sets.rows import describe_run, locate_folder, read_bytes

FOLDER = "agents/futurex_past_gpt5_miroflow"
ADVICE = "its file is logs/futurex_past_fast/futurex_past_fast_eval_.csv of github.com/Weichy9218/FutureX_Miro"
KINDS = {1: "single", 2: "multi"}
"""Level -> kind; at levels 3 and 4 the file does not say whether a number or a ranking is asked
for."""
RUN = "futurex_past_gpt5-miroflow"


def build() -> dict[str, dict[str, pd.DataFrame]]:
    """Return the tables of the set futurex_past_gpt5."""
    folder = locate_folder(FOLDER, ADVICE)
    text = io.BytesIO(read_bytes(folder / "futurex_past_fast_eval_.csv"))
    names = ["event_id", "level", "score", "prediction"]
    given = pd.read_csv(text, names=names, dtype=str, keep_default_na=False)
    given = given.sort_values("event_id", ignore_index=True)
    levels = given["level"].astype(int)
    events = pd.DataFrame(
        {
            "event_id": given["event_id"],
            "paper": "futurex",
            "cluster_id": given["event_id"],
            "kind": levels.map(KINDS).fillna("text"),
            "level": levels,
        }
    )
    answers = pd.DataFrame({"event_id": given["event_id"], "status": "none"})
    predictions = pd.DataFrame(
        {
            "run_id": RUN,
            "event_id": given["event_id"],
            "sample": 0,
            "status": given["prediction"].str.strip().ne("").map({True: "ok", False: "missing"}),
            "value": given["prediction"].map(dump_json),
            "score_source": given["score"].astype(float).round(4),
        }
    )
    about = {"agent_id": "GPT-5 in MiroFlow", "category": "open_deep_research"}
    run = describe_run(RUN, "miroflow:gpt-5", "MiroFlow", "dated", **about)
    tables = {
        "events": events,
        "answers": answers,
        "runs": pd.DataFrame([run]),
        "predictions": predictions,
    }
    return {"futurex_past_gpt5": tables}
