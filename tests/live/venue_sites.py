"""Markets and ForecastBench's data sets on the simulated internet, in their documented forms, questions ours."""

import json

import pandas as pd

COMMIT = "5f" * 20
OPENED, CLOSES = "2026-02-01T00:00:00Z", "2026-04-01T00:00:00Z"
RULES = "By the lock keeper's log."


def read_ms(moment):
    return int(pd.Timestamp(moment).timestamp() * 1000)


class Market:
    """A question at all four venues: its number, the price of yes, and (once it is known) its outcome, yes or no."""

    def __init__(self, n, price, outcome=None, group=None):
        self.n, self.price, self.outcome, self.group = n, price, outcome, group if group is not None else n
        self.question = f"Will lock {n} of the canal open?"

    def write_polymarket(self):
        yes = self.price if self.outcome is None else float(self.outcome == "yes")
        row = {"id": str(self.n), "conditionId": f"0x{self.n:04x}", "question": self.question, "slug": f"lock-{self.n}"}
        row |= {"description": RULES, "startDate": OPENED, "endDate": CLOSES, "active": True}
        row |= {"outcomes": '["Yes", "No"]', "outcomePrices": json.dumps([str(yes), str(round(1 - yes, 4))])}
        row |= {"clobTokenIds": json.dumps([f"{self.n}1", f"{self.n}2"]), "closed": self.outcome is not None}
        row |= {"events": [{"id": str(self.group), "slug": f"canal-{self.group}"}]}
        return row | ({"closedTime": "2026-03-20 12:00:00+00"} if self.outcome else {})

    def write_manifold(self):
        row = {"id": f"lock{self.n}", "question": self.question, "outcomeType": "BINARY", "mechanism": "cpmm-1"}
        row |= {"url": f"https://manifold.markets/keeper/lock-{self.n}", "probability": self.price}
        row |= {"createdTime": read_ms(OPENED), "closeTime": read_ms(CLOSES), "isResolved": self.outcome is not None}
        end = {"resolution": str(self.outcome).upper(), "resolutionTime": read_ms("2026-03-20")}
        return row | (end if self.outcome else {})

    def write_kalshi(self):
        row = {"ticker": f"KXLOCK-26APR-{self.n}", "event_ticker": f"KXLOCK-26APR{self.group}", "market_type": "binary"}
        row |= {"title": self.question, "yes_sub_title": "Open", "rules_primary": RULES, "rules_secondary": ""}
        row |= {"open_time": OPENED, "close_time": CLOSES, "result": self.outcome or ""}
        prices = {"yes_bid": self.price - 0.02, "yes_ask": self.price + 0.02, "last_price": self.price}
        row |= {f"{name}_dollars": f"{price:.4f}" for name, price in prices.items()}
        return row | {"status": "finalized" if self.outcome else "active"}


class Exchange:
    """All venues over the same markets; `changes` maps a venue to what is done to each row before it goes out."""

    def __init__(self, markets):
        self.markets, self.changes, self.retired, self.archived = markets, {}, (), False
        self.hosts = {
            "gamma-api.polymarket.com": self.answer_gamma,
            "clob.polymarket.com": self.answer_clob,
            "api.manifold.markets": self.answer_manifold,
            "external-api.kalshi.com": self.answer_kalshi,
        }

    def write(self, venue, markets):
        change = self.changes.get(venue, lambda row: row)
        return [change(getattr(one, f"write_{venue}")()) for one in markets]

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
            candle = {"end_period_ts": read_ms("2026-02-20") // 1000, "price": {"close_dollars": "0.3000"}}
            return 200, {}, {"ticker": asked.path.split("/")[-2], "candlesticks": [candle]}
        if asked.path.endswith("/markets"):
            shown, goes_on = self.list_open(asked, "cursor")
            after = int(asked.query.get("cursor") or 0) + int(asked.query["limit"])
            return 200, {}, {"markets": self.write("kalshi", shown), "cursor": str(after) if goes_on else ""}
        found = [one for one in self.markets if asked.path.endswith(f"-{one.n}")]
        return (200, {}, {"market": self.write("kalshi", found)[0]}) if found else (404, {}, {"error": "not found"})


# --- ForecastBench ---------------------------------------------------------------------------------------------------


def make_set(due="2026-03-01"):
    """Return a question set of three markets, two series with two dates each, and one question of two."""
    base = {"background": "N/A", "market_info_resolution_criteria": "N/A"}
    base |= {"freeze_datetime": "2026-02-19T00:00:00+00:00"}
    market = base | {"resolution_criteria": "As the market resolves.", "resolution_dates": "N/A"}
    market |= {"url": "https://m.example", "freeze_datetime_value": "0.25"}
    market |= {"market_info_close_datetime": "2026-06-01T00:00:00+00:00"}
    series = base | {"resolution_criteria": "By the gauge.", "resolution_dates": ["2026-03-08", "2026-03-31"]}
    series |= {"freeze_datetime_value": "3.5", "freeze_datetime_value_explanation": "The level in metres."}
    words = "Will the level on {resolution_date} be above that of {forecast_due_date}?"
    rows = [
        market | {"id": f"m{n}", "source": "manifold", "question": f"Will <b>ferry {n}</b> sail?"} for n in range(3)
    ]
    rows += [series | {"id": f"s.{n}", "source": "fred", "question": words} for n in range(2)]
    rows += [market | {"id": ["m0", "m1"], "source": "manifold", "question": "Will both sail?"}]
    return {"forecast_due_date": due, "question_set": f"{due}-llm.json", "questions": rows}


def make_resolutions(due="2026-03-01"):
    """Return what is settled of `make_set`: a market, and the series on their first date; one market at its price."""
    market = {"source": "manifold", "direction": None, "resolution_date": "2026-03-20", "resolved": True}
    series = {"source": "fred", "direction": None, "resolution_date": "2026-03-08", "resolved": True}
    rows = [market | {"id": "m0", "resolved_to": 1.0}, market | {"id": "m1", "resolved_to": 1.0, "resolved": False}]
    rows += [market | {"id": ["m0", "m1"], "resolved_to": 0.0, "direction": [1, 1]}]
    rows += [series | {"id": "s.0", "resolved_to": 1.0}, series | {"id": "s.1", "resolved_to": 0.0}]
    return {"forecast_due_date": due, "question_set": f"{due}-llm.json", "resolutions": rows}


def make_bench(files):
    """Return the sites of ForecastBench's data sets at one commit: {path below datasets: text, or an object}."""

    def answer_api(asked):
        known = asked.path.endswith(("/commits/main", f"/commits/{COMMIT}"))
        return (200, {}, {"sha": COMMIT}) if known else (422, {}, {"message": "No commit found"})

    def answer_raw(asked):
        path = asked.path.partition(f"/{COMMIT}/datasets/")[2]
        return (200, {}, files[path]) if path in files else (404, {}, "404: Not Found")

    return {"api.github.com": answer_api, "raw.githubusercontent.com": answer_raw}
