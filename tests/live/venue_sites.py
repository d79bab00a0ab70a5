"""Markets and ForecastBench's data sets on the simulated internet, in their documented forms, questions ours."""

import json
import tomllib
from pathlib import Path

import pandas as pd

COMMIT = "5f" * 20
TOLD = tomllib.loads(Path(__file__).with_name("venues.toml").read_text(encoding="utf-8"))


def read_ms(moment):
    return int(pd.Timestamp(moment).timestamp() * 1000)


class Market:
    """A question at all four venues: its number, the price of yes, and (once it is known) its outcome, yes or no."""

    def __init__(self, n, price, outcome=None, group=None):
        self.n, self.price, self.outcome, self.group = n, price, outcome, group if group is not None else n
        self.question = f"Will lock {n} of the canal open?"

    def write(self, venue):
        """Return the question in a venue's form, with its columns of an end where its outcome is known."""
        yes, cents = self.price, 0.02
        if venue == "polymarket" and self.outcome is not None:
            yes = float(self.outcome == "yes")
        about = vars(self) | {"yes": yes, "no": round(1 - yes, 4), "bid": self.price - cents, "ask": self.price + cents}
        about |= {"is_over": json.dumps(self.outcome is not None), "outcome": self.outcome or ""}
        row = json.loads(TOLD[venue]["form"] % about)
        end = json.loads(TOLD[venue]["end"] % (about | {"upper": str(self.outcome).upper()})) if self.outcome else {}
        return row | end


class Exchange:
    """All venues over the same markets; `changes` maps a venue to what is done to each row before it goes out."""

    def __init__(self, markets):
        self.markets, self.changes, self.retired = markets, {}, ()
        self.archived = self.untraded = False
        self.hosts = {
            "gamma-api.polymarket.com": self.answer_gamma,
            "clob.polymarket.com": self.answer_clob,
            "api.manifold.markets": self.answer_manifold,
            "external-api.kalshi.com": self.answer_kalshi,
        }

    def write(self, venue, markets):
        change = self.changes.get(venue, lambda row: row)
        return [change(one.write(venue)) for one in markets]

    def list_open(self, asked, of="offset"):
        left = [one for one in self.markets if one.outcome is None]
        first = int(asked.query.get(of) or 0)
        return left[first : first + int(asked.query["limit"])], first + int(asked.query["limit"]) < len(left)

    def answer_gamma(self, asked):
        if "condition_ids" in asked.query:
            is_closed = asked.query["closed"] == "true"
            found = [one for one in self.markets if f"0x{one.n:04x}" == asked.query["condition_ids"]]
            return 200, {}, self.write("polymarket", [one for one in found if (one.outcome is not None) == is_closed])
        if asked.path in self.retired:
            return 410, {}, {"error": "this list is no more"}
        if not asked.path.endswith("/keyset"):
            return 200, {}, self.write("polymarket", self.list_open(asked)[0])
        shown, goes_on = self.list_open(asked, "after_cursor")
        after = int(asked.query.get("after_cursor") or 0) + int(asked.query["limit"])
        return 200, {}, {"markets": self.write("polymarket", shown)} | ({"next_cursor": str(after)} if goes_on else {})

    def answer_clob(self, asked):
        return 200, {}, {"history": [{"t": read_ms("2026-02-20") // 1000, "p": 0.3}]}

    def answer_manifold(self, asked):
        if asked.path == "/v0/search-markets":
            return 200, {}, self.write("manifold", self.list_open(asked)[0])
        if asked.path == "/v0/bets":
            bet = {"contractId": asked.query["contractId"], "createdTime": read_ms("2026-02-20"), "probAfter": 0.3}
            return 200, {}, [bet, bet | {"createdTime": read_ms("2026-03-10"), "probAfter": 0.9}]
        found = [one for one in self.markets if asked.path == f"/v0/market/lock{one.n}"]
        return (200, {}, self.write("manifold", found)[0]) if found else (404, {}, {"message": "Contract not found"})

    def answer_kalshi(self, asked):
        if self.archived and not asked.path.endswith("/markets") and "/historical/" not in asked.path:
            return 404, {}, {"error": "not found"}
        if asked.path.endswith("/candlesticks"):
            name = "close" if "/historical/" in asked.path else "close_dollars"
            candle = {"end_period_ts": read_ms("2026-02-20") // 1000, "price": {name: "0.3000"}}
            candle |= {side: {name: cents} for side, cents in (("yes_bid", "0.2000"), ("yes_ask", "0.4200"))}
            candle["price"] = {name: None} if self.untraded else candle["price"]
            return 200, {}, {"ticker": asked.path.split("/")[-2], "candlesticks": [candle]}
        if asked.path.endswith("/markets"):
            shown, goes_on = self.list_open(asked, "cursor")
            after = int(asked.query.get("cursor") or 0) + int(asked.query["limit"])
            return 200, {}, {"markets": self.write("kalshi", shown), "cursor": str(after) if goes_on else ""}
        found = [one for one in self.markets if asked.path.endswith(f"-{one.n}")]
        return (200, {}, {"market": self.write("kalshi", found)[0]}) if found else (404, {}, {"error": "not found"})


# --- ForecastBench ---------------------------------------------------------------------------------------------------


def make_set():
    """Return a question set of ForecastBench, of 1 March 2026."""
    return json.loads(TOLD["forecastbench"]["questions"])


def make_resolutions():
    """Return what is settled of `make_set`."""
    return json.loads(TOLD["forecastbench"]["resolutions"])


def make_bench(files):
    """Return the sites of ForecastBench's data sets at one commit: {path below datasets: text, or an object}."""

    def answer_api(asked):
        known = asked.path.endswith(("/commits/main", f"/commits/{COMMIT}"))
        return (200, {}, {"sha": COMMIT}) if known else (422, {}, {"message": "No commit found"})

    def answer_raw(asked):
        path = asked.path.partition(f"/{COMMIT}/datasets/")[2]
        return (200, {}, files[path]) if path in files else (404, {}, "404: Not Found")

    return {"api.github.com": answer_api, "raw.githubusercontent.com": answer_raw}
