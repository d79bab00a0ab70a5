"""Recipes of the sources on goods, weekly: avocados sold and petroleum made, moved and burned."""

import io

import pandas as pd

from slice.recipe import cut_windows, read_csv, read_zip

# Variable -> words that only its series has in its name, in the weekly petroleum file.
PETROLEUM = {
    "stocks": "Ending Stocks",
    "exports": "Exports of",
    "imports": "Imports of",
    "production": "Field Production",
    "utilization": "Percent Utilization",
    "supplied": "Product Supplied of Petroleum Products",
    "gasoline_supplied": "Product Supplied of Finished",
    "gasoline_production": "Refiner and Blender",
}
# Weeks with a federal holiday on Monday: the petroleum report came out on Thursday at 11:00 instead
# of Wednesday.
HOLIDAY_WEEKS = {
    "2016-09-02": "2016-09-08T11:00:00-04:00",
    "2016-10-07": "2016-10-13T11:00:00-04:00",
}


def build_avocado(raw: bytes) -> pd.DataFrame:
    """Return the weekly mean price (dollars) and number of conventional avocados sold, by region.

    Raises ImportError when pandas finds no reader of parquet files (pyarrow): it is needed to
    build, not to run.
    """
    sales = pd.read_parquet(
        io.BytesIO(raw), columns=["date", "region", "type", "average_price", "total_volume"]
    )
    sales = sales[sales["type"] == "conventional"]
    region = sales["region"].str.replace(r"(?<=[a-z])(?=[A-Z])", " ", regex=True)
    rows = pd.DataFrame({"occurred_at": sales["date"].astype(str).str[:10], "entity": region})
    rows["price"], rows["volume"] = (
        sales["average_price"].round(2),
        sales["total_volume"].round().astype(int),
    )
    return cut_windows(rows, warmup="weekly")


def read_petroleum(raw: bytes) -> pd.DataFrame:
    """Return the weekly petroleum file: one row a week (Friday), one column a series, named as in
    the file."""
    weeks = read_csv(read_zip(raw))
    return weeks.pivot(index="datetime", columns="series_id", values="value").rename_axis(
        "occurred_at"
    )


def build_petroleum(raw: bytes) -> pd.DataFrame:
    """Return eight weekly U.S. petroleum figures (thousand barrels, or a day; utilization in per
    cent)."""
    weeks = read_petroleum(raw)
    series = {
        name: next(column for column in weeks if words in column)
        for name, words in PETROLEUM.items()
    }
    rows = weeks[list(series.values())].set_axis(list(series), axis=1).round(1).reset_index()
    rows.insert(1, "entity", "United States")
    whole = [name for name in series if name != "utilization"]
    rows = cut_windows(rows, warmup="weekly").astype(dict.fromkeys(whole, int))
    return rows.assign(known_at=rows["occurred_at"].map(HOLIDAY_WEEKS))


def build_gasoline(raw: bytes) -> pd.DataFrame:
    """Return the weekly retail price of midgrade conventional gasoline in Minnesota (dollars a
    gallon)."""
    weeks = read_petroleum(raw)
    rows = (
        weeks.filter(like="Minnesota Midgrade").set_axis(["price"], axis=1).round(3).reset_index()
    )
    rows.insert(1, "entity", "Minnesota")
    return cut_windows(rows, warmup="weekly")


BUILDS = {"avocado": build_avocado, "eia_weekly": build_petroleum, "eia_gasoline": build_gasoline}
"""Source id -> what makes its rows of the bytes of its files."""
