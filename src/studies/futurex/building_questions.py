"""What was collected: the tables behind FutureX's Figures 2, 3 and 5 and Tables 2 to 4, of a
window's own events.

Judges of questions that should be dropped as harmful or subjective are held against labels (3.2.2),
which hold ids and no question's text.
"""

import pandas as pd

from daybefore.models.grammars import make_schema
from daybefore.prompts import read_prompt
from daybefore.questions.collect_events import covers_window
from helpers import papers
from helpers.files import ROOT
from helpers.input_faults import read_sheet

STEPS = (
    ("cannot be asked", ("frozen", "unanswerable", "unreachable")),
    ("harmful or subjective", ("harmful", "subjective")),
    ("yes/no, downsampled", ("binary",)),
)
"""The curation's steps in order, each with the filters that drop candidates there (FutureX 3.2.2,
Figure 3)."""
OPEN_KINDS = ("ranking", "number")


def list_sites(sources, window):
    """Return the registry's sources that cover a window: source_id, n_daily and n_weekly
    templates."""
    rows = []
    for source in sources.values():
        if covers_window(source, window):
            periods = [template["period"] for template in source.templates]
            rows.append((source.id, periods.count("daily"), periods.count("weekly")))
    return pd.DataFrame(rows, columns=["source_id", "n_daily", "n_weekly"])


def count_curation(screenings):
    """Return how many candidates are left after each step, by branch: branch, step, n_dropped,
    n_left, left_share.

    A branch begins with "collected" and ends with the events (FutureX 3.2.2, Figure 3).
    """
    rows = []
    is_market = screenings["event_id"].str.split("-").str[2].eq("market")
    for branch, part in screenings.groupby(is_market.map({True: "market", False: "template"})):
        n_left = part["event_id"].nunique()
        rows.append((branch, "collected", 0, n_left))
        for step, names in STEPS:
            dropped = part[part["is_dropped"] & part["filter"].isin(names)]
            n_dropped = dropped["event_id"].nunique()
            n_left -= n_dropped
            rows.append((branch, step, n_dropped, n_left))
    return add_shares(pd.DataFrame(rows, columns=["branch", "step", "n_dropped", "n_left"]))


def add_shares(table):
    """Return counts by branch with left_share, of what the branch begins with."""
    first = table.groupby("branch")["n_left"].transform("first")
    return table.assign(left_share=table["n_left"] / first)


def count_published_curation():
    """Return the paper's counts of one week in the form of `count_curation`, without the steps it
    does not count."""
    counts = papers.load_published("futurex", "fig2_fig3_counts").set_index("stage")["count"]
    _, unsuitable, binary = (step for step, _ in STEPS)
    rows = [
        ("market", "collected", counts["prediction_market_crawled_week"]),
        ("market", unsuitable, counts["after_harmful_subjective_drop"]),
        ("market", binary, counts["after_yes_no_downsample"]),
        *(("template", step, counts["open_ended_per_week"]) for step in ("collected", binary)),
    ]
    table = pd.DataFrame(rows, columns=["branch", "step", "n_left"])
    falls = table.groupby("branch")["n_left"].diff().fillna(0).astype(int)
    return add_shares(table.assign(n_dropped=-falls))


def choose_examples(events, by):
    """Return one event a group (domain or level), the one with the shortest wording: group, prompt
    on one line.

    No template serves two groups as long as there is another.
    """
    table = events.assign(prompt=events["prompt"].str.replace("\n", " / "))
    table["length"] = table["prompt"].str.len()
    chosen = {}
    for name, part in table.sort_values(["length", "event_id"]).groupby(by):
        taken = [row["template_id"] for row in chosen.values()]
        fresh = part[~part["template_id"].isin(taken)]
        chosen[name] = (part if fresh.empty else fresh).iloc[0]
    return pd.DataFrame(list(chosen.values()))[[by, "prompt"]].reset_index(drop=True)


LABELS = (
    "question_id",
    "source",
    "is_harmful",
    "is_subjective",
    "note",
    "label_by",
    "labelled_date",
)
"""Columns of data/labels/questions.csv."""


def draw_events(events, rng, n, unit):
    """Return `n` events, no two of the same `unit` (such as "source_id"), by event_id. Raises
    ValueError for fewer."""
    first = events.sort_values("event_id").drop_duplicates(unit).reset_index(drop=True)
    if len(first) < n:
        raise ValueError(f"only {len(first)} events differ in {unit}; {n} are wanted")
    return first.iloc[sorted(rng.permutation(len(first))[:n])].reset_index(drop=True)


def read_labels(path=ROOT / "data/labels/questions.csv"):
    """Return a reader's labels (`LABELS`). Raises Problems for an absent column, a question
    twice."""
    flags = dict.fromkeys(("is_harmful", "is_subjective"), ("True", "False"))
    labels = read_sheet(path, LABELS, key=["question_id"], words=flags)[list(LABELS)]
    return labels.assign(**{flag: labels[flag] == "True" for flag in flags})


def view_questions(questions, judges):
    """Return the judges' views of questions (dictionaries with question_id, prompt, options): a
    column a judge."""
    rows = [{name: judge(question)[0] for name, judge in judges.items()} for question in questions]
    ids = [question["question_id"] for question in questions]
    return pd.DataFrame(rows, index=pd.Index(ids, name="question_id"), dtype=object)


def build_judge(consult, prompt, name):
    """Return a judge of questions for `questions.drop_events`: event -> (is_flagged, reason).

    `prompt` names the wording ("question", "question_again"), `name` what is judged ("harmful",
    "subjective"). Without a valid reply the flag is None, and the reason says why.
    """
    schema = make_schema(**dict.fromkeys(("harmful", "subjective"), {"enum": ["yes", "no"]}))

    def judge(event):
        verdict = consult(
            read_prompt(f"curate_{prompt}").format(question=event["prompt"].splitlines()[0]), schema
        )
        if verdict.value is None:
            return None, f"no verdict: {verdict.status}"
        is_flagged = verdict.value[name] == "yes"
        return is_flagged, f"the model says {name}" if is_flagged else ""

    return judge
