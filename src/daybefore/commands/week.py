"""`daybefore week` (make week): ask agents this week's questions of FutureX, or a file's, and write
the submission.

Nothing is sent. The answers stand in a folder (`live.week_submission`); the same command on a later
day asks again and revises them only on a material change. With `settle` the folder's answers are
scored.
"""

import os
from pathlib import Path

import pandas as pd

from daybefore.agents.ask_questions import handle_stops
from daybefore.commands import print_tables
from daybefore.commands.preflight import locate_store, open_judge, read_now
from daybefore.commands.run_service import Asked, Terms, ask_one, end_part_way, find_entry
from daybefore.commands.terminal import show, tell
from daybefore.formats.write_exports import TASK
from daybefore.live import market_venues, week_submission
from daybefore.live import settle_week as settling
from daybefore.live.week_questions import (
    ANSWERS,
    N_COMMIT,
    build_events,
    fetch_batch,
    fetch_rows,
    name_window,
    read_rows,
)
from daybefore.store import ACCIDENTS, count_stored
from helpers.files import locate_output, parse_json
from helpers.input_faults import suggest
from helpers.means import MIN_CLUSTERS, find_clusters, summarize_clustered
from helpers.scores import CODE_SCORER, PAPER_SCORER
from helpers.sets import keep_questions

N_TOLD = 5
"""Ids or sentences of a kind that are printed."""


def main(
    names=(),
    questions=None,
    out=None,
    commit=None,
    *,
    settle=None,
    rule=None,
    now=None,
    judge=None,
    board=None,
    venue=None,
    limit=None,
    **terms,
):
    """Ask, or settle, a week; returns what was found as a dict. Raises ValueError before anything
    is asked.

    `questions` is a file (None: the challenge's newest set, or that of `commit`), `out` the folder
    of the answers, `now` a moment to ask as of instead of this one, `settle` a file of answers,
    "past" or "venue", `rule` the rules to score by, `judge` an agent's name, `board` a file of the
    public board. `venue` and `limit`: questions of a market in place of a file's; `terms` as of
    `run_service.Terms`.
    """
    now, terms = read_now(now), Terms(**terms)
    if settle:
        return settle_week(settle, out, judge, board, terms.ceiling_usd, now, rule)
    if not names:
        raise ValueError(
            "a week is asked of an agent: AGENT=name (--agent name), a table of data/agents.local.toml"
        )
    if venue and questions:
        raise ValueError("--from fetches questions and --questions reads a file; give one of them")
    for name in names:
        find_entry(name)
    path = locate_store()
    if venue:
        questions, now, left = market_venues.keep_questions(venue, limit, now)
        tell(f"{venue}, fetched {now:%Y-%m-%d %H:%M} UTC+8: {os.path.relpath(questions)}")
        tell(list_some("left out", [f"{key} ({why})" for key, why in left]))
    batch = fetch_batch(questions, commit)
    tell(week_submission.describe_batch(batch, now))
    base, found = Path(out) if out else locate_output(f"data/weeks/{batch.commit[:N_COMMIT]}"), {}
    with handle_stops():
        for name in names:
            folder = base / name if len(names) > 1 else base
            found[name] = ask_week(name, batch, now, path, folder, terms)
    stops = [stop for one in found.values() for stop in one["stopped"]]
    return end_part_way("week", {"agents": found}, stops)


# --- asking -----------------------------------------------------------------------------------------


def ask_week(name, batch, now, path, folder, terms):
    """Ask one agent a batch's questions in the round that is due, write its files, print and return
    what was found."""
    state = week_submission.read_state(folder)
    if state["agent"] not in (None, name) or state["commit"] not in (None, batch.commit):
        theirs = f"{state['agent']}'s answers to commit {str(state['commit'])[:12]}"
        raise ValueError(f"{folder} holds {theirs}; name another folder (OUT=folder)")
    state |= {
        "agent": name,
        "model": find_entry(name).get("model") or f"{TASK}/{name}",
        "source": batch.source,
        "commit": batch.commit,
        "message": batch.message,
    }
    turn = week_submission.open_round(state, now)
    events = build_events(batch, turn["as_of"])
    week_submission.write_week(
        folder, state, events
    )  # first, so that a run that is killed goes on as of the same moment
    keep_questions(name_window(batch), f"{batch.source}, {batch.commit[:N_COMMIT]}", events)
    run_ids, stops, *_ = ask_one(name, Asked(name_window(batch), events, events, None, path), terms)
    run_ids = sort_votes(run_ids)
    turn["is_complete"] = not stops and not count_stored(path, run_ids[-1:], ACCIDENTS)
    told = week_submission.revise_all(
        state, week_submission.collect_answers(path, run_ids, events), turn["as_of"]
    )
    state["late"] = week_submission.list_late(batch, pd.Timestamp(turn["as_of"]))
    week_submission.write_week(folder, state, events)
    for path in week_submission.write_round(folder, state, events):
        show(f"ForecastBench's submission: {os.path.relpath(path)}")
    found = show_round(state, events, folder, told)
    if batch.is_challenge:
        show(week_submission.describe_email(name, batch, now, folder))
    about = {"agent": name, "folder": str(folder), "commit": batch.commit, "as_of": turn["as_of"]}
    return about | found | {"late": state["late"], "changes": told, "stopped": stops}


def show_round(state, events, folder, told):
    """Print what stands in a week's folder after a round, `told` of what it changed; returns n,
    missing ({id: why}) and unread (ids of doubtful kind)."""
    missing, unread = {}, {}
    for event in events.to_dict("records"):
        key = event["event_id"]
        answer = state["standing"][key]
        if not answer["prediction"]:
            missing[key] = answer["reason"] or answer["status"]
        if not parse_json(event["metadata"])["is_known"]:
            unread[key] = event["kind"]
    n = len(events)
    agent, n_rounds = state["agent"], len(state["rounds"])
    show(f"{agent}: {n - len(missing)} of {n} questions answered, round {n_rounds}")
    show(list_some("no answer", [f"{key} ({why})" for key, why in missing.items()]))
    kinds = [f"{key} ({kind})" for key, kind in unread.items()]
    show(list_some("doubtful, the prompt's words do not decide their kind", kinds))
    show(list_some("late, their window had ended", state["late"]))
    show(list_some("changed or kept against an earlier round", told))
    show(f"files: {os.path.relpath(folder / f'{week_submission.name_week(state)}.json')}, .jsonl")
    show(f"a question set like any other: make view SET={events['window'].iloc[0]}")
    return {"n": n, "missing": missing, "unread": list(unread)}


def sort_votes(run_ids):
    """Return the ids of runs, first that of the majority of several samples, where there is one."""
    return [
        run_ids[name] for name in sorted(run_ids, key=lambda name: not name.endswith("-majority"))
    ]


def list_some(what, items):
    """Return a line on some items, the first few of them in words; "none" where there are none.

    >>> list_some("late", ["a", "b"]), list_some("late", [])
    ('late: 2: a, b', 'late: none')
    """
    if not items:
        return f"{what}: none"
    more = f" and {len(items) - N_TOLD} more (week.json)" * (len(items) > N_TOLD)
    return f"{what}: {len(items)}: {', '.join(items[:N_TOLD])}{more}"


# --- settling ---------------------------------------------------------------------------------------


def settle_week(place, out, judge, board, ceiling_usd, now, rule=None):
    """Score the answers of a folder, of each agent that was asked the week, and print the tables.

    Returns {"settled": [a dict an agent], "rule", "open"}. All are scored by one `rule`
    (`scores.SCORERS`; None: `settle_week.choose_scorer`). Raises ValueError where nothing can be
    settled.
    """
    folders = week_submission.list_weeks(out)
    weeks = [(folder, *week_submission.read_week(folder)) for folder in folders]
    state, events = weeks[0][1:]
    answers, source, why = find_answers(place, events, now)
    window = events["window"].iloc[0]
    keep_questions(window, f"{state['source']}, {state['commit'][:N_COMMIT]}", events, answers)
    rule = rule or settling.choose_scorer(state)
    show(f"{state['source']} {state['commit'][:12]}, answers from {source}; rules: {rule}")
    rivals = settling.read_board(Path(board), state["rounds"][0]["as_of"]) if board else None
    found = []
    with open_judge(judge, ceiling_usd) as consult:
        for folder, state, events in weeks:
            rows, table = settling.settle(state, events, answers, consult, rule)
            print_tables.write_csv(rows, folder / "scores.csv")
            found.append(show_scores(state, events, answers, rows, table, rivals, judge))
            show(f"a row a question: {os.path.relpath(folder / 'scores.csv')}")
    open_ids = sorted(set(events["event_id"]) - set(answers["event_id"]))
    show(list_some("not settled yet", [f"{name} ({said})" for name, said in why] or open_ids))
    show(f"by the paper's rules, with baselines: make run AGENT={state['agent']} SET={window}")
    return {"settled": found, "rule": rule, "open": open_ids}


def find_answers(place, events, now):
    """Return (answers table, where they are from, [(id, why it is open)]) of a file, "past" or
    "venue"."""
    if place == "venue":
        rows, why = market_venues.fetch_answers(events, now)
        if not rows:
            raise ValueError(
                f"none of the {len(events)} questions is settled; the first, {why[0][0]}: {why[0][1]}"
            )
        return settling.read_answers("their venue", events, rows), "their venue", why
    if place == "past":
        rows, commit, _ = fetch_rows(ANSWERS)
        source = f"{ANSWERS}@{commit[:12]}"
        return settling.read_answers(source, events, rows, is_own=False), source, []
    path = Path(place)
    if not path.is_file():
        near = suggest(place, ["past", "venue", *map(str, path.parent.glob("*.*"))])
        raise ValueError(
            f"there is no file {place}{near or '; give a csv of id and answer, past or venue'}"
        )
    return settling.read_answers(path.name, events, read_rows(path, path.name)), path.name, []


def show_table(table):
    """Print a table, its numbers with three decimals."""
    show(table.to_string(index=False, na_rep="", float_format="{:.3f}".format))


def show_scores(state, events, answers, rows, table, rivals, judge):
    """Print an agent's scores (of `settle_week.settle`), beside the public board (`rivals`) and the
    price; returns them."""
    show(f"\n{state['agent']}")
    if failed := rows.attrs.get("unjudged"):
        blank = f"no verdict on {len(failed)} of {len(rows)} answers, and judged is blank there"
        show(f"judge {judge}: {blank}: {failed[0].reason}")
    show_table(table if judge else table.drop(columns="judged"))
    is_number = events["event_id"].isin(answers["event_id"]) & (events["kind"] == "number")
    n_numbers, n_scored = int(is_number.sum()), int((rows["kind"] == "number").sum())
    show(f"numbers scored: {n_scored} of {n_numbers}")
    if n_scored < n_numbers:
        show(
            f"{PAPER_SCORER} needs a number's spread, which these answers do not say; --rule {CODE_SCORER} needs none"
        )
    if rivals:
        show_place(table["mean"].iloc[-1], *rivals)
    clusters, by = find_clusters(events)
    scored = rows.set_index("event_id")[["score_imputed"]].dropna()
    mean = summarize_clustered(scored, clusters, ends=(0, 1)).iloc[0][["mean", "low", "high", "n"]]
    ends = print_tables.write_interval(*mean, digits=3)
    about = f"interval: 95%, by {by}, none from fewer than {MIN_CLUSTERS}"
    show(f"score, a missing answer 0: {ends}; {about}")
    found = {"agent": state["agent"], "table": table.to_dict("records"), "score": mean.to_dict()}
    return found | show_beside(state, events, answers)


def show_place(overall, week, rivals):
    """Print where an overall score would stand on a week's public board
    (`settle_week.read_board`)."""
    first = rivals.head(3).to_dict("records")
    best = ", ".join(f"{row['name']} {row['overall']:.3f}" for row in first)
    place = (rivals["overall"] > overall).sum() + 1
    told = f"{overall:.3f} would be place {place} of {len(rivals) + 1}; best: {best}"
    show(f"public board, {week}: {told}; median {rivals['overall'].median():.3f}.")
    show("The board's own scorer judges texts by a model: the two are not quite alike.")


def show_beside(state, events, answers):
    """Print the Brier errors beside the price's, and ForecastBench's parts, where there are any;
    returns them."""
    chances, found = (
        market_venues.tell_chances(week_submission.build_predictions(state), events, answers),
        {},
    )
    if skill := market_venues.measure_skill(chances, events):
        of = f"{skill['n']} questions of {skill['n_clusters']} events"
        show(f"Brier error (0 to 1), {of}: agent {skill['agent']:.3f},")
        gap = print_tables.write_difference(skill, 3)
        show(f"price when asked {skill['price']:.3f}; price minus agent {gap}")
        found["skill"] = skill
    elif chances["price"].notna().any():
        show(
            "none stands beside the price, as no probability was stated: probabilities = true in the agent's table"
        )
    if events["metadata"].str.contains('"question_set"').any():
        table = market_venues.score_round(chances)
        show(
            "ForecastBench's Brier error, not adjusted for difficulty, 0.5 where none was forecast:"
        )
        show_table(table)
        found["round"] = table.to_dict("records")
    return found
