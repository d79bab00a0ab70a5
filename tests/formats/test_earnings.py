"""Companies' figures beside the analysts' consensus: FutureX's form, a reader's own csv, a run."""

import json

import pytest

from daybefore import windows
from daybefore.commands.main import carry_out
from daybefore.formats.earnings import build_events, read_earnings

PROMPT = 'You forecast. The event to be predicted: "2025-07-24 (GMT+8), What will be {who}?"\n   IMPORTANT: a box.'


def make_rows(**changes):
    rows = [
        {"id": "a1", "prompt": PROMPT.format(who="Harbour Ltd's revenue"), "ground_truth": "1000", "Std": 60.0},
        {"id": "a2", "prompt": PROMPT.format(who="Harbour Ltd's EPS"), "ground_truth": "2.0", "Std": None},
        {"id": "a3", "prompt": "What will be Quarry's earnings per share?", "ground_truth": None},
    ]
    for row, consensus in zip(rows, ("950.0000", "1.5", ""), strict=True):
        row |= {"end_time": "2025-07-24 (GMT+8)", "level": 3, "additional values": consensus}
    rows[0] |= changes
    return rows


def test_both_metrics_are_read_with_consensus_truth_and_moment(tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps(make_rows()))
    events, answers, consensus = build_events(read_earnings(tmp_path / "mine.json"))
    assert events["prompt"][0] == "2025-07-24 (GMT+8), What will be Harbour Ltd's revenue?", "the question alone"
    assert events["unit"].tolist() == ["US dollars", *["US dollars a share"] * 2]
    assert set(events["as_of"]) == {"2025-07-17T00:00:00+08:00"}, "a week before"
    assert events["cluster_id"].nunique() == 2, "a company is one case"
    assert answers["event_id"].tolist() == ["earnings-a1", "earnings-a2"], "what is not out yet has no answer"
    assert answers["spread"].fillna(-1).tolist() == [60.0, -1.0] and answers["spread_rule"].fillna("").tolist() == [
        "file",
        "",
    ]
    assert consensus["consensus"].fillna(-1).tolist() == [950.0, 1.5, -1.0]
    assert consensus["metric"].tolist() == ["revenue", "eps", "eps"]
    assert not events.astype(str).apply(lambda column: column.str.contains("950")).any().any(), "no prompt shows it"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"end_time": "soon"}, "'soon' is no day such as 2025-07-24"),
        ({"additional values": "plenty"}, "column additional values: 'plenty' is no number"),
        ({"id": "a2"}, "'a2' stands twice"),
        ({"prompt": ""}, "column prompt: it is blank"),
    ],
)
def test_a_row_that_cannot_be_asked_is_refused_by_its_place(changes, sentence, tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps(make_rows(**changes)))
    with pytest.raises(ValueError, match=f"mine.json, row .*{sentence}"):
        read_earnings(tmp_path / "mine.json")


def test_a_csv_of_ones_own_runs_beside_the_consensus(provider, tmp_path, monkeypatch, capsys):
    head = "id,prompt,end_time,ground_truth,Std,additional values\n"
    lines = [f"q{n},What will be Firm {n}'s revenue?,2025-08-{n + 1:02},100,10,{110 if n else 90}" for n in range(12)]
    (tmp_path / "mine.csv").write_text(head + "\n".join(lines) + "\n")
    monkeypatch.setenv(windows.OWN_EARNINGS, str(tmp_path / "mine.csv"))
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "out"))
    provider.answer = lambda asked: {"content": r"\boxed{102}"}
    entry = {"category": "base_model", "framework": "prompt", "method": "zero_shot", "model": "openai/mock-1"}
    entry |= {"api_base": provider.address, "usd_per_million": {"input": 1, "output": 1}}
    monkeypatch.setattr("daybefore.commands.service.load_entries", lambda **_: {"mine": entry})
    found = carry_out(["run", "--set", "earnings", "--agent", "mine"])["agents"]["mine"]
    (beside,) = found["worldreasoner"]["consensus"]
    assert (beside["n"], beside["n_ties"], beside["win_rate"]) == (12, 0, 1.0)
    assert beside["mape"] == pytest.approx(0.02) and beside["mape_consensus"] == pytest.approx(0.1)
    shown = capsys.readouterr().out
    assert "Beside the analysts' consensus" in shown and "consensus  0.00" in shown
