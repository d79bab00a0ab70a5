"""ForecastBench's public leaderboards: the Brier index, the people's line, and the board's history.

A Brier index is 100 (1 - sqrt(Brier)): 100 is perfect, 50 is what always answering 0.5 gets. The Brier columns of the
files are adjusted for the difficulty of the questions; a missing forecast counts as 0.5.
"""

import math

import numpy as np
import pandas as pd

PARTS = ("dataset", "market", "overall")
INDEX_UNIT, BRIER_UNIT = 0.1, 0.001
"""Of the last printed digit."""
PEOPLE = {"superforecasters": "Superforecaster median forecast", "public": "Public median forecast"}
HOUSE = "ForecastBench"
"""As a model's organization: people, crowds and fixed rules, no single model."""


def tidy_board(board):
    """Return a leaderboard file with the kit's names: rank, team, organization, model, then by part (dataset, market,
    overall) the index, n, low, high (printed 95% interval) and brier, and p_supers, the printed p-value against them.

    Raises ValueError when a column is absent.
    """
    names = {"Rank": "rank", "Team": "team", "Model Organization": "organization", "Model": "model"}
    names |= {part.title(): part for part in PARTS} | {f"Brier {part.title()}": f"brier_{part}" for part in PARTS}
    names |= {"N dataset": "n_dataset", "N market": "n_market", "N": "n_overall"}
    names |= {"p-val Supers > Forecaster?": "p_supers"}
    intervals = {part: f"{part.title()} 95% CI" for part in PARTS}
    if absent := [column for column in (*names, *intervals.values()) if column not in board]:
        raise ValueError(f"the leaderboard has no column {absent[0]!r}; is it another version?")
    table = board[list(names)].rename(columns=names)
    for part, column in intervals.items():
        ends = board[column].str.strip("[]").str.split(",", expand=True).astype(float)
        table[f"low_{part}"], table[f"high_{part}"] = ends[0], ends[1]
    return table


def check_identities(table):
    """Return by row whether each printed index is that of its printed Brier score, both within their rounding.

    Columns: is_dataset, is_market, is_overall; is_mean_of_briers (overall Brier = mean of the two); and for contrast
    is_mean_of_indices (overall index = mean of the two indices, which a board that averaged last would print).
    """
    out = table[["model"]].copy()
    for part in PARTS:
        brier = table[f"brier_{part}"].to_numpy(float)
        best = convert_brier((brier - BRIER_UNIT / 2).clip(0))
        worst = convert_brier(brier + BRIER_UNIT / 2)
        slack = INDEX_UNIT / 2 + 1e-9
        out[f"is_{part}"] = (table[part] >= worst - slack) & (table[part] <= best + slack)
    mean = (table["brier_dataset"] + table["brier_market"]) / 2
    out["is_mean_of_briers"] = (mean - table["brier_overall"]).abs() <= BRIER_UNIT + 1e-9
    mean = (table["dataset"] + table["market"]) / 2
    out["is_mean_of_indices"] = (mean - table["overall"]).abs() <= INDEX_UNIT + 1e-9
    return out


def read_unit(values):
    """Return the unit of one snapshot's overall scores: "brier" when all are at most 1, "index" when all are above.

    >>> read_unit([0.081, 0.7]), read_unit([16.7, 68.1])
    ('brier', 'index')
    """
    values = np.asarray(values, dtype=float)
    if not len(values) or not np.isfinite(values).all():
        raise ValueError("a snapshot needs an overall score in every row")
    if (values <= 1).all():
        return "brier"
    if (values > 1).all():
        return "index"
    raise ValueError("a snapshot mixes Brier scores with Brier indices; split it before converting")


def convert_history(history):
    """Return the snapshots with `unit` and with dataset, market and overall as Brier indices throughout.

    Raises ValueError when a snapshot mixes units, or one in Brier scores follows one in indices.
    """
    history = history.sort_values(["snapshot_date", "rank"], kind="stable", ignore_index=True)
    units = history.groupby("snapshot_date")["overall"].agg(read_unit)
    if (units == "index").cummax().ne(units == "index").any():
        raise ValueError("a snapshot in Brier scores follows one in indices; the unit changed more than once")
    table = history.assign(unit=history["snapshot_date"].map(units))
    is_brier = table["unit"] == "brier"
    for part in PARTS:
        table[part] = table[part].astype(float).where(~is_brier, convert_brier(table[part].where(is_brier)))
    return table


def find_people(board, people, what="the board"):
    """Return a board's row of the superforecasters or the public. Raises LookupError unless there is one."""
    found = board[board["model"] == PEOPLE[people]]
    if len(found) != 1:
        raise LookupError(f"{what} has {len(found)} rows for {people}; one is wanted")
    return found.iloc[0]


def trace_people(table):
    """Return a row a snapshot: the people's lines, the best model, how far it is behind, and models above the public.

    Columns: snapshot_date, unit, superforecasters, public (overall indices), n_people (questions of the
    superforecasters), model, best_model (overall index of the best model, crowds and fixed rules left out), gap
    (superforecasters minus best model), n_models, n_above_public. Raises LookupError when a snapshot lacks the people.
    """
    rows = []
    for (date, unit), board in table.groupby(["snapshot_date", "unit"]):
        people = {name: find_people(board, name, f"the snapshot of {date}") for name in PEOPLE}
        line = {name: float(found["overall"]) for name, found in people.items()}
        models = board[board["model_organization"] != HOUSE]
        best = models.loc[models["overall"].idxmax()]
        row = {"snapshot_date": date, "unit": unit, **line, "n_people": int(people["superforecasters"]["n"])}
        row |= {"model": best["model"], "best_model": float(best["overall"])}
        row |= {"gap": line["superforecasters"] - row["best_model"], "n_models": len(models)}
        rows.append(row | {"n_above_public": int((models["overall"] > line["public"]).sum())})
    return pd.DataFrame(rows)


def compare_people(table, people="superforecasters"):
    """Return how far the best model is behind the people on one board: gap, low, high in index points, and its names.

    The interval takes the two printed 95% intervals as independent: each end's distance from its estimate, squared and
    added. The questions are not the same (the people answered fewer), so it is a rough one.
    """
    models = table[table["organization"] != HOUSE]
    best = models.loc[models["overall"].idxmax()]
    line = find_people(table, people)
    gap = float(line["overall"] - best["overall"])
    down = math.hypot(line["overall"] - line["low_overall"], best["high_overall"] - best["overall"])
    up = math.hypot(line["high_overall"] - line["overall"], best["overall"] - best["low_overall"])
    row = {"people": people, "people_index": float(line["overall"]), "n_people": int(line["n_overall"])}
    row |= {"best_model": best["model"], "best_index": float(best["overall"]), "n_best": int(best["n_overall"])}
    return row | {"gap": gap, "low": gap - down, "high": gap + up, "p_supers": best["p_supers"]}


def convert_brier(brier):
    """Return the Brier index of a Brier score (smaller is better) on the scale to 100 (larger is better).

    >>> [float(x) for x in convert_brier([0.0, 0.25, 1.0])]
    [100.0, 50.0, 0.0]
    """
    return 100 * (1 - np.sqrt(np.asarray(brier, dtype=float)))
