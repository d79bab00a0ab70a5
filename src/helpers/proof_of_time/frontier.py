"""Frontier instances from public boards of models' results (Proof of Time 3.3, A.4): ranges, pairs, the year to come.

What is asked of is a system that no board before the cutoff shows (of FutureX, where systems come back, a week that
none shows); its value stands neither in a prompt nor in the evidence. SWE-bench and aider have the paper's cutoff;
LMArena's boards end two months after that and take the year before; FutureX's and ForecastBench's begin in 2025 and
take the year after.
"""

import pandas as pd

from helpers.papers import get_constant
from helpers.proof_of_time.builders import Pool, build_buckets, build_next_year, build_pairs, drop_tellers
from helpers.proof_of_time.evidence import write_evidence

T0 = get_constant("proof_of_time", "evidence_until")
EARLY, LATE = "2024-01-01", "2026-01-01"
N_WEEK = 5
"""Systems of one weekly board that are asked about."""


def list_arena(table):
    """Return LMArena's boards as results: date, board, system, score.

    `table` has dates (20230508) as index and models as columns, 0 where a model is not on the board.
    """
    long = table.copy().rename_axis("date").reset_index().melt("date", var_name="system", value_name="score")
    long = long[long["score"] > 0]
    day = pd.to_datetime(long["date"].astype(str), format="%Y%m%d").dt.strftime("%Y-%m-%d")
    return long.assign(date=day, board="LMArena", score=long["score"].round(1)).sort_values(["date", "system"])


def share_wins(scores, best):
    """Return the percentage of games that such scores win against a best model's, as Elo's formula has it.

    >>> share_wins(1200.0, 1200.0), round(share_wins(1600.0, 1200.0), 1)
    (50.0, 90.9)
    """
    return 100 / (1 + 10 ** ((best - scores) / 400))


def win_games(scores, before):
    """Return scores as percentages of games won against the best model of the last board before the cutoff."""
    return share_wins(scores, before.loc[before["date"] == before["date"].max(), "score"].max())


def list_swe_bench(table):
    """Return SWE-bench's results: date, board, system, score (percent resolved), the first of a name on a board."""
    out = table.rename(columns={"resolved": "score"}).assign(board="SWE-bench " + table["board"])
    return out.sort_values("date").drop_duplicates(["board", "system"])[["date", "board", "system", "score"]]


def list_aider(entries):
    """Return aider's results: date, board, system, score (percent right at the second try), the first of a model."""
    rows = [(str(e["date"]), "aider polyglot", e["model"], float(e["pass_rate_2"])) for e in entries]
    table = pd.DataFrame(rows, columns=["date", "board", "system", "score"])
    return table.sort_values("date", kind="stable").drop_duplicates("system")


def list_futurex(board):
    """Return FutureX's weekly boards as results; a week ("2025-07-W4") is dated by its last day, at most the 28th.

    `board` has week, agent_id, overall. An agent and week is a system of its own.
    """
    weekly = board[board["week"] != "overall"].drop_duplicates(["week", "agent_id"])
    day = [f"{week[:7]}-{min(28, 7 * int(week[-1])):02d}" for week in weekly["week"]]
    out = pd.DataFrame({"date": day, "board": "FutureX " + weekly["week"], "score": weekly["overall"].round(2)})
    return out.assign(system=weekly["agent_id"] + ", " + weekly["week"])[["date", "board", "system", "score"]]


def list_forecastbench(history):
    """Return ForecastBench's snapshots as results (overall Brier index, 0 to 100)."""
    out = history.rename(columns={"snapshot_date": "date", "overall": "score"})
    out = out.assign(board="ForecastBench", system=out["team"] + ": " + out["model"], score=out["score"].round(1))
    return out.drop_duplicates(["date", "system"])[["date", "board", "system", "score"]]


def build_board(name, results, cutoff, rng, folder, *, measure, n, n_pairs, convert=None):
    """Return (instances from a board's results, pairs rejected as tied): ranges, pairs and the next year's best.

    Asked are systems that first appear at or after the cutoff, by their last result there; candidates of a pair share
    their board. `convert(later, before)` gives the values asked for, by default the scores.
    """
    before, later = results[results["date"] < cutoff], results[results["date"] >= cutoff]
    later = later[~later["system"].isin(before["system"]) & later["board"].isin(before["board"])]
    if name.startswith("futurex"):
        later = results[(results["date"] >= cutoff) & ~results["system"].isin(before["system"])]
    later = later.sort_values("date").drop_duplicates(["board", "system"], keep="last").reset_index(drop=True)
    file = write_evidence(folder, f"{name}.csv", before, as_of=before["date"].max(), dates="date")
    words = {"name": name.replace("_", " "), "one": "system", "measure": measure, "criteria": "The board's own result."}
    pool = Pool(name, cutoff, [file], words | {"span": f"on the boards after {cutoff}"})
    values = later["score"] if convert is None else convert(later["score"], before)
    items = pd.DataFrame({"item": later["system"], "group": later["board"], "value": values})
    items["text"] = later["board"] + ": " + later["system"] + ", " + later["date"]
    made = build_buckets(pool, drop_tellers(items), rng, n, "frontier_bucket")
    pairs, n_tied = build_pairs(pool, drop_tellers(items), rng, n_pairs)
    year = words | {"span": f"in the year after {later['date'].max()}"}
    return [*made, *pairs, build_next_year(pool._replace(words=year))], n_tied


def build_frontier(arena, swe_bench, aider, futurex, forecastbench, rng, folder):
    """Return (instances from the five boards, pairs rejected as tied); arguments are results (`list_arena` ...).

    A FutureX week is a source of its own: its events are its own.
    """
    games = f"percentage of games won against the best model of {arena.loc[arena['date'] < EARLY, 'date'].max()}"
    plans = [
        ("lmarena", arena, EARLY, {"measure": games, "n": 60, "n_pairs": 20, "convert": win_games}),
        ("swe_bench", swe_bench, T0, {"measure": "percentage of issues resolved", "n": 80, "n_pairs": 20}),
        ("aider_polyglot", aider, T0, {"measure": "percentage right at the second try", "n": 60, "n_pairs": 20}),
        ("forecastbench", forecastbench, LATE, {"measure": "overall Brier index", "n": 40, "n_pairs": 20}),
    ]
    weeks = sorted(set(futurex.loc[futurex["date"] >= LATE, "board"]))
    past = futurex[futurex["date"] < LATE]
    for week in weeks:
        part = pd.concat([past, futurex[futurex["board"] == week]])
        settings = {"measure": "overall score, of a hundred,", "n": N_WEEK, "n_pairs": 2}
        plans.append((week.casefold().replace(" ", "_").replace("-", "_"), part, LATE, settings))
    out, n_tied = [], 0
    for name, results, cutoff, settings in plans:
        made, tied = build_board(name, results, cutoff, rng, folder, **settings)
        is_week = name.startswith("futurex")
        out, n_tied = out + [one for one in made if not (is_week and one.variant == "next_year")], n_tied + tied
    return out, n_tied
