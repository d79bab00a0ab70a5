"""Prediction markets by their public interfaces: open questions, answers, and agents beside the
price; ForecastBench's scores.

A venue is asked as a guest asks a page (`web.guest`): a second between two requests to a host,
bounds of bytes and time, and no further request to a host that asks for patience (429). robots.txt
speaks of pages; these addresses are documented for programs. What a venue lists on a day is kept as
a file of questions, so that each agent and each later run of the day is asked the same, as of the
moment of the fetch and beside the price of that moment.

Skill is against the price at the moment of asking, in pairs and by event. ForecastBench's Brier
error is of all that its resolution set settles, what was not forecast at 0.5; its adjustment for
difficulty needs all its forecasters.
"""

import json
import tomllib
from collections.abc import Iterator
from itertools import islice
from urllib.parse import quote, urlsplit

import pandas as pd

from daybefore.formats.forecastbench_questions import MISSING, find_chance
from daybefore.formats.forecastbench_questions import VENUES as MARKETS
from daybefore.formats.market_questions import Market, list_markets
from daybefore.live.week_questions import check_rows
from daybefore.web.fetched_pages import GatewayError
from daybefore.web.guest import Guest
from helpers.clock import stamp_moment
from helpers.files import ROOT, locate_output, parse_json, write_whole
from helpers.input_faults import Problems, parse_text
from helpers.means import find_clusters
from helpers.paired import compare_pairs

PAGE, MAX_PAGES, MAX_ASKED = 100, 10, 500
"""Questions a page of a list, as the addresses say, pages that are read, questions that may be
asked."""

VENUES = tomllib.loads((ROOT / "data/live/venues.toml").read_text("utf-8"))
"""Addresses of the markets, by name."""


class Absent(ValueError):
    """A venue has nothing at an address (404)."""


def keep_questions(venue, n, now):
    """Return (path of the file of a day's questions, moment of their fetch, sentences on what was
    left out).

    They are fetched unless the file of that day (UTC+8) and number is there. Raises ValueError for
    too large a number, and what `fetch_questions` does.
    """
    n = n or PAGE
    if n > MAX_ASKED:
        raise ValueError(f"at most {MAX_ASKED} questions are asked of a market, not {n}")
    path, told = locate_output(f"data/weeks/{venue}-{now:%Y-%m-%d}-{n}.jsonl"), []
    if not path.exists():
        rows, told = fetch_questions(venue, n, now)
        write_whole(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    with path.open(encoding="utf-8") as file:
        return path, pd.Timestamp(json.loads(file.readline())["fetched_at"]), told


def fetch_questions(venue, n, now):
    """Return (rows of a file of questions, [(id, why it was left out)]): up to n questions of two
    options, open `now`.

    In the venue's own order (Polymarket by liquidity, Manifold by popularity). Raises ValueError
    that names the venue, and question and field where one is at fault.
    """
    guest = Guest(now)
    found, told = {}, []
    for page in read_pages(venue, guest, MAX_PAGES):
        markets, out = list_markets(page, venue)
        for row in (write_row(venue, one, now) for one in markets if one.answer is None):
            if len(row["options"]) != 2 or pd.Timestamp(row["end_time"]) <= now:
                continue
            try:
                found |= {row["id"]: check_rows([row], venue)[0]}
            except Problems as problem:
                out.append((row["id"], str(problem)))
        told += out
        if len(found) >= n or (out and not found):
            break
    if not found:
        first = f"; the first of {len(told)} left out ({told[0][0]}): {told[0][1]}" if told else ""
        raise ValueError(f"{venue} lists no open question that can be read{first}")
    return list(islice(found.values(), n)), told


def write_row(venue, market, now):
    """Return a market's question as a row of a file of questions."""
    event = market.event
    row = {
        "id": event["event_id"],
        "prompt": event["prompt"],
        "end_time": event["resolves_at"],
        "kind": "single",
        "options": parse_json(event["options"]),
        "venue": venue,
        "cluster": event["cluster_id"],
        "criteria": event["resolution_criteria"],
        "price": market.price,
        "url": market.url,
        "fetched_at": stamp_moment(now),
    }
    return {name: cell for name, cell in row.items() if cell not in (None, "")}


def read_pages(venue: str, guest: Guest, n_pages: int) -> Iterator[list]:
    """Yield the pages of a venue's list of open questions, `n_pages` at most.

    Raises ValueError that names the venue where it does not answer, or no list stands there.
    """
    spec = VENUES[venue]
    place = spec.get("first", "0")
    for _ in range(n_pages):
        address = spec["listing"] + (spec.get("next", "") if place else "")
        given = parse_text(*fetch(venue, address.format(at=quote(place, safe="")), guest))
        about = given if isinstance(given, dict) else {}
        page = about.get(spec["field"]) if "field" in spec else given
        if not isinstance(page, list):
            raise ValueError(f"{venue}: it lists no questions; its form has changed")
        yield page
        last, place = place, about.get(spec.get("cursor"))
        if "cursor" not in spec and len(page) >= PAGE:
            place = str(int(last) + PAGE)
        if not isinstance(place, str) or place in ("", last):  # else it would be read for ever
            return


def fetch(venue, url, guest):
    """Return (the text at an address, how it is called). Raises ValueError that names the venue,
    and what to do."""
    place = f"{venue}, {urlsplit(url).netloc}{urlsplit(url).path}"
    try:
        status, _, body = guest.get(url, heeds_robots=False)
    except GatewayError as problem:
        until = f"; it wants no request before {problem.until}" if problem.until else ""
        raise ValueError(f"{venue}: {problem}{until}") from None
    if status == 404:
        raise Absent(f"{place} answered 404")
    if status != 200:
        raise ValueError(f"{place} answered {status}")
    return body.decode("utf-8", "replace"), place


# --- what they say later ----------------------------------------------------------------------------


def fetch_answers(events, now):
    """Return (rows of id and answer of the questions that their venues have settled, [(id, why it
    is open)])."""
    guest, rows, told = Guest(now), [], []
    for event in events.to_dict("records"):
        key, venue = event["event_id"], event["source_id"]
        answer, why = None, "it is not resolved yet"
        try:
            if name := parse_json(event["metadata"]).get("question_set"):
                raise ValueError(
                    f"SETTLE={name[:10]}_resolution_set.json, from ForecastBench, does"
                )
            if venue not in VENUES:
                raise ValueError(f"it is of no venue; there are {', '.join(VENUES)}")
            market = fetch_one(venue, key.removeprefix(f"{venue}-"), guest)
            answer = market.answer and parse_json(market.answer["value"])
        except ValueError as problem:
            why = str(problem)
        if answer:
            rows.append({"id": key, "answer": answer})
        else:
            told.append((key, why))
    return rows, told


def fetch_one(venue: str, key: str, guest: Guest) -> Market:
    """Return a question as its venue answers it, at the first of its addresses that has it. Raises
    ValueError."""
    for address in VENUES[venue]["one"]:
        try:
            given = parse_text(*fetch(venue, address.format(id=quote(key, safe="")), guest))
        except Absent:
            continue
        if isinstance(given, dict):
            given = [given.get("market", given)]  # Kalshi's stands in a field
        markets, out = list_markets(given, venue)
        if out:
            raise ValueError(f"{venue}: {out[0][1]}")
        if markets:
            return markets[0]
    raise ValueError(f"{venue} knows no question {key}")


# --- agents beside them -----------------------------------------------------------------------------


def tell_chances(predictions, events, answers):
    """Return settled questions of two options with what was said of the first: a row a question.

    Columns event_id, source_id, p (stated by option, or for the answer given; blank without),
    forecast (p, else 1 or 0 by the answer; blank without one), outcome (0 or 1), price (at the
    moment of asking; blank without).
    """
    said, made = {row["event_id"]: row for row in predictions.to_dict("records")}, []
    right = answers.set_index("event_id")["value"]
    for event in events[events["event_id"].isin(right.index)].to_dict("records"):
        key, letters = event["event_id"], list(parse_json(event["options"]) or {})
        if len(letters) == 2:
            one = said.get(key, {})
            stated, shares = one.get("probability"), parse_json(one.get("distribution"))
            stated = None if pd.isna(stated) else stated
            forecast = find_chance(letters[0], parse_json(one.get("value")), stated, shares)
            p = forecast if shares or stated is not None else None
            outcome = float(parse_json(right[key]) == letters[0])
            price = parse_json(event["metadata"]).get("price")
            made.append((key, event["source_id"], p, forecast, outcome, price))
    numbers = dict.fromkeys(("p", "forecast", "outcome", "price"), float)
    return pd.DataFrame(made, columns=["event_id", "source_id", *numbers]).astype(numbers)


def measure_skill(chances, events):
    """Return an agent's Brier error (0 to 1) beside the price's on the questions that have both;
    None where none has.

    A dict: n, n_clusters, agent, price, difference (price minus agent: above 0 the agent is
    better), low and high (95% by `cluster_id`). `chances` is of `tell_chances`.
    """
    table = chances.dropna(subset=["p", "price"]).set_index("event_id")
    if table.empty:
        return None
    errors = table[["price", "p"]].sub(table["outcome"], axis=0) ** 2
    pair = compare_pairs(errors, find_clusters(events)[0]).iloc[0]
    means = {"agent": errors["p"].mean(), "price": errors["price"].mean()}
    return means | pair[["n", "n_clusters", "difference", "low", "high"]].to_dict()


def score_round(chances):
    """Return ForecastBench's Brier errors without its adjustment: (table of part, n, missing,
    brier; the last overall).

    Overall is the mean of the two parts, markets and series, as ForecastBench has it; blank where
    one is empty.
    """
    rows, is_market = [], chances["source_id"].isin(MARKETS)
    for part, table in (("market", chances[is_market]), ("dataset", chances[~is_market])):
        errors = (table["forecast"].fillna(MISSING) - table["outcome"]) ** 2
        rows.append((part, len(table), int(table["forecast"].isna().sum()), errors.mean()))
    n, missing, brier = (pd.Series(column) for column in list(zip(*rows, strict=True))[1:])
    rows.append(("overall", n.sum(), missing.sum(), brier.mean(skipna=False)))
    return pd.DataFrame(rows, columns=["part", "n", "missing", "brier"])
