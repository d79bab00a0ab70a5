"""LLM World Cup Arena: six models' picks for 104 football matches, seven kinds of question a match.

Answers follow from the score and the score at half-time. The handicap's line is not in the files,
and some half-time scores are missing: there the answer is the pick that the project marked right,
and is blank where it marked none (`score_source` of a prediction holds its mark).
"""

from typing import Any

import pandas as pd

from helpers.files import dump_json
from public.sets.rows import describe_run, locate_folder, read_json

FOLDER = "agents/worldcup_arena"
ADVICE = "its files are wc_runs/archive and matches.json of github.com/llm-worldcup-arena/worldcup-arena-codebase"

HOME, DRAW, AWAY = "home", "draw", "away"
SIDES = {"主": HOME, "平": DRAW, "客": AWAY}
RESULTS = {"主胜": HOME, "平": DRAW, "客胜": AWAY}
HALVES = {
    f"{a}-{b}": f"{SIDES[a]} at half-time, {SIDES[b]} at the end" for a in SIDES for b in SIDES
}
MARKETS = {
    "胜平负": ("result", RESULTS),
    "让球": ("handicap", {"主胜盘": "home side", "客胜盘": "away side", "走盘": "neither"}),
    "大小2.5": ("goals", {"大": "over 2.5", "小": "under 2.5"}),
    "双方进球": ("both_score", {"是": "yes", "否": "no"}),
    "单双": ("odd_even", {"单": "odd", "双": "even"}),
    "半全场": ("half_and_full", HALVES),
    "正确比分": ("score", {}),
}
"""How the files name a kind of question -> our name, and its options in the order of their
letters."""

PROMPTS = {
    "result": "Which side wins after 90 minutes, or is it a draw?",
    "handicap": "Which side wins once the handicap is counted?",
    "goals": "Are there more than 2.5 goals?",
    "both_score": "Do both sides score?",
    "odd_even": "Is the number of goals odd or even?",
    "half_and_full": "Who leads at half-time, and who at the end?",
    "score": "What is the score after 90 minutes?",
}
LETTERS = "ABCDEFGHI"


def build() -> dict[str, dict[str, pd.DataFrame]]:
    """Return the tables of the set worldcup."""
    folder = locate_folder(FOLDER, ADVICE)
    picks = read_json(folder / "predictions.json")["models"]
    results = read_json(folder / "results.json")["matches"]
    reviews = read_json(folder / "reviews.json")
    matches = {
        f"{row['team_a']}_vs_{row['team_b']}": row for row in read_json(folder / "matches.json")
    }
    events, answers, predictions = [], [], []
    for match, about in matches.items():
        for word, (market, options) in MARKETS.items():
            event_id = f"{about['match_id']}-{market}"
            given = {
                model: (rows["matches"].get(match) or {}).get(word) for model, rows in picks.items()
            }
            marks = (
                reviews.get(match, {}).get("per_market", {}).get(word, {"right": [], "wrong": []})
            )
            events.append(describe_event(event_id, match, about, market, options))
            answer = find_answer(market, results.get(match), given, marks)
            answers.append(describe_answer(event_id, answer, options, match in results))
            predictions += [
                describe_pick(event_id, model, pick, options, marks)
                for model, pick in given.items()
            ]
    runs = pd.DataFrame(
        [
            describe_run(
                name_run(model), f"worldcup:{model}", "World Cup Arena", "provider", sees_price=None
            )
            for model in picks
        ]
    )
    tables = {"events": events, "answers": answers, "predictions": predictions}
    return {
        "worldcup": {"runs": runs} | {name: pd.DataFrame(rows) for name, rows in tables.items()}
    }


def name_run(model: str) -> str:
    """Return the run_id of a model."""
    return f"worldcup-{model.lower()}"


def list_letters(options: dict[str, str]) -> dict[str, str]:
    """Return the letters of a question's options: what the files write -> letter."""
    return dict(zip(options, LETTERS, strict=False))


def describe_event(
    event_id: str, match: str, about: dict[str, Any], market: str, options: dict[str, str]
) -> dict[str, Any]:
    """Return a question's row; a score has no list of options, so no random baseline either."""
    letters = list_letters(options)
    home, away = match.split("_vs_")
    return {
        "event_id": event_id,
        "cluster_id": about["match_id"],
        "source_id": "worldcup",
        "family": market,
        "domain": "Sports",
        "prompt": f"{home} against {away}, {about['date']}. {PROMPTS[market]}",
        "kind": "single" if options else "text",
        "options": dump_json({letters[word]: text for word, text in options.items()})
        if options
        else None,
        "n_options": len(options) or None,
        "guess": round(1 / len(options), 6) if options else None,
        "kickoff_at": about["kickoff_ts"],
        "stage": about["round"],
    }


def describe_answer(
    event_id: str, answer: str | None, options: dict[str, str], is_played: bool
) -> dict[str, Any]:
    """Return a question's answer: its letter, or the score."""
    if answer is None:
        return {"event_id": event_id, "status": "none" if is_played else "not_published"}
    value = list_letters(options).get(answer, answer)
    return {"event_id": event_id, "value": dump_json(value), "status": "ok"}


def find_answer(
    market: str,
    result: dict[str, Any] | None,
    given: dict[str, str | None],
    marks: dict[str, list[str]],
) -> str | None:
    """Return the right pick as the files write it; None where it is not known."""
    if result is None:
        return None
    goals = [int(part) for part in result["score"].split("-")]
    if market == "result":
        return find_word(RESULTS, compare(goals))
    if market == "goals":
        return "大" if sum(goals) > 2.5 else "小"
    if market == "both_score":
        return "是" if min(goals) else "否"
    if market == "odd_even":
        return "单" if sum(goals) % 2 else "双"
    if market == "score":
        return result["score"]
    if market == "half_and_full" and result.get("ht"):
        half = [int(part) for part in result["ht"].split("-")]
        return f"{find_word(SIDES, compare(half))}-{find_word(SIDES, compare(goals))}"
    right = {given[model] for model in marks["right"]}
    return right.pop() if len(right) == 1 else None


def compare(goals: list[int]) -> str:
    """Return which side has more goals."""
    if goals[0] == goals[1]:
        return DRAW
    return HOME if goals[0] > goals[1] else AWAY


def find_word(words: dict[str, str], side: str) -> str:
    """Return how the files write a side."""
    return next(word for word, name in words.items() if name == side)


def describe_pick(
    event_id: str,
    model: str,
    pick: str | None,
    options: dict[str, str],
    marks: dict[str, list[str]],
) -> dict[str, Any]:
    """Return a model's prediction, with the project's own mark where it gave one."""
    row = {"run_id": name_run(model), "event_id": event_id, "sample": 0}
    if pick is None:
        return row | {"status": "missing", "reason": "no pick is in the file"}
    value = list_letters(options).get(pick, pick)
    mark = None
    if model in marks["right"] + marks["wrong"]:
        mark = int(model in marks["right"])
    return row | {"status": "ok", "value": dump_json(value), "score_source": mark}
