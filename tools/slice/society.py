"""Recipes of the sources on people: page views, travel, health, polls, tweets, the police, pets.

Everything is aggregated here: what leaves this module counts things by day and place and says
nothing of a person.
"""

from functools import partial

import pandas as pd

from slice.recipe import LAST_A, WINDOWS, cut_windows, read_csv, read_pickle

FIRST_A = WINDOWS["daily"]["A"][0]
BEFORE_A = (
    "2016-01-01",
    "2016-09-11",
)  # which names a ranking follows is decided on these days, not with hindsight

WIKIPEDIA_PAGES = {
    "DaiGo_ja.wikipedia.org_mobile-web_all-agents": "DaiGo (Japanese, mobile)",
    "Death_of_Freddie_Gray_en.wikipedia.org_mobile-web_all-agents": "Death of Freddie Gray (English, mobile)",
    "Gordon_Ramsay_en.wikipedia.org_all-access_all-agents": "Gordon Ramsay (English)",
    "Philip,_Duke_of_Edinburgh_de.wikipedia.org_desktop_all-agents": "Philip, Duke of Edinburgh (German, desktop)",
    "Strasbourg_fr.wikipedia.org_all-access_all-agents": "Strasbourg (French)",
    "Де_Ниро,_Роберт_ru.wikipedia.org_desktop_all-agents": "Robert De Niro (Russian, desktop)",
    "Международная_космическая_станция_ru.wikipedia.org_all-access_all-agents": "International Space Station (Russian)",
    "Яшин,_Лев_Иванович_ru.wikipedia.org_mobile-web_all-agents": "Lev Yashin (Russian, mobile)",
    "星野源_ja.wikipedia.org_all-access_all-agents": "Gen Hoshino (Japanese)",
}
# The file's code "cn" is left out: it may stand for Canada or for China.
COUNTRIES = {
    "prt": "Portugal",
    "gbr": "United Kingdom",
    "esp": "Spain",
    "irl": "Ireland",
    "fra": "France",
    "deu": "Germany",
    "usa": "United States",
    "ita": "Italy",
    "bel": "Belgium",
    "nld": "Netherlands",
    "bra": "Brazil",
    "che": "Switzerland",
}
TRACKERS = {
    "CVOTER International": "CVOTER International",
    "Ipsos": "Ipsos",
    "The Times-Picayune/Lucid": "Times-Picayune/Lucid",
    "USC Dornsife/LA Times": "USC Dornsife/LA Times",
}
POLL_DAYS = 14


def list_calendar(before: int = 0) -> pd.Index:
    """Return the ISO dates of window A, and of the `before` days ahead of it."""
    return pd.date_range(pd.Timestamp(FIRST_A) - pd.Timedelta(days=before), LAST_A).strftime(
        "%Y-%m-%d"
    )


def count_trailing(
    dates: pd.Series, entities: pd.Series, kept: list[str], days: int, variable: str
) -> pd.DataFrame:
    """Return, for each day of window A and each entity in `kept`, how many records fall on
    that day and the `days` - 1 before it.

    >>> dates, entities = pd.Series(["2016-09-12", "2016-09-14"]), pd.Series(["x", "x"])
    >>> count_trailing(dates, entities, ["x"], 2, "n")["n"].head(4).tolist()
    [1, 1, 1, 1]
    >>> count_trailing(dates, entities, ["x"], 3, "n")["n"].head(4).tolist()
    [1, 1, 2, 1]
    """
    counts = pd.crosstab(dates, entities).reindex(
        index=list_calendar(days - 1), columns=kept, fill_value=0
    )
    trailing = counts.rolling(days).sum().dropna().astype(int)
    rows = (
        trailing.rename_axis(index="occurred_at", columns="entity")
        .stack()
        .rename(variable)
        .reset_index()
    )
    return cut_windows(rows)


def rank_names(names: pd.Series, n: int) -> list[str]:
    """Return the `n` most frequent names, ties by alphabet.

    >>> rank_names(pd.Series(["b", "a", "c", "c"]), 2)
    ['c', 'a']
    """
    counts = names.value_counts().rename_axis("name").reset_index(name="n")
    return counts.sort_values(["n", "name"], ascending=[False, True])["name"].head(n).tolist()


def build_wikipedia(raw: bytes) -> pd.DataFrame:
    """Return daily views of nine Wikipedia pages; the tenth in the file, on pornography, is left
    out."""
    views = read_csv(raw)
    views = views[views["Page"].isin(WIKIPEDIA_PAGES)]
    rows = pd.DataFrame(
        {"occurred_at": views["date"], "entity": views["Page"].map(WIKIPEDIA_PAGES)}
    )
    return cut_windows(rows.assign(views=views["value"].astype(int)))


def build_hotel(raw: bytes) -> pd.DataFrame:
    """Return the resort hotel's mean daily rate (euros a room and night) and number of bookings, by
    day of arrival."""
    bookings = (
        read_pickle(raw)
        .groupby("arrival_date")["avg_price_per_room"]
        .agg(rate="mean", arrivals="size")
    )
    rows = bookings.round({"rate": 2}).reset_index(names="occurred_at")
    rows.insert(1, "entity", "Algarve resort hotel")
    return cut_windows(rows)


def build_hotel_countries(raw: bytes) -> pd.DataFrame:
    """Return bookings whose guests arrived in the last seven days, by the guests' country (twelve
    countries)."""
    bookings = read_pickle(raw)
    return count_trailing(
        bookings["arrival_date"],
        bookings["country"].map(COUNTRIES),
        list(COUNTRIES.values()),
        7,
        "arrivals",
    )


def build_puerto_rico(raw: bytes) -> pd.DataFrame:
    """Return deaths a day in Puerto Rico."""
    rows = read_pickle(raw).rename(columns={"date": "occurred_at"}).assign(entity="Puerto Rico")
    return cut_windows(rows[["occurred_at", "entity", "deaths"]])


def build_taiwan(raw: bytes) -> pd.DataFrame:
    """Return dengue cases notified in the last 28 days, for the twelve counties of residence with
    most cases before."""
    cases = read_csv(raw, usecols=["Date_Notification", "County_living"], dtype=str)
    dates, counties = cases["Date_Notification"].str.replace("/", "-"), cases["County_living"]
    return count_trailing(
        dates, counties, rank_names(counties[dates.between(*BEFORE_A)], 12), 28, "cases"
    )


def average_polls(polls: pd.DataFrame) -> pd.DataFrame:
    """Return, for each day of window A and each entity, the mean of the polls that ended in the
    last POLL_DAYS days.

    `polls` has entity, enddate, clinton and trump (per cent, raw). Adds lead (Clinton minus Trump,
    points) and n_polls.
    """
    tables = []
    for day in list_calendar():
        since = (pd.Timestamp(day) - pd.Timedelta(days=POLL_DAYS - 1)).strftime("%Y-%m-%d")
        recent = polls[polls["enddate"].between(since, day)].groupby("entity")
        means = recent[["clinton", "trump"]].mean().round(2)
        means["lead"] = means["clinton"] - means["trump"]
        tables.append(means.assign(n_polls=recent.size(), occurred_at=day).reset_index())
    rows = pd.concat(tables).round({"lead": 2})
    return cut_windows(rows[["occurred_at", "entity", "clinton", "trump", "lead", "n_polls"]])


def read_polls(raw: bytes) -> pd.DataFrame:
    """Return the raw figures of each poll; adjusted columns and grades, which only hindsight knows,
    are left out."""
    polls = read_pickle(raw).rename(
        columns={"rawpoll_clinton": "clinton", "rawpoll_trump": "trump"}
    )
    return polls[["state", "pollster", "enddate", "clinton", "trump"]]


def build_state_polls(raw: bytes) -> pd.DataFrame:
    """Return 14-day means of the raw polls of each state and the District of Columbia, by day."""
    polls = read_polls(raw).rename(columns={"state": "entity"})
    return average_polls(polls[(polls["entity"] != "U.S.") & ~polls["entity"].str.contains(" CD-")])


def build_national_polls(raw: bytes) -> pd.DataFrame:
    """Return 14-day means of the raw national polls, by day: all pollsters, and four that poll
    without a break."""
    polls = read_polls(raw).query("state == 'U.S.'")
    trackers = polls.assign(entity=polls["pollster"].map(TRACKERS)).dropna(subset="entity")
    return average_polls(pd.concat([polls.assign(entity="All pollsters"), trackers]))


def build_tweets(raw: bytes) -> pd.DataFrame:
    """Return one account's tweets a UTC day: number, mean words, share sent from Android (%); no
    text is kept."""
    tweets = read_pickle(raw)
    table = pd.DataFrame(
        {
            "occurred_at": tweets["created_at"].str[:10],
            "words": tweets["text"].str.split().str.len(),
        }
    )
    table["android"] = 100.0 * (tweets["source"] == "Twitter for Android")
    days = table.groupby("occurred_at").agg(
        tweets=("words", "size"), words=("words", "mean"), android_share=("android", "mean")
    )
    rows = days.round(1).reset_index()
    rows.insert(1, "entity", "realDonaldTrump")
    return cut_windows(rows)


def read_force(raw: bytes) -> pd.DataFrame:
    """Return the date, incident, neighborhood and problem of each use-of-force record, and nothing
    else."""
    records = read_pickle(raw)
    moment = records["response_datetime"].str.replace("/", "-")
    return pd.DataFrame(
        {
            "date": moment.str[:10],
            "incident": moment,
            "neighborhood": records["neighborhood"],
            "problem": records["problem"].str.strip(),
        }
    )


def build_force_ranking(raw: bytes, column: str, n: int, days: int) -> pd.DataFrame:
    """Return use-of-force records of the last `days` days, for the `n` values of `column` with most
    before."""
    records = read_force(raw)
    kept = rank_names(records.loc[records["date"].between(*BEFORE_A), column], n)
    return count_trailing(records["date"], records[column], kept, days, "reports")


def build_force_total(raw: bytes) -> pd.DataFrame:
    """Return use-of-force records a day, and the number of incidents they come from (one incident,
    several records)."""
    days = (
        read_force(raw)
        .groupby("date")
        .agg(reports=("incident", "size"), incidents=("incident", "nunique"))
    )
    rows = days.reindex(list_calendar(), fill_value=0).reset_index(names="occurred_at")
    rows.insert(1, "entity", "Minneapolis")
    return cut_windows(rows)


def build_pet_breeds(raw: bytes) -> pd.DataFrame:
    """Return pet licences issued in the last 28 days, for the 16 breeds most frequent before the
    window."""
    pets = read_pickle(raw)
    kept = rank_names(pets.loc[pets["license_issue_date"] < FIRST_A, "primary_breed"], 16)
    return count_trailing(pets["license_issue_date"], pets["primary_breed"], kept, 28, "licences")


def build_pet_species(raw: bytes) -> pd.DataFrame:
    """Return dog and cat licences issued in the last seven days."""
    pets = read_pickle(raw)
    return count_trailing(
        pets["license_issue_date"], pets["species"] + "s", ["Cats", "Dogs"], 7, "licences"
    )


BUILDS = {
    "wikipedia_views": build_wikipedia,
    "algarve_hotel": build_hotel,
    "algarve_hotel_countries": build_hotel_countries,
    "puerto_rico_deaths": build_puerto_rico,
    "taiwan_dengue": build_taiwan,
    "us_polls": build_state_polls,
    "us_polls_national": build_national_polls,
    "tweet_counts": build_tweets,
    "minneapolis_force_places": partial(build_force_ranking, column="neighborhood", n=20, days=28),
    "minneapolis_force_problems": partial(build_force_ranking, column="problem", n=12, days=7),
    "minneapolis_force_total": build_force_total,
    "seattle_pets": build_pet_breeds,
    "seattle_pets_species": build_pet_species,
}
"""Source id -> what makes its rows of the bytes of its files."""
