"""BLF's forecasts on two rounds of ForecastBench and on Metaculus' AI benchmark of 2025's second
quarter.

A row of a forecast file is a question at a date of resolution, forecast by the mean of up to five
trials. Its steps, tokens and seconds are all trials'; its searches, reasoning and `submitted` are
the first trial's alone: the probability that the reasoning of an unsubmitted row quotes is always
that of the first trial. A row that no model was asked for (`RULED`) is left out. An unsubmitted row
is `over_budget` (the agent ran out of steps or time) or `error` (its batch failed), and a row
without trials is `missing`; what stood there is kept as `p_filled`.
"""

import re
from pathlib import Path
from typing import Any

import pandas as pd

from helpers.files import hash_text
from public.sets.rows import (
    YES_NO,
    answer_yes_no,
    describe_run,
    locate_folder,
    name_model,
    read_json,
    read_lines,
)

FOLDER = "agents/blf"
ADVICE = "its files are experiments/forecasts_final, data/questions and data/tags_kevin of github.com/murphyk/BLF"
ROUNDS = ("2025-10-26", "2025-11-09")
"""ForecastBench's rounds that all models forecast."""
MARKETS = ("infer", "manifold", "metaculus", "polymarket")
EXTERNAL = "fb-"
"""How the files of other teams' submissions begin: not read here."""
WHY = {"Agent timed out": "over_budget", "Batch agent failed": "error"}
"""How the reasoning of an unsubmitted row begins -> its status."""
SEARCH = {"none": "none", "brave": "dated"}
RULED = "dbnomics"
"""With data tools the harness forecasts this source's questions (French temperatures) by a harmonic
rule: no model is asked, no token is spent, and all runs say the same. Such a row is no agent's
answer and does not stand in the set."""
TITLE_WORDS = 11
"""Of a question's text the first words stand in the table; its `origin_id` finds the rest."""
LONGEST = 24
"""Letters of an id that is kept whole; the set's `origin_id` has every id as published."""
SHORT = 10


def build() -> dict[str, dict[str, pd.DataFrame]]:
    """Return the tables of the sets blf and blf_aibq2."""
    folder = locate_folder(FOLDER, ADVICE)
    questions = {row["id"]: row for row in read_lines(folder / "questions.jsonl")}
    tags = {
        Path(row["_path"]).stem: row["category"] for row in read_lines(folder / "tags_kevin.jsonl")
    }
    exam = set(read_json(folder / "data_exams_aibq2-all_indices.json")["aibq2"])
    files = read_files(folder / "forecasts")
    rounds = [(day, given) for day, given in files if day in ROUNDS]
    quarter = [(day, given) for day, given in files if day not in ROUNDS]
    return {
        "blf": build_tables(rounds, questions, tags, "blf", find_common(rounds), True),
        "blf_aibq2": build_tables(
            quarter, questions, tags, "blf_aibq2", find_exam(quarter, exam), False
        ),
    }


def read_files(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return (round, file) of BLF's own arms, in the order of their names.

    `arm` of a file's settings is the file's name: two arms share one `name` there.
    """
    files = []
    for path in sorted(folder.glob("*/*.json*")):
        arm = path.name.split(".json")[0]
        if not arm.startswith(EXTERNAL):
            given = read_json(path)
            given["config"]["arm"] = arm
            files.append((path.parent.name, given))
    return files


def find_common(files: list[tuple[str, dict[str, Any]]]) -> set[tuple[str, str]]:
    """Return the (id, date) that two arms or more forecast: one arm alone has more dates."""
    seen, common = set(), set()
    for _, given in files:
        keys = {(row["id"], row["resolution_date"]) for row in given["forecasts"]}
        common |= seen & keys
        seen |= keys
    return common


def find_exam(files: list[tuple[str, dict[str, Any]]], exam: set[str]) -> set[tuple[str, str]]:
    """Return the (id, date) of an exam's questions."""
    return {
        (row["id"], row["resolution_date"])
        for _, given in files
        for row in given["forecasts"]
        if row["id"] in exam
    }


def build_tables(
    files: list[tuple[str, dict[str, Any]]],
    questions: dict[str, dict[str, Any]],
    tags: dict[str, str],
    name: str,
    kept: set[tuple[str, str]],
    shows_titles: bool,
) -> dict[str, pd.DataFrame]:
    """Return a set's tables: the rows whose (id, date) is in `kept`; titles where they may be
    passed on."""
    tables = {key: [] for key in ("events", "predictions", "trials", "replies", "prices")}
    runs, outcomes = {}, {}
    for _, given in files:
        rows = [row for row in given["forecasts"] if (row["id"], row["resolution_date"]) in kept]
        if not rows:
            continue
        run = read_run(given["config"], name)
        runs.setdefault(run["run_id"], run)
        for row in rows:
            if run["uses_tools"] and row["source"] == RULED:
                continue
            event_id = name_event(row)
            if event_id not in outcomes:
                outcomes[event_id] = int(row["resolved_to"])
                question = questions[row["id"]]
                title = shorten(question["question"].splitlines()[0]) if shows_titles else None
                tables["events"].append(describe_event(row, event_id, tags.get(row["id"]), title))
                tables["prices"] += describe_price(row, event_id)
            key = {"run_id": run["run_id"], "event_id": event_id, "sample": 0}
            tables["predictions"].append(key | describe_forecast(row))
            tables["replies"].append(key | describe_usage(row))
            trials = row.get("raw_trials") or []
            tables["trials"] += [
                key | {"sample": n, "p_yes": round(p, 4)} for n, p in enumerate(trials)
            ]
    made = {key: pd.DataFrame(rows) for key, rows in tables.items() if rows}
    made |= {"runs": pd.DataFrame(runs.values()), "answers": answer_yes_no(outcomes)}
    return {key: sort_table(table) for key, table in made.items()}


def shorten(text: str) -> str:
    """Return the first words of a text.

    >>> shorten("Will it rain?"), shorten("one two three four five six seven eight nine ten eleven twelve")
    ('Will it rain?', 'one two three four five six seven eight nine ten eleven ...')
    """
    words = list(re.finditer(r"\w+", text))
    if len(words) <= TITLE_WORDS:
        return text
    return text[: words[TITLE_WORDS - 1].end()] + " ..."


def find_key(row: dict[str, Any]) -> str:
    """Return a question's id without its round; a long one as a short hash of it."""
    key = row["id"].removesuffix(f"_{row['forecast_due_date']}")
    return key if len(key) <= LONGEST else hash_text(key, SHORT)


def name_event(row: dict[str, Any]) -> str:
    """Return the event_id of a question at a date: source, id, round, date of resolution."""
    return f"{row['source']}-{find_key(row)}-{row['forecast_due_date']}@{row['resolution_date']}"


def sort_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in the order of its ids."""
    keys = [name for name in ("run_id", "event_id", "sample") if name in table]
    return table.sort_values(keys, ignore_index=True)


def read_run(config: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an arm's row of the table runs, from its file's settings."""
    effort = config["reasoning_effort"] or "default"
    search = "undated" if config["clairvoyant"] else SEARCH[config["search_engine"]]
    variant = None
    if config.get("halawi_prompt"):
        variant = "Halawi's prompt"
    if config["batch_queries"]:
        variant = f"{config['batch_queries']} queries at once"
    parts = [
        name_model(config["llm"])["model"],
        {"none": "no search", "dated": "search", "undated": "undated search"}[search],
    ]
    sees_base_rate = "-p1" in config["arm"]
    words = {
        "price shown": config["show_crowd"],
        "base rate shown": sees_base_rate,
        "no belief state": config["nobelief"],
        "data tools": config["use_tools"],
        f"{effort} effort": effort != "high",
        variant: variant,
    }
    parts += [word for word, applies in words.items() if applies]
    return describe_run(
        f"{name}-{config['arm']}",
        config["llm"],
        "BLF",
        search,
        agent_id=", ".join(parts),
        category="think_search" if search != "none" else "base_model",
        effort=effort,
        sees_price=bool(config["show_crowd"]),
        keeps_beliefs=not config["nobelief"],
        uses_tools=bool(config["use_tools"]),
        sees_base_rate=sees_base_rate,
        variant=variant,
        n_trials=config["ntrials"],
        aggregation=config["aggregation"],
    )


def describe_event(
    row: dict[str, Any], event_id: str, tag: str | None, title: str | None
) -> dict[str, Any]:
    """Return a question's row at one date."""
    return {
        "event_id": event_id,
        "cluster_id": f"{row['source']}-{find_key(row)}",
        "origin_id": row["id"],
        "source_id": row["source"],
        "family": "market" if row["source"] in MARKETS else "series",
        "domain": tag,
        "prompt": title,
        "as_of": f"{row['forecast_due_date']}T00:00:00+00:00",
        "resolves_at": f"{row['resolution_date']}T00:00:00+00:00",
        "horizon_days": (
            pd.Timestamp(row["resolution_date"]) - pd.Timestamp(row["forecast_due_date"])
        ).days,
        "round": row["forecast_due_date"],
        **YES_NO,
    }


def describe_price(row: dict[str, Any], event_id: str) -> list[dict[str, Any]]:
    """Return a market's price of the day on which ForecastBench froze it, as a list of one or
    none."""
    if row["source"] not in MARKETS or row["market_value"] in ("", None):
        return []
    at = f"{row['market_date']}T00:00:00+00:00"
    return [
        {
            "event_id": event_id,
            "at": at,
            "price": float(row["market_value"]),
            "source": row["source"],
        }
    ]


def describe_forecast(row: dict[str, Any]) -> dict[str, Any]:
    """Return what a row forecast: p_yes with status ok, or p_filled with the reason why it is no
    forecast."""
    given, status = row["forecast"], "ok"
    if given is None or not row["raw_trials"]:
        return {"status": "missing", "reason": "no trial gave a probability"}
    if not row["submitted"]:
        said = str(row["reasoning"])
        status = next((word for start, word in WHY.items() if said.startswith(start)), "error")
    if status == "ok":
        return {"status": "ok", "p_yes": round(given, 4)}
    return {
        "status": status,
        "reason": "the first trial submitted nothing",
        "p_filled": round(given, 4),
    }


def describe_usage(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row's usage: searches and tool calls of the first trial, the rest of all trials."""
    counts = row["tool_counts"] or {}
    return {
        "status": "ok",
        "n_input_tokens": row["tokens_in"],
        "n_output_tokens": row["tokens_out"],
        "duration_s": row["elapsed_seconds"],
        "n_steps": row["n_steps"],
        "n_searches": row["n_searches"],
        "n_tool_calls": sum(counts.values()),
    }
