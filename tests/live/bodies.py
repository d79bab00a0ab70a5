"""What the live sources would answer: synthetic values in each site's documented form, for the tests' own internet.

`answer(url, now)` returns (content type, text) as of a moment. Values are a seeded walk by name and day, so that the
same day always says the same; a number of today is there too where a site shows unfinished days.
"""

import json
import math
import random
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

COINS = "Bitcoin Ethereum Tether XRP BNB Solana USDC Dogecoin Cardano Tron Avalanche Chainlink".split()
ARTICLES = ["Main_Page", "Special:Search", *(f"Article_{n}" for n in range(20))]
MODELS = [f"maker-{n}/model-{n}" for n in range(12)]
TAGS = "python javascript java rust go typescript".split()
LINES = "Bakerloo Central Circle District Jubilee Northern Victoria".split()


@lru_cache(maxsize=100_000)
def walk(name, day, low=10.0, high=100.0):
    """Return a synthetic value of a name on a day: a slow wave and noise, seeded by both."""
    noise = random.Random(f"{name}|{day}").random()
    wave = 0.5 + 0.5 * math.sin(day.toordinal() / 9 + len(name))
    return round(low + (high - low) * (0.7 * wave + 0.3 * noise), 3)


def count(*about):
    """Return such a value as a whole number."""
    return int(walk(*about))


class Ask(NamedTuple):
    """A request as of a moment: its path and query, and the days that a site shows."""

    now: datetime
    path: str
    query: dict

    @property
    def today(self):
        return self.now.date()

    @property
    def past(self):
        """The last 29 days, today left out."""
        return self.list_days()[:-1]

    @property
    def work(self):
        """The working days among them."""
        return [day for day in self.past if day.weekday() < 5]

    @property
    def hours(self):
        """(day, hour) of 30 days, today among them."""
        return [(day, hour) for day in self.list_days() for hour in range(24)]

    def list_days(self, n=30):
        return [self.today - timedelta(days=back) for back in range(n - 1, -1, -1)]

    def list_weeks(self, weekday, n):
        return [day for day in self.list_days(n) if day.weekday() == weekday]

    def name(self, place):
        """Return a part of the path."""
        return self.path.split("/")[place]

    def rank(self, names):
        """Return names from the highest value of today down."""
        return sorted(names, key=lambda name: -walk(f"{self.path} {name}", self.today))


def number(word, n):
    return [f"{word}{at}" for at in range(n)]


def list_named(a, names, key, value, word, low, high, base=0):
    """Return objects of a name and today's value of it."""
    return [{key: name, value: base + count(word + name, a.today, low, high)} for name in names]


def stamp(day, hour=0):
    """Return epoch seconds of an hour of a day (UTC)."""
    return int(datetime(day.year, day.month, day.day, hour, tzinfo=UTC).timestamp())


def csv(head, rows):
    return "\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n"


def lines(*head, rows):
    return "\n".join([*head, *rows]) + "\n"


def ecb(a):
    head = "KEY,FREQ,CURRENCY,CURRENCY_DENOM,EXR_TYPE,EXR_SUFFIX,TIME_PERIOD,OBS_VALUE"
    codes = "USD GBP JPY CHF SEK NOK PLN CZK HUF TRY".split()
    rows = [(code, day, walk(code, day, 1, 2)) for code in codes for day in a.work]
    return csv(head, [(f"EXR.D.{c}.EUR.SP00.A", "D", c, "EUR", "SP00", "A", day, value) for c, day, value in rows])


def treasury(a):
    names = ["1 Mo", "3 Mo", "1 Yr", "2 Yr", "5 Yr", "10 Yr", "30 Yr"]
    rows = [(f"{day:%m/%d/%Y}", *(walk(name, day, 3, 5) for name in names)) for day in reversed(a.work)]
    return csv("Date," + ",".join(f'"{name}"' for name in names), rows)


def fred(a):
    name = a.query["id"]
    days = a.work if name == "T10YIE" else [day for day in a.list_weeks(0, 200) if day != a.today]
    return csv(f"observation_date,{name}", [(day, walk(name, day, 2, 4)) for day in days])


def earthquakes(a):
    found = [(day, at) for day in a.list_days() for at in range(count("quakes", day, 3, 20))]
    sizes = [round(4.5 + walk(f"q {at}", day, 0, 2), 1) for day, at in found]
    rows = [(f"{d}T{at:02}:11:12.345Z", 1.5, 2.5, 10, size, "mb") for (d, at), size in zip(found, sizes, strict=True)]
    return csv("time,latitude,longitude,depth,mag,magType", rows)


def space_weather(a):
    if "k-index" in a.path:
        moments = [(day, hour) for day in a.list_days(8) for hour in range(0, 24, 3)]
        rows = [[f"{d} {h:02}:00:00.000", str(walk(f"kp {h}", d, 0, 7)), "5", "8"] for d, h in moments]
        return [["time_tag", "Kp", "a_running", "station_count"], *rows]
    if "flux" in a.path:
        rows = [[f"{day} 20:00:00", str(round(walk("flux", day, 90, 200)))] for day in a.past]
        return [["time_tag", "flux"], *rows]
    return [{"Obsdate": f"{day}T00:00:00", "swpc_ssn": round(walk("spots", day, 20, 200))} for day in a.past]


def buoy(a):
    rows = [f"{d:%Y %m %d} {h:02} 50 120  5.0  6.0   {walk(f'wave {h}', d, 0, 4):.1f}     8" for d, h in a.hours[::6]]
    head = "#YY  MM DD hh mm WDIR WSPD GST  WVHT   DPD", "#yr  mo dy hr mn degT m/s  m/s     m   sec"
    return lines(*head, rows=[rows[0].replace("120", " MM"), *rows[1:]])


def sea_ice(a):
    rows = [f"{d.year},    {d.month:02},  {d.day:02},     {walk('ice', d, 8, 12):.3f},      0.000, ['x.nc']"
            for d in a.past]  # fmt: skip
    head = "Year, Month, Day,     Extent,    Missing, Source Data"
    return lines(head, "YYYY,    MM,  DD, 10^6 sq km, 10^6 sq km, Source data product", rows=rows)


def co2(a):
    rows = [f"{d.year},{d.month},{d.day},2026.5,{walk('co2', d, 420, 430):.2f}" for d in a.past[:-1]]
    return lines("# daily means", "# not for commerce", rows=rows)


def us_rivers(a):
    rows = [{"value": str(walk(a.query["sites"], d, 1e3, 9e3)), "dateTime": f"{d}T00:00:00.000"} for d in a.past]
    return {"value": {"timeSeries": [{"values": [{"value": rows}]}]}}


def fires(a):
    kinds = ("Wildfires", "Severe Storms", "Volcanoes", "Sea and Lake Ice")
    found = [(kind, n) for kind in kinds for n in range(count(kind, a.today, 2, 30))]
    return {"events": [{"id": f"{kind} {n}", "categories": [{"id": "x", "title": kind}]} for kind, n in found]}


def wikimedia(a):
    if "/per-article/" in a.path:
        name = a.name(-4)
        views = [(day, count(name, day, 1e3, 9e4)) for day in a.past]
        return {"items": [{"article": name, "timestamp": f"{d:%Y%m%d}00", "views": n} for d, n in views]}
    if "/top/" in a.path:
        year, month, day = a.path.split("/")[-3:]
        date = datetime(int(year), int(month), int(day), tzinfo=UTC).date()
        rows = [
            {"article": name, "views": count(name, date, 1e4, 9e5), "rank": n} for n, name in enumerate(ARTICLES, 1)
        ]
        return {"items": [{"year": year, "month": month, "day": day, "articles": rows}]}
    rows = [{"timestamp": f"{d}T00:00:00.000Z", "edits": count(a.name(6), d, 1e4, 5e4)} for d in a.past]
    return {"items": [{"results": rows}]}


def pypi(a):
    name, days = a.name(3), a.list_days(60)[:-1]
    about = {"category": "without_mirrors"}
    rows = [about | {"date": str(day), "downloads": count(name, day, 1e6, 9e6)} for day in days]
    return {"data": rows, "package": name, "type": "overall_downloads"}


def steam(a):
    peaks = [count(f"app {at}", a.today, 1e4, 9e5) for at in range(20)]
    rows = [
        {"rank": at + 1, "appid": 100 + at, "last_week_rank": at + 1, "peak_in_game": n} for at, n in enumerate(peaks)
    ]
    return {"response": {"rollup_date": stamp(a.today), "ranks": rows}}


def formula_1(a):
    rows = list_named(a, number("Driver", 20), "familyName", "points", "", 0, 400)
    rows = [{"Driver": {"familyName": row["familyName"]}, "points": str(row["points"])} for row in rows]
    return {"MRData": {"StandingsTable": {"StandingsLists": [{"DriverStandings": rows}]}}}


def tsa(a):
    rows = [f"<tr><td>{d:%-m/%-d/%Y}</td><td>{count('tsa', d, 2e6, 3e6):,}</td></tr>" for d in reversed(a.past)]
    head = "<thead><tr><th>Date</th><th>Numbers</th></tr></thead>"
    return f"<html><body><table>{head}{''.join(rows)}</table></body></html>"


def cdc(a):
    days = [day for day in reversed(a.list_weeks(5, 90)) if day <= a.today - timedelta(days=4)]
    values = [str(count("covid", day, 1e3, 9e3)) for day in days]
    return [{"weekendingdate": f"{day}T00:00:00.000", "jurisdiction": "USA", "totalconfc19newadm": value}
            for day, value in zip(days, values, strict=True)]  # fmt: skip


SITES = {
    "data-api.ecb.europa.eu": ecb,
    "home.treasury.gov": treasury,
    "markets.newyorkfed.org": lambda a: {
        "refRates": [{"effectiveDate": str(d), "type": "SOFR", "percentRate": walk("sofr", d, 3, 5)} for d in a.work]
    },
    "www.bankofcanada.ca": lambda a: {
        "observations": [
            {"d": str(day)} | {f"FX{n}CAD": {"v": str(walk(n, day, 1, 2))} for n in "USD EUR GBP CHF AUD CNY".split()}
            for day in a.work
        ]
    },
    "fred.stlouisfed.org": fred,
    "data-api.binance.vision": lambda a: [
        [stamp(d) * 1000, "1.0", "2.0", "0.5", str(walk(a.query["symbol"], d)), "9", stamp(d) * 1000 + 86399999]
        for d in a.list_days()
    ],
    "api.coingecko.com": lambda a: [
        {"id": n.lower(), "name": n, "market_cap": walk(f"cap {n}", a.today, 1e9, 9e9)} for n in COINS
    ],
    "api.blockchain.info": lambda a: {
        "status": "ok",
        "values": [{"x": stamp(d), "y": walk("tx", d, 3e5, 6e5)} for d in a.past],
    },
    "api.energy-charts.info": lambda a: {
        "license_info": "CC BY 4.0",
        "unix_seconds": [stamp(*at) for at in a.hours],
        "price": [walk(f"{a.query['bzn']} {h}", d) for d, h in a.hours],
        "unit": "EUR / MWh",
    },
    "api.energidataservice.dk": lambda a: {
        "records": [
            {"TimeDK": f"{d}T{h:02}:00:00", "PriceArea": area, "DayAheadPriceEUR": walk(f"{area} {h}", d)}
            for d, h in a.hours
            for area in ("DK1", "DK2", "SE4")
        ]
    },
    "api.carbonintensity.org.uk": lambda a: {
        "data": [
            {"from": f"{d}T{h:02}:00Z", "intensity": {"forecast": 1, "actual": walk(f"co {h}", d), "index": "low"}}
            for d, h in a.hours
        ]
    },
    "api.open-meteo.com": lambda a: {
        "daily": {
            "time": list(map(str, a.list_days())),
            "temperature_2m_max": [walk(a.query["latitude"], d, -5, 30) for d in a.list_days()],
            "precipitation_sum": [walk("rain" + a.query["latitude"], d, 0, 9) for d in a.list_days()],
        }
    },
    "air-quality-api.open-meteo.com": lambda a: {
        "hourly": {
            "time": [f"{d}T{h:02}:00" for d, h in a.hours],
            "pm2_5": [walk(f"{a.query['latitude']} {h}", d) for d, h in a.hours],
        }
    },
    "earthquake.usgs.gov": earthquakes,
    "services.swpc.noaa.gov": space_weather,
    "api.tidesandcurrents.noaa.gov": lambda a: {
        "metadata": {"id": a.query["station"]},
        "data": [
            {"t": f"{d} {h:02}:00", "v": str(walk(f"{a.query['station']} {h}", d, 0, 3)), "s": "0.01", "f": "0,0"}
            for d, h in a.hours
        ],
    },
    "www.ndbc.noaa.gov": buoy,
    "noaadata.apps.nsidc.org": sea_ice,
    "gml.noaa.gov": co2,
    "environment.data.gov.uk": lambda a: {
        "items": [{"dateTime": f"{d}T{h:02}:00:00Z", "value": walk(f"{a.path} {h}", d, 0, 5)} for d, h in a.hours[::6]]
    },
    "waterservices.usgs.gov": us_rivers,
    "eonet.gsfc.nasa.gov": fires,
    "usdmdataservices.unl.edu": lambda a: [
        {"mapDate": f"{d}T00:00:00", "none": 40, "d0": 60, "d1": walk("drought", d, 20, 50)}
        for d in a.list_weeks(1, 90)
        if d < a.today - timedelta(days=1)
    ],
    "wikimedia.org": wikimedia,
    "api.github.com": lambda a: {
        "full_name": a.path[7:],
        "stargazers_count": 50_000 + count(a.path, a.today, 0, 900),
    },
    "pypistats.org": pypi,
    "api.npmjs.org": lambda a: {
        "downloads": [{"downloads": count("npm " + a.name(-1), d, 1e6, 9e6), "day": str(d)} for d in a.past],
        "package": a.name(-1),
    },
    "hub.docker.com": lambda a: {"name": a.name(4), "pull_count": 10**9 + count(a.path, a.today, 0, 1e6)},
    "huggingface.co": lambda a: list_named(a, a.rank(MODELS), "id", "likes", "like ", 10, 9e3),
    "hn.algolia.com": lambda a: {"hits": list_named(a, number("Story number ", 12), "title", "points", "p ", 10, 900)},
    "api.stackexchange.com": lambda a: {"items": list_named(a, TAGS, "name", "count", "tag ", 0, 999, 10**6)},
    "api.steampowered.com": steam,
    "rss.marketingtools.apple.com": lambda a: {
        "feed": {
            "results": [{"name": n, "id": n} for n in a.rank(number("Song " if "songs" in a.path else "App ", 25))]
        }
    },
    "api.listenbrainz.org": lambda a: {
        "payload": {"artists": list_named(a, number("Artist ", 25), "artist_name", "listen_count", "", 1e3, 9e3)}
    },
    "lichess.org": lambda a: {
        "users": [
            {"username": n, "perfs": {"blitz": {"rating": 2800 + count(n, a.today, 0, 200)}}}
            for n in number("player_", 20)
        ]
    },
    "api.chess.com": lambda a: {
        "live_blitz": [
            row | {"rank": at}
            for at, row in enumerate(list_named(a, number("player_", 20), "username", "score", "c ", 0, 200, 2900), 1)
        ]
    },
    "api-web.nhle.com": lambda a: {
        "standings": [
            {"date": str(a.past[-1]), "teamName": {"default": n}, "points": count(n, a.past[-1], 0, 60)}
            for n in number("Team ", 18)
        ]
    },
    "api.openligadb.de": lambda a: list_named(a, number("Team ", 18), "teamName", "points", "b ", 0, 40),
    "api.jolpi.ca": formula_1,
    "www.tsa.gov": tsa,
    "data.cityofnewyork.us": lambda a: [
        {"day": f"{d}T00:00:00.000", "n": str(count("311", d, 5e3, 12e3))} for d in a.list_days()
    ],
    "gbfs.citibikenyc.com": lambda a: {
        "data": {
            "stations": [
                {"station_id": str(n), "num_bikes_available": count(f"s {n}", a.today, 0, 30)} for n in range(40)
            ]
        }
    },
    "api.tfl.gov.uk": lambda a: [
        {"name": n, "lineStatuses": [{"statusSeverity": count(n, a.today, 5, 11)}]} for n in LINES
    ],
    "www.federalregister.gov": lambda a: {
        str(d): {"count": count("fr", d, 80, 200), "name": f"{d:%m/%d/%Y}"} for d in a.work
    },
    "data.cdc.gov": cdc,
}


def answer(url, now):
    """Return (content type, text) of an address at a moment (aware, UTC). Raises KeyError for a host that is none."""
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    body = SITES[parts.hostname](Ask(now, unquote(parts.path), query))
    if isinstance(body, str):
        return "text/html" if body.startswith("<") else "text/plain", body
    return "application/json", json.dumps(body)
