import hashlib
import tomllib

import pandas as pd
import pytest
from slice import long

from helpers.files import ROOT

FOLDER = ROOT / "data/replay/long"
MANIFEST = pd.read_csv(FOLDER / "manifest.csv").set_index("file")
ASKED = tomllib.loads((ROOT / "data/horizons.toml").read_text(encoding="utf-8"))


def read_rows(source_id):
    return pd.read_csv(FOLDER / f"{source_id}.csv", dtype={"occurred_at": str, "entity": str})


def test_manifest_lists_exactly_the_files_with_their_digests_and_every_one_is_asked_about():
    digests = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in FOLDER.glob("*.csv")
    }
    digests.pop("manifest.csv")
    assert digests == MANIFEST["sha256"].to_dict()
    assert (
        set(digests) == {f"{name}.csv" for name in long.BUILDS} == {f"{name}.csv" for name in ASKED}
    )
    assert set(MANIFEST["licence"]) == {"commit"} and MANIFEST["attribution"].str.len().min() > 20


def test_values_agree_with_those_of_the_other_windows():
    daily = pd.read_csv(ROOT / "data/replay/ecb_fixings.csv", dtype={"occurred_at": str}).query(
        "entity == 'USD'"
    )
    friday = daily.set_index("occurred_at").loc["2026-06-05", "rate"]
    weekly = read_rows("ecb_weeks").query("entity == 'USD'").set_index("occurred_at")["rate"]
    assert weekly["2026-06-07"] == pytest.approx(friday, abs=5e-5)
    flux = pd.read_csv(ROOT / "data/replay/solar_flux.csv", index_col="occurred_at")["f107"]
    week = flux.loc["2026-06-01":"2026-06-07"]
    assert read_rows("flux_weeks").set_index("occurred_at").loc["2026-06-07", "f107"] == round(
        week.mean(), 1
    )


def test_a_week_that_the_file_does_not_finish_is_left_out():
    days = pd.DataFrame({"x": range(13)}, index=pd.date_range("2024-01-01", periods=13))
    assert long.gather_weeks(days, "last")["x"].dropna().to_dict() == {
        pd.Timestamp("2024-01-07"): 6.0
    }
    holed = days.drop(pd.Timestamp("2024-01-03"))
    assert (
        long.gather_weeks(holed, "sum")["x"].dropna().empty
        and long.gather_weeks(holed, "mean")["x"].notna().any()
    )
