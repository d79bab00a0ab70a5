"""The files that tasks come with, made from the rows at run time, the same bytes each time (LiveAgentBench 3.2, 5.3).

Sheets, saved pages and documents are made. Charts, clips and recordings are named by the task set and not made, as
nothing here opens them. Pages are those of the replay web (`portal`).
"""

from io import BytesIO

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure

from helpers.liveagentbench.tasks import list_parts, pick_rows, split_list
from helpers.store import parse_json
from helpers.web.render import build_table, format_number, wrap_page
from helpers.web.sources import head_column


def build_files(events, sources, shown, folder):
    """Write the files of tasks, and return {event_id: [path or address]} in the order of the parts.

    `shown` is what `tasks.read_shown` returns. A form without a writer has the path at which it would stand.
    """
    folder.mkdir(parents=True, exist_ok=True)
    places = {}
    for event in events.to_dict("records"):
        spec, names = parse_json(event["variables"]), parse_json(event["attachments"])
        parts = list_parts(spec | {"task_id": event["event_id"]}, event["source_id"])
        tables = share_rows(spec, parts, shown)
        places[event["event_id"]] = []
        for (source_id, form), name, rows in zip(parts, names, tables, strict=True):
            if form == "page":
                places[event["event_id"]].append(name)
                continue
            if form in WRITERS:
                (folder / name).write_bytes(WRITERS[form](sources[source_id], rows))
            places[event["event_id"]].append(folder / name)
    return places


def share_rows(spec, parts, shown):
    """Return the rows that each part shows, None for a page; file parts of one source share its dates out in order."""
    tables = [None] * len(parts)
    for source_id in dict.fromkeys(source_id for source_id, _ in parts):
        places = [n for n, (name, form) in enumerate(parts) if name == source_id and form != "page"]
        if not places:
            continue
        variables = spec["variables"].split()
        rows = pick_rows(shown[source_id], spec["first"], spec["last"], split_list(spec["shown"]), variables)
        for place, dates in zip(places, np.array_split(sorted(rows["occurred_at"].unique()), len(places)), strict=True):
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


def write_pdf(source, rows):
    """Return a page with a table of real text, without a date, in one style whatever the caller has set."""
    head, lines = lay_out(source, rows)
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update({"font.family": ["DejaVu Sans"], "font.size": 9, "pdf.fonttype": 42})
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
        figure.savefig(out, format="pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None})
    return out.getvalue()


WRITERS = {"csv": write_csv, "html": write_html, "pdf": write_pdf}
"""Form of a file -> what writes its bytes from a source and the rows shown."""
