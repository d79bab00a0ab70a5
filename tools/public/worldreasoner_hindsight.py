"""Hindsight graphs of WorldReasoner's own public questions, drafted by recorded models (B.2, B.3): counts by stage.

Needs the replies of the study (notebook 23, `-p question_set worldreasoner`), which tell the news in
their words and stay on the machine where they were made: data/runs/23_hindsight_own.
"""

import pandas as pd

from daybefore.agents.registry import find_agent, open_consult
from daybefore.formats.public_sets import CARDS, build_cards
from daybefore.models.files import name_model
from daybefore.models.recordings import Recordings
from daybefore.questions.sets import NEWS, list_articles, open_window, read_window
from helpers.files import dump_json, hash_text
from studies.worldreasoner.cards import build_references
from studies.worldreasoner.hindsight.drafts import draft_event
from studies.worldreasoner.submissions import recall_events

SOURCES = dict.fromkeys(["worldreasoner_drafts", "worldreasoner_draft_parts"], [CARDS, NEWS])
NEEDS = "data/runs/23_hindsight_own"
"""Replies that no file may carry: on another machine the committed tables stay (`build.main`)."""
AGENTS, RUN_ID, N_QUESTIONS, N_ROUNDS = ("smollm2_zero_shot", "qwen_zero_shot"), "23_hindsight_own", 5, 5


def draft_questions(agent, n_rounds=N_ROUNDS, **look):
    """Yield (event, Draft) of the first N_QUESTIONS of window W, from the recordings (`registry.open_consult`)."""
    values = read_window("answers", "W").set_index("event_id")["value"]
    with open_window("W", list_articles("W")) as world, open_consult(agent, RUN_ID, **look) as consult:
        for event in read_window("events", "W").head(N_QUESTIONS).to_dict("records"):
            yield event, draft_event(event, values[event["event_id"]], world(), consult, n_rounds)


def build():
    """Return worldreasoner_drafts, a row an agent and question, and worldreasoner_draft_parts (`count_parts`, summed).

    Of a draft: kind, requests, rounds that are recorded whole, seconds, tokens, counts and what it lacks
    (`graphs.check_graph`), the share of the authors' key events that it names, and the graph's digest. Questions of
    which no reply is recorded are left out. Raises FileNotFoundError where that is all.
    """
    rows, parts, cards = [], [], build_references(build_cards()[3])
    kept = list(Recordings(RUN_ID).rows.values())
    for agent in AGENTS:
        model = name_model(find_agent(agent)["model"].partition("/")[2])
        for event, draft in draft_questions(agent):
            if not draft.seconds:
                continue
            name, lacking = event["event_id"], draft.left_out["what"].eq("the reply")
            own = [row for row in kept if row["request"]["model"] == model and asks(row, event)]
            row = {"agent_id": agent, "kind": event["kind"], "n_requests": len(own)}
            row["seconds"] = round(sum(one["duration_s"] or 0 for one in own), 1)
            row["n_rounds"] = draft.n_rounds - bool(lacking.any())
            row |= {side: sum(one[side] or 0 for one in own) for side in ("n_input_tokens", "n_output_tokens")}
            recall = recall_events({("draft", name): draft.graph}, [cards[name]])["recall"].squeeze()
            rows.append(row | draft.check | {"recall": recall, "digest": hash_text(dump_json(draft.graph), 12)})
            parts.append(count_parts(draft).assign(agent_id=agent))
    if not rows:
        raise FileNotFoundError(f"data/runs/{RUN_ID} holds no reply; run notebook 23's study first")
    counts = pd.concat(parts).groupby(["agent_id", "part", "reason"], sort=False)["n"].sum().reset_index()
    return {"worldreasoner_drafts": pd.DataFrame(rows), "worldreasoner_draft_parts": counts}


def asks(row, event):
    """Say whether a recorded request is about an event."""
    return event["prompt"].splitlines()[0] in row["request"]["messages"][0]["content"]


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
