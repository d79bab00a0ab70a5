"""Hindsight graphs of WorldReasoner's own public questions, drafted by recorded models (B.2, B.3): counts by stage.

Needs the replies of the study (notebook 23, `-p question_set worldreasoner -p n_rounds 1`), which tell the news in
their words and stay on the machine where they were made: data/runs/23_hindsight_own.
"""

import pandas as pd

from helpers.agents.registry import open_consult
from helpers.futurex.past import CARDS, NEWS, list_articles, open_window, read_window
from helpers.worldreasoner.hindsight.drafts import draft_event

SOURCES = dict.fromkeys(["worldreasoner_drafts", "worldreasoner_draft_parts"], [CARDS, NEWS])
AGENTS, RUN_ID, N_QUESTIONS, N_ROUNDS = ("smollm2_zero_shot", "qwen_zero_shot"), "23_hindsight_own", 5, 1


def draft_questions(agent, n_rounds=N_ROUNDS, **look):
    """Yield (event, Draft) of the first N_QUESTIONS of window W, from the recordings (`registry.open_consult`)."""
    values = read_window("answers", "W").set_index("event_id")["value"]
    with open_window("W", list_articles("W")) as world, open_consult(agent, RUN_ID, **look) as consult:
        for event in read_window("events", "W").head(N_QUESTIONS).to_dict("records"):
            yield event, draft_event(event, values[event["event_id"]], world(), consult, n_rounds)


def build():
    """Return worldreasoner_drafts, a row an agent and question, and worldreasoner_draft_parts (`count_parts`, summed).

    Questions of which no reply is recorded are left out. Raises FileNotFoundError where that is all.
    """
    rows, parts = [], []
    for agent in AGENTS:
        for event, draft in draft_questions(agent):
            if draft.seconds:
                about = {"agent_id": agent, "kind": event["kind"], "seconds": round(draft.seconds, 1)}
                rows.append(about | draft.check)
                parts.append(count_parts(draft).assign(agent_id=agent))
    if not rows:
        raise FileNotFoundError(f"data/runs/{RUN_ID} holds no reply; run notebook 23's study first")
    counts = pd.concat(parts).groupby(["agent_id", "part", "reason"], sort=False)["n"].sum().reset_index()
    return {"worldreasoner_drafts": pd.DataFrame(rows), "worldreasoner_draft_parts": counts}


def count_parts(draft):
    """Return what a model offered of each part of a graph and what became of it: part, reason ("kept": it stands), n.

    A reply that cannot be used, or is missing, is a row of its own.
    """
    kept = {"events": len(draft.nodes) - 1, "edges": len(draft.graph["edges"]), "impacts": len(draft.graph["impacts"])}
    rows = [(part, "kept", n) for part, n in kept.items()]
    for row in draft.left_out.itertuples():
        reason = row.reason.partition(":")[0]
        rows.append((row.part, f"reply {reason}" if row.what == "the reply" else reason, 1))
    return pd.DataFrame(rows, columns=["part", "reason", "n"])
