"""Recipes of window L: weekly and monthly series that reach 2023 to 2026, for questions of 30 to
180 days.

A week is dated by its last day, a Sunday; a week in which a series has too few days, or that its
file does not finish, is left out; but the first week of the flights holds one day, the Sunday on
which their year began. Rows begin in July 2020, so that a series shows what it did in earlier years
at the same time of year.
"""

import io

import pandas as pd

from slice.nature import read_rotation, read_space_weather
from slice.recipe import read_csv, read_zip, shape_rows
from slice.trade import read_cpi

FIRST, LAST = pd.Timestamp("2020-07-01"), pd.Timestamp("2026-11-02")
CURRENCIES = "USD GBP JPY CHF SEK NOK PLN HUF TRY BRL ZAR INR KRW MXN".split()
PAGES = {
    "wiki_Germany": "Germany",
    "wiki_Microsoft_Office": "Microsoft Office",
    "wiki_Google_Chrome": "Google Chrome",
    "wiki_Periodic_table": "Periodic table",
    "wiki_Standard_deviation": "Standard deviation",
    "wiki_Elizabeth_II": "Elizabeth II",
    "wiki_William_Shakespeare": "William Shakespeare",
    "wiki_Michael_Jackson": "Michael Jackson",
}
COUNTIES = [
    "Tainan City",
    "Kaohsiung City",
    "Pingtung County",
    "New Taipei City",
    "Taipei City",
    "Taichung City",
]
CARRIERS = {
    "AA": "American Airlines",
    "B6": "JetBlue",
    "DL": "Delta",
    "NK": "Spirit",
    "UA": "United",
    "YX": "Republic Airways",
}


def gather_weeks(days, how, least=4):
    """Return a daily table (dates as index) by weeks that end on Sunday: `how` is mean, sum or
    last.

    A week needs `least` days with a value (seven of a sum), and must have ended by the table's last
    day.

    >>> days = pd.DataFrame({"x": range(10)}, index=pd.date_range("2024-01-01", periods=10))
    >>> gather_weeks(days, "mean")["x"].to_dict()
    {Timestamp('2024-01-07 00:00:00'): 3.0}
    """
    days = days[days.index >= FIRST].sort_index()
    weeks = days.resample("W-SUN")
    whole = weeks.count() >= (7 if how == "sum" else least)
    table = weeks.agg(how).where(whole)
    return table[table.index <= min(days.index.max(), LAST)]


def melt_weeks(table, variable, decimals):
    """Return a table of weeks by entity as tidy rows of one variable, ordered by date and
    entity."""
    long = (
        table.rename_axis("date")
        .reset_index()
        .melt("date", var_name="entity", value_name=variable)
        .dropna()
    )
    rows = shape_rows(long, long["date"], long["entity"], {variable: (variable, decimals)})
    return rows.sort_values(["occurred_at", "entity"], ignore_index=True)


def name_weeks(table, entity, decimals):
    """Return weeks of several variables of one entity as tidy rows; `decimals` maps a variable to
    its own."""
    rows = shape_rows(
        table, table.index.to_series(), entity, {name: (name, n) for name, n in decimals.items()}
    )
    return rows.dropna().sort_values("occurred_at", ignore_index=True)


def build_ecb_weeks(raw):
    """Return the last euro reference rate of each week, units of each currency per euro."""
    table = read_csv(read_zip(raw), na_values=["N/A"], index_col="Date", parse_dates=True)[
        CURRENCIES
    ]
    return melt_weeks(gather_weeks(table, "last", 3), "rate", 4)


def build_cpi_months(raw):
    """Return the price indexes (`trade.read_cpi`) of all months since the first row kept."""
    rows = read_cpi(raw)
    return rows[rows["occurred_at"] >= str(FIRST.date())].sort_values(
        ["occurred_at", "entity"], ignore_index=True
    )


def build_flux_weeks(*files):
    """Return the mean of each week's observed 10.7 cm solar radio flux, in solar flux units."""
    table = read_space_weather(*files).set_index("date")[["f107"]]
    return name_weeks(gather_weeks(table, "mean"), "Sun", {"f107": 1})


def build_geomagnetic_weeks(*files):
    """Return the mean of each week's daily Ap (no unit)."""
    table = read_space_weather(*files).set_index("date")[["ap"]]
    return name_weeks(gather_weeks(table, "mean"), "Earth", {"ap": 1})


def build_rotation_weeks(raw):
    """Return the mean of each week's excess length of day (ms), observed days only."""
    table = read_rotation(raw).dropna(subset="lod").set_index("date")[["lod"]]
    return name_weeks(gather_weeks(table, "mean"), "Earth", {"lod": 3})


def read_holidays(raw, columns):
    """Return some columns of AutoTS's daily table."""
    return read_csv(read_zip(raw), index_col=0, parse_dates=True, usecols=["datetime", *columns])


def build_treasury_weeks(raw):
    """Return the last yield of each week of US Treasury securities at ten years, in percent."""
    return name_weeks(
        gather_weeks(read_holidays(raw, ["DGS10"]), "last", 3), "10 years", {"DGS10": 2}
    ).rename(columns={"DGS10": "yield"})


def build_syracuse_weeks(raw):
    """Return each week's precipitation (sum, inches) and mean of the daily fastest two-minute wind
    (miles an hour)."""
    table = read_holidays(raw, ["USW00014771_PRCP", "USW00014771_WSF2"])
    rain, wind = gather_weeks(table.iloc[:, :1], "sum"), gather_weeks(table.iloc[:, 1:], "mean")
    both = pd.concat([rain, wind], axis=1).set_axis(["rain", "wind"], axis=1)
    return name_weeks(both, "Syracuse", {"rain": 2, "wind": 1})


def build_wikipedia_weeks(raw):
    """Return views a week of eight pages of the English Wikipedia, in thousands."""
    table = gather_weeks(read_holidays(raw, list(PAGES)).rename(columns=PAGES), "sum") / 1000
    return melt_weeks(table, "views", 1)


def build_dengue_weeks(raw):
    """Return dengue cases notified a week in Taiwan, for six counties of residence and as a
    whole."""
    cases = read_csv(raw, usecols=["Date_Notification", "County_living"], dtype=str)
    day = pd.to_datetime(cases["Date_Notification"].str.replace("/", "-"))
    counts = pd.crosstab(day, cases["County_living"])
    counts["Taiwan"] = counts.sum(axis=1)
    days = pd.date_range(FIRST, counts.index.max())
    return melt_weeks(
        gather_weeks(counts.reindex(days, fill_value=0)[[*COUNTIES, "Taiwan"]], "sum"), "cases", 0
    )


def build_flight_weeks(raw):
    """Return the mean departure delay a week (minutes) of flights from New York in 2023, by six
    carriers."""
    table = pd.read_parquet(
        io.BytesIO(raw), columns=["year", "month", "day", "carrier", "dep_delay"]
    )
    day = pd.to_datetime(table[["year", "month", "day"]]) + pd.offsets.Week(weekday=6, n=0)
    by_week = table.groupby([day, table["carrier"].map(CARRIERS)])["dep_delay"].mean().unstack()
    return melt_weeks(by_week[by_week.index <= "2023-12-31"], "delay", 1)


def build_new_york_weeks(raw):
    """Return the mean of each week's hourly temperatures (°F) at John F. Kennedy airport in
    2023."""
    table = pd.read_parquet(io.BytesIO(raw), columns=["origin", "year", "month", "day", "temp"])
    table = table[table["origin"] == "JFK"]
    daily = table.groupby(pd.to_datetime(table[["year", "month", "day"]]))["temp"].mean().to_frame()
    return name_weeks(gather_weeks(daily, "mean"), "JFK airport", {"temp": 1}).rename(
        columns={"temp": "temperature"}
    )


BUILDS = {
    "cpi_months": build_cpi_months,
    "dengue_weeks": build_dengue_weeks,
    "ecb_weeks": build_ecb_weeks,
    "flight_weeks": build_flight_weeks,
    "flux_weeks": build_flux_weeks,
    "geomagnetic_weeks": build_geomagnetic_weeks,
    "new_york_weeks": build_new_york_weeks,
    "rotation_weeks": build_rotation_weeks,
    "syracuse_weeks": build_syracuse_weeks,
    "treasury_weeks": build_treasury_weeks,
    "wikipedia_weeks": build_wikipedia_weeks,
}
"""Source id -> what makes its rows of the bytes of its files."""
