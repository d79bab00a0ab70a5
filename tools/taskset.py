"""The task set of LiveAgentBench's room: questions, answers computed from the replay's rows, the
files they come with.

data/taskset/scenarios.csv and tasks.csv are made to be edited by a person; they hold questions and
what is asked, never an answer: answers are computed from the rows. A task's `parts` are the files
or pages that hold what it needs, joined by "+": csv, html, pdf, png, gif, mp3 or page, each after
"source/" where it is not of the scenario's source. Parts of one source share its dates out between
them, the earlier ones to the first. `PYTHONPATH=src:tools python -m taskset` writes
data/sets/taskset (events, answers) and data/taskset/files.tar.xz; the same rows give the same
files.
"""

import subprocess
import tarfile
import tempfile
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure
from PIL import Image

from daybefore.web.render_pages import build_table, format_number, wrap_page
from daybefore.web.source_registry import head_column, load_sources, read_rows
from helpers import papers
from helpers.files import ROOT, dump_json, parse_json, write_table
from helpers.input_faults import read_sheet
from helpers.tables import check_table
from studies.liveagentbench.task_answers import ASKS, COUNTS, format_answer, write_truth
from studies.liveagentbench.tasks import ARCHIVE, AS_OF, CAPABILITIES, FORMS, GROUPS, PORTAL

SEED = 31
"""Draws the split."""
TASK_COLUMNS = "scenario parts variables first last shown ask at of arg question".split()


def load_tasks(folder=ROOT / "data/taskset"):
    """Return (tasks, scenarios) as written, all text, with `task_id`.

    Raises Problems, with file, row and column, for an unknown scenario, group or ask, and for a
    question asked twice.
    """
    columns = ("scenario", "scenario_group", "name", "source_id")
    scenarios = read_sheet(
        folder / "scenarios.csv", columns, key=["scenario"], words={"scenario_group": GROUPS}
    )
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
    pairs = [
        tuple(part.split("/")) if "/" in part else (source_id, part)
        for part in task["parts"].split("+")
    ]
    for _, form in pairs:
        if form not in FORMS:
            raise ValueError(
                f"{task['task_id']}: {form!r} is no form; there are {', '.join(FORMS)}"
            )
    return pairs


# --- rows and answers -------------------------------------------------------------------------------


def pick_rows(rows, first, last, entities, variables):
    """Return rows (occurred_at, entity, the variables) of some dates and entities ("A;B"; "" for
    all), in order."""
    chosen = rows[rows["occurred_at"].between(first, last)]
    if entities:
        chosen = chosen[chosen["entity"].isin(entities.split(";"))]
    columns = ["occurred_at", "entity", *variables]
    return chosen[columns].sort_values(["occurred_at", "entity"], kind="stable", ignore_index=True)


def read_shown(sources):
    """Return {source_id: rows} of the sources that tasks use: the rows published before they are
    asked."""
    tasks, scenarios = load_tasks()
    shown = {}
    for task in tasks.to_dict("records"):
        for source_id, _ in list_parts(task, scenarios["source_id"][task["scenario"]]):
            if source_id not in shown:
                rows = read_rows(sources[source_id])
                shown[source_id] = rows[rows["published_at"] < pd.Timestamp(AS_OF)]
    return shown


def collect_rows(task, parts, shown):
    """Return the rows that a task asks about: occurred_at, entity, value (of the first variable
    named).

    Raises ValueError when a row that is asked about was not published by then, or when an entity
    has none.
    """
    first, _, last = task["at"].partition("..")
    variable = task["variables"].split()[0]
    source_ids = dict.fromkeys(source_id for source_id, _ in parts)
    tables = [
        pick_rows(shown[source_id], first, last or first, task["of"], [variable])
        for source_id in source_ids
    ]
    if len(tables) == 1:
        tables = [pick_rows(tables[0], first, last or first, task["shown"], [variable])]
    rows = pd.concat(tables, ignore_index=True).rename(columns={variable: "value"})
    lacking = set(filter(None, task["of"].split(";"))) - set(rows["entity"])
    if rows.empty or lacking or rows["value"].isna().any():
        said = ", ".join(sorted(lacking)) or task["at"]
        raise ValueError(f"{task['task_id']}: no row for {said}, or no value in one")
    return rows


def count_steps(task, parts):
    """Return the steps a task takes (3.2.4): open each file, or go down two menus to a page; then
    find the row, or gather the rows and reckon.

    >>> count_steps({"ask": "mean"}, [("a", "csv"), ("b", "page")])
    6
    """
    return sum(3 if form == "page" else 1 for _, form in parts) + (
        1 if task["ask"] == "value" else 2
    )


def compute_answer(task, rows, decimals):
    """Return a task's answer as text: a name, a date (or time), or a number with the variable's
    decimals.

    A mean is rounded to the decimals its `arg` says. Raises ValueError when the answer is not
    unique or a mean lies so near the middle between two roundings that programs may differ.
    """
    arg = task["of"].split(";") if task["ask"] == "gap" else task["arg"]
    try:
        value = ASKS[task["ask"]](rows, arg)
    except ValueError as error:
        raise ValueError(f"{task['task_id']}: {error}") from None
    places = 0 if task["ask"] in COUNTS else int(task["arg"]) if task["ask"] == "mean" else decimals
    if not isinstance(value, str) and abs(value * 10**places % 1 - 0.5) < 1e-6:
        raise ValueError(f"{task['task_id']}: {value} lies in the middle between two roundings")
    return format_answer(value, places)


# --- the set as tables ------------------------------------------------------------------------------


def build_taskset(sources, shown, rng):
    """Return (events, answers) of the tasks; `shown` is what `read_shown` returns.

    The share of the validation split, which is drawn, is the paper's. Raises ValueError for a wrong
    task.
    """
    tasks, scenarios = load_tasks()
    rows = []
    truths = []
    share = papers.get_constant("liveagentbench", "n_validation") / papers.get_constant(
        "liveagentbench", "n_tasks"
    )
    n_first = round(share * len(tasks))
    splits = rng.permutation(["validation"] * n_first + ["test"] * (len(tasks) - n_first))
    for task, split in zip(tasks.to_dict("records"), splits, strict=True):
        scenario = scenarios.loc[task["scenario"]]
        parts = list_parts(task, scenario["source_id"])
        source = sources[parts[0][0]]
        decimals = source.variables[task["variables"].split()[0]]["decimals"]
        truths.append(write_truth(compute_answer(task, collect_rows(task, parts, shown), decimals)))
        rows.append(describe_task(task, scenario, source, parts) | {"split": str(split)})
    events = pd.DataFrame(rows)
    answers = pd.DataFrame({"event_id": events["event_id"], "value": truths, "status": "ok"})
    return check_table("events", events), check_table("answers", answers)


def describe_task(task, scenario, source, parts):
    """Return a task's row of the events table."""
    forms = [form for _, form in parts]
    names = [
        PORTAL if form == "page" else f"{task['task_id']}_{n}.{form}"
        for n, form in enumerate(forms, 1)
    ]
    capabilities = [c for c in CAPABILITIES if c in {FORMS[form][0] for form in forms}]
    wants_text = task["ask"] in ("highest", "lowest", "rank", "mover")
    return {
        "event_id": task["task_id"],
        "paper": "liveagentbench",
        "task": task["ask"],
        "cluster_id": source.id,
        "source_id": source.id,
        "variables": dump_json(
            {key: task[key] for key in ("parts", "variables", "first", "last", "shown")}
        ),
        "domain": source.domain,
        "prompt": task["question"],
        "kind": "text" if wants_text else "date" if task["ask"] in ("peak", "trough") else "number",
        "as_of": AS_OF,
        "n_steps": count_steps(task, parts),
        "capabilities": dump_json(capabilities),
        "is_synthetic": False,
        "scenario": scenario["name"],
        "scenario_group": scenario["scenario_group"],
        "environments": dump_json(sorted({FORMS[form][1] for form in forms})),
        "attachments": dump_json(names),
    }


# --- files ------------------------------------------------------------------------------------------


def build_files(events, sources, shown, folder, others=()):
    """Write the files of tasks into a folder; a page has none.

    `shown` is what `read_shown` returns, `others` are writers beside `WRITERS`; a form without a
    writer is left out.
    """
    writers = WRITERS | dict(others)
    folder.mkdir(parents=True, exist_ok=True)
    for event in events.to_dict("records"):
        spec = parse_json(event["variables"])
        parts = list_parts(spec | {"task_id": event["event_id"]}, event["source_id"])
        tables = share_rows(spec, parts, shown)
        for (source_id, form), name, rows in zip(
            parts, parse_json(event["attachments"]), tables, strict=True
        ):
            if form in writers:
                (folder / name).write_bytes(writers[form](sources[source_id], rows))


def share_rows(spec, parts, shown):
    """Return the rows that each part shows, None for a page; file parts of one source share its
    dates out in order."""
    tables = [None] * len(parts)
    for source_id in dict.fromkeys(source_id for source_id, _ in parts):
        places = [n for n, (name, form) in enumerate(parts) if name == source_id and form != "page"]
        if not places:
            continue
        variables = spec["variables"].split()
        rows = pick_rows(shown[source_id], spec["first"], spec["last"], spec["shown"], variables)
        for place, dates in zip(
            places, np.array_split(sorted(rows["occurred_at"].unique()), len(places)), strict=True
        ):
            tables[place] = rows[rows["occurred_at"].isin(dates)].reset_index(drop=True)
    return tables


def lay_out(source, rows, commas=True):
    """Return (head, lines) of a table, all text: date or time, entity, the variables."""
    names = list(rows.columns[2:])
    head = ["Time" if source.is_hourly else "Date", source.entities["label"].capitalize()]
    head += [head_column(source.variables[name]) for name in names]
    lines = [
        [row["occurred_at"], row["entity"]]
        + [format_number(row[name], source.variables[name]["decimals"], commas) for name in names]
        for row in rows.to_dict("records")
    ]
    return head, lines


def write_csv(source, rows):
    """Return a sheet of comma-separated values."""
    head, lines = lay_out(source, rows, commas=False)
    return pd.DataFrame(lines, columns=head).to_csv(index=False, lineterminator="\n").encode()


def write_html(source, rows):
    """Return a saved web page with a table."""
    return wrap_page(source, build_table("data", *lay_out(source, rows))).encode()


@contextmanager
def plain_style(settings):
    """Draw in one style whatever the caller has set."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update({"font.family": ["DejaVu Sans"]} | settings)
        yield


def write_pdf(source, rows):
    """Return a page with a table of real text, without a date, in one style whatever the caller has
    set."""
    head, lines = lay_out(source, rows)
    with plain_style({"font.size": 9, "pdf.fonttype": 3}):
        figure = Figure(figsize=(8.3, 1.2 + 0.3 * len(lines)))
        ax = figure.add_axes((0.02, 0.02, 0.96, 0.9))
        ax.axis("off")
        figure.text(0.03, 0.95, source.name, fontsize=12)
        widths = [max(len(line[n]) for line in [head, *lines]) + 3 for n in range(len(head))]
        shares = [width / sum(widths) for width in widths]
        ax.table([[c.replace("T", " ") if not n else c for n, c in enumerate(line)] for line in lines],
                 colLabels=head, colWidths=shares, loc="upper center", cellLoc="left")  # fmt: skip
        FigureCanvasPdf(figure)
        out = BytesIO()
        figure.savefig(
            out, format="pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None}
        )
    return out.getvalue()


def draw_frame(source, rows, nth=None):
    """Return a chart in sixteen greys, every value beside its mark: bars of one moment, else a line
    an entity.

    `nth`: the one moment that is drawn, from 0, on the axes of all (a frame of a clip).
    """
    name, moments = rows.columns[2], sorted(rows["occurred_at"].unique())
    spec, labels = source.variables[name], [moment.replace("T", " ") for moment in moments]
    shown = rows if nth is None else rows[rows["occurred_at"] == moments[nth]]
    texts = [format_number(value, spec["decimals"], True) for value in shown[name]]
    with plain_style({"font.size": 10, "axes.titlesize": 10}):
        figure = Figure(figsize=(7.2, 4), dpi=80, layout="constrained")
        ax = figure.add_subplot()
        if len(moments) == 1:
            ax.bar_label(ax.barh(shown["entity"], shown[name], color="0.6"), texts, padding=3)
            ax.set(title=f"{source.name}, {labels[0]}", xlabel=head_column(spec))
            ax.margins(x=0.15)
        else:
            for entity, own in shown.groupby("entity", sort=False):
                ax.plot(
                    own["occurred_at"].map(moments.index),
                    own[name],
                    marker="o",
                    color="0.4",
                    label=entity,
                )
            for moment, value, text in zip(shown["occurred_at"], shown[name], texts, strict=True):
                box = {
                    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.5},
                    "ha": "center",
                }
                ax.annotate(
                    text, (moments.index(moment), value), (0, 8), textcoords="offset points", **box
                )
            ax.set_xticks(range(len(moments)), labels, rotation=30, ha="right")
            low, high = rows[name].min(), rows[name].max()
            pad = 0.15 * (high - low or 1)
            ax.set(
                xlim=(-0.5, len(moments) - 0.5),
                ylim=(low - pad, high + pad),
                ylabel=head_column(spec),
            )
            ax.set_title(source.name if nth is None else f"{source.name}, {labels[nth]}")
            ax.legend()
        FigureCanvasAgg(figure)
        figure.savefig(out := BytesIO(), format="png")
    return Image.open(out).convert("L").quantize(16)


def write_chart(source, rows):
    """Return a chart as PNG."""
    draw_frame(source, rows).save(out := BytesIO(), "PNG", optimize=True)
    return out.getvalue()


def write_clip(source, rows):
    """Return a clip as GIF: a frame a moment, a second each."""
    first, *rest = [draw_frame(source, rows, nth) for nth in range(rows["occurred_at"].nunique())]
    first.save(out := BytesIO(), "GIF", save_all=True, append_images=rest, duration=1000, loop=0)
    return out.getvalue()


def read_out(source, rows):
    """Return a recording as MP3 (mono, 16 kbit/s): what espeak-ng says of the rows, one after the
    other.

    Raises FileNotFoundError where espeak-ng or lame is not installed.
    """
    name = rows.columns[2]
    spec = source.variables[name]
    said = [f"{source.name}. {head_column(spec)}."]
    for row in rows.to_dict("records"):
        moment = pd.Timestamp(row["occurred_at"])
        hour = f", {moment.hour} hours" if source.is_hourly else ""
        said.append(
            f"{moment:%B} {moment.day}{hour}: {format_number(row[name], spec['decimals'], False)}."
        )
    speech = subprocess.run(
        ["espeak-ng", "-v", "en-us", "-s", "140", "--stdout", " ".join(said)], **PIPED
    ).stdout
    pressed = "lame --quiet -t -m m -b 16 --resample 11.025 - -".split()
    return subprocess.run(pressed, input=speech, **PIPED).stdout


PIPED = {"check": True, "stdout": subprocess.PIPE}
WRITERS = {
    "csv": write_csv,
    "html": write_html,
    "pdf": write_pdf,
    "png": write_chart,
    "gif": write_clip,
}
"""Form of a file -> what writes its bytes from a source and the rows shown."""


def main():
    """Write the tables and the archive of files."""
    sources = load_sources()
    shown = read_shown(sources)
    events, answers = build_taskset(sources, shown, np.random.default_rng(SEED))
    write_table("events", events, "taskset", "sets")
    write_table("answers", answers, "taskset", "sets")
    with tempfile.TemporaryDirectory() as folder, tarfile.open(ARCHIVE, "w:xz") as archive:
        build_files(events, sources, shown, Path(folder), {"mp3": read_out})
        for path in sorted(Path(folder).iterdir()):
            about = tarfile.TarInfo(path.name)  # no owner, no time: the same bytes each time
            about.size = path.stat().st_size
            with path.open("rb") as file:
                archive.addfile(about, file)


if __name__ == "__main__":
    main()
