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

from helpers.faults import escape_cells
from helpers.futurex.levels import bound_overall
from helpers.futurex.past import read_window
from helpers.question_sets import find_set
from helpers.scoring.scores import build_matrix, score_predictions, select_headline
from helpers.stats.calibration import bin_chances, list_chances
from helpers.stats.means import MIN_CLUSTERS, find_clusters, tabulate_groups
from helpers.stats.paired import compare_pairs
from helpers.store import locate_output, open_store, parse_json, read_runs

KEY = ["run_id", "event_id", "sample"]
N_REASONS = 3
"""Reasons for missing predictions that are shown of an agent, the most frequent first."""

WIDTH, LONGEST = 119, 24
"""Columns of a terminal that a printed table takes at most, and of an agent's name in it."""

SHORT = {"s a question": "s each", "model s a question": "model s"}
"""How a column is called where it is printed."""

SCORE_COLUMNS = (
    "metric group name mean low high low_by_event high_by_event n n_asked n_clusters coverage mean_imputed"
).split()
"""Columns of a run's results.csv, after run_id and agent_id."""

PREDICTION_COLUMNS = "event_id sample as_of status reason value probability distribution answer score".split()
"""Columns of a run's predictions.csv, after agent_id."""

BRIER = "Brier: sum over options, 0 (best) to 2 for one choice, half of it is the usual one of yes/no"
"""Which Brier error is meant (`scores.score_brier`); the mean is over questions of one choice."""


def read_sampled(path, table, run_ids, events, timings=False):
    """Return some runs' rows of a ledger's table for these events only: a run may already hold more."""
    rows = read_runs(path, table, run_ids.values(), timings)
    return rows[rows["event_id"].isin(events["event_id"])]


def tabulate_scores(scores, events):
    """Return every mean of some scores by agent: FutureX's overall score, all events, each level, kind and domain.

    Columns: agent_id, `SCORE_COLUMNS`, note; metric is "score" (higher is better) or "brier" (an error, `BRIER`: lower
    is better). Questions with several right answers, each option of which adds up to 1, have a Brier row of their own
    (group kind, name multi). Raises ValueError when no event can be scored.
    """
    clusters = find_clusters(events)[0]
    rows, overall = select_headline(scores, events), bound_overall(scores, events, clusters)
    rows["domain"] = rows["event_id"].map(events.set_index("event_id").get("domain", {}))
    tables = [part.assign(metric="score") for part in (overall, tabulate_groups(rows, clusters))]
    brier = scores[(scores["metric"] == "brier") & scores["is_scored"].astype(bool) & scores["score"].notna()]
    kinds = brier["event_id"].map(events.set_index("event_id")["kind"])
    for kind, group, name in (("single", "all", ""), ("multi", "kind", "multi")):
        if (part := brier[kinds == kind]).empty:
            continue
        asked = rows[rows["kind"] == kind].groupby("agent_id")["event_id"].nunique()
        table = tabulate_groups(part, clusters, groups=(), most=None).assign(metric="brier", mean_imputed=math.nan)
        table = table.assign(group=group, name=name, n_asked=table["agent_id"].map(asked))
        tables.append(table.assign(coverage=table["n"] / table["n_asked"]))
    table = pd.concat(tables, ignore_index=True).fillna({"note": ""})
    return table[["agent_id", *SCORE_COLUMNS, "note"]]


def tabulate_leads(scores, events, baselines):
    """Return each agent's lead over the best of `baselines`, itself left out: a row an agent, of `paired.compare_pairs`
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
    """Return a row an agent, best first, as text: its mean, overall, lead over the best baseline, Brier, levels.

    From the tables of `tabulate_scores` and `tabulate_leads`.
    """
    parts = {key: part.set_index("agent_id") for key, part in table.groupby(["metric", "group", "name"], sort=False)}
    overall, whole = parts["score", "overall", ""], parts["score", "all", ""]
    means = pd.DataFrame({"overall": overall["mean"], "all": whole["mean"]}).fillna(-1)
    order = sorted(overall.index, key=lambda agent: (-means["overall"][agent], -means["all"][agent], agent))
    shown = pd.DataFrame(index=pd.Index(order, name="agent"))
    counted = ["mean", "low", "high", "n", "n_asked"]
    shown["mean of answered"] = [write_interval(*whole.loc[agent, counted]) for agent in order]
    shown["overall"] = [write_interval(*overall.loc[agent, ["mean", "low", "high"]]) for agent in order]
    known = [leads.loc[agent] if agent in leads.index else None for agent in order]
    shown["best baseline"] = ["-" if lead is None else lead["baseline"] for lead in known]
    shown["lead"] = ["-" if lead is None else write_lead(lead) for lead in known]
    brier = parts.get(("brier", "all", ""), pd.DataFrame(columns=["mean"]))
    shown["Brier"] = [f"{brier['mean'][a]:.3f}" if a in brier.index else "-" for a in order]
    for (metric, group, name), part in parts.items():
        if (metric, group) == ("score", "level"):
            shown[f"level {name}"] = [
                f"{mean:.2f} ({n:.0f}/{n_asked:.0f})" if n else f"- (0/{n_asked:.0f})"
                for mean, n, n_asked in part.loc[order, ["mean", "n", "n_asked"]].to_numpy()
            ]
    return shown


def write_interval(value, low, high, n=None, n_asked=None):
    """Return a value with its interval, and the number of events where it is given, as text, "-" for none.

    Where more events were asked than the value is over, their number stands beside.

    >>> write_interval(0.314, 0.25, 0.38), write_interval(0.314, math.nan, math.nan), write_interval(math.nan, 0, 0)
    ('0.31 (0.25 to 0.38)', '0.31', '-')
    >>> write_interval(0.314, 0.25, 0.38, 60), write_interval(0.314, math.nan, math.nan, 6)
    ('0.31 (0.25 to 0.38, n = 60)', '0.31 (n = 6)')
    >>> write_interval(0.314, math.nan, math.nan, 6, 6), write_interval(0.314, math.nan, math.nan, 6, 20)
    ('0.31 (n = 6)', '0.31 (n = 6 of 20)')
    """
    of = f" of {n_asked:.0f}" if n is not None and n_asked is not None and n_asked > n else ""
    told = ([f"{low:z.2f} to {high:z.2f}"] if np.isfinite(low) else []) + ([] if n is None else [f"n = {n:.0f}{of}"])
    ends = f" ({', '.join(told)})" if told else ""
    return f"{value:z.2f}{ends}" if np.isfinite(value) else "-"


def write_count(n, one, many):
    """Return a number with the word or words that go with it.

    >>> write_count(1, "event is", "events are"), write_count(1026, "event is", "events are")
    ('1 event is', '1,026 events are')
    """
    return f"{n:,} {one if n == 1 else many}"


def write_signed(value, form="+.3f"):
    """Return a number with its sign; one that rounds to 0 has none.

    >>> write_signed(-0.0004), write_signed(0.0004), write_signed(-0.25), write_signed(0.25, "+.2f")
    ('0.000', '0.000', '-0.250', '+0.25')
    """
    text = format(value, form)
    return text if float(text) else text[1:]


def write_lead(pair):
    """Return a row of `paired.compare_pairs` as text.

    >>> write_lead({"difference": 0.1, "low": -0.02, "high": 0.22, "n": 40})
    '+0.10 (-0.02 to +0.22)'
    >>> write_lead({"difference": 0.1, "low": math.nan, "high": math.nan, "n": 20})
    '+0.10 (cannot tell)'
    """
    if not pair["n"]:
        return "-"
    difference, low, high = (write_signed(pair[name], "+.2f") for name in ("difference", "low", "high"))
    return f"{difference} ({f'{low} to {high}' if np.isfinite(pair['low']) else 'cannot tell'})"


def write_tables(shown):
    """Return the rows of agents as text in two tables no wider than `WIDTH`: scores; levels, costs and missing.

    Names longer than `LONGEST` are cut in the middle; what is missing is cut where no room is left.
    """
    names = shown.index.map(lambda name: name if len(name) <= LONGEST else f"{name[:12]}…{name[-11:]}")
    shown = shown.set_axis(names.rename("agent"), axis=0).rename(columns=SHORT)
    scores = [name for name in ("mean of answered", "overall", "Brier", "lead", "best baseline") if name in shown]
    texts = [write_table(shown[scores])] if scores else []
    return "\n\n".join([*texts, write_table(shown.drop(columns=scores))])


def write_table(shown):
    """Return a table as text, its last column cut to what `WIDTH` leaves."""
    formats = {"USD": "{:.4f}".format, "s each": "{:.3f}".format, "model s": "{:.3f}".format}
    rest, last = shown.reset_index().iloc[:, :-1], shown.columns[-1]
    left = rest.to_string(index=False, formatters=formats, na_rep="-").splitlines()
    room = WIDTH - max(map(len, left)) - 2
    cells = [text if len(text) <= room else f"{text[: max(room - 1, 7)]}…" for text in map(str, [last, *shown[last]])]
    return "\n".join(f"{line}  {cell}" for line, cell in zip(left, cells, strict=True))


def time_models(path, run_ids):
    """Return the seconds that each question's replies took of a model, by run_id and event_id; blank without a model.

    They are those of the requests themselves, not of queues and look-ups; of a recorded reply those of its recording.
    """
    marks = ", ".join("?" * len(run_ids))
    sql = f"SELECT run_id, event_id, sample, sum(duration_s) FROM traces WHERE run_id IN ({marks}) GROUP BY 1, 2, 3"
    with closing(open_store(path)) as ledger:
        rows = ledger.execute(sql, list(run_ids.values())).fetchall()
    table = pd.DataFrame(rows, columns=["run_id", "event_id", "sample", "model_s"])
    return table.astype({"model_s": float}).set_index(KEY)["model_s"]


def measure_costs(replies, predictions, events):
    """Return, by agent, US dollars spent (blank: no price is known), mean seconds a question, and what is missing.

    Missing counts predictions by how they ended: a reply that came but cannot be read is "unparsable"; events without
    any reply are "not asked", as a ceiling, a spent quota or a stop leaves them.
    """
    agents = predictions.set_index(KEY)["agent_id"]
    replies = replies.join(agents, on=agents.index.names)
    groups = replies.groupby("agent_id")
    table = pd.DataFrame({"USD": groups["cost_usd"].agg(lambda cost: pd.to_numeric(cost).sum(min_count=1))})
    table["s a question"] = groups["duration_s"].mean()
    table["model s a question"] = groups["model_s"].mean()
    counts = predictions[predictions["status"] != "ok"].groupby("agent_id")["status"].value_counts()
    n_left = len(events) - groups["event_id"].nunique()
    ends = {agent: [*counts.get(agent, {}).items(), ("not asked", n_left[agent])] for agent in table.index}
    table["missing"] = [", ".join(f"{n} {end}" for end, n in part if n) or "none" for part in ends.values()]
    return table


def count_missing(predictions, replies):
    """Return what is missing of a run by status and reason, the most frequent first: n, one event, its reply's end."""
    texts = replies.set_index(KEY)["reply"]
    missing = predictions[predictions["status"] != "ok"].join(texts, on=texts.index.names)
    pairs = zip(missing["reason"], missing["event_id"], strict=True)
    missing["reason"] = [r.replace(event, "<event>") if isinstance(r, str) else r for r, event in pairs]
    groups = missing.groupby(["status", "reason"], dropna=False)
    rows = []
    for (status, reason), part in sorted(groups, key=lambda group: (-len(group[1]), str(group[0]))):
        first = part.iloc[0]
        said = " ".join(str(first["reply"]).split())[-90:] if isinstance(first["reply"], str) else None
        reason = reason if isinstance(reason, str) else None
        rows.append({"status": status, "reason": reason, "n": len(part), "event_id": first["event_id"], "reply": said})
    return rows


def list_missing(predictions, replies):
    """Return each agent's most frequent reasons for missing predictions, a line each, with one reply as example."""
    lines = []
    for agent, part in predictions.groupby("agent_id"):
        for row in count_missing(part, replies)[:N_REASONS]:
            example = f"; {row['event_id']}" + (f": ...{row['reply']!r}" if row["reply"] else "")
            lines.append(f"{agent}, {row['n']} {row['status']}: {row['reason'] or 'no reason given'}{example}")
    return "".join(f"\n{line}" for line in lines)


def describe_status(status, n_events, n_window):
    """Return in words how much of its window a run was asked, of its row's status (`store.close_run`).

    >>> describe_status("partial", 20, 240)
    'a sample: 20 of the 240 events of the set were asked'
    """
    if status == "complete":
        return "whole: all events of the set were asked"
    if n_events < n_window:
        return f"a sample: {n_events} of the {n_window} events of the set were asked"
    return "all events of the set were asked; some ended in accidents, and the same command asks these again"


def describe_result(run, replies, predictions, table, asked, **about):
    """Return what results.json holds of one run (a row of the table runs), from its own rows.

    `table` is the run's part of `tabulate_scores`; `about` has seed, calibration (its rows of `bin_chances`),
    unanswered_usd, lead (its row of `tabulate_leads` or None), facts (what WorldReasoner's scores rest on) and note:
    why there are no scores, or what they are not. Blank cells are null.
    """
    clusters, by = find_clusters(asked.events)
    n_events, whole = len(asked.events), table[(table["metric"] == "score") & (table["group"] == "all")]
    n_window = len(read_window("events", asked.window))
    found = {
        **{name: run[name] for name in "run_id agent_id category model model_digest condition".split()},
        "status": describe_status(run["status"], replies["event_id"].nunique(), n_window),
        **{"window": asked.window, "seed": about["seed"], "n_window": n_window, "n_events": n_events},
        **{"n_asked": len(replies), "n_answered": int(predictions["status"].eq("ok").sum())},
        "n_scored": int(whole["n"].sum()),
        "versions": {
            "kit": importlib.metadata.version("daybefore"),
            "code_version": run["code_version"],
            "parser_version": ", ".join(sorted(predictions["parser_version"].dropna().unique())),
            "packages": parse_json(run["packages"]),
        },
        "intervals": f"95%, by {by} ({clusters.nunique()}); blank below {MIN_CLUSTERS}; by event beside them",
        "note": about["note"] or next(iter(table["note"]), ""),
        "scores": table[SCORE_COLUMNS].to_dict("records"),
        "calibration": about["calibration"],
        "lead_over_best_baseline": None if about["lead"] is None else about["lead"].to_dict(),
        "worldreasoner": about["facts"],
        "missing": count_missing(predictions, replies),
        "cost_usd": pd.to_numeric(replies["cost_usd"]).sum(min_count=not about["unanswered_usd"])
        + about["unanswered_usd"],
        "cost_unanswered_usd": about["unanswered_usd"],
        **{f"n_{kind}_tokens": int(replies[f"n_{kind}_tokens"].sum()) for kind in ("input", "output", "cached")},
        "duration_s": round(float(replies["duration_s"].sum()), 3),
        "model_s": round(replies["model_s"].sum(min_count=1), 3),
    }
    return json.loads(json.dumps(found, default=_open_number), parse_constant=lambda name: None)


def _open_number(value):
    """A numpy number as Python's; pandas' missing value as none."""
    return None if value is pd.NA else value.item()


def save_results(found, predictions):
    """Write results.json, results.csv and predictions.csv of a run into data/runs/<run_id>.

    `found` is what `describe_result` returns; `predictions` are its rows with `answer` and headline `score`.
    """
    path = locate_output(f"data/runs/{found['run_id']}/results.json")
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    rows = pd.DataFrame(found["scores"], columns=SCORE_COLUMNS)
    rows.insert(0, "run_id", found["run_id"])
    rows.insert(1, "agent_id", found["agent_id"])
    escape_cells(rows).to_csv(path.with_suffix(".csv"), index=False, lineterminator="\n")
    predictions = predictions.reindex(columns=["agent_id", *PREDICTION_COLUMNS])
    escape_cells(predictions).to_csv(path.with_name("predictions.csv"), index=False, lineterminator="\n")


def show_results(asked, run_ids, baselines, seed, beside, unanswered=None, explain=False):
    """Keep what some runs came to, each run under data/runs/<run_id>, and return it as text.

    `asked` is the run's (`run.Asked`); `run_ids` maps agents to runs of its store; `seed` drew the events; `beside` is
    what WorldReasoner says of them (`conditions.Beside`); `unanswered` maps agents to what requests without an answer
    can have cost (US dollars). The text has the scores where there are answers, the costs, and what is missing and why;
    with `explain` what the columns mean, too.
    """
    path, events = asked.path, asked.events
    replies = read_sampled(path, "replies", run_ids, events, timings=True)
    predictions = read_sampled(path, "predictions", run_ids, events)
    replies = replies.drop(columns="model_s").join(time_models(path, run_ids), on=KEY)
    costs, problem = measure_costs(replies, predictions, events), None
    rows, bins = predictions, pd.DataFrame(columns=["agent_id"])
    try:
        answers = read_window("answers", asked.window)
        scores = score_predictions(predictions, answers, events)
        rows = predictions.join(answers.set_index("event_id")["value"].rename("answer"), on="event_id")
        rows = rows.join(select_headline(scores, events).set_index(KEY)["score"], on=KEY)
        table, leads = tabulate_scores(scores, events), tabulate_leads(scores, events, baselines)
        chances = list_chances(events, answers, rows[rows["answer"].notna()])
        bins = bin_chances(chances, find_clusters(events)[0]) if len(chances) else bins
        shown = summarize_agents(table, leads).join(costs)
        told = f"levels: mean (answered/asked); leads: over the best baseline, on events both answered; {BRIER}"
        notes = [told] if explain else ["--explain (make run ARGS=--explain) says what the columns mean"]
        note = "; ".join([*notes, *(f"overall: {note}" for note in table["note"].unique() if note)])
    except (FileNotFoundError, ValueError) as error:
        problem, shown, note = str(error), costs.rename_axis("agent"), f"no scores: {error}"
        table, leads = pd.DataFrame(columns=["agent_id", *SCORE_COLUMNS, "note"]), pd.DataFrame()
    table = pd.concat([table, beside.rows.reindex(columns=[*table.columns])], ignore_index=True).fillna({"note": ""})
    problem = "; ".join(filter(None, [beside.note, problem]))
    for run in read_runs(path, "runs", run_ids.values()).to_dict("records"):
        agent = run["agent_id"]
        own = [part[part["run_id"] == run["run_id"]] for part in (replies, predictions, rows)]
        about = {"lead": leads.loc[agent] if agent in leads.index else None, "facts": beside.facts.get(agent)}
        about |= {"seed": seed, "note": problem, "unanswered_usd": (unanswered or {}).get(agent, 0)}
        about["calibration"] = bins[bins["agent_id"] == agent].drop(columns="agent_id").to_dict("records")
        save_results(describe_result(run, *own[:2], table[table["agent_id"] == agent], asked, **about), own[2])
    shown = shown.loc[sorted(shown.index, key=lambda agent: agent in baselines)]  # the agents asked for come first
    words = [
        f"{len(events)} events of {find_set(asked.window).name}; {note}{list_missing(predictions, replies)}",
        *describe_confidence(rows[~rows["agent_id"].isin(baselines)]),
        describe_intervals(events),
        "kept in data/runs/<run_id>: results.json, results.csv (also by kind, domain and event) and predictions.csv",
    ]
    parts = [beside.note, write_tables(shown), beside.text, "\n".join(words)]
    return "\n" + "\n\n".join(filter(None, parts))


def describe_confidence(rows):
    """Yield a sentence an agent on the probability that it gave its answers, beside how often these were right.

    `rows` are predictions with their score; of a single choice with probabilities by option.
    """
    for agent, part in rows.dropna(subset=["distribution", "value"]).groupby("agent_id"):
        told = [
            parse_json(cell).get(parse_json(value)) if isinstance(parse_json(value), str) else None
            for cell, value in part[["distribution", "value"]].to_numpy()
        ]
        part = part.assign(said=told).dropna(subset=["said", "score"]) if "score" in part else part[:0]
        if len(part):
            said, right = part["said"].mean(), part["score"].mean()
            told = f"gave its answers {said:.2f} and was right {right:.2f} of the time"
            yield f"{agent}: {told} (n = {len(part)}; calibration by bin: results.json)"


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
