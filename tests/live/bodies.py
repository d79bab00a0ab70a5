"""What the live sources would answer: synthetic values in each site's documented form, for the tests' own internet.

`answer(url, now)` returns (content type, text) as of a moment. Values are a seeded walk by name and day, so that the
same day always says the same; a number of today is there too where a site shows unfinished days.
"""

import json
import math
import random
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from urllib.parse import parse_qs, unquote, urlsplit

LISTS = {
    "coins": "Bitcoin Ethereum Tether XRP BNB Solana USDC Dogecoin Cardano Tron Avalanche Chainlink".split(),
    "models": [f"maker-{n}/model-{n}" for n in range(12)],
    "stories": [f"Story number {n}" for n in range(12)],
    "apps": [f"App {n}" for n in range(25)],
    "songs": [f"Song {n}" for n in range(25)],
    "artists": [f"Artist {n}" for n in range(25)],
    "players": [f"player_{n}" for n in range(20)],
    "teams": [f"Team {n}" for n in range(18)],
    "drivers": [f"Driver{n}" for n in range(20)],
    "articles": ["Main_Page", "Special:Search", *(f"Article_{n}" for n in range(20))],
    "lines": "Bakerloo Central Circle District Jubilee Northern Victoria".split(),
}


@lru_cache(maxsize=100_000)
def walk(name, day, low=10.0, high=100.0):
    """Return a synthetic value of a name on a day: a slow wave and noise, seeded by both."""
    noise = random.Random(f"{name}|{day}").random()
    wave = 0.5 + 0.5 * math.sin(day.toordinal() / 9 + len(name))
    return round(low + (high - low) * (0.7 * wave + 0.3 * noise), 3)


def list_days(now, n=30):
    """Return the last `n` days, today last."""
    return [now.date() - timedelta(days=back) for back in range(n - 1, -1, -1)]


def work_days(now):
    """Return the working days among them, today left out."""
    return [day for day in list_days(now)[:-1] if day.weekday() < 5]


def order(names, now, key):
    """Return names from the highest value of today down."""
    return sorted(names, key=lambda name: -walk(f"{key} {name}", now.date()))


def stamp(day, hour=0):
    """Return epoch seconds of an hour of a day (UTC)."""
    return int(datetime(day.year, day.month, day.day, hour, tzinfo=UTC).timestamp())


def csv(head, rows):
    """Return a CSV body."""
    return "text/csv", "\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n"


def page(data):
    """Return a JSON body."""
    return "application/json", json.dumps(data)


def ecb(now, **_):
    rows = [
        (f"EXR.D.{code}.EUR.SP00.A", "D", code, "EUR", "SP00", "A", day, walk(code, day, 1, 2))
        for code in "USD GBP JPY CHF SEK NOK PLN CZK HUF TRY".split()
        for day in work_days(now)
    ]
    return csv("KEY,FREQ,CURRENCY,CURRENCY_DENOM,EXR_TYPE,EXR_SUFFIX,TIME_PERIOD,OBS_VALUE", rows)


def treasury(now, **_):
    names = ["1 Mo", "3 Mo", "1 Yr", "2 Yr", "5 Yr", "10 Yr", "30 Yr"]
    head = "Date," + ",".join(f'"{name}"' for name in names)
    rows = [(f"{day:%m/%d/%Y}", *(walk(name, day, 3, 5) for name in names)) for day in reversed(work_days(now))]
    return csv(head, rows)


def sofr(now, **_):
    rates = [{"effectiveDate": str(d), "type": "SOFR", "percentRate": walk("sofr", d, 3, 5)} for d in work_days(now)]
    return page({"refRates": rates})


def boc(now, **_):
    names = "USD EUR GBP CHF AUD CNY".split()
    rows = [
        {"d": str(day)} | {f"FX{name}CAD": {"v": str(walk(name, day, 1, 2))} for name in names}
        for day in work_days(now)
    ]
    return page({"observations": rows})


def fred(now, query, **_):
    name = query["id"]
    days = work_days(now) if name == "T10YIE" else [d for d in list_days(now, 200)[:-1] if d.weekday() == 0]
    return csv(f"observation_date,{name}", [(day, walk(name, day, 2, 4)) for day in days])


def binance(now, query, **_):
    rows = [
        [stamp(day) * 1000, "1.0", "2.0", "0.5", str(walk(query["symbol"], day)), "9", stamp(day) * 1000 + 86399999]
        for day in list_days(now)
    ]
    return page(rows)


def coingecko(now, **_):
    return page(
        [{"id": n.lower(), "name": n, "market_cap": walk(f"cap {n}", now.date(), 1e9, 9e9)} for n in LISTS["coins"]]
    )


def blockchain(now, **_):
    return page(
        {"status": "ok", "values": [{"x": stamp(d), "y": walk("tx", d, 3e5, 6e5)} for d in list_days(now)[:-1]]}
    )


def energy_charts(now, query, **_):
    hours = [(day, hour) for day in list_days(now) for hour in range(24)]
    prices = [walk(f"{query['bzn']} {hour}", day) for day, hour in hours]
    return page(
        {
            "license_info": "CC BY 4.0",
            "unix_seconds": [stamp(*at) for at in hours],
            "price": prices,
            "unit": "EUR / MWh",
        }
    )


def energinet(now, **_):
    rows = [
        {"TimeDK": f"{day}T{hour:02}:00:00", "PriceArea": area, "DayAheadPriceEUR": walk(f"{area} {hour}", day)}
        for day in list_days(now)
        for hour in range(24)
        for area in ("DK1", "DK2", "SE4")
    ]
    return page({"records": rows})


def carbon(now, **_):
    rows = [
        {
            "from": f"{day}T{hour:02}:00Z",
            "intensity": {"forecast": 1, "actual": walk(f"co {hour}", day), "index": "low"},
        }
        for day in list_days(now)
        for hour in range(24)
    ]
    return page({"data": rows})


def weather(now, query, **_):
    days = list_days(now)
    values = [walk(query["latitude"], day, -5, 30) for day in days]
    return page(
        {
            "daily": {
                "time": list(map(str, days)),
                "temperature_2m_max": values,
                "precipitation_sum": [walk("rain" + query["latitude"], day, 0, 9) for day in days],
            }
        }
    )


def air(now, query, **_):
    hours = [(day, hour) for day in list_days(now) for hour in range(24)]
    return page(
        {
            "hourly": {
                "time": [f"{day}T{hour:02}:00" for day, hour in hours],
                "pm2_5": [walk(f"{query['latitude']} {hour}", day) for day, hour in hours],
            }
        }
    )


def earthquakes(now, **_):
    rows = [
        (f"{day}T{at:02}:11:12.345Z", 1.5, 2.5, 10, round(4.5 + walk(f"q {at}", day, 0, 2), 1), "mb")
        for day in list_days(now)
        for at in range(int(walk("quakes", day, 3, 20)))
    ]
    return csv("time,latitude,longitude,depth,mag,magType", rows)


def kp_index(now, **_):
    rows = [
        [f"{d} {h:02}:00:00.000", str(walk(f"kp {h}", d, 0, 7)), "5", "8"]
        for d in list_days(now, 8)
        for h in range(0, 24, 3)
    ]
    return page([["time_tag", "Kp", "a_running", "station_count"], *rows])


def flux(now, **_):
    rows = [[f"{d} 20:00:00", str(round(walk("flux", d, 90, 200)))] for d in list_days(now)[:-1]]
    return page([["time_tag", "flux"], *rows])


def sunspots(now, **_):
    return page(
        [{"Obsdate": f"{d}T00:00:00", "swpc_ssn": round(walk("spots", d, 20, 200))} for d in list_days(now)[:-1]]
    )


def tides(now, query, **_):
    rows = [
        {"t": f"{d} {h:02}:00", "v": str(walk(f"{query['station']} {h}", d, 0, 3)), "s": "0.01", "f": "0,0"}
        for d in list_days(now)
        for h in range(24)
    ]
    return page({"metadata": {"id": query["station"]}, "data": rows})


def buoy(now, **_):
    rows = [
        f"{d:%Y %m %d} {h:02} 50 120  5.0  6.0   {walk(f'wave {h}', d, 0, 4):.1f}     8"
        for d in list_days(now)
        for h in range(0, 24, 6)
    ]
    head = ["#YY  MM DD hh mm WDIR WSPD GST  WVHT   DPD", "#yr  mo dy hr mn degT m/s  m/s     m   sec"]
    return "text/plain", "\n".join([*head, rows[0].replace("120", " MM"), *rows[1:]]) + "\n"


def sea_ice(now, **_):
    rows = [
        f"{d.year},    {d.month:02},  {d.day:02},     {walk('ice', d, 8, 12):.3f},      0.000, ['x.nc']"
        for d in list_days(now)[:-1]
    ]
    head = [
        "Year, Month, Day,     Extent,    Missing, Source Data",
        "YYYY,    MM,  DD, 10^6 sq km, 10^6 sq km, Source data product",
    ]
    return "text/csv", "\n".join([*head, *rows]) + "\n"


def co2(now, **_):
    rows = [f"{d.year},{d.month},{d.day},2026.5,{walk('co2', d, 420, 430):.2f}" for d in list_days(now)[:-2]]
    return "text/plain", "\n".join(["# daily means", "# not for commerce", *rows]) + "\n"


def uk_rivers(now, path, **_):
    rows = [
        {"dateTime": f"{d}T{h:02}:00:00Z", "value": walk(f"{path} {h}", d, 0, 5)}
        for d in list_days(now)
        for h in range(0, 24, 6)
    ]
    return page({"items": rows})


def us_rivers(now, query, **_):
    rows = [
        {"value": str(walk(query["sites"], d, 1e3, 9e3)), "dateTime": f"{d}T00:00:00.000"} for d in list_days(now)[:-1]
    ]
    return page({"value": {"timeSeries": [{"values": [{"value": rows}]}]}})


def fires(now, **_):
    kinds = ("Wildfires", "Severe Storms", "Volcanoes", "Sea and Lake Ice")
    return page(
        {
            "events": [
                {"id": f"{kind} {n}", "categories": [{"id": "x", "title": kind}]}
                for kind in kinds
                for n in range(int(walk(kind, now.date(), 2, 30)))
            ]
        }
    )


def drought(now, **_):
    days = [d for d in list_days(now, 90)[:-2] if d.weekday() == 1]
    return page([{"mapDate": f"{d}T00:00:00", "none": 40, "d0": 60, "d1": walk("drought", d, 20, 50)} for d in days])


def wikimedia(now, path, **_):
    parts = path.split("/")
    if "per-article" in parts:
        rows = [
            {"article": parts[-4], "timestamp": f"{d:%Y%m%d}00", "views": int(walk(parts[-4], d, 1e3, 9e4))}
            for d in list_days(now)[:-1]
        ]
        return page({"items": rows})
    if "top" in parts:
        day = datetime.strptime("-".join(parts[-3:]), "%Y-%m-%d").date()  # noqa: DTZ007 (a day)
        rows = [
            {"article": name, "views": int(walk(name, day, 1e4, 9e5)), "rank": n}
            for n, name in enumerate(LISTS["articles"], 1)
        ]
        return page({"items": [{"year": f"{day:%Y}", "month": f"{day:%m}", "day": f"{day:%d}", "articles": rows}]})
    rows = [
        {"timestamp": f"{d}T00:00:00.000Z", "edits": int(walk(path.split("/")[6], d, 1e4, 5e4))}
        for d in list_days(now)[:-1]
    ]
    return page({"items": [{"results": rows}]})


def github(now, path, **_):
    return page({"full_name": path[7:], "stargazers_count": 50_000 + int(walk(path, now.date(), 0, 900))})


def pypi(now, path, **_):
    name = path.split("/")[3]
    rows = [
        {"category": "without_mirrors", "date": str(d), "downloads": int(walk(name, d, 1e6, 9e6))}
        for d in list_days(now, 60)[:-1]
    ]
    return page({"data": rows, "package": name, "type": "overall_downloads"})


def npm(now, path, **_):
    name = path.split("/")[-1]
    rows = [{"downloads": int(walk("npm " + name, d, 1e6, 9e6)), "day": str(d)} for d in list_days(now)[:-1]]
    return page({"downloads": rows, "package": name})


def docker(now, path, **_):
    return page({"name": path.split("/")[4], "pull_count": 10**9 + int(walk(path, now.date(), 0, 1e6))})


def hub_models(now, **_):
    return page(
        [{"id": n, "likes": int(walk("like " + n, now.date(), 10, 9e3))} for n in order(LISTS["models"], now, "m")]
    )


def hacker_news(now, **_):
    return page({"hits": [{"title": t, "points": int(walk("p " + t, now.date(), 10, 900))} for t in LISTS["stories"]]})


def stack_tags(now, **_):
    names = "python javascript java rust go typescript".split()
    return page({"items": [{"name": n, "count": 10**6 + int(walk("tag " + n, now.date(), 0, 999))} for n in names]})


def steam(now, **_):
    rows = [
        {
            "rank": n,
            "appid": 100 + at,
            "last_week_rank": n,
            "peak_in_game": int(walk(f"app {at}", now.date(), 1e4, 9e5)),
        }
        for n, at in enumerate(range(20), 1)
    ]
    return page({"response": {"rollup_date": stamp(now.date()), "ranks": rows}})


def apple(now, path, **_):
    names = LISTS["songs" if "songs" in path else "apps"]
    return page({"feed": {"results": [{"name": n, "id": n} for n in order(names, now, path)]}})


def listenbrainz(now, **_):
    rows = [{"artist_name": n, "listen_count": int(walk(n, now.date(), 1e3, 9e3))} for n in LISTS["artists"]]
    return page({"payload": {"artists": rows}})


def lichess(now, **_):
    return page(
        {
            "users": [
                {"username": n, "perfs": {"blitz": {"rating": 2800 + int(walk(n, now.date(), 0, 200))}}}
                for n in LISTS["players"]
            ]
        }
    )


def chess_com(now, **_):
    rows = [
        {"username": n, "score": 2900 + int(walk("c " + n, now.date(), 0, 200)), "rank": at}
        for at, n in enumerate(LISTS["players"], 1)
    ]
    return page({"live_blitz": rows})


def nhl(now, **_):
    day = list_days(now)[-2]
    return page(
        {
            "standings": [
                {"date": str(day), "teamName": {"default": n}, "points": int(walk(n, day, 0, 60))}
                for n in LISTS["teams"]
            ]
        }
    )


def bundesliga(now, **_):
    return page([{"teamName": n, "points": int(walk("b " + n, now.date(), 0, 40))} for n in LISTS["teams"]])


def formula_1(now, **_):
    rows = [{"Driver": {"familyName": n}, "points": str(int(walk(n, now.date(), 0, 400)))} for n in LISTS["drivers"]]
    return page({"MRData": {"StandingsTable": {"StandingsLists": [{"DriverStandings": rows}]}}})


def tsa(now, **_):
    rows = "".join(
        f"<tr><td>{d:%-m/%-d/%Y}</td><td>{int(walk('tsa', d, 2e6, 3e6)):,}</td></tr>"
        for d in reversed(list_days(now)[:-1])
    )
    return (
        "text/html",
        f"<html><body><table><thead><tr><th>Date</th><th>Numbers</th></tr></thead>{rows}</table></body></html>",
    )


def nyc(now, **_):
    return page([{"day": f"{d}T00:00:00.000", "n": str(int(walk("311", d, 5e3, 12e3)))} for d in list_days(now)])


def citibike(now, **_):
    bikes = [{"station_id": str(n), "num_bikes_available": int(walk(f"s {n}", now.date(), 0, 30))} for n in range(40)]
    return page({"data": {"stations": bikes}})


def tube(now, **_):
    return page(
        [{"name": n, "lineStatuses": [{"statusSeverity": int(walk(n, now.date(), 5, 11))}]} for n in LISTS["lines"]]
    )


def federal_register(now, **_):
    return page({str(d): {"count": int(walk("fr", d, 80, 200)), "name": f"{d:%m/%d/%Y}"} for d in work_days(now)})


def cdc(now, **_):
    days = [d for d in list_days(now, 90)[:-4] if d.weekday() == 5]
    return page(
        [
            {
                "weekendingdate": f"{d}T00:00:00.000",
                "jurisdiction": "USA",
                "totalconfc19newadm": str(int(walk("covid", d, 1e3, 9e3))),
            }
            for d in reversed(days)
        ]
    )


HOSTS = {
    "data-api.ecb.europa.eu": ecb,
    "home.treasury.gov": treasury,
    "markets.newyorkfed.org": sofr,
    "www.bankofcanada.ca": boc,
    "fred.stlouisfed.org": fred,
    "data-api.binance.vision": binance,
    "api.coingecko.com": coingecko,
    "api.blockchain.info": blockchain,
    "api.energy-charts.info": energy_charts,
    "api.energidataservice.dk": energinet,
    "api.carbonintensity.org.uk": carbon,
    "api.open-meteo.com": weather,
    "air-quality-api.open-meteo.com": air,
    "earthquake.usgs.gov": earthquakes,
    "services.swpc.noaa.gov": lambda path, **more: (
        kp_index if "k-index" in path else flux if "flux" in path else sunspots
    )(path=path, **more),
    "api.tidesandcurrents.noaa.gov": tides,
    "www.ndbc.noaa.gov": buoy,
    "noaadata.apps.nsidc.org": sea_ice,
    "gml.noaa.gov": co2,
    "environment.data.gov.uk": uk_rivers,
    "waterservices.usgs.gov": us_rivers,
    "eonet.gsfc.nasa.gov": fires,
    "usdmdataservices.unl.edu": drought,
    "wikimedia.org": wikimedia,
    "api.github.com": github,
    "pypistats.org": pypi,
    "api.npmjs.org": npm,
    "hub.docker.com": docker,
    "huggingface.co": hub_models,
    "hn.algolia.com": hacker_news,
    "api.stackexchange.com": stack_tags,
    "api.steampowered.com": steam,
    "rss.marketingtools.apple.com": apple,
    "api.listenbrainz.org": listenbrainz,
    "lichess.org": lichess,
    "api.chess.com": chess_com,
    "api-web.nhle.com": nhl,
    "api.openligadb.de": bundesliga,
    "api.jolpi.ca": formula_1,
    "www.tsa.gov": tsa,
    "data.cityofnewyork.us": nyc,
    "gbfs.citibikenyc.com": citibike,
    "api.tfl.gov.uk": tube,
    "www.federalregister.gov": federal_register,
    "data.cdc.gov": cdc,
}


def answer(url, now):
    """Return (content type, text) of an address at a moment (aware, UTC). Raises KeyError for a host that is none."""
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    return HOSTS[parts.hostname](now=now, path=unquote(parts.path), query=query)
