"""What a run leaves: results.json, results.csv and predictions.csv of each of its agents, and the
same as text.

Rows that the leak audit flags, and those that resolved before a model was old enough, are told
apart: the headline stands twice, with and without them (groups "unflagged" and "released").
"""

import importlib.metadata
import json
import platform
import subprocess
from functools import cache
from pathlib import Path

import pandas as pd

from daybefore.agents.recorded_runs import SEED
from daybefore.commands import leaderboard, texts
from daybefore.questions.sets import read_window
from daybefore.scoring.calibration import bin_chances, list_chances
from daybefore.scoring.leaks import GATE_DAYS, OPEN_SEARCH, flag_rows, list_released
from daybefore.store import read_runs
from helpers.files import ROOT, clean_value, locate_output, parse_json
from helpers.means import MIN_CLUSTERS, find_clusters
from helpers.question_sets import find_set, is_day
from helpers.scores import score_predictions, select_headline

KEY = ["run_id", "event_id", "sample"]
N_REASONS = 3
"""Reasons for missing predictions that are shown of an agent, the most frequent first."""
PREDICTION_COLUMNS = "agent_id event_id sample as_of status reason value probability distribution answer score".split()
FILES = "data/runs/<run_id> has results.json, results.csv (also by kind, domain, event) and predictions.csv"


def read_sampled(path, table, run_ids, events, timings=False):
    """Return some runs' rows of a store's table for these events only: a run may already hold
    more."""
    rows = read_runs(path, table, run_ids.values(), timings)
    return rows[rows["event_id"].isin(events["event_id"])]


def keep_results(asked, run_ids, baselines, beside, unanswered, explain=False):
    """Keep what some runs came to, each under data/runs/<run_id>; return ({agent: its
    results.json}, all as text).

    `asked` is the run's (`run.Asked`); `run_ids` maps agents to runs of its store; `beside` is what
    WorldReasoner says of them (`conditions.Beside`); `unanswered` maps agents to what requests
    without an answer can have cost (US dollars). The text has the scores where there are answers,
    the costs, and what is missing and why; with `explain` all columns of the scores, and what they
    mean.
    """
    events, names = asked.events, ("replies", "predictions", "traces")
    tables = {name: read_sampled(asked.path, name, run_ids, events, timings=True) for name in names}
    blank = pd.DataFrame(columns=["agent_id", *leaderboard.SCORE_COLUMNS, "note"])
    answers, problem, judged = None, "", (tables["predictions"], blank, pd.DataFrame(), blank)
    try:
        answers = read_window("answers", asked.window)
        judged = judge_events(events, answers, tables["predictions"], baselines)
    except (FileNotFoundError, ValueError) as error:
        problem = str(error)
        if is_day(asked.window) and isinstance(error, FileNotFoundError):
            problem = "no question of the day has an answer yet; a later `make day` looks for them"
    rows, table, leads, bins = judged
    shown = (
        pd.DataFrame(index=pd.Index(run_ids, name="agent"))
        if problem
        else leaderboard.summarize_agents(table, leads)
    )
    table = pd.concat(
        [table, beside.rows.reindex(columns=table.columns)], ignore_index=True
    ).fillna({"note": ""})
    found, costs = {}, {}
    words = [
        f"{len(events)} events of {find_set(asked.window).name}; {texts.describe_intervals(events)}"
    ]
    words += [f"no scores: {problem}"] if problem else []
    words += [f"overall: {note}" for note in table["note"].unique() if note]
    for run in read_runs(asked.path, "runs", run_ids.values()).to_dict("records"):
        agent, own = (
            run["agent_id"],
            [part[part["run_id"] == run["run_id"]] for part in tables.values()],
        )
        scores, facts = [table[table["agent_id"] == agent]], {}
        for group, kept, more, said in (
            tell_apart(events, answers, run, *own) if answers is not None else ()
        ):
            scores.append(average_kept(events, kept, answers, group))
            facts |= more
            words.append(f"{agent}: {said}; mean without the others {describe_mean(scores[-1])}")
        scores = pd.concat(scores, ignore_index=True).fillna({"note": ""})
        spent, at_most = pd.to_numeric(own[0]["cost_usd"]), unanswered.get(agent, 0)
        about = {
            "seed": SEED,
            "n_scored": int(leaderboard.take_whole(scores)["n"].sum()),
            "note": "; ".join(filter(None, [beside.note, problem]))
            or next(iter(scores["note"]), ""),
            "scores": scores[leaderboard.SCORE_COLUMNS].to_dict("records"),
            "calibration": bins[bins["agent_id"] == agent]
            .drop(columns="agent_id")
            .to_dict("records"),
            "lead_over_best_baseline": leads.loc[agent].to_dict() if agent in leads.index else None,
            "worldreasoner": beside.facts.get(agent),
            "cost_usd": spent.sum(min_count=not at_most) + at_most,
            "cost_unanswered_usd": at_most,
        }
        found[agent] = one = clean_value(count_run(asked, run, *own[:2]) | about | facts)
        costs[agent] = tell_costs(one)
        save_results(one, rows[rows["run_id"] == run["run_id"]])
    for agent, row in [
        (agent, row) for agent, one in found.items() for row in one["missing"][:N_REASONS]
    ]:
        told = f"{agent}, {row['n']} {row['status']}: {row['reason'] or 'no reason given'}; {row['event_id']}"
        words.append(
            told + (f": ...{row['reply']!r}" if row["reply"] and agent not in baselines else "")
        )
    words += [FILES, leaderboard.LEGEND if explain else texts.EXPLAIN]
    shown = shown.join(pd.DataFrame(costs).T)
    shown = shown.loc[
        sorted(shown.index, key=lambda agent: agent in baselines)
    ]  # the agents asked for come first
    parts = [beside.note, texts.write_table(shown, explain), beside.text, "\n".join(words)]
    return found, "\n\n".join(filter(None, parts))


def judge_events(events, answers, predictions, baselines):
    """Return predictions with `answer` and headline `score`, their means, leads and calibration.

    As of `tabulate_scores`, `tabulate_leads` and `bin_chances`. Raises ValueError where nothing can
    be scored.
    """
    scores = score_predictions(predictions, answers, events)
    table, leads = (
        leaderboard.tabulate_scores(scores, events),
        leaderboard.tabulate_leads(scores, events, baselines),
    )
    rows = predictions.join(answers.set_index("event_id")["value"].rename("answer"), on="event_id")
    rows = rows.join(select_headline(scores, events).set_index(KEY)["score"], on=KEY)
    return (
        rows,
        table,
        leads,
        bin_chances(list_chances(events, answers, rows), find_clusters(events)[0]),
    )


# --- the files --------------------------------------------------------------------------------------


def count_run(asked, run, replies, predictions):
    """Return what results.json holds of one run (a row of the table runs) beside its scores:
    counts, versions, costs.

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
    versions |= {"commit": find_commit(), "python_version": platform.python_version()}
    versions["parser_version"] = ", ".join(sorted(predictions["parser_version"].dropna().unique()))
    return {
        **{
            name: run[name]
            for name in "run_id agent_id category model model_digest condition".split()
        },
        **{
            "status": status,
            "window": asked.window,
            "n_window": n_window,
            "n_events": len(asked.events),
        },
        **{"n_asked": len(replies), "n_answered": int(predictions["status"].eq("ok").sum())},
        "versions": versions | {"packages": parse_json(run["packages"])},
        "intervals": f"95%, by {by} ({clusters.nunique()}); blank below {MIN_CLUSTERS}; by event beside them",
        "missing": count_missing(predictions, replies),
        **{
            f"n_{kind}_tokens": int(replies[f"n_{kind}_tokens"].sum())
            for kind in ("input", "output", "cached")
        },
        "duration_s": round(float(replies["duration_s"].sum()), 3),
        "model_s": round(pd.to_numeric(replies["model_s"]).sum(min_count=1), 3),
    }


@cache
def find_commit() -> str | None:
    """Return the checkout's git commit, with "+" where tracked files differ from it; None where
    there is no git."""
    git = ["git", "--no-optional-locks", "-C", str(ROOT)]
    look = {"capture_output": True, "text": True, "check": True, "timeout": 20}
    try:
        top = subprocess.run([*git, "rev-parse", "--show-toplevel"], **look).stdout.strip()
        if (
            Path(top).resolve() != ROOT.resolve()
        ):  # an unpacked archive below another project's checkout
            return None
        commit = subprocess.run([*git, "rev-parse", "HEAD"], **look).stdout.strip()
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"], **look
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{commit}+" if changed.strip() else commit


def count_missing(predictions, replies):
    """Return what is missing of a run by status and reason, the most frequent first: n, one event,
    its reply's end."""
    missing = predictions[predictions["status"] != "ok"].merge(
        replies[[*KEY, "reply", "finish_reason"]], "left", KEY
    )
    cut = (
        missing["finish_reason"]
        .eq("length")
        .map({True: "; cut at max_tokens, with more it is a new run", False: ""})
    )
    told = zip(missing["reason"], missing["event_id"], cut, strict=True)
    missing["reason"] = [
        r.replace(name, "<event>") + end if isinstance(r, str) else None for r, name, end in told
    ]
    missing["reply"] = [
        " ".join(said.split())[-90:] if isinstance(said, str) else None for said in missing["reply"]
    ]
    groups = sorted(
        missing.groupby(["status", "reason"], dropna=False),
        key=lambda one: (-len(one[1]), str(one[0])),
    )
    rows = [part.iloc[0].to_dict() | {"n": len(part)} for _, part in groups]
    return [
        {name: row[name] for name in ("status", "reason", "n", "event_id", "reply")} for row in rows
    ]


def save_results(found, predictions):
    """Write results.json, results.csv and predictions.csv of a run into data/runs/<run_id>.

    `predictions` are its rows with `answer` and headline `score`.
    """
    path = locate_output(f"data/runs/{found['run_id']}/results.json")
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    rows = pd.DataFrame(found["scores"], columns=["run_id", "agent_id", *leaderboard.SCORE_COLUMNS])
    rows = rows.assign(run_id=found["run_id"], agent_id=found["agent_id"])
    texts.write_csv(rows, path.with_suffix(".csv"))
    texts.write_csv(
        predictions.reindex(columns=PREDICTION_COLUMNS), path.with_name("predictions.csv")
    )


def tell_costs(found):
    """Return what a run's printed row says of costs and what is missing, from its results.json.

    Missing counts predictions by how they ended: a reply that came but cannot be read is
    "unparsable"; events without any reply are "not asked", as a ceiling, a spent quota or a stop
    leaves them.
    """
    counts = (
        pd.DataFrame(found["missing"], columns=["status", "n"])
        .groupby("status", sort=False)["n"]
        .sum()
        .to_dict()
    )
    counts |= {"not asked": max(found["n_events"] - found["n_asked"], 0)}
    costs, n_asked = {"USD": found["cost_usd"]}, max(found["n_asked"], 1)
    costs |= {
        "s each": found["duration_s"] / n_asked,
        "model s": found["model_s"] and found["model_s"] / n_asked,
    }
    told = {name: "-" if cost is None else f"{cost:.3f}" for name, cost in costs.items()}
    return told | {"missing": ", ".join(f"{n} {end}" for end, n in counts.items() if n) or "none"}


# --- rows that are told apart -----------------------------------------------------------------------


def tell_apart(events, answers, run, replies, predictions, traces):
    """Yield (group, the predictions that are kept, facts of results.json, a sentence) of what is
    told apart of a run.

    Nothing for an agent that did not search the open web and whose entry names no
    `model_released_date`.
    """
    if OPEN_SEARCH.search(str(run["condition"])) and len(predictions):
        kept, facts, said = find_leaks(events, answers, predictions, replies, traces)
        yield "unflagged", kept, {"leaks": facts}, said
    released = (parse_json(run["params"]) or {}).get("model_released_date")
    if released and len(predictions):
        kept = predictions[predictions["event_id"].isin(list_released(events, released))]
        said = f"{len(kept)} of {len(predictions)} rows are resolved {GATE_DAYS} days or more after its model's release"
        said += f" ({released}); the others it may have read"
        yield (
            "released",
            kept,
            {"release": {"date": released, "n": len(predictions), "n_kept": len(kept)}},
            said,
        )


def find_leaks(events, answers, predictions, replies, traces):
    """Return (the predictions without a sign, facts of results.json, a sentence) of one run's leak
    audit."""
    flagged, key = flag_rows(events, answers, predictions, replies, traces), KEY[1:]
    is_kept = ~pd.MultiIndex.from_frame(predictions[key]).isin(
        pd.MultiIndex.from_frame(flagged[key])
    )
    signs, n_flagged = flagged.groupby("sign").size().to_dict(), int((~is_kept).sum())
    facts = {
        "n": len(predictions),
        "n_flagged": n_flagged,
        "signs": signs,
        "rows": flagged.to_dict("records"),
    }
    said = ", ".join(f"{n} by {sign}" for sign, n in signs.items()) or "none"
    return (
        predictions[is_kept],
        facts,
        f"{n_flagged} of {len(predictions)} rows flagged as possible leaks ({said})",
    )


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
    row = table[table["metric"].eq("score") & table["name"].eq("all")].head(1).to_dict("records")
    return (
        texts.write_interval(*(row[0][name] for name in ("mean", "low", "high", "n")))
        if row
        else "-"
    )
