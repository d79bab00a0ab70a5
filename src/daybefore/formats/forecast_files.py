"""A reader's own files of agents' answers, read as a question set: csv wide or long, jsonl, logs of
inspect_ai.

`column_names` knows what a file's columns are, `answer_rows` makes the set. Nothing is asked that a file
says itself; what was understood is said in sentences (`Understood.notes`), and what is wrong before
anything is written.
"""

from pathlib import Path

import pandas as pd

from daybefore.formats import inspect_logs
from daybefore.formats.answer_rows import Understood, build_set
from daybefore.formats.column_names import read_file
from daybefore.formats.folder_of_csv import FILES, read_folder
from helpers.files import dump_json, parse_json
from helpers.input_faults import Problems, raise_all, write_count

FORMS = (".csv", ".jsonl", ".eval", ".ndjson")


def read_forecasts(
    paths: list[Path], *, filled: float | None = None, keeps_halves: bool = False
) -> Understood:
    """Return the set that some files hold.

    `filled`: a probability that stands where an agent gave none, taken as missing; `keeps_halves`:
    many probabilities of exactly 0.5 are meant. Raises Problems with all that is wrong.
    """
    if len(paths) == 1 and all((Path(paths[0]) / f"{name}.csv").is_file() for name in FILES):
        return read_three(Path(paths[0]))
    paths = list_files(paths)
    logs = [path for path in paths if path.suffix == ".eval"]
    if logs and len(logs) < len(paths):
        other = next(path for path in paths if path.suffix != ".eval")
        raise Problems(
            [
                f"{other.name}: logs of inspect_ai and other files make no one set; add them one after the other"
            ]
        )
    if logs:
        return read_logs(logs)
    rows, notes = [], []
    for path in paths:
        part, said = read_file(path)
        rows.append(part)
        notes += said
    return build_set(pd.concat(rows, ignore_index=True), notes, filled, keeps_halves)


def list_files(paths: list[Path]) -> list[Path]:
    """Return the files to read: those named, and of a folder those of a form that is read. Raises
    Problems."""
    found = []
    for path in map(Path, paths):
        inside = (
            sorted(file for file in path.glob("*") if file.suffix in FORMS)
            if path.is_dir()
            else [path]
        )
        if not inside:
            raise Problems([f"{path.name}: no file in it ends in {', '.join(FORMS)}"])
        found += inside
    for path in found:
        if not path.exists():
            raise Problems([f"there is no file {path}"])
        if path.suffix not in FORMS:
            raise Problems(
                [f"{path.name}: a file ends in {', '.join(FORMS)}; save it as one of these"]
            )
    return found


# --- three files ------------------------------------------------------------------------------------


def read_three(folder: Path) -> Understood:
    """Return the set of a folder with events.csv, answers.csv and predictions.csv
    (`formats.folder_of_csv`).

    An agent that has no row for an event has a missing prediction there; a yes/no question has
    `outcome` and `p_yes`.
    """
    events, answers, predictions = read_folder(folder)
    cluster = next(
        (events[name] for name in ("cluster_id", "source_id") if name in events), events["event_id"]
    )
    events = events.assign(cluster_id=cluster.fillna(events["event_id"]))
    runs = predictions.drop_duplicates("run_id")[["run_id", "agent_id"]]
    runs = runs.assign(model=runs["agent_id"], origin="imported", status="complete")
    every = runs[["run_id"]].merge(events[["event_id"]], how="cross")
    predictions = every.merge(
        predictions.drop(columns="agent_id"), "left", ["run_id", "event_id"], indicator="source"
    )
    is_absent = predictions.pop("source").eq("left_only")
    predictions["sample"] = predictions["sample"].fillna(0).astype(int)
    blank = pd.Series(None, predictions.index, dtype=object)
    predictions["reason"] = predictions.get("reason", blank).mask(
        is_absent, "no row in predictions.csv"
    )
    status = predictions["value"].notna().map({True: "ok", False: "missing"})
    predictions["status"] = predictions.get("status", status).fillna(status)
    is_settled = answers["value"].notna()
    answers["status"] = is_settled.map({True: "ok", False: "not_published"})
    yes = events.set_index("event_id")["options"].map(find_yes)
    known = answers["event_id"].map(yes)
    is_yes = answers["value"].eq(known.map(dump_json))
    answers["outcome"] = is_yes.astype("Int64").where(known.notna() & is_settled)
    stated = predictions.get("distribution", blank).map(parse_json)
    letters = predictions["event_id"].map(yes)
    predictions["p_yes"] = [
        (told or {}).get(letter) for told, letter in zip(stated, letters, strict=True)
    ]
    tables = {
        "events": events,
        "answers": answers,
        "runs": runs.reset_index(drop=True),
        "predictions": predictions,
    }
    names = ", ".join(dict.fromkeys(runs["agent_id"]))
    asked = f"{write_count(len(events), 'question')}, {write_count(len(runs), 'agent')}"
    notes = [f"{folder.name}: three files, {asked}: {names}"]
    numbers = answers[answers["event_id"].isin(events.loc[events["kind"].eq("number"), "event_id"])]
    n_bare = numbers["spread"].isna().sum() if "spread" in answers else len(numbers)
    if n_bare:
        told = (
            "a number is scored by its distance in spreads, the outcome's recent standard deviation"
        )
        bare = write_count(n_bare, "number")
        notes.append(f"{bare} without a spread in answers.csv, and so without a score: {told}")
    return Understood(tables, notes)


def find_yes(options: str | None) -> str | None:
    """Return the label of yes among two options of yes and no; None of others.

    >>> find_yes('{"A":"Yes","B":"No"}'), find_yes('{"A":"x","B":"y"}'), find_yes(None)
    ('A', None, None)
    """
    texts = parse_json(options) or {}
    letters = {text.casefold(): letter for letter, text in texts.items()}
    return letters["yes"] if set(letters) == {"yes", "no"} else None


# --- logs of inspect_ai -----------------------------------------------------------------------------


def read_logs(paths: list[Path]) -> Understood:
    """Return the set of some logs of inspect_ai: a run each, scored by equality of letters, else by
    its own scorer."""
    log = inspect_logs.read_logs(paths)
    raise_all(find_unanswered(log))
    answers = log.answers.drop_duplicates("event_id").reset_index(drop=True)
    events = answers[["event_id"]].assign(cluster_id=answers["event_id"], kind="text")
    letters = answers["value"].astype(str).str.extract('^"([A-Z])"$')[0]
    rule = "a sample's score is that of its first scorer"
    if letters.notna().all():
        events["kind"] = "single"
        events["options"] = dump_json({letter: letter for letter in {*"ABCD", *letters}})
        answers["status"] = "ok"
        rule = "letters are compared with the target"
    else:
        answers = answers.assign(value=None, status="none")
    key = ["run_id", "event_id", "sample"]
    marks = log.scores.dropna(subset="score").drop_duplicates(key)
    marks = marks[[*key, "score"]].rename(columns={"score": "score_source"})
    tables = {
        "events": events,
        "answers": answers,
        "runs": log.runs.assign(origin="imported"),
        "predictions": log.predictions.merge(marks, on=key, how="left"),
        "replies": log.replies.drop(columns=["reply", "started_at"]),
    }
    names = ", ".join(log.runs["agent_id"].unique())
    told = f"{write_count(len(events), 'sample')}, {write_count(len(log.runs), 'run')}: {names}; {rule}"
    return Understood(tables, [f"{write_count(len(paths), 'log')} of inspect_ai: {told}"])


def find_unanswered(log: inspect_logs.Log) -> list[str]:
    """Return a sentence on each run of some logs in which no sample has an answer, with what it met
    first."""
    found = []
    for (run_id, agent), part in log.predictions.groupby(["run_id", "agent_id"], sort=False):
        if part["status"].ne("ok").all():
            why = str(part["reason"].iloc[0]).split("(")[0][:80]
            text = "none of its {} samples has an answer ({}); run it again, or leave its log out"
            found.append(f"{run_id} of {agent}: {text.format(len(part), why)}")
    return found
