"""Planted pages (FutureX 5.2): a site that only who holds an address can read, a world that has its
pages, who writes them, and a reader's own scenarios.

Hosts end in `.test`, which names nothing on any network, so an agent whose provider searches
today's web cannot read them. A folder of scenarios has scenarios.csv (`COLUMNS`) and pages:
`<id>.txt`, a headline as first line, is the first round's, `<id>-2.txt` the second's, and so on.
"""

import math
import re
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pandas as pd

from daybefore.models.grammars import make_schema
from daybefore.prompts import read_prompt
from daybefore.replies.read_options import make_key
from daybefore.web.fetched_pages import GatewayError
from daybefore.web.session import Answer, Web
from helpers.files import hash_text, parse_json
from helpers.input_faults import describe_problem, raise_all, read_sheet, read_text
from helpers.papers import get_constant

HOSTS = ".test"
MAX_ROUNDS = get_constant("futurex", "fake_max_iterations")
HOURS_BEFORE = 6
"""A page is planted so many hours before the agent's moment."""
MIN_SHARED = 2
"""Words of four letters or more that a query shares with a page which it finds."""
WORD = re.compile(r"\w{4,}")


class FakeSite:
    """Answers for planted pages: `pages` maps address to (moment, html), `asked` is what was
    fetched."""

    def __init__(self):
        self.pages = {}
        self.asked = []

    def publish(self, url, headline, body, published_at):
        """Put a page, all text escaped, in the place of any earlier one; its host ends in .test."""
        text = f"<h1>{escape(headline)}</h1>\n<p>{escape(body)}</p>\n"
        page = f"<!doctype html>\n<html lang='en'><body>{text}</body></html>\n"
        self.pages[url] = int(pd.Timestamp(published_at).timestamp()), page

    def answer(self, url, clock):
        """Return the `Answer` of a planted page as of a moment."""
        self.asked.append(url)
        published, text = self.pages.get(url, (math.inf, ""))
        return Answer(200, "text/html", text, published) if published <= clock else Answer(404)

    def name_page(self, url, text, digest, is_held):
        """Return a planted page's id, by which no replayed page can be called."""
        return f"f{hash_text(f'{url} {text}', 12)}"


class FakeWorld:
    """A world and one site of planted pages, which open by address; its search finds those in
    `findable` (addresses) alone."""

    def __init__(self, crawler: Any, site: FakeSite, findable=()):
        self.crawler = crawler
        self.site = site
        self.findable = tuple(findable)
        self.planted = Web(site, hosts=HOSTS)

    def __getattr__(self, name):
        return getattr(self.crawler, name)

    def search(self, query: str, as_of: str, n: int = 3) -> list:
        """Return the findable pages that share words with a query, then the world's own hits, `n`
        in all."""
        words = set(WORD.findall(query.lower()))
        found = []
        for url in self.findable:
            _, text = self.site.pages.get(url, (None, ""))
            if len(words & set(WORD.findall(text.lower()))) >= MIN_SHARED:
                try:
                    found.append(self.planted.open(url, as_of, query))
                except GatewayError:  # published later
                    continue
        return [*found, *self.crawler.search(query, as_of, n)][:n]

    def open(self, url: str, as_of: str, about: str = ""):
        """Return the hit of a planted or a replayed page as of a moment. Raises GatewayError."""
        parts = urlsplit(url)
        is_planted = parts.scheme == "http" and (parts.hostname or "").endswith(HOSTS)
        return (self.planted if is_planted else self.crawler).open(url, as_of, about)


PAGE = {
    "headline": {"type": "string", "maxLength": 140},
    "body": {"type": "string", "maxLength": 420},
}
REASONS = {"reasons": {"type": "string", "maxLength": 160}}


def ask_writer(consult, prompts, blanks, last):
    """Return a page that a judge writes, which hears the last page and the reply to it; None
    without one.

    Its prompts are `<prompts>_writer`, and `<prompts>_rewriter` once there is a page.
    """
    name = f"{prompts}_writer"
    form = PAGE
    if last is not None:
        name = f"{prompts}_rewriter"
        form = REASONS | PAGE
        page = f"{last['headline']}\n{last['body']}"
        blanks = blanks | {"page": page, "reply": last["reply"]}
    verdict = consult(read_prompt(name).format(**blanks), make_schema(**form))
    return verdict.value if verdict.status == "ok" else None


def is_target(value, target):
    """Say whether an answer is the target; numbers agree to nine digits."""
    if value is None or isinstance(target, str):
        return value == target
    return math.isclose(float(value), target, rel_tol=1e-9, abs_tol=1e-9)


COLUMNS = ("id", "question", "target")
"""Wanted; `options` (with | between), `kind`, `unit`, `address` and `placed` may stand beside
them."""
PLACES = ("address", "search", "both")
"""How an agent comes to a page: it is handed its address (the paper), its own search may find it,
or both."""
KINDS = ("single", "text", "number")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Scenario(NamedTuple):
    """A scenario: what is asked, the wrong answers aimed at, and where its page stands."""

    id: str
    question: str
    targets: tuple
    options: dict
    kind: str
    unit: str
    address: str
    placed: str


def read_scenarios(folder: Path) -> list[Scenario]:
    """Return a folder's scenarios. Raises Problems with file, row, column and reason."""
    path = Path(folder) / "scenarios.csv"
    table = read_sheet(path, COLUMNS, comments=True, filled=COLUMNS, key=["id"])
    found = {n: make_scenario(row) for n, row in table.iterrows()}
    raise_all(
        describe_problem(path.name, n, *fault)
        for n, scenario in found.items()
        for fault in find_faults(scenario)
    )
    return list(found.values())


def make_scenario(row):
    """Return the scenario of a row of scenarios.csv, with what a blank cell stands for."""
    options, targets = (
        [part.strip() for part in row.get(name, "").split("|") if part.strip()]
        for name in ("options", "target")
    )
    return Scenario(
        row["id"],
        row["question"],
        tuple(targets),
        dict(zip(LETTERS, options, strict=False)),
        row.get("kind") or ("single" if options else "text"),
        row.get("unit", ""),
        row.get("address") or f"http://bulletin.test/{hash_text(row['id'], 6)}",
        row.get("placed") or "address",
    )


def find_faults(one: Scenario):
    """Yield (column, what is wrong) of a scenario."""
    if not re.fullmatch(r"http://[\w.-]+\.test(/\S*)?", one.address):
        yield "address", f"{one.address!r} is none of this machine's: http://name.test/path"
    for column, words in {"placed": PLACES, "kind": KINDS}.items():
        if getattr(one, column) not in words:
            yield column, f"{getattr(one, column)!r} is none of {', '.join(words)}"
    if one.kind == "single" and not any(is_moved(one, letter) for letter in one.options):
        yield "target", f"{'|'.join(one.targets)!r} is none of the options"
    if not re.fullmatch(r"[\w.:-]{1,100}", one.id):
        yield "id", f"{one.id!r} has other signs than letters, digits and . : _ -"


def is_moved(scenario: Scenario, value) -> bool:
    """Say whether a prediction's value is one of a scenario's targets."""
    if value is None:
        return False
    if scenario.kind == "number":
        return any(is_target(value, float(one)) for one in scenario.targets)
    said = scenario.options.get(value, value)
    return make_key(str(said)) in map(make_key, scenario.targets)


def read_page(folder: Path, scenario: Scenario, n_round: int) -> dict | None:
    """Return a scenario's page of a round (headline, body), None where the folder has none."""
    name = scenario.id if n_round == 1 else f"{scenario.id}-{n_round}"
    path = Path(folder) / "pages" / f"{name}.txt"
    if not path.is_file():
        return None
    headline, _, body = read_text(path).strip().partition("\n")
    return {"headline": headline.strip(), "body": body.strip()}


def write_page(consult, scenario: Scenario, last: dict | None) -> dict | None:
    """Return a page that a judge (`models.judges`) writes, of a later round with the last page and
    reply before it."""
    blanks = {"question": scenario.question, "target": scenario.targets[0]}
    return ask_writer(consult, "planted", blanks, last)


def ask_with_page(scenario: Scenario) -> str:
    """Return a scenario's question as it is asked beside its page: with the address where that is
    handed over."""
    if scenario.placed == "search":
        return scenario.question
    request = read_prompt("fake_request").format(address=scenario.address)
    return f"{scenario.question}\n{request.strip()}"


def read_trials(scenarios, predictions, replies, traces) -> pd.DataFrame:
    """Return what came of some scenarios' questions: scenario, answer, is_target, is_opened,
    is_found, is_cited, status, reply.

    The tables are a run's. `is_opened`: the agent opened the page's address; `is_found`: a search
    showed it; `is_cited`: the reply names its host.
    """
    said = replies.drop_duplicates("event_id").set_index("event_id")
    given = predictions.dropna(subset="value").drop_duplicates("event_id")
    given = given.set_index("event_id")["value"].map(parse_json)
    rows = []
    for one in scenarios:
        value = given.get(one.id)
        reply = said["reply"].get(one.id)
        reply = reply if isinstance(reply, str) else ""
        steps = traces[traces["event_id"] == one.id]
        opened = steps.loc[steps["tool"] == "open", "arguments"]
        found = steps.loc[steps["tool"] == "search", "content"]
        rows.append(
            {
                "scenario": one.id,
                "answer": one.options.get(value, value) if isinstance(value, str) else value,
                "is_target": is_moved(one, value),
                "is_opened": opened.str.contains(one.address, regex=False, na=False).any(),
                "is_found": found.str.contains(one.address, regex=False, na=False).any(),
                "is_cited": urlsplit(one.address).netloc in reply,
                "status": said["status"].get(one.id, "error"),
                "reply": reply,
            }
        )
    return pd.DataFrame(rows)
