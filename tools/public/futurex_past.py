"""FutureX's past questions (3.2.3): facts of each question, and what baselines and recorded models
earn on it."""

import tempfile

import pandas as pd

from daybefore import store
from daybefore.agents.baselines_of_answers import load_past_agents
from daybefore.agents.recorded_runs import list_recorded, load_recorded_runs, replay_recorded
from daybefore.agents.run_loop import run_agents
from daybefore.formats.futurex_questions import read_past
from daybefore.formats.public_sets import FILE, build_past
from daybefore.questions.open_sets import NEWS, list_articles
from daybefore.web.news_articles import describe_articles
from daybefore.web.replay import open_world
from helpers import files
from helpers.paired import fill_predictions
from helpers.public_files import locate_public
from helpers.scores import score_predictions, select_headline
from studies.futurex.news_leaks import READINGS
from studies.futurex.past_questions import list_facts, list_probes

AGAIN = "futurex_past/futurex_past_2026_01_04.csv"
"""The same questions in a later version of the set."""
SOURCES = {
    "futurex_past_events": [FILE, NEWS],
    "futurex_past_scores": [FILE, NEWS],
    "futurex_past_set": [FILE, AGAIN],
}


def name_arm(arm_id):
    """Return how the agent of a public window's arm is called beside others.

    >>> name_arm("qwen_search_prompt-P"), name_arm("qwen_search_prompt-P-another")
    ('qwen_search_prompt', 'qwen_search_prompt, another')
    """
    agent, *more = arm_id.split("-P")
    return ", ".join([agent, *(part.strip("-") for part in more if part)])


def build():
    """Return the tables of `SOURCES`: questions, scores by agent and question, and counts of the
    set."""
    events, answers, dropped = build_past()
    with tempfile.TemporaryDirectory() as folder, files.write_under(folder):
        predictions = collect_predictions(events, answers)
    facts = list_facts(events, answers)
    settled = pd.read_csv(READINGS).query("reading == 'settled'")["event_id"]
    facts["is_settled"] = facts["event_id"].isin(settled).astype(int)
    return {
        "futurex_past_events": facts,
        "futurex_past_scores": tabulate_scores(events, answers, predictions),
        "futurex_past_set": pd.DataFrame(count_set(events, dropped), columns=["what", "n"]),
    }


def collect_predictions(events, answers):
    """Return the predictions of baselines, recorded arms and probes."""
    arms = [
        name
        for name, arm in load_recorded_runs().items()
        if arm["window"] == "P" and list_recorded(name)
    ]
    news, ledger = list_articles("P"), files.locate_output(files.STORE)
    baselines = run_agents(
        load_past_agents(events, answers), events, dict, ledger, window="P", progress=False
    )
    with open_world(articles=news) as connect:
        crawler = connect()
        about = {"events": {"P": events}, "about_world": describe_articles(news)}
        recorded = replay_recorded(arms, lambda: crawler, ledger, **about)
    names = {run: agent for agent, run in baselines.items()} | {
        run: name_arm(arm) for arm, run in recorded.items()
    }
    made = store.read_runs(ledger, "predictions", list(names))
    made["agent_id"] = made["run_id"].map(names)
    return pd.concat([made, fill_predictions(list_probes(events))], ignore_index=True)


def tabulate_scores(events, answers, predictions):
    """Return a row a prediction: agent_id, event_id, score (accuracy or F1), strict (3.3),
    n_said."""
    key, scored = ["agent_id", "event_id"], score_predictions(predictions, answers, events)
    table = select_headline(scored, events)[[*key, "score"]]
    strict = scored.loc[scored["metric"] == "f1_strict", [*key, "score"]].rename(
        columns={"score": "strict"}
    )
    said = predictions.dropna(subset="value").assign(
        value=lambda t: t["value"].map(files.parse_json)
    )
    said["n_said"] = [len(value) if isinstance(value, list) else 1 for value in said["value"]]
    table = table.merge(strict, on=key, how="left").merge(
        said[[*key, "n_said"]], on=key, how="left"
    )
    return table.sort_values(key, ignore_index=True)


def count_set(events, dropped):
    """Yield counts of the set: rows, dropped ones, days to the end, and rows that a later version
    words anew."""
    rows = read_past(locate_public(FILE))
    yield "rows", len(rows)
    yield "rows dropped: two options read the same", len(dropped)
    days = (pd.to_datetime(events["resolves_at"]) - pd.to_datetime(events["as_of"])).dt.days
    yield "questions asked seven days before their end", int((days == 7).sum())
    both = read_past(locate_public(AGAIN)).merge(rows, on="id", suffixes=("", "_first"))
    yield "rows in both versions", both["id"].nunique()
    for column in ("event", "options", "answer", "end_time"):
        changed = both.loc[both[column] != both[f"{column}_first"], "id"].nunique()
        yield f"rows whose {column} a later version changes", changed
