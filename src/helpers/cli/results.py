"""What a run leaves: results.json, results.csv and predictions.csv of each of its agents, and the same as text.

Rows that the leak audit flags, and those that resolved before a model was old enough, are told apart: the headline
stands twice, with and without them (groups "unflagged" and "released").
"""

import importlib.metadata
import json

import pandas as pd

from helpers.agents.arms import SEED
from helpers.cli import report
from helpers.futurex.past import read_window
from helpers.question_sets import find_set
from helpers.scoring.leaks import GATE_DAYS, OPEN_SEARCH, flag_rows, list_released
from helpers.scoring.scores import score_predictions, select_headline
from helpers.stats.calibration import bin_chances, list_chances
from helpers.stats.means import MIN_CLUSTERS, find_clusters
from helpers.store import clean_value, locate_output, parse_json, read_runs

KEY = ["run_id", "event_id", "sample"]
N_REASONS = 3
"""Reasons for missing predictions that are shown of an agent, the most frequent first."""
PREDICTION_COLUMNS = "agent_id event_id sample as_of status reason value probability distribution answer score".split()
FILES = "data/runs/<run_id> has results.json, results.csv (also by kind, domain, event) and predictions.csv"


def read_sampled(path, table, run_ids, events, timings=False):
    """Return some runs' rows of a store's table for these events only: a run may already hold more."""
    rows = read_runs(path, table, run_ids.values(), timings)
    return rows[rows["event_id"].isin(events["event_id"])]


def keep_results(asked, run_ids, baselines, beside, unanswered, explain=False):
    """Keep what some runs came to, each under data/runs/<run_id>; return ({agent: its results.json}, all as text).

    `asked` is the run's (`run.Asked`); `run_ids` maps agents to runs of its store; `beside` is what WorldReasoner says
    of them (`conditions.Beside`); `unanswered` maps agents to what requests without an answer can have cost (US
    dollars). The text has the scores where there are answers, the costs, and what is missing and why; with `explain`
    all columns of the scores, and what they mean.
    """
    events, names = asked.events, ("replies", "predictions", "traces")
    tables = {name: read_sampled(asked.path, name, run_ids, events, timings=True) for name in names}
    rows, table, leads, bins, problem = judge_events(asked, tables["predictions"], baselines)
    shown = pd.DataFrame(index=pd.Index(run_ids, name="agent")) if problem else report.summarize_agents(table, leads)
    table = pd.concat([table, beside.rows.reindex(columns=[*table.columns])], ignore_index=True).fillna({"note": ""})
    found, said = {}, []
    for run in read_runs(asked.path, "runs", run_ids.values()).to_dict("records"):
        agent = run["agent_id"]
        own = [part[part["run_id"] == run["run_id"]] for part in tables.values()]
        apart, facts, told = tell_apart(asked, run, *own)
        scores = pd.concat([table[table["agent_id"] == agent], *apart], ignore_index=True).fillna({"note": ""})
        spent, at_most = pd.to_numeric(own[0]["cost_usd"]), unanswered.get(agent, 0)
        about = {
            "seed": SEED,
            "n_scored": int(report.take_whole(scores)["n"].sum()),
            "note": "; ".join(filter(None, [beside.note, problem])) or next(iter(scores["note"]), ""),
            "scores": scores[report.SCORE_COLUMNS].to_dict("records"),
            "calibration": bins[bins["agent_id"] == agent].drop(columns="agent_id").to_dict("records"),
            "lead_over_best_baseline": leads.loc[agent].to_dict() if agent in leads.index else None,
            "worldreasoner": beside.facts.get(agent),
            "cost_usd": spent.sum(min_count=not at_most) + at_most,
            "cost_unanswered_usd": at_most,
        }
        found[agent] = clean_value(count_run(asked, run, *own) | about | facts)
        said += told
        save_results(found[agent], rows[rows["run_id"] == run["run_id"]])
    shown = shown.join(pd.DataFrame({agent: tell_costs(one) for agent, one in found.items()}).T)
    shown = shown.loc[sorted(shown.index, key=lambda agent: agent in baselines)]  # the agents asked for come first
    words = [f"{len(events)} events of {find_set(asked.window).name}; {report.describe_intervals(events)}"]
    words += [f"no scores: {problem}"] if problem else []
    words += [f"overall: {note}" for note in table["note"].unique() if note]
    words += said
    for agent, row in [(agent, row) for agent, one in found.items() for row in one["missing"][:N_REASONS]]:
        told = f"{agent}, {row['n']} {row['status']}: {row['reason'] or 'no reason given'}; {row['event_id']}"
        words.append(told + (f": ...{row['reply']!r}" if row["reply"] else ""))
    words += [FILES, report.LEGEND if explain else report.EXPLAIN]
    return found, "\n\n".join(
        filter(None, [beside.note, report.write_table(shown, explain), beside.text, "\n".join(words)])
    )


def judge_events(asked, predictions, baselines):
    """Return (predictions with `answer` and headline `score`, their means, leads and calibration, why there are none).

    As of `tabulate_scores`, `tabulate_leads` and `bin_chances`; the sentence is "" where there are scores.
    """
    events, clusters = asked.events, find_clusters(asked.events)[0]
    try:
        answers = read_window("answers", asked.window)
        scores = score_predictions(predictions, answers, events)
        table, leads = report.tabulate_scores(scores, events), report.tabulate_leads(scores, events, baselines)
    except (FileNotFoundError, ValueError) as error:
        blank = pd.DataFrame(columns=["agent_id", *report.SCORE_COLUMNS, "note"])
        return predictions, blank, pd.DataFrame(), blank, str(error)
    rows = predictions.join(answers.set_index("event_id")["value"].rename("answer"), on="event_id")
    rows = rows.join(select_headline(scores, events).set_index(KEY)["score"], on=KEY)
    chances = list_chances(events, answers, rows[rows["answer"].notna()])
    return rows, table, leads, bin_chances(chances, clusters) if len(chances) else chances, ""


# --- the files -------------------------------------------------------------------------------------------------------


def count_run(asked, run, replies, predictions, traces):
    """Return what results.json holds of one run (a row of the table runs) beside its scores: counts, versions, costs.

    What it holds in all: docs/results-schema.md.
    """
    clusters, by = find_clusters(asked.events)
    n_window, n_asked = len(read_window("events", asked.window)), replies["event_id"].nunique()
    status = "all events of the set were asked; some ended in accidents, and the same command asks these again"
    if run["status"] == "complete":
        status = "whole: all events of the set were asked"
    elif n_asked < n_window:
        status = f"a sample: {n_asked} of the {n_window} events of the set were asked"
    versions = {"kit": importlib.metadata.version("daybefore"), "code_version": run["code_version"]}
    versions["parser_version"] = ", ".join(sorted(predictions["parser_version"].dropna().unique()))
    return {
        **{name: run[name] for name in "run_id agent_id category model model_digest condition".split()},
        **{"status": status, "window": asked.window, "n_window": n_window, "n_events": len(asked.events)},
        **{"n_asked": len(replies), "n_answered": int(predictions["status"].eq("ok").sum())},
        "versions": versions | {"packages": parse_json(run["packages"])},
        "intervals": f"95%, by {by} ({clusters.nunique()}); blank below {MIN_CLUSTERS}; by event beside them",
        "missing": count_missing(predictions, replies),
        **{f"n_{kind}_tokens": int(replies[f"n_{kind}_tokens"].sum()) for kind in ("input", "output", "cached")},
        "duration_s": round(float(replies["duration_s"].sum()), 3),
        "model_s": round(traces["duration_s"].astype(float).sum(min_count=1), 3),
    }


def count_missing(predictions, replies):
    """Return what is missing of a run by status and reason, the most frequent first: n, one event, its reply's end."""
    missing = predictions[predictions["status"] != "ok"].merge(replies[[*KEY, "reply"]], "left", KEY)
    pairs = zip(missing["reason"], missing["event_id"], strict=True)
    missing["reason"] = [r.replace(event, "<event>") if isinstance(r, str) else None for r, event in pairs]
    missing["reply"] = [" ".join(said.split())[-90:] if isinstance(said, str) else None for said in missing["reply"]]
    groups = missing.groupby(["status", "reason"], dropna=False)
    groups = sorted(groups, key=lambda group: (-len(group[1]), str(group[0])))
    first = [part.iloc[0].to_dict() | {"n": len(part)} for _, part in groups]
    return [{name: row[name] for name in ("status", "reason", "n", "event_id", "reply")} for row in first]


def save_results(found, predictions):
    """Write results.json, results.csv and predictions.csv of a run into data/runs/<run_id>.

    `predictions` are its rows with `answer` and headline `score`.
    """
    path = locate_output(f"data/runs/{found['run_id']}/results.json")
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    rows = pd.DataFrame(found["scores"], columns=report.SCORE_COLUMNS)
    rows.insert(0, "run_id", found["run_id"])
    rows.insert(1, "agent_id", found["agent_id"])
    report.write_csv(rows, path.with_suffix(".csv"))
    report.write_csv(predictions.reindex(columns=PREDICTION_COLUMNS), path.with_name("predictions.csv"))


def tell_costs(found):
    """Return what a run's printed row says of costs and what is missing, from its results.json.

    Missing counts predictions by how they ended: a reply that came but cannot be read is "unparsable"; events without
    any reply are "not asked", as a ceiling, a spent quota or a stop leaves them.
    """
    counts = pd.DataFrame(found["missing"], columns=["status", "n"]).groupby("status", sort=False)["n"].sum().to_dict()
    counts |= {"not asked": max(found["n_events"] - found["n_asked"], 0)}
    costs, n_asked = {"USD": found["cost_usd"]}, max(found["n_asked"], 1)
    costs |= {"s each": found["duration_s"] / n_asked, "model s": found["model_s"] and found["model_s"] / n_asked}
    return {
        **{name: "-" if cost is None else f"{cost:.3f}" for name, cost in costs.items()},
        "missing": ", ".join(f"{n} {end}" for end, n in counts.items() if n) or "none",
    }


# --- rows that are told apart ----------------------------------------------------------------------------------------


def tell_apart(asked, run, replies, predictions, traces):
    """Return (rows of `tabulate_scores`, facts of results.json, sentences) on what is told apart of a run.

    All are empty for an agent that did not search the open web and whose entry names no `model_released_date`, and
    where there are no answers.
    """
    released, agent = (parse_json(run["params"]) or {}).get("model_released_date"), run["agent_id"]
    searched = OPEN_SEARCH.search(run["condition"] if isinstance(run["condition"], str) else "")
    tables, facts, told = [], {}, []
    if not (released or searched) or predictions.empty:
        return tables, facts, told
    try:
        answers = read_window("answers", asked.window)
    except (FileNotFoundError, ValueError):
        return tables, facts, told
    if searched:
        table, facts["leaks"], said = audit_leaks(asked.events, answers, predictions, replies, traces)
        tables, told = [table], [f"{agent}: {said}; mean without the others {describe_mean(table)}"]
    if released:
        kept = predictions[predictions["event_id"].isin(list_released(asked.events, released))]
        tables.append(tabulate_kept(asked.events, kept, answers, "released"))
        facts["release"] = {"date": released, "n": len(predictions), "n_kept": len(kept)}
        said = f"{len(kept)} of {len(predictions)} rows are resolved {GATE_DAYS} days or more after its model's release"
        said += f" ({released}); the others it may have read"
        told.append(f"{agent}: {said}; mean without the others {describe_mean(tables[-1])}")
    return tables, facts, told


def audit_leaks(events, answers, predictions, replies, traces):
    """Return (means without the flagged rows, facts of results.json, a sentence) of one run's leak audit."""
    flagged, key = flag_rows(events, answers, predictions, replies, traces), KEY[1:]
    is_kept = ~pd.MultiIndex.from_frame(predictions[key]).isin(pd.MultiIndex.from_frame(flagged[key]))
    signs, n_flagged = flagged.groupby("sign").size().to_dict(), int((~is_kept).sum())
    facts = {"n": len(predictions), "n_flagged": n_flagged, "signs": signs, "rows": flagged.to_dict("records")}
    said = ", ".join(f"{n} by {sign}" for sign, n in signs.items()) or "none"
    table = tabulate_kept(events, predictions[is_kept], answers, "unflagged")
    return table, facts, f"{n_flagged} of {len(predictions)} rows flagged as possible leaks ({said})"


def tabulate_kept(events, predictions, answers, group):
    """Return the means over some predictions as rows of `tabulate_scores`, under a group of their own."""
    try:
        table = report.tabulate_scores(score_predictions(predictions, answers, events), events)
    except ValueError:  # nothing is left that can be scored
        return pd.DataFrame(columns=["metric", "group", "name"])
    table = table[table["group"].isin(["all", "overall"])]
    return table.assign(name=table["group"], group=group)


def describe_mean(table):
    """Return the mean of what was answered with its interval, "-" without any."""
    row = table[table["metric"].eq("score") & table["name"].eq("all")].head(1).to_dict("records")
    return report.write_interval(*(row[0][name] for name in ("mean", "low", "high", "n"))) if row else "-"
