"""Harmful and subjective questions of real prediction markets (FutureX 3.2.2): how many a rule's words flag, and how
often that is right by a reader's labels.

ForecastBench's question sets are shared under CC BY-SA 4.0; only counts leave this builder.
"""

import json
import re

import numpy as np
import pandas as pd

from helpers.events.filters import judge_harmful, judge_subjective
from helpers.futurex.curation import read_labels, view_questions
from helpers.public_files import CACHE, locate_public
from helpers.stats.agreement import compare_judges
from helpers.stats.means import measure_share

FILES = tuple(f"forecastbench/{date}-llm.json" for date in ("2025-10-26", "2025-11-23", "2026-01-18"))
SOURCES = {"market_questions_flagged": list(FILES), "market_questions_judged": list(FILES)}
MARKETS = ("infer", "manifold", "metaculus", "polymarket")
"""ForecastBench's sources of questions that people wrote."""

CHARGED = re.compile(
    r"\b(kill\w*|die[sd]?|dead|death\w*|shot|bomb\w*|attack\w*|strike|wars?|invade[sd]?|nuclear|jail|gay|race|sexes"
    r"|best|worst|good|great|believe|considered|popular|my|we|us|our|you|serious|significant\w*|major)\b"
)
"""Words that bring a question into the charged half of the labelled sample; by chance alone few would be in it."""
SEED, N_RANDOM, N_CHARGED, N_BOOT = 52, 30, 30, 2000


def build():
    """Return the shares that the words flag, by market, and the words against labels of sixty questions.

    Users' own questions go to the cache too, as notebook 30 takes them in place of the kit's.
    """
    questions = list_questions([json.loads(locate_public(name).read_text(encoding="utf-8")) for name in FILES])
    write_questions(questions[questions["market"].isin(["manifold", "metaculus"])], CACHE / "users.jsonl")
    judges = {"harmful": judge_harmful, "subjective": judge_subjective}
    flagged = view_questions(questions.assign(options=[{}] * len(questions)).to_dict("records"), judges)
    questions["is_flagged"] = flagged.any(axis=1).to_numpy()
    parts = [("all", questions), *questions.groupby("market")]
    counts = [{"market": name, "n": len(part), "n_true": part["is_flagged"].sum()} for name, part in parts]
    shares = [measure_share(part["is_flagged"]) for _, part in parts]
    by_market = pd.DataFrame([count | share for count, share in zip(counts, shares, strict=True)])
    drawn = draw_questions(questions, np.random.default_rng(SEED))
    labels = read_labels().set_index("question_id").loc[drawn["question_id"]]
    views = flagged.loc[drawn["question_id"]]
    judged = [compare_judges(views[[name]], labels[f"is_{name}"], SEED, N_BOOT) for name in judges]
    return {"market_questions_flagged": by_market, "market_questions_judged": pd.concat(judged, ignore_index=True)}


def write_questions(questions, path):
    """Write questions (columns question_id, prompt) as JSON lines that notebook 30 reads; returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"question_id": row.question_id, "text": row.prompt} for row in questions.itertuples()]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def list_questions(sets):
    """Return the market questions of ForecastBench's sets (their JSON), each once: question_id, market, prompt."""
    rows = [question for one in sets for question in one["questions"] if question["source"] in MARKETS]
    table = pd.DataFrame([(f"{row['source']}:{row['id']}", row["source"], row["question"]) for row in rows])
    return table.set_axis(["question_id", "market", "prompt"], axis=1).drop_duplicates("question_id", ignore_index=True)


def draw_questions(questions, rng):
    """Return a random part of the questions and a part with charged words (`CHARGED`), as they were labelled."""
    pool = questions.sort_values("question_id").reset_index(drop=True)
    order = rng.permutation(len(pool))
    charged = [i for i in order[N_RANDOM:] if CHARGED.search(pool["prompt"][i])][:N_CHARGED]
    return pd.concat([pool.iloc[sorted(order[:N_RANDOM])], pool.iloc[sorted(charged)]], ignore_index=True)
