"""Sites of the simulated internet, in their documented formats, with contents of ours: a hub and an archive."""

import hashlib
import json
import re
from io import BytesIO

import pandas as pd

# --- huggingface.co --------------------------------------------------------------------------------------------------


class Hub:
    """A hub of data sets: `publish` adds a commit, and the site answers what huggingface_hub asks of it.

    Answered: GET /api/datasets/NAME[/revision/REVISION], /tree and /commits; HEAD and GET of
    /datasets/NAME/resolve/REVISION/FILE.
    """

    def __init__(self):
        self.commits = {}  # name -> [(commit, published at, message, {file: bytes})], oldest first

    def publish(self, name, files, at, message=""):
        """Add a commit that from a moment on is the newest; returns its 40 hexadecimal digits."""
        text = json.dumps([name, str(at), message, sorted(files)]).encode() + b"".join(files.values())
        commit = hashlib.sha1(text).hexdigest()
        self.commits.setdefault(name, []).append((commit, pd.Timestamp(at), message, files))
        return commit

    def find(self, name, revision, now):
        seen = [one for one in self.commits.get(name, []) if one[1] <= now]
        if revision not in (None, "main"):
            seen = [one for one in seen if one[0].startswith(revision)]
        return seen[-1] if seen else None

    def __call__(self, asked):
        if found := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)(?:/(revision|tree|commits)/([^/]+)/?)?", asked.path):
            name, what, revision = found.groups()
            if not (one := self.find(name, revision, asked.now)):
                return self.miss()
            commit, at, message, files = one
            if what == "commits":
                line = {"id": commit, "title": message, "message": "", "authors": [], "date": write_moment(at)}
                return 200, {}, [line]
            if what == "tree":
                oids = {path: hashlib.sha1(body).hexdigest() for path, body in files.items()}
                about = {"type": "file"}
                return 200, {}, [about | {"path": p, "size": len(files[p]), "oid": oid} for p, oid in oids.items()]
            told = {"id": name, "sha": commit, "lastModified": write_moment(at), "private": False}
            return 200, {}, told | {"tags": [], "siblings": [{"rfilename": path} for path in files]}
        if found := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", asked.path):
            name, revision, path = found.groups()
            one = self.find(name, revision, asked.now)
            if not one or path not in one[3]:
                return self.miss("EntryNotFound" if one else "RepoNotFound")
            body = one[3][path]
            told = {"x-repo-commit": one[0], "etag": f'"{hashlib.sha1(body).hexdigest()}"', "accept-ranges": "none"}
            return 200, told | {"content-type": "application/octet-stream"}, body
        return self.miss()

    def miss(self, why="RepoNotFound"):
        return 404, {"x-error-code": why, "x-error-message": "not found"}, {"error": "not found"}


def write_moment(at):
    """Return a moment as the hub writes it."""
    return at.tz_convert("UTC").strftime("%Y-%m-%dT%H:%M:%S.000Z")


def write_parquet(rows):
    """Return rows as the bytes of a parquet file."""
    pd.DataFrame(rows).to_parquet(buffer := BytesIO(), index=False)
    return buffer.getvalue()


# --- web.archive.org -------------------------------------------------------------------------------------------------


def make_archive(captures):
    """Return the site of an archive of captures (dicts of url, at, body).

    GET /cdx/search/cdx (lines: urlkey, timestamp, original, mimetype, statuscode, digest, length) and
    /web/TIMESTAMPid_/URL, a capture by its own moment.
    """
    captures = sorted(captures, key=lambda one: one["at"])
    rows = {(one["url"], f"{pd.Timestamp(one['at']):%Y%m%d%H%M%S}"): one for one in captures}

    def answer(asked):
        if asked.path == "/cdx/search/cdx":
            first, last = asked.query.get("from", "0"), asked.query.get("to", "9" * 14)
            found = [row for row in rows if row[0] == asked.query["url"] and first <= row[1] <= last]
            digests = [hashlib.sha1(rows[row]["body"].encode()).hexdigest()[:32].upper() for row in found]
            lines = [
                f"{write_key(url)} {stamp} {url} text/html 200 {digest} 9\n"
                for (url, stamp), digest in zip(found, digests, strict=True)
            ]
            return 200, {"content-type": "text/plain"}, "".join(lines)
        stamp, _, url = asked.path.removeprefix("/web/").partition("id_/")
        if (one := rows.get((url, stamp))) is None:
            return 404, {}, "The Wayback Machine has not archived that URL."
        at = pd.Timestamp(one["at"]).strftime("%a, %d %b %Y %H:%M:%S GMT")
        link = f'<{url}>; rel="original", <https://web.archive.org{asked.path}>; rel="memento"; datetime="{at}"'
        return 200, {"memento-datetime": at, "link": link}, one["body"]

    return answer


def write_key(url):
    """Return an address as the archive's index sorts it: org,example)/path."""
    host, _, path = url.partition("//")[2].partition("/")
    return ",".join(reversed(host.split("."))) + f")/{path}"
