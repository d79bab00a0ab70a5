"""A reader's own files of agents' answers, read as a question set: csv wide or long, jsonl, logs of inspect_ai.

Wide: a row a question, with its id, the outcome and a column an agent. Long: a row an answer, with id, agent,
probability or answer, and the outcome. Columns are known by the names people give them (`NAMES`), whatever the case.
Nothing is asked that a file says itself; what was understood is said in sentences (`Understood.notes`), and what is
wrong with file, row and column, all at once, before anything is written.
"""

import math
import re
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from daybefore.formats import inspect_logs
from daybefore.formats.folder import FILES, read_folder
from helpers.faults import Problems, describe_problem, raise_all, read_lines, read_sheet
from helpers.files import dump_json, parse_json

NAMES = {
    "id": "id event_id question_id qid question_number ticker market_id task_id",
    "agent": "agent agent_id model forecaster bot model_name system team",
    "probability": "probability prob p p_yes forecast probability_yes predicted_probability prob_yes chance",
    "outcome": "outcome resolution resolved_to result truth ground_truth target label resolved_as actual y gold",
    "answer": "answer prediction predicted value response predicted_answer model_answer",
    "sample": "sample trial repeat epoch attempt seed run_number",
    "prompt": "prompt question question_text title question_title text",
    "domain": "domain category topic tag",
    "cluster": "cluster cluster_id group series event_group",
    "source": "source source_id venue platform",
    "price": "price market_price market_value market_probability crowd community_prediction",
    "status": "status",
    "level": "level difficulty",
    "options": "options choices",
}
"""What a column is -> the names it may have."""

IGNORED = (
    "url link date created_at resolved_at resolution_date close_time open_time forecast_due_date rationale reasoning"
)
"""Columns that are neither an agent's nor needed."""

YES, NO = {"yes", "true", "1", "1.0", "y", "resolved yes"}, {"no", "false", "0", "0.0", "n", "resolved no"}
OPEN = {"", "open", "unresolved", "pending", "nan", "none", "null", "n/a", "na"}
"""Outcomes of a question that is not settled."""

HALF_SHARE, HALF_LEAST = 0.5, 10
"""Share of an agent's probabilities that are exactly 0.5, of so many or more, above which they are asked about."""

FORMS = (".csv", ".jsonl", ".eval", ".ndjson")


class Understood(NamedTuple):
    """A set's tables, by name, and sentences on how its files were understood."""

    tables: dict[str, pd.DataFrame]
    notes: list[str]


def read_forecasts(paths: list[Path], *, filled: float | None = None, keeps_halves: bool = False) -> Understood:
    """Return the set that some files hold.

    `filled`: a probability that stands where an agent gave none, taken as missing; `keeps_halves`: many probabilities
    of exactly 0.5 are meant. Raises Problems with all that is wrong.
    """
    if len(paths) == 1 and all((Path(paths[0]) / f"{name}.csv").is_file() for name in FILES):
        return read_three(Path(paths[0]))
    paths = list_files(paths)
    logs = [path for path in paths if path.suffix == ".eval"]
    if logs and len(logs) < len(paths):
        other = next(path for path in paths if path.suffix != ".eval")
        raise Problems(
            [f"{other.name}: logs of inspect_ai and other files make no one set; add them one after the other"]
        )
    if logs:
        return read_logs(logs)
    rows, notes = [], []
    for path in paths:
        part, said = read_file(path)
        rows.append(part)
        notes.append(said)
    return build_set(pd.concat(rows, ignore_index=True), notes, filled, keeps_halves)


def list_files(paths: list[Path]) -> list[Path]:
    """Return the files to read: those named, and of a folder those of a form that is read. Raises Problems."""
    found = []
    for path in map(Path, paths):
        inside = sorted(file for file in path.glob("*") if file.suffix in FORMS) if path.is_dir() else [path]
        if not inside:
            raise Problems([f"{path.name}: no file in it ends in {', '.join(FORMS)}"])
        found += inside
    for path in found:
        if not path.exists():
            raise Problems([f"there is no file {path}"])
        if path.suffix not in FORMS:
            raise Problems([f"{path.name}: a file ends in {', '.join(FORMS)}; save it as one of these"])
    return found


# --- files -> rows ---------------------------------------------------------------------------------------------------


def read_file(path: Path) -> tuple[pd.DataFrame, str]:
    """Return (a row an answer, a sentence on the file) of a csv or a jsonl.

    Columns: file, row, column, id, agent, given (text), is_stated (a probability's column), outcome, and those of
    `NAMES` that are there.
    """
    table = read_table(path)
    known = find_columns(table, path)
    if "id" not in known:
        listed = ", ".join(table.columns)
        raise Problems([describe_problem(path.name, None, "id", f"no column names the question; there are {listed}")])
    if "agent" in known or path.suffix != ".csv" or not list_agents(table, known):
        return read_long(path, table, known)
    return read_wide(path, table, known)


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
    return [] if isinstance(record, dict) else ['a line is an object such as {"id": "q1", "probability": 0.3}']


def write_cell(cell: Any) -> str:
    """Return a value of JSON as a csv would have it."""
    if cell is None:
        return ""
    if isinstance(cell, (dict, list)):
        return dump_json(cell)
    if isinstance(cell, bool):
        return str(cell).lower()
    return str(cell).strip()


def find_columns(table: pd.DataFrame, path: Path) -> dict[str, str]:
    """Return {what it is: column} for the columns whose names are known, the first name that is there."""
    by_name = {re.sub(r"[\s.-]+", "_", str(column).strip().casefold()): column for column in table.columns}
    found = {}
    for what, names in NAMES.items():
        column = next((by_name[name] for name in names.split() if name in by_name), None)
        if column is not None and column not in found.values():
            found[what] = column
    if "outcome" not in found and "answer" in found and "probability" in found:
        found["outcome"] = found.pop("answer")
    if "outcome" not in found and "answer" in found and "agent" not in found and list_agents(table, found):
        found["outcome"] = found.pop("answer")
    if "outcome" not in found:
        listed = ", ".join(map(str, table.columns))
        said = f"no column says how a question ended (outcome, resolution, result, target); there are {listed}"
        raise Problems([describe_problem(path.name, None, "outcome", said)])
    return found


def list_agents(table: pd.DataFrame, known: dict[str, str]) -> list[str]:
    """Return the columns of a wide file that are agents': those that are nothing else."""
    ignored = set(IGNORED.split())
    rest = [column for column in table.columns if column not in known.values()]
    return [
        column for column in rest if str(column).strip().casefold().replace(" ", "_") not in ignored and str(column)
    ]


def read_wide(path: Path, table: pd.DataFrame, known: dict[str, str]) -> tuple[pd.DataFrame, str]:
    """Return (rows, a sentence) of a file with a column an agent."""
    agents = list_agents(table, known)
    about = take_about(table, known)
    parts = []
    for agent in agents:
        part = about.assign(agent=str(agent), given=table[agent], column=str(agent), is_stated=False)
        parts.append(part)
    made = pd.concat(parts, ignore_index=True).assign(file=path.name)
    names = ", ".join(map(str, agents))
    said = f"{path.name}: wide, {len(table)} rows, an agent in each of {len(agents)} columns: {names}"
    return made, f"{said}; {describe_columns(known)}"


def read_long(path: Path, table: pd.DataFrame, known: dict[str, str]) -> tuple[pd.DataFrame, str]:
    """Return (rows, a sentence) of a file with a row an answer; without a column of agents its name is the agent's."""
    what = "probability" if "probability" in known else "answer"
    if what not in known:
        listed = ", ".join(map(str, table.columns))
        said = f"no column holds an agent's probability or answer; there are {listed}"
        raise Problems([describe_problem(path.name, None, "probability", said)])
    agent = table[known["agent"]] if "agent" in known else path.stem
    made = take_about(table, known).assign(agent=agent, given=table[known[what]], column=str(known[what]))
    blank = made["agent"].eq("")
    raise_all(
        describe_problem(path.name, row, str(known["agent"]), "the cell is blank") for row in made.loc[blank, "row"]
    )
    said = f"{path.name}: long, {len(table)} rows, {made['agent'].nunique()} agents"
    return made.assign(file=path.name, is_stated=what == "probability"), f"{said}; {describe_columns(known)}"


def describe_columns(known: dict[str, str]) -> str:
    """Return which column was taken for what, where its name is another."""
    return "columns: " + ", ".join(f"{what} = {column}" for what, column in known.items())


def take_about(table: pd.DataFrame, known: dict[str, str]) -> pd.DataFrame:
    """Return a table's rows under the names of `NAMES`, with their places; rows without an id raise Problems."""
    made = pd.DataFrame({what: table[column].astype(str) for what, column in known.items() if what != "agent"})
    return made.assign(row=list(table.index))


# --- rows -> a set ---------------------------------------------------------------------------------------------------


def build_set(rows: pd.DataFrame, notes: list[str], filled: float | None, keeps_halves: bool) -> Understood:
    """Return the set of some rows. Raises Problems with all that is wrong with them."""
    raise_all(tell(row, "id", "the cell is blank") for row in pick(rows, rows["id"].eq("")))
    outcomes = read_outcomes(rows)
    is_binary = all(one in (0, 1) for one in outcomes.dropna())
    given = rows[rows["given"].ne("")].copy()
    raise_all(find_repeats(given))
    if is_binary and is_numeric(given):
        given["p_yes"], said = read_probabilities(given)
        notes = [*notes, said]
        given, more = take_fillers(given, filled, keeps_halves)
        notes += more
    elif is_binary:
        given["value"] = read_words(given)
    else:
        given["value"] = given["given"].map(dump_json)
    raise_all(find_unresolved(given, outcomes))
    events = describe_events(rows, given, is_binary)
    answers = describe_answers(outcomes, is_binary)
    agents = list(dict.fromkeys(rows["agent"]))
    tables = {
        "events": events,
        "answers": answers,
        "runs": describe_runs(agents),
        "predictions": describe_predictions(rows, given, agents),
    }
    if "price" in rows:
        tables["prices"] = describe_prices(rows)
    n_open = int(outcomes.isna().sum())
    kept = f"{len(events)} questions ({n_open} without an outcome yet), {len(agents)} agents: {', '.join(agents)}"
    unit = "cluster" if "cluster" in rows else "question"
    return Understood(tables, [*notes, kept, f"intervals are clustered by {unit}"])


def pick(rows: pd.DataFrame, chosen: pd.Series) -> list[dict[str, Any]]:
    """Return the rows that are chosen, as dictionaries."""
    return rows[chosen].to_dict("records")


def tell(row: dict[str, Any], column: str, text: str) -> str:
    """Return a sentence on a row's cell."""
    return describe_problem(row["file"], row["row"], column, text)


def read_outcomes(rows: pd.DataFrame) -> pd.Series:
    """Return each question's outcome by id: 1 or 0 where all are yes or no, else its text; NaN where it is open.

    Raises Problems for an outcome that is neither, among those that are, and for two of one question.
    """
    words = rows["outcome"].astype(str).str.strip().str.casefold()
    is_open = words.isin(OPEN)
    is_yes_no = words.isin(YES | NO)
    n_known = (~is_open).sum()
    if not n_known:
        raise Problems([tell(rows.iloc[0].to_dict(), "outcome", "no question of the file has an outcome; fill it in")])
    value = words.isin(YES).astype(float).where(is_yes_no & ~is_open).astype(object)
    if is_yes_no.sum() >= 0.5 * n_known:
        odd = ~is_yes_no & ~is_open
        text = "{!r} is neither yes nor no; write 1 or 0, and leave the cell blank while the question is open"
        raise_all(tell(row, "outcome", text.format(row["outcome"])) for row in pick(rows, odd).copy()[:20])
    else:
        value = rows["outcome"].astype(str).str.strip().where(~is_open).astype(object)
    found = pd.DataFrame({"id": rows["id"], "value": value, "row": rows["row"], "file": rows["file"]})
    known = found.dropna(subset="value")
    first = known.drop_duplicates("id").set_index("id")
    other = known[known["value"].ne(known["id"].map(first["value"]))]
    raise_all(
        tell(row, "outcome", f"question {row['id']} has another outcome in row {first['row'][row['id']] + 2}; keep one")
        for row in other.drop_duplicates("id").to_dict("records")
    )
    ids = pd.Index(dict.fromkeys(rows["id"]), name="event_id")
    return first["value"].reindex(ids)


def find_repeats(given: pd.DataFrame) -> list[str]:
    """Return sentences on two answers of one agent to one question, where no column says that they are repeats."""
    key = ["id", "agent"] + (["sample"] if "sample" in given else [])
    first = given.drop_duplicates(key).set_index(key)["row"]
    twice = given[given.duplicated(key)]
    told = "{} answers question {} in row {} already; keep one, or number repeats in a column sample"
    return [
        tell(row, row["column"], told.format(row["agent"], row["id"], first[tuple(row[name] for name in key)] + 2))
        for row in twice.to_dict("records")
    ]


def is_numeric(given: pd.DataFrame) -> bool:
    """Tell whether answers are probabilities: they stand in such a column, or nine in ten are numbers."""
    if given["is_stated"].any():
        return True
    return len(given) > 0 and given["given"].map(read_number).notna().mean() >= 0.9


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

    An agent's are percent where most of them are above 1 or written with %, else shares; where some agents' are one and
    some the other the file is refused, as is an agent's that are both.
    """
    numbers = given["given"].map(read_number)
    words = given["given"].str.strip().str.casefold()
    numbers = numbers.mask(numbers.isna() & words.isin({"yes", "true"}), 1.0)
    numbers = numbers.mask(numbers.isna() & words.isin({"no", "false"}), 0.0)
    has_sign = given["given"].str.contains("%")
    wrong = [tell(row, row["column"], f"{row['given']!r} is no number") for row in pick(given, numbers.isna())]
    raise_all(wrong)
    is_large = numbers > 1
    between = numbers.gt(0) & numbers.lt(1)
    percent, units = set(), {}
    for agent, part in given.groupby("agent", sort=False):
        n_large = (is_large | has_sign)[part.index].sum()
        not_whole = (~numbers[part.index].isin((0, 1))).sum()
        units[agent] = "percent" if n_large > 0.5 * max(not_whole, 1) else "share"
        if units[agent] == "percent":
            percent.add(agent)
    if percent and len(percent) < len(units):
        some, others = sorted(percent)[0], next(agent for agent in units if agent not in percent)
        row = given[given["agent"] == others].iloc[0].to_dict()
        text = f"percent and share are mixed: {some}'s are from 0 to 100, {others}'s from 0 to 1; write all as 0 to 1"
        raise Problems([tell(row, row["column"], text)])
    is_percent = given["agent"].isin(percent)
    n_mixed = (is_percent & between & ~has_sign).groupby(given["agent"]).sum()
    for agent in percent:
        part = given[given["agent"] == agent]
        if n_mixed[agent] > 0.05 * len(part):
            row = part[between[part.index]].iloc[0].to_dict()
            n = f"{n_mixed[agent]} of {len(part)} of {agent}'s are below 1, the rest up to 100"
            raise Problems([tell(row, row["column"], f"percent and share are mixed: {n}; write all as 0 to 1")])
    top = 100 if percent else 1
    outside = numbers.lt(0) | numbers.gt(top)
    text = "{} is no probability; it lies from 0 to " + str(top)
    raise_all(tell(row, row["column"], text.format(row["given"])) for row in pick(given, outside))
    said = "probabilities are percent (0 to 100), divided by 100" if percent else "probabilities are shares (0 to 1)"
    return (numbers / top).round(6), said


def take_fillers(given: pd.DataFrame, filled: float | None, keeps_halves: bool) -> tuple[pd.DataFrame, list[str]]:
    """Return (rows, sentences) with what a harness filled in as missing. Raises Problems where it must be asked."""
    made = given.assign(p_filled=math.nan)
    if filled is not None:
        is_filler = made["p_yes"].eq(filled)
        made["p_filled"] = made["p_yes"].where(is_filler)
        made["p_yes"] = made["p_yes"].mask(is_filler)
        return made, [f"{int(is_filler.sum())} probabilities of exactly {filled:g} are taken as missing"]
    wrong = []
    for agent, part in given.groupby("agent", sort=False):
        halves = part[part["p_yes"] == 0.5]
        if not keeps_halves and len(part) >= HALF_LEAST and len(halves) > HALF_SHARE * len(part):
            row = halves.iloc[0].to_dict()
            told = f"{len(halves)} of {len(part)} probabilities of {agent} are exactly 0.5, this is the first"
            way = "if a harness filled them in, add --filled 0.5, which takes them as missing; else --keep-halves"
            wrong.append(tell(row, row["column"], f"{told}; {way}"))
    raise_all(wrong)
    return made, []


def read_words(given: pd.DataFrame) -> pd.Series:
    """Return yes/no answers as letters (JSON). Raises Problems for another."""
    words = given["given"].str.strip().str.casefold()
    odd = ~words.isin(YES | NO)
    text = "{!r} is neither yes nor no, as the outcomes are"
    raise_all(tell(row, row["column"], text.format(row["given"])) for row in pick(given, odd))
    return words.isin(YES).map({True: dump_json("A"), False: dump_json("B")})


def find_unresolved(given: pd.DataFrame, outcomes: pd.Series) -> list[str]:
    """Return a sentence on each agent none of whose answers is to a question that has an outcome."""
    is_known = given["id"].map(outcomes).notna()
    found = []
    for agent, part in given.groupby("agent", sort=False):
        if not is_known[part.index].any():
            row = part.iloc[0].to_dict()
            text = (
                f"none of the {len(part)} questions that {agent} answered has an outcome; fill some in, or leave it out"
            )
            found.append(tell(row, row["column"], text))
    return found


def describe_events(rows: pd.DataFrame, given: pd.DataFrame, is_binary: bool) -> pd.DataFrame:
    """Return the questions, in the order of the files."""
    first = rows.drop_duplicates("id")
    ids = first["id"]
    made = pd.DataFrame({"event_id": ids, "cluster_id": first.get("cluster", ids)})
    for column, name in (("source", "source_id"), ("domain", "domain"), ("prompt", "prompt")):
        if column in first:
            made[name] = first[column].mask(first[column].eq(""))
    if "level" in first:
        made["level"] = pd.to_numeric(first["level"], errors="coerce").where(lambda levels: levels.isin((1, 2, 3, 4)))
    if is_binary:
        made = made.assign(kind="single", options=dump_json({"A": "Yes", "B": "No"}), guess=0.5)
    else:
        letters = given["given"].str.fullmatch(r"[A-Za-z]").all() and rows["outcome"].str.fullmatch(r"[A-Za-z]?").all()
        made = made.assign(kind="single" if letters else "text")
        if letters:
            every = sorted({*given["given"].str.upper(), *rows.loc[rows["outcome"].ne(""), "outcome"].str.upper()})
            made["options"] = dump_json({letter: letter for letter in every})
    return made.reset_index(drop=True)


def describe_answers(outcomes: pd.Series, is_binary: bool) -> pd.DataFrame:
    """Return the answers; a question that is open has none."""
    known = outcomes.notna()
    if is_binary:
        values = outcomes.map({1.0: dump_json("A"), 0.0: dump_json("B")})
        made = pd.DataFrame({"event_id": outcomes.index, "value": values.to_numpy(), "outcome": outcomes.to_numpy()})
        made["outcome"] = made["outcome"].astype("Float64").astype("Int64")
    else:
        values = [dump_json(str(value)) if is_there else None for value, is_there in zip(outcomes, known, strict=True)]
        made = pd.DataFrame({"event_id": outcomes.index, "value": values})
    return made.assign(status=["ok" if is_there else "not_published" for is_there in known])


def name_run(agent: str) -> str:
    """Return an agent's run_id: its name as a file may have it.

    >>> name_run("GPT-5.4, search")
    'GPT-5.4_search'
    """
    return re.sub(r"[^A-Za-z0-9.-]+", "_", agent).strip("_") or "agent"


def describe_runs(agents: list[str]) -> pd.DataFrame:
    """Return a row an agent; two names that look alike as a run_id are numbered."""
    ids, seen = [], {}
    for agent in agents:
        name = name_run(agent)
        seen[name] = seen.get(name, 0) + 1
        ids.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    about = {"run_id": ids, "agent_id": agents, "model": agents, "origin": "imported", "status": "complete"}
    return pd.DataFrame(about)


def describe_predictions(rows: pd.DataFrame, given: pd.DataFrame, agents: list[str]) -> pd.DataFrame:
    """Return a prediction for each cell: ok, or missing where it is blank or filled in."""
    run_ids = dict(zip(agents, describe_runs(agents)["run_id"], strict=True))
    columns = [name for name in ("p_yes", "p_filled", "value") if name in given]
    made = rows[["id", "agent", *(["sample"] if "sample" in rows else [])]].join(given[columns])
    is_ok = made[[name for name in columns if name != "p_filled"]].notna().any(axis=1)
    sample = pd.to_numeric(made["sample"], errors="coerce") if "sample" in made else pd.Series(0, made.index)
    if sample.isna().any():
        sample = made.groupby(["id", "agent"]).cumcount()
    made = made.assign(sample=sample.astype(int), run_id=made["agent"].map(run_ids))
    made["status"] = is_ok.map({True: "ok", False: "missing"})
    made["reason"] = (~is_ok).map({True: "no answer is in the file", False: None})
    if "p_filled" in made:
        made["reason"] = made["reason"].mask(made["p_filled"].notna(), "filled in by its harness")
    kept = ["run_id", "event_id", "sample", "status", "reason", *columns]
    made = made.rename(columns={"id": "event_id"})[kept]
    return made.drop_duplicates(["run_id", "event_id", "sample"]).reset_index(drop=True)


def describe_prices(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the price beside each question, a share or percent; what is none is left out."""
    first = rows.drop_duplicates("id")
    prices = first["price"].map(read_number)
    prices = prices / 100 if (prices > 1).any() else prices
    made = pd.DataFrame({"event_id": first["id"], "at": "1970-01-01T00:00:00+00:00", "price": prices})
    return made[made["price"].between(0, 1)].reset_index(drop=True)


# --- three files -----------------------------------------------------------------------------------------------------


def read_three(folder: Path) -> Understood:
    """Return the set of a folder with events.csv, answers.csv and predictions.csv (`formats.folder`).

    An agent that has no row for an event has a missing prediction there; a yes/no question has `outcome` and `p_yes`.
    """
    events, answers, predictions = read_folder(folder)
    cluster = next((events[name] for name in ("cluster_id", "source_id") if name in events), events["event_id"])
    events = events.assign(cluster_id=cluster.fillna(events["event_id"]))
    runs = predictions.drop_duplicates("run_id")[["run_id", "agent_id"]]
    runs = runs.assign(model=runs["agent_id"], origin="imported", status="complete")
    every = runs[["run_id"]].merge(events[["event_id"]], how="cross")
    keys = pd.MultiIndex.from_frame(predictions[["run_id", "event_id"]])
    absent = every[~pd.MultiIndex.from_frame(every).isin(keys)]
    absent = absent.assign(sample=0, reason="no row in predictions.csv")
    predictions = pd.concat([predictions.drop(columns="agent_id"), absent], ignore_index=True)
    status = predictions["value"].notna().map({True: "ok", False: "missing"})
    predictions["status"] = predictions.get("status", status).fillna(status)
    answers = answers.assign(status=answers["value"].notna().map({True: "ok", False: "not_published"}))
    yes = events["options"].map(find_yes)
    yes = yes.set_axis(events["event_id"])
    known = answers["event_id"].map(yes)
    is_known = known.notna() & answers["value"].notna()
    answers["outcome"] = answers["value"].eq(known.map(dump_json)).astype(int).where(is_known).astype("Int64")
    letters = predictions["event_id"].map(yes)
    stated = predictions.reindex(columns=["distribution"])["distribution"]
    predictions["p_yes"] = [take_chance(cell, letter) for cell, letter in zip(stated, letters, strict=True)]
    if predictions["p_yes"].isna().all():
        predictions = predictions.drop(columns="p_yes")
    tables = {"events": events, "answers": answers, "runs": runs.reset_index(drop=True), "predictions": predictions}
    names = ", ".join(dict.fromkeys(runs["agent_id"]))
    notes = [f"{folder.name}: three files, {len(events)} questions, {len(runs)} agents: {names}"]
    is_bare = events["kind"].eq("number") & events["event_id"].isin(answers.loc[is_unspread(answers), "event_id"])
    if is_bare.any():
        told = "a number is scored by its distance in spreads, the outcome's recent standard deviation"
        notes.append(f"{is_bare.sum()} numbers have no spread in answers.csv and no score: {told}")
    return Understood(tables, notes)


def find_yes(options: str | None) -> str | None:
    """Return the label of yes among two options of yes and no; None of others.

    >>> find_yes('{"A":"Yes","B":"No"}'), find_yes('{"A":"x","B":"y"}'), find_yes(None)
    ('A', None, None)
    """
    texts = parse_json(options) or {}
    letters = {text.casefold(): letter for letter, text in texts.items()}
    return letters["yes"] if set(letters) == {"yes", "no"} else None


def take_chance(cell: str | None, letter: str | None) -> float | None:
    """Return a distribution's probability of an option; None where there is none."""
    if not isinstance(letter, str) or not isinstance(cell, str):
        return None
    return parse_json(cell).get(letter)


def is_unspread(answers: pd.DataFrame) -> pd.Series:
    """Tell which answers have no spread."""
    return answers["spread"].isna() if "spread" in answers else pd.Series(True, answers.index)


# --- logs of inspect_ai ----------------------------------------------------------------------------------------------


def read_logs(paths: list[Path]) -> Understood:
    """Return the set of some logs of inspect_ai: a run each, scored by equality of letters, else by its own scorer."""
    log = inspect_logs.read_logs(paths)
    targets = log.answers.drop_duplicates("event_id").set_index("event_id")["value"]
    is_letter = targets.astype(str).str.fullmatch(r'"[A-Z]"').all()
    ids = list(targets.index)
    events = pd.DataFrame({"event_id": ids, "cluster_id": ids, "kind": "single" if is_letter else "text"})
    if is_letter:
        every = sorted({value.strip('"') for value in targets} | set("ABCD"))
        events["options"] = dump_json({letter: letter for letter in every})
    answers = pd.DataFrame({"event_id": ids, "status": "ok" if is_letter else "none"})
    if is_letter:
        answers["value"] = targets.to_numpy()
    key = ["run_id", "event_id", "sample"]
    marks = (
        log.scores.dropna(subset="score")
        .drop_duplicates(key)[[*key, "score"]]
        .rename(columns={"score": "score_source"})
    )
    predictions = log.predictions.merge(marks, on=key, how="left")
    runs = log.runs.assign(origin="imported")
    tables = {"events": events, "answers": answers, "runs": runs, "predictions": predictions, "replies": log.replies}
    tables["replies"] = log.replies.drop(columns=["reply", "started_at", "n_tokens"], errors="ignore")
    rule = "letters are compared with the target" if is_letter else "a sample's score is that of its first scorer"
    names = ", ".join(dict.fromkeys(runs["agent_id"]))
    notes = [f"{len(paths)} logs of inspect_ai: {len(ids)} samples, {len(runs)} runs: {names}; {rule}"]
    return Understood(tables, notes)
