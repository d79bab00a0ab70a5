"""FutureX's two scorers on the same predictions: the paper's formulas (3.4.3) and its public
scorer's rules."""

import pandas as pd

from helpers.means import find_clusters, summarize_clustered
from helpers.scores import CODE_SCORER, PAPER_SCORER, score_predictions, select_headline

SCORERS = {"paper": PAPER_SCORER, "code": CODE_SCORER}


def compare_scorers(
    predictions: pd.DataFrame, answers: pd.DataFrame, events: pd.DataFrame
) -> pd.DataFrame:
    """Return a row a prediction: run_id, event_id, agent_id, sample, level, kind, paper, code,
    change, n (1).

    A missing prediction counts 0 in both. `paper` is blank where the paper's rule cannot score it
    (a number without a spread), and so is `change` (code minus paper).
    """
    key = ["run_id", "event_id", "agent_id", "sample"]
    table = None
    for name, scorer in SCORERS.items():
        scored = score_predictions(predictions, answers, events, scorer)
        rows = select_headline(scored, events).rename(columns={"score_imputed": name})
        rows = rows[[*key, "level", "kind", name]]
        table = rows if table is None else table.merge(rows, "outer", [*key, "level", "kind"])
    return table.assign(change=table["code"] - table["paper"])


def tabulate_scorers(rows: pd.DataFrame, events: pd.DataFrame) -> pd.DataFrame:
    """Return both scores by level and kind of event, and over each level: a row a group.

    Columns: level, kind ("all": the level), n (predictions), n_both (scored by both), paper and
    code (means of those), code_all (of all n), change, low, high (95% by cluster; blank below ten),
    n_up, n_down (whose score the code raises, lowers).
    """
    clusters = find_clusters(events)[0]
    made = []
    groups = [(level, "all", part) for level, part in rows.groupby("level")]
    groups += [(level, kind, part) for (level, kind), part in rows.groupby(["level", "kind"])]
    for level, kind, part in sorted(groups, key=lambda group: group[:2]):
        both = part.dropna(subset=["paper", "code"])
        row = {"level": level, "kind": kind, "n": len(part), "n_both": len(both)}
        row |= {
            "paper": both["paper"].mean(),
            "code": both["code"].mean(),
            "code_all": part["code"].mean(),
        }
        change = both.set_index("event_id")[["change"]]
        found = summarize_clustered(change, clusters, ends=(-1, 1)).iloc[0] if len(both) else {}
        row |= {"change": found.get("mean"), "low": found.get("low"), "high": found.get("high")}
        made.append(
            row
            | {
                "n_up": int((both["change"] > 1e-9).sum()),
                "n_down": int((both["change"] < -1e-9).sum()),
            }
        )
    return pd.DataFrame(made)


def rank_scorers(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each agent's mean by both scorers on the predictions that both score, with its rank by
    each.

    Columns: agent_id, n, paper, code, rank_paper, rank_code (1 the best; equal means share a rank).
    """
    both = rows.dropna(subset=["paper", "code"])
    table = both.groupby("agent_id").agg(
        n=("code", "size"), paper=("paper", "mean"), code=("code", "mean")
    )
    for name in SCORERS:
        table[f"rank_{name}"] = table[name].rank(ascending=False, method="min").astype(int)
    return table.sort_values("rank_paper").reset_index()
