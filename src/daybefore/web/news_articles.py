"""Dated articles as sites of the replay web: Wikipedia's current events, and a reader's own
(WorldReasoner 3.1, 4.1).

A feed is a site whose articles each have an address and a moment from which they are public; its
front page lists those that are. Their text is not ours to store (`session.Answer`), so whatever is
recorded of them keeps digests, dates and page_ids (`agents.committed_runs`). A day without a time counts
as published when it has ended everywhere on Earth, at 20:00 UTC+8 of the day after: the
conservative reading of "visible the next day".
"""

import gzip
import json
import re
import tarfile
import zlib
from html import escape
from pathlib import Path
from typing import Annotated, NamedTuple

import pandas as pd
import yaml
from pydantic import BaseModel, StringConstraints

from daybefore.web.render_pages import format_period
from helpers.files import hash_text
from helpers.input_faults import NAME, find_faults, name_field, raise_all, read_lines
from helpers.public_files import hash_file
from helpers.tables import MOMENT_FORM, allow

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_FILE = 30_000
"""Bytes of a day's file; the largest genuine one has 11,639. Thirteen larger ones are
machine-written expansions."""
MAX_TEXT, MAX_TITLE = 200_000, 1000
"""Characters of an article, and of its title."""
N_LISTED = 1000
"""Articles that a feed's front page lists, the newest; those are searched."""
DAYS_END = pd.Timedelta(hours=36)
"""From a day's first moment in UTC until it has ended everywhere (at UTC-12)."""
MAX_DEPTH = 20
"""Lists and tables within each other in a day's file."""
EVENTS_KEY = "Intelligence_Payload"
"""The key that marks a genuine file of the current events."""
DAY_FILE = re.compile(r"(?:\./)?\d{4}/\d\d/(\d{4}-\d\d-\d\d)\.yaml")
SENTENCE_END = re.compile(r"[.!?][\"”’']?\s*(\(|$)")


class Article(NamedTuple):
    """One article: its path on its site, when it became public (epoch seconds), what it says, where
    it stood first."""

    path: str
    published: int
    title: str
    paragraphs: tuple
    address: str = ""

    def show(self):
        """Return (content type, text, publication) of its page, which never changes."""
        link = f"<link rel='canonical' href='{escape(self.address)}'>" if self.address else ""
        title, lines = (
            escape(self.title),
            "\n".join(f"<p>{escape(line)}</p>" for line in self.paragraphs),
        )
        text = f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{title}</title>{link}</head>\n"
        text += f"<body><h1>{title}</h1>\n<main>\n{lines}\n</main></body></html>\n"
        return "text/html", text, self.published


class Feed(NamedTuple):
    """A site of articles, oldest first, whose addresses begin with its own, and (where, why) of
    each one refused."""

    address: str
    name: str
    articles: tuple
    refused: tuple = ()

    def show_front(self, clock, shown_days):
        """Return (content type, text, publication) of the front page as of a clock (epoch seconds),
        None for none.

        It lists the addresses of the newest articles, of the last `shown_days`.
        """
        first = clock - shown_days * 86400
        shown = [article for article in self.articles if first <= article.published <= clock]
        if not shown:
            return None
        addresses = [self.address + article.path for article in shown[-N_LISTED:]]
        return (
            "application/json",
            json.dumps({"source": self.name, "articles": addresses}),
            shown[-1].published,
        )


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
    """Return when an ISO date has ended everywhere on Earth, as epoch seconds. Raises ValueError
    for no date.

    >>> pd.Timestamp(end_day("2016-10-10"), unit="s", tz="Etc/GMT-8").isoformat()
    '2016-10-11T20:00:00+08:00'
    """
    return int((pd.Timestamp(day, tz="UTC") + DAYS_END).timestamp())


def read_feed(path):
    """Read a feed: a folder of .jsonl files, or the archive of current events (.tar.gz).

    Raises ValueError that says what is wrong with it, and where; FileNotFoundError when it is not
    there.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"no articles at {path}; name a folder of .jsonl files")
    if not path.is_dir() and not path.name.endswith(".tar.gz"):
        raise ValueError(
            f"{path.name} is neither a folder of .jsonl files nor an archive of current events (.tar.gz)"
        )
    try:
        articles, refused = read_folder(path) if path.is_dir() else read_events(path)
    except (EOFError, gzip.BadGzipFile, tarfile.TarError, zlib.error) as problem:
        raise ValueError(
            f"{path.name} is a broken archive ({problem}); take it away or mend it"
        ) from None
    if not articles:
        raise ValueError(
            f"{path.name} holds no article with a date; each line needs id, published, title and text"
        )
    name = path.name.removesuffix(".tar.gz").replace("_", " ").replace("-", " ").capitalize()
    articles = sorted(articles, key=lambda article: (article.published, article.path))
    return Feed(locate_feed(path), name, tuple(articles), tuple(refused))


def read_feeds(paths, taken=()):
    """Return the feeds at some paths by address.

    Raises what `read_feed` does, and ValueError when an address is `taken`, by a source or another.
    """
    feeds = {}
    for path in paths:
        if (address := locate_feed(path)) in feeds or address in taken:
            raise ValueError(
                f"the articles of {Path(path).name} would stand at a site there is; rename the folder"
            )
        feeds[address] = read_feed(path)
    return feeds


def describe_articles(paths):
    """Return what a run's condition says of the articles it may search: names and digests; None
    without any."""
    told = []
    for path in map(Path, paths):
        files = list_files(path) if path.is_dir() else [path]
        digest = hash_text("".join(f"{file.name} {hash_file(file)}\n" for file in files), 8)
        told.append(f"{slug(path.name.removesuffix('.tar.gz'))} {digest}")
    return f"with articles {', '.join(told)}" if told else None


# --- Wikipedia's current events ---------------------------------------------------------------------


def read_events(path):
    """Return (articles, [(file, why refused)]) of an archive of daily YAML files: an article a day
    and topic.

    Refused is a file over MAX_FILE bytes and what `read_day` refuses.
    """
    articles, refused = [], []
    with tarfile.open(path, "r:gz") as archive:
        for member in archive:
            if member.isfile() and (found := DAY_FILE.fullmatch(member.name)):
                try:
                    if member.size > MAX_FILE:
                        raise ValueError(f"over {MAX_FILE // 1000} kB")
                    topics = read_day(archive.extractfile(member).read(), found[1])
                    articles += [
                        write_article(found[1], topic, lines) for topic, lines in topics.items()
                    ]
                except ValueError as why:
                    refused.append((f"{found[1]}.yaml", str(why)))
    return articles, refused


def read_day(data, day):
    """Return {topic: lines} of a day's file. Raises ValueError that says why it is refused."""
    try:
        check_yaml(data)
        content = yaml.load(data, LOADER)  # noqa: S506 (a safe loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise ValueError("no valid YAML") from None
    topics = content.get(EVENTS_KEY) if isinstance(content, dict) else None
    if not isinstance(topics, dict):
        raise ValueError(f"no key {EVENTS_KEY}")
    if str(content.get("Date")) != day:
        raise ValueError("its Date is another day's")
    if not all(isinstance(lines, list | None) for lines in topics.values()):
        raise ValueError("a topic that is no list of lines")
    return {str(topic): [*map(str, lines)] for topic, lines in topics.items() if lines}


def check_yaml(data):
    """Raise ValueError for YAML with aliases, which can grow without end, and for one nested over
    `MAX_DEPTH` deep."""
    depth = 0
    for event in yaml.parse(data, LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("an alias")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
            event, yaml.CollectionEndEvent
        )
        if depth > MAX_DEPTH:
            raise ValueError("nested too deep")


def list_files(folder):
    """Return the files of articles in a folder. Raises ValueError for one that is no plain file,
    such as a pipe."""
    files = sorted(folder.glob("*.jsonl"))
    for file in files:
        if not file.is_file():
            raise ValueError(f"{file.name} in {folder.name} is no plain file; take it away")
    return files


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


# --- a folder of one's own --------------------------------------------------------------------------


def read_published(text):
    """Return when an article became public as epoch seconds: its moment; of a day alone, when that
    has ended.

    Raises ValueError for what is neither, and for a moment without an offset; TypeError for what is
    no text.
    """
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return end_day(text)
    if not re.fullmatch(MOMENT_FORM, text):
        raise ValueError(f"{text}: no moment with an offset")
    return -int(-pd.Timestamp(text).timestamp() // 1)  # a part of a second is never early


def text_to(n):
    """Return the type of a text, not blank, of so many characters at most."""
    return Annotated[str, StringConstraints(pattern=r"\S", max_length=n)]


Published = allow(
    str,
    "a day (2016-10-10), or a moment with its offset (2016-10-10T09:30:00+02:00); leave it blank where it is not known",
    test=lambda text: not text or read_published(text),
)


class Line(BaseModel):
    """An article in a reader's file: a line, an object of JSON; other fields are left alone."""

    id: allow(text_to(MAX_TITLE) | int, f"a name of its own, of at most {MAX_TITLE} characters")
    title: allow(text_to(MAX_TITLE), f"a title of at most {MAX_TITLE} characters")
    text: allow(
        text_to(MAX_TEXT), f"a text of at most {MAX_TEXT} characters; else cut it into articles"
    )
    address: allow(str, "an address") | None = None
    published: Published | None = None


def read_folder(folder):
    """Return (articles, [(file and line, "undated")]) of a folder's .jsonl files, an article a
    `Line`.

    An id that is no name stands in the article's address as a digest. Raises Problems, sentences
    with file, line and field, and what `read_lines` does.
    """
    articles, refused, wrong, seen = [], [], [], {}
    for place, row in (line for file in list_files(folder) for line in read_lines(file)):
        if faults := find_faults(row, Line):
            wrong += [
                f"{place}{', ' * bool(field)}{name_field(field)}: {words}"
                for field, words in faults
            ]
        elif (first := seen.setdefault(key := str(row["id"]), place)) != place:
            wrong.append(f"{place}, id: {row['id']!r} is taken by {first}")
        elif not row.get("published"):
            refused.append((place, "undated"))
        else:
            path = key if NAME.fullmatch(key) else hash_text(key, 16)
            title, *lines = (
                " ".join(part.split()) for part in (row["title"], *row["text"].splitlines())
            )
            published, address = read_published(row["published"]), row.get("address") or ""
            articles.append(Article(path, published, title, tuple(filter(None, lines)), address))
    raise_all(wrong)
    return articles, refused
