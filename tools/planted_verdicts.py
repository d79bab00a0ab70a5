"""Planted truths: a verdict must say agrees, disagrees or inconclusive in 1,000 worlds each; all synthetic.

    python tools/planted_verdicts.py  some minutes: data/planted.csv and data/planted_coverage.csv
    python tools/planted_verdicts.py pair    one study's rows anew

A world plants means; 20 to 49 sources share luck of their own by agent. An error is a verdict against the truth: the
opposite one where something is planted, any where nothing is (5% of these are due). Its tests read the tables, and play
the first worlds of each study again.

Where a study's worlds begin behind its notebook's first steps, no verdict hangs on what is left out: marks are drawn,
not scored from predictions (all); the matrix is built in a quicker way, which a test compares, without the intervals by
event, which no verdict reads; delays are described by the columns that their verdicts read.
"""

import gc
import itertools
import sys
import zlib
from unittest import mock

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from helpers import paired, papers
from helpers.agreement import measure_judge
from helpers.files import ROOT, read_table
from helpers.means import summarize_clustered
from helpers.paired import AGREES, compare_pairs, correct_holm, judge_interval, judge_pair, judge_test
from studies.futurex import delay, gains, levels, reasons
from studies.futurex.board_findings import state_weekly
from studies.futurex.experts import summarize_agents
from studies.futurex.reasons import measure_evidence

N_WORLDS = 1000
TRUTHS = {"agrees": 1, "disagrees": -1, "inconclusive": 0}
"""What is planted, and its sign."""
TABLE, COVERAGE = ROOT / "data/planted.csv", ROOT / "data/planted_coverage.csv"
WORDS = AGREES | {"a is better": "agrees", "b is better": "disagrees", "fit": "agrees", "unfit": "disagrees"}


def lay_out(rows, agents, value="score"):
    """Return `helpers.scores.build_matrix`'s matrix, where each agent has one row an event: in half of its time."""
    return rows.set_index(["event_id", "agent_id"])[value].unstack().reindex(columns=agents).sort_index()


def leave_out_plain(matrix, clusters=None, strata=None, **ends):
    """Return `summarize_clustered`'s table; blank without clusters, since no verdict reads the intervals by event."""
    if clusters is not None:
        return summarize_clustered(matrix, clusters, strata, **ends)
    return pd.DataFrame(np.nan, matrix.columns, ["mean", "low", "high", "se", "p", "n", "n_clusters"])


def make_quick(put=setattr):
    """Put what is quicker into the modules that judge; `put` may be a test's own, which takes it back."""
    for module in (delay, gains, levels, paired, reasons):
        for name, quick in (("build_matrix", lay_out), ("summarize_clustered", leave_out_plain)):
            if hasattr(module, name):
                put(module, name, quick)


def make_worlds(study, truth):
    """Return the generator that draws a study's worlds of one truth, in order; the same each time."""
    return np.random.default_rng([zlib.crc32(study.encode()), TRUTHS[truth] + 1])


def plant_marks(rng, means, n_sources=25, n_each=8, luck=0.12, noise=0.25):
    """Return (marks, source): scores by event of some agents, and what an event shares its luck with.

    `means` maps an agent to its mean, one for all events or one for each; a source adds luck of its own to each agent.
    """
    source = np.repeat(np.arange(n_sources), n_each)
    ids = [f"e{at:04d}" for at in range(len(source))]
    values = {
        agent: mean + rng.normal(0, luck, n_sources)[source] + rng.normal(0, noise, len(source))
        for agent, mean in means.items()
    }
    return pd.DataFrame(values, ids), pd.Series(source, ids)


def make_tables(marks, source, **columns):
    """Return (scores, events) as the kit has them, of scores by event and agent."""
    long = marks.rename_axis("event_id").melt(ignore_index=False, var_name="agent_id", value_name="score").reset_index()
    scores = long.assign(run_id=long["agent_id"], sample=0, metric="accuracy", is_scored=True)
    scores["score_imputed"] = scores["score"]
    events = pd.DataFrame({"event_id": marks.index, "kind": "single", "source_id": "s" + source.astype(str)})
    return scores, events.assign(**columns).reset_index(drop=True)


# --- studies: (rng, sign) -> {statement: verdict} -----------------------------------------------------------------


def tell_pair(rng, sign):
    """07, own results, compare: two agents among three, by source, after Holm."""
    marks, source = plant_marks(rng, {"a": 0.5 + 0.2 * sign, "b": 0.5, "c": 0.5})
    table = compare_pairs(marks, source).set_index(["agent_a", "agent_b"])
    return {"a minus b, of three pairs": judge_pair(table.loc[("a", "b")], "p_holm")}


def tell_moments(rng, sign):
    """08: the same events at a second moment, of two agents."""
    before, source = plant_marks(rng, {"a": 0.4, "b": 0.5})
    after, _ = plant_marks(rng, {"a": 0.4 + 0.25 * sign, "b": 0.5})
    (first, events), (second, _) = (make_tables(part, source, level=1) for part in (before, after))
    table = gains.compare_moments(first, second, events).set_index("agent_id")
    return {"gain a week after": table.loc["a", "verdict"]}


LEVELS_OF = {
    1: {"base": (0.9, 0.9, 0.3, 0.3), "search": (0.6, 0.6, 0.65, 0.65), "random": (0.2,) * 4},
    -1: {"base": (0.2, 0.2, 0.6, 0.6), "search": (0.7, 0.7, 0.9, 0.9), "random": (0.2,) * 4},
    0: {"base": (0.6,) * 4, "search": (0.6,) * 4, "random": (0.6,) * 4},
}
"""Level means under which all four findings hold, fail, or have nothing to tell."""
FINDINGS = {
    1: "finding 1: levels 1-2 minus 3-4, above chance",
    2: "finding 2: base models reach 0.6",
    3: "finding 3: search helps more on levels 3-4",
    4: "finding 4: the best on 1-2 is beaten on 3-4",
}


def tell_findings(rng, sign):
    """04: one statement of each finding on difficulty, as `test_level_drops` and `judge_models` make and judge it."""
    level = np.tile([1, 2, 3, 4], 60)
    means = {agent: np.array(by)[level - 1] for agent, by in LEVELS_OF[sign].items()}
    marks, source = plant_marks(rng, means, 24, 10)
    level = pd.Series(level, marks.index)
    fall, *_ = levels.list_falls(marks, ["base", "search"])
    *_, growth = levels.list_gains(marks[["base"]], marks[["search"]])
    bar = papers.get_constant("futurex", "levels12_base_score")
    parts = [fall, (2, "base models on levels 1-2", marks["base"], levels.EASY, bar), growth]
    rows = [levels.state_contrast(*part, level, source) for part in parts] + [
        levels.test_best_agent_changes(marks, level, source)
    ]
    p = correct_holm(pd.Series([row["p"] for row in rows]))
    return {FINDINGS[row["finding"]]: judge_test(row["sign"], at) for row, at in zip(rows, p, strict=True)}


def tell_delay(rng, sign):
    """16: the statements on a short delay against the chosen one, of nine start days."""
    runs, days = {}, []
    for horizon, n in {1: 18 if sign < 0 else 12, 7: 18 if sign > 0 else 12}.items():
        sizes = n + rng.integers(-2, 3, 9)
        ids = [f"2016-10-{10 + day}-{at:03d}" for day, size in enumerate(sizes) for at in range(size)]
        ease = {"last_value": 0.6 - 0.3 * sign * (horizon == 7), "random": 0.3}
        marks = pd.DataFrame({who: (rng.random(len(ids)) < mean).astype(float) for who, mean in ease.items()}, ids)
        source = pd.Series([int(name[-3:]) for name in ids], ids)
        scores, events = make_tables(marks, source, level=1)
        runs[horizon] = events, None, scores
        by_day = marks.groupby([name[:10] for name in ids])
        error = np.sqrt((by_day.var().T / sizes).mean())
        days.append(pd.DataFrame({"day": error.index, "delay": horizon, "n_events": sizes, "n_sources": sizes}))
        days[-1]["error"] = error.to_numpy()
    with mock.patch.object(delay, "describe_days", lambda _: pd.concat(days)):  # its columns, in a tenth of its time
        said = delay.judge_delays(runs).set_index("statement")["verdict"]
    return said.iloc[[0, 1, 3] if sign < 0 else [0, 1, 2, 3]].to_dict()


def tell_evidence(rng, sign):
    """13: being shown values, less what an agent without pages has on the same events."""
    has = rng.random(200) < 0.5
    ease = 0.15 * has  # events with values are the easier ones, for both
    marks, source = plant_marks(rng, {"agent": 0.4 + ease + 0.3 * sign * has, "control": 0.4 + ease})
    table = pd.DataFrame({"event_id": marks.index, "agent_id": "a", "is_right": marks["agent"].to_numpy()})
    table["evidence"] = np.where(has, "values", "none")
    row = measure_evidence(table, marks["control"], source).set_index("of").loc["agent minus control"]
    return {"values shown help": judge_interval(row["low"], row["high"])}


def tell_experts(rng, sign):
    """10: an agent's capped percentage errors against the consensus's, of 51 items."""
    own, theirs = (rng.gamma(4, scale, 51) for scale in (0.02 - 0.008 * sign, 0.02))
    result = np.where(own < theirs, "win", "loss")
    judged = pd.DataFrame({"metric": "m", "agent": "a", "result": result, "share_error": own})
    return {"smaller errors": summarize_agents(judged.assign(share_error_consensus=theirs), rng, 500)["verdict"][0]}


def tell_judge(rng, sign):
    """09, 13: whether a judge is fit, of 60 cases with fresh labels; kappa 0.85, 0, or at the bound."""
    truth = rng.random(60) < 0.5
    flags = np.where(rng.random(60) < {1: 0.85, -1: 0.0, 0: 0.4}[sign], truth, rng.random(60) < 0.5)
    row = measure_judge(flags.tolist(), truth, rng, 500, is_rule=True, is_fresh=True)
    return {"the judge is fit": row["verdict"]}


def tell_weeks(rng, sign):
    """50: a value a week, 32 weeks (t interval) and 7 (exact test)."""
    said = {}
    for n in (32, 7):
        weekly = pd.Series(6.0 * sign + rng.normal(0, 4, n))
        said[f"above 0 in {n} weeks"] = state_weekly("x", 1, "it is", weekly)["verdict"]
    return said


STUDIES = {
    name.removeprefix("tell_"): function for name, function in list(globals().items()) if name.startswith("tell_")
}


def count_verdicts(study, truth, n):
    """Return, by statement, how often each verdict is reached in the first n worlds of a study and truth."""
    rng, said = make_worlds(study, truth), []
    for _ in range(n):
        said += [(name, WORDS.get(word, word)) for name, word in STUDIES[study](rng, TRUTHS[truth]).items()]
    table = pd.DataFrame(said, columns=["statement", "verdict"]).value_counts().unstack(fill_value=0)
    return table.reindex(columns=list(TRUTHS), fill_value=0).sort_index()


COLUMNS = ["study", "statement", "truth", "n", *TRUTHS, "error", "error_low", "error_high"]
COLUMNS += ["n_first", "first_agrees", "first_disagrees"]


def measure_worlds(study, truth, n=N_WORLDS, n_first=3):
    """Return the rows of data/planted.csv of a study and truth."""
    return describe_worlds(
        study, truth, n, count_verdicts(study, truth, n), count_verdicts(study, truth, n_first), n_first
    )


def describe_worlds(study, truth, n, found, first, n_first):
    """Return the rows of counted verdicts, with the share of errors and its 95% interval (Wilson)."""
    wrong = (
        n - found["inconclusive"] if truth == "inconclusive" else found[{"agrees": "disagrees"}.get(truth, "agrees")]
    )
    low, high = proportion_confint(wrong, n, method="wilson")
    head = {"study": study, "truth": truth, "n": n}
    rows = found.assign(error=wrong / n, error_low=low, error_high=high)
    rows[["first_agrees", "first_disagrees"]] = first.reindex(found.index)[["agrees", "disagrees"]]
    return rows.assign(n_first=n_first, **head).reset_index()


# --- intervals that hold the truth ------------------------------------------------------------------------------------


def cover(rng, source, draw, n=N_WORLDS, strata=None):
    """Return how often the interval by source, and that by event, holds the 0 that is true: n worlds at once."""
    table = pd.DataFrame(draw(rng, source.to_numpy(), n), source.index)
    held = []
    for clusters in (source, None):
        found = summarize_clustered(table, clusters, strata)
        held.append(int(((found["low"] <= 0) & (found["high"] >= 0)).sum()))
    return held


def draw_luck(rng, source, n, luck=0.2, noise=0.3):
    """Differences of mean 0 whose luck is shared by source, a column a world."""
    return rng.normal(0, luck, (source.max() + 1, n))[source] + rng.normal(0, noise, (len(source), n))


def draw_hits(rng, source, n):
    """Differences of two agents' 0 and 1, both by chance that a source shares."""
    chance = rng.beta(1.5, 1.5, (2, source.max() + 1, n))
    return (rng.random((len(source), n)) < chance[0][source]) * 1.0 - (rng.random((len(source), n)) < chance[1][source])


def measure_coverage(n=N_WORLDS):
    """Return how often 95% intervals hold the truth where luck is shared by source: even sources, and window A's."""
    events = read_table("events", "A")
    ours = pd.Series(pd.factorize(events["source_id"])[0], events["event_id"])
    level = pd.Series(events["level"].astype(int).to_numpy(), events["event_id"])
    fall = [(weight, level.index[level == at]) for at, weight in levels.FALL.items()]
    even = {g: pd.Series(np.repeat(np.arange(g), 8), [f"e{at}" for at in range(8 * g)]) for g in (10, 20, 49)}
    designs = [(f"{g} sources of 8 events", source, None) for g, source in even.items()]
    designs += [("window A's events and sources", ours, None), ("window A's, levels 1-2 minus 3-4", ours, fall)]
    rows = []
    for (name, source, strata), draw in itertools.product(designs, (draw_luck, draw_hits)):
        rng = np.random.default_rng(zlib.crc32(f"{name}{draw.__name__}".encode()))
        by_source, by_event = cover(rng, source, draw, n, strata)
        low, high = proportion_confint(by_source, n, method="wilson")
        row = {"design": name, "scores": draw.__name__.removeprefix("draw_"), "n_events": len(source)}
        row |= {"n_sources": source.nunique(), "n": n, "coverage": by_source / n, "low": low, "high": high}
        rows.append(row | {"coverage_by_event": by_event / n})
    return pd.DataFrame(rows)


def main(*studies):
    """Play some studies, or all of them with the coverage, and write their rows into the tables."""
    make_quick()
    gc.freeze()  # statsmodels' Holm collects garbage at each call: 0.1 s with all these libraries in memory
    table = pd.read_csv(TABLE) if studies else pd.DataFrame(columns=COLUMNS)
    for study, truth in itertools.product(studies or STUDIES, TRUTHS):
        rows = measure_worlds(study, truth)
        print(rows.to_string(index=False), flush=True)
        table = pd.concat([table[(table["study"] != study) | (table["truth"] != truth)], rows.round(4)])
    table["study"] = pd.Categorical(table["study"], list(STUDIES))
    order = table.sort_values(["study", "statement", "truth"])[COLUMNS]
    order.to_csv(TABLE, index=False, lineterminator="\n")
    if not studies:
        measure_coverage().round(4).to_csv(COVERAGE, index=False, lineterminator="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
