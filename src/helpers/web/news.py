"""Dated articles as sites of the replay web: Wikipedia's current events, and a reader's own (WorldReasoner 3.1, 4.1).

A feed is a site whose articles each have an address and a moment from which they are public; its front page lists those
that are. Both go through archive, gateway and search like any page, but are marked `noarchive`: their text is not ours
to store, so whatever is recorded of them keeps digests, dates and page_ids (`agents.exports`).

A day without a time counts as published when it has ended everywhere on Earth, which is at 20:00 UTC+8 of the day
after: the conservative reading of "visible the next day".
"""

import json
import re
import tarfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import yaml

from helpers.calendar import ZONE
from helpers.downloads import hash_file
from helpers.faults import NAME, raise_all
from helpers.store import hash_text
from helpers.tables import MOMENT_FORM
from helpers.web.render import format_period

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_FILE = 30_000
"""Bytes of a day's file; the largest genuine one has 11,639. Thirteen larger ones are machine-written expansions."""
MAX_UNPACKED = 100_000_000
"""Bytes of an archive, unpacked; that of the current events has 4.7 million."""
MAX_TEXT = 200_000
"""Characters of an article."""
MAX_TITLE = 1000
"""Characters of its title."""
MAX_SECONDS = 60
"""Time for reading an archive; it takes half a second."""
N_LISTED = 1000
"""Articles that a feed's front page lists, the newest; those are searched."""
DAYS_END = pd.Timedelta(hours=36)
"""From a day's first moment in UTC until it has ended everywhere (at UTC-12)."""
EVENTS_KEY = "Intelligence_Payload"
"""The key that marks a genuine file of the current events."""
HEADERS = {"X-Robots-Tag": "noarchive"}
"""How a page says that its text is not to be kept."""

DAY_FILE = re.compile(r"(?:\./)?\d{4}/\d\d/(\d{4}-\d\d-\d\d)\.yaml")
SENTENCE_END = re.compile(r"[.!?][\"”’']?\s*(\(|$)")
DATE = re.compile(r"\d{4}-\d\d-\d\d")


class Article(NamedTuple):
    """One article: its path on its site, when it became public (epoch seconds), what it says, where it stood first."""

    path: str
    published: int
    title: str
    paragraphs: tuple
    address: str = ""


@dataclass(frozen=True)
class Feed:
    """A site of articles, oldest first, and (where, why) of each that was refused."""

    id: str
    name: str
    articles: tuple
    refused: tuple = ()

    @property
    def address(self):
        """Where its front page stands; its articles' addresses begin with it."""
        return locate_feed(self.id)


def locate_feed(path):
    """Return the address of a feed's front page, made of the name of its folder or file.

    >>> locate_feed("press/current_events.tar.gz"), locate_feed("My articles/")
    ('http://current-events.replay/', 'http://my-articles.replay/')
    """
    return f"http://{slug(Path(path).name.removesuffix('.tar.gz'))}.replay/"


def slug(text):
    """Return a text as a part of an address.

    >>> slug("Armed conflicts & attacks"), slug("***")
    ('armed-conflicts-attacks', 'articles')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "articles"


def end_day(day):
    """Return when an ISO date has ended everywhere on Earth, as epoch seconds. Raises ValueError for no date.

    >>> pd.Timestamp(end_day("2016-10-10"), unit="s", tz="Etc/GMT-8").isoformat()
    '2016-10-11T20:00:00+08:00'
    """
    return int((pd.Timestamp(day, tz="UTC") + DAYS_END).timestamp())


def tell_day(published):
    """Return the day (ISO) of an article by when it became public: one that counts from its day's end has that day.

    >>> tell_day(end_day("2016-10-10"))
    '2016-10-10'
    >>> tell_day(int(pd.Timestamp("2016-10-10T23:30:00+08:00").timestamp()))
    '2016-10-10'
    """
    day = pd.Timestamp(published, unit="s", tz="UTC") - DAYS_END
    at = day if day == day.normalize() else pd.Timestamp(published, unit="s", tz=ZONE)
    return str(at.date())


def read_feed(path):
    """Read a feed: a folder of .jsonl files, or the archive of current events (.tar.gz).

    Raises ValueError that says what is wrong with it, and where; FileNotFoundError when it is not there.
    """
    path = Path(path)
    if path.is_dir():
        articles, refused = read_folder(path)
    elif path.name.endswith(".tar.gz") and path.exists():
        articles, refused = read_events(path)
    elif path.exists():
        raise ValueError(f"{path.name} is neither a folder of .jsonl files nor an archive of current events (.tar.gz)")
    else:
        raise FileNotFoundError(f"no articles at {path}; name a folder of .jsonl files")
    if not articles:
        raise ValueError(f"{path.name} holds no article with a date; each line needs id, published, title and text")
    name = path.name.removesuffix(".tar.gz").replace("_", " ").replace("-", " ")
    articles = tuple(sorted(articles, key=lambda article: (article.published, article.path)))
    return Feed(slug(name), name.capitalize(), articles, tuple(refused))


def read_feeds(paths, taken=()):
    """Return the feeds at some paths by address. Raises ValueError when an address is `taken`, by a source or another.

    Raises what `read_feed` does.
    """
    feeds = {}
    for path in paths:
        if locate_feed(path) in feeds or locate_feed(path) in taken:
            raise ValueError(f"the articles of {Path(path).name} would stand at a site there is; rename the folder")
        feeds[locate_feed(path)] = read_feed(path)
    return feeds


def describe_articles(paths):
    """Return what a run's condition says of the articles it may search: names and digests; None without any."""
    told = []
    for path in map(Path, paths):
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        digest = hash_text("".join(f"{file.name} {hash_file(file)}\n" for file in files), 8)
        told.append(f"{slug(path.name.removesuffix('.tar.gz'))} {digest}")
    return f"with articles {', '.join(told)}" if told else None


# --- Wikipedia's current events --------------------------------------------------------------------------------------


def read_events(path):
    """Return (articles, [(file, why refused)]) of an archive of daily YAML files: an article a day and topic.

    Refused are a file over MAX_FILE bytes, one that is no valid YAML, lacks the key of the genuine ones, or tells of
    another day. Raises ValueError for an archive beyond the limits of size and time.
    """
    articles, refused, size, end = [], [], 0, time.monotonic() + MAX_SECONDS
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            size += member.size
            if size > MAX_UNPACKED or time.monotonic() > end:
                raise ValueError(f"{path.name}: more than {MAX_UNPACKED} bytes, or not read within {MAX_SECONDS} s")
            found = DAY_FILE.fullmatch(member.name)
            if not (found and member.isfile()):
                continue
            if member.size > MAX_FILE:
                refused.append((f"{found[1]}.yaml", f"over {MAX_FILE // 1000} kB"))
                continue
            topics, why = read_day(archive.extractfile(member).read(), found[1])
            articles += [write_article(found[1], topic, lines) for topic, lines in topics.items()]
            refused += [(f"{found[1]}.yaml", why)] if why else []
    return articles, refused


def read_day(data, day):
    """Return ({topic: lines}, "") of a day's file, ({}, why) when it is refused.

    >>> read_day(b"Date: '2016-10-10'\\nIntelligence_Payload: {Sport: [A wins.]}", "2016-10-10")
    ({'Sport': ['A wins.']}, '')
    >>> read_day(b"date: '2026-01-07'\\nevents: []", "2026-01-07")
    ({}, 'no key Intelligence_Payload')
    """
    try:
        content = yaml.load(data, LOADER)  # noqa: S506 (a safe loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}, "no valid YAML"
    if not isinstance(content, dict) or EVENTS_KEY not in content:
        return {}, f"no key {EVENTS_KEY}"
    if str(content.get("Date")) != day:
        return {}, "its Date is another day's"
    topics = content[EVENTS_KEY]
    if not isinstance(topics, dict) or not all(
        isinstance(lines, list) and all(isinstance(line, str) for line in lines) for lines in topics.values()
    ):
        return {}, "no lists of lines"
    return {str(topic): lines for topic, lines in topics.items() if lines}, ""


def write_article(day, topic, lines):
    """Return the article of a day's lines on a topic; a heading goes with the line after it.

    >>> write_article("2016-10-10", "Uncategorized", ["Gaza war", "Talks begin. (BBC)", "B dies."]).paragraphs
    ('Gaza war: Talks begin. (BBC)', 'B dies.')
    """
    paragraphs, headings = [], []
    for line in (" ".join(line.split()) for line in lines):
        headings.append(line)
        if SENTENCE_END.search(line):
            paragraphs.append(": ".join(headings))
            headings = []
    paragraphs += [": ".join(headings)] if headings else []
    about = "" if topic == "Uncategorized" else f": {topic}"
    title = f"Current events, {format_period(day)}{about}"
    return Article(f"{day}/{slug(topic)}", end_day(day), title, tuple(paragraphs))


# --- a folder of one's own -------------------------------------------------------------------------------------------


def read_folder(folder):
    """Return (articles, [(file and line, "undated")]) of a folder's .jsonl files.

    A line is an object with id, title, text, published (a day, or a moment with its offset) and, where it has one,
    address; other fields are left alone. Raises ValueError with up to ten sentences, each with file, line and field.
    """
    files, articles, refused, wrong, seen = sorted(folder.glob("*.jsonl")), [], [], [], {}
    for file in files:
        for number, line in enumerate(file.read_bytes().splitlines(), 1):
            if not line.strip():
                continue
            place = f"{file.name}, line {number}"
            row, problem = parse_line(line)
            problem = problem or check_article(row, seen)
            if problem:
                wrong.append(f"{place}: {problem}")
                continue
            seen[str(row["id"])] = place
            moment = row.get("published")
            if moment in (None, ""):
                refused.append((place, "undated"))
            else:
                articles.append(make_article(row, read_published(moment)))
    raise_all(wrong)
    return articles, refused


def parse_line(line):
    """Return (object, "") of a line of JSON, (None, what is wrong with it) otherwise."""
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return None, f"no JSON in UTF-8 ({type(error).__name__})"
    return (row, "") if isinstance(row, dict) else (None, "no object; write {...} with id, published, title and text")


def check_article(row, seen):
    """Return what is wrong with an article's fields, "" when nothing is; `seen` maps ids to their places.

    >>> check_article({"id": "a", "title": "T", "text": "x", "published": "2016-10-10T12:00"}, {})[:33]
    "published '2016-10-10T12:00' is n"
    """
    if not isinstance(row.get("id"), str | int) or not str(row["id"]).strip():
        return "id is missing; give each article one of its own"
    if str(row["id"]) in seen:
        return f"id {row['id']!r} is taken by {seen[str(row['id'])]}"
    for field in ("title", "text"):
        if not isinstance(row.get(field), str) or not row[field].strip():
            return f"{field} is missing, or no text"
    if len(row["text"]) > MAX_TEXT:
        return f"text has more than {MAX_TEXT} characters; cut it into articles"
    if len(row["title"]) > MAX_TITLE:
        return f"title has more than {MAX_TITLE} characters; shorten it"
    if not isinstance(row.get("address") or "", str):
        return "address is no text"
    for field in ("id", "title", "text", "address"):
        if re.search("[\ud800-\udfff]", str(row.get(field))):
            return f"{field} holds half a character, which UTF-8 cannot write; write it whole"
    try:
        read_published("2000-01-01" if row.get("published") in (None, "") else row["published"])
    except (ValueError, TypeError):
        return (
            f"published {str(row['published'])[:40]!r} is neither a day (2016-10-10) nor a moment with its offset "
            "(2016-10-10T09:30:00+02:00); leave it blank where it is not known"
        )
    return ""


def read_published(text):
    """Return when an article became public as epoch seconds: its moment; of a day alone, when that has ended.

    Raises ValueError for what is neither, and for a moment without an offset; TypeError for what is no text.
    """
    if DATE.fullmatch(text):
        return end_day(text)
    if not re.fullmatch(MOMENT_FORM, text):
        raise ValueError(f"{text}: no moment with an offset")
    return -int(-pd.Timestamp(text).timestamp() // 1)  # a part of a second is never early


def make_article(row, published):
    """Return a row of a reader's file as an article; an id that is no name stands in its address as a digest."""
    key = str(row["id"])
    paragraphs = tuple(" ".join(part.split()) for part in row["text"].splitlines() if part.strip())
    path = key if NAME.fullmatch(key) else hash_text(key, 16)
    return Article(path, published, " ".join(row["title"].split()), paragraphs, row.get("address") or "")


# --- pages -----------------------------------------------------------------------------------------------------------


def list_pages(feed, shown_days):
    """Return a feed's pages by address: each article, and the front page that lists those of the last `shown_days`."""
    pages = {feed.address + article.path: Shown(feed, partial(show_article, article)) for article in feed.articles}
    return pages | {feed.address: Shown(feed, partial(show_front, feed, shown_days))}


@dataclass(frozen=True)
class Shown:
    """A page of a feed: `show(clock)` returns what it shows as of a moment (epoch seconds)."""

    source: Feed
    show: Callable
    headers = HEADERS

    def render(self, clock, layout=""):
        """Return (content type, text, publication as epoch seconds) as of `clock`; None before there is anything."""
        return self.show(clock)


def show_article(article, clock):
    """Return what an article's page shows, which stays as it was published."""
    if article.published > clock:
        return None
    link = f"<link rel='canonical' href='{escape(article.address)}'>" if article.address else ""
    title, lines = escape(article.title), "\n".join(f"<p>{escape(line)}</p>" for line in article.paragraphs)
    text = (
        f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{title}</title>{link}</head>\n"
        f"<body><h1>{title}</h1>\n<main>\n{lines}\n</main></body></html>\n"
    )
    return "text/html", text, article.published


def show_front(feed, shown_days, clock):
    """Return what a feed's front page shows: JSON of the addresses of the newest articles, at most N_LISTED."""
    first = clock - shown_days * 86400
    shown = [article for article in feed.articles if first <= article.published <= clock]
    if not shown:
        return None
    addresses = [feed.address + article.path for article in shown[-N_LISTED:]]
    return "application/json", json.dumps({"source": feed.name, "articles": addresses}), shown[-1].published
