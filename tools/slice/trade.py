"""Recipes of money: exchange rates, oil, shares, prices and the Bitcoin network; and the indices
one may only load."""

import sqlite3
from contextlib import closing

import pandas as pd

from slice.recipe import cut_windows, read_csv, read_pickle, read_zip, shape_rows

CPI_ITEMS = {
    "SA0": "All items",
    "SA0L1E": "All items less food and energy",
    "SAF11": "Food at home",
    "SEFH": "Eggs",
    "SEFJ01": "Milk",
    "SEHA": "Rent of primary residence",
    "SEHF01": "Electricity",
    "SETB01": "Gasoline",
    "SETA02": "Used cars and trucks",
    "SETG01": "Airline fares",
    "SAA": "Apparel",
    "SAM": "Medical care",
}
"""Items of the US consumer price index that are kept: their code and the name shown."""
ALL_WINDOWS = ("A", "C1", "C2")


def add_next_weekday(rows, hour, zone):
    """Return rows with `known_at`: the next Monday-to-Friday day after each date at `hour` o'clock
    local time.

    >>> friday = pd.DataFrame({"occurred_at": ["2016-10-07"]})
    >>> add_next_weekday(friday, 10, "America/New_York")["known_at"].tolist()
    ['2016-10-10T10:00:00-04:00']
    """
    day = pd.to_datetime(rows["occurred_at"]) + pd.offsets.BDay(1) + pd.Timedelta(hours=hour)
    return rows.assign(known_at=[moment.isoformat() for moment in day.dt.tz_localize(zone)])


def build_ecb(raw):
    """Return euro reference rates, units of each currency per euro, on the days they were fixed."""
    table = read_csv(read_zip(raw), na_values=["N/A"]).dropna(axis=1, how="all")
    long = table.melt("Date", var_name="currency", value_name="rate").dropna()
    rows = shape_rows(long, long["Date"], long["currency"], {"rate": ("rate", 5)})
    return cut_windows(rows, ALL_WINDOWS)


def build_wti(raw):
    """Return daily Cushing WTI spot prices, US dollars a barrel; a dot in the file is a day without
    a price."""
    table = read_csv(raw, na_values=["."])
    rows = shape_rows(table, table["Date"], "WTI", {"price": ("DCOILWTICO", 2)})
    return add_next_weekday(cut_windows(rows), 10, "America/New_York")


def build_brent(raw):
    """Return daily Europe Brent spot prices, US dollars a barrel."""
    table = read_csv(raw)
    rows = shape_rows(
        table, pd.to_datetime(table["day"], format="mixed"), "Brent", {"price": ("DPB", 2)}
    )
    return add_next_weekday(cut_windows(rows), 10, "America/New_York")


def build_gbp_index(raw):
    """Return the Bank of England's sterling effective exchange rate index (January 2005 = 100)."""
    table = read_pickle(raw)
    rows = shape_rows(table, table["date"], "Sterling", {"index": ("value", 4)})
    return add_next_weekday(cut_windows(rows), 10, "Europe/London")


def build_tech_stocks(raw):
    """Return unadjusted daily closes of Apple, Alphabet (GOOG) and Microsoft, US dollars."""
    table = read_pickle(raw).melt("Date", ["AAPL", "GOOG", "MSFT"], "ticker", "close")
    rows = shape_rows(table, table["Date"], table["ticker"], {"close": ("close", 2)})
    return cut_windows(rows)


def build_btc(raw):
    """Return the number of transactions in the Bitcoin block chain by day (UTC)."""
    table = read_csv(raw)
    return cut_windows(shape_rows(table, table["ts"], "Bitcoin", {"transactions": ("y", 0)}))


def read_cpi(raw):
    """Return monthly US city average price indexes since 2015, not seasonally adjusted, dated by
    the month's first day.

    `raw` is a database (SQLite) as bytes.
    """
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(raw)
        table = pd.read_sql_query(
            "SELECT series, year, period, value FROM indexes WHERE year >= 2015", database
        )
    table["item"] = table["series"].str.removeprefix("CUUR0000").map(CPI_ITEMS)
    table = table[table["item"].notna() & table["period"].between("M01", "M12")].reset_index(
        drop=True
    )
    month = table["year"].astype(str) + "-" + table["period"].str[1:] + "-01"
    return shape_rows(table, month, table["item"], {"index": ("value", 3)})


def build_cpi(raw):
    """Return the price indexes (`read_cpi`) of the windows' months."""
    return cut_windows(read_cpi(raw), ALL_WINDOWS, "monthly")


BUILDS = {
    "ecb_fixings": build_ecb,
    "oil_wti": build_wti,
    "oil_brent": build_brent,
    "gbp_index": build_gbp_index,
    "tech_stocks": build_tech_stocks,
    "btc_transactions": build_btc,
    "us_cpi": build_cpi,
}
"""Source id -> what makes its rows of the bytes of its files."""
