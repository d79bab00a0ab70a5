"""Markets on the simulated internet and a round of ForecastBench, in their documented forms,
questions ours."""

import json
import tomllib
from pathlib import Path

TOLD = tomllib.loads(Path(__file__).with_name("venues.toml").read_text(encoding="utf-8"))


class Market:
    """A question at all four venues: its number, the price of yes, and (once it is known) its
    outcome, yes or no."""

    def __init__(self, n, price, outcome=None, group=None):
        self.n, self.price, self.outcome, self.group = (
            n,
            price,
            outcome,
            group if group is not None else n,
        )
        self.question = f"Will lock {n} of the canal open?"

    def write(self, venue):
        """Return the question in a venue's form, with its columns of an end where its outcome is
        known."""
        yes, cents = self.price, 0.02
        if venue == "polymarket" and self.outcome is not None:
            yes = float(self.outcome == "yes")
        about = vars(self) | {
            "yes": yes,
            "no": round(1 - yes, 4),
            "bid": self.price - cents,
            "ask": self.price + cents,
        }
        about |= {"is_over": json.dumps(self.outcome is not None), "outcome": self.outcome or ""}
        row = json.loads(TOLD[venue]["form"] % about)
        end = (
            json.loads(TOLD[venue]["end"] % (about | {"upper": str(self.outcome).upper()}))
            if self.outcome
            else {}
        )
        return row | end


class Exchange:
    """All venues over the same markets; `changes` maps a venue to what is done to each row before
    it goes out."""

    def __init__(self, markets):
        self.markets, self.changes = markets, {}
        self.hosts = {
            "gamma-api.polymarket.com": self.answer_gamma,
            "api.manifold.markets": self.answer_manifold,
            "external-api.kalshi.com": self.answer_kalshi,
        }

    def write(self, venue, markets):
        change = self.changes.get(venue, lambda row: row)
        return [change(one.write(venue)) for one in markets]

    def list_open(self, venue, asked, of="offset"):
        """Return (a page of open questions, where the next begins or "" after the last)."""
        left = [one for one in self.markets if one.outcome is None]
        first = int(asked.query.get(of) or 0)
        end = first + int(asked.query["limit"])
        return self.write(venue, left[first:end]), str(end) if end < len(left) else ""

    def find(self, venue, is_it):
        """Return the questions, in a venue's form, of which something holds."""
        return self.write(venue, filter(is_it, self.markets))

    def answer_gamma(self, asked):
        if "condition_ids" in asked.query:
            is_closed, wanted = asked.query["closed"] == "true", asked.query["condition_ids"]
            return (
                200,
                {},
                self.find(
                    "polymarket",
                    lambda m: (f"0x{m.n:04x}", m.outcome is not None) == (wanted, is_closed),
                ),
            )
        shown, after = self.list_open("polymarket", asked, "after_cursor")
        return 200, {}, {"markets": shown} | ({"next_cursor": after} if after else {})

    def answer_manifold(self, asked):
        if asked.path == "/v0/search-markets":
            return 200, {}, self.list_open("manifold", asked)[0]
        found = self.find("manifold", lambda one: asked.path == f"/v0/market/lock{one.n}")
        return (200, {}, found[0]) if found else (404, {}, {"message": "Contract not found"})

    def answer_kalshi(self, asked):
        if asked.path.endswith("/markets"):
            shown, after = self.list_open("kalshi", asked, "cursor")
            return 200, {}, {"markets": shown, "cursor": after}
        is_archive = "/historical/" in asked.path  # what is settled has moved there
        found = self.find(
            "kalshi",
            lambda m: asked.path.endswith(f"-{m.n}") and (m.outcome is not None) == is_archive,
        )
        return (200, {}, {"market": found[0]}) if found else (404, {}, {"error": "not found"})


# --- ForecastBench ----------------------------------------------------------------------------------


def make_set():
    """Return a question set of ForecastBench, of 1 March 2026."""
    return json.loads(TOLD["forecastbench"]["questions"])


def make_resolutions():
    """Return what is settled of `make_set`."""
    return json.loads(TOLD["forecastbench"]["resolutions"])
