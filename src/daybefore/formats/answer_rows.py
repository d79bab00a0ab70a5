"""Rows of answers as a question set: outcomes, probabilities and what is wrong with them, then the
set's tables.

What is wrong is told with file, row and column, all of a kind at once, and nothing is made of it.
"""

import math
import re
from typing import NamedTuple

import pandas as pd

from daybefore.formats.column_names import FACTS, NO, YES
from helpers.files import dump_json
from helpers.input_faults import describe_problem, raise_all, write_count
from helpers.tables import LEVELS

OPEN = {"", "open", "unresolved", "pending", "nan", "none", "null", "n/a", "na"}
"""Outcomes of a question that is not settled."""

LETTERS = {True: dump_json("A"), False: dump_json("B")}
"""Whether it is yes -> the option's letter (JSON)."""

HALF_SHARE, HALF_LEAST = 0.5, 10
"""Share of an agent's probabilities that are exactly 0.5, of so many or more, above which they are
asked about."""


class Understood(NamedTuple):
    """A set's tables, by name, and sentences on how its files were understood."""

    tables: dict[str, pd.DataFrame]
    notes: list[str]


def build_set(
    rows: pd.DataFrame, notes: list[str], filled: float | None, keeps_halves: bool
) -> Understood:
    """Return the set of some rows. Raises Problems with all that is wrong with them."""
    refuse_rows(rows[rows["id"].eq("")], "id", "the cell is blank")
    outcomes = read_outcomes(rows)
    is_binary = bool(outcomes.dropna().isin((0, 1)).all())
    given = rows[rows["given"].ne("")].copy()
    refuse_repeats(given)
    if is_binary and is_numeric(given):
        given["p_yes"], said = read_probabilities(given)
        notes = [*notes, said]
        given, more = take_fillers(given, filled, keeps_halves)
        notes += more
    elif is_binary:
        given["value"] = read_words(given)
    else:
        given["value"] = given["given"].map(dump_json)
    refuse_unresolved(rows, given, outcomes)
    runs = describe_runs(rows)
    tables = {
        "events": describe_events(rows, given, is_binary),
        "answers": describe_answers(outcomes, is_binary),
        "runs": runs,
        "predictions": describe_predictions(rows, given, runs),
    }
    if "price" in rows:
        tables["prices"] = describe_prices(rows)
    if "level" in rows and tables["events"]["level"].isna().any():
        notes = [*notes, "a level is a number from 1 to 4; other levels are left blank"]
    n_open = int(outcomes.isna().sum())
    agents = ("; " if runs["agent_id"].str.contains(",").any() else ", ").join(runs["agent_id"])
    questions, named = write_count(len(outcomes), "question"), write_count(len(runs), "agent")
    kept = f"{questions} ({n_open} without an outcome yet), {named}: {agents}"
    unit = "cluster" if "cluster" in rows else "question"
    return Understood(tables, [*notes, kept, f"intervals are clustered by {unit}"])


def refuse_rows(rows: pd.DataFrame, what: str, text: str) -> None:
    """Raise Problems with a sentence on a cell of each row, if there are any: that of `what` (of
    `NAMES`), or for "given" of the answer.

    `text` names what it tells of the row in braces.
    """
    raise_all(
        describe_problem(
            row["file"], row["row"], row["names"].get(what, row["column"]), text.format(**row)
        )
        for row in rows.to_dict("records")
    )


def read_outcomes(rows: pd.DataFrame) -> pd.Series:
    """Return each question's outcome by id: 1 or 0 where all are yes or no, else its text; NaN
    where it is open.

    Raises Problems for an outcome that is neither, among those that are, and for two of one
    question.
    """
    first = rows.drop_duplicates(["file", "row"])
    words = first["outcome"].str.casefold()
    known = first.assign(value=words.isin(YES).astype(float))[~words.isin(OPEN)]
    if known.empty:
        text = "no question of the file has an outcome; fill it in"
        refuse_rows(first.head(1), "outcome", text)
    is_odd = ~words[known.index].isin(YES | NO)
    if is_odd.mean() > 0.5:
        known["value"] = known["outcome"]
    else:
        text = "{outcome!r} is neither yes nor no; write 1 or 0, and leave the cell blank while the question is open"
        refuse_rows(known[is_odd], "outcome", text)
    firsts = known.groupby("id")[["row", "value"]].transform("first")
    other = known.assign(first=firsts["row"] + 2)[known["value"].ne(firsts["value"])]
    text = "question {id} has another outcome in row {first}; keep one"
    refuse_rows(other.drop_duplicates("id"), "outcome", text)
    found = known.drop_duplicates("id").set_index("id")["value"]
    return found.reindex(pd.Index(rows["id"].unique(), name="event_id"))


def refuse_repeats(given: pd.DataFrame) -> None:
    """Raise Problems for two answers of one agent to one question, where no column says that they
    are repeats."""
    key = ["id", "agent"] + (["sample"] if "sample" in given else [])
    first = given.groupby(key)["row"].transform("first") + 2
    text = "{agent} answers question {id} in row {first} already; keep one, or number repeats in a column sample"
    refuse_rows(given.assign(first=first)[given.duplicated(key)], "given", text)


def is_numeric(given: pd.DataFrame) -> bool:
    """Tell whether answers are probabilities: they stand in such a column, or nine in ten are
    numbers."""
    return given["is_stated"].any() or given["given"].map(read_number).notna().mean() >= 0.9


def read_number(text: str) -> float | None:
    """Return the number that a cell holds, a percentage as it is written; None for none.

    >>> read_number("0.3"), read_number("30 %"), read_number("often"), read_number("inf")
    (0.3, 30.0, None, None)
    """
    try:
        number = float(str(text).strip().rstrip("%").strip())
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def read_probabilities(given: pd.DataFrame) -> tuple[pd.Series, str]:
    """Return (probabilities of yes, a sentence on their unit). Raises Problems.

    An agent's are percent where most of them are above 1 or written with %, else shares; where some
    agents' are one and some the other the file is refused, as is an agent's that are both.
    """
    agent = given["agent"]
    words = given["given"].str.casefold()
    numbers = given["given"].map(read_number).astype(float)
    numbers = numbers.mask(words.isin({"yes", "true"}), 1).mask(words.isin({"no", "false"}), 0)
    refuse_rows(given[numbers.isna()], "given", "{given!r} is no number")
    is_signed = words.str.contains("%")
    n_large = (is_signed | (numbers > 1)).groupby(agent, sort=False).sum()
    n_between = (~numbers.isin((0, 1))).groupby(agent, sort=False).sum()
    is_percent = n_large > 0.5 * n_between.clip(lower=1)
    if is_percent.any() and not is_percent.all():
        row = given[agent == is_percent.idxmin()].head(1).assign(other=is_percent.idxmax())
        text = "percent and share are mixed: {other}'s are from 0 to 100, {agent}'s from 0 to 1; write all as 0 to 1"
        refuse_rows(row, "given", text)
    top = 100 if is_percent.any() else 1
    is_small = (numbers > 0) & (numbers < 1) & ~is_signed & (top > 1)
    counts = given.assign(
        n=is_small.groupby(agent).transform("sum"), n_all=agent.map(agent.value_counts())
    )
    mixed = counts[is_small & (counts["n"] > 0.05 * counts["n_all"])].head(1)
    text = (
        "percent and share are mixed: {n} of {n_all} of {agent}'s are below 1, the rest up to 100; "
        "write all as 0 to 1"
    )
    refuse_rows(mixed, "given", text)
    text = f"{{given}} is no probability; it lies from 0 to {top}"
    refuse_rows(given[~numbers.between(0, top)], "given", text)
    said = "percent (0 to 100), divided by 100" if top > 1 else "shares (0 to 1)"
    return (numbers / top).round(6), f"probabilities are {said}"


def take_fillers(
    given: pd.DataFrame, filled: float | None, keeps_halves: bool
) -> tuple[pd.DataFrame, list[str]]:
    """Return (rows, sentences) with what a harness filled in as missing. Raises Problems where it
    must be asked."""
    made = given.assign(p_filled=math.nan)
    if filled is not None:
        is_filler = made["p_yes"].eq(filled)
        made["p_filled"] = made["p_yes"].where(is_filler)
        made["p_yes"] = made["p_yes"].mask(is_filler)
        return made, [
            f"{int(is_filler.sum())} probabilities of exactly {filled:g} are taken as missing"
        ]
    if keeps_halves:
        return made, []
    by_agent = (made["p_yes"] == 0.5).groupby(made["agent"])
    halves = made.assign(n=by_agent.transform("sum"), n_all=by_agent.transform("size"))[
        made["p_yes"] == 0.5
    ]
    is_many = (halves["n_all"] >= HALF_LEAST) & (halves["n"] > HALF_SHARE * halves["n_all"])
    text = (
        "{n} of {n_all} probabilities of {agent} are exactly 0.5, this is the first; if a harness filled them in, "
        "add --filled 0.5, which takes them as missing; else --keep-halves"
    )
    refuse_rows(halves[is_many].drop_duplicates("agent"), "given", text)
    return made, []


def read_words(given: pd.DataFrame) -> pd.Series:
    """Return yes/no answers as letters (JSON). Raises Problems for another."""
    words = given["given"].str.strip().str.casefold()
    text = "{given!r} is neither yes nor no, as the outcomes are"
    refuse_rows(given[~words.isin(YES | NO)], "given", text)
    return words.isin(YES).map(LETTERS)


def refuse_unresolved(rows: pd.DataFrame, given: pd.DataFrame, outcomes: pd.Series) -> None:
    """Raise Problems for each agent none of whose answers is to a question that has an outcome."""
    known = given.loc[given["id"].map(outcomes).notna(), "agent"]
    lacking = rows[~rows["agent"].isin(known)].drop_duplicates("agent")
    n_given = lacking["agent"].map(given["agent"].value_counts()).fillna(0).astype(int)
    text = "none of the {n} questions that {agent} answered has an outcome; fill some in, or leave it out"
    refuse_rows(lacking.assign(n=n_given), "given", text)


def describe_events(rows: pd.DataFrame, given: pd.DataFrame, is_binary: bool) -> pd.DataFrame:
    """Return the questions, in the order of the files."""
    first = rows.drop_duplicates("id")
    ids = first["id"]
    made = pd.DataFrame({"event_id": ids, "cluster_id": first.get("cluster", ids)})
    for column, name in (("source", "source_id"), ("domain", "domain"), ("prompt", "prompt")):
        if column in first:
            made[name] = first[column].mask(first[column].eq(""))
    if "level" in first:
        made["level"] = pd.to_numeric(first["level"], errors="coerce").where(
            lambda levels: levels.isin(LEVELS)
        )
    values = pd.concat([given["given"], rows["outcome"]])
    values = values[values.ne("")].str.upper()
    if is_binary:
        made = made.assign(kind="single", options=dump_json({"A": "Yes", "B": "No"}), guess=0.5)
    elif values.str.fullmatch("[A-Z]").all():
        made = made.assign(
            kind="single", options=dump_json({letter: letter for letter in values.unique()})
        )
    else:
        made["kind"] = "text"
    return made.reset_index(drop=True)


def describe_answers(outcomes: pd.Series, is_binary: bool) -> pd.DataFrame:
    """Return the answers; a question that is open has none."""
    known = outcomes.dropna()
    values = known.eq(1).map(LETTERS) if is_binary else known.map(dump_json)
    made = pd.DataFrame({"value": values}, outcomes.index)
    if is_binary:
        made["outcome"] = outcomes.astype("Float64").astype("Int64")
    status = outcomes.notna().map({True: "ok", False: "not_published"})
    return made.assign(status=status).reset_index()


def name_run(agent: str) -> str:
    """Return an agent's run_id: its name as a file may have it.

    >>> name_run("GPT-5.4, search")
    'GPT-5.4_search'
    """
    return re.sub(r"[^A-Za-z0-9.-]+", "_", agent).strip("_") or "agent"


def describe_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row an agent, with what it was given; two names that look alike as a run_id are
    numbered."""
    first = rows.drop_duplicates("agent").reset_index(drop=True)
    ids = first["agent"].map(name_run)
    number = ids.groupby(ids).cumcount() + 1
    made = pd.DataFrame(
        {
            "run_id": ids.where(number == 1, ids + "_" + number.astype(str)),
            "agent_id": first["agent"],
        }
    )
    made["model"] = first.get("base", first["agent"])
    for fact in FACTS:
        if fact in first:
            made[fact] = first[fact].mask(first[fact].eq(""), made[fact] if fact in made else None)
    return made.assign(origin="imported", status="complete")


def describe_predictions(
    rows: pd.DataFrame, given: pd.DataFrame, runs: pd.DataFrame
) -> pd.DataFrame:
    """Return a prediction for each cell: ok, or missing where it is blank or filled in."""
    columns = [name for name in ("p_yes", "value", "p_filled") if name in given]
    made = (
        rows.reindex(columns=["id", "agent", "sample"])
        .join(given[columns])
        .rename(columns={"id": "event_id"})
    )
    made["sample"] = pd.to_numeric(made["sample"], errors="coerce")
    if "sample" not in rows:
        made["sample"] = 0
    elif made["sample"].isna().any():
        made["sample"] = made.groupby(["event_id", "agent"]).cumcount()
    made["run_id"] = made["agent"].map(runs.set_index("agent_id")["run_id"])
    is_ok = made[columns[0]].notna()
    made["status"] = is_ok.map({True: "ok", False: "missing"})
    made["reason"] = is_ok.map({True: None, False: "no answer is in the file"})
    if "p_filled" in made:
        made["reason"] = made["reason"].mask(made["p_filled"].notna(), "filled in by its harness")
    key = ["run_id", "event_id", "sample"]
    return (
        made.astype({"sample": int})
        .drop_duplicates(key)[[*key, "status", "reason", *columns]]
        .reset_index(drop=True)
    )


def describe_prices(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the price beside each question, all shares or all percent. Raises Problems for
    another."""
    first = rows[rows["price"].ne("")].drop_duplicates("id")
    prices = first["price"].map(read_number).astype(float)
    top = 100 if (prices > 1).sum() > 0.5 * len(prices) else 1
    text = f"{{price!r}} is no price; the column's lie from 0 to {top}"
    refuse_rows(first[~prices.between(0, top)], "price", text)
    at = "1970-01-01T00:00:00+00:00"
    return pd.DataFrame({"event_id": first["id"], "at": at, "price": prices / top}).reset_index(
        drop=True
    )
