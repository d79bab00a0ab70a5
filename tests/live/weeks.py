"""Weeks of a challenge in the documented forms, with questions of ours, and what a model says to
each."""

import hashlib
import tomllib
from pathlib import Path

KINDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def make_week(week, n=61, end="2026-03-08"):
    """Return (rows of the data set, {question's words: what the model says}, {id: (prediction,
    answer, score)})."""
    rows, said, expected, kinds = [], {}, {}, list(KINDS.values())
    for i in range(n):
        kind = kinds[i % len(kinds)]
        prompt = kind["prompt"].replace("{n}", f"{week}{i:03}")
        row_id = hashlib.sha1(f"{week} {i}".encode()).hexdigest()[:24]
        rows.append({"id": row_id, "prompt": prompt, "end_time": end, "level": kind["level"]})
        box = kind.get("box")
        said[f"{week}{i:03}"] = (
            f"I weighed it.\nFinal answer: \\boxed{{{box}}}" if box else "I cannot tell."
        )
        written = kind.get("written", box)
        expected[row_id] = (written, kind.get("truth", written), kind.get("score", 1.0))
    return rows, said, expected


def make_model(said):
    """Return the mock provider's `answer`: what the model says to the question whose number its
    prompt holds."""

    def answer(asked):
        text = asked["messages"][-1]["content"]
        return {
            "content": next(
                (reply for key, reply in said.items() if key in text), "no such question"
            )
        }

    return answer


AGENT = """
[{name}]
model = "openai/mock-1"
api_base = "{address}"
usd_per_million = {{ input = 1.0, output = 2.0 }}
max_tokens = 300
"""


def write_agents(folder, address, *names, more=""):
    """Write the reader's table of agents that all ask one model."""
    tables = [AGENT.format(name=name, address=address) for name in names or ["my_model"]]
    (folder / "agents.toml").write_text("".join(tables) + more)
