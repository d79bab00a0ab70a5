"""Companies' figures beside the analysts' consensus: FutureX's form, a reader's own csv, a run."""

import json
from pathlib import Path

import pytest
from builders import make_entry, take_like, use_entries, write_lines

from daybefore.commands.main import carry_out
from daybefore.formats import public_sets
from daybefore.formats.earnings_questions import build_events, read_earnings

GIVEN = json.loads(Path(__file__).with_name("earnings.json").read_text(encoding="utf-8"))


def write(folder, **changes):
    first, *others = GIVEN["rows"]
    (folder / "mine.json").write_text(json.dumps([first | changes, *others]))
    return folder / "mine.json"


def test_both_metrics_are_read_with_consensus_truth_and_moment(tmp_path):
    """The question alone is asked, a week before; what is not out yet has no answer."""
    made = build_events(read_earnings(write(tmp_path)))
    tables = dict(zip(("events", "answers", "consensus"), made, strict=True))
    assert take_like(tables, GIVEN["tables"]) == GIVEN["tables"]
    assert tables["events"]["cluster_id"].nunique() == 2, "a company is one case"
    assert "950" not in tables["events"].to_csv(), "no prompt shows it"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"end_time": "soon"}, "'soon' is no day such as 2025-07-24"),
        ({"additional values": "plenty"}, "column additional values: 'plenty' is no number"),
        ({"id": "a2"}, "a2 stands in row 2 already"),
        ({"prompt": ""}, "column prompt: the cell is blank"),
    ],
)
def test_a_row_that_cannot_be_asked_is_refused_by_its_place(changes, sentence, tmp_path):
    with pytest.raises(ValueError, match=f"mine.json, row .*{sentence}"):
        read_earnings(write(tmp_path, **changes))


def test_a_csv_of_ones_own_runs_beside_the_consensus(provider, out, monkeypatch, capsys):
    lines = ["id,prompt,end_time,ground_truth,Std,additional values"]
    lines += [
        f"q{n},What will be Firm {n}'s revenue?,2025-08-{n + 1:02},100,10,{110 if n else 90}"
        for n in range(12)
    ]
    monkeypatch.setenv(public_sets.OWN_EARNINGS, str(write_lines(out / "mine.csv", *lines)))
    provider.answer = lambda asked: {"content": r"\boxed{102}"}
    use_entries(monkeypatch, {"mine": make_entry(provider)})
    found = carry_out(["run", "--set", "earnings", "--agent", "mine"])["agents"]["mine"]
    (beside,) = found["worldreasoner"]["consensus"]
    assert (beside["n"], beside["n_ties"], beside["win_rate"]) == (12, 0, 1.0)
    assert beside["mape"] == pytest.approx(0.02) and beside["mape_consensus"] == pytest.approx(0.1)
    shown = " ".join(capsys.readouterr().out.split())
    assert "Beside the analysts' consensus" in shown and "consensus 0.00" in shown
