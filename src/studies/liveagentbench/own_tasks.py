"""A reader's own tasks: a file of questions with answers, attachments and scenarios, and pages as
they stand (3, 4).

A line of the file is a `Task`. Attachments are files beside the task file, or addresses; a page is
fetched when a task first asks for it and recorded, so that a run that goes on, and its replay, see
the same page.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
from pydantic import BaseModel

from daybefore.web.guest import check_outside
from daybefore.web.open_web import OpenWeb
from daybefore.web.pages import GatewayError
from daybefore.web.providers import tell
from helpers.faults import check_object, read_lines
from helpers.files import dump_json
from helpers.tables import Text
from studies.liveagentbench.asks import write_truth
from studies.liveagentbench.tasks import AS_OF, FORMS

CAPABILITY = {form: capability for form, (capability, _) in FORMS.items() if form != "page"}
CAPABILITY |= {
    "json": "text_file",
    "htm": "text_file",
    "jpg": "image",
    "jpeg": "image",
    "webp": "image",
}
CAPABILITY |= {"wav": "audio"}
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


def is_address(name: str) -> bool:
    """Say whether an attachment is an address.

    >>> is_address("https://a.test/x"), is_address("prices.csv")
    (True, False)
    """
    return name.startswith(("http://", "https://"))


def read_tasks(path: str | Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return (events, answers) of a task file: tables with the columns that the task set's have.

    Raises ValueError with file, line and field; for a task_id that stands twice, an attachment that
    is not there or whose name another one has, an answer with nothing to match, and a file without
    a task.
    """
    path = Path(path)
    events = []
    answers = []
    for number, (place, row) in enumerate(read_lines(path), 1):
        task = Task(**check_object(place, row, Task))
        key = task.task_id or f"task_{number}"
        if key in [event["event_id"] for event in events]:
            raise ValueError(f"{place}: task_id {key!r} is there already")
        files = [Path(name) for name in task.attachments if not is_address(name)]
        if lost := [file for file in files if not (path.parent / file).is_file()]:
            raise ValueError(f"{place}: attachments: there is no file {lost[0]} beside {path.name}")
        if len({file.name for file in files}) < len(files):
            raise ValueError(f"{place}: attachments: two files have the same name; rename one")
        if not any(letter.isalnum() for letter in str(task.answer)):
            raise ValueError(f"{place}: answer: {task.answer!r} holds nothing to match")
        takes = [CAPABILITY.get(file.suffix[1:].lower(), "text_file") for file in files]
        takes += ["browser"] if len(files) < len(task.attachments) else []
        events.append(
            {
                "event_id": key,
                "prompt": task.question,
                "as_of": AS_OF,
                "capabilities": dump_json(list(dict.fromkeys(takes))),
                "attachments": dump_json(task.attachments),
                "scenario_group": task.scenario or NO_SCENARIO,
                "cluster_id": task.source or key,
            }
        )
        answers.append({"event_id": key, "value": write_truth(str(task.answer))})
    if not events:
        raise ValueError(f"{path.name} holds no task")
    return pd.DataFrame(events), pd.DataFrame(answers)


@contextmanager
def open_places(path: str | Path, attachments: dict) -> Iterator[dict]:
    """Yield {event_id: [path or address]} of tasks, from their `attachments` by event_id.

    Files are copied, each task's into a folder of its own, and last as long: a tool cannot change
    the reader's own.
    """
    with tempfile.TemporaryDirectory() as room:
        places = {}
        for number, (key, names) in enumerate(attachments.items()):
            folder = Path(room, str(number))
            folder.mkdir()
            places[key] = [
                name if is_address(name) else Path(shutil.copy(Path(path).parent / name, folder))
                for name in names
            ]
        yield places


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
