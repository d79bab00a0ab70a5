"""The reader of the authors' released database, on a small one of that form with invented rows."""

import json
import sqlite3
from contextlib import closing

import pandas as pd
import pytest
from public import build

from helpers.public_files import MIRROR
from studies.worldreasoner.release import TABLES

TITLES = ("harbour strike ends ferry", "returns bridge vote quarry", "storm mayor budget signed")


def make_forecast(at, condition, right, slot="mid", made="2026-01-02", model="openai/gpt-5.4"):
    about = {"benchmark_condition": condition, "benchmark_model": model, "slot": slot}
    row = {"id": f"f{at:02}-{condition}-{slot}-{made}", "question_id": f"q{at:02}"}
    row |= {"model_name": model, "is_correct": right, "brier_score": 0.04, "log_score": -0.2}
    return row | {"evaluation_metadata": json.dumps(about), "created_at": made}


@pytest.fixture
def database(tmp_path):
    """Half of 24 questions start before GPT-5.4's cutoff (2025-08). Vanilla is right on the old ones
    alone; the graph condition on two of three, where it names a key event."""
    rows = {name: [] for name in TABLES}
    for at in range(24):
        question = f"q{at:02}"
        start = f"2025-{'07' if at < 12 else '09'}-15T00:00:00+00:00"
        rows["questions"].append({"id": question, "estimated_start_time": start})
        for n, title in enumerate([*TITLES, "the outcome itself"]):
            event = {"id": f"e{at:02}{n}", "title": title, "description": f"{title} in town {at}"}
            rows["events"].append(
                event | {"occurred_date": f"2025-10-0{n + 1}", "is_outcome": n == 3}
            )
            impact = {"event_id": event["id"], "question_id": question, "confidence": 0.9}
            rows["event_outcome_impacts"].append(impact | {"impact_magnitude": 0.9 - n / 10})
        graph = make_forecast(at, "worldreasoner", int(at % 3 > 0))
        rows["forecasts"] += [
            make_forecast(at, "vanilla_llm", 0, made="2026-01-01"),  # asked again later
            make_forecast(at, "vanilla_llm", int(at < 12 or at % 3 == 0)),
            graph,
            make_forecast(at, "worldreasoner", 1, slot="late"),
            make_forecast(at, "vanilla_llm", None, model="openai/gpt-4o-2024-11-20"),
        ]
        named = TITLES[0] if at % 3 else "nothing of the kind"
        own = {"id": f"x{at}", "forecast_id": graph["id"], "title": named, "description": named}
        rows["forecast_events"].append(own | {"occurred_date": "2025-10-02T00:00:00+00:00"})
    path = tmp_path / "worldreasoner/worldreasoner_public.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as made:
        for name, table in rows.items():
            pd.DataFrame(table).to_sql(name, made, index=False)


@pytest.mark.usefixtures("database")
def test_the_papers_tables_of_invented_rows(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv(MIRROR, str(tmp_path))
    monkeypatch.setenv("DAYBEFORE_OUT", str(tmp_path / "out"))
    assert build.main(["worldreasoner_db"]) == 0
    assert "72 forecasts under a condition, of 24 questions" in capsys.readouterr().out
    found = {path.stem: pd.read_csv(path) for path in tmp_path.glob("out/.cache/*/*.csv")}
    means = found["conditions"].query("model == 'GPT-5.4'")
    means = means.set_index(["condition", "metric"])["mean"]
    assert means["Vanilla", "Acc"] == pytest.approx(4 / 12)
    assert means["Search-Enabled Graph", "Acc"] == pytest.approx(8 / 12)
    one_of_three = (8 / 12) / 3
    assert means["Search-Enabled Graph", "KER"] == pytest.approx(one_of_three)
    assert ("Vanilla", "KER") not in means
    split = found["split"].set_index("subset")["mean"]
    assert split.to_dict() == pytest.approx({"correct": 1 / 3, "incorrect": 0})
    pair = found["pairs"].iloc[0]
    assert (pair["agent_a"], pair["difference"]) == ("Vanilla", pytest.approx(-4 / 12))
    cutoff = found["cutoffs"].iloc[0]
    assert (cutoff["n"], cutoff["n_kept"], cutoff["left_out"]) == (24, 12, 1.0)
    assert cutoff["all"] == pytest.approx(16 / 24) and cutoff["difference"] == pytest.approx(8 / 12)
    assert set(found["horizons"]["slot"]) == {"Mid", "Late"}


def test_a_file_that_is_missing_or_of_another_form_is_told_in_a_sentence(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv(MIRROR, str(tmp_path))
    assert build.main(["worldreasoner_db"]) == 1
    assert "download worldreasoner_public.db of release v1.0.0" in capsys.readouterr().err
    path = tmp_path / "worldreasoner/worldreasoner_public.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE questions (id TEXT)")
    assert build.main(["worldreasoner_db"]) == 1
    assert "table questions: no such column" in capsys.readouterr().err
    path.write_bytes(b"no database at all")
    assert build.main(["worldreasoner_db"]) == 1
    assert "file is not a database" in capsys.readouterr().err
