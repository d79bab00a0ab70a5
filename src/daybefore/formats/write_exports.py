"""A run as others' tools read it: an Inspect log, a data set of the hub.

Each writes into a folder and returns the files' paths. Words of question sets that are not ours to
pass on (`QuestionSet.keeps_words`) are left out: their rows have ids, answers and scores.
"""

import json
from contextlib import suppress
from typing import NamedTuple

import pandas as pd

from daybefore.scoring.run_scores import read_rows
from helpers.files import parse_json
from helpers.scores import score_predictions, select_headline
from helpers.set_names import find_set

TASK, ORGANIZATION = "daybefore", "Daybefore (a run of its user's)"
WITHHELD = "(the question's words stand in the public set, under its id)"


class Exported(NamedTuple):
    """A run with what it was asked: its row (a dict), its set, and a row a question with prediction
    and score."""

    run: dict
    question_set: object
    rows: pd.DataFrame


def gather_run(run, events, answers):
    """Return the `Exported` of a run (`scoring.run_scores.Run`), events and answers those of its set.

    A row a question that was asked: prompt (withheld where it is not ours), options, answer, value,
    probability, distribution, status, score of the headline metric, tokens and cost where the run
    has replies.
    """
    one, key = find_set(run.window), "event_id"
    predictions = read_rows("predictions", run).query("sample == 0")
    asked = events[events[key].isin(predictions[key])].drop(columns="as_of")
    scores = score_predictions(predictions, answers, events)
    headline = select_headline(scores, asked)[[key, "score", "is_missing"]]
    kept = "event_id status reason value probability distribution rationale as_of".split()
    rows = asked.merge(predictions[kept], on=key).merge(headline, "left", key)
    rows = rows.merge(answers[[key, "value"]].rename(columns={"value": "answer"}), "left", key)
    with suppress(FileNotFoundError):  # a recorded run keeps its requests apart
        usage = (
            "event_id started_at duration_s n_input_tokens n_output_tokens cost_usd reply".split()
        )
        rows = rows.merge(
            read_rows("replies", run, timings=True).query("sample == 0")[usage], "left", key
        )
    if one.keeps_words:
        rows["prompt"] = WITHHELD
    return Exported(read_rows("runs", run).to_dict("records")[0], one, rows.sort_values(key))


def clean_records(rows):
    """Return a table's rows as dicts of plain values, blanks as None."""
    return json.loads(rows.to_json(orient="records", double_precision=12))


def name_model(found):
    """Return how a run's model is called where a name must stand: the model, else the agent."""
    return (
        found.run["model"]
        if isinstance(found.run.get("model"), str)
        else f"{TASK}/{found.run['agent_id']}"
    )


def write_value(value, options=None):
    """Return a prediction's or answer's value (opened JSON) as text, a letter with what it stands
    for.

    >>> write_value("A", {"A": "Yes"}), write_value(["A", "B"]), write_value(12.5), write_value(None)
    ('A (Yes)', 'A, B', '12.5', '')
    """
    if isinstance(value, str) and (options or {}).get(value):
        return f"{value} ({options[value]})"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:.15g}" if isinstance(value, float) else "" if value is None else str(value)


def write_inspect(found, folder):
    """Write an Inspect log (.eval), which `inspect view` shows. Raises ModuleNotFoundError without
    inspect-ai."""
    from inspect_ai import log as inspect_log
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput, ModelUsage
    from inspect_ai.scorer import Score

    samples = []
    for row in clean_records(found.rows):
        value = write_value(parse_json(row["value"]))
        said = row.get("reply") or value or f"({row['status']})"
        options = list((parse_json(row["options"]) or {}).values()) if row["options"] else None
        notes = {
            name: row[name]
            for name in ("level", "kind", "source_id", "as_of", "resolves_at", "status", "reason")
        }
        scored = {} if row["score"] is None else {"score": Score(value=row["score"], answer=value)}
        n_in, n_out = (int(row.get(name) or 0) for name in ("n_input_tokens", "n_output_tokens"))
        usage = ModelUsage(input_tokens=n_in, output_tokens=n_out, total_tokens=n_in + n_out)
        samples.append(
            inspect_log.EvalSample(
                id=row["event_id"],
                epoch=1,
                input=row["prompt"],
                choices=options,
                target=write_value(parse_json(row["answer"])),
                messages=[
                    ChatMessageUser(content=row["prompt"]),
                    ChatMessageAssistant(content=said),
                ],
                output=ModelOutput.from_content(name_model(found), said),
                scores=scored,
                metadata=notes,
                model_usage={name_model(found): usage} if n_in else {},
                total_time=row.get("duration_s"),
            )
        )
    scores = found.rows["score"].dropna()
    metric = inspect_log.EvalMetric(
        name="mean", value=float(scores.mean()) if len(scores) else float("nan")
    )
    moments = found.rows.get("started_at", pd.Series(dtype=str)).dropna().tolist() or [
        found.rows["as_of"].max()
    ]
    made = inspect_log.EvalLog(
        status="success",
        eval=inspect_log.EvalSpec(
            run_id=found.run["run_id"],
            created=min(moments),
            task=f"{TASK}/{found.question_set.name}",
            model=name_model(found),
            dataset=inspect_log.EvalDataset(name=found.question_set.name, samples=len(samples)),
            config=inspect_log.EvalConfig(),
            metadata={"agent_id": found.run["agent_id"], "condition": found.run.get("condition")},
        ),
        results=inspect_log.EvalResults(
            total_samples=len(samples),
            completed_samples=len(samples),
            scores=[
                inspect_log.EvalScore(name="score", scorer="daybefore", metrics={"mean": metric})
            ],
        ),
        stats=inspect_log.EvalStats(started_at=min(moments), completed_at=max(moments)),
        samples=samples,
    )
    path = folder / f"{found.run['run_id']}.eval"
    inspect_log.write_eval_log(made, str(path), format="eval")
    return [path]


CARD = """---
license: other
configs:
- config_name: default
  data_files:
  - {{split: test, path: data/test.parquet}}
---

# {agent} on {set}

Predictions of `{model}` on {n} questions asked as of {first} to {last}, scored by
FutureX's rules (`score`, 0 to 1). `answer` is blank where a question is not settled.
Rows hold values of the questions' sources, each under its terms (data/replay/manifest.csv of Daybefore).
"""


def write_dataset(found, folder):
    """Write a folder that `datasets.load_dataset` reads: data/test.parquet and a card with licence
    and dates."""
    columns = (
        "event_id prompt kind options level domain source_id as_of resolves_at status value probability distribution "
        "answer score"
    ).split()
    table = found.rows.reindex(columns=columns).astype(
        {"level": "Int64", "score": "float64", "probability": "float64"}
    )
    path, days = folder / "data/test.parquet", table["as_of"].str[:10]
    path.parent.mkdir(parents=True, exist_ok=True)
    table.to_parquet(path, index=False)
    facts = {
        "agent": found.run["agent_id"],
        "set": found.question_set.name,
        "model": name_model(found),
    }
    card = CARD.format(**facts, n=len(table), first=days.min(), last=days.max())
    (folder / "README.md").write_text(card, encoding="utf-8")
    return [path, folder / "README.md"]


WRITERS = {
    "inspect": write_inspect,
    "dataset": write_dataset,
}
