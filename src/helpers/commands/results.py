"""What a run came to: scores beside the best baseline, what is missing and why, and what it cost: as text and as files.

Intervals are 95% and by source, since the events of a source share their luck; by event they stand beside it in the
files. They need no draw, so that an agent's numbers are the same in any company.
"""

import importlib.metadata
import json
import math
from contextlib import closing

import numpy as np
import pandas as pd

from helpers.agents.ledger import open_ledger, read_runs
from helpers.estimates.groups import tabulate_groups
from helpers.estimates.intervals import MIN_CLUSTERS, find_clusters
from helpers.estimates.pairs import compare_pairs
from helpers.formats.sheets import escape_cells
from helpers.futurex.levels import bound_overall
from helpers.outcomes.scores import build_matrix, score_predictions, select_headline
from helpers.store import locate_output, parse_json, read_table

N_REASONS = 3
"""Reasons for missing predictions that are shown of an agent, the most frequent first."""

SCORE_COLUMNS = (
    "metric group name mean low high low_by_event high_by_event n n_asked n_clusters coverage mean_imputed"
).split()
"""Columns of a run's results.csv, after run_id and agent_id."""


def read_sampled(path, table, run_ids, events, timings=False):
    """Return some runs' rows of a ledger's table for these events only: a run may already hold more."""
    rows = read_runs(path, table, run_ids.values(), timings)
    return rows[rows["event_id"].isin(events["event_id"])]


# --- scores ----------------------------------------------------------------------------------------------------------


def tabulate_scores(scores, events):
    """Return every mean of some scores by agent: FutureX's overall score, all events, each level, kind and domain.

    Columns: agent_id, `SCORE_COLUMNS`, note; metric is "score" (higher is better) or "brier" (an error, of
    probabilities by option: lower is better). Raises ValueError when no event can be scored.
    """
    clusters = find_clusters(events)[0]
    rows, overall = select_headline(scores, events), bound_overall(scores, events, clusters)
    rows["domain"] = rows["event_id"].map(events.set_index("event_id").get("domain", {}))
    tables = [part.assign(metric="score") for part in (overall, tabulate_groups(rows, clusters))]
    brier = scores[(scores["metric"] == "brier") & scores["is_scored"].astype(bool) & scores["score"].notna()]
    if len(brier):
        asked = rows[rows["kind"].isin(("single", "multi"))].groupby("agent_id")["event_id"].nunique()
        table = tabulate_groups(brier, clusters, groups=(), most=None).assign(metric="brier", mean_imputed=math.nan)
        table["n_asked"] = table["agent_id"].map(asked)
        tables.append(table.assign(coverage=table["n"] / table["n_asked"]))
    table = pd.concat(tables, ignore_index=True).fillna({"note": ""})
    return table[["agent_id", *SCORE_COLUMNS, "note"]]


def tabulate_leads(scores, events, baselines):
    """Return each agent's lead over the best of `baselines`, itself left out: a row an agent, of `pairs.compare_pairs`
    with the column baseline.

    The best is the one with the best mean on the events that the agent predicted; the lead is the paired difference on
    the events that both predicted. Agents without such a baseline are left out.
    """
    rows = select_headline(scores, events)
    matrix, clusters = build_matrix(rows, sorted(rows["agent_id"].unique())), find_clusters(events)[0]
    pairs = []
    for agent in matrix:
        others = [name for name in baselines if name in matrix and name != agent]
        means = matrix.loc[matrix[agent].notna(), others].mean().dropna()
        pairs += [(agent, [means.idxmax()])] if len(means) else []
    table = compare_pairs(matrix, clusters, pairs) if pairs else pd.DataFrame(columns=["agent_a", "agent_b"])
    return table.set_index("agent_a").rename(columns={"agent_b": "baseline"})


def summarize_agents(table, leads):
    """Return a row an agent, best first, as text: overall score, lead over the best baseline, coverage, Brier, levels.

    From the tables of `tabulate_scores` and `tabulate_leads`.
    """
    parts = {key: part.set_index("agent_id") for key, part in table.groupby(["metric", "group", "name"], sort=False)}
    overall, whole = parts["score", "overall", ""], parts["score", "all", ""]
    order = sorted(overall.index, key=lambda agent: (-overall["mean"].fillna(-1)[agent], agent))
    shown = pd.DataFrame(index=pd.Index(order, name="agent"))
    shown["overall"] = [write_interval(*overall.loc[agent, ["mean", "low", "high"]]) for agent in order]
    known = [leads.loc[agent] if agent in leads.index else None for agent in order]
    shown["best baseline"] = ["-" if lead is None else lead["baseline"] for lead in known]
    shown["lead over it"] = ["-" if lead is None else write_lead(lead) for lead in known]
    cells = whole.loc[order, ["coverage", "n", "n_asked"]].itertuples(index=False)
    shown["coverage"] = [f"{share:.0%} ({n:.0f} of {n_asked:.0f})" for share, n, n_asked in cells]
    brier = parts.get(("brier", "all", ""), pd.DataFrame(columns=["mean", "n"]))
    shown["Brier"] = [f"{brier['mean'][a]:.3f} ({brier['n'][a]:.0f})" if a in brier.index else "-" for a in order]
    for (metric, group, name), part in parts.items():
        if (metric, group) == ("score", "level"):
            shown[f"level {name}"] = [write_mean(*part.loc[agent, ["mean", "n", "n_asked"]]) for agent in order]
    return shown


def write_interval(value, low, high):
    """Return a value with its interval as text, "-" for none.

    >>> write_interval(0.314, 0.25, 0.38), write_interval(0.314, math.nan, math.nan), write_interval(math.nan, 0, 0)
    ('0.31 (0.25 to 0.38)', '0.31', '-')
    """
    ends = f" ({low:.2f} to {high:.2f})" if np.isfinite(low) else ""
    return f"{value:.2f}{ends}" if np.isfinite(value) else "-"


def write_lead(pair):
    """Return a row of `pairs.compare_pairs` as text.

    >>> write_lead({"difference": 0.1, "low": -0.02, "high": 0.22, "n": 40, "n_clusters": 18})
    '+0.10 (-0.02 to +0.22, n = 40)'
    >>> write_lead({"difference": 0.1, "low": math.nan, "high": math.nan, "n": 20, "n_clusters": 4})
    '+0.10 (n = 20 of 4 sources: cannot tell)'
    """
    if not pair["n"]:
        return "-"
    few = f"n = {pair['n']:.0f} of {pair['n_clusters']:.0f} sources: cannot tell"
    told = f"{pair['low']:+.2f} to {pair['high']:+.2f}, n = {pair['n']:.0f}" if np.isfinite(pair["low"]) else few
    return f"{pair['difference']:+.2f} ({told})"


def write_mean(mean, n, n_asked):
    """Return a level's mean as text with how many of its events it is over.

    >>> write_mean(0.5, 3, 5), write_mean(math.nan, 0, 5)
    ('0.50 (3 of 5)', '- (0 of 5)')
    """
    return f"{mean:.2f} ({n:.0f} of {n_asked:.0f})" if n else f"- (0 of {n_asked:.0f})"


# --- costs and what is missing ---------------------------------------------------------------------------------------


def time_models(path, run_ids):
    """Return the seconds that each question's replies took of a model, by run_id and event_id; blank without a model.

    They are those of the requests themselves, not of queues and look-ups; of a recorded reply those of its recording.
    """
    marks = ", ".join("?" * len(run_ids))
    sql = f"SELECT run_id, event_id, sample, sum(duration_s) FROM traces WHERE run_id IN ({marks}) GROUP BY 1, 2, 3"
    with closing(open_ledger(path)) as ledger:
        rows = ledger.execute(sql, list(run_ids.values())).fetchall()
    table = pd.DataFrame(rows, columns=["run_id", "event_id", "sample", "model_s"])
    return table.astype({"model_s": float}).set_index(["run_id", "event_id", "sample"])["model_s"]


def measure_costs(replies, predictions):
    """Return, by agent, US dollars spent (blank: no price is known), mean seconds a question, and what is missing.

    Missing counts predictions by how they ended: a reply that came but cannot be read is "unparsable".
    """
    agents = predictions.set_index(["run_id", "event_id", "sample"])["agent_id"]
    replies = replies.join(agents, on=agents.index.names)
    groups = replies.groupby("agent_id")
    table = pd.DataFrame({"USD": groups["cost_usd"].agg(lambda cost: pd.to_numeric(cost).sum(min_count=1))})
    table["s a question"] = groups["duration_s"].mean()
    table["model s a question"] = groups["model_s"].mean()
    counts = predictions[predictions["status"] != "ok"].groupby("agent_id")["status"].value_counts()
    table["missing"] = [
        ", ".join(f"{n} {status}" for status, n in counts.get(agent, pd.Series(dtype=int)).items()) or "none"
        for agent in table.index
    ]
    return table


def count_missing(predictions, replies):
    """Return what is missing of a run by status and reason, the most frequent first: n, one event, its reply's end."""
    texts = replies.set_index(["run_id", "event_id", "sample"])["reply"]
    missing = predictions[predictions["status"] != "ok"].join(texts, on=texts.index.names)
    groups = missing.groupby(["status", "reason"], dropna=False)
    rows = []
    for (status, reason), part in sorted(groups, key=lambda group: (-len(group[1]), str(group[0]))):
        first = part.iloc[0]
        said = " ".join(str(first["reply"]).split())[-90:] if isinstance(first["reply"], str) else None
        reason = reason if isinstance(reason, str) else None
        rows.append({"status": status, "reason": reason, "n": len(part), "event_id": first["event_id"], "reply": said})
    return rows


def list_missing(predictions, replies, n=N_REASONS):
    """Return each agent's most frequent reasons for missing predictions, a line each, with one reply as example."""
    lines = []
    for agent, part in predictions.groupby("agent_id"):
        for row in count_missing(part, replies)[:n]:
            example = f"; {row['event_id']}" + (f": ...{row['reply']!r}" if row["reply"] else "")
            lines.append(f"{agent}, {row['n']} {row['status']}: {row['reason'] or 'no reason given'}{example}")
    return "".join(f"\n{line}" for line in lines)


# --- files ----------------------------------------------------------------------------------------------------------


def describe_result(run, replies, predictions, table, *, events, window, seed, lead, problem):
    """Return what results.json holds of one run (a row of the table runs), from its own rows.

    `table` is its part of `tabulate_scores`, `lead` its row of `tabulate_leads` or None, `problem` why there are no
    scores. Blank cells are null.
    """
    clusters, by = find_clusters(events)
    versions = {
        "kit": importlib.metadata.version("daybefore"),
        "code_version": run["code_version"],
        "parser_version": ", ".join(sorted(predictions["parser_version"].dropna().unique())),
        "packages": parse_json(run["packages"]),
    }
    spent = {
        "cost_usd": pd.to_numeric(replies["cost_usd"]).sum(min_count=1),
        **{f"n_{kind}_tokens": int(replies[f"n_{kind}_tokens"].sum()) for kind in ("input", "output", "cached")},
        "duration_s": round(float(replies["duration_s"].sum()), 3),
        "model_s": round(replies["model_s"].sum(min_count=1), 3),
    }
    found = {
        **{name: run[name] for name in "run_id agent_id category model model_digest condition status".split()},
        **{"window": window, "seed": seed, "n_events": len(events), "n_asked": len(replies)},
        "versions": versions,
        "intervals": f"95%, by {by} ({clusters.nunique()}); blank below {MIN_CLUSTERS}; by event beside them",
        "note": problem or next(iter(table["note"]), ""),
        "scores": table[SCORE_COLUMNS].to_dict("records"),
        "lead_over_best_baseline": None if lead is None else lead.to_dict(),
        "missing": count_missing(predictions, replies),
        **spent,
    }
    return json.loads(json.dumps(found, default=_open_number), parse_constant=lambda name: None)


def _open_number(value):
    """A numpy number as Python's; pandas' missing value as none."""
    return None if value is pd.NA else value.item()


def save_results(found):
    """Write data/runs/<run_id>/results.json and results.csv of what `describe_result` returns; returns the folder."""
    path = locate_output(f"data/runs/{found['run_id']}/results.json")
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    rows = pd.DataFrame(found["scores"], columns=SCORE_COLUMNS)
    rows.insert(0, "run_id", found["run_id"])
    rows.insert(1, "agent_id", found["agent_id"])
    escape_cells(rows).to_csv(path.with_suffix(".csv"), index=False, lineterminator="\n")
    return path.parent


def show_results(path, run_ids, events, window, baselines, seed):
    """Keep what some runs came to on these events, each run under data/runs/<run_id>, and return it as text.

    `run_ids` maps agents to runs of the ledger at `path`; `seed` is the one that drew the events. The text has the
    scores where there are answers, the costs, what is missing and why.
    """
    replies = read_sampled(path, "replies", run_ids, events, timings=True)
    predictions = read_sampled(path, "predictions", run_ids, events)
    replies = replies.drop(columns="model_s").join(time_models(path, run_ids), on=["run_id", "event_id", "sample"])
    costs, problem = measure_costs(replies, predictions), None
    try:
        scores = score_predictions(predictions, read_table("answers", window), events)
        table, leads = tabulate_scores(scores, events), tabulate_leads(scores, events, baselines)
        shown = summarize_agents(table, leads).join(costs)
        notes = [note for note in table["note"].unique() if note]
        note = "; ".join(["mean (answered of asked) by level", *(f"overall: {note}" for note in notes)])
    except (FileNotFoundError, ValueError) as error:
        problem, shown, note = str(error), costs.rename_axis("agent"), f"no scores: {error}"
        table, leads = pd.DataFrame(columns=["agent_id", *SCORE_COLUMNS, "note"]), pd.DataFrame()
    told = {"events": events, "window": window, "seed": seed, "problem": problem}
    for run in read_runs(path, "runs", run_ids.values()).to_dict("records"):
        agent = run["agent_id"]
        own = [rows[rows["run_id"] == run["run_id"]] for rows in (replies, predictions)]
        lead = leads.loc[agent] if agent in leads.index else None
        save_results(describe_result(run, *own, table[table["agent_id"] == agent], lead=lead, **told))
    shown = shown.loc[sorted(shown.index, key=lambda agent: agent in baselines)]  # the agents asked for come first
    formats = {"USD": "{:.4f}".format, "s a question": "{:.3f}".format, "model s a question": "{:.3f}".format}
    text = shown.reset_index().to_string(index=False, formatters=formats, na_rep="-")
    words = [
        f"{len(events)} events of window {window}; {note}{list_missing(predictions, replies)}",
        describe_intervals(events),
        "kept: data/runs/<run_id>/results.json and .csv (also by kind, domain and event; tokens, versions)",
    ]
    return f"\n{text}\n\n" + "\n".join(words)


def describe_intervals(events):
    """Return a sentence on what the intervals of some events rest on.

    >>> describe_intervals(pd.DataFrame({"event_id": ["a", "b"], "source_id": ["s", "s"]}))
    'intervals: none, the 2 events are of 1 source and fewer than 10 cannot tell'
    """
    clusters, by = find_clusters(events)
    n = clusters.nunique()
    if n < MIN_CLUSTERS:
        few = f"{n} {by}" + "s" * (n != 1)
        return f"intervals: none, the {len(events)} events are of {few} and fewer than {MIN_CLUSTERS} cannot tell"
    if by == "event":
        return f"intervals: 95%, by event ({n}), as if no two shared their luck; none from fewer than {MIN_CLUSTERS}"
    return f"intervals: 95%, by {by} ({n}): events of one share their luck; none from fewer than {MIN_CLUSTERS}"
