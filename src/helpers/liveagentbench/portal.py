"""The portal that tasks begin at: the replay web's pages behind two menus or, where a value lies deep, three."""

from contextlib import contextmanager
from email.utils import format_datetime

import pandas as pd

from helpers.liveagentbench.tasks import PORTAL, PORTALS
from helpers.servers import run_server
from helpers.web.archive import Handler, build_server

MENU_DATE = pd.Timestamp("2016-09-01T00:00:00Z")
"""Menus are older than any task."""


def build_menus(sources):
    """Return {address: html} of both portals: domains, then sources; in the deep one subdomains between them.

    >>> len(build_menus({}))
    2
    """
    menus = {}
    for root, is_deep in ((PORTAL, False), (PORTALS["deep"], True)):
        tree = {}
        for source in sources.values():
            path = (source.domain, source.subdomain) if is_deep else (source.domain,)
            tree.setdefault((), {})[path[:1]] = None
            for n in range(1, len(path)):
                tree.setdefault(path[:n], {})[path[: n + 1]] = None
            tree.setdefault(path, {})[source.address] = source.name
        for path, links in ({(): {}} | tree).items():
            items = [(link, name) if name else (name_menu(root, link), link[-1]) for link, name in links.items()]
            menus[name_menu(root, path)] = write_menu(" / ".join(path) or "Contents", sorted(items))
    return menus


def name_menu(root, path):
    """Return a menu's address.

    >>> name_menu("http://directory.replay/", ("Health", "Dengue fever"))
    'http://directory.replay/health/dengue-fever'
    """
    return root + "/".join(part.lower().replace(" ", "-") for part in path)


def write_menu(title, items):
    """Return a page of links."""
    links = "\n".join(f"<li><a href='{address}'>{name}</a></li>" for address, name in items)
    return f"<!doctype html>\n<html lang='en'><body><h1>{title}</h1>\n<ul class='menu'>\n{links}\n</ul></body></html>\n"


class MenuHandler(Handler):
    """Answers for menus, and for the replay web's pages as its own handler does."""

    def do_GET(self):  # noqa: N802, D102 (the name is http.server's)
        menu = self.server.menus.get(self.path)
        if menu is None and self.server.is_down:
            return self.answer(503, "the site is down")
        if menu is None:
            return super().do_GET()
        stamp = format_datetime(MENU_DATE.to_pydatetime(), usegmt=True)
        self.answer(200, menu, "text/html; charset=utf-8", {"Memento-Datetime": stamp})


@contextmanager
def open_portal(sources, *, is_down=False):
    """Serve the replay web with both portals on loopback until the block ends; yields the proxy's address.

    With `is_down` the menus answer, and every page behind them answers that its site is down.
    """
    server = build_server({} if is_down else sources)
    server.RequestHandlerClass, server.menus, server.is_down = MenuHandler, build_menus(sources), is_down
    with run_server(server) as address:
        yield address
