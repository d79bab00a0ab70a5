"""Harmful and subjective questions of real prediction markets (FutureX 3.2.2): how many a rule's words and a panel of
models flag, and how often that is right by a reader's labels.

`python tools/public/market_questions.py MINUTES AGENT ...` asks a panel (by default the kit's) for what is missing.
ForecastBench's question sets are shared under CC BY-SA 4.0; only counts leave this builder, and of a model's replies
only yes and no.
"""

import json
import re
import sys

import numpy as np
import pandas as pd

from daybefore.models.judges import build_consult
from daybefore.questions.filters import JUDGES, judge_harmful, judge_subjective
from helpers.agreement import combine_views, compare_judges
from helpers.files import dump_json, parse_object
from helpers.means import measure_share
from helpers.public_files import CACHE, locate_public
from studies.futurex.collection import build_judge, read_labels, view_questions
from studies.futurex.plan_trials import open_bench

FILES = tuple(f"forecastbench/{date}-llm.json" for date in ("2025-10-26", "2025-11-23", "2026-01-18"))
SOURCES = {f"market_questions_{table}": list(FILES) for table in ("flagged", "judged", "funnel")}
MARKETS = ("infer", "manifold", "metaculus", "polymarket")
"""ForecastBench's sources of questions that people wrote."""

CHARGED = re.compile(
    r"\b(kill\w*|die[sd]?|dead|death\w*|shot|bomb\w*|attack\w*|strike|wars?|invade[sd]?|nuclear|jail|gay|race|sexes"
    r"|best|worst|good|great|believe|considered|popular|my|we|us|our|you|serious|significant\w*|major)\b"
)
"""Words that bring a question into the charged half of the labelled sample; by chance alone few would be in it."""
RUN_ID, ABOUT = "01_market_questions", "judges of real market questions; of their replies yes and no alone are kept"
PANEL = ("smollm2_zero_shot", "qwen_small_zero_shot", "qwen_zero_shot")
"""Agents of data/agents.toml whose models judge: three, as the paper has."""
PLAIN = ("key", "status", "finish_reason", "model_version", "recorded_at")
"""Columns of a recording whose text is none of a question or a reply; of the others only numbers are kept."""
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
    labels, views = read_labels().set_index("question_id").loc[drawn["question_id"]], ask_panel(drawn)
    judged = [
        compare_judges(table, labels[f"is_{name}"], SEED, N_BOOT, rules=["words"]).assign(flag=name)
        for name, table in views.items()
    ]
    judged = pd.concat(judged, ignore_index=True)
    return dict(zip(SOURCES, (by_market, judged, count_funnel(views)), strict=True))


def ask_panel(questions, panel=PANEL, live=False, minutes=None):
    """Return by flag the views of the words, of each of the panel and of all of it: a row a question, a column a judge.

    Without `live` only what is recorded counts; with it the panel is asked for the rest, for so many minutes.
    """
    asked, views = questions.assign(options=[{}] * len(questions)).to_dict("records"), {}
    with open_bench(panel[0], others=panel[1:], run_id=RUN_ID, about=ABOUT, live=live, minutes=minutes) as clients:
        for flag, (words, rule) in JUDGES.items():
            judges = dict(words)
            for name in panel:
                judges[name] = build_judge(build_consult(*clients[name][:4], reduce=keep_flags), "question", flag)
            parts = [view_questions(asked, {name: judge}) for name, judge in judges.items()]
            views[flag] = combine_views(pd.concat(parts, axis=1), {"panel": (panel, rule)})
    return views


def keep_flags(row):
    """Return a verdict's recording as it is kept of a question whose words may not be: yes and no, facts, no text."""
    said = parse_object(row.get("content"))
    flags = {name: said[name] for name in JUDGES if said.get(name) in ("yes", "no")}
    kept = {name: value for name, value in row.items() if name in PLAIN or isinstance(value, bool | int | float)}
    request = {name: row["request"][name] for name in ("model", "sample")} | {"options": {}}
    blank = {"request": request, "content": dump_json(flags) if flags else "", "tool_calls": [], "reason": None}
    return kept | blank | {"keeps": "values"}


def count_funnel(views):
    """Return how many questions are left when the harmful and then the subjective ones are dropped (FutureX, Figure 2).

    `views` maps "harmful" and "subjective" to tables, a row a question, a column a judge. Counted are the questions on
    which every judge has a view of both: a row a judge, columns n, not_harmful, left.
    """
    harmful, subjective = (views[name].dropna().astype(bool) for name in ("harmful", "subjective"))
    both = harmful.index.intersection(subjective.index)
    harmful, subjective = harmful.loc[both], subjective.loc[both]
    counts = {"n": len(both), "not_harmful": (~harmful).sum(), "left": (~harmful & ~subjective).sum()}
    return pd.DataFrame(counts, harmful.columns).rename_axis("judge").reset_index()


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


if __name__ == "__main__":
    sets = [json.loads(locate_public(name).read_text(encoding="utf-8")) for name in FILES]
    asked = draw_questions(list_questions(sets), np.random.default_rng(SEED))
    minutes, *panel = sys.argv[1:]
    views = ask_panel(asked, tuple(panel) or PANEL, live=True, minutes=float(minutes))
    print(count_funnel(views).to_string(index=False))
