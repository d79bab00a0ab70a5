"""Judges of questions, and a reader's labels of them (FutureX 3.2.2)."""

import tomllib

import pandas as pd
import pytest

from daybefore.models.judges import Verdict
from daybefore.questions.drop_events import judge_harmful
from helpers.agreement import combine_views
from helpers.files import ROOT
from studies.futurex.building_questions import (
    build_judge,
    count_curation,
    read_labels,
    view_questions,
)

PLANTED = tomllib.loads((ROOT / "data/curation/planted.toml").read_text(encoding="utf-8"))[
    "question"
]


def test_a_models_views_of_questions_are_its_flags_and_a_majority_is_taken():
    harmful = {row["text"] for row in PLANTED if row["meant"] == "harmful"}

    def consult(prompt, schema):
        if "silent" in prompt:
            return Verdict("missing", None)
        flag = "yes" if any(text in prompt for text in harmful) else "no"
        return Verdict("ok", {"harmful": flag, "subjective": "no"})

    judges = {"words": judge_harmful}
    judges |= {
        name: build_judge(consult, name, "harmful") for name in ("question", "question_again")
    }
    texts = [min(harmful), "What will a barrel cost?", "Will it be silent?"]
    asked = [
        {"question_id": f"q{at}", "prompt": text, "options": {}} for at, text in enumerate(texts)
    ]
    views = combine_views(view_questions(asked, judges), {"majority": (tuple(judges), "majority")})
    assert views["question"].tolist() == [True, False, None]
    assert views["majority"].tolist()[:2] == [True, False], "two of three flag it: the words do not"


def test_labels_hold_ids_and_no_public_text(tmp_path):
    labels = read_labels()
    assert (
        not labels["question_id"].str.contains(r"\?|\s").any()
        and labels["note"].str.len().max() < 90
    )
    path = tmp_path / "questions.csv"
    pd.concat([labels, labels[:1]]).to_csv(path, index=False)
    with pytest.raises(ValueError, match=f"{labels['question_id'][0]} stands in row 2 already"):
        read_labels(path)


def test_curation_counts_what_each_step_leaves_by_branch():
    rows = [
        ("A-1010-x", "frozen", True),
        ("A-1010-y", "binary", True),
        ("A-1010-z", "none", False),
        ("A-1010-market-q1", "harmful", True),
        ("A-1010-market-q2", "none", False),
    ]
    table = count_curation(pd.DataFrame(rows, columns=["event_id", "filter", "is_dropped"]))
    left = table.pivot(index="step", columns="branch", values="n_left")
    assert left["template"].to_dict() == {
        "collected": 3,
        "cannot be asked": 2,
        "harmful or subjective": 2,
        "yes/no, downsampled": 1,
    }
    assert left.loc["harmful or subjective", "market"] == 1
    assert table["left_share"].tolist()[-1] == pytest.approx(1 / 3)
