"""`daybefore moments` (make moments): is an agent's answer fresh minutes after something happened
(FutureX 5.3)?

A list names moments, pages and questions. What is due is done: ten minutes after its moment a
question is put to each agent, which looks by its own method at the web as it is then, and the page
is kept as it stood. The truth is what the page says (`pattern`), or a column `answer` that a person
fills in later. What came too late for a fair question is said to be missed. Call it as often as you
like; with `wait` it sleeps until the next moment.
"""

import os
import re
import time
from pathlib import Path

import pandas as pd

from daybefore.commands.preflight import locate_store, read_now
from daybefore.commands.print_tables import write_csv, write_interval, write_table
from daybefore.commands.run_service import Asked, Terms, ask_one, end_part_way, find_entry
from daybefore.commands.terminal import show, tell
from daybefore.live.read_by_model import fetch_text
from daybefore.live.week_questions import Batch, build_events, check_rows
from daybefore.replies.read_options import make_key
from daybefore.store import read_runs
from daybefore.web.fetched_pages import GatewayError
from daybefore.web.guest import Guest
from daybefore.web.parse_markup import read_number
from helpers.clock import ZONE
from helpers.files import dump_json, hash_text, locate_output, parse_json, write_whole
from helpers.input_faults import describe_problem, raise_all, read_sheet
from helpers.means import measure_share
from helpers.papers import get_constant

COLUMNS = ("time", "page", "question")
"""Wanted; beside them may stand `pattern` (with one group) and `answer`."""
DELAY_MINUTES = get_constant("futurex", "realtime_delay_minutes")
GRACE_MINUTES = 5
"""How late a question may be asked before it counts as missed."""
KEPT = ("id", "agent", "as_of", "answer", "truth", "is_right", "status")


def main(names=(), moments=None, *, now=None, out=None, wait=False, **terms):
    """Do what is due of a list of moments, print how often each agent was right; returns what was
    found.

    Raises ValueError before anything is asked, PartWay where an agent was stopped.
    """
    if not names:
        raise ValueError("moments are asked of an agent: AGENT=name (--agent name)")
    if wait and now is not None:
        raise ValueError(
            "--wait waits by the clock, and --now stands in its place; give one of them"
        )
    for name in names:
        find_entry(name)
    path = Path(moments)
    rows = read_moments(path)
    folder = Path(out) if out else locate_output(f"data/moments/{path.stem}")
    (folder / "pages").mkdir(parents=True, exist_ok=True)
    terms = Terms(**terms)._replace(n_samples=1)
    while True:
        moment = read_now(now)
        stages = {row["id"]: find_stage(row, moment) for row in rows}
        stops = []
        for row in rows:
            if stages[row["id"]] == "due":
                keep_page(row, folder, moment)
                stops += ask_row(row, names, folder, terms)
        waiting = [row["ask_at"] for row in rows if stages[row["id"]] == "waiting"]
        if stops or not waiting or not wait:
            break
        tell(f"the next question is asked at {min(waiting):%Y-%m-%d %H:%M} UTC+8")
        time.sleep(max(1.0, (min(waiting) - pd.Timestamp.now(ZONE)).total_seconds()))
    table = collect(rows, names, folder)
    write_csv(table, folder / "answers.csv")
    shown = tabulate(table, names)
    show(write_table(shown.set_index("agent")))
    show(
        "right: the same as the page at that moment; intervals: 95%, Wilson's, of questions, which count as independent"
    )
    past = [row for row in rows if stages[row["id"]] == "past"]
    missed = {row["id"]: row["ask_at"] for row in past if not read_answers(folder, row)}
    for key, at in missed.items():
        tell(f"{key}: missed, it was to be asked at {at:%Y-%m-%d %H:%M} UTC+8")
    show(f"moments: {len(rows)}, missed {len(missed)}, to come {len(waiting)}")
    show(
        f"a row a question and agent: {os.path.relpath(folder / 'answers.csv')}; pages: {os.path.relpath(folder)}/pages"
    )
    agents = shown.to_dict("records")
    found = {"folder": str(folder), "agents": agents, "missed": [*missed], "stopped": stops}
    return end_part_way("moments", found, stops)


def read_moments(path):
    """Return a list's rows, each with `id` and `ask_at`, in order of time. Raises Problems with
    file, row, column and reason."""
    table = read_sheet(path, COLUMNS, comments=True, filled=COLUMNS, key=COLUMNS)
    problems, rows = [], []
    for n, row in zip(table.index, table.to_dict("records"), strict=True):
        faults = {}
        row = {"pattern": "", "answer": ""} | row
        try:
            at = pd.Timestamp(row["time"])
            at = at.tz_localize(ZONE) if at.tzinfo is None else at.tz_convert(ZONE)
            row["ask_at"] = at + pd.Timedelta(minutes=DELAY_MINUTES)
        except ValueError:
            faults["time"] = f"{row['time']!r} is no moment: 2026-07-01 20:00"
        if not row["page"].startswith("https://"):
            faults["page"] = f"{row['page']!r} is no address that begins https://"
        try:
            if row["pattern"] and re.compile(row["pattern"]).groups != 1:
                faults["pattern"] = "it wants one group, around the answer"
        except re.error as error:
            faults["pattern"] = f"it is no regular expression ({error})"
        problems += [describe_problem(path.name, n, *fault) for fault in faults.items()]
        rows.append(row | {"id": "m" + hash_text("\0".join(row[name] for name in COLUMNS), 8)})
    raise_all(problems)
    return sorted(rows, key=lambda row: (row["ask_at"], row["id"]))


def find_stage(row, moment):
    """Return whether a row is waiting, due or past at a moment."""
    if moment < row["ask_at"]:
        return "waiting"
    return "due" if moment <= row["ask_at"] + pd.Timedelta(minutes=GRACE_MINUTES) else "past"


def ask_row(row, names, folder, terms):
    """Put a question to the agents that have no answer yet; returns why one was stopped."""
    question = {"id": row["id"], "prompt": row["question"], "kind": "text"}
    digest = hash_text(row["id"] + row["question"], 40)
    batch = Batch(check_rows([question], "the list"), "moments", digest)
    as_of = row["ask_at"].isoformat()  # a command that was stopped asks the same again
    events = build_events(batch, as_of)
    asked = Asked(f"ask{hash_text(digest, 8)}", events, events, None, locate_store())
    done, stops = read_answers(folder, row), []
    for name in [name for name in names if name not in done]:
        made = ask_one(name, asked, terms, condition=f"asked {DELAY_MINUTES} minutes after")
        stops += made.stops
        given = read_runs(asked.path, "predictions", list(made.run_ids.values()))
        for one in given.to_dict("records"):
            answer = parse_json(one["value"])
            done[name] = {"as_of": as_of, "answer": answer, "status": one["status"]}
            write_whole(folder / f"{row['id']}.json", dump_json(done))
    return stops


def read_answers(folder, row):
    """Return {agent: {as_of, answer, status}} of a question, {} before it was asked."""
    path = folder / f"{row['id']}.json"
    return parse_json(path.read_text(encoding="utf-8")) if path.exists() else {}


def keep_page(row, folder, moment):
    """Keep a row's page as it stands now, once; a page that does not come is said, and asks nothing
    less."""
    path = folder / "pages" / f"{row['id']}.txt"
    if path.exists():
        return
    try:
        write_whole(path, fetch_text(Guest(moment), row["page"]))
    except GatewayError as error:
        tell(f"{row['id']}: its page was not kept ({error})")


def find_truth(row, folder):
    """Return what is right: a row's `answer`, else what its pattern finds on the kept page; else
    None."""
    if row["answer"]:
        return row["answer"]
    path = folder / "pages" / f"{row['id']}.txt"
    if not (row["pattern"] and path.exists()):
        return None
    found = re.search(row["pattern"], path.read_text(encoding="utf-8"))
    return " ".join(found[1].split()) if found else None


def is_same(answer, truth):
    """Say whether an answer is the truth: numbers by value, texts without case, marks and blanks at
    their ends.

    >>> is_same("2.0", "2"), is_same("T1  2-1 BLG", "t1 2-1 blg"), is_same(None, "2")
    (True, True, False)
    """
    if answer is None:
        return False
    number = read_number(truth)
    is_number = number is not None and read_number(answer) == number
    return is_number or make_key(answer) == make_key(truth)


def collect(rows, names, folder):
    """Return the answers so far (`KEPT`), a row a question and agent; is_right is blank without a
    truth."""
    made = []
    for row in rows:
        truth, done = find_truth(row, folder), read_answers(folder, row)
        for name in [name for name in names if name in done]:
            is_right = None if truth is None else is_same(done[name]["answer"], truth)
            about = {"id": row["id"], "agent": name, "truth": truth, "is_right": is_right}
            made.append(done[name] | about)
    return pd.DataFrame(made, columns=list(KEPT))


def tabulate(table, names):
    """Return a row an agent: asked, known (the truth is), answered, right (share with interval)."""
    rows = []
    for name in names:
        own = table[table["agent"] == name]
        known = own["is_right"].dropna()
        counts = {
            "asked": len(own),
            "answered": own["answer"].notna().sum(),
            "truth known": len(known),
        }
        share = measure_share(known.astype(bool))
        right = write_interval(share["share"], share["low"], share["high"], share["n"])
        rows.append({"agent": name} | {key: str(n) for key, n in counts.items()} | {"right": right})
    return pd.DataFrame(rows)
