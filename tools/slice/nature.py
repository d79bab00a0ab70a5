"""Recipes of air, sea, space and roads: weather stations, buoys, geomagnetism, Earth rotation,
traffic, car parks."""

import io

import pandas as pd

from slice.recipe import cut_windows, read_csv, read_pickle, shape_rows

MINIMUM_HOURS = 20
"""A day of hourly traffic counts for a ranking of hours only when so many of its hours were
recorded."""
MINIMUM_SHARE = 0.85
"""A car park is kept when it reported on this share of the days on which any did."""


def build_bwi(raw):
    """Return daily extremes (°C) and precipitation (mm) at Baltimore-Washington airport, without
    the bike counts."""
    table = (
        read_csv(raw, usecols=["date", "tmin", "tmax", "pn"])
        .drop_duplicates("date")
        .reset_index(drop=True)
    )
    columns = {"tmax": ("tmax", 1), "tmin": ("tmin", 1), "precipitation": ("pn", 1)}
    return cut_windows(shape_rows(table, table["date"], "Baltimore-Washington airport", columns))


def build_lincoln(raw):
    """Return daily extremes (°F) at the station Lincoln 11 SW, Nebraska."""
    table = read_csv(raw)
    columns = {"tmax": ("TMAX", 0), "tmin": ("TMIN", 0)}
    return cut_windows(shape_rows(table, table["DATE"], "Lincoln", columns))


def build_minneapolis(raw):
    """Return hourly air temperature (°C) and cloud cover (%) at Minneapolis; the first row of an
    hour counts."""
    table = read_csv(raw).drop_duplicates("date_time").reset_index(drop=True)
    table["celsius"] = table["temp"] - 273.15
    columns = {"temperature": ("celsius", 1), "clouds": ("clouds_all", 0)}
    return cut_windows(shape_rows(table, table["date_time"], "Minneapolis", columns))


def build_clemson(raw):
    """Return daily extremes at Clemson in whole °F, as the station reads them (the file has tenths
    of °C put in °F)."""
    table = read_pickle(raw)
    columns = {"tmax": ("tmax", 0), "tmin": ("tmin", 0)}
    return cut_windows(shape_rows(table, table["date"], "Clemson", columns))


def build_sst_buoy(raw):
    """Return sea surface temperature (°C) at buoy B01 on each full hour, UTC."""
    table = read_csv(raw).set_axis(["time", "celsius"], axis=1)
    table = table[table["time"].str.endswith(":00:00Z")].reset_index(drop=True)
    time = pd.to_datetime(table["time"]).dt.tz_localize(None)
    return cut_windows(shape_rows(table, time, "Buoy B01", {"temperature": ("celsius", 2)}))


def build_keywest(raw):
    """Return hourly water temperature (°F) at Key West; the file's clock is read as UTC."""
    table = read_pickle(raw)
    time = pd.to_datetime(table["DateTime"], format="%m/%d/%Y %H:%M")
    return cut_windows(shape_rows(table, time, "Key West", {"temperature": ("WaterTemp", 1)}))


def read_columns(text, spans):
    """Return a text of columns of fixed width as a table; `spans` maps a name to its first place
    and that after it."""
    return pd.read_fwf(
        io.StringIO(text), colspecs=list(spans.values()), names=list(spans), header=None
    )


def read_space_weather(*files):
    """Return the observed days of fixed-width space weather files, later files filling what earlier
    ones lack."""
    spans = {
        "date": (0, 10),
        "kp_sum": (43, 46),
        "ap": (79, 82),
        "sunspots": (88, 92),
        "f107": (112, 118),
    }
    tables = []
    for raw in files:
        observed = (
            raw.decode("ascii").split("BEGIN OBSERVED")[1].split("END OBSERVED")[0].strip("\r\n")
        )
        tables.append(read_columns(observed, spans))
    table = pd.concat(tables).drop_duplicates("date").reset_index(drop=True)
    return table.assign(date=pd.to_datetime(table["date"], format="%Y %m %d"))


def build_geomagnetic(*files):
    """Return the daily sum of the eight Kp values and the daily mean Ap (no unit)."""
    table = read_space_weather(*files)
    table["kp"] = table["kp_sum"] / 10
    return cut_windows(
        shape_rows(table, table["date"], "Earth", {"kp_sum": ("kp", 1), "ap": ("ap", 0)}),
        ["A", "C1"],
    )


def build_solar_flux(*files):
    """Return the observed 10.7 cm solar radio flux by day, in solar flux units."""
    table = read_space_weather(*files)
    return cut_windows(shape_rows(table, table["date"], "Sun", {"f107": ("f107", 1)}), ["A", "C1"])


def read_rotation(raw):
    """Return the observed days of the file of the Earth's rotation: date, x, ut1_utc, lod."""
    spans = {
        "mjd": (7, 15),
        "pole": (16, 17),
        "x": (18, 27),
        "clock": (57, 58),
        "ut1_utc": (58, 68),
        "lod": (79, 86),
    }
    table = read_columns(raw.decode("ascii"), spans)
    table = table[(table["pole"] == "I") & (table["clock"] == "I")].reset_index(drop=True)
    return table.assign(date=pd.Timestamp("1858-11-17") + pd.to_timedelta(table["mjd"], unit="D"))


def build_earth_rotation(raw):
    """Return polar motion x (arc seconds), UT1-UTC (seconds) and excess length of day (ms),
    observed days only."""
    table = read_rotation(raw)
    columns = {"x": ("x", 6), "ut1_utc": ("ut1_utc", 7), "lod": ("lod", 4)}
    return cut_windows(shape_rows(table, table["date"], "Earth", columns), ["A", "C1", "C2"])


def build_i94(raw):
    """Return hourly westbound vehicles on Interstate 94 at station 301; a repeated hour counts
    once."""
    table = read_csv(raw).drop_duplicates("date_time").reset_index(drop=True)
    return cut_windows(
        shape_rows(table, table["date_time"], "I-94", {"volume": ("traffic_volume", 0)})
    )


def build_sf(raw):
    """Return hourly occupancy of a San Francisco Bay Area freeway sensor, in percent."""
    table = read_csv(raw)
    table["percent"] = table["y"] * 100
    return cut_windows(
        shape_rows(table, table["ts"], "Bay Area freeway", {"occupancy": ("percent", 2)})
    )


def list_hours(rows):
    """Return hourly rows as daily ones whose entity is the hour ("07:00"), for days with enough
    hours.

    >>> rows = pd.DataFrame({"occurred_at": [f"2016-10-09T{h:02}:00" for h in range(20)], "entity": "x", "n": 1})
    >>> list_hours(rows)["entity"].tolist()[:2], len(list_hours(rows[1:]))
    (['00:00', '01:00'], 0)
    """
    day, hour = rows["occurred_at"].str[:10], rows["occurred_at"].str[11:]
    full = day.groupby(day).transform("size") >= MINIMUM_HOURS
    return rows.assign(occurred_at=day, entity=hour)[full].reset_index(drop=True)


def build_parking(raw):
    """Return cars and occupancy (% of capacity) of Birmingham's car parks on the hour, from the
    reading next to it.

    Readings come about every half hour, 08:00 to 16:30; the last one of a rounded time counts.
    """
    table = read_csv(raw)
    table["time"] = pd.to_datetime(table["LastUpdated"]).dt.round("30min")
    table = table[(table["time"].dt.minute == 0) & (table["Occupancy"] >= 0)].sort_values(
        "LastUpdated", kind="stable"
    )
    table = table.drop_duplicates(["SystemCodeNumber", "time"], keep="last").reset_index(drop=True)
    table["share"] = 100 * table["Occupancy"] / table["Capacity"]
    columns = {"occupancy": ("Occupancy", 0), "share": ("share", 1)}
    rows = cut_windows(shape_rows(table, table["time"], table["SystemCodeNumber"], columns))
    day = rows["occurred_at"].str[:10]
    n_days = day.groupby(rows["entity"]).transform("nunique")
    return rows[n_days >= MINIMUM_SHARE * day.nunique()].reset_index(drop=True)


def build_i94_hours(raw):
    """Return the rows of Interstate 94 by day, the hour as entity."""
    return list_hours(build_i94(raw))


def build_sf_hours(raw):
    """Return the rows of the Bay Area freeway by day, the hour as entity."""
    return list_hours(build_sf(raw))


BUILDS = {
    "weather_bwi": build_bwi,
    "weather_lincoln": build_lincoln,
    "weather_minneapolis": build_minneapolis,
    "clemson": build_clemson,
    "sst_buoy": build_sst_buoy,
    "keywest_water": build_keywest,
    "geomagnetic": build_geomagnetic,
    "solar_flux": build_solar_flux,
    "earth_rotation": build_earth_rotation,
    "i94_traffic": build_i94,
    "i94_hours": build_i94_hours,
    "sf_freeway": build_sf,
    "sf_hours": build_sf_hours,
    "birmingham_parking": build_parking,
}
"""Source id -> what makes its rows of the bytes of its files."""
