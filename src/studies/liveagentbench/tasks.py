"""Tasks: the 104 of the set, in 26 scenarios of the paper's five groups over real series, and a
reader's (LiveAgentBench 3, 4).

tools/taskset.py makes the set's tables and files of data/taskset/scenarios.csv and tasks.csv, which
hold questions and what is asked, never an answer; its pages are those of the replay web, behind a
portal's menus. A line of a reader's file is a `Task`. Attachments are files beside that file, or
addresses; a page is fetched when a task first asks for it and recorded, so that a run that goes on,
and its replay, see the same page.
"""

import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
from pydantic import BaseModel

from daybefore.web.fetched_pages import GatewayError
from daybefore.web.guest import check_outside
from daybefore.web.open_web import OpenWeb
from daybefore.web.replay import Replay
from daybefore.web.search_providers import tell
from daybefore.web.session import Answer
from helpers.files import ROOT, dump_json, parse_json, read_table
from helpers.input_faults import check_object, read_lines
from helpers.tables import Text
from studies.liveagentbench.task_answers import write_truth

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

CAPABILITY = {form: capability for form, (capability, _) in FORMS.items() if form != "page"}
CAPABILITY |= {"json": "text_file", "htm": "text_file", "wav": "audio"}
CAPABILITY |= dict.fromkeys(("jpg", "jpeg", "webp"), "image")
"""Ending of a file -> the capability that it takes; of any other a text file."""
NO_SCENARIO = "no scenario"


class Task(BaseModel):
    """A task: what is asked, the true answer, its files and addresses, its scenario, its cluster
    (correlated tasks).

    `source` is the cluster of intervals; without one a task is its own. `task_id` is by default the
    line's number.
    """

    question: Text
    answer: Text | int | float
    attachments: list[Text] = []
    scenario: Text | None = None
    source: Text | None = None
    task_id: Text | None = None


def load_taskset():
    """Return (events, answers) of the task set."""
    return read_table("events", "taskset", "sets"), read_table("answers", "taskset", "sets")


def is_address(name: str) -> bool:
    """Say whether an attachment is an address.

    >>> is_address("https://a.test/x"), is_address("prices.csv")
    (True, False)
    """
    return name.startswith(("http://", "https://"))


def list_models(path: Path, model: type, key: str) -> Iterator[tuple]:
    """Yield (place, name, object) of the lines of a JSON lines file, each made a `model`; its `key`
    names it, else its number.

    Raises ValueError with file, line and reason; for a name that stands twice, and for a file
    without a line.
    """
    names = set()
    kind = key.removesuffix("_id")
    for number, (place, row) in enumerate(read_lines(path), 1):
        made = model(**check_object(place, row, model))
        name = getattr(made, key) or f"{kind}_{number}"
        if name in names:
            raise ValueError(f"{place}: {key} {name!r} is there already")
        names.add(name)
        yield place, name, made
    if not names:
        raise ValueError(f"{path.name} holds no {kind}")


def read_tasks(path: str | Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return (events, answers) of a reader's task file: tables with the columns that the task set's
    have.

    Raises ValueError as `list_models`; for an attachment that is not there or whose name another
    one has, and for an answer with nothing to match.
    """
    path = Path(path)
    events = []
    truths = []
    for place, key, task in list_models(path, Task, "task_id"):
        files = [Path(name) for name in task.attachments if not is_address(name)]
        if lost := [file for file in files if not (path.parent / file).is_file()]:
            raise ValueError(f"{place}: attachments: there is no file {lost[0]} beside {path.name}")
        if len({file.name for file in files}) < len(files):
            raise ValueError(f"{place}: attachments: two files have the same name; rename one")
        if not any(letter.isalnum() for letter in str(task.answer)):
            raise ValueError(f"{place}: answer: {task.answer!r} holds nothing to match")
        takes = [CAPABILITY.get(file.suffix[1:].lower(), "text_file") for file in files]
        takes += ["browser"] if len(files) < len(task.attachments) else []
        event = {"event_id": key, "prompt": task.question, "as_of": AS_OF}
        event["capabilities"] = dump_json(list(dict.fromkeys(takes)))
        event["attachments"] = dump_json(task.attachments)
        event["scenario_group"] = task.scenario or NO_SCENARIO
        event["cluster_id"] = task.source or key
        events.append(event)
        truths.append({"event_id": key, "value": write_truth(str(task.answer))})
    return pd.DataFrame(events), pd.DataFrame(truths)


@contextmanager
def open_files(events: pd.DataFrame, beside: str | Path = "") -> Iterator[dict]:
    """Yield {event_id: [path or address]} of tasks, in the order of their parts; the files last as
    long.

    `beside` is a reader's task file: what lies beside it is copied, each task's into a folder of
    its own, so that a tool cannot change the reader's.
    """
    with tempfile.TemporaryDirectory() as room:
        if not beside:
            with tarfile.open(ARCHIVE) as archive:
                archive.extractall(room, filter="data")
        places = {}
        attached = zip(events["event_id"], events["attachments"].map(parse_json), strict=True)
        for number, (key, names) in enumerate(attached):
            folder = Path(room, str(number) if beside else "")
            folder.mkdir(exist_ok=True)
            places[key] = list(names)
            for at, name in enumerate(names):
                if not is_address(name):
                    places[key][at] = folder / Path(name).name
                    if beside:
                        shutil.copy(Path(beside).parent / name, folder)
        yield places


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


class LivePages(OpenWeb):
    """Pages as they stand when a task first asks for them, whatever its moment; recorded by the
    agent's client."""

    def __init__(self, door):
        super().__init__(None, door)

    def _is_own(self, url):
        return False

    def _read(self, door, request, limit, row):
        """Return the columns of a page's recording: what it says now, or status and message of why
        it is not had."""
        url = request["messages"][0]["content"]
        row["n_requests"] += 1
        try:
            check_outside(url)
            told = self._read_page(
                url, pd.Timestamp.now(tz="UTC") + pd.Timedelta(days=1), is_today=True
            )
        except GatewayError as error:
            told = {"status": error.status, "message": str(error)}
        return tell(told, 0.0)
