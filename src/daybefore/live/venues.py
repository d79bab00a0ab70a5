"""Prediction markets and ForecastBench by their public interfaces: open questions, answers, prices,
agents beside both.

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
from itertools import islice
from urllib.parse import quote, urlsplit

import numpy as np
import pandas as pd

from daybefore.formats.forecastbench import MISSING, find_chance, list_resolutions, list_rows
from daybefore.formats.forecastbench import VENUES as MARKETS
from daybefore.formats.markets import Objects, Texts, Unread, Words, list_markets, list_prices, take
from daybefore.live.challenge import check_rows
from daybefore.questions.moments import number_days
from daybefore.web.guest import Guest
from daybefore.web.pages import GatewayError
from helpers.calendar import stamp_moment
from helpers.faults import Problems, parse_text
from helpers.files import ROOT, locate_output, parse_json, write_whole
from helpers.means import find_clusters, summarize_clustered

PAGE, MAX_PAGES, MAX_ASKED, WHOLE = 100, 10, 500, 10_000
"""Questions a page of a list, as the addresses say, pages that are read, questions that may be
asked of a market, more than a set has."""

OLDER = "older "
"""How a place in a list that was replaced begins."""

FORECASTBENCH, NEWEST = "forecastbench", "latest-llm.json"
COMMITS = "https://api.github.com/repos/forecastingresearch/forecastbench-datasets/commits/{commit}"
FILES = "https://raw.githubusercontent.com/forecastingresearch/forecastbench-datasets/{commit}/datasets/{path}"


VENUES = tomllib.loads((ROOT / "data/live/venues.toml").read_text("utf-8"))
"""Addresses of the markets, by name."""


def keep_questions(venue, n, now, commit=None):
    """Return (path of the file of a day's questions, moment of their fetch, sentences on what was
    left out).

    They are fetched unless the file of that day (UTC+8) and number is there. Raises ValueError for
    too large a number, and what `fetch_questions` does.
    """
    n = n or (WHOLE if venue == FORECASTBENCH else PAGE)
    if venue in VENUES and n > MAX_ASKED:
        raise ValueError(f"at most {MAX_ASKED} questions are asked of a market, not {n}")
    name = "-".join(
        [
            venue,
            f"{now:%Y-%m-%d}",
            "all" if n == WHOLE else str(n),
            *([commit[:12]] if commit else []),
        ]
    )
    path, told = locate_output(f"data/weeks/{name}.jsonl"), []
    if not path.exists():
        rows, told = fetch_questions(venue, n, now, commit=commit)
        write_whole(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    with path.open(encoding="utf-8") as file:
        return path, pd.Timestamp(json.loads(file.readline())["fetched_at"]), told


def fetch_questions(venue, n, now, commit=None):
    """Return (rows of a file of questions, [(id, why it was left out)]): up to n questions of two
    options, open `now`.

    In the venue's own order (Polymarket by liquidity, Manifold by popularity); ForecastBench's
    sources in turn, of its newest set, or that at `commit`. Raises ValueError that names the venue,
    and question and field where one is at fault.
    """
    guest = Guest(now)
    if venue == FORECASTBENCH:
        return check_rows(fetch_set(n, now, guest, commit), venue), []
    found, told, at = {}, [], first_place(venue)
    for _ in range(MAX_PAGES):
        rows, at = fetch_page(venue, at, guest)
        markets, out = list_markets(rows, venue)
        for one in markets:
            row = write_row(venue, one, now)
            if len(row["options"]) != 2 or one.answer or pd.Timestamp(row["end_time"]) <= now:
                continue
            try:
                found |= {row["id"]: check_rows([row], venue)[0]}
            except Problems as problem:
                out.append((row["id"], str(problem)))
        told += out
        if len(found) >= n or at is None or (out and not found):
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
    }
    row |= {"options": parse_json(event["options"]), "venue": venue, "cluster": event["cluster_id"]}
    row |= {"criteria": event["resolution_criteria"], "price": market.price, "url": market.url}
    return {name: cell for name, cell in row.items() if cell not in (None, "")} | {
        "fetched_at": stamp_moment(now)
    }


def fetch_page(venue: str, at: str, guest: Guest) -> tuple[list, str | None]:
    """Return (questions of one page of a list, place of the next, None after the last).

    The first page is asked of the venue's list, and of the one that it replaced where that does not
    answer. Raises ValueError that names the venue, and both lists where neither answers.
    """
    spec = VENUES[venue]
    older = spec.get("older")
    if at.startswith(OLDER):
        return read_list(venue, older, at.removeprefix(OLDER), guest)
    try:
        return read_list(venue, spec, at, guest)
    except ValueError as problem:
        if older is None or at != first_place(venue):
            raise
        try:
            rows, place = read_list(venue, older, "0", guest)
        except ValueError as other:
            raise ValueError(f"{problem}; its older list: {other}") from None
        return rows, OLDER + place if place else None


def first_place(venue: str) -> str:
    """Return the place of a venue's list at which it is first read."""
    return VENUES[venue].get("first", "0")


def read_list(venue: str, spec: dict, at: str, guest: Guest) -> tuple[list, str | None]:
    """Return what `fetch_page` does, of one list (`spec`: listing, field, cursor, next)."""
    url = spec["listing"].format(at=quote(at, safe=""))
    if at and "next" in spec:
        url += spec["next"].format(at=quote(at, safe=""))
    given = parse_text(*fetch(venue, url, guest))
    try:
        rows = (
            take(given, spec["field"], Objects)
            if "field" in spec and isinstance(given, dict)
            else given
        )
        if "cursor" in spec and isinstance(given, dict):
            place = take(given, spec["cursor"], Words, None)
            return (
                rows,
                None if place == at else place,
            )  # a list that does not go on would be read for ever
    except Unread as reason:
        raise ValueError(f"{venue}: {reason}; its form has changed") from None
    return rows, str(int(at) + PAGE) if isinstance(rows, list) and len(rows) >= PAGE else None


def fetch(venue, url, guest):
    """Return (the text at an address, how it is called). Raises ValueError that names the venue,
    and what to do."""
    place = f"{venue}, {urlsplit(url).netloc}{urlsplit(url).path}"
    try:
        status, _, body = guest.get(url, heeds_robots=False)
    except GatewayError as problem:
        until = f"; it wants no request before {problem.until}" if problem.until else ""
        raise ValueError(f"{venue}: {problem}{until}") from None
    if status != 200:
        raise ValueError(f"{place} answered {status}")
    return body.decode("utf-8", "replace"), place


# --- ForecastBench ----------------------------------------------------------------------------------


def fetch_set(n, now, guest, commit=None):
    """Return up to n rows of ForecastBench's newest question set, its sources in turn; of `commit`,
    else the newest."""
    commit = find_commit(guest, commit)
    text, place = fetch_file(f"question_sets/{NEWEST}", commit, guest)
    if text.strip().endswith(".json"):  # a link
        text, place = fetch_file(f"question_sets/{text.strip()}", commit, guest)
    rows = list_rows(parse_text(text, place), NEWEST)
    sources = pd.Series([row["venue"] for row in rows], dtype=object)
    order = sources.groupby(sources).cumcount().sort_values(kind="stable").index[:n]
    told = {"fetched_at": stamp_moment(now)}
    return [
        rows[at] | told | {"question_set": f"{rows[at]['question_set']}@{commit}"} for at in order
    ]


def find_commit(guest, commit=None):
    """Return the 40 digits of the newest commit of ForecastBench's data sets, or of one that is
    named."""
    given = parse_text(
        *fetch(FORECASTBENCH, COMMITS.format(commit=quote(commit or "main", safe="")), guest)
    )
    if not isinstance(given, dict) or not isinstance(given.get("sha"), str):
        raise ValueError(f"{FORECASTBENCH}: field sha is missing in what api.github.com answers")
    return given["sha"]


def fetch_file(path, commit, guest):
    """Return (text, how it is called) of a file of the data sets at a commit."""
    return fetch(FORECASTBENCH, FILES.format(commit=commit, path=path), guest)


def fetch_resolutions(due, guest):
    """Return what ForecastBench has settled of the set due on a day: {event_id: row of id and
    answer}."""
    name = f"{due}_resolution_set.json"
    given = parse_text(*fetch_file(f"resolution_sets/{name}", find_commit(guest), guest))
    return {row["id"]: row for row in list_resolutions(given, name)}


# --- what they say later ----------------------------------------------------------------------------


def fetch_answers(events, now):
    """Return (rows of id and answer of the questions that their venues have settled, [(id, why it
    is open)]).

    A row whose question had no price when it was asked has `price` where the history shows one from
    before.
    """
    guest, rows, told, sets = Guest(now), [], [], {}
    for event in events.to_dict("records"):
        about, row = parse_json(event["metadata"]), None
        try:
            if name := about.get("question_set"):
                if (due := name[:10]) not in sets:
                    sets[due] = fetch_resolutions(due, guest)
                row = sets[due].get(event["event_id"])
            else:
                row = fetch_answer(event, about, guest)
            why = "it is not resolved yet"
        except ValueError as problem:
            why = str(problem)
        if row:
            rows.append(row)
        else:
            told.append((event["event_id"], why))
    return rows, told


def fetch_answer(event, about, guest):
    """Return a settled question's row of id, answer and price; None while it is open. Raises
    ValueError."""
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
    """Return (a question as its venue answers it, as `formats.markets.Market`). Raises
    ValueError."""
    for is_closed in ("true", "false") if venue == "polymarket" else ("",):
        given = parse_text(
            *fetch_kept(venue, "one", {"id": quote(key, safe=""), "is_closed": is_closed}, guest)
        )
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
    if "history" not in VENUES[venue]:
        return list_prices(given, venue)
    key = event["event_id"].removeprefix(f"{venue}-")
    blanks = {"id": quote(key, safe=""), "series": quote(key.partition("-")[0], safe="")}
    for name, moment in {"start": event["opens_at"], "end": event["resolves_at"]}.items():
        blanks[name] = int(pd.Timestamp(moment).timestamp())
    if venue == "polymarket":
        blanks["token"] = quote(take(given, "clobTokenIds", Texts)[0], safe="")
    return list_prices(parse_text(*fetch_kept(venue, "history", blanks, guest)), venue)


def fetch_kept(venue: str, what: str, blanks: dict, guest: Guest) -> tuple[str, str]:
    """Return what `fetch` does of one question or its prices, from the venue's archive where the
    first is not there."""
    spec = VENUES[venue]
    try:
        return fetch(venue, spec[what].format(**blanks), guest)
    except ValueError as problem:
        if "archive" not in spec or " answered 404" not in str(problem):
            raise
        try:
            return fetch(venue, spec["archive"][what].format(**blanks), guest)
        except ValueError as other:
            raise ValueError(f"{problem}; its archive: {other}") from None


# --- agents beside them -----------------------------------------------------------------------------


def tell_chances(predictions, events, answers):
    """Return settled questions of two options with what was said of the first: a row a question.

    Columns event_id, source_id, p (stated by option, or for the answer given; blank without),
    forecast (p, else 1 or 0 by the answer; blank without one), outcome (0 or 1), price (at the
    moment of asking; blank without).
    """
    table = events[["event_id", "source_id", "options", "metadata"]]
    table = table.merge(answers.reindex(columns=["event_id", "value", "price"]), on="event_id")
    said, made = {row["event_id"]: row for row in predictions.to_dict("records")}, []
    for row in table.to_dict("records"):
        letters, one = list(parse_json(row["options"]) or {}), said.get(row["event_id"], {})
        if len(letters) == 2:
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
    """Return an agent's Brier error (0 to 1) beside the price's on the questions that have both;
    None where none has.

    A dict: n, n_clusters, agent, price, difference (price minus agent: above 0 the agent is
    better), low and high (95% by `cluster_id`), p, skill (1 minus the quotient of the two).
    `chances` is of `tell_chances`.
    """
    table = chances.dropna(subset=["p", "price"]).set_index("event_id")
    if table.empty:
        return None
    errors = table[["p", "price"]].sub(table["outcome"], axis=0) ** 2
    gain = (errors["price"] - errors["p"]).to_frame("difference")
    row, (agent, price) = summarize_clustered(gain, find_clusters(events)[0]).iloc[0], errors.mean()
    found = {"agent": agent, "price": price} | row[["n", "n_clusters"]].astype(int).to_dict()
    found |= {"difference": row["mean"]} | row[["low", "high", "p"]].to_dict()
    return found | {"skill": 1 - agent / (price or np.nan)}


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
    found = pd.DataFrame(rows, columns=["part", "n", "missing", "brier"])
    whole = found[["n", "missing"]].sum().to_dict() | {
        "part": "overall",
        "brier": found["brier"].mean(skipna=False),
    }
    return pd.concat([found, pd.DataFrame([whole])], ignore_index=True)
