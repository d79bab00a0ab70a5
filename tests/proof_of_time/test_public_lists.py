"""Instances of a board and of the authors' files, on small made-up ones; what a judge of runs is
shown and says."""

import json

import numpy as np
import pandas as pd
import pytest
from public.pot_authors import main
from public.pot_lists import build_board
from public.proof_of_time import keep_trials
from public.proof_of_time_logs import list_calls

from daybefore.models.judges import Verdict
from studies.proof_of_time import rule_solvers as rules
from studies.proof_of_time import run_judge
from studies.proof_of_time.evidence import check_instances, read_evidence
from studies.proof_of_time.instances import find_misfits, read_instances
from studies.proof_of_time.trials import describe_evidence


def test_a_board_is_asked_for_systems_that_the_evidence_does_not_show(tmp_path):
    results = pd.DataFrame({"date": pd.date_range("2024-01-01", periods=20, freq="MS").astype(str)})
    results["system"] = [f"sys{chr(97 + at)}" for at in range(20)]
    results = results.assign(board="Bench", score=3.5 * results.index + 5.25)
    given = {"measure": "percentage", "n": 20, "n_pairs": 3}
    rng = np.random.default_rng(3)
    made = build_board("bench", results, "2025-01-01", rng, tmp_path, **given)
    assert not [fault for one in made for fault in find_misfits(one._asdict())]
    check_instances(made, tmp_path)
    assert [one.variant for one in made] == ["plain"] * 8 + ["pairwise"] * 3
    shown = read_evidence(tmp_path, "bench.csv")
    scores = results.set_index("system")["score"]
    assert len(shown) == 12
    for one in made[:8]:
        assert one.metadata["items"][""] not in set(shown["system"])
        assert ord(one.target) - 65 == scores[one.metadata["items"][""]] // 20
    rows = pd.DataFrame(rules.answer_frontier(made, {"bench": results}, {}))
    wide = rows.pivot(index=0, columns=1, values=2).loc[[one.id for one in made]]
    assert wide["trend"].tolist() == [one.target for one in made]
    assert wide["last value"].tolist()[8:] == ["A"] * 3, "a pair's is the same for both"


def test_the_authors_files_are_read_with_their_evidence(tmp_path):
    sota = {"question": "Which bucket?", "prompt": "Benchmark: X\nOptions:\na: 0-20\nb: 20-40"}
    sota |= {"choices": ["a: 0-20", "b: 20-40"], "answer": "b"}
    award = {"question": "Which tier?", "context": "On rain", "answer": "Main"}
    cited = {"question": "How often?", "choices": list("ABCDE"), "answer": "D"}
    snow = {"title": "On snow", "citation_count": 3}
    files = {
        "benchmarks/sota_forecast/mcq_dataset.jsonl": json.dumps(sota),
        "benchmarks/award_react/post-cutoff_emnlp.jsonl": json.dumps(award),
        "benchmarks/citation_react/bucket_prediction.jsonl": json.dumps(cited),
        "sandbox_data/sota/sota_metrics.json": json.dumps([{"benchmark": "X", "score": 21.0}]),
        "sandbox_data/award/accepted_papers.csv": "title\nOn rain\n",
        "sandbox_data/citation/historical_papers_2021_2024.jsonl": json.dumps(snow),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    main(tmp_path, tmp_path / "out")
    read = {one.task: one for one in read_instances(tmp_path / "out/authors.jsonl")}
    bucket, folder = read["frontier_bucket"], tmp_path / "sandbox_data"
    assert bucket.choices == {"A": "0-20", "B": "20-40"} and bucket.target == "B"
    assert bucket.manifest[0]["path"] == "sota/sota_metrics.json"
    assert read["bucket"].choices["D"] == "60-150", "as the authors' agent is told"
    assert {one.variant for one in read.values()} == {"as_published"}
    told = describe_evidence(read["tier_post"], folder)
    assert "/evidence/award/accepted_papers.csv: 1 lines; columns title" in told
    assert all((folder / one.manifest[0]["path"]).exists() for one in read.values())
    (folder / "award/accepted_papers.csv").unlink()
    with pytest.raises(FileNotFoundError, match="accepted_papers"):
        main(tmp_path, tmp_path / "out")
    with pytest.raises(ValueError, match="holds none of the files"):
        main(tmp_path / "out", tmp_path / "out")


def test_of_an_agent_on_public_instances_answers_and_counts_are_kept_where_all_limits_were_run(out):
    rows = [("a", limit, "ok", ["B", "A"], ["bash: its words"]) for limit in (50, 30, 15)]
    rows += [("b", 50, "ok", "A", []), ("b", 30, "missing", None, None)]
    made = pd.DataFrame(rows, columns=["id", "limit", "status", "answer", "steps"])
    keep_trials(made.assign(method="agentic", seconds=1.23), "me")
    kept = pd.read_csv(out / "data/proof_of_time/public_trials.csv")
    assert kept[["id", "answer", "agent"]].to_numpy().tolist() == [["a", "BA", "me"]] * 3
    assert "words" not in kept.to_csv()


# --- the judge of runs ------------------------------------------------------------------------------


def test_a_masked_case_holds_no_text_of_the_run():
    call = {"step_type": "tool", "tool": "bash", "content": "zebra row", "error": None}
    call["arguments"] = json.dumps({"script": "grep -n 'zebra' data/p.csv"})
    said = {"step_type": "model", "content": "I like the zebra."}
    masked = run_judge.write_case(list_calls([said, call]), "wrong")
    assert "zebra" not in masked and "bash: grep csv -> 9 letters" in masked


def test_a_judges_verdict_becomes_a_label_a_blank_or_unlabelled():
    value = dict.fromkeys(run_judge.RUBRICS["wrong"], "x")
    value |= {"label": "misread", "bottleneck": "parsing"}
    replies = iter([Verdict("ok", value), Verdict("missing"), Verdict("unparsable")])
    cases = [(str(at), "wrong", "p") for at in range(3)]
    rows = run_judge.judge_runs(lambda *_: next(replies), cases, "m")
    assert rows["label"].fillna("").tolist() == ["misread", "", run_judge.UNLABELLED]
    assert rows["bottleneck"][0] == "parsing"
