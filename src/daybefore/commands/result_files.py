"""What a run leaves: results.json, results.csv and predictions.csv of each of its agents, and the
same as text.

Rows that the leak audit flags, and those that resolved before a model was old enough, are told
apart: the headline stands twice, with and without them (groups "unflagged" and "released").
"""

import importlib.metadata
import json
import platform
import subprocess
from collections import Counter
from functools import cache
from typing import NamedTuple

import pandas as pd

from daybefore.agents.recorded_runs import SEED
from daybefore.commands import leaderboard, print_tables
from daybefore.questions.open_sets import read_window
from daybefore.scoring.calibration import bin_chances, list_chances
from daybefore.scoring.leak_audit import GATE_DAYS, OPEN_SEARCH, flag_rows, list_released
from daybefore.store import read_runs
from helpers.files import ROOT, clean_value, locate_output, parse_json
from helpers.means import MIN_CLUSTERS, find_clusters
from helpers.scores import score_predictions, select_headline
from helpers.set_names import find_set, is_day

KEY = ["run_id", "event_id", "sample"]
TABLES = ("replies", "predictions", "traces")
N_REASONS = 3
"""Reasons for missing predictions that are shown of an agent, the most frequent first."""
PREDICTION_COLUMNS = "agent_id event_id sample as_of status reason value probability distribution answer score".split()
FILES = "data/runs/<run_id> has results.json, results.csv (also by kind, domain, event) and predictions.csv"


class Judged(NamedTuple):
    """What predictions came to: answers (None without any) and why there are no scores, or "".

    `rows` are the predictions with `answer` and headline `score`; means, leads and calibration as
    of `tabulate_scores`, `tabulate_leads` and `bin_chances`.
    """

    answers: pd.DataFrame | None
    problem: str
    rows: pd.DataFrame
    means: pd.DataFrame
    leads: pd.DataFrame
    bins: pd.DataFrame


def read_sampled(path, table, run_ids, events, timings=False):
    """Return some runs' rows of a store's table for these events only: a run may already hold
    more."""
    rows = read_runs(path, table, run_ids.values(), timings)
    return rows[rows["event_id"].isin(events["event_id"])]


def keep_results(asked, run_ids, baselines, beside, unanswered, explain=False):
    """Keep what some runs came to, each under data/runs/<run_id>; return ({agent: its
    results.json}, all as text).

    `asked` is the run's (`run.Asked`); `run_ids` maps agents to runs of its store; `beside` is what
    WorldReasoner says of them (`worldreasoner_scores.Beside`); `unanswered` maps agents to what
    requests without an answer can have cost (US dollars). The text has the scores where there are
    answers, the costs, and what is missing and why; with `explain` all columns of the scores, and
    what they mean.
    """
    events = asked.events
    tables = {
        name: read_sampled(asked.path, name, run_ids, events, timings=True) for name in TABLES
    }
    judged = judge_events(asked, tables["predictions"], baselines)
    of_worldreasoner = beside.rows.reindex(columns=judged.means.columns)
    means = pd.concat([judged.means, of_worldreasoner], ignore_index=True).fillna({"note": ""})
    named = f"{len(events)} events of {find_set(asked.window).name}"
    words = [f"{named}; {print_tables.describe_intervals(events)}"]
    words += [f"no scores: {judged.problem}"] if judged.problem else []
    words += [f"overall: {note}" for note in means["note"].unique() if note]
    found = {}
    for run in read_runs(asked.path, "runs", run_ids.values()).to_dict("records"):
        agent = run["agent_id"]
        own = {name: rows[rows["run_id"] == run["run_id"]] for name, rows in tables.items()}
        apart, facts, said = tell_apart(events, judged.answers, run, own)
        scores = pd.concat([means[means["agent_id"] == agent], *apart], ignore_index=True)
        about = count_run(asked, run, own)
        about |= tell_scores(agent, scores.fillna({"note": ""}), judged, beside)
        spent, at_most = pd.to_numeric(own["replies"]["cost_usd"]), unanswered.get(agent, 0)
        about["cost_usd"] = spent.sum(min_count=not at_most) + at_most
        found[agent] = clean_value(about | {"cost_unanswered_usd": at_most} | facts)
        words += [f"{agent}: {told}" for told in said]
        save_results(found[agent], judged.rows[judged.rows["run_id"] == run["run_id"]])
    words += list_reasons(found, baselines)
    words += [FILES, leaderboard.LEGEND if explain else print_tables.EXPLAIN]
    table = print_tables.write_table(tabulate_runs(found, judged, baselines), explain)
    parts = [beside.note, table, beside.text, "\n".join(words)]
    return found, "\n\n".join(filter(None, parts))


def judge_events(asked, predictions, baselines):
    """Return the `Judged` of the predictions of a run's events."""
    events = asked.events
    blank = pd.DataFrame(columns=["agent_id", *leaderboard.SCORE_COLUMNS, "note"])
    answers = None
    try:
        answers = read_window("answers", asked.window)
        scores = score_predictions(predictions, answers, events)
        means = leaderboard.tabulate_scores(scores, events)
    except (FileNotFoundError, ValueError) as error:
        problem = str(error)
        if is_day(asked.window) and isinstance(error, FileNotFoundError):
            problem = "no question of the day has an answer yet; a later `make day` looks for them"
        return Judged(answers, problem, predictions, blank, pd.DataFrame(), blank)
    rows = predictions.join(answers.set_index("event_id")["value"].rename("answer"), on="event_id")
    rows = rows.join(select_headline(scores, events).set_index(KEY)["score"], on=KEY)
    leads = leaderboard.tabulate_leads(scores, events, baselines)
    bins = bin_chances(list_chances(events, answers, rows), find_clusters(events)[0])
    return Judged(answers, "", rows, means, leads, bins)


def tabulate_runs(found, judged, baselines):
    """Return a row an agent of what is printed: its scores, where there are any, its costs, what is
    missing.

    The agents asked for come first.
    """
    shown = pd.DataFrame(index=pd.Index(found, name="agent"))
    if not judged.problem:
        shown = leaderboard.summarize_agents(judged.means, judged.leads)
    shown = shown.join(pd.DataFrame({agent: tell_costs(one) for agent, one in found.items()}).T)
    return shown.loc[sorted(shown.index, key=lambda agent: agent in baselines)]


def list_reasons(found, baselines):
    """Return sentences on what is missing of some runs and why, with the end of a reply of those
    asked for."""
    words = []
    for agent, one in found.items():
        for row in one["missing"][:N_REASONS]:
            reason = row["reason"] or "no reason given"
            told = f"{agent}, {row['n']} {row['status']}: {reason}; {row['event_id']}"
            if row["reply"] and agent not in baselines:
                told += f": ...{row['reply']!r}"
            words.append(told)
    return words


# --- the files --------------------------------------------------------------------------------------


def count_run(asked, run, own):
    """Return what results.json holds of one run (a row of the table runs) beside its scores:
    counts, versions.

    `own` are the run's `TABLES`. What it holds in all: docs/results-schema.md.
    """
    replies, predictions = own["replies"], own["predictions"]
    clusters, by = find_clusters(asked.events)
    n_window, n_asked = len(read_window("events", asked.window)), replies["event_id"].nunique()
    status = "all events of the set were asked; some ended in accidents, and the same command asks these again"
    if run["status"] == "complete":
        status = "whole: all events of the set were asked"
    elif n_asked < n_window:
        status = f"a sample: {n_asked} of the {n_window} events of the set were asked"
    about = {
        name: run[name] for name in "run_id agent_id category model model_digest condition".split()
    }
    about |= {
        "status": status,
        "window": asked.window,
        "n_window": n_window,
        "n_events": len(asked.events),
        "n_asked": len(replies),
        "n_answered": int(predictions["status"].eq("ok").sum()),
        "versions": {
            "kit": importlib.metadata.version("daybefore"),
            "code_version": run["code_version"],
            "commit": find_commit(),
            "python_version": platform.python_version(),
            "parser_version": ", ".join(sorted(predictions["parser_version"].dropna().unique())),
            "packages": parse_json(run["packages"]),
        },
        "intervals": f"95%, by {by} ({clusters.nunique()}); blank below {MIN_CLUSTERS}; by event beside them",
        "missing": count_missing(predictions, replies),
    }
    for kind in ("input", "output", "cached"):
        about[f"n_{kind}_tokens"] = int(replies[f"n_{kind}_tokens"].sum())
    return about | {
        "duration_s": round(float(replies["duration_s"].sum()), 3),
        "model_s": round(pd.to_numeric(replies["model_s"]).sum(min_count=1), 3),
        "seed": SEED,
    }


def tell_scores(agent, scores, judged, beside):
    """Return what results.json holds of an agent's scores, rows of `tabulate_scores`."""
    leads, bins = judged.leads, judged.bins
    due = "; ".join(filter(None, [beside.note, judged.problem]))
    return {
        "n_scored": int(leaderboard.take_whole(scores)["n"].sum()),
        "note": due or next(iter(scores["note"]), ""),
        "scores": scores[leaderboard.SCORE_COLUMNS].to_dict("records"),
        "calibration": bins[bins["agent_id"] == agent].drop(columns="agent_id").to_dict("records"),
        "lead_over_best_baseline": leads.loc[agent].to_dict() if agent in leads.index else None,
        "worldreasoner": beside.facts.get(agent),
    }


@cache
def find_commit() -> str | None:
    """Return the checkout's git commit, with "+" where tracked files differ from it; None where
    there is no git."""
    if not (ROOT / ".git").exists():  # an unpacked archive, maybe below another project's checkout
        return None
    git = ["git", "--no-optional-locks", "-C", str(ROOT), "describe", "--always", "--exclude=*"]
    look = {"capture_output": True, "text": True, "check": True, "timeout": 20}
    try:
        return subprocess.run([*git, "--abbrev=40", "--dirty=+"], **look).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def count_missing(predictions, replies):
    """Return what is missing of a run by status and reason, the most frequent first: n, one event,
    its reply's end."""
    missing = predictions[predictions["status"] != "ok"]
    missing = missing.merge(replies[[*KEY, "reply", "finish_reason"]], "left", KEY)
    found = {}
    for row in missing.to_dict("records"):
        reason = reply = None
        if isinstance(row["reason"], str):
            reason = row["reason"].replace(row["event_id"], "<event>")
            if row["finish_reason"] == "length":
                reason += "; cut at max_tokens, with more it is a new run"
        if isinstance(row["reply"], str):
            reply = " ".join(row["reply"].split())[-90:]
        first = {"status": row["status"], "reason": reason, "n": 0}
        first |= {"event_id": row["event_id"], "reply": reply}
        found.setdefault((row["status"], reason), first)["n"] += 1
    return [found[key] for key in sorted(found, key=lambda key: (-found[key]["n"], str(key)))]


def save_results(found, predictions):
    """Write results.json, results.csv and predictions.csv of a run into data/runs/<run_id>.

    `predictions` are its rows with `answer` and headline `score`.
    """
    path = locate_output(f"data/runs/{found['run_id']}/results.json")
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    rows = pd.DataFrame(found["scores"], columns=["run_id", "agent_id", *leaderboard.SCORE_COLUMNS])
    rows = rows.assign(run_id=found["run_id"], agent_id=found["agent_id"])
    print_tables.write_csv(rows, path.with_suffix(".csv"))
    print_tables.write_csv(
        predictions.reindex(columns=PREDICTION_COLUMNS), path.with_name("predictions.csv")
    )


def tell_costs(found):
    """Return what a run's printed row says of costs and what is missing, from its results.json.

    Missing counts predictions by how they ended: a reply that came but cannot be read is
    "unparsable"; events without any reply are "not asked", as a ceiling, a spent quota or a stop
    leaves them.
    """
    n_asked, model_s = max(found["n_asked"], 1), found["model_s"]
    costs = {"USD": found["cost_usd"], "s each": found["duration_s"] / n_asked}
    costs["model s"] = model_s and model_s / n_asked
    told = {name: "-" if cost is None else f"{cost:.3f}" for name, cost in costs.items()}
    counts = Counter()
    for row in found["missing"]:
        counts[row["status"]] += row["n"]
    counts["not asked"] = max(found["n_events"] - found["n_asked"], 0)
    return told | {"missing": ", ".join(f"{n} {end}" for end, n in counts.items() if n) or "none"}


# --- rows that are told apart -----------------------------------------------------------------------


def tell_apart(events, answers, run, own):
    """Return (tables of means over the rows that are kept, facts of results.json, sentences) of
    what is told apart of a run.

    Groups "unflagged" of an agent that searched the open web, "released" of one whose entry names a
    `model_released_date`; nothing without answers.
    """
    means, facts, said, predictions = [], {}, [], own["predictions"]
    if answers is None or predictions.empty:
        return means, facts, said

    def keep(kept, group, told):
        means.append(average_kept(events, kept, answers, group))
        said.append(f"{told}; mean without the others {describe_mean(means[-1])}")

    if OPEN_SEARCH.search(str(run["condition"])):
        kept, facts["leaks"], told = find_leaks(events, answers, own)
        keep(kept, "unflagged", told)
    if released := (parse_json(run["params"]) or {}).get("model_released_date"):
        kept = predictions[predictions["event_id"].isin(list_released(events, released))]
        facts["release"] = {"date": released, "n": len(predictions), "n_kept": len(kept)}
        told = f"{len(kept)} of {len(predictions)} rows are resolved {GATE_DAYS} days or more after its model's release"
        keep(kept, "released", f"{told} ({released}); the others it may have read")
    return means, facts, said


def find_leaks(events, answers, own):
    """Return (the predictions without a sign, facts of results.json, a sentence) of one run's leak
    audit; `own` are its `TABLES`."""
    predictions, key = own["predictions"], KEY[1:]
    flagged = flag_rows(events, answers, predictions, own["replies"], own["traces"])
    is_flagged = predictions.set_index(key).index.isin(flagged.set_index(key).index)
    signs, n = flagged.groupby("sign").size().to_dict(), len(predictions)
    n_flagged = int(is_flagged.sum())
    facts = {"n": n, "n_flagged": n_flagged, "signs": signs, "rows": flagged.to_dict("records")}
    told = ", ".join(f"{n} by {sign}" for sign, n in signs.items()) or "none"
    said = f"{n_flagged} of {n} rows flagged as possible leaks ({told})"
    return predictions[~is_flagged], facts, said


def average_kept(events, predictions, answers, group):
    """Return the means over some predictions as rows of `tabulate_scores`, under a group of their
    own."""
    try:
        table = leaderboard.tabulate_scores(score_predictions(predictions, answers, events), events)
    except ValueError:  # nothing is left that can be scored
        return pd.DataFrame(columns=["metric", "group", "name"])
    return table[table["group"].isin(["all", "overall"])].assign(
        name=lambda rows: rows["group"], group=group
    )


def describe_mean(table):
    """Return the mean of what was answered with its interval, "-" without any."""
    rows = table[table["metric"].eq("score") & table["name"].eq("all")]
    return (
        print_tables.write_interval(*rows.iloc[0][["mean", "low", "high", "n"]])
        if len(rows)
        else "-"
    )
