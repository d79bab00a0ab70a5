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
from daybefore.commands.service import Asked, Terms, ask_one, end_part_way, find_entry
from daybefore.commands.terminal import show, tell
from daybefore.commands.texts import write_csv, write_table
from daybefore.live.challenge import Batch, build_events, check_rows
from daybefore.replies.options import make_key
from daybefore.store import read_runs
from daybefore.web.guest import Guest
from daybefore.web.markup import read_number
from daybefore.web.pages import GatewayError, decode_body
from helpers.calendar import ZONE
from helpers.faults import describe_problem, raise_all, read_sheet
from helpers.files import dump_json, hash_text, locate_output, parse_json, write_whole
from helpers.means import measure_share
from helpers.papers import get_constant

COLUMNS = ("time", "page", "question")
"""Wanted; beside them may stand `id`, `pattern` (with one group), `answer`, `kind` (default text)
and `options` (with | between)."""
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
    stops = []
    while True:
        moment = read_now(now)
        for row in rows:
            if (stage := find_stage(row, moment)) == "due":
                stops += do_row(row, names, folder, moment, terms)
            elif stage == "past" and not read_answers(folder, row):
                tell(
                    f"{row['id']}: missed, it was to be asked at {row['ask_at']:%Y-%m-%d %H:%M} UTC+8"
                )
        waiting = [row["ask_at"] for row in rows if find_stage(row, moment) == "waiting"]
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
    missed = [
        row["id"]
        for row in rows
        if find_stage(row, moment) == "past" and not read_answers(folder, row)
    ]
    show(f"moments: {len(rows)}, missed {len(missed)}, to come {len(waiting)}")
    show(
        f"a row a question and agent: {os.path.relpath(folder / 'answers.csv')}; pages: {os.path.relpath(folder)}/pages"
    )
    found = {
        "folder": str(folder),
        "agents": shown.to_dict("records"),
        "missed": missed,
        "stopped": stops,
    }
    return end_part_way("moments", found, stops)


def read_moments(path):
    """Return a list's rows, each with `ask_at`, in order of time. Raises Problems with file, row,
    column and reason."""
    table = read_sheet(path, COLUMNS, comments=True, filled=COLUMNS)
    problems, rows = [], []
    for n, row in zip(table.index, table.to_dict("records"), strict=True):
        row = {name: str(cell) for name, cell in row.items()}
        try:
            at = pd.Timestamp(row["time"])
            at = at.tz_localize(ZONE) if at.tzinfo is None else at.tz_convert(ZONE)
        except ValueError:
            problems.append(
                describe_problem(
                    path.name, n, "time", f"{row['time']!r} is no moment: 2026-07-01 20:00"
                )
            )
            continue
        if not row["page"].startswith("https://"):
            problems.append(
                describe_problem(
                    path.name, n, "page", f"{row['page']!r} is no address that begins https://"
                )
            )
        try:
            n_groups = re.compile(row.get("pattern", "")).groups
        except re.error as error:
            problems.append(
                describe_problem(path.name, n, "pattern", f"it is no regular expression ({error})")
            )
        else:
            if row.get("pattern") and n_groups != 1:
                problems.append(
                    describe_problem(
                        path.name, n, "pattern", "it wants one group, around the answer"
                    )
                )
        key = hash_text("\0".join(row[name] for name in COLUMNS), 8)
        rows.append(
            row
            | {"id": row.get("id") or f"m{key}", "ask_at": at + pd.Timedelta(minutes=DELAY_MINUTES)}
        )
    ids = [row["id"] for row in rows]
    problems += [
        f"{path.name}: the id {one!r} stands twice"
        for one in sorted(set(ids))
        if ids.count(one) > 1
    ]
    raise_all(problems)
    return sorted(rows, key=lambda row: (row["ask_at"], row["id"]))


def find_stage(row, moment):
    """Return whether a row is waiting, due or past at a moment."""
    if moment < row["ask_at"]:
        return "waiting"
    return "due" if moment <= row["ask_at"] + pd.Timedelta(minutes=GRACE_MINUTES) else "past"


def do_row(row, names, folder, moment, terms):
    """Keep the page as it is, put the question to the agents that have no answer yet; returns why
    one was stopped."""
    keep_truth(row, folder, moment)
    done, stops = read_answers(folder, row), []
    for name in [name for name in names if name not in done]:
        question = {"id": row["id"], "prompt": row["question"]}
        question["kind"] = row.get("kind") or ("single" if row.get("options") else "text")
        if row.get("options"):
            question["options"] = [text.strip() for text in row["options"].split("|")]
        batch = Batch(
            check_rows([question], "the list"),
            "moments",
            hash_text(row["id"] + row["question"], 40),
        )
        as_of = row[
            "ask_at"
        ].isoformat()  # not this minute: a command that was stopped asks the same again
        events = build_events(batch, as_of)
        asked = Asked(f"ask{hash_text(batch.commit, 8)}", events, events, None, locate_store())
        made = ask_one(name, asked, terms, condition=f"asked {DELAY_MINUTES} minutes after")
        run_ids = list(made.run_ids.values())
        stops += made.stops
        given = read_runs(asked.path, "predictions", run_ids)
        status = read_runs(asked.path, "replies", run_ids)["status"]
        value = None
        if len(given) and isinstance(given["value"].iloc[0], str):
            value = parse_json(given["value"].iloc[0])
        if len(status):
            options = parse_json(events["options"].iloc[0]) or {}
            answer = options.get(value, value) if isinstance(value, str) else value
            done[name] = {"as_of": as_of, "answer": answer, "status": status.iloc[0]}
            write_whole(folder / f"{row['id']}.json", dump_json(done))
    return stops


def read_answers(folder, row):
    """Return {agent: {as_of, answer, status}} of a question, {} before it was asked."""
    path = folder / f"{row['id']}.json"
    return parse_json(path.read_text(encoding="utf-8")) if path.exists() else {}


def keep_truth(row, folder, moment):
    """Keep a row's page as it stands now, once; a page that does not come is said, and asks nothing
    less."""
    path = folder / "pages" / f"{row['id']}.txt"
    if path.exists():
        return
    try:
        status, headers, body = Guest(moment).get(row["page"])
    except GatewayError as error:
        tell(f"{row['id']}: its page was not kept ({error})")
        return
    if status != 200:
        tell(f"{row['id']}: its page was not kept ({row['page']} answered {status})")
        return
    write_whole(path, decode_body(body, headers.get("content-type", "")))


def find_truth(row, folder):
    """Return what is right: a row's `answer`, else what its pattern finds on the kept page; else
    None."""
    if row.get("answer"):
        return row["answer"]
    path = folder / "pages" / f"{row['id']}.txt"
    if not (row.get("pattern") and path.exists()):
        return None
    found = re.search(row["pattern"], path.read_text(encoding="utf-8"))
    return " ".join(found[1].split()) if found else None


def is_same(answer, truth):
    """Say whether an answer is the truth: numbers by value, texts without case, marks and blanks at
    their ends.

    >>> is_same(2.0, "2"), is_same("T1  2-1 BLG", "t1 2-1 blg"), is_same(None, "2")
    (True, True, False)
    """
    if answer is None:
        return False
    if isinstance(answer, int | float):
        return read_number(truth) == answer
    return make_key(str(answer)) == make_key(truth)


def collect(rows, names, folder):
    """Return the answers so far (`KEPT`), a row a question and agent; is_right is blank without a
    truth."""
    made = []
    for row in rows:
        truth, done = find_truth(row, folder), read_answers(folder, row)
        for name in [name for name in names if name in done]:
            one = done[name] | {"id": row["id"], "agent": name, "truth": truth}
            made.append(
                one | {"is_right": None if truth is None else is_same(one["answer"], truth)}
            )
    return pd.DataFrame(made, columns=list(KEPT))


def tabulate(table, names):
    """Return a row an agent: asked, known (the truth is), answered, right (share with interval)."""
    rows = []
    for name in names:
        own = table[table["agent"] == name]
        known = own[own["is_right"].notna()]
        share = measure_share(known["is_right"].astype(bool))
        right = (
            f"{share['share']:.2f} ({share['low']:.2f} to {share['high']:.2f}, n = {share['n']})"
            if share["n"]
            else "-"
        )
        counts = {
            "asked": len(own),
            "answered": own["answer"].notna().sum(),
            "truth known": len(known),
        }
        rows.append({"agent": name} | {key: str(n) for key, n in counts.items()} | {"right": right})
    return pd.DataFrame(rows)
