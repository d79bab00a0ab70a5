"""Instances from data/replay: enough of them, nothing in their evidence from after the cutoff; solvers."""

import hashlib

import numpy as np
import pandas as pd
import pytest

from helpers.proof_of_time import baselines
from helpers.proof_of_time.embedded import build_embedded, build_feed, load_feeds, load_panel, write_again
from helpers.proof_of_time.evidence import LeakError, check_instances, read_evidence
from helpers.proof_of_time.instances import NONE, find_misfits
from helpers.web.sources import load_sources

EVOLUTION = [feed for feed in load_feeds() if feed.family == "evolution"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evidence")
    made, _ = build_embedded(load_sources(), np.random.default_rng(40), folder)
    return made, folder


def test_there_are_300_of_three_families_and_each_is_whole(built):
    made, folder = built
    table = baselines.describe_instances(made)
    assert len(made) >= 300 and set(table["family"]) == {"impact", "evolution", "frontier"}
    assert table.groupby("family")["source"].nunique().min() >= 10
    assert not [fault for instance in made for fault in find_misfits(instance._asdict())]
    n_files, n_rows = check_instances(made, folder)
    assert n_files > 100 and n_rows > 10_000


def test_a_later_row_planted_in_any_file_stops_the_build_with_its_name(built):
    made, folder = built
    for instance in made[::60]:
        (entry,) = instance.manifest
        path = folder / entry["path"]
        before = path.read_text()
        table = read_evidence(folder, entry["path"])
        table.loc[len(table)] = table.iloc[-1].to_dict() | {"published_at": "2016-11-08T00:00:00+00:00"}
        table.to_csv(path, index=False, lineterminator="\n")
        planted = entry | {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        with pytest.raises(LeakError, match=f"{entry['path']}, line {len(table) + 1}: published_at 2016-11-08"):
            check_instances([instance._replace(manifest=[planted])], folder)
        path.write_text(before)


def test_the_right_record_continues_the_series_and_none_means_that_it_is_absent(built):
    sources = load_sources()
    panels = {feed.source: load_panel(sources[feed.source], feed.variable) for feed in EVOLUTION[:3]}
    for instance in (one for one in built[0] if one.task == "person_article"):
        items = instance.metadata["items"]
        ((name, record),) = instance.metadata["asked"]
        assert name == items[""]
        is_none = instance.choices[instance.target] == NONE
        assert (record not in instance.choices.values()) if is_none else (instance.choices[instance.target] == record)
        if instance.metadata["source"] in panels:
            wide, day = panels[instance.metadata["source"]].wide[name], instance.cutoff[:10]
            values = [float(part) for part in record.split(";")]
            assert len(values) >= 3 and values == wide[wide.index >= day].iloc[: len(values)].tolist()


def test_the_same_seed_builds_the_same_and_another_another(built, tmp_path):
    source, feed = (
        load_sources()["ecb_fixings"],
        next(f for f in EVOLUTION if f.source == "ecb_fixings"),
    )
    panel = load_panel(source, feed.variable)
    runs = [
        build_feed(source, panel, feed, ("person_article",), np.random.default_rng(seed), tmp_path)[0]
        for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1] != runs[2]


def test_evidence_is_written_again_as_it_was_and_nothing_else(built, tmp_path):
    made, folder = built
    some, sources = made[::90], load_sources()
    write_again(some, sources, tmp_path)
    names = {entry["path"] for instance in some for entry in instance.manifest}
    assert names == {path.name for path in tmp_path.iterdir()} and len(names) < 10
    assert all((tmp_path / name).read_bytes() == (folder / name).read_bytes() for name in names)
    strange = [({"sha256": "0" * 64}, "another file"), ({"path": "oil_brent-price-2017-01-01.csv"}, "no rows")]
    for changes, said in strange:
        other = some[0]._replace(manifest=[some[0].manifest[0] | changes])
        with pytest.raises(ValueError, match=said):
            write_again([other], sources, tmp_path)


# --- solvers ---------------------------------------------------------------------------------------------------------


def test_each_solver_is_right_where_its_own_rule_holds():
    days = np.arange(28.0)
    line, week = 3 + 2 * days, np.resize([1.0, 5, 9, 2, 2, 8, 4], 28)
    assert baselines.continue_series(line, None, 3, "trend") == pytest.approx([59, 61, 63])
    assert baselines.continue_series(week, None, 9, "last value").tolist() == week[:9].tolist()
    assert baselines.continue_series(line, None, 2, "last value", is_level=True).tolist() == [57, 57]
    jump = np.concatenate([np.ones(14), np.full(7, 3.0), np.ones(7)])
    panel = np.stack([jump, np.ones(28)], axis=1)
    assert baselines.continue_series(np.concatenate([jump[:7], jump[:7]]), panel[:21], 4, "nearest history").max() <= 3


def test_scores_count_a_missing_answer_as_wrong_and_below_ten_sources_have_no_interval():
    table = pd.DataFrame({"id": list("abcd"), "task": "bucket", "source": list("xxyy"), "target": list("ABAB")})
    answers = pd.DataFrame({"id": list("abcd"), "solver": "s", "answer": ["A", None, "A", "A"]})
    row = baselines.tabulate_accuracy(baselines.score_answers(table, answers)).iloc[0]
    assert row["mean"] == 0.5 and row["n"] == 4 and row["n_clusters"] == 2 and np.isnan(row["low"])
    assert row["low_by_event"] == pytest.approx(0.15, abs=0.005)


def test_a_solver_is_compared_with_the_floor_in_pairs_by_source():
    ids = [f"{source}{at}" for source in "abcdefghijkl" for at in range(4)]
    table = pd.DataFrame({"id": ids, "task": "bucket", "source": [name[0] for name in ids], "target": "A"})
    answers = [
        pd.DataFrame({"id": ids, "solver": "majority", "answer": ["A", "A", "B", "B"] * 12}),
        pd.DataFrame({"id": ids, "solver": "better", "answer": (["A", "A", "A", "B"] * 6 + ["A"] * 4 * 6)}),
        pd.DataFrame({"id": ids[:40], "solver": "alike", "answer": ["B", "A", "A", "B"] * 10}),
    ]
    scored = baselines.score_answers(table, pd.concat(answers))
    rows = baselines.compare_with_floor(scored).set_index("solver")
    assert rows.at["better", "difference"] == pytest.approx(0.375) and rows.at["better", "verdict"] == "holds"
    assert rows.at["alike", "difference"] == 0 and rows.at["alike", "verdict"] == "cannot tell"
    assert rows.at["alike", "n"] == 40
    few = baselines.compare_with_floor(scored[scored["source"] < "j"])
    assert set(few["verdict"]) == {"cannot tell"} and few["low"].isna().all()
