"""An agent that is given an address beside its question (FutureX 5.2): a model, three scripted rules, and defences.

A defence is a switch. Three are filters between the agent and its world (`GuardedWorld`): what they set aside never
reaches it. The fourth (`fence`) leaves the pages in and marks them as data in the prompt.
"""

import re
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import pandas as pd

from helpers.agents.forecasters import forecast_event
from helpers.agents.prompted import constrain_answer, forecast
from helpers.agents.prompts import describe_answer, split_question
from helpers.agents.tools import describe_hit, open_page, search_web
from helpers.calendar import blank_dates
from helpers.events.targets import resolve_event
from helpers.prompts import read_prompt
from helpers.store import parse_json
from helpers.web.pages import GatewayError

DEFENCES = ("none", "host_age", "page_age", "two_sources", "fence")
"""Set aside: nothing; hosts unknown HOST_DAYS ago; pages younger than PAGE_DAYS; figures of one host alone; nothing."""
HOST_DAYS, PAGE_DAYS = 7, 3
N_FOUND = 2
"""Passages of the web put before the question."""
N_WIDE = 20
"""Passages among which a figure's second host is looked for."""
BLANK = "[?]"
"""Stands where a figure was that one host alone shows."""

TIMES = re.compile(r"\d{1,2}:\d{2}|(?<![\d.,])(?:19|20)\d{2}(?![\d.,]\d|\d)")
"""Times of day, and years that stand alone."""
FIGURE = re.compile(r"(?<![\w.,/:-])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w/:-]|\.\d)")

REASON_RULE = r'root ::= "Reason: " text "\n" final' + "\n" + r"text ::= [^\n\\{}]{20,150}" + "\nfinal ::="
"""Before a local model's final line: one sentence on what the answer rests on."""


# --- figures ---------------------------------------------------------------------------------------------------------


def list_figures(text):
    """Return the figures in a text, in order: dates, times, years and numbers inside names are none.

    >>> list_figures("On 9 October 2016 at 12:00 I-94 had 11,850 cars (14-day mean: -3.5), 2016-10-08: 48.87.")
    [11850.0, -3.5, 48.87]
    """
    return [value for _, _, value in find_figures(text)]


def find_figures(text):
    """Return (start, end, value) of each of `list_figures`."""
    plain = TIMES.sub(lambda found: " " * len(found[0]), blank_dates(text))
    return [(*found.span(), float(found[0].replace(",", ""))) for found in FIGURE.finditer(plain)]


def blank_figures(text, known):
    """Return a text with BLANK for each figure that is not among the known ones; dates stay.

    >>> blank_figures("On 9 October 2016: 48.87 and 50.", {50.0})
    'On 9 October 2016: [?] and 50.'
    """
    for start, end, value in reversed(find_figures(text)):
        if value not in known:
            text = text[:start] + BLANK + text[end:]
    return text


# --- defences --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GuardedWorld:
    """A world of which a defence sets pages aside: they are not found, and opening one is refused."""

    world: object
    defence: str = "none"

    def __post_init__(self):
        """Refuse an unknown defence."""
        if self.defence not in DEFENCES:
            raise ValueError(f"no defence {self.defence!r}; there are {', '.join(DEFENCES)}")

    def search(self, query, as_of, n):
        """Return the hits that the defence lets through, of the `n` best."""
        kept = [self.guard(hit, query, as_of) for hit in self.world.search(query, as_of, n)]
        return [hit for hit in kept if hit is not None]

    def open(self, url, as_of, about=""):
        """Return the hit of a page that the defence lets through. Raises GatewayError, status set_aside, else."""
        hit = self.guard(self.world.open(url, as_of, about), about, as_of)
        if hit is None:
            raise GatewayError("set_aside", f"{url}: set aside ({self.defence})")
        return hit

    def guard(self, hit, about, as_of):
        """Return a hit as the defence leaves it, None when it is set aside."""
        moment = pd.Timestamp(as_of)
        if self.defence == "page_age":
            return hit if pd.Timestamp(hit.published_at) <= moment - pd.Timedelta(days=PAGE_DAYS) else None
        if self.defence == "host_age":
            return hit if was_there(self.world, hit.url, moment - pd.Timedelta(days=HOST_DAYS)) else None
        return confirm_figures(self.world, hit, about, as_of) if self.defence == "two_sources" else hit


def was_there(world, url, moment):
    """Say whether an address already held a page at an earlier moment."""
    try:
        world.open(url, moment.isoformat())
    except GatewayError:
        return False
    return True


def confirm_figures(world, hit, about, as_of):
    """Return a hit with only those figures that another host's passages about the same show too.

    None when it has figures and none of them is left; a hit without figures stays as it is.
    """
    figures, host = set(list_figures(hit.text)), urlsplit(hit.url).hostname
    others = [other for other in world.search(about, as_of, N_WIDE) if urlsplit(other.url).hostname != host]
    known = figures & {figure for other in others for figure in list_figures(other.text)}
    if figures and not known:
        return None
    return replace(hit, title=blank_figures(hit.title, known), text=blank_figures(hit.text, known))


# --- the model -------------------------------------------------------------------------------------------------------


def ask_model(client, event, world, address=None, is_fenced=False):
    """Return a model's outcome on an event (`prompted.forecast`), with the page at an address read if there is one."""
    return forecast(lambda *given: ask_with_address(address, is_fenced, *given), client, event, world)


def ask_with_address(address, is_fenced, transcript, event, world):
    """Search once, open the page that was given, and ask for a reason and the answer with both before the question.

    A page that cannot be had, or that a defence sets aside, is not mentioned: the request is that without an address.
    """
    about = {"as_of": event["as_of"], "about": event["prompt"]}
    found = search_web(transcript, world, event["prompt"], event["as_of"], n=N_FOUND)
    page = open_page(transcript, world, address, **about) if address else None
    page = None if address is None or transcript.steps[-1].get("error") else page
    prompt = fill_visit(event, found, page, address, is_fenced)
    transcript.add("prompt", content=prompt)
    return transcript.ask([{"role": "user", "content": prompt}], **constrain_reason(transcript.client, event))


def fill_visit(event, found, page, address, is_fenced):
    """Return the prompt: what was found, the page that was given (None for none), the question, the request."""
    options = parse_json(event["options"]) or {}
    seen = found if page is None else f"{found}\n\n{page}"
    return read_prompt("fake_question").format(
        as_of=event["as_of"][:10],
        seen=read_prompt("fake_fence").format(seen=seen) if is_fenced else seen,
        question=split_question(event),
        options="".join(f"\n{letter}. {text}" for letter, text in options.items()),
        request="" if page is None else read_prompt("fake_request").format(address=address),
        answer_format=describe_answer(event),
    )


def constrain_reason(client, event):
    """Return the options of a request for one sentence of reason and then the final answer; {} for a remote model."""
    options = constrain_answer(client, event)
    return options | {"grammar": options["grammar"].replace("root ::=", REASON_RULE, 1)} if options else {}


# --- rules -----------------------------------------------------------------------------------------------------------


def ignore_page(event, world, address=None, is_fenced=False):
    """Return the outcome of an agent that reads nothing but the question's own source: its last value."""
    return forecast_event("last_value", event, find_crawler(world))


def believe_page(event, world, address=None, is_fenced=False):
    """Return the outcome of an agent that takes whatever the given page claims, and the last value without a claim."""
    outcome = ignore_page(event, world)
    if address is None:
        return outcome
    step = {"step_type": "tool", "tool": "open", "arguments": {"address": address}}
    try:
        hit = world.open(address, event["as_of"], event["prompt"])
    except GatewayError as error:
        return outcome | {"trace": [*outcome["trace"], step | {"content": str(error), "error": error.status}]}
    text = describe_hit(hit)
    claim = read_claim(f"{hit.title}\n{hit.text}", event)
    trace = [*outcome["trace"], step | {"content": text, "page_ids": [hit.page_id]}]
    if claim is None:
        return outcome | {"trace": trace}
    pages = [*outcome["prediction"]["source_ids"], hit.page_id]
    return {"prediction": {"value": claim, "source_ids": pages}, "reply": f"{claim}, by {text}", "trace": trace}


def doubt_page(event, world, address=None, is_fenced=False):
    """Return the outcome of an agent that takes what a page claims only if a second host shows the figure."""
    return believe_page(event, GuardedWorld(world, "two_sources"), address)


def find_crawler(world):
    """Return the Crawler inside a guarded or planted world."""
    while not hasattr(world, "observe"):
        world = world.world if isinstance(world, GuardedWorld) else world.crawler
    return world


def read_claim(text, event):
    """Return the answer that a page claims, None when it claims none.

    A number, or a yes or a range about one entity: by the page's first figure; else the option that is named first.

    >>> read_claim("Rain in Oslo: 61 mm", {"kind": "number", "variables": '{"entity": "Oslo"}', "options": None})
    61.0
    """
    variables, figures = parse_json(event["variables"]), list_figures(text)
    if "entity" in variables:
        value = figures[0] if figures else None
        is_letter = event["kind"] == "single" and value is not None
        return resolve_event(variables, {variables["entity"]: value}) if is_letter else value
    places = {letter: text.find(option) for letter, option in parse_json(event["options"]).items()}
    named = {letter: place for letter, place in places.items() if place >= 0}
    return min(named, key=named.get) if named else None


RULES = {"ignores the page": ignore_page, "believes the page": believe_page, "wants two sources": doubt_page}
"""Scripted agents by name: what a study measures of them is known beforehand."""
