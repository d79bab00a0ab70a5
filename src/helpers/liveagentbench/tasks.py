"""The task set: 104 tasks in 26 scenarios of the paper's five groups over real series (LiveAgentBench 3).

tools/taskset.py makes its tables and files of data/taskset/scenarios.csv and tasks.csv, which hold questions and what
is asked, never an answer. Sheets, saved pages and documents are made; charts, clips and recordings are named and not
made, as nothing here opens them. Pages are those of the replay web (`portal`).
"""

import tarfile
import tempfile
from contextlib import contextmanager
from pathlib import Path

from helpers.store import ROOT, parse_json, read_table

AS_OF = "2016-10-24T00:00:00+08:00"
"""The moment at which every task is asked; nothing in its files was published later."""
GROUPS = {
    "work_study": "Work and\nstudy",
    "daily_life": "Daily\nlife",
    "info_access_processing": "Information\naccess",
    "humanities_social_science": "Humanities",
    "social_production": "Social\nproduction",
}
"""The five groups of scenarios, named as in data/papers/liveagentbench_table2.csv, with their labels in figures."""
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
PORTAL = "http://directory.replay/"
"""Where a search for a page begins."""
ARCHIVE = ROOT / "data/taskset/files.tar.xz"


def load_taskset():
    """Return (events, answers) of the task set."""
    return read_table("events", "taskset", "sets"), read_table("answers", "taskset", "sets")


@contextmanager
def open_files(events):
    """Yield {event_id: [path or address]} of tasks, in the order of their parts; the files last as long."""
    with tempfile.TemporaryDirectory() as folder, tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
        named = zip(events["event_id"], events["attachments"].map(parse_json), strict=True)
        yield {key: [name if "//" in name else Path(folder, name) for name in names] for key, names in named}
