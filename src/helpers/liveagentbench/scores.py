"""Scores of the task set: by group and capability, what did not execute, what twins cost (LiveAgentBench 5).

A task that a system cannot attempt for lack of a capability counts as wrong, over all tasks and in its columns; so does
one that did not execute, which is counted apart too. Denominators are fixed: every task of a column. A model's replies
that are not recorded are left out, and then its n says so.
"""

import math
from itertools import chain

import pandas as pd
import seaborn as sns

from helpers import store, tables
from helpers.liveagentbench.asks import list_truths
from helpers.liveagentbench.readers import Unread, extract_text
from helpers.liveagentbench.solvers import open_event, solve_task
from helpers.liveagentbench.tasks import CAPABILITIES, GROUPS
from helpers.models.grammars import make_schema
from helpers.prompts import read_prompt
from helpers.scoring.matching import SCORER_VERSION, match_answer
from helpers.stats.means import measure_share, summarize_clustered

RUN_ID = "31_liveagentbench"
FORM = make_schema(answer={"type": "string", "maxLength": 40})
"""A model's reply: an answer alone."""
ALONE, WITH_TEXT = "model, question alone", "model, with the text"
GROUP_LABELS = {name: label.replace(" and ", " and\n", 1) for name, label in GROUPS.items()}
RUN_COLUMNS = ["agent", "event_id", "status", "reply", "reason", "n_pages"]


# --- runs -------------------------------------------------------------------------------------------------------------


def run_kits(kits, events, places, fetch, fetch_down):
    """Return the runs of programs on tasks and twins, columns RUN_COLUMNS.

    `fetch(address, as_of)` is a gateway's; twins whose site is down have their own, to a replay web that is down.
    """
    ways = {"site_down": fetch_down}
    rows = [
        {"agent": kit.name, "event_id": event["event_id"]}
        | solve_task(kit, event, places[event["event_id"]], ways.get(event["variant"], fetch))
        for kit in kits
        for event in map(open_event, events.to_dict("records"))
    ]
    return pd.DataFrame(rows, columns=RUN_COLUMNS)


def choose_asked(events, rng):
    """Return the tasks a model is asked, in drawn order: those whose files all are text, without twins."""
    plain = map(open_event, events[events["variant"] == "plain"].to_dict("records"))
    able = [event for event in plain if event["capabilities"] == ["text_file"]]
    return [able[at] for at in rng.permutation(len(able))]


def run_model(consult, events, places, rng):
    """Return the runs of a model on the plain tasks, columns RUN_COLUMNS: the question alone, and with its files' text.

    Alone it has no capability, with the text that of text files; a task that takes another is not asked ("lacking").
    Alone, the tasks of text files are asked all the same: what it guesses is held against the truth but earns nothing.
    The status is "missing" where a reply is not recorded, "failed" where the request failed.
    """
    asked = choose_asked(events, rng)
    rows = list(chain.from_iterable(ask_task(consult, event, places[event["event_id"]]) for event in asked))
    names = {event["event_id"] for event in asked}
    others = [name for name in events.loc[events["variant"] == "plain", "event_id"] if name not in names]
    rows += [(agent, name, "lacking", None, "lacks a capability", 0) for agent in (ALONE, WITH_TEXT) for name in others]
    return pd.DataFrame(rows, columns=RUN_COLUMNS)


def ask_task(consult, event, paths):
    """Return a model's two runs on a task, tuples in the order of RUN_COLUMNS."""
    question, rows = event["prompt"], []
    for agent, name in ((WITH_TEXT, "taskset_text"), (ALONE, "taskset_alone")):
        try:
            text = extract_text(question, paths) if agent == WITH_TEXT else ""
        except Unread as error:
            rows.append((agent, event["event_id"], "failed", None, str(error), 0))
            continue
        verdict = consult(read_prompt(name).format(question=question, text=text), FORM)
        reply = verdict.value["answer"] if verdict.status == "ok" else None
        status = {"missing": "missing", "ok": "ok", "unparsable": "ok"}.get(verdict.status, "failed")
        if agent == ALONE and status == "ok":
            status = "lacking"
        rows.append((agent, event["event_id"], status, reply, verdict.reason, 0))
    return rows


# --- scores -----------------------------------------------------------------------------------------------------------


def score_runs(runs, answers):
    """Return runs with extracted, is_match, is_equal, is_strict, and score, strict, failed (0 or 1, blank if missing).

    Only a task that was attempted can score; `is_match` says of any reply whether it fits. A task that did not execute
    has `failed`, a reply that is not recorded is missing.
    """
    truth = list_truths(answers)
    replies = [reply if isinstance(reply, str) else None for reply in runs["reply"]]  # a table's blank is a NaN
    fits = [match_answer(reply, truth[name]) for reply, name in zip(replies, runs["event_id"], strict=True)]
    table = pd.concat([runs.reset_index(drop=True), pd.DataFrame(fits)], axis=1)
    is_run, is_missing = table["status"].eq("ok"), table["status"].eq("missing")
    for name, rule in (("score", "is_match"), ("strict", "is_strict")):
        table[name] = (table[rule] & is_run).astype(float).mask(is_missing)
    return table.assign(failed=table["status"].eq("failed").astype(float).mask(is_missing))


def list_columns(events):
    """Return the columns of the results as {(kind, name): event_ids}: overall, scenario groups, capabilities.

    A task that takes two capabilities stands in both columns.
    """
    plain = events[events["variant"] == "plain"]
    columns = {("overall", "overall"): plain["event_id"]}
    for group in GROUPS:
        columns["scenario", group] = plain.loc[plain["scenario_group"] == group, "event_id"]
    for name in CAPABILITIES:
        columns["capability", name] = plain.loc[
            [name in store.parse_json(c) for c in plain["capabilities"]], "event_id"
        ]
    return columns


def tabulate_scores(scored, events, value="score"):
    """Return the share right by agent and column: agent, kind, column, size, n, right, share, low, high (Wilson).

    `value` names what counts: score, strict, or failed. `size` is the column's number of tasks, `n` those of them that
    count: less only where replies are not recorded.
    """
    rows = []
    for agent, part in scored.groupby("agent", sort=False):
        values = part.set_index("event_id")[value]
        for (kind, name), members in list_columns(events).items():
            known = values.reindex(members).dropna()
            share = measure_share(known)
            rows.append(
                {"agent": agent, "kind": kind, "column": name, "size": len(members), "right": int(known.sum())} | share
            )
    return pd.DataFrame(rows)


def compare_groups(shares, groups):
    """Return the groups' unweighted means and the gap of the second to the first, as a share of either (5.1, 5.2).

    `shares` maps systems to overall shares, `groups` two names to systems. Raises ValueError for an empty group.

    >>> compare_groups({"a": 0.125, "b": 0.375, "c": 0.5}, {"low": ["a", "b"], "high": ["c"]})
    {'low': 0.25, 'high': 0.5, 'gap_of_high': 0.5, 'gap_of_low': 1.0}
    """
    if len(groups) != 2 or not all(groups.values()):
        raise ValueError("two groups with a system each are compared")
    (low, first), (high, second) = (
        (name, sum(shares[s] for s in members) / len(members)) for name, members in groups.items()
    )
    gap = second - first
    over = {"of_" + name: gap / mean if mean else math.nan for name, mean in ((high, second), (low, first))}
    return {low: first, high: second} | {f"gap_{name}": value for name, value in over.items()}


def compare_pairs(scored, events):
    """Return what each kind of twin does, by agent: agent, variant, n, n_scenarios, plain, twin, effect, low, high, p,
    failed (5.3).

    Pairs are those whose task the agent has the capabilities for; `effect` is the mean of twin less task, its interval
    and p by scenario (`means.summarize_clustered`), since the tasks of a scenario share rows, files and wording.
    No interval below ten scenarios, or where all pairs differ alike. `failed` counts twins that did not execute.
    """
    pairs = events.loc[events["variant"] != "plain", ["event_id", "variant", "pair_id"]]
    columns = ["agent", "event_id", "score", "status"]
    table = scored[columns].merge(pairs, on="event_id")
    table = table.merge(
        scored[columns[:3]], left_on=["agent", "pair_id"], right_on=["agent", "event_id"], suffixes=("", "_plain")
    )
    table = table[table["status"] != "lacking"].dropna(subset=["score", "score_plain"])
    scenario, rows = events.set_index("event_id")["scenario"], []
    for (agent, variant), part in table.groupby(["agent", "variant"], sort=False):
        effects = (part["score"] - part["score_plain"]).set_axis(part["pair_id"])
        found = summarize_clustered(effects.to_frame("effect"), scenario).loc["effect"]
        row = {"agent": agent, "variant": variant, "n": len(part), "n_scenarios": int(found["n_clusters"])}
        row |= {"plain": part["score_plain"].mean(), "twin": part["score"].mean(), "effect": found["mean"]}
        ends = {
            end: min(1.0, max(-1.0, found[end])) if found[end] == found[end] else math.nan for end in ("low", "high")
        }
        rows.append(row | ends | {"p": found["p"], "failed": int(part["status"].eq("failed").sum())})
    return pd.DataFrame(rows)


def build_scores(scored):
    """Return the scores table of the contract: a row a run, task and metric (match, strict)."""
    table = scored.assign(
        run_id=scored["agent"],
        sample=0,
        agent_id=scored["agent"],
        is_missing=scored["status"].ne("ok"),
        is_scored=scored["status"].ne("missing"),
        reason=scored["status"].where(scored["status"] != "ok"),
        scorer_version=SCORER_VERSION,
    )
    parts = [
        table.assign(metric=metric, score=scored[column], score_imputed=scored[column].fillna(0.0))
        for metric, column in (("match", "score"), ("strict", "strict"))
    ]
    return pd.concat(parts, ignore_index=True)[tables.list_columns("scores")]


def draw_results(table, ax):
    """Draw a heat map of `tabulate_scores`, systems by columns, in percent; a star where replies are not recorded."""
    agents, columns = (list(dict.fromkeys(table[name])) for name in ("agent", "column"))
    wide = table.pivot(index="agent", columns="column", values="share").loc[agents, columns].mul(100)
    sizes = table.drop_duplicates("column").set_index("column")["size"]
    first = table.drop_duplicates("agent").set_index("agent")
    look = {"cmap": "crest", "vmin": 0, "vmax": 100, "annot": True, "fmt": ".0f", "linewidths": 0.5}
    sns.heatmap(wide, ax=ax, cbar_kws={"label": "right answers, percent"}, **look)
    is_short = first["n"] < first["size"]
    ax.set_yticklabels([f"{name} *" if is_short[name] else name for name in agents])
    names = [f"{GROUP_LABELS.get(name, name.replace('_', ' '))}\n(n = {sizes[name]})" for name in columns]
    ax.set_xticks([n + 0.5 for n in range(len(columns))], names, rotation=35, ha="right")
    note = " (* not all replies recorded)" if is_short.any() else ""
    ax.set(title=f"Right answers on our task set{note}", xlabel="", ylabel="")
    return ax
