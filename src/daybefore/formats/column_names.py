"""What the columns of a reader's csv or jsonl are: a row an answer, whatever the form of the file.

Wide: a row a question, with its id, the outcome and a column an agent. Long: a row an answer, with
id, agent, probability or answer, and the outcome. Columns are known by the names people give them
(`NAMES`, `FACTS`), whatever the case; which was taken for what, and which was not read, is said.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from helpers.files import dump_json
from helpers.input_faults import (
    Problems,
    describe_problem,
    raise_all,
    read_lines,
    read_sheet,
    write_count,
)
from helpers.tables import EFFORTS, SEARCHES

NAMES = {
    "id": "id event_id question_id qid question_number ticker market_id task_id session_id sample_id session",
    "agent": "agent agent_id forecaster bot model model_name system team",
    "probability": "probability prob p p_yes forecast probability_yes predicted_probability prob_yes chance",
    "outcome": "outcome resolution resolved_to result truth ground_truth target label resolved_as actual y gold",
    "answer": "answer prediction predicted value response predicted_answer model_answer",
    "sample": "sample trial repeat epoch attempt seed run_number",
    "prompt": "prompt question question_text title question_title text",
    "domain": "domain category topic tag",
    "cluster": "cluster cluster_id group series event_group",
    "source": "source source_id venue platform",
    "price": "price market_price market_value market_probability crowd community_prediction",
    "level": "level difficulty",
}
"""What a column is -> the names it may have."""

FACTS = {
    "model": "model model_name base_model llm",
    "search": "search web_search uses_search search_mode",
    "effort": "effort reasoning_effort",
    "harness": "harness scaffold",
}
"""What a run was given (columns of the table runs) -> the names a long file's column of it may
have."""

SUFFIXES = {"search": " search", "effort": " effort"}
"""What stands behind a fact where it tells two runs of one agent apart."""

IGNORED = (
    "url link date created_at resolved_at resolution_date close_time open_time forecast_due_date rationale reasoning "
    "status options choices notes comment comments explanation"
)
"""Columns of a wide file that are neither an agent's nor needed."""

YES, NO = (
    {"yes", "true", "1", "1.0", "y", "resolved yes"},
    {"no", "false", "0", "0.0", "n", "resolved no"},
)


def read_file(path: Path) -> tuple[pd.DataFrame, list[str]]:
    """Return (a row an answer, sentences on the file) of a csv or a jsonl.

    Columns: file, row, column, id, agent, given (text), is_stated (a probability's column),
    outcome, and those of `NAMES` and `FACTS` that are there. Raises Problems.
    """
    table = read_table(path)
    known = find_columns(table, path)
    agents = list_agents(table, known)
    if "agent" in known or path.suffix != ".csv" or not agents:
        made, said, more = read_long(path, table, known)
        used = [column for what, column in known.items() if what not in FACTS or what in made]
    else:
        known = {what: column for what, column in known.items() if what not in FACTS}
        made, said, more = read_wide(path, table, known, agents)
        used = [*known.values(), *made["column"]]
    rest = [str(column) for column in table.columns if column not in used]
    unread = [f"{path.name}: not read: {', '.join(rest)}"] if rest else []
    notes = [f"{path.name}: {said}; {describe_columns(known)}", *more, *unread]
    return made.assign(file=path.name), notes


def read_table(path: Path) -> pd.DataFrame:
    """Return a file as text cells, blank where empty."""
    if path.suffix == ".csv":
        return read_sheet(path, ())
    records = [record for _, record in read_lines(path, check_record)]
    if not records:
        raise Problems([f"{path.name}: the file has no rows"])
    cells = [{key: write_cell(cell) for key, cell in record.items()} for record in records]
    return pd.DataFrame(cells, dtype=object).fillna("")


def check_record(record: Any) -> list[str]:
    """Return what is wrong with a line of jsonl: it is an object."""
    return (
        []
        if isinstance(record, dict)
        else ['a line is an object such as {"id": "q1", "probability": 0.3}']
    )


def write_cell(cell: Any) -> str:
    """Return a value of JSON as a csv would have it."""
    if cell is None:
        return ""
    if isinstance(cell, (dict, list)):
        return dump_json(cell)
    if isinstance(cell, bool):
        return str(cell).lower()
    return str(cell).strip()


def plain(column: Any) -> str:
    """Return a column's name in the form of `NAMES`.

    >>> plain(" Question-ID ")
    'question_id'
    """
    return re.sub(r"[\s.-]+", "_", str(column).strip().casefold())


def find_columns(table: pd.DataFrame, path: Path) -> dict[str, str]:
    """Return {what it is: column} for the columns whose names are known, the first name that is
    there.

    Raises Problems where no column names the question, or says how it ended.
    """
    found = match_columns(table.columns, NAMES | FACTS)
    is_answered = "probability" in found or ("agent" not in found and list_agents(table, found))
    if "outcome" not in found and "answer" in found and is_answered:
        found["outcome"] = found.pop("answer")
    if "id" not in found:
        refuse_columns(path, table, "id", "no column names the question")
    if "outcome" not in found:
        said = "no column says how a question ended (outcome, resolution, result, target)"
        refuse_columns(path, table, "outcome", said)
    return found


def refuse_columns(path: Path, table: pd.DataFrame, what: str, said: str) -> NoReturn:
    """Raise Problems that say what no column of a file is, and which there are."""
    listed = ", ".join(map(str, table.columns))
    raise Problems([describe_problem(path.name, None, what, f"{said}; there are {listed}")])


def match_columns(columns: Iterable[str], names: dict[str, str]) -> dict[str, str]:
    """Return {what it is: column} for the columns whose names are known, the first name that is
    there.

    >>> match_columns(["Question ID", "resolution", "my bot"], NAMES)
    {'id': 'Question ID', 'outcome': 'resolution'}
    """
    by_name = {plain(column): column for column in columns}
    found = {}
    for what, words in names.items():
        column = next((by_name[name] for name in words.split() if name in by_name), None)
        if column is not None and column not in found.values():
            found[what] = column
    return found


def list_agents(table: pd.DataFrame, known: dict[str, str]) -> list[str]:
    """Return the columns of a wide file that are agents': those that are nothing else."""
    rest = [column for column in table.columns if column not in known.values()]
    return [column for column in rest if str(column) and plain(column) not in IGNORED.split()]


def read_wide(
    path: Path, table: pd.DataFrame, known: dict[str, str], agents: list[str]
) -> tuple[pd.DataFrame, str, list[str]]:
    """Return (rows, what the file is, no more sentences) of a file with a column an agent.

    A column without answers is no agent's.
    """
    is_yes_no = table[known["outcome"]].str.casefold().isin(YES | NO).any()
    given = [column for column in agents if holds_answers(table[column], is_yes_no)]
    if not given:
        listed = ", ".join(map(str, agents))
        raise Problems(
            [describe_problem(path.name, None, "probability", f"no answer stands in {listed}")]
        )
    about = take_about(table, known)
    parts = [about.assign(agent=str(name), given=table[name], column=name) for name in given]
    names = ", ".join(map(str, given))
    said = f"wide, {write_count(len(table), 'row')}, an agent in each of {write_count(len(given), 'column')}: {names}"
    return pd.concat(parts, ignore_index=True).assign(is_stated=False), said, []


def holds_answers(cells: pd.Series, is_yes_no: bool) -> bool:
    """Tell whether a column has an answer; of yes/no questions half of its cells or more begin with
    a digit, yes or no.

    >>> holds_answers(pd.Series(["0.3", "", "often"]), True), holds_answers(pd.Series(["see the news", ""]), True)
    (True, False)
    """
    given = cells[cells.ne("")]
    if given.empty or not is_yes_no:
        return len(given) > 0
    return bool(given.str.match(r"(?i)[-+]?[.,]?\d|(yes|no|true|false|y|n)$").mean() >= 0.5)


def read_long(
    path: Path, table: pd.DataFrame, known: dict[str, str]
) -> tuple[pd.DataFrame, str, list[str]]:
    """Return (rows, what the file is, more sentences) of a file with a row an answer.

    Without a column of agents its name is the agent's. Rows of one agent that differ in `FACTS`, as
    with search and without, are runs with names that say so.
    """
    what = "probability" if "probability" in known else "answer"
    if what not in known:
        refuse_columns(
            path, table, "probability", "no column holds an agent's probability or answer"
        )
    agent = table[known["agent"]] if "agent" in known else path.stem
    made = take_about(table, known).assign(
        agent=agent, given=table[known[what]], column=known[what]
    )
    blank = made.loc[made["agent"].eq(""), "row"]
    raise_all(
        describe_problem(path.name, row, known["agent"], "the cell is blank") for row in blank
    )
    made, more = read_facts(path, made, known)
    said = (
        f"long, {write_count(len(table), 'row')}, {write_count(made['agent'].nunique(), 'agent')}"
    )
    return made.assign(is_stated=what == "probability"), said, more


def read_facts(
    path: Path, rows: pd.DataFrame, known: dict[str, str]
) -> tuple[pd.DataFrame, list[str]]:
    """Return (rows, sentences): what runs were given as the table runs has it, and agents named by
    what differs.

    A column of other words than these is left out and told. Raises Problems for a search that is
    only a yes.
    """
    made, notes = rows.copy(), []
    for fact, words in (("search", SEARCHES), ("effort", EFFORTS)):
        if fact not in made:
            continue
        cells = made[fact].str.casefold()
        if fact == "search":
            cells = cells.mask(cells.isin(NO | {"off", "no search"}), "none")
            text = f"it does not say which search; write {', '.join(words)}"
            unsaid = made.loc[cells.isin(YES | {"on"}), "row"].head(1)
            raise_all(describe_problem(path.name, row, known[fact], text) for row in unsaid)
        odd = cells[~cells.isin([*words, ""])]
        if len(odd):
            notes.append(
                f"{path.name}: {known[fact]} is not read; {odd.iloc[0]!r} is none of {', '.join(words)}"
            )
            made = made.drop(columns=fact)
        else:
            made[fact] = cells
    facts = [fact for fact in FACTS if fact in made]
    made["base"] = made["agent"]
    for fact in facts:
        differs = made.groupby("base")[fact].transform("nunique") > 1
        words = made[fact].replace("none", "no") + SUFFIXES.get(fact, "")
        made["agent"] = made["agent"].mask(
            differs & made[fact].ne(""), made["agent"] + ", " + words
        )
    return made, notes


def describe_columns(known: dict[str, str]) -> str:
    """Return which column was taken for what."""
    return "columns: " + ", ".join(f"{what} = {column}" for what, column in known.items())


def take_about(table: pd.DataFrame, known: dict[str, str]) -> pd.DataFrame:
    """Return a table's rows under the names of `NAMES` and `FACTS`, with their places."""
    made = pd.DataFrame(
        {what: table[column].astype(str) for what, column in known.items() if what != "agent"}
    )
    return made.assign(row=list(table.index), names=[known] * len(made))
