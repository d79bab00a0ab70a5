"""The reader of the authors' released database, on a small one of that form with invented rows."""

import json
import sqlite3
from contextlib import closing

import pandas as pd
import pytest
from public import build

from helpers.public_files import MIRROR
from studies.worldreasoner.release import TABLES

WORDS = "harbour strike ends ferry returns bridge vote quarry storm mayor budget signed tunnel opens market closes"


def make_questions(n=24):
    """Half of them start before GPT-5.4's cutoff (2025-08), half after."""
    months = ["07"] * (n // 2) + ["09"] * (n // 2)
    starts = [f"2025-{month}-15T00:00:00+00:00" for month in months]
    return [{"id": f"q{at:02}", "estimated_start_time": day} for at, day in enumerate(starts)]


def make_event(at, n, title, day, is_outcome=0):
    about = {"description": f"{title} in town {at}", "is_outcome": is_outcome}
    return {"id": f"e{at:02}{n}", "title": title, "occurred_date": day} | about


def make_forecast(at, condition, right, slot="mid", made="2026-01-02", model="openai/gpt-5.4"):
    about = {"benchmark_condition": condition, "benchmark_model": model, "slot": slot}
    row = {
        "id": f"f{at:02}-{condition}-{slot}-{made}",
        "question_id": f"q{at:02}",
        "model_name": model,
    }
    row |= {
        "is_correct": right,
        "brier_score": 0.04 if right else 0.64,
        "log_score": -0.2 if right else -1.6,
    }
    return row | {"evaluation_metadata": json.dumps(about), "created_at": made}


@pytest.fixture
def database(tmp_path):
    """Vanilla is right on the old questions alone; the graph condition on two of three, where it
    names a key event."""
    rows = {name: [] for name in TABLES}
    rows["questions"] = make_questions()
    for at in range(24):
        question, words = f"q{at:02}", WORDS.split()
        titles = [" ".join(words[n : n + 4]) for n in (0, 4, 8)]
        rows["events"] += [
            make_event(at, n, title, f"2025-10-0{n + 1}") for n, title in enumerate(titles)
        ]
        rows["events"].append(make_event(at, 9, "the outcome itself", "2025-12-01", is_outcome=1))
        rows["event_outcome_impacts"] += [
            {"event_id": f"e{at:02}{n}", "question_id": question, "confidence": 0.9}
            | {"impact_magnitude": 0.9 - n / 10}
            for n in range(3)
        ]
        graph = make_forecast(at, "worldreasoner", int(at % 3 > 0))
        rows["forecasts"] += [
            make_forecast(at, "vanilla_llm", 0, made="2026-01-01"),  # asked again later
            make_forecast(at, "vanilla_llm", int(at < 12 or at % 3 == 0)),
            graph,
            make_forecast(at, "worldreasoner", 1, slot="late"),
            make_forecast(at, "vanilla_llm", None, model="openai/gpt-4o-2024-11-20"),
        ]
        named = titles[0] if at % 3 else "nothing of the kind"
        own = {"id": f"x{at}", "forecast_id": graph["id"], "title": named, "description": named}
        rows["forecast_events"].append(own | {"occurred_date": "2025-10-02T00:00:00+00:00"})
    path = tmp_path / "worldreasoner/worldreasoner_public.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as made:
        for name, table in rows.items():
            pd.DataFrame(table)[TABLES[name].split()].to_sql(name, made, index=False)
        made.commit()
    return path


def test_the_papers_tables_of_invented_rows(database, monkeypatch, tmp_path, capsys):
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
