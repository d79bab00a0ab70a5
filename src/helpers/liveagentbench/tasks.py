"""A task set over the replay world's rows: 104 tasks in 26 scenarios of the paper's five groups (LiveAgentBench 3).

data/taskset/scenarios.csv and tasks.csv are made to be edited by a person; they hold questions and what is asked, never
an answer: answers are computed from the rows. A task's `parts` are the files or pages that hold what it needs, joined
by "+": csv, html, pdf, png, gif, wav or page, each after "source/" where it is not of the scenario's source. Parts of
one source share its dates out between them, the earlier ones to the first.
"""

import numpy as np
import pandas as pd

from helpers import papers
from helpers.faults import read_sheet
from helpers.liveagentbench.asks import ASKS, SIMPLE, compute_answer, write_truth
from helpers.store import ROOT, dump_json
from helpers.tables import check_table
from helpers.web.sources import load_sources, read_rows

AS_OF = "2016-10-24T00:00:00+08:00"
"""The moment at which every task is asked; nothing in its files was published later."""
GROUPS = {
    "work_study": "Work and Study",
    "daily_life": "Daily Life",
    "info_access_processing": "Information Access and Processing",
    "humanities_social_science": "Humanities and Social Science",
    "social_production": "Social Production",
}
"""The paper's five groups of scenarios (its Table 2), by the names of data/papers/liveagentbench_table2.csv."""
FORMS = {
    "csv": ("text_file", "spreadsheet"),
    "html": ("text_file", "saved page"),
    "pdf": ("text_file", "document"),
    "png": ("image", "picture"),
    "gif": ("video", "clip"),
    "wav": ("audio", "recording"),
    "page": ("browser", "web site"),
}
"""Form of a part -> the capability it takes, the environment it is of."""
CAPABILITIES = ("text_file", "image", "video", "audio", "browser")
TASK_COLUMNS = "scenario parts variables first last shown ask at of arg question".split()
PORTAL = "http://directory.replay/"
"""Where a search for a page begins."""


def load_tasks(folder=ROOT / "data/taskset"):
    """Return (tasks, scenarios) as written, all text, with `task_id`.

    Raises Problems, with file, row and column, for an unknown scenario, group or ask, and for a question asked twice.
    """
    columns = ("scenario", "scenario_group", "name", "source_id")
    scenarios = read_sheet(folder / "scenarios.csv", columns, key=["scenario"], words={"scenario_group": GROUPS})
    words = {"scenario": scenarios["scenario"].tolist(), "ask": ASKS}
    tasks = read_sheet(folder / "tasks.csv", TASK_COLUMNS, key=["question"], words=words)
    place = tasks.groupby("scenario").cumcount() + 1
    tasks.insert(0, "task_id", tasks["scenario"] + "_" + place.astype(str))
    return tasks, scenarios.set_index("scenario")


def list_parts(task, source_id):
    """Return a task's parts as [(source_id, form)].

    >>> list_parts({"task_id": "a_1", "parts": "csv+oil_wti/page"}, "oil_brent")
    [('oil_brent', 'csv'), ('oil_wti', 'page')]
    """
    pairs = [tuple(part.split("/")) if "/" in part else (source_id, part) for part in task["parts"].split("+")]
    for _, form in pairs:
        if form not in FORMS:
            raise ValueError(f"{task['task_id']}: {form!r} is no form; there are {', '.join(FORMS)}")
    return pairs


# --- rows and answers -------------------------------------------------------------------------------------------------


def split_list(text):
    """Return the parts of a cell that lists several.

    >>> split_list("Ohio;Iowa"), split_list("")
    (['Ohio', 'Iowa'], [])
    """
    return text.split(";") if text else []


def pick_rows(rows, first, last, entities, variables):
    """Return rows (occurred_at, entity, the variables) of some dates and entities, none given meaning all, in order."""
    chosen = rows[rows["occurred_at"].between(first, last) & (rows["entity"].isin(entities) | (not entities))]
    columns = ["occurred_at", "entity", *variables]
    return chosen[columns].sort_values(["occurred_at", "entity"], kind="stable", ignore_index=True)


def read_shown(sources):
    """Return {source_id: rows} of the sources that tasks use: the rows published before they are asked."""
    tasks, scenarios = load_tasks()
    pairs = zip(tasks.to_dict("records"), tasks["scenario"].map(scenarios["source_id"]), strict=True)
    used = sorted({source_id for task, own in pairs for source_id, _ in list_parts(task, own)})
    tables = {source_id: read_rows(sources[source_id]) for source_id in used}
    return {source_id: rows[rows["published_at"] < pd.Timestamp(AS_OF)] for source_id, rows in tables.items()}


def collect_rows(task, parts, shown):
    """Return the rows that a task asks about: occurred_at, entity, value (of the first variable named).

    Raises ValueError when a row that is asked about was not published by then, or when an entity has none.
    """
    first, _, last = task["at"].partition("..")
    variable, wanted, limits = task["variables"].split()[0], split_list(task["of"]), split_list(task["shown"])
    source_ids = dict.fromkeys(source_id for source_id, _ in parts)
    tables = [pick_rows(shown[source_id], first, last or first, wanted, [variable]) for source_id in source_ids]
    rows = pd.concat(tables, ignore_index=True).rename(columns={variable: "value"})
    if len(source_ids) == 1 and limits:
        rows = rows[rows["entity"].isin(limits)]
    lacking = set(wanted) - set(rows["entity"])
    if rows.empty or lacking or rows["value"].isna().any():
        raise ValueError(
            f"{task['task_id']}: no row for {', '.join(sorted(lacking)) or task['at']}, or no value in one"
        )
    return rows


def count_steps(task, parts):
    """Return the steps a task takes (3.2.4): open each file, or go down two menus to a page; then find the row, or
    gather the rows and reckon.

    >>> count_steps({"ask": "mean"}, [("a", "csv"), ("b", "page")])
    6
    """
    return sum(3 if form == "page" else 1 for _, form in parts) + (1 if task["ask"] in SIMPLE else 2)


# --- the set as tables ------------------------------------------------------------------------------------------------


def open_taskset(seed):
    """Return (sources, shown, events, answers) of the task set: `read_shown`'s rows and `build_taskset`'s tables."""
    sources = load_sources()
    shown = read_shown(sources)
    return sources, shown, *build_taskset(sources, shown, np.random.default_rng(seed))


def build_taskset(sources, shown, rng):
    """Return (events, answers) of the tasks; `shown` is what `read_shown` returns.

    The share of the validation split, which is drawn, is the paper's. Raises ValueError for a wrong task.
    """
    tasks, scenarios = load_tasks()
    rows, truths = [], []
    share = papers.get_constant("liveagentbench", "n_validation") / papers.get_constant("liveagentbench", "n_tasks")
    n_first = round(share * len(tasks))
    splits = rng.permutation(["validation"] * n_first + ["test"] * (len(tasks) - n_first))
    for task, split in zip(tasks.to_dict("records"), splits, strict=True):
        scenario = scenarios.loc[task["scenario"]]
        parts = list_parts(task, scenario["source_id"])
        source = sources[parts[0][0]]
        decimals = source.variables[task["variables"].split()[0]]["decimals"]
        truths.append(write_truth(compute_answer(task, collect_rows(task, parts, shown), decimals)))
        rows.append(describe_task(task, scenario, source, parts, str(split)))
    events = check_table("events", pd.DataFrame(rows))
    answers = pd.DataFrame({"event_id": events["event_id"], "value": truths, "status": "ok"})
    return events, check_table("answers", answers)


def describe_task(task, scenario, source, parts, split):
    """Return a task's row of the events table."""
    forms = [form for _, form in parts]
    names = [PORTAL if form == "page" else f"{task['task_id']}_{n}.{form}" for n, form in enumerate(forms, 1)]
    capabilities = [c for c in CAPABILITIES if c in {FORMS[form][0] for form in forms}]
    wants_text = task["ask"] in ("highest", "lowest", "rank", "mover")
    return {
        "event_id": task["task_id"],
        "paper": "liveagentbench",
        "task": task["ask"],
        "cluster_id": source.id,
        "source_id": source.id,
        "variables": dump_json({key: task[key] for key in ("parts", "variables", "first", "last", "shown")}),
        "domain": source.domain,
        "prompt": task["question"],
        "kind": "text" if wants_text else "date" if task["ask"] in ("peak", "trough") else "number",
        "as_of": AS_OF,
        "n_steps": count_steps(task, parts),
        "capabilities": dump_json(capabilities),
        "split": split,
        "is_synthetic": False,
        "scenario": scenario["name"],
        "scenario_group": scenario["scenario_group"],
        "environments": dump_json(sorted({FORMS[form][1] for form in forms})),
        "attachments": dump_json(names),
    }
