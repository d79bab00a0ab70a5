"""The task set: 104 tasks in 26 scenarios of the paper's five groups over real series
(LiveAgentBench 3).

tools/taskset.py makes its tables and files of data/taskset/scenarios.csv and tasks.csv, which hold
questions and what is asked, never an answer. Pages are those of the replay web, behind a portal's
menus.
"""

import tarfile
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from daybefore.web.replay import Replay
from daybefore.web.session import Answer
from helpers.files import ROOT, parse_json, read_table

AS_OF = "2016-10-24T00:00:00+08:00"
"""The moment at which every task is asked; nothing in its files was published later."""
GROUPS = {
    "work_study": "Work and\nstudy",
    "daily_life": "Daily\nlife",
    "info_access_processing": "Information\naccess",
    "humanities_social_science": "Humanities",
    "social_production": "Social\nproduction",
}
"""The five groups of scenarios, named as in data/papers/liveagentbench_table2.csv, with their
labels in figures."""
FORMS = {
    "csv": ("text_file", "spreadsheet"),
    "html": ("text_file", "saved page"),
    "pdf": ("text_file", "document"),
    "png": ("image", "picture"),
    "gif": ("video", "clip"),
    "mp3": ("audio", "recording"),
    "page": ("browser", "web site"),
}
"""Form of a part -> the capability it takes, the environment it is of."""
CAPABILITIES = ("text_file", "image", "video", "audio", "browser")
PORTAL = "http://directory.replay/"
"""Where a search for a page begins."""
MENU_DATE = int(pd.Timestamp("2016-09-01T00:00:00Z").timestamp())
"""Menus are older than any task."""
ARCHIVE = ROOT / "data/taskset/files.tar.xz"


def load_taskset():
    """Return (events, answers) of the task set."""
    return read_table("events", "taskset", "sets"), read_table("answers", "taskset", "sets")


@contextmanager
def open_files(events):
    """Yield {event_id: [path or address]} of tasks, in the order of their parts; the files last as
    long."""
    with tempfile.TemporaryDirectory() as folder, tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
        named = zip(events["event_id"], events["attachments"].map(parse_json), strict=True)
        yield {
            key: [name if "//" in name else Path(folder, name) for name in names]
            for key, names in named
        }


class Portal(Replay):
    """Answers for the `menus` ({address: html}) of domains and their sources, and for the pages
    behind them as the replay web does.
    """

    def __init__(self, sources):
        super().__init__(sources)
        links = {PORTAL: {}}
        for source in sources.values():
            address = PORTAL + source.domain.lower().replace(" ", "-")
            links[PORTAL][address] = source.domain
            links.setdefault(address, {})[source.address] = source.name
        names = {PORTAL: "Contents"} | links[PORTAL]
        self.menus = {}
        for address, items in links.items():
            shown = "\n".join(
                f"<li><a href='{link}'>{name}</a></li>" for link, name in sorted(items.items())
            )
            body = f"<h1>{names[address]}</h1>\n<ul class='menu'>\n{shown}\n</ul>"
            self.menus[address] = f"<!doctype html>\n<html lang='en'><body>{body}</body></html>\n"

    def answer(self, url, clock):
        """Return the `Answer` of a menu, else of a page, as of a moment."""
        if url in self.menus:
            return Answer(200, "text/html", self.menus[url], MENU_DATE)
        return super().answer(url, clock)
