"""Instances from public lists, on small made-up lists: who is asked about, and what is never in the
evidence."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from public import pot_lists as public
from public.pot_authors import main
from public.proof_of_time import keep_trials

from studies.proof_of_time import list_rules as rules
from studies.proof_of_time.evidence import LeakError, check_instances, read_evidence
from studies.proof_of_time.instances import NONE, find_misfits, read_instances
from studies.proof_of_time.trials import describe_evidence

FIELDS = {"rain": ["rain"], "snow": ["snow"], "wind": ["wind"]}


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def check(instances, folder):
    assert not [fault for one in instances for fault in find_misfits(one._asdict())]
    check_instances(instances, folder)
    return instances


def make_papers():
    rows, awards = [], []
    for year, at in itertools.product((2021, 2022, 2023, 2024), range(24)):
        field, tier = list(FIELDS)[at % 3], ("main", "findings")[at % 2]
        title = f"On {field} in place {year % 100 - 20} {chr(97 + at)}"
        authors = f"P{at % 3}, Q{at}" if at < 12 else f"R{at} {year}"
        rows.append((year, tier, title, authors, f"{field} and {field}"))
        if at < 3:
            awards.append((title.upper(), f"EMNLP {year}", ["best", "outstanding", None][at]))
    accepted = pd.DataFrame(rows, columns=["year", "tier", "title", "authors", "abstract"])
    return accepted, pd.DataFrame(awards, columns=["title", "conference", "award_tier"])


@pytest.fixture
def papers():
    return public.load_accepted(*make_papers(), FIELDS)


def test_papers_asked_about_are_taken_out_of_the_evidence(rng, tmp_path, papers):
    made = check(public.build_awards(papers, rng, tmp_path, 2), tmp_path)
    for task in ("tier_pre", "tier_post"):
        part = [one for one in made if one.task == task]
        asked = {one.metadata["items"][""] for one in part}
        shown = read_evidence(tmp_path, part[0].manifest[0]["path"])
        assert (
            asked
            and not asked & set(shown["title"])
            and shown["published_date"].max() == "2023-12-31"
        )
        assert {one.choices[one.target] for one in part} == {
            "Best",
            "Outstanding",
            "Main",
            "Findings",
        }
    whole = public.write_papers(
        papers[papers["year"] < 2024].dropna(subset="tier"), "whole.csv", tmp_path
    )
    early = next(one for one in made if one.task == "tier_pre")
    with pytest.raises(LeakError, match="whole.csv, line .* holds the value asked for"):
        check_instances([early._replace(manifest=[whole])], tmp_path)


def test_people_are_asked_about_with_their_own_papers_as_evidence(rng, tmp_path, papers):
    made = public.build_people(papers, FIELDS, rng, tmp_path, 9)
    assert {one.task for one in check(made, tmp_path)} == {
        "person_article",
        "person_field",
        "field_focus",
    }
    told = public.write_papers(papers.assign(published_at="2023-12-31"), "told.csv", tmp_path)
    for one in made:
        if one.task != "field_focus":
            with pytest.raises(LeakError, match="told.csv, line .* holds the value asked for of P"):
                check_instances([one._replace(manifest=[told])], tmp_path)
    owners = dict(zip(papers["item"], papers["authors"], strict=True))
    assert {one.metadata["items"][""] for one in made} == {"P0", "P1", "P2"}, "Q writes too seldom"
    assert len({one.metadata["source"] for one in made}) == 3
    for one in made:
        items = dict(one.metadata["items"])
        person = items.pop("")
        if one.task == "person_article":
            right = [letter for letter, title in items.items() if person in owners[title]]
            assert right == ([] if one.choices[one.target] == NONE else [one.target])
        else:
            assert one.choices[one.target] == list(FIELDS)[int(person[1])]
    rows = rules.answer_people(made, papers)
    fields = [row for row in rows if row[1] == "last value"]
    assert {row[0]: row[2] for row in fields} == {
        one.id: one.target for one in made if one.task == "person_field"
    }


# --- boards -----------------------------------------------------------------------------------------


def make_results():
    days = [f"2024-{month:02d}-01" for month in range(1, 13)] + [
        f"2025-{month:02d}-01" for month in range(1, 9)
    ]
    rows = [(day, "Bench", f"sys{chr(97 + at)}", 3.5 * at + 5.25) for at, day in enumerate(days)]
    return pd.DataFrame(rows, columns=["date", "board", "system", "score"])


def test_a_board_is_asked_for_systems_that_the_evidence_does_not_show(rng, tmp_path):
    results = make_results()
    made = public.build_board(
        "bench", results, "2025-01-01", rng, tmp_path, measure="percentage", n=20, n_pairs=3
    )
    check(made, tmp_path)
    kinds = [one.variant for one in made]
    assert (kinds.count("plain"), kinds.count("pairwise")) == (8, 3)
    shown = read_evidence(tmp_path, "bench.csv")
    assert len(shown) == 12 and not {one.metadata["items"][""] for one in made[:8]} & set(
        shown["system"]
    )
    scores = dict(zip(results["system"], results["score"], strict=True))
    for one in made[:8]:
        assert ord(one.target) - 65 == int(scores[one.metadata["items"][""]] // 20)
    rows = rules.answer_frontier(made, {"bench": results}, {})
    right = {one.id: one.target for one in made}
    trend = [right[name] == answer for name, method, answer in rows if method == "trend"]
    assert all(trend) and len(trend) == 11
    pairs = [
        answer for name, method, answer in rows if method == "last value" and "pairwise" in name
    ]
    assert pairs == ["A"] * 3, "a pair's last value is the same for both"


def test_the_authors_files_are_read_with_their_evidence(tmp_path):
    sota = {
        "question": "Which bucket?",
        "prompt": "Benchmark: X\nOptions:\na: 0-20\nb: 20-40",
        "answer": "b",
    }
    sota |= {"choices": ["a: 0-20", "b: 20-40"], "metadata": {"benchmark": "X"}}
    award = {"question": "Which tier?", "context": "On rain", "answer": "Main"}
    ranking = {"question": "Order?", "choices": ["x", "y"], "answer": "B, A"}
    cited = {"question": "How often?", "choices": list("ABCDE"), "answer": "D"}
    files = {
        "benchmarks/sota_forecast/mcq_dataset.jsonl": sota,
        "benchmarks/award_react/post-cutoff_emnlp.jsonl": award,
        "benchmarks/citation_react/ranking.jsonl": ranking,
        "benchmarks/citation_react/bucket_prediction.jsonl": cited,
        "sandbox_data/sota/sota_metrics.json": [{"benchmark": "X", "score": 21.0}],
        "sandbox_data/award/accepted_papers.csv": "title\nOn rain\n",
        "sandbox_data/citation/historical_papers_2021_2024.jsonl": {
            "title": "On snow",
            "citation_count": 3,
        },
    }
    for name, held in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(held if isinstance(held, str) else json.dumps(held) + "\n")
    main(tmp_path, tmp_path / "out")
    read = {one.task: one for one in read_instances(tmp_path / "out/authors.jsonl")}
    bucket, folder = read["frontier_bucket"], tmp_path / "sandbox_data"
    assert bucket.choices == {"A": "0-20", "B": "20-40"} and bucket.target == "B"
    assert bucket.prompt.startswith("Which bucket?\n\nBenchmark: X")
    assert bucket.manifest[0]["path"] == "sota/sota_metrics.json"
    assert read["tier_post"].prompt == "On rain\n\nWhich tier?" and read["full_order"].target == [
        "B",
        "A",
    ]
    assert read["bucket"].choices["D"] == "60-150", "as the authors' agent is told"
    assert {one.variant for one in read.values()} == {"as_published"}
    told = describe_evidence(read["tier_post"], folder)
    assert "/evidence/award/accepted_papers.csv: 1 lines; columns title" in told
    assert {len(read_evidence(folder, one.manifest[0]["path"])) for one in read.values()} == {1}
    (folder / "award/accepted_papers.csv").unlink()
    with pytest.raises(FileNotFoundError, match="accepted_papers"):
        main(tmp_path, tmp_path / "out")
    with pytest.raises(ValueError, match="holds none of the files"):
        main(tmp_path / "out", tmp_path / "out")


def test_of_an_agent_on_public_instances_answers_and_counts_are_kept_where_all_limits_were_run(out):
    rows = [
        ("a", limit, "ok", ["B", "A"], ["bash: the words of a paper"]) for limit in (50, 30, 15)
    ]
    rows += [("b", 50, "ok", "A", []), ("b", 30, "missing", None, None)]
    made = pd.DataFrame(rows, columns=["id", "limit", "status", "answer", "steps"]).assign(
        method="agentic", seconds=1.23
    )
    keep_trials(made, "me")
    kept = pd.read_csv(out / "data/proof_of_time/public_trials.csv")
    assert (
        kept["id"].tolist() == ["a"] * 3
        and set(kept["answer"]) == {"BA"}
        and set(kept["agent"]) == {"me"}
    )
    assert "words" not in kept.to_csv()
