"""Harmful and subjective questions of real prediction markets (FutureX 3.2.2): how many a rule's
words and a panel of models flag, and how often that is right by a reader's labels.

The panel answers from its recordings, of which only yes and no were kept. ForecastBench's question
sets are shared under CC BY-SA 4.0; only counts leave this builder.
"""

import json

import pandas as pd

from daybefore.agents.registry import make_consult
from daybefore.questions.drop_events import JUDGES, judge_harmful, judge_subjective
from helpers.agreement import combine_views, compare_judges
from helpers.means import measure_share
from helpers.public_files import locate_public
from studies.futurex.building_questions import build_judge, read_labels, view_questions
from studies.futurex.plan_trials import open_bench

FILES = tuple(
    f"forecastbench/{date}-llm.json" for date in ("2025-10-26", "2025-11-23", "2026-01-18")
)
SOURCES = {f"market_questions_{table}": list(FILES) for table in ("flagged", "judged", "funnel")}
MARKETS = ("infer", "manifold", "metaculus", "polymarket")
"""ForecastBench's sources of questions that people wrote."""

RUN_ID = "01_market_questions"
PANEL = ("smollm2_zero_shot", "qwen_small_zero_shot", "qwen_zero_shot")
"""Agents of data/agents.toml whose models judge: three, as the paper has."""
SEED, N_BOOT = 52, 2000


def build():
    """Return the shares that the words flag, by market, and the words against labels of sixty
    questions."""
    questions = load_questions()
    judges = {"harmful": judge_harmful, "subjective": judge_subjective}
    questions["is_flagged"] = (
        view_questions(questions.to_dict("records"), judges).any(axis=1).to_numpy()
    )
    by_market = []
    for name, part in [("all", questions), *questions.groupby("market")]:
        flags = part["is_flagged"]
        by_market.append(
            {"market": name, "n": len(part), "n_true": flags.sum()} | measure_share(flags)
        )
    sample, labels = draw_labelled(questions)
    views = ask_panel(sample)
    judged = [
        compare_judges(table, labels[f"is_{name}"], SEED, N_BOOT, rules=["words"]).assign(flag=name)
        for name, table in views.items()
    ]
    tables = pd.DataFrame(by_market), pd.concat(judged, ignore_index=True), count_funnel(views)
    return dict(zip(SOURCES, tables, strict=True))


def load_questions():
    """Return the market questions of ForecastBench's sets, each once: question_id, market, prompt,
    options."""
    table = list_questions(
        [json.loads(locate_public(name).read_text(encoding="utf-8")) for name in FILES]
    )
    return table.assign(options=[{}] * len(table))


def draw_labelled(questions):
    """Return (the questions that a reader labelled, their labels): 30 drawn by chance, 30 with
    charged words."""
    labels = read_labels().set_index("question_id")
    labels = labels[labels.index.isin(questions["question_id"])]
    return questions.set_index("question_id").loc[labels.index].reset_index(), labels


def ask_panel(questions, panel=PANEL):
    """Return by flag the views of the words, of each of the panel and of all of it: a row a
    question, a column a judge."""
    asked = questions.to_dict("records")
    views = {}
    with open_bench(panel[0], others=panel[1:], run_id=RUN_ID) as clients:
        for flag, (words, rule) in JUDGES.items():
            models = {name: make_consult(clients[name]) for name in panel}
            judges = words | {
                name: build_judge(consult, "question", flag) for name, consult in models.items()
            }
            parts = [view_questions(asked, {name: judge}) for name, judge in judges.items()]
            views[flag] = combine_views(pd.concat(parts, axis=1), {"panel": (panel, rule)})
    return views


def count_funnel(views):
    """Return how many questions are left when the harmful and then the subjective ones are dropped
    (FutureX, Figure 2).

    `views` maps "harmful" and "subjective" to tables, a row a question, a column a judge. Counted
    are the questions on which every judge has a view of both: a row a judge, columns n,
    not_harmful, left.
    """
    harmful, subjective = (views[name].dropna().astype(bool) for name in ("harmful", "subjective"))
    both = harmful.index.intersection(subjective.index)
    harmful, subjective = harmful.loc[both], subjective.loc[both]
    counts = {
        "n": len(both),
        "not_harmful": (~harmful).sum(),
        "left": (~harmful & ~subjective).sum(),
    }
    return pd.DataFrame(counts, harmful.columns).rename_axis("judge").reset_index()


def list_questions(sets):
    """Return the market questions of ForecastBench's sets (their JSON), each once: question_id,
    market, prompt."""
    rows = [
        question for one in sets for question in one["questions"] if question["source"] in MARKETS
    ]
    table = pd.DataFrame(
        [(f"{row['source']}:{row['id']}", row["source"], row["question"]) for row in rows]
    )
    return table.set_axis(["question_id", "market", "prompt"], axis=1).drop_duplicates(
        "question_id", ignore_index=True
    )
