"""News as a source of a day's questions (FutureX 3.2.1): a model proposes them, a person confirms
and settles them.

A feed (RSS or Atom) is fetched as a guest. An article counts as known from the moment at which it
was first seen there, and one that is dated later is left out. From a feed's new articles a model
proposes questions on the week to come, and rules and a reader check them. They wait in
`data/days/news.csv`: where a person writes yes, the next set that is posed asks them. The person's
`answer` settles a question, else what a reader finds in articles seen after it was asked. An
article is data: what it says reaches the models inside a prompt, and nowhere else.
"""

from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lxml import etree

from daybefore.formats.futurex_questions import name_letters, word_prompt
from daybefore.live.keep_pages import CAPTURES, fetch_page, open_captures
from daybefore.live.propose_sites import TEXT, is_confirmed, keep_table, read_table
from daybefore.live.read_by_model import MAX_SHOWN, READ, read_answer, read_twice
from daybefore.live.settle_week import read_truth
from daybefore.live.week_questions import build_posed, read_end, read_options
from daybefore.models.grammars import make_schema
from daybefore.models.judges import LONG
from daybefore.prompts import read_prompt
from daybefore.questions.fill_templates import HORIZON_DAYS
from daybefore.web.fetched_pages import GatewayError
from daybefore.web.guest import Guest
from daybefore.web.news_articles import MAX_TITLE, slug
from daybefore.web.parse_markup import STRING, check_size, parse_html
from helpers.clock import ZONE, stamp_moment
from helpers.files import dump_json, hash_text, locate_output, write_whole
from helpers.input_faults import describe_problem, raise_all, read_lines

NEWS = "news"
"""The `source_id` of these questions."""
TABLE, ARTICLES = "data/days/news.csv", "data/days/news"
"""The proposals; the articles, a file a feed, which `--articles` takes."""
COLUMNS = (
    "id",
    "url",
    "question",
    "kind",
    "options",
    "unit",
    "end",
    "criteria",
    "quote",
    "proposed_at",
    "check",
)
COLUMNS += ("confirmed", "answer")
N_ARTICLES, N_QUESTIONS, MAX_ARTICLE = 12, 3, 900
"""Articles that a model is shown; questions it may propose; characters of an article that are
kept."""
PROPOSAL = make_schema(
    article={"type": "integer"},
    question=TEXT,
    kind={"enum": ["single", "number", "text"]},
    options={"type": "array", "items": TEXT, "maxItems": 6},
    unit=TEXT,
    end=TEXT,
    criteria=TEXT,
    quote=TEXT,
)
PROPOSALS = make_schema(questions={"type": "array", "items": PROPOSAL, "maxItems": N_QUESTIONS})


# --- feeds ------------------------------------------------------------------------------------------


def read_feed(body: str) -> list[dict]:
    """Return the articles of a feed (RSS or Atom), newest first: id, title, text, address, dated
    (UTC; None undated).

    Raises ValueError for what is no feed.
    """
    check_size(body)
    if "<!ENTITY" in body:
        raise ValueError("it defines entities, which no feed needs")
    try:
        tree = etree.fromstring(
            body.strip().encode(), etree.XMLParser(no_network=True, load_dtd=False)
        )
    except etree.XMLSyntaxError as error:
        raise ValueError(f"it is no feed in XML ({str(error)[:80]})") from None
    found = []
    for item in tree.xpath("//*[local-name()='item' or local-name()='entry']"):
        title = clean(take(item, "title"))
        links = [
            link.get("href") or link.text or "" for link in item.xpath("*[local-name()='link']")
        ]
        address = links[0].strip() if links else ""
        text = (
            clean(take(item, "description", "summary", "content", "encoded"))[:MAX_ARTICLE] or title
        )
        if title:
            about = {
                "id": address or hash_text(title, 16),
                "title": title[:MAX_TITLE],
                "text": text,
            }
            dated = read_date(take(item, "pubDate", "published", "updated", "date"))
            found.append(about | {"address": address, "dated": dated})
    if not found:
        raise ValueError("it lists no article (item or entry)")
    return found


def take(item: Any, *names: str) -> str:
    """Return the text of the first child of these names that has one, "" for none."""
    for name in names:
        for child in item.xpath(f"*[local-name()='{name}']"):
            if said := STRING(child).strip():
                return said
    return ""


def clean(text: str) -> str:
    """Return a text of a feed without tags and line ends.

    >>> clean("A <b>ferry</b>\\n sails")
    'A ferry sails'
    """
    if "<" in text:
        text = STRING(parse_html(f"<p>{text}</p>"))
    return " ".join(text.split())


def read_date(text: str) -> pd.Timestamp | None:
    """Return the moment that an article names, None for none; without a zone it is UTC.

    >>> str(read_date("Mon, 02 Mar 2026 08:00:00 +0100")), read_date("today, early")
    ('2026-03-02 07:00:00+00:00', None)
    """
    try:
        return pd.Timestamp(pd.to_datetime(text, utc=True)) if text else None
    except (ValueError, TypeError):
        return None


def fetch_new(url: str, guest: Guest) -> tuple[Path, list[dict]]:
    """Return (the file of a feed's articles, those that are not in it, newest first). Raises
    GatewayError, ValueError.

    What is dated later than now is left out.
    """
    with closing(open_captures(locate_output(CAPTURES))) as store:
        body = fetch_page(store, guest, url, NEWS)
    path = locate_output(f"{ARTICLES}/{slug(url.removeprefix('https://'))}.jsonl")
    known = {row["id"] for _, row in read_lines(path)} if path.exists() else set()
    new = {}
    for one in read_feed(body):
        dated = one.pop("dated")
        if one["id"] not in known and (dated is None or dated <= guest.now):
            new.setdefault(one["id"], one | {"published": stamp_moment(guest.now)})
    return path, list(new.values())


# --- proposals --------------------------------------------------------------------------------------


def propose(
    urls: list[str], now: pd.Timestamp, writer: Any, reader: Any, tell: Any = print
) -> pd.DataFrame:
    """Return the table of proposals with those of new articles of some feeds, written to `TABLE`.

    A feed that is not read, or a model that proposes nothing that can be read, is told; a later
    call asks again.
    """
    guest = Guest(now)
    table = read_proposals()
    for url in urls:
        try:
            path, articles = fetch_new(url, guest)
        except (GatewayError, ValueError) as problem:
            tell(f"news: {url}: {problem}")
            continue
        if not articles:
            tell(f"news: {url}: no new article")
            continue
        verdict = writer(write_prompt(articles[:N_ARTICLES], now), PROPOSALS, max_tokens=LONG)
        if verdict.value is None:
            tell(f"news: {url}: the writer gave no questions ({verdict.status}: {verdict.reason})")
            continue
        rows = [check_proposal(one, articles, now, reader) for one in verdict.value["questions"]]
        table = pd.concat([table, pd.DataFrame(rows, columns=list(COLUMNS))], ignore_index=True)
        table = table.drop_duplicates("id")
        keep_table(locate_output(TABLE), table)
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        write_whole(path, before + "".join(dump_json(one) + "\n" for one in articles))
        tell(f"news: {url}: {len(articles)} new articles, {len(rows)} questions proposed")
    return table


def write_prompt(articles: list[dict], now: pd.Timestamp) -> str:
    """Return the prompt that asks for questions on articles."""
    lines = "\n".join(f"{n}. {one['title']}: {one['text']}" for n, one in enumerate(articles, 1))
    days = [(now + pd.Timedelta(days=n)).strftime("%Y-%m-%d") for n in (0, 1, HORIZON_DAYS)]
    blanks = dict(zip(("day", "first", "last"), days, strict=True))
    return read_prompt("news_questions").format(articles=lines[:MAX_SHOWN], n=N_QUESTIONS, **blanks)


def check_proposal(one: dict, articles: list[dict], now: pd.Timestamp, reader: Any) -> dict:
    """Return a proposal as a row of `COLUMNS`; `check` is "passed", or why a person should not rely
    on it."""
    article = (
        articles[one["article"] - 1] if 0 < one["article"] <= len(articles[:N_ARTICLES]) else None
    )
    options = dict(zip(name_letters(len(one["options"])), one["options"], strict=True))
    row = {name: one.get(name, "") for name in COLUMNS} | {
        "options": dump_json(options) if options else ""
    }
    row |= {"id": f"n{hash_text(one['question'], 8)}", "url": article["address"] if article else ""}
    row |= {"proposed_at": stamp_moment(now), "confirmed": "", "answer": ""}
    return row | {"check": find_fault(row, article, now, reader) or "passed"}


def find_fault(row: dict, article: dict | None, now: pd.Timestamp, reader: Any) -> str:
    """Return what is wrong with a proposal: its words, its end, its form, its place in time; "" for
    nothing."""
    said = f"{article['title']}: {article['text']}" if article else ""
    if not row["quote"].strip() or " ".join(row["quote"].split()) not in said:
        return "its quote does not stand in the article"
    try:
        event = write_events([row], now, "").to_dict("records")[0]
    except ValueError as problem:
        return str(problem)
    if (
        not now
        < pd.Timestamp(event["resolves_at"])
        <= now.normalize() + pd.Timedelta(days=HORIZON_DAYS + 1)
    ):
        return "it does not end within the week"
    if read_answer(reader, event, said, stamp_moment(now)) is not None:
        return "the article answers it already"
    return ""


def write_events(rows: list[dict], now: pd.Timestamp, window: str) -> pd.DataFrame:
    """Return proposals as a day's events, asked as of `now`. Raises Problems for one that cannot be
    asked."""
    asked = []
    for row in rows:
        options = None
        with suppress(ValueError):  # what is no list of options is told by `check_rows`
            options = read_options(row["options"])
        given = {
            "id": f"{window}-{now:%m%d}-{NEWS}-{row['id']}",
            "prompt": word_prompt(row["question"], options),
            "kind": row["kind"],
            "venue": NEWS,
            "options": options or row["options"],
            "unit": row["unit"],
            "end_time": row["end"],
            "criteria": row["criteria"],
            "url": row["url"],
            "cluster": f"{NEWS}-{hash_text(row['url'], 8)}",
        }
        asked.append({name: cell for name, cell in given.items() if cell})
    return build_posed(asked, NEWS, now, window).assign(site_type=NEWS)


def read_proposals() -> pd.DataFrame:
    """Return the table of proposals. Raises Problems for a row that is confirmed or answered and
    cannot be."""
    path = locate_output(TABLE)
    table, problems = read_table(path, COLUMNS), []
    is_used = is_confirmed(table) | (table["answer"].str.strip() != "")
    for n, row in table[is_used].to_dict("index").items():
        try:
            event = write_events([row], pd.Timestamp(0, tz=ZONE), "").to_dict("records")[0]
        except ValueError as problem:
            problems.append(f"{path.name}, row {n + 2}, {str(problem).partition('row 1, ')[2]}")
            continue
        value, why = read_truth(row["answer"], event) if row["answer"].strip() else ("", "")
        if value is None:
            problems.append(
                describe_problem(
                    path.name, n, "answer", f"{row['answer']!r} is no {row['kind']} ({why})"
                )
            )
    raise_all(problems)
    return table


def describe_proposals(table: pd.DataFrame) -> str:
    """Return a line on how many were proposed, passed, and were confirmed, and where a person
    confirms."""
    n_confirmed = is_confirmed(table).sum()
    told = f"news: {len(table)} questions proposed, {(table['check'] == 'passed').sum()} passed their check"
    return f"{told}, {n_confirmed} confirmed: write yes into the column confirmed of {locate_output(TABLE)}"


# --- a day's questions, and their answers -----------------------------------------------------------


def pose_news(now: pd.Timestamp, window: str) -> pd.DataFrame:
    """Return the confirmed proposals that are still open as a day's events, asked as of `now`."""
    table = read_proposals()
    rows = table[is_confirmed(table)].to_dict("records")
    return write_events([row for row in rows if read_end(row["end"]) > now], now, window)


def find_written(events: pd.DataFrame) -> dict[str, tuple]:
    """Return {event_id: (answer, "a person")} of the news questions whose answer a person wrote."""
    answers, found = read_proposals().set_index("id")["answer"], {}
    for event in events.to_dict("records"):
        key = event["event_id"].rpartition(f"-{NEWS}-")[2]
        if answer := answers.get(key, "").strip():
            found[event["event_id"]] = (read_truth(answer, event)[0], "a person")
    return found


def read_news(reader: Any, events: pd.DataFrame, now: pd.Timestamp) -> dict[str, tuple]:
    """Return {event_id: (answer, `READ`)} of what a reader finds, twice the same, in articles that
    were seen after a question was asked: those that are most like it."""
    paths, found = sorted(locate_output(ARTICLES).glob("*.jsonl")), {}
    rows = [row for path in paths for _, row in read_lines(path)]
    rows = sorted(rows, key=lambda row: pd.Timestamp(row["published"]), reverse=True)
    for event in events.to_dict("records"):
        asked_at = pd.Timestamp(event["as_of"])
        new = [row for row in rows if asked_at < pd.Timestamp(row["published"]) <= now]
        if new:
            texts = [f"{row['title']}: {row['text']}" for row in new]
            text = "\n".join(rank_texts(event["prompt"], texts))[:MAX_SHOWN]
            value = read_twice(reader, event, text, stamp_moment(now))
            if value is not None:
                found[event["event_id"]] = (value, READ)
    return found


def rank_texts(question: str, texts: list[str]) -> list[str]:
    """Return texts, the one most like a question first (TF-IDF of three letters, for languages
    without blanks); equal ones stay in order."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # here: half a second to import

    vectors = TfidfVectorizer(analyzer="char", ngram_range=(3, 3)).fit_transform([question, *texts])
    likeness = (vectors[1:] @ vectors[0].T).toarray().ravel()
    return [texts[at] for at in np.argsort(-likeness, kind="stable")]
