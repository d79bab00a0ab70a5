"""What venues say of their questions later: the answers, the prices from before, and agents beside both.

Skill is against the price at the moment of asking, in pairs and by event. ForecastBench's Brier error is of all that
its resolution set settles, what was not forecast at 0.5; its adjustment for difficulty needs all its forecasters.
"""

from urllib.parse import quote

import numpy as np
import pandas as pd

from helpers.events.moments import number_days
from helpers.faults import parse_text
from helpers.formats.forecastbench import MISSING, find_chance, list_resolutions
from helpers.formats.forecastbench import VENUES as MARKETS
from helpers.formats.markets import Texts, Unread, list_markets, list_prices, take
from helpers.live.venues import FORECASTBENCH, VENUES, fetch_file, fetch_json, find_commit
from helpers.stats.means import find_clusters, summarize_clustered
from helpers.store import parse_json
from helpers.web.guest import Guest


def fetch_answers(events, now, guest=None):
    """Return (rows of id and answer of the questions that their venues have settled, [(id, why it is open)]).

    A row whose question had no price when it was asked has `price` where the history shows one from before.
    """
    guest, rows, told, sets = guest or Guest(now), [], [], {}
    for event in events.to_dict("records"):
        event_id, about = event["event_id"], parse_json(event["metadata"])
        try:
            if name := about.get("question_set"):
                due = name[:10]
                sets[due] = sets.get(due) or fetch_resolutions(due, guest)
                row = sets[due].get(event_id)
            else:
                row = fetch_answer(event, about, guest)
        except ValueError as problem:
            told.append((event_id, str(problem)))
            continue
        if row:
            rows.append(row)
        else:
            told.append((event_id, "it is not resolved yet"))
    return rows, told


def fetch_answer(event, about, guest):
    """Return a settled question's row of id, answer and price; None while it is open. Raises ValueError."""
    venue = event["source_id"]
    if venue not in VENUES:
        raise ValueError(f"it is of no venue; there are {', '.join((*VENUES, FORECASTBENCH))}")
    given, market = fetch_one(venue, event["event_id"].removeprefix(f"{venue}-"), guest)
    if market.answer is None:
        return None
    row = {"id": event["event_id"], "answer": parse_json(market.answer["value"])}
    if "price" not in about:
        table = fetch_prices(venue, given, market.event, guest)
        before = table.loc[table["day"] <= number_days(event["as_of"]), "price"]
        row |= {"price": float(before.iloc[-1])} if len(before) else {}
    return row


def fetch_one(venue, key, guest):
    """Return (a question as its venue answers it, as `formats.markets.Market`). Raises ValueError."""
    for is_closed in ("true", "false") if venue == "polymarket" else ("",):
        url = VENUES[venue]["one"].format(id=quote(key, safe=""), is_closed=is_closed)
        given = fetch_json(venue, url, guest)
        given = given.get("market") if venue == "kalshi" and isinstance(given, dict) else given
        rows = given if isinstance(given, list) else [given]
        markets, out = list_markets(rows, venue)
        if out:
            raise ValueError(f"{venue}: {out[0][1]}")
        if markets:
            return rows[0], markets[0]
    raise ValueError(f"{venue} knows no question {key}")


def fetch_prices(venue, given, event, guest):
    """Return the prices of a question that `fetch_one` gave: day, price (of its first option)."""
    if not (address := VENUES[venue].get("history")):
        return list_prices(given, venue)
    key = event["event_id"].removeprefix(f"{venue}-")
    blanks = {"id": quote(key, safe=""), "series": quote(key.partition("-")[0], safe="")}
    moments = {"start": event["opens_at"], "end": event["resolves_at"]}
    blanks |= {name: int(pd.Timestamp(moment).timestamp()) for name, moment in moments.items()}
    if venue == "polymarket":
        try:
            blanks["token"] = quote(take(given, "clobTokenIds", Texts)[0], safe="")
        except Unread as reason:
            raise ValueError(f"{venue}: {reason}") from None
    return list_prices(fetch_json(venue, address.format(**blanks), guest), venue)


def fetch_resolutions(due, guest):
    """Return what ForecastBench has settled of the set due on a day: {event_id: row of id and answer}."""
    name = f"{due}_resolution_set.json"
    given = parse_text(fetch_file(f"resolution_sets/{name}", find_commit(guest), guest), f"{FORECASTBENCH}, {name}")
    if not isinstance(given, dict) or not {"forecast_due_date", "resolutions"} <= set(given):
        raise ValueError(f"{FORECASTBENCH}, {name} is no resolution set")
    return {row["id"]: row for row in list_resolutions(given, name)}


# --- agents beside them ----------------------------------------------------------------------------------------------


def tell_chances(predictions, events, answers):
    """Return settled questions of two options with what was said of the first: a row a question.

    Columns event_id, source_id, p (stated by option, or for the answer given; blank without), forecast (p, else 1 or 0
    by the answer; blank without one), outcome (0 or 1), price (at the moment of asking; blank without).
    """
    about = events[["event_id", "source_id", "options", "metadata"]]
    table = about.merge(answers.reindex(columns=["event_id", "value", "price"]), on="event_id")
    said = {row["event_id"]: row for row in predictions.to_dict("records")}
    made = []
    for row in table.to_dict("records"):
        letters, one = list(parse_json(row["options"]) or {}), said.get(row["event_id"], {})
        if len(letters) != 2:
            continue
        stated, shares = one.get("probability"), parse_json(one.get("distribution"))
        stated = None if pd.isna(stated) else stated
        forecast = find_chance(letters[0], parse_json(one.get("value")), stated, shares)
        p = forecast if shares or stated is not None else None
        outcome = float(parse_json(row["value"]) == letters[0])
        price = parse_json(row["metadata"]).get("price", row["price"])
        made.append((row["event_id"], row["source_id"], p, forecast, outcome, price))
    numbers = dict.fromkeys(("p", "forecast", "outcome", "price"), float)
    return pd.DataFrame(made, columns=["event_id", "source_id", *numbers]).astype(numbers)


def measure_skill(chances, events):
    """Return an agent's Brier error (0 to 1) beside the price's on the questions that have both; None where none has.

    A dict: n, n_clusters, agent, price, difference (price minus agent: above 0 the agent is better), low and high (95%
    by `cluster_id`), p, skill (1 minus the quotient of the two). `chances` is of `tell_chances`.
    """
    table = chances.dropna(subset=["p", "price"]).set_index("event_id")
    if table.empty:
        return None
    errors = (table[["p", "price"]].sub(table["outcome"], axis=0) ** 2).set_axis(["agent", "price"], axis="columns")
    row = summarize_clustered(
        (errors["price"] - errors["agent"]).to_frame("difference"), find_clusters(events)[0]
    ).iloc[0]
    told = errors.mean().to_dict() | row[["n", "n_clusters"]].astype(int).to_dict() | {"difference": row["mean"]}
    return told | row[["low", "high", "p"]].to_dict() | {"skill": 1 - told["agent"] / (told["price"] or np.nan)}


def score_round(chances):
    """Return ForecastBench's Brier errors without its adjustment: (table of part, n, missing, brier; the last overall).

    Overall is the mean of the two parts, markets and series, as ForecastBench has it; blank where one is empty.
    """
    part = chances["source_id"].isin(MARKETS).map({True: "market", False: "dataset"})
    errors = (chances["forecast"].fillna(MISSING) - chances["outcome"]) ** 2
    by = pd.DataFrame({"missing": chances["forecast"].isna(), "brier": errors}).groupby(part)
    table = by.agg(n=("brier", "size"), missing=("missing", "sum"), brier=("brier", "mean"))
    table = table.reindex(["market", "dataset"]).fillna({"n": 0, "missing": 0}).astype({"n": int, "missing": int})
    table = table.rename_axis("part").reset_index()
    whole = {"part": "overall", "n": len(chances), "missing": table["missing"].sum()}
    whole["brier"] = table["brier"].mean(skipna=False)
    return pd.concat([table, pd.DataFrame([whole])], ignore_index=True)
