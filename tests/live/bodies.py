"""What the live sources would answer: synthetic values in each site's documented form, for the tests' own internet.

`answer(url, now)` returns (content type, text) as of a moment. Values are a seeded walk by name and day, so that the
same day always says the same; a number of today is there too where a site shows unfinished days.

A site's form is its body as the site writes it, what repeats between << and >>: a row a moment and name. A row may hold
%(day)s, year, month, mday, hour, stamp (epoch seconds), name, n (from 1), value, count (whole), and the query's names.
"""

import json
import math
import random
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit


@lru_cache(maxsize=100_000)
def walk(name, day, low=10.0, high=100.0):
    """Return a synthetic value of a name on a day: a slow wave and noise, seeded by both."""
    noise = random.Random(f"{name}|{day}").random()
    wave = 0.5 + 0.5 * math.sin(day.toordinal() / 9 + len(name))
    return round(low + (high - low) * (0.7 * wave + 0.3 * noise), 3)


class Ask(NamedTuple):
    """A request as of a moment."""

    now: datetime
    path: str
    query: dict

    def list_moments(self, when="today"):
        """Return (day, hour) of what a site shows: today, yesterday, days, past, work, hours, four or eight a day."""
        name, _, n = when.partition(" ")
        days = [self.now.date() - timedelta(days=back) for back in range(int(n or 30) - 1, -1, -1)]
        days = {"today": days[-1:], "yesterday": days[-2:-1], "past": days[:-1]}.get(name, days)
        days = [day for day in days[:-1] if day.weekday() < 5] if name == "work" else days
        weekday = {"mondays": 0, "tuesdays": 1, "saturdays": 5}.get(name)
        days = [day for day in days[:-4] if day.weekday() == weekday] if weekday is not None else days
        return [(day, hour) for day in days for hour in range(0, 24, {"hours": 1, "eight": 3, "four": 6}.get(name, 24))]


def fill(body, when="today", key="%(name)s", low=10.0, high=100.0, names=("",)):
    """Return the site of a form: of each row the value is the walk of `key`, which may hold what the row may."""
    before, row, after = re.fullmatch(r"(.*)<<(.*)>>(.*)", body, re.DOTALL).groups()
    joint = "\n" if "\n<<" in body else "" if row.startswith("<") else ", "

    def answer(a):
        shown = [(*moment, name) for moment in a.list_moments(when) for name in names]
        rows = []
        for n, (day, hour, name) in enumerate(shown, 1):
            about = {"day": day, "year": day.year, "month": day.month, "mday": day.day, "hour": hour}
            about |= {"stamp": stamp(day, hour), "name": name, "n": n, "path": a.path, "last": a.path.split("/")[-1]}
            about |= a.query
            value = walk(key % about, day, low, high)
            rows.append(row % (about | {"value": value, "count": int(value)}))
        return before % a.query + joint.join(rows) + after

    return answer


def zip_lists(body, when, write, *series):
    """Return the site of lists side by side: of moments, by `write(day, hour)`, and one a (key, low, high)."""

    def answer(a):
        moments = a.list_moments(when)
        lists = [[write(*moment) for moment in moments]]
        for key, low, high in series:
            lists.append([walk(key % ({"hour": hour} | a.query), day, low, high) for day, hour in moments])
        return body % tuple(map(json.dumps, lists))

    return answer


def stamp(day, hour):
    """Return epoch seconds of an hour of a day (UTC)."""
    return int(datetime(day.year, day.month, day.day, hour, tzinfo=UTC).timestamp())


def number(word, n):
    return [f"{word}{at}" for at in range(n)]


def treasury(a):
    names = ["1 Mo", "3 Mo", "1 Yr", "2 Yr", "5 Yr", "10 Yr", "30 Yr"]
    rows = [",".join([f"{day:%m/%d/%Y}", *(str(walk(name, day, 3, 5)) for name in names)])
            for day, _ in reversed(a.list_moments("work"))]  # fmt: skip
    return "\n".join(["Date," + ",".join(f'"{name}"' for name in names), *rows]) + "\n"


def boc(a):
    names = "USD EUR GBP CHF AUD CNY".split()
    rows = [{"d": str(day)} | {f"FX{name}CAD": {"v": str(walk(name, day, 1, 2))} for name in names}
            for day, _ in a.list_moments("work")]  # fmt: skip
    return json.dumps({"observations": rows})


def fred(a):
    when = "work" if a.query["id"] == "T10YIE" else "mondays 200"
    return fill("observation_date,%(id)s\n<<%(day)s,%(value)s>>\n", when, "%(id)s", 2, 4)(a)


def earthquakes(a):
    found = [(day, at) for day, _ in a.list_moments("days") for at in range(int(walk("quakes", day, 3, 20)))]
    rows = [f"{day}T{at:02}:11:12.345Z,1.5,2.5,10,{4.5 + walk(f'q {at}', day, 0, 2):.1f},mb" for day, at in found]
    return "\n".join(["time,latitude,longitude,depth,mag,magType", *rows]) + "\n"


def space_weather(a):
    if "k-index" in a.path:
        row = '["%(day)s %(hour)02d:00:00.000", "%(value)s", "5", "8"]'
        head = '["time_tag", "Kp", "a_running", "station_count"]'
        return fill(f"[{head}, <<{row}>>]", "eight 8", "kp %(hour)s", 0, 7)(a)
    if "flux" in a.path:
        return fill('[["time_tag", "flux"], <<["%(day)s 20:00:00", "%(count)s"]>>]', "past", "flux", 90, 200)(a)
    return fill('[<<{"Obsdate": "%(day)sT00:00:00", "swpc_ssn": %(count)s}>>]', "past", "spots", 20, 200)(a)


def fires(a):
    kinds, (day, _) = ("Wildfires", "Severe Storms", "Volcanoes", "Sea and Lake Ice"), a.list_moments()[0]
    found = [(kind, n) for kind in kinds for n in range(int(walk(kind, day, 2, 30)))]
    events = [{"id": f"{kind} {n}", "categories": [{"id": "x", "title": kind}]} for kind, n in found]
    return json.dumps({"events": events})


def wikimedia(a):
    parts = a.path.split("/")
    if "per-article" in parts:
        row = '{"article": "%(name)s", "timestamp": "%(year)d%(month)02d%(mday)02d00", "views": %(count)d}'
        return fill('{"items": [<<' + row + ">>]}", "past", "%(name)s", 1e3, 9e4, parts[-4:-3])(a)
    if "top" in parts:
        names = ["Main_Page", "Special:Search", *number("Article_", 20)]
        head = f'{{"items": [{{"year": "{parts[-3]}", "month": "{parts[-2]}", "day": "{parts[-1]}", "articles": ['
        row = '{"article": "%(name)s", "views": %(count)d, "rank": %(n)d}'
        return fill(f"{head}<<{row}>>]}}]}}", "yesterday", "%(name)s", 1e4, 9e5, names)(a)
    row = '{"timestamp": "%(day)sT00:00:00.000Z", "edits": %(count)d}'
    return fill('{"items": [{"results": [<<' + row + ">>]}]}", "past", parts[6], 1e4, 5e4)(a)


def apple(a):
    names = number("Song " if "songs" in a.path else "App ", 25)
    names.sort(key=lambda name: -walk(f"{a.path} {name}", a.now.date()))
    return fill('{"feed": {"results": [<<{"name": "%(name)s", "id": "%(name)s"}>>]}}', names=names)(a)


CODES, AREAS = "USD GBP JPY CHF SEK NOK PLN CZK HUF TRY".split(), ("DK1", "DK2", "SE4")
COINS = "Bitcoin Ethereum Tether XRP BNB Solana USDC Dogecoin Cardano Tron Avalanche Chainlink".split()
LINES = "Bakerloo Central Circle District Jubilee Northern Victoria".split()
TAGS = "python javascript java rust go typescript".split()
MODELS, STORIES = number("maker/model-", 12), number("Story number ", 12)
ARTISTS, PLAYERS, TEAMS, DRIVERS = (
    number("Artist ", 25),
    number("player_", 20),
    number("Team ", 18),
    number("Driver", 20),
)
ECB = "KEY,FREQ,CURRENCY,CURRENCY_DENOM,EXR_TYPE,EXR_SUFFIX,TIME_PERIOD,OBS_VALUE\n"
ECB += "<<EXR.D.%(name)s.EUR.SP00.A,D,%(name)s,EUR,SP00,A,%(day)s,%(value)s>>\n"
KLINE = '[%(stamp)d000, "1.0", "2.0", "0.5", "%(value)s", "9", %(stamp)d999]'
DK = '{"TimeDK": "%(day)sT%(hour)02d:00:00", "PriceArea": "%(name)s", "DayAheadPriceEUR": %(value)s}'
CO2 = '{"from": "%(day)sT%(hour)02d:00Z", "intensity": {"forecast": 1, "actual": %(value)s, "index": "low"}}'
TIDE = '{"t": "%(day)s %(hour)02d:00", "v": "%(value)s", "s": "0.01", "f": "0,0"}'
BUOY = "#YY  MM DD hh mm WDIR WSPD GST  WVHT   DPD\n#yr  mo dy hr mn degT m/s  m/s     m   sec\n"
BUOY += "<<%(year)d %(month)02d %(mday)02d %(hour)02d 50  MM  5.0  6.0   %(value).1f     8>>\n"
ICE = "Year, Month, Day,     Extent,    Missing, Source Data\nYYYY,    MM,  DD, 10^6 sq km, 10^6 sq km, Source\n"
ICE += "<<%(year)d,    %(month)02d,  %(mday)02d,     %(value).3f,      0.000, ['x.nc']>>\n"
GAUGE = '{"value": "%(value)s", "dateTime": "%(day)sT00:00:00.000"}'
PYPI = '{"category": "without_mirrors", "date": "%(day)s", "downloads": %(count)d}'
STEAM = '{"rank": %(n)d, "appid": %(name)s, "last_week_rank": %(n)d, "peak_in_game": %(count)d}'
NHL = '{"date": "%(day)s", "teamName": {"default": "%(name)s"}, "points": %(count)d}'
F1 = '{"Driver": {"familyName": "%(name)s"}, "points": "%(count)d"}'
TSA = "<html><body><table><thead><tr><th>Date</th><th>Numbers</th></tr></thead>"
TSA += "<<<tr><td>%(month)d/%(mday)d/%(year)d</td><td>2,%(count)d,123</td></tr>>></table></body></html>"
CDC = '{"weekendingdate": "%(day)sT00:00:00.000", "jurisdiction": "USA", "totalconfc19newadm": "%(count)d"}'

SITES = {
    "data-api.ecb.europa.eu": fill(ECB, "work", "%(name)s", 1, 2, CODES),
    "home.treasury.gov": treasury,
    "markets.newyorkfed.org": fill(
        '{"refRates": [<<{"effectiveDate": "%(day)s", "type": "SOFR", "percentRate": %(value)s}>>]}',
        "work",
        "sofr",
        3,
        5,
    ),
    "www.bankofcanada.ca": boc,
    "fred.stlouisfed.org": fred,
    "data-api.binance.vision": fill(f"[<<{KLINE}>>]", "days", "%(symbol)s"),
    "api.coingecko.com": fill(
        '[<<{"id": "%(n)d", "name": "%(name)s", "market_cap": %(value)s}>>]', "today", "%(name)s", 1e9, 9e9, COINS
    ),
    "api.blockchain.info": fill(
        '{"status": "ok", "values": [<<{"x": %(stamp)d, "y": %(value)s}>>]}', "past", "tx", 3e5, 6e5
    ),
    "api.energy-charts.info": zip_lists(
        '{"license_info": "CC BY 4.0", "unix_seconds": %s, "price": %s, "unit": "EUR / MWh"}',
        "hours",
        stamp,
        ("%(bzn)s %(hour)s", 10, 100),
    ),
    "api.energidataservice.dk": fill('{"records": [<<' + DK + ">>]}", "hours", "%(name)s %(hour)s", names=AREAS),
    "api.carbonintensity.org.uk": fill('{"data": [<<' + CO2 + ">>]}", "hours", "co %(hour)s"),
    "api.open-meteo.com": zip_lists(
        '{"daily": {"time": %s, "temperature_2m_max": %s, "precipitation_sum": %s}}',
        "days",
        lambda day, hour: str(day),
        *(("%(latitude)s", -5, 30), ("rain %(latitude)s", 0, 9)),
    ),
    "air-quality-api.open-meteo.com": zip_lists(
        '{"hourly": {"time": %s, "pm2_5": %s}}',
        "hours",
        lambda day, hour: f"{day}T{hour:02}:00",
        ("%(latitude)s %(hour)s", 10, 100),
    ),
    "earthquake.usgs.gov": earthquakes,
    "services.swpc.noaa.gov": space_weather,
    "api.tidesandcurrents.noaa.gov": fill('{"data": [<<' + TIDE + ">>]}", "hours", "%(station)s %(hour)s", 0, 3),
    "www.ndbc.noaa.gov": fill(BUOY, "four", "wave %(hour)s", 0, 4),
    "noaadata.apps.nsidc.org": fill(ICE, "past", "ice", 8, 12),
    "gml.noaa.gov": fill(
        "# daily means\n# not for commerce\n<<%(year)d,%(month)d,%(mday)d,2026.5,%(value).2f>>\n",
        "past",
        "co2",
        420,
        430,
    ),
    "environment.data.gov.uk": fill(
        '{"items": [<<{"dateTime": "%(day)sT%(hour)02d:00:00Z", "value": %(value)s}>>]}', "four", "%(path)s", 0, 5
    ),
    "waterservices.usgs.gov": fill(
        '{"value": {"timeSeries": [{"values": [{"value": [<<' + GAUGE + ">>]}]}]}}", "past", "%(sites)s", 1e3, 9e3
    ),
    "eonet.gsfc.nasa.gov": fires,
    "usdmdataservices.unl.edu": fill(
        '[<<{"mapDate": "%(day)sT00:00:00", "none": 40, "d0": 60, "d1": %(value)s}>>]', "tuesdays 90", "dry", 20, 50
    ),
    "wikimedia.org": wikimedia,
    "api.github.com": fill(
        '<<{"full_name": "%(path)s", "stargazers_count": %(count)d}>>', "today", "%(path)s", 5e4, 6e4
    ),
    "pypistats.org": fill('{"data": [<<' + PYPI + '>>], "type": "overall"}', "past 60", "%(path)s", 1e6, 9e6),
    "api.npmjs.org": fill(
        '{"downloads": [<<{"downloads": %(count)d, "day": "%(day)s"}>>]}', "past", "npm %(last)s", 1e6, 9e6
    ),
    "hub.docker.com": fill('<<{"name": "%(path)s", "pull_count": %(count)d}>>', "today", "%(path)s", 1e9, 2e9),
    "huggingface.co": fill('[<<{"id": "%(name)s", "likes": %(count)d}>>]', "today", "like %(name)s", 10, 9e3, MODELS),
    "hn.algolia.com": fill(
        '{"hits": [<<{"title": "%(name)s", "points": %(count)d}>>]}', "today", "p %(name)s", 10, 900, STORIES
    ),
    "api.stackexchange.com": fill(
        '{"items": [<<{"name": "%(name)s", "count": %(count)d}>>]}', "today", "tag %(name)s", 1e6, 1.1e6, TAGS
    ),
    "api.steampowered.com": fill(
        '{"response": {"ranks": [<<' + STEAM + ">>]}}", "today", "app %(name)s", 1e4, 9e5, number("10", 20)
    ),
    "rss.marketingtools.apple.com": apple,
    "api.listenbrainz.org": fill(
        '{"payload": {"artists": [<<{"artist_name": "%(name)s", "listen_count": %(count)d}>>]}}',
        names=ARTISTS,
        high=9e3,
    ),
    "lichess.org": fill(
        '{"users": [<<{"username": "%(name)s", "perfs": {"blitz": {"rating": 28%(count)02d}}}>>]}', names=PLAYERS
    ),
    "api.chess.com": fill(
        '{"live_blitz": [<<{"username": "%(name)s", "score": 29%(count)02d, "rank": %(n)d}>>]}', names=PLAYERS
    ),
    "api-web.nhle.com": fill('{"standings": [<<' + NHL + ">>]}", "yesterday", "%(name)s", 0, 60, TEAMS),
    "api.openligadb.de": fill('[<<{"teamName": "%(name)s", "points": %(count)d}>>]', names=TEAMS),
    "api.jolpi.ca": fill(
        '{"MRData": {"StandingsTable": {"StandingsLists": [{"DriverStandings": [<<' + F1 + ">>]}]}}}", names=DRIVERS
    ),
    "www.tsa.gov": fill(TSA, "past", "tsa", 100, 999),
    "data.cityofnewyork.us": fill('[<<{"day": "%(day)sT00:00:00.000", "n": "%(count)d"}>>]', "days", "311", 5e3, 12e3),
    "gbfs.citibikenyc.com": fill(
        '{"data": {"stations": [<<{"station_id": "%(name)s", "num_bikes_available": %(count)d}>>]}}',
        names=number("", 40),
    ),
    "api.tfl.gov.uk": fill(
        '[<<{"name": "%(name)s", "lineStatuses": [{"statusSeverity": %(count)d}]}>>]', "today", "%(name)s", 5, 11, LINES
    ),
    "www.federalregister.gov": fill('{<<"%(day)s": {"count": %(count)d, "name": "x"}>>}', "work", "fr", 80, 200),
    "data.cdc.gov": fill(f"[<<{CDC}>>]", "saturdays 90", "covid", 1e3, 9e3),
}


def answer(url, now):
    """Return (content type, text) of an address at a moment (aware, UTC). Raises KeyError for a host that is none."""
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    body = SITES[parts.hostname](Ask(now, unquote(parts.path), query))
    return {"{": "application/json", "[": "application/json", "<": "text/html"}.get(body[0], "text/plain"), body
