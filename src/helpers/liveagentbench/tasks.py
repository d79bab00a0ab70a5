"""A task set over the replay world's rows: 104 tasks in 26 scenarios of the paper's five groups (LiveAgentBench 3).

data/taskset/scenarios.csv and tasks.csv are made to be edited by a person; they hold questions and what is asked, never
an answer: answers are computed from the rows. A task's `parts` are the files or pages that hold what it needs, joined
by "+": csv, html, pdf, png, gif, wav or page, each after "source/" where it is not of the scenario's source. Parts of
one source share its dates out between them, the earlier ones to the first.
"""

import numpy as np
import pandas as pd

from helpers.store import ROOT, check_table, dump_json
from helpers.world.sources import read_rows

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
VARIANTS = {"site_down": "page", "deep": "page", "unreadable": ""}
"""Twins of a task that hold one thing against it, and the form it must have: "" is any file (5.3)."""
PORTALS = {"deep": "http://registers.replay/"}
PORTAL = "http://directory.replay/"
"""Where a search for a page begins; the portal of deep tasks has one more level of menus."""
DAILY, HOURLY = 10, 16
"""Length of a date, of a time, as the rows write them."""


def load_tasks(folder=ROOT / "data/taskset"):
    """Return (tasks, scenarios) as written, all text, with `task_id`.

    Raises ValueError for an unknown scenario, group, form or ask, and for a question asked twice.
    """
    scenarios = pd.read_csv(folder / "scenarios.csv", dtype=str, keep_default_na=False).set_index("scenario")
    tasks = pd.read_csv(folder / "tasks.csv", dtype=str, keep_default_na=False)
    place = tasks.groupby("scenario").cumcount() + 1
    tasks.insert(0, "task_id", tasks["scenario"] + "_" + place.astype(str))
    for column, known in (("scenario", scenarios.index), ("ask", ASKS)):
        unknown = sorted(set(tasks[column]) - set(known))
        if unknown:
            raise ValueError(f"tasks.csv: {column} {unknown[0]!r} is unknown")
    if not set(scenarios["scenario_group"]) <= set(GROUPS):
        raise ValueError(f"scenarios.csv: a scenario_group is none of {', '.join(GROUPS)}")
    repeated = tasks.duplicated("question")
    if repeated.any():
        raise ValueError(f"tasks.csv: {tasks.loc[repeated, 'task_id'].iloc[0]} asks what another task asks")
    return tasks, scenarios


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


def split_list(text, mark=";"):
    """Return the parts of a cell that lists several.

    >>> split_list("Ohio;Iowa"), split_list("")
    (['Ohio', 'Iowa'], [])
    """
    return text.split(mark) if text else []


def split_span(text):
    """Return the first and last date or time of a cell: "a..b", or one for both.

    >>> split_span("2016-10-03..2016-10-07"), split_span("2016-10-05")
    (['2016-10-03', '2016-10-07'], ['2016-10-05', '2016-10-05'])
    """
    ends = split_list(text, "..")
    return ends if len(ends) == 2 else ends * 2


def pick_rows(rows, first, last, entities, variables):
    """Return rows (occurred_at, entity, the variables) of some dates and entities, none given meaning all, in order."""
    chosen = rows[rows["occurred_at"].between(first, last) & (rows["entity"].isin(entities) | (not entities))]
    columns = ["occurred_at", "entity", *variables]
    return chosen[columns].sort_values(["occurred_at", "entity"], kind="stable", ignore_index=True)


def read_shown(sources, folder=ROOT / "data/taskset", as_of=AS_OF):
    """Return {source_id: rows} of the sources that tasks use: the rows published before a moment."""
    tasks, scenarios = load_tasks(folder)
    pairs = zip(tasks.to_dict("records"), tasks["scenario"].map(scenarios["source_id"]), strict=True)
    used = sorted({source_id for task, own in pairs for source_id, _ in list_parts(task, own)})
    tables = {source_id: read_rows(sources[source_id]) for source_id in used}
    return {source_id: rows[rows["published_at"] < pd.Timestamp(as_of)] for source_id, rows in tables.items()}


def collect_rows(task, parts, shown):
    """Return the rows that a task asks about: occurred_at, entity, value (of the first variable named).

    Raises ValueError when a row that is asked about was not published by then, or when an entity has none.
    """
    (first, last), variable, wanted = split_span(task["at"]), task["variables"].split()[0], split_list(task["of"])
    tables = [
        pick_rows(shown[source_id], first, last, wanted, [variable])
        for source_id in dict.fromkeys(source_id for source_id, _ in parts)
    ]
    rows = pd.concat(tables, ignore_index=True).rename(columns={variable: "value"})
    limits = split_list(task["shown"])
    if len({source_id for source_id, _ in parts}) == 1 and limits:
        rows = rows[rows["entity"].isin(limits)]
    lacking = set(wanted) - set(rows["entity"])
    if rows.empty or lacking or rows["value"].isna().any():
        raise ValueError(
            f"{task['task_id']}: no row for {', '.join(sorted(lacking)) or task['at']}, or no value in one"
        )
    return rows


def take_extreme(table, sign, k=1):
    """Return place k of a table (label, value) by value, from the top (sign 1) or the bottom (-1).

    >>> take_extreme(pd.Series({"a": 3.0, "b": 5.0, "c": 1.0}), 1, 2)
    'a'
    >>> take_extreme(pd.Series({"a": 3.0, "b": 3.0}), 1)
    Traceback (most recent call last):
        ...
    ValueError: place 1 is tied at 3.0, so the answer is not unique
    """
    ordered = (sign * table).sort_values(ascending=False, kind="stable")
    value = ordered.iloc[k - 1]
    if (np.isclose(ordered, value)).sum() > 1:
        raise ValueError(f"place {k} is tied at {sign * value}, so the answer is not unique")
    return ordered.index[k - 1]


def label_entities(rows):
    """Return the values of one moment by entity. Raises ValueError for rows of several moments."""
    if rows["occurred_at"].nunique() != 1:
        raise ValueError("entities can be ranked at one moment only")
    return rows.set_index("entity")["value"]


def list_series(rows):
    """Return one entity's values by date, in order. Raises ValueError for several entities."""
    if rows["entity"].nunique() != 1:
        raise ValueError("a series is of one entity")
    return rows.set_index("occurred_at")["value"].sort_index()


def find_mover(rows, arg):
    """Return the entity whose value rose most between the first and the last date."""
    wide = rows.pivot(index="occurred_at", columns="entity", values="value").sort_index()
    return take_extreme(wide.iloc[-1] - wide.iloc[0], 1)


def take_single(rows, arg):
    """Return the value of the one row there is. Raises ValueError for more."""
    if len(rows) != 1:
        raise ValueError(f"{len(rows)} rows where one is asked for")
    return rows["value"].iloc[0]


def find_gap(rows, arg):
    """Return the first entity's value less the second's, in the order in which `arg` (or the rows) names them."""
    values = label_entities(rows)
    first, second = arg or list(values.index)
    return values[first] - values[second]


ASKS = {
    "value": take_single,
    "highest": lambda rows, arg: take_extreme(label_entities(rows), 1),
    "lowest": lambda rows, arg: take_extreme(label_entities(rows), -1),
    "rank": lambda rows, arg: take_extreme(label_entities(rows), 1, int(arg)),
    "peak": lambda rows, arg: take_extreme(list_series(rows), 1),
    "trough": lambda rows, arg: take_extreme(list_series(rows), -1),
    "mover": find_mover,
    "max": lambda rows, arg: rows["value"].max(),
    "min": lambda rows, arg: rows["value"].min(),
    "range": lambda rows, arg: rows["value"].max() - rows["value"].min(),
    "total": lambda rows, arg: rows["value"].sum(),
    "mean": lambda rows, arg: rows["value"].mean(),
    "change": lambda rows, arg: list_series(rows).iloc[-1] - list_series(rows).iloc[0],
    "above": lambda rows, arg: int((rows["value"] > float(arg)).sum()),
    "rises": lambda rows, arg: int((list_series(rows).diff() > 1e-9).sum()),
    "gap": find_gap,
}
"""What can be asked of rows (occurred_at, entity, value), each with an argument: a place, a bound, two entities."""
COUNTS, SIMPLE = ("above", "rises"), ("value",)
"""Asks whose answer is a count; asks that take one step once the row is found."""


def compute_answer(task, rows, decimals):
    """Return a task's answer as text: a name, a date (or time), or a number with the variable's decimals.

    A mean is rounded to the decimals its `arg` says. Raises ValueError when the answer is not unique or a mean lies so
    near the middle between two roundings that programs may differ.
    """
    arg = split_list(task["of"]) if task["ask"] == "gap" else task["arg"]
    try:
        value = ASKS[task["ask"]](rows, arg)
    except ValueError as error:
        raise ValueError(f"{task['task_id']}: {error}") from None
    places = 0 if task["ask"] in COUNTS else int(task["arg"]) if task["ask"] == "mean" else decimals
    if not isinstance(value, str) and abs(value * 10**places % 1 - 0.5) < 1e-6:
        raise ValueError(f"{task['task_id']}: {value} lies in the middle between two roundings")
    return format_answer(value, places)


def format_answer(value, decimals):
    """Return an answer as text.

    >>> format_answer("2016-10-05T14:00", 0), format_answer(-0.0001, 2), format_answer(1234.5, 2)
    ('2016-10-05 14:00', '0.00', '1234.50')
    """
    if isinstance(value, str):
        return value.replace("T", " ") if len(value) == HOURLY and value[DAILY] == "T" else value
    return f"{round(float(value), decimals) + 0.0:.{decimals}f}"


def count_steps(task, parts, variant=""):
    """Return the steps a task takes (3.2.4): open each file, or go down two menus to a page (three, if deep); then find
    the row, or gather the rows and reckon.

    >>> count_steps({"ask": "mean"}, [("a", "csv"), ("b", "page")])
    6
    """
    opening = sum((3 + (variant == "deep")) if form == "page" else 1 for _, form in parts)
    return opening + (1 if task["ask"] in SIMPLE else 2)


# --- the set as tables ------------------------------------------------------------------------------------------------


def build_taskset(sources, shown, rng, n_twins=26, validation=125 / 374, folder=ROOT / "data/taskset"):
    """Return (events, answers): the tasks, and after them their twins of each variant in VARIANTS.

    `shown` is what `read_shown` returns. Every task with a page has a twin, and up to `n_twins` drawn of those with
    files alone; a twin has the `pair_id` and the answer of its task. `validation` is the share of tasks in that split
    (the paper's 125 of 374). Raises ValueError for a wrong task.
    """
    tasks, scenarios = load_tasks(folder)
    rows, values = [], {}
    n_first = round(validation * len(tasks))
    splits = rng.permutation(["validation"] * n_first + ["test"] * (len(tasks) - n_first))
    for task, split in zip(tasks.to_dict("records"), splits, strict=True):
        scenario = scenarios.loc[task["scenario"]]
        parts = list_parts(task, scenario["source_id"])
        source = sources[parts[0][0]]
        decimals = source.variables[task["variables"].split()[0]]["decimals"]
        values[task["task_id"]] = compute_answer(task, collect_rows(task, parts, shown), decimals)
        rows.append(describe_task(task, scenario, source, parts, str(split)))
    events = pd.DataFrame(rows)
    twins = [make_twins(events, variant, form, rng, n_twins) for variant, form in VARIANTS.items()]
    events = check_table("events", pd.concat([events, *twins], ignore_index=True))
    answers = pd.DataFrame({"event_id": events["event_id"], "value": events["pair_id"].map(values), "status": "ok"})
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
        "variant": "plain",
        "source_id": source.id,
        "variables": dump_json({key: task[key] for key in ("parts", "variables", "first", "last", "shown")}),
        "domain": source.domain,
        "prompt": task["question"],
        "kind": "text" if wants_text else "date" if task["ask"] in ("peak", "trough") else "number",
        "as_of": AS_OF,
        "n_steps": count_steps(task, parts),
        "capabilities": dump_json(capabilities),
        "pair_id": task["task_id"],
        "split": split,
        "is_synthetic": False,
        "scenario": scenario["name"],
        "scenario_group": scenario["scenario_group"],
        "environments": dump_json(sorted({FORMS[form][1] for form in forms})),
        "attachments": dump_json(names),
    }


def make_twins(events, variant, form, rng, n_twins):
    """Return twins of tasks: those with a page, or of those with files alone up to `n_twins`, drawn."""
    has_page = events["capabilities"].str.contains("browser")
    able = events[has_page if form == "page" else ~has_page]
    if form != "page" and len(able) > n_twins:
        able = able.loc[np.sort(rng.choice(able.index, n_twins, replace=False))]
    able = able.assign(event_id=able["event_id"] + "-" + variant, variant=variant)
    if variant == "deep":
        able["n_steps"] += 1
        able["attachments"] = able["attachments"].str.replace(PORTAL, PORTALS["deep"])
    return able
