"""Sites of the simulated internet, in their documented formats, with contents of ours: a hub and an
archive."""

import hashlib
import json
import re
from io import BytesIO

import pandas as pd

# --- huggingface.co ---------------------------------------------------------------------------------


class Hub:
    """A hub of data sets: `publish` adds a commit, and the site answers what huggingface_hub asks
    of it.

    Answered: GET /api/datasets/NAME[/revision/REVISION], /tree and /commits; HEAD and GET of
    /datasets/NAME/resolve/REVISION/FILE.
    """

    def __init__(self):
        self.commits = {}  # name -> [(commit, published at, message, {file: bytes})], oldest first

    def publish(self, name, files, at, message=""):
        """Add a commit that from a moment on is the newest; returns its 40 hexadecimal digits."""
        text = json.dumps([name, str(at), message, sorted(files)]).encode() + b"".join(
            files.values()
        )
        commit = hashlib.sha1(text).hexdigest()
        self.commits.setdefault(name, []).append((commit, pd.Timestamp(at), message, files))
        return commit

    def __call__(self, asked):
        name, what, revision, path = read_path(asked.path)
        seen = [one for one in self.commits.get(name, []) if one[1] <= asked.now]
        seen = [one for one in seen if revision in (None, "main") or one[0] == revision]
        if not seen or path and path not in seen[-1][3]:
            return (
                404,
                {"x-error-code": "EntryNotFound" if seen else "RepoNotFound"},
                {"error": "not found"},
            )
        commit, at, message, files = seen[-1]
        date = at.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        digests = {name: hashlib.sha1(body).hexdigest() for name, body in files.items()}
        if what == "resolve":
            told = {"x-repo-commit": commit, "etag": f'"{digests[path]}"', "accept-ranges": "none"}
            return 200, told | {"content-type": "application/octet-stream"}, files[path]
        if what == "commits":
            return (
                200,
                {},
                [{"id": commit, "title": message, "message": "", "authors": [], "date": date}],
            )
        if what == "tree":
            rows = [
                {"type": "file", "path": name, "size": len(files[name]), "oid": digests[name]}
                for name in files
            ]
            return 200, {}, rows
        told = {"id": name, "sha": commit, "lastModified": date, "private": False, "tags": []}
        return 200, {}, told | {"siblings": [{"rfilename": name} for name in files]}


def read_path(path):
    """Return (data set, what is asked: None, revision, tree, commits or resolve, revision, file) of
    a hub's path."""
    found = re.fullmatch(r"(?:/api)?/datasets/([^/]+/[^/]+)(?:/(\w+)/([^/]+)/?(.*))?", path)
    return found.groups() if found else (None, None, None, None)


def write_parquet(rows):
    """Return rows as the bytes of a parquet file."""
    pd.DataFrame(rows).to_parquet(buffer := BytesIO(), index=False)
    return buffer.getvalue()


# --- web.archive.org --------------------------------------------------------------------------------


def make_archive(captures):
    """Return the site of an archive of captures (dicts of url, at, body).

    GET /cdx/search/cdx (lines: urlkey, timestamp, original, mimetype, statuscode, digest, length)
    and /web/TIMESTAMPid_/URL, a capture by its own moment.
    """
    pages = {
        (one["url"], f"{pd.Timestamp(one['at']):%Y%m%d%H%M%S}"): one["body"] for one in captures
    }

    def answer(asked):
        if asked.path == "/cdx/search/cdx":
            first, last = asked.query.get("from", "0"), asked.query.get("to", "9" * 14)
            found = [
                stamp
                for url, stamp in sorted(pages)
                if url == asked.query["url"] and first <= stamp <= last
            ]
            lines = [
                f"key {stamp} {asked.query['url']} text/html 200 {stamp} 9\n" for stamp in found
            ]
            return 200, {"content-type": "text/plain"}, "".join(lines)
        stamp, _, url = asked.path.removeprefix("/web/").partition("id_/")
        if (url, stamp) not in pages:
            return 404, {}, "The Wayback Machine has not archived that URL."
        at = pd.to_datetime(stamp, format="%Y%m%d%H%M%S").strftime("%a, %d %b %Y %H:%M:%S GMT")
        return 200, {"memento-datetime": at}, pages[url, stamp]

    return answer
