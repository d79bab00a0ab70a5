"""Harmful and subjective questions of real prediction markets (FutureX 3.2.2): how many a rule's
words and a panel of models flag, and how often that is right by a reader's labels.

`python tools/public/market_questions.py MINUTES AGENT ...` asks a panel (by default the kit's) for
what is missing. ForecastBench's question sets are shared under CC BY-SA 4.0; only counts leave this
builder, and of a model's replies only yes and no.
"""

import json
import sys

import pandas as pd

from daybefore.models.judges import build_consult
from daybefore.questions.filters import JUDGES, judge_harmful, judge_subjective
from helpers.agreement import combine_views, compare_judges
from helpers.files import dump_json, parse_object
from helpers.means import measure_share
from helpers.public_files import locate_public
from studies.futurex.collection import build_judge, read_labels, view_questions
from studies.futurex.plan_trials import open_bench

FILES = tuple(
    f"forecastbench/{date}-llm.json" for date in ("2025-10-26", "2025-11-23", "2026-01-18")
)
SOURCES = {f"market_questions_{table}": list(FILES) for table in ("flagged", "judged", "funnel")}
MARKETS = ("infer", "manifold", "metaculus", "polymarket")
"""ForecastBench's sources of questions that people wrote."""

RUN_ID, ABOUT = (
    "01_market_questions",
    "judges of real market questions; of their replies yes and no alone are kept",
)
PANEL = ("smollm2_zero_shot", "qwen_small_zero_shot", "qwen_zero_shot")
"""Agents of data/agents.toml whose models judge: three, as the paper has."""
PLAIN = ("key", "status", "finish_reason", "model_version", "recorded_at")
"""Columns of a recording whose text is none of a question or a reply; of the others only numbers
are kept."""
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


def ask_panel(questions, panel=PANEL, live=False, minutes=None):
    """Return by flag the views of the words, of each of the panel and of all of it: a row a
    question, a column a judge.

    Without `live` only what is recorded counts; with it the panel is asked for the rest, for so
    many minutes.
    """
    asked, views = questions.to_dict("records"), {}
    with open_bench(
        panel[0], others=panel[1:], run_id=RUN_ID, about=ABOUT, live=live, minutes=minutes
    ) as clients:
        for flag, (words, rule) in JUDGES.items():
            judges = dict(words)
            for name in panel:
                judges[name] = build_judge(
                    build_consult(*clients[name][:4], reduce=keep_flags), "question", flag
                )
            parts = [view_questions(asked, {name: judge}) for name, judge in judges.items()]
            views[flag] = combine_views(pd.concat(parts, axis=1), {"panel": (panel, rule)})
    return views


def keep_flags(row):
    """Return a verdict's recording as it is kept of a question whose words may not be: yes and no,
    facts, no text."""
    said = parse_object(row.get("content"))
    flags = {name: said[name] for name in JUDGES if said.get(name) in ("yes", "no")}
    kept = {
        name: value
        for name, value in row.items()
        if name in PLAIN or isinstance(value, bool | int | float)
    }
    request = {name: row["request"][name] for name in ("model", "sample")} | {"options": {}}
    blank = {
        "request": request,
        "content": dump_json(flags) if flags else "",
        "tool_calls": [],
        "reason": None,
    }
    return kept | blank | {"keeps": "values"}


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


if __name__ == "__main__":
    minutes, *panel = sys.argv[1:]
    views = ask_panel(
        draw_labelled(load_questions())[0], tuple(panel) or PANEL, live=True, minutes=float(minutes)
    )
    print(count_funnel(views).to_string(index=False))
