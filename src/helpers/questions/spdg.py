"""Users' questions made into tasks with a checked answer: what is read, tagged and controlled (LiveAgentBench 3.2).

The paper's name is social-perception-driven data generation. Questions come as JSON lines: `question_id` and `text` are
needed; `kind`, `abilities`, `environments` are labels by reading, `attachments` names of files that came along,
`answer` what is known beforehand. A case is an annotator's work on a question: the task that it became (of
`helpers.questions.taskset`) and its labelled steps; `planted` names the control that a synthetic case must not pass.
"""

import json
from typing import NamedTuple

import pandas as pd

from helpers.questions.taskset import FORMS
from helpers.store import ROOT, hash_text

ABILITIES = ("recall", "find", "read", "compare", "calculate", "count")
ENVIRONMENTS = (*dict.fromkeys(environment for _, environment in FORMS.values()), "none")
KINDS = ("knowledge", "lookup", "opinion", "missing", "work")
"""What a question is, by reading: known without a tool, found by one search, a matter of taste, about a file that did
not come along, or work for a tool."""
CONTROLS = ("relevance", "complexity", "executability", "uniqueness")
MAX_MISMATCH = 0.5
"""Share of tags not in common above which a task is built anew (3.2.4)."""
LEVELS = ((5, 1), (10, None))
"""Most steps and tools of levels 1 and 2; the paper prints none, so these are GAIA's."""


class Step(NamedTuple):
    """A labelled step: what is done, the ability it takes, the environment it is done in."""

    do: str
    ability: str
    environment: str


def read_lines(path, needed):
    """Return the objects of a JSON lines file. Raises ValueError with file, line and reason."""
    rows, seen = [], set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ValueError(f"{path.name}, line {number}: no JSON ({error.msg})") from None
        lacking = [name for name in needed if not (isinstance(row, dict) and row.get(name))]
        if lacking:
            raise ValueError(f"{path.name}, line {number}: {lacking[0]} is missing")
        if row["question_id"] in seen:
            raise ValueError(f"{path.name}, line {number}: question_id {row['question_id']!r} is there already")
        seen.add(row["question_id"])
        rows.append(row)
    if not rows:
        raise ValueError(f"{path.name} holds no question")
    return rows


def load_questions(path=ROOT / "data/spdg/questions.jsonl"):
    """Return users' questions: question_id, text, kind, abilities, environments, attachments, answer (None: unknown).

    Raises ValueError with file, line and reason for a line that is no question or has an unknown label.
    """
    rows = read_lines(path, ("question_id", "text"))
    known = {"abilities": ABILITIES, "environments": ENVIRONMENTS}
    for row in rows:
        for name, words in known.items():
            wrong = sorted(set(row.get(name) or []) - set(words))
            if wrong:
                raise ValueError(f"{path.name}, {row['question_id']}: {name} knows no {wrong[0]!r}")
        if row.get("kind") not in (None, *KINDS):
            raise ValueError(f"{path.name}, {row['question_id']}: kind knows no {row['kind']!r}")
    columns = ["question_id", "text", "kind", "abilities", "environments", "attachments", "answer"]
    return pd.DataFrame(rows).reindex(columns=columns).astype(object).where(lambda table: table.notna(), None)


def load_cases(questions, tasks, answers, path=ROOT / "data/spdg/cases.jsonl"):
    """Return the annotator's cases by question_id: dicts of event (the task), steps (`Step`), planted, answer.

    `answers` maps event_id to the computed answer, which holds where the annotator gave none. Raises ValueError for a
    case of an unknown question or task, or a step with an unknown label.
    """
    texts, events, cases = set(questions["question_id"]), tasks.set_index("event_id", drop=False), {}
    for row in read_lines(path, ("question_id", "event_id", "steps")):
        name = row["question_id"]
        if name not in texts or row["event_id"] not in events.index:
            raise ValueError(f"{path.name}, {name}: no such question, or no task {row['event_id']!r}")
        steps = [Step(**step) for step in row["steps"]]
        wrong = [step for step in steps if step.ability not in ABILITIES or step.environment not in ENVIRONMENTS]
        if wrong:
            raise ValueError(f"{path.name}, {name}: step {wrong[0].do!r} has an unknown label")
        answer = row.get("answer") or answers[row["event_id"]]
        event = events.loc[row["event_id"]].to_dict()
        cases[name] = {"event": event, "steps": steps, "planted": row.get("planted") or "", "answer": answer}
    return cases


def list_tags(steps):
    """Return the abilities and environments of steps as one set; "none" is no environment."""
    return ({step.ability for step in steps} | {step.environment for step in steps}) - {"none"}


def compute_mismatch(tags, again):
    """Return the share of tags that two readings do not have in common; 1 where neither has any (3.2.4).

    >>> compute_mismatch({"find", "web site"}, {"find", "web site", "compare"})
    0.33333333333333337
    """
    union = set(tags) | set(again)
    return 1 - len(set(tags) & set(again)) / len(union) if union else 1.0


def count_tools(steps):
    """Return how many tools steps take: their environments other than none."""
    return len({step.environment for step in steps} - {"none"})


def rate_level(steps, cuts=LEVELS):
    """Return a task's level, 1 to 3, by its steps and tools (`cuts`: the most of either for levels 1 and 2).

    >>> rate_level([Step("open", "read", "document"), Step("add", "calculate", "document")])
    1
    """
    n_steps, n_tools = len(steps), count_tools(steps)
    fits = [n_steps <= most and (tools is None or n_tools <= tools) for most, tools in cuts]
    return fits.index(True) + 1 if any(fits) else len(cuts) + 1


# --- splits and locked answers ---------------------------------------------------------------------------------------


def draw_splits(question_ids, rng, validation=125 / 374):
    """Return {question_id: "validation" or "test"}, drawn; `validation` is a share (the paper's is 125 of 374)."""
    names = sorted(question_ids)
    n_first = round(validation * len(names))
    drawn = rng.permutation(["validation"] * n_first + ["test"] * (len(names) - n_first)).tolist()
    return dict(zip(names, drawn, strict=True))


def lock_answer(answer, salt):
    """Return an answer as salt and sha256, so that it can be checked and not read.

    >>> is_answer("Lincoln", lock_answer("Lincoln", "s1")), is_answer("Omaha", lock_answer("Lincoln", "s1"))
    (True, False)
    """
    return f"sha256:{salt}:{hash_text(f'{salt}:{answer.strip().casefold()}')}"


def is_answer(reply, stored):
    """Say whether a reply is the stored answer, locked or plain, but for case and blanks around it."""
    if not stored.startswith("sha256:"):
        return reply.strip().casefold() == stored.strip().casefold()
    return lock_answer(reply, stored.split(":")[1]) == stored
