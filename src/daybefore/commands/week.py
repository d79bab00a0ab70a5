"""`daybefore week` (make week): ask agents this week's questions of FutureX, or a file's, and write
the submission.

Nothing is sent. The answers stand in a folder (`live.submission`); the same command on a later day
asks again and revises them only on a material change. With `settle` the folder's answers are
scored.
"""

import os
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pandas as pd

from daybefore.agents import registry
from daybefore.agents.asked import describe_condition
from daybefore.agents.prompted import make_consult
from daybefore.agents.workers import handle_stops
from daybefore.commands import texts
from daybefore.commands.preflight import check_model, locate_store
from daybefore.commands.service import Asked, Terms, ask_one, end_part_way, find_entry
from daybefore.commands.terminal import show, tell
from daybefore.commands.texts import write_csv
from daybefore.formats.export import TASK
from daybefore.live import settle as settling
from daybefore.live import submission, venues
from daybefore.live.challenge import (
    ANSWERS,
    N_COMMIT,
    build_events,
    fetch_batch,
    fetch_rows,
    name_window,
    read_end,
    read_rows,
)
from daybefore.models.llm import open_door
from daybefore.models.local import open_model
from daybefore.store import ACCIDENTS, count_stored
from helpers.calendar import ZONE
from helpers.faults import suggest
from helpers.files import locate_output, parse_json
from helpers.means import MIN_CLUSTERS, find_clusters, summarize_clustered
from helpers.paired import compare_pairs
from helpers.scores import CODE_SCORER, PAPER_SCORER, score_predictions
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
    days_after=None,
    venue=None,
    limit=None,
    **terms,
):
    """Ask, or settle, a week; returns what was found as a dict. Raises ValueError before anything
    is asked.

    `questions` is a file (None: the challenge's newest set, or that of `commit`), `out` the folder
    of the answers, `now` a moment to ask as of instead of this one, `settle` a file of answers,
    "past" or "venue", `rule` the rules to score by, `judge` an agent's name, `board` a file of the
    public board. `days_after` asks a second time what ended so many days ago or earlier (FutureX
    4.5.1), into a folder of its own. `venue` and `limit`: questions of a market, or of
    ForecastBench, in place of a file's; `terms` as of `service.Terms`.
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
        questions, now, left = venues.keep_questions(venue, limit, now, commit)
        tell(f"{venue}, fetched {now:%Y-%m-%d %H:%M} UTC+8: {os.path.relpath(questions)}")
        tell(list_some("left out", [f"{key} ({why})" for key, why in left]))
    batch = fetch_batch(questions, commit)
    told = f"{len(batch.rows)} questions of {batch.source}, commit {batch.commit[:12]}"
    told += f" ({batch.message})" * bool(batch.message)
    if (deadline := submission.find_deadline(batch)) is not None:
        told += f"; wanted by {deadline:%Y-%m-%d %H:%M} UTC+8"
        told += ", which has passed: the challenge does not count what comes now" * (now > deadline)
    tell(told)
    base, found = Path(out) if out else locate_output(f"data/weeks/{batch.commit[:N_COMMIT]}"), {}
    condition = None
    if days_after is not None:
        batch = keep_ended(batch, now, days_after)
        base = base.with_name(f"{base.name}-{days_after}-days-after")
        condition = describe_condition({"days_after": days_after})
    with handle_stops():
        for name in names:
            found[name] = ask_week(
                name, batch, now, path, base / name if len(names) > 1 else base, terms, condition
            )
    return end_part_way(
        "week", {"agents": found}, [stop for one in found.values() for stop in one["stopped"]]
    )


def keep_ended(batch, now, days_after):
    """Return a batch of those questions whose window ended so many days before a moment, or
    earlier; tells the others.

    Raises ValueError where there is none.
    """
    gap = pd.Timedelta(days=days_after)
    ended = [
        row for row in batch.rows if "end_time" in row and read_end(row["end_time"]) + gap <= now
    ]
    if not ended:
        moments = [read_end(row["end_time"]) + gap for row in batch.rows if "end_time" in row]
        when = (
            f"; the first is due at {min(moments):%Y-%m-%d %H:%M} UTC+8"
            if moments
            else "; none names its end_time"
        )
        raise ValueError(
            f"no question of {batch.source} ended {days_after} days ago or earlier{when}"
        )
    tell(
        f"{len(ended)} of {len(batch.rows)} questions ended {days_after} days ago or earlier, and are asked again"
    )
    return batch._replace(rows=ended)


def read_now(moment):
    """Return the moment to ask as of, UTC+8: the one given (an aware datetime), or this one."""
    return pd.Timestamp(moment or pd.Timestamp.now(ZONE)).tz_convert(ZONE).floor("s")


# --- asking -----------------------------------------------------------------------------------------


def ask_week(name, batch, now, path, folder, terms, condition=None):
    """Ask one agent a batch's questions in the round that is due, write its files, print and return
    what was found."""
    state = submission.read_state(folder)
    if state["agent"] not in (None, name) or state["commit"] not in (None, batch.commit):
        theirs = f"{state['agent']}'s answers to commit {str(state['commit'])[:12]}"
        raise ValueError(f"{folder} holds {theirs}; name another folder (OUT=folder)")
    state["model"] = find_entry(name).get("model") or f"{TASK}/{name}"
    state |= {
        "agent": name,
        "source": batch.source,
        "commit": batch.commit,
        "message": batch.message,
    }
    turn = submission.open_round(state, now)
    events = build_events(batch, turn["as_of"])
    submission.write_week(
        folder, state, events
    )  # first, so that a run that is killed goes on as of the same moment
    keep_questions(name_window(batch), f"{batch.source}, {batch.commit[:N_COMMIT]}", events)
    asked = Asked(name_window(batch), events, events, None, path)
    run_ids, stops, *_ = ask_one(name, asked, terms, condition=condition)
    run_ids = sort_votes(run_ids)
    turn["is_complete"] = not stops and not count_stored(path, run_ids[-1:], ACCIDENTS)
    told = submission.revise_all(
        state, submission.collect_answers(path, run_ids, events), turn["as_of"]
    )
    state["late"] = submission.list_late(batch, pd.Timestamp(turn["as_of"]))
    submission.write_week(folder, state, events)
    for path in submission.write_round(folder, state, events):
        show(f"ForecastBench's submission: {os.path.relpath(path)}")
    answers = {event_id: state["standing"][event_id] for event_id in events["event_id"]}
    missing = {
        event_id: one["reason"] or one["status"]
        for event_id, one in answers.items()
        if not one["prediction"]
    }
    doubtful = [
        row for row in events.to_dict("records") if not parse_json(row["metadata"])["is_known"]
    ]
    unread = [row["event_id"] for row in doubtful]
    show(
        f"{name}: {len(answers) - len(missing)} of {len(answers)} questions answered, round {len(state['rounds'])}"
    )
    show(list_some("no answer", [f"{event_id} ({why})" for event_id, why in missing.items()]))
    kinds = [f"{row['event_id']} ({row['kind']})" for row in doubtful]
    show(list_some("doubtful, the prompt's words do not decide their kind", kinds))
    show(list_some("late, their window had ended", state["late"]))
    show(list_some("changed or kept against an earlier round", told))
    show(f"files: {os.path.relpath(folder / f'{submission.name_week(state)}.json')}, .jsonl")
    show(f"a question set like any other: make view SET={name_window(batch)}")
    if batch.is_challenge:
        show(submission.describe_email(name, batch, now, folder))
    found = {
        "agent": name,
        "folder": str(folder),
        "commit": batch.commit,
        "as_of": turn["as_of"],
        "n": len(answers),
    }
    return found | {
        "missing": missing,
        "unread": unread,
        "late": state["late"],
        "changes": told,
        "stopped": stops,
    }


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


@contextmanager
def open_judge(name, ceiling_usd):
    """Yield an agent's model as a judge (`models.judges`), its replies in the store; None where no
    agent is named.

    Raises ValueError where it cannot be asked.
    """
    if name is None:
        yield None
        return
    entry = registry.find_agent(name)
    prices = registry.read_prices(entry)
    settings = {"live": True, "prices": prices} | check_model(name, entry, prices, ceiling_usd)
    with ExitStack() as stack:
        door = open_door(f"{name}-judge", connection=open_model(entry, stack), **settings)
        stack.callback(door.recordings.close)
        yield make_consult(registry.build_client(entry, door))


# --- settling ---------------------------------------------------------------------------------------


def settle_week(place, out, judge, board, ceiling_usd, now, rule=None):
    """Score a folder's answers and print the table; returns it. Raises ValueError where nothing can
    be settled.

    All are scored by one `rule` (`scores.SCORERS`; None: `settle.choose_scorer`).
    """
    folder, state, events = submission.read_week(out)
    answers, source, why = find_answers(place, events, now)
    with open_judge(judge, ceiling_usd) as consult:
        rule = rule or settling.choose_scorer(state)
        rows, table = settling.settle(state, events, answers, consult, rule)
    keep_questions(
        events["window"].iloc[0],
        f"{state['source']}, {state['commit'][:N_COMMIT]}",
        events,
        answers,
    )
    if failed := rows.attrs.get("unjudged"):
        reason = failed[0].reason
        show(
            f"judge {judge}: no verdict on {len(failed)} of {len(rows)} answers, and judged is blank there: {reason}"
        )
    write_csv(rows, folder / "scores.csv")
    show(f"{state['agent']}, {state['source']} {state['commit'][:12]}, answers from {source}")
    show_table(table if judge else table.drop(columns="judged"))
    show(f"rules: {rule}")
    n_numbers = int(
        answers["event_id"].isin(events.loc[events["kind"] == "number", "event_id"]).sum()
    )
    n_scored = int((rows["kind"] == "number").sum())
    show(f"numbers scored: {n_scored} of {n_numbers}")
    if n_scored < n_numbers:
        show(
            f"{PAPER_SCORER} needs a number's spread, which these answers do not say; --rule {CODE_SCORER} needs none"
        )
    open_ids = sorted(set(events["event_id"]) - set(answers["event_id"]))
    show(list_some("not settled yet", [f"{name} ({said})" for name, said in why] or open_ids))
    if board:
        overall, (week, rivals) = table["mean"].iloc[-1], settling.read_board(Path(board))
        best = ", ".join(
            f"{row['name']} {row['overall']:.3f}" for row in rivals.head(3).to_dict("records")
        )
        place = f"{overall:.3f} would be place {(rivals['overall'] > overall).sum() + 1} of {len(rivals) + 1}"
        show(
            f"public board, {week}: {place}; best: {best}; median {rivals['overall'].median():.3f}."
        )
        show("The board's own scorer judges texts by a model: the two are not quite alike.")
    errors = show_errors(state, events, answers, rows)
    beside = show_beside(
        venues.tell_chances(submission.build_predictions(state), events, answers), events
    )
    show(f"a row a question: {os.path.relpath(folder / 'scores.csv')}")
    return (
        {"folder": str(folder), "table": table.to_dict("records"), "rule": rule, "open": open_ids}
        | errors
        | beside
    )


def find_answers(place, events, now):
    """Return (answers table, where they are from, [(id, why it is open)]) of a file, "past" or
    "venue"."""
    if place == "venue":
        rows, why = venues.fetch_answers(events, now)
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


def measure_errors(state, events, answers):
    """Return the paired means of a week's standing answers beside equal chances; {} where none
    stated a probability.

    Brier errors of questions of one choice, summed over the options (0 to 2): {"n", "n_clusters",
    "agent", "equal" (that of the same chance for each option), "difference" (equal minus agent),
    "low", "high"}.
    """
    scores = score_predictions(submission.build_predictions(state), answers, events)
    kinds = events.set_index("event_id")["kind"]
    rows = scores[scores["metric"].eq("brier") & scores["event_id"].map(kinds).eq("single")].dropna(
        subset="score"
    )
    if rows.empty:
        return {}
    n_options = (
        events.set_index("event_id")["options"]
        .map(parse_json, na_action="ignore")
        .map(len, na_action="ignore")
    )
    matrix = pd.DataFrame({"agent": rows.set_index("event_id")["score"]})
    matrix["equal"] = 1 - 1 / n_options.reindex(matrix.index).astype(float)
    pair = compare_pairs(matrix[["equal", "agent"]], find_clusters(events)[0]).iloc[0]
    means = {name: float(matrix[name].mean()) for name in matrix}
    return means | {
        name: pair[name].item() for name in ("n", "n_clusters", "difference", "low", "high")
    }


def show_errors(state, events, answers, rows):
    """Print the mean score with its interval, and the Brier error beside that of equal chances;
    returns these."""
    scored = rows.set_index("event_id")["score_imputed"].dropna().to_frame("score")
    clusters, by = find_clusters(events)
    mean = summarize_clustered(scored, clusters, ends=(0, 1)).loc["score"]
    ends = texts.write_interval(*mean[["mean", "low", "high", "n"]], digits=3)
    show(
        f"score, a missing answer 0: {ends}; interval: 95%, by {by}, none from fewer than {MIN_CLUSTERS}"
    )
    found = {"score": mean[["mean", "low", "high", "n"]].to_dict()}
    errors = measure_errors(state, events, answers)
    if not errors:
        show(
            "no Brier error: no probability was stated (probabilities = true in the agent's table)"
        )
        return found
    told = f"agent {errors['agent']:.3f}, equal chances {errors['equal']:.3f}"
    gap = texts.write_difference(errors, 3)
    show(f"Brier error (sum over options, 0 to 2), {errors['n']} questions: {told};")
    show(f"equal chances minus agent {gap}: above 0 the agent is better")
    return found | {"brier": errors}


def show_beside(chances, events):
    """Print the Brier errors beside the price's, and ForecastBench's parts, where there are any;
    returns them."""
    found = {}
    if skill := venues.measure_skill(chances, events):
        ends = (
            "(too few events)"
            if pd.isna(skill["low"])
            else f"[{skill['low']:.3f}, {skill['high']:.3f}]"
        )
        of = f"{skill['n']} questions of {skill['n_clusters']} events"
        show(f"Brier error (0 to 1), {of}: agent {skill['agent']:.3f},")
        show(
            f"price when asked {skill['price']:.3f}; price minus agent {skill['difference']:.3f} {ends}"
        )
        found["skill"] = skill
    elif chances["price"].notna().any():
        show(
            "none stands beside the price, as no probability was stated: probabilities = true in the agent's table"
        )
    if any("question_set" in parse_json(cell) for cell in events["metadata"]):
        table = venues.score_round(chances)
        show(
            "ForecastBench's Brier error, not adjusted for difficulty, 0.5 where none was forecast:"
        )
        show_table(table)
        found["round"] = table.to_dict("records")
    return found
