"""`daybefore day` (make day): what is due today of a benchmark of one's own on the open web."""

from contextlib import ExitStack
from pathlib import Path

import pandas as pd

from daybefore.agents import registry
from daybefore.commands import run
from daybefore.commands.preflight import open_judge, read_now
from daybefore.commands.terminal import show, tell
from daybefore.live.day_news import describe_proposals, propose, read_proposals
from daybefore.live.keep_pages import look
from daybefore.live.own_benchmark import close_day, list_days_posed, pose
from daybefore.live.propose_sites import read_sites
from daybefore.web.source_registry import LIVE_SOURCES, load_sources
from helpers.input_faults import list_nearest
from helpers.set_names import find_set


def main(
    names=(),
    sources=(),
    now=None,
    panel=(),
    reader=None,
    venues=(),
    distract=None,
    *,
    news=None,
    writer=None,
    **how,
):
    """Look at the sources, pose today's questions, put the agents to them, settle what is due;
    return what was done.

    `now` (a moment with its zone) stands in place of the clock, for a try on pages of another day.
    Agents of a `panel` screen the questions, a `reader` reads answers that no rule finds. Open
    questions of `venues` are asked too, and the agent `distract` adds wrong options to them. On the
    articles of `news`, a csv of feeds, the agent `writer` proposes questions for a person to
    confirm, which the `reader` checks. `how` are options of `run`. Raises ValueError for an unknown
    source or agent.
    """
    now, known = read_now(now), load_sources(LIVE_SOURCES)
    for name in sorted(set(sources) - set(known)):
        raise ValueError(
            f"there is no live source {name!r}{list_nearest(name, known, 'data/live/sources')}"
        )
    if news and not (writer and reader):
        raise ValueError(
            "--news wants who proposes questions and who checks them: --writer NAME and --reader NAME"
        )
    for name in names:
        registry.pick_entry(registry.load_entries(wanted=[name], own=True), name)
    for name in filter(None, [writer, reader, distract, *panel]):
        registry.find_agent(name)
    feeds = read_sites(Path(news)) if news else []
    read_proposals()  # what a person wrote there is wrong before anything is asked, or not at all
    chosen = {name: source for name, source in known.items() if not sources or name in sources}
    tell(f"looking at {len(chosen)} sources, a second between two requests to a host ...")
    looks, told, ceiling = look(chosen, now, tell=tell), [], how.get("ceiling_usd")
    n_failed = sum(row["kind"] != "ok" for row in looks)
    show(f"{len(looks)} sources looked at, {n_failed} of them in vain")
    if feeds:
        with open_judge(writer, ceiling) as write, open_judge(reader, ceiling) as read:
            table = propose(feeds, now, write, read, lambda text: told.append(text) or tell(text))
        show(describe_proposals(table))
    asked = pose_day(now, panel, venues, distract, ceiling, told)
    if asked and names:
        run.main(names, find_set(asked).window, **how)
        told.append(f"{', '.join(names)}: asked the questions of {asked}")
    with open_judge(reader, ceiling) as consult:
        path, sets = close_day(now, told, consult)
    return {"report": str(path), "looks": looks, "sets": show_sets(sets, path, names)}


def pose_day(now, panel, venues, distract, ceiling, told):
    """Pose today's questions, with the models that this takes; returns the set's name, None where
    there are none today (`told` then gains why)."""
    try:
        with ExitStack() as stack:
            judges = {who: stack.enter_context(open_judge(who, ceiling)) for who in panel}
            inventor = stack.enter_context(open_judge(distract, ceiling))
            asked, events, _ = pose(now, judges, venues, inventor, tell)
    except ValueError as problem:
        told.append(str(problem))
        show(f"no questions today: {problem}")
        if not list_days_posed():
            show("most sources have values enough after three days of calls: call again tomorrow")
        return None
    late = int((pd.to_datetime(events["resolves_at"], utc=True) <= now).sum())
    show(f"{asked}: {len(events)} questions" + f", {late} of them ended before now" * bool(late))
    return asked


def show_sets(sets, path, names):
    """Print how far the last days' sets are, and how their scores are seen; returns all sets as
    dicts."""
    for name, n, n_answered, n_lost, n_open in sets[-8:]:
        show(f"{name}: {n} questions, {n_answered} answered, {n_lost} given up, {n_open} open")
    if settled := [name for name, _, n_answered, *_ in sets if n_answered]:
        agent = names[0] if names else "name"
        show(f"scores of what is answered: make run AGENT={agent} SET={settled[-1]}")
    show(f"report: {path}")
    columns = ("set", "n", "answered", "given_up", "open")
    return [dict(zip(columns, one, strict=True)) for one in sets]
