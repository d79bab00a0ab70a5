"""`daybefore planted` (make planted): do pages that claim a wrong answer move an agent (FutureX
5.2)?

Each scenario is asked without its page, then with it; while the answer is not the target the next
page is planted, up to five, from the folder or by a writer that hears the reply. The agent searches
and opens by its own method. Replies are kept in the store as a run's are: a command that was
stopped goes on, and pays nothing twice.
"""

import os
from functools import partial
from pathlib import Path

import pandas as pd

from daybefore.agents.registry import FUNCTION, SEARCHING, connect_agent
from daybefore.agents.run_loop import sees_today
from daybefore.commands.preflight import locate_store, open_judge, read_now
from daybefore.commands.print_tables import write_csv, write_interval, write_table
from daybefore.commands.run_service import Asked, Terms, ask_one, end_part_way, find_entry
from daybefore.commands.terminal import show, tell
from daybefore.live.week_questions import Batch, build_events, check_rows
from daybefore.store import read_runs
from daybefore.web.replay import Replay
from daybefore.web.session import Web
from helpers.clock import stamp_moment
from helpers.files import dump_json, hash_text, locate_output, parse_json, write_whole
from helpers.means import measure_share
from studies.futurex.planted_pages import (
    HOURS_BEFORE,
    MAX_ROUNDS,
    FakeSite,
    FakeWorld,
    ask_with_page,
    read_page,
    read_scenarios,
    read_trials,
    write_page,
)


def main(names=(), scenarios=None, writer=None, now=None, out=None, **terms):
    """Put agents to the scenarios of a folder, without and with their pages; returns what was
    found.

    `writer` is an agent that writes the pages which the folder does not have; `terms` as of
    `run_service.Terms`. Raises
    ValueError before anything is asked, PartWay where an agent was stopped.
    """
    if not names:
        raise ValueError("planted pages are shown to an agent: AGENT=name (--agent name)")
    folder = Path(scenarios)
    cases, entries = read_scenarios(folder), {name: find_entry(name) for name in names}
    for name, entry in entries.items():
        if entry["method"] != FUNCTION and sees_today(connect_agent(entry, None)):
            raise ValueError(
                f"{name}: its provider searches today's web, where no page of this machine is"
            )
        if entry["method"] not in (FUNCTION, *SEARCHING):
            tell(
                f"{name} looks nothing up ({entry['method']}): no page can reach it, so it is a control"
            )
    bare = [one.id for one in cases if writer is None and read_page(folder, one, 1) is None]
    if bare:
        raise ValueError(
            f"{folder}/pages has no {bare[0]}.txt, and no writer is named (--writer name)"
        )
    place = Path(out) if out else locate_output(f"data/planted/{folder.resolve().name}")
    place.mkdir(parents=True, exist_ok=True)
    as_of = keep_moment(place / "moment.json", folder, now)
    terms = Terms(**terms)._replace(n_samples=1)
    found, stops = [], []
    with open_judge(writer, terms.ceiling_usd) as consult:
        for name in names:
            rows, stopped = try_agent(
                name, cases, partial(make_page, folder, consult), as_of, terms
            )
            found.append(pd.concat(rows, ignore_index=True).assign(agent=name))
            stops += stopped
    trials = pd.concat(found, ignore_index=True)
    write_csv(trials, place / "trials.csv")
    table = tabulate(trials)
    show(write_table(table.set_index("agent")))
    show(
        "moved: the answer is the target; intervals: 95%, Wilson's, of scenarios; a share of the scenarios whose"
    )
    show(
        "answer without a page was another. opened, cited: of the first pages. A few scenarios show a possibility only"
    )
    show(f"a row a question and round: {os.path.relpath(place / 'trials.csv')}")
    told = {"folder": str(place), "agents": table.to_dict("records"), "stopped": stops}
    return end_part_way("planted", told, stops)


def keep_moment(path, folder, now):
    """Return the moment as of which all is asked, UTC+8: that of the first call, so that a later
    one goes on."""
    if path.exists() and now is None:
        return parse_json(path.read_text(encoding="utf-8"))["as_of"]
    as_of = stamp_moment(read_now(now))
    write_whole(path, dump_json({"as_of": as_of, "scenarios": str(folder)}).encode())
    return as_of


def make_page(folder, consult, scenario, n_round, last):
    """Return a scenario's page of a round: the folder's, else the writer's, None where there is
    neither."""
    page = read_page(folder, scenario, n_round)
    if page is None and consult:
        page = write_page(consult, scenario, last)
    return page


def try_agent(name, cases, make, as_of, terms):
    """Return ([table of a round's trials], why it was stopped) of an agent; round 0 is without a
    page."""
    first, stops = ask_round(name, cases, {}, as_of, terms)
    rows = [first.assign(round=0)]
    left = [one for one, moved in zip(cases, first["is_target"], strict=True) if not moved]
    last = {}
    for n_round in range(1, MAX_ROUNDS + 1):
        if stops or not left:
            break
        pages = {one.id: make(one, n_round, last.get(one.id)) for one in left}
        left = [one for one in left if pages[one.id]]
        if not left:
            break
        trials, stops = ask_round(name, left, pages, as_of, terms)
        headlines = [pages[one.id]["headline"] for one in left]
        rows.append(trials.assign(round=n_round, headline=headlines))
        for one, reply in zip(left, trials["reply"], strict=True):
            last[one.id] = pages[one.id] | {"reply": reply}
        is_done = trials["is_target"] | ~trials["status"].eq("ok")
        left = [one for one, done in zip(left, is_done, strict=True) if not done]
    return rows, stops


def ask_round(name, cases, pages, as_of, terms):
    """Return (trials, why the agent was stopped) of some scenarios, each with its page where
    `pages` has one."""
    moment = stamp_moment(pd.Timestamp(as_of) - pd.Timedelta(hours=HOURS_BEFORE))
    site = FakeSite()
    for one in cases:
        if page := pages.get(one.id):
            site.publish(one.address, page["headline"], page["body"], moment)
    rows = []
    for one in cases:
        row = {"id": one.id, "kind": one.kind, "options": one.options, "unit": one.unit}
        row["prompt"] = ask_with_page(one) if pages else one.question
        rows.append({name: cell for name, cell in row.items() if cell})
    digest = hash_text(dump_json([rows, pages]), 8)
    batch = Batch(check_rows(rows, "scenarios.csv"), "scenarios.csv", digest)
    events = build_events(batch, as_of)
    asked = Asked(f"ask{digest}", events, events, None, locate_store())
    findable = [one.address for one in cases if pages and one.placed != "address"]
    base = Replay({}, articles=list(terms.press))
    condition = f"with planted pages {digest}" if pages else None

    def opener():
        """Return a world of articles with the planted pages in it."""
        return FakeWorld(Web(base, {}, base.feeds, keeps_pages=True), site, findable)

    done = ask_one(name, asked, terms, condition=condition, opener=opener)
    tables = [
        read_runs(asked.path, table, list(done.run_ids.values()))
        for table in ("predictions", "replies", "traces")
    ]
    return read_trials(cases, *tables), done.stops


def tabulate(trials):
    """Return a row an agent: scenarios, moved by the first page and by any (with interval), opened,
    cited."""
    rows = []
    for agent, part in trials.groupby("agent", sort=False):
        control = part[part["round"] == 0].set_index("scenario")
        kept = control.index[~control["is_target"]]
        pages = part[(part["round"] > 0) & part["scenario"].isin(kept)]
        first = pages[pages["round"] == 1]
        share = measure_share(pages.groupby("scenario")["is_target"].any())
        ends = write_interval(share["share"], share["low"], share["high"], share["n"])
        rows.append(
            {
                "agent": agent,
                "scenarios": str(len(control)),
                "moved": ends,
                "by the first": str(int(first["is_target"].sum())),
                "opened": str(int(first["is_opened"].sum())),
                "found": str(int(first["is_found"].sum())),
                "cited": str(int(first["is_cited"].sum())),
                "unanswered": str(int((part["status"] != "ok").sum())),
            }
        )
    return pd.DataFrame(rows)
